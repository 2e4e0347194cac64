"""Probes: what they observe, how they accumulate, aggregate and filter, and the data they emit.

Batsim 5.0.0-rc2 implements one combination: periodic, power, hosts, accumulated without reset, and not aggregated,
summed or averaged over the hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from batprotocol.model.doubles import Doubles
from batprotocol.model.enums import BooleanComparisonOperator, CumulativeFunction
from batprotocol.model.fields import HostString, TupleOf, Vector
from batprotocol.model.hosts import parse_hosts
from batprotocol.model.value import Value, hosts_into, tuples_into, vectors_into

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = [
    "AggregatedProbeData",
    "ArithmeticMean",
    "ExponentialMovingAverage",
    "HostResources",
    "LinkResources",
    "NoFiltering",
    "NoProbeDataAccumulation",
    "NoReset",
    "NoResourcesAggregation",
    "NoTemporalAggregation",
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
    "ThresholdFilteringFunction",
    "VectorialProbeData",
]


class HostResources(Value, frozen=True):
    """Hosts that a probe observes.

    Args:
        host_ids: the host set; anything but a string is written as the canonical string.
    """

    host_ids: HostString

    def __post_init__(self) -> None:
        if type(self.host_ids) is not str:
            hosts_into(self, "host_ids")

    @property
    def hosts(self) -> ProcSet:
        """The hosts as a `procset.ProcSet`. `HostSetError` if the string is no host set."""
        return parse_hosts(self.host_ids)


class LinkResources(Value, frozen=True):
    """Network links that a probe observes.

    Args:
        link_ids: the names of the links.
    """

    link_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.link_ids) is not tuple:
            tuples_into(self, "link_ids")


Resources: TypeAlias = HostResources | LinkResources


class NoReset(Value, frozen=True):
    """The accumulated value is never reset by itself."""


class ProbeAccumulationReset(Value, frozen=True):
    """The accumulated value is set anew after each emission.

    Args:
        new_value: the value it restarts from, in the unit of the accumulated metrics.
    """

    new_value: float = 0.0


ResetMode: TypeAlias = NoReset | ProbeAccumulationReset


class NoProbeDataAccumulation(Value, frozen=True):
    """The probe emits what it measures at that moment."""


class ProbeDataAccumulation(Value, frozen=True):
    """The probe accumulates its measures over time.

    Args:
        reset_mode: whether the accumulated value restarts after each emission.
        cumulative_function: how measures are accumulated.
        temporal_normalization: whether the accumulated value is divided by the time it was accumulated over.
    """

    reset_mode: ResetMode = NoReset()
    cumulative_function: CumulativeFunction = CumulativeFunction.Sum
    temporal_normalization: bool = False


ProbeDataAccumulationStrategy: TypeAlias = NoProbeDataAccumulation | ProbeDataAccumulation


class NoResourcesAggregation(Value, frozen=True):
    """One value for each resource (`VectorialProbeData`)."""


class Sum(Value, frozen=True):
    """The sum over the resources."""


class ArithmeticMean(Value, frozen=True):
    """The mean over the resources."""


class QuantileFunction(Value, frozen=True):
    """A quantile over the resources.

    Args:
        threshold: which one, in [0,1]: 0 the minimum, 0.5 the median, 1 the maximum.
    """

    threshold: float


ResourcesAggregationFunction: TypeAlias = NoResourcesAggregation | Sum | ArithmeticMean | QuantileFunction


class NoTemporalAggregation(Value, frozen=True):
    """Measures are not aggregated over time."""


class ExponentialMovingAverage(Value, frozen=True):
    """An exponential moving average over time. The schema gives it no parameters yet."""


class SlidingWindowOperation(Value, frozen=True):
    """An operation over a sliding window of time. The schema gives it no parameters yet."""


TemporalAggregationFunction: TypeAlias = NoTemporalAggregation | ExponentialMovingAverage | SlidingWindowOperation


class NoFiltering(Value, frozen=True):
    """All data is emitted."""


class ThresholdFilteringFunction(Value, frozen=True):
    """Data is emitted only where it compares as told.

    Args:
        threshold: the right side of the comparison, in the unit of the probe's data.
        operator: the comparison; the data is on its left side.
    """

    threshold: float
    operator: BooleanComparisonOperator = BooleanComparisonOperator.GreaterThan


ProbeEmissionFilteringPolicy: TypeAlias = NoFiltering | ThresholdFilteringFunction


class AggregatedProbeData(Value, frozen=True):
    """One value for all resources.

    Args:
        data: the value, in the unit of the metrics (or that unit times seconds when accumulated).
    """

    data: float


class VectorialProbeData(Value, frozen=True):
    """One value for each resource.

    Args:
        data: the values, in the order of the probe's resources, in the unit of the metrics (or that unit times seconds
            when accumulated). Iterables of numbers become `Doubles`.
    """

    data: Vector

    def __post_init__(self) -> None:
        if type(self.data) is not Doubles:
            vectors_into(self, "data")


ProbeData: TypeAlias = AggregatedProbeData | VectorialProbeData
