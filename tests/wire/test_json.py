"""The JSON format: nothing is lost, others read it, and errors say where."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from engines import each_engine, needs_native
from exact import as_printed, exact, one_nan, unsigned_zero
from flatc import needs_flatc, to_binaries, to_json_texts
from hypothesis import given
from hypothesis import strategies as st
from memory import peak_memory

from batprotocol import model, wire
from batprotocol.errors import DecodeError, EncodeError, an
from batprotocol.testing import strategies as bat

any_messages = bat.messages(chronological=False)
any_messages_with_nan = bat.messages(chronological=False, allow_nan=True)

NUMBERS = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, math.inf, -math.inf, math.nan]
NUMBERS += [0.1, 1 / 3, 1.0000000000000002, 1e15, 999999999999999.9, 1e16, 1e17, 1e22, 1e23, 2.0**53 + 2, 1e-5, 1e-7]
TEXTS = ["", "\0", "a\0b", "\x01\x1f\x7f\x80\x9f", '"', "\\", "'", "/", "</", "\b\f\n\r\t\v", "é", "日本", "\U0010ffff"]
TEXTS += [
    "😀",
    "\ufeff",
    "\u2028",
    "\ud7ff\ue000",
    "\uffff",
    "null",
    "NaN",
    "\\u0041",
    "//",
    "/*",
    "x" * 5000,
    "é" * 99,
]


def holding(number: float) -> model.Message:
    profile = model.ProfileAndId("p", model.ParallelTaskProfile([number], [number] * 20))
    job = model.Job(profile_id="p", resource_request=1, walltime=number)
    return model.Message(
        number, (model.RegisterProfileEvent(profile=profile), model.RegisterJobEvent(job_id="j", job=job))
    )


# Nothing is lost


@given(any_messages_with_nan)
def test_round_trip_loses_nothing(message: model.Message) -> None:
    """But the payload of NaN, for which JSON has no digits."""
    for _ in each_engine():
        assert exact(model.Message.from_json(message.to_json(allow_late_events=True)), one_nan) == exact(
            message, one_nan
        )
        assert exact(model.Message.from_json(message.to_json(indent=2, allow_late_events=True)), one_nan) == exact(
            message, one_nan
        )


@given(any_messages)
def test_binary_to_json_and_back_gives_the_same_bytes(message: model.Message) -> None:
    for _ in each_engine():
        data = message.to_binary(allow_late_events=True)
        assert (
            model.Message.from_json(model.Message.from_binary(data).to_json(allow_late_events=True)).to_binary(
                allow_late_events=True
            )
            == data
        )


@needs_native
@given(any_messages_with_nan)
def test_both_engines_write_the_same_text(message: model.Message) -> None:
    assert len({message.to_json(allow_late_events=True) for _ in each_engine()}) == 1


@pytest.mark.parametrize("number", NUMBERS)
def test_every_double_survives(number: float) -> None:
    for _ in each_engine():
        text = holding(number).to_json(allow_late_events=True)
        assert exact(model.Message.from_json(text), one_nan) == exact(holding(number), one_nan)


@given(st.floats(allow_nan=False))
def test_doubles_are_as_short_as_python_writes_them(number: float) -> None:
    for _ in each_engine():
        written = model.Message(number).to_json().removeprefix('{"now": ').removesuffix(',"events": []}')
        assert written == json.dumps(number)


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_survives(text: str) -> None:
    message = model.Message(0.0, (model.RejectJobEvent(job_id=text), model.KillJobsEvent(job_ids=(text, "", text))))
    for _ in each_engine():
        written = message.to_json()
        assert written.isascii()
        assert "\0" not in written
        assert model.Message.from_json(written) == message
        raw = json.dumps(json.loads(written), ensure_ascii=False)
        assert model.Message.from_json(raw) == message
        assert model.Message.from_json(raw.encode()) == message


@pytest.mark.slow
def test_all_of_unicode_survives() -> None:
    everything = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    message = model.Message(0.0, (model.RejectJobEvent(job_id=everything),))
    for _ in each_engine():
        text = message.to_json()
        assert model.Message.from_json(text) == message
        assert json.loads(text)["events"][0]["event"]["job_id"] == everything


@pytest.mark.parametrize("number", [2, 7, 127, -1, -128])
def test_unknown_enum_numbers_survive(number: int) -> None:
    message = model.Message(
        0.0, (model.CallMeLaterEvent(call_me_later_id="c", when=model.OneShot(1, model.TimeUnit(number))),)
    )
    for _ in each_engine():
        assert f'"time_unit": {number}}}' in message.to_json()
        assert exact(model.Message.from_json(message.to_json())) == exact(message)


# Others read it


@given(any_messages_with_nan)
def test_the_standard_library_reads_it(message: model.Message) -> None:
    for _ in each_engine():
        parsed = json.loads(message.to_json(allow_late_events=True))
        assert list(parsed) == ["now", "events"]
        assert one_nan(parsed["now"]) == one_nan(message.now)
        assert [each["event_type"] for each in parsed["events"]] == [type(event).__name__ for event in message.events]
        # What it writes in turn, in its own style, is the same message.
        again = json.dumps(parsed, indent=1, ensure_ascii=False)
        assert exact(model.Message.from_json(again), one_nan) == exact(message, one_nan)


@pytest.mark.slow
@needs_flatc
@given(st.lists(bat.messages(chronological=False, max_events=4), min_size=4, max_size=8))
def test_flatc_reads_it(messages: list[model.Message]) -> None:
    for indent in (None, 1):
        binaries = to_binaries([message.to_json(indent, allow_late_events=True).encode() for message in messages])
        for message, data in zip(messages, binaries, strict=True):
            assert exact(model.Message.from_binary(data), unsigned_zero) == exact(message, unsigned_zero)


@needs_flatc
@pytest.mark.parametrize("number", NUMBERS)
def test_flatc_reads_and_prints_every_double(number: float) -> None:
    message = holding(number)
    (data,) = to_binaries([message.to_json(allow_late_events=True).encode()])
    assert exact(model.Message.from_binary(data), unsigned_zero) == exact(message, unsigned_zero)
    (text,) = to_json_texts([message.to_binary(allow_late_events=True)])
    for _ in each_engine():
        assert exact(model.Message.from_json(text), one_nan) == exact(message, as_printed)


# What it looks like


def test_the_text_is_what_batsim_writes() -> None:
    """Names in the order of the schema, types before unions, a space after a colon and none after a comma."""
    mapping = model.AllocationPlacement("0-3", model.CustomExecutorToHostMapping((0, 1)))
    message = model.Message(
        10.5,
        (
            model.ExecuteJobEvent(job_id="w!1", allocation=mapping, timestamp=10.0),
            model.RegisterJobEvent(job_id="w!é", job=model.Job(profile_id="w!p", resource_request=2), timestamp=10.5),
            model.RegisterProfileEvent(profile=model.ProfileAndId("w!p", model.DelayProfile(1e-7)), timestamp=10.5),
            model.CallMeLaterEvent(call_me_later_id="c", when=model.Periodic(10), timestamp=10.5),
            model.FinishRegistrationEvent(timestamp=10.5),
        ),
    )
    expected = (
        '{"now": 10.5,"events": ['
        '{"timestamp": 10.0,"event_type": "ExecuteJobEvent","event": {"job_id": "w!1","allocation": '
        '{"host_allocation": "0-3","executor_placement_type": "CustomExecutorToHostMapping","executor_placement": '
        '{"mapping": [0,1]}}}},'
        '{"timestamp": 10.5,"event_type": "RegisterJobEvent","event": {"job_id": "w!\\u00e9","job": '
        '{"resource_request": 2,"walltime": null,"profile_id": "w!p"}}},'
        '{"timestamp": 10.5,"event_type": "RegisterProfileEvent","event": {"profile": '
        '{"id": "w!p","profile_type": "DelayProfile","profile": {"delay": 1e-07}}}},'
        '{"timestamp": 10.5,"event_type": "CallMeLaterEvent","event": {"call_me_later_id": "c","when_type": "Periodic",'
        '"when": {"period": 10,"offset": 0,"time_unit": "Second","mode_type": "Infinite","mode": {}}}},'
        '{"timestamp": 10.5,"event_type": "FinishRegistrationEvent","event": {}}]}'
    )
    for _ in each_engine():
        assert message.to_json() == expected
        assert model.Message(0.0).to_json() == '{"now": 0.0,"events": []}'


def test_indented_text() -> None:
    message = model.Message(1.0, (model.SimulationEndsEvent(timestamp=1.0),))
    expected = """{
  "now": 1.0,
  "events": [
    {
      "timestamp": 1.0,
      "event_type": "SimulationEndsEvent",
      "event": {}
    }
  ]
}"""
    for _ in each_engine():
        assert message.to_json(indent=2) == expected
        assert wire.json.encode(message, indent=2) == expected.encode() + b"\0"


@given(bat.messages(max_events=2))
def test_on_the_wire_one_nul_ends_it(message: model.Message) -> None:
    for _ in each_engine():
        data = wire.json.encode(message)
        assert data == message.to_json().encode() + b"\0"
        assert data.count(b"\0") == 1
        for ending in (b"", b"\0", b"\0\0\0", b"\0 and what follows", b"\n\0", b" \t\r\n"):
            assert wire.json.decode(data[:-1] + ending) == message


@given(bat.messages(max_events=2))
def test_text_and_all_kinds_of_bytes_are_read(message: model.Message) -> None:
    text = message.to_json()
    data = text.encode()
    for form, _ in itertools.product((text, data, bytearray(data), memoryview(data)), each_engine()):
        assert model.Message.from_json(form) == message


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"events":[}', "}"),
        ('{"events":{]}', "{"),
        ('{"events":[]]', "]"),
        ('{"events":[{"event_type":"KillJobsEvent","event":{"job_ids":{"a"]}}]}', "{"),
        ('{"events":[{"event_type":"KillJobsEvent","event":{"job_ids":["a"}}}]}', "}"),
        ('{"events":[["1","KillJobsEvent",[["a"]}]]}', "}"),
    ],
)
def test_brackets_close_what_they_open(text: str, found: str) -> None:
    for _ in each_engine():
        with pytest.raises(DecodeError) as refused:
            model.Message.from_json(text)
        assert f"found {found!r}"[:-1] in refused.value.reason


# Fields that the schema does not have

STRANGE = b"""{
  "hello": "world", "now": 1,
  "events": [
    {"timestamp": 1, "event_type": "RejectJobEvent", "event": {"job_id": "w!1", "why": [1, {"a": null}, [[]]], "n": 0}},
    {"x": true, "event_type": "RegisterJobEvent",
     "event": {"job_id": "w!2", "job": {"profile_id": "p", "priority": {"level": 3.5}}}, "y": 'z'}
  ]
}"""
FAMILIAR = model.Message(
    1.0,
    (
        model.RejectJobEvent(job_id="w!1", timestamp=1.0),
        model.RegisterJobEvent(job_id="w!2", job=model.Job(profile_id="p", resource_request=0)),
    ),
)


def test_unknown_fields_are_refused_where_they_are() -> None:
    for _ in each_engine():
        with pytest.raises(DecodeError) as refused:
            model.Message.from_json(STRANGE)
        assert (refused.value.path, refused.value.offset) == ("hello", STRANGE.index(b'"hello"'))
        assert refused.value.reason == "Message has no field of this name"


def test_unknown_fields_are_skipped_on_request() -> None:
    for _ in each_engine():
        assert model.Message.from_json(STRANGE, strict=False) == FAMILIAR
        skipped: list[str] = []
        assert wire.json.decode(STRANGE, strict=False, skipped=skipped) == FAMILIAR
        where = ["events[0].event.why", "events[0].event.n", "events[1].x"]
        assert skipped == ["hello", *where, "events[1].event.job.priority", "events[1].y"]


def test_plain_messages_skip_nothing() -> None:
    for _ in each_engine():
        skipped: list[str] = []
        assert wire.json.decode(FAMILIAR.to_json(), strict=False, skipped=skipped) == FAMILIAR
        assert skipped == []


@pytest.mark.parametrize("value", ["{", "[1,]", "yes", "nan", "[nan]", "Infinity", "5foo"])
def test_what_is_skipped_must_be_json_still(value: str) -> None:
    """As with `flatc --unknown-json`."""
    for _ in each_engine():
        with pytest.raises(DecodeError):
            model.Message.from_json(f'{{"x": {value}, "events": []}}', strict=False)


def test_a_field_that_is_skipped_is_not_the_type_of_a_union() -> None:
    text = '{"events": [{"event": {"job_id": "x"}, "aaa": "RejectJobEvent"}]}'
    for _ in each_engine():
        with pytest.raises(DecodeError, match="expected 'event_type' right before or right after this union"):
            model.Message.from_json(text, strict=False)


@pytest.mark.parametrize(
    "value", [r'["\ud83d\ude00"]', "['a', /**/ 1]", "[1, 0x10, inf]", '[[1, {"a": // c\n null}]]', "{'a': [null]}"]
)
def test_what_is_skipped_may_be_what_only_the_dialect_has(value: str) -> None:
    for _ in each_engine():
        assert model.Message.from_json(f'{{"x": {value}, "events": []}}', strict=False) == model.Message(0.0)


@pytest.mark.parametrize("inner", ["1", "/**/1"])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"x": ', "}")])
def test_what_is_skipped_nests_as_deep_as_tables(opening: str, closing: str, inner: str) -> None:
    """The message is the first level, and the innermost value the last."""
    fine, too_deep = (f'{{"x": {opening * n}{inner}{closing * n}, "events": []}}' for n in (62, 63))
    for _ in each_engine():
        assert model.Message.from_json(fine, strict=False) == model.Message(0.0)
        with pytest.raises(DecodeError, match="values nest more than 64 deep"):
            model.Message.from_json(too_deep, strict=False)


# Errors


def of_reject(field: str) -> str:
    return f'{{"now": 1, "events": [{{"event_type": "RejectJobEvent", "event": {{{field}}}}}]}}'


OF_JOB = '{"events": [{"event_type": "RegisterJobEvent", "event": {"job_id": "", "job": {"resource_request": true}}}]}'
OF_TRIGGER = '{"events": [{"event_type": "TriggerProbeEvent", "event": {"probe_id": "", "force_data_emission": "x"}}]}'
LONELY = "a high surrogate without its low one"
FOUND = "expected '{' to open a Message, found 'abcdefghijklmnopqrst'"
"""What is found is shown up to its twentieth character."""


@pytest.mark.parametrize(
    ("text", "path", "at", "reason"),
    [
        ("", "", "", "expected a JSON object, found nothing"),
        ("[]", "", "[", "expected '{' to open a Message, found '[]'"),
        ('{"now": 1}', "events", "}", "this field of Message is required and missing"),
        ('{"now": x, "events": []}', "now", "x", "expected a double, found 'x'"),
        ('{"now": 1 "events": []}', "", '"events"', "expected ',' after a field, found '\"events\": []}'"),
        ('{"events": []} x', "", "x", "expected the end of the text after the message, found 'x'"),
        (of_reject('"job_id": 1'), "events[0].event.job_id", "1}", "expected a string, found '1}}]}'"),
        (of_reject('"job_id": null'), "events[0].event.job_id", "}}]", "this field of RejectJobEvent is required"),
        (of_reject('"id": ""'), "events[0].event.id", '"id"', "RejectJobEvent has no field of this name"),
        (of_reject('"job_id": "\\q"'), "events[0].event.job_id", "\\q", "unknown escape in a string"),
        *(
            (of_reject(f'"job_id":{before}{half}"'), "events[0].event.job_id", half[:6], LONELY)
            for half in ("\\ud800", "\\ud83d\\u0041")
            for before in ('"', ' "', ' "a', ' "ab')
        ),
        (of_reject('"job_id": "\\ud83d\\u00"'), "events[0].event.job_id", "\\u00", "expected hexadecimal digits after"),
        ("abcdefghijklmnopqrstuvwxyz", "", "abc", FOUND),
        (OF_JOB, "events[0].event.job.resource_request", "true", "expected an integer (uint32), found 'true'"),
        (OF_TRIGGER, "events[0].event.force_data_emission", '"x"', "expected true or false, found 'x'"),
        (of_reject('"job_id": "abc'), "events[0].event.job_id", '"abc', "the string does not end"),
        (
            of_reject('"job_id": "\n"'),
            "events[0].event.job_id",
            "\n",
            "a string cannot hold the control character 0x0a",
        ),
        (
            '{"events": [{"event_type": "ExecuteJob"}]}',
            "events[0].event_type",
            '"ExecuteJob"',
            "Event has no member 'ExecuteJob'; did you mean 'ExecuteJobEvent'?",
        ),
        (
            '{"events": [{"event_type": "JobCompletedEvent", "event": {"state": "COMPLETED_SUCCESS"}}]}',
            "events[0].event.state",
            '"COMPLETED_SUCCESS"',
            "FinalJobState has no member 'COMPLETED_SUCCESS'; did you mean 'COMPLETED_SUCCESSFULLY'?",
        ),
        ('{"events": [{"event_type": "Hello"}]}', "events[0].event_type", '"Hello"', "Event has no member 'Hello'"),
        (
            '{"events": [{"event": 5, "event_type": "RejectJobEvent"}]}',
            "events[0].event",
            "5,",
            "expected '{' to open a",
        ),
        ('{"é": 1}', "é", '"é"', "Message has no field of this name"),
    ],
)
def test_errors_say_where(text: str, path: str, at: str, reason: str) -> None:
    for form, _ in itertools.product((text, text.encode()), each_engine()):
        with pytest.raises(DecodeError) as refused:
            model.Message.from_json(form)
        error = refused.value
        assert (error.path, error.offset) == (path, text.encode().index(at.encode()))
        assert error.reason.startswith(reason)


def test_offsets_count_bytes() -> None:
    text = '{"events": [{"event_type": "RejectJobEvent", "event": {"job_id": "日本語", "x": 1}}]}'
    for form, _ in itertools.product((text, text.encode()), each_engine()):
        with pytest.raises(DecodeError) as refused:
            model.Message.from_json(form)
        assert refused.value.offset == text.encode().index(b'"x"')


def test_what_could_be_read_is_kept() -> None:
    text = (
        '{"now": 2, "events": [{"timestamp": 1, "event_type": "RejectJobEvent", "event": {"job_id": "a"}}, {"x": 1}]}'
    )
    event = {"timestamp": 1.0, "event_type": "RejectJobEvent", "event": {"job_id": "a"}}
    for _ in each_engine():
        with pytest.raises(DecodeError) as refused:
            model.Message.from_json(text)
        assert refused.value.partial == {"now": 2.0, "events": [event, {}]}


@pytest.mark.parametrize("given_value", [7, None, [], {"now": 1}])
def test_what_is_no_text_is_refused(given_value: Any) -> None:
    for _ in each_engine():
        with pytest.raises(DecodeError, match=f"a JSON message is text or bytes, got {an(type(given_value).__name__)}"):
            wire.json.decode(given_value)
        with pytest.raises(EncodeError, match=f"expected a Message, got {an(type(given_value).__name__)}"):
            wire.json.encode(given_value)


def test_lone_surrogates_are_refused() -> None:
    message = model.Message(0.0, (model.RejectJobEvent(job_id="a\ud800"),))
    for _ in each_engine():
        with pytest.raises(EncodeError) as unwritten:
            message.to_json()
        assert unwritten.value.path == "events[0].event.job_id"
        with pytest.raises(DecodeError) as refused:
            model.Message.from_json('{"events": [\ud800]}')
        assert (refused.value.reason, refused.value.offset) == ("the text is not Unicode: surrogates not allowed", 12)


BOMBS = {
    "open vectors": '{"events": ' + "[" * 10_000,
    "open tables": '{"events": [' + '{"event": ' * 2_500,
    "vectors to skip": '{"x": ' + "[" * 10_000 + "]" * 10_000 + ', "events": []}',
    "tables to skip": '{"x": ' + '{"x": ' * 10_000 + "1" + "}" * 10_000 + ', "events": []}',
    "open comments": "/*" * 12_500,
    "a comment of comments": "/*" * 6_250 + "*/",
    "a line of comments": "//" * 12_500,
    "a line of documentation": "///" * 7_500,
    "lines of documentation": "/// \n" * 1_250,
    "blanks": " " * 25_000,
    "digits": '{"now": ' + "9" * 25_000,
    "zeros": '{"now": 1' + "0" * 25_000 + ".e1}",
    "zeros after the point": '{"now": 0.' + "0" * 25_000 + "1" * 1_000 + "}",
    "a huge exponent": '{"now": 1e' + "9" * 25_000 + "}",
    "hexadecimal digits": '{"now": 0x' + "f" * 25_000 + "p1}",
    "blanks before a number": '{"now": "' + " " * 25_000 + '5"}',
    "blanks after a number": '{"now": "5' + " " * 25_000 + 'x"}',
    "backslashes": '{"now": "' + "\\" * 7_499 + '"}',
    "escapes": '{"' + "\\u0041" * 2_500,
    "events of no type": '{"events": [' + '{"event_type": 1},' * 5_000 + "]}",
}


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_do_not_go_off(bomb: str) -> None:
    """None is a message; each is refused in a time that is in proportion to its size, and without recursion."""
    for strict, _ in itertools.product((True, False), each_engine()):
        with peak_memory() as peak, pytest.raises(DecodeError):
            model.Message.from_json(BOMBS[bomb], strict=strict)
        assert peak.bytes < 1.6e6
