"""What is made of the recordings that are kept with the tests is what was made of them: tables, traces, numbers...

Of each, a digest is kept in `data/captures.txt`: a run, a view, and the digest. A digest says that something is other
than before, not what: the tests of each part do.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import pytest
from support import DATA

from batprotocol.errors import CaptureError
from batprotocol.recordings import Capture, Entry, compare, job_differences, statistics_of
from batprotocol.recordings._traces import write_chrome
from batprotocol.recordings.comparison import ignored_differences
from batprotocol.recordings.exports import events_of, write_events_csv, write_jobs_csv
from batprotocol.recordings.states import messages_in, state_at
from batprotocol.recordings.statistics import CapturedJob, jobs_of
from batprotocol.recordings.timeline.packing import facts, packed
from batprotocol.recordings.timeline.sources import read_conversation

pytestmark = pytest.mark.once

RUNS = [*sorted((DATA / "runs").glob("*.tar.xz")), *sorted((DATA / "simulations").glob("*.tar.xz"))[::4]]


class Kept(list[Entry]):
    """A run in memory, with the times at which it would have been recorded, and without other files."""

    def jobs(self) -> Iterator[CapturedJob]:
        return jobs_of((entry.direction, entry.message) for entry in self if entry.message is not None)

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        return iter(())


@cache
def run_of(path: Path) -> Kept:
    with Capture(path) as run:
        entries = list(run)
    return Kept(Entry(each.number, each.direction, each.data, 10**18 + each.number**2 * 1_000_003) for each in entries)


def written(write: Callable[[Any, Any], None]) -> Callable[[Kept], bytes]:
    def view(run: Kept) -> bytes:
        file = io.BytesIO()
        write(run, file)
        return file.getvalue()

    return view


def as_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, default=list).encode()


def statistics(run: Kept) -> bytes:
    found = statistics_of(run)
    return as_json(found.to_json()) + as_json(found.jobs.to_json())


def knowledge(run: Kept) -> bytes:
    end = max((entry.time or 0.0 for entry in run), default=0.0)
    moments = [0.0, end / 3, end * 0.7]
    return as_json([state_at(messages_in(run), moment).to_json() for moment in [*moments, inf]])


def timeline(run: Kept) -> bytes:
    data = read_conversation(run, "run", hint="see {number}")
    assert data.messages is not None
    blocks = [zlib.decompress(block, -15) for block in data.messages.blocks]
    return b"".join([facts(data).encode(), zlib.decompress(packed(data), -15), *blocks])


def entries(run: Kept) -> bytes:
    return "\n".join(f"{entry!r} {entry.kind} {entry.name} {entry.fault}" for entry in run).encode()


VIEWS: dict[str, Callable[[Kept], bytes]] = {
    "chrome": written(write_chrome),
    "entries": entries,
    "events": written(write_events_csv),
    "jobs": written(write_jobs_csv),
    "knowledge": knowledge,
    "statistics": statistics,
    "timeline": timeline,
}


def known() -> dict[tuple[str, str], str]:
    lines = [line.split() for line in (DATA / "captures.txt").read_text().splitlines() if line[:1] != "#"]
    return {(run, view): digest for run, view, digest in lines}


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_made_of_each_run(view: str) -> None:
    found = {(path.name.removesuffix(".tar.xz"), view): digest(VIEWS[view](run_of(path))) for path in RUNS}
    assert found == {place: digest for place, digest in known().items() if place[1] == view}


def test_traces_of_protobuf() -> None:
    pytest.importorskip("perfetto")
    from batprotocol.recordings._perfetto import write_perfetto

    view = written(write_perfetto)
    found = {(path.name.removesuffix(".tar.xz"), "perfetto"): digest(view(run_of(path))) for path in RUNS}
    assert found == {place: digest for place, digest in known().items() if place[1] == "perfetto"}


def test_where_each_run_parts_from_the_next() -> None:
    found = {}
    for one, other in pairwise(RUNS):
        parting = compare(run_of(one), run_of(other))
        said = [] if parting is None else [parting.number, str(parting.difference), parting.known.to_json()]
        jobs = [
            (each.job_id, each.fields, each.one and each.one.to_json(), each.other and each.other.to_json())
            for each in job_differences(run_of(one), run_of(other))
        ]
        text = as_json([said, jobs, ignored_differences(run_of(one), run_of(other))])
        found[one.name.removesuffix(".tar.xz"), "parting"] = digest(text)
    assert found == {place: digest for place, digest in known().items() if place[1] == "parting"}


def test_a_run_is_like_itself_in_the_other_format() -> None:
    pairs = [(each, other) for each, other in pairwise(RUNS) if each.name.replace("binary", "json") == other.name]
    assert len(pairs) >= 3
    for binary, text in pairs:
        assert compare(run_of(binary), run_of(text)) is None
        assert not list(job_differences(run_of(binary), run_of(text)))
        assert "format: binary and json" in ignored_differences(run_of(binary), run_of(text))


def test_other_files_are_kept() -> None:
    found = {}
    for path in RUNS:
        with Capture(path) as run:
            data = as_json([[name, digest(content)] for name, content in run.attachments()])
            found[path.name.removesuffix(".tar.xz"), "files"] = digest(data + as_json(dict(run.metadata)))
            assert [*run] == run_of(path)
            assert run.missing == ""
            rows = list(events_of(run))
            assert rows == sorted(rows, key=lambda row: (row.message, row.place))
    assert found == {place: digest for place, digest in known().items() if place[1] == "files"}


def test_there_is_no_run_in_a_folder_of_runs() -> None:
    with pytest.raises(CaptureError, match=r"holds several recordings: name one of them, such as .*\.tar\.xz"):
        Capture(DATA / "runs")
