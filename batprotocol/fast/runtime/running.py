"""`run`: a scheduler for FaST as a program, from its connection to its end.

Messages come in the thread of the connection. The scheduler gets them in the thread of the caller, where an event loop
of asyncio waits for them. This module must not know of decisions.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from batprotocol._util.signals import Interrupts
from batprotocol.errors import DecodeError, SchedulerError, shown
from batprotocol.fast.runtime.broker import Broker, Will
from batprotocol.fast.runtime.cluster import DEFAULT_BROKER, Cluster, Heard
from batprotocol.fast.runtime.inbox import Inbox
from batprotocol.fast.runtime.scheduler import FastScheduler, method_for
from batprotocol.fast.wire import Dialect

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
    """Run a scheduler: connect to the broker, and call the scheduler's methods, until its `main` returns or it stops.

    Args:
        scheduler: the scheduler.
        broker: the address of the broker, as `Broker` or in the form `HOST:PORT`.
        client_id: the name of this scheduler at the broker; by default, a generated name.
        will: the message that the broker publishes when the connection is lost.
        dialect: the words of messages: "fastlib", as the programs write them, or "specification".
        rules: the rule set to check all messages on FaST's topics, also those of others; "" is the default set.
            `on_violation` gets the violations. None checks nothing.

    In each case, `run` gives all sent messages to the broker before it ends, which takes five seconds at most.

    Raises:
        PeerGone, PeerSilent: there is no broker, or it refuses the connection. If the connection is lost later, `run`
            waits for the broker, and meanwhile tasks time out.
        SchedulerError: this is not a scheduler, but for example its class.
        PackageMissing: paho-mqtt is not installed.
        KeyboardInterrupt: SIGINT came. SystemExit(143): SIGTERM came. In the main thread, both are noticed even if
            SIGINT was inherited as ignored; signals that the program handles itself do not change.

    Exceptions of the scheduler's own methods are raised unchanged.

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
