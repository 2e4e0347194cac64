"""Timelines: what is read of a run, what is found out about it, and what the page holds of it."""

from __future__ import annotations

import csv
import html
import json
import re
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st
from recorded import all_runs

from batprotocol import Direction, FinalJobState
from batprotocol.errors import InputError
from batprotocol.recordings import Capture, Entry
from batprotocol.recordings.timeline import (
    Messages,
    OffDuty,
    Series,
    Timeline,
    TimelineData,
    TimelineJob,
    timeline,
)
from batprotocol.recordings.timeline.packing import packed
from batprotocol.recordings.timeline.values import DutyState, Switches, free_hosts, waiting_jobs

WITHOUT_ENGINE = True

TYPES = {"f64": "d", "u32": "I", "u16": "H", "u8": "B"}
TIMES = st.integers(0, 12).map(float)
HOSTS = st.frozensets(st.integers(0, 9), min_size=1, max_size=6)


def intervals(hosts: frozenset[int]) -> tuple[tuple[int, int], ...]:
    return tuple((host, host) for host in sorted(hosts) if host % 2) + tuple(
        (host, host) for host in sorted(hosts) if not host % 2
    )


@st.composite
def some_jobs(draw: st.DrawFn) -> list[TimelineJob]:
    jobs = []
    for number in range(draw(st.integers(0, 12))):
        submitted = draw(TIMES)
        started = draw(st.none() | TIMES.map(submitted.__add__))
        finished = None if started is None else draw(st.none() | TIMES.map(started.__add__))
        hosts = intervals(draw(HOSTS)) if started is not None else ()
        state = draw(st.none() | st.sampled_from(FinalJobState))
        job_id = f"w{number % 2}!{draw(st.text(max_size=3))}{number}"
        jobs.append(
            TimelineJob(
                job_id=job_id, submitted=submitted, started=started, finished=finished, hosts=hosts, state=state
            )
        )
    return jobs


JOBS = some_jobs()


def at(series: Series, time: float) -> float:
    """The value of a series at a time, 0 before its first."""
    return next((value for when, value in zip(series.times[::-1], series.values[::-1], strict=True) if when <= time), 0)


# What jobs tell


OFF = st.builds(OffDuty, st.integers(0, 4), st.integers(4, 9), TIMES, TIMES.map((12.0).__add__))


@given(JOBS, st.lists(OFF, max_size=3))
def test_free_hosts_are_those_that_are_on_and_that_no_job_has(jobs: list[TimelineJob], off: list[OffDuty]) -> None:
    series = free_hosts(jobs, 10, 0.0, off)
    assert all(one < other for one, other in pairwise(series.times))
    for time in [each + 0.5 for each in range(40)]:
        busy = {
            host
            for job in jobs
            if job.started is not None and job.started <= time and (job.finished is None or time < job.finished)
            for first, last in job.hosts
            for host in range(first, last + 1)
        }
        away = {host for each in off if each.start <= time < each.end for host in range(each.first, each.last + 1)}
        assert at(series, time) == 10 - len(busy | away)


@given(JOBS)
def test_jobs_wait_from_their_submission_to_their_start(jobs: list[TimelineJob]) -> None:
    series = waiting_jobs(jobs)
    assert all(one != other for one, other in pairwise(series.values))
    for time in [each + 0.5 for each in range(40)]:
        waiting = [
            job
            for job in jobs
            if job.submitted is not None and job.submitted <= time
            if job.started is None or time < job.started
            if job.started is not None or job.state is not FinalJobState.REJECTED
        ]
        assert at(series, time) == len(waiting)


def test_hosts_are_not_off_duty_for_no_time_or_less() -> None:
    for end in (5.0, 4.0):  # a recording whose clock goes back
        switches = Switches()
        switches.change(5.0, [(0, 3)], DutyState.OFF)
        assert switches.finish(end) == []


@given(st.lists(st.tuples(st.integers(0, 3), HOSTS, st.sampled_from(DutyState)), max_size=10))
def test_hosts_off_duty(changes: list[tuple[float, frozenset[int], DutyState]]) -> None:
    """Each moment of each host that is not on is told once."""
    time, switches, expected = 0.0, Switches(), []
    power = dict.fromkeys(range(10), DutyState.ON)
    for step, hosts, to in changes:
        expected += [
            (host, time, time + step, power[host]) for host in power if power[host] is not DutyState.ON and step
        ]
        time += step
        switches.change(time, intervals(hosts), to)
        power.update(dict.fromkeys(hosts, to))
    found = switches.finish(time)
    assert all(each.end > each.start for each in found)
    for host, start, end, was in expected:
        middle = (start + end) / 2
        (only,) = [each for each in found if each.first <= host <= each.last and each.start <= middle < each.end]
        expected_kind = was.value if was in (DutyState.OFF, DutyState.DOWN, DutyState.DRAINED) else "switching"
        assert only.kind == expected_kind
    total = sum((each.end - each.start) * (each.last - each.first + 1) for each in found)
    assert total == pytest.approx(sum(end - start for _, start, end, _ in expected))


# What the page holds


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """What the page reads, read in Python."""
    raw = zlib.decompress(data, wbits=-15)
    size = int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4 : 4 + size])
    place, columns = 4 + size, {}
    for name, kind, length in header["columns"]:
        width = {"f64": 8, "u32": 4, "u16": 2, "u8": 1}[kind]
        planes = raw[place : place + width * length]
        values = bytes(planes[plane * length + number] for number in range(length) for plane in range(width))
        columns[name] = list(memoryview(values).cast(TYPES[kind]))
        place += width * length
    assert place == len(raw)
    return header, columns


@given(JOBS.filter(len), st.lists(st.lists(st.integers(0, 14), max_size=3), max_size=8))
def test_the_page_holds_what_was_given(jobs: list[TimelineJob], about: list[list[int]]) -> None:
    messages = Messages(most_texts=5)
    names = [job.job_id for job in jobs] + ["of nobody", "of nobody else", ""]
    for number, which in enumerate(about):
        text = f"text {number}" if messages.wants_text else None
        messages.add(
            number / 2, number % 2, f"Kind{number % 3}", 70_000, [names[job % len(names)] for job in which], text
        )
    messages.finish()
    run = TimelineData("name", jobs, messages=messages)
    header, columns = unpacked(packed(run))
    assert sorted(header["ids"]) == sorted(job.job_id for job in jobs)
    by_id = {job.job_id: job for job in jobs}
    place = 0
    starts = []
    for number, job_id in enumerate(header["ids"]):
        job = by_id[job_id]
        rects = int(columns["rects"][number])
        found = zip(columns["first"][place : place + rects], columns["last"][place : place + rects], strict=True)
        assert tuple(found) == job.hosts
        starts += [job.started] * rects
        place += rects
        for name in ("submitted", "started", "finished"):
            value, wanted = columns[name][number], getattr(job, name)
            assert value == wanted or (wanted is None and value != value)
        assert header["words"]["workload"][int(columns["workload"][number])] == job.workload
        begin, end = columns["messages_begin"][number : number + 2]
        mine = [each for each, which in enumerate(about) if job_id in [names[job % len(names)] for job in which]]
        assert columns["messages_of_job"][int(begin) : int(end)] == mine
    assert starts == sorted(starts)
    assert header["texts"] == min(5, len(about))
    texts = [text for block in messages.blocks for text in json.loads(zlib.decompress(block, wbits=-15))]
    assert texts == [f"text {number}" for number in range(min(5, len(about)))]


EVIL = "</script><img src=x onerror=alert(1)>"


def test_names_are_never_markup() -> None:
    messages = Messages()
    messages.add(1.0, 0, EVIL, 1, [EVIL], EVIL)
    messages.finish()
    job = TimelineJob(job_id=EVIL, submitted=0.0, started=1.0, finished=2.0, hosts=((0, 1),), profile=EVIL, user=EVIL)
    series = Series(EVIL, "probe", [0.0], [1.0], unit=EVIL, lane=EVIL)
    run = TimelineData(f"run {EVIL}", [job], host_names=[EVIL, EVIL], series=[series], messages=messages)
    page = Timeline([run], f"@DATA@ {EVIL}").html()
    assert "<img" not in page
    assert page.count(html.escape(EVIL)) == 2  # the title, in the head and in the body


def test_what_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    run = TimelineData("\udcff.csv", [TimelineJob(job_id="w0!\ud800", submitted=0.0)])
    Timeline([run]).save(tmp_path / "run.html")
    assert "<title>?.csv</title>" in (tmp_path / "run.html").read_text()
    header, _ = unpacked(packed(run))
    assert header["ids"] == ["w0!\ud800"]


def test_the_policy_of_the_page_lets_nothing_else_run() -> None:
    page = Timeline([TimelineData("run", [TimelineJob(job_id="w0!1", submitted=0.0)])]).html()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    style, script = (re.findall(rf"<{name}>(.*?)</{name}>", page, re.DOTALL) for name in ("style", "script"))
    hashes = [f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'" for (each,) in (script, style)]
    assert policy.split("; ")[:3] == ["default-src 'none'", f"script-src {hashes[0]}", f"style-src {hashes[1]}"]
    assert not re.findall(r"(?:src|href)=", page.replace(script[0], ""))
    assert "http://" not in page
    assert "https://" not in page


# Where it is read from


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulation's files, and what was said in it."""
    folder = tmp_path_factory.mktemp("results") / "easy"
    done = run_here("simulate", "easy", "-o", str(folder), "--record", str(folder.parent / "easy.tar.xz"))
    assert done.status == 0, done.err
    return folder


@pytest.mark.slow
def test_results_files_and_messages_tell_the_same(results: Path) -> None:
    with open(results / "jobs.csv", newline="") as file:
        rows = {f"{row['workload_name']}!{row['job_id']}": row for row in csv.DictReader(file)}
    (tables,) = timeline(results).runs
    (said,) = timeline(results.parent / "easy.tar.xz").runs
    assert (tables.name, said.name) == ("easy", "easy")
    assert tables.host_count == said.host_count == 32
    assert {job.job_id for job in tables.jobs} == {job.job_id for job in said.jobs} == set(rows)
    told = {job.job_id: job for job in said.jobs}
    for job in tables.jobs:
        other, row = told[job.job_id], rows[job.job_id]
        assert (job.state, job.hosts, job.requested) == (other.state, other.hosts, other.requested)
        assert job.started == pytest.approx(other.started, abs=0.01)
        assert job.finished == pytest.approx(float(row["finish_time"]))


@pytest.mark.slow
def test_a_result_is_drawn_as_its_files_are() -> None:
    from batprotocol.policies.names import named
    from batprotocol.simulator import Platform, read_workload, simulate
    from batprotocol.workloads import EXAMPLE_WORKLOAD

    result = simulate(Platform.homogeneous(32), [read_workload(EXAMPLE_WORKLOAD, name="w0")], named("easy")())
    (run,) = timeline(result, name="easy", users={"w0!1": "ann"}).runs
    assert (run.name, run.host_count, len(run.jobs)) == ("easy", 32, result.nb_jobs)
    assert [job.job_id for job in run.jobs if job.user == "ann"] == ["w0!1"]
    assert timeline(result)._repr_html_().startswith("<iframe sandbox=")


@pytest.mark.parametrize("path", all_runs()[:6], ids=lambda path: path.name)
def test_recorded_runs(path: Path) -> None:
    (run,) = timeline(path).runs
    with Capture(path) as capture:
        assert {job.job_id for job in run.jobs} == {job.job_id for job in capture.jobs()}
        assert run.messages is not None
        assert len(run.messages) == sum(1 for _ in capture)
    header, _ = unpacked(packed(run))
    assert header["texts"] == len(run.messages)


@pytest.mark.slow
def test_probes_and_switches_of_recorded_runs() -> None:
    found = {path.name.split("__")[0]: timeline(path).runs[0] for path in all_runs() if "power" in path.name.lower()}
    series = [each for run in found.values() for each in run.given]
    assert any(each.kind == "probe" and each.unit in ("W", "J") and max(each.values) > 0 for each in series)
    assert any(run.off_duty for run in found.values())


def test_the_texts_are_those_of_dump(tmp_path: Path) -> None:
    path = all_runs()[0]
    assert run_here("timeline", str(path), "-o", str(tmp_path / "run.html")).status == 0
    page = (tmp_path / "run.html").read_text()
    texts = [
        text
        for block in re.findall(r'id="text-0-\d+">([^<]*)<', page)
        for text in json.loads(zlib.decompress(b64decode(block), wbits=-15))
    ]
    shown = run_here("dump", str(path)).out
    prefix = f"{path}/"
    assert "\n".join(texts) + "\n" == "".join(line.removeprefix(prefix) for line in shown.splitlines(keepends=True))


TABLE = "job_id,submission_time,starting_time,finish_time,allocated_resources\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "jobs.csv:1: it has no column job_id"),
        (TABLE + "1,0,x,5,0\n", "jobs.csv:2: starting_time: expected a number, got 'x'"),
        (TABLE + "1,0,0,inf,0\n", "1: the times of a job are finite numbers, got inf"),
        (TABLE + "1,0,0,5,5-3\n", "jobs.csv:2: allocated_resources: '5-3' is not a host set"),
        (TABLE + "1,0,0,5,0-99999999\n", "the numbers of hosts are below 1,000,000, got 99999999"),
        (TABLE, "there is nothing to draw"),
        (TABLE + "1,0,0,5,\0\n", "jobs.csv"),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "jobs.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        timeline(tmp_path)
    assert said in str(caught.value)


def test_a_table_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text(TABLE + "7,1,2,9,0-3 8\n8,1,,,\n")
    (run,) = timeline(tmp_path / "theirs.csv").runs
    assert (run.name, run.host_count, run.start, run.end) == ("theirs", 9, 0.0, 9.0)
    assert [(job.job_id, job.started, job.hosts) for job in run.jobs] == [("7", 2.0, ((0, 3), (8, 8))), ("8", None, ())]


def test_what_lies_beside_a_table(tmp_path: Path) -> None:
    (tmp_path / "a_jobs.csv").write_text(TABLE + "7,0,0,9,0-1\n")
    (tmp_path / "a_machine_states.csv").write_text("time,nb_sleeping,nb_idle,nb_computing\n0,1,3,4\n")
    (tmp_path / "a_consumed_energy.csv").write_text(
        "time,energy,event_type,wattmin,epower\n0,0,s,1,NA\n4,40,e,1,10\n6,80,e,1,20\n6,80,e,1,NA\n8,120,e,1,20\n"
    )
    (tmp_path / "a_pstate_changes.csv").write_text(
        "time,machine_id,new_pstate\n0,0-7,0\n2,4-5,-2\n3,4-5,13\n7,5,-1\n8,5,0\n"
    )
    (run,) = timeline(tmp_path / "a_jobs.csv").runs
    assert run.host_count == 8
    (power,) = run.given
    assert (power.unit, list(power.times), list(power.values)) == ("W", [0.0, 4.0], [10.0, 20.0])
    off = sorted((each.start, each.end, each.first, each.last, each.is_switching) for each in run.off_duty)
    assert off == [(2.0, 3.0, 4, 5, True), (3.0, 7.0, 5, 5, False), (3.0, 9.0, 4, 4, False), (7.0, 8.0, 5, 5, True)]


def test_the_user_may_be_in_the_data_of_a_job() -> None:
    from batprotocol import Job, JobSubmittedEvent, Message
    from batprotocol.recordings.timeline.sources import read_conversation

    def submitted(number: int, extra: str | None) -> JobSubmittedEvent:
        job = Job(resource_request=1, profile_id="w0!p", extra_data=extra)
        return JobSubmittedEvent(job_id=f"w0!{number}", job=job, submission_time=0.0, timestamp=0.0)

    extras = ['{"user": "ann"}', '{"uid": 7}', "{no JSON", "[1]", None, '{"user": null}']
    message = Message(1.0, [submitted(number, extra) for number, extra in enumerate(extras)])
    entry = Entry(0, Direction.BATSIM_TO_EDC, message.to_binary())
    run = read_conversation([entry], "run")
    assert {job.job_id: job.user for job in run.jobs if job.user} == {"w0!0": "ann", "w0!1": "7"}


def test_what_is_no_source() -> None:
    with pytest.raises(InputError, match="int is not a row about a job"):
        timeline([1])  # type: ignore[list-item]
    with pytest.raises(InputError, match="a timeline is made of"):
        timeline(5)  # type: ignore[call-overload]
