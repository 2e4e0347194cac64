"""Two fixed schedules compared, and schedules read from tables: each word and each number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batprotocol._util.grids import GridEntry
from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.recordings.statistics import CapturedJob
from batprotocol.recordings.timeline import TimelineJob
from batprotocol.simulator import METRICS, JobRow
from batprotocol.studies.comparing import Schedule, compare, read_schedule
from batprotocol.studies.comparing.pairs import SHOWN, _change
from batprotocol.studies.comparing.schedules import _of_message, as_reported, of_messages, of_table

WITHOUT_ENGINE = True

DONE, REJECTED = FinalJobState.COMPLETED_SUCCESSFULLY, FinalJobState.REJECTED


def row(name: str, submitted: float, start: float | None, runtime: float = 10.0, hosts: str = "0") -> JobRow:
    return JobRow(
        job_id=name,
        workload_name="w0",
        profile="w0!d",
        submission_time=submitted,
        requested_number_of_resources=1,
        requested_time=None,
        final_state=REJECTED if start is None else DONE,
        starting_time=start,
        execution_time=None if start is None else runtime,
        allocated_resources="" if start is None else hosts,
    )


ONE = Schedule(
    name="one",
    jobs=(row("a", 0.0, 0.0), row("b", 1.0, 31.5), row("c", 2.0, 50.0), row("d", 3.0, None), row("e", 4.0, 4.0)),
    hosts=4,
)
OTHER = Schedule(
    name="other",
    jobs=(row("a", 0.0, 0.0), row("b", 1.0, 21.5), row("c", 2.0, 51.0, hosts="1"), row("d", 3.5, 70.0)),
    hosts=4,
)


def test_facts() -> None:
    found = compare(ONE, OTHER)
    assert found.facts() == [
        "5 jobs, of which 4 are scheduled differently; 1 end earlier in other, and 1 later",
        "1 job is not in other: the metrics of the two runs are over other jobs",
        "1 jobs are submitted at other times: the workloads are not the same",
        "the first difference is at 3.5 s: w0!d is rejected in one, and runs at 70.0 - 80.0 s on 0 in other",
    ]
    assert repr(found) == f"<Comparison of one and other: {found.facts()[0]}>"
    assert compare(ONE, ONE).facts() == ["5 jobs, of which 0 are scheduled differently", "the schedules are the same"]
    less = Schedule(name="less", jobs=ONE.jobs[:4], hosts=4)
    assert compare(less, ONE).facts()[-1] == (
        "the first difference is at 4 s: w0!e is missing in less, and runs at 4.0 - 14.0 s on 0 in one"
    )
    nowhere = Schedule(name="nowhere", jobs=(row("a", 0.0, 1234.5678, hosts=""),), hosts=4)
    later = Schedule(name="later", jobs=(row("a", 0.0, 1234.6),), hosts=4)
    assert compare(nowhere, later).facts()[-1] == (
        "the first difference is at 1,234.568 s: w0!a runs at 1234.6 - 1244.6 s on no hosts in nowhere, and runs at "
        "1234.6 - 1244.6 s on 0 in later"
    )


def test_the_record() -> None:
    record = compare(ONE, OTHER).record(3)
    metrics = record.pop("metrics")
    b = {
        "job": "w0!b",
        "gain": 10.0,
        "one": {
            "submission_time": 1.0,
            "starting_time": 31.5,
            "finish_time": 41.5,
            "allocated_resources": "0",
            "final_state": "COMPLETED_SUCCESSFULLY",
        },
        "other": {
            "submission_time": 1.0,
            "starting_time": 21.5,
            "finish_time": 31.5,
            "allocated_resources": "0",
            "final_state": "COMPLETED_SUCCESSFULLY",
        },
    }
    assert record["gained_most"] == [b]
    assert [(each["job"], each["gain"]) for each in record.pop("lost_most")] == [("w0!c", -1.0)]
    parting = record.pop("parting")
    assert (parting["time"], parting["what"], parting["job"], parting["gain"]) == (3.5, "rejected", "w0!d", None)
    assert {key: record[key] for key in record if key != "gained_most"} == {
        "names": ["one", "other"],
        "jobs": 5,
        "differing": 4,
        "moved": 1,
        "gained": 1,
        "lost": 1,
    }
    assert metrics["mean_waiting_time"] == {"one": (30.5 + 48.0) / 4, "other": pytest.approx((20.5 + 49.0 + 66.5) / 4)}
    assert compare(ONE, ONE).record(1)["parting"] is None
    less = Schedule(name="less", jobs=ONE.jobs[:4], hosts=4)
    assert compare(less, ONE).record(1)["parting"]["one"] is None


def test_tables_of_comparisons() -> None:
    found = compare(ONE, OTHER)
    grid = found.metrics_grid(["mean_waiting_time", "nb_rejected", "consumed_joules"])
    assert grid.header == ["", "one", "other", "difference", "%"]
    assert grid.rows == [
        [
            GridEntry("mean waiting time [s]"),
            GridEntry("19.62", True),
            GridEntry("34.00"),
            GridEntry("+14.38"),
            GridEntry("+73.2"),
        ],
        [
            GridEntry(METRICS["nb_rejected"].label),
            GridEntry("1"),
            GridEntry("0", True),
            GridEntry("-1"),
            GridEntry("-100.0"),
        ],
    ]
    jobs = found.jobs_grid(found.pairs, "all")
    assert jobs.header == ["all", "ends later by [s]", "one [s]", "other [s]"]
    assert [[entry.text for entry in each] for each in jobs.rows] == [
        ["w0!a", "0.0", "0.0 - 10.0", "0.0 - 10.0"],
        ["w0!b", "-10.0", "31.5 - 41.5", "21.5 - 31.5"],
        ["w0!c", "+1.0", "50.0 - 60.0", "51.0 - 61.0"],
        ["w0!d", "", "rejected", "70.0 - 80.0"],
        ["w0!e", "", "4.0 - 14.0", "-"],
    ]
    shown = [METRICS[name].label_with_unit for name in SHOWN if name in found.metrics]
    assert [each[0].text for each in found.metrics_grid().rows] == shown
    text = found._repr_html_()
    assert (text.count("<table>"), text.count("<p>")) == (3, 4)
    assert "gained most" in text
    assert "lost most" in text
    assert compare(ONE, ONE)._repr_html_().count("<table>") == 1


@pytest.mark.parametrize(
    ("metric", "one", "other", "expected"),
    [
        ("makespan", 10.0, 20.0, [("10", True), ("20", False), ("+10", False), ("+100.0", False)]),
        ("makespan", 20.0, 10.0, [("20", False), ("10", True), ("-10", False), ("-50.0", False)]),
        ("utilisation", 0.5, 0.75, [("0.5000", False), ("0.7500", True), ("+0.2500", False), ("+50.0", False)]),
        ("makespan", 5.0, 5.0, [("5", False), ("5", False), ("0", False), ("0.0", False)]),
        ("makespan", 3.0, 3.0 + 1e-12, [("3.000", False), ("3.000", False), ("0.000", False), ("0.0", False)]),
        ("makespan", 0.0, 5.0, [("0", True), ("5", False), ("+5", False), ("", False)]),
        ("makespan", None, 5.5, [("-", False), ("5.500", False), ("", False), ("", False)]),
        ("makespan", 5.5, None, [("5.500", False), ("-", False), ("", False), ("", False)]),
        ("nb_jobs", 5.0, 6.0, [("5", False), ("6", False), ("+1", False), ("+20.0", False)]),
    ],
)
def test_changes(metric: str, one: Any, other: Any, expected: list[tuple[str, bool]]) -> None:
    assert [tuple(each) for each in _change(METRICS[metric], one, other)] == expected


def test_tolerances() -> None:
    later = Schedule(name="later", jobs=(row("a", 0.5, 1.0),), hosts=1)
    usual = Schedule(name="usual", jobs=(row("a", 0.0, 0.5),), hosts=1)
    for tolerance, differing, moved in ((0.4, 1, 1), (0.5, 0, 0), (0.6, 0, 0)):
        found = compare(usual, later, tolerance=tolerance)
        assert (found.differing, found.moved, found.gained, found.lost) == (differing, moved, 0, 0)
    assert compare(usual, later, tolerance=0.0).parting is not None
    for wrong in (-0.1, float("inf"), float("nan")):
        with pytest.raises(InputError, match="expected a tolerance >= 0, got"):
            compare(usual, later, tolerance=wrong)
    ends = Schedule(name="ends", jobs=(row("a", 0.0, 0.5, 9.0),), hosts=1)
    parting = compare(usual, ends).parting
    assert parting is not None
    assert (parting.what, parting.time) == ("end", 9.5)
    assert (compare(usual, ends).gained, compare(ends, usual).lost) == (1, 1)


# Schedules of other sources


def test_jobs_of_messages() -> None:
    def found(**fields: Any) -> JobRow | None:
        usual: dict[str, Any] = {
            "job_id": "w0!1",
            "submitted": 1.0000004,
            "profile_id": "w0!p",
            "resource_request": 2,
            "walltime": 60.0,
            "started": 2.0,
            "finished": 5.5,
            "hosts": "0-1",
            "state": DONE,
        }
        return _of_message(CapturedJob(**{**usual, **fields}))

    whole = found()
    assert whole is not None
    assert (whole.workload_name, whole.job_id, whole.profile, whole.submission_time) == ("w0", "1", "w0!p", 1.0)
    assert (whole.starting_time, whole.execution_time, whole.allocated_resources) == (2.0, 3.5, "0-1")
    assert (whole.requested_time, whole.requested_number_of_resources, whole.final_state) == (60.0, 2, DONE)
    for missing in ({"state": None}, {"submitted": None}, {"started": None}, {"finished": None}):
        assert found(**missing) is None
    rejected = found(state=REJECTED, walltime=None)
    assert rejected is not None
    assert (rejected.starting_time, rejected.execution_time, rejected.allocated_resources) == (None, None, "")
    assert rejected.requested_time is None
    back = as_reported(whole)
    assert (back.job_id, back.submitted, back.started, back.finished, back.hosts) == ("w0!1", 1.0, 2.0, 5.5, "0-1")
    assert (back.resource_request, back.walltime, back.state, back.profile_id) == (2, 60.0, DONE, "w0!p")
    assert of_messages([]) == ((), 0, 0, None)


def test_jobs_of_tables() -> None:
    def job(**fields: Any) -> TimelineJob:
        usual: dict[str, Any] = {
            "job_id": "1",
            "submitted": 1.0,
            "started": 2.0,
            "finished": 5.0,
            "hosts": ((0, 0), (2, 4)),
            "state": None,
        }
        return TimelineJob(**{**usual, **fields})

    found = of_table(
        [
            job(user="ann"),
            job(job_id="2", started=None, finished=None, hosts=()),
            job(finished=None),
            job(submitted=None),
        ]
    )
    one, other = found.jobs
    assert (found.left_out, found.hosts, found.users) == (2, 0, {"1": "ann"})
    assert (one.allocated_resources, one.final_state, one.starting_time, one.execution_time) == (
        "0 2-4",
        DONE,
        2.0,
        3.0,
    )
    assert (one.workload_name, one.job_id) == ("", "1")
    assert (other.final_state, other.starting_time, other.allocated_resources) == (REJECTED, None, "")
    assert of_table([job(state=FinalJobState.COMPLETED_FAILED)]).jobs[0].final_state is FinalJobState.COMPLETED_FAILED
    assert of_table([job()]).users is None


HEAD = "job_id,submission_time,starting_time,finish_time,allocated_resources\n"


def test_tables_of_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "x_jobs.csv"
    path.write_text(f"{HEAD}a,0,1,2,0-3\nb,0,1,2,7\nc,1,,,\nd,,1,2,0\n")
    found = read_schedule(path)
    assert (found.name, found.hosts, len(found.jobs), found.consumed_joules) == (str(path), 8, 3, None)
    assert found.remarks == (
        "its number of hosts is not known: 8, up to the last one that a job had",
        "1 job is left out: the submission, start or end is missing",
    )
    assert not found.is_reported
    (tmp_path / "x_schedule.json").write_text(
        '{"nb_computing_machines": 16, "consumed_joules": 7.5, "mean_slowdown": -nan, "text": "x", "below": -1}'
    )
    found = read_schedule(path, name="named")
    assert (found.name, found.hosts, found.consumed_joules) == ("named", 16, 7.5)
    assert read_schedule(path, hosts=9).hosts == 9
    path.write_text(f"{HEAD}a,0,1,2,0\nb,,1,2,0\nc,,1,2,0\n")
    assert read_schedule(path).remarks == ("2 jobs are left out: the submission, start or end is missing",)
    path.write_text(f"{HEAD}a,0,1,2,0\n")
    assert read_schedule(path).remarks == ()
    for text, message in (
        ("[]", "it is not a schedule.json: expected a JSON object"),
        ("{", "it is not a schedule.json: "),
    ):
        (tmp_path / "x_schedule.json").write_text(text)
        with pytest.raises(InputError, match=message):
            read_schedule(path)
