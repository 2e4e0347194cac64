"""Grid Engine's accounting: a real log as its own qacct and another reader have it, and jobs that come back."""

from __future__ import annotations

import gzip
import lzma
import tempfile
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from manager_lines import gridengine_job, gridengine_text, jobs_of, qacct_text
from msgspec.structs import replace
from sacct_lines import read, reasons
from support import DATA

from batprotocol.cli.main import batproto
from batprotocol.errors import InputError
from batprotocol.sites.logs import AttemptState, LoggedJob
from batprotocol.sites.logs.formats import format_of

WITHOUT_ENGINE = True

REAL: Final = DATA / "gridengine"
TASK: Final = "a record of a task of a parallel job: the record of the job has its slots and times"
RESCHEDULED: Final = "the record of a job that was rescheduled has no times: its next record counts"
_NAMES = """
qname hostname group owner job_name job_number account priority submission_time start_time end_time failed
exit_status ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss ru_ismrss ru_idrss ru_isrss ru_minflt ru_majflt
ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw project department granted_pe
slots task_number cpu mem io category iow pe_taskid maxvmem arid ar_sub_time
"""
FIELDS: Final = _NAMES.split()
"""The fields of a record in the order of the manual page accounting(5)."""


def real(name: str) -> str:
    """A file that a real Grid Engine 8.1.9 or its qacct wrote."""
    return lzma.decompress((REAL / f"{name}.xz").read_bytes()).decode()


def records() -> list[dict[str, str]]:
    """The records of the real log, read as accounting(5) has them, and no more."""
    lines = [line for line in real("accounting").splitlines() if not line.startswith("#")]
    return [dict(zip(FIELDS, line.split(":"), strict=True)) for line in lines]


def printed() -> list[dict[str, str]]:
    """The records of the real log, as qacct -j prints them."""
    found: list[dict[str, str]] = []
    for line in real("jobs.txt").splitlines():
        if line.startswith("==="):
            found.append({})
        else:
            name, _, value = line.partition(" ")
            found[-1][name] = value.strip()
    return [each for each in found if "jobnumber" in each]  # the last line has no record below it


def jobs_in(folder: Path, name: str, format: str) -> dict[str, LoggedJob]:
    return {job.id: job for job in read(folder, real(name), format)[0]}


def seconds(value: float | None) -> str:
    """A time as the file has it."""
    return f"{value or 0:.0f}"


def test_the_real_log_is_as_its_manual_page_has_it(tmp_path: Path) -> None:
    found = jobs_in(tmp_path, "accounting", "gridengine")
    expected: dict[str, list[dict[str, str]]] = {}
    for record in records():
        if record["pe_taskid"] == "NONE" and record["submission_time"] != "0":
            task = "" if record["task_number"] == "0" else f"_{record['task_number']}"
            expected.setdefault(record["job_number"] + task, []).append(record)
    assert len(found) == len(expected) >= 300
    for id, [record] in expected.items():
        job, attempt = found[id], found[id].last
        times = tuple(map(seconds, (attempt.submitted, attempt.started, attempt.ended)))
        assert times == tuple(record[f"{name}_time"] for name in ("submission", "start", "end")), id
        assert (job.user, job.group, job.name, job.partition) == tuple(
            record[name] for name in ("owner", "group", "job_name", "qname")
        )
        ran = record["start_time"] != "0"
        assert (job.cores or 0) == (int(record["slots"]) if ran else 0)
        if record["granted_pe"] == "NONE":
            assert attempt.hosts == ((record["hostname"],) if ran else ())
        assert job.walltime == next(
            (float(part[5:]) for part in record["category"].replace(",", " ").split() if part.startswith("h_rt=")), None
        )
    kinds = Counter((record["granted_pe"], record["pe_taskid"] != "NONE") for record in records())
    assert min(kinds[pe, False] for pe in ("smp", "summed", "each", "each_first", "NONE")) >= 5
    assert kinds["summed", True] == kinds["NONE", True] == 0 < min(kinds["each", True], kinds["each_first", True])


def test_the_states_of_the_real_log(tmp_path: Path) -> None:
    """sge_status(5): 0 is no failure, 25 a rescheduling, 26 before the start, 37 over a limit, 100 by a signal."""
    found = jobs_in(tmp_path, "accounting", "gridengine")
    seen: Counter[str] = Counter()
    for record in records():
        id = record["job_number"] + ("" if record["task_number"] == "0" else f"_{record['task_number']}")
        if record["pe_taskid"] != "NONE" or record["failed"] == "25":
            continue
        attempt, failed, status = found[id].last, record["failed"], int(record["exit_status"])
        if failed == "0":
            expected = AttemptState.COMPLETED if status == 0 else AttemptState.FAILED
            assert (attempt.exit_code, attempt.signal) == (status, None)
        elif failed == "26":
            expected = AttemptState.FAILED
            assert (attempt.started, attempt.exit_code) == (None, None)
        else:
            assert failed in ("37", "100")
            limited = "_rt=" in record["category"] and "h_rt=3600" not in record["category"]
            expected = AttemptState.TIMEOUT if limited else AttemptState.FAILED
            assert (attempt.exit_code, attempt.signal) == (0, status - 128)
        assert attempt.state is expected, id
        seen[f"{failed} {expected.value}"] += 1
    assert set(seen) >= {"0 COMPLETED", "0 FAILED", "26 FAILED", "37 TIMEOUT", "100 TIMEOUT", "100 FAILED"}


def test_the_real_log_is_as_qacct_prints_it(tmp_path: Path) -> None:
    """Each job has a record of qacct with its times, slots, and status. The others are those of tasks."""
    found = read(tmp_path, real("accounting"), "gridengine")
    texts = Counter(
        (each["jobnumber"], each["taskid"], each["qsub_time"], each["start_time"], each["end_time"], each["slots"])
        for each in printed()
    )
    assert texts.total() == len(records())
    for job in found[0]:
        times = (
            "-/-" if moment is None else datetime.fromtimestamp(moment, timezone.utc).strftime("%a %b %e %H:%M:%S %Y")
            for moment in (job.last.submitted, job.last.started, job.last.ended)
        )
        number, _, task = job.id.partition("_")
        texts[(number, task or "undefined", *times, f"{job.cores or 1}")] -= 1
    assert min(texts.values()) == 0
    counted = reasons(found[1])
    assert texts.total() == counted[TASK][0] + counted[RESCHEDULED][0]


@pytest.mark.parametrize(("file", "name"), [("owners.txt", "owner"), ("slots.txt", "slots"), ("hosts.txt", "hostname")])
def test_the_sums_of_qacct_count_tasks_twice(tmp_path: Path, file: str, name: str) -> None:
    """`qacct -o`, `-slots` and `-h` add the records of tasks to those of jobs: without them, the sums are ours."""
    sums = {line.split()[0]: int(line.split()[1]) for line in real(file).splitlines()[2:]}
    ours: Counter[str] = Counter()
    tasks = 0
    by_key = {(r["job_number"], r["task_number"]): r["hostname"] for r in records() if r["pe_taskid"] == "NONE"}
    for job in jobs_in(tmp_path, "accounting", "gridengine").values():
        number, _, task = job.id.partition("_")
        key = {"owner": job.user, "slots": f"{job.cores or 1}", "hostname": by_key[number, task or "0"]}[name]
        ours[str(key)] += int((job.last.ended or 0) - (job.last.started or 0))
    for record in records():
        if record["pe_taskid"] != "NONE":
            tasks += 1
            ours[record[name]] += int(record["end_time"]) - int(record["start_time"])
    assert {key: value for key, value in ours.items() if value} == {key: value for key, value in sums.items() if value}
    assert tasks > 100


def test_both_files_of_the_real_log_have_the_same_jobs(tmp_path: Path) -> None:
    (file, counted), (text, counted_too) = (
        read(tmp_path, real(name), format) for name, format in (("accounting", "gridengine"), ("jobs.txt", "qacct"))
    )

    def plain(jobs: list[LoggedJob]) -> list[LoggedJob]:
        return sorted((replace(job, line=0) for job in jobs), key=lambda job: job.id)

    assert plain(file) == plain(text)
    assert {name: count for name, (count, _) in reasons(counted).items()} == {
        name: count for name, (count, _) in reasons(counted_too).items()
    }


@pytest.mark.slow
def test_questions_about_the_real_log(tmp_path: Path) -> None:
    """`import --check` copies it, and `whatif` answers."""
    path = tmp_path / "accounting"
    path.write_text(real("accounting"))
    done = CliRunner().invoke(batproto, ["import", str(path), "--check", "-o", str(tmp_path / "log.json")])
    assert done.exit_code == 0, done.output
    counts = [line.split() for line in done.output.splitlines() if line.startswith("copy ")]
    assert counts[0][1] == counts[0][3]
    assert "each core is a host" in done.output
    report = tmp_path / "report.html"
    words = [
        "whatif",
        str(path),
        "--policies",
        "fcfs,easy,conservative",
        "--windows",
        "20s",
        "-o",
        str(report),
        "-j",
        "1",
    ]
    done = CliRunner().invoke(batproto, words)
    assert done.exit_code == 0, done.output
    assert "conservative" in report.read_text()


@settings(max_examples=25)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.sampled_from([1, 1000, 1_000_000]), st.booleans())
def test_jobs_of_the_file_come_back(seeds: list[int], part: int, has_more: bool) -> None:
    """In seconds, milliseconds and microseconds; with 45 fields, and with those of later versions."""
    jobs = jobs_of(gridengine_job, seeds)
    text = gridengine_text(jobs, part, ":NONE:NONE:0:a b:c" if has_more else "")
    with tempfile.TemporaryDirectory() as folder:
        found, left_out = read(Path(folder), text, "gridengine")
        assert format_of(Path(folder) / "log") == "gridengine"
    assert [replace(job, line=0) for job in found] == jobs
    assert set(reasons(left_out)) <= {TASK}


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=6),
    st.sampled_from(["%a %b %e %H:%M:%S %Y", "%m/%d/%Y %H:%M:%S.000", "%Y-%m-%d %H:%M:%S.000"]),
)
def test_jobs_of_the_text_come_back(seeds: list[int], form: str) -> None:
    jobs = [job for job in jobs_of(gridengine_job, seeds) if job.last.started is not None or form.startswith("%a")]
    with tempfile.TemporaryDirectory() as folder:
        found, left_out = read(Path(folder), qacct_text(jobs, form) or "=" * 62 + "\n", "qacct")
        assert not jobs or format_of(Path(folder) / "log") == "qacct"
    assert [replace(job, line=0) for job in found] == jobs
    assert set(reasons(left_out)) <= {TASK}


RECORD: Final = (
    "all.q:n1:staff:ada:run:7:sge:0:1770000000:1770000010:1770000070:0:0:60:1.5:0.1:0.0:0:0:0:0:0:0:0:0.0:0:0:0:0:0:0:"
    "NONE:defaultdepartment:mpi:8:0:1.6:0.0:0.0:-l a=x:y -pe mpi 4-8:0.0:NONE:1000.0"
)
"""A record with 43 fields, and a colon in its category."""


def changed(**values: Any) -> str:
    """The record with other values."""
    fields = RECORD.replace("x:y", "x|y").split(":")
    for name, value in values.items():
        fields[FIELDS.index(name)] = f"{value}"
    return ":".join(fields).replace("x|y", "x:y")


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    lines = [
        "# Version: 6.2",
        RECORD,
        "",
        "x",
        RECORD[:150],
        "a line",
        changed(job_number=8, submission_time="soon"),
        changed(job_number=9, maxvmem="much"),
        changed(job_number=10, end_time=1770000005),
        changed(job_number=0),
        changed(job_number=11, exit_status="1.5"),
        changed(job_number=12, submission_time=0),
        changed(job_number=13, submission_time=0, start_time=0, end_time=0, failed=25),
        changed(job_number=14, task_number=3, hostname="n2", pe_taskid="1.n2"),
        changed(job_number=14, task_number=3),
        changed(job_number=15, qname="UNKNOWN", hostname="UNKNOWN", failed=26, start_time=0, end_time=0),
        changed(job_number=16, submission_time=10**17),
        *[changed(job_number=17)] * 2,
        RECORD[:100],
    ]
    found, left_out = read(tmp_path, "\n".join(lines), "gridengine")
    assert [(job.id, job.last.hosts, job.requested_cores) for job in found] == [
        ("7", (), None),
        ("11", (), None),
        ("14_3", ("n1", "n2"), None),
        ("15", (), None),
        ("17", (), None),
    ]
    assert (found[3].partition, found[3].cores, found[0].cores, found[0].line) == (None, None, 8, 2)
    assert reasons(left_out) == {
        "the record ends before maxvmem": (2, (5, 20)),
        "the line is not an accounting record": (1, (6,)),
        "submission_time is not at its place in the record": (1, (7,)),
        "maxvmem is not at its place in the record": (1, (8,)),
        "the job ends before it starts, or before it is submitted": (1, (9,)),
        "the id is not one of Grid Engine's jobs": (1, (10,)),
        "the value of exit_status cannot be read": (1, (11,)),
        "the job has no time of submission": (1, (12,)),
        RESCHEDULED: (1, (13,)),
        TASK: (1, (14,)),
        "the value of submission_time cannot be read": (1, (17,)),
        "the row says the same again, or less: the log has it twice": (1, (18,)),
    }


def test_states_and_attempts_of_other_versions(tmp_path: Path) -> None:
    end = 1770000070
    lines = [
        changed(job_number=1, failed=25),
        changed(job_number=1, submission_time=end, start_time=end + 5, end_time=end + 9),
        changed(job_number=2, failed=37, exit_status=137),
        changed(job_number=3, failed=100, exit_status=137, category="-l h_rt=60"),
        changed(job_number=4, failed=100, exit_status=137, category="-l h_rt=61"),
        changed(job_number=5, failed=37, exit_status=137, category="-l h_rt=61,h_vmem=1G"),
        changed(job_number=6, failed=100, exit_status=137) + ":0:0:NONE:ada@n1",
        changed(job_number=7, failed=19, category="-l h_rt=INFINITY"),
    ]
    found, left_out = read(tmp_path, "\n".join(lines), "gridengine")
    assert [attempt.state.value for attempt in found[0].attempts] == ["REQUEUED", "COMPLETED"]
    assert [job.last.state.value for job in found[1:]] == [
        *("TIMEOUT", "TIMEOUT", "FAILED", "FAILED", "CANCELLED", "FAILED"),
    ]
    assert [job.walltime for job in found[2:]] == [60.0, 61.0, 61.0, None, None]
    assert not list(left_out)


def test_files_that_are_none_of_grid_engine(tmp_path: Path) -> None:
    for format in ("gridengine", "qacct"):
        with pytest.raises(InputError, match="expected a record of Grid Engine"):
            read(tmp_path, "no record\n" * 5, format)
        assert read(tmp_path, "", format)[0] == []
    assert read(tmp_path, "# Version: 8.1.9\n# \n", "gridengine")[0] == []
    found, left_out = read(tmp_path, "=" * 62 + f"\njobnumber 7\n{qacct_text(jobs_of(gridengine_job, [5]))}", "qacct")
    assert [job.id for job in found] == ["1"]
    assert reasons(left_out)["the record does not have qsub_time"] == (1, (1,))


def test_rotated_files_are_one_log(tmp_path: Path) -> None:
    """`accounting.1.gz`, and the newer file, which has the last lines of the other one again."""
    lines = [changed(job_number=number, granted_pe="NONE", slots=1) for number in range(1, 7)]
    with gzip.open(tmp_path / "accounting.1.gz", "wt") as file:
        file.write("\n".join(lines[:4]) + "\n")
    (tmp_path / "accounting").write_text("# Version: 8.1.9\n" + "\n".join(lines[3:]))
    done = CliRunner().invoke(batproto, ["import", str(tmp_path / "accounting.1.gz"), str(tmp_path / "accounting")])
    assert done.exit_code == 0, done.output
    assert "6 jobs of 7 in the log" in done.output
