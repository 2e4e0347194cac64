"""The rules of the older protocols: what goes wrong, and how bad that is for which Batsim. It knows no message.

The rule sets are those of nine Batsims that were asked: five that speak JSON, and four that speak text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from batprotocol.rules import Catalogue, Row, Rule, Severity
from batprotocol.rules import Violation as AnyViolation

__all__ = ["CATALOGUE", "DEFAULT", "RULE_SETS", "Violation", "rule_set_for"]

RULE_SETS: Final = (
    *("batsim-1.0.0", "batsim-1.2.0", "batsim-1.4.0", "batsim-2.0.0", "batsim-4.2.1"),
    *("text-0", "text-1", "text-2", "text-3"),
)
"""Their names; `rule_set_for` finds the one for a version."""
DEFAULT: Final = "batsim-4.2.1"
"""The one for a Batsim that has not said which it is."""

_Cell = Severity | Literal["off"]


def _only(one: _Cell, two: _Cell, four: _Cell, text: _Cell = "off", third: _Cell = "off") -> tuple[_Cell, ...]:
    """The severities in Batsim 1, 2 and 4, in text, and in its version 3 if it is another one there."""
    return (one, one, one, two, four, text, text, text, text if third == "off" else third)


_E: Final = _only("error", "error", "error", "error")
_JSON: Final = _only("error", "error", "error")
_TEXT: Final = _only("off", "off", "off", "error")
_W: Final = _only("warning", "warning", "warning", "warning")


CATALOGUE: Final = Catalogue(
    RULE_SETS,
    (
        # The message
        Row("message.form", _E, "It is no message of the protocol", "Batsim aborts on what it cannot read."),
        Row("message.parts", _JSON, "A message of several frames", "Send one frame: Batsim reads the first one only."),
        Row(
            "message.time",
            _E,
            "A time that cannot be",
            "In JSON, no event is later than `now`; in text, none earlier than the clock. Times can be printed.",
        ),
        Row(
            "message.order",
            _only("warning", "warning", "warning", "error"),
            "Events that are not in the order of time",
            "The documentation demands ascending timestamps; Batsim 1 to 4 sort them.",
        ),
        Row(
            "message.odd",
            _only("off", "off", "off", "warning"),
            "What Batsim reads otherwise than it looks",
            "Write numbers as numbers, in full, and one bar, colon or comma between two parts.",
        ),
        # The event
        Row("event.unknown", _E, "There is no such event", "Batsim aborts on types that its version does not have."),
        Row("event.form", _JSON, "Its data are not what they should be", "Batsim counts members and checks types."),
        # Jobs
        Row("job.id", _JSON, "This is no name of a job", "It is WORKLOAD!JOB, in Batsim 1 with a number behind."),
        Row("job.unknown", _E, "There is no such job", "Name jobs that were submitted or registered."),
        Row(
            "job.not-submitted",
            _E,
            "The job is not waiting",
            "Only a job that was submitted, and not yet executed or rejected, can be executed or rejected.",
        ),
        Row("job.not-running", _JSON, "The job does not run", "Only a job that was executed can be killed."),
        Row(
            "job.forgotten",
            _only("off", "off", "error"),
            "The job is forgotten",
            "Once its JOB_COMPLETED was delivered, Batsim 4 does not know a job any more.",
        ),
        Row("job.state", _JSON, "A state that cannot be changed so", "See what each version of Batsim allows."),
        Row(
            "job.unannounced",
            _only("warning", "warning", "off"),
            "A new job that nobody executes",
            "Without acknowledgements no JOB_SUBMITTED tells of it, but it must be executed all the same.",
        ),
        Row(
            "job.composed",
            _only("off", "off", "error"),
            "A composed profile that was registered",
            "Batsim 4 crashes when it executes one: composed profiles are for workload files.",
        ),
        Row(
            "job.left",
            _TEXT,
            "A job that is left waiting",
            "When nothing else can happen, Batsim aborts: execute or reject each job.",
        ),
        Row(
            "job.rejected-last",
            _only("off", "off", "off", "off", "error"),
            "The last open job is rejected",
            "Version 3 ends after a job, or aborts: there is no way out but to execute it.",
        ),
        # Hosts
        Row("alloc.form", _JSON, "This is no set of hosts", "Intervals a or a-b, separated by single spaces."),
        Row("alloc.hosts", _JSON, "There is no such host", "Hosts are numbered from 0 on."),
        Row(
            "alloc.size",
            _JSON,
            "Another number of hosts than the job asks for",
            "Give as many as `res` says, or a mapping.",
        ),
        Row("alloc.mapping", _JSON, "A mapping that fits no host", "Executors are mapped to places in the allocation."),
        Row("alloc.asleep", _E, "A host that does not compute", "Wait until it was switched on."),
        Row("alloc.busy", _JSON, "A host that another job runs on", "Hosts are not shared unless Batsim is told so."),
        Row(
            "alloc.shared",
            _only("off", "off", "off", "warning"),
            "A machine that another job runs on",
            "It is an error unless Batsim was told to share machines, which is not said in text.",
        ),
        Row("alloc.twice", _TEXT, "A machine twice", "Name each machine of an allocation once."),
        Row(
            "hosts.busy",
            _E,
            "A host that computes is switched",
            "Wait until its job or its switch has ended.",
        ),
        Row("hosts.state", _E, "There is no such power state", "They are numbered from 0 on, in the platform file."),
        Row(
            "hosts.no-energy",
            _only("off", "off", "error"),
            "Energy is not simulated",
            "Power states and energy need Batsim's option --energy.",
        ),
        Row(
            "hosts.odd-state",
            _only("warning", "warning", "off"),
            "A power state that is read otherwise than it looks",
            "Write the number of a power state, and nothing else.",
        ),
        # The rest
        Row("call.past", _E, "A call in the past", "Ask to be called later than now."),
        Row(
            "query.unknown", _JSON, "Batsim cannot answer this", "Ask for consumed_energy, in the form of the version."
        ),
        Row(
            "query.no-energy",
            _JSON,
            "Energy is asked for, and not simulated",
            "It needs Batsim's option --energy, and a platform that tells watts.",
        ),
        Row("notify.unknown", _JSON, "Batsim does not know this notification", "See the documentation of NOTIFY."),
        Row("register.disabled", _JSON, "Registration is not enabled", "Batsim's option is --enable-dynamic-jobs."),
        Row(
            "register.job",
            _JSON,
            "A job that Batsim does not take",
            "It has a profile, res, subtime, and maybe walltime.",
        ),
        Row("register.profile", _JSON, "A profile that Batsim does not take", "It is an object with a type."),
        Row("register.twice", _JSON, "It exists already", "Names of jobs and profiles are given once."),
        Row("register.workload", _JSON, "There is no such workload", "A profile that is registered makes it."),
        Row("batsim.odd", _W, "Batsim says what cannot be", "It is taken as it is said."),
    ),
)
"""The rules, and their severities in each rule set."""


class Violation(AnyViolation, frozen=True):
    """A rule of the older protocols that was broken, and where."""

    RULES: ClassVar[Mapping[str, Rule]] = CATALOGUE.rules


def rule_set_for(version: str | tuple[int, ...]) -> str:
    """The rule set that comes nearest to a version.

    >>> rule_set_for((1, 3)), rule_set_for((3, 1)), rule_set_for("text-2")
    ('batsim-1.2.0', 'batsim-4.2.1', 'text-2')
    """
    if isinstance(version, str):
        return version if version in RULE_SETS else "text-3"
    bounds = ((1, 1), (1, 4), (2,), (3,))
    return RULE_SETS[sum(version >= bound for bound in bounds)]
