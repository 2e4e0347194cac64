"""Studies whose hosts fail: failures are an axis, drawn or of files, and everything is checked before the first run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import run_here

from batprotocol.errors import StudyError
from batprotocol.simulator import OF_FAILURES, metric, read_external_events
from batprotocol.studies import Rows, Study
from batprotocol.studies._measurement import with_metrics
from batprotocol.studies.comparing import table
from batprotocol.workloads.host_events import HostChange, HostEvent, HostStates, read_host_event

WITHOUT_ENGINE = True

SMALL = "lublin:8?jobs=25&seed=1"
ROW = "{}\t0\t{}\t1\tNULL\t0\t{}\t{}\t6\n"
HEADER = (
    "# event_id\tcomponent_id\tnode_id\tplatform_id\tnode_name\tevent_type\tevent_start_time\tevent_stop_time\t"
    "event_end_reason\n"
)


def event(time: float, **data: Any) -> str:
    return json.dumps({"type": "generic", "timestamp": time, "data": json.dumps(data)}) + "\n"


def down(time: float, hosts: str = "0") -> str:
    return event(time, hosts=hosts, state="down")


def up(time: float, hosts: str = "0") -> str:
    return event(time, hosts=hosts, state="up")


def test_failures_are_drawn(tmp_path: Path) -> None:
    study = Study(
        scheduler=["easy", "easy+requeue"], workload=SMALL, mtbf=["never", "8h"], repair="fixed:1h", failure_seed="0-2"
    )
    rows = study.run(tmp_path / "runs", processes=1)
    assert [row.error for row in rows.failed] == []
    assert rows.axes["mtbf"] == ("never", "8h")
    assert len({row.key for row in rows}) == 2 + 6, "without failures, all seeds of failures are one run"
    for row in rows:
        assert bool(row.metrics.keys() & OF_FAILURES) == (row.axes["mtbf"] != "never")
        assert Path(row.folder, "host_events.jsonl").is_file() == (row.axes["mtbf"] != "never")
    failing = rows.where(mtbf="8h")
    for seed in range(3):
        lost, again = (failing.where(failure_seed=seed)[each].metrics for each in (0, 1))
        assert lost["availability"] < 1
        assert lost["nb_given_up"] == lost["nb_interruptions"] > 0
        assert again["nb_given_up"] == 0
        assert again["repeated_work"] == again["lost_work"] > 0
        assert lost["nb_jobs"] == again["nb_jobs"] == 25
    found = table(failing, metric="lost_work", rows="scheduler", columns="mtbf")
    assert "3 draws of the failures, one workload" in str(found.caption)
    again_measured = study.rows(tmp_path / "runs")
    assert [row.metrics for row in again_measured] == [row.metrics for row in rows]


def test_metrics_of_the_store_are_those_of_the_run(tmp_path: Path) -> None:
    study = Study(scheduler="easy+requeue", workload=SMALL, mtbf="8h", seed=2)
    (row,) = study.run(tmp_path / "runs", processes=1)
    assert row.attempts()

    @metric
    def rows_of_attempts(jobs: Any) -> float:
        return float(len(jobs))

    (other,) = with_metrics(Rows([row]), [rows_of_attempts])
    more = dict(other.metrics)
    assert more.pop("rows_of_attempts") > 25
    assert more == row.metrics


def test_failures_of_files(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(down(3600.0, "0-3") + up(36000.0, "0-3"))
    (tmp_path / "trace.tab").write_text(
        HEADER + ROW.format(0, "a", 1000, 4600) + ROW.format(1, "b", 1000, 37000) + ROW.format(2, "b", "soon", 37000)
    )
    study = Study(scheduler="fcfs", workload=SMALL, folder=tmp_path, failures=["events.jsonl", "trace.tab"])
    notes: list[str] = []
    rows = study.run(tmp_path / "runs", processes=1, on_progress=lambda progress: notes.extend(progress.notes))
    assert [row.error for row in rows.failed] == []
    seconds = {"events.jsonl": 4 * (36000 - 3600), "trace.tab": 3600 + 36000}
    for row in rows:
        away = (1 - row.metrics["availability"]) * 8 * row.metrics["measured_time"]
        assert away == pytest.approx(seconds[row.axes["failures"]], abs=60)
    assert any(note.startswith("trace.tab: 1 outages are left out") for note in notes)


def test_events_and_failures_are_one_sequence(tmp_path: Path) -> None:
    """A host that the events take away does not fail in that time."""
    (tmp_path / "events.jsonl").write_text(
        event(10.0, hosts="0-3", state="drain") + event(20.0, something="else") + up(86400.0, "0-3")
    )
    study = Study(
        scheduler="easy",
        workload=SMALL,
        folder=tmp_path,
        events=["events.jsonl"],
        mtbf="6h",
        failing="rack=2",
        failure_seed="0-2",
    )
    rows = study.run(tmp_path / "runs", processes=1)
    assert [row.error for row in rows.failed] == []
    for row in rows:
        states = HostStates(8)
        failing = set()
        for each in read_external_events(Path(row.folder, "host_events.jsonl")).events:
            found = read_host_event(each.data)
            assert isinstance(found, HostEvent)
            states.take(each.timestamp, found)
            if found.state is HostChange.DOWN and each.timestamp < 86400:
                failing |= set(found.hosts)
        assert failing
        assert failing <= set(range(4, 8))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (up(5.0), "events.jsonl:1: state: host 0 is up already"),
        (down(5.0) + down(6.0), "events.jsonl:2: state: host 0 is down already"),
        (down(5.0, "900"), "events.jsonl:1: hosts: there is no host 900"),
        (event(5.0, hosts="0", window={"begin": "x", "end": 9}), "events.jsonl:1: window.begin: "),
        (
            event(0, hosts="0-3", window={"begin": 10, "end": 90})
            + event(0, hosts="3", window={"begin": 20, "end": 30}),
            "events.jsonl:2: window: it overlaps",
        ),
        (down(5.0).replace("5.0", '"soon"'), "events.jsonl:1: timestamp: "),
    ],
)
@pytest.mark.parametrize("key", ["events", "failures"])
def test_bad_events_are_errors_with_their_places(tmp_path: Path, key: str, text: str, place: str) -> None:
    (tmp_path / "events.jsonl").write_text(text)
    keys: dict[str, Any] = {key: "events.jsonl"}
    study = Study(scheduler="easy", workload=SMALL, folder=tmp_path, **keys)
    with pytest.raises(StudyError) as caught:
        study.run(tmp_path / "runs", processes=1)
    assert place in str(caught.value)
    assert caught.value.path == key


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"mtbf": "soon"}, 'mtbf: expected a duration such as "1mo"'),
        ({"mtbf": -1}, "mtbf: expected a duration"),
        ({"mtbf": "1d", "repair": "quick"}, "repair: expected a law"),
        ({"mtbf": "1d", "failure_shape": 0}, "failure_shape: expected a number > 0"),
        ({"mtbf": "1d", "failures": "trace.csv"}, "failures and mtbf exclude one another"),
        ({"repair": "fixed:2h"}, "repair: no failures are drawn: set mtbf"),
        ({"failure_seed": "0-3"}, "failure_seed: no failures are drawn"),
        ({"mtbf": "1d", "failure_seed": "3-1"}, "failure_seed: expected integers"),
        ({"mtbf": "1d", "failure_seed": 0, "seed": "0-1"}, "seed: nothing is drawn at random"),
    ],
)
def test_mistakes_in_keys(tmp_path: Path, keys: dict[str, Any], reason: str) -> None:
    (tmp_path / "trace.csv").write_text("System,\n")
    with pytest.raises(StudyError) as caught:
        Study(scheduler="easy", workload=SMALL, folder=tmp_path, **keys)
    assert reason in str(caught.value)


def test_groups_that_do_not_exist(tmp_path: Path) -> None:
    study = Study(scheduler="easy", workload=SMALL, mtbf="1d", failing="shelf=2")
    with pytest.raises(StudyError, match=r"mtbf: .*shelf=2"):
        study.run(tmp_path / "runs", processes=1)


def test_a_run_that_outlasts_its_failures_fails(tmp_path: Path) -> None:
    (row,) = Study(scheduler="easy", workload=SMALL, mtbf="8h", failures_until="1h").run(tmp_path / "runs", processes=1)
    assert row.kind == "input"
    assert "failures are drawn until 3600 s: raise failures_until" in row.error


def test_a_run_without_failures_has_the_name_that_it_had() -> None:
    (run,) = Study(scheduler="easy", workload=SMALL).runs()
    assert not run.task.described.keys() & {"failures", "failures_files", "drawn_failures"}
    (other,) = Study(scheduler="easy", workload=SMALL, mtbf="8h").runs()
    assert other.key != run.key


@pytest.mark.slow
def test_a_program_in_the_place_of_batsim_has_the_same_failures(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(down(3600.0, "0-3") + up(36000.0, "0-3"))
    options = "-p {platform} -w {workload} -o {output} --endpoint {endpoint} --init {init} --events {events}"
    command = f"{sys.executable} -m batprotocol simulate {options}".split()
    study = Study(
        scheduler="easy+requeue", workload=SMALL, folder=tmp_path, events="events.jsonl", mtbf=["40h"], failing="host"
    )
    (one,) = study.run(tmp_path / "embedded", processes=1)
    (other,) = study.run(tmp_path / "real", processes=1, batsim=command)
    assert (one.error, other.error) == ("", "")
    assert one.metrics["nb_interruptions"] > 0
    assert other.metrics == pytest.approx(one.metrics, rel=1e-4, abs=1e-5)


def test_written_events_are_the_failures(tmp_path: Path) -> None:
    (row,) = Study(scheduler="easy", workload=SMALL, mtbf="8h").run(tmp_path / "runs", processes=1)
    states = HostStates(8)
    for each in read_external_events(Path(row.folder, "host_events.jsonl")).events:
        found = read_host_event(each.data)
        assert found is not None
        states.take(each.timestamp, found)


def test_compare_shows_failures(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'scheduler = ["easy", "easy+requeue"]\nworkload = "{SMALL}"\nmtbf = "8h"\n')
    Study.read(tmp_path / "study.toml").run(processes=1)
    store = tmp_path / "study.runs"
    done = run_here("compare", f"{store}?scheduler=easy", f"{store}?scheduler=easy%2Brequeue")
    assert "interruptions of jobs" in done.out, done.err
    assert "availability" in done.out


def test_reservations_of_a_site_are_windows(tmp_path: Path) -> None:
    """Hosts that a site closes are away. Those that it promises to some users are not."""
    (tmp_path / "site.toml").write_text(
        '[reservations.repair]\nhosts = "n[0-1]"\nbegin = 100\nend = 400\nmaintenance = true\n'
        '[reservations.course]\nhosts = "n2"\nbegin = 0\nend = 500\nusers = ["ann"]\n'
    )
    (tmp_path / "hosts.txt").write_text("n[0-3]\n")
    jobs = [{"id": f"{number}", "subtime": 0, "res": 1, "profile": "d", "walltime": 9999} for number in range(2)]
    workload = {"nb_res": 4, "jobs": jobs, "profiles": {"d": {"type": "DelayProfile", "delay": 600}}}
    (tmp_path / "w.json").write_text(json.dumps(workload))
    study = Study(
        scheduler=f"easy+site={tmp_path}/site.toml",
        workload=str(tmp_path / "w.json"),
        platform=str(tmp_path / "hosts.txt"),
    )
    (row,) = study.run(tmp_path / "runs", processes=1)
    words = ["simulate", f"easy+site={tmp_path}/site.toml", "-p", tmp_path / "hosts.txt", "-w", tmp_path / "w.json"]
    for option in ((), ("--events", tmp_path / "events.jsonl")):
        (tmp_path / "events.jsonl").write_text(down(700.0, "3") + up(800.0, "3"))
        done = json.loads(run_here(*words, *option, "--json", "-o", tmp_path / "out").out)["metrics"]
        events = (tmp_path / "out" / "host_events.jsonl").read_text()
        assert events.count('"window') == 2
        rows = [line.split(",") for line in (tmp_path / "out" / "jobs.csv").read_text().splitlines()[1:]]
        end = max(float(each[10]) for each in rows)
        away = 2 * 300 + (100 if option else 0)
        assert done["availability"] == pytest.approx(1 - away / (4 * end), rel=1e-6)
        assert done["goodput"] == pytest.approx(1200 / (4 * end - away), rel=1e-6)
        if not option:
            assert row.metrics["availability"] == pytest.approx(done["availability"], rel=1e-6)
            assert row.metrics["goodput"] == pytest.approx(done["goodput"], rel=1e-6)
