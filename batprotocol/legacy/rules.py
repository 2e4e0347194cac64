"""The rules of the older protocols, with their severity for each Batsim, and the state of a conversation.

The rule sets are those of nine measured Batsims: five that use JSON, and four that use text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

import msgspec

from batprotocol._util.rules import BrokenRule as AnyViolation
from batprotocol._util.rules import Catalogue, Rule, RuleRow, Severity

__all__ = [
    "CATALOGUE",
    "DEFAULT",
    "RULE_SETS",
    "OldJob",
    "PowerStates",
    "RuleBroken",
    "RuleState",
    "Violation",
    "rule_set_for",
]


RULE_SETS: Final = (
    *("batsim-1.0.0", "batsim-1.2.0", "batsim-1.4.0", "batsim-2.0.0", "batsim-4.2.1"),
    *("text-0", "text-1", "text-2", "text-3"),
)
"""The names of the rule sets. `rule_set_for` finds the one for a version."""
DEFAULT: Final = "batsim-4.2.1"
"""The rule set for a Batsim whose version is unknown."""

_Cell = Severity | Literal["off"]


def _only(one: _Cell, two: _Cell, four: _Cell, text: _Cell = "off", third: _Cell = "off") -> tuple[_Cell, ...]:
    """The severities in Batsim 1, 2 and 4, in text, and in version 3 of text if it has another one."""
    return (one, one, one, two, four, text, text, text, text if third == "off" else third)


_E: Final = _only("error", "error", "error", "error")
_JSON: Final = _only("error", "error", "error")
_TEXT: Final = _only("off", "off", "off", "error")
_W: Final = _only("warning", "warning", "warning", "warning")


CATALOGUE: Final = Catalogue(
    RULE_SETS,
    (
        # The message
        RuleRow(
            "message.form", _E, "It is not a message of the protocol", "Batsim aborts on messages that it cannot read."
        ),
        RuleRow(
            "message.parts",
            _JSON,
            "A message of several frames",
            "Send a message as one frame: Batsim reads only the first frame.",
        ),
        RuleRow(
            "message.time",
            _E,
            "An impossible time",
            "In JSON, an event must not be later than `now`; in text, not earlier than the clock. Use times that "
            "Batsim can print.",
        ),
        RuleRow(
            "message.order",
            _only("warning", "warning", "warning", "error"),
            "Events that are not in chronological order",
            "The documentation demands ascending timestamps; Batsim 1 to 4 sort the events.",
        ),
        RuleRow(
            "message.odd",
            _only("off", "off", "off", "warning"),
            "A text that Batsim reads differently from what it looks like",
            "Write complete numbers, and one bar, colon or comma between two parts.",
        ),
        # The event
        RuleRow(
            "event.unknown",
            _E,
            "There is no such event",
            "Batsim aborts on event types that its version does not have.",
        ),
        RuleRow(
            "event.form", _JSON, "The data of the event are wrong", "Batsim counts the members and checks their types."
        ),
        # Jobs
        RuleRow("job.id", _JSON, "This is not a job name", "Write WORKLOAD!JOB. In Batsim 1, JOB must be a number."),
        RuleRow("job.unknown", _E, "There is no such job", "Name jobs that were submitted or registered."),
        RuleRow(
            "job.not-submitted",
            _E,
            "The job is not waiting",
            "You can execute or reject only a job that was submitted, and was not yet executed or rejected.",
        ),
        RuleRow("job.not-running", _JSON, "The job does not run", "You can kill only a job that was executed."),
        RuleRow(
            "job.forgotten",
            _only("off", "off", "error"),
            "Batsim has forgotten the job",
            "Batsim 4 forgets a job after it has delivered the job's JOB_COMPLETED.",
        ),
        RuleRow(
            "job.state",
            _JSON,
            "This change of a job's state is not allowed",
            "Use a change that your version of Batsim allows.",
        ),
        RuleRow(
            "job.unannounced",
            _only("warning", "warning", "off"),
            "A new job that is never executed",
            "Without acknowledgements, no JOB_SUBMITTED follows, but the scheduler must execute the job all the same.",
        ),
        RuleRow(
            "job.composed",
            _only("off", "off", "error"),
            "A composed profile that was registered",
            "Batsim 4 crashes when it executes such a job. Use composed profiles only in workload files.",
        ),
        RuleRow(
            "job.left",
            _TEXT,
            "A job that waits forever",
            "Batsim aborts when nothing else can happen. Execute or reject each job.",
        ),
        RuleRow(
            "job.rejected-last",
            _only("off", "off", "off", "off", "error"),
            "The last open job is rejected",
            "Version 3 ends when a job ends, and aborts otherwise. Execute the last job.",
        ),
        # Hosts
        RuleRow(
            "alloc.form", _JSON, "This is not a set of hosts", "Write intervals a or a-b, separated by single spaces."
        ),
        RuleRow("alloc.hosts", _JSON, "There is no such host", "The numbers of hosts begin with 0."),
        RuleRow(
            "alloc.size",
            _JSON,
            "Another number of hosts than the job requests",
            "Allocate `res` hosts, or add a mapping.",
        ),
        RuleRow(
            "alloc.mapping",
            _JSON,
            "A mapping that does not fit the hosts",
            "Map executors to places in the allocation.",
        ),
        RuleRow("alloc.asleep", _E, "A host that does not compute", "Wait until it is switched on."),
        RuleRow(
            "alloc.busy",
            _JSON,
            "A host that another job runs on",
            "Start Batsim with time sharing if jobs may share hosts.",
        ),
        RuleRow(
            "alloc.shared",
            _only("off", "off", "off", "warning"),
            "A machine that another job runs on",
            "It is an error unless Batsim was started with time sharing, which the messages do not show.",
        ),
        RuleRow("alloc.twice", _TEXT, "A machine is named twice", "Name each machine of an allocation once."),
        RuleRow(
            "hosts.busy",
            _E,
            "A host that computes is switched",
            "Wait until its job or its switch has ended.",
        ),
        RuleRow("hosts.state", _E, "There is no such power state", "The platform file numbers them, beginning with 0."),
        RuleRow(
            "hosts.no-energy",
            _only("off", "off", "error"),
            "Energy is not simulated",
            "Start Batsim with its option --energy to use power states and energy.",
        ),
        RuleRow(
            "hosts.odd-state",
            _only("warning", "warning", "off"),
            "A power state that Batsim reads differently from what it looks like",
            "Write only the number of a power state.",
        ),
        # The rest
        RuleRow("call.past", _E, "A call in the past", "Request a call later than now."),
        RuleRow(
            "query.unknown", _JSON, "Batsim cannot answer this", "Ask for consumed_energy, in the form of its version."
        ),
        RuleRow(
            "query.no-energy",
            _only("warning", "warning", "error"),
            "Energy is requested, but not simulated",
            "Start Batsim with its option --energy, and a platform that defines watts. Batsim 1 and 2 answer -1; "
            "Batsim 4 aborts.",
        ),
        RuleRow(
            "notify.unknown",
            _JSON,
            "Batsim does not know this notification",
            "Use a notification that the documentation of NOTIFY lists.",
        ),
        RuleRow(
            "register.disabled",
            _JSON,
            "Registration is not enabled",
            "Start Batsim with its option --enable-dynamic-jobs.",
        ),
        RuleRow(
            "register.job",
            _JSON,
            "A job that Batsim does not accept",
            "Write profile, res, subtime, and walltime if the job has one.",
        ),
        RuleRow("register.profile", _JSON, "A profile that Batsim does not accept", "Write an object with a type."),
        RuleRow("register.twice", _JSON, "It exists already", "Use each name of a job or profile once."),
        RuleRow(
            "register.workload",
            _JSON,
            "There is no such workload",
            "Register a profile in it first: that creates the workload.",
        ),
        RuleRow("batsim.odd", _W, "An impossible event from Batsim", "The event is accepted as Batsim sent it."),
    ),
)
"""The rules, and their severities in each rule set."""


class Violation(AnyViolation, frozen=True):
    """A broken rule of the older protocols, and the place."""

    RULES: ClassVar[Mapping[str, Rule]] = CATALOGUE.rules


def rule_set_for(version: str | tuple[int, ...]) -> str:
    """The rule set that is nearest to a version.

    >>> rule_set_for((1, 3)), rule_set_for((3, 1)), rule_set_for("text-2")
    ('batsim-1.2.0', 'batsim-4.2.1', 'text-2')
    """
    if isinstance(version, str):
        return version if version in RULE_SETS else "text-3"
    bounds = ((1, 1), (1, 4), (2,), (3,))
    return RULE_SETS[sum(version >= bound for bound in bounds)]


# Power states of hosts: the current one of each host, and pending changes


class PowerStates:
    """The hosts of a platform, as far as messages describe them.

    Attributes:
        counts: how many power states each host has.
        sleeping: the power states in which a host sleeps.
        passing: the power states that a host only passes through.
    """

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.sleeping: dict[int, frozenset[int]] = {}
        self.passing: dict[int, frozenset[int]] = {}
        self._now: dict[int, int] = {}
        self._moving: set[int] = set()

    def sleeps_in(self, host: int, pstate: int) -> bool:
        """Whether a host sleeps in that power state."""
        return pstate in self.sleeping.get(host, ())

    def rests(self, host: int) -> bool:
        """Whether a host does not compute, because it sleeps or changes its power state."""
        return host in self._moving or self.sleeps_in(host, self._now.get(host, 0))

    def fault_of(self, host: int, pstate: int) -> str | None:
        """The reason why a host cannot change to a power state, None if it can."""
        count = self.counts.get(host)
        if count is not None and not 0 <= pstate < count:
            return f"the host {host} has {count} power states, and none is {pstate}"
        rests = host not in self._moving and self.sleeps_in(host, self._now.get(host, 0))
        if rests and (self.sleeps_in(host, pstate) or pstate in self.passing.get(host, ())):
            return f"the host {host} sleeps, and can be switched on only"
        return None

    def switch(self, host: int, pstate: int) -> None:
        """The scheduler requests that power state for a host."""
        if host in self._moving or pstate in self.passing.get(host, ()):
            return  # it has no effect
        if self.sleeps_in(host, pstate) or self.sleeps_in(host, self._now.get(host, 0)):
            self._moving.add(host)
        else:
            self._now[host] = pstate

    def reached(self, host: int, pstate: int) -> None:
        """Batsim reports that a host is in that power state."""
        self._moving.discard(host)
        self._now[host] = pstate


# The state of a conversation, and the violations found so far


Known = Literal["submitted", "running", "ended"]


class RuleBroken(Exception):
    """An event breaks a rule, and the judge cannot check the rest of the event.

    Args:
        rule: the rule.
        path: the place of the violation.
        text: the description of the violation.
    """

    def __init__(self, rule: str, path: str, text: str) -> None:
        super().__init__(rule, path, text)
        self.rule, self.path, self.text = rule, path, text


class OldJob(msgspec.Struct):
    """A job.

    Attributes:
        state: its current state.
        res: how many hosts it requests, None if no message gave the number.
        profile: the name of its profile.
        hosts: the hosts that it runs on.
        told: whether Batsim has reported that it ended.
    """

    state: Known = "submitted"
    res: int | None = None
    profile: str | None = None
    hosts: frozenset[int] = frozenset()
    told: bool = False


class RuleState:
    """The state of a conversation; `major` is the first number of Batsim's version, 0 for text."""

    def __init__(self, rule_set: str, severities: Mapping[str, Severity]) -> None:
        self.rule_set: Final = rule_set
        self.major: Final = 0 if rule_set.startswith("text") else int(rule_set.removeprefix("batsim-")[0])
        self.severities = severities
        self.found: list[Violation] = []
        self.number = 0
        self.now = 0.0
        self.clock = 0.0
        # The simulation
        self.host_count: int | None = None
        self.machines = PowerStates()
        self.has_watts = False
        self.began = False
        self.shares = True
        self.redis = self.major == 0
        self.registration: bool | None = None
        self.registration_ended = False
        """Whether the scheduler notified the end of registration."""
        self.registration_closed = False
        """Whether Batsim knew that when it began to read this reply, or when it last waited."""
        self.acknowledges = True
        self.reuses_profiles = True
        self.knows_profiles = False
        self.workloads: set[str] = set()
        self.profiles: dict[tuple[str, str], Mapping[str, Any]] = {}
        """The profiles by workload and name; a profile is empty if only its name is known."""
        self.registered: set[tuple[str, str]] = set()
        """The profiles that the scheduler has registered."""
        self.jobs: dict[str, OldJob] = {}
        self.unannounced: set[str] = set()
        self.busy: dict[int, str] = {}
        self.killing: set[str] = set()

    def report(self, rule: str, path: str, text: str) -> bool:
        """Report a violation, unless the rule is off. Returns whether the other side aborts on it."""
        severity = self.severities.get(rule)
        if severity is None:
            return False
        self.found.append(Violation(self.number, path, rule, severity, text))
        return severity != "warning"

    def survives(self, before: int) -> bool:
        """Whether the other side survives the violations from this index on."""
        return all(found.severity == "warning" for found in self.found[before:])

    # Jobs and hosts

    def key_of(self, job_id: str) -> tuple[str, str]:
        """The workload and the name of a job's profile."""
        return job_id.partition("!")[0], self.jobs[job_id].profile or ""

    def profile_of(self, job_id: str) -> Mapping[str, Any]:
        """A job's profile, empty if it is not known."""
        return self.profiles.get(self.key_of(job_id), {})

    def is_busy(self, host: int) -> bool:
        """Whether a job runs on a host, and is not being killed."""
        return host in self.busy and self.busy[host] not in self.killing

    def start(self, job_id: str, hosts: frozenset[int]) -> None:
        """The scheduler executes a job."""
        job = self.jobs[job_id]
        job.state, job.hosts = "running", hosts
        self.busy.update(dict.fromkeys(hosts, job_id))
        self.unannounced.discard(job_id)

    def reject(self, job_id: str) -> None:
        """The scheduler rejects a job."""
        job = self.jobs[job_id]
        job.state, job.told = "ended", True

    def end(self, job_id: str, told: bool = True) -> None:
        """A job has ended, and its hosts are free."""
        job = self.jobs.get(job_id)
        if job is None:
            return
        job.state = "ended"
        job.told = job.told or told
        for host in job.hosts:
            if self.busy.get(host) == job_id:
                del self.busy[host]
        if job.profile is not None and not self.reuses_profiles:
            key = (job_id.partition("!")[0], job.profile)
            if not any(
                other.profile == job.profile and other.state != "ended" and name.startswith(f"{key[0]}!")
                for name, other in self.jobs.items()
            ):
                self.profiles.pop(key, None)

    def facts(self) -> dict[str, Any]:
        """How many jobs are in each state, as text for people."""
        states = [job.state for job in self.jobs.values()]
        return {state: states.count(state) for state in dict.fromkeys(states)}
