"""The embedded Batsim by itself: what it computes, what it refuses, and that its two queues agree."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import pytest
from conversations import FCFS, at_once, ends, execute, hello, simulated
from hypothesis import given
from hypothesis import strategies as st

from batprotocol import MessageBuilder, model
from batprotocol.edc import Scheduler
from batprotocol.errors import InputError, RuleViolation
from batprotocol.model import (
    CallMeLaterEvent,
    DelayProfile,
    Event,
    ForceSimulationStopEvent,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    KillJobsEvent,
    Message,
    OneShot,
    ParallelTaskHomogeneousProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    RegisterJobEvent,
    RegisterProfileEvent,
    RequestedCallEvent,
    SequentialCompositionProfile,
    SimulationBeginsEvent,
    SimulationEndsEvent,
    TraceReplayProfile,
    TraceType,
    TurnOnOffHostsEvent,
)
from batprotocol.model.profiles import ProfileAndId
from batprotocol.simulator import (
    JobRows,
    Platform,
    ResultFiles,
    Simulator,
    StaticJob,
    Usage,
    Watts,
    Workload,
    WorkloadProfile,
    read_platform,
    simulate,
)
from batprotocol.simulator.batsim.rules import SIMULATOR_RULES
from batprotocol.simulator.machine.machine import intervals

WITHOUT_ENGINE = True

PLATFORM = Platform.homogeneous(4, speed=1e9)


def simulator(*jobs: StaticJob, **options: object) -> Simulator:
    return Simulator(PLATFORM, [Workload(jobs)], **options)  # type: ignore[arg-type]


# What is computed


def test_a_delay_takes_its_time_and_messages_theirs() -> None:
    messages = simulated(simulator(StaticJob("1", 5.0, 1, DelayProfile(10.0))), at_once())
    cost = 1e-5 + 1e-9  # up and down, and a byte
    assert ends(messages)["w0!1"] == (pytest.approx(15.0 + 4 * cost, rel=1e-9), "COMPLETED_SUCCESSFULLY")
    assert [type(event) for event in messages[-1].events] == [SimulationEndsEvent]


def test_two_tasks_on_a_host_get_half_each() -> None:
    task = ParallelTaskHomogeneousProfile(1e9)
    jobs = [StaticJob("1", 0.0, 1, task), StaticJob("2", 0.0, 1, task)]
    rows = JobRows()
    simulated(simulator(*jobs, observer=rows), at_once())
    assert [row.execution_time for row in rows.rows] == [pytest.approx(2.0, abs=1e-3)] * 2


def test_a_link_is_shared_and_latency_counts_once() -> None:
    matrix = ParallelTaskProfile(None, [0.0, 1e9, 0.0, 0.0])
    rows = JobRows()
    simulated(simulator(StaticJob("1", 0.0, 2, matrix), StaticJob("2", 0.0, 2, matrix), observer=rows), at_once("0-1"))
    # 1 GB over 1 GB/s alone, but TCP's window allows 4194304 / (2 * 10 us) = 210 GB/s: no bound here.
    assert [row.execution_time for row in rows.rows] == [pytest.approx(2.0, abs=1e-3)] * 2


def test_hosts_are_idle_again_if_that_is_corrected() -> None:
    jobs = [StaticJob("1", 0.0, 1, DelayProfile(10.0)), StaticJob("2", 100.0, 1, DelayProfile(10.0))]

    class Idle(JobRows):
        def __init__(self) -> None:
            super().__init__()
            self.idle: list[int] = []

        def machine_states(self, row) -> None:  # type: ignore[no-untyped-def]
            self.idle.append(row.nb_idle)

    seen = [Idle(), Idle()]
    for corrected, observer in zip((True, False), seen, strict=True):
        simulated(simulator(*jobs, corrected=corrected, observer=observer), at_once())
    assert [observer.idle for observer in seen] == [[3, 4, 3, 4], [3, 3, 3, 3]]


def test_writing_to_a_storage_takes_time_if_that_is_corrected() -> None:
    from batprotocol.workloads.network import ClusterZone, Link
    from batprotocol.workloads.platform import DescribedHost, made_platform

    zone = ClusterZone("zone")
    described = []
    for name in ("master_host", "n0", "pfs"):
        member = zone.add(name)
        zone.up[member] = zone.down[member] = (Link(name, 1e9, 0.0),)
        described.append(DescribedHost(name, (1e9,), 1, 0, {"role": "storage"} if name == "pfs" else {}, member))
    platform = made_platform(described)
    profile = ParallelTaskOnStorageHomogeneousProfile("pfs", 0.0, 5e9)
    times = []
    for corrected in (True, False):
        rows = JobRows()
        workload = Workload([StaticJob("1", 0.0, 1, profile)])
        simulated(Simulator(platform, [workload], corrected=corrected, observer=rows), at_once())
        times.append(rows.rows[0].execution_time)
    assert times == [pytest.approx(5.0), 0.0]


def test_a_usage_trace_uses_cores_and_not_time() -> None:
    traces = ((Usage(1.0, 1e9), Usage(0.5, 2e9)), (Usage(0.1, 1e9),))
    profile = WorkloadProfile(TraceReplayProfile(TraceType.FractionalComputation, "traces"), traces=traces)
    workload = Workload([StaticJob("1", 0.0, 2, "trace")], {"trace": profile})
    rows = JobRows()
    simulated(Simulator(Platform.homogeneous(2, cores=4), [workload], observer=rows), at_once("0-1"))
    assert rows.rows[0].execution_time == pytest.approx(3.0)


def test_an_empty_sequence_ends_at_once() -> None:
    def decide(message: Message) -> list[Event]:
        if len(message.events) and type(message.events[0]) is JobSubmittedEvent:
            return [execute(message, event.job_id, "0") for event in message.events if hasattr(event, "job_id")]
        if message.now > 1.0:
            return []
        sequence = ProfileAndId("d!nothing", SequentialCompositionProfile(profile_ids=()))
        from batprotocol.model import FinishRegistrationEvent, Job

        return [
            RegisterProfileEvent(timestamp=message.now, profile=sequence),
            RegisterJobEvent(timestamp=message.now, job_id="d!1", job=Job(resource_request=1, profile_id="nothing")),
            FinishRegistrationEvent(timestamp=message.now),
        ]

    built = Simulator(PLATFORM)
    message = built.begin(hello(dynamic_registration=True, acknowledge_dynamic_jobs=True))
    second = built.turn(Message(message.now, tuple(decide(message))))
    assert second is not None
    third = built.turn(Message(second.now, tuple(decide(second))))
    assert third is not None
    assert ends([third])["d!1"][1] == "COMPLETED_SUCCESSFULLY"


def test_energy_is_that_of_the_load() -> None:
    platform = Platform.homogeneous(2, watts=Watts(10.0, 20.0, 100.0))
    rows = JobRows()
    jobs = [StaticJob("delay", 0.0, 1, DelayProfile(10.0)), StaticJob("task", 20.0, 1, ParallelTaskProfile([1e10]))]
    simulated(Simulator(platform, [Workload(jobs)], energy=True, observer=rows), at_once())
    assert [row.consumed_energy for row in rows.rows] == [pytest.approx(100.0), pytest.approx(1000.0)]


@pytest.mark.parametrize(("corrected", "joules"), [(False, 500.0), (True, 50.0)])
def test_the_first_reading_charges_the_first_power_state(tmp_path: Path, corrected: bool, joules: float) -> None:
    path = tmp_path / "platform.xml"
    path.write_text(
        """<platform version="4.1"><zone id="all" routing="Full">
        <host id="master_host" speed="1Gf"><prop id="wattage_per_state" value="0:0"/></host>
        <host id="host" speed="1Gf,1Gf" pstate="1"><prop id="wattage_per_state" value="100:100,10:10"/></host>
        </zone></platform>"""
    )
    workload = Workload([StaticJob("1", 5.0, 1, DelayProfile(10.0))])
    simulate(path, workload, FCFS(), energy=True, corrected=corrected, output=f"{tmp_path}/")
    first, last = (
        float(line.split(",")[1]) for line in (tmp_path / "consumed_energy.csv").read_text().splitlines()[1:]
    )
    assert (first, last - first) == (pytest.approx(joules, abs=0.01), pytest.approx(100.0, abs=0.01))


SLEEPER = """<platform version="4.1"><zone id="all" routing="Full"><host id="master_host" speed="1Gf"/>
<host id="n" speed="1Gf,1f,1f,1f"><prop id="sleep_pstates" value="1:2:3"/></host></zone></platform>"""


@pytest.mark.parametrize(
    ("delay", "later", "is_refused"),
    [(0.0, 0.0, False), (9.0, 0.0, True), (9.0, 4.0, True), (9.0, 10.0, False)],
)
def test_a_host_is_turned_off_unless_a_job_runs_by_then(
    tmp_path: Path, delay: float, later: float, is_refused: bool
) -> None:
    path = tmp_path / "platform.xml"
    path.write_text(SLEEPER)

    played = Simulator(read_platform(path), [Workload([StaticJob("1", 0.0, 1, DelayProfile(delay))])])
    message, refused = played.begin(hello()), ""
    try:
        while message is not None:
            reply = list(at_once()(message))
            if reply:
                reply.append(TurnOnOffHostsEvent(timestamp=message.now + later, host_ids="0", state=1))
            message = played.turn(Message(message.now + later * len(reply), reply))
    except RuleViolation as violation:
        refused = violation.violations[0].rule
    assert refused == ("hosts.turn-busy" if is_refused else "")


def test_energy_needs_wattages() -> None:
    with pytest.raises(InputError, match="host0"):
        Simulator(PLATFORM, energy=True)


def test_a_kill_tells_how_far_the_job_had_come() -> None:
    def decide(message: Message) -> list[Event]:
        events: list[Event] = []
        for event in message.events:
            if type(event) is JobSubmittedEvent:
                events += [
                    execute(message, event.job_id, "0"),
                    CallMeLaterEvent(timestamp=message.now, call_me_later_id="kill", when=OneShot(4)),
                ]
            elif type(event) is RequestedCallEvent:
                events.append(KillJobsEvent(timestamp=message.now, job_ids=("w0!1",)))
        return events

    messages = simulated(simulator(StaticJob("1", 0.0, 1, DelayProfile(10.0))), decide)
    killed = next(e for message in messages for e in message.events if type(e) is JobsKilledEvent)
    assert killed.progresses[0].progress.progress == pytest.approx(0.4, abs=1e-4)  # type: ignore[union-attr]
    assert ends(messages)["w0!1"][1] == "COMPLETED_KILLED"


@pytest.mark.parametrize(("delay", "is_killed"), [(4.0, False), (5.0, True)])
def test_profiles_are_absent_if_no_job_was_killed(delay: float, is_killed: bool) -> None:
    def decide(message: Message) -> list[Event]:
        events = list(at_once()(message))
        for event in message.events:
            calls = [
                CallMeLaterEvent(timestamp=message.now, call_me_later_id=id, when=OneShot(at))
                for id, at in (("kill", 4), ("a", 8), ("b", 8), ("c", 8))
            ]
            if type(event) is JobSubmittedEvent:
                events.append(calls[0])
            elif type(event) is RequestedCallEvent and event.call_me_later_id == "kill":
                # Each call takes the time of a message: the shorter job ends before the kill is handled.
                events += [*calls[1:], KillJobsEvent(timestamp=message.now, job_ids=("w0!1",))]
        return events

    job = StaticJob("1", 0.0, 1, DelayProfile(delay))
    messages = simulated(simulator(job), decide, forward_profiles_on_jobs_killed=True)
    (killed,) = (event for message in messages for event in message.events if type(event) is JobsKilledEvent)
    assert (len(killed.progresses) == 1, killed.profiles is not None) == (is_killed, is_killed)


def test_a_forced_stop_is_the_end() -> None:
    def decide(message: Message) -> list[Event]:
        if any(type(event) is JobSubmittedEvent for event in message.events):
            return [*at_once()(message), ForceSimulationStopEvent(timestamp=message.now)]
        return []

    jobs = [StaticJob("1", 0.0, 1, ParallelTaskProfile([1e12])), StaticJob("2", 1e9, 1, DelayProfile(1.0))]
    messages = simulated(simulator(*jobs, corrected=True), decide)
    assert [type(event) for event in messages[-1].events] == [SimulationEndsEvent]
    assert messages[-1].now < 1.0
    with pytest.raises(RuleViolation, match=r"stop\.task-running"):  # Batsim aborts
        simulated(simulator(*jobs), decide)


# What is refused


def test_a_deadlock_is_told_when_nothing_can_happen() -> None:
    with pytest.raises(RuleViolation) as raised:
        simulated(simulator(StaticJob("1", 0.0, 1, DelayProfile(1.0))), lambda message: [])
    assert raised.value.rule == "simulation.stuck-jobs"
    assert raised.value.violations[0].severity == "deadlock"


@pytest.mark.parametrize(
    ("job", "rule"),
    [
        (StaticJob("1", 0.0, 1, TraceReplayProfile(TraceType.SMPI, "x")), "profile.not-simulated"),
        (StaticJob("1", 0.0, 0, ParallelTaskHomogeneousProfile(1.0)), "job.no-executors"),
        (StaticJob("1", 0.0, 1, ParallelTaskHomogeneousProfile(0.0)), "profile.no-work"),
        (StaticJob("1", 0.0, 1, ParallelTaskHomogeneousProfile(math.inf)), "profile.infinite"),
        (StaticJob("1", 0.0, 1, ParallelTaskOnStorageHomogeneousProfile("pfs", 1.0)), "job.storage-unknown"),
    ],
)
def test_what_only_the_simulator_knows_is_refused_by_name(job: StaticJob, rule: str) -> None:
    with pytest.raises(RuleViolation) as raised:
        simulated(simulator(job), at_once())
    assert raised.value.rule == rule
    assert raised.value.violations[0].explained.id == rule


@pytest.mark.parametrize(
    ("code", "rule", "warnings"), [(-3, "profile.return-code", 0), (-2, "simulation.stuck-jobs", 1)]
)
def test_batsim_does_not_survive_some_return_codes(
    code: int, rule: str, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    workload = Workload([StaticJob("1", 0.0, 1, "d")], {"d": WorkloadProfile(DelayProfile(1.0), return_code=code)})
    with pytest.raises(RuleViolation) as raised:
        simulated(Simulator(PLATFORM, [workload]), at_once())
    assert raised.value.rule == rule
    assert (
        len([text for text in caplog.messages if "'w0!1' has returned -2" in text and "--corrected" in text])
        == warnings
    )


@pytest.mark.parametrize(
    ("code", "state"), [(0, "SUCCESSFULLY"), (2, "FAILED"), (-1, "WALLTIME_REACHED"), (-2, "FAILED")]
)
def test_the_return_code_tells_how_a_job_ended(code: int, state: str) -> None:
    workload = Workload([StaticJob("1", 0.0, 1, "d")], {"d": WorkloadProfile(DelayProfile(1.0), return_code=code)})
    assert (
        ends(simulated(Simulator(PLATFORM, [workload], corrected=True), at_once()))["w0!1"][1] == f"COMPLETED_{state}"
    )


def test_rules_are_told_as_sentences() -> None:
    for id, rule in SIMULATOR_RULES.items():
        assert rule.id == id
        assert rule.explanation.endswith(".")


def test_after_a_refusal_the_simulation_is_over() -> None:
    built = simulator(StaticJob("1", 0.0, 1, DelayProfile(1.0)))
    message = built.begin(hello())
    with pytest.raises(RuleViolation, match=r"job\.unknown"):
        built.turn(Message(message.now, (execute(message, "w0!nobody", "0"),)))
    assert built.is_over
    with pytest.raises(RuntimeError, match="over"):
        built.turn(Message(message.now))


def test_no_hello_no_simulation() -> None:
    built = Simulator(PLATFORM)
    with pytest.raises(RuleViolation, match=r"hello\.first-message"):
        built.begin(MessageBuilder().finish_message())
    assert built.begin(hello()).events
    with pytest.raises(RuntimeError, match="begun"):
        built.begin(hello())


class Interrupted:
    """A scheduler and its simulator, pickled together after every third turn."""

    def __init__(self, simulator: Simulator, scheduler: Scheduler) -> None:
        self.pair = (simulator, scheduler)

    def play(self, interrupt: bool) -> None:
        simulator, scheduler = self.pair
        message: Message | None = simulator.begin(scheduler.hello(""))
        answer, turns = scheduler.player(simulator.conversation), 0
        while message is not None:
            message = simulator.turn_judged(answer(message))
            turns += 1
            if interrupt and turns % 3 == 0:
                self.pair, message = pickle.loads(pickle.dumps((self.pair, message)))
                simulator, scheduler = self.pair
                answer = scheduler.player(simulator.conversation)


def test_a_scheduler_is_pickled_with_its_simulator(tmp_path: Path) -> None:
    jobs = [StaticJob(str(n), float(n), 1 + n % 3, DelayProfile(1.5 + n % 5), walltime=5.0) for n in range(30)]
    written = []
    for interrupt in (False, True):
        files = ResultFiles(f"{tmp_path}/{interrupt}/")
        Interrupted(simulator(*jobs, observer=files), FCFS()).play(interrupt)
        written.append({path.name: path.read_bytes() for path in (tmp_path / str(interrupt)).iterdir()})
    assert written[0] == written[1]
    assert {"jobs.csv", "schedule.json"} <= set(written[0])


# Hosts


@given(st.sets(st.integers(0, 40)))
def test_hosts_are_told_as_intervals(hosts: set[int]) -> None:
    from batprotocol.model import parse_hosts

    assert set(parse_hosts(intervals(sorted(hosts)))) == hosts


def test_jobs_that_have_ended_are_forgotten() -> None:
    built = simulator(*(StaticJob(str(number), float(number), 1, DelayProfile(0.5)) for number in range(50)))
    message = built.begin(hello())
    most = 0
    while True:
        following = built.turn(Message(message.now, tuple(at_once()(message))))
        if following is None:
            break
        message = following
        assert built._simulation is not None
        most = max(most, len(built._simulation.jobs))
        assert not any(type(event) is JobCompletedEvent and event.return_code for event in message.events)
    assert most <= 3


class StopsPeriodic(Scheduler):
    """Stops a periodic call at a time of its own."""

    def __init__(self, at: int) -> None:
        self.at = at

    def on_simulation_begins(self, event: model.SimulationBeginsEvent) -> None:
        self.reply.add_call_me_later("often", model.Periodic(period=10))
        self.reply.add_call_me_later("stop", model.OneShot(self.at))

    def on_job_submitted(self, event: model.JobSubmittedEvent) -> None:
        self.reply.add_reject_job(event.job_id)

    def on_requested_call(self, event: model.RequestedCallEvent) -> None:
        if event.call_me_later_id == "stop":
            self.reply.add_stop_call_me_later("often")


def test_a_stop_that_crosses_a_call_blocks_unless_corrected(caplog: pytest.LogCaptureFixture) -> None:
    """Batsim's server and its periodic calls each wait for the other to receive then."""
    platform, workload = Platform.homogeneous(2, latency=0.5), Workload([StaticJob("1", 0.0, 1, DelayProfile(1.0))])
    for at in range(40, 60):
        assert simulate(platform, workload, StopsPeriodic(at), corrected=True).is_complete
    assert not caplog.messages
    with pytest.raises(RuleViolation, match="nothing can happen any more, but the simulation does not end"):
        simulate(platform, workload, StopsPeriodic(48))
    assert [text for text in caplog.messages if "crosses" in text and "--corrected" in text]


@pytest.mark.parametrize("energy", [False, True])
@pytest.mark.parametrize("given", [(), ("batsim", "-p", "x"), ("batsim", "--energy-host")])
def test_the_arguments_are_those_that_are_given(given: tuple[str, ...], energy: bool) -> None:
    """By default, those of the command. The energy of hosts is measured only with an argument of its own."""
    platform = Platform.homogeneous(1, watts=Watts(1.0, 1.0, 2.0))
    first = Simulator(platform, arguments=iter(given), energy=energy).begin(hello()).events[0]
    assert isinstance(first, SimulationBeginsEvent)
    expected = list(given or ("batprotocol", "simulate"))
    assert list(first.batsim_arguments) == expected + ["--energy-host"] * (energy and "--energy-host" not in given)
