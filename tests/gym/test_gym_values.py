"""Values of environments by the published formulas and by hand: defaults, logs, rewards, and the wrappers' borders."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState, ParallelTaskHomogeneousProfile
from batprotocol.simulator import Platform, SleepPState, StaticJob, Watts, Workload

if TYPE_CHECKING:
    from batprotocol.gym import Batch, LogArrays

WITHOUT_ENGINE = True

FEATURES = ("waiting", "expansion", "start", "fits", "present", "requested", "processors", "area")


def job(name: str, at: float, size: int, lasts: float, walltime: float | None = None, data: str | None = None) -> Any:
    return StaticJob(name, at, size, DelayProfile(lasts), walltime=walltime, extra_data=data)


# Defaults


@pytest.mark.parametrize(
    ("name", "log", "jobs", "max_queue", "reward", "actions"),
    [
        ("Batch", (10000, 256), 256, 128, "bounded_slowdown", "Discrete(128)"),
        ("Policies", (10000, 256), 256, 128, "bounded_slowdown", "Discrete(4)"),
        ("Backfill", (10000, 256), 256, 128, "bounded_slowdown", "Discrete(129)"),
        ("Power", (2000, 32), 64, 128, "energy", "Discrete(5)"),
        ("Hosts", (2000, 16), 64, 16, "bounded_slowdown", f"MultiDiscrete({[17] * 16})".replace(",", "")),
    ],
)
def test_defaults(name: str, log: tuple[int, int], jobs: int, max_queue: int, reward: str, actions: str) -> None:
    import batprotocol.gym

    env = getattr(batprotocol.gym, name)()
    assert (len(env.log), env.log.hosts, env.log.resolution) == (*log, 1.0)
    assert (env.jobs, env.max_queue, env.sight.max_running, env.sight.names) == (jobs, max_queue, 64, FEATURES)
    assert (env.reward.name, env.reward_at, env.render_mode) == (reward, "end", None)
    assert str(env.action_space) == actions
    assert env.simulated is (name in ("Power", "Hosts"))
    assert env.shows_mask is False
    assert env.order is env.backfiller is env.render() is None
    assert env.metadata == {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}
    assert set(env.observation_space) == {"jobs", "running", "machine"}
    for part, shape in (("jobs", (max_queue, 8)), ("running", (64, 2)), ("machine", (3,))):
        space = env.observation_space[part]
        assert space.shape == shape
        assert (space.low.min(), space.low.max(), space.high.min(), space.high.max()) == (0, 0, 1, 1)
    if name == "Policies":
        assert [order.name for order in env.policies] == ["fcfs", "sjf", "saf", "f4"]


def test_the_workloads_of_defaults() -> None:
    from batprotocol.gym import Hosts, Power
    from batprotocol.gym.environment import DEFAULT_WORKLOAD
    from batprotocol.simulator import named_workload

    assert DEFAULT_WORKLOAD == "lublin:256?jobs=10000&seed=1"
    for kind, name in ((Power, "lublin:32?jobs=2000&seed=1"), (Hosts, "lublin:16?jobs=2000&seed=1")):
        log = kind().log
        assert list(log.workload) == list(named_workload(name))


def test_the_hosts_of_power_are_as_described() -> None:
    from batprotocol.gym import Power

    platform = Power(jobs=5).platform
    assert len(platform.computation_hosts) == 32
    host = platform.computation_hosts[0]
    assert host.speeds == (1e9, 1.0, 1 / 6, 1 / 150)
    assert [(watts.idle, watts.epsilon, watts.max) for watts in host.watts] == [
        (95.0, 190.0, 190.0),
        (9.75, 9.75, 9.75),
        (100.0, 100.0, 100.0),
        (100.0, 100.0, 100.0),
    ]
    assert host.sleep_pstates == (SleepPState(1, 2, 3),)
    assert dict(host.properties)["sleep_pstates"] == "1:2:3"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"levels": 1}, "at least two levels, got 1"),
        ({"hosts": 4, "platform": Platform.homogeneous(4)}, "4 hosts that all sleep"),
        ({"hosts": 33, "platform": Platform.homogeneous(4)}, "33 hosts that all sleep"),
    ],
)
def test_power_needs_levels_and_hosts_that_sleep(options: dict[str, Any], text: str) -> None:
    from batprotocol.gym import Power

    with pytest.raises(InputError, match=text):
        Power(Workload([job("1", 0, 1, 1)]), jobs=1, **options)


@pytest.mark.parametrize(
    ("options", "jobs", "reward", "levels"),
    [
        ({}, 64, "energy", 5),
        ({"levels": 2}, 64, "energy", 2),
        ({"jobs": 7, "reward": "waiting", "levels": 9}, 7, "waiting", 9),
    ],
)
def test_the_options_of_power(options: dict[str, Any], jobs: int, reward: str, levels: int) -> None:
    from batprotocol.gym import Power

    env = Power(**options)
    assert (env.jobs, env.levels, env.action_space.n) == (jobs, levels, levels)
    assert type(env.reward).__name__.lower() == reward
    assert env.log.hosts == len(env.platform.computation_hosts) == 32


# Logs


def test_a_log_has_the_columns_of_its_jobs() -> None:
    from batprotocol.gym import LogArrays
    from batprotocol.gym.log import NEVER

    jobs = [job("10", 5, 1, 9), job("9", 5, 2, 9, 3), job("8", 6, 3, 2, 4), job("7", 7, 4, 1), job("6", 7, 3, 1)]
    log = LogArrays(Workload(jobs))
    assert NEVER == 10.0**300
    assert (len(log), log.hosts, log.resolution, log.per_second, log.is_whole) == (5, 4, 1.0, 1.0, True)
    assert log.places.tolist() == [1, 0, 2, 3, 4]  # a workload has 7 after 6
    assert log.submitted.tolist() == [5, 5, 6, 7, 7]
    assert log.sizes.tolist() == [2, 1, 3, 3, 4]
    assert log.walltimes.tolist() == [3, NEVER, 4, NEVER, NEVER]
    assert log.lasts.tolist() == [3, 9, 2, 1, 1]
    assert log.is_plain
    assert [log.job(number)[0] for number in range(5)] == ["w0!9", "w0!10", "w0!8", "w0!6", "w0!7"]
    assert repr(log) == "<Log of 5 jobs for 4 hosts>"
    waiting = log.waiting(2)
    assert (waiting.id, waiting.submitted, waiting.size, waiting.walltime) == ("w0!8", 6.0, 3, 4.0)


def test_a_log_without_jobs_of_one_time_keeps_its_order() -> None:
    from batprotocol.gym import LogArrays

    assert LogArrays(Workload([job("2", 0, 1, 1), job("1", 1, 1, 1)])).places.tolist() == [0, 1]
    assert LogArrays(Workload([job("10", 0, 1, 1), job("9", 0, 1, 1)])).places.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("lasts", "walltime", "at", "resolution", "found"),
    [
        (3.0, 4.0, 1.0, None, (1.0, 1.0, True)),
        (3.5, 4.0, 1.0, None, (0.001, 1000, False)),
        (3.0, 4.5, 1.0, None, (0.001, 1000, False)),
        (3.0, 4.0, 1.5, None, (0.001, 1000, False)),
        (3.0, None, 1.0, None, (1.0, 1.0, True)),
        (3.5, 4.0, 1.0, 1.0, (1.0, 1.0, False)),
        (3.0, 4.0, 1.0, 0.3, (0.3, 1 / 0.3, False)),
        (3.0, 4.0, 1.0, 0.5, (0.5, 2, False)),
        (3.0, 4.0, 1.0, 0.6, (0.6, 1 / 0.6, False)),
        (3.0, 4.0, 1.0, 10.0, (10.0, 0.1, False)),
    ],
)
def test_the_resolution_of_a_log(
    lasts: float, walltime: float | None, at: float, resolution: float | None, found: tuple[float, float, bool]
) -> None:
    from batprotocol.gym import LogArrays

    log = LogArrays(Workload([job("1", 0, 1, 1), job("2", at, 1, lasts, walltime)]), hosts=3, resolution=resolution)
    assert (log.resolution, log.per_second, log.is_whole) == found
    assert log.rounded(3.04) == pytest.approx(round(3.04 / found[0]) * found[0])
    assert log.submitted[1] == pytest.approx(round(at / found[0]) * found[0])


def test_logs_are_shared_and_refused() -> None:
    from batprotocol.gym import LogArrays

    log = LogArrays.of("lublin:8?jobs=20", resolution=2.0)
    assert LogArrays.of("lublin:8?jobs=20", resolution=2.0) is log
    assert LogArrays.of("lublin:8?jobs=20") is not log
    assert LogArrays.of(log) is LogArrays.of(log, 8) is LogArrays.of(log, None, 2.0) is log
    for options in ({"hosts": 9}, {"resolution": 1.0}):
        with pytest.raises(InputError, match="its own hosts and resolution"):
            LogArrays.of(log, **options)
    for resolution in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InputError, match="resolution > 0"):
            LogArrays(Workload([job("1", 0, 1, 1)]), resolution=resolution)
    with pytest.raises(InputError, match="at least one host, got 0"):
        LogArrays(Workload([]), hosts=0)
    with pytest.raises(InputError, match="it requests 0 hosts, and the machine has 1"):
        LogArrays(Workload([job("1", 0, 0, 1)]), hosts=1)
    assert not LogArrays(Workload([StaticJob("1", 0.0, 1, ParallelTaskHomogeneousProfile(1.0))])).is_plain


# Episodes


def five(**options: Any) -> Batch:
    """Five jobs, of which the first takes all four hosts."""
    from batprotocol.gym import Batch

    jobs = [
        job("0", 100, 4, 50, 60),
        job("1", 110, 3, 20, 30),
        job("2", 120, 1, 5, 3600),
        job("3", 120, 2, 100),
        job("4", 130, 4, 10, 10),
    ]
    return Batch(Workload(jobs), **{"jobs": 5, "max_queue": 2, "max_running": 2, "features": FEATURES, **options})


def test_an_observation_has_the_values_of_its_formulas() -> None:
    env = five()
    seen, _ = env.reset(seed=0)
    assert seen["jobs"][0].tolist() == pytest.approx([0, 0, 0, 1, 1, 60 / 3660, 1, 60 / 3660])
    assert seen["jobs"][1].tolist() == [0] * 8
    assert seen["running"].tolist() == [[0, 0], [0, 0]]
    assert seen["machine"].tolist() == pytest.approx([1, 0, 1 / 5])
    env.step(0)
    seen = env.step(0)[0]  # at 150 s: job 1 has just started, and jobs 2, 3 and 4 wait
    assert env.world.now == 150.0
    assert seen["jobs"][0].tolist() == pytest.approx([30 / 3630, 30 / 3630, 0, 1, 1, 0.5, 1 / 4, 1 / 5])
    assert seen["jobs"][1].tolist() == pytest.approx([30 / 3630, 0, 30 / 3630, 0, 1, 1, 2 / 4, 1])
    assert seen["running"].tolist() == pytest.approx(np.array([[30 / 3630, 3 / 4], [0, 0]]))
    assert seen["machine"].tolist() == pytest.approx([1 / 4, 1 / 3, 1])


@pytest.mark.parametrize("reward", ["bounded_slowdown", "waiting", "utilisation"])
def test_rewards_are_those_of_their_formulas(reward: str) -> None:
    env = five(reward=reward)
    env.reset(seed=0)
    total, is_over, steps, info = 0.0, False, 0, {}
    while not is_over:
        _, worth, is_over, _, info = env.step(0)
        total += worth
        steps += 1
    assert steps == 5
    waits, lasts, sizes = [0, 40, 30, 50, 140], [50, 20, 5, 100, 10], [4, 3, 1, 2, 4]
    assert [env.world.starts[number] for number in range(5)] == [100, 150, 150, 170, 270]
    slowdowns = [max(1, (wait + last) / max(last, 10)) for wait, last in zip(waits, lasts, strict=True)]
    found = {
        "mean_bounded_slowdown": sum(slowdowns) / 5,
        "mean_waiting_time": sum(waits) / 5,
        "utilisation": sum(last * size for last, size in zip(lasts, sizes, strict=True)) / 4 / 180,
    }
    assert {name: info[name] for name in found} == pytest.approx(found)
    assert total == pytest.approx({"bounded_slowdown": -found["mean_bounded_slowdown"]}.get(reward, total))
    assert total == pytest.approx({"waiting": -found["mean_waiting_time"]}.get(reward, total))
    assert total == pytest.approx({"utilisation": found["utilisation"]}.get(reward, total))
    rows = {row.job_id: row for row in env.rows()}
    assert rows["4"].final_state is FinalJobState.COMPLETED_WALLTIME_REACHED
    assert rows["3"].final_state is FinalJobState.COMPLETED_SUCCESSFULLY
    assert (rows["3"].requested_time, rows["1"].requested_time) == (None, 30.0)


@pytest.mark.parametrize("reward", ["bounded_slowdown", "waiting", "utilisation", lambda rows: len(rows)])
def test_the_rewards_of_steps_add_up_to_that_of_the_end(reward: Any) -> None:
    totals: dict[str, float] = {}
    for at in ("step", "end"):
        env = five(reward=reward, reward_at=at)
        env.reset(seed=0)
        assert env.value() == (-0.2 if reward == "bounded_slowdown" else 0.0)  # the first of five jobs waits
        rewards, is_over = [], False
        while not is_over:
            _, worth, is_over, _, _ = env.step(0)
            rewards.append(worth)
        totals[at] = sum(rewards)
        assert at == "step" or set(rewards[:-1]) == {0.0}
    assert totals["step"] == pytest.approx(totals["end"], rel=1e-12)
    assert totals["end"] != 0


def test_several_environments_are_asked_at_once() -> None:
    from batprotocol.gym import vector

    jobs = [job(str(number), number, 1, 10) for number in range(9)]
    env = vector.Batch(num_envs=2, workload=Workload(jobs), jobs=3)
    env.reset(seed=0)
    assert env.get_attr("jobs") == env.call("jobs") == (3, 3)
    for mask, each in zip(env.call("action_masks"), env.action_masks(), strict=True):
        np.testing.assert_array_equal(mask, each)
    with pytest.raises(AttributeError):
        env.get_attr("colour")


def test_some_of_several_environments_begin_again() -> None:
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AutoresetMode

    from batprotocol.gym import vector

    jobs = [job(str(number), number, 1, 10) for number in range(9)]
    env = vector.Batch(3, autoreset_mode=AutoresetMode.DISABLED, workload=Workload(jobs), jobs=3)
    with pytest.raises(ResetNeeded, match="there is no episode yet"):
        env.step(np.zeros(3, np.int64))
    env.reset(seed=[1, 2, 3])
    for _ in range(2):
        env.step(np.zeros(3, np.int64))
    now = [each.world.now for each in env.envs]
    _, infos = env.reset(options={"reset_mask": np.array([False, True, False])})
    assert [each.world.now == before for each, before in zip(env.envs, now, strict=True)] == [True, False, True]
    assert infos["_action_mask"].tolist() == [False, True, False]
    _, _, over, _, _ = env.step(np.zeros(3, np.int64))
    assert over.tolist() == [True, False, True]
    with pytest.raises(ResetNeeded, match="an episode is over: call reset"):
        env.step(np.zeros(3, np.int64))
    env.reset(options={"reset_mask": over})
    assert env.step(np.zeros(3, np.int64))[2].tolist() == [False, False, False]
    for wrong in ([True, False], [[True] * 3], [1, 0, 1], [False] * 3):
        with pytest.raises(InputError, match="expected a reset_mask of 3 booleans, one of them true"):
            env.reset(options={"reset_mask": np.array(wrong)})
    for seeds in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(InputError, match=f"expected 3 seeds, got {len(seeds)}"):
            env.reset(seed=seeds)
    with pytest.raises(InputError, match="expected 3 actions, got 2"):
        env.step(np.zeros(2, np.int64))


def test_energy_is_that_of_the_hosts() -> None:
    """Two hosts at 100 W, and a job of an hour on one of them, which computes nothing."""
    from batprotocol.gym import Power

    watts = (Watts(100.0, 200.0, 200.0), Watts(1.0, 1.0, 1.0), Watts(1.0, 1.0, 1.0), Watts(1.0, 1.0, 1.0))
    platform = Platform.homogeneous(
        2,
        speeds=(1e9, 1.0, 0.1, 0.05),
        watts=watts,
        sleep_pstates=(SleepPState(1, 2, 3),),
        properties={"sleep_pstates": "1:2:3"},
        bandwidth=math.inf,
        latency=0.0,
    )
    env = Power(Workload([job("1", 0, 1, 3600, 7200)]), jobs=1, levels=2, platform=platform)
    env.reset(seed=0)
    _, reward, is_over, _, _ = env.step(1)
    assert is_over
    assert reward == pytest.approx(-(100 + 100) / 1000, rel=1e-12)


def test_a_switch_is_an_event_that_no_job_can_be() -> None:
    from batprotocol.gym import Power
    from batprotocol.gym._simulated import OTHER

    env = Power(Workload([job("0", 0, 4, 10, 20), job("1", 1000, 4, 10, 20)]), jobs=2)
    env.reset(seed=0)
    env.world.advance()
    env.world.switch(env.world.hosts.copy().take(3), 1)
    assert env.world.advance() == OTHER == -(2**62)
    assert (env.world.free, len(env.world.asleep), env.world.switching, env.world.now) == (1, 3, 0, 16.0)


# Wrappers

PEOPLE = (
    '{"user":4,"group":2}',
    '{"user":8}',
    '{"user":1,"group":0,"x":"y"}',
    "[1]",
    "{",
    None,
    '{"user":0,"group":"a"}',
)


def peopled(data: tuple[str | None, ...] = PEOPLE) -> LogArrays:
    from batprotocol.gym import LogArrays

    walltimes = (100.0, None, 400.0, 50.0, None, 400.0, 1.0)
    jobs = [
        job(str(number), 0 if number < 5 else 43200.0 * (number - 4) / 4, 1 + number % 4, 10.0**6, walltime, text)
        for number, (text, walltime) in enumerate(zip(data, walltimes, strict=True))
    ]
    return LogArrays(Workload(jobs), hosts=4)


def test_rlschedulers_rows_are_as_published() -> None:
    from batprotocol.gym import Batch, RLSchedulerLayout

    env = RLSchedulerLayout(Batch(peopled(), jobs=7, max_queue=6, wait=True), jobs=6)
    assert env.observation_space.shape == (6, 8)
    assert (env.observation_space.low.max(), env.observation_space.high.min()) == (0.0, 1.0)
    almost = 1 - 1e-5
    env.reset(seed=0)
    for _ in range(5):
        seen = env.step(6)[0]
    expected = [
        [0.25, 0.25, 0.25, 1, 0.5, almost, 1, almost],
        [0.25, almost, 0.5, 1, almost, 1, 1, almost],
        [0.25, almost, 0.75, 1, 1 / 8, 0, 1, almost],
        [0.25, 0.125, almost, 1, 1, 1, 1, almost],
        [0.25, almost, 0.25, 1, 1, 1, 1, almost],
        [0, almost, 0.5, 1, 1, 1, 1, almost],
    ]
    np.testing.assert_allclose(seen, expected, atol=1e-7)
    env.step(6)
    seen = env.step(6)[0]
    np.testing.assert_allclose(seen[2], [0.5, 0.125, almost, 1, 1, 1, 1, 1e-5], atol=1e-7)  # it does not fit
    np.testing.assert_allclose(seen[5], [0, 1 / 400, 0.75, 1, 0, 1, 1, almost], atol=1e-7)
    for _ in range(2):
        seen = env.step(0)[0]
    assert seen[4:].tolist() == [[0, 1, 1, 1, 1, 1, 1, 0]] * 2


def test_rlschedulers_rows_without_users_and_walltimes() -> None:
    from batprotocol.gym import Batch, RLSchedulerLayout

    for texts, users in (((None,), 1.0), (('{"user":0}',), 1.0), (('{"user":1}',), 1 - 1e-5)):
        log = Workload([job("1", 0, 4, 5.0, None, texts[0]), job("2", 86400, 4, 5.0)])
        env = RLSchedulerLayout(Batch(log, jobs=2, max_queue=1, wait=True), jobs=1)
        seen, _ = env.reset(seed=0)
        assert seen.tolist() == [pytest.approx([0, 1 - 1e-5, 1 - 1e-5, 1, users, 1, 1, 1 - 1e-5], abs=1e-7)]
        seen = env.step(1)[0]
        assert seen[0, 0] == pytest.approx(1 - 1e-5, abs=1e-7)  # a day


def test_rlschedulers_layout_needs_places() -> None:
    import gymnasium

    from batprotocol.gym import Batch, RLSchedulerLayout

    env = Batch(peopled(), jobs=7, max_queue=128)
    assert RLSchedulerLayout(env).observation_space.shape == (128, 8)
    assert RLSchedulerLayout(env, jobs=1).observation_space.shape == (1, 8)
    for jobs in (0, 129):
        with pytest.raises(InputError, match=rf"expected 1 to 128 \(max_queue\) rows, got {jobs}"):
            RLSchedulerLayout(env, jobs=jobs)
    with pytest.raises(InputError, match=r"an environment of batprotocol\.gym, got"):
        RLSchedulerLayout(gymnasium.make("CartPole-v1"))


def test_a_split_window_has_borders() -> None:
    from batprotocol.gym import Batch, Hosts, SplitWindow

    jobs = [job("0", 0, 4, 1000, 1000), *(job(str(number), 1, 1, 10 * number, 10.0 * number) for number in range(1, 8))]
    env = SplitWindow(Batch(Workload(jobs), jobs=8, max_queue=8, wait=True), window=4)
    assert str(env.action_space) == "Discrete(5)"
    assert env.observation_space["jobs"].shape == (4, 8)
    env.reset(seed=0)
    env.step(0)
    waiting = []
    for _ in range(7):
        inner = env.unwrapped.world
        waiting.append(inner.waiting)
        places = [env.place(action) for action in range(5)]
        last = inner.waiting - 4
        assert places == [0, 1, *((2, 3) if last <= 0 else (2 + last, 3 + last)), 8]
        seen, _, _, _, info = env.step(4)
        np.testing.assert_array_equal(info["action_mask"], env.action_masks())
        np.testing.assert_array_equal(seen["jobs"], env.unwrapped.observe()["jobs"][[env.place(at) for at in range(4)]])
    assert {3, 4, 5, 7} <= set(waiting)
    assert SplitWindow(Batch(Workload(jobs), jobs=8, max_queue=8), window=8).action_space.n == 8
    assert SplitWindow(Batch(Workload(jobs), jobs=8, max_queue=8), window=2).action_space.n == 2
    for window in (0, 3, 10, -2):
        with pytest.raises(InputError, match=f"an even number of places up to 8, got {window}"):
            SplitWindow(Batch(Workload(jobs), jobs=8, max_queue=8), window=window)
    with pytest.raises(InputError, match="expected max_queue >= jobs, 8, got 7"):
        SplitWindow(Batch(Workload(jobs), jobs=8, max_queue=7), window=4)
    for wrong in (Batch(Workload(jobs), jobs=8, observation="flat"), Hosts(Workload(jobs), jobs=8)):
        with pytest.raises(InputError, match="places as actions"):
            SplitWindow(wrong, window=4)
    assert SplitWindow(Batch(Workload(jobs), jobs=8)).action_space.n == 128
