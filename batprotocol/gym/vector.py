"""`VectorEnvironment`: many environments in one process that share the log and the array of observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from batprotocol.errors import InputError, shown
from batprotocol.gym import environments
from batprotocol.gym.environment import Environment, Mask

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
    environments have the entry.

    >>> from batprotocol.gym import Batch
    >>> vector = VectorEnvironment(Batch, num_envs=3, workload="lublin:64?jobs=100", jobs=20, max_queue=16)
    >>> observations, infos = vector.reset(seed=1)
    >>> observations["jobs"].shape, infos["action_mask"].shape
    ((3, 16, 8), (3, 16))
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
        self._over = [False] * num_envs
        self._has_begun = False
        self._everywhere = np.ones(num_envs, np.bool_)

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
        seeds = [seed + number for number in range(self.num_envs)] if isinstance(seed, int) else seed
        seeds = [None] * self.num_envs if seeds is None else seeds
        if len(seeds) != self.num_envs:
            raise InputError(f"expected {self.num_envs} seeds, got {len(seeds)}")
        infos: dict[str, Any] = {}
        for number in np.flatnonzero(chosen).tolist():
            self.envs[number].begin_episode(seed=seeds[number], options=given)
            infos = self._add_info(infos, self.envs[number].extra_info(), number)
            self._over[number] = False
        self._has_begun = True
        return self._seen(infos, chosen)

    def step(
        self, actions: Any
    ) -> tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """A step in each environment."""
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed")
        if not self._has_begun:
            raise ResetNeeded("there is no episode yet: call reset() first")
        if len(actions) != self.num_envs:
            raise InputError(f"expected {self.num_envs} actions, got {len(actions)}")
        mode, was_over = self.autoreset_mode, self._over
        if mode is AutoresetMode.DISABLED and any(was_over):
            raise ResetNeeded("an episode is over: call reset() with a reset_mask")
        rewards, over = [0.0] * self.num_envs, [False] * self.num_envs
        infos: dict[str, Any] = {}
        listed = actions.tolist() if isinstance(actions, np.ndarray) and actions.ndim == 1 else actions
        for number, env in enumerate(self.envs):
            if was_over[number] and mode is AutoresetMode.NEXT_STEP:
                env.begin_episode()
            else:
                rewards[number], over[number] = env.decide(listed[number])
                if over[number] and mode is AutoresetMode.SAME_STEP:
                    last = {"final_obs": env.observe(), "final_info": env.info()}
                    infos = self._add_info(infos, last, number)
                    env.begin_episode()
            extra = env.extra_info()
            if extra:
                infos = self._add_info(infos, extra, number)
        self._over = over if mode is not AutoresetMode.SAME_STEP else [False] * self.num_envs
        seen, infos = self._seen(infos, self._everywhere)
        ended = np.array(over)
        return seen, np.array(rewards), ended, np.zeros_like(ended), infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The actions that are allowed, with a row for each environment."""
        return self._masks().view(np.bool_)

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

    def _seen(self, infos: dict[str, Any], chosen: npt.NDArray[np.bool_]) -> tuple[Any, dict[str, Any]]:
        """The observations of all environments, in new arrays, and their `infos`."""
        first = self.envs[0]
        rows = np.empty((self.num_envs, first.sight.size), np.float32)
        masks = self._masks()
        for env, row in zip(self.envs, rows, strict=True):
            env.write(row)
        infos = {**infos, "action_mask": masks, "_action_mask": chosen.copy()}
        return first.shaped(rows, masks.copy() if first.shows_mask else None), infos

    def _masks(self) -> Mask:
        masks = np.empty((self.num_envs, self.envs[0].mask_size), np.int8)
        for number, env in enumerate(self.envs):
            masks[number] = env.allowed()
        return masks


Backfill = partial(VectorEnvironment, environments.Backfill)
Batch = partial(VectorEnvironment, environments.Batch)
Hosts = partial(VectorEnvironment, environments.Hosts)
Policies = partial(VectorEnvironment, environments.Policies)
Power = partial(VectorEnvironment, environments.Power)
