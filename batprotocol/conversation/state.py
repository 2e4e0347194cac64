"""What is known in a conversation at one moment: jobs, profiles, calls, probes, hosts, and the violations being found.

The modules of the topics read and change it; `Conversation` shows it. It must not know of any rule's content, nor which
event does what.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

import msgspec
from mypy_extensions import mypyc_attr

from batprotocol import model
from batprotocol.conversation.automaton import Expected, HostPower, Phase, Registration
from batprotocol.conversation.holding import Holding
from batprotocol.conversation.hostsets import HostCounts, HostSetText, read_hosts
from batprotocol.conversation.known_jobs import JobRecord, Jobs
from batprotocol.conversation.rules import Violation
from batprotocol.errors import shown
from batprotocol.rules import Severity

__all__ = ["CallRecord", "HostRecord", "ProbeRecord", "State"]

NO_FEATURES: Final = model.EDCRequestedSimulationFeatures()
MOST_HOSTS: Final = 2**20
"""How many hosts there are at most, as long as nobody has told: a set is as many bits as its highest host."""


class CallRecord(msgspec.Struct):
    """A call that was requested and is still to come.

    Attributes:
        when: its trigger.
        fired: how often it has come.
    """

    when: model.TemporalTrigger
    fired: int = 0


class ProbeRecord(msgspec.Struct):
    """A probe that runs.

    Attributes:
        event: how it was created.
        emitted: how often it has emitted data.
    """

    event: model.CreateProbeEvent
    emitted: int = 0


class HostRecord(msgspec.Struct):
    """What is known of a host.

    Attributes:
        host: as SimulationBeginsEvent told it.
        is_storage: whether it is a storage host.
        pstate: its power state, or the one it is switching to.
        power: whether it is on, off or on the way.
        ready_at: until when its last switch takes at least, in simulated seconds.
    """

    host: model.Host
    is_storage: bool
    pstate: int
    power: HostPower = HostPower.ON
    ready_at: float = 0.0

    def power_at(self, time: float) -> HostPower:
        """What a host that was switching is by then: a reply can take longer than the switch."""
        if self.power is HostPower.SWITCHING_OFF and time >= self.ready_at:
            return HostPower.ASLEEP
        if self.power is HostPower.SWITCHING_ON and time >= self.ready_at:
            return HostPower.ON
        return self.power


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class State:
    """The state of a conversation.

    Sets of hosts are ints whose bit n is host n. Whoever handles an event reports all that is wrong with it first, and
    changes the state only if `refused` is False then: a refused event changes nothing.
    """

    def __init__(self, severities: Mapping[str, Severity], left_to_others: Container[str] = ()) -> None:
        # The judgement of the event or message at hand
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
        """Note a violation of the event at hand.

        Args:
            rule: its id. Nothing happens if the rule set in force does not have it.
            path: the field of the event, or "" for the whole event.
            text: what was found, as one sentence.
        """
        if self.index >= 0:
            path = f"events[{self.index}].event.{path}" if path else f"events[{self.index}].event"
        self.report_at(rule, path, text)

    def report_at(self, rule: str, path: str, text: str) -> None:
        """Note a violation at a path of the message at hand."""
        severity = self.severities.get(rule)
        if severity is not None and not (self.said and rule in self.left_to_others):
            self.refused = self.refused or severity != "warning"
            self.found.append(Violation(self.number, path, rule, severity, text))

    def takes_effect(self, possible: bool = True) -> bool:
        """Whether the event at hand, judged by now, changes the state.

        It does if nothing fatal was found. If it was said already, and not just offered, it does wherever it can:
        otherwise all that follows from it would be reported too.

        Args:
            possible: whether the state can be changed although something is wrong.
        """
        return not self.refused or (self.said and possible)

    # Host sets

    def readable_hosts(self, text: str, path: str) -> None:
        """Report a host set that Batsim cannot read, or reads otherwise than it looks."""
        hosts = read_hosts(text)
        if hosts.fault or not text:
            self.report("hosts.syntax" if text else "hosts.empty", path, hosts.fault or "the host set is empty")
        elif hosts.misread:
            self.report("hosts.misread", path, f"Batsim reads {shown(hosts.text)} where {shown(text)} is written")
        elif not hosts.ascending:
            self.report("hosts.order", path, f"the host set {shown(text)} is not in ascending order")

    def known_hosts(self, text: str, path: str) -> HostSetText | None:
        """The host set, or None where it cannot be read, is empty, or holds hosts that do not exist.

        The last of these is reported here, the others by `readable_hosts`.
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
        """Why Batsim will speak again: what is under way, as phrases. Empty if nothing is."""
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
        """Whether nothing is under way. The same as `not to_come()`, but quick."""
        return not self.calls and not self.probes and self.only_repeats()

    def only_repeats(self) -> bool:
        """Whether nothing is under way but calls and probes."""
        return (
            not self.held.running
            and self.static_submitted
            and self.external_injected
            and not self.switches_due
            and not self.pstate_changes_due
            and not self.acknowledgements_due
            and not self.kills_due
        )
