"""A policy that only counts hosts decides without messages. The results are those of the messages, to the last bit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from batprotocol.conversation import conversation, jobs
from batprotocol.errors import RuleViolation
from batprotocol.model import DelayProfile, ExecuteJobEvent, Message, ParallelTaskHomogeneousProfile
from batprotocol.model.hosts import FrozenHosts
from batprotocol.model.planned_jobs import HostPlanner, PlannedJob
from batprotocol.policies import EASY, FCFS, SJF, First, Order, Policy, named
from batprotocol.policies.jobs import State
from batprotocol.results import JobRow, MachineStatesRow, Observer
from batprotocol.simulator import (
    ExternalEventList,
    JobRows,
    Platform,
    StaticJob,
    Workload,
    WorkloadProfile,
    simulate,
    watched,
)
from batprotocol.simulator.actions import KINDS
from batprotocol.simulator.actions.demand import usual

pytestmark = pytest.mark.once  # the results do not depend on the engine

NAMES = (
    *("fcfs", "easy", "easy-sjf", "sjf", "easy-saf", "greedy", "sjf+easy", "lcfs+easy", "f1+easy", "f2+easy"),
    *("f3+greedy", "f4+easy", "fcfs+greedy=saf", "easy=sjf,strict", "last+easy", "saf+easy+spread", "largest"),
    *("ljf+easy+fastest", "smallest+easy", "laf+easy", "easy+zones", "easy+slowest"),
    *(
        "conservative",
        "sjf+conservative",
        "conservative=3",
        "lcfs+conservative+last",
        "conservative=0",
        "saf+conservative",
    ),
    *("reservations=2", "reservations=5", "sjf+reservations=3", "reservations=2,saf", "reservations=1+spread"),
)


def drawn(seed: int) -> tuple[Platform, Workload, float, bool]:
    """A platform, a workload, a resolution, and whether the simulator is corrected."""
    draw = random.Random(seed)
    hosts, count = draw.choice([1, 2, 3, 8, 40, 256]), draw.choice([0, 1, 5, 30, 100, 400])
    grid, burst, time = draw.choice([0, 0, 1, 10, 0.5]), draw.random(), draw.choice([0.0, -5.0, 3.0])
    texts: list[str | None] = draw.choice([[None], [None, "", '{"user":1}', '{"user":"a","strange":1}', "text"]])
    profiles, jobs = {}, []
    for number in range(count):
        if draw.random() > burst:
            time += grid * draw.randrange(5) if grid else draw.expovariate(1 / 20)
        delay = draw.choice([1.0, 10.0, draw.uniform(0.001, 300), float(draw.randint(1, 300))])
        profile = f"{delay}-{draw.randrange(3)}"
        profiles[profile] = WorkloadProfile(DelayProfile(delay), draw.choice([0, 0, 0, 1, 7, -1]))
        walltime = draw.choice([None, delay, delay * draw.uniform(0.5, 4), float(draw.randint(1, 400))])
        size = draw.choice([1, 1, 2, hosts, draw.randint(1, hosts)])
        jobs.append(StaticJob(f"{number}", time, min(size, hosts), profile, walltime, draw.choice(texts)))
    platform = Platform.homogeneous(hosts, latency=draw.choice([5e-6, 0.0, 1e-3, 0.5]))
    return platform, Workload(jobs, profiles), draw.choice([1e-3, 1e-3, 0.0, 1.0, 0.3, 10.0]), draw.random() < 0.3


WAYS = ("planner", "actors", "turns", "leaving", "messages")
"""Without messages; the same with actors in Python; with messages and the same planner, until the end or some turn;
and with the plain driver."""


def played(seed: int, name: str, folder: Path, way: str) -> tuple[Any, ...]:
    """The results of a random simulation, and its files."""
    platform, workload, resolution, corrected = drawn(seed)
    policy = named(name)()
    policy.resolution = resolution
    policy._prepare(State(resolution=resolution))
    assert policy.planner(workload) is not None
    if way == "messages":
        vars(policy)["_only_counts"] = lambda: False
    last, turns = 1 + seed % 97, []

    def look(message: Message, reply: Message) -> None:
        turns.append(policy._turns is not None)
        if way == "leaving" and len(turns) == last:
            assert policy.state is policy._state
            assert len(policy.queue) + len(policy.state.running) >= 0

    rows = JobRows()
    given = (platform, workload, policy)
    on_turn = None if way in ("planner", "actors") else look
    with pytest.MonkeyPatch.context() as patch:
        if way == "actors":
            patch.setattr(usual, "Actions", KINDS["python"][0])
            patch.setattr(usual, "Demand", KINDS["python"][1])
        result = simulate(*given, output=f"{folder}/", corrected=corrected, on_turn=on_turn, observers=[rows])
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert turns == [(way == "turns" or (way == "leaving" and number < last)) for number in range(len(turns))]
    return files, rows.rows, repr(result.totals), repr(result.metrics().flat()), policy._state.now


@pytest.mark.parametrize("name", NAMES)
def test_the_results_are_those_of_messages(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        logs = []
        seed = 100 * NAMES.index(name) + number
        found = []
        for way in WAYS:
            folder = tmp_path / f"{seed}-{way}"
            folder.mkdir()
            caplog.clear()
            found.append(played(seed, name, folder, way))
            logs.append([(record.name, record.getMessage()) for record in caplog.records])
        assert all(each == found[-1] for each in found), seed
        assert all(each == logs[-1] for each in logs)


def test_without_files(tmp_path: Path) -> None:
    platform, workload, *_ = drawn(7)
    one, other = (
        simulate(platform, workload, named("easy")(), on_turn=on_turn)
        for on_turn in (None, lambda message, reply: None)
    )
    assert list(one.jobs) == list(other.jobs)
    assert one.queue_over_time(9) == other.queue_over_time(9)
    assert one.is_complete


def odd(seed: int) -> tuple[Workload, list[ExternalEventList]]:
    """A workload whose jobs are refused, ask for more than whole hosts, and have hosts that fail."""
    draw = random.Random(seed)
    profiles: dict[str, Any] = {f"{number}": DelayProfile(draw.uniform(1, 200)) for number in range(20)}
    profiles["long"] = DelayProfile(1e9)
    rows: list[Any] = []
    time = 0.0
    texts = draw.choice(
        [[None], [None], [None] * 40 + ['{"cores":1}', '{"typo":3}', '{"host":["n1"]}', '{"cores":"many"}']]
    )
    for number in range(draw.choice([20, 80])):
        time += draw.choice([0.0, 1.0, draw.expovariate(1 / 10)])
        profile = draw.choice([*profiles])
        walltime = draw.choice([None, 50.0, draw.uniform(1, 300)]) if profile != "long" else 100.0
        size = draw.choice([1, 2, 4, 8, 9, 0]) if draw.random() < 0.2 else draw.randint(1, 8)
        rows.append(StaticJob(f"{number}", time, size, profile, walltime, draw.choice(texts)))
    lists = []
    if draw.random() < 0.3:
        data = draw.choice(['{"hosts":"0-1","state":"down"}', '{"something":1}'])
        lists.append(ExternalEventList.of([(draw.uniform(0, time), data)]))
    return Workload(rows, profiles), lists


@pytest.mark.parametrize(
    "name", ["fcfs", "easy", "easy-sjf", "greedy", "sjf+easy", "easy=strict", "conservative", "reservations=3"]
)
def test_what_needs_more_than_numbers_is_decided_as_before(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = stayed = 0
    for seed in range(12):
        workload, lists = odd(seed)
        found, left = [], []
        for only in (True, False):
            draw = random.Random(seed)
            caplog.clear()
            policy = named(name)()
            if not only:
                vars(policy)["_only_counts"] = lambda: False
            execute = jobs.execute

            def refused(state: Any, event: Any, draw: random.Random = draw, execute: Any = execute) -> None:
                if draw.random() < 0.1:
                    state.report("job.host-asleep", "job_id", "it is refused here")
                execute(state, event)

            monkeypatch.setitem(conversation._FROM_EDC, ExecuteJobEvent, refused)
            turns: list[Any] = []
            simulate(
                Platform.homogeneous(8),
                workload,
                policy,
                external_events=lists,
                output=f"{tmp_path}/",
                on_turn=lambda message, reply, turns=turns: turns.append(reply),
            )
            monkeypatch.undo()
            left.append(policy._turns is None)
            logs = [(record.name, record.getMessage()) for record in caplog.records]
            found.append((turns, logs, (tmp_path / "jobs.csv").read_bytes()))
        assert found[0] == found[1], seed
        assert left[1]
        refusals += sum("refused here" in text for _, text in found[0][1])
        stayed += not left[0]
    assert refusals > 5
    assert 2 < stayed < 12


WORKLOAD = Workload([StaticJob("1", 0.0, 2, "d"), StaticJob("2", 0.0, 1, "d")], {"d": DelayProfile(10.0)})


class OwnOrder(Order):
    def key(self, job: Any, state: Any) -> Any:
        return -job.size


class OwnFirst(First):
    pass


class Curious(Policy):
    """A policy that looks at an event."""

    def on_job_completed(self, event: Any) -> None:
        super().on_job_completed(event)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(OwnOrder(), EASY()),
        Policy(FCFS(), EASY(OwnOrder())),
        Policy(FCFS(), EASY(), OwnFirst()),
        Policy(FCFS(), EASY(once=True)),
        Policy(FCFS(), EASY(), each=True),
        Policy(FCFS(), EASY(), keeps=True),
        Policy(FCFS(), EASY(), off_after=60.0),
        Curious(FCFS(), EASY()),
        *(
            named(name)()
            for name in ("conservative+contiguous", "wfp3", "multifactor+easy", "easy+predicted", "easy+contiguous")
        ),
    ],
)
def test_other_parts_need_messages(policy: Policy) -> None:
    assert policy.planner(WORKLOAD) is None
    turns: list[float] = []
    result = simulate(Platform.homogeneous(3), WORKLOAD, policy, on_turn=lambda message, reply: turns.append(reply.now))
    assert turns
    assert result.is_complete


def test_a_replaced_method_is_called() -> None:
    policy = named("easy")()
    asked = []
    decide = policy.decide

    def decides() -> None:
        asked.append(policy.now)
        decide()

    policy.decide = decides  # type: ignore[method-assign]
    simulate(Platform.homogeneous(3), WORKLOAD, policy)
    assert asked


@pytest.mark.parametrize("text", ['{"cores":1}', '{"dependency":"afterok:w0!2"}', '{"cores":"many"}'])
def test_jobs_that_ask_for_more_need_messages(text: str) -> None:
    workload = Workload([StaticJob("1", 0.0, 2, "d", extra_data=text)], {"d": DelayProfile(10.0)})
    assert named("easy")().planner(workload) is None


@pytest.mark.parametrize(
    "workload",
    [
        Workload([StaticJob("1", 0.0, 9, "d")], {"d": DelayProfile(10.0)}),
        Workload([StaticJob("1", 0.0, 1, "d")], {"d": ParallelTaskHomogeneousProfile(1e9, 0.0)}),
    ],
)
def test_jobs_that_are_refused_or_compute_are_played_with_messages(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> Any:
        raise AssertionError("it needs messages")

    monkeypatch.setattr("batprotocol.policies.counting.plain_texts", refuse)
    assert simulate(Platform.homogeneous(3), workload, named("easy")()).is_complete


def test_a_long_queue_is_searched_by_rankings(tmp_path: Path) -> None:
    draw = random.Random(3)
    jobs = [StaticJob(f"{n}", 0.0, draw.randint(1, 16), f"{n % 50}", 3.0 * (n % 50 + 1)) for n in range(1000)]
    workload = Workload(jobs, {f"{n}": DelayProfile(2.0 * (n + 1)) for n in range(50)})
    for name in ("easy", "easy-sjf", "greedy", "sjf", "conservative", "sjf+conservative", "reservations=3"):
        one, two, three = named(name)(), named(name)(), named(name)()
        vars(three)["_only_counts"] = lambda: False
        found = [
            simulate(Platform.homogeneous(32), workload, policy, on_turn=None if policy is one else lambda *_: None)
            for policy in (one, two, three)
        ]
        assert list(found[0].jobs) == list(found[1].jobs) == list(found[2].jobs)


def test_the_policy_knows_the_time_at_the_end() -> None:
    policy = Policy(SJF(), EASY())
    simulate(Platform.homogeneous(3), WORKLOAD, policy)
    assert policy.state.now == pytest.approx(10, abs=0.01)
    assert not policy.queue
    assert len(policy.state.free) == 3


class Refusing(Observer):
    """An observer that fails at its row of some number."""

    def __init__(self, method: str, number: int) -> None:
        self.rows: list[object] = []
        self._number = number
        vars(self)[method] = self.take

    def machine_states(self, row: MachineStatesRow) -> None:
        self.rows.append(row)

    def job_ended(self, row: JobRow) -> None:
        self.rows.append(row)

    def take(self, row: object) -> None:
        self.rows.append(row)
        if len(self.rows) >= self._number:
            raise LookupError(f"at row {len(self.rows)}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["job_ended", "machine_states"])
def test_what_an_observer_raises_ends_the_simulation(kind: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usual, "Actions", KINDS[kind][0])
    monkeypatch.setattr(usual, "Demand", KINDS[kind][1])
    for seed in (1, 2, 3, 9):
        platform, workload, *_ = drawn(seed)
        whole, failing = Refusing(method, 10**9), Refusing(method, 20)
        simulate(platform, workload, named("easy")(), observers=[whole])
        if len(whole.rows) > 25:
            with pytest.raises(LookupError, match="at row 2"):
                simulate(platform, workload, named("easy")(), observers=[failing])
            assert failing.rows == whole.rows[: len(failing.rows)]


class Careless(HostPlanner):
    """A planner that starts jobs without hosts, or on hosts that do not exist, or fails."""

    def __init__(self, mistake: str) -> None:
        self.mistake = mistake

    def turn(self, now: float, jobs: list[PlannedJob]) -> list[PlannedJob]:
        if self.mistake == "fails":
            raise LookupError
        for job in jobs:
            job.hosts = None if self.mistake == "nowhere" else FrozenHosts(((0, 7),), 8)
        return [job for job in jobs if not job.is_over]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mistake", ["fails", "nowhere", "elsewhere"])
def test_what_a_planner_raises_ends_the_simulation(kind: str, mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usual, "Actions", KINDS[kind][0])
    monkeypatch.setattr(usual, "Demand", KINDS[kind][1])
    monkeypatch.setattr(Policy, "planner", lambda self, workload: lambda event: Careless(mistake))
    with pytest.raises((LookupError, AssertionError, AttributeError)):
        simulate(Platform.homogeneous(3), WORKLOAD, named("easy")())


class Idle(HostPlanner):
    """A planner that starts nothing."""

    def turn(self, now: float, jobs: list[PlannedJob]) -> list[PlannedJob]:
        return []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("count", "text"), [(1, "and 1 job waits"), (7, "and 7 jobs wait")])
def test_a_deadlock_without_messages_says_how_many_jobs_wait(
    kind: str, count: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usual, "Actions", KINDS[kind][0])
    monkeypatch.setattr(usual, "Demand", KINDS[kind][1])
    monkeypatch.setattr(Policy, "planner", lambda self, workload: lambda event: Idle())
    jobs = [StaticJob(str(number), float(number), 1, DelayProfile(1.0)) for number in range(count)]
    with pytest.raises(RuleViolation, match=text):
        simulate(Platform.homogeneous(3), Workload(jobs), named("easy")())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["easy", "conservative", "easy+contiguous"])
def test_an_infinite_time_is_refused(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usual, "Actions", KINDS[kind][0])
    monkeypatch.setattr(usual, "Demand", KINDS[kind][1])
    jobs = [StaticJob(str(number), 0.0, 1, DelayProfile(1.7e308)) for number in range(2)]
    with pytest.raises(RuleViolation, match=r"the simulated time is infinite.*profile\.infinite"):
        simulate(Platform.homogeneous(1), Workload(jobs), named(name)())


class Kept:
    """A watcher that can do without messages, and one that cannot."""

    def __init__(self, *, needs: bool) -> None:
        self.seen: list[str] = []
        if not needs:
            self.without_messages = lambda planner: planner

    def hello(self, init: str, message: Message) -> None:
        self.seen.append("hello")

    def sent(self, message: Message) -> None:
        self.seen.append("sent")

    def answered(self, reply: Message) -> None:
        self.seen.append("answered")


@pytest.mark.parametrize("needs", [False, True])
def test_a_watcher_may_do_without_messages(needs: bool) -> None:
    kept = Kept(needs=needs)
    result = simulate(Platform.homogeneous(3), WORKLOAD, watched(named("easy")(), kept))
    assert result.is_complete
    assert (set(kept.seen) == {"hello"}) is not needs
