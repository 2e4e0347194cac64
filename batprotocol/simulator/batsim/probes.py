"""Probes: their measures, accumulations, aggregations and filters.

Batsim 5.0.0-rc2 has one kind, the energy of hosts since time 0, which `joules` measures. All others are of the rule set
"protocol", and each is a `Probe`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol.conversation.hostsets import read_hosts
from batprotocol.model import (
    AggregatedProbeData,
    ArithmeticMean,
    BooleanComparisonOperator,
    CreateProbeEvent,
    CumulativeFunction,
    Doubles,
    ExponentialMovingAverage,
    HostResources,
    Metrics,
    NoResourcesAggregation,
    ProbeAccumulationReset,
    ProbeData,
    ProbeDataAccumulation,
    ProbeDataEmittedEvent,
    QuantileFunction,
    Resources,
    SlidingWindowOperation,
    Sum,
    ThresholdFilteringFunction,
    VectorialProbeData,
)
from batprotocol.simulator.machine.machine import SimulatedMachine, intervals
from batprotocol.simulator.machine.placement import hosts_of
from batprotocol.simulator.machine.queue import EventQueue

__all__ = [
    "NORMALIZED",
    "Probe",
    "joules",
    "read_for",
]


_WEIGHT: Final = 0.5
"""The weight of the newest measure in an exponential moving average: the schema has no parameter for it yet."""
_WINDOW: Final = 10
"""The number of measures in a sliding window: the schema has no parameter for it yet."""
_COMPARED: Final[dict[int, Callable[[float, float], bool]]] = {
    BooleanComparisonOperator.GreaterThan: gt,
    BooleanComparisonOperator.GreaterThanOrEqual: ge,
    BooleanComparisonOperator.LessThan: lt,
    BooleanComparisonOperator.LessThanOrEqual: le,
}
NORMALIZED: Final = (Metrics.NormalizedComputationLoad, Metrics.NormalizedNetworkLoad)
"""The metrics that are shares of the capacity of a resource."""


def read_for(probe: CreateProbeEvent) -> tuple[int, ...]:
    """The hosts whose energy a probe reads."""
    assert isinstance(probe.resources, HostResources)
    return hosts_of(probe.resources.host_ids)


def joules(probe: CreateProbeEvent, machine: SimulatedMachine) -> ProbeDataEmittedEvent:
    """The energy that hosts have consumed since time 0, after it was read."""
    data = _over_resources(probe, [machine.energy[host] for host in read_for(probe)])
    return ProbeDataEmittedEvent(probe_id=probe.probe_id, resources=_observed_resources(probe), data=data)


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Probe:
    """A probe of any kind in the schema.

    Args:
        event: the event that created it.
        resources: the numbers of the resources that it observes.
        queue: the clock, and the machine.

    Attributes:
        event: the event that created it.
    """

    __slots__ = (
        "_accumulated",
        "_averages",
        "_emitted",
        "_read_at",
        "_resources",
        "_since",
        "_triggered",
        "_window",
        "event",
    )

    def __init__(self, event: CreateProbeEvent, resources: list[int], queue: EventQueue) -> None:
        queue.settle()
        self.event = event
        self._resources = resources
        self._triggered = 0
        self._emitted = 0
        self._window: deque[list[float]] = deque(maxlen=_WINDOW)
        self._averages: list[float] | None = None
        self._since = self._read_at = queue.now
        now = [self._value(queue.machine, resource) for resource in self._resources]
        self._accumulated = [0.0] * len(now) if self._sums else now

    @property
    def _accumulation(self) -> ProbeDataAccumulation | None:
        strategy = self.event.data_accumulation_strategy
        return strategy if isinstance(strategy, ProbeDataAccumulation) else None

    @property
    def _sums(self) -> bool:
        accumulation = self._accumulation
        return accumulation is not None and accumulation.cumulative_function == CumulativeFunction.Sum

    def advance(self, machine: SimulatedMachine, now: float) -> None:
        """Accumulate the values up to now, before the state of the machine changes."""
        accumulation = self._accumulation
        if accumulation is None:
            return
        passed, self._read_at = now - self._read_at, now
        choose = min if accumulation.cumulative_function == CumulativeFunction.Minimum else max
        for place, resource in enumerate(self._resources):
            value = self._value(machine, resource)
            if self._sums:
                self._accumulated[place] += value * passed
            else:
                self._accumulated[place] = choose(self._accumulated[place], value)

    def reset(self, value: float, now: float) -> None:
        """Start a new accumulation from this value."""
        self._accumulated = [value] * len(self._resources)
        self._since = now

    def measure(
        self, queue: EventQueue, *, manually: bool = False, force: bool = False
    ) -> ProbeDataEmittedEvent | None:
        """Take a measure now; None if it does not pass the filter."""
        machine, now = queue.machine, queue.now
        queue.settle()
        machine.watch(now)
        self._triggered += 1
        data = _over_resources(self.event, self._over_time(self._measured(machine, now)))
        if not force and not self._passes(data):
            return None
        self._emitted += 1
        accumulation = self._accumulation
        if accumulation is not None and isinstance(accumulation.reset_mode, ProbeAccumulationReset):
            self.reset(accumulation.reset_mode.new_value, now)
        return ProbeDataEmittedEvent(
            probe_id=self.event.probe_id,
            resources=_observed_resources(self.event),
            metrics=self.event.metrics,
            data=data,
            manually_triggered=manually,
            nb_emitted=self._emitted,
            nb_triggered=self._triggered,
        )

    def _measured(self, machine: SimulatedMachine, now: float) -> list[float]:
        accumulation = self._accumulation
        if accumulation is None:
            return [self._value(machine, resource) for resource in self._resources]
        if accumulation.temporal_normalization and self._sums:
            passed = now - self._since
            return [value / passed if passed > 0 else 0.0 for value in self._accumulated]
        return list(self._accumulated)

    def _over_time(self, values: list[float]) -> list[float]:
        aggregation = self.event.temporal_aggregation_function
        if isinstance(aggregation, ExponentialMovingAverage):
            if self._averages is not None:
                pairs = zip(values, self._averages, strict=True)
                values = [_WEIGHT * value + (1 - _WEIGHT) * before for value, before in pairs]
            self._averages = values
        elif isinstance(aggregation, SlidingWindowOperation):
            self._window.append(values)
            values = [sum(column) / len(self._window) for column in zip(*self._window, strict=True)]
        return values

    def _passes(self, data: ProbeData) -> bool:
        """Whether data pass the filter: one of several values that passes is enough."""
        policy = self.event.emission_filtering_policy
        if not isinstance(policy, ThresholdFilteringFunction):
            return True
        values = data.data if isinstance(data, VectorialProbeData) else (data.data,)
        compares = _COMPARED[policy.operator]
        return any(compares(value, policy.threshold) for value in values)

    def _value(self, machine: SimulatedMachine, resource: int) -> float:
        metrics = self.event.metrics
        if metrics == Metrics.Power:
            return machine.watts(resource)
        load: float = machine.actions.load(resource)
        return load / machine.actions.capacity(resource) if metrics in NORMALIZED else load


def _observed_resources(event: CreateProbeEvent) -> Resources:
    """The resources that a probe observes, with host sets in Batsim's form."""
    resources = event.resources
    if isinstance(resources, HostResources) and not read_hosts(resources.host_ids).ascending:
        return HostResources(intervals(hosts_of(resources.host_ids)))
    return resources


def _over_resources(event: CreateProbeEvent, values: list[float]) -> ProbeData:
    """The data of the probe from the values of the resources."""
    aggregation = event.resources_aggregation_function
    if isinstance(aggregation, NoResourcesAggregation):
        return VectorialProbeData(Doubles(values))
    if isinstance(aggregation, ArithmeticMean):
        return AggregatedProbeData(sum(values) / len(values) if values else 0.0)
    if isinstance(aggregation, QuantileFunction):
        return AggregatedProbeData(_quantile(sorted(values), aggregation.threshold))
    assert isinstance(aggregation, Sum)
    return AggregatedProbeData(sum(values))


def _quantile(values: list[float], fraction: float) -> float:
    """The quantile of ascending values, between two of them in proportion."""
    if not values:
        return 0.0
    place = min(max(fraction, 0.0), 1.0) * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])
