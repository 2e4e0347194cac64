#!/usr/bin/env python3
"""Holds the policy `slurm` against recorded runs of a real Slurm, and prints how many starts are equal.

python tools/slurm_equality.py                               # the recordings in the tests
python tools/slurm_equality.py ../shared/slurm/runs elsewhere  # folders, files and archives
python tools/slurm_equality.py --seeds 9,11,31-34 --kind fair --misses

Each recorded run is simulated with the same submissions, run times and events, see `batprotocol.studies.recorded`. For
one run, `batproto diff` prints more.

python tools/slurm_equality.py --draws 8 ../shared/slurm/fresh       # without the recorded moments
python tools/slurm_equality.py --draws 8 --long ../shared/slurm/fresh  # and without the start of slurmctld
python tools/slurm_equality.py --again first second third            # a real Slurm with itself

There are two kinds of equality. With the loops at their recorded moments, the table shows whether the policy decides as
Slurm does. A user of a slurm.conf does not have these moments: with `--draws`, seeds draw when the loops run, and each
recording is simulated once for each seed. Its figures are what predictions are like. The Slurm of a recording has
started some seconds before, and so have those that are drawn; with `--long`, they have run for long. With `--again`,
nothing is simulated: recordings of the same kind and seed are compared with each other, each pair in both directions.
So it prints how equal a real Slurm is to itself.

The table has a line for each kind. It has the number of starts, and three shares: starts within 3 s, successive starts
of a partition in the same order, and starts on the same nodes. Two more columns have the share of jobs that start
within one bf_interval, and the bias of the mean wait: +5% is a wait that is 5 % too long. The last lines have the bias
over all runs, and the error of the mean wait of a run, without its sign: its median and 90th percentile. With several
draws, the mean wait of a run is that over all of them. The last line has the draws one by one: the least, the median
and the greatest share of one draw over all runs, and the error of a run in one draw.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from statistics import median
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from batprotocol.studies.comparing.pairs import KINDS, causes_of
from batprotocol.studies.recorded import (
    Replay,
    SlurmRun,
    WaitAgreement,
    is_recorded,
    judged,
    read_recordings,
    recorded_again,
    recorded_schedule,
    replay,
    replayed_schedule,
    waits_judged,
)
from batprotocol.studies.slurm_moments import drawn_phases_of

__all__ = ["Found", "rows", "runs_of", "simulations", "table", "wait_lines"]

RANDOM: Final = ROOT / "tests" / "data" / "slurm" / "random"
HEAD: Final = (
    "| kind | runs | starts | within 3 s | same order | same nodes | within bf_interval | bias of waits |\n"
    "|---|---|---|---|---|---|---|---|"
)


def runs_of(path: Path) -> Iterator[tuple[str, SlurmRun]]:
    """The recorded runs of a file, an archive, or a folder of such, with their kinds. Other files are left out."""
    if path.is_dir():
        for each in sorted(path.rglob("*.json.xz")):
            yield from runs_of(each)
    elif is_recorded(str(path)):
        for run in read_recordings(path):
            yield run["config"] or path.parent.name, run


def seeds_of(text: str) -> frozenset[int]:
    """The seeds of a list with ranges.

    >>> sorted(seeds_of("9,31-33"))
    [9, 31, 32, 33]
    """
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


class Found:
    """What is found, by kinds and by draws.

    Attributes:
        sums: for each kind, the sums of the verdicts and the causes of its runs.
        draws: for each draw, or each place among the other recordings, the sums of its waits.
        errors: the bias of the mean wait of each run, over all its draws.
        single: the same for each draw of each run.
    """

    def __init__(self) -> None:
        self.sums: dict[str, Counter[str]] = {}
        self.draws: dict[int, Counter[str]] = {}
        self.errors: list[float] = []
        self.single: list[float] = []

    def add(self, kind: str, run: SlurmRun, answers: Iterator[Replay], *, misses: bool, causes: bool) -> None:
        """Compare a run with its simulations, or other recordings of it."""
        mine, waits = self.sums.setdefault(kind, Counter()), []
        try:
            for place, found in enumerate(answers):
                verdict = judged(run, found.starts)
                if causes:
                    both = recorded_schedule(run, kind), replayed_schedule(found, "replay")
                    mine.update(f"cause {cause.kind}" for cause in causes_of(*both, tolerance=3.0).values())
                mine.update(starts=verdict.starts, near=verdict.near, placed=verdict.placed)
                mine.update(pairs=verdict.pairs, ordered=verdict.ordered)
                wait = waits_judged(run, found)
                waits.append(wait)
                self.single.append(wait.bias)
                self.draws.setdefault(place, Counter()).update(jobs=wait.jobs, within=wait.within)
                for miss in verdict.misses if misses else ():
                    print(f"{kind} {run['seed']}: {miss}")
        except Exception as error:  # one run that fails must not hide the others
            print(f"{kind} {run['seed']}: fails with {error!r}", file=sys.stderr)
            mine["failed"] += 1
        if waits:
            whole = WaitAgreement(*map(sum, zip(*waits, strict=True)))
            mine.update(runs=1, jobs=whole.jobs, within=whole.within)
            recorded, simulated = (round(1000 * each) for each in (whole.recorded, whole.simulated))
            mine.update({"recorded ms": recorded, "simulated ms": simulated})
            self.errors.append(whole.bias)


def simulations(run: SlurmRun, draws: int, *, long: bool = False) -> Iterator[Replay]:
    """The simulations of a run.

    Args:
        run: the recording.
        draws: how many seeds draw when the loops run; 0: they run at the recorded moments.
        long: whether a Slurm that is drawn has run for long.
    """
    if not draws:
        yield replay(run)
    for seed in range(draws):
        yield replay(run, phases=drawn_phases_of(run, seed, just_started=not long))


def rows(
    paths: Sequence[Path],
    seeds: Set[int] | None,
    kinds: Sequence[str],
    *,
    misses: bool = False,
    draws: int = 0,
    long: bool = False,
    again: bool = False,
) -> Found:
    """Compare the recorded runs with their simulations, or with each other.

    Args:
        paths: folders, files and archives.
        seeds: the seeds of the recordings to take; None: all.
        kinds: the kinds to take; none: all.
        misses: whether the starts that differ are printed.
        draws: how many seeds draw when the loops run; 0: they run at the recorded moments.
        long: whether a Slurm that is drawn has run for long.
        again: compare the recordings of a kind and seed with each other.
    """
    found = Found()
    chosen = (
        (kind, run)
        for path in paths
        for kind, run in runs_of(path)
        if (seeds is None or run["seed"] in seeds) and (not kinds or kind in kinds)
    )
    if not again:
        for kind, run in chosen:
            found.add(kind, run, simulations(run, draws, long=long), misses=misses, causes=True)
        return found
    same: dict[tuple[str, int], list[SlurmRun]] = {}
    for kind, run in chosen:
        same.setdefault((kind, run["seed"]), []).append(run)
    for (kind, _), runs in same.items():
        for run in runs:
            others = (recorded_again(run, other) for other in runs if other is not run)
            found.add(kind, run, others, misses=misses, causes=False)
    return found


def wait_lines(found: Found) -> str:
    """The bias of waits over all runs, the errors of the mean waits of runs, and how far draws differ."""
    total: Counter[str] = sum(found.sums.values(), Counter())
    if not found.errors or not total["recorded ms"]:
        return ""
    bias = total["simulated ms"] / total["recorded ms"] - 1
    lines = [
        f"Mean waits: {bias:+.1%} over all runs; the error of a run is {_words(found.errors)}.",
        f"{total['within'] / total['jobs']:.1%} of jobs start within one bf_interval.",
    ]
    if len(found.draws) > 1:
        shares = [each["within"] / each["jobs"] for each in found.draws.values()]
        spread = f"{min(shares):.1%} to {max(shares):.1%}, {median(shares):.1%} in the median"
        lines.append(f"One by one: {spread}; the error of a run is {_words(found.single)}.")
    return "\n".join(lines)


def _words(errors: Sequence[float]) -> str:
    """The median and the 90th percentile of errors without their signs."""
    sizes = sorted(map(abs, errors))
    middle, high = (sizes[min(int(share * len(sizes)), len(sizes) - 1)] for share in (0.5, 0.9))
    return f"{middle:.1%} in the median and {high:.1%} in the 90th percentile"


def table(sums: Mapping[str, Counter[str]]) -> str:
    """The sums as a table, the last line of which is about all kinds."""
    total: Counter[str] = sum(sums.values(), Counter())
    return "\n".join([HEAD, *(_line(kind, each) for kind, each in sorted(sums.items())), _line("all", total)])


def cause_lines(sums: Mapping[str, Counter[str]]) -> list[str]:
    """How many jobs differ by each kind of cause."""
    total: Counter[str] = sum(sums.values(), Counter())
    return [f"| {kind} | {total[f'cause {kind}']:,} | {meaning} |" for kind, meaning in KINDS.items()]


def _line(kind: str, each: Counter[str]) -> str:
    shares = (("near", "starts"), ("ordered", "pairs"), ("placed", "starts"))
    cells = [f"{each[one] / each[of]:.1%}" if each[of] else "" for one, of in (*shares, ("within", "jobs"))]
    cells.append(f"{each['simulated ms'] / each['recorded ms'] - 1:+.1%}" if each["recorded ms"] else "")
    return f"| {kind} | {each['runs']:,} | {each['starts']:,} | {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the status is 1 if a run could not be simulated."""
    parser = argparse.ArgumentParser(description="Hold the policy slurm against recorded runs of a real Slurm.")
    parser.add_argument("paths", nargs="*", type=Path, default=[RANDOM], help="folders, runs, and archives of runs")
    parser.add_argument("--seeds", type=seeds_of, metavar="LIST", help="the seeds to take: 9,31-34 (default: all)")
    parser.add_argument("--kind", action="append", default=[], help="a kind to take (default: all)")
    parser.add_argument(
        "--draws",
        type=int,
        default=0,
        metavar="N",
        help="let N seeds draw when the loops run, as for a user of a slurm.conf (default: the recorded moments)",
    )
    parser.add_argument("--long", action="store_true", help="the Slurm of --draws has run for long")
    parser.add_argument(
        "--again", action="store_true", help="compare recordings of the same kind and seed with each other"
    )
    parser.add_argument("--misses", action="store_true", help="print the starts that differ")
    given = parser.parse_args(arguments)
    if given.long and not given.draws:
        parser.error("--long is of drawn moments: use it with --draws")
    if given.again and given.draws:
        parser.error("--again simulates nothing: use it without --draws")
    found = rows(
        given.paths,
        given.seeds,
        given.kind,
        misses=given.misses,
        draws=given.draws,
        long=given.long,
        again=given.again,
    )
    print(table(found.sums))
    print(f"\n{wait_lines(found)}")
    if not given.again:
        print("\n| cause | jobs | meaning |\n|---|---|---|", *cause_lines(found.sums), sep="\n")
    return any(each["failed"] for each in found.sums.values())


if __name__ == "__main__":
    sys.exit(main())
