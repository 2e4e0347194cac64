"""Changed lines of the logs of resource managers: a job, or a counted reason with its line; never another exception."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzzing import changed_bytes, changed_texts
from manager_lines import (
    cigri_job,
    cigri_text,
    flux_job,
    flux_text,
    gridengine_job,
    gridengine_text,
    gridstat_text,
    jobs_of,
    lsf_job,
    lsf_text,
    oar_job,
    oar_text,
    pbs_job,
    pbs_text,
    qacct_text,
)
from sacct_lines import read
from test_sacct_fuzz import check as check_in_order

from batprotocol.errors import InputError
from batprotocol.sites.logs import LeftOut, LoggedJob

WITHOUT_ENGINE = True

SEEDS = range(40)
FORMATS: dict[str, tuple[Callable[[], str], int, int]] = {
    "pbs": (lambda: pbs_text(jobs_of(pbs_job, SEEDS)), 1, 3),
    "lsf": (lambda: lsf_text(jobs_of(lsf_job, SEEDS)), 1, 3),
    "gridengine": (lambda: gridengine_text(jobs_of(gridengine_job, SEEDS)), 3, 3),
    "qacct": (lambda: qacct_text(jobs_of(gridengine_job, SEEDS)), 1, 20),
    "flux": (lambda: flux_text(jobs_of(flux_job, SEEDS)), 2, 3),
    "oar": (lambda: oar_text(jobs_of(oar_job, SEEDS)), 1, 40),
    "gridstat": (lambda: gridstat_text(jobs_of(cigri_job, SEEDS)), 1, 20),
    "cigri": (lambda: cigri_text(jobs_of(cigri_job, SEEDS)), 2, 3),
}
"""The formats, each with a text, the lines at its begin that stay as they are, and how many others have one changed."""


def check(format: str, jobs: list[LoggedJob], left_out: LeftOut, lines: int) -> None:
    """Every job and reason has its line; the times of jobs are in order, which tables of columns leave to later."""
    if format != "cigri":
        check_in_order(jobs, left_out, lines)
    assert all(1 <= job.line <= lines and job.host_count >= 1 for job in jobs)
    assert all(1 <= line <= lines for reason in left_out for line in reason.lines)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("changes", [200, pytest.param(100_000, marks=pytest.mark.minutes)])
def test_changed_lines_of_managers(tmp_path: Path, format: str, changes: int) -> None:
    text_of, kept, share = FORMATS[format]
    draw, counted = random.Random(format), 0
    for text, _ in changed_texts(draw, text_of().splitlines(), kept, share, changes):
        jobs, left_out = read(tmp_path, text.encode(errors="replace"), format, draw.choice([None, "Europe/Paris"]))
        places = len(text) if format == "flux" else text.count("\n")  # elements of an array are numbered, not lines
        check(format, jobs, left_out, places + 1)
        assert jobs
        counted += sum(reason.count for reason in left_out)
    assert counted > 0


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("changes", [20, pytest.param(2_000, marks=pytest.mark.minutes)])
def test_changed_bytes_of_managers(tmp_path: Path, format: str, changes: int) -> None:
    """Any bytes: jobs and reasons, or an InputError for the file."""
    for data in changed_bytes(random.Random(format), FORMATS[format][0]().encode(), changes):
        try:
            jobs, left_out = read(tmp_path, data, format)
        except InputError:
            continue
        check(format, jobs, left_out, len(data) + 1)  # an element of a damaged array can be of one byte
