"""Hosts that are away or reserved, on timelines: of conversations, of results, and of result files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies import named
from batprotocol.recordings.timeline import TimelineData, TimelineJob, timeline
from batprotocol.recordings.timeline._sharing import links_of
from batprotocol.recordings.timeline.values import OffDuty, absences_of
from batprotocol.simulator import ExternalEventList, StaticJob, Workload, described_platform, simulate
from batprotocol.workloads.host_events import HostChange, HostEvent, HostStates, Window

WITHOUT_ENGINE = True
HOSTS = 6

EVENTS = [
    (10.0, {"hosts": "0-1", "state": "down"}),
    (15.0, {"hosts": "3", "state": "drain"}),
    (20.0, {"hosts": "2", "window": {"begin": 40, "end": 60}}),
    (21.0, {"hosts": "3-9", "window": {"begin": 40, "end": 500, "users": ["ann"]}}),
    (30.0, {"hosts": "0-1", "state": "up"}),
    (31.0, {"something": "else"}),
]


def told(data: TimelineData) -> list[tuple[int, int, float, float, str]]:
    return [(each.first, each.last, each.start, each.end, each.reason) for each in data.off_duty]


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.sets(st.integers(0, HOSTS - 1), min_size=1), st.sampled_from(HostChange)),
        max_size=15,
    )
)
def test_hosts_away_second_by_second(drawn: list[tuple[int, set[int], HostChange]]) -> None:
    states, events, expected = HostStates(HOSTS), [], {}
    pending = sorted(drawn, key=lambda each: each[0])
    for second in range(25):
        while pending and pending[0][0] <= second:
            time, hosts, change = pending.pop(0)
            event = HostEvent(frozen_hosts(hosts), change)
            try:
                states.take(float(time), event)
            except InputError:
                continue
            events.append((float(time), event))
        expected[second] = set(states.down), set(states.drained)
    found = absences_of(events, 25.0)
    for second, hosts in expected.items():
        for reason, away in zip(("down", "drained"), hosts, strict=True):
            drawn_there = [
                host
                for each in found
                if each.reason == reason and each.start <= second < each.end
                for host in range(each.first, each.last + 1)
            ]
            assert sorted(drawn_there) == sorted(away)


def test_results_and_recordings_and_files_have_the_same_hosts_away(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(
        "".join(
            json.dumps({"type": "generic", "timestamp": time, "data": json.dumps(data)}) + "\n" for time, data in EVENTS
        )
    )
    workload = {
        "nb_res": 4,
        "jobs": [{"id": "1", "subtime": 0, "res": 1, "profile": "p"}],
        "profiles": {"p": {"type": "delay", "delay": 100}},
    }
    (tmp_path / "w.json").write_text(json.dumps(workload))
    run_here(
        *("simulate", "easy+requeue", "--hosts", "n[0-3]", "-w", str(tmp_path / "w.json")),
        *("--events", str(tmp_path / "events.jsonl"), "--skip-bad"),
        *("-o", str(tmp_path / "out"), "--record", str(tmp_path / "run.tar")),
    )
    of_files, recorded = (timeline(tmp_path / each).runs[0] for each in ("out", "run.tar"))
    assert told(of_files)
    assert [each[4] for each in told(recorded)] == [each[4] for each in told(of_files)]
    for one, other in zip(told(recorded), told(of_files), strict=True):
        assert one[:2] == other[:2]
        assert one[2:4] == pytest.approx(other[2:4], abs=0.1)


def test_a_result(tmp_path: Path) -> None:
    events = ExternalEventList.of((time, json.dumps(data)) for time, data in EVENTS)
    workload = Workload([StaticJob("1", 0.0, 1, DelayProfile(100.0)), StaticJob("2", 0.0, 3, DelayProfile(5.0))])
    result = simulate(described_platform("n[0-3]"), workload, named("fcfs+requeue")(), external_events=[events])
    drawn = timeline(result)
    found = {each[:2] + each[4:] for each in told(drawn.runs[0])}
    assert {(0, 1, "down"), (3, 3, "drained"), (2, 2, "closed"), (3, 3, "reserved")} <= found
    page = drawn.html()
    assert "closed windows" in page
    assert "--reserved" in page
    pytest.importorskip("matplotlib")
    figure = drawn.figure()
    assert {"hosts down", "hosts drained", "closed windows", "reservations"} <= {
        text.get_text() for legend in figure.legends for text in legend.get_texts()
    }


def test_hosts_that_do_not_exist_are_not_drawn() -> None:
    off = [OffDuty(3, 9, 1.0, 2.0, reason="reserved"), OffDuty(7, 9, 1.0, 2.0, reason="down"), OffDuty(7, 9, 1.0, 2.0)]
    data = TimelineData("run", [TimelineJob(job_id="w0!1", submitted=0.0)], hosts=4, off_duty=off)
    assert [(each.first, each.last) for each in data.off_duty] == [(3, 3), (7, 9)]


def test_reserved_hosts_are_free() -> None:
    from batprotocol.recordings.timeline.packing import all_series

    off = [OffDuty(0, 1, 1.0, 5.0, reason="reserved"), OffDuty(2, 2, 2.0, 5.0, reason="down")]
    data = TimelineData("run", [TimelineJob(job_id="w0!1", submitted=0.0)], hosts=4, off_duty=off, end=9.0)
    (free,) = [each for each in all_series(data) if each.kind == "hosts"]
    assert list(zip(free.times, free.values, strict=True)) == [(0.0, 4.0), (2.0, 3.0), (5.0, 4.0)]


def test_the_first_attempt_with_checkpoints_has_no_link_to_the_rejected_job() -> None:
    rejected = TimelineJob(job_id="w0!1", submitted=0.0, finished=0.0, state=FinalJobState.REJECTED)
    first = TimelineJob(job_id="again!w0-1~0", submitted=0.0, started=1.0, finished=2.0)
    second = TimelineJob(job_id="again!w0-1~1", submitted=2.0, started=3.0, finished=4.0)
    assert links_of([rejected, first, second])[1] == [(1, 2, 0)]
    window = Window(frozen_hosts("0"), 5.0, 9.0)
    assert absences_of([(0.0, window)], 4.0) == []
