"""The rules of the older protocols, and their severity for each Batsim. This module must not know messages.

The rule sets are those of nine measured Batsims: five that use JSON, and four that use text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from batprotocol._util.rules import Catalogue, Row, Rule, Severity
from batprotocol._util.rules import Violation as AnyViolation

__all__ = ["CATALOGUE", "DEFAULT", "RULE_SETS", "Violation", "rule_set_for"]

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
        Row(
            "message.form", _E, "It is not a message of the protocol", "Batsim aborts on messages that it cannot read."
        ),
        Row(
            "message.parts",
            _JSON,
            "A message of several frames",
            "Send a message as one frame: Batsim reads only the first frame.",
        ),
        Row(
            "message.time",
            _E,
            "An impossible time",
            "In JSON, an event must not be later than `now`; in text, not earlier than the clock. Use times that "
            "Batsim can print.",
        ),
        Row(
            "message.order",
            _only("warning", "warning", "warning", "error"),
            "Events that are not in chronological order",
            "The documentation demands ascending timestamps; Batsim 1 to 4 sort the events.",
        ),
        Row(
            "message.odd",
            _only("off", "off", "off", "warning"),
            "A text that Batsim reads differently from what it looks like",
            "Write complete numbers, and one bar, colon or comma between two parts.",
        ),
        # The event
        Row(
            "event.unknown",
            _E,
            "There is no such event",
            "Batsim aborts on event types that its version does not have.",
        ),
        Row(
            "event.form", _JSON, "The data of the event are wrong", "Batsim counts the members and checks their types."
        ),
        # Jobs
        Row("job.id", _JSON, "This is not a job name", "Write WORKLOAD!JOB. In Batsim 1, JOB must be a number."),
        Row("job.unknown", _E, "There is no such job", "Name jobs that were submitted or registered."),
        Row(
            "job.not-submitted",
            _E,
            "The job is not waiting",
            "You can execute or reject only a job that was submitted, and was not yet executed or rejected.",
        ),
        Row("job.not-running", _JSON, "The job does not run", "You can kill only a job that was executed."),
        Row(
            "job.forgotten",
            _only("off", "off", "error"),
            "Batsim has forgotten the job",
            "Batsim 4 forgets a job after it has delivered the job's JOB_COMPLETED.",
        ),
        Row(
            "job.state",
            _JSON,
            "This change of a job's state is not allowed",
            "Use a change that your version of Batsim allows.",
        ),
        Row(
            "job.unannounced",
            _only("warning", "warning", "off"),
            "A new job that is never executed",
            "Without acknowledgements, no JOB_SUBMITTED follows, but the scheduler must execute the job all the same.",
        ),
        Row(
            "job.composed",
            _only("off", "off", "error"),
            "A composed profile that was registered",
            "Batsim 4 crashes when it executes such a job. Use composed profiles only in workload files.",
        ),
        Row(
            "job.left",
            _TEXT,
            "A job that waits forever",
            "Batsim aborts when nothing else can happen. Execute or reject each job.",
        ),
        Row(
            "job.rejected-last",
            _only("off", "off", "off", "off", "error"),
            "The last open job is rejected",
            "Version 3 ends when a job ends, and aborts otherwise. Execute the last job.",
        ),
        # Hosts
        Row("alloc.form", _JSON, "This is not a set of hosts", "Write intervals a or a-b, separated by single spaces."),
        Row("alloc.hosts", _JSON, "There is no such host", "The numbers of hosts begin with 0."),
        Row(
            "alloc.size",
            _JSON,
            "Another number of hosts than the job requests",
            "Allocate `res` hosts, or add a mapping.",
        ),
        Row(
            "alloc.mapping",
            _JSON,
            "A mapping that does not fit the hosts",
            "Map executors to places in the allocation.",
        ),
        Row("alloc.asleep", _E, "A host that does not compute", "Wait until it is switched on."),
        Row(
            "alloc.busy",
            _JSON,
            "A host that another job runs on",
            "Start Batsim with time sharing if jobs may share hosts.",
        ),
        Row(
            "alloc.shared",
            _only("off", "off", "off", "warning"),
            "A machine that another job runs on",
            "It is an error unless Batsim was started with time sharing, which the messages do not show.",
        ),
        Row("alloc.twice", _TEXT, "A machine is named twice", "Name each machine of an allocation once."),
        Row(
            "hosts.busy",
            _E,
            "A host that computes is switched",
            "Wait until its job or its switch has ended.",
        ),
        Row("hosts.state", _E, "There is no such power state", "The platform file numbers them, beginning with 0."),
        Row(
            "hosts.no-energy",
            _only("off", "off", "error"),
            "Energy is not simulated",
            "Start Batsim with its option --energy to use power states and energy.",
        ),
        Row(
            "hosts.odd-state",
            _only("warning", "warning", "off"),
            "A power state that Batsim reads differently from what it looks like",
            "Write only the number of a power state.",
        ),
        # The rest
        Row("call.past", _E, "A call in the past", "Request a call later than now."),
        Row(
            "query.unknown", _JSON, "Batsim cannot answer this", "Ask for consumed_energy, in the form of its version."
        ),
        Row(
            "query.no-energy",
            _only("warning", "warning", "error"),
            "Energy is requested, but not simulated",
            "Start Batsim with its option --energy, and a platform that defines watts. Batsim 1 and 2 answer -1; "
            "Batsim 4 aborts.",
        ),
        Row(
            "notify.unknown",
            _JSON,
            "Batsim does not know this notification",
            "Use a notification that the documentation of NOTIFY lists.",
        ),
        Row(
            "register.disabled",
            _JSON,
            "Registration is not enabled",
            "Start Batsim with its option --enable-dynamic-jobs.",
        ),
        Row(
            "register.job",
            _JSON,
            "A job that Batsim does not accept",
            "Write profile, res, subtime, and walltime if the job has one.",
        ),
        Row("register.profile", _JSON, "A profile that Batsim does not accept", "Write an object with a type."),
        Row("register.twice", _JSON, "It exists already", "Use each name of a job or profile once."),
        Row(
            "register.workload",
            _JSON,
            "There is no such workload",
            "Register a profile in it first: that creates the workload.",
        ),
        Row("batsim.odd", _W, "An impossible event from Batsim", "The event is accepted as Batsim sent it."),
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
