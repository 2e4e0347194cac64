"""Recordings played to schedulers: those that made them decide the same, and another decision is found where it is."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from changes import Run, changed, every, exchanged, loaded, renamed, with_message
from msgspec.structs import replace
from recorded import all_runs
from support import ROOT

from batprotocol import Message, OneShot, model
from batprotocol.edc import Scheduler
from batprotocol.edc.scheduler import load
from batprotocol.errors import CaptureError, RuleViolation
from batprotocol.model import Direction
from batprotocol.recordings import Capture, Entry
from batprotocol.recordings.replays import Played, Together, _with_features, _without_forwarding, replay

pytestmark = pytest.mark.once

EXAMPLES = {
    "Killer": ("killer", "Killer"),
    "LoadGenerator": ("dynamic_registration", "LoadGenerator"),
    "PowerSaver": ("power_saver", "PowerSaver"),
    "easy": ("easy_backfilling", "EASY"),
    "easy-py": ("easy_backfilling", "EASY"),
    "fcfs": ("fcfs", "FCFS"),
    "fcfs-py": ("fcfs", "FCFS"),
}
"""The examples that made recorded runs; `easy` and `fcfs` are their models in C++."""
OTHERWISE = {"easy__delays500-p__cluster512__binary.tar.xz": 945}
"""Where an example decides otherwise than its model: EASY in C++ breaks a tie in another way."""
LONG = 20_000
"""Archives of more bytes are left to those who have minutes."""


def example(name: str) -> type[Scheduler]:
    module, cls = EXAMPLES[name]
    return load(f"{ROOT}/examples/{module}.py:{cls}")


def made_by_examples() -> list[Any]:
    paths = [path for path in all_runs() if path.name.partition("__")[0] in EXAMPLES]
    return [
        pytest.param(path, id=path.name, marks=[pytest.mark.minutes] if path.stat().st_size > LONG else [])
        for path in paths
    ]


@pytest.mark.parametrize("path", made_by_examples())
def test_examples_decide_as_they_did(path: Path) -> None:
    scheduler = example(path.name.partition("__")[0])
    with Capture(path) as run:
        played = replay(run, Together(scheduler()), in_effect=True)
    assert played.number == OTHERWISE.get(path.name), played.difference
    assert played.end == ""
    if "-py" in path.name or path.name[0].isupper():  # made by the very same: not just in effect
        assert played.unlike == 0


class Parrot:
    """Says what was said then, or something that comes to the same; what it is told must be what was told then.

    Args:
        run: the recording.
        change: what it makes of each message of the recording, Batsim's too.
    """

    def __init__(self, run: Run, change: Any) -> None:
        messages = [None if each.message is None else change(each.direction, each.message) for each in run]
        self.replies = iter(messages[1::2])
        self.told = iter(messages[2::2])

    def hello(self, text: str) -> Message:
        return self._reply()

    def answer(self, message: Message) -> Message:
        told = next(self.told)
        # What Batsim says has the ids of now; how it writes host sets is its own.
        assert told is not None
        assert [ids(event) for event in message.events] == [ids(event) for event in told.events]
        return self._reply()

    def _reply(self) -> Message:
        reply = next(self.replies)
        assert reply is not None
        return reply


def ids(event: model.Event) -> tuple[str, ...]:
    names = ("job_id", "call_me_later_id", "probe_id")
    return (type(event).__name__, *(getattr(event, name, "") for name in names))


def same(direction: Direction, message: Message) -> Message:
    return message


@pytest.mark.parametrize("change", [same, renamed, exchanged])
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.minutes)])
def test_every_recorded_run_is_played_to_its_end(every: int, change: Any) -> None:
    for path in all_runs()[::every]:
        if "reset-probe" in path.name:
            continue  # it resets a probe that there is not, whose name is all that there is to it
        run = loaded(path)
        for in_effect in (True,) if change is not same else (False, True):
            found = replay(run, Parrot(run, change), in_effect=in_effect)
            broken = next((entry.number for entry in run[1:] if entry.message is None), None)
            assert found.difference is None, (path.name, found.number, found.difference)
            assert found.replies == (len(run) if broken is None else broken) // 2, path.name
            assert (f"message {broken} of" in found.end) is (broken is not None)


# By hand


@cache
def power() -> Run:
    return loaded(next(path for path in all_runs() if "PowerSaver__power-p" in path.name))


def as_now(run: Run, scheduler: Scheduler) -> Run:
    """The run with the hello of now, so that replies can be compared exactly."""
    return with_message(run, 1, scheduler.hello(""))


def played(run: Run, scheduler: Scheduler, **options: Any) -> Played:
    return replay(run, Together(scheduler), **options)


def test_exactly_the_same_is_the_same() -> None:
    cls = example("PowerSaver")
    found = played(as_now(power(), cls()), cls())
    assert (found.difference, found.unlike, found.end, found.remark) == (None, 0, "", "")
    assert found.replies == len(power()) // 2


def every_feature(is_on: Callable[[str], bool]) -> model.EDCRequestedSimulationFeatures:
    names = model.EDCRequestedSimulationFeatures.__struct_fields__
    return model.EDCRequestedSimulationFeatures(**{name: is_on(name) for name in names})


@pytest.mark.parametrize("at", [0.0, 0.5, 3.0])
def test_hellos_are_compared_at_time_0_and_without_forwarding(at: float) -> None:
    features = every_feature(lambda name: True)
    event = model.EDCHelloEvent(
        batprotocol_version="1",
        decision_component_name="n",
        decision_component_version="v",
        requested_simulation_features=features,
        timestamp=at,
    )
    found = _with_features(Message(at, [event]), lambda given: given)
    assert found == Message(0.0, [replace(event, timestamp=0.0)])
    assert _without_forwarding(features) == every_feature(lambda name: not name.startswith("forward_"))


@pytest.mark.parametrize("by", [1e-9, 1e-3, 1.0])
@pytest.mark.parametrize("part", ["now", "timestamp", "allocation"])
def test_exactly_is_without_tolerance_and_names_the_field(part: str, by: float) -> None:
    number = next(every(power(), model.ExecuteJobEvent))[0]

    def change(event: model.Event) -> model.Event:
        if part == "timestamp":
            return replace(event, timestamp=event.timestamp + by)
        if isinstance(event, model.ExecuteJobEvent):
            return replace(event, allocation=replace(event.allocation, host_allocation="0-3"))
        return event

    said = power()[number].message
    assert said is not None
    other = replace(said, now=said.now + by) if part == "now" else replace(said, events=tuple(map(change, said.events)))
    found = replay(power(), Parrot(with_message(power(), number, other), same))
    assert found.number == number
    assert found.difference is not None
    assert part in found.difference.place
    if part != "allocation":
        assert float(found.difference.other) - float(found.difference.one) == pytest.approx(by, rel=1e-3)


def test_what_is_asked_of_the_simulation_is_a_difference_unless_only_effects_count() -> None:
    cls = example("PowerSaver")
    found = played(power(), cls())
    assert found.number == 1
    assert "forward_profiles_on_job_submission" in str(found.difference)
    found = played(power(), cls(), in_effect=True)
    assert found.difference is None
    assert "forward_profiles_on_job_submission" in found.remark

    class Registers(cls):  # type: ignore[misc, valid-type]
        features = model.EDCRequestedSimulationFeatures(dynamic_registration=True)

    assert played(power(), Registers(), in_effect=True).number == 1


def test_another_decision_is_found_with_what_was_known() -> None:
    cls = example("PowerSaver")
    number, place, event = list(every(power(), model.ExecuteJobEvent))[4]
    allocation = replace(event.allocation, host_allocation="0-3")
    run = as_now(changed(power(), number, place, allocation=allocation), cls())
    for in_effect in (False, True):
        found = played(run, cls(), in_effect=in_effect)
        assert found.number == number
        assert found.replies == number // 2
        assert found.recorded == run[number].message
        assert found.reply == power()[number].message
        assert found.known is not None
        assert found.known.number == number - 1
        assert event.job_id in [job.job_id for job in found.known.queue]


def test_other_ids_of_calls_come_to_the_same() -> None:
    killer = example("Killer")

    class OtherCalls(killer):  # type: ignore[misc, valid-type]
        def start(self, job_id: str, job: Any) -> None:
            super(killer, self).start(job_id, job)
            if job_id in self.running:
                self.reply.add_call_me_later(f"kill {job_id}", OneShot(math.ceil(self.now) + self.limit))

        def on_requested_call(self, event: Any) -> None:
            assert event.call_me_later_id.startswith("kill ")
            super().on_requested_call(replace(event, call_me_later_id=event.call_me_later_id[5:]))

    path = [path for path in all_runs() if path.name.startswith("Killer")]
    if not path:
        pytest.skip("the recording is not here")
    run = as_now(loaded(path[0]), killer())
    found = played(run, OtherCalls(), in_effect=True)
    assert (found.difference, found.end) == (None, "")
    assert found.unlike > 10
    first = next(every(run, model.CallMeLaterEvent))[0]
    assert played(run, OtherCalls()).number == first


def test_other_names_of_probes_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    cls = example("PowerSaver")
    monkeypatch.setattr(sys.modules[cls.__module__], "PROBE", "other")
    found = played(power(), cls(), in_effect=True)
    assert (found.difference, found.unlike) == (None, 2)  # it is created and stopped
    measured = [event for _, _, event in every(power(), model.ProbeDataEmittedEvent)]
    scheduler = cls()
    played(power(), scheduler, in_effect=True)
    assert scheduler.joules == measured[-1].data.data


def test_the_order_of_decisions_that_do_not_touch_one_another_comes_to_the_same() -> None:
    class Backwards(Scheduler):
        def on_simulation_begins(self, event: Any) -> None:
            self.reply.add_call_me_later("b", OneShot(20))
            self.reply.add_call_me_later("a", OneShot(10))

    class Forwards(Scheduler):
        def on_simulation_begins(self, event: Any) -> None:
            self.reply.add_call_me_later("a", OneShot(10_000, model.TimeUnit.Millisecond))
            self.reply.add_call_me_later("b", OneShot(20))

    run = with_message(power()[:4], 1, Backwards().hello(""))
    begun = run[2].message
    assert begun is not None
    reply = Message(
        begun.now,
        [
            model.CallMeLaterEvent(call_me_later_id="b", when=OneShot(20), timestamp=begun.now),
            model.CallMeLaterEvent(call_me_later_id="a", when=OneShot(10), timestamp=begun.now),
        ],
    )
    run = with_message(run, 3, reply)
    assert played(run, Backwards()).difference is None
    assert played(run, Forwards()).number == 3
    found = played(run, Forwards(), in_effect=True)
    assert (found.difference, found.unlike) == (None, 1)
    assert found.end == "the recording ends before the simulation does"


def test_initialization_data_can_be_others() -> None:
    class Told(Scheduler):
        def on_init(self, text: str) -> None:
            self.text = text

    scheduler = Told()
    played(power(), scheduler, init="else")
    assert scheduler.text == "else"


def test_what_cannot_be_played_is_told() -> None:
    garbage = [*power()[:6], Entry(6, Direction.BATSIM_TO_EDC, b"garbage"), *power()[7:]]
    cls = example("PowerSaver")
    found = played(garbage, cls(), in_effect=True)
    assert (found.replies, found.difference) == (3, None)
    assert found.end.startswith("message 6 of the recording cannot be read")
    twice = [*power()[:6], replace_direction(power()[6])]
    assert "out of turn" in played(twice, cls(), in_effect=True).end
    for broken in ([], power()[1:], [Entry(0, Direction.BATSIM_TO_EDC, b"x")]):
        with pytest.raises(CaptureError, match="initialization data"):
            played(broken, cls())


def replace_direction(entry: Entry) -> Entry:
    return Entry(entry.number, Direction.EDC_TO_BATSIM, entry.data)


def test_what_batsim_would_not_survive_is_no_reply() -> None:
    class Wrong(example("PowerSaver")):  # type: ignore[misc]
        def on_job_submitted(self, event: Any) -> None:
            self.reply.add_execute_job("w0!nobody", "0")

    with pytest.raises(RuleViolation, match="nobody"):
        played(power(), Wrong(), in_effect=True)
