"""The state of a conversation: jobs, profiles, calls, probes, hosts, and the current violations.

The modules of the topics read and change it; `Conversation` shows it. This module must not know the contents of rules,
or the effects of events.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

import msgspec
from mypy_extensions import mypyc_attr

from batprotocol import model
from batprotocol._util.rules import Severity
from batprotocol.conversation.automaton import Expected, HostPower, Phase, Registration
from batprotocol.conversation.holding import Holding
from batprotocol.conversation.hostsets import HostCounts, HostSetText, read_hosts
from batprotocol.conversation.known_jobs import JobRecord, Jobs
from batprotocol.conversation.power import PowerRecord
from batprotocol.conversation.rules import Violation
from batprotocol.errors import shown

__all__ = ["CallRecord", "HostRecord", "ProbeRecord", "State"]

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
class State:
    """The state of a conversation.

    Sets of hosts are ints whose bit n is host n. The function for an event reports all its violations first. It changes
    the state only if `refused` is then False: a refused event changes nothing.
    """

    def __init__(self, severities: Mapping[str, Severity], left_to_others: Container[str] = ()) -> None:
        # The check of the current event or message
        self.severities = severities
        self.left_to_others = left_to_others
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
        hosts = read_hosts(text)
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
