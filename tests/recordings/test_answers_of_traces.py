"""Traces and timelines of a small conversation that is written by hand: each track, bar, mark and number."""

from __future__ import annotations

from typing import Any

import pytest

from batprotocol import Event, Host, Job, Message, MessageBuilder, model
from batprotocol.errors import InputError
from batprotocol.model import Direction, FinalJobState
from batprotocol.recordings import Entry
from batprotocol.recordings._traces import Notes, trace
from batprotocol.recordings.statistics import CapturedJob, jobs_of
from batprotocol.recordings.timeline.sources import read_conversation

pytestmark = pytest.mark.once
B2E, E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM
SECOND = 10**9


class Said(list[Entry]):
    """A conversation in memory."""

    def say(self, direction: Direction, now: float, *events: Event) -> None:
        self.append(Entry(len(self), direction, Message(now, events).to_binary()))

    def jobs(self) -> Any:
        return jobs_of((entry.direction, entry.message) for entry in self if entry.message is not None)

    def attachments(self) -> Any:
        return iter(())


class Drawn:
    """Keeps what is drawn, with the names of tracks."""

    def __init__(self) -> None:
        self.tracks: list[str] = []
        self.slices: list[tuple[int, int, str, str]] = []
        self.marks: list[tuple[int, str, str]] = []
        self.counts: list[tuple[int, str, float]] = []
        self.notes: dict[str, dict[str, Any]] = {}

    def track(self, name: str, parent: int = 0) -> int:
        self.tracks.append(f"{self.tracks[parent - 1]}/{name}" if parent else name)
        return len(self.tracks)

    def counter(self, name: str, unit: str = "") -> int:
        return self.track(f"{name} [{unit}]")

    def mark(self, moment: int, track: int, name: str, notes: Notes) -> None:
        self.marks.append((moment, self.tracks[track - 1], name))
        self.notes[f"mark {len(self.marks)}"] = dict(notes)

    def slice(self, start: int, end: int, track: int, name: str, notes: Notes) -> None:
        self.slices.append((start, end, self.tracks[track - 1], name))
        self.notes[name] = dict(notes)

    def count(self, moment: int, track: int, value: float) -> None:
        self.counts.append((moment, self.tracks[track - 1], value))


def begins(hosts: int) -> Event:
    builder = MessageBuilder()
    found = [Host(id=number, name=f"h{number}", computation_speed=[1.0]) for number in range(hosts)]
    builder.add_simulation_begins(batsim_version="5", computation_hosts=found)
    return builder.finish_message().events[0]


def submit(name: str, time: float, data: str | None = None) -> Event:
    job = Job(resource_request=2, walltime=9.0, profile_id="w!p", extra_data=data)
    return model.JobSubmittedEvent(job_id=f"w!{name}", job=job, submission_time=time, timestamp=time)


def execute(name: str, hosts: str, time: float) -> Event:
    allocation = model.AllocationPlacement(host_allocation=hosts)
    return model.ExecuteJobEvent(job_id=f"w!{name}", allocation=allocation, timestamp=time)


def completed(name: str, time: float) -> Event:
    state = FinalJobState.COMPLETED_SUCCESSFULLY
    return model.JobCompletedEvent(job_id=f"w!{name}", state=state, return_code=0, timestamp=time)


def probed(time: float, *values: float, metrics: Any = model.Metrics.Power) -> Event:
    data: Any = model.VectorialProbeData(data=list(values)) if len(values) > 1 else model.AggregatedProbeData(values[0])
    resources = model.HostResources("0")
    return model.ProbeDataEmittedEvent(probe_id="pr", metrics=metrics, resources=resources, data=data, timestamp=time)


def conversation(hosts: int = 4) -> Said:
    said = Said()
    said.say(B2E, 0.0, begins(hosts))
    said.say(E2B, 0.0)
    said.say(B2E, 1.0, submit("a", 1.0, '{"user": "u"}'), submit("b", 1.0, '{"uid": 7}'), submit("c", 1.0, "{"))
    said.say(
        E2B, 2.0, execute("a", "0-1", 2.0), execute("b", "1", 2.0), model.RejectJobEvent(job_id="w!c", timestamp=2.0)
    )
    said.say(B2E, 3.0, probed(3.0, 5.0))
    said.append(Entry(5, E2B, b"garbage"))
    said.say(B2E, 4.0, completed("a", 4.0), probed(4.0, 5.0), submit("d", 4.0, '{"user_id": null, "user": null}'))
    said.say(E2B, 4.0, execute("d", "0", 4.0))
    said.say(B2E, 6.0, probed(6.0, 6.0), *[submit(f"n{number}", 6.0) for number in range(21)])
    return said


def test_a_trace() -> None:
    drawn = Drawn()
    trace(conversation(), drawn)
    assert drawn.tracks == [
        *("messages", "messages/Batsim", "messages/decision component", "hosts", "queue (jobs) []", "running jobs []"),
        *("hosts/host 0", "hosts/host 1", "hosts/host 1 (2)", "pr (Power) [W]"),
    ]
    assert sorted(drawn.slices) == [
        (2 * SECOND, 4 * SECOND, "hosts/host 0", "w!a"),
        (2 * SECOND, 4 * SECOND, "hosts/host 1", "w!a"),
        (2 * SECOND, 6 * SECOND, "hosts/host 1 (2)", "w!b"),
        (4 * SECOND, 6 * SECOND, "hosts/host 0", "w!d"),
    ]
    assert [(moment // SECOND, track, value) for moment, track, value in drawn.counts] == [
        *((0, "queue (jobs) []", 0), (0, "running jobs []", 0), (1, "queue (jobs) []", 3)),
        *((2, "queue (jobs) []", 0), (2, "running jobs []", 2), (3, "pr (Power) [W]", 5.0)),
        *((4, "queue (jobs) []", 1), (4, "running jobs []", 1), (4, "queue (jobs) []", 0), (4, "running jobs []", 2)),
        *((6, "pr (Power) [W]", 6.0), (6, "queue (jobs) []", 21)),
    ]
    assert [(moment // SECOND, track.partition("/")[2][:1], name) for moment, track, name in drawn.marks] == [
        (0, "B", "SimulationBegins"),
        (0, "d", "nothing"),
        (1, "B", "JobSubmitted x3"),
        (2, "d", "ExecuteJob x2, RejectJob"),
        (3, "B", "ProbeDataEmitted"),
        (3, "d", "not read"),
        (4, "B", "JobCompleted, ProbeDataEmitted, JobSubmitted"),
        (4, "d", "ExecuteJob"),
        (6, "B", "ProbeDataEmitted, JobSubmitted x21"),
    ]
    assert drawn.notes["mark 4"] == {
        "message": 3, "bytes": len(conversation()[3].data), "now": 2.0, "events": 3, "jobs": "w!a w!b w!c",
    }  # fmt: skip
    assert drawn.notes["mark 6"] == {"message": 5, "bytes": 7, "now": None, "events": None, "jobs": None}
    assert drawn.notes["mark 9"]["jobs"] == " ".join(f"w!n{number}" for number in range(20)) + " and 1 more"
    assert drawn.notes["w!a"] == {
        "hosts": "0-1", "profile": "w!p", "submitted": 1.0, "waited": 1.0, "walltime": 9.0,
        "state": "COMPLETED_SUCCESSFULLY",
    }  # fmt: skip
    assert drawn.notes["w!b"]["state"] == "not over"


@pytest.mark.parametrize(
    ("hosts", "allocated", "tracks"),
    [
        (64, "0-1", ["host 0", "host 1"]),
        (65, "0-2 64", ["hosts 0-1", "hosts 2-3", "host 64"]),
        (128, "127", ["hosts 126-127"]),
        (129, "0 3 128", ["hosts 0-2", "hosts 3-5", "hosts 126-128"]),
        (4, "3-9", ["host 3"]),
        (1, "0", ["host 0"]),
    ],
)
def test_groups_of_hosts(hosts: int, allocated: str, tracks: list[str]) -> None:
    said = Said()
    said.say(B2E, 0.0, begins(hosts), submit("a", 0.0))
    said.say(E2B, 0.0, execute("a", allocated, 0.0))
    drawn = Drawn()
    trace(said, drawn)
    assert [track.partition("/")[2] for *_, track, _ in drawn.slices] == tracks


def test_values_of_probes() -> None:
    said = Said()
    said.say(B2E, 1.0, probed(1.0, 2.0, 3.0, metrics=model.Metrics.NetworkLoad))
    drawn = Drawn()
    trace(said, drawn)
    assert drawn.counts[0] == (SECOND, "pr (NetworkLoad) []", 5.0)


# Timelines


def test_a_timeline() -> None:
    data = read_conversation(conversation(), "name", most_texts=2, hint="h")
    assert (data.name, data.host_count, data.host_names, data.end) == ("name", 4, ("h0", "h1", "h2", "h3"), 6.0)
    found = {job.job_id: (job.submitted, job.started, job.finished, job.hosts, job.user) for job in data.jobs}
    assert {name: found[name] for name in ("w!a", "w!b", "w!c", "w!d", "w!n0")} == {
        "w!a": (1.0, 2.0, 4.0, ((0, 1),), "u"),
        "w!b": (1.0, 2.0, None, ((1, 1),), "7"),
        "w!c": (1.0, None, 2.0, (), ""),
        "w!d": (4.0, 4.0, None, ((0, 0),), ""),
        "w!n0": (6.0, None, None, (), ""),
    }
    messages = data.messages
    assert messages is not None
    kinds = [messages.kind_names[kind] for kind in messages.kinds]
    assert kinds == [
        *("SimulationBegins", "", "JobSubmitted", "RejectJob", "ProbeDataEmitted", "", "JobCompleted", "ExecuteJob"),
        "JobSubmitted",
    ]
    assert list(messages.times) == [0.0, 0.0, 1.0, 2.0, 3.0, 3.0, 4.0, 4.0, 6.0]
    assert list(messages.senders) == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert list(messages.events) == [1, 0, 3, 3, 1, 0, 3, 1, 22]
    assert (messages.text_count, messages.hint) == (2, "h")
    begin, of_jobs = messages.by_job(["w!a", "w!c"])
    assert (list(begin), list(of_jobs)) == ([0, 3, 5], [2, 3, 6, 2, 3])
    (series,) = data.given
    assert (series.name, series.unit, series.lane, series.is_step) == ("pr", "W", "probe pr", False)
    assert (list(series.times), list(series.values)) == ([3.0, 4.0, 6.0], [5.0, 5.0, 6.0])


def test_what_probes_measure() -> None:
    hosts = model.HostResources("0")
    for metrics, units in ((model.Metrics.Power, "W J"), (model.Metrics.NetworkLoad, "B/s B")):
        for accumulation, unit in (
            (model.NoProbeDataAccumulation(), units.split()[0]),
            (model.ProbeDataAccumulation(), units.split()[1]),
            (model.ProbeDataAccumulation(temporal_normalization=True), units.split()[0]),
        ):
            said = Said()
            create = model.CreateProbeEvent(
                probe_id="pr", metrics=metrics, resources=hosts, data_accumulation_strategy=accumulation,
                measurement_triggering_policy=model.OneShot(1), timestamp=0.0,
            )  # fmt: skip
            said.say(E2B, 0.0, create)
            said.say(B2E, 2.0, probed(2.0, 1.0, 2.0, metrics=metrics), probed(1.0, 1.0, 2.0, 4.0, metrics=metrics))
            (series,) = read_conversation(said, "x").given
            assert (series.unit, series.name) == (unit, "pr (sum of 3)")
            assert (list(series.times), list(series.values)) == ([1.0, 2.0], [7.0, 3.0])


def test_hosts_that_are_switched() -> None:
    def asked(hosts: str, time: float) -> Event:
        return model.TurnOnOffHostsEvent(host_ids=hosts, state=1, timestamp=time)

    def done(hosts: str, time: float) -> Event:
        return model.HostsTurnedOnOffEvent(host_ids=hosts, state=1, timestamp=time)

    said = Said()
    said.say(B2E, 1.0, begins(4))
    said.say(E2B, 1.0, asked("1-2", 1.0))
    said.say(B2E, 3.0, done("1-2", 3.0))
    said.say(E2B, 5.0, asked("2", 5.0))
    said.say(B2E, 6.0, done("2", 6.0), asked("x", 6.0), done("1000000", 6.0))
    said.say(E2B, 8.0)
    data = read_conversation(said, "x")
    assert [(each.first, each.last, each.start, each.end, each.is_switching) for each in data.off_duty] == [
        (1, 2, 1.0, 3.0, True),
        (2, 2, 3.0, 5.0, False),
        (2, 2, 5.0, 6.0, True),
        (1, 1, 3.0, 8.0, False),
    ]


def test_what_is_no_conversation() -> None:
    with pytest.raises(InputError, match="a timeline needs messages in the current schema, and x has none"):
        read_conversation([Entry(5, E2B, b"garbage")], "x")
    for hosts, is_read in (("999999", True), ("1000000", False)):
        said = Said()
        said.say(B2E, 0.0, submit("a", 0.0))
        said.say(E2B, 0.0, execute("a", hosts, 0.0))
        if is_read:
            assert read_conversation(said, "x").host_count == 1_000_000
        else:
            with pytest.raises(InputError, match="the numbers of hosts are below 1,000,000, got 1000000"):
                read_conversation(said, "x")
    assert CapturedJob(job_id="a").host_count == 0
