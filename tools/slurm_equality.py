#!/usr/bin/env python3
"""Holds the policy `slurm` against recorded runs of a real Slurm, and prints how many starts are equal.

python tools/slurm_equality.py                               # the recordings in the tests
python tools/slurm_equality.py ../shared/slurm/runs elsewhere  # folders, files and archives
python tools/slurm_equality.py --seeds 9,11,31-34 --kind fair --misses

Each recorded run is simulated with the same submissions, run times and events, see `batprotocol.studies.recorded`. For
one run, `batproto diff` prints more.

python tools/slurm_equality.py --draws 3 ../shared/slurm/fresh       # without the recorded moments

There are two kinds of equality. With the loops at their recorded moments, the table shows whether the policy decides as
Slurm does. A user of a slurm.conf does not have these moments: with `--draws`, seeds draw when the loops run, and each
recording is simulated once for each seed. Its figures are what predictions are like.

The table has a line for each kind. It has the number of starts, and three shares: starts within 3 s, successive starts
of a partition in the same order, and starts on the same nodes. Two more columns have the share of jobs that start
within one bf_interval, and the bias of the mean wait: +5% is a wait that is 5 % too long. The last lines have the bias
over all runs, and the error of the mean wait of a run, without its sign: its median and 90th percentile. With several
draws, the mean wait of a run is that over all of them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from batprotocol.studies.comparing.pairs import KINDS, causes_of  # noqa: E402 (its folder is on the path now)
from batprotocol.studies.recorded import (  # noqa: E402
    SlurmRun,
    WaitAgreement,
    is_recorded,
    judged,
    read_recordings,
    recorded_schedule,
    replay,
    replayed_schedule,
    waits_judged,
)

__all__ = ["rows", "runs_of", "table", "wait_lines"]

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


def rows(
    paths: Sequence[Path],
    seeds: Set[int] | None,
    kinds: Sequence[str],
    *,
    misses: bool = False,
    draws: int = 0,
    errors: list[float] | None = None,
) -> dict[str, Counter[str]]:
    """For each kind, the sums of the verdicts and the causes of its runs.

    Args:
        paths: folders, files and archives.
        seeds: the seeds of the recordings to take; None: all.
        kinds: the kinds to take; none: all.
        misses: whether the starts that differ are printed.
        draws: how many seeds draw when the loops run; 0: they run at the recorded moments.
        errors: gets the bias of the mean wait of each run.
    """
    sums: dict[str, Counter[str]] = {}
    for path in paths:
        for kind, run in runs_of(path):
            if (seeds is not None and run["seed"] not in seeds) or (kinds and kind not in kinds):
                continue
            mine = sums.setdefault(kind, Counter())
            waits = []
            for seed in range(draws) if draws else (None,):
                try:
                    found = replay(run, seed=seed)
                    verdict = judged(run, found.starts)
                    both = recorded_schedule(run, kind), replayed_schedule(found, "replay")
                except Exception as error:  # one run that fails must not hide the others
                    print(f"{kind} {run['seed']}: fails with {error!r}", file=sys.stderr)
                    mine["failed"] += 1
                    break
                mine.update(f"cause {cause.kind}" for cause in causes_of(*both, tolerance=3.0).values())
                mine.update(starts=verdict.starts, near=verdict.near, placed=verdict.placed)
                mine.update(pairs=verdict.pairs, ordered=verdict.ordered)
                waits.append(waits_judged(run, found))
                for miss in verdict.misses if misses else ():
                    print(f"{kind} {run['seed']}: {miss}")
            if waits:
                whole = WaitAgreement(*map(sum, zip(*waits, strict=True)))
                mine.update(runs=1, jobs=whole.jobs, within=whole.within)
                recorded, simulated = (round(1000 * each) for each in (whole.recorded, whole.simulated))
                mine.update({"recorded ms": recorded, "simulated ms": simulated})
                if errors is not None:
                    errors.append(whole.bias)
    return sums


def wait_lines(sums: Mapping[str, Counter[str]], errors: Sequence[float]) -> str:
    """The bias of waits over all runs, and the errors of the mean waits of runs."""
    total: Counter[str] = sum(sums.values(), Counter())
    sizes = sorted(map(abs, errors))
    if not sizes or not total["recorded ms"]:
        return ""
    middle, high = (sizes[min(int(share * len(sizes)), len(sizes) - 1)] for share in (0.5, 0.9))
    return (
        f"Mean waits: {total['simulated ms'] / total['recorded ms'] - 1:+.1%} over all runs; the error of a run is "
        f"{middle:.1%} in the median and {high:.1%} in the 90th percentile.\n"
        f"{total['within'] / total['jobs']:.1%} of jobs start within one bf_interval."
    )


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
    parser.add_argument("--misses", action="store_true", help="print the starts that differ")
    given = parser.parse_args(arguments)
    errors: list[float] = []
    found = rows(given.paths, given.seeds, given.kind, misses=given.misses, draws=given.draws, errors=errors)
    print(table(found))
    print(f"\n{wait_lines(found, errors)}")
    print("\n| cause | jobs | meaning |\n|---|---|---|", *cause_lines(found), sep="\n")
    return any(each["failed"] for each in found.values())


if __name__ == "__main__":
    sys.exit(main())
