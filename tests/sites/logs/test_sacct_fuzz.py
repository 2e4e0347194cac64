"""Changed lines of each of Slurm's formats: a job, or a counted reason with its line; never an exception."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzzing import changed_bytes, changed_texts
from sacct_lines import fixed, parsable, read, sample, sample_rows

from batprotocol.errors import InputError
from batprotocol.sites.logs import LeftOut, LoggedJob

WITHOUT_ENGINE = True

ROWS = sample_rows()
NAMES = list(ROWS[0])
WIDE = [name for name in NAMES if name != "SubmitLine"]
TIMES = 10
SHARE = 3  # one line in this many is changed


def _without_steps() -> str:
    log = json.loads(sample("sacct.json"))
    for job in log["jobs"]:
        del job["steps"]
    return json.dumps({"jobs": log["jobs"]}, indent=1)


FORMATS: dict[str, tuple[str, Callable[[], str], int]] = {
    "parsable": ("sacct", lambda: parsable(ROWS, NAMES), 1),
    "all": ("sacct", lambda: sample("sacct-all.txt"), 1),
    "fixed": ("sacct", lambda: fixed(ROWS, WIDE), 2),
    "json": ("sacct-json", _without_steps, 2),
    "jobcomp": ("jobcomp", lambda: sample("jobcomp.txt"), 1),
}
"""The formats, each with a text, and the number of lines at its begin that stay as they are."""


def check(jobs: list[LoggedJob], left_out: LeftOut, lines: int) -> None:
    """What holds for any file."""
    for job in jobs:
        assert 1 <= job.line <= lines
        assert job.host_count >= 1
        for attempt in job.attempts:
            known = [each for each in (attempt.submitted, attempt.started, attempt.ended) if each is not None]
            assert known == sorted(known)
            assert known[0] >= 0
    for reason in left_out:
        assert all(1 <= line <= lines for line in reason.lines)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("changes", [500, pytest.param(100_000, marks=pytest.mark.minutes)])
def test_changed_lines(tmp_path: Path, name: str, changes: int) -> None:
    format, text_of, kept = FORMATS[name]
    lines = text_of().splitlines()
    head, body = lines[:kept], lines[kept:] * TIMES
    draw = random.Random(name)
    for text, same in changed_texts(draw, [*head, *body], kept, SHARE, changes):
        jobs, left_out = read(tmp_path, text.encode(errors="replace"), format, draw.choice([None, "Europe/Paris"]))
        check(jobs, left_out, text.count("\n") + 1)
        if name == "parsable":
            unchanged(jobs, left_out, same)


def unchanged(jobs: list[LoggedJob], left_out: LeftOut, lines: list[str]) -> None:
    """Rows that were not changed are there, whatever is around them."""
    ids = {job.id.partition("~")[0] for job in jobs}
    assert {row.partition("|")[0] for row in lines if "." not in row.partition("|")[0]} <= ids
    assert left_out.rows > 0


@pytest.mark.parametrize("changes", [200, pytest.param(10_000, marks=pytest.mark.minutes)])
def test_changed_bytes(tmp_path: Path, changes: int) -> None:
    """Any bytes: jobs and reasons, or an InputError for the file."""
    draw = random.Random(1)
    texts = [(format, text_of().encode()) for format, text_of, _ in FORMATS.values()]
    refused = 0
    for _ in range(changes):
        format, text = draw.choice(texts)
        (data,) = changed_bytes(draw, text, 1, 4000)
        try:
            jobs, left_out = read(tmp_path, data, format)
        except InputError:
            refused += 1
        else:
            places = len(data) if format == "sacct-json" else data.count(b"\n")  # elements are numbered, not lines
            check(jobs, left_out, places + 1)
    assert 0 < refused < changes
