"""What is known at a moment: schedulers that keep their own books know the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from recorded import all_runs, said_in
from support import ROOT

from batprotocol import Message, MessageBuilder
from batprotocol.edc.scheduler import load
from batprotocol.model import Direction, SimulationBeginsEvent
from batprotocol.recordings.states import RunState, StateFollower, state_at
from batprotocol.simulator import Platform, simulate
from batprotocol.testing import simulations
from batprotocol.wire import frames

pytestmark = pytest.mark.once
B2E, E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.minutes)])
def test_every_recorded_run_can_be_followed_to_its_end(every: int) -> None:
    """Those that break off are followed to where they do; nothing that real peers say is lost."""
    endings = set()
    for path in all_runs()[::every]:
        follower = StateFollower()
        for direction, said in said_in(path):
            follower.take(direction, said)
        known = follower.state()
        assert known.lost_at is None, path.name
        known.to_json()
        endings.add(known.phase)
    assert "the conversation is over" in endings


class Watched:
    """A scheduler that is followed, and asked after each of its turns what it knows itself."""

    def __init__(self, scheduler) -> None:
        self.scheduler = scheduler
        self.follower = StateFollower()

    def hello(self, text: str) -> Message:
        hello = self.scheduler.hello(text)
        self.follower.take(B2E, frames.encode_init(text))
        self.follower.take(E2B, frames.encode_hello(hello, "binary"))
        return hello

    def player(self, conversation):
        answer = self.scheduler.player(conversation)

        def watched(message: Message) -> Message:
            reply = answer(message)
            self.follower.take(B2E, message)
            self.follower.take(E2B, reply)
            self.compare(self.follower.state())
            return reply

        return watched

    def compare(self, known: RunState) -> None:
        own = self.scheduler
        assert [job.job_id for job in known.queue] == list(own.queue)
        assert {job.job_id: job.hosts for job in known.running} == {
            name: hosts.text for name, hosts in own.running.items()
        }
        assert known.free == own.free.text
        assert known.host_count == own.size


@given(simulations.workloads(hosts=4))
@settings(max_examples=15, deadline=None)
def test_what_is_known_is_what_a_scheduler_knows(workload) -> None:
    scheduler = load(f"{ROOT}/examples/fcfs.py:FCFS")
    simulate(Platform.homogeneous(4), workload, Watched(scheduler()))


# By hand


def begun(*more: tuple[Direction, Message]) -> list[tuple[Direction, object]]:
    mine, batsim = MessageBuilder(), MessageBuilder()
    mine.add_edc_hello("s", "1", commit="")
    batsim.add_simulation_begins(batsim_version="5", computation_hosts=hosts(4))
    return [
        (B2E, frames.encode_init("")),
        (E2B, frames.encode_hello(mine.finish_message(), "binary")),
        (B2E, batsim.finish_message()),
        (E2B, Message(0.0)),
        *more,
    ]


def hosts(count: int):
    from batprotocol import Host

    return [Host(id=number, name=f"h{number}", computation_speed=[1.0]) for number in range(count)]


def submitted(now: float, *names: str, size: int = 2) -> tuple[Direction, Message]:
    from batprotocol import Job

    builder = MessageBuilder(now)
    for name in names:
        builder.add_job_submitted(f"w0!{name}", Job(resource_request=size, walltime=5.0, profile_id="w0!p"), now)
    return B2E, builder.finish_message()


def executed(now: float, name: str, hosts: str) -> tuple[Direction, Message]:
    builder = MessageBuilder(now)
    builder.add_execute_job(f"w0!{name}", hosts)
    return E2B, builder.finish_message()


def test_moments_are_those_of_the_messages() -> None:
    said = begun(submitted(1.0, "a", "b"), executed(1.0, "b", "1 0"), submitted(4.0, "c"), (E2B, Message(4.0)))
    assert [known.queue for known in (state_at(said, 0.5),)] == [()]
    first = state_at(said, 1.0)
    assert [job.job_id for job in first.queue] == ["w0!a"]
    (running,) = first.running
    assert (running.job_id, running.started, running.ends_by, running.hosts) == ("w0!b", 1.0, 6.0, "0-1")
    assert (first.free, first.host_count, first.number, first.now) == ("2-3", 4, 5, 1.0)
    assert [job.job_id for job in state_at(said, 4.0).queue] == ["w0!a", "w0!c"]
    assert state_at(said, 3.9) == first
    assert state_at(said).now == 4.0


def test_a_reply_that_thinks_is_known_when_it_has_thought() -> None:
    said = begun(submitted(1.0, "a"), executed(3.0, "a", "0-1"))
    assert state_at(said, 2.0).running == ()
    assert [job.started for job in state_at(said, 3.0).running] == [3.0]


@pytest.mark.parametrize("broken", [None, b"garbage", (E2B, Message(1.0))])
def test_what_cannot_be_followed_is_told(broken: object) -> None:
    direction, said = broken if isinstance(broken, tuple) else (B2E, broken)
    known = state_at([*begun(), (direction, said), submitted(9.0, "a")])
    assert known.lost_at == 4
    assert known.queue == ()


def test_calls_probes_profiles_and_sleepers_are_known() -> None:
    """The recorded runs have them; what they are is in their messages."""
    seen = {"calls": 0, "probes": 0, "registered": 0, "asleep": 0, "switching_off": 0, "switching_on": 0}
    for path in all_runs():
        if not any(word in path.name for word in ("PowerSaver__power-p", "plan__calls", "registration-p")):
            continue
        follower = StateFollower()
        asleep = 0
        for direction, said in said_in(path):
            follower.take(direction, said)
            if isinstance(said, Message) and not any(isinstance(each, SimulationBeginsEvent) for each in said.events):
                known = follower.state()
                for name in seen:
                    seen[name] += bool(getattr(known, name))
                asleep = max(asleep, len(known.asleep))
                tree = known.to_json()
                assert [each["call_me_later_id"] for each in tree["calls"]] == [
                    call.call_me_later_id for call in known.calls
                ]
    assert all(seen.values()), seen


def test_a_capture_knows_by_itself() -> None:
    from batprotocol.recordings import Capture

    (path,) = [path for path in all_runs() if "PowerSaver__power-p" in path.name]
    with Capture(path) as run:
        assert run.state_at(0.0).number >= 1
        end = run.state_at()
        assert (end.phase, end.queue, end.running) == ("the conversation is over", (), ())
        assert end.ended == len(list(run.jobs())) > 10
        middle = run.state_at(150.0)
        assert middle == state_at(said_in(path), 150.0)
        with pytest.raises(ValueError, match="time"):
            run.state_at(float("nan"))
