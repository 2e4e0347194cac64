"""Today's schedulers with a Batsim of another age, and the reverse: what means the same is carried."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import pytest
from beside import LIMIT, Beside
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT

sys.path.insert(0, str(ROOT / "examples"))

from dynamic_registration import LoadGenerator
from easy_backfilling import EASY
from fcfs import FCFS
from killer import Killer

from batprotocol import model
from batprotocol.legacy.bridge import AgedBatsim, AgedScheduler, CheckedScheduler, NewBatsim, drive
from batprotocol.legacy.translate import TranslationReport
from batprotocol.legacy.translate.ages import AgeTranslation
from batprotocol.model import Message, OneShot, Periodic, TimeUnit
from batprotocol.schemas import AGES, TODAY, Codec, age
from batprotocol.simulator import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Result, connect, simulate
from batprotocol.testing import strategies

WITHOUT_ENGINE = True

BRIDGED = ("2023-07-18", "2023-07-20", "2024-10")


def bridged(scheduler: Any, name: str, format: str = "binary") -> tuple[Result, list[TranslationReport]]:
    """The example, with a Batsim that speaks as in another age, and a scheduler of today behind a bridge."""
    with AgedBatsim("tcp://127.0.0.1:*", age(name), format, timeout=LIMIT) as batsim:
        beside = Beside(lambda: drive(batsim, CheckedScheduler(scheduler)))
        with AgedScheduler(batsim.endpoint, age(name), timeout=LIMIT) as other:
            result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, other)
        beside.end()
        return result, [batsim.report, other.report]


@pytest.mark.parametrize(
    ("scheduler", "name"),
    [
        *((scheduler, "2024-10") for scheduler in (FCFS, EASY, Killer, LoadGenerator)),
        *((scheduler, name) for scheduler in (FCFS, Killer) for name in BRIDGED[:-1]),
    ],
)
def test_a_simulation_through_another_age_comes_to_the_same(scheduler: Any, name: str) -> None:
    result, reports = bridged(scheduler(), name)
    alone = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, scheduler())
    assert list(result.jobs) == list(alone.jobs)
    told = {(loss.event, loss.field) for report in reports for loss in report}
    assert told <= {("JobSubmittedEvent", "profile"), ("EDCHelloEvent", "batprotocol_commit")}


def test_json_goes_the_same_way() -> None:
    result, _ = bridged(FCFS(), "2024-10", "json")
    assert list(result.jobs) == list(simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, FCFS()).jobs)


def test_a_scheduler_of_another_age_serves_a_batsim_of_today() -> None:
    """The same ends the other way round: today's Batsim, a bridge, and who speaks as in 2024."""
    with (
        AgedBatsim("tcp://127.0.0.1:*", age("2024-10"), timeout=LIMIT) as old,
        NewBatsim("tcp://127.0.0.1:*", timeout=LIMIT) as new,
        AgedScheduler(old.endpoint, age("2024-10"), timeout=LIMIT) as edc,
        connect(new.endpoint, timeout=LIMIT) as batsim,
    ):
        ends = [Beside(lambda: drive(old, CheckedScheduler(FCFS()))), Beside(lambda: drive(new, edc))]
        result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, batsim)
        for end in ends:
            end.end()
    assert list(result.jobs) == list(simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, FCFS()).jobs)


# Values

TRANSLATED = [name for name in AGES if name != TODAY]


def in_seconds(event: Any) -> Any:
    """The event, with its times in milliseconds whatever their unit was."""
    for name in ("when", "measurement_triggering_policy"):
        when = getattr(event, name, None)
        if when is not None and when.time_unit is TimeUnit.Second:
            times = {each: getattr(when, each) * 1000 for each in ("time", "period", "offset") if hasattr(when, each)}
            if all(each < 2**64 for each in times.values()):
                new = msgspec.structs.replace(when, time_unit=TimeUnit.Millisecond, **times)
                event = msgspec.structs.replace(event, **{name: new})
    return event


@settings(max_examples=15)
@given(st.sampled_from(TRANSLATED), strategies.messages())
def test_whatever_is_said_is_carried_or_told(name: str, message: Message) -> None:
    translation = AgeTranslation(age(name))
    record = translation.from_today(message)
    codec = Codec(age(name))
    assert codec.decode(codec.encode(record)).keys() == record.keys()
    back = translation.to_today(codec.decode(codec.encode(record)))
    assert back.now == message.now
    dropped = len(message.events) - len(back.events)
    assert dropped >= 0
    if not translation.report:
        assert [in_seconds(event) for event in back.events] == [in_seconds(event) for event in message.events]
    if dropped:
        assert any(not loss.field for loss in translation.report)


@pytest.mark.parametrize(
    ("when", "name", "carried"),
    [
        (OneShot(7), "2023-07-20", {"time": 7.0}),
        (OneShot(7500, TimeUnit.Millisecond), "2023-07-20", {"time": 7.5}),
        (OneShot(7500, TimeUnit.Millisecond), "2024-10", {"time": 7500, "time_unit": "Millisecond"}),
    ],
)
def test_times_keep_their_meaning(when: OneShot, name: str, carried: dict[str, Any]) -> None:
    translation = AgeTranslation(age(name))
    record = translation.from_today(
        Message(3.0, (model.CallMeLaterEvent(timestamp=3.0, call_me_later_id="a", when=when),))
    )
    assert record["events"][0]["event"]["when"] == carried
    (event,) = translation.to_today(record).events
    assert isinstance(event, model.CallMeLaterEvent)
    assert event.when == when
    assert not translation.report


def test_periods_fire_at_the_same_times() -> None:
    translation = AgeTranslation(age("2023-07-20"))
    asked = model.CallMeLaterEvent(timestamp=3.0, call_me_later_id="a", when=Periodic(10))
    record = translation.from_today(Message(13.0, (asked,)))
    when = record["events"][0]["event"]["when"]
    assert (when["start_time"], when["period"]) == (20.0, 10.0)
    assert translation.to_today(record).events == (asked,)
    assert not translation.report
    when["start_time"] = 24.0
    translation.to_today(record)
    assert [loss.field for loss in translation.report] == ["when.start_time"]


def test_what_has_no_exact_time_is_rounded_up_and_told() -> None:
    translation = AgeTranslation(age("2023-07-20"))
    event = {"call_me_later_id": "a", "when_type": "OneShot", "when": {"time": 1.0005}}
    (asked,) = translation.to_today(
        {"now": 0.0, "events": [{"timestamp": 0.0, "event_type": "CallMeLaterEvent", "event": event}]}
    ).events
    assert isinstance(asked, model.CallMeLaterEvent)
    assert asked.when == OneShot(1001, TimeUnit.Millisecond)
    assert [str(loss) for loss in translation.report] == [
        "message 0, CallMeLaterEvent.when: the time is rounded up to the next millisecond"
    ]


def test_an_event_that_the_other_side_does_not_know_is_left_out_and_told() -> None:
    translation = AgeTranslation(age("2024-10"))
    switch = model.TurnOnOffHostsEvent(timestamp=1.0, host_ids="0-3", state=0)
    record = translation.from_today(Message(1.0, (switch,)))
    assert record["events"] == []
    assert [str(loss) for loss in translation.report] == [
        "message 0, TurnOnOffHostsEvent: the other side has no such event, it is left out"
    ]


def test_a_job_of_2022_asks_for_hosts_or_cores() -> None:
    translation = AgeTranslation(age("2022-01"))
    job = {
        "computation_resource_request_type": "CoreNumber",
        "computation_resource_request": {"core_number": 4},
        "profile_id": "w0!p",
    }
    event = {"timestamp": 0.0, "event_type": "JobSubmittedEvent", "event": {"job_id": "w0!1", "job": job}}
    (submitted,) = translation.to_today({"now": 0.0, "events": [event]}).events
    assert isinstance(submitted, model.JobSubmittedEvent)
    assert (submitted.job.resource_request, submitted.job.walltime) == (4, None)
    assert "cores count as hosts" in str(next(iter(translation.report)))
