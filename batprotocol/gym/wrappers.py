"""The observations of other papers, as wrappers, so that their networks can be compared on these environments."""

from __future__ import annotations

from typing import Any, Final

import gymnasium
import msgspec
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from batprotocol.errors import InputError, shown
from batprotocol.gym._world import World
from batprotocol.gym.environment import Environment, Mask
from batprotocol.gym.log import NEVER, LogArrays

__all__ = ["RLSchedulerLayout", "SplitWindow"]

_LONGEST_WAIT: Final = 12 * 3600.0
_ALMOST: Final = 1e-5
_UNKNOWN: Final = 1.0


class RLSchedulerLayout(gymnasium.ObservationWrapper[Any, Any, Any]):
    """RLScheduler's observation: 128 rows of 8 numbers, by D. Zhang, D. Dai, Y. He, F. S. Bao and B. Xie, SC 2020.

    A row is a job. Its numbers are: the waiting time divided by 12 hours; the requested time divided by the longest one
    of the log; the processors divided by those of the machine; the memory (1, as workloads here do not have it); the
    user and the group, each divided by the highest number of the log; the executable (1); and whether it fits now.
    Known values are below 1 by at least 1e-5, and unknown values are 1. A row without a job is 0, 1, 1, 1, 1, 1, 1, 0.

    Args:
        env: an environment of this library.
        jobs: the number of rows, at most its `max_queue`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], jobs: int = 128) -> None:
        super().__init__(env)
        inner = _inner(env)
        if not 1 <= jobs <= inner.max_queue:
            raise InputError(f"expected 1 to {inner.max_queue} (max_queue) rows, got {shown(jobs)}")
        self._jobs = jobs
        self._lasting = _lasting(inner.log)
        self.observation_space = spaces.Box(0.0, 1.0, (jobs, 8), np.float32)

    def observation(self, observation: Any) -> npt.NDArray[np.float32]:
        world = _inner(self.env).world
        table = np.empty((self._jobs, 8), np.float32)
        table[:] = _EMPTY
        queue = np.array(world.queue[: self._jobs], np.int64) + world.first
        if len(queue):
            rows = table[: len(queue)]
            rows[:] = self._lasting[queue]
            rows[:, 0] = np.minimum((world.now - world.log.submitted[queue]) / _LONGEST_WAIT, 1 - _ALMOST)
            rows[:, 7] = np.where(world.fit(queue - world.first), 1 - _ALMOST, _ALMOST)
        return table


_EMPTY: Final = np.array([0, 1, 1, 1, 1, 1, 1, 0], np.float32)


def _lasting(log: LogArrays) -> npt.NDArray[np.float32]:
    """The values of all jobs of a log that never change."""
    table = np.full((len(log), 8), _UNKNOWN, np.float32)
    known = log.walltimes[log.walltimes != NEVER]
    longest = float(known.max()) if len(known) else 1.0
    table[:, 1] = np.minimum(log.walltimes / longest, 1 - _ALMOST)
    table[:, 2] = np.minimum(log.sizes / log.hosts, 1 - _ALMOST)
    people = [_people(log.job(number)[1].extra_data) for number in range(len(log))]
    for column, who in ((4, "user"), (5, "group")):
        numbers = np.array([each.get(who, -1) for each in people], np.float64)
        if (numbers > 0).any():
            parts = np.minimum(numbers / numbers.max(), 1 - _ALMOST)
            table[:, column] = np.where(numbers >= 0, parts, _UNKNOWN)
    return table


def _people(text: str | None) -> dict[str, float]:
    """The numbers of a job's extra data, if these are a JSON object, as for logs."""
    try:
        found = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


class SplitWindow(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A window on both ends of the queue: half of the places are its first jobs, the other half its last ones.

    L. Wang, A. Harwood and M. A. Rodriguez, "Deep Back-Filling: a Split Window Technique for Deep Online Cluster Job
    Scheduling", HPCC 2022. An agent observes each job at least once, when it arrives, also behind a long queue. If all
    waiting jobs fit into the window, the window is the queue.

    Args:
        env: an environment of this library that chooses jobs, with `observation="dict"`, and with places for all jobs
            of an episode (`max_queue` not below `jobs`).
        window: the number of places, which is even.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], window: int = 128) -> None:
        super().__init__(env)
        inner = _inner(env)
        space, actions = env.observation_space, env.action_space
        if not isinstance(space, spaces.Dict) or "jobs" not in space.spaces or not isinstance(actions, spaces.Discrete):
            raise InputError('expected an environment with places as actions, and with observation="dict"')
        if inner.max_queue < inner.jobs:
            text = f"a split window needs all jobs of the queue: expected max_queue >= jobs, {inner.jobs}"
            raise InputError(f"{text}, got {inner.max_queue}")
        if window < 2 or window % 2 or window > inner.max_queue:
            raise InputError(
                f"expected a window of an even number of places up to {inner.max_queue}, got {shown(window)}"
            )
        self._window = window
        self._others = int(actions.n) - inner.max_queue  # to wait
        self.action_space = spaces.Discrete(window + self._others)
        shape = space["jobs"].shape
        assert shape is not None
        table = spaces.Box(0.0, 1.0, (window, shape[1]), np.float32)
        self.observation_space = spaces.Dict({**space.spaces, "jobs": table})

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        seen, info = self.env.reset(**options)
        return self._seen(seen), self._with_mask(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, info = self.env.step(self.place(int(action)))
        return self._seen(seen), reward, terminated, truncated, self._with_mask(info)

    def place(self, action: int) -> int:
        """The place of an action in the whole queue."""
        waiting, half = len(self._world.queue), self._window // 2
        if action >= self._window:
            return action - self._window + _inner(self.env).max_queue
        return action if action < half or waiting <= self._window else waiting - self._window + action

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The actions that are allowed, as booleans for sb3-contrib."""
        return self._mask(_inner(self.env).allowed()).view(np.bool_)

    @property
    def _world(self) -> World:
        return _inner(self.env).world

    def _mask(self, whole: Mask) -> Mask:
        return whole[[self.place(action) for action in range(self._window + self._others)]]

    def _with_mask(self, info: dict[str, Any]) -> dict[str, Any]:
        return {**info, "action_mask": self._mask(info["action_mask"])}

    def _seen(self, seen: dict[str, Any]) -> dict[str, Any]:
        return {**seen, "jobs": seen["jobs"][[self.place(action) for action in range(self._window)]]}


def _inner(env: gymnasium.Env[Any, Any]) -> Environment:
    inner = env.unwrapped
    if not isinstance(inner, Environment):
        raise InputError(f"expected an environment of batprotocol.gym, got {inner}")
    return inner
