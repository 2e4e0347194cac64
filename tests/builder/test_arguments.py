"""What the arguments of MessageBuilder may look like: values, numbers, mappings, iterables."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy
import pytest
from calls import HALF_DONE, MAPPING, built

from batprotocol import model
from batprotocol.builder import MessageBuilder
from batprotocol.model import (
    AllocationPlacement,
    FinalJobState,
    Job,
    JobAndProgress,
    Metrics,
    ParallelTaskHomogeneousProfile,
    PredefinedExecutorPlacementStrategy,
    ProfileAllocationPlacement,
    StorageHost,
)

WITHOUT_ENGINE = True

PLACEMENTS = [
    ([0, 1, 1, 0], MAPPING),
    (iter((0, 1, 1, 0)), MAPPING),
    (numpy.array([0, 1, 1, 0]), MAPPING),
    (MAPPING, MAPPING),
    (
        PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst,
        PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst,
    ),
]


@pytest.mark.parametrize(("placement", "expected"), PLACEMENTS)
def test_placements(placement: Any, expected: Any) -> None:
    given = copy.copy(placement)  # an iterator serves only once, and the test runs with each engine
    (event,) = built(lambda b: b.add_execute_job("w0!1", "0-1", placement=given))
    assert isinstance(event, model.ExecuteJobEvent)
    assert repr(event.allocation.executor_placement) == repr(expected)  # no numpy integers either


@pytest.mark.parametrize(
    ("overrides", "storages"),
    [
        (
            [ProfileAllocationPlacement("w0!a", "0,1"), ProfileAllocationPlacement("w0!b", "3-6", MAPPING)],
            [StorageHost("pfs", 19), StorageHost("bb", 20)],
        ),
        ({"w0!a": [1, 0], "w0!b": AllocationPlacement("3-6", MAPPING)}, {"pfs": 19, "bb": numpy.uint8(20)}),
    ],
)
def test_overrides_and_storages_as_values_or_as_mappings(overrides: Any, storages: Any) -> None:
    (event,) = built(
        lambda b: b.add_execute_job("w0!1", "0-3", profile_overrides=overrides, storage_placement=storages)
    )
    assert isinstance(event, model.ExecuteJobEvent)
    expected = (ProfileAllocationPlacement("w0!a", "0-1"), ProfileAllocationPlacement("w0!b", "3-6", MAPPING))
    assert event.profile_allocation_override == expected
    assert repr(event.storage_placement) == repr((StorageHost("pfs", 19), StorageHost("bb", 20)))


def test_absent_and_empty_are_not_the_same() -> None:
    absent, empty, mappings = built(
        lambda b: b.add_execute_job("w0!1", "0"),
        lambda b: b.add_execute_job("w0!1", "0", profile_overrides=[], storage_placement=[]),
        lambda b: b.add_execute_job("w0!1", "0", profile_overrides={}, storage_placement={}),
    )
    assert isinstance(absent, model.ExecuteJobEvent)
    assert isinstance(empty, model.ExecuteJobEvent)
    assert (absent.profile_allocation_override, absent.storage_placement) == (None, None)
    assert (empty.profile_allocation_override, empty.storage_placement) == ((), ())
    assert mappings == empty


def test_progresses_as_values() -> None:
    values, mapping = built(
        lambda b: b.add_jobs_killed(["w0!1"], [JobAndProgress("w0!1", HALF_DONE)]),
        lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": HALF_DONE}),
    )
    assert values == mapping
    assert isinstance(values, model.JobsKilledEvent)
    assert values.progresses[0].progress == HALF_DONE


@pytest.mark.parametrize("number", [3, 3.0, numpy.float32(3), numpy.int64(3), True + 2])
def test_a_number_is_aggregated_probe_data(number: Any) -> None:
    (event,) = built(lambda b: b.add_probe_data_emitted("power", Metrics.Power, number, hosts=0))
    assert isinstance(event, model.ProbeDataEmittedEvent)
    assert repr(event.data) == "AggregatedProbeData(data=3.0)"


@pytest.mark.parametrize("numbers", [[3, 4], (3.0, 4.0), iter([3, 4]), numpy.array([3.0, 4.0]), model.Doubles([3, 4])])
def test_numbers_are_vectorial_probe_data(numbers: Any) -> None:
    given = copy.copy(numbers)  # an iterator serves only once, and the test runs with each engine
    (event,) = built(lambda b: b.add_probe_data_emitted("power", Metrics.Power, given, hosts="0-1"))
    assert isinstance(event, model.ProbeDataEmittedEvent)
    assert event.data == model.VectorialProbeData(model.Doubles([3.0, 4.0]))


@pytest.mark.parametrize("data", [model.AggregatedProbeData(3.0), model.VectorialProbeData(model.Doubles([3.0]))])
def test_probe_data_may_be_a_value(data: Any) -> None:
    (event,) = built(lambda b: b.add_probe_data_emitted("power", Metrics.Power, data, hosts="0"))
    assert isinstance(event, model.ProbeDataEmittedEvent)
    assert event.data == data


def test_an_external_event_may_be_a_value() -> None:
    value, text = built(
        lambda b: b.add_external_event_occurred("failure", model.GenericExternalEvent("node 3")),
        lambda b: b.add_external_event_occurred("failure", "node 3"),
    )
    assert value == text


def test_numbers_are_written_as_what_the_wire_gives_back() -> None:
    job = Job(resource_request=numpy.int32(2), walltime=Decimal(600), profile_id="w0!a")  # type: ignore[arg-type]  # numbers of other libraries are welcome
    submitted, register, reset, completed = built(
        lambda b: b.add_job_submitted("w0!1", job, 3),
        lambda b: b.add_register_profile("w0!a", ParallelTaskHomogeneousProfile(2**60 + 1, 8)),
        lambda b: b.add_reset_probe("power", 1),
        lambda b: b.add_job_completed("w0!1", 2, -1),  # type: ignore[arg-type]  # an enum's number is welcome
    )
    assert isinstance(submitted, model.JobSubmittedEvent)
    assert isinstance(completed, model.JobCompletedEvent)
    assert repr(submitted.job) == repr(Job(resource_request=2, walltime=600.0, profile_id="w0!a"))
    assert repr(submitted.submission_time) == "3.0"
    assert "computation_amount=1.152921504606847e+18, communication_amount=8.0" in repr(register)
    assert "new_value=1.0" in repr(reset)
    assert completed.state is FinalJobState.COMPLETED_WALLTIME_REACHED


EMPTY_TEXTS_ARE_FINE: list[Callable[[MessageBuilder], None]] = [
    lambda b: b.add_edc_hello("", "", "", batprotocol_version="", batprotocol_commit=""),
    lambda b: b.add_simulation_error(""),
    lambda b: b.add_external_event_occurred("failure", ""),
    lambda b: b.add_register_profile("w0!a", model.TraceReplayProfile(model.TraceType.SMPI, ""), extra_data=""),
    lambda b: b.add_simulation_begins(batsim_version="", computation_hosts=(), batsim_execution_context_json=""),
    lambda b: b.add_job_submitted("w0!1", Job(resource_request=0, extra_data="", profile_id=""), 0),
]


@pytest.mark.parametrize("call", EMPTY_TEXTS_ARE_FINE)
def test_empty_texts_that_name_nothing_are_fine(call: Callable[[MessageBuilder], None]) -> None:
    assert len(built(call)) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0, 5e-324])
def test_amounts_and_probe_values_may_be_any_double(value: float) -> None:
    (event,) = built(lambda b: b.add_reset_probe("power", value))
    assert isinstance(event, model.ResetProbeEvent)
    assert repr(event.new_value) == repr(value)
