"""The part `cap` of policies: its names, what counts, and single cases of jobs that wait for watts."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from sleepers import sleepy

from batprotocol.errors import SchedulerError
from batprotocol.model import DelayProfile, Host, HostProperty, SimulationBeginsEvent
from batprotocol.policies import (
    EASY,
    Cap,
    Conservative,
    MeanOfLast,
    NoBackfilling,
    Policy,
    PolicyNameError,
    SiteRules,
    named,
)
from batprotocol.policies.backfilling import Backfilling
from batprotocol.policies.energy import Switching
from batprotocol.policies.names import files_in
from batprotocol.simulator import (
    ExternalEventList,
    Platform,
    StaticJob,
    Watts,
    Workload,
    described_platform,
    simulate,
)
from batprotocol.workloads.electricity import Trace
from batprotocol.workloads.electricity.hosts import declared

WITHOUT_ENGINE = True

PLATFORM = Platform.homogeneous(4, watts=Watts(100.0, 100.0, 200.0))


SLEEPY = sleepy(4)


def starts(policy: Policy, *jobs: tuple[float, int, float, float], platform: Platform = PLATFORM, **asks: Any) -> Any:
    """The seconds at which jobs start, in their order: submission, hosts, run time, walltime of each."""
    made = [
        StaticJob(str(number), at, hosts, DelayProfile(run), walltime, extra_data=json.dumps({"user": 1} | data))
        for number, ((at, hosts, run, walltime), data) in enumerate(
            zip(jobs, asks.get("data", [{}] * len(jobs)), strict=True)
        )
    ]
    events = asks.get("external_events", [])
    result = simulate(platform, Workload(made), policy, corrected=True, external_events=events)
    rows = [row for row in result.jobs if row.starting_time is not None]
    return {row.job_id: round(row.starting_time) for row in rows}


# Names


@pytest.mark.parametrize(
    ("text", "watts", "slow", "off"),
    [
        ("easy+cap=4kW", 4000.0, False, False),
        ("easy-cap=4kw,slow", 4000.0, True, False),
        ("cap=250,off", 250.0, False, True),
        ("cap=1.5MW,off,slow", 1.5e6, True, True),
    ],
)
def test_names_of_caps(text: str, watts: float, slow: bool, off: bool) -> None:
    cap = named(text)().cap
    assert cap is not None
    assert (cap.trace.at(0.0), cap.slow, cap.off) == (watts, slow, off)


@pytest.mark.parametrize("file", ["Night-Caps.csv", "./Night-Caps.csv", "../Caps/Night-Caps.csv"])
def test_a_table_is_in_the_folder_of_the_name(tmp_path: Path, file: str) -> None:
    folder = tmp_path / "Caps"
    folder.mkdir()
    (folder / "Night-Caps.csv").write_text("time,watts\n0,4000\n60,300\n")
    assert files_in(f"easy+cap={file}?repeat=90,off") == {"cap": (f"{file}?repeat=90", "off")}
    cap = named(f"easy+cap={file}?repeat=90,off", str(folder))().cap
    assert cap is not None
    assert [cap.trace.at(time) for time in (0.0, 60.0, 90.0)] == [4000.0, 300.0, 4000.0]
    assert cap.off


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cap", "cap needs a number of watts or a table"),
        ("cap=4kW,fast", "expected WATTS or FILE, and slow or off"),
        ("cap=4kW,off,off", "expected WATTS or FILE, and slow or off"),
        ("cap=4kWh", "expected a number of watts"),
        ("cap=nowhere.csv", "cannot read 'nowhere.csv'"),
        ("cap=abc", "No such file or directory; expected a number of watts such as 4kW, or a table"),
        ("recorded+cap=4kW", "the log decides all that cap would"),
        ("cap=4kW+cap=5kW", "cap is named twice"),
    ],
)
def test_names_that_are_no_caps(text: str, why: str) -> None:
    with pytest.raises(PolicyNameError, match=why):
        named(text)


# What counts


def described(number: int, watts: str, pstate: int = 0, **more: str) -> Host:
    properties = {"wattage_per_state": watts} | more
    speeds = [1e9 / (place + 1) for place in range(watts.count(",") + 1)]
    pairs = [HostProperty(key, value) for key, value in properties.items()]
    return Host(
        id=number,
        name=f"h{number}",
        pstate=pstate,
        pstate_count=len(speeds),
        properties=pairs,
        computation_speed=speeds,
    )


def left_by(cap: Cap, *computing: Host, storages: tuple[Host, ...] = (), after: float = math.inf) -> list[float] | None:
    """What a cap leaves for jobs, in watts, and what each host draws more with one; None: the cap has no effect."""
    event = SimulationBeginsEvent(
        timestamp=0.0,
        batprotocol_version="",
        batsim_version="",
        host_number=len(computing) + len(storages),
        computation_host_number=len(computing),
        computation_hosts=computing,
        storage_host_number=len(storages),
        storage_hosts=storages,
        batsim_arguments=[],
        batsim_execution_context_json="",
        workloads=[],
        external_event_lists=[],
    )
    switching = Switching(2.0**50 if cap.off else after)
    switching.begin(event)
    power = cap.power(event, float, switching)
    if power is None:
        return None
    more = (power.budget.increments[host.id] / 1e6 for host in computing)
    return [power.budget.rest(0.0) / 1e6, *more]


def test_the_watts_that_count() -> None:
    host, storage = described(0, "100:120:200"), described(9, "10:30")
    assert left_by(Cap(150.0), host) == [50.0, 100.0]
    assert left_by(Cap(200.0), host) is None
    assert left_by(Cap(180.0), host, storages=(storage,)) == [50.0, 100.0]  # a storage can always be busy
    assert left_by(Cap(229.0), host, storages=(storage,)) == [99.0, 100.0]
    assert left_by(Cap(230.0), host, storages=(storage,)) is None
    # Until Batsim has read the energy of a host, it counts the power state 0.
    assert left_by(Cap(150.0), described(0, "100:200,60:160", 1)) == [50.0, 60.0]
    assert left_by(Cap(159.0), described(0, "100:90:95")) is None  # the most is that without load


@pytest.mark.parametrize("seed", range(40))
def test_the_least_cap_from_the_begin_on_counts(seed: int) -> None:
    """And not values of before. The last value holds on and on, unless the trace is repeated."""
    random = Random(seed)
    times = sorted(random.sample(range(-20, 15), random.randint(1, 5)))
    end, repeats = times[-1] + random.randint(1, 8), random.random() < 0.4
    trace = Trace(map(float, times), [float(random.randint(1, 9)) for _ in times], float(end), "W", repeats=repeats)
    values = []
    for second in range(60):
        moment = trace.begin + (second - trace.begin) % trace.period if repeats else second
        values.append(trace.values[max((place for place, each in enumerate(times) if each <= moment), default=0)])
    with pytest.raises(SchedulerError) as refused:
        left_by(Cap(trace), described(0, "100:200"))
    found = re.search(r"draw 100 W, and the cap is ([.\d]+) W(?: from ([.\d]+) s on)?:", str(refused.value))
    assert found is not None
    assert float(found[1]) == min(values)
    if found[2]:
        assert values[int(found[2])] == min(values)
    elif not repeats:
        assert values[0] == min(values)


def test_the_watts_of_switching_count() -> None:
    host = described(0, "100:200,10:10,80:80,120:120", sleep_pstates="1:2:3")
    assert left_by(Cap(150.0), host) == [50.0, 100.0]
    assert left_by(Cap(150.0), host, after=60.0) == [30.0, 80.0]  # at any time, it may be switched on
    assert left_by(Cap(150.0, off=True), host) == [50.0, 190.0]  # it is on, and could sleep
    weak = described(0, "100:110,10:10,80:80,120:120", sleep_pstates="1:2:3")
    assert left_by(Cap(105.0, off=True), weak) == [5.0, 110.0]  # it is switched on for the job
    with pytest.raises(SchedulerError, match="no host can sleep"):
        left_by(Cap(150.0, off=True), described(0, "100:200"))
    with pytest.raises(SchedulerError, match="or off, as in cap=4kW,off"):
        left_by(Cap(90.0), host)
    with pytest.raises(SchedulerError, match="hosts that sleep draw 10 W, and the cap is 9 W"):
        left_by(Cap(9.0, off=True), host)


# Jobs that wait for watts


def test_jobs_wait_until_others_end() -> None:
    jobs = (0.0, 1, 50.0, 60.0), (0.0, 1, 30.0, 60.0), (0.0, 1, 50.0, 60.0)
    assert starts(Policy(cap=Cap(600.0)), *jobs) == {"0": 0, "1": 0, "2": 30}


def test_the_first_job_keeps_its_watts() -> None:
    """Shorter jobs start before it only if they end before it can start, or if there are watts beside it."""
    jobs = (0.0, 1, 50.0, 50.0), (1.0, 3, 50.0, 50.0), (2.0, 1, 40.0, 40.0), (3.0, 1, 99.0, 99.0)
    cap = Cap(700.0)
    assert starts(Policy(backfilling=EASY(), cap=cap), *jobs) == {"0": 0, "1": 50, "2": 2, "3": 100}
    assert starts(Policy(backfilling=NoBackfilling(), cap=cap), *jobs) == {"0": 0, "1": 50, "2": 100, "3": 100}


def test_limits_count_and_not_predictions() -> None:
    """A job that is expected to end before the cap falls, and need not, does not start before."""
    cap = Cap(Trace([0.0, 60.0, 200.0], [500.0, 450.0, 500.0], math.inf, "W"))
    jobs = (0.0, 1, 10.0, 20.0), (12.0, 1, 10.0, 100.0), (14.0, 1, 10.0, 46.0)
    policy = Policy(backfilling=EASY(), walltimes=MeanOfLast(1), cap=cap)
    assert starts(policy, *jobs) == {"0": 0, "1": 200, "2": 14}


def test_a_reservation_moves_forward_when_watts_are_free_earlier_on_other_hosts() -> None:
    rules = SiteRules.of({"partitions": {"p": {"hosts": "host0"}, "q": {"hosts": "host1"}}})
    jobs = (0.0, 1, 30.0, 100.0), (1.0, 1, 20.0, 100.0)
    policy = Policy(backfilling=EASY(), site=rules, cap=Cap(500.0))
    assert starts(policy, *jobs, data=[{"partition": "p"}, {"partition": "q"}]) == {"0": 0, "1": 30}


def test_jobs_get_hosts_that_draw_less_if_only_those_fit() -> None:
    platform = described_platform("a[0-1] wattage_per_state=100:200; b[0-1] wattage_per_state=100:150")
    jobs = (0.0, 1, 50.0, 60.0), (1.0, 2, 50.0, 60.0)
    assert starts(Policy(cap=Cap(499.0)), *jobs, platform=platform) == {"0": 0}
    assert starts(Policy(cap=Cap(500.0)), *jobs, platform=platform) == {"0": 0, "1": 50}


SPLIT = SiteRules.of({"partitions": {"p": {"hosts": "host0,host1"}, "q": {"hosts": "host2,host3"}}})


def test_a_reservation_is_when_watts_are_free_that_jobs_on_other_hosts_have() -> None:
    jobs = (0.0, 1, 100.0, 100.0), (1.0, 2, 20.0, 20.0), (5.0, 1, 300.0, 300.0)
    policy = Policy(backfilling=EASY(), site=SPLIT, cap=Cap(600.0))
    found = starts(policy, *jobs, data=[{"partition": "p"}, {"partition": "q"}, {"partition": "q"}])
    assert found == {"0": 0, "1": 100, "2": 120}


def test_without_backfilling_no_partition_takes_the_watts_that_the_first_job_of_another_one_waits_for() -> None:
    jobs = (0.0, 1, 50.0, 50.0), (1.0, 2, 10.0, 10.0), (2.0, 1, 60.0, 60.0), (3.0, 1, 60.0, 60.0)
    policy = Policy(backfilling=NoBackfilling(), site=SPLIT, cap=Cap(600.0))
    found = starts(policy, *jobs, data=[{"partition": each} for each in "ppqq"])
    assert found == {"0": 0, "1": 50, "2": 60, "3": 60}


def test_jobs_give_way_for_watts() -> None:
    rules = SiteRules.of(
        {"partitions": {"low": {"hosts": "ALL", "preempt": "requeue"}, "high": {"hosts": "ALL", "tier": 2}}}
    )
    jobs = (0.0, 1, 50.0, 60.0), (1.0, 1, 50.0, 60.0), (10.0, 1, 20.0, 30.0)
    data = [{"partition": "low"}, {"partition": "low"}, {"partition": "high"}]
    found = starts(Policy(site=rules, cap=Cap(600.0)), *jobs, data=data)
    assert found == {"0": 0, "1": 1, "2": 10, "w0-1~1": 30}
    assert starts(Policy(site=rules, cap=Cap(700.0)), *jobs, data=data) == {"0": 0, "1": 1, "2": 10}


def test_a_job_that_the_cap_never_leaves_enough_for_is_rejected(caplog: pytest.LogCaptureFixture) -> None:
    assert starts(Policy(cap=Cap(450.0)), (0.0, 1, 10.0, 20.0)) == {}
    assert "it adds 100 W to the watts of idle hosts, and the cap leaves 50 W" in caplog.text
    cap = Cap(Trace([0.0, 60.0], [600.0, 450.0], math.inf, "W"))
    jobs = (0.0, 1, 30.0, 30.0), (0.0, 1, 30.0, 90.0), (40.0, 2, 10.0, 30.0)
    assert starts(Policy(cap=cap), *jobs) == {"0": 0}
    assert (
        "it adds 100 W to the watts of idle hosts and can run for 90 s, and the cap leaves that for 60 s" in caplog.text
    )


@pytest.mark.parametrize("names", [("host0", "host1"), ("host1", "host0")])
def test_a_job_that_names_a_host_with_too_many_watts_is_rejected(names: tuple[str, str]) -> None:
    """Another job of this size names a host that draws less."""
    plain, watts = Platform.homogeneous(2, watts=Watts(100.0, 100.0, 150.0)), (Watts(100.0, 100.0, 400.0),)
    changed = msgspec.structs.replace(plain.hosts[1], watts=watts, properties=tuple(declared(watts).items()))
    platform = plain.replaced([plain.hosts[0], changed])
    jobs = [(float(number), 1, 10.0, 20.0) for number in range(2)]
    found = starts(Policy(cap=Cap(300.0)), *jobs, platform=platform, data=[{"nodelist": name} for name in names])
    assert list(found) == [str(names.index("host0"))]


SLOWER = Platform.homogeneous(3, speeds=(2e9, 1e9), watts=(Watts(100.0, 100.0, 200.0), Watts(100.0, 100.0, 150.0)))


@pytest.mark.parametrize("backfilling", [NoBackfilling(), EASY(), Conservative()])
def test_a_job_that_can_run_slower_waits_though_a_host_never_comes_back(backfilling: Backfilling) -> None:
    """When the cap falls, watts are left for a job that runs slower alone."""
    cap = Cap(Trace([0.0, 100.0], [600.0, 350.0], math.inf, "W"), slow=True)
    jobs = (0.0, 2, 100.0, 100.0), (1.0, 1, 50.0, 90.0)
    failed = ExternalEventList.of([(0.5, json.dumps({"hosts": "2", "state": "down"}))])
    found = starts(Policy(backfilling=backfilling, cap=cap), *jobs, platform=SLOWER, external_events=[failed])
    assert found == {"0": 0, "1": 100}


def test_a_job_runs_slower_where_the_hosts_that_draw_less_never_come_back() -> None:
    watts = Watts(100.0, 100.0, 150.0), Watts(100.0, 100.0, 125.0)
    weak = msgspec.structs.replace(SLOWER.hosts[0], watts=watts, properties=tuple(declared(watts).items()))
    platform = SLOWER.replaced([weak, *SLOWER.hosts[1:]])
    failed = ExternalEventList.of([(0.5, json.dumps({"hosts": "0", "state": "down"}))])
    found = starts(Policy(cap=Cap(350.0, slow=True)), (1.0, 1, 50.0, 90.0), platform=platform, external_events=[failed])
    assert found == {"0": 1}


# Hosts that are switched off


def test_idle_hosts_are_switched_off_for_others() -> None:
    """Two hosts are switched off in two seconds, and on again in ten when a job gets them."""
    jobs = (20.0, 2, 30.0, 60.0), (60.0, 3, 30.0, 60.0)
    assert starts(Policy(cap=Cap(600.0)), *jobs, platform=SLEEPY) == {"0": 20}
    assert starts(Policy(cap=Cap(500.0, off=True)), *jobs[:1], platform=SLEEPY) == {"0": 22}
    assert starts(Policy(cap=Cap(620.0, off=True)), *jobs, platform=SLEEPY) == {"0": 20, "1": 62}


@pytest.mark.parametrize(
    ("hosts", "policy", "jobs", "expected"),
    [
        pytest.param(
            4,
            "easy+cap=450W,off",
            [
                (38.439, 2, 390.0, 585.0),
                (38.439, 1, 510.0, 357.0),
                (259.307, 1, 350.0, 1400.0),
                (337.959, 2, 450.0, 315.0),
            ],
            [40, 430, 430, 792],
            id="the reservation of the last one gets other hosts each time",
        ),
        pytest.param(
            8,
            "conservative+cap=820W,slow,off",
            [(50.0, 3, 14.423209, 14.423209), (50.0, 2, 8.800669, 8.800669), (50.0, 3, 13.894576, 9.726203)],
            [52, 66, 75],
            id="nothing runs, and each reservation protects hosts that the others lack",
        ),
        pytest.param(
            8,
            "reservations=3+cap=900W,off",
            [(4.591031, 3, 3.150831, 4.726246), (4.591031, 2, 220.0, 220.0), (14.591031, 4, 200.0, 200.0)],
            [7, 10, 232],
            id="hosts are switched off for the watts of others, and reserved for the next one",
        ),
    ],
)
def test_hosts_are_not_switched_on_and_off_for_ever(
    hosts: int, policy: str, jobs: list[tuple[float, int, float, float]], expected: list[int]
) -> None:
    """Some hosts were switched on for a job that lacks watts, and others off for the same watts, in turn."""
    turns = 0

    def count(*_: Any) -> None:
        nonlocal turns
        turns += 1
        assert turns < 60, "hosts are switched on and off without an end"

    made = [StaticJob(str(number), at, n, DelayProfile(run), limit) for number, (at, n, run, limit) in enumerate(jobs)]
    result = simulate(sleepy(hosts), Workload(made), named(policy)(), on_turn=count, corrected=True)
    assert [round(row.starting_time or 0.0) for row in result.jobs] == expected


@pytest.mark.parametrize("job", [60.0, 10.0], ids=["a job comes later", "all jobs have ended"])
def test_hosts_are_off_before_the_cap_falls(job: float) -> None:
    cap = Cap(Trace([0.0, 30.0, 50.0], [900.0, 800.0, 250.0], math.inf, "W"), off=True)
    policy = Policy(cap=cap)
    points: list[tuple[float, float]] = []

    def look(sent: Any, reply: Any) -> None:
        site = policy.site
        assert site is not None
        assert site.sleeping is not None
        points.append((policy.state.now, 4 - len(site.sleeping.asleep)))

    jobs = [StaticJob("1", job, 1, DelayProfile(10.0), walltime=20.0)]
    later = ExternalEventList.of([(90.0, json.dumps({"hosts": "3", "state": "up"}))])
    simulate(SLEEPY, Workload(jobs), policy, on_turn=look, corrected=True, external_events=[later])
    before = [on for time, on in points if time < 47]
    assert set(before) == {4}
    assert min(on for time, on in points if time <= 50.001) <= 2
