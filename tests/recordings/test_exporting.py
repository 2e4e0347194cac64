"""Runs for other programs: what they read is what was said."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from commands import run_here
from recorded import all_runs, jobs_csv

from batprotocol import Direction, Message, MessageBuilder
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.edc.recording import Recorder
from batprotocol.recordings import Capture
from batprotocol.recordings.copies import copy
from batprotocol.recordings.exports import export

WITHOUT_ENGINE = True
pytestmark = pytest.mark.once

RUNS = [path for path in all_runs() if path.stat().st_size < 60_000]
SOME = RUNS[:: max(1, len(RUNS) // 6)]


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_a_trace_says_what_the_run_says(path: Path, tmp_path: Path) -> None:
    """Slices are the jobs on their hosts and never overlap in a lane; counters are what was known."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

    from batprotocol.recordings._traces import GROUPS

    with Capture(path) as run:
        export(run, tmp_path / "run.pftrace", "perfetto")
        jobs = {job.job_id: job for job in run.jobs()}
        entries = list(run)
        end = run.state_at()
    trace = Trace.FromString((tmp_path / "run.pftrace").read_bytes())
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in trace.packet
        if packet.HasField("track_descriptor")
    }
    names = {track.name: uuid for uuid, track in tracks.items()}
    spans: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    begun: dict[int, tuple[int, str]] = {}
    counted: dict[int, float] = {}
    said = []
    for packet in trace.packet:
        event = packet.track_event
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in begun
            begun[event.track_uuid] = packet.timestamp, event.name
        elif event.type == TrackEvent.TYPE_SLICE_END:
            start, name = begun.pop(event.track_uuid)
            spans[event.track_uuid].append((start, packet.timestamp, name))
        elif event.type == TrackEvent.TYPE_COUNTER:
            assert event.double_counter_value >= 0
            counted[event.track_uuid] = event.double_counter_value
        elif event.type == TrackEvent.TYPE_INSTANT:
            said.append({note.name: note.int_value for note in event.debug_annotations}["message"])
    assert not begun
    assert said == [entry.number for entry in entries]
    for lane in spans.values():
        ordered = sorted(lane)
        assert all(before[1] <= after[0] for before, after in pairwise(ordered))
    drawn = Counter(name for lane in spans.values() for _, _, name in lane)
    hosts = end.host_count
    width = max(1, -(-hosts // GROUPS))
    for job_id, job in jobs.items():
        touched = {
            host // width
            for first, last in (read_hosts(job.hosts).intervals if job.hosts else ())
            for host in range(first, last + 1)
        }
        assert drawn[job_id] == len(touched)
    if end.lost_at is None:
        assert counted.get(names["queue (jobs)"], 0) == len(end.queue)
        assert counted.get(names["running jobs"], 0) == len(end.running)
    assert all(track.parent_uuid in tracks for track in tracks.values() if track.parent_uuid)


@pytest.mark.parametrize("path", SOME[:3], ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_tables_have_all_events_and_jobs(path: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    with Capture(path) as run:
        messages = [(entry, entry.message) for entry in run if entry.message is not None]
        events = [(entry.number, type(event).__name__) for entry, message in messages for event in message.events]
        export(run, tmp_path / "events.csv", "events-csv")
        export(run, tmp_path / "events.parquet", "parquet")
        frame = run.to_pandas()
        jobs = run.to_pandas("jobs")
    with open(tmp_path / "events.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(int(row["message"]), row["event"]) for row in rows] == events
    assert parquet.read_table(tmp_path / "events.parquet").to_pydict()["fields"] == [row["fields"] for row in rows]
    assert list(frame["fields"]) == [row["fields"] for row in rows]
    for row in rows:
        assert json.loads(row["fields"]).get("job_id", "") == row["job_id"]
    batsims = jobs_csv(path)
    if batsims is not None:
        told = {f"{row['workload_name']}!{row['job_id']}": row for _, row in jobs.iterrows()}
        for job_id, row in batsims.items():
            assert told[job_id]["final_state"] == row["final_state"] or row["final_state"] == "REJECTED"
            assert told[job_id]["submission_time"] == pytest.approx(float(row["submission_time"]), abs=0.01)


def small(path: Path, *, result: bool = True) -> Path:
    with Recorder(path) as recorder:
        builder = MessageBuilder()
        builder.add_reject_job("w0!<b>1")
        recorder.write(Direction.EDC_TO_BATSIM, builder.finish_message(1.0).to_binary())
        recorder.write(Direction.BATSIM_TO_EDC, Message(2.0).to_binary())
        if result:
            recorder.keep("jobs.csv", b"job_id\n1\n")
    return path


def test_the_command(tmp_path: Path) -> None:
    run = str(small(tmp_path / "run.mcap"))
    assert run_here("export", run, "--to", "jobs-csv").out == "job_id\n1\n"
    done = run_here("export", run, "--to", "events-csv")
    (row,) = csv.DictReader(io.StringIO(done.out))
    assert (row["event"], row["job_id"], row["now"]) == ("RejectJobEvent", "w0!<b>1", "1.0")
    refused = run_here("export", run, "--to", "parquet")
    assert refused.status == 2
    assert "name a file with --output" in refused.err
    for to in ("perfetto", "parquet"):
        assert run_here("export", run, "--to", to, "-o", str(tmp_path / to)).status == 0
        assert (tmp_path / to).stat().st_size > 100
    nowhere = run_here("export", run, "--to", "perfetto", "-o", str(tmp_path / "no" / "where"))
    assert (nowhere.status, "no/where: no such file" in nowhere.err) == (1, True)
    assert run_here("export", str(tmp_path / "none.mcap"), "--to", "jobs-csv").status == 1


@pytest.mark.parametrize("path", SOME[:3], ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_a_trace_as_json_is_the_same_trace(path: Path, tmp_path: Path) -> None:
    """What the two formats hold: the same slices at the same times, the same marks, the same counters."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

    with Capture(path) as run:
        export(run, tmp_path / "run.pftrace")
        export(run, tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text("utf-8"))["traceEvents"]
    names = {(each["pid"], each["tid"]): each["args"]["name"] for each in events if each["name"].endswith("_name")}
    assert {"messages", "Batsim", "decision component", "hosts", "queue (jobs)"} <= set(names.values())
    packets = Trace.FromString((tmp_path / "run.pftrace").read_bytes()).packet
    kinds = {"X": TrackEvent.TYPE_SLICE_BEGIN, "i": TrackEvent.TYPE_INSTANT}
    for phase, kind in kinds.items():
        expected = [(each.timestamp, each.track_event.name) for each in packets if each.track_event.type == kind]
        assert [(round(each["ts"] * 1000), each["name"]) for each in events if each["ph"] == phase] == expected
        assert all((each["pid"], each["tid"]) in names for each in events if each["ph"] == phase)
    counted = [each.track_event.double_counter_value for each in packets if each.track_event.type == 4]
    assert [each["args"]["value"] for each in events if each["ph"] == "C"] == counted
    assert all(each["dur"] >= 0 for each in events if each["ph"] == "X")


def test_the_ending_of_the_file_selects_the_format(tmp_path: Path) -> None:
    run = str(small(tmp_path / "run.tar", result=False))

    def written(name: str, *options: str) -> bytes:
        done = run_here("export", run, "-o", str(tmp_path / name), *options)
        assert (done.status, done.err) == (0, "")
        return (tmp_path / name).read_bytes()

    assert "traceEvents" in json.loads(written("a.json"))
    assert "traceEvents" in json.loads(written("b.JSON", "--to", "perfetto"))
    assert written("a.pftrace") == written("b.pftrace", "--to", "perfetto") == written("c", "--to", "perfetto")
    assert written("jobs.csv").startswith(b"job_id,")
    assert written("events.csv", "--rows", "events") == written("e.csv", "--to", "events-csv")
    assert written("events.parquet", "--rows", "events") == written("e.parquet", "--to", "parquet")
    assert written("jobs.parquet") != written("events.parquet", "--rows", "events")
    for name, options, reason in (
        ("run.txt", (), "name a file that ends with .pftrace, .json, .csv or .parquet, got"),
        ("run", (), "name a file that ends with .pftrace, .json, .csv or .parquet, got"),
        ("run.csv", ("--to", "perfetto"), "the name of a file of perfetto ends with .pftrace or .json, got"),
        ("run.pftrace", ("--rows", "events"), "run.pftrace is a trace: leave out --rows, or name a .csv or .parquet"),
        ("run.json", ("--rows", "jobs"), "run.json is a trace: leave out --rows, or name a .csv or .parquet file"),
        ("run.csv", ("--rows", "events", "--to", "jobs-csv"), "both select a format: leave out --to"),
    ):
        refused = run_here("export", run, "-o", str(tmp_path / name), *options)
        assert refused.status != 0
        assert reason in refused.err
        assert len(refused.err.splitlines()) == 1
        assert not (tmp_path / name).exists()
    assert "--to" not in run_here("export", "--help").out


def test_a_table_of_jobs_as_parquet(tmp_path: Path) -> None:
    from pyarrow import parquet

    with Capture(SOME[0]) as run:
        export(run, tmp_path / "jobs.parquet")
        jobs = list(run.jobs())
    rows = parquet.read_table(tmp_path / "jobs.parquet").to_pylist()
    assert [f"{row['workload_name']}!{row['job_id']}" for row in rows] == [job.job_id for job in jobs]
    assert [row["allocated_resources"] for row in rows] == [job.hosts for job in jobs]
    assert [row["starting_time"] for row in rows] == [job.started for job in jobs]


def test_jobs_that_nobody_kept_are_told_by_messages(tmp_path: Path) -> None:
    with Capture(small(tmp_path / "run.tar", result=False)) as run:
        copy(run, tmp_path / "run.mcap")
    (row,) = csv.DictReader(io.StringIO(run_here("export", str(tmp_path / "run.mcap"), "--to", "jobs-csv").out))
    assert (row["job_id"], row["workload_name"], row["final_state"]) == ("<b>1", "w0", "REJECTED")


def test_what_is_no_table(tmp_path: Path) -> None:
    with Capture(small(tmp_path / "run.mcap")) as run, pytest.raises(ValueError, match="expected 'events' or 'jobs'"):
        run.to_pandas("messages")
