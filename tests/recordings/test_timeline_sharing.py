"""Timelines of jobs that share hosts: lanes, groups of partitions, links; and that other pages stay as they are."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from recorded import all_runs
from sites import shared_run
from test_timeline import unpacked
from test_timeline_page import faults, opened, text_of

from batprotocol import DelayProfile
from batprotocol.errors import InputError
from batprotocol.policies import named
from batprotocol.recordings.timeline import Timeline, TimelineData, TimelineJob, timeline
from batprotocol.recordings.timeline._figures import draw
from batprotocol.recordings.timeline._sharing import (
    HostRows,
    HostUnits,
    links_of,
    overlaps_of,
    rectangles,
    rows_of,
    shared,
)
from batprotocol.recordings.timeline.sources import read_conversation
from batprotocol.recordings.timeline.timelines import _SCRIPTS
from batprotocol.results import write_allocations
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.workloads.requests import Offer, read_request
from batprotocol.workloads.requests.usage import rerun_id, submitted_id

WITHOUT_ENGINE = True

PAGE = Path(str(__import__("batprotocol.recordings.timeline", fromlist=["page"]).__file__)).parent / "page"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 8), st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_lanes_never_overlap_where_there_is_room(jobs: list[tuple[int, int, int, int]]) -> None:
    """Jobs as a scheduler starts them that does not over-allocate: each has as many lanes as it takes, of its own."""
    lanes, placed = HostUnits(), []
    for host, width, start, lasts in sorted(jobs, key=lambda job: job[2]):
        end = float(start + lasts)
        if sum(each[1] for each in placed if each[0] == host and each[2] > start) + width > 8:
            continue
        spans = lanes.take(host, 8, width, float(start), end)
        cores = {core for span in spans for core in range(span.first, span.first + span.width)}
        assert len(cores) == width
        assert max(cores) < 8
        assert all(not cores & each[3] for each in placed if each[0] == host and each[2] > start)
        placed.append((host, width, end, cores))


def test_jobs_that_are_too_many_are_drawn_all_the_same() -> None:
    lanes = HostUnits()
    assert [lanes.take(0, 4, 3, 0.0, 9.0), lanes.take(0, 4, 3, 1.0, 9.0)] == [[(0, 3)], [(1, 3)]]
    assert lanes.take(0, 4, 99, 2.0, 9.0) == [(0, 4)]
    assert HostUnits().take(0, 2**53, 2**52, 0.0, 1.0) == [(0, 2**52)]


@given(st.lists(st.sampled_from(["", "a", "b", "a,b", "c"]), min_size=1, max_size=12), st.data())
def test_each_host_has_a_row_of_its_own(partitions: list[str], data: st.DataObject) -> None:
    offers = {
        host: Offer(host, 1, partitions=tuple(filter(None, each.split(",")))) for host, each in enumerate(partitions)
    }
    count = len(partitions)
    rows = rows_of(offers, count)
    order = list(range(count)) if rows.hosts is None else rows.hosts
    assert [order[rows.row(host)] for host in range(count)] == list(range(count))
    assert sum(group.height for group in rows.groups) in (0, count)
    first = data.draw(st.integers(0, count - 1))
    last = data.draw(st.integers(first, count - 1))
    covered = [row for low, high in rows.intervals(first, last) for row in range(low, high + 1)]
    assert sorted(covered) == sorted(rows.row(host) for host in range(first, last + 1))


def test_rows_of_no_partitions_are_the_numbers() -> None:
    assert list(HostRows((), None).intervals(3, 7)) == [(3, 7)]


def test_lives_and_dependencies_are_linked() -> None:
    def job(job_id: str, at: float, extra: str | None = None) -> TimelineJob:
        return TimelineJob(job_id=job_id, submitted=at, request=read_request(extra))

    jobs = [
        job("w0!1", 0),
        job("w0!again", 1),
        job(rerun_id("w0!1", 2), 3),
        job(rerun_id("w0!1", 1), 2),
        job("again!no-such~1", 2),
        job("w0!5", 4, '{"dependency": "afterok:1,singleton", "name": "n"}'),
        job("w0!6", 5, '{"dependency": "singleton", "name": "n"}'),
        job("w0!7", 6, '{"dependency": "after:9"}'),
    ]
    kinds, links = links_of(jobs)
    found = sorted((jobs[one].job_id, jobs[other].job_id, kinds[kind]) for one, other, kind in links)
    assert found == [
        ("again!w0-1~1", "again!w0-1~2", "again"),
        ("again!w0-1~2", "w0!5", "afterok"),
        ("w0!1", "again!w0-1~1", "again"),
        ("w0!5", "w0!6", "singleton"),
    ]
    assert submitted_id(rerun_id("a!b!c", 3)) == ("a-b-c", 3)


def test_a_capture_has_all_of_it() -> None:
    run = read_conversation(shared_run(), "shared")
    data = shared(run)
    assert data is not None
    header, columns = unpacked(data)
    assert [tuple(group) for group in header["groups"]] == [("low, also high", 0, 4), ("gpu", 4, 1)]
    assert columns["hosts"] == [0, 1, 3, 4, 2]
    assert columns["gpus"] == [4]
    facts: dict[str, Any] = {
        name: [words[int(number)] for number in columns[f"fact{place}"]]
        for place, (name, words) in enumerate(header["facts"])
    }
    ids = [job.job_id for job in run.jobs]
    assert {name: facts[name][ids.index("w0!gpu")] for name in facts} == {
        "partition": "gpu",
        "qos": "",
        "account": "",
        "cores": "4",
        "memory": "",
        "gres": "gpu:1",
        "waits for": "",
    }
    assert facts["memory"][ids.index("w0!1")] == "4 GiB"
    spans: dict[str, list[tuple[float, float]]] = {}
    place = 0
    for job_id, count in zip(ids, map(int, columns["rects"]), strict=True):
        part = slice(place, place + count)
        spans[job_id] = [
            (low, high + 1) for low, high in zip(columns["first"][part], columns["last"][part], strict=True)
        ]
        place += count
    assert spans["w0!gpu"] == [(4.0, 4.0 + 0.75 * 4 / 16), (4.75, 4.875)]  # its cores, and its GPU in the band
    for one, other in combinations(range(len(ids)), 2):
        first, second = run.jobs[one], run.jobs[other]
        if first.started is not None and second.started is not None and second.started < (first.finished or 1e9):
            for low, high in spans[ids[one]]:
                assert all(high <= begin + 1e-9 or end <= low + 1e-9 for begin, end in spans[ids[other]])
    links = [
        (ids[int(one)], ids[int(other)], header["kinds"][int(kind)])
        for one, other, kind in zip(*(columns[f"link_{name}"] for name in ("from", "to", "kind")), strict=True)
    ]
    again = [(one, other) for one, other, kind in links if kind == "again"]
    assert again
    assert all(other == rerun_id(one, 1) for one, other in again)
    assert {link for link in links if link[1] == "w0!after"} >= {("w0!gpu", "w0!after", "afterok")}


def scripts_of(page: str) -> str:
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return str(script)


def test_other_pages_stay_as_they_are() -> None:
    """Recorded runs have neither the script nor the data, whatever jobs write into their extra data."""
    for path in all_runs()[:3]:
        page = timeline(path).html()
        assert "data-sharing" not in page
        assert scripts_of(page).endswith("\n".join((PAGE / f"{name}.js").read_text() for name in _SCRIPTS) + "})();\n")
    plain = TimelineJob(job_id="w0!1", submitted=0.0, started=1.0, finished=2.0, hosts=((0, 1),))
    for extra in ('{"user": "ann", "name": "n", "colour": 1}', "free text", "{}", '{"begin": 7}'):
        asking = TimelineJob(
            job_id="w0!1", submitted=0.0, started=1.0, finished=2.0, hosts=((0, 1),), request=read_request(extra)
        )
        offers = [Offer(0, 64, memory=2**30), Offer(1, 64)]
        assert (
            Timeline([TimelineData("run", [asking], offers=offers)]).html()
            == Timeline([TimelineData("run", [plain])]).html()
        )


def test_a_page_with_both_kinds_of_runs() -> None:
    one, other = (
        read_conversation(shared_run(), "shared"),
        TimelineData("plain", [TimelineJob(job_id="1", submitted=0.0)]),
    )
    page = Timeline([other, one]).html()
    assert re.findall(r'data-sharing="(\d)"', page) == ["1"]
    assert scripts_of(page).count("linksOf = ") + scripts_of(page).count("function linksOf(") == 1
    block = re.findall(r'data-run="1">([^<]*)<', page)[0]
    assert unpacked(b64decode(block))[0]["host_count"] == 5


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.mark.slow
@pytest.mark.long
def test_a_shared_run_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, read_conversation(shared_run(), "shared"))
    assert "GPUs of hosts" in text_of(tab, "#legend")
    seen = set()
    for x in (200, 400, 700, 1000):
        for y in range(130, 560, 8):
            tab.mouse("mouseMoved", x, y)
            if not tab.run("document.querySelector('#tip').hidden"):
                seen.add(text_of(tab, "#tip strong"))
    assert {"w0!0", "w0!1", "w0!gpu", "w0!after"} <= seen  # jobs on one host are told apart
    tab.press("/")
    tab.type("w0!after")
    tab.press("Enter")
    assert text_of(tab, ".linked").startswith("waits for w0!0")
    before = tab.run("document.querySelector('#cover').toDataURL()")
    tab.run("document.querySelector('.linked button').click()")
    assert text_of(tab, "#panel-title") == "Job w0!0"
    assert "is waited for by w0!after afterok" in text_of(tab, ".linked")
    for fact in ("accountann", "qosday", "cores2", "memory4 GiB"):
        assert fact in text_of(tab, "dl")
    assert tab.run("document.querySelector('#cover').toDataURL()") != before
    tab.press("/")
    tab.run("document.querySelector('#search').value = ''")
    tab.type("again!")
    tab.press("Enter")
    assert text_of(tab, ".linked").startswith("ran before as w0!")
    assert not faults(tab)
    tab.close()


# Jobs that have a host together, of which only the hosts are known

drawn = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=14
).map(
    lambda given: [
        TimelineJob(
            job_id=f"w0!{number}",
            submitted=float(start),
            started=float(start),
            finished=None if number == 3 else float(start + lasts),
            hosts=((first, first + more),),
        )
        for number, (start, lasts, first, more) in enumerate(given)
    ]
)


@given(drawn, st.sampled_from([None, 0.25, 0.4]))
def test_no_job_hides_another(jobs: list[TimelineJob], share: float | None) -> None:
    if share is not None:  # as many as fit at the same time
        kept: list[TimelineJob] = []
        for job in sorted(jobs, key=lambda job: job.started or 0.0):
            (first, last), start = job.hosts[0], job.started or 0.0
            here = [
                sum(
                    each.hosts[0][0] <= host <= each.hosts[0][1] and (each.finished is None or each.finished > start)
                    for each in kept
                )
                for host in range(first, last + 1)
            ]
            if (max(here) + 1) * share <= 1:
                kept.append(replace(job, share=share))
        jobs = kept
    data = TimelineData("run", jobs, hosts=6)
    overlaps = overlaps_of(data.jobs)
    found = list(rectangles(data, HostRows((), None), overlaps))
    for (one, spans), (other, others) in combinations(zip(data.jobs, found, strict=True), 2):
        assert one.started is not None
        assert other.started is not None
        ends = [float("inf") if job.finished is None else job.finished for job in (one, other)]
        if max(one.started, other.started) < min(ends):
            assert not any(max(a, c) < min(b, d) - 1e-9 for a, b in spans for c, d in others)
    for job, spans in zip(data.jobs, found, strict=True):
        (first, last), tall = job.hosts[0], sum(bottom - top for top, bottom in spans)
        assert all(first <= top < bottom <= last + 1 + 1e-9 for top, bottom in spans)
        if share is not None:
            assert tall == pytest.approx(share * (last - first + 1), abs=1e-3)
    assert (shared(data) is None) == (share is None and not overlaps.jobs)


def test_files_and_results_say_how_much_jobs_have(tmp_path: Path) -> None:
    jobs = [
        StaticJob(str(n), 0.0, 1, DelayProfile(50.0), walltime=60.0, extra_data=f'{{"cores": {n + 1}}}')
        for n in range(3)
    ]
    policy = named("easy")()
    result = simulate(described_platform("n0 cores=8"), Workload(jobs), policy, output=f"{tmp_path}/")
    expected = [1 / 8, 2 / 8, 3 / 8]
    unknown = timeline(tmp_path / "jobs.csv").runs[0]
    assert [job.share for job in unknown.jobs] == [None] * 3
    assert len(overlaps_of(unknown.jobs).jobs) == 3
    result.allocations = policy.allocated
    write_allocations(tmp_path / "allocations.csv", policy.allocated)
    for source in (result, tmp_path / "jobs.csv"):
        assert [job.share for job in timeline(source).runs[0].jobs] == expected
    (tmp_path / "allocations.csv").write_text("job_id,hosts,whole,held\nw0!0,0,0,x\n")
    with pytest.raises(InputError, match=r"allocations.csv:2: .*held"):
        timeline(tmp_path / "jobs.csv")


def test_a_figure_shows_each_job(tmp_path: Path) -> None:
    jobs = [TimelineJob(job_id=f"w0!{n}", submitted=0.0, started=0.0, finished=9.0, hosts=((0, 1),)) for n in range(3)]
    figure = draw([TimelineData("run", jobs, hosts=2)], "job")
    paths = figure.axes[0].collections[0].get_paths()
    boxes = {(path.vertices[:, 1].min(), path.vertices[:, 1].max()) for path in paths}
    assert [top for top, _ in sorted(boxes)] == pytest.approx([place / 3 for place in range(6)])
    assert all(bottom - top == pytest.approx(1 / 3) for top, bottom in boxes)
