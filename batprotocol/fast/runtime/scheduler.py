"""FastScheduler, the base class of schedulers for FaST: a method for each message, and nodes that take tasks.

`run` makes a program of a scheduler, from its connection to its end. Tests may call the methods as well.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from batprotocol._util.signals import Interrupts
from batprotocol._util.user_code import expect_known, expect_method, is_computed
from batprotocol.errors import DecodeError, SchedulerError, shown
from batprotocol.fast.conversation import Violation
from batprotocol.fast.runtime.cluster import DEFAULT_BROKER, Call, Cluster, Heard, Node, Sender
from batprotocol.fast.runtime.connection import Broker, Inbox, Will
from batprotocol.fast.topics import RESULTS, Topic
from batprotocol.fast.values import (
    KPI,
    ApplicationKPIs,
    ApplicationStatus,
    Configuration,
    FastMessage,
    Init,
    MmbwmonResponse,
    MmbwmonRestartAck,
    MmbwmonStopAck,
    Result,
)
from batprotocol.fast.wire import Dialect

__all__ = ["METHODS", "RESULT_METHODS", "FastScheduler", "method_for", "run"]

logger = logging.getLogger("batprotocol.fast")


Handled: TypeAlias = Coroutine[Any, Any, None] | None
"""The return value of a method: None, or for an `async def`, the coroutine that runs beside the others."""


class FastScheduler:
    """A scheduler for FaST: override the methods of the messages that matter, and send tasks to nodes.

    Attributes:
        timeout: the default time of a task, in seconds; after it, the call raises `PeerSilent`.

    The methods are called one after the other, in the order in which messages come, in the thread that called `run`. A
    method that is `async def` does not keep the others waiting while it awaits something. In a method that is `def`,
    `call.result()` waits, and all messages with it. An exception of a method ends the run.

    Mistakes in a class are reported when Python creates it: `SchedulerError`, which is a `TypeError`, for a method that
    is misspelt or takes other arguments.

    >>> class Starter(FastScheduler):
    ...     async def on_init(self, host, message):
    ...         await self.node(host).start("vm1")
    """

    timeout: float = 300.0

    _sender: Sender | None = None
    _stop: Callable[[], None] | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        expect_known(cls, _CALLED.keys(), "message")
        for name, called_with in _CALLED.items():
            method = inspect.getattr_static(cls, name)
            if method is not vars(FastScheduler)[name]:
                expect_method(cls, name, method, called_with, None)
        for name in _GIVEN:
            attribute = inspect.getattr_static(cls, name)
            if attribute is not vars(FastScheduler)[name] and not is_computed(attribute):
                raise SchedulerError(f"{cls.__name__}.{name} would hide the one of FastScheduler: pick another name")

    # While it runs

    def node(self, host: str) -> Node:
        """The node of this name, also if it does not exist: it has a method for each task."""
        return Node(self._running(), host)

    def stop(self) -> None:
        """End the run: `run` returns, and cancels what still waits."""
        self._running()
        assert self._stop is not None
        self._stop()

    def _running(self) -> Sender:
        if self._sender is None:
            raise RuntimeError("this scheduler is not running: use its nodes while `run` runs it")
        return self._sender

    # To be overridden

    async def main(self) -> None:
        """Run beside the other methods: `run` returns when this does.

        By default, the scheduler runs until `stop` is called, or a signal comes.
        """

    def on_connected(self) -> Handled:
        """The connection to the broker begins: at the start, and again after each loss."""

    def on_disconnected(self) -> Handled:
        """The connection to the broker is lost. Messages are kept until it is back, when `on_connected` is called."""

    def on_vm_started(self, host: str, message: Result) -> Handled:
        """A node has started machines, or failed to. As for all results, `message.is_success` shows the outcome."""

    def on_vm_stopped(self, host: str, message: Result) -> Handled:
        """A node has stopped machines."""

    def on_vm_suspended(self, host: str, message: Result) -> Handled:
        """A node has suspended machines."""

    def on_vm_resumed(self, host: str, message: Result) -> Handled:
        """A node has resumed machines."""

    def on_vm_migrated(self, host: str, message: Result) -> Handled:
        """A machine was migrated from a node."""

    def on_vm_repinned(self, host: str, message: Result) -> Handled:
        """The virtual CPUs of a machine run on other CPUs."""

    def on_node_evacuated(self, host: str, message: Result) -> Handled:
        """The machines of a node were migrated from it."""

    def on_quit(self, host: str, message: Result) -> Handled:
        """The migration framework of a node ends."""

    def on_unknown(self, host: str, message: Result) -> Handled:
        """A migration framework could not read a task, or sends another result that is unknown."""

    def on_init(self, host: str, message: Init) -> Handled:
        """The agent of a node has started: the node can be used, and its agent can be configured."""

    def on_configuration(self, host: str, message: Configuration) -> Handled:
        """The agent of a node accepts its configuration, or denies it."""

    def on_kpi(self, host: str, message: KPI) -> Handled:
        """The agent of a node reports its indicators."""

    def on_mmbwmon_response(self, host: str, message: MmbwmonResponse) -> Handled:
        """Memory bandwidth was measured."""

    def on_mmbwmon_stop_ack(self, host: str, message: MmbwmonStopAck) -> Handled:
        """The processes of a cgroup are stopped."""

    def on_mmbwmon_restart_ack(self, host: str, message: MmbwmonRestartAck) -> Handled:
        """The processes of a cgroup continue."""

    def on_application_status(self, job_id: str, message: ApplicationStatus) -> Handled:
        """An application reports whether it can be migrated, and which indicators it supports."""

    def on_application_kpis(self, job_id: str, message: ApplicationKPIs) -> Handled:
        """An application reports its progress."""

    def on_timeout(self, call: Call[Any]) -> Handled:
        """No result of this task came in time; the call raises `PeerSilent`."""

    def on_undecodable(self, topic: Topic, payload: bytes, error: DecodeError) -> Handled:
        """A payload on a topic for schedulers is not a message of FaST."""

    def on_violation(self, violation: Violation) -> Handled:
        """A message breaks a rule, if `run` was given rules. By default, it is logged."""
        logger.warning("%s", violation)
        return None


METHODS: Final[Mapping[type[FastMessage], str]] = {
    Init: "on_init",
    Configuration: "on_configuration",
    KPI: "on_kpi",
    MmbwmonResponse: "on_mmbwmon_response",
    MmbwmonStopAck: "on_mmbwmon_stop_ack",
    MmbwmonRestartAck: "on_mmbwmon_restart_ack",
    ApplicationStatus: "on_application_status",
    ApplicationKPIs: "on_application_kpis",
}
"""The method of each message to a scheduler, except results."""

RESULT_METHODS: Final[Mapping[str, str]] = {word: f"on_{word.replace(' ', '_')}" for word in RESULTS.values()}
"""The method of each result, by its word; `on_unknown` gets all others."""

_CALLED: Final[Mapping[str, tuple[str, ...]]] = {
    "main": (),
    "on_connected": (),
    "on_disconnected": (),
    **dict.fromkeys([*RESULT_METHODS.values(), "on_unknown", *METHODS.values()], ("host", "message")),
    "on_timeout": ("call",),
    "on_undecodable": ("topic", "payload", "error"),
    "on_violation": ("violation",),
}
"""The arguments of each method that can be overridden."""

_GIVEN: Final = ("node", "stop")
"""The methods that a scheduler must not override."""


def method_for(message: FastMessage) -> str:
    """The name of the method that gets a message.

    >>> method_for(Result("vm started"))
    'on_vm_started'
    """
    if isinstance(message, Result):
        return RESULT_METHODS.get(message.result, "on_unknown")
    return METHODS[type(message)]


# A scheduler as a program


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
