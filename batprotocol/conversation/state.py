"""The state of a conversation: jobs, profiles, calls, probes, hosts, and the current violations.

The modules of the topics read and change it; `Conversation` shows it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Mapping
from typing import Final

import msgspec
from intervaltree import IntervalTree
from mypy_extensions import mypyc_attr

from batprotocol import model
from batprotocol._util.counting import step
from batprotocol._util.rules import Severity
from batprotocol.conversation.automaton import Expected, HostPower, Phase, Registration
from batprotocol.conversation.hostsets import HostCounts, HostSetText, read_hosts
from batprotocol.conversation.known_jobs import JobRecord, Jobs
from batprotocol.conversation.rules import Violation
from batprotocol.conversation.usage import HostIntervals, HostUsage
from batprotocol.errors import shown

__all__ = [
    "CallRecord",
    "ConversationState",
    "Holding",
    "HostRecord",
    "PowerRecord",
    "ProbeRecord",
]


# The running jobs and the hosts that they hold: which hosts are busy, and which jobs share them.


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Holding:
    """The running jobs and their hosts.

    Attributes:
        running: the hosts by job, in the order in which they got them.
        counts: the number of jobs that hold each host; `counts.some` are the busy hosts.
    """

    __slots__ = ("_moment", "_parts", "_ranges", "_sharing", "counts", "running")

    def __init__(self) -> None:
        self._sharing: dict[str, None] = {}  # the jobs that hold a part of each of their hosts
        self._parts = HostCounts()  # their number on each host
        self.running: dict[str, HostSetText] = {}
        self.counts = HostCounts()
        self._ranges: _Ranges | None = None  # made on the first request for names: most jobs share nothing
        self._moment: weakref.ref[HostUsage] | None = None

    def occupy(self, job_id: str, hosts: HostSetText, is_part: bool = False) -> None:
        """The job gets these hosts, or a part of each of them."""
        if self._moment is not None:
            self._keep()
        self.running[job_id] = hosts
        self.counts.add(hosts.mask)
        if is_part:
            self._sharing[job_id] = None
            self._parts.add(hosts.mask)
        if self._ranges is not None:
            self._ranges.add(job_id, hosts)

    def release(self, job_id: str) -> None:
        """The job releases its hosts."""
        if self._moment is not None:
            self._keep()
        hosts = self.running.pop(job_id)
        self.counts.remove(hosts.mask)
        if job_id in self._sharing:
            del self._sharing[job_id]
            self._parts.remove(hosts.mask)
        if self._ranges is not None:
            self._ranges.remove(job_id, hosts)

    def whole(self) -> int:
        """The hosts that a job holds which did not ask for a part of them."""
        return self.counts.beyond(self._parts)

    def holders(self, hosts: HostSetText, most: int) -> list[str]:
        """The jobs that hold any of these hosts, but at most `most` of them."""
        if self._ranges is None:
            self._ranges = _Ranges()
            for job_id, held in self.running.items():
                self._ranges.add(job_id, held)
        return self._ranges.overlapping(hosts, most)

    def usage(self) -> IntervalTree:
        """The hosts that jobs hold now, for users: intervals [first, last + 1[ with the job's id."""
        moment = None if self._moment is None else self._moment()
        if moment is None:
            moment = HostUsage(self.running)
            self._moment = weakref.ref(moment)
        return HostIntervals(moment)

    def _keep(self) -> None:
        moment = None if self._moment is None else self._moment()
        if moment is not None:
            moment.keep()
        self._moment = None

    def __getstate__(self) -> tuple[dict[str, HostSetText], dict[str, None]]:
        return self.running, self._sharing

    def __setstate__(self, state: tuple[dict[str, HostSetText], dict[str, None]]) -> None:
        running, sharing = state
        self.running = {}
        self._sharing = {}
        self._parts = HostCounts()
        self.counts = HostCounts()
        self._ranges = None
        self._moment = None
        for job_id, hosts in running.items():
            self.occupy(job_id, hosts, job_id in sharing)


_LEAVES: Final = 2**31
"""More than the number of any host."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Ranges:
    """Jobs by their hosts: a binary tree of ranges. A range exists only if a job holds a part of it.

    The root is 1, the halves of range n are 2n and 2n + 1, and host h is the leaf `_LEAVES + h`. So an interval
    consists of at most two ranges in each level, and lies in two more: few dicts for any number of jobs that share it.
    """

    __slots__ = ("_parts", "_wholes")

    def __init__(self) -> None:
        self._wholes: dict[int, dict[str, None]] = {}
        """For each range, the jobs whose intervals contain the whole range."""
        self._parts: dict[int, dict[str, None]] = {}
        """For each range, the jobs that hold a part of it."""

    def add(self, job_id: str, hosts: HostSetText) -> None:
        wholes, parts = _cut(hosts)
        for number in wholes:
            self._wholes.setdefault(number, {})[job_id] = None
        for number in parts:
            self._parts.setdefault(number, {})[job_id] = None

    def remove(self, job_id: str, hosts: HostSetText) -> None:
        wholes, parts = _cut(hosts)
        _take(self._wholes, wholes, job_id)
        _take(self._parts, parts, job_id)

    def overlapping(self, hosts: HostSetText, most: int) -> list[str]:
        """At most `most` jobs that hold any of these hosts: those of a range, its parts and the ranges around it."""
        wholes, above = _cut(hosts)
        found: dict[str, None] = {}
        for number in above:
            if _collect(self._wholes, number, found, most):
                return list(found)
        for number in wholes:
            if _collect(self._wholes, number, found, most) or _collect(self._parts, number, found, most):
                return list(found)
        return list(found)


def _collect(table: dict[int, dict[str, None]], number: int, found: dict[str, None], most: int) -> bool:
    """Add the jobs of a range to those that were found, and return whether these are enough."""
    for job_id in table.get(number, ()):
        found[job_id] = None
        if len(found) >= most:
            return True
    return False


def _take(table: dict[int, dict[str, None]], numbers: dict[int, None], job_id: str) -> None:
    for number in numbers:
        jobs = table[number]
        del jobs[job_id]
        if not jobs:
            del table[number]


def _cut(hosts: HostSetText) -> tuple[dict[int, None], dict[int, None]]:
    """The ranges that a host set consists of, and the larger ranges around these."""
    wholes: dict[int, None] = {}
    parts: dict[int, None] = {}
    for first, last in hosts.intervals:
        step()
        low, high = first + _LEAVES, last + _LEAVES + 1
        while low < high:
            if low & 1:
                wholes[low] = None
                low += 1
            if high & 1:
                high -= 1
                wholes[high] = None
            low >>= 1
            high >>= 1
    for number in wholes:
        number >>= 1
        while number and number not in parts:
            parts[number] = None
            number >>= 1
    return wholes, parts


# The power of one host: its power state, and whether it is on, asleep or switching, as Batsim keeps both.


class PowerRecord(msgspec.Struct):
    """The power of a host.

    Attributes:
        pstate: its power state.
        sleeps: its sleep states, each with the virtual states for switching off and on.
        power: whether it is on, off or switching.
        target: the power state that the last switch leads to; -1: there was none.
    """

    pstate: int
    sleeps: Mapping[int, tuple[int, int]]
    power: HostPower
    target: int

    def kind(self, pstate: int) -> str:
        """The kind of a power state: "sleep", "virtual" (on the way to sleep or back) or "computation"."""
        if pstate in self.sleeps:
            return "sleep"
        return "virtual" if any(pstate in states for states in self.sleeps.values()) else "computation"

    def change(self, pstate: int) -> None:
        """Take another power state at once."""
        self.pstate = pstate

    def begin(self, target: int) -> int:
        """Begin a switch to a power state, and return the virtual power state on the way."""
        self.target = target
        if target in self.sleeps:
            self.power = HostPower.SWITCHING_OFF
            return self.sleeps[target][0]
        self.power = HostPower.SWITCHING_ON
        return self.sleeps.get(self.pstate, (-1, target))[1]

    def end(self, target: int) -> None:
        """End a switch in this power state."""
        self.pstate = target
        self.power = HostPower.ASLEEP if target in self.sleeps else HostPower.ON

    def ended(self) -> PowerRecord:
        """The power after the switch under way, or now if there is none."""
        if model.HostsTurnedOnOffEvent not in self.power.steps:
            return self
        after = PowerRecord(self.pstate, self.sleeps, self.power, self.target)
        after.end(self.target)
        return after

    def obstacle(self, target: int) -> tuple[str, str] | None:
        """The rule that a switch to this power state would break now, with the reason; None if it can begin."""
        if model.TurnOnOffHostsEvent not in self.power.steps:
            return "hosts.turn-switching", self.power.meaning
        now, then = self.kind(self.pstate), self.kind(target)
        if {now, then} == {"computation", "sleep"}:
            return None
        status = {"computation": "on", "sleep": "off", "virtual": "neither on nor off"}[now]
        return "hosts.turn-direction", f"{status} (power state {self.pstate}), and {target} is a {then} state"


NO_FEATURES: Final = model.EDCRequestedSimulationFeatures()
MOST_HOSTS: Final = 2**20
"""The maximum number of hosts while the real number is unknown: a set has as many bits as its highest host."""


class CallRecord(msgspec.Struct):
    """A pending call.

    Attributes:
        when: its trigger.
        fired: the number of times that it has fired.
    """

    when: model.TemporalTrigger
    fired: int = 0


class ProbeRecord(msgspec.Struct):
    """A running probe.

    Attributes:
        event: the event that created it.
        emitted: the number of times that it has emitted data.
    """

    event: model.CreateProbeEvent
    emitted: int = 0


class HostRecord(PowerRecord):
    """The record of a host.

    Attributes:
        host: its description in SimulationBeginsEvent.
        is_storage: whether it is a storage host.
        pstate: its power state, as Batsim reported last or was asked to change it last.
        sleeps: its sleep states, each with the virtual states for switching off and on.
        power: whether it is on, off or switching.
        target: the power state that its last switch leads to; -1: there was none.
        ready_at: the earliest end of its last switch, in simulated seconds.
        changed: the power state that it was changed to during its last switch; -1: it was not.
        other: another power state that it may be in; -1: there is none.
    """

    host: model.Host
    is_storage: bool
    ready_at: float = 0.0
    changed: int = -1
    other: int = -1

    def at(self, time: float) -> PowerRecord:
        """The power at that time: a reply can take longer than a switch."""
        return self.ended() if time >= self.ready_at else self

    def power_at(self, time: float) -> HostPower:
        """Whether the host is on, off or switching at that time."""
        return self.at(time).power


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class ConversationState:
    """The state of a conversation.

    Sets of hosts are ints whose bit n is host n. The function for an event reports all its violations first. It changes
    the state only if `refused` is then False: a refused event changes nothing.
    """

    def __init__(
        self,
        severities: Mapping[str, Severity],
        left_to_others: Container[str] = (),
        asks_for_a_part: Callable[[str], bool] | None = None,
    ) -> None:
        # The check of the current event or message
        self.severities = severities
        self.left_to_others = left_to_others
        self.asks_for_a_part = asks_for_a_part
        self.found: list[Violation] = []
        self.refused = False
        self.said = False
        self.number = 0
        self.index = -1
        self.first_timestamp: float | None = None
        self.last_timestamp = 0.0
        self.blind = False
        self.instead = ""
        # The conversation
        self.expected = Expected.INIT
        self.format = "binary"
        # The simulation
        self.phase = Phase.INIT
        self.now = 0.0
        self.features = NO_FEATURES
        self.registration = Registration.NOT_REQUESTED
        self.static_workloads: frozenset[str] = frozenset()
        self.static_submitted = False
        self.external_injected = False
        self.has_energy: bool | None = None
        # Hosts
        self.hosts: dict[int, HostRecord] = {}
        self.host_names: dict[str, int] = {}
        self.host_limit = MOST_HOSTS
        self.storages = 0
        self.asleep = 0
        self.pstate_changes_due: dict[tuple[int, int], int] = {}
        self.changing = HostCounts()  # the hosts of these changes
        self.switches_due: dict[int, HostCounts] = {}
        # Jobs and profiles
        self.jobs = Jobs()
        self.ended: list[str] = []
        self.held = Holding()
        self.rejected: list[JobRecord] = []
        self.undecided = 0
        self.acknowledgements_due = 0
        self.kills_due = 0
        self.profiles: dict[str, model.Profile | None] = {}
        self.gone_profiles: set[str] = set()
        self.infinite_profiles: set[str] = set()
        self.reuses_profiles = False
        # Calls and probes
        self.calls: dict[str, list[CallRecord]] = {}
        self.probes: dict[str, ProbeRecord] = {}
        self.periods: dict[int, int] = {}
        self.closing_calls: set[str] = set()
        self.pending = 0
        self.endless = 0
        self.endless_news: set[str] = set()
        self.closing_probes: set[str] = set()

    def report(self, rule: str, path: str, text: str) -> None:
        """Report a violation of the current event.

        Args:
            rule: the id of the rule. Nothing happens if the rule set does not have it.
            path: the field of the event, or "" for the whole event.
            text: the finding, as one sentence.
        """
        if self.index >= 0:
            path = f"events[{self.index}].event.{path}" if path else f"events[{self.index}].event"
        self.report_at(rule, path, text)

    def report_at(self, rule: str, path: str, text: str) -> None:
        """Report a violation at a path of the current message."""
        rule = self.instead or rule
        severity = self.severities.get(rule)
        if severity is not None and not (self.said and rule in self.left_to_others):
            self.refused = self.refused or severity != "warning"
            self.found.append(Violation(self.number, path, rule, severity, text))

    def takes_effect(self, possible: bool = True) -> bool:
        """Whether the current event, after its check, changes the state.

        It does if no violation is fatal. An event that was already sent, not only offered, changes the state whenever
        possible: otherwise, its consequences would be reported too.

        Args:
            possible: whether the state can be changed in spite of violations.
        """
        return not self.refused or (self.said and possible)

    # Host sets

    def readable_hosts(self, text: str, path: str) -> None:
        """Report a host set that Batsim cannot read, or reads as another set."""
        hosts = read_hosts(text)
        if hosts.fault or not text:
            self.report("hosts.syntax" if text else "hosts.empty", path, hosts.fault or "the host set is empty")
        elif hosts.misread:
            self.report("hosts.misread", path, f"Batsim reads {shown(hosts.text)} where {shown(text)} is written")
        elif not hosts.ascending:
            self.report("hosts.order", path, f"the host set {shown(text)} is not in ascending order")

    def known_hosts(self, text: str, path: str) -> HostSetText | None:
        """The host set, or None if it cannot be read, is empty, or contains hosts that do not exist.

        This method reports the last of these problems, and `readable_hosts` the others.
        """
        return self.existing_hosts(read_hosts(text), path)

    def existing_hosts(self, hosts: HostSetText, path: str) -> HostSetText | None:
        """The same as `known_hosts`, for a host set that was read before."""
        if not hosts.intervals:
            return None
        if hosts.last >= self.host_limit:
            self.report("hosts.unknown", path, f"there is no host {hosts.last}: the last one is {self.host_limit - 1}")
            return None
        return hosts

    # What Batsim still waits for

    def to_come(self) -> list[str]:
        """The reasons why Batsim will send another message: pending events, as phrases. Empty if there are none."""
        reasons = (
            (bool(self.held.running), f"{len(self.held.running)} running jobs"),
            (not self.static_submitted, "static jobs to submit"),
            (not self.external_injected, "external events to inject"),
            (bool(self.calls), f"calls {', '.join(map(shown, list(self.calls)[:3]))}"),
            (bool(self.probes), f"probes {', '.join(map(shown, list(self.probes)[:3]))}"),
            (bool(self.switches_due), "hosts being switched"),
            (bool(self.pstate_changes_due), "changes of power states"),
            (self.acknowledgements_due > 0, "registered jobs to acknowledge"),
            (self.kills_due > 0, "jobs being killed"),
        )
        return [phrase for applies, phrase in reasons if applies]

    def nothing_to_come(self) -> bool:
        """Whether nothing is pending. It is equal to `not to_come()`, but faster."""
        return not self.calls and not self.probes and self.only_repeats()

    def only_repeats(self) -> bool:
        """Whether only calls and probes are pending."""
        return (
            not self.held.running
            and self.static_submitted
            and self.external_injected
            and not self.switches_due
            and not self.pstate_changes_due
            and not self.acknowledgements_due
            and not self.kills_due
        )
