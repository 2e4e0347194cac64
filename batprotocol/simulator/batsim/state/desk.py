"""The server's desk: what it will tell the decision component, what it still has to do, and what it waits for."""

from __future__ import annotations

from collections import deque
from typing import Any

from mypy_extensions import mypyc_attr

from batprotocol.model import Event
from batprotocol.simulator.batsim.state.messages import Die
from batprotocol.simulator.queue.actor import Mailbox

__all__ = ["Desk", "SwitchRequest"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SwitchRequest:
    """Hosts that are turned on or off together.

    Attributes:
        hosts: which.
        text: the same as text.
        target: the power state to reach.
        left: how many have not reached it yet.
    """

    __slots__ = ("hosts", "left", "target", "text")

    def __init__(self, hosts: tuple[int, ...], text: str, target: int) -> None:
        self.hosts = hosts
        self.text = text
        self.target = target
        self.left = len(hosts)


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Desk:
    """See the module.

    Args:
        workloads: how many workloads there are.
        lists: how many lists of external events there are.
        registration_is_open: whether jobs may be registered.

    Attributes:
        mailbox: where the server receives.
        events: what it will tell.
        stamp: the time that events get which do not set it.
        todo: what is still to be done of the message at hand: each lets it wait once.
        greetings_due: how many submitters have not said yet that they are there.
        workloads_left: how many workloads have jobs left.
        lists_left: how many lists have external events left.
        unfinished: how many jobs have neither ended nor been rejected.
        kills: how many killers are at work.
        switching: how many requests to switch are under way.
        one_shots: how many one-shot calls are to come.
        calls: the periodic calls that run.
        probes: the probes that run.
        registration_is_open: whether jobs may still be registered.
        is_ready: whether the last reply was heard to its end.
        is_ending: whether nothing will follow but the end.
    """

    __slots__ = (
        "calls",
        "events",
        "greetings_due",
        "is_ending",
        "is_ready",
        "kills",
        "lists_left",
        "mailbox",
        "one_shots",
        "probes",
        "registration_is_open",
        "stamp",
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
        self.greetings_due = workloads + lists
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
        """Whether nothing can come any more."""
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
        """Nothing will follow but the end."""
        self.events = []
        self.todo.clear()
        self.todo.append(("forward", Die()))
        self.is_ending = True
