"""The state of the translation for an older scheduler: hosts, jobs, its own calls, and losses.

This module must not know any single event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from batprotocol import model
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.versions import Version, version_of
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate.jobs import JobStates
from batprotocol.legacy.translate.report import Report

__all__ = ["NO_OPTIONS", "OURS", "Memory", "Options"]

OURS: Final = "legacy!"
"""The beginning of the names of the translation's own calls and probes."""


class Options(NamedTuple):
    """Options of the command line of an older Batsim.

    Attributes:
        dynamic: whether jobs can be registered.
        acknowledge: whether registered jobs come back in a JOB_SUBMITTED.
        forward_profiles: whether a JOB_SUBMITTED has the profile.
        sharing: whether several jobs may share a host.
        config: other keys of the configuration that the scheduler gets.
        redis: host, port and prefix of the Redis server, or None if messages describe the jobs.
        machine_events: whether the scheduler gets events of machines that fail and come back. Since Batsim 3.0, all
            schedulers get them; before, only those that speak text-3.
    """

    dynamic: bool = False
    acknowledge: bool = False
    forward_profiles: bool = False
    sharing: bool = False
    config: Mapping[str, Any] = {}
    redis: tuple[str, int, str] | None = None
    machine_events: bool = False


NO_OPTIONS: Final = Options()


class Memory:
    """Information that one side sends once, and the other side needs again.

    Args:
        version: the version of Batsim that the scheduler was made for.
        options: the options that this Batsim would get on its command line.
        store: the store of the jobs, if messages do not describe them.
    """

    def __init__(self, version: str | Version, options: Options, store: JobStore | None) -> None:
        self.version = version_of(version)
        self.options = options
        self.store = store
        self.report = Report()
        self.now = 0.0
        self.jobs = JobStates()
        self.allocations: dict[str, str] = {}
        self.profiles: dict[str, model.Profile] = {}
        self.registered: set[str] = set()
        """The profiles that exist, as far as events show it."""
        self.asleep: dict[int, frozenset[int]] = {}
        self.passing: dict[int, frozenset[int]] = {}
        """The power states that a host has only while it changes from one to another."""
        self.pstates: dict[int, int] = {}
        self.killing: dict[str, int] = {}
        self.calls: dict[str, float] = {}
        """The times of requested calls that the current Batsim can only make at the millisecond before."""
        self.hosts = ""
        self.finishing = False
        """Whether the scheduler has notified the end of registration, and has not undone it."""
        self.finished = False
        """Whether the current Batsim knows that registration has ended."""
        self.all_submitted = False
        self.all_injected = True
        self.pending: list[e.Event] = []
        """Events for the next message to the scheduler that the current Batsim does not send."""
        self._number = 0
        self.wakes = False

    def name(self, kind: str) -> str:
        """A new name of the translation's own."""
        self._number += 1
        return f"{OURS}{kind}!{self._number}"

    @property
    def ends(self) -> bool:
        """Whether the simulation of an older Batsim would be over now: no job is left, and none is to come."""
        return self.finishing and self.all_submitted and not self.jobs.open and not self.killing

    def call_at(self, when: int, time: float) -> model.Event:
        """Request a call for the translation alone, as soon as possible."""
        trigger = model.OneShot(when, model.TimeUnit.Millisecond)
        return model.CallMeLaterEvent(timestamp=time, call_me_later_id=self.name("wake"), when=trigger)
