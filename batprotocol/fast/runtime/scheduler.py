"""FastScheduler, the base class of schedulers for FaST: a method for each message, and nodes that take tasks.

It must not know of brokers or threads: `run` calls the methods, and tests may do so as well.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeAlias

from batprotocol.errors import DecodeError, SchedulerError
from batprotocol.fast.conversation import Violation
from batprotocol.fast.messages import RESULTS
from batprotocol.fast.runtime.calls import Call
from batprotocol.fast.runtime.node import Node, Sender
from batprotocol.fast.topics import Topic
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
from batprotocol.methods import expect_known, expect_method, is_computed

logger = logging.getLogger("batprotocol.fast")

__all__ = ["METHODS", "RESULT_METHODS", "FastScheduler", "method_for"]


Told: TypeAlias = Coroutine[Any, Any, None] | None
"""What a method gives that is told something: nothing, or if it is `async def`, what runs beside the others."""


class FastScheduler:
    """A scheduler for FaST: override the methods of the messages that matter, and give nodes tasks.

    Attributes:
        timeout: seconds that a task may take, unless it is told otherwise; then it raises `PeerSilent`.

    The methods are called one after the other, in the order in which messages come, in the thread that called `run`. A
    method that is `async def` does not keep the others waiting while it awaits something; in one that is `def`,
    `call.result()` waits as well, and all messages with it. What a method raises ends the run.

    What is wrong with a class shows when it is made: `SchedulerError`, which is a `TypeError`, for a method that is
    misspelt or takes other arguments.

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
                raise SchedulerError(f"{cls.__name__}.{name} would hide the one of FastScheduler: choose another name")

    # While it runs

    def node(self, host: str) -> Node:
        """The node of this name, whether there is one or not: it has a method for each task."""
        return Node(self._running(), host)

    def stop(self) -> None:
        """End the run: what waits is left, and `run` returns."""
        self._running()
        assert self._stop is not None
        self._stop()

    def _running(self) -> Sender:
        if self._sender is None:
            raise RuntimeError("this scheduler is not running: nodes are there while `run` runs it")
        return self._sender

    # To be overridden

    async def main(self) -> None:
        """What the scheduler does by itself, beside the methods: `run` returns when this does.

        Unless this is overridden, the scheduler runs until `stop` is called, or a signal comes.
        """

    def on_connected(self) -> Told:
        """The broker is there: at the beginning, and again each time when it was gone."""

    def on_disconnected(self) -> Told:
        """The broker is gone. What is sent meanwhile is kept; `on_connected` tells when it is there again."""

    def on_vm_started(self, host: str, message: Result) -> Told:
        """A node has started machines. As with all results: also when it could not, as `message.is_success` tells."""

    def on_vm_stopped(self, host: str, message: Result) -> Told:
        """A node has stopped machines."""

    def on_vm_suspended(self, host: str, message: Result) -> Told:
        """A node has suspended machines."""

    def on_vm_resumed(self, host: str, message: Result) -> Told:
        """A node has resumed machines."""

    def on_vm_migrated(self, host: str, message: Result) -> Told:
        """A machine was migrated from a node."""

    def on_vm_repinned(self, host: str, message: Result) -> Told:
        """The virtual CPUs of a machine run elsewhere."""

    def on_node_evacuated(self, host: str, message: Result) -> Told:
        """The machines of a node were migrated from it."""

    def on_quit(self, host: str, message: Result) -> Told:
        """The migration framework of a node ends."""

    def on_unknown(self, host: str, message: Result) -> Told:
        """A migration framework could not read a task, or tells something else that is no result of one."""

    def on_init(self, host: str, message: Init) -> Told:
        """The agent of a node has started: it can be used, and its agent be configured."""

    def on_configuration(self, host: str, message: Configuration) -> Told:
        """The agent of a node accepts its configuration, or denies it."""

    def on_kpi(self, host: str, message: KPI) -> Told:
        """The agent of a node reports its indicators."""

    def on_mmbwmon_response(self, host: str, message: MmbwmonResponse) -> Told:
        """Memory bandwidth was measured."""

    def on_mmbwmon_stop_ack(self, host: str, message: MmbwmonStopAck) -> Told:
        """The processes of a cgroup are stopped."""

    def on_mmbwmon_restart_ack(self, host: str, message: MmbwmonRestartAck) -> Told:
        """The processes of a cgroup go on."""

    def on_application_status(self, job_id: str, message: ApplicationStatus) -> Told:
        """An application tells whether it can be migrated, and what it will report."""

    def on_application_kpis(self, job_id: str, message: ApplicationKPIs) -> Told:
        """An application reports its progress."""

    def on_timeout(self, call: Call[Any]) -> Told:
        """No result of this task came in time; whoever waits for it gets `PeerSilent`."""

    def on_undecodable(self, topic: Topic, payload: bytes, error: DecodeError) -> Told:
        """Somebody said something to schedulers that is no message of FaST."""

    def on_violation(self, violation: Violation) -> Told:
        """Somebody broke a rule, if `run` was given some. Unless this is overridden, it is logged."""
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
"""The method of each message that is said to a scheduler, but for results."""

RESULT_METHODS: Final[Mapping[str, str]] = {word: f"on_{word.replace(' ', '_')}" for word in RESULTS.values()}
"""The method of each result, by its word; all others are told to `on_unknown`."""

_CALLED: Final[Mapping[str, tuple[str, ...]]] = {
    "main": (),
    "on_connected": (),
    "on_disconnected": (),
    **dict.fromkeys([*RESULT_METHODS.values(), "on_unknown", *METHODS.values()], ("host", "message")),
    "on_timeout": ("call",),
    "on_undecodable": ("topic", "payload", "error"),
    "on_violation": ("violation",),
}
"""What each method that can be overridden is called with."""

_GIVEN: Final = ("node", "stop")
"""What a scheduler finds in itself."""


def method_for(message: FastMessage) -> str:
    """The name of the method that a message is told to.

    >>> method_for(Result("vm started"))
    'on_vm_started'
    """
    if isinstance(message, Result):
        return RESULT_METHODS.get(message.result, "on_unknown")
    return METHODS[type(message)]
