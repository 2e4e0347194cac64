"""Translation: through an older protocol and back, nothing that matters changes; what is lost is told."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from old_runs import OldRun, old_runs
from support import ROOT

sys.path.insert(0, str(ROOT / "examples"))

from dynamic_registration import LoadGenerator
from easy_backfilling import EASY
from fcfs import FCFS
from killer import Killer

from batprotocol import MessageBuilder, model
from batprotocol.edc import Scheduler
from batprotocol.legacy import JobStore, decode, encode
from batprotocol.legacy import json_events as e
from batprotocol.legacy.bridge import CheckedScheduler
from batprotocol.legacy.conversation import Conversation
from batprotocol.legacy.json.values import Job, JobProfile
from batprotocol.legacy.text import wire as text_wire
from batprotocol.legacy.text.runtime import from_json, to_json
from batprotocol.legacy.translate import Options, ToOldBatsim, ToOldScheduler
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    Platform,
    Result,
    StaticJob,
    Workload,
    read_platform,
    simulate,
)

WITHOUT_ENGINE = True
CLEAN = [run for run in old_runs() if run.is_clean]


class Through:
    """A scheduler of today, behind a translation to an older protocol and back from it."""

    def __init__(self, scheduler: Scheduler, version: str, options: Options, text: bool = False) -> None:
        self.store = JobStore({}, "p") if text else None
        self.down = ToOldScheduler(version, options, self.store)
        self.up = ToOldBatsim(version, self.store)
        self.judged = CheckedScheduler(scheduler)
        self.rules = Conversation(
            "batsim-1.4.0" if version < "2" else "batsim-2.0.0" if version < "3" else "batsim-4.2.1"
        )
        self.version = version
        self.text = text
        self.said: list[e.Event] = []
        self.hello_is_due = True

    def hello(self, text: str) -> model.Message:
        return self.down.hello(text)

    def answer(self, message: model.Message) -> model.Message:
        told = self.down.hear(message)
        if told is None:
            return self.down.say(None)
        told = self.carried(told, True)
        if self.hello_is_due:
            self.hello_is_due = False
            self.up.begin(self.judged.hello(self.up.init(told)))
        reply = self.up.say(self.judged.answer(self.up.hear(told)))
        self.said += reply.events
        return self.down.say(self.carried(reply, False))

    def carried(self, message: e.Message, from_batsim: bool) -> e.Message:
        """The message as the other side reads it, judged by the rules of its Batsim."""
        if self.text:
            said, left = from_json(message)
            assert all(isinstance(event, e.Notify) for event in left)
            read = to_json(text_wire.decode(text_wire.encode(said)))
            begins = [event for event in message.events if isinstance(event, e.SimulationBegins)]
            events = [event for event in read.events if not isinstance(event, e.SimulationBegins)]
            return e.Message(read.now, (*begins, *events))
        data = encode(message, self.version)
        found = self.rules.feed(data)
        assert [violation for violation in found if violation.is_fatal] == [], data
        return decode(data, self.version, strict=True)


def schedule(result: Result) -> list[tuple[str, str, float, float]]:
    """What became of each job: how it ended, and when it began and finished, to the millisecond."""
    rows = [
        (row.job_id, row.final_state.name, round(row.starting_time or 0, 2), round(row.finish_time or 0, 2))
        for row in result.jobs
    ]
    return sorted(rows)


def both(
    make: Callable[[], Scheduler], version: str, platform: Any, workload: Any, options: Options, text: bool = False
) -> tuple[Result, Result, Through]:
    through = Through(make(), version, options, text)
    return simulate(platform, workload, make()), simulate(platform, workload, through), through


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "version"),
    [*((FCFS, version) for version in ("1.0", "1.4", "2.0", "3.0", "4.2")), (EASY, "1.4"), (EASY, "4.2")],
)
def test_schedulers_decide_the_same_through_each_version(make: type[Scheduler], version: str) -> None:
    through = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Through(make(), version, Options(), False))
    assert schedule(through) == schedule_without(make)
    assert through.is_complete


@cache
def schedule_without(make: type[Scheduler]) -> object:
    """The schedule of the example without a translation."""
    return schedule(simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, make()))


def test_schedulers_decide_the_same_through_text() -> None:
    direct, through, made = both(FCFS, "1.4", read_platform(EXAMPLE_PLATFORM), EXAMPLE_WORKLOAD, Options(), text=True)
    assert schedule(through) == schedule(direct)
    assert made.store is not None
    assert made.store.job("w0!1") is not None


SMALL = Workload([StaticJob(str(number), 3.0 * number, 1, model.DelayProfile(10.0)) for number in range(6)])


@pytest.mark.parametrize("version", ["1.4", "2.0", "4.2"])
@pytest.mark.parametrize("acknowledge", [False, True])
def test_jobs_are_registered_through_each_version(version: str, acknowledge: bool) -> None:
    options = Options(dynamic=True, acknowledge=acknowledge)
    _, result, through = both(LoadGenerator, version, Platform.homogeneous(4), SMALL, options)
    assert result.is_complete
    registered = [event for event in through.said if isinstance(event, e.SubmitJob | e.RegisterJob)]
    assert registered
    assert len(list(result.jobs)) == len(SMALL) + len(registered)


@pytest.mark.parametrize("version", ["1.2", "1.4", "2.0", "4.2"])
def test_jobs_are_killed_through_each_version(version: str) -> None:
    jobs = [StaticJob(str(number), 1.0 * number, 1, model.DelayProfile(1000.0)) for number in range(4)]
    direct, result, through = both(Killer, version, Platform.homogeneous(4), Workload(jobs), Options())
    assert schedule(result) == schedule(direct)
    assert any(isinstance(event, e.KillJob) for event in through.said)


class Clock(Scheduler):
    """Asks for calls of all kinds, and writes down when they come."""

    def __init__(self) -> None:
        self.came: list[tuple[str, float, bool]] = []

    def on_simulation_begins(self, event: model.SimulationBeginsEvent) -> None:
        self.reply.add_call_me_later("once", model.OneShot(12))
        self.reply.add_call_me_later("past", model.OneShot(0))
        self.reply.add_call_me_later("thrice", model.Periodic(5, mode=model.FinitePeriodNumber(3)))
        self.reply.add_call_me_later("endless", model.Periodic(10))

    def on_job_submitted(self, event: model.JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, "0")

    def on_requested_call(self, event: model.RequestedCallEvent) -> None:
        self.came.append((event.call_me_later_id, round(event.timestamp, 1), event.last_periodic_call))
        if event.call_me_later_id == "endless" and event.timestamp > 25:
            self.reply.add_stop_call_me_later("endless")


@pytest.mark.parametrize("version", ["1.4", "4.2"])
def test_calls_come_when_they_are_asked_for(version: str) -> None:
    workload = Workload([StaticJob("1", 0.0, 1, model.DelayProfile(40.0))])
    direct, clock = Clock(), Clock()
    simulate(Platform.homogeneous(1), workload, direct)
    simulate(Platform.homogeneous(1), workload, Through(clock, version, Options()))
    assert sorted(clock.came) == sorted(direct.came)
    assert ("thrice", 15.0, True) in clock.came


class Meter(Scheduler):
    """Measures the energy of all hosts."""

    def __init__(self) -> None:
        self.joules: list[float] = []

    def on_simulation_begins(self, event: model.SimulationBeginsEvent) -> None:
        self.reply.add_create_probe(
            "energy",
            hosts=[host.id for host in event.computation_hosts],
            trigger=model.Periodic(100, mode=model.FinitePeriodNumber(2)),
            accumulation=model.ProbeDataAccumulation(),
            aggregation=model.Sum(),
        )

    def on_job_submitted(self, event: model.JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, "0")

    def on_probe_data_emitted(self, event: model.ProbeDataEmittedEvent) -> None:
        assert isinstance(event.data, model.AggregatedProbeData)
        self.joules.append(event.data.data)


def test_energy_is_asked_for_and_answered_in_the_way_of_the_version() -> None:
    path = ROOT / "tests" / "data" / "simulations" / "inputs" / "platforms" / "energy_platform_homogeneous.xml"
    platform = read_platform(path, energy=True)
    workload = Workload([StaticJob("1", 0.0, 1, model.DelayProfile(400.0))])
    for version in ("1.4", "4.2"):
        meter = Meter()
        through = Through(meter, version, Options())
        simulate(platform, workload, through, energy=True)
        asked = [event for event in through.said if isinstance(event, e.Query | e.QueryRequest)]
        assert len(asked) == len(meter.joules) > 0
        assert meter.joules == sorted(meter.joules)
        assert meter.joules[0] > 0
        assert any("a probe measures it" in loss.instead for loss in through.down.report)


# Recorded Batsims


@pytest.mark.slow
@pytest.mark.parametrize("make", [FCFS, EASY])
def test_recorded_batsims_drive_the_examples_to_the_end_with_the_rules_on(make: type[Scheduler]) -> None:
    """They do not answer what is said now, but what was said then: what they say is odd, and holds."""
    for run in CLEAN:
        assert played(run, make()) == "SIMULATION_ENDS"


def played(run: OldRun, scheduler: Scheduler) -> str:
    prefix = next(iter(run.redis)).partition(":")[0] if run.redis else ""
    store = JobStore({key: text.encode() for key, text in run.redis.items()}, prefix) if run.redis else None
    up, judged = ToOldBatsim(run.version, store), CheckedScheduler(scheduler)
    heard = [decode(data, run.version) for side, data in run.messages if side == "b2s"]
    up.begin(judged.hello(up.init(heard[0])))
    last = ""
    for message in heard:
        encode(up.say(judged.answer(up.hear(message))), run.version)
        last = "SIMULATION_ENDS" if any(isinstance(event, e.SimulationEnds) for event in message.events) else last
    return last


# What is lost


def begun(version: str = "4.2", options: Options = Options()) -> ToOldScheduler:  # noqa: B008
    down = ToOldScheduler(version, options)
    down.hello()
    builder = MessageBuilder()
    host = model.Host(id=0, name="a", state=model.HostState.IDLE, computation_speed=[1.0])
    builder.add_simulation_begins(batsim_version="5", computation_hosts=[host])
    builder.add_job_submitted("w0!1", model.Job(profile_id="w0!p", resource_request=1, extra_data='{"user": "x"}'), 0.0)
    down.hear(builder.finish_message())
    return down


FAILS = JobProfile({"type": "delay", "delay": 1, "ret": 3})
LOST: list[tuple[e.Event, str, list[str]]] = [
    (e.SetJobMetadata(0.0, "w0!1", "x"), "SetJobMetadata", []),
    (e.ToJobMsg(0.0, "w0!1", "x"), "ToJobMsg", []),
    (e.Answer(0.0, {"estimate_waiting_time": {}}), "Answer", []),
    (e.OtherEvent(0.0, "FORK", {}), "FORK", []),
    (e.Notify(0.0, "unheard_of"), "NOTIFY", []),
    (e.ChangeJobState(0.0, "w0!1", "RUNNING"), "CHANGE_JOB_STATE", []),
    (e.ChangeJobState(0.0, "w0!1", "NOT_SUBMITTED"), "CHANGE_JOB_STATE", []),
    (e.ExecuteJob(0.0, "w0!1", "0", additional_io_job={"a": 1}), "EXECUTE_JOB", ["ExecuteJobEvent"]),
    (e.ExecuteJob(0.0, "w0!1", "0", mapping={"x": 1}), "EXECUTE_JOB", ["ExecuteJobEvent"]),
    (e.ExecuteJob(0.0, "w0!1", "3-1"), "EXECUTE_JOB", []),
    (e.KillJob(0.0, ("w0!1",)), "KILL_JOB", ["CallMeLaterEvent"]),
    (e.SetResourceState(0.0, "0", "x"), "SET_RESOURCE_STATE", []),
    (e.Query(0.0, {"processor_temperature_all": {}}), "QUERY", []),
    (e.RegisterJob(0.0, "dyn!1"), "REGISTER_JOB", []),
    (e.RegisterProfile(0.0, "dyn", "p", JobProfile({"type": "send"})), "REGISTER_PROFILE", []),
    (e.RegisterProfile(0.0, "dyn", "p", FAILS), "REGISTER_PROFILE", ["RegisterProfileEvent"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "name", "instead"), LOST, ids=lambda value: value if isinstance(value, str) else None
)
def test_what_a_scheduler_of_old_says_in_vain_is_told(event: e.Event, name: str, instead: list[str]) -> None:
    down = begun()
    reply = down.say(e.Message(0.0, (event,)))
    assert [type(each).__name__ for each in reply.events] == instead
    assert [loss.event for loss in down.report] == [name]
    assert all(str(loss) for loss in down.report.lines())


def test_a_job_that_was_only_said_to_run_is_rejected_when_it_is_said_to_end() -> None:
    down = begun()
    assert down.say(e.Message(0.0, (e.ChangeJobState(0.0, "w0!1", "RUNNING"),))).events == ()
    done = down.say(e.Message(1.0, (e.ChangeJobState(1.0, "w0!1", "COMPLETED_SUCCESSFULLY"),)))
    assert [type(event) for event in done.events] == [model.RejectJobEvent]


def test_what_a_job_was_said_to_be_is_told_in_older_words() -> None:
    down = ToOldScheduler("4.2")
    down.hello()
    job = model.Job(profile_id="w0!p", resource_request=3, walltime=5.0, extra_data='{"user": "x", "id": 7}')
    told = down.hear(
        model.Message(1.0, [model.JobSubmittedEvent(job_id="w0!1", job=job, submission_time=0.5, timestamp=1.0)])
    )
    assert told is not None
    assert told.events == (e.JobSubmitted(1.0, "w0!1", Job("w0!1", "p", 3, 0.5, 5.0, {"user": "x"})),)


def test_external_events_are_notifications_and_back() -> None:
    text = json.dumps({"type": "cooling_alert", "rack": "r1"})
    event = model.ExternalEventOccurredEvent(id="x", external_event=model.GenericExternalEvent(text), timestamp=1.0)
    told = ToOldScheduler("4.2").hear(model.Message(1.0, [event]))
    assert told is not None
    assert told.events == (e.Notify(1.0, "cooling_alert", extra={"rack": "r1"}),)
    back = ToOldBatsim("4.2").hear(told).events[0]
    assert isinstance(back, model.ExternalEventOccurredEvent)
    assert json.loads(back.external_event.data) == json.loads(text)


WISHES: list[tuple[str, model.Event, int]] = [
    ("4.2", model.TriggerProbeEvent(probe_id="p"), 0),
    ("4.2", model.ResetProbeEvent(probe_id="p"), 0),
    (
        "4.2",
        model.CreateProbeEvent(
            probe_id="p", resources=model.LinkResources(["l"]), measurement_triggering_policy=model.Periodic(1)
        ),
        0,
    ),
    (
        "4.2",
        model.RegisterProfileEvent(profile=model.ProfileAndId("w!p", model.ForkJoinCompositionProfile(["w!a"]))),
        0,
    ),
    ("4.2", model.ForceSimulationStopEvent(), 0),
    (
        "1.4",
        model.RegisterJobEvent(job_id="w!name", job=model.Job(profile_id="w!p", resource_request=1)),
        1,
    ),
    (
        "4.2",
        model.ExecuteJobEvent(
            job_id="w!1",
            allocation=model.AllocationPlacement("0", model.PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst),
        ),
        1,
    ),
    (
        "4.2",
        model.ExecuteJobEvent(
            job_id="w!1",
            allocation=model.AllocationPlacement("0"),
            profile_allocation_override=[model.ProfileAllocationPlacement("w!p", "0")],
        ),
        1,
    ),
]


@pytest.mark.parametrize(("version", "event", "said"), WISHES)
def test_what_a_component_of_today_wants_in_vain_is_told(version: str, event: model.Event, said: int) -> None:
    up = ToOldBatsim(version)
    up.hear(e.Message(0.0, (e.SimulationBegins(0.0, resources_data=(), workloads={}),)))
    before = len(up.report)
    reply = up.say(model.Message(0.0, [event]))
    assert len(reply.events) == said
    assert len(up.report) == before + 1
    encode(reply, version)


def test_events_that_share_the_last_message_come_before_its_end() -> None:
    up = ToOldBatsim("1.4")
    message = e.Message(5.0, (e.SimulationEnds(4.0), e.JobCompleted(5.0, "w!1", job_state="COMPLETED_SUCCESSFULLY")))
    told = up.hear(message).events
    assert [type(event).__name__ for event in told] == [
        "JobCompletedEvent",
        "AllStaticJobsHaveBeenSubmittedEvent",
        "AllStaticExternalEventsHaveBeenInjectedEvent",
        "SimulationEndsEvent",
    ]
    assert [event.timestamp for event in told] == sorted(event.timestamp for event in told)
