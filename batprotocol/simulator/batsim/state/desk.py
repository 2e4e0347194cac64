"""The state of the server: events for the next message, the remaining steps of the current one, and counters."""

from __future__ import annotations

from collections import deque
from typing import Any

from mypy_extensions import mypyc_attr

from batprotocol.model import Event
from batprotocol.simulator.batsim.state.messages import EndPeriodicCalls
from batprotocol.simulator.queue.actor import Mailbox

__all__ = ["ServerState", "SwitchRequest"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SwitchRequest:
    """Hosts that are turned on or off together.

    Attributes:
        hosts: the hosts.
        text: the hosts as text.
        target: the power state to reach.
        left: the number of hosts that have not reached it yet.
    """

    __slots__ = ("hosts", "left", "target", "text")

    def __init__(self, hosts: tuple[int, ...], text: str, target: int) -> None:
        self.hosts = hosts
        self.text = text
        self.target = target
        self.left = len(hosts)


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class ServerState:
    """The state of the server.

    Args:
        workloads: the number of workloads.
        lists: the number of lists of external events.
        registration_is_open: whether jobs may be registered.

    Attributes:
        mailbox: the mailbox of the server.
        events: the events of the next message.
        stamp: the time of events that do not set it.
        todo: the remaining steps of the current message. The server waits once in each.
        submitters_starting: the number of submitters that have not started yet.
        workloads_left: the number of workloads with remaining jobs.
        lists_left: the number of lists with remaining external events.
        unfinished: the number of jobs that have neither ended nor been rejected.
        kills: the number of active killers.
        switching: the number of requests to switch that are under way.
        one_shots: the number of pending one-shot calls.
        calls: the active periodic calls.
        probes: the active probes.
        registration_is_open: whether jobs may still be registered.
        is_ready: whether the last reply was processed to its end.
        is_ending: whether only the end will follow.
    """

    __slots__ = (
        "calls",
        "events",
        "is_ending",
        "is_ready",
        "kills",
        "lists_left",
        "mailbox",
        "one_shots",
        "probes",
        "registration_is_open",
        "stamp",
        "submitters_starting",
        "switching",
        "todo",
        "unfinished",
        "workloads_left",
    )

    def __init__(self, workloads: int, lists: int, registration_is_open: bool) -> None:
        self.mailbox = Mailbox()
        self.events: list[Event] = []
        self.stamp = 0.0
        self.todo: deque[tuple[str, Any]] = deque()
        self.submitters_starting = workloads + lists
        self.workloads_left = workloads
        self.lists_left = lists
        self.unfinished = 0
        self.kills = 0
        self.switching = 0
        self.one_shots = 0
        self.calls: set[str] = set()
        self.probes: set[str] = set()
        self.registration_is_open = registration_is_open
        self.is_ready = True
        self.is_ending = False

    def is_done(self) -> bool:
        """Whether no more events can come."""
        return (
            not self.unfinished
            and not self.workloads_left
            and not self.lists_left
            and not self.registration_is_open
            and not self.kills
            and not self.switching
            and not self.one_shots
            and not self.calls
            and not self.probes
        )

    def end(self) -> None:
        """Let only the end follow."""
        self.events = []
        self.todo.clear()
        self.todo.append(("forward", EndPeriodicCalls()))
        self.is_ending = True
