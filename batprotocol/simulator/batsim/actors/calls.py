"""Calls and probes: the actor of each one-shot call, and the one that has all that is periodic."""

from __future__ import annotations

from math import floor
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
from batprotocol.simulator.batsim.state.messages import CallDue, Stopped, Triggered
from batprotocol.simulator.batsim.state.probes import joules
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.queue.actor import Actor

__all__ = ["OneShotCall", "OneShotProbe", "PeriodicActor", "milliseconds"]

_SOON: Final = 1e-5
"""A call is at least so many seconds away, unless it is in the past."""
_PER_SECOND: Final = {TimeUnit.Second: 1.0, TimeUnit.Millisecond: 1000.0}
_IN_MILLISECONDS: Final = {TimeUnit.Second: 1000, TimeUnit.Millisecond: 1}


def milliseconds(trigger: Periodic) -> int:
    """A period in milliseconds."""
    return trigger.period * _IN_MILLISECONDS[trigger.time_unit]


class OneShotCall(Actor):
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
            self.tell(simulator)

    def tell(self, simulator: Simulation) -> None:
        """It is due."""
        simulator.queue.bequeath(self, simulator.desk.mailbox, CallDue(self.id))


class OneShotProbe(OneShotCall):
    """A probe that measures once."""

    __slots__ = ()

    def tell(self, simulator: Simulation) -> None:
        probe = simulator.probes.get(self.id)
        if probe is not None:
            measured = [(self.id, probe.measure(simulator.queue), True)]
            simulator.queue.bequeath(self, simulator.desk.mailbox, Triggered([], measured))


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Ticker:
    """Something periodic: a call, or a probe.

    Attributes:
        id: its name.
        period: in milliseconds.
        due: when it triggers next, in milliseconds since time 0.
        left: how many periods are left, or None: without end.
        probe: how the probe was created, or None for a call.
        is_armed: whether a probe has been triggered before: only then it measures.
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

    def tick(self) -> bool:
        """Count a period; whether it was the last one."""
        if self.left is not None:
            self.left -= 1
        return self.left == 0


class PeriodicActor(Actor):
    """Has all periodic calls and probes, and tells the server when they are due.

    Periods divide one another, so those that are due at the same time are told together: calls, then probes, by id.
    """

    __slots__ = ("_calls", "_is_waiting", "_probes", "_triggered")

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[str, _Ticker] = {}
        self._probes: dict[str, _Ticker] = {}
        self._is_waiting = False
        self._triggered: Triggered | None = None

    def run(self, simulator: Simulation) -> None:
        queue = simulator.queue
        if self._triggered is not None:
            triggered, self._triggered = self._triggered, None
            queue.post(self, simulator.desk.mailbox, triggered)
            return
        simulator.periodic_is_posting = False
        if self._is_waiting:
            self._is_waiting = False
            if self.message is None:
                self._trigger(simulator)
                return
            message, self.message = self.message, None
            if self._take(message, queue.now, simulator):
                return
        due = min((ticker.due for group in (self._calls, self._probes) for ticker in group.values()), default=None)
        if due is not None and due / 1000.0 <= queue.now:
            self._trigger(simulator)
            return
        self._is_waiting = True
        self.message = None
        queue.receive(self, simulator.periodic_mailbox, None if due is None else due / 1000.0 - queue.now)

    def _take(self, message: object, now: float, simulator: Simulation) -> bool:
        """Do what the server has told; whether that means waiting."""
        if isinstance(message, CallMeLaterEvent):
            assert isinstance(message.when, Periodic)
            self._calls[message.call_me_later_id] = _Ticker(message.call_me_later_id, message.when, now, None, True)
        elif isinstance(message, CreateProbeEvent):
            trigger = message.measurement_triggering_policy
            assert isinstance(trigger, Periodic)
            armed = message.probe_id in simulator.probes
            self._probes[message.probe_id] = _Ticker(message.probe_id, trigger, now, message, armed)
        elif isinstance(message, StopCallMeLaterEvent):
            self._calls.pop(message.call_me_later_id, None)
            simulator.queue.leave(self, simulator.desk.mailbox, Stopped(message.call_me_later_id, False))
            return True
        elif isinstance(message, StopProbeEvent):
            self._probes.pop(message.probe_id, None)
            simulator.queue.leave(self, simulator.desk.mailbox, Stopped(message.probe_id, True))
            return True
        return False

    def _trigger(self, simulator: Simulation) -> None:
        """Tell the server of all that is due now."""
        now = min(ticker.due for group in (self._calls, self._probes) for ticker in group.values())
        calls: list[tuple[str, bool]] = []
        data: list[tuple[str, ProbeDataEmittedEvent | None, bool]] = []
        reads = 0
        for group in (self._calls, self._probes):
            for id in sorted(group):
                ticker = group[id]
                if ticker.due > now:
                    continue
                ticker.due += ticker.period
                if not ticker.is_armed:
                    ticker.is_armed = True
                    continue
                is_last = ticker.tick()
                if is_last:
                    del group[id]
                if ticker.probe is None:
                    calls.append((id, is_last))
                elif id in simulator.probes:
                    data.append((id, simulator.probes[id].measure(simulator.queue), is_last))
                else:
                    event, read = joules(ticker.probe, simulator.machine, simulator.queue.now)
                    data.append((id, event, is_last))
                    reads += read
        self._triggered = Triggered(calls, data)
        simulator.periodic_is_posting = True
        simulator.queue.pause(self, reads + 1)  # and one to give up receiving
