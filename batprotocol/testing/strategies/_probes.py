"""Strategies for the resources of probes, their modes, and their data."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._platform import host_sets
from batprotocol.testing.strategies._values import doubles, enums, float64s, makes, names, vectors


@makes(model.HostResources)
def host_resources() -> SearchStrategy[model.HostResources]:
    """`HostResources` values."""
    return st.builds(model.HostResources, host_ids=host_sets())


@makes(model.LinkResources)
def link_resources() -> SearchStrategy[model.LinkResources]:
    """`LinkResources` values; of no link too."""
    return st.builds(
        model.LinkResources, link_ids=vectors(names("link0", "backbone"), st.sampled_from(("link0", "link1")))
    )


def resources() -> SearchStrategy[model.Resources]:
    """`HostResources` or `LinkResources`."""
    return st.one_of(host_resources(), link_resources())


@makes(model.NoReset)
def no_resets() -> SearchStrategy[model.NoReset]:
    """`NoReset()`."""
    return st.builds(model.NoReset)


@makes(model.ProbeAccumulationReset)
def probe_accumulation_resets(*, allow_nan: bool = False) -> SearchStrategy[model.ProbeAccumulationReset]:
    """`ProbeAccumulationReset` values."""
    return st.builds(model.ProbeAccumulationReset, new_value=float64s(allow_nan=allow_nan))


def reset_modes(*, allow_nan: bool = False) -> SearchStrategy[model.ResetMode]:
    """`NoReset()` or a `ProbeAccumulationReset`."""
    return st.one_of(no_resets(), probe_accumulation_resets(allow_nan=allow_nan))


@makes(model.NoProbeDataAccumulation)
def no_probe_data_accumulations() -> SearchStrategy[model.NoProbeDataAccumulation]:
    """`NoProbeDataAccumulation()`."""
    return st.builds(model.NoProbeDataAccumulation)


@makes(model.ProbeDataAccumulation)
def probe_data_accumulations(*, allow_nan: bool = False) -> SearchStrategy[model.ProbeDataAccumulation]:
    """`ProbeDataAccumulation` values."""
    return st.builds(
        model.ProbeDataAccumulation,
        reset_mode=reset_modes(allow_nan=allow_nan),
        cumulative_function=enums(model.CumulativeFunction),
        temporal_normalization=st.booleans(),
    )


def probe_data_accumulation_strategies(
    *, allow_nan: bool = False
) -> SearchStrategy[model.ProbeDataAccumulationStrategy]:
    """`NoProbeDataAccumulation()` or a `ProbeDataAccumulation`."""
    return st.one_of(no_probe_data_accumulations(), probe_data_accumulations(allow_nan=allow_nan))


@makes(model.NoResourcesAggregation)
def no_resources_aggregations() -> SearchStrategy[model.NoResourcesAggregation]:
    """`NoResourcesAggregation()`."""
    return st.builds(model.NoResourcesAggregation)


@makes(model.Sum)
def sums() -> SearchStrategy[model.Sum]:
    """`Sum()`."""
    return st.builds(model.Sum)


@makes(model.ArithmeticMean)
def arithmetic_means() -> SearchStrategy[model.ArithmeticMean]:
    """`ArithmeticMean()`."""
    return st.builds(model.ArithmeticMean)


@makes(model.QuantileFunction)
def quantile_functions(*, allow_nan: bool = False) -> SearchStrategy[model.QuantileFunction]:
    """`QuantileFunction` values; thresholds outside [0,1] too."""
    return st.builds(model.QuantileFunction, threshold=float64s(allow_nan=allow_nan))


def resources_aggregation_functions(*, allow_nan: bool = False) -> SearchStrategy[model.ResourcesAggregationFunction]:
    """Any of the four aggregations over resources."""
    quantiles = quantile_functions(allow_nan=allow_nan)
    return st.one_of(no_resources_aggregations(), sums(), arithmetic_means(), quantiles)


@makes(model.NoTemporalAggregation)
def no_temporal_aggregations() -> SearchStrategy[model.NoTemporalAggregation]:
    """`NoTemporalAggregation()`."""
    return st.builds(model.NoTemporalAggregation)


@makes(model.ExponentialMovingAverage)
def exponential_moving_averages() -> SearchStrategy[model.ExponentialMovingAverage]:
    """`ExponentialMovingAverage()`."""
    return st.builds(model.ExponentialMovingAverage)


@makes(model.SlidingWindowOperation)
def sliding_window_operations() -> SearchStrategy[model.SlidingWindowOperation]:
    """`SlidingWindowOperation()`."""
    return st.builds(model.SlidingWindowOperation)


def temporal_aggregation_functions() -> SearchStrategy[model.TemporalAggregationFunction]:
    """Any of the three aggregations over time."""
    return st.one_of(no_temporal_aggregations(), exponential_moving_averages(), sliding_window_operations())


@makes(model.NoFiltering)
def no_filterings() -> SearchStrategy[model.NoFiltering]:
    """`NoFiltering()`."""
    return st.builds(model.NoFiltering)


@makes(model.ThresholdFilteringFunction)
def threshold_filtering_functions(*, allow_nan: bool = False) -> SearchStrategy[model.ThresholdFilteringFunction]:
    """`ThresholdFilteringFunction` values."""
    return st.builds(
        model.ThresholdFilteringFunction,
        threshold=float64s(allow_nan=allow_nan),
        operator=enums(model.BooleanComparisonOperator),
    )


def probe_emission_filtering_policies(*, allow_nan: bool = False) -> SearchStrategy[model.ProbeEmissionFilteringPolicy]:
    """`NoFiltering()` or a `ThresholdFilteringFunction`."""
    return st.one_of(no_filterings(), threshold_filtering_functions(allow_nan=allow_nan))


@makes(model.AggregatedProbeData)
def aggregated_probe_data(*, allow_nan: bool = False) -> SearchStrategy[model.AggregatedProbeData]:
    """`AggregatedProbeData` values."""
    return st.builds(model.AggregatedProbeData, data=float64s(allow_nan=allow_nan))


@makes(model.VectorialProbeData)
def vectorial_probe_data(*, allow_nan: bool = False) -> SearchStrategy[model.VectorialProbeData]:
    """`VectorialProbeData` values; empty and huge too."""
    return st.builds(model.VectorialProbeData, data=doubles(allow_nan=allow_nan))


def probe_data(*, allow_nan: bool = False) -> SearchStrategy[model.ProbeData]:
    """`AggregatedProbeData` or `VectorialProbeData`."""
    return st.one_of(aggregated_probe_data(allow_nan=allow_nan), vectorial_probe_data(allow_nan=allow_nan))
