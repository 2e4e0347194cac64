"""Searches for conversations that break a rule: draws cases, plays them, and makes the examples small."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from batprotocol.conversation import DEFAULT_RULE_SET, RULE_SETS
from batprotocol.edc.recording import Recorder
from batprotocol.errors import hint
from batprotocol.model import Direction
from batprotocol.model.value import Value
from batprotocol.simulator import DecisionComponent, Player
from batprotocol.testing.conformance._cases import STAGES, Case, Stage, kills_that_race
from batprotocol.testing.conformance._play import Finding, PlayedCase, play
from batprotocol.testing.conformance._report import Report
from batprotocol.testing.conformance._targets import InProcess, Target, Timeouts, encoded
from batprotocol.testing.rules import ALL_RULES, explained

DEFAULT_EXAMPLES: Final = 150
"""The default number of simulations."""
_SHRINKING_SECONDS: Final = 7.0
_SHRINKING_PLAYS: Final = 400
_FACTOR: Final = 20
"""While a finding is made smaller, an answer that takes this many times as long as the slowest one is missing."""
_SHORTEST_TIMEOUT: Final = 0.5
_AGES: Final = 8
_SMALLEST: Final = 4
"""A conversation of this number of messages cannot become smaller: the first simulation is the smallest one."""


class _Enough(KeyboardInterrupt):
    """Ends hypothesis' work at once, as nothing else would."""


class _Failed(Exception):
    """A case shows the finding."""


def search(
    target: Target,
    *,
    examples: int,
    seed: int,
    rules: str,
    init: str,
    timeout: float,
    ignore: frozenset[str],
    advise_after: float | None,
    on_progress: Callable[[float], None],
) -> Report:
    """Play cases of all stages until something is found.

    Args:
        target: starts decision components.
        examples: the largest number of simulations to play.
        seed: the seed of the draws: the same seed gives the same cases.
        rules: the rule set.
        init: the initialization data.
        timeout: the seconds that an answer may take; the hello may take twice as long.
        ignore: ids of rules to ignore if the simulation survives the violation.
        advise_after: give advice, for this number of simulated seconds; None: give none.
        on_progress: called with the share of the work that is done.

    Raises:
        CannotRun: there is no decision component.
    """
    began = time.monotonic()
    searching = _CaseSearch(
        target, examples, seed, rules, init, Timeouts(2 * timeout, timeout), ignore, advise_after, on_progress
    )
    for stage in STAGES:
        left = examples - searching.report.simulations
        share = left if stage is STAGES[-1] else min(left, stage.examples)
        if share and (searching.ages or not stage.after_kills):
            searching.run(stage, share)
        if searching.report.finding is not None:
            break
    searching.report.seconds = time.monotonic() - began
    return searching.report


class _CaseSearch:
    def __init__(
        self,
        target: Target,
        examples: int,
        seed: int,
        rules: str,
        init: str,
        timeouts: Timeouts,
        ignore: frozenset[str],
        advise_after: float | None,
        on_progress: Callable[[float], None],
    ) -> None:
        self.report = Report(rules)
        self.ages: set[float] = set()
        self._target = target
        self._examples = examples
        self._seed = seed
        self._rules = rules
        self._init = init
        self._timeouts = timeouts
        self._ignore = ignore
        self._advise_after = advise_after
        self._on_progress = on_progress
        self._slowest = 0.0
        self._known: dict[str, bool] = {}
        self._plays_left = _SHRINKING_PLAYS
        self._until = 0.0
        self._first: Finding | None = None

    def run(self, stage: Stage, examples: int) -> None:
        """Try so many cases of a stage."""
        cases = stage.cases(self._rules)
        if stage.after_kills:
            cases = kills_that_race(self._rules, tuple(sorted(self.ages)[:_AGES]))

        @seed(self._seed)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        @given(cases)
        def attempt(case: Case) -> None:
            fails = self._try(stage, case) if self.report.finding is None else self._still_fails(case)
            if fails:  # in one place: for hypothesis, another line is another fault
                raise _Failed

        try:
            attempt()
        except (_Failed, _Enough):
            self._confirm()
        except AssertionError as error:  # hypothesis's own, about an interruption before its search has begun
            if isinstance(error.__context__, KeyboardInterrupt):
                raise error.__context__ from None
            raise

    def _play(self, case: Case, timeouts: Timeouts) -> PlayedCase:
        return play(
            case,
            self._target,
            rules=self._rules,
            init=self._init,
            timeouts=timeouts,
            ignore=self._ignore,
            advise_after=self._advise_after,
        )

    def _try(self, stage: Stage, case: Case) -> bool:
        """Whether a case finds something."""
        played = self._play(case, self._timeouts)
        self.report.add(stage.name, played)
        self._on_progress(self.report.simulations / self._examples)
        if played.finding is None:
            self._slowest = max(self._slowest, played.slowest)
            self.ages.update(round(age, 1) for age in played.ages)
            return False
        self.report.finding = self._first = played.finding
        self._known[repr(case)] = True
        self._until = time.monotonic() + _SHRINKING_SECONDS
        if len(played.finding.log) <= _SMALLEST or (self._target.is_lasting and _ends_all(played.finding)):
            raise _Enough
        self._reduce()
        return True

    def _reduce(self) -> None:
        """Remove everything from the inputs that the finding does not need.

        hypothesis finds the smallest case, but step by step. Where each step takes a time-out, it does not get far.
        """
        again = True
        while again:
            again = False
            best = self.report.finding
            assert best is not None
            size = best.size
            for case in best.case.smaller(_jobs_of(best)):
                if self._still_fails(case) and self.report.finding.size < size:  # type: ignore[union-attr]
                    again = True
                    break

    def _still_fails(self, case: Case) -> bool:
        """Whether a smaller case still finds the same."""
        name = repr(case)
        fails = self._known.get(name)
        if fails is None:
            if self._plays_left <= 0 or time.monotonic() > self._until:
                raise _Enough
            self._plays_left -= 1
            fails = self._known[name] = self._finds_the_same(case)
        return fails

    def _finds_the_same(self, case: Case) -> bool:
        best = self.report.finding
        assert best is not None
        longest = min(max(_SHORTEST_TIMEOUT, _FACTOR * self._slowest), self._timeouts.answer)
        found = self._play(case, Timeouts(self._timeouts.hello, longest)).finding
        if found is None or found.rule != best.rule:
            return False
        if found.size < best.size:
            self.report.finding = found
        return True

    def _confirm(self) -> None:
        """Believe that there is no answer only after the whole time."""
        found = self.report.finding
        assert found is not None
        if found.rule != "edc.silent" or found is self._first:
            return
        again = self._play(found.case, self._timeouts).finding
        self.report.finding = again if again is not None and again.rule == found.rule else self._first


def _jobs_of(finding: Finding) -> frozenset[str]:
    """The jobs that the last messages mention."""
    last = " ".join(repr(said) for _, said in finding.log[-2:])
    every = (submission.id for workload in finding.case.workloads for submission in workload)
    return frozenset(id for id in every if f'"{id}"' in last or f"'{id}'" in last)


def _ends_all(finding: Finding) -> bool:
    """Whether a decision component that serves all simulations cannot go on after this finding."""
    return finding.rule.startswith("edc.")


# As a test, with an assertion that shows the conversation


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
