"""Probes and calls: what Batsim measures and when it calls, once or periodically."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from batprotocol.model.enums import BooleanComparisonOperator, CumulativeFunction, TimeUnit
from batprotocol.model.hosts import parse_hosts
from batprotocol.model.value import Doubles, HostString, TupleOf, Value, Vector, hosts_into, tuples_into, vectors_into

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = [
    "AggregatedProbeData",
    "ArithmeticMean",
    "ExponentialMovingAverage",
    "FinitePeriodNumber",
    "HostResources",
    "Infinite",
    "LinkResources",
    "NoFiltering",
    "NoProbeDataAccumulation",
    "NoReset",
    "NoResourcesAggregation",
    "NoTemporalAggregation",
    "OneShot",
    "Periodic",
    "PeriodicMode",
    "ProbeAccumulationReset",
    "ProbeData",
    "ProbeDataAccumulation",
    "ProbeDataAccumulationStrategy",
    "ProbeEmissionFilteringPolicy",
    "QuantileFunction",
    "ResetMode",
    "Resources",
    "ResourcesAggregationFunction",
    "SlidingWindowOperation",
    "Sum",
    "TemporalAggregationFunction",
    "TemporalTrigger",
    "ThresholdFilteringFunction",
    "VectorialProbeData",
]


class HostResources(Value, frozen=True):
    """The hosts that a probe observes.

    Args:
        host_ids: the host set. A string is kept; any other host set becomes the canonical string.
    """

    host_ids: HostString

    def __post_init__(self) -> None:
        if type(self.host_ids) is not str:
            hosts_into(self, "host_ids")

    @property
    def hosts(self) -> ProcSet:
        """The hosts as a `procset.ProcSet`. Raises `HostSetError` if the string is not a host set."""
        return parse_hosts(self.host_ids)


class LinkResources(Value, frozen=True):
    """The network links that a probe observes.

    Args:
        link_ids: the names of the links.
    """

    link_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.link_ids) is not tuple:
            tuples_into(self, "link_ids")


Resources: TypeAlias = HostResources | LinkResources


class NoReset(Value, frozen=True):
    """The probe never resets the accumulated value."""


class ProbeAccumulationReset(Value, frozen=True):
    """The probe sets the accumulated value to `new_value` after each emission.

    Args:
        new_value: the value from which the accumulation restarts, in the unit of the accumulated metrics; 0 by default.
    """

    new_value: float = 0.0


ResetMode: TypeAlias = NoReset | ProbeAccumulationReset


class NoProbeDataAccumulation(Value, frozen=True):
    """The probe does not accumulate: it emits the value at the time of the measure."""


class ProbeDataAccumulation(Value, frozen=True):
    """The probe accumulates its measures over time.

    Args:
        reset_mode: whether the accumulated value restarts after each emission; `NoReset()` by default.
        cumulative_function: how the probe accumulates measures; their sum by default.
        temporal_normalization: whether the accumulated value is divided by the time of the accumulation; False by
            default.
    """

    reset_mode: ResetMode = NoReset()
    cumulative_function: CumulativeFunction = CumulativeFunction.Sum
    temporal_normalization: bool = False


ProbeDataAccumulationStrategy: TypeAlias = NoProbeDataAccumulation | ProbeDataAccumulation


class NoResourcesAggregation(Value, frozen=True):
    """The probe emits one value for each resource (`VectorialProbeData`)."""


class Sum(Value, frozen=True):
    """The probe emits the sum over the resources."""


class ArithmeticMean(Value, frozen=True):
    """The probe emits the mean over the resources."""


class QuantileFunction(Value, frozen=True):
    """The probe emits a quantile over the resources.

    Args:
        threshold: the quantile, in [0,1]: 0 is the minimum, 0.5 the median, 1 the maximum.
    """

    threshold: float


ResourcesAggregationFunction: TypeAlias = NoResourcesAggregation | Sum | ArithmeticMean | QuantileFunction


class NoTemporalAggregation(Value, frozen=True):
    """The probe does not aggregate measures over time."""


class ExponentialMovingAverage(Value, frozen=True):
    """An exponential moving average over time. The schema does not define its parameters yet."""


class SlidingWindowOperation(Value, frozen=True):
    """An operation over a sliding window of time. The schema does not define its parameters yet."""


TemporalAggregationFunction: TypeAlias = NoTemporalAggregation | ExponentialMovingAverage | SlidingWindowOperation


class NoFiltering(Value, frozen=True):
    """The probe emits all data."""


class ThresholdFilteringFunction(Value, frozen=True):
    """The probe emits only the data for which a comparison with a threshold is true.

    Args:
        threshold: the right side of the comparison, in the unit of the probe's data.
        operator: the comparison operator, with the data on its left side; `GreaterThan` by default.
    """

    threshold: float
    operator: BooleanComparisonOperator = BooleanComparisonOperator.GreaterThan


ProbeEmissionFilteringPolicy: TypeAlias = NoFiltering | ThresholdFilteringFunction


class AggregatedProbeData(Value, frozen=True):
    """One value for all resources.

    Args:
        data: the value, in the unit of the metrics. If the probe accumulates, the unit is that of the metrics times
            seconds.
    """

    data: float


class VectorialProbeData(Value, frozen=True):
    """One value for each resource.

    Args:
        data: the values, in the order of the probe's resources and in the unit of the metrics. If the probe
            accumulates, the unit is that of the metrics times seconds. Iterables of numbers become `Doubles`.
    """

    data: Vector

    def __post_init__(self) -> None:
        if type(self.data) is not Doubles:
            vectors_into(self, "data")


ProbeData: TypeAlias = AggregatedProbeData | VectorialProbeData


# Temporal triggers: the times at which Batsim calls the decision component, or a probe measures.


class OneShot(Value, frozen=True):
    """A trigger that fires once, at a given time.

    Args:
        time: the time since the start of the simulation, in `time_unit`; uint64. A trigger in the past fires at once.
        time_unit: the unit of `time`; seconds by default.

    >>> OneShot(42)
    OneShot(time=42, time_unit=<TimeUnit.Second: 0>)
    """

    time: int
    time_unit: TimeUnit = TimeUnit.Second


class Infinite(Value, frozen=True):
    """Periods without end, until the decision component stops the call or the probe."""


class FinitePeriodNumber(Value, frozen=True):
    """A fixed number of periods.

    Args:
        nb_periods: the number of calls, or of emissions of a probe; uint32. Batsim refuses 0.
    """

    nb_periods: int


PeriodicMode: TypeAlias = Infinite | FinitePeriodNumber


class Periodic(Value, frozen=True):
    """A trigger that fires at each multiple of its period, counted from time 0.

    Args:
        period: the time between two firings, in `time_unit`; uint64. Batsim refuses 0. Of any two periods of calls and
            probes that run at the same time, one must divide the other.
        offset: the time by which the firings are shifted, in `time_unit`; uint64, 0 by default. Batsim refuses all
            other values.
        time_unit: the unit of `period` and `offset`; seconds by default.
        mode: `Infinite()` by default, or `FinitePeriodNumber(n)`.

    >>> Periodic(10, mode=FinitePeriodNumber(3)).mode
    FinitePeriodNumber(nb_periods=3)
    """

    period: int
    offset: int = 0
    time_unit: TimeUnit = TimeUnit.Second
    mode: PeriodicMode = Infinite()


TemporalTrigger: TypeAlias = OneShot | Periodic
