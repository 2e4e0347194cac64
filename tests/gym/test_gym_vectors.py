"""Many environments in one call in C are what Gymnasium makes of single ones in Python, to the last bit."""

from __future__ import annotations

import _thread
import copy
import pickle
import signal
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from python_worlds import in_python

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.simulator import StaticJob, Workload

WITHOUT_ENGINE = True

HOSTS = 6
MODES = ("NextStep", "SameStep", "Disabled")
BATCHES: list[dict[str, Any]] = [
    {},
    {"wait": True, "order": "sjf"},
    {"choice": "fitting"},
    {"choice": "fitting", "wait": True, "order": "f4"},
    {"backfilling": "easy", "wait": True},
    {"backfilling": "easy=saf", "order": "saf"},
    {"backfilling": "easy=fcfs,no-spare,strict,once"},
    {"backfilling": "greedy=sjf", "order": "largest"},
]
KINDS: list[tuple[str, dict[str, Any]]] = [
    *(("Batch", options) for options in BATCHES),
    *(("Policies", {"policies": ("fcfs", "sjf", "f4"), **options}) for options in BATCHES),
    ("Backfill", {}),
    ("Backfill", {"reserve": False, "order": "sjf"}),
]
SEEN: list[dict[str, Any]] = [
    {},
    {"observation": "flat", "max_running": 0},
    {"mask_in_observation": True, "features": ("fits", "start", "waiting", "f4", "present", "expansion", "sjf")},
    {"features": ("f4",)},
    {"features": ("area", "processors", "requested"), "max_queue": 1},
]


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Jobs, many of them at one time; some have no walltime, or one that is too short."""
    jobs, now, unit = [], 0.0, draw(st.sampled_from([1.0, 0.3]))
    for number in range(draw(st.integers(2, 30))):
        now += unit * draw(st.sampled_from([0, 0, 1, 2, 5, 20]))
        lasts = unit * draw(st.sampled_from([1, 2, 3, 7, 30]))
        walltime = draw(st.sampled_from([None, 1, 3, 10, 40]))
        jobs.append(
            StaticJob(
                f"{number}",
                now,
                draw(st.integers(1, HOSTS)),
                DelayProfile(lasts),
                None if walltime is None else unit * walltime,
            )
        )
    return Workload(jobs)


def plain(name: str) -> Any:
    """The class of an environment by name, with worlds in Python."""
    import batprotocol.gym

    return in_python(getattr(batprotocol.gym, name))


def equal(ours: Any, theirs: Any) -> None:
    """The same values of the same types, to the last bit."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            equal(value, theirs[name])
    elif isinstance(ours, tuple | list) or (isinstance(ours, np.ndarray) and ours.dtype == object):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            equal(one, other)
    elif isinstance(ours, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes()
    else:
        assert ours == theirs


def native(**options: Any) -> Any:
    """A vector that the engine in C steps."""
    import batprotocol.gym

    pytest.importorskip("batprotocol.gym._play")
    kind = getattr(batprotocol.gym, options.pop("kind", "Batch"))
    given = {"num_envs": 3, "workload": "lublin:32?jobs=200&seed=3", "jobs": 40, "max_queue": 16, **options}
    vector = batprotocol.gym.VectorEnvironment(kind, **given)
    assert (vector.engine, vector.fallback) == ("native", None)
    return vector


@settings(max_examples=40, deadline=None)
@given(st.data(), workloads(), st.sampled_from(KINDS), st.sampled_from(SEEN), st.sampled_from(MODES))
def test_a_call_is_what_gymnasium_makes_of_single_environments(
    data: st.DataObject, workload: Workload, kind: tuple[str, dict[str, Any]], seen: dict[str, Any], mode: str
) -> None:
    from gymnasium.vector import SyncVectorEnv

    from batprotocol.gym import LogArrays

    log = LogArrays(workload, hosts=HOSTS, resolution=data.draw(st.sampled_from([None, 0.5, 4.0])))
    name, options = kind
    chosen = {"max_queue": 4, "max_running": 3, **options, **seen, "workload": log}
    chosen["jobs"] = data.draw(st.integers(1, len(log)))
    chosen["reward"] = data.draw(
        st.sampled_from(["bounded_slowdown", "waiting", "utilisation", lambda rows: len(rows)])
    )
    chosen["reward_at"] = data.draw(st.sampled_from(["step", "end"]))
    ours = native(kind=name, autoreset_mode=mode, **chosen)
    theirs = SyncVectorEnv([partial(plain(name), **chosen)] * 3, autoreset_mode=mode)
    number = data.draw(st.integers(0, 2**31))
    equal(ours.reset(seed=number), theirs.reset(seed=number))
    chance = np.random.default_rng(number)
    often = data.draw(st.sampled_from([0.0, 0.3]))
    for _ in range(40):
        masks = ours.action_masks()
        bits = np.unpackbits(ours.action_bits(), axis=1, count=masks.shape[1], bitorder="little")
        equal(bits.astype(np.bool_), masks)
        allowed = np.where(chance.random(masks.shape) < often, True, masks)
        actions = np.array([chance.choice(np.flatnonzero(row)) for row in allowed])
        told, expected = ours.step(actions), theirs.step(actions)
        equal(told, expected)
        if mode == "Disabled" and told[2].any():
            again = {"reset_mask": told[2]}
            ours.reset(options=again)
            theirs.reset(options=again)
        for one, other in zip(ours.envs, theirs.envs, strict=True):
            assert one.value() == other.value()
            equal(one.info(), other.info())
    assert ours.engine == "native"


def test_all_refusals_are_those_of_single_environments() -> None:
    """Each kind of refusal comes, with its words, in kinds that wait and in kinds that do not."""
    from gymnasium.vector import SyncVectorEnv

    begins = set()
    for name, options in KINDS:
        chosen = {"workload": "lublin:16?jobs=60&seed=2", "jobs": 20, "max_queue": 4, **options}
        ours, theirs = native(kind=name, **chosen), SyncVectorEnv([partial(plain(name), **chosen)] * 3)
        equal(ours.reset(seed=2), theirs.reset(seed=2))
        chance = np.random.default_rng(3)
        for _ in range(60):
            last = ours.single_action_space.n - 1  # to wait, in some kinds
            actions = np.where(chance.random(3) < 0.6, last, chance.integers(last + 1, size=3))
            told = ours.step(actions)
            equal(told, theirs.step(actions))
            begins |= {" ".join(why.split()[-4:]) for why in told[4].get("refused", ()) if why}
    found = {why for why in begins if not why.endswith("jobs wait")}
    assert found == {"does not fit now", "first job is chosen", "so no job starts"}
    assert any(why.endswith("jobs wait") for why in begins)


def test_rewards_of_long_queues_are_added_as_in_python() -> None:
    """Sums of floats depend on their order: up to 300 jobs wait here, and more than 128 start in one step."""
    chance = np.random.default_rng(1)
    times = np.sort(chance.integers(0, 3000, 600)) / 10
    jobs = [
        StaticJob(
            str(number), float(time), int(chance.integers(1, 5)), DelayProfile(float(chance.random() * 100)), None
        )
        for number, time in enumerate(times)
    ]
    for reward in ("bounded_slowdown", "waiting", "utilisation"):
        options = {"workload": Workload(jobs), "hosts": 4, "jobs": 600, "reward": reward, "reward_at": "step"}
        vector, alone = native(**options, backfilling="greedy", num_envs=1), plain("Batch")
        env = alone(**{**options, "max_queue": 16}, backfilling="greedy")
        vector.reset(seed=1)
        env.begin_episode(seed=1)
        over, longest = False, 0
        while not over:
            longest = max(longest, env.world.waiting)
            action = int(chance.integers(min(env.world.waiting, 16)))
            _, rewards, _, _, _ = vector.step([action])
            reward, over = env.decide(action)
            assert rewards[0] == reward
        assert longest > 256


@pytest.mark.parametrize("kind", ["Batch", "Policies", "Backfill"])
def test_environments_can_be_used_between_steps(kind: str) -> None:
    """What is done to one of them is what the next step goes on from."""
    vectors = [native(kind=kind, reward_at="step") for _ in range(2)]
    vectors[1]._vector = None
    assert vectors[1]._native() is None
    for vector in vectors:
        vector.reset(seed=1)
        vector.action_space.seed(1)
    for turn in range(60):
        told = [vector.step(vector.action_space.sample()) for vector in vectors]
        equal(*told)
        if turn == 5:
            moments = [vector.envs[0].snapshot() for vector in vectors]
        if turn == 9:
            for vector, moment in zip(vectors, moments, strict=True):
                vector.envs[1].restore(moment)
                vector.envs[0].decide(0)
                vector.envs[2].reset(seed=4)
        if turn == 12:
            vectors += [pickle.loads(pickle.dumps(vectors[0])), copy.deepcopy(vectors[0])]
            assert vectors[2].engine == vectors[3].engine == "native"
            vectors.pop(1)
            vectors.pop(1)
    equal(vectors[0].call("rows"), vectors[1].call("rows"))


def test_gymnasiums_checkers_have_nothing_to_say() -> None:
    from gymnasium.vector.utils import batch_space
    from gymnasium.wrappers.vector import RecordEpisodeStatistics

    vector = RecordEpisodeStatistics(native(mask_in_observation=True, num_envs=4))
    seen, _ = vector.reset(seed=1)
    assert vector.observation_space == batch_space(vector.single_observation_space, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(100):
            assert seen in vector.observation_space
            seen, rewards, over, cut, infos = vector.step(vector.action_space.sample())
            assert rewards.dtype == np.float64
            assert over.dtype == cut.dtype == np.bool_
            assert set(infos) <= {*infos, "action_mask", "_action_mask"}
    vector.close()


def test_what_is_returned_is_not_written_again() -> None:
    vector = native()
    seen, infos = vector.reset(seed=1)
    kept = copy.deepcopy((seen, infos))
    for _ in range(20):
        vector.step(np.zeros(3, int))
    equal((seen, infos), kept)


FALLING: list[tuple[str, dict[str, Any], str]] = [
    ("Batch", {"simulated": True}, "the embedded Batsim plays the episodes"),
    ("Batch", {"order": "wfp3"}, "the order wfp3 changes with time"),
    ("Policies", {"policies": ("fcfs", "wfp3")}, "the order wfp3 changes with time"),
    ("Batch", {"features": ("waiting",) * 20}, "Python computes features"),
    ("Batch", {"features": ("fits", "fits")}, "Python computes features"),
    ("Power", {}, "Power decides in Python"),
    ("Hosts", {}, "Hosts decides in Python"),
]


@pytest.mark.parametrize(("kind", "options", "reason"), FALLING)
def test_what_is_stepped_in_python_says_why(kind: str, options: dict[str, Any], reason: str) -> None:
    import batprotocol.gym

    pytest.importorskip("batprotocol.gym._play")
    vector = batprotocol.gym.VectorEnvironment(
        getattr(batprotocol.gym, kind), 2, workload="lublin:16?jobs=50", jobs=10, **options
    )
    assert (vector.engine, vector.fallback) == ("python", reason)
    vector.reset(seed=1)
    vector.step(vector.action_space.sample())


def test_a_moment_of_another_kind_of_world_is_stepped_in_python() -> None:
    from batprotocol.gym import Batch

    vector = native()
    vector.reset(seed=1)
    other = Batch(vector.envs[0].log, jobs=40, max_queue=16, simulated=True)
    other.reset(seed=1)
    vector.envs[1].restore(other.snapshot())
    assert (vector.engine, vector.fallback) == ("python", "an environment has a moment of another kind of environment")
    seen, *_ = vector.step(np.zeros(3, int))
    other.step(0)
    equal(seen["jobs"][1], other.observe()["jobs"])
    vector.envs[1].reset(seed=1)
    assert vector.engine == "native"


def test_environments_that_differ_are_stepped_in_python() -> None:
    from batprotocol.gym import Batch, VectorEnvironment

    pytest.importorskip("batprotocol.gym._play")
    numbers = iter([False, True])
    vector = VectorEnvironment(
        lambda **options: Batch(wait=True, choice=("fitting" if next(numbers) else "any"), **options), 2
    )
    assert vector.fallback == "the environments are not alike"


WRONG: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda vector: vector.step(np.array([0, 16, 0])), Exception, r"a whole number in \[0, 16\), got 16"),
    (lambda vector: vector.step(np.array([0, 0, -1])), Exception, r"a whole number in \[0, 16\), got -1"),
    (lambda vector: vector.step(np.array([0, 0, 2**63], np.uint64)), Exception, "got 9223372036854775808"),
    (lambda vector: vector.step([0, 0, 2**70]), Exception, "a whole number"),
    (lambda vector: vector.step(np.zeros(3)), Exception, "a whole number"),
    (lambda vector: vector.step(np.zeros((3, 1), int)), Exception, "a whole number"),
    (lambda vector: vector.step(["a", 0, 0]), Exception, "a whole number"),
    (lambda vector: vector.step(np.zeros(2, int)), InputError, "expected 3 actions, got 2"),
    (lambda vector: vector.reset(options={"reset_mask": np.zeros(3, bool)}), InputError, "one of them true"),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_wrong_actions_are_refused_and_change_nothing(
    call: Callable[[Any], Any], error: type[Exception], text: str
) -> None:
    vectors = [native(), native()]
    for vector in vectors:
        vector.reset(seed=1)
    with pytest.raises(error, match=text):
        call(vectors[0])
    equal(*(vector.step(np.zeros(3, int)) for vector in vectors))


def test_the_engine_refuses_what_would_lead_astray() -> None:
    """Only `VectorEnvironment` calls it, but a mistake there must not crash Python."""
    vector = native()
    vector.reset(seed=1)
    engine, plays = vector._vector, tuple(vector._native())
    rows, masks = vector._empty(3)
    assert len(plays) == 3
    report, worth, actions = np.empty((3, 3), np.int64), np.zeros((3, 4)), np.zeros(3, np.int64)
    fine = (plays, actions, rows, masks, report, None)
    for place, wrong in (
        (0, plays[:2]),
        (0, (plays[0], plays[1], plays[1])),
        (0, (*plays[:2], object())),
        (0, list(plays)),
        (1, actions[:2]),
        (1, actions.astype(np.int32)),
        (1, actions.astype(float)),
        (1, np.zeros(6, np.int64)[::2]),
        (1, np.array([0, 16, 0])),
        (1, np.array([0, -2, 0])),
        (2, rows[:, 1:]),
        (2, rows.astype(np.float64)),
        (2, np.broadcast_to(rows[0], rows.shape)),
        (2, rows.ravel()),
        (2, bytes(rows.nbytes)),
        (3, masks[:, :15]),
        (3, masks.astype(np.int64)),
        (4, report.astype(">i8")),
        (4, report[:2]),
        (5, worth[:2]),
        (5, worth.astype(np.float32)),
    ):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            engine.step(*fine[:place], wrong, *fine[place + 1 :])
    rows.flags.writeable = False
    with pytest.raises(ValueError, match="expected observations as a contiguous, writable array"):
        engine.step(*fine)
    assert [env.world.started.tolist() for env in vector.envs] == [[], [], []]
    rows.flags.writeable = True
    engine.step(*fine)
    kind, layout = type(engine), vector.envs[0].sight.layout
    table = vector.envs[0].sight.table(vector.envs[0].log)
    tables, ranks = (table.features, table.known, table.parts), np.zeros(200, np.int64)
    right = (0, False, False, None, (0, False), layout, tables, 200, (), (), ())
    with pytest.raises(ValueError, match="expected no rewards"):
        kind(*right[:4], (0, False), *right[5:]).step(*fine[:5], worth)
    for place, wrong in (
        (0, 3),
        (0, 1),
        (4, (9, False)),
        (4, 0),
        (5, ((0, *layout[0][1:]), layout[1])),
        (5, (layout[0], layout[1][:1])),
        (5, (layout[0], (0, 1, 8))),
        (6, (table.features, table.known, table.known)),
        (7, 201),
        (8, (ranks,)),
        (9, (ranks,)),
        (9, (ranks[:100],)),
    ):
        with pytest.raises((ValueError, TypeError)):
            kind(*right[:place], wrong, *right[place + 1 :])
    with pytest.raises(ValueError, match="expected columns of observations"):
        kind(*right[:9], (ranks,), (8,))


def test_threads_step_other_vectors_at_the_same_time() -> None:
    """Each has what it has alone. One vector refuses to be stepped by two at a time."""

    def play(vector: Any, found: list[Any]) -> None:
        vector.reset(seed=7)
        chance = np.random.default_rng(1)
        found.extend(vector.step(chance.integers(16, size=8)) for _ in range(60))

    alone: list[Any] = []
    play(native(num_envs=8, backfilling="easy=sjf"), alone)
    many: list[list[Any]] = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=play, args=(native(num_envs=8, backfilling="easy=sjf"), found)) for found in many
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found in many:
        equal(found, alone)
    vector = native()
    vector.reset(seed=1)
    vector._is_stepping = True
    with pytest.raises(RuntimeError, match="stepped by another thread"):
        vector.step(np.zeros(3, int))


def test_ctrl_c_ends_a_long_call() -> None:
    """The handler runs in the middle of a call that would take minutes; then the vector asks for a reset."""
    count = 20_000  # jobs of a second, on the host that is free while the second job waits: a square of steps
    first = [StaticJob("0", 0.0, 2, DelayProfile(1e9), None), StaticJob("1", 0.0, 3, DelayProfile(1.0), None)]
    jobs = [StaticJob(str(number), 0.0, 1, DelayProfile(1.0), None) for number in range(2, count)]
    options = {"workload": Workload([*first, *jobs]), "hosts": 3, "jobs": count, "backfilling": "greedy"}
    vector = native(num_envs=64, max_queue=2, **options)
    vector.reset(seed=1)
    vector.step(np.zeros(64, int))
    last, seen = vector.envs[-1].world.play, []

    def is_busy() -> bool:
        try:
            last.state()
        except RuntimeError as error:
            return "another thread steps this environment" in str(error)
        return False

    def interrupt() -> None:
        while not is_busy():
            pass
        _thread.interrupt_main()

    def handle(*_: object) -> None:
        seen.append(is_busy())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)
    try:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            vector.step(np.zeros(64, int))
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [True]
    assert not is_busy()
    with pytest.raises(Exception, match=r"a step was interrupted: call reset\(\) first"):
        vector.step(np.zeros(64, int))
    with pytest.raises(Exception, match=r"a step was interrupted: call reset\(\) for all environments first"):
        vector.reset(options={"reset_mask": np.arange(64) < 2})
    seen_again, _ = vector.reset(seed=1)
    equal(seen_again, native(num_envs=64, max_queue=2, **options).reset(seed=1)[0])


@pytest.mark.parametrize("kind", ["Batch", "Policies", "Backfill"])
def test_without_a_compiler_the_results_are_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import batprotocol.gym.environment
    import batprotocol.gym.vector
    from batprotocol.gym._world import PythonDirect

    def played(vector: Any) -> list[Any]:
        chance = np.random.default_rng(1)
        return [vector.reset(seed=5), *(vector.step(chance.integers(3, size=3)) for _ in range(80))]

    expected = played(native(kind=kind, reward_at="step"))
    for module in (batprotocol.gym.environment, batprotocol.gym.vector):
        monkeypatch.setattr(module, "Direct", PythonDirect)
    options = {"workload": "lublin:32?jobs=200&seed=3", "jobs": 40, "max_queue": 16, "reward_at": "step"}
    vector = batprotocol.gym.VectorEnvironment(getattr(batprotocol.gym, kind), 3, **options)
    assert (vector.engine, vector.fallback) == ("python", "the steps of environments are not compiled here")
    equal(played(vector), expected)
