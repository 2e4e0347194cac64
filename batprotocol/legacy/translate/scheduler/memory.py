"""What the translation for an older scheduler remembers: hosts, jobs, calls of its own, and what is lost.

It must not know of any single event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from batprotocol import model
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.versions import Version, version_of
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate.report import Report

__all__ = ["NO_OPTIONS", "OURS", "Memory", "Options"]

OURS: Final = "legacy!"
"""What the names of our own calls and probes begin with."""


class Options(NamedTuple):
    """What the command line of an older Batsim decided on.

    Attributes:
        dynamic: whether jobs can be registered.
        acknowledge: whether registered jobs come back in a JOB_SUBMITTED.
        forward_profiles: whether a JOB_SUBMITTED tells the profile.
        sharing: whether several jobs may share a host.
        config: what else is in the configuration that the scheduler is told.
        redis: host, port and prefix of the Redis server, or None if jobs are told in messages.
    """

    dynamic: bool = False
    acknowledge: bool = False
    forward_profiles: bool = False
    sharing: bool = False
    config: Mapping[str, Any] = {}
    redis: tuple[str, int, str] | None = None


NO_OPTIONS: Final = Options()


class Memory:
    """What one side tells once and the other one again.

    Args:
        version: the version of Batsim that the scheduler was made for.
        options: what that Batsim's command line decided on.
        store: where jobs are kept if they are not told in messages.
    """

    def __init__(self, version: str | Version, options: Options, store: JobStore | None) -> None:
        self.version = version_of(version)
        self.options = options
        self.store = store
        self.report = Report()
        self.now = 0.0
        self.jobs: dict[str, str] = {}
        """What has become of each job: "submitted", "running", "faked", "ended"."""
        self.allocations: dict[str, str] = {}
        self.profiles: dict[str, model.Profile] = {}
        self.registered: set[str] = set()
        self.asleep: dict[int, frozenset[int]] = {}
        self.passing: dict[int, frozenset[int]] = {}
        """The power states that a host has on its way from one to another only."""
        self.pstates: dict[int, int] = {}
        self.killing: dict[str, int] = {}
        self.calls: dict[str, float] = {}
        """When calls are wanted that today's Batsim can only give at the millisecond before."""
        self.hosts = ""
        self.finished = False
        self.pending: list[e.Event] = []
        """What the scheduler is told with the next message, because today's Batsim does not."""
        self._number = 0
        self.wakes = False

    def name(self, kind: str) -> str:
        """A new name of our own."""
        self._number += 1
        return f"{OURS}{kind}!{self._number}"

    def call_at(self, when: int, time: float) -> model.Event:
        """A call that only we are concerned with, as soon as possible."""
        trigger = model.OneShot(when, model.TimeUnit.Millisecond)
        return model.CallMeLaterEvent(timestamp=time, call_me_later_id=self.name("wake"), when=trigger)
