"""The state of the translation for an older Batsim: jobs, calls, probes, switches, and losses.

This module must not know any single event.
"""

from __future__ import annotations

import heapq

from batprotocol import model
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.values import JobProfile
from batprotocol.legacy.json.versions import Version, version_of
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate.jobs import JobStates
from batprotocol.legacy.translate.report import Report

__all__ = ["Memory"]


class Memory:
    """Information that one side sends once, and the other side needs again.

    Args:
        version: the version of Batsim.
        store: the store of the jobs, if messages do not describe them.
    """

    def __init__(self, version: str | Version, store: JobStore | None) -> None:
        self.version = version_of(version)
        self.store = store
        self.report = Report()
        self.features = model.EDCRequestedSimulationFeatures()
        self.now = 0.0
        self.res: dict[str, int] = {}
        self.jobs = JobStates()
        self.calls: list[tuple[float, int, str]] = []
        """The requested calls, the next one first: the time, the order, and the owner."""
        self.periods: dict[str, tuple[float, int | None]] = {}
        """The period of each periodic call and probe, and how many calls remain; None: without limit."""
        self.probes: dict[str, model.CreateProbeEvent] = {}
        self.asked: list[str] = []
        """The probes that wait for an answer."""
        self.due: list[str] = []
        """The periodic calls and probes whose next call the translation must request."""
        self.measure: list[str] = []
        """The probes that must measure now."""
        self.switching: list[tuple[frozenset[int], int]] = []
        self.profiles: dict[str, JobProfile] = {}
        self.names: dict[str, str] = {}
        self.told_names: dict[str, str] = {}
        self.dynamic: set[str] = set()
        self.acknowledged = False
        self.dynamic_enabled = False
        self.finished = False
        """Whether the component has finished registration."""
        self.closed = False
        """Whether Batsim knows no better than that registration has ended."""
        self.hosts: frozenset[int] = frozenset()
        self.sleeping: dict[int, frozenset[int]] = {}
        self.pstates: dict[int, int] = {}
        self.pending: list[model.Event] = []
        self.wakes = False
        self.stopping = False
        self.all_submitted = False
        self.all_injected = False
        self.is_over = False
        self.order = 0

    @property
    def is_idle(self) -> bool:
        """Whether the component hears of nothing more, unless Batsim submits another job."""
        return not (self.jobs.open or self.calls or self.asked or self.due or self.measure or self.switching)

    def call(self, whose: str, when: float, time: float) -> e.Event:
        """Request a call at that time, but not in the past: an older Batsim aborts on that."""
        at = when
        if at <= max(time, self.now) + 1e-4:
            at = max(time, self.now) + 0.001
        self.order += 1
        heapq.heappush(self.calls, (at, self.order, whose))
        return e.CallMeLater(time, at)

    def next_multiple(self, period: float, time: float) -> float:
        """The first multiple of a period after that time."""
        number = int(max(time, self.now) / period + 1e-9) + 1
        return number * period
