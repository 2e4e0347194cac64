"""Workload files: what they mean, and how wrong ones are refused."""

from __future__ import annotations

import copy
import io
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from documents import workload_document, workload_text
from hypothesis import example, given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import (
    DelayProfile,
    ForkJoinCompositionProfile,
    HomogeneousParallelTaskGenerationStrategy,
    Job,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    SequentialCompositionProfile,
    TraceReplayProfile,
    TraceType,
)
from batprotocol.testing import simulations
from batprotocol.workloads import (
    EXAMPLE_WORKLOAD,
    StaticJob,
    Submission,
    Workload,
    WorkloadProfile,
    read_workload,
)
from batprotocol.workloads import _json_stream as json_stream_module
from batprotocol.workloads._json_stream import JsonStream
from batprotocol.workloads.workload_files import compact_json

WITHOUT_ENGINE = True

DELAY = {"type": "DelayProfile", "delay": 10}
JOB = {"id": "1", "subtime": 0, "res": 1, "profile": "d"}


def document(jobs: Any = None, profiles: Any = None, **more: Any) -> dict[str, Any]:
    """A workload with one job, but for what is given."""
    return {"nb_res": 4, "jobs": [JOB] if jobs is None else jobs, "profiles": profiles or {"d": DELAY}, **more}


@pytest.fixture
def read(tmp_path: Path):
    """Reads a workload file of this text or document."""

    def reader(content: Any, **options: Any) -> Workload:
        path = tmp_path / "jobs.json"
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_workload(path, **options)

    return reader


# What files mean


@pytest.mark.slow
@given(simulations.workloads(storages=("pfs",), compositions=True), st.booleans(), st.integers(1, 40), st.randoms())
def test_workloads_survive_being_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, workload: Workload, full_names: bool, chunk: int, random: Any
) -> None:
    written = workload_document(workload, full_names=full_names)
    random.shuffle(written["jobs"])
    shuffled = list(written.items())
    random.shuffle(shuffled)
    path = tmp_path_factory.mktemp("workload") / "jobs.json"
    path.write_text(json.dumps(dict(shuffled), ensure_ascii=random.random() < 0.5, indent=random.choice((None, 1))))
    usual = json_stream_module._CHUNK
    json_stream_module._CHUNK = chunk  # what a chunk cuts in two is read whole all the same
    try:
        again = read_workload(path, compositions=True, corrected=True)
    finally:
        json_stream_module._CHUNK = usual
    assert list(again) == list(workload)
    assert again.profiles == workload.profiles
    assert again.filename == str(path)
    assert again.resource_count == max(workload.resource_count, 1)


def test_every_type_of_profile(read) -> None:
    profiles = {
        "delay": {"type": "DelayProfile", "delay": 1, "ret": -3, "extra_data": {"b": 1, "a": [1.5, 1e25]}},
        "task": {"type": "ParallelTaskProfile", "cpu": [1, 2], "com": [0, 1, 2, 0]},
        "compute": {"type": "ParallelTaskProfile", "cpu": [5e6]},
        "communicate": {"type": "ParallelTaskProfile", "com": [1]},
        "equal": {"type": "ParallelTaskHomogeneousProfile", "cpu": 1, "com": 2, "generation_strategy": "what?"},
        "spread": {
            "type": "ParallelTaskHomogeneousProfile",
            "cpu": 1,
            "com": 2,
            "generation_strategy": "DefinedAmountsSpreadUniformly",
        },
        "sequence": {"type": "SequentialCompositionProfile", "seq": ["w0!delay", "task", "delay"], "repeat": 2},
        "storage": {"type": "ParallelTaskOnStorageHomogeneousProfile", "bytes_to_read": 1},
        "host": {"type": "ParallelTaskOnStorageHomogeneousProfile", "bytes_to_write": 1, "host": "h"},
        "staging": {
            "type": "ParallelTaskDataStagingBetweenStoragesProfile",
            "nb_bytes": 1,
            "from": "a",
            "to": "b",
        },
        "smpi": {"type": "TraceReplayProfile", "trace_type": "SMPI", "filename": "nowhere"},
        "fork": {"type": "ForkJoinCompositionProfile", "profiles": ["delay", "w0!delay"]},
        "merge": {"type": "ParallelTaskMergeCompositionProfile", "profiles": ["equal"]},
    }
    each = HomogeneousParallelTaskGenerationStrategy.DefinedAmountsUsedForEachValue
    uniform = HomogeneousParallelTaskGenerationStrategy.DefinedAmountsSpreadUniformly
    workload = read(document([], profiles), compositions=True)
    assert workload.profiles["w0!delay"] == WorkloadProfile(DelayProfile(1.0), -3, '{"b":1,"a":[1.5,1e25]}')
    assert {name: given.profile for name, given in workload.profiles.items()} == {
        "w0!delay": DelayProfile(1.0),
        "w0!task": ParallelTaskProfile([1.0, 2.0], [0.0, 1.0, 2.0, 0.0]),
        "w0!compute": ParallelTaskProfile([5e6]),
        "w0!communicate": ParallelTaskProfile(None, [1.0]),
        "w0!equal": ParallelTaskHomogeneousProfile(1.0, 2.0, each),
        "w0!spread": ParallelTaskHomogeneousProfile(1.0, 2.0, uniform),
        "w0!sequence": SequentialCompositionProfile(
            repetition_count=2, profile_ids=("w0!delay", "w0!task", "w0!delay")
        ),
        "w0!storage": ParallelTaskOnStorageHomogeneousProfile("pfs", 1.0, 0.0, each),
        "w0!host": ParallelTaskOnStorageHomogeneousProfile("h", 0.0, 1.0, each),
        "w0!staging": ParallelTaskDataStagingBetweenStoragesProfile(1.0, "a", "b"),
        "w0!smpi": TraceReplayProfile(TraceType.SMPI, "nowhere"),
        "w0!fork": ForkJoinCompositionProfile(("w0!delay", "w0!delay")),
        "w0!merge": ParallelTaskMergeCompositionProfile(("w0!equal",)),
    }
    assert workload.referenced_profiles == {"w0!delay", "w0!task", "w0!equal"}


def test_names_are_bare_or_full_and_ids_may_be_numbers(read) -> None:
    jobs = [
        {"id": 7, "subtime": 1, "res": 2, "profile": "w1!d", "walltime": 5, "extra_data": {"a": [1, "é"]}, "x": None},
        {"id": "w1!7a", "subtime": -1.5, "res": 0, "profile": "d", "extra_data": "text"},
        {"id": "", "subtime": 1, "res": 1, "profile": ""},
    ]
    workload = read(document(jobs, {"w1!d": DELAY, "": DELAY}), name="w1")
    assert list(workload) == [
        Submission(-1.5, "w1!7a", Job(resource_request=0, extra_data="text", profile_id="w1!d")),
        Submission(1.0, "w1!", Job(resource_request=1, profile_id="w1!")),
        Submission(1.0, "w1!7", Job(resource_request=2, walltime=5.0, extra_data='{"a":[1,"é"]}', profile_id="w1!d")),
    ]


def test_jobs_come_by_time_and_id(read) -> None:
    ids = ["10", "9", "é", "Z", "a", "1", "\U0001f600", "\uffff"]
    jobs = [{**JOB, "id": id, "subtime": time} for time in (2, 1) for id in (f"{id}-{time}" for id in ids)]
    order = [(time, id) for time, id, _ in read(document(jobs))]
    assert order == sorted(order, key=lambda each: (each[0], each[1].encode()))


def test_of_duplicate_keys_the_first_counts_and_of_duplicate_profiles_the_last(read) -> None:
    text = (
        '{"nb_res": 4, "nb_res": "x", "jobs": [{"id": "1", "id": 2, "subtime": 0, "res": 1, "profile": "d"}],'
        ' "jobs": 5, "profiles": {"d": {"type": "DelayProfile", "delay": 1, "delay": "x"},'
        ' "d": {"type": "DelayProfile", "delay": 2}}, "profiles": {}}'
    )
    workload = read(text)
    assert [id for _, id, _ in workload] == ["w0!1"]
    assert workload.profiles["w0!d"].profile == DelayProfile(2.0)
    assert workload.resource_count == 4


def test_the_example_is_a_workload() -> None:
    workload = read_workload(EXAMPLE_WORKLOAD)
    assert len(workload) == 250
    assert workload.resource_count == 32
    assert max(job.resource_request for _, _, job in workload) <= 32


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"), (100000.0, "100000.0"), (1e20, "100000000000000000000.0"), (1e21, "1e21"), (1.5e300, "1.5e300"),
        (0.1, "0.1"), (0.001234, "0.001234"), (1e-6, "0.000001"), (1.5e-7, "1.5e-7"), (-0.0, "-0.0"), (-2.5, "-2.5"),
        (123456.789, "123456.789"), ("\x01\b\"\\/\u2028", '"\\u0001\\b\\"\\\\/\u2028"'), ([], "[]"), ({}, "{}"),
        ([True, None, 12], "[true,null,12]"),
    ],
)  # fmt: skip
def test_extra_data_is_written_compactly(value: Any, text: str) -> None:
    assert compact_json(value) == text


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(_json)
def test_compact_json_is_json(value: Any) -> None:
    assert json.loads(compact_json(value)) == value


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**25 + 1])
def test_an_integer_of_more_than_64_bits_is_a_double(number: int) -> None:
    assert JsonStream(io.BytesIO(str(number).encode()), corrected=True).value() == float(number)


@given(_json, st.integers(1, 7), st.booleans())
@example(-100_000_000_000_000_001, 1, False)
@example(2**64 - 1, 1, False)
@example([1.5, 1e16, 1], 1, False)
def test_json_is_read_as_python_reads_it_however_it_is_cut(value: Any, chunk: int, ascii_only: bool) -> None:
    usual = json_stream_module._CHUNK
    json_stream_module._CHUNK = chunk
    try:
        stream = JsonStream(
            io.BytesIO(b" \n" + json.dumps(value, ensure_ascii=ascii_only).encode() + b"\t "), corrected=True
        )
        try:
            assert stream.value() == value
            stream.end()
        except InputError as error:
            assert "surrogate" in error.reason  # noqa: PT017
    finally:
        json_stream_module._CHUNK = usual


# What is refused, and where

BIG = "1" + "0" * 400
REFUSED = [
    ("", "expected an object with the keys"),
    ("[]", "expected an object with the keys"),
    ("{", "expected a key"),
    ('{"jobs": [', "1:11: jobs"),
    ("{}", "add jobs, nb_res, profiles"),
    ('{"nb_res": 1, "jobs": []}', "add profiles"),
    ('{"nb_res": 1,}', "expected a key"),
    ("{'nb_res': 1}", "expected a key in double quotes"),
    ('{"x": 01}', "expected '}', got '1'"),
    ('{"nb_res": 1} x', "1:15: .*text follows"),
    ('{"nb_res": /* */ 1}', "not JSON"),
    ("\ufeff{}", "expected an object"),
    ('{"nb_res": NaN}', "NaN is not JSON"),
    ('{"nb_res": -Infinity}', "-Infinity is not JSON"),
    ('{"x": "\\ud800"}', "half of a surrogate pair"),
    ('{"x": "\n"}', "not JSON"),
    ('{"x": 1e999}', "too big for a double"),
    (f'{{"x": {BIG}}}', "too big for a double"),
    ('{"x": ' + "[" * 200_000, "nested too deeply"),
    ('{"x": ' + '{"a":' * 200_000, "nested too deeply"),
    (b'{"x": "\xff"}', "not UTF-8"),
    (b'{"x": "\xc3', "not UTF-8"),
    (document(nb_res=0), "nb_res: expected an integer in"),
    (document(nb_res=True), "nb_res: expected an integer in"),
    (document(nb_res=1.0), "nb_res: expected an integer in"),
    (document(jobs={}), "jobs: expected an array"),
    (document(profiles=[1]), "profiles: expected an object"),
    (document([1]), r"jobs\[0\]: expected an object, got 1"),
    (document([JOB, {**JOB, "id": "2", "res": 1.0}]), r"jobs\[1\].res: expected an integer .*, got 1.0"),
    (document([{**JOB, "res": -1}]), r"jobs\[0\].res"),
    (document([{**JOB, "res": 2**31}]), r"jobs\[0\].res"),
    (document([{**JOB, "res": True}]), r"jobs\[0\].res"),
    (document([{**JOB, "id": None}]), r"jobs\[0\].id"),
    (document([{**JOB, "id": 1.5}]), r"jobs\[0\].id"),
    (document([{**JOB, "subtime": "1"}]), r"jobs\[0\].subtime"),
    (document([{**JOB, "walltime": None}]), r"jobs\[0\].walltime: expected a number > 0, got None"),
    (document([{**JOB, "walltime": 0}]), r"jobs\[0\].walltime"),
    (document([{**JOB, "walltime": -1}]), r"jobs\[0\].walltime"),
    (document([{**JOB, "extra_data": 5}]), r"jobs\[0\].extra_data"),
    (document([{**JOB, "profile": 5}]), r"jobs\[0\].profile"),
    (document([{**JOB, "profile": "x"}]), r"jobs\[0\].profile: there is no profile 'x'"),
    (document([{**JOB, "profile": "w0d"}]), r"jobs\[0\].profile: 'w0d' contains the name of its workload"),
    (document([{**JOB, "id": "w0!a!b"}]), r"jobs\[0\].id: 'w0!a!b' contains"),
    (document([{k: v for k, v in JOB.items() if k != "res"}]), r"jobs\[0\].res: the key is missing"),
    (document([JOB, JOB]), r"jobs\[1\].id: jobs\[0\] has the id '1', too"),
    (document([JOB, {**JOB, "id": 2}, {**JOB, "id": 1}]), r"jobs\[2\].id: jobs\[0\] has the id '1', too"),
    (document([JOB, {**JOB, "id": "w0!1"}]), r"jobs\[1\].id"),
    (document(profiles={"d": 5}), "profiles.d: expected an object"),
    (document(profiles={"xw0": DELAY}), "profiles.xw0: 'xw0' contains"),
    (document(profiles={"d": {}}), "profiles.d.type: the key is missing"),
    (document(profiles={"d": {"type": "delays"}}), "profiles.d.type: 'delays' is not a type"),
    (document(profiles={"d": {"type": "delay"}}), "profiles.d.delay: the key is missing"),
    (document(profiles={"d": {"type": "send", "to": "a"}}), "profiles.d.type: 'send' is not supported: in Batsim 5"),
    (document(profiles={"d": {**DELAY, "delay": 0}}), "profiles.d.delay"),
    (document(profiles={"d": {**DELAY, "delay": "1"}}), "profiles.d.delay"),
    (document(profiles={"d": {**DELAY, "ret": 0.5}}), "profiles.d.ret"),
    (document(profiles={"d": {**DELAY, "extra_data": True}}), "profiles.d.extra_data"),
    (document(profiles={"d": {"type": "ParallelTaskProfile"}}), "profiles.d.cpu"),
    (document(profiles={"d": {"type": "ParallelTaskProfile", "cpu": []}}), "profiles.d.cpu"),
    (document(profiles={"d": {"type": "ParallelTaskProfile", "cpu": [-1]}}), "profiles.d.cpu"),
    (document(profiles={"d": {"type": "ParallelTaskProfile", "com": [1, 2]}}), "profiles.d.com: expected a square"),
    (document(profiles={"d": {"type": "ParallelTaskProfile", "cpu": [1], "com": [1] * 4}}), "for 2 executors, but cpu"),
    (document(profiles={"d": {"type": "ParallelTaskProfile", "cpu": [1, 2]}}), r"jobs\[0\].res: .* for 2 executors"),
    (document(profiles={"d": {"type": "ParallelTaskProfile", "com": [1] * 9}}), r"jobs\[0\].res: .* for 3 executors"),
    (
        document(profiles={"d": {"type": "ParallelTaskHomogeneousProfile", "cpu": 1}}),
        "profiles.d.com: the key is missing",
    ),
    (document(profiles={"d": {"type": "SequentialCompositionProfile", "seq": []}}), "profiles.d.seq"),
    (document(profiles={"d": {"type": "SequentialCompositionProfile", "seq": ["x"]}}), "profiles.d: there is no .*'x'"),
    (
        document(profiles={"d": {"type": "SequentialCompositionProfile", "seq": ["d"]}}),
        "profiles.d: .*a part of itself",
    ),
    (
        document(profiles={"d": {"type": "SequentialCompositionProfile", "seq": ["d"], "repeat": 0}}),
        "profiles.d.repeat",
    ),
    (document(profiles={"d": {"type": "ForkJoinCompositionProfile", "profiles": ["d"]}}), "the rules `protocol`"),
    (document(profiles={"d": {"type": "TraceReplayProfile", "trace_type": "x", "filename": ""}}), "d.trace_type"),
    (
        document(profiles={"d": {"type": "TraceReplayProfile", "trace_type": "SMPI", "filename": "x"}}),
        "profiles.d.trace_type: replays of SMPI traces are not supported",
    ),
    (
        document(
            profiles={"d": {"type": "TraceReplayProfile", "trace_type": "FractionalComputation", "filename": "x"}}
        ),
        "profiles.d.filename: the file 'x' cannot be read",
    ),
]


@pytest.mark.parametrize(("content", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_wrong_workloads_are_refused_with_their_place(read, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(content)
    assert caught.value.file.endswith("jobs.json")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_faults_have_a_line_and_a_column(read) -> None:
    text = json.dumps(document([{**JOB, "id": id, "res": 1 if id < 5000 else -1} for id in range(5001)]), indent=1)
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.path == "jobs[5000].res"
    assert (caught.value.line, caught.value.column) == (text[: text.index('"id": 5000')].count("\n"), 3)
    with pytest.raises(InputError) as caught:
        read('{"nb_res": 1,\n "jobs": [é]}')
    assert (caught.value.line, caught.value.column) == (2, 11)


@pytest.mark.slow
def test_long_cycles_of_profiles_are_found(read) -> None:
    chain = {f"p{n}": {"type": "SequentialCompositionProfile", "seq": [f"p{n + 1}"]} for n in range(10_000)}
    assert len(read(document([], {**chain, "p10000": DELAY})).profiles) == 10_001
    back = {"type": "SequentialCompositionProfile", "seq": ["p3"]}
    with pytest.raises(InputError, match="a part of itself"):
        read(document([], {**chain, "p10000": back}))


@given(st.binary(max_size=60), st.integers(0, 600), st.integers(0, 20))
def test_no_bytes_get_anything_but_an_input_error_out_of_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, place: int, cut: int
) -> None:
    whole = json.dumps(document([JOB, {**JOB, "id": 2}], {"d": DELAY, "s": {"type": "x"}})).encode()
    path = tmp_path_factory.getbasetemp() / "hostile.json"
    for content in (data, whole[:place] + data + whole[place + cut :]):
        path.write_bytes(content)
        try:
            read_workload(path)
        except InputError as error:
            assert error.file == str(path)  # noqa: PT017


# Values


def test_jobs_in_python() -> None:
    task = ParallelTaskProfile([1.0, 1.0])
    workload = Workload(
        [
            StaticJob("b", 1.0, 2, task, walltime=3.0),
            StaticJob("a", 1.0, 1, DelayProfile(5.0)),
            StaticJob("c", 0.0, 2, "seq"),
            StaticJob("d", 2.0, 2, ParallelTaskProfile([1.0, 1.0])),
        ],
        {"seq": SequentialCompositionProfile(profile_ids=["one"]), "one": WorkloadProfile(DelayProfile(1.0), 2)},
    )
    assert [id for _, id, _ in workload] == ["w0!c", "w0!a", "w0!b", "w0!d"]
    assert workload[2].job.profile_id == workload[3].job.profile_id
    assert workload.profiles[workload[2].job.profile_id].profile == task
    assert workload.profiles["w0!seq"].profile.profile_ids == ("w0!one",)  # type: ignore[union-attr]
    renamed = workload.named("other")
    assert [id for _, id, _ in renamed] == ["other!c", "other!a", "other!b", "other!d"]
    assert renamed.profiles["other!seq"].profile.profile_ids == ("other!one",)  # type: ignore[union-attr]
    assert renamed[0].job.profile_id == "other!seq"


@pytest.mark.parametrize(
    ("job", "place"),
    [
        (StaticJob(1, 0.0, 1, "d"), "id"),  # type: ignore[arg-type]
        (StaticJob("1", float("nan"), 1, "d"), "submission_time"),
        (StaticJob("1", 0.0, -1, "d"), "resource_request"),
        (StaticJob("1", 0.0, 2**32, "d"), "resource_request"),
        (StaticJob("1", 0.0, 1, "x"), "profile"),
        (StaticJob("1", 0.0, 1, 5), "profile"),  # type: ignore[arg-type]
        (StaticJob("1", 0.0, 1, "d", walltime=0.0), "walltime"),
        (StaticJob("1", 0.0, 1, "d", extra_data=b""), "extra_data"),  # type: ignore[arg-type]
        (StaticJob("0", 0.0, 1, "d"), "id"),
    ],
)
def test_wrong_jobs_in_python_are_refused_with_their_place(job: StaticJob, place: str) -> None:
    with pytest.raises(InputError) as caught:
        Workload([StaticJob("0", 0.0, 1, "d"), job], {"d": DelayProfile(1.0)})
    assert caught.value.path == f"jobs[1].{place}"


@pytest.mark.slow
@given(simulations.workloads())
def test_workloads_are_shared_by_copies_and_survive_pickling(workload: Workload) -> None:
    assert copy.deepcopy(workload) is workload
    again = pickle.loads(pickle.dumps(workload))
    assert list(again) == list(workload)
    assert again.profiles == workload.profiles
    assert list(workload.named("x").named("w0")) == list(workload)


def test_equal_jobs_are_refused_long_before_the_end_of_the_file(read) -> None:
    """The last job is none, which nobody gets to see."""
    with pytest.raises(InputError, match=r"jobs.json: jobs\[1\].id: jobs\[0\] has the id '1', too"):
        read(document([JOB] * 5000 + ["x"]))


@pytest.mark.slow
def test_many_jobs_take_little_memory(tmp_path: Path) -> None:
    import tracemalloc

    count = 20_000
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(document([{**JOB, "id": f"job{id}", "subtime": id} for id in range(count)])))
    tracemalloc.start()
    try:
        workload = read_workload(path)
        size, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(workload) == count
    assert size < 70 * count
    assert peak < 150 * count + 5e6
    assert workload[count - 1].id == f"w0!job{count - 1}"


def test_a_document_says_what_the_workload_holds() -> None:
    workload = Workload([StaticJob("1", 0.0, 1, DelayProfile(1.0))])
    assert json.loads(workload_text(workload))["profiles"] == {"profile0": {"type": "DelayProfile", "delay": 1.0}}
