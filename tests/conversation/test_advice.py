"""Advice: what is found in conversations that keep to the rules, against a plain version of the same, and in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT
from talks import begins, ended, executed, message, new_job, submitted, talk, turn, turned
from work import lines_of

from batprotocol.conversation.advice import Advice, Adviser, advise
from batprotocol.edc import Scheduler
from batprotocol.model import (
    AllStaticJobsHaveBeenSubmittedEvent,
    Direction,
    JobCompletedEvent,
    JobSubmittedEvent,
    Message,
    RejectJobEvent,
    SimulationBeginsEvent,
    SimulationEndsEvent,
)
from batprotocol.policies.names import named
from batprotocol.simulator import Platform, read_workload, simulate
from batprotocol.testing import strategies
from batprotocol.testing.conformance import conversations

WITHOUT_ENGINE = True


def kinds(found: list[Advice]) -> list[str]:
    return [each.kind for each in found]


# Each kind


def test_hosts_that_are_free_beside_a_job_that_fits() -> None:
    said = talk((), submitted(request=2), (), message((), 100.0), executed(hosts="0-1"))
    assert kinds(advise(said, seconds=60)) == ["hosts.free", "hosts.unused"]
    found = advise(said, seconds=60)[0]
    assert found == Advice(
        "hosts.free",
        4.0,
        100.0,
        ("w0!1",),
        "0-3",
        "from 4 to 100 (96 s), job 'w0!1' waited for 2 hosts although hosts 0-3 were free",
    )
    assert str(found).endswith(" were free [hosts.free]")
    assert advise(said, seconds=96) == []


def test_the_job_in_front_is_named_where_it_does_not_fit() -> None:
    said = talk(
        (),
        (submitted("w0!1", request=3), submitted("w0!2", request=4), submitted("w0!3"), submitted("w0!4")),
        executed("w0!1", "0-2"),
        message(ended("w0!1"), 5000.0),
        (executed("w0!2", "0-3")),
        message(ended("w0!2"), 5001.0),
        (executed("w0!3", "0"), executed("w0!4", "1")),
    )
    (found,) = advise(said)
    assert found.text == (
        "from 4 to 5000 (4996 s), job 'w0!3' waited for 1 host although host 3 was free, and so did 1 other job that "
        "fit; job 'w0!2', submitted before, waited for 4 hosts"
    )
    assert found.jobs == ("w0!3", "w0!4")
    assert found.hosts == "3"


def test_jobs_without_a_decision() -> None:
    many = [submitted(f"w0!{number}", request=9) for number in range(5)]
    (found,) = advise(talk((), many, (), message(SimulationEndsEvent(), 60.0), ()))
    assert found.text == (
        "until the end at 60, the scheduler never executed, rejected or killed jobs 'w0!0', 'w0!1', 'w0!2' and 2 "
        "others, submitted at 4 and later"
    )
    assert found.jobs == tuple(f"w0!{number}" for number in range(5))
    (one,) = advise(talk((), submitted(request=9), (), message(SimulationEndsEvent(), 60.0)))
    assert "killed job 'w0!1', submitted at 4" in one.text


def test_jobs_that_were_decided_on_are_none_without_a_decision() -> None:
    said = talk(
        (), (submitted("w0!1", request=9), submitted("w0!2")), (RejectJobEvent(job_id="w0!1"), executed("w0!2"))
    )
    assert advise([*said, message(SimulationEndsEvent(), 60.0)]) == []


def test_where_a_recording_stops_only_jobs_that_waited_long_are_without_a_decision() -> None:
    said = talk((), submitted(request=9), (), message((), 60.0), ())
    assert advise(said) == []
    assert kinds(advise(said, seconds=10)) == ["jobs.undecided"]


def test_a_registered_job_waits_too() -> None:
    said = talk((), (), new_job(), message(SimulationEndsEvent(), 60.0))
    assert kinds(advise(said)) == ["jobs.undecided"]


def test_a_host_that_is_not_used_again() -> None:
    """Host 3 is forgotten after its first job: the next ones run one by one on the others, though they would fit."""
    said = talk(
        (), submitted("w0!0", request=4), executed("w0!0", "0-3"), message(ended("w0!0"), 10.0), message((), 10.0)
    )
    for number in range(1, 6):
        now = 100.0 * number
        said += [
            message((submitted(f"w0!{number}a", request=3), submitted(f"w0!{number}b", request=1)), now),
            message(executed(f"w0!{number}a", "0-2"), now),
            message(ended(f"w0!{number}a"), now + 50),
            message(executed(f"w0!{number}b", "0"), now + 50),
            message(ended(f"w0!{number}b"), now + 60),
            message((), now + 60),
        ]
    found = [each for each in advise(said, seconds=200) if each.kind == "hosts.unused"]
    (lost,) = found
    assert lost.text == (
        "from 10 to the end at 560, the scheduler did not use host 3 although the oldest waiting job fit in the free "
        "hosts for 250 s of that time"
    )
    assert found[0].hosts == "3"


def test_hosts_that_sleep_or_switch_are_not_free() -> None:
    asleep = talk((), submitted(request=4), turn("3", 1), message(turned("3", 1), 10.0), (), message((), 9000.0), ())
    assert kinds(advise(asleep)) == ["jobs.undecided"]  # three hosts are free, and it needs four
    awake = [*asleep, message((), 9001.0), message(turn("3", 0), 9001.0), message(turned("3", 0), 9002.0)]
    assert kinds(advise([*awake, message((), 9002.0), message((), 20000.0)])) == ["hosts.free", "jobs.undecided"]


def test_storage_hosts_are_not_free_for_jobs() -> None:
    assert kinds(advise(talk((), submitted(request=5), (), message((), 9000.0), ()))) == ["jobs.undecided"]


def test_hosts_that_jobs_share_are_free_when_the_last_one_has_ended() -> None:
    said = talk(
        (),
        (submitted("w0!1"), submitted("w0!2"), submitted("w0!3", request=4)),
        (executed("w0!1", "0-3"), executed("w0!2", "3")),
        message(ended("w0!1"), 10.0),
        message((), 10.0),
        message(ended("w0!2"), 9000.0),
        message(executed("w0!3", "0-3"), 9000.0),
    )
    assert advise(said) == []


# Whatever is said


@pytest.mark.parametrize(
    "said",
    [
        [],
        ["init"],
        [b"", b"", b"", b""],
        talk(b"nothing"),
        talk((), submitted(request=2), executed(hosts="0-99999"), message(ended(), 9e9)),
        talk((), submitted(request=0), executed(hosts="x"), message(ended(), 9e9)),
        talk((), ended(), executed(), executed(), message((ended(), ended()), 9e9)),
        talk(begin=begins(computation_hosts=())),
        talk((), submitted(), (), Message(float("nan"), ()), ()),
    ],
    ids=lambda said: str(len(said)),
)
def test_it_never_raises(said: list[Any]) -> None:
    assert [each for each in advise(said) if each.kind == "hosts.unused"] == []


@given(st.lists(strategies.messages(), max_size=6), st.floats(0, 100))
@settings(max_examples=60, deadline=None)
def test_messages_in_any_order_do_not_raise(messages: list[Message], seconds: float) -> None:
    advise(["init", Message(0.0, ()), message(begins(), 0.0), *messages], seconds)


@given(conversations())
@settings(max_examples=25, deadline=None)
def test_bytes_and_values_get_the_same_advice(said: list[Any]) -> None:
    as_bytes = [*said[:2], *(each.to_binary() for each in said[2:])]
    assert advise(as_bytes, 10.0) == advise(said, 10.0)


def test_seconds_that_make_no_sense_are_refused() -> None:
    for seconds in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="expected a number of seconds >= 0, got"):
            Adviser(seconds)


# The same in plain words

HOSTS = 5
Step = tuple[str, int, int]


class Plain:
    """Goes through all jobs and hosts in each turn."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = self.fitting = 0.0
        self.executed_at = 0.0
        self.waiting: dict[str, tuple[int, float]] = {}
        self.running: dict[str, list[int]] = {}
        self.fits_since: dict[str, float] = {}
        self.reported: set[str] = set()
        self.found: list[tuple[float, set[str]]] = []
        self.used = dict.fromkeys(range(HOSTS), (0.0, 0.0))
        self.free = set(range(HOSTS))
        self.front_fits = False

    def advance(self, now: float) -> None:
        self.fitting += (now - self.now) * self.front_fits
        self.now = now

    def submit(self, job_id: str, request: int) -> None:
        self.waiting[job_id] = request, self.now

    def execute(self, job_id: str, hosts: list[int]) -> None:
        del self.waiting[job_id]
        self.running[job_id] = hosts
        self.executed_at = self.now

    def end(self, job_id: str) -> None:
        self.waiting.pop(job_id, None)
        for host in self.running.pop(job_id, []):
            self.used[host] = self.fitting, self.now

    def settle(self, *, is_end: bool = False) -> None:
        self.free = set(range(HOSTS)) - {host for hosts in self.running.values() for host in hosts}
        fitting = {
            job_id
            for job_id, (request, _) in self.waiting.items()
            if request <= len(self.free) and not is_end and request
        }
        late = {
            job_id
            for job_id, since in self.fits_since.items()
            if job_id not in fitting and self.now - since > self.seconds and job_id not in self.reported
        }
        if late:
            self.found.append((self.now, late))
            self.reported |= late
        self.fits_since = {
            job_id: self.fits_since.get(job_id, self.now) for job_id in self.waiting if job_id in fitting
        }
        front = next(iter(self.waiting), None)
        self.front_fits = front in fitting

    def unused(self) -> set[int]:
        return {
            host
            for host in self.free
            if self.fitting - self.used[host][0] > self.seconds and self.used[host][1] < self.executed_at
        }


@given(
    st.lists(st.tuples(st.sampled_from("sxxet"), st.integers(0, 5), st.integers(0, 30)), max_size=60),
    st.sampled_from((0.0, 3.0, 10.0)),
)
@settings(max_examples=400, deadline=None)
def test_a_plain_version_finds_the_same(steps: list[Step], seconds: float) -> None:
    plain, adviser = Plain(seconds), Adviser(seconds)
    adviser.begin((1 << HOSTS) - 1, 0.0)
    count, now = 0, 0.0
    for kind, number, choice in steps:
        if kind == "s":
            count += 1
            plain.submit(f"j{count}", number)
            adviser.submitted(f"j{count}", number)
        elif kind == "x" and plain.waiting:
            job_id = list(plain.waiting)[choice % len(plain.waiting)]
            hosts = sorted({(number + each) % HOSTS for each in range(1 + choice % HOSTS)})
            plain.execute(job_id, hosts)
            adviser.executed(job_id, " ".join(map(str, hosts)))
        elif kind == "e" and (plain.running or plain.waiting):
            every = [*plain.running, *plain.waiting]
            plain.end(every[choice % len(every)])
            adviser.over(every[choice % len(every)])
        elif kind == "t":
            plain.settle()
            adviser.settle()
            now += choice / 4
            plain.advance(now)
            adviser.advance(now)
    plain.settle()
    adviser.settle()
    waiting, unused = list(plain.waiting), plain.unused()
    plain.settle(is_end=True)
    adviser.ends()
    found = adviser.finish()
    assert [(each.end, set(each.jobs)) for each in found if each.kind == "hosts.free"] == plain.found
    assert [list(each.jobs) for each in found if each.kind == "jobs.undecided"] == [waiting] * bool(waiting)
    lost = [each.hosts for each in found if each.kind == "hosts.unused"]
    assert {int(host) for text in lost for part in text.split() for host in _members(part)} == unused


def _members(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)


# Schedulers


class Leaky(Scheduler):
    """First come, first served; of the fiftieth job that ends, it does not give back one host."""

    def __init__(self) -> None:
        self.queue: list[JobSubmittedEvent] = []
        self.hosts: dict[str, set[int]] = {}
        self.ended = 0
        self.leaked: set[int] = set()

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self.free = {host.id for host in event.computation_hosts}

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        if event.job.resource_request > len(self.free) + sum(map(len, self.hosts.values())):
            self.reply.add_reject_job(event.job_id)
        else:
            self.queue.append(event)

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        hosts = self.hosts.pop(event.job_id)
        self.ended += 1
        if self.ended == 50:
            self.leaked = {min(hosts)}
            hosts -= self.leaked
        self.free |= hosts

    def decide(self) -> None:
        while self.queue and self.queue[0].job.resource_request <= len(self.free):
            event = self.queue.pop(0)
            hosts = set(sorted(self.free)[: event.job.resource_request])
            self.free -= hosts
            self.hosts[event.job_id] = hosts
            self.reply.add_execute_job(event.job_id, hosts)
        while self.queue and not self.hosts:  # it believes that the others never fit
            self.reply.add_reject_job(self.queue.pop(0).job_id)


def advised(scheduler: Any, workload: str, hosts: int, seconds: float = 3600.0) -> list[Advice]:
    """The advice about a simulation."""
    adviser = Adviser(seconds)

    def take(told: Message, reply: Message) -> None:
        adviser.take(told, Direction.BATSIM_TO_EDC)
        adviser.take(reply, Direction.EDC_TO_BATSIM)

    simulate(Platform.homogeneous(hosts), read_workload(workload), scheduler, on_turn=take)
    return adviser.finish()


LUBLIN = str(ROOT / "examples" / "lublin.swf.gz")


def test_a_scheduler_that_leaks_a_host_is_found() -> None:
    scheduler = Leaky()
    found = advised(scheduler, LUBLIN, 256)
    (lost,) = (each for each in found if each.kind == "hosts.unused")
    assert {int(lost.hosts)} == scheduler.leaked


@pytest.mark.parametrize("name", ["fcfs", "easy", "easy-sjf", "easy-saf", "conservative"])
def test_policies_lose_no_host_and_decide_on_each_job(name: str) -> None:
    found = advised(named(name)(), LUBLIN, 256)
    assert set(kinds(found)) <= ({"hosts.free"} if name == "fcfs" else set())


def test_first_come_first_served_is_advised_about_what_its_head_keeps_free() -> None:
    found = advised(named("fcfs")(), LUBLIN, 256)
    assert len(found) > 10
    assert all(", submitted before, waited for " in each.text for each in found)


# Time


def _queue(jobs: int, width: int) -> Callable[[], object]:
    """Many jobs of all sizes wait, while the number of free hosts goes up and down."""

    def work() -> None:
        adviser = Adviser(0.5)
        adviser.begin((1 << width) - 1, 0.0)
        for number in range(jobs):
            adviser.advance(float(number))
            adviser.submitted(f"big{number}", number % width + 1)
            adviser.submitted(f"j{number}", 1)
            adviser.executed(f"j{number}", f"0-{number % width}")
            adviser.settle()
            adviser.advance(number + 0.75)
            adviser.over(f"j{number}")
            adviser.settle()
        adviser.finish()

    return work


def test_it_takes_linear_time() -> None:
    few, many = lines_of(_queue(500, 64)), lines_of(_queue(4000, 64))
    assert many < 8 * few * 1.25


def test_the_end_of_static_jobs_is_nothing_to_advise_about() -> None:
    assert advise(talk((), AllStaticJobsHaveBeenSubmittedEvent(), message((), 9e9))) == []
