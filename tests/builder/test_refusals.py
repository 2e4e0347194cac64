"""What MessageBuilder refuses: with the field and the value, and so that nothing has changed."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args, get_type_hints

import pytest
from calls import CALLS, COMPUTING, HALF_DONE, JOB, NOW, Call, adding, built, every_call, refusal, state
from hypothesis import example, given
from hypothesis import strategies as st

from batprotocol import model
from batprotocol.builder import MessageBuilder
from batprotocol.errors import ProtocolError
from batprotocol.model import (
    DelayProfile,
    FinalJobState,
    Host,
    Infinite,
    Job,
    JobAndProgress,
    KillProgress,
    KillProgressAtomicProfile,
    KillProgressForkJoinProfile,
    KillProgressSequentialProfile,
    Message,
    Metrics,
    OneShot,
    Periodic,
    ProfileAndId,
    QuantileFunction,
)

WITHOUT_ENGINE = True

AMOUNTS: dict[str, Callable[[float], model.Profile]] = {
    "computation_vector[1]": lambda amount: model.ParallelTaskProfile([1.0, amount]),
    "communication_matrix[3]": lambda amount: model.ParallelTaskProfile([1.0, 1.0], [0.0, 1.0, 1.0, amount]),
    "computation_amount": lambda amount: model.ParallelTaskHomogeneousProfile(amount, 1.0),
    "communication_amount": lambda amount: model.ParallelTaskHomogeneousProfile(1.0, amount),
    "bytes_to_read": lambda amount: model.ParallelTaskOnStorageHomogeneousProfile("pfs", amount),
    "bytes_to_write": lambda amount: model.ParallelTaskOnStorageHomogeneousProfile("pfs", 0.0, amount),
    "bytes_to_transfer": lambda amount: model.ParallelTaskDataStagingBetweenStoragesProfile(amount, "a", "b"),
    "delay": lambda amount: model.DelayProfile(amount),
}
"""By the field's path, a profile with this amount."""


@pytest.mark.parametrize("path", AMOUNTS)
@pytest.mark.parametrize("amount", [math.inf, -math.inf, math.nan])
def test_amounts_are_finite(path: str, amount: float) -> None:
    error = refusal(MessageBuilder(), lambda b: b.add_register_profile("d!p", AMOUNTS[path](amount)))
    assert error.path == f"profile.profile.{path}"
    assert str(amount) in error.reason
    built(lambda b: b.add_register_profile("d!p", AMOUNTS[path](1.7e308)))  # though a sum of these is infinite


ENUMS: dict[str, Callable[[Any], Callable[[MessageBuilder], None]]] = {
    "state": lambda number: lambda b: b.add_job_completed("w0!1", number),
    "metrics": lambda number: lambda b: b.add_create_probe("p", number, hosts="0", trigger=OneShot(1)),
    "when.time_unit": lambda number: lambda b: b.add_call_me_later("c", OneShot(1, number)),
    "allocation.executor_placement": lambda number: (
        lambda b: b.add_execute_job("w0!1", "0", model.PredefinedExecutorPlacementStrategy(number))
    ),
    "profile_allocation_override[0].executor_placement": lambda number: (
        lambda b: b.add_execute_job(
            "w0!1",
            "0",
            profile_overrides={
                "w0!p": model.AllocationPlacement("0", model.PredefinedExecutorPlacementStrategy(number))
            },
        )
    ),
    "profile.profile.trace_type": lambda number: (
        lambda b: b.add_register_profile("d!p", model.TraceReplayProfile(number, "traces.txt"))
    ),
    "profile.profile.generation_strategy": lambda number: (
        lambda b: b.add_register_profile("d!p", model.ParallelTaskHomogeneousProfile(1.0, 1.0, number))
    ),
}
"""By the field's path, a call that takes a number of an enum."""


@pytest.mark.parametrize("path", ENUMS)
@given(number=st.integers(-128, 127))
def test_numbers_of_enums_are_those_of_the_schema(path: str, number: int) -> None:
    if number in (0, 1):
        built(ENUMS[path](number))
    elif number < 0 or number > 4:
        error = refusal(MessageBuilder(), ENUMS[path](number))
        assert error.path == path
        assert f"got {number}" in error.reason


class Wrong:
    """A value that no field takes."""

    def __repr__(self) -> str:
        return "<wrong>"


PATHS = {
    ("add_execute_job", "hosts"): "allocation.host_allocation",
    ("add_execute_job", "placement"): "allocation.executor_placement",
    ("add_execute_job", "profile_overrides"): "profile_allocation_override",
    ("add_register_profile", "profile_id"): "profile.id",
    ("add_register_profile", "profile"): "profile.profile",
    ("add_register_profile", "extra_data"): "profile.extra_data",
    ("add_create_probe", "hosts"): "resources.host_ids",
    ("add_create_probe", "links"): "resources",  # both are given
    ("add_create_probe", "trigger"): "measurement_triggering_policy",
    ("add_create_probe", "accumulation"): "data_accumulation_strategy",
    ("add_create_probe", "aggregation"): "resources_aggregation_function",
    ("add_create_probe", "temporal_aggregation"): "temporal_aggregation_function",
    ("add_create_probe", "emission_filter"): "emission_filtering_policy",
    ("add_probe_data_emitted", "hosts"): "resources",  # both are given
    ("add_probe_data_emitted", "links"): "resources.link_ids",
    ("add_edc_hello", "name"): "decision_component_name",
    ("add_edc_hello", "version"): "decision_component_version",
    ("add_edc_hello", "commit"): "decision_component_commit",
    ("add_edc_hello", "features"): "requested_simulation_features",
    **{(call.method, "hosts"): "host_ids" for call in CALLS if hasattr(call.event, "host_ids")},
}
"""The path of an argument's field, where it is not the argument's own name."""


def arguments() -> Iterator[tuple[Call, str]]:
    for call in CALLS:
        for argument in call.arguments:
            yield call, argument


every_argument = pytest.mark.parametrize(
    ("call", "argument"), list(arguments()), ids=lambda each: each if isinstance(each, str) else each.method
)


@every_argument
def test_a_wrong_type_anywhere_names_the_field_and_the_value(call: Call, argument: str) -> None:
    wrongs: list[Any] = [Wrong(), [Wrong()], {"w0!1": Wrong()}, b"bytes", 1j]
    for wrong in wrongs:
        builder = MessageBuilder(NOW)
        builder.add_reject_job("w0!0")
        error = refusal(builder, partial(call.on, **{argument: wrong}))
        expected = PATHS.get((call.method, argument), argument)
        assert re.match(rf"{re.escape(expected)}($|\[0\]|\.)", error.path), wrong
        assert error.path in str(error)
        assert any(text in error.reason for text in ("<wrong>", "b'bytes'", "98", "1j")), wrong


def required() -> Iterator[tuple[Call, str]]:
    for call, argument in arguments():
        if inspect.signature(getattr(MessageBuilder(), call.method)).parameters[argument].default is inspect._empty:
            yield call, argument


@pytest.mark.parametrize(
    ("call", "argument"), list(required()), ids=lambda each: each if isinstance(each, str) else each.method
)
def test_none_for_what_is_required_names_the_field(call: Call, argument: str) -> None:
    error = refusal(MessageBuilder(NOW), lambda b: call.on(b, **{argument: None}))
    assert error.path == PATHS.get((call.method, argument), argument)
    assert "None" in error.reason


@pytest.mark.parametrize(
    ("call", "argument"), list(required()), ids=lambda each: each if isinstance(each, str) else each.method
)
def test_a_missing_argument_is_named(call: Call, argument: str) -> None:
    rest = {name: value for name, value in call.arguments.items() if name != argument}
    builder = MessageBuilder(NOW)
    with pytest.raises(TypeError, match=f"'{argument}'"):
        getattr(builder, call.method)(**rest)
    assert state(builder) == ((), NOW, False, 0)


IDS = {
    "add_execute_job": ["job_id"],
    "add_register_profile": ["profile_id"],
    "add_external_event_occurred": ["id"],
    **{
        call.method: [name for name in call.arguments if name in ("job_id", "probe_id", "call_me_later_id")]
        for call in CALLS
        if call.method != "add_execute_job" and {"job_id", "probe_id", "call_me_later_id"} & call.arguments.keys()
    },
}


@pytest.mark.parametrize("method", sorted(IDS))
def test_an_empty_id_is_refused(method: str) -> None:
    (call,) = (call for call in CALLS if call.method == method)
    (argument,) = IDS[method]
    error = refusal(MessageBuilder(), lambda b: call.on(b, **{argument: ""}))
    assert error.path == PATHS.get((method, argument), argument)
    assert error.reason == "expected an id that is not empty, got ''"


def job(**changed: Any) -> Job:
    return Job(**{"resource_request": 4, "profile_id": "w0!a", **changed})


def atomic(progress: Any) -> KillProgressAtomicProfile:
    return KillProgressAtomicProfile("w0!a", progress)


def begins(**changed: Any) -> Callable[[MessageBuilder], None]:
    return lambda b: b.add_simulation_begins(**{"batsim_version": "5", "computation_hosts": (), **changed})


WRONG: list[tuple[Callable[[MessageBuilder], object], str, str]] = [
    # numbers outside their field's range
    (lambda b: b.add_job_completed("w0!1", FinalJobState(0), 2**31), "return_code", "2147483648"),
    (lambda b: b.add_job_completed("w0!1", FinalJobState(0), -(2**31) - 1), "return_code", "-2147483649"),
    (lambda b: b.add_job_completed("w0!1", FinalJobState(0), 4294967296), "return_code", "4294967296"),
    (lambda b: b.add_job_completed("w0!1", 128), "state", "128"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add_register_job("w0!1", job(resource_request=-1)), "job.resource_request", "-1"),
    (lambda b: b.add_register_job("w0!1", job(resource_request=2**32)), "job.resource_request", "4294967296"),
    (lambda b: b.add_job_submitted("w0!1", job(resource_request=2.0), 0), "job.resource_request", "2.0"),
    (lambda b: b.add_job_submitted("w0!1", job(resource_request=True), 0), "job.resource_request", "True"),
    (lambda b: b.add_job_submitted("w0!1", job(walltime=math.nan), 0), "job.walltime", "nan"),
    (lambda b: b.add_register_job("w0!1", job(walltime=math.inf)), "job.walltime", "inf"),
    (lambda b: b.add_register_job("w0!1", job(walltime=10**400)), "job.walltime", "1000"),
    (lambda b: b.add_register_job("w0!1", job(walltime="60")), "job.walltime", "'60'"),
    (lambda b: b.add_job_submitted("w0!1", JOB, math.nan), "submission_time", "nan"),
    (lambda b: b.add_job_submitted("w0!1", JOB, -math.inf), "submission_time", "-inf"),
    (lambda b: b.add_register_profile("w0!a", DelayProfile(math.nan)), "profile.profile.delay", "nan"),
    (
        lambda b: b.add_register_profile(
            "w0!a", model.SequentialCompositionProfile(repetition_count=-1, profile_ids=("w0!b",))
        ),
        "profile.profile.repetition_count",
        "-1",
    ),
    (lambda b: b.add_call_me_later("later", OneShot(-1)), "when.time", "-1"),
    (lambda b: b.add_call_me_later("later", OneShot(2**64)), "when.time", "18446744073709551616"),
    (lambda b: b.add_call_me_later("later", OneShot(1.5)), "when.time", "1.5"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add_call_me_later("later", Periodic(1, offset=-3)), "when.offset", "-3"),
    (
        lambda b: b.add_call_me_later("later", Periodic(1, mode=model.FinitePeriodNumber(2**32))),
        "when.mode.nb_periods",
        "4294967296",
    ),
    (lambda b: b.add_call_me_later("later", Infinite()), "when", "Infinite()"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add_change_hosts_pstate("0", -1), "pstate", "-1"),
    (lambda b: b.add_hosts_pstate_changed("0", 2**32), "pstate", "4294967296"),
    (lambda b: b.add_turn_on_off_hosts("0", -7), "state", "-7"),
    (lambda b: b.add_hosts_turned_on_off("0", 2**33), "state", "8589934592"),
    (
        lambda b: b.add_probe_data_emitted("power", Metrics.Power, 1, hosts="0", nb_emitted=-1),
        "nb_emitted",
        "-1",
    ),
    (lambda b: b.add_probe_data_emitted("power", Metrics.Power, True, hosts="0"), "data.data", "True"),
    (lambda b: b.add_probe_data_emitted("power", Metrics.Power, ["1"], hosts="0"), "data.data", "['1']"),  # type: ignore[list-item]  # wrong on purpose
    (lambda b: b.add_execute_job("w0!1", "0", placement=[0, -1]), "allocation.executor_placement.mapping[1]", "-1"),
    (
        lambda b: b.add_execute_job("w0!1", "0", storage_placement={"pfs": -1}),
        "storage_placement[0].host_id",
        "-1",
    ),
    (lambda b: b.add_execute_job("w0!1", "0", placement="0"), "allocation.executor_placement", "'0'"),  # type: ignore[arg-type]  # wrong on purpose
    (begins(host_number=-1), "host_number", "-1"),
    (begins(storage_host_number=2**32), "storage_host_number", "4294967296"),
    (
        begins(computation_hosts=[COMPUTING, Host(id=-1, name="b", computation_speed=[1.0])]),  # type: ignore[arg-type]  # a constructor takes it
        "computation_hosts[1].id",
        "-1",
    ),
    (begins(computation_hosts=[COMPUTING, JOB]), "computation_hosts[1]", "Job("),
    # progress and quantiles outside [0,1]
    *(
        (
            lambda b, value=value: b.add_jobs_killed(["w0!1"], {"w0!1": atomic(value)}),
            "progresses[0].wrapper.progress",
            repr(value),
        )
        for value in (-1.0, -5e-324, 1.0000000000000002, math.nan, math.inf)
    ),
    (
        lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": KillProgressSequentialProfile("w0!s", 0, 0, atomic(2))}),
        "progresses[0].wrapper.current_task_progress.progress",
        "2.0",
    ),
    (
        lambda b: b.add_jobs_killed(
            ["w0!0", "w0!1"],
            [
                JobAndProgress("w0!0", HALF_DONE),
                JobAndProgress("w0!1", KillProgressForkJoinProfile("w0!f", (HALF_DONE, atomic(-0.5)))),
            ],
        ),
        "progresses[1].wrapper.tasks_progress[1].progress",
        "-0.5",
    ),
    *(
        (
            lambda b, value=value: b.add_create_probe(
                "power", hosts="0", trigger=OneShot(1), aggregation=QuantileFunction(value)
            ),
            "resources_aggregation_function.threshold",
            repr(value),
        )
        for value in (-0.1, 1.5, math.nan)
    ),
    (
        lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": KillProgressSequentialProfile("w0!s", -1, 0, HALF_DONE)}),
        "progresses[0].wrapper.current_repetition",
        "-1",
    ),
    # ids
    (lambda b: b.add_kill_jobs([]), "job_ids", "none"),
    (lambda b: b.add_kill_jobs(["w0!1", ""]), "job_ids[1]", "''"),
    (lambda b: b.add_kill_jobs("w0!1"), "job_ids", "'w0!1'"),
    (lambda b: b.add_kill_jobs([3]), "job_ids[0]", "3"),  # type: ignore[list-item]  # wrong on purpose
    (lambda b: b.add_jobs_killed([], {}), "job_ids", "none"),
    (lambda b: b.add_jobs_killed(["w0!1"], {"w0!2": HALF_DONE}), "progresses[0].job_id", "'w0!2'"),
    (lambda b: b.add_jobs_killed(["w0!1"], {"": HALF_DONE}), "progresses[0].job_id", "''"),
    (
        lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": KillProgressAtomicProfile("", 0.5)}),
        "progresses[0].wrapper.profile_id",
        "''",
    ),
    (
        lambda b: b.add_jobs_killed(["w0!1"], {}, [ProfileAndId("", DelayProfile(1.0))]),
        "profiles[0].id",
        "''",
    ),
    (lambda b: b.add_register_job("w0!1", job(profile_id="")), "job.profile_id", "''"),
    (
        lambda b: b.add_register_profile("w0!a", model.ForkJoinCompositionProfile(("w0!b", ""))),
        "profile.profile.profile_ids[1]",
        "''",
    ),
    (
        lambda b: b.add_execute_job("w0!1", "0", profile_overrides={"": "0"}),
        "profile_allocation_override[0].profile_id",
        "''",
    ),
    (lambda b: b.add_create_probe("power", links=[""], trigger=OneShot(1)), "resources.link_ids[0]", "''"),
    # hosts or links
    (lambda b: b.add_create_probe("power", trigger=OneShot(1)), "resources", "None"),
    (lambda b: b.add_create_probe("power", hosts="0-3", links=["a"], trigger=OneShot(1)), "resources", "'0-3'"),
    (lambda b: b.add_create_probe("power", links="pfs", trigger=OneShot(1)), "resources.link_ids", "'pfs'"),
    (lambda b: b.add_probe_data_emitted("power", Metrics.Power, 1), "resources", "None"),
    # texts that Batsim writes into its tables, or that UTF-8 cannot carry
    (lambda b: b.add_edc_hello("a,b", "1"), "decision_component_name", "'a,b'"),
    (lambda b: b.add_edc_hello("a", '1"'), "decision_component_version", "'1\"'"),
    (lambda b: b.add_edc_hello("a", "1", ","), "decision_component_commit", "','"),
    (lambda b: b.add_edc_hello("a", "1", batprotocol_version="1,2"), "batprotocol_version", "'1,2'"),
    (lambda b: b.add_edc_hello("a", "1", batprotocol_commit='"'), "batprotocol_commit", "'\"'"),
    (begins(batsim_version="5,0"), "batsim_version", "'5,0'"),
    (lambda b: b.add_simulation_error("\ud800"), "error", "ud800"),
    (lambda b: b.add_reject_job("w0!\udfff"), "job_id", "udfff"),
    # time
    (lambda b: b.set_current_time(NOW - 0.5), "now", "12.0"),
    (lambda b: b.set_current_time(math.nan), "now", "nan"),
    (lambda b: b.set_current_time(math.inf), "now", "inf"),
    (lambda b: b.set_current_time("13"), "now", "'13'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.set_current_time(True), "now", "True"),
    (lambda b: b.set_current_time(None), "now", "None"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.set_current_time(10**400), "now", "1000"),
    (lambda b: b.set_current_time(10**5000), "now", "got an int of 16610 bits"),
    (lambda b: b.finish_message(NOW - 0.5), "now", "12.0"),
    (lambda b: b.finish_message(math.inf), "now", "inf"),
    (lambda b: b.finish_message("x"), "now", "'x'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.clear(math.nan), "now", "nan"),
    (lambda b: b.clear(-math.inf), "now", "-inf"),
    (lambda b: b.clear(b"0"), "now", "b'0'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp=NOW - 0.5)), "timestamp", "12.0"),
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp=-1)), "timestamp", "-1.0"),
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp=math.nan)), "timestamp", "nan"),
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp=math.inf)), "timestamp", "inf"),
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp="13")), "timestamp", "'13'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(model.RejectJobEvent(job_id="", timestamp=NOW + 1)), "job_id", "''"),
    # what is no event
    (lambda b: b.add("RejectJobEvent"), "event", "'RejectJobEvent'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(None), "event", "None"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(JOB), "event", "Job("),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(model.RejectJobEvent), "event", "RejectJobEvent"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(Message(0.0)), "event", "Message("),  # type: ignore[arg-type]  # wrong on purpose
]


@pytest.mark.parametrize(("call", "path", "shown"), WRONG, ids=[f"{path}-{shown}" for _, path, shown in WRONG])
def test_a_wrong_call_names_the_field_and_the_value(
    call: Callable[[MessageBuilder], object], path: str, shown: str
) -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!0")
    error = refusal(builder, call)
    assert error.path == path
    assert shown in error.reason
    assert str(error) == f"{error.path}: {error.reason}"
    assert len(str(error)) < 400
    builder.add_reject_job("w0!1")  # and it goes on as if nothing had been
    assert [event.timestamp for event in builder.finish_message().events] == [NOW, NOW]


@every_call
@pytest.mark.parametrize("wrong", [Wrong(), None])
def test_add_refuses_what_the_method_refuses(call: Call, wrong: object) -> None:
    names = [name for name in call.event.__struct_fields__ if name not in ("timestamp", "host_ids")]
    hints = get_type_hints(type(call.event))
    for name in names:
        values = {other: getattr(call.event, other) for other in call.event.__struct_fields__}
        event = type(call.event)(**{**values, name: wrong})
        builder = MessageBuilder()
        if wrong is None and type(None) in get_args(hints[name]):
            builder.add(event)
            assert len(builder) == 1
        else:
            assert refusal(builder, adding(event)).path == name


@example(progress=0.0, depth=0)
@example(progress=1.0, depth=1)
@given(progress=st.floats(), depth=st.integers(0, 5))
def test_progress_is_taken_exactly_in_0_1(progress: float, depth: int) -> None:
    value: KillProgress = atomic(progress)
    for level in range(depth):
        value = (
            KillProgressSequentialProfile("w0!s", 0, 0, value)
            if level % 2
            else KillProgressForkJoinProfile("w0!f", (value,))
        )
    builder = MessageBuilder()
    if 0 <= progress <= 1:
        builder.add_jobs_killed(["w0!1"], {"w0!1": value})
        assert len(builder) == 1
    else:
        error = refusal(builder, lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": value}))
        assert error.path.endswith(".progress")
        assert repr(progress) in error.reason


@given(number=st.integers(-(2**70), 2**70))
def test_integers_are_taken_exactly_in_their_range(number: int) -> None:
    cases: list[tuple[int, int, Callable[[MessageBuilder], None]]] = [
        (0, 2**32 - 1, lambda b: b.add_change_hosts_pstate("0", number)),
        (-(2**31), 2**31 - 1, lambda b: b.add_job_completed("w0!1", FinalJobState(0), number)),
        (0, 2**64 - 1, lambda b: b.add_call_me_later("later", OneShot(number))),
    ]
    for least, most, call in cases:
        if least <= number <= most:
            assert len(built(call)) == 1
        else:
            assert str(number) in refusal(MessageBuilder(), call).reason


def test_errors_are_protocol_errors_with_their_cause() -> None:
    with pytest.raises(ProtocolError) as caught:
        MessageBuilder().add_job_completed("w0!1", FinalJobState(0), 4294967296)
    assert str(caught.value).startswith("return_code: expected an int32")
    assert str(caught.value).endswith("got 4294967296")
    assert isinstance(caught.value.__cause__, ProtocolError)
