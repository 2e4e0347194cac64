"""sacct --json in the forms of several versions, and the lines of jobcomp/filetxt: the same jobs as in sacct's text."""

from __future__ import annotations

import json
import lzma
import random
import re
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sacct_lines import read, reasons, sample

from batprotocol.errors import InputError
from batprotocol.sites.logs import AttemptState, LoggedJob
from batprotocol.sites.logs.managers.sacct_rows import TWICE
from batprotocol.sites.logs.sources import Source, elements_of

WITHOUT_ENGINE = True

SAMPLE = sample("sacct.json")
DAMAGED = "the JSON of the job is damaged"


def jobs_of(text: str | bytes, format: str = "sacct-json") -> list[LoggedJob]:
    with tempfile.TemporaryDirectory() as folder:
        return read(Path(folder), text, format)[0]


EXPECTED = jobs_of(SAMPLE)


def test_the_jobs_are_those_of_the_text() -> None:
    text = {job.id: job for job in jobs_of(sample("sacct-all.txt"), "sacct")}
    assert len(EXPECTED) == len(text) == 26
    for job in EXPECTED:
        same = text[job.id]
        ends = [each.exit_code for each in same.attempts]
        # Slurm 22.05 writes neither exit codes other than 0, nor the names of reservations, nor command lines.
        fields = {"line": job.line, **dict.fromkeys(("dependency", "exclusive", "nodelist", "exclude", "reservation"))}
        attempts = tuple(replace(each, exit_code=end) for each, end in zip(job.attempts, ends, strict=True))
        assert replace(job, attempts=attempts) == replace(same, **fields)


def newer(value: Any, key: str = "") -> Any:
    """A value as Slurm 23.11 and later write it."""
    if isinstance(value, dict):
        return {name: newer(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [newer(each) for each in value]
    if key in ("current", "status"):
        return [value, "SOMETHING_MORE"]
    if key in ("limit", "task_id", "job_offset", "priority", "return_code", "signal_id"):
        return {"set": value is not None, "infinite": False, "number": value or 0}
    return value


def test_the_forms_of_newer_versions() -> None:
    log = newer(json.loads(SAMPLE))
    for job in log["jobs"]:
        job["submit_line"] = "sbatch --exclusive x"
        if "signal" in job["exit_code"]:
            job["exit_code"]["signal"]["id"] = job["exit_code"]["signal"].pop("signal_id")
    first = {"jobs": log.pop("jobs"), **log}
    assert jobs_of(json.dumps(first, indent=2)) == [replace(job, exclusive=True) for job in EXPECTED]


@pytest.mark.parametrize("indent", [None, 0, 1, 2, 4, "\t"])
def test_any_layout_of_json(indent: int | str | None) -> None:
    log = json.loads(SAMPLE)
    for job in log["jobs"]:
        job["name"] += '}\\"{[\n    }'
    names = {f'{job.name}}}\\"{{[\n    }}' for job in EXPECTED}
    found = jobs_of(json.dumps(log, indent=indent))
    assert {job.name for job in found} == names
    assert [job.attempts for job in found] == [job.attempts for job in EXPECTED]
    assert jobs_of(lzma.compress(json.dumps(log, indent=indent).encode())) == found


def test_limits_that_are_none() -> None:
    log = json.loads(SAMPLE)
    limits = [{"set": False, "infinite": True, "number": 0}, {"set": False, "infinite": False, "number": 9}, None]
    for job, limit in zip(log["jobs"], limits * 10, strict=True):
        job["time"]["limit"] = limit
    assert {job.walltime for job in jobs_of(json.dumps(log))} == {None}


def test_tasks_that_wait_together() -> None:
    log = json.loads(SAMPLE)
    job = log["jobs"][-1]
    job["array"] = {"job_id": 29, "task_id": {"set": False, "number": 0}, "task": "0-2,9%1"}
    job["state"]["current"] = ["PENDING"]
    found = jobs_of(json.dumps({"jobs": [job]}))
    assert [job.id for job in found] == ["29_0", "29_1", "29_2", "29_9"]
    assert {job.first.state for job in found} == {AttemptState.PENDING}
    job["array"]["task"] = "0x207%1"  # as the database has the tasks: a bit for each
    assert (
        jobs_of(json.dumps({"jobs": [job]}))
        == jobs_of(json.dumps([job]))
        == jobs_of(f"\n [{json.dumps(job)}]")
        == found
    )


def test_one_damaged_job_does_not_end_the_reading(tmp_path: Path) -> None:
    lines = SAMPLE.split("\n")
    place = next(number for number, line in enumerate(lines) if '"job_id": 12,' in line)
    lines[place] = '      "job_id": 12'
    jobs, left_out = read(tmp_path, "\n".join(lines), "sacct-json")
    assert [job.id for job in jobs] == [job.id for job in EXPECTED if job.id != "12"]
    assert {reason: count for reason, (count, _) in reasons(left_out).items()} == {DAMAGED: 1}


def test_a_file_that_ends_too_early(tmp_path: Path) -> None:
    compact = json.dumps(json.loads(SAMPLE))
    for text in (SAMPLE[: len(SAMPLE) // 2], compact[: len(compact) // 2]):
        jobs, left_out = read(tmp_path, text, "sacct-json")
        assert 5 < len(jobs) < 26
        assert reasons(left_out)[DAMAGED][0] == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", 'expected a JSON object with an array "jobs"'),
        ('{"errors": []}', 'expected a JSON object with an array "jobs"'),
        (" " * (1 << 21), 'expected a JSON object with an array "jobs"'),
        ('{"jobs": [{"account": "a", "submit_time": 3}]}', "expected jobs with an object \"time\".*'squeue --json'"),
    ],
)
def test_files_that_are_not_of_sacct(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        jobs_of(text)


class _Blocks(Source):
    """A source that gives its bytes in blocks of any size."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self.name = "log"
        self._data, self._sizes = data, sizes

    def blocks(self) -> Any:
        place = 0
        for size in (*self._sizes, len(self._data)):
            yield self._data[place : place + size]
            place += size


TEXTS = st.text('a"\\{}[]\n ,:é', max_size=6)
VALUES = (
    TEXTS | st.none() | st.lists(TEXTS, max_size=2) | st.dictionaries(TEXTS, st.lists(TEXTS, max_size=2), max_size=2)
)


@settings(max_examples=30)
@given(
    st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), max_size=4),
    st.sampled_from([None, 0, 1, 4]),
    st.booleans(),
    st.lists(st.integers(1, 50), max_size=30),
)
def test_elements_are_divided_as_json_divides_them(
    objects: list[Any], indent: int | None, is_ascii: bool, sizes: list[int]
) -> None:
    text = json.dumps({"a": {"b": [1]}, "jobs": objects, "z": {"jobs": [1]}}, indent=indent, ensure_ascii=is_ascii)
    found = list(elements_of(_Blocks(text.encode(errors="surrogatepass"), sizes), "jobs"))
    assert [None if each is None else json.loads(each) for each in found] == objects


# jobcomp/filetxt


def test_the_lines_of_jobcomp() -> None:
    text = {job.id: job for job in jobs_of(sample("sacct-all.txt"), "sacct")}
    found = {job.id: job for job in jobs_of(sample("jobcomp.txt"), "jobcomp")}
    assert found.keys() - text.keys() == {"8", "13", "21"}  # cancelled while they waited, which sacct did not list
    assert text.keys() <= found.keys()
    assert all(found[id].first.started is None for id in ("8", "13", "21"))
    for id, same in text.items():
        job = found[id]
        assert job.attempts[: len(same.attempts)] == same.attempts
        for name in (
            "host_count",
            "cores",
            "walltime",
            "name",
            "user",
            "group",
            "account",
            "qos",
            "reservation",
            "array",
        ):
            assert getattr(job, name) == getattr(same, name)
    cancelled = found["21_1"].last  # it was cancelled after it was requeued
    assert (cancelled.started, cancelled.state) == (None, AttemptState.CANCELLED)


def test_names_with_spaces_and_lines_that_are_none(tmp_path: Path) -> None:
    line = sample("jobcomp.txt").splitlines()[1]
    changed = line.replace("Name=sig", "Name=a b=c JobState= x")
    jobs, left_out = read(tmp_path, f"{line}\nhello\n\n{changed.replace('JobId=15', 'JobId=16')}\n", "jobcomp")
    assert [job.name for job in jobs] == ["sig", "a b=c"]
    assert "the line does not begin with JobId=" in reasons(left_out)
    with pytest.raises(InputError, match="expected a line of jobcomp/filetxt"):
        jobs_of("hello", "jobcomp")


# The hour that comes twice

PARIS = ZoneInfo("Europe/Paris")
SET_BACK = datetime(2025, 10, 26, 1, tzinfo=timezone.utc).timestamp()


def completions(seed: int, count: int, late: float = 0.0) -> list[tuple[float, float, float]]:
    """The submission, start and end of jobs around the change of clocks, in the order of the lines of jobcomp."""
    draw, now, jobs = random.Random(seed), SET_BACK - 3 * 3600, []
    for _ in range(count):
        now += draw.expovariate(count / (6 * 3600)) // 1
        start = now + draw.choice([0, 0, 3, 300, 2000])
        jobs.append((now, start, start + draw.randint(5, 2000)))
    return sorted(jobs, key=lambda job: job[2] + draw.uniform(0, late))


@pytest.mark.parametrize("late", [0.0, 20.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_ends_tells_which_hour_it_is(tmp_path: Path, seed: int, late: float) -> None:
    """jobcomp writes a line when a job ends: of two hours, it is the one in which ends do not go back."""
    jobs = completions(seed, 450, late)
    template = sample("jobcomp.txt").splitlines()[1]
    lines = []
    for number, moments in enumerate(jobs, 1):
        line = re.sub("JobId=[0-9]+", f"JobId={number}", template)
        submit, start, end = (datetime.fromtimestamp(each, PARIS).strftime("%Y-%m-%dT%H:%M:%S") for each in moments)
        for key, text in (("SubmitTime", submit), ("EligibleTime", submit), ("StartTime", start), ("EndTime", end)):
            line = re.sub(f"{key}=[^ ]*", f"{key}={text}", line)
        lines.append(line)
    found, left_out = read(tmp_path, "\n".join(lines), "jobcomp", "Europe/Paris")
    assert not left_out.rows
    assert [job.last.ended for job in found] == [end for _, _, end in jobs]
    wrong = sum(job.last.started != start for job, (_, start, _) in zip(found, jobs, strict=True))
    in_doubt = sum(each.count for each in left_out if each.reason == TWICE)
    assert wrong <= in_doubt  # a row that says when its job ended may not say when it started
    assert wrong < 45


def test_a_real_slurm_when_clocks_are_set_back(tmp_path: Path) -> None:
    """A Slurm in Paris from 01:45 on, until after 03:00: jobcomp and sacct against sacct with seconds since 1970."""
    expected = {job.id: job for job in read(tmp_path, sample("sacct-set-back-epoch.txt"))[0]}
    for name, format in (("sacct-set-back.txt", "sacct"), ("jobcomp-set-back.txt", "jobcomp")):
        found, left_out = read(tmp_path, sample(name), format, "Europe/Paris")
        for job in found:
            same = expected[job.id].last
            assert (job.last.submitted, job.last.started, job.last.ended) == (same.submitted, same.started, same.ended)
        assert len(found) == len(expected) == 173
        assert {each.reason for each in left_out} == {TWICE}
