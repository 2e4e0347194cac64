"""`Environment`: the base class of all environments. To make one, derive, and define the actions and their effects.

An episode is some consecutive jobs of a log, on an empty machine. Time advances automatically until there is a decision
(`is_due`). Then the agent gets an observation, and its action is executed (`act`).
"""

from __future__ import annotations

import math
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, InvalidAction, ResetNeeded

from batprotocol.errors import InputError, shown
from batprotocol.gym._rendering import picture, text
from batprotocol.gym._world import Direct, World
from batprotocol.gym.log import LogArrays, order_of, parts_of
from batprotocol.gym.machines import (
    SUMS,
    Electric,
    EpisodeFailures,
    GivenFailures,
    KnownElectricity,
    Machine,
    platform_of,
)
from batprotocol.gym.observations import RUNNING, Lasting, Sight, default_features
from batprotocol.gym.rewards import Reward, RowsReward, reward_of, summed_up
from batprotocol.policies import (
    EASY,
    FCFS,
    Backfilling,
    Greedy,
    NoBackfilling,
    Order,
    PolicyNameError,
    SiteRules,
    named,
)
from batprotocol.simulator import JobRow, OwnMetric, Platform, Workload

__all__ = [
    "DEFAULT_WORKLOAD",
    "Backfiller",
    "Environment",
    "Snapshot",
    "backfilling_of",
]


# Backfilling while a chosen job waits for hosts: the kinds of backfilling of `policies`, on columns of numbers


def backfilling_of(given: Backfilling | str | None) -> EASY | Greedy | None:
    """The kind of backfilling with a name of `policies` (`easy=fcfs`), or a given one; None: no backfilling.

    Without an order of its own (`easy`), it takes jobs in the order of their submissions.

    Raises:
        InputError: there is none of this name, or it is not EASY, greedy or none.
    """
    kind: Any = given
    if isinstance(given, str):
        try:
            kind = named(given)().backfilling
        except PolicyNameError:
            raise InputError(f"there is no backfilling {shown(given)}; `batproto policies` lists all") from None
    if kind is None or isinstance(kind, NoBackfilling):
        return None
    if isinstance(kind, EASY | Greedy):
        return kind
    raise InputError(f"expected EASY or greedy backfilling, or none, got {shown(given)}")


class Backfiller:
    """Starts jobs before the turn of a job that waits for hosts.

    Args:
        kind: the kind of backfilling.
        log: the jobs.
        is_in_order: whether the queue is in the order in which jobs are tried.
    """

    def __init__(self, kind: EASY | Greedy, log: LogArrays, is_in_order: bool) -> None:
        self.kind = kind
        self._log = log
        self._ranks = None if is_in_order or kind.order is None else _ranks(kind, log)
        self._easy = easy = kind if isinstance(kind, EASY) else None
        self.rules = (True, easy.spare, easy.strict, easy.once) if easy else (False, False, False, False)
        """Whether it is EASY, and its three options."""
        self._slack = log.resolution / 2

    def tried(self, first: int, count: int) -> npt.NDArray[np.int64] | None:
        """The order in which the jobs of an episode are tried, as ranks; None: the queue order."""
        return None if self._ranks is None else self._ranks[first : first + count]

    def begin(self, world: World, job: int) -> tuple[float, int]:
        """Start the jobs that may start now, as a chosen job begins to wait. Return the limits for `go_on`."""
        limits = self.limits(world, job)
        if world.queue and world.free:
            return self._start(world, limits)
        return limits

    def go_on(self, world: World, job: int, event: int, limits: tuple[float, int]) -> tuple[float, int]:
        """Start the jobs that may start now, after an event, as the chosen job still waits. Return the new limits."""
        easy = self._easy
        if easy is not None and not easy.once and event < 0:
            limits = self.limits(world, job)
        if not world.free or not world.queue:
            return limits
        if event >= 0:  # jobs that came before do not fit now if they did not fit before
            size = world.sizes[event]
            may = world.walltimes[event] <= limits[0] - world.now or size <= limits[1]
            if size > world.free or not may:
                return limits
        return self._start(world, limits)

    def limits(self, world: World, job: int) -> tuple[float, int]:
        """The time of the start of the job, before which others must end, and the number of hosts it leaves free."""
        if self._easy is None:
            return math.inf, 0
        free, size = world.free, world.sizes[job]
        latest, spare = math.inf, 0
        for end, other in zip(world.ends, world.end_jobs, strict=True):
            if end > latest:  # all that end together with the last one that it needs count
                break
            free += world.sizes[other]
            if free >= size and latest == math.inf:
                latest = max(end, world.now) + self._slack
        if self._easy.spare and latest < math.inf:
            spare = free - size
        return latest - self._slack + (-self._slack if self._easy.strict else self._slack), spare

    def may_start(self, world: World, limits: tuple[float, int]) -> npt.NDArray[np.int64]:
        """The places in the queue of the jobs that may start now, if only one of them starts."""
        numbers = world.head(world.count) + world.first
        sizes = self._log.sizes.take(numbers)
        fits: npt.NDArray[np.bool_] = sizes <= world.free
        if self._easy is not None:
            fits &= self._log.walltimes.take(numbers) <= limits[0] - world.now
            if limits[1]:
                fits |= sizes <= min(limits[1], world.free)
        return np.flatnonzero(fits)

    def _start(self, world: World, limits: tuple[float, int]) -> tuple[float, int]:
        """Start all jobs that may start, one after the other. Each leaves fewer hosts for those behind it."""
        places = self.may_start(world, limits)
        if not len(places):
            return limits
        jobs = [world.queue[place] for place in places.tolist()]
        if self._ranks is not None and len(jobs) > 1:
            jobs.sort(key=self._ranks[world.first : world.first + world.count].__getitem__)
        latest, spare = limits
        for job in jobs:
            size = world.sizes[job]
            if size > world.free:
                continue
            if world.walltimes[job] > latest - world.now:
                if size > spare:
                    continue
                spare -= size
            world.take(world.queue.index(job))
            world.start(job)
        return latest, spare


def _ranks(kind: EASY | Greedy, log: LogArrays) -> npt.NDArray[np.int64]:
    order = kind.order
    if order is None or isinstance(order, FCFS):
        return np.arange(len(log))
    if order.changes:
        what = "expected an order of backfilling that does not change with time"
        raise InputError(f"{what}, got {order.name or shown(order)}")
    return log.ranks(order)


DEFAULT_WORKLOAD: Final = "lublin:256?jobs=10000&seed=1"
"""Ten thousand jobs for 256 hosts, of Lublin and Feitelson's model."""

Mask: TypeAlias = "npt.NDArray[np.int8]"
Ranks: TypeAlias = "npt.NDArray[np.int64]"
Numbers: TypeAlias = "npt.NDArray[np.float32]"


class Snapshot(NamedTuple):
    """A moment of an episode, which `Environment.restore` returns to any number of times. It can be pickled."""

    world: World
    reward: Reward
    value: float
    is_over: bool
    own: Any


@dataclass(frozen=True, kw_only=True)
class EnvironmentOptions:
    """The options of an `Environment`.

    Attributes:
        jobs: the number of jobs in an episode, >= 1.
        within: the parts of the log that episodes are drawn from, as (first, last + 1) numbers of jobs; None: all.
        hosts: the number of hosts of the machine; None: the number that the workload is made for. Or a description of
            hosts that jobs share, as `described_platform` takes it (`n[0-3] cores=8 memory=32G gres=gpu:2`).
        platform: a platform whose hosts jobs share by cores, memory and GPUs, or its file; None: jobs have hosts for
            themselves, unless `hosts` describes some, or there is a `site`.
        site: the partitions and limits of a site, or their TOML file; see `batprotocol.policies.SiteRules`.
        allocation: the hosts that a job gets where jobs share hosts: first, contiguous, pack, spread, weight, best-fit.
        resolution: times that differ by less count as equal, in seconds; None: see `LogArrays`.
        order: the queue order, an `Order` or its name (`f4`); by default, jobs are in the order of their submission.
        max_queue: the number of jobs of the queue in an observation. The agent can choose among them.
        max_running: the number of running jobs in an observation, those that end first.
        features: the features of each waiting job, see `FEATURES`. Names of queue orders are features, too. None: all
            of `FEATURES`, and where jobs share hosts, also what a job takes of its hosts, and its partitions.
        observation: "dict", with the keys jobs, running and machine, where jobs share hosts resources, and with
            `electricity` this; or "flat", the same in one row.
        mask_in_observation: whether observations are dictionaries of `observations` and `action_mask`.
        reward: "bounded_slowdown", "waiting", "utilisation", "energy", "carbon", "cost", a `Reward`, a metric of your
            own that defines which direction is better (also as "FILE.py:NAME"), or a function of the rows of the jobs
            that have ended. An agent maximises it. So metrics of which less is better, such as waiting, become negative
            rewards.
        reward_at: "end": the whole reward comes at the end of the episode; "step": each step gets its change of the
            reward. The sum is the same.
        failures: the failures of hosts: a `FailureModel` or several, drawn anew for each episode, or a file of events
            of hosts; None: no host fails. A job that has a host that fails is lost. See `EpisodeFailures`.
        electricity: the carbon intensity, the price and the watts of hosts, see `Electric`; None: they are not known.
        simulated: whether the embedded Batsim plays the episodes, message by message, even if all jobs are delays.
        render_mode: "ansi", "rgb_array" or None.
    """

    jobs: int = 256
    within: Sequence[tuple[int, int]] | None = None
    hosts: int | str | None = None
    platform: Platform | str | os.PathLike[str] | None = None
    site: SiteRules | str | os.PathLike[str] | None = None
    allocation: str = "first"
    resolution: float | None = None
    order: Order | str | None = None
    max_queue: int = 128
    max_running: int = 64
    features: Sequence[str] | None = None
    observation: str = "dict"
    mask_in_observation: bool = False
    reward: Reward | OwnMetric | RowsReward | str = "bounded_slowdown"
    reward_at: str = "end"
    failures: GivenFailures | None = None
    electricity: Electric | None = None
    simulated: bool = False
    render_mode: str | None = None


class Environment(gymnasium.Env[Any, Any], ABC):
    """An environment of batch scheduling. To make one, derive and write `actions` and `act`.

    If some actions are not always allowed, write `mask`, too.

    Args:
        workload: the source of jobs: a workload, its name (`log.swf.gz`, `lublin:256?jobs=1000`, see `named_workload`),
            or a `LogArrays` that environments share. A named workload is read once for a whole process.
        options: the fields of `EnvironmentOptions`, by name.

    `info` has `action_mask`, which `action_space.sample` takes. After an action that was not allowed, it has `refused`,
    a sentence with the reason. At the end, it has `mean_bounded_slowdown`, `mean_waiting_time` and `utilisation`, and
    where jobs share hosts `rejected_jobs`, the number of jobs that could never run, with failures `lost_jobs`, and with
    electricity `carbon_grams` and `cost`.

    Raises:
        InputError: an argument cannot be used, the log is too short, or a job is larger than the machine.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012  # gymnasium's

    needs_simulator: ClassVar[bool] = False
    """Whether its decisions need the embedded Batsim, as those on certain hosts and on power states do."""

    def __init__(
        self, workload: LogArrays | Workload | str | os.PathLike[str] = DEFAULT_WORKLOAD, **options: Any
    ) -> None:
        chosen = EnvironmentOptions(**options)
        for name, value, known in (
            ("observation", chosen.observation, ("dict", "flat")),
            ("reward_at", chosen.reward_at, ("end", "step")),
            ("render_mode", chosen.render_mode, (None, "ansi", "rgb_array")),
        ):
            if value not in known:
                raise InputError(f"expected {name} to be one of {known}, got {shown(value)}")
        platform = platform_of(chosen.platform, chosen.hosts)
        self.log = LogArrays.of(workload, _count(platform, chosen.hosts), chosen.resolution)
        self.machine = self._machine(platform, chosen.site, chosen.allocation)
        self.jobs = chosen.jobs
        self._parts = parts_of(chosen.within, chosen.jobs, len(self.log))
        self.order = None if chosen.order is None else order_of(chosen.order)
        self._ranks = None if self.order is None or self.order.changes else self.log.ranks(self.order)
        names = default_features(self.machine) if chosen.features is None else chosen.features
        self._failures = None if chosen.failures is None else EpisodeFailures(chosen.failures, self.log)
        if self._failures is not None and (self.needs_simulator or self.machine is not None):
            raise InputError("failures are for Batch, Policies and Backfill with whole hosts: leave out failures")
        self.electricity = None if chosen.electricity is None else KnownElectricity(chosen.electricity)
        if self.electricity is not None and (self.machine is not None or self._failures is not None):
            raise InputError("electricity is for whole hosts that do not fail: leave out electricity")
        seen = 0 if self.electricity is None else self.electricity.size
        queue, running = chosen.max_queue, chosen.max_running
        self.sight = Sight(names, queue, running, self.machine, self._failures is not None, seen)
        self.max_queue = chosen.max_queue
        self.reward = reward_of(chosen.reward)
        self.reward_at = chosen.reward_at
        self.simulated = chosen.simulated or self.needs_simulator or self.machine is not None or not self.log.is_plain
        self.render_mode = chosen.render_mode
        self._is_flat = chosen.observation == "flat"
        self.shows_mask = chosen.mask_in_observation
        self.backfiller: Backfiller | None = None
        self._world: World | None = None
        self._lasting: Lasting | None = None
        self._is_over = True
        self._is_closed = False
        self._value = 0.0
        self._refused: str | None = None
        self._changes = [0]
        self._counted: npt.NDArray[np.float64] | None = None
        self.action_space = self.actions()
        self.observation_space = self._observation_space()

    # For derived classes to write

    @abstractmethod
    def actions(self) -> spaces.Space[Any]:
        """The space of actions."""

    @abstractmethod
    def act(self, action: Any) -> None:
        """Execute an action of the space: start jobs, or let time go on. If it is not allowed, call `refuse`."""

    def mask(self) -> Mask:
        """A new array with 1 for each action that is allowed now, and 0 for each other one. At least one is allowed."""
        return np.ones(self.mask_size, np.int8)

    def is_due(self) -> bool:
        """Whether there is a decision now; by default, whether a job waits."""
        return self.world.waiting > 0

    def begin(self) -> None:
        """An episode begins: `world` is new."""

    own: tuple[str, ...] = ()
    """The further attributes that change in an episode. Snapshots contain them. They must be immutable values."""

    # For derived classes to use

    @property
    def world(self) -> World:
        """The waiting jobs, the running jobs, and the free hosts."""
        if self._world is None:
            if self._is_closed:
                raise ClosedEnvironmentError("the environment is closed")
            raise ResetNeeded("there is no episode yet: call reset() first")
        return self._world

    def refuse(self, why: str) -> None:
        """Refuse an action that is not allowed. `info` gets the reason."""
        self._refused = why

    # Gymnasium's methods

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: it decides the episodes that are drawn from now on, equally on every machine.
            options: `{"first": number}`: the episode begins with this job of the log, and nothing is drawn.

        Raises:
            InputError: there is no such option, or the log has too few jobs from that one on.
        """
        self.begin_episode(seed=seed, options=options)
        return self.observe(), self.info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Execute an action, and go on until the next decision.

        Raises:
            InvalidAction: the action is not in the action space.
            ResetNeeded: the episode is over, or none has begun.
        """
        reward, is_over = self.decide(action)
        return self.observe(), reward, is_over, False, self.info()

    def render(self) -> Any:
        """A text (`render_mode="ansi"`), or a picture as an array of (height, width, 3) bytes ("rgb_array").

        Both show the time, the running jobs with the time until their walltimes, and the first jobs of the queue with
        their hosts, walltimes and waiting times. Times have units, and jobs have the names of the log.
        """
        if self.render_mode is None:
            return None
        return text(self.world, self.max_queue) if self.render_mode == "ansi" else picture(self.world, self.max_queue)

    def close(self) -> None:
        """Close the environment. It may be closed twice."""
        self._detach(goes_on=False)
        self._world = None
        self._is_closed = True

    # Steps without observations

    def begin_episode(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """The same as `reset` without an observation."""
        if self._is_closed:
            raise ClosedEnvironmentError("the environment is closed")
        super().reset(seed=seed)
        self._begin(self._first(options or {}))

    def decide(self, action: Any) -> tuple[float, bool]:
        """The same as `step` without an observation, for rollouts: the reward, and whether the episode is over."""
        world = self.expect_episode()
        self._detach()
        self._refused = None
        action = self.checked(action)
        if not world.is_over:
            self.act(action)
        self._go_on(world)
        return self._rewarded(world), self._is_over

    def _detach(self, goes_on: bool = True) -> None:
        """Tell a vector of which this is a part that something happens without it; see `VectorEnvironment`.

        If the episode goes on, what the vector has counted for the reward is taken over.
        """
        counted, self._counted = self._counted, None
        self._changes[0] += 1
        if counted is not None and goes_on:
            *counts, self._value = counted.tolist()
            self._reward.recount(*counts)

    def _rewarded(self, world: World) -> float:
        """The reward of the step that was made."""
        if self.reward_at == "step":
            before, self._value = self._value, self._reward.value(world)
            return self._value - before
        return self._reward.value(world) if self._is_over else 0.0

    def expect_episode(self) -> World:
        """The world of an episode that is not over.

        Raises:
            ResetNeeded: it is over, or none has begun.
        """
        world = self.world
        if self._is_over:
            raise ResetNeeded("the episode is over: call reset() first")
        return world

    def value(self) -> float:
        """The reward of the episode until now, independent of `reward_at`."""
        self._detach()
        return self._reward.value(self.world)

    def observe(self) -> Any:
        """The present observation."""
        row = np.empty(self.sight.size, np.float32)
        self.write(row)
        return self.shaped(row, self.allowed() if self.shows_mask else None)

    def write(self, row: Numbers) -> None:
        """Write the present observation into a row of numbers."""
        world = self.world
        if self._lasting is None:
            self._lasting = self.sight.lasting(world)
        self.sight.write(world, self._lasting, row)

    def shaped(self, rows: Numbers, masks: Mask | None) -> Any:
        """One or several rows of numbers in the shape of observations. Give masks if observations contain them."""
        sight = self.sight
        seen: Any = rows
        if not self._is_flat:
            many = rows.shape[:-1]
            seen = {"jobs": rows[..., : sight.running].reshape(*many, sight.max_queue, sight.width)}
            if sight.max_running:
                running = rows[..., sight.running : sight.machine]
                seen["running"] = running.reshape(*many, sight.max_running, RUNNING)
            seen["machine"] = rows[..., sight.machine : sight.resources]
            if sight.shape:
                seen["resources"] = rows[..., sight.resources : sight.electricity].reshape(*many, *sight.shape)
            if self.electricity is not None:
                seen["electricity"] = rows[..., sight.electricity :]
        return {"observations": seen, "action_mask": masks} if self.shows_mask else seen

    def info(self) -> dict[str, Any]:
        """The `info` of `reset` and `step`."""
        return {"action_mask": self.allowed(), **self.extra_info()}

    def extra_info(self) -> dict[str, Any]:
        """The entries of `info` that exist after some steps only."""
        if self._refused is None and not self._is_over:
            return {}
        extra: dict[str, Any] = {} if self._refused is None else {"refused": self._refused}
        return {**extra, **self.summary()} if self._is_over else extra

    def allowed(self) -> Mask:
        """The actions that are allowed now, as a mask; once the episode is over, all of them."""
        return np.ones(self.mask_size, np.int8) if self.world.is_over else self.mask()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The same as booleans, for sb3-contrib."""
        return self.allowed().view(np.bool_)

    def rows(self) -> list[JobRow]:
        """The rows of the jobs that have ended; once the episode is over, of all jobs."""
        return self.world.rows()

    def summary(self) -> dict[str, float]:
        """The metrics of an episode that is over."""
        world = self.world
        return {
            **summed_up(world),
            **({} if self.machine is None else {"rejected_jobs": world.count - world.counted}),
            **({} if self._failures is None else {"lost_jobs": world.lost}),
            **({} if self.electricity is None else {SUMS[k]: world.weighted(k) for k in self.electricity.traces}),
        }

    # Moments

    def snapshot(self) -> Snapshot:
        """This moment. `restore` returns to it any number of times, in this or another environment of the same log."""
        own = {name: getattr(self, name) for name in self.own}
        self._detach()
        return Snapshot(self.world.copy(), _copied(self._reward), self._value, self._is_over, own)

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a moment."""
        if self._is_closed:
            raise ClosedEnvironmentError("the environment is closed")
        if snapshot.world.log is not self.log and len(snapshot.world.log) != len(self.log):
            raise InputError("the snapshot is of another log: use it in environments of its own log")
        is_other = self._world is None or self._world.first != snapshot.world.first
        self._world = snapshot.world.copy()
        if is_other:
            self._lasting = None
        self._detach(goes_on=False)
        self._reward, self._value, self._is_over = _copied(snapshot.reward), snapshot.value, snapshot.is_over
        self._refused = None
        for name, value in snapshot.own.items():
            setattr(self, name, value)

    # Internal

    def make_world(self, first: int, ranks: Ranks | None, tried: Ranks | None) -> World:
        """The world of an episode that begins with this job of the log."""
        if self.machine is not None:
            from batprotocol.gym._shared import SharedWorld

            return SharedWorld(self.machine, self.order, first, self.jobs, ranks)
        if self._failures is not None:
            from batprotocol.gym._simulated import FailingWorld

            seed = int(self.np_random.integers(2**31)) if self._failures.are_drawn else 0
            events = self._failures.events(first, self.jobs, seed)
            return FailingWorld(self.log, first, self.jobs, ranks, tried, events=events)
        if self.electricity is not None:
            from batprotocol.gym._simulated import ElectricWorld

            return ElectricWorld(self.log, first, self.jobs, ranks, tried, known=self.electricity)
        if self.simulated:
            from batprotocol.gym._simulated import SimulatedWorld

            return SimulatedWorld(self.log, first, self.jobs, ranks, tried)
        return Direct(self.log, first, self.jobs, ranks, tried)

    def _machine(
        self, platform: Platform | None, site: SiteRules | str | os.PathLike[str] | None, allocation: str
    ) -> Machine | None:
        """The hosts that jobs share; None if they do not."""
        if platform is None and site is None:
            if allocation != "first":
                raise InputError(
                    f"allocation={shown(allocation)} needs hosts that jobs share: use platform, or describe hosts"
                )
            return None
        if self.needs_simulator:
            name = type(self).__name__
            raise InputError(f"{name} does not support jobs that share hosts: use Batch, Policies or Backfill")
        return Machine(platform or Platform.homogeneous(self.log.hosts), site, allocation, self.log)

    def _begin(self, first: int) -> None:
        ranks = None if self._ranks is None else self._ranks[first : first + self.jobs]
        tried = None if self.backfiller is None else self.backfiller.tried(first, self.jobs)
        world = self._world = self.make_world(first, ranks, tried)
        self._lasting = None
        self._reward = self.reward.begin(world)
        self._detach(goes_on=False)
        self._value, self._is_over, self._refused = 0.0, False, None
        self.begin()
        self._go_on(world)
        self._is_over = False  # without a decision, the episode ends after one step with any action

    def _go_on(self, world: World) -> None:
        while not world.is_over:
            if self.is_due():
                if self.order is not None and self.order.changes:
                    world.sort(self.order)
                return
            if world.advance() is None:
                break
        world.finish()
        self._is_over = True

    def _first(self, options: Mapping[str, Any]) -> int:
        unknown = next((name for name in options if name != "first"), None)
        if unknown is not None:
            raise InputError(f"expected the option first, got {shown(unknown)}")
        if "first" in options:
            first = operator.index(options["first"])
            if not 0 <= first <= len(self.log) - self.jobs:
                raise InputError(f"expected first in [0, {len(self.log) - self.jobs}], got {first}")
            return first
        number = int(self.np_random.integers(sum(map(len, self._parts))))
        for part in self._parts:
            if number < len(part):
                return part[number]
            number -= len(part)
        raise AssertionError("a number that was drawn lies in one of the parts")

    def checked(self, action: Any) -> Any:
        """An action, if it is in the space. Whole numbers are checked here, which is faster."""
        space = self.action_space
        if isinstance(space, spaces.Discrete):
            try:
                number = operator.index(action)
            except TypeError:
                number = -1
            if 0 <= number < space.n:
                return number
            raise InvalidAction(f"expected an action that is a whole number in [0, {space.n}), got {shown(action)}")
        if not space.contains(action):
            raise InvalidAction(f"expected an action of {space}, got {shown(action)}")
        return action

    @property
    def mask_size(self) -> int:
        """The length of a mask; for several choices at a time, the number of all their values."""
        space = self.action_space
        return int(space.n) if isinstance(space, spaces.Discrete) else int(spaces.flatdim(space))

    def _observation_space(self) -> spaces.Space[Any]:
        sight = self.sight
        seen: spaces.Space[Any] = _unit(sight.size)
        if not self._is_flat:
            parts: dict[str, spaces.Space[Any]] = {
                "jobs": _unit(sight.max_queue, sight.width),
                "running": _unit(sight.max_running, RUNNING),
                "machine": _unit(sight.resources - sight.machine),
            }
            if not sight.max_running:
                del parts["running"]
            if sight.shape:
                parts["resources"] = _unit(*sight.shape)
            if self.electricity is not None:
                parts["electricity"] = _unit(self.electricity.size)
            seen = spaces.Dict(parts)
        if self.shows_mask:
            return spaces.Dict({"observations": seen, "action_mask": spaces.MultiBinary(self.mask_size)})
        return seen


def _count(platform: Platform | None, hosts: int | str | None) -> int | None:
    """The number of hosts, of a platform or as it is given."""
    if platform is not None:
        return len(platform.computation_hosts)
    assert not isinstance(hosts, str)  # it describes a platform
    return hosts


def _unit(*shape: int) -> spaces.Box:
    return spaces.Box(0.0, 1.0, shape, np.float32)


def _copied(reward: Reward) -> Reward:
    made = reward.__class__.__new__(reward.__class__)
    made.__dict__.update(reward.__dict__)
    return made
