"""Logs of resource managers: how many rows of sacct are read in a second of processor time, and in how much memory.

A log of ten million rows is made in a temporary file: 29 columns, as the page of the reference asks for, one job in a
hundred requeued, one in fifty a task of an array. It is read with jobs alone (sacct -X), and with two steps for each.
Each measure is a process of its own.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, TextIO

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

from batprotocol.sites.logs import LeftOut
from batprotocol.sites.logs.formats import FORMATS
from benchmark.tables import parser_for, table

__all__ = ["Measure", "main", "measure", "write_log"]

ROWS: Final = 10_000_000
HEADER: Final = (
    "JobID|JobIDRaw|JobName|User|Group|Account|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|Suspended|State|"
    "ExitCode|NNodes|NCPUS|ReqCPUS|ReqNodes|ReqMem|AllocTRES|ReqTRES|NodeList|Timelimit|Priority|Constraints|"
    "Reservation|SubmitLine\n"
)
_SIZES: Final = (1, 1, 1, 1, 2, 4, 8, 16)
_MEGABYTE: Final = 1024  # of the unit of getrusage


class Measure(NamedTuple):
    """The costs of reading a log.

    Attributes:
        rows: the rows of the log.
        jobs: the jobs that were read.
        seconds: seconds of processor time.
        megabytes: the most memory of the process.
    """

    rows: int
    jobs: int
    seconds: float
    megabytes: float


def write_log(file: TextIO, rows: int, steps: int) -> int:
    """Write a log of about this many rows, and return their number."""
    random_numbers = random.Random(1)
    submitted, written, job = 1_700_000_000.0, 0, 0
    file.write(HEADER)
    while written < rows:
        job += 1
        submitted += random_numbers.expovariate(1 / 30)
        for _ in range(1 + (job % 100 == 0)):
            file.write(_lines(random_numbers, job, int(submitted), steps))
            written += 1 + steps
    return written


def _lines(random_numbers: random.Random, job: int, submitted: int, steps: int) -> str:
    """The rows of a job and its steps."""
    hosts, first = random_numbers.choice(_SIZES), random_numbers.randrange(1000)
    seconds = random_numbers.randrange(1, 86_400)
    started = submitted + random_numbers.choice((0, 1, 60, 3600))
    state = "COMPLETED" if job % 9 else "CANCELLED by 1000"
    id = f"{job}" if job % 50 else f"{job // 1000 * 1000 + 1}_{job % 1000}"
    cores = 32 * hosts
    names = f"n{first:04}" if hosts == 1 else f"n[{first:04}-{first + hosts - 1:04}]"
    times = "|".join(_moment(each) for each in (submitted, submitted, started, started + seconds))
    resources = f"billing={cores},cpu={cores},mem={2 * cores}G,node={hosts}"
    amounts = f"{hosts}|{cores}|{cores}|{hosts}|{2 * cores}G|{resources}|{resources}|{names}|1-00:00:00"
    ended = f"{times}|{seconds}|00:00:00|{state}|0:0"
    about = f"job{job % 50}|u{job % 200}|g{job % 9}|a{job % 20}|main|normal|{ended}"
    row = f"{id}|{job}|{about}|{amounts}|{random_numbers.randrange(10**6)}|||sbatch -N {hosts} job.sh\n"
    step = f"|batch||||||{ended}|{amounts}||||\n"
    return row + "".join(f"{id}.{number}|{job}.{number}{step}" for number in range(steps))


def _moment(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def measure(rows: int, steps: int) -> Measure:
    """The costs of reading a log of about this many rows, with this many steps for each job."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "sacct.txt")
        with open(path, "w", encoding="ascii") as file:
            written = write_log(file, rows, steps)
        with context.Pool(1) as pool:
            return pool.apply(_read, (path, written))


def _read(path: str, rows: int) -> Measure:
    left_out = LeftOut()
    began = time.process_time()
    jobs = Counter(type(job) for job in FORMATS["sacct"].reader()(path, left_out)).total()
    seconds = time.process_time() - began
    return Measure(rows, jobs, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEGABYTE)


def main(argv: Sequence[str] | None = None) -> None:
    given = parser_for(__doc__, quick="read a hundred thousand rows instead of ten million").parse_args(argv)
    rows = ROWS // 100 if given.quick else ROWS
    lines = [["logs", "rows", "jobs", "rows/s", "MB at most"]]
    for name, steps in {"sacct, jobs alone": 0, "sacct, with steps": 2}.items():
        found = measure(rows, steps)
        speed = f"{found.rows / found.seconds:,.0f}"
        lines.append([name, f"{found.rows:,}", f"{found.jobs:,}", speed, f"{found.megabytes:.0f}"])
    print(table(lines, given.markdown))


if __name__ == "__main__":
    main()
