"""The codec of the JSON protocol: all that was recorded, all that can be said, and all that cannot."""

from __future__ import annotations

import json
import random
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from old_runs import KEPT, OldRun, old_runs, verdicts
from old_strategies import json_events, json_messages

from batprotocol import BuilderError, DecodeError, EncodeError
from batprotocol.legacy import Job, JobProfile, MessageBuilder, Resource, decode, encode
from batprotocol.legacy import json_events as e
from batprotocol.legacy.json.events import EVENTS, VERSIONS, EventVersions, version_of
from batprotocol.model import (
    DelayProfile,
    HomogeneousParallelTaskGenerationStrategy,
    ParallelTaskHomogeneousProfile,
    SequentialCompositionProfile,
    TraceReplayProfile,
    TraceType,
)

WITHOUT_ENGINE = True
EACH_EVENT = [
    pytest.param(row, version, id=f"{version}-{row.type}")
    for version in ("1.0", "1.4", "2.0", "3.0", "4.2")
    for row in EVENTS
    if row.exists(version_of(version))
]


def as_batsim_prints(value: Any) -> Any:
    """The same JSON with all its doubles as `%6f` prints them."""
    if isinstance(value, float):
        return f"{value:6f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{float(value):6f}"
    if isinstance(value, dict):
        return {key: as_batsim_prints(each) for key, each in value.items()}
    return [as_batsim_prints(each) for each in value] if isinstance(value, list) else value


def members(message: Any) -> list[list[str]]:
    """The order of the members: `now, events`, and `timestamp, type, data` in each event."""
    return [list(message), *(list(entry) for entry in message["events"])]


@pytest.mark.parametrize("run", old_runs(), ids=lambda run: run.name)
def test_each_recorded_message_is_read_and_written_as_it_was(run: OldRun) -> None:
    for _, data in run.messages:
        message = decode(data, run.version)
        assert not any(isinstance(event, e.OtherEvent) for event in message.events)
        written = encode(message, run.version)
        assert members(json.loads(written)) == members(json.loads(data))
        assert as_batsim_prints(json.loads(written)) == as_batsim_prints(json.loads(data))
        assert decode(written, run.version) == message


def test_recorded_messages_hold_what_their_version_knows_but_for_what_users_add() -> None:
    """What is in `extra` is what users put into jobs and external events, and one query of the wrong form."""
    unknown = set()
    for run in old_runs():
        for _, data in run.messages:
            for event in decode(data, run.version).events:
                extra = getattr(event, "extra", {})
                if extra and not isinstance(event, e.Notify):
                    unknown.add((run.version, type(event).__name__, tuple(extra)))
    assert unknown == set()


@pytest.mark.parametrize(("row", "version"), EACH_EVENT)
@settings(max_examples=4)
@given(data=st.data())
def test_each_event_of_each_version_makes_the_round_trip(row: EventVersions, version: str, data: st.DataObject) -> None:
    event = data.draw(json_events(row, version_of(version)))
    message = e.Message(event.timestamp, (event,))
    assert decode(encode(message, version), version) == message


@settings(max_examples=40)
@given(st.sampled_from(VERSIONS), st.data())
def test_messages_make_the_round_trip(version: str, data: st.DataObject) -> None:
    message = data.draw(json_messages(version_of(version)))
    written = encode(message, version)
    assert decode(written, version) == message
    assert decode(json.dumps(json.loads(written)).encode(), version) == message


def test_the_documentation_s_examples_are_read() -> None:
    """Most of them are events; the first one has commas that no JSON has."""
    text = (KEPT / "legacy-json-protocol.md").read_text()
    examples = re.findall(r"^\{.*?^\}$", text, re.MULTILINE | re.DOTALL)
    assert len(examples) > 20
    for example in examples:
        whole = example if '"now"' in example else f'{{"now": 1e6, "events": [{example}]}}'
        message = decode(whole.encode(), "1.4")
        assert not any(isinstance(event, e.OtherEvent) for event in message.events), example
        assert decode(encode(message, "1.4"), "1.4") == message
    assert sum('"now"' in example for example in examples) == 2


def test_the_wrong_and_the_right_form_of_the_energy_query_are_read() -> None:
    documented = decode(b'{"now":1,"events":[{"timestamp":1,"type":"QUERY_REPLY","data":{"consumed_energy":"12500"}}]}')
    real = decode(b'{"now":1,"events":[{"timestamp":1,"type":"QUERY_REPLY","data":{"energy_consumed":12500.0}}]}')
    answers = [documented.events[0], real.events[0]]
    assert [answer.consumed_energy for answer in answers if isinstance(answer, e.QueryReply)] == [12500, 12500]


# What is unknown


def one(kind: str, data: str) -> bytes:
    return f'{{"now":1.0,"events":[{{"timestamp":1.0,"type":"{kind}","data":{data}}}]}}'.encode()


def test_what_a_fork_adds_survives_wherever_it_is() -> None:
    data = (
        b'{"now":1.0,"fork":{"a":[1]},"events":[{"timestamp":1.0,"type":"JOB_SUBMITTED","by":"x","data":{"job_id":"w!1",'
        b'"job":{"id":"w!1","extra":{"extra":1},"user":null},"more":null}},'
        b'{"timestamp":1.0,"type":"JOB_KILLED","data":{"job_ids":[],"job_progress":{"w!1":{"profile":"p","at":{}}}}},'
        b'{"timestamp":1.0,"type":"FAULT","data":[1,2],"x":1}]}'
    )
    message = decode(data, "4.2")
    assert json.loads(encode(message, "4.2")) == json.loads(data)
    submitted, _, fault = message.events
    assert isinstance(submitted, e.JobSubmitted)
    assert submitted.job == Job("w!1", extra={"extra": {"extra": 1}, "user": None})
    assert (submitted.extra, submitted.beside) == ({"more": None}, {"by": "x"})
    assert fault == e.OtherEvent(1.0, "FAULT", [1, 2], {"x": 1})
    with pytest.raises(DecodeError, match="no such field"):
        decode(data, "4.2", strict=True)


def test_an_event_of_another_version_is_read_unless_asked_to_be_strict_and_never_written() -> None:
    data = one("SUBMIT_JOB", '{"job_id":"dyn!1"}')
    message = decode(data, "4.2.1")
    assert message.events == (e.SubmitJob(1.0, "dyn!1"),)
    with pytest.raises(DecodeError, match=r"events\[0\]\.type: SUBMIT_JOB does not exist any more in 4\.2\.1; it is c"):
        decode(data, "4.2.1", strict=True)
    with pytest.raises(EncodeError, match="it is called REGISTER_JOB since"):
        encode(message, "4.2.1")
    with pytest.raises(EncodeError, match=r"storage_mapping: EXECUTE_JOB has it from 3\.0 on, not in 1\.4"):
        encode(e.Message(0.0, [e.ExecuteJob(0.0, "w!1", "0", storage_mapping={"a": 1})]), "1.4")


def test_the_first_of_two_members_counts_as_in_batsim() -> None:
    assert decode(b'{"now":2,"now":"x","events":[]}') == e.Message(2.0)


def test_what_follows_a_nul_is_ignored() -> None:
    assert decode(b'{"now":2,"events":[]}\0garbage') == e.Message(2.0)


# What is wrong


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"", ""),
        (b"[]", ""),
        (b'{"events":[]}', "now"),
        (b'{"now":true,"events":[]}', "now"),
        (b'{"now":1e400,"events":[]}', ""),
        (b'{"now":NaN,"events":[]}', ""),
        (b'{"now":1}', "events"),
        (b'{"now":1,"events":[null]}', "events[0]"),
        (b'{"now":1,"events":[{"timestamp":1,"type":"NOTIFY"}]}', "events[0].data"),
        (one("EXECUTE_JOB", '{"job_id":"w!1","alloc":{}}'), "events[0].data.alloc"),
        (one("JOB_SUBMITTED", '{"job_id":"w!1","job":{"res":1.5}}'), "events[0].data.job.res"),
        (one("SIMULATION_BEGINS", '{"compute_resources":[{"id":0}]}'), "events[0].data.compute_resources[0].name"),
        (one("KILL_JOB", '{"job_ids":["a",1]}'), "events[0].data.job_ids[1]"),
        (one("NOTIFY", '{"type":1}'), "events[0].data.type"),
        (b'\xef\xbb\xbf{"now":1,"events":[]}', ""),
        (b'{"now":1,"events":[' + b"[" * 100_000, ""),
        (one("NOTIFY", '{"type":"a","b":"\\ud800"}'), ""),
        (b'{"now":1' + b"0" * 5000 + b',"events":[]}', ""),
    ],
)
def test_what_is_wrong_is_told_with_its_place(data: bytes, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(data, "4.2.1")
    assert caught.value.path == path


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_json_cannot_hold_is_not_written(value: float) -> None:
    for message in (
        e.Message(value),
        e.Message(1.0, [e.CallMeLater(1.0, value)]),
        e.Message(1.0, [e.Notify(1.0, "a", extra={"b": [value]})]),
        e.Message(1.0, [e.RegisterProfile(1.0, "w", "p", JobProfile({"type": "delay", "delay": value}))]),
    ):
        with pytest.raises(EncodeError):
            encode(message)
    with pytest.raises(EncodeError):
        encode(e.Message(1.0, [e.FromJobMsg(1.0, "w!1", object())]))
    with pytest.raises(EncodeError):
        encode(e.Message(1.0, ["no event"]))  # type: ignore[list-item]


def test_an_unknown_version_is_refused() -> None:
    for version in ("0.9", "5.0", "four", "", "4.2.1.0", "text-4"):
        with pytest.raises(ValueError, match="expected a version"):
            decode(b'{"now":1,"events":[]}', version)


def mutated(data: bytes, source: random.Random) -> bytes:
    """The same bytes with a change or several."""
    changed = bytearray(data)
    for _ in range(source.randint(1, 3)):
        place = source.randrange(len(changed) + 1)
        match source.randrange(5):
            case 0:
                changed[place : place + 1] = bytes([source.randrange(256)])
            case 1:
                del changed[place : place + source.randint(1, 9)]
            case 2:
                changed[place:place] = source.choice(
                    [
                        b"null",
                        b"{}",
                        b"[]",
                        b'""',
                        b"-1",
                        b"1e999",
                        b"NaN",
                        b",",
                        b'"now":',
                        b"\0",
                        b"\xff",
                        b"4294967296",
                    ]
                )
            case 3:
                other = source.randrange(len(changed) + 1)
                changed[place:place] = changed[other : other + source.randint(1, 30)]
            case _:
                del changed[place:]
    return bytes(changed)


def check_mutations(count: int, seed: int) -> None:
    source = random.Random(seed)
    seeds = [(data, run.version) for run in old_runs() for _, data in run.messages[:30] if len(data) < 4000]
    read = 0
    for _ in range(count):
        data, version = source.choice(seeds)
        changed = mutated(data, source)
        try:
            message = decode(changed, version)
        except DecodeError:
            continue
        read += 1
        try:
            written = encode(message, version)
        except EncodeError:
            continue  # an event of another version, say
        assert decode(written, version) == message
    assert 0.02 * count < read < 0.9 * count


@pytest.mark.slow
def test_a_mutation_is_a_message_or_a_decode_error() -> None:
    check_mutations(8_000, 1)


@pytest.mark.minutes
def test_a_hundred_thousand_mutations_are_messages_or_decode_errors() -> None:
    check_mutations(100_000, 2)


# Profiles


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"type": "delay", "delay": 10}, DelayProfile(10.0)),
        ({"type": "msg_par_hg", "cpu": 1, "com": 2}, ParallelTaskHomogeneousProfile(1.0, 2.0)),
        (
            {"type": "parallel_homogeneous_total", "cpu": 1, "com": 2},
            ParallelTaskHomogeneousProfile(
                1.0, 2.0, HomogeneousParallelTaskGenerationStrategy.DefinedAmountsSpreadUniformly
            ),
        ),
        (
            {"type": "composed", "nb": 3, "seq": ["a"]},
            SequentialCompositionProfile(repetition_count=3, profile_ids=["a"]),
        ),
        ({"type": "smpi", "trace": "t.txt"}, TraceReplayProfile(TraceType.SMPI, "t.txt")),
        ({"type": "send", "msg": {}}, None),
        ({"type": "delay", "delay": "10"}, None),
        ({"type": ["delay"]}, None),
        ({}, None),
    ],
)
def test_profiles_become_those_of_today(fields: dict[str, Any], expected: object) -> None:
    assert JobProfile(fields).value == expected


def test_all_recorded_profiles_but_messages_to_jobs_have_a_successor() -> None:
    without = set()
    for run in old_runs():
        for _, data in run.messages:
            for event in decode(data, run.version).events:
                profile = getattr(event, "profile", None)
                if isinstance(profile, JobProfile):
                    value = profile.value
                    if value is None:
                        without.add(profile.type)
                    else:
                        again = JobProfile.of(value, version_of(run.version))
                        assert again is None or again.value == value
    assert without <= {"send", "recv", "SCHEDULER_SEND", "SCHEDULER_RECV", "msg_par_hg_pfs0", "msg_par_hg_pfs1"} | {
        None
    }


# The builder


def test_the_builder_speaks_each_version() -> None:
    for version in VERSIONS:
        builder = MessageBuilder(version, 1.0)
        builder.add_simulation_begins([Resource(0, "a", "idle", {})])
        builder.add_job_submitted("w0!1", Job("w0!1", "p", 1, 0.0), None)
        builder.add_job_completed("w0!1", alloc=[0, 1])
        builder.add_job_killed(["w0!1"])
        builder.add_answer(consumed_energy=3.0)
        builder.add_execute_job("w0!1", range(2), [0, 1])
        builder.add_query_consumed_energy()
        builder.add_register_job("dyn!1", Job("dyn!1", "p", 1, 0.0))
        builder.add_finish_registration()
        builder.add_continue_registration()
        builder.add_set_resource_state("0", 1)
        if version_of(version) >= (1, 4):
            builder.add_register_profile("dyn", "p", ParallelTaskHomogeneousProfile(1.0, 2.0))
        builder.set_current_time(2.0)
        builder.add_call_me_later(3.0)
        message = builder.finish_message(4.0)
        assert decode(encode(message, version), version, strict=True) == message


def test_the_builder_refuses_what_cannot_be_said_and_stays_as_it_is() -> None:
    builder = MessageBuilder("1.4", 5.0)
    for call in (
        lambda: builder.add_set_job_metadata("w!1", "x"),
        lambda: builder.add_execute_job("w!1", "3-1"),
        lambda: builder.add_execute_job("w!1", "0", storage_mapping={"a": 1}),
        lambda: builder.add_call_me_later(float("nan")),
        lambda: builder.set_current_time(4.0),
        lambda: builder.add(e.RejectJob(4.0, "w!1")),
        lambda: builder.add(5),  # type: ignore[arg-type]
        lambda: builder.add_register_profile("w", "p", TraceReplayProfile(TraceType.FractionalComputation, "x")),
    ):
        with pytest.raises(BuilderError):
            call()
    assert builder.finish_message() == e.Message(5.0)


# Speed


@pytest.mark.minutes
def test_reading_and_writing_take_no_longer_than_the_standard_library_s_json() -> None:
    """In turns, and the best of several rounds of each: what else the machine does takes its time of both."""
    messages = [data for run in old_runs() if run.version == "v4.2.1" for _, data in run.messages]
    values = [decode(data, "4.2.1") for data in messages]
    plain = [json.loads(data) for data in messages]
    times: dict[str, list[float]] = {"decode": [], "loads": [], "encode": [], "dumps": []}
    works: dict[str, Any] = {
        "decode": lambda: [decode(data, "4.2.1") for data in messages],
        "loads": lambda: [json.loads(data) for data in messages],
        "encode": lambda: [encode(message, "4.2.1") for message in values],
        "dumps": lambda: [json.dumps(each).encode() for each in plain],
    }
    for _ in range(7):
        for name, work in works.items():
            began = time.process_time()
            work()
            times[name].append(time.process_time() - began)
    assert min(times["decode"]) < min(times["loads"])
    assert min(times["encode"]) < min(times["dumps"])


def test_verdicts_replies_are_messages_or_decode_errors() -> None:
    for version in ("v1.4.0", "v4.2.1"):
        for verdict in verdicts(version):
            reply = verdict["reply"].replace("@NOW@", "0.5").encode("utf-8", "surrogatepass")
            try:
                decode(reply, version)
            except DecodeError:
                assert verdict["outcome"] != "accepted" or reply.startswith(b"b'")


JOB = {"id": "w!1", "subtime": 1.0, "walltime": 5.0, "res": 1, "profile": "p"}


@pytest.mark.parametrize(
    "event",
    [
        ("JOB_SUBMITTED", {"job_id": "w!1", "job": {**JOB, "walltime": None}}),
        ("JOB_SUBMITTED", {"job_id": "w!1", "job": JOB, "profile": None}),
        ("JOB_SUBMITTED", {"job_id": "w!1", "job": JOB, "more": None}),
        ("JOB_SUBMITTED", {"job_id": "w!1", "job": JOB, "text": "null"}),
        ("JOB_COMPLETED", {"job_id": "w!1", "job_state": "COMPLETED_FAILED", "return_code": 1, "alloc": None}),
        ("EXECUTE_JOB", {"job_id": "w!1", "alloc": "0", "mapping": None}),
    ],
)
def test_what_is_null_is_not_the_same_as_what_is_absent(event: tuple[str, dict[str, object]]) -> None:
    """It is there in what is written of the message."""
    said = {"now": 1.0, "events": [{"timestamp": 1.0, "type": event[0], "data": event[1]}]}
    assert json.loads(encode(decode(json.dumps(said).encode()))) == said
