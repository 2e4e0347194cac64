"""The energy that hosts draw: idle hosts are switched off, and jobs wait for better times of a trace."""

from __future__ import annotations

import logging
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final, NamedTuple

from procset import ProcSet

from batprotocol.edc import Reply
from batprotocol.errors import InputError
from batprotocol.model import Host, SimulationBeginsEvent
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.jobs import Ending, State
from batprotocol.workloads.electricity import BestTimes, Trace
from batprotocol.workloads.electricity.hosts import SleepPState, read_sleep_pstates

__all__ = ["StartWindow", "Wait"]


logger = logging.getLogger("batprotocol.policies")

_SHORT = 1.0
"""Seconds: a job without an expected run time waits as if it was as short, and a deadline is met by that much."""


class StartWindow(NamedTuple):
    """When a job may run.

    Attributes:
        begin: the first time at which it may start, in seconds.
        until: the time at which it waits again; infinity: it does not.
    """

    begin: float
    until: float = math.inf


class Wait:
    """Jobs wait for the best time of a trace, as far as they have slack.

    A job starts in the interval with the least mean value that is as long as it is expected to run. It may start late
    by its slack, which counts from the time at which it could have started: from its submission, its `begin`, and the
    jobs that it depends on. If no hosts are free then, it starts as soon as there are some.

    Args:
        trace: the values over time: carbon intensities, or prices. Where it has none, jobs do not wait.
        slack: how late a job may start, in seconds, >= 0.
        share: how late a job may start, as a part of its expected run time, >= 0; None: `slack` holds.
        deadline: whether jobs with the key `deadline` may wait until they have to start. Others may by their slack.
        interruptible: whether jobs that can be divided run in the best times of their window, with interruptions. This
            window ends when a job would end that starts as late as it may.
        error: the standard deviation of the errors of a forecast, as a part of the mean value, >= 0. Jobs then wait
            by the forecast: each value of the trace has a normal error.
        seed: decides these errors.
        quantile: all jobs of the queue wait while the value is above this quantile, from 0 to 1, of the values of the
            24 hours from then on, as far as they have slack; None: each waits for its best time.

    >>> trace = Trace([0.0, 3600.0, 7200.0], [300.0, 200.0, 250.0], 10800.0, "g/kWh", repeats=True)
    >>> Wait(trace, 7200.0).turn(0.0, 0.0, 1800.0).begin
    3600.0
    """

    name: ClassVar[str] = "wait"
    """Its name on the command line."""
    sentence: ClassVar[str] = "Jobs wait for the times of a trace with the least carbon intensity, or the least price."
    """One sentence that describes it."""
    source: ClassVar[str] = "Wiesner et al., Middleware 2021"
    """The publication or documentation that defines it."""

    def __init__(
        self,
        trace: Trace,
        slack: float = 8 * 3600.0,
        *,
        share: float | None = None,
        deadline: bool = False,
        interruptible: bool = False,
        error: float = 0.0,
        seed: int = 0,
        quantile: float | None = None,
    ) -> None:
        if not 0 <= slack < math.inf:
            raise ValueError(f"expected a slack >= 0 in seconds, got {slack}")
        if share is not None and not 0 <= share < math.inf:
            raise ValueError(f"expected a slack >= 0 as a part of the run time, got {share}")
        if not 0 <= error < math.inf:
            raise ValueError(f"expected a standard deviation of errors >= 0, got {error}")
        if quantile is not None and not 0 <= quantile <= 1:
            raise ValueError(f"expected a quantile from 0 to 1, got {quantile}")
        if quantile is not None and interruptible:
            raise ValueError("expected interruptible or queue, got both")
        self.trace, self.slack, self.share, self.deadline = trace, slack, share, deadline
        self.interruptible, self.error, self.seed, self.quantile = interruptible, error, seed, quantile
        self._best = BestTimes(forecast_of(trace, error, seed) if error else trace)
        self._is_known_to_end = False

    @property
    def has_effect(self) -> bool:
        """Whether some time is better than another one."""
        return not self._best.is_constant

    def turn(
        self,
        now: float,
        since: float,
        expected: float,
        *,
        walltime: float = math.inf,
        deadline: float | None = None,
        divisible: bool = False,
        ran: float = 0.0,
    ) -> StartWindow:
        """When a job may run.

        Args:
            now: the time.
            since: when it could have started first.
            expected: how long it is expected to run, in seconds; infinity: that is not known.
            walltime: its walltime; infinity: it has none.
            deadline: when it must have ended; None: at any time.
            divisible: whether it can be interrupted.
            ran: how long it has run before it was interrupted.
        """
        seconds = expected if 0 < expected < math.inf else _SHORT
        latest = self._latest(since, expected, walltime, deadline)
        if latest <= since or self._is_unknown(since):
            return StartWindow(since)
        if self.quantile is not None:
            begin = self._best.low_from(max(now, since), latest, self.quantile)
            return StartWindow(begin, self._best.high_from(begin, latest, self.quantile))
        if not (self.interruptible and divisible and expected < math.inf):
            return StartWindow(self._best.start(since, latest, seconds))
        rest = seconds - ran
        if rest <= 0:  # it takes longer than expected
            return StartWindow(since)
        pieces = self._best.pieces(max(now, since), latest + seconds, rest)
        return StartWindow(pieces[0][0], pieces[0][1] if len(pieces) > 1 else math.inf)

    def _latest(self, since: float, expected: float, walltime: float, deadline: float | None) -> float:
        """The latest time at which a job may start because of this part."""
        slack = self.slack if self.share is None else self.share * expected if expected < math.inf else 0.0
        latest = since + slack
        if deadline is None:
            return latest
        if walltime == math.inf:  # it is not known when it has to start
            return since
        due = deadline - walltime - _SHORT
        return due if self.deadline else min(latest, due)

    def _is_unknown(self, since: float) -> bool:
        """Whether the trace has no values at a time."""
        if self._best.known(since, math.inf) > since:
            return False
        if not self._is_known_to_end:
            self._is_known_to_end = True
            logger.warning(
                "jobs do not wait from %g s on: their trace has values from %g s to %g s; repeat it with repeat=yes",
                *(since, self.trace.begin, self.trace.end),
            )
        return True


def forecast_of(trace: Trace, error: float, seed: int) -> Trace:
    """A trace with normal errors, which are independent for each value.

    Args:
        trace: the true values.
        error: the standard deviation of the errors, as a part of the mean value.
        seed: decides them.
    """
    chance = random.Random(seed)
    deviation = error * abs(trace.mean(trace.begin, trace.end))
    values = [value + chance.gauss(0.0, deviation) for value in trace.values]
    return Trace(trace.times, values, trace.end, trace.unit, repeats=trace.repeats)


# Switch hosts off that have been idle for a while, and on when a job gets them.


_NO_HOSTS: Final = frozen_hosts("")


class Switching:
    """Switches hosts off that can sleep and have been idle for a while.

    Args:
        after: the seconds without a job after which a host is switched off, >= 0; infinity: never.
    """

    def __init__(self, after: float = math.inf) -> None:
        if not after >= 0:
            raise ValueError(f"expected a number of seconds >= 0 after which hosts are switched off, got {after}")
        self.after = after
        self._pstates: dict[int, tuple[int, int]] = {}
        self.seconds: dict[int, tuple[float, float]] = {}
        """The hosts that can sleep, with the seconds in which they are switched off and on."""
        self.asleep = Hosts()
        """The free hosts that sleep."""
        self.waking = Hosts()
        """The hosts that are being switched on."""
        self._sleepy: list[tuple[Ending, Hosts]] = []  # hosts that are being switched off
        self._idle: dict[int, float] = {}  # since when; the host that has been idle for longest comes first

    def begin(self, event: SimulationBeginsEvent) -> None:
        """A simulation begins."""
        self.asleep, self.waking, self._pstates, self._idle, self.seconds = Hosts(), Hosts(), {}, {}, {}
        self._sleepy = []
        if self.after == math.inf:
            return
        for host in event.computation_hosts:
            sleep = _sleep_of(host)
            if sleep is not None:
                self._pstates[host.id] = host.pstate, sleep.sleep
                self.seconds[host.id] = _seconds_in(host, sleep.switching_off), _seconds_in(host, sleep.switching_on)
        self._idle = dict.fromkeys(self._pstates, 0.0)

    @property
    def idle_since(self) -> Mapping[int, float]:
        """The hosts that are idle and on, and can sleep, with the times since when."""
        return self._idle

    def hand_over(self, state: State) -> list[int]:
        """Somebody else switches hosts from now on; returns those that are being switched off."""
        hosts = [host for _, sleepy in self._sleepy for host in sleepy]
        for ending, _ in self._sleepy:
            state.endings.remove(ending)
        self._sleepy = []
        return hosts

    def taken(self, hosts: FrozenHosts, switch: Callable[[Iterable[int], bool], None]) -> FrozenHosts:
        """Switch on the hosts of a job that sleep. Return the hosts that it must wait for."""
        if not self._pstates:
            return _NO_HOSTS
        for host in hosts:
            self._idle.pop(host, None)
        sleeping = hosts & self.asleep
        if sleeping:
            self.asleep -= sleeping
            self.waking |= sleeping
            switch(sleeping, True)
        return hosts & self.waking

    def released(self, hosts: FrozenHosts, now: float) -> None:
        """No job has these hosts any more."""
        for host in hosts if self._pstates else ():
            if host in self._pstates:
                self._idle[host] = now

    def idle(self, now: float) -> list[int]:
        """The hosts that are to be switched off now."""
        hosts = []
        for host, since in self._idle.items():
            if since + self.after > now:
                break
            hosts.append(host)
        for host in hosts:
            del self._idle[host]
        return hosts

    def falls_asleep(self, hosts: FrozenHosts, number: int, state: State, share: int) -> None:
        """Hosts are being switched off. They are free again when they sleep.

        Args:
            hosts: the hosts, which were taken of those that are free.
            number: a number that no job has.
            state: the policy's state.
            share: how many jobs a host can have.
        """
        ending = state.now, number, hosts.size * share, ""
        state.endings.add(ending)
        self._sleepy.append((ending, Hosts(hosts)))

    def fell_asleep(self, hosts: ProcSet, state: State, share: int) -> bool:
        """Of the switched hosts, free those that were switched off; whether there are some."""
        changed = False
        for number, (ending, sleepy) in enumerate(self._sleepy):
            if sleepy & hosts:
                state.endings.remove(ending)
                done = sleepy & hosts
                sleepy -= done
                state.free.give_back(done)
                self.asleep |= done
                self._sleepy[number] = (*ending[:2], len(sleepy) * share, ""), sleepy
                state.endings.add(self._sleepy[number][0])
                changed = True
        for ending, sleepy in self._sleepy:
            if not sleepy:
                state.endings.remove(ending)
        self._sleepy = [each for each in self._sleepy if each[1]]
        return changed

    def next(self) -> float:
        """The next time at which hosts are to be switched off; infinity if none are idle."""
        return next(iter(self._idle.values()), math.inf) + self.after

    def switch(self, hosts: Iterable[int], on: bool, reply: Reply) -> None:
        """Switch hosts on or off, with an event for each target power state."""
        targets: dict[int, list[int]] = defaultdict(list)
        for host in hosts:
            targets[self._pstates[host][0 if on else 1]].append(host)
        for pstate, members in targets.items():
            reply.add_turn_on_off_hosts(members, pstate)


def _sleep_of(host: Host) -> SleepPState | None:
    """The first sleep state of a host; None: it has none, or its declaration cannot be read."""
    properties = {each.key: each.value for each in host.properties or () if each.value}
    try:
        sleeps = read_sleep_pstates(properties, len(host.computation_speed or ()))
    except InputError:
        return None
    return sleeps[0] if sleeps else None


def _seconds_in(host: Host, pstate: int) -> float:
    """The seconds in which a host executes one flop in a power state, as it does when it is switched off or on."""
    speed = host.computation_speed[pstate]
    return 1 / speed if speed > 0 else 0.0
