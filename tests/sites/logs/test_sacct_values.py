"""The values in sacct's rows: times in all zones, limits, memory, resources, states, ids and command lines."""

from __future__ import annotations

import math
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacct_lines import local, parsable, read, reasons, rows_of

from batprotocol.errors import InputError
from batprotocol.sites.logs import Attempt, AttemptState, LoggedJob
from batprotocol.sites.logs.managers.rows import amount_of, moment_of, number_of, tasks_of, text_of
from batprotocol.sites.logs.managers.sacct_columns import SubmitOptions, submission_of
from batprotocol.sites.logs.managers.sacct_rows import (
    TWICE,
    amounts_of,
    resources_of,
    seconds_of,
)

WITHOUT_ENGINE = True

HEADER = "JobID|User|Submit|Eligible|Start|End|Elapsed|Suspended|State|NNodes|NodeList|Timelimit\n"
MOMENT = "2026-11-23T22:33:19"
AT = 1795473199.0
GIB = 2**30


def one(folder: Path, **changed: str) -> tuple[LoggedJob | None, list[str]]:
    """The job of a row with these values, and the reasons of what was left out."""
    row = {
        "JobID": "7",
        "User": "u",
        "Submit": MOMENT,
        "Eligible": MOMENT,
        "Start": MOMENT,
        "End": "2026-11-23T22:34:19",
        "Elapsed": "00:01:00",
        "Suspended": "00:00:00",
        "State": "COMPLETED",
        "NNodes": "1",
        "NodeList": "n0",
        "Timelimit": "00:05:00",
        **changed,
    }
    jobs, left_out = read(folder, parsable([row], list(row)))
    assert len(jobs) <= 1
    return (jobs[0] if jobs else None), list(reasons(left_out))


def attempt(folder: Path, **changed: str) -> Attempt:
    job, left_out = one(folder, **changed)
    assert job is not None
    assert not left_out
    return job.first


# Times


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (MOMENT, AT),
        ("2026-11-23 22:33:19", AT),
        ("1795473199", AT),
        ("2026-11-23T22:33:19Z", AT),
        ("2026-11-23T22:33:19+01:00", AT - 3600),
        ("2026-11-23T22:33:19+0100", AT - 3600),
        ("2026-11-23T22:33:19-05:30", AT + 5.5 * 3600),
    ],
)
def test_forms_of_moments(tmp_path: Path, text: str, moment: float) -> None:
    found = attempt(
        tmp_path, Submit=text, Eligible="Unknown", Start="Unknown", End="Unknown", Elapsed="", State="PENDING"
    )
    assert found == Attempt(submitted=moment, state=AttemptState.PENDING)


@pytest.mark.parametrize(
    "text",
    ["2026-13-01T00:00:00", "2026-02-30T00:00:00", "2026-01-01T24:00:00", "2026-01-01T00:00:60", "1e9", "now", "-1"],
)
def test_a_time_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    for column in ("Submit", "Start", "End", "Eligible"):
        assert one(tmp_path, **{column: text}) == (None, ["a time cannot be read"])


def test_rows_without_their_times(tmp_path: Path) -> None:
    assert one(tmp_path, Submit="Unknown") == (None, ["the row has no time of submission"])
    assert attempt(tmp_path, End="Unknown").ended == AT + 60
    assert attempt(tmp_path, Start="Unknown").started == AT
    assert one(tmp_path, End="Unknown", Elapsed="") == (None, ["the job has ended, but the row does not say when"])
    assert one(tmp_path, End="2026-11-23T22:33:18") == (
        None,
        ["the job ends before it starts, or before it is submitted"],
    )
    job, left_out = one(tmp_path, Submit="2026-11-23T22:33:20")
    assert job is not None
    assert (job.first.submitted, job.first.started) == (AT, AT)
    assert left_out == ["the job starts before it is submitted; its start is taken for both"]
    assert one(tmp_path, Elapsed="00:30:00")[1] == [
        "Elapsed is not the time from Start to End; give the zone of the log"
    ]
    assert attempt(tmp_path, Suspended="00:00:20", Elapsed="00:00:40").suspended == 20.0


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING"])
def test_jobs_that_run_have_no_end(tmp_path: Path, state: str) -> None:
    assert attempt(tmp_path, State=state, End="Unknown").ended is None
    assert attempt(tmp_path, State=state).ended is None


@pytest.mark.parametrize("end", ["Unknown", "None"])
def test_without_states_a_job_that_has_no_end_runs_or_waits(tmp_path: Path, end: str) -> None:
    """Its elapsed time is the one until the log was written."""
    rows = [
        {"JobID": "1", "Submit": MOMENT, "Start": MOMENT, "End": end, "Elapsed": "00:10:00", "NNodes": "1"},
        {"JobID": "2", "Submit": MOMENT, "Start": "Unknown", "End": end, "Elapsed": "00:00:00", "NNodes": "1"},
        {"JobID": "3", "Submit": MOMENT, "Start": MOMENT, "End": "", "Elapsed": "00:10:00", "NNodes": "1"},
    ]
    jobs, _ = read(tmp_path, parsable(rows, list(rows[0])))
    assert [job.last.state for job in jobs] == [AttemptState.RUNNING, AttemptState.PENDING, AttemptState.UNKNOWN]
    assert [job.last.ended and job.last.ended - job.last.submitted for job in jobs] == [None, None, 600.0]


@pytest.mark.parametrize("state", ["CANCELLED by 1000", "CANCELLED", "DEADLINE", "CA"])
@pytest.mark.parametrize("nodes", ["None assigned", ""])
def test_cancelled_before_it_began(tmp_path: Path, state: str, nodes: str) -> None:
    for start in (MOMENT, "Unknown", "None"):
        found = attempt(tmp_path, State=state, NodeList=nodes, Start=start, End=MOMENT, Elapsed="00:00:00")
        assert (found.started, found.ended, found.hosts) == (None, AT, ())
    ran = attempt(tmp_path, State=state, Start=MOMENT, End=MOMENT, Elapsed="00:00:00")
    assert (ran.started, ran.hosts) == (AT, ("n0",))


ZONES = ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns"]
BACK = {  # when clocks are set back, in 2026
    "Europe/Paris": datetime(2026, 10, 25, 1, tzinfo=timezone.utc),
    "America/New_York": datetime(2026, 11, 1, 6, tzinfo=timezone.utc),
    "Australia/Lord_Howe": datetime(2026, 4, 4, 15, tzinfo=timezone.utc),
    "Asia/Kathmandu": datetime(2026, 10, 25, 1, tzinfo=timezone.utc),  # never
    "America/St_Johns": datetime(2026, 11, 1, 4, 30, tzinfo=timezone.utc),
}


@settings(max_examples=25)
@example("Europe/Paris", [(1800, 1800, 0, 0), (1800, 3600, 3600, 0), (1800, 0, 3600, 600)])
@example("Europe/Paris", [(697, 3600, 1458, 600), (1800, 0, 3600, 208), (1800, 4618, 5024, 0), (1, 1800, 3600, 600)])
@example("America/New_York", [(1800, 1800, 0, 582), (1800, 4900, 3600, 0), (1800, 0, 1800, 600)])
@given(
    st.sampled_from(ZONES),
    st.lists(
        st.tuples(st.integers(0, 1800), *[st.integers(0, 5400)] * 2, st.integers(0, 600)), min_size=1, max_size=20
    ),
)
def test_the_hour_that_comes_twice(name: str, steps: list[tuple[int, int, int, int]]) -> None:
    """Sorted jobs around the change, with their elapsed times: spans are exact, and each time is one that it can be."""
    zone, now, jobs = ZoneInfo(name), BACK[name].timestamp() - 7200, list[LoggedJob]()
    for number, (gap, waiting, running, suspended) in enumerate(steps):
        now += gap
        started = now + waiting
        ended = started + running + suspended
        jobs.append(
            LoggedJob(
                id=str(number),
                attempts=(
                    Attempt(
                        submitted=now,
                        eligible=now,
                        started=started,
                        ended=ended,
                        state=AttemptState.FAILED,
                        hosts=("n0",),
                        suspended=float(suspended),
                    ),
                ),
            )
        )
    rows = [row for job in jobs for row in rows_of(job, zone)]
    with tempfile.TemporaryDirectory() as folder:
        found, left_out = read(Path(folder), parsable(rows, list(rows[0])), zone=name)
    assert {each.reason for each in left_out} <= {TWICE}
    before = 0.0
    for job, expected in zip(found, jobs, strict=True):
        got, real = job.first, expected.first
        assert got.started is not None
        assert got.ended is not None
        assert got.ended - got.started == real.ended - real.started  # type: ignore[operator]
        assert before <= got.submitted <= got.started <= got.ended
        for one_time, other in ((got.submitted, real.submitted), (got.started, real.started), (got.ended, real.ended)):
            assert local(one_time, zone) == local(other, zone)
            if other is not None and not (-3600 <= other - BACK[name].timestamp() < 3600):
                assert one_time == other
        before = got.submitted


def test_elapsed_and_order_tell_which_hour_it_is(tmp_path: Path) -> None:
    lines = [
        "1|u|2026-10-25T02:10:00|2026-10-25T02:10:00|2026-10-25T02:20:00|2026-10-25T02:30:00|01:10:00||FAILED|1|n0|",
        "2|u|2026-10-25T02:50:00|2026-10-25T02:50:00|2026-10-25T02:55:00|2026-10-25T02:58:00|00:03:00||FAILED|1|n0|",
        "3|u|2026-10-25T02:05:00|2026-10-25T02:05:00|2026-10-25T02:06:00|2026-10-25T02:07:00|00:01:00||FAILED|1|n0|",
    ]
    jobs, left_out = read(tmp_path, HEADER + "\n".join(lines), zone="Europe/Paris")
    assert [(each.reason, each.lines) for each in left_out] == [(TWICE, (3,))]  # only the next row tells
    zero = datetime(2026, 10, 25, tzinfo=timezone.utc).timestamp()
    minutes = [
        [(each - zero) / 60 for each in (job.first.submitted, job.first.started, job.first.ended)] for job in jobs
    ]  # type: ignore[operator]
    assert minutes == [[10, 20, 90], [50, 55, 58], [65, 66, 67]]


@pytest.mark.parametrize(("waited", "hours"), [("00:20:00", 0), ("01:20:00", 1), ("", 0)])
@pytest.mark.parametrize("column", ["Planned", "Reserved"])
def test_the_waiting_time_tells_which_hour_it_is(tmp_path: Path, column: str, waited: str, hours: int) -> None:
    row = "7|2026-10-25T01:50:00|2026-10-25T01:50:00|2026-10-25T02:10:00|Unknown|RUNNING|n0|"
    header = f"JobID|Submit|Eligible|Start|End|State|NodeList|{column}\n"
    (job,), left_out = read(tmp_path, f"{header}{row}{waited}\n", zone="Europe/Paris")
    assert [each.reason for each in left_out] == [TWICE] * (waited == "")
    assert job.first.started == datetime(2026, 10, 25, hours, 10, tzinfo=timezone.utc).timestamp()


def test_a_zone_that_there_is_not(tmp_path: Path) -> None:
    for zone in ("Europe/Pariss", "../../etc/passwd", "", "a\0b"):
        with pytest.raises(InputError, match="expected a zone such as 'Europe/Paris'"):
            read(tmp_path, HEADER, zone=zone)


# Spans and limits


@given(st.integers(0, 10**9))
def test_spans(seconds: int) -> None:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    assert seconds_of(f"{days}-{hours:02}:{minutes:02}:{rest:02}") == seconds
    assert seconds_of(str(seconds)) == seconds
    if seconds < 3600:
        assert seconds_of(f"{minutes:02}:{rest:02}.250") == seconds + 0.25


@pytest.mark.parametrize(
    ("text", "limit", "reasons"),
    [
        ("1-02:03:04", 93784.0, []),
        ("00:05:00", 300.0, []),
        ("UNLIMITED", None, []),
        ("", None, []),
        ("Partition_Limit", None, ["the time limit is that of the partition, which the log does not have"]),
        ("INVALID", None, ["the value of timelimit cannot be read"]),
        ("5 minutes", None, ["the value of timelimit cannot be read"]),
    ],
)
def test_time_limits(tmp_path: Path, text: str, limit: float | None, reasons: list[str]) -> None:
    job, left_out = one(tmp_path, Timelimit=text)
    assert job is not None
    assert (job.walltime, left_out) == (limit, reasons)


def test_raw_time_limits_are_minutes(tmp_path: Path) -> None:
    for text, limit in {"3": 180.0, "UNLIMITED": None, "Partition_Limit": None, "": None}.items():
        job, _ = one(tmp_path, Timelimit="", TimelimitRaw=text)
        assert job is not None
        assert job.walltime == limit


# Amounts


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("4Gn", 8 * GIB),
        ("2000Mc", 2000 * 32 * 2**20),
        ("1000M", 1000 * 2**20),
        ("1.50G", GIB * 3 // 2),
        ("1T", 1024 * GIB),
        ("0n", None),
        ("", None),
    ],
)
def test_memory_that_was_asked_for(text: str, memory: int | None) -> None:
    assert amounts_of("", "", "2", "", "32", "", text).asked_memory == memory


def test_trackable_resources() -> None:
    found = resources_of("billing=8,cpu=4,energy=12,fs/disk=3,gres/gpu:a100=2,gres/gpu=2,license/x=1,mem=7.50G,node=2")
    assert found == (4, 15 * GIB // 2, 2, (("gpu", 2), ("gpu:a100", 2)))
    assert resources_of("") == (None, None, None, ())
    for text in ("cpu", "=4", "cpu=x", "mem=4Q", "gres/gpu=-1"):
        with pytest.raises(ValueError, match=r".*"):
            resources_of(text)


@pytest.mark.parametrize(
    "column", ["NNodes", "NodeList", "AllocTRES", "ReqTRES", "ExitCode", "Priority", "ReqMem", "Elapsed"]
)
def test_a_value_that_cannot_be_read_is_passed_over(tmp_path: Path, column: str) -> None:
    job, left_out = one(tmp_path, **{column: "n[3-1"})
    assert job is not None
    assert left_out == [f"the value of {column.lower()} cannot be read"]
    assert job.first.ended == AT + 60


def test_hosts_are_bounded(tmp_path: Path) -> None:
    job, left_out = one(tmp_path, NodeList="n[0-999][0-999]")
    assert job is not None
    assert (job.first.hosts, left_out) == ((), ["the value of nodelist cannot be read"])


# States and ids


@pytest.mark.parametrize("state", AttemptState)
def test_each_state(tmp_path: Path, state: AttemptState) -> None:
    found = attempt(tmp_path, State=state.value)
    assert found.state is state


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("RESIZING", "a part of a job that changed its size: only its last part is read"),
        ("REVOKED", "the job ran on another cluster of the federation"),
    ],
)
def test_states_of_rows_that_are_no_jobs(tmp_path: Path, state: str, reason: str) -> None:
    assert one(tmp_path, State=state) == (None, [reason])


def test_an_unknown_state(tmp_path: Path) -> None:
    job, left_out = one(tmp_path, State="SLEEPING")
    assert job is not None
    assert (job.first.state, left_out) == (AttemptState.UNKNOWN, ["the value of state cannot be read"])


@pytest.mark.parametrize("id", ["", "x", "1_", "_1", "1_x", "1+", "-1", "1 2", "12345678901", "٣", "1_0_2"])
def test_what_is_no_id(tmp_path: Path, id: str) -> None:
    assert one(tmp_path, JobID=id) == (None, ["the JobID is not one of Slurm's"])


def test_tasks_that_wait_together(tmp_path: Path) -> None:
    path = {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "NodeList": "None assigned", "Elapsed": ""}
    row = {"JobID": "3_[1-4%2]", "Submit": MOMENT, "NNodes": "2", **path}
    jobs, left_out = read(tmp_path, parsable([row], list(row)))
    assert [(job.id, job.array, job.host_count) for job in jobs] == [(f"3_{task}", "3", 2) for task in range(1, 5)]
    assert not list(left_out)
    for id in ("3_[1-2,...]", "3_[]", "3_[4-1]", "3_[0-999999999]", "3_[0x]", "3_[0x0]", f"3_[0x{'F' * 25_001}]"):
        jobs, left_out = read(tmp_path, parsable([{**row, "JobID": id}], list(row)))
        assert (jobs, len(list(left_out))) == ([], 1)
    assert tasks_of("7_[0-10:5,20]") == ["7_0", "7_5", "7_10", "7_20"]


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["5", "6", "5_1", "5_2", "5_31", "5_32", "5_33", "5+1", "5+0", "70000"]), min_size=1))
def test_ids_that_come_again_are_counted_exactly(ids: list[str]) -> None:
    times = [local(AT + 100 * place) for place in range(len(ids))]
    rows = [
        {"JobID": id, "Submit": each, "Start": each, "End": each, "State": "NODE_FAIL", "NodeList": "n1"}
        for id, each in zip(ids, times, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        jobs, left_out = read(Path(folder), parsable(rows, list(rows[0])))
    assert not list(left_out)
    assert {job.id: len(job.attempts) for job in jobs} == {id: ids.count(id) for id in ids}
    assert [job.id for job in jobs] == [id for place, id in enumerate(ids) if id not in ids[place + 1 :]]


# Command lines


@pytest.mark.parametrize(
    ("line", "submission"),
    [
        ("sbatch -d afterok:1 job.sh", SubmitOptions("afterok:1")),
        ("sbatch -dafterok:1:2 job.sh", SubmitOptions("afterok:1:2")),
        ("sbatch --dependency=after:7+5,singleton -C fast job.sh", SubmitOptions("after:7+5,singleton", "fast")),
        ("/usr/bin/sbatch --parsable -N 2 -H --dependency afterany:3_1 x", SubmitOptions("afterany:3_1")),
        ("srun --exclusive hostname", SubmitOptions(exclusive=True)),
        ("sbatch --exclusive=user job.sh", SubmitOptions()),
        ("sbatch job.sh -d afterok:1 --exclusive", SubmitOptions()),
        ("sbatch --wrap sleep 3 -d afterok:1", SubmitOptions()),
        ("sbatch -J my job -d afterok:1", SubmitOptions()),
        ("sbatch -d expand:12 job.sh", SubmitOptions(unread=True)),
        ("python -d afterok:1", SubmitOptions()),
        ("sbatch -w n[1-2] -N3 --exclude=n7,n8 job.sh", SubmitOptions(nodelist="n[1-2]", exclude="n7,n8")),
        ("srun --nodelist n1 -xn2 hostname", SubmitOptions(nodelist="n1", exclude="n2")),
        ("sbatch -d expand:12 -w n1 job.sh", SubmitOptions(unread=True, nodelist="n1")),
        ("sbatch -w ./nodes --wait -x /tmp/bad job.sh", SubmitOptions()),
        ("sbatch -d", SubmitOptions(unread=True)),
        ("-d --exclusive", SubmitOptions()),
        (" -d", SubmitOptions()),
    ],
)
def test_command_lines(line: str, submission: SubmitOptions) -> None:
    assert submission_of(line) == submission


@pytest.mark.parametrize(
    ("line", "hosts", "is_packed"),
    [
        ("sbatch -N2 -n8 job.sh", "n[1-2]", True),
        ("sbatch -n1 job.sh", "n1", None),
        ("sbatch -N2 --ntasks-per-node=4 job.sh", "n[1-2]", None),
    ],
)
def test_cores_fill_hosts_unless_each_has_as_many(
    tmp_path: Path, line: str, hosts: str, is_packed: bool | None
) -> None:
    job, _ = one(tmp_path, SubmitLine=line, NodeList=hosts)
    assert job is not None
    assert job.packed is is_packed


# Values of any resource manager


def read_by(read: Any, value: Any) -> Any:
    """A value, or "refused"."""
    try:
        return read(value)
    except ValueError:
        return "refused"


@pytest.mark.parametrize(
    ("value", "number", "amount", "moment"),
    [
        (None, None, None, None),
        ("", None, None, None),
        (0, 0.0, None, None),
        ("0", 0.0, None, None),
        (-1, -1.0, None, None),
        ("-1", -1.0, None, None),
        (1, 1.0, 1, 1.0),
        ("1", 1.0, 1, 1.0),
        (1.5, 1.5, "refused", 1.5),
        ("1.5", 1.5, "refused", 1.5),
        (-2, -2.0, "refused", "refused"),
        (-0.5, -0.5, "refused", "refused"),
        (220_000_000_000, 220e9, 220_000_000_000, 220e9),
        (220_000_000_001, 220_000_000_001.0, 220_000_000_001, "refused"),
        (2**53, 2.0**53, 2**53, "refused"),
        (True, "refused", "refused", "refused"),
        (math.nan, "refused", "refused", "refused"),
        (math.inf, "refused", "refused", "refused"),
        ("x", "refused", "refused", "refused"),
        (" 1", "refused", "refused", "refused"),
        ([], "refused", "refused", "refused"),
    ],
)
def test_numbers_amounts_and_moments(value: Any, number: Any, amount: Any, moment: Any) -> None:
    assert (read_by(number_of, value), read_by(amount_of, value), read_by(moment_of, value)) == (number, amount, moment)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        ("", None),
        (7, "7"),
        (-7, "-7"),
        (2**64, str(2**64)),
        (2**64 + 1, None),
        (-(2**64) - 1, None),
        (True, None),
        (1.5, None),
        (None, None),
        ([], None),
    ],
)
def test_texts(value: Any, text: str | None) -> None:
    assert text_of(value) == text
