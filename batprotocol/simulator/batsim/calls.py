"""Calls and probes: the actor of each one-shot call, and the actor of all periodic calls and probes."""

from __future__ import annotations

from math import floor, fmod
from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol.model import (
    CallMeLaterEvent,
    CreateProbeEvent,
    FinitePeriodNumber,
    OneShot,
    Periodic,
    ProbeDataEmittedEvent,
    StopCallMeLaterEvent,
    StopProbeEvent,
    TimeUnit,
)
from batprotocol.simulator.batsim.messages import CallDue, CallStopped, CallsTriggered
from batprotocol.simulator.batsim.probes import joules, read_for
from batprotocol.simulator.batsim.simulation_state import Simulation
from batprotocol.simulator.machine.queue import SimulationActor

__all__ = [
    "OneShotCall",
    "OneShotProbe",
    "PeriodicActor",
    "milliseconds",
]


_SOON: Final = 1e-5
"""The minimum number of seconds until a call, unless the call is in the past."""
_PER_SECOND: Final = {TimeUnit.Second: 1.0, TimeUnit.Millisecond: 1000.0}
_IN_MILLISECONDS: Final = {TimeUnit.Second: 1000, TimeUnit.Millisecond: 1}


def milliseconds(trigger: Periodic) -> int:
    """A period in milliseconds."""
    return trigger.period * _IN_MILLISECONDS[trigger.time_unit]


class OneShotCall(SimulationActor):
    """A call that comes once."""

    __slots__ = ("_due", "_step", "id")

    def __init__(self, id: str, when: OneShot) -> None:
        super().__init__()
        self.id = id
        self._due = when.time / _PER_SECOND.get(when.time_unit, 1.0)
        self._step = 0

    def run(self, simulator: Simulation) -> None:
        queue = simulator.queue
        self._step += 1
        if self._step == 1:
            left = self._due - queue.now
            if left > 0.0:
                queue.sleep(self, max(left, _SOON))
                return
            self._step = 2
        if self._step == 2:
            self.report(simulator)

    def report(self, simulator: Simulation) -> None:
        """Notify the server that the call is due."""
        simulator.queue.post_and_end(self, simulator.server.mailbox, CallDue(self.id))


class OneShotProbe(OneShotCall):
    """A probe that measures once."""

    __slots__ = ()

    def report(self, simulator: Simulation) -> None:
        probe = simulator.probes.get(self.id)
        if probe is not None:
            measured = [(self.id, probe.measure(simulator.queue), True)]
            simulator.queue.post_and_end(self, simulator.server.mailbox, CallsTriggered([], measured))


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Ticker:
    """A periodic call or probe.

    Attributes:
        id: its name.
        period: its period, in milliseconds.
        due: its next time, in milliseconds since time 0.
        left: the number of remaining periods, or None: without end.
        probe: the event that created the probe, or None for a call.
        is_armed: whether a probe has been triggered before. Only then it measures.
    """

    __slots__ = ("due", "id", "is_armed", "left", "period", "probe")

    def __init__(self, id: str, trigger: Periodic, now: float, probe: CreateProbeEvent | None, armed: bool) -> None:
        self.id = id
        self.period = milliseconds(trigger)
        offset = trigger.offset * _IN_MILLISECONDS[trigger.time_unit]
        self.due = (floor((now * 1000.0 - offset) / self.period) + 1) * self.period + offset
        self.left = trigger.mode.nb_periods if isinstance(trigger.mode, FinitePeriodNumber) else None
        self.probe = probe
        self.is_armed = armed

    def skip(self, now: float) -> None:
        """Drop the calls that were due while they could not be sent."""
        while self.due <= now * 1000.0:
            self.due += self.period

    def tick(self) -> bool:
        """Count a period; whether it was the last one."""
        if self.left is not None:
            self.left -= 1
        return self.left == 0


_STARTING: Final = 0
_FREE: Final = 1
_WAITING: Final = 2
_GIVING_UP: Final = 3
_READING: Final = 4
_POSTING: Final = 5


class PeriodicActor(SimulationActor):
    """The actor of all periodic calls and probes. It notifies the server when they are due.

    Periods divide one another, so calls and probes that are due at the same time are sent together: calls, then probes,
    by id.
    """

    __slots__ = ("_calls", "_due", "_probes", "_step")

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[str, _Ticker] = {}
        self._probes: dict[str, _Ticker] = {}
        self._due: list[tuple[_Ticker, bool]] = []
        self._step = _STARTING

    def run(self, simulator: Simulation) -> None:
        queue = simulator.queue
        if self._step == _STARTING:
            self._step = _FREE
            queue.call(self)  # to find its mailbox, once for all
            return
        if self._step == _WAITING:
            if self.message is None:
                self._step = _GIVING_UP
                self._due = self._tick(self._next_due())
                queue.call(self)
                return
            message, self.message = self.message, None
            self._step = _FREE
            if self._take(message, queue.now, simulator):
                return
        if self._step == _GIVING_UP:
            self._step = _READING
            hosts = self._read_hosts(simulator)
            if hosts and queue.read(self, hosts):
                return
        if self._step == _READING:
            self._step = _POSTING
            simulator.periodic_is_posting = True
            queue.post(self, simulator.server.mailbox, self._triggered(simulator))
            return
        simulator.periodic_is_posting = False
        self._step = _WAITING
        queue.receive(self, simulator.periodic_mailbox, self._timeout(simulator), finds=False)

    def _take(self, message: object, now: float, simulator: Simulation) -> bool:
        """Handle a message of the server; whether the actor must wait for something."""
        if isinstance(message, CallMeLaterEvent):
            assert isinstance(message.when, Periodic)
            self._calls[message.call_me_later_id] = _Ticker(message.call_me_later_id, message.when, now, None, True)
        elif isinstance(message, CreateProbeEvent):
            trigger = message.measurement_triggering_policy
            assert isinstance(trigger, Periodic)
            armed = message.probe_id in simulator.probes
            self._probes[message.probe_id] = _Ticker(message.probe_id, trigger, now, message, armed)
        elif isinstance(message, StopCallMeLaterEvent):
            return self._stop(self._calls, CallStopped(message.call_me_later_id, False), simulator)
        elif isinstance(message, StopProbeEvent):
            return self._stop(self._probes, CallStopped(message.probe_id, True), simulator)
        return False

    def _stop(self, tickers: dict[str, _Ticker], stopped: CallStopped, simulator: Simulation) -> bool:
        """Stop a call or probe, and say so; whether it ran. Batsim warns of one that does not run, and says nothing."""
        if tickers.pop(stopped.id, None) is None:
            return False
        simulator.queue.post_and_continue(self, simulator.server.mailbox, stopped)
        return True

    def _tickers(self) -> list[_Ticker]:
        """Calls, then probes, by id."""
        return [group[id] for group in (self._calls, self._probes) for id in sorted(group)]

    def _next_due(self) -> int:
        return min(ticker.due for ticker in self._tickers())

    def _timeout(self, simulator: Simulation) -> float | None:
        """The seconds until the next call or probe; None: there is none."""
        tickers, now = self._tickers(), simulator.queue.now
        if not tickers:
            return None
        if not simulator.is_batsim:
            return max(0.0, self._next_due() / 1000.0 - now)
        # Batsim makes slices of the shortest period, in a table as long as the longest period, which repeats. It finds
        # the current place in the table each time, with the rounding of this computation.
        periods = [ticker.period for ticker in tickers]
        passed = fmod(fmod(now * 1e3, float(max(periods))), float(min(periods)))
        for ticker in tickers:
            ticker.skip(now)
        return (min(periods) - passed) * 1e-3

    def _tick(self, now: int) -> list[tuple[_Ticker, bool]]:
        """The calls and probes that are due, and whether for the last time."""
        due = []
        for ticker in self._tickers():
            if ticker.due > now:
                continue
            ticker.due += ticker.period
            if not ticker.is_armed:
                ticker.is_armed = True
                continue
            is_last = ticker.tick()
            if is_last:
                del (self._calls if ticker.probe is None else self._probes)[ticker.id]
            due.append((ticker, is_last))
        return due

    def _read_hosts(self, simulator: Simulation) -> list[int]:
        """The hosts whose energy must be read."""
        return [
            host
            for ticker, _ in self._due
            if ticker.probe is not None and ticker.id not in simulator.probes
            for host in read_for(ticker.probe)
        ]

    def _triggered(self, simulator: Simulation) -> CallsTriggered:
        """The message to the server."""
        calls: list[tuple[str, bool]] = []
        data: list[tuple[str, ProbeDataEmittedEvent | None, bool]] = []
        for ticker, is_last in self._due:
            if ticker.probe is None:
                calls.append((ticker.id, is_last))
            elif ticker.id in simulator.probes:
                data.append((ticker.id, simulator.probes[ticker.id].measure(simulator.queue), is_last))
            else:
                data.append((ticker.id, joules(ticker.probe, simulator.machine), is_last))
        self._due = []
        return CallsTriggered(calls, data)
