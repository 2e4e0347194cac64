"""Where two messages differ, and what a message means: tolerances, orders, forms, made-up ids; and numbers of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from batprotocol import Event, Job, Message, MessageBuilder, model
from batprotocol.model import Direction, FinalJobState, TimeUnit
from batprotocol.recordings import CapturedJob, Entry, statistics_of
from batprotocol.recordings.canonical import (
    CanonicalForms,
    CanonicalMessage,
    RequestedIds,
    as_milliseconds,
    difference,
    in_order,
    label,
)
from batprotocol.recordings.comparison import differing_jobs
from batprotocol.recordings.statistics import JobBook, canonical_hosts, host_count, statistics_of_jobs

pytestmark = pytest.mark.once
B2E, E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM


def reject(job: str, time: float = 1.0) -> Event:
    return model.RejectJobEvent(job_id=f"w!{job}", timestamp=time)


def execute(job: str, hosts: str, time: float = 1.0) -> Event:
    return model.ExecuteJobEvent(
        job_id=f"w!{job}", allocation=model.AllocationPlacement(host_allocation=hosts), timestamp=time
    )


def submit(job: str, time: float = 1.0, submitted: float = 1.0, **more: Any) -> Event:
    given = {"resource_request": 2, "walltime": 5.0, "profile_id": "w!p"} | more
    return model.JobSubmittedEvent(job_id=f"w!{job}", job=Job(**given), submission_time=submitted, timestamp=time)


def completed(job: str, code: int, time: float) -> Event:
    state = FinalJobState.COMPLETED_SUCCESSFULLY
    return model.JobCompletedEvent(job_id=f"w!{job}", state=state, return_code=code, timestamp=time)


def probed(*values: float, time: float = 1.0) -> Event:
    data = model.VectorialProbeData(data=list(values)) if len(values) > 1 else model.AggregatedProbeData(data=values[0])
    return model.ProbeDataEmittedEvent(
        probe_id="p", metrics=model.Metrics.Power, resources=model.HostResources("0"), data=data, timestamp=time
    )


def between(one: list[Event], other: list[Event], tolerance: float = 1e-6, now: float = 1.0) -> str:
    found = difference(
        CanonicalMessage.exactly(Message(1.0, one)), CanonicalMessage.exactly(Message(now, other)), tolerance
    )
    return "" if found is None else str(found)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ([], [], ""),
        ([reject("1")], [reject("1")], ""),
        ([reject("1")], [], "events: RejectJobEvent of 'w!1' and nothing"),
        ([], [reject("1")], "events: nothing and RejectJobEvent of 'w!1'"),
        ([reject("1")], [reject("2")], "events: RejectJobEvent of 'w!1' and RejectJobEvent of 'w!2'"),
        ([reject("1"), reject("1")], [reject("1")], "events: RejectJobEvent of 'w!1' and nothing"),
        (
            [reject("1"), reject("2"), reject("3")],
            [reject("1"), reject("3"), reject("2")],
            "the order of events: RejectJobEvent of 'w!2' and RejectJobEvent of 'w!3'",
        ),
        ([reject("1", 0.5)], [reject("1", 0.5 + 1e-7)], ""),
        ([reject("1", 0.5)], [reject("1", 0.75)], "RejectJobEvent of 'w!1', timestamp: 0.5 and 0.75"),
        ([execute("1", "0")], [execute("1", "1")], "ExecuteJobEvent of 'w!1', allocation.host_allocation: '0' and '1'"),
        ([submit("1", submitted=0.0)], [submit("1", submitted=1e-6)], ""),
        (
            [submit("1", submitted=0.0)],
            [submit("1", submitted=2e-6)],
            "JobSubmittedEvent of 'w!1', submission_time: 0.0 and 2e-06",
        ),
        ([submit("1", walltime=5.0)], [submit("1", walltime=5.0 * (1 + 1e-10))], ""),
        (
            [submit("1", walltime=5.0)],
            [submit("1", walltime=5.0000001)],
            "JobSubmittedEvent of 'w!1', job.walltime: 5.0 and 5.0000001",
        ),
        ([submit("1", walltime=None)], [submit("1")], "JobSubmittedEvent of 'w!1', job.walltime: nothing and 5.0"),
        ([submit("1")], [submit("1", resource_request=3)], "JobSubmittedEvent of 'w!1', job.resource_request: 2 and 3"),
        ([probed(5.0)], [probed(5.0 * (1 + 9e-7))], ""),
        ([probed(5.0)], [probed(5.000015)], "ProbeDataEmittedEvent of 'p', data.data: 5.0 and 5.000015"),
        ([probed(1.0, 2.0)], [probed(1.0, 2.0000001)], ""),
        ([probed(1.0, 2.0)], [probed(1.0, 3.0)], "ProbeDataEmittedEvent of 'p', data.data[1]: 2.0 and 3.0"),
        ([probed(1.0, 2.0)], [probed(1.0, 2.0, 3.0)], "ProbeDataEmittedEvent of 'p', data.data[2]: nothing and 3.0"),
        ([probed(0.0)], [probed(9e-10)], ""),
        ([probed(0.0)], [probed(2e-9)], "ProbeDataEmittedEvent of 'p', data.data: 0.0 and 2e-09"),
        ([probed(float("nan"))], [probed(float("nan"))], ""),
        ([probed(float("nan"))], [probed(1.0)], "ProbeDataEmittedEvent of 'p', data.data: nan and 1.0"),
    ],
)
def test_where_events_differ(one: list[Event], other: list[Event], said: str) -> None:
    assert between(one, other) == said


def test_times_of_messages_and_the_tolerance() -> None:
    assert between([], [], now=1.0 + 5e-7) == ""
    assert between([], [], now=1.25) == "now: 1.0 and 1.25"
    assert between([], [], tolerance=0.25, now=1.25) == ""
    assert between([], [], tolerance=0.2, now=0.75) == "now: 1.0 and 0.75"
    assert between([reject("1", 1.0)], [reject("1", 0.5)], tolerance=0.5) == ""
    assert between([reject("1", 1.0)], [reject("1", 0.5)], tolerance=0.4) != ""
    # A difference in an event comes first.
    assert between([reject("1")], [reject("2")], now=2.0).startswith("events: ")


# What a message means


def means(*events: Event, direction: Direction = E2B, now: float = 1.0, batsim: float = 0.0) -> list[Event]:
    meaning = CanonicalForms()
    meaning.of(B2E, Message(batsim))
    return list(meaning.of(direction, Message(now, events)).message.events)


def test_host_sets_and_orders_have_one_form() -> None:
    assert means(execute("1", "3 0-1 2")) == [execute("1", "0-3")]
    assert means(reject("2"), reject("1")) == [reject("1"), reject("2")]
    assert means(reject("2", 0.5), reject("1")) == [reject("2", 0.5), reject("1")]
    assert means(execute("2", "0"), execute("1", "0-1")) == [execute("2", "0"), execute("1", "0-1")]
    assert means(execute("2", "2"), execute("1", "0-1")) == [execute("1", "0-1"), execute("2", "2")]
    kill = model.KillJobsEvent(job_ids=["w!2", "w!1"], timestamp=1.0)
    (meant,) = means(kill)
    assert getattr(meant, "job_ids") == ("w!1", "w!2")  # noqa: B009
    assert means(reject("1", 0.5), batsim=3.0) == [reject("1", 3.0)]
    assert means(submit("1", 0.5), direction=B2E, now=3.0) == [submit("1", 0.5)]
    assert means(submit("1", profile_id="p", walltime=-1.0, extra_data="")) == [submit("1", walltime=None)]
    assert means(submit("1", profile_id="v!p", walltime=0.0, extra_data="x")) == [
        submit("1", profile_id="v!p", walltime=0.0, extra_data="x")
    ]
    meaning = CanonicalForms()
    meaning.of(B2E, Message(5.0))
    assert meaning.of(E2B, Message(4.0)).message.now == 5.0
    assert meaning.of(E2B, Message(6.0)).message.now == 6.0
    assert meaning.of(B2E, Message(4.0)).message.now == 4.0


def test_made_up_ids_are_named_by_what_they_are_of() -> None:
    def call(name: str, time: int, unit: TimeUnit = TimeUnit.Second) -> Event:
        return model.CallMeLaterEvent(call_me_later_id=name, when=model.OneShot(time, unit), timestamp=1.0)

    def called(name: str, time: float) -> Event:
        return model.RequestedCallEvent(call_me_later_id=name, last_periodic_call=False, timestamp=time)

    def of(*given: tuple[Direction, float, Event]) -> list[Any]:
        meaning = CanonicalForms()
        found: list[Any] = []
        for number, (direction, now, event) in enumerate(given):
            if number == 2:
                meaning.skip()
            found += meaning.of(direction, Message(now, [event])).message.events
        return found

    first = of(
        (E2B, 1.0, call("a", 5)), (E2B, 1.0, call("b", 6)), (B2E, 5.0, called("a", 5.0)), (B2E, 6.0, called("b", 6.0))
    )
    other = of(
        (E2B, 1.0, call("x", 5000, TimeUnit.Millisecond)),
        (E2B, 1.0, call("x", 6)),
        (B2E, 5.0, called("x", 5.0)),
        (B2E, 6.0, called("x", 6.0)),
    )
    assert first == other
    assert first[0].call_me_later_id == first[2].call_me_later_id
    assert first[0].call_me_later_id.startswith("of message 1, OneShot(time=5000")
    assert first[1].call_me_later_id.startswith("of message 2, OneShot(time=6000")
    assert first[0].call_me_later_id != first[1].call_me_later_id
    assert of((B2E, 5.0, called("nobody's", 5.0)))[0].call_me_later_id == "nobody's"


def test_names_of_calls() -> None:
    names = RequestedIds()
    one, two = model.OneShot(5000, TimeUnit.Millisecond), model.OneShot(7000, TimeUnit.Millisecond)
    periodic = model.Periodic(1000, 0, TimeUnit.Millisecond)
    late, soon, often = names.ask("a", two, "late"), names.ask("a", one, "soon"), names.ask("a", periodic, "often")
    assert names.get("a") == often
    assert names.fire("a", 1.0, last=False) == often  # neither is due
    assert names.fire("a", 5.0, last=False) == soon
    assert names.fire("a", 6.9, last=False) == often
    assert names.fire("a", 7.0 - 5e-7, last=False) == late
    assert names.stop("b") == names.get("b") == names.fire("b", 1.0, last=True) == "b"
    assert names.stop("a") == often
    assert names.stop("a") == names.get("a") == "a"
    names.ask("c", one, "x")
    assert names.stop("c") == "c"
    assert names.get("c") == f"x, {one!r}"
    assert names.fire("c", 9.0, last=True) == f"x, {one!r}"
    assert names.get("c") == "c"
    again = names.ask("d", periodic, "p")
    assert names.fire("d", 1.0, last=True) == again
    assert names.get("d") == "d"
    assert as_milliseconds(model.Periodic(2, 1, TimeUnit.Second)) == model.Periodic(2000, 1000, TimeUnit.Millisecond)
    assert as_milliseconds(one) is one


def test_the_order_of_what_commutes() -> None:
    stop = model.StopCallMeLaterEvent(call_me_later_id="a", timestamp=1.0)
    assert in_order([], 0.0) == []
    assert in_order([reject("2")], 0.0) == [0]
    assert in_order([reject("3"), reject("1"), reject("2")], 0.0) == [1, 2, 0]
    assert in_order([reject("3"), execute("3", "0"), reject("1")], 0.0) == [2, 0, 1]
    assert in_order([reject("3", 1.0), reject("1", 1.5)], 0.5) == [1, 0]
    assert in_order([reject("3", 1.0), reject("1", 1.5)], 0.4) == [0, 1]
    assert in_order([submit("3"), submit("1")], 0.0) == [0, 1]
    assert in_order([execute("3", "0-3"), execute("2", "4"), execute("1", "3")], 0.0) == [1, 0, 2]
    assert in_order([execute("3", "2000000"), execute("1", "5")], 0.0) == [0, 1]
    assert in_order([stop, reject("1")], 0.0) == [1, 0]
    ends = model.SimulationEndsEvent(timestamp=1.0)
    assert in_order([reject("2"), ends, reject("1")], 0.0) == [0, 1, 2]
    assert label(model.KillJobsEvent(job_ids=["a", "b"], timestamp=1.0)) == ("KillJobsEvent", "a b")
    assert label(ends) == ("SimulationEndsEvent", "")


# Jobs and numbers


def ran(name: str, *times: float, hosts: str = "0", state: Any = FinalJobState.COMPLETED_SUCCESSFULLY) -> CapturedJob:
    submitted, started, finished = times
    return CapturedJob(job_id=name, submitted=submitted, started=started, finished=finished, hosts=hosts, state=state)


def test_the_numbers_of_jobs() -> None:
    jobs = [ran(str(number), 1.0, 1.0 + number, 11.0 + 2 * number, hosts=f"0-{number % 3}") for number in range(7)]
    jobs.append(CapturedJob(job_id="r", submitted=0.0, rejected=1.0, state=FinalJobState.REJECTED))
    jobs.append(CapturedJob(job_id="s", started=3.0, finished=3.0, hosts="1", state=FinalJobState.COMPLETED_FAILED))
    found = statistics_of_jobs(jobs, 4)
    assert (found.count, found.under_way, found.makespan) == (9, 0, 22.0)
    assert found.ended == {"COMPLETED_SUCCESSFULLY": 7, "COMPLETED_FAILED": 1, "REJECTED": 1}
    # Each host counts once, from its first start to its last end.
    assert found.shares_hosts
    assert found.utilisation == ((23 - 1) + (21 - 2) + (15 - 3) + (21 - 6) - (15 - 6)) / (4 * 22.0)
    alone = statistics_of_jobs([ran(str(number), 0.0, 1.0, 11.0, hosts=f"{number}") for number in range(3)], 4)
    assert (alone.shares_hosts, alone.utilisation) == (False, 3 * 10 / (4 * 11.0))
    assert (found.waiting.max, found.waiting.mean, found.running.max) == (6.0, 21 / 8, 16.0)
    assert [job.job_id for job in found.longest_waiting] == ["6", "5", "4", "3", "2"]
    assert [job.job_id for job in found.longest_running] == ["6", "5", "4", "3", "2"]
    equal = statistics_of_jobs([ran(str(number), 0.0, 1.0, 2.0) for number in range(8)], None)
    assert [job.job_id for job in equal.longest_waiting] == ["0", "1", "2", "3", "4"]
    assert equal.utilisation is None
    assert statistics_of_jobs([], 4).makespan == 0.0
    assert statistics_of_jobs([], 4).utilisation is None
    assert statistics_of_jobs([], 4).to_json()["waiting"]["mean"] is None
    assert statistics_of_jobs([ran("a", 1.0, 1.0, 1.0)], 4).utilisation is None


def test_the_numbers_of_a_run() -> None:
    def entry(number: int, direction: Direction, now: float, wall: int | None, *events: Event) -> Entry:
        return Entry(number, direction, Message(now, events).to_binary(), wall)

    second = 10**9
    run = [
        entry(2, B2E, 1.0, 5 * second, submit("1"), submit("2")),
        entry(3, E2B, 1.0, 7 * second, execute("1", "0-1"), reject("2")),
        entry(4, B2E, 4.0, 8 * second),
        entry(5, B2E, 5.0, 20 * second),
        entry(6, E2B, 5.0, None),
        entry(7, B2E, 9.0, 21 * second, completed("1", 3, 9.0)),
        Entry(8, E2B, b"broken", 24 * second),
    ]
    found = statistics_of(run)
    assert (found.unreadable, found.hosts, found.simulated, found.seconds) == (1, None, 9.0, 19.0)
    assert (found.batsim.messages, found.edc.messages) == (4, 3)
    assert found.batsim.bytes == sum(len(each.data) for each in run if each.direction is B2E)
    assert found.batsim.events == {"JobSubmittedEvent": 2, "JobCompletedEvent": 1}
    assert list(found.edc.events) == ["ExecuteJobEvent", "RejectJobEvent"]
    assert [(turn.number, turn.seconds, turn.time) for turn in found.edc.longest] == [(8, 3.0, None), (3, 2.0, 1.0)]
    assert [(turn.number, turn.seconds, turn.time) for turn in found.batsim.longest] == [(4, 1.0, 4.0), (7, 1.0, 9.0)]
    assert found.jobs.ended == {"COMPLETED_SUCCESSFULLY": 1, "REJECTED": 1}
    assert (found.jobs.running.max, found.jobs.longest_running[0].return_code) == (8.0, 3)
    assert statistics_of([]).seconds is None
    assert statistics_of([]).batsim.seconds is None


def test_what_a_book_keeps() -> None:
    book = JobBook()
    builder = MessageBuilder(2.0)
    builder.add_register_job("w!r", Job(resource_request=1, walltime=-1.0, profile_id="p"))
    assert book.take(Message(3.0)) == []
    assert book.take(builder.finish_message(), E2B) == []
    (registered,) = book.open.values()
    assert (registered.profile_id, registered.walltime, registered.submitted) == ("w!p", None, 3.0)
    book.take(Message(4.0, [submit("r", submitted=4.0, walltime=9.0)]))
    assert (registered.walltime, registered.submitted, registered.registered) == (None, 4.0, True)
    book.take(Message(3.5, [execute("r", "2 0-1", 3.5)]), E2B)
    assert (registered.started, registered.hosts, registered.waited, registered.host_count) == (4.0, "0-2", 0.0, 3)
    book.take(Message(6.0, [execute("r", "5", 6.0), reject("r", 6.0)]), E2B)
    assert (registered.started, registered.state, registered.is_over) == (4.0, None, False)
    kills = [model.KillJobsEvent(job_ids=["w!r", "w!x"], timestamp=time) for time in (2.0, 8.0)]
    book.take(Message(8.0, kills), E2B)
    assert registered.kill_asked == 4.0
    (over,) = book.take(Message(9.0, [completed("r", 1, 8.5)]))
    assert over is registered
    assert (over.finished, over.ran, over.return_code, over.is_over) == (8.5, 4.5, 1, True)
    assert not book.open
    (rejected,) = book.take(Message(10.0, [reject("new", 7.0)]), E2B)
    assert (rejected.rejected, rejected.waited, rejected.ran, rejected.state) == (
        9.0,
        None,
        None,
        FinalJobState.REJECTED,
    )


def test_host_sets() -> None:
    for text, canonical, count in (
        *(("", "", 0), ("0", "0", 1), ("0-3 8", "0-3 8", 5), ("3-3", "3", 1), ("0 1", "0-1", 2), ("1 0", "0-1", 2)),
        *(("0-2 2-3", "0-3", 4), ("0-1 3", "0-1 3", 3), ("x", "x", 0), ("999999999", "999999999", 1)),
    ):
        assert (canonical_hosts(text), host_count(text)) == (canonical, count)


def test_jobs_that_differ() -> None:
    one = [ran("a", 0.0, 1.0, 2.0), ran("b", 0.0, 1.0, 2.0), ran("only", 0.0, 1.0, 2.0)]
    other = [ran("b", 0.0, 1.5, 2.5, hosts="1"), ran("a", 0.0, 1.0, 2.0 + 1e-7), CapturedJob(job_id="new")]
    found = list(differing_jobs(one, other))
    assert [(each.job_id, each.fields) for each in found] == [
        ("b", ("hosts", "started", "finished")),
        ("only", ()),
        ("new", ()),
    ]
    assert (found[0].one, found[0].other) == (one[1], other[0])
    assert (found[1].one, found[1].other, found[2].one, found[2].other) == (one[2], None, None, other[2])
    assert [each.fields for each in differing_jobs(one[1:2], other[:1], tolerance=0.5)] == [("hosts",)]
    assert [each.fields for each in differing_jobs(one[1:2], other[:1], tolerance=0.4)] == [
        ("hosts", "started", "finished")
    ]
    none = CapturedJob(job_id="a", submitted=0.0, hosts="0", state=FinalJobState.COMPLETED_SUCCESSFULLY)
    assert [each.fields for each in differing_jobs([none], one[:1])] == [("started", "finished")]
    assert not list(differing_jobs([none], [none]))
