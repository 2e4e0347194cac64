"""The search: plays cases until one finds something wrong, and then makes that as small as it can.

hypothesis draws the cases and shrinks the one that failed; what it does is bounded here, in simulations and in time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from batprotocol.testing.conformance.cases import STAGES, Case, Stage, kills_that_race
from batprotocol.testing.conformance.playing import Finding, Played, play
from batprotocol.testing.conformance.report import Report
from batprotocol.testing.conformance.talks import Target, Timeouts

__all__ = ["DEFAULT_EXAMPLES", "search"]

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
    searching = _Search(
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


class _Search:
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

    def _play(self, case: Case, timeouts: Timeouts) -> Played:
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
