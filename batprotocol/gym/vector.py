"""`VectorEnvironment`: many environments in one process that share the log and the array of observations.

Where jobs only take time, the worlds of `Batch`, `Policies` and `Backfill` are in C, and one call steps all of them,
without Python's lock. It writes observations and masks into the arrays that are returned. Python begins and ends the
episodes, so environments always have the state that they would have alone. All else is stepped world by world.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from batprotocol.errors import InputError, shown
from batprotocol.gym import environments
from batprotocol.gym._world import Direct, NativeDirect
from batprotocol.gym.environment import Environment, Mask, Numbers
from batprotocol.gym.environments import REFUSALS
from batprotocol.gym.rewards import COUNTED

if TYPE_CHECKING:
    from batprotocol.gym._play import Play, Vector

__all__ = ["VectorEnvironment"]


class VectorEnvironment(VectorEnv[Any, Any, Any]):
    """Many environments of one kind, each with its own episode.

    Args:
        kind: the class of the environments.
        num_envs: the number of environments.
        autoreset_mode: when the next episode begins after an episode is over: with the next step, which is Gymnasium's
            default, in the same step, or when `reset` is called with a `reset_mask`.
        arguments: the arguments of the class.

    `infos` has the entries of each environment's `info` as arrays. The booleans in `_action_mask` and so on show which
    environments have the entry. `engine` is "native" if one call in C steps all environments, while other threads of
    Python run; else "python", and `fallback` is the reason. The results are equal.

    >>> from batprotocol.gym import Batch
    >>> vector = VectorEnvironment(Batch, num_envs=3, workload="lublin:64?jobs=100", jobs=20, max_queue=16)
    >>> observations, infos = vector.reset(seed=1)
    >>> observations["jobs"].shape, infos["action_mask"].shape
    ((3, 16, 8), (3, 16))
    >>> vector.action_bits().shape
    (3, 2)
    """

    def __init__(
        self,
        kind: Callable[..., Environment],
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **arguments: Any,
    ) -> None:
        if num_envs < 1:
            raise InputError(f"expected at least one environment, got {num_envs}")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        first = kind(**arguments)
        shared = {**arguments, "workload": first.log, "hosts": None, "resolution": None}
        if first.machine is not None:  # files are read once
            shared |= {"platform": first.machine.platform, "site": first.machine.rules}
        self.envs = [first, *(kind(**shared) for _ in range(num_envs - 1))]
        self.num_envs = num_envs
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_observation_space, self.single_action_space = first.observation_space, first.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._ended: list[int] = []
        self._missing: str | None = "there is no episode yet"
        self._is_stepping = False
        self._everywhere = np.ones(num_envs, np.bool_)
        self._settle()

    def _settle(self) -> None:
        self._vector, self._reason = _vector_of(self.envs)
        self._is_each = self.envs[0].reward_at == "step"
        self._size = self.envs[0].mask_size
        self._changes = [0]
        for env in self.envs:
            env._changes = self._changes
        self._known = -1  # how many changes it knows
        self._plays: list[Play] = []
        self._counted: npt.NDArray[np.float64] | None = None
        self._refused: list[int] = []

    def __getstate__(self) -> dict[str, Any]:
        for env in self.envs:
            env._detach()
        return {name: value for name, value in self.__dict__.items() if name not in ("_vector", "_plays", "_counted")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._settle()

    @property
    def engine(self) -> str:
        """How environments are stepped: "native", all in one call in C, or "python", one after the other."""
        return "python" if self.fallback else "native"

    @property
    def fallback(self) -> str | None:
        """Why environments are stepped in Python; None: they are not."""
        if self._vector is not None and self._missing is None and self._native() is None:
            return "an environment has a moment of another kind of environment"
        return self._reason

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in each environment, or in those of `options["reset_mask"]`.

        Args:
            seed: a seed for each environment; or one seed for the first environment, with the next numbers for others.
            options: see `Environment.reset`.
        """
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed")
        chosen = np.ones(self.num_envs, np.bool_)
        given = dict(options or {})
        if "reset_mask" in given:
            chosen = np.asarray(given.pop("reset_mask"))
            if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_ or not chosen.any():
                what = f"expected a reset_mask of {self.num_envs} booleans, one of them true"
                raise InputError(f"{what}, got {shown(chosen)}")
        if self._missing is not None and not chosen.all():
            raise ResetNeeded(f"{self._missing}: call reset() for all environments first")
        seeds = [seed + number for number in range(self.num_envs)] if isinstance(seed, int) else seed
        seeds = [None] * self.num_envs if seeds is None else seeds
        if len(seeds) != self.num_envs:
            raise InputError(f"expected {self.num_envs} seeds, got {len(seeds)}")
        infos: dict[str, Any] = {}
        for number in np.flatnonzero(chosen).tolist():
            self.envs[number].begin_episode(seed=seeds[number], options=given)
            infos = self._add_info(infos, self.envs[number].extra_info(), number)
        self._missing = None
        self._ended = [number for number in self._ended if not chosen[number]]
        return self._shaped(*self._look(), infos, chosen)

    def step(
        self, actions: Any
    ) -> tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """A step in each environment."""
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed")
        if self._missing is not None:
            raise ResetNeeded(f"{self._missing}: call reset() first")
        if len(actions) != self.num_envs:
            raise InputError(f"expected {self.num_envs} actions, got {len(actions)}")
        if self._is_stepping:
            raise RuntimeError("the vector is stepped by another thread at this moment: step it by one at a time")
        if self._ended and self.autoreset_mode is AutoresetMode.DISABLED:
            raise ResetNeeded("an episode is over: call reset() with a reset_mask")
        chosen = self._checked(actions)
        self._is_stepping, self._missing = True, "a step was interrupted"  # as by Ctrl-C, in the middle of worlds
        try:
            found = self._stepped(chosen)
        finally:
            self._is_stepping = False
        self._missing = None
        return found

    def _checked(self, actions: Any) -> Any:
        """The actions, if each of them is in the space. An episode that begins anew ignores its action."""
        if isinstance(actions, np.ndarray) and actions.ndim == 1:
            listed = actions.tolist()
            if actions.dtype.kind in "iu" and min(listed) >= 0 and max(listed) < self._size:
                return actions.astype(np.int64)
            actions = listed
        each = enumerate(zip(self.envs, actions, strict=True))
        checked = [0 if number in self._ended else env.checked(action) for number, (env, action) in each]
        return np.array(checked, np.int64) if self._vector is not None else checked

    def _stepped(
        self, actions: Any
    ) -> tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """A step in each environment but those whose episodes were over, which begin anew."""
        begun, is_same = self._ended, self.autoreset_mode is AutoresetMode.SAME_STEP
        if self._known != self._changes[0]:
            for number, env in enumerate(self.envs):
                if number not in begun:
                    env.expect_episode()
        plays = self._native()
        self._begin(begun)
        if plays is None:
            rewards, over, told = self._by_python(actions, begun)
            rows, masks = self._look()
        else:
            rows, masks = self._empty(self.num_envs)
            rewards, over, told = self._by_engine(plays, actions, begun, rows, masks)
        infos: dict[str, Any] = {}
        for number in told:
            env = self.envs[number]
            if is_same and over[number]:
                mask = masks[number].copy() if env.shows_mask else None
                last = {"final_obs": env.shaped(rows[number].copy(), mask), "final_info": env.info()}
                infos = self._add_info(infos, last, number)
            elif extra := env.extra_info():
                infos = self._add_info(infos, extra, number)
        ended = [number for number in told if over[number]]
        if is_same and ended:
            self._begin(ended)
            rows[ended], masks[ended] = self._look(ended)
        self._ended = [] if is_same else ended
        seen, infos = self._shaped(rows, masks, infos, self._everywhere)
        return seen, rewards, over, np.zeros(self.num_envs, np.bool_), infos

    def _begin(self, numbers: Sequence[int]) -> None:
        """Begin the next episodes of some environments."""
        known = self._known == self._changes[0]
        for number in numbers:
            env = self.envs[number]
            env.begin_episode()
            if known and self._plays:
                self._take_over(number, env)
        if known:
            self._known = self._changes[0]

    def _take_over(self, number: int, env: Environment) -> None:
        """Count on from what the reward of an environment has counted, and let it know where the count is."""
        world = env._world
        assert isinstance(world, NativeDirect)
        self._plays[number] = world.play
        if self._counted is not None:
            self._counted[number] = *env._reward.counts(), env._value
            env._counted = self._counted[number]

    def _by_python(self, actions: Any, begun: Sequence[int]) -> tuple[Any, Any, list[int]]:
        """Step one environment after the other. Return the rewards, whether episodes are over, and who has an info."""
        rewards, over, told = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_), []
        listed = actions.tolist() if isinstance(actions, np.ndarray) else actions
        for number, env in enumerate(self.envs):
            if number not in begun:
                rewards[number], over[number] = env.decide(listed[number])
                if env.extra_info():
                    told.append(number)
        return rewards, over, told

    def _by_engine(
        self, plays: list[Play], actions: Any, begun: Sequence[int], rows: Numbers, masks: Mask
    ) -> tuple[Any, Any, list[int]]:
        """The same in one call of the engine in C, which also writes the observations and the masks.

        Python only looks at the environments with a report, as that takes longer than the steps.
        """
        envs, counted = self.envs, self._counted
        assert self._vector is not None
        for number in self._refused:
            envs[number]._refused = None
        if begun:
            actions[begun] = -1
        before = None if counted is None else counted[:, 3].copy()
        report = np.empty((self.num_envs, 3), np.int64)
        events = self._vector.step(tuple(plays), actions, rows, masks, report, counted)
        refused, ends = [], []
        if events:
            refused, ends = np.flatnonzero(report[:, 0]).tolist(), np.flatnonzero(report[:, 2]).tolist()
        over = np.zeros(self.num_envs, np.bool_)
        for number in ends:
            over[number] = envs[number]._is_over = True
        rewards = np.zeros(self.num_envs)
        if counted is not None and before is not None:
            if self._is_each:
                rewards = counted[:, 3] - before
            elif ends:
                rewards[ends], counted[ends, 3] = counted[ends, 3], before[ends]
        else:
            for number in np.flatnonzero(actions >= 0).tolist() if self._is_each else ends:
                rewards[number] = envs[number]._rewarded(envs[number].world)
        for number in refused:
            why = REFUSALS[int(report[number, 0])]
            envs[number].refuse(why.format(action=int(actions[number]), waiting=int(report[number, 1])))
        self._refused = refused
        return rewards, over, sorted({*ends, *refused})

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The actions that are allowed, with a row for each environment."""
        return self._look(masks_only=True)[1].view(np.bool_)

    def action_bits(self) -> npt.NDArray[np.uint8]:
        """The same in bits, eight actions a byte, the first one in the lowest bit. Bits behind the last action are 0.

        A replay buffer of masks is an eighth as large with them. `numpy.unpackbits(bits, axis=1, count=actions,
        bitorder="little")` returns the mask.
        """
        return np.packbits(self.action_masks(), axis=1, bitorder="little")

    def render(self) -> tuple[Any, ...] | None:
        """The texts or pictures of the environments."""
        return None if self.render_mode is None else tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        for env in self.envs:
            env.close()

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of each environment, or get an attribute."""
        found = (getattr(env, name) for env in self.envs)
        return tuple(each(*args, **kwargs) if callable(each) else each for each in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each environment."""
        return tuple(getattr(env, name) for env in self.envs)

    # Internal

    def _native(self) -> list[Play] | None:
        """The worlds that the engine in C can step in one call; None: it cannot. Environments say if they change."""
        if self._vector is None:
            return None
        if self._known != self._changes[0]:
            log, kind = self.envs[0].log, type(self.envs[0].reward)
            for env in self.envs:
                world = env._world
                if type(world) is not NativeDirect or world.log is not log or type(env._reward) is not kind:
                    return None
            self._plays = [env._world.play for env in self.envs if isinstance(env._world, NativeDirect)]
            self._counted = np.zeros((self.num_envs, 4)) if kind in COUNTED else None
            self._refused = list(range(self.num_envs))
            for number, env in enumerate(self.envs):
                env._detach()
                self._take_over(number, env)
            self._known = self._changes[0]
        return self._plays

    def _empty(self, count: int) -> tuple[Numbers, Mask]:
        return np.empty((count, self.envs[0].sight.size), np.float32), np.empty((count, self._size), np.int8)

    def _look(self, numbers: Sequence[int] | None = None, masks_only: bool = False) -> tuple[Numbers, Mask]:
        """The present observations, in rows, and the masks, of all environments or of some."""
        chosen = range(self.num_envs) if numbers is None else numbers
        rows, masks = self._empty(len(chosen))
        plays = self._native()
        if plays is not None and self._vector is not None:
            some = plays if numbers is None else tuple(plays[number] for number in numbers)
            self._vector.step(tuple(some), None, None if masks_only else rows, masks, None, None)
            return rows, masks
        for place, number in enumerate(chosen):
            masks[place] = self.envs[number].allowed()
            if not masks_only:
                self.envs[number].write(rows[place])
        return rows, masks

    def _shaped(
        self, rows: Numbers, masks: Mask, infos: dict[str, Any], chosen: npt.NDArray[np.bool_]
    ) -> tuple[Any, dict[str, Any]]:
        """Observations in the shape of the space, and their `infos`."""
        first = self.envs[0]
        infos = {**infos, "action_mask": masks, "_action_mask": chosen.copy()}
        return first.shaped(rows, masks.copy() if first.shows_mask else None), infos


# What the engine in C takes

_KINDS: Final = (environments.Batch, environments.Policies, environments.Backfill)
_MOST_RANKS: Final = 16


def _options_of(env: Environment) -> tuple[Any, ...] | str:
    """The facts that the engine must know of an environment; or the reason why it cannot step it."""
    kind, orders = type(env), [*getattr(env, "policies", ())]
    if kind not in _KINDS:
        return f"{kind.__name__} decides in Python"
    if env.simulated or env._failures is not None or env.electricity is not None:
        return "the embedded Batsim plays the episodes"
    changing = next((order for order in (env.order, *orders) if order is not None and order.changes), None)
    if changing is not None:
        return f"the order {changing.name or type(changing).__name__} changes with time"
    sight = env.sight
    ranked = sight.ranked()
    if sight.layout is None or ranked is None or not sight.is_of_log or max(len(ranked), len(orders)) > _MOST_RANKS:
        return "Python computes features"
    fitting = getattr(env, "only_fitting", False), getattr(env, "can_wait", False)
    filling = env.reserve if isinstance(env, environments.Backfill) else env.backfiller
    rules = None if filling is None else filling.rules
    reward = (type(env.reward), env.reward_at)
    return _KINDS.index(kind), *fitting, rules, reward, sight.names, sight.layout, tuple(orders), tuple(ranked)


def _vector_of(envs: Sequence[Environment]) -> tuple[Vector | None, str | None]:
    """The engine for these environments; or None, and the reason why there is none."""
    if Direct is not NativeDirect:
        return None, "the steps of environments are not compiled here"
    options = _options_of(envs[0])
    if isinstance(options, str):
        return None, options
    log, sight = envs[0].log, envs[0].sight
    if any(env.log is not log or _options_of(env) != options for env in envs):
        return None, "the environments are not alike"
    from batprotocol.gym._play import Vector

    kind, only_fitting, can_wait, rules, _, _, layout, orders, ranked = options
    table = sight.table(log)
    tables, places = (table.features, table.known, table.parts), tuple(place for place, _ in ranked)
    by_orders = tuple(log.ranks(order) for order in orders), tuple(log.ranks(order) for _, order in ranked)
    worth = COUNTED.get(type(envs[0].reward), 0), envs[0].reward_at == "step"
    return Vector(kind, only_fitting, can_wait, rules, worth, layout, tables, len(log), *by_orders, places), None


Backfill = partial(VectorEnvironment, environments.Backfill)
Batch = partial(VectorEnvironment, environments.Batch)
Hosts = partial(VectorEnvironment, environments.Hosts)
Policies = partial(VectorEnvironment, environments.Policies)
Power = partial(VectorEnvironment, environments.Power)
