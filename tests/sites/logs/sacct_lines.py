"""Tables of sacct's output: read, written in sacct's forms, and made of jobs, for the tests of its reader."""

from __future__ import annotations

import lzma
import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone, tzinfo
from pathlib import Path
from typing import Final

from support import DATA

from batprotocol.sites.logs import Attempt, AttemptState, LeftOut, LoggedJob
from batprotocol.sites.logs.formats import FORMATS

SAMPLES: Final = DATA / "logs"

Row = dict[str, str]


def sample(name: str) -> str:
    """A file that a real Slurm wrote."""
    return lzma.decompress((SAMPLES / f"{name}.xz").read_bytes()).decode()


def sample_rows() -> list[Row]:
    """The rows of a real sacct -P -D whose texts do not hold the delimiter."""
    header, *lines = sample("sacct.txt").splitlines()
    names = header.split("|")
    rows = [line.split("|") for line in lines]
    return [dict(zip(names, row, strict=True)) for row in rows if len(row) == len(names)]


def parsable(rows: Sequence[Mapping[str, str]], names: Sequence[str], delimiter: str = "|", end: str = "") -> str:
    """The rows as sacct -P writes them, with `--delimiter`; as -p does, if `end` is the delimiter."""
    lines = [names, *([row[name] for name in names] for row in rows)]
    return "".join(f"{delimiter.join(line)}{end}\n" for line in lines)


def fixed(rows: Sequence[Mapping[str, str]], names: Sequence[str], width: int = 0) -> str:
    """The rows in columns of a fixed width, as sacct writes them; 0: of the width that they need."""
    widths = [width or max(len(name), *(len(row[name]) for row in rows)) for name in names]
    lines: list[Sequence[str]] = [
        names,
        ["-" * each for each in widths],
        *([row[name] for name in names] for row in rows),
    ]
    return "".join(
        f"{' '.join(_cell(cell, each) for cell, each in zip(line, widths, strict=True))} \n" for line in lines
    )


def _cell(text: str, width: int) -> str:
    return text.rjust(width) if len(text) <= width else f"{text[: width - 1]}+"


def read(
    folder: Path, text: str | bytes, format: str = "sacct", zone: str | None = None
) -> tuple[list[LoggedJob], LeftOut]:
    """The jobs of a file with this text, and what was left out."""
    path = folder / "log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    left_out = LeftOut()
    return list(FORMATS[format].reader()(path, left_out, zone=zone)), left_out


def reasons(left_out: LeftOut) -> dict[str, tuple[int, tuple[int, ...]]]:
    """The reasons with their numbers and lines."""
    return {reason.reason: (reason.count, reason.lines) for reason in left_out}


def local(moment: float | None, zone: tzinfo = timezone.utc) -> str:
    """A moment as sacct writes it."""
    if moment is None:
        return "Unknown"
    return datetime.fromtimestamp(moment, zone).strftime("%Y-%m-%dT%H:%M:%S")


def span(seconds: float) -> str:
    """A span of time as sacct writes it."""
    days, rest = divmod(int(seconds), 86400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


def rows_of(job: LoggedJob, zone: tzinfo = timezone.utc) -> list[Row]:
    """The rows of a job, one for each attempt."""
    return [_row(job, attempt, zone) for attempt in job.attempts]


def _row(job: LoggedJob, attempt: Attempt, zone: tzinfo) -> Row:
    elapsed = 0.0
    if attempt.started is not None and attempt.ended is not None:
        elapsed = attempt.ended - attempt.started - attempt.suspended
    given = [
        ("cpu", job.cores),
        ("mem", job.memory and f"{job.memory // 2**20}M"),
        ("node", job.host_count),
        *_gres(job.gres),
    ]
    asked = [
        ("cpu", job.requested_cores),
        ("mem", job.requested_memory and f"{job.requested_memory // 2**20}M"),
        ("node", job.requested_hosts),
        *_gres(job.requested_gres),
    ]
    return {
        "JobID": job.id,
        "JobName": job.name or "",
        "User": job.user or "",
        "Group": job.group or "",
        "Account": job.account or "",
        "Partition": job.partition or "",
        "QOS": job.qos or "",
        "Submit": local(attempt.submitted, zone),
        "Eligible": local(attempt.eligible, zone),
        "Start": local(attempt.started, zone),
        "End": local(attempt.ended, zone),
        "Elapsed": span(elapsed),
        "Suspended": span(attempt.suspended),
        "State": f"{attempt.state.value}{' by 0' if attempt.state is AttemptState.CANCELLED else ''}",
        "ExitCode": f"{attempt.exit_code}:{attempt.signal}" if attempt.exit_code is not None else "",
        "NNodes": str(job.host_count),
        "AllocTRES": "" if attempt.started is None else _resources(given),
        "ReqTRES": _resources(asked),
        "NodeList": ",".join(attempt.hosts) or "None assigned",
        "Timelimit": "UNLIMITED" if job.walltime is None else span(job.walltime),
        "Priority": "" if job.priority is None else str(job.priority),
        "Constraints": job.constraint or "",
        "Reservation": job.reservation or "",
    }


def _gres(gres: tuple[tuple[str, int], ...]) -> list[tuple[str, int]]:
    return [(f"gres/{name}", amount) for name, amount in gres]


def _resources(pairs: Sequence[tuple[str, object]]) -> str:
    return ",".join(f"{name}={amount}" for name, amount in sorted(pairs) if amount is not None)


def mutated(random_numbers: random.Random, lines: Sequence[str], alphabet: str) -> list[str]:
    """Lines of which some were changed: characters, values of other lines, pieces that are gone or there twice."""
    found = list(lines)
    for _ in range(random_numbers.randrange(1, 4)):
        place = random_numbers.randrange(len(found))
        line = found[place]
        first, last = sorted(random_numbers.randrange(len(line) + 1) for _ in range(2))
        other = random_numbers.choice(lines)
        begin = random_numbers.randrange(len(other) + 1)
        piece = "".join(random_numbers.choices(alphabet, k=random_numbers.randrange(1, 6)))
        found[place] = random_numbers.choice(
            (
                line[:first] + piece + line[first:],
                line[:first] + piece + line[last:],
                line[:first] + line[last:],
                line[:first] + line[first:last] * 2 + line[last:],
                line[:first] + other[begin : begin + random_numbers.randrange(40)] + line[first:],
            )
        )
    return found
