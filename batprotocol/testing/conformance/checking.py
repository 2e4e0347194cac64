"""`check`: conformance as a test, with an assertion that shows the conversation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

import msgspec

from batprotocol.conversation import DEFAULT_RULE_SET, RULE_SETS
from batprotocol.edc.recording import Recorder
from batprotocol.errors import hint
from batprotocol.model import Direction
from batprotocol.model.value import Value
from batprotocol.simulator import DecisionComponent, Player
from batprotocol.testing.conformance.playing import Finding
from batprotocol.testing.conformance.report import Report
from batprotocol.testing.conformance.searching import DEFAULT_EXAMPLES, search
from batprotocol.testing.conformance.talks import InProcess, Target, encoded
from batprotocol.testing.rules import ALL_RULES, explained

__all__ = ["NonConformance", "check", "find", "save"]

DEFAULT_TIMEOUT = 10.0
"""Seconds that an answer may take by default."""
MOST_SHOWN = 12
"""The number of messages shown from the beginning of a conversation, and from its end."""
_SPEAKERS = {"b2e": "Batsim", "e2b": "EDC"}


class NonConformance(AssertionError):
    """A decision component breaks a rule.

    Attributes:
        report: the simulations that were tried, and the finding.
        finding: the violation, in the smallest conversation.
    """

    def __init__(self, report: Report) -> None:
        assert report.finding is not None
        self.report = report
        self.finding = report.finding
        super().__init__("\n".join(_lines(report.finding)))


def find(
    component: Target | Callable[[], Player | DecisionComponent],
    *,
    examples: int = DEFAULT_EXAMPLES,
    seed: int = 0,
    rules: str = DEFAULT_RULE_SET,
    init: str = "",
    timeout: float = DEFAULT_TIMEOUT,
    ignore: Iterable[str] = (),
    advise_after: float | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Report:
    """Play Batsim against a decision component, in many simulations, until it breaks a rule.

    Args:
        component: makes a new decision component for each simulation: a subclass of `batprotocol.edc.Scheduler` that
            needs no arguments, a function, or a `Command`, `Endpoint` or `Library`.
        examples: the largest number of simulations to play, >= 1.
        seed: the same seed gives the same simulations.
        rules: the rule set: "batsim-5.0.0-rc2", or "protocol", with everything that the schema has.
        init: the initialization data.
        timeout: the seconds that an answer may take; the hello may take twice as long. A decision component in this
            process cannot be interrupted: there is no time-out.
        ignore: ids of rules to ignore if the simulation survives the violation, such as "job.over-allocation".
        advise_after: also give advice, which `Report.advice` keeps, about what lasts longer than this number of
            simulated seconds (see `batprotocol.conversation.advice`); None: give none.
        on_progress: called with the share of the work that is done.

    Returns:
        A report of the simulations, with the finding if there is one.

    Raises:
        CannotRun: there is no decision component to test.
        ValueError: an argument makes no sense.
    """
    unknown = set(ignore) - ALL_RULES.keys()
    if unknown:
        raise ValueError(f"there is no rule {min(unknown)!r}{hint(min(unknown), ALL_RULES)}")
    if rules not in RULE_SETS:
        raise ValueError(
            f"there is no rule set {rules!r}, only {', '.join(map(repr, RULE_SETS))}{hint(rules, RULE_SETS)}"
        )
    if examples < 1:
        raise ValueError(f"expected at least one simulation, got {examples}")
    if not timeout > 0:
        raise ValueError(f"expected a time-out > 0 seconds, got {timeout}")
    if advise_after is not None and not advise_after >= 0:
        raise ValueError(f"expected a number of seconds >= 0, got {advise_after}")
    target = component if isinstance(component, Target) else InProcess(component)
    return search(
        target,
        examples=examples,
        seed=seed,
        rules=rules,
        init=init,
        timeout=timeout,
        ignore=frozenset(ignore),
        advise_after=advise_after,
        on_progress=on_progress or (lambda share: None),
    )


def check(
    component: Target | Callable[[], Player | DecisionComponent],
    *,
    examples: int = DEFAULT_EXAMPLES,
    seed: int = 0,
    rules: str = DEFAULT_RULE_SET,
    init: str = "",
    timeout: float = DEFAULT_TIMEOUT,
    ignore: Iterable[str] = (),
    advise_after: float | None = None,
    save_to: str | os.PathLike[str] | None = None,
) -> Report:
    """`find`, as a test: it raises the finding, with the smallest conversation in its text.

    Args:
        component: as for `find`, as are the other arguments.
        examples: as for `find`.
        seed: as for `find`.
        rules: as for `find`.
        init: as for `find`.
        timeout: as for `find`.
        ignore: as for `find`.
        advise_after: as for `find`.
        save_to: the archive (`.tar.xz`, `.mcap`) or empty folder for that conversation, as a recorded run, or None.

    Raises:
        NonConformance: the decision component breaks a rule. It is an AssertionError.

    >>> from batprotocol.edc import Scheduler
    >>> from batprotocol.testing import conformance
    >>> class Rejecter(Scheduler):
    ...     def on_job_submitted(self, event):
    ...         self.reply.add_reject_job(event.job_id)
    >>> conformance.check(Rejecter, examples=20).simulations
    20
    """
    report = find(
        component,
        examples=examples,
        seed=seed,
        rules=rules,
        init=init,
        timeout=timeout,
        ignore=ignore,
        advise_after=advise_after,
    )
    if report.finding is not None:
        if save_to is not None:
            save(report.finding, save_to)
        raise NonConformance(report)
    return report


def save(finding: Finding, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Save the conversation of a finding as a recorded run, for `batproto dump` and `batproto check`.

    Args:
        finding: the finding.
        path: the archive, if it ends with `.tar.xz` or `.mcap`, else the folder; nothing is overwritten.
        format: "binary" or "json": converts the messages that can be read; None keeps their format.

    Raises:
        OSError: it cannot be written.
    """
    with Recorder(path) as recorder:
        for direction, data in encoded(finding.log, format):
            recorder.write(Direction(direction), data)


def _lines(finding: Finding) -> Iterator[str]:
    """A finding in words."""
    rule = explained(finding.rule)
    yield str(finding.violation)
    yield f"  {rule.title}. {rule.explanation}"
    yield "The simulation:"
    yield from (f"  {line}" for line in finding.case.lines())
    yield "The conversation:"
    left_out = len(finding.log) - 2 * MOST_SHOWN
    for number, (direction, said) in enumerate(finding.log):
        if MOST_SHOWN <= number < MOST_SHOWN + left_out:
            if number == MOST_SHOWN:
                yield f"  ... {left_out:,} messages ..."
            continue
        events = getattr(said, "events", None)
        if events is None:
            yield f"  {number} {_SPEAKERS[direction]}: {said!r:.500}"
            continue
        yield f"  {number} {_SPEAKERS[direction]} at {getattr(said, 'now', 0.0)}:{'' if events else ' nothing'}"
        yield from (f"      {_brief(event):.500}" for event in events)
    if finding.details:
        yield "The last lines that it printed:"
        yield from (f"  {line}" for line in finding.details.splitlines())


def _brief(value: object) -> str:
    """A value as its `repr`, without the fields that have their defaults."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_brief, value))}]"
    if not isinstance(value, Value):
        return getattr(value, "name", None) or repr(value)
    shown = [
        f"{field.name}={_brief(getattr(value, field.name))}"
        for field in msgspec.structs.fields(type(value))
        if field.name != "timestamp" and getattr(value, field.name) != field.default
    ]
    return f"{type(value).__name__}({', '.join(shown)})"
