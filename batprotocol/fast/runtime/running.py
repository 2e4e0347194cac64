"""`run`: a scheduler for FaST as a program, from connecting to whatever ends it.

Messages come in the thread of the connection, and are told to the scheduler in the thread of the caller, where an event
loop of asyncio waits for them. It must not know what is decided.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from batprotocol.errors import DecodeError, SchedulerError, shown
from batprotocol.fast.runtime.broker import Broker, Will
from batprotocol.fast.runtime.cluster import DEFAULT_BROKER, Cluster, Heard
from batprotocol.fast.runtime.inbox import Inbox
from batprotocol.fast.runtime.scheduler import FastScheduler, method_for
from batprotocol.fast.wire import Dialect
from batprotocol.signals import Interrupts

__all__ = ["run"]


def run(
    scheduler: FastScheduler,
    broker: Broker | str = DEFAULT_BROKER,
    *,
    client_id: str = "",
    will: Will | None = None,
    dialect: Dialect = "fastlib",
    rules: str | None = None,
) -> None:
    """Run a scheduler: connect to the broker, and tell the scheduler what comes, until its `main` returns or it stops.

    Args:
        scheduler: the scheduler.
        broker: where the broker is, as `Broker` or in the form `HOST:PORT`.
        client_id: what the broker calls this scheduler; unless given, a name is made up.
        will: what the broker says when the connection is lost.
        dialect: how messages are written, "fastlib" as the programs do or "specification".
        rules: the rule set to judge all that is said on FaST's topics with, by whomever; "" is the usual one. What
            breaks it is told to `on_violation`. None judges nothing.

    However it ends, what was sent is given to the broker first, which takes five seconds at most.

    Raises:
        PeerGone, PeerSilent: there is no broker, or it refuses the connection. A broker that is lost later is waited
            for, and meanwhile tasks run out of time.
        SchedulerError: this is no scheduler, but for example its class.
        PackageMissing: paho-mqtt is not installed.
        KeyboardInterrupt: SIGINT came. SystemExit(143): SIGTERM came. In the main thread, both are noticed even where
            SIGINT was inherited as ignored; signals that the program handles itself are left alone.

    What the scheduler's own methods raise is passed on as it is.

    ```python
    run(Starter(), "127.0.0.1:1883")
    ```
    """
    if not isinstance(scheduler, FastScheduler):
        raise SchedulerError(f"run takes a FastScheduler, not its class or anything else, got {shown(scheduler)}")
    with Interrupts() as interrupts:
        asyncio.run(_run(scheduler, interrupts, broker, client_id=client_id, will=will, dialect=dialect, rules=rules))


async def _run(scheduler: FastScheduler, interrupts: Interrupts, broker: Broker | str, **options: Any) -> None:
    inbox = Inbox()

    def heard(heard: Heard) -> None:
        if isinstance(heard.message, DecodeError):
            inbox.tell(partial(scheduler.on_undecodable, heard.topic, heard.payload, heard.message))
        else:
            inbox.tell(partial(getattr(scheduler, method_for(heard.message)), heard.topic.name, heard.message))

    cluster = Cluster(
        broker,
        on_message=heard,
        on_timeout=lambda call: inbox.tell(partial(scheduler.on_timeout, call)),
        on_change=lambda ready: inbox.tell(scheduler.on_connected if ready else scheduler.on_disconnected),
        on_violation=lambda violation: inbox.tell(partial(scheduler.on_violation, violation)),
        timeout=scheduler.timeout,
        **options,
    )
    scheduler._sender, scheduler._stop, interrupts.wake = cluster, inbox.stop, inbox.stop
    try:
        with interrupts.immediately():
            cluster.open()
            if type(scheduler).main is not FastScheduler.main:
                inbox.start(scheduler.main(), stop_after=True)
            await inbox.until_stopped()
    finally:
        cluster.close()
        scheduler._sender = scheduler._stop = None
