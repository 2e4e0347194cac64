"""Values of one protocol in the words of the other: each field, and what is there when it is missing or odd."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol import model
from batprotocol.legacy.json.values import Job, JobProgress, Resource, profile_of
from batprotocol.legacy.translate import _values as words

WITHOUT_ENGINE = True


# Times


@pytest.mark.parametrize(
    ("time", "expected"),
    [(0.0, 0), (0.001, 1), (0.0011, 2), (1.0, 1000), (25.5, 25500), (0.0010000000001, 1), (4.000045, 4001)],
)
def test_calls_come_at_the_first_whole_millisecond(time: float, expected: int) -> None:
    assert words.milliseconds(time) == expected


@given(st.integers(0, 10**9))
def test_whole_milliseconds_stay_what_they_are(number: int) -> None:
    assert words.milliseconds(number / 1000) == number


# Jobs


@pytest.mark.parametrize(
    ("extra_data", "extra"),
    [
        ("", {}),
        ('{"user": "a", "n": 1}', {"user": "a", "n": 1}),
        ('{"res": 7, "id": "x", "user": "a"}', {"user": "a"}),
        ("plain words", {"extra_data": "plain words"}),
        ("[1]", {"extra_data": "[1]"}),
    ],
)
def test_a_job_of_today_in_older_words(extra_data: str, extra: dict[str, object]) -> None:
    job = model.Job(resource_request=3, walltime=60.0, extra_data=extra_data, profile_id="w0!d")
    old = words.job_to_old("w0!1", job, 2.5)
    assert old == Job("w0!1", "d", 3, 2.5, 60.0, extra)


@pytest.mark.parametrize(
    ("walltime", "expected"), [(None, None), (-1.0, None), (0.0, None), (1e-6, 1e-6), (60.0, 60.0)]
)
def test_a_job_of_old_in_today_s_words(walltime: float | None, expected: float | None) -> None:
    job = words.job_to_new("w0!1", Job("w0!1", "d", 3, 2.5, walltime, {"user": "a"}))
    assert job == model.Job(resource_request=3, walltime=expected, extra_data='{"user": "a"}', profile_id="w0!d")


def test_what_a_job_of_old_may_leave_out() -> None:
    assert words.job_to_new("w0!1", Job("w0!1")) == model.Job(resource_request=0, extra_data="", profile_id="w0!")
    assert words.job_to_new("w0!1", Job(profile="w1!d", res=2)).profile_id == "w1!d"


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ({}, ""),
        ({"extra_data": "words"}, "words"),
        ({"extra_data": 5}, '{"extra_data": 5}'),
        ({"extra_data": {"cores": 4}}, '{"cores": 4}'),
        ({"extra_data": {"user": 2, "cores": 4}, "user": 1}, '{"user": 2, "cores": 4}'),
        ({"extra_data": "words", "user": 1}, '{"extra_data": "words", "user": 1}'),
    ],
)
def test_what_else_is_said_of_a_job(extra: dict[str, object], text: str) -> None:
    assert words.extra_of(Job("w0!1", extra=extra)) == text


def test_the_parts_of_a_profile_are_named_in_full() -> None:
    parts = model.SequentialCompositionProfile(repetition_count=2, profile_ids=("a", "w1!b"))
    expected = model.SequentialCompositionProfile(repetition_count=2, profile_ids=("w0!a", "w1!b"))
    assert words.full_profile("w0", parts) == expected
    assert words.full_profile("w0", model.DelayProfile(1.0)) == model.DelayProfile(1.0)


# Progress


def nested(depth: int) -> model.KillProgress:
    progress: model.KillProgress = model.KillProgressAtomicProfile("w0!leaf", 0.25)
    for index in range(depth):
        progress = model.KillProgressSequentialProfile(f"w0!s{index}", 1, index, progress)
    return progress


@pytest.mark.parametrize("before", [True, False])
def test_progress_of_today_in_older_words(before: bool) -> None:
    found = words.progress_to_old(nested(1), before, lambda name: None)
    outer, inner = ("s0", None, "leaf", None) if before else (None, "s0", None, "leaf"), None
    assert (found.profile, found.profile_name, found.current_task.profile, found.current_task.profile_name) == outer
    assert (found.progress, found.current_task_index, found.current_task.progress) == (inner, 0, 0.25)


def test_progress_of_old_in_today_s_words() -> None:
    leaf = JobProgress(profile="leaf", progress=0.25)
    assert words.progress_to_new(leaf, "w0") == model.KillProgressAtomicProfile("w0!leaf", 0.25)
    whole = words.progress_to_new(JobProgress(profile_name="s", current_task_index=3, current_task=leaf), "w0")
    assert whole == model.KillProgressSequentialProfile("w0!s", 0, 3, words.progress_to_new(leaf, "w0"))
    for index in (None, -1):
        odd = words.progress_to_new(JobProgress(profile="s", current_task_index=index, current_task=leaf), "w0")
        assert isinstance(odd, model.KillProgressSequentialProfile)
        assert odd.current_task_index == 0
    for progress in (None, float("nan"), float("inf")):
        assert words.progress_to_new(JobProgress(progress=progress), "w0") == model.KillProgressAtomicProfile(
            "w0!", -1.0
        )


def depth_of(progress: object) -> int:
    depth = 0
    while True:
        inner = getattr(progress, "current_task", None) or getattr(progress, "current_task_progress", None)
        if inner is None:
            return depth
        progress, depth = inner, depth + 1


@pytest.mark.parametrize(("depth", "kept"), [(3, 3), (50, 50), (51, 50), (200, 50)])
def test_progress_is_followed_fifty_tasks_deep(depth: int, kept: int) -> None:
    old = words.progress_to_old(nested(depth), True, lambda name: None)
    assert depth_of(old) == kept
    deep = JobProgress(profile="leaf", progress=0.5)
    for _ in range(depth):
        deep = JobProgress(profile="s", current_task_index=0, current_task=deep)
    assert depth_of(words.progress_to_new(deep, "w0")) == kept


# Hosts


def host(**properties: str) -> model.Host:
    return model.Host(
        id=7,
        name="n7",
        pstate_count=1,
        state=model.HostState.SLEEPING,
        properties=tuple(model.HostProperty(key, value) for key, value in properties.items()),
        zone_properties=(model.HostProperty("zone", "a"),),
        computation_speed=(1.0,),
    )


def test_the_properties_of_a_host_as_a_mapping() -> None:
    assert words.pairs(None) == {}
    assert words.pairs(host(a="1", b="2").properties) == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"role": ""}, {"role": ""}),
        ({"wattage_per_state": "1:2"}, {"wattage_per_state": "1:2", "watt_per_state": "1:2"}),
        (
            {"wattage_per_state": "1:2", "watt_per_state": "3:4"},
            {"wattage_per_state": "1:2", "watt_per_state": "3:4"},
        ),
        ({"watt_per_state": "3:4"}, {"watt_per_state": "3:4"}),
    ],
)
@pytest.mark.parametrize(("version", "zone"), [((3, 1), None), ((4,), {"zone": "a"}), ((4, 2, 1), {"zone": "a"})])
def test_a_host_of_today_in_older_words(
    given: dict[str, str], told: dict[str, str], version: tuple[int, ...], zone: dict[str, str] | None
) -> None:
    assert words.resource_of(host(**given), version) == Resource(7, "n7", "sleeping", told, zone)


@pytest.mark.parametrize(
    ("properties", "count"),
    [
        (None, 1),
        ({}, 1),
        ({"watt_per_state": "95:190"}, 1),
        ({"watt_per_state": "95:190,80:150, 9:9"}, 3),
        ({"wattage_per_state": "1:2,3:4"}, 2),
        ({"wattage_per_state": "1:2,3:4", "watt_per_state": "1:2"}, 2),
        ({"watt_per_state": 5}, 1),
    ],
)
def test_the_power_states_of_a_host_of_old_are_counted(properties: dict[str, object] | None, count: int) -> None:
    found = words.host_of(Resource(3, "n3", "idle", properties))
    assert found.pstate_count == count
    assert (found.id, found.name) == (3, "n3")
    assert words.pairs(found.properties) == {key: str(value) for key, value in (properties or {}).items()}
    assert found.computation_speed == ()


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("idle", model.HostState.IDLE),
        ("computing", model.HostState.COMPUTING),
        ("sleeping", model.HostState.SLEEPING),
        ("unavailable", model.HostState.IDLE),
        ("dancing", model.HostState.IDLE),
        (None, model.HostState.IDLE),
    ],
)
def test_the_state_of_a_host_of_old(state: str | None, expected: model.HostState) -> None:
    found = words.host_of(Resource(3, "n3", state, None, {"a": 1}))
    assert found.state == expected
    assert words.pairs(found.zone_properties) == {"a": "1"}
    assert words.pairs(found.properties) == {}


@pytest.mark.parametrize(
    ("text", "sleeping", "passing"),
    [
        (None, set(), set()),
        (5, set(), set()),
        ("", set(), set()),
        ("13:14:15", {13}, {14, 15}),
        ("13:14:15, 16 :17: 18", {13, 16}, {14, 15, 17, 18}),
        ("x:14:15,12345678:1:2,123456789:3:4", {12345678}, {14, 15, 1, 2, 3, 4}),
    ],
)
def test_the_power_states_in_which_a_host_sleeps(text: object, sleeping: set[int], passing: set[int]) -> None:
    properties = {} if text is None else {"sleep_pstates": text}
    assert words.sleep_states(properties) == sleeping
    assert words.sleep_states(properties, slice(1, None)) == passing


def test_jobs_survive_both_ways() -> None:
    extra = {"user": "a", "nodes": [1, 2]}
    job = model.Job(resource_request=3, walltime=60.0, extra_data=json.dumps(extra), profile_id="w0!d")
    assert words.job_to_new("w0!1", words.job_to_old("w0!1", job, 0.0)) == job


@pytest.mark.parametrize(
    "number", [0, -1, 2.5, 9e307, -9e307, 1e308, -1e308, 1.7e308, 10**400, float("nan"), True, "1", None]
)
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("delay", "delay"), ("parallel", "cpu"), ("parallel", "com"), ("msg_par_hg", "cpu"), ("msg_par_hg", "com"),
        ("msg_par_hg_tot", "cpu"), ("msg_par_hg_pfs", "size"), ("msg_par_hg_pfs", "bytes_to_read"),
        ("data_staging", "nb_bytes"),
    ],
)  # fmt: skip
def test_amounts_of_profiles_are_numbers_within_limits(kind: str, key: str, number: object) -> None:
    """The limits themselves are refused, as all that is beyond them."""
    others = {"delay": 1, "cpu": 1, "com": 1, "nb_bytes": 1, "from": "a", "to": "b"}
    if kind == "parallel":
        others |= {"cpu": [1, 2], "com": [1, 2, 3, 4]}
    value = [1, number] if kind == "parallel" else number
    is_amount = type(number) in (int, float) and abs(number) < 1e308  # type: ignore[arg-type]
    found = profile_of({"type": kind, **others, key: value})
    assert (found is not None) is is_amount
    if found is not None:
        numbers = [getattr(found, name) for name in found.__struct_fields__]
        assert any(each == number or (kind == "parallel" and each and list(each)[1] == number) for each in numbers)
