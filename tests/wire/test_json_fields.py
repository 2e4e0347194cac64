"""The dialect of JSON as far as it is known of Batsim itself, without flatc: field by field, and whole texts."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from batprotocol._schema.description import UNIONS
from dialect import FIELDS
from engines import each_engine

from batprotocol.errors import DecodeError
from batprotocol.model import Message
from batprotocol.testing import strategies as bat


class Known(NamedTuple):
    """A text for a field, and what it means there: a value, or REFUSED."""

    field: str
    text: str
    means: Any


REFUSED = "refused"
KNOWN = [
    *(Known("double", text, 5.0) for text in ("5", "5.0", "5e0", "5E0", '"5"', "'5'", '"5.0"', "0x5p0", "50e-1", "+5")),
    *(
        Known("double", text, REFUSED)
        for text in ("5,", "null", "true", "Second", '"x"', '""', "{}", "[]", "5 5", "0x")
    ),
    Known("double", "1.0000000000000002", 1.0000000000000002),
    Known("double", "1e999", float("inf")),
    *(Known("double", text, float("inf")) for text in ("inf", "Infinity", "+Infinity", '"inf"', '"Infinity"')),
    *(Known("double", text, float("-inf")) for text in ("-inf", "-Infinity", '"-Infinity"')),
    *(Known("double", text, float("-inf")) for text in ("-0x1p9999", "-0X1P9999", "-1e999")),
    *(Known("double", text, float("inf")) for text in ("0x1p9999", "0X1P+9999")),
    *(Known("double", text, float("nan")) for text in ("nan", "NaN", '"nan"', "-nan", "+nan")),
    *(Known("optional double", text, None) for text in ("null", '"null"')),
    *(Known("uint64", text, 5) for text in ("5", '"5"', "+5", "0x5", '"0x5"', "05")),
    *(Known("uint64", text, REFUSED) for text in ("5.0", "5e0", "5.7", '"5.0"', "-5", "null", "true", "NaN")),
    Known("uint64", str(2**64 - 1), 2**64 - 1),
    Known("uint64", str(2**64), REFUSED),
    Known("uint32", str(2**32 - 1), 2**32 - 1),
    Known("uint32", str(2**32), REFUSED),
    Known("int32", str(2**31 - 1), 2**31 - 1),
    Known("int32", str(-(2**31)), -(2**31)),
    Known("int32", str(2**31), REFUSED),
    *(Known("bool", text, True) for text in ("true", "1", '"true"', "2", "255")),
    *(Known("bool", text, False) for text in ("false", "0", '"0"')),
    *(Known("bool", text, REFUSED) for text in ("null", "True", "256", "-1", "1.0", '"yes"')),
    *(Known("enum", text, 1) for text in ('"Millisecond"', "1", '"1"', "'Millisecond'", "Millisecond")),
    *(Known("enum", text, REFUSED) for text in ('"TimeUnit.Second"', '"second"', '"Minute"', "null", "128", "1.0")),
    Known("enum", "7", 7),
    *(Known("union type", text, "RejectJobEvent") for text in ('"RejectJobEvent"', "3", '"3"', "'RejectJobEvent'")),
    *(Known("union type", text, REFUSED) for text in ('"Nothing"', "256", "-1", "NONE", '"NONE"', "0", "null")),
    Known("union type", str(len(UNIONS["Event"].members) + 1), REFUSED),
    *(Known("union type", text, REFUSED) for text in ('"Event.RejectJobEvent"', '"rejectjobevent"')),
    *(
        Known("union type", text, REFUSED)
        for text in ('"R\\u0065jectJobEvent"', '"RejectJobEvent "', '" RejectJobEvent"')
    ),
    *(Known("enum", text, REFUSED) for text in ('"Secon\\u0064"', '" Second"', '"Second "')),
    Known("union type after its union", '"RejectJobEvent"', "RejectJobEvent"),
    Known("union type after its union", '"NONE"', REFUSED),
    *(Known("string", text, "é") for text in ('"é"', '"\\u00e9"', '"\\u00E9"', "'é'", '"\\xc3\\xa9"')),
    *(Known("string", text, "😀") for text in ('"😀"', '"\\ud83d\\ude00"')),
    Known("string", '"a\\u0000b"', "a\0b"),
    *(Known("string", text, REFUSED) for text in ("null", "5", "true", "a", '"\\ud83d"', '"\\q"', '"a', '"a\nb"')),
    Known("unknown", "1", REFUSED),
]


def value_in(field: str, message: Message) -> Any:
    """What the message of this field's text holds in that field."""
    if field == "double":
        return message.now
    (found,) = message.events
    paths = {
        "optional double": "job.walltime",
        "uint64": "when.time",
        "uint32": "job.resource_request",
        "int32": "return_code",
        "bool": "force_data_emission",
        "enum": "when.time_unit",
        "string": "job_id",
    }
    value: Any = found
    for name in paths[field].split(".") if field in paths else ("__class__", "__name__"):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: f"{known.field} {known.text!a}")
def test_fields(known: Known) -> None:
    text = FIELDS[known.field].replace("@", known.text)
    for _ in each_engine():
        if known.means == REFUSED:
            with pytest.raises(DecodeError):
                Message.from_json(text)
        else:
            value = value_in(known.field, Message.from_json(text))
            # repr, so that NaN is itself, and True and 1 and 1.0 are not the same.
            assert repr(int(value) if known.field == "enum" else value) == repr(known.means)


ENDED = '"event_type":"SimulationEndsEvent","event":{}'
ACCEPTED_TEXTS = [
    '{"now":1,"events":[]}',
    '{"events":[]}',
    '{"now":1,"events":[]} \n\t\r',
    "{'now':1,'events':[]}",
    '\ufeff{"now":1,"events":[]}',
    '/* a */{"now":1,/* b */"events":[]}// c',
    '{"now":1,"events":[]}\0',
    '{"now":1,"events":[]}\0\0\0',
    '{"now":1,"events":[]}\0{"now":2}',
    f'{{"now":1,"events":[{{{ENDED}}}]}}',
    f'{{"now":1,"events":[{{"timestamp":1,{ENDED}}}]}}',
    '{"now":1,"events":[{"event":{},"event_type":"SimulationEndsEvent"}]}',
    '{"now":1,"events":[{"event_type":"RegisterJobEvent","event":{"job_id":"","job":{"extra_data":null,"profile_id":""}}}]}',
]
REFUSED_TEXTS = [
    *(
        "",
        " ",
        "{}",
        "[]",
        "null",
        "{",
        "\0",
        '{"now":1}',
        '{"now":1,"events":[]',
        "{now:1,events:[]}",
        '{"events":null}',
    ),
    *('{"now":1,"events":[]}x', '{"now":1,"events":[],}', '{"now":1,"events":[{}]}', '{"now":1,"events":[,]}'),
    *(
        '{"now":1,"events":[],"extra":1}',
        '{"now":1,"now":1,"events":[]}',
        '{"events":[],"events":[]}',
        '{"now":1 "events":[]}',
    ),
    f'{{"events":[{{{ENDED},}}]}}',
    f'{{"events":[{{{ENDED}}},]}}',
    '{"events":[{"event_type":"SimulationEndsEvent"}]}',
    '{"events":[{"event":{}}]}',
    *(f'{{"events":[{{"event":{{"job_id":"x"}},"{name}":"RejectJobEvent"}}]}}' for name in ("aaa", "zzz", "timestamp")),
    '{"events":[{"event":{},"timestamp":1,"event_type":"SimulationEndsEvent"}]}',
    '{"events":[{"event_type":"NONE","event":{}}]}',
    '{"events":[{"event_type":"RejectJobEvent","event":{}}]}',
    '{"events":[{"event_type":"RejectJobEvent","event":{"job_id":null}}]}',
]


@pytest.mark.parametrize("text", ACCEPTED_TEXTS, ids=ascii)
def test_accepted(text: str) -> None:
    for _ in each_engine():
        message = Message.from_json(text)
        assert message.now == (1.0 if "now" in text else 0.0)
        assert len(message.events) == ("event_type" in text)


@pytest.mark.parametrize("text", REFUSED_TEXTS, ids=ascii)
def test_refused(text: str) -> None:
    for _ in each_engine():
        with pytest.raises(DecodeError):
            Message.from_json(text)


WHOLE, EMPTY = '{"profile_id":"p","progress":1}', "{}"


def with_types_after(depth: int, inner: str) -> str:
    """A message with so many kill progresses, one in the other, each of them before its type."""
    kind = "KillProgressAtomicProfile"
    for _ in range(depth - 1):
        wrapper = f'{{"kill_progress":{inner},"kill_progress_type":"{kind}"}}'
        inner, kind = f'{{"profile_id":"p","current_task_progress":{wrapper}}}', "KillProgressSequentialProfile"
    killed = f'{{"job_id":"a","wrapper":{{"kill_progress":{inner},"kill_progress_type":"{kind}"}}}}'
    return f'{{"events":[{{"event":{{"job_ids":[],"progresses":[{killed}]}},"event_type":"JobsKilledEvent"}}]}}'


def test_values_before_their_types_nest_a_level_less() -> None:
    """The C++ parser skips them first, and counts scalars then. flatc takes the one and refuses the other."""
    fine, *too_deep = (
        with_types_after(bat.DEEPEST_KILL_PROGRESS + more, inner)
        for more, inner in ((-1, WHOLE), (0, WHOLE), (0, EMPTY))
    )
    for _ in each_engine():
        assert len(Message.from_json(fine).events) == 1
        for text in too_deep:
            with pytest.raises(DecodeError, match="values nest more than 64 deep"):
                Message.from_json(text)


@pytest.mark.parametrize(
    "data", [b'"\xe9"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xc0\x80"', b"'\xe9'"]
)
def test_invalid_utf8_is_refused(data: bytes) -> None:
    for field in ("string", "strings"):
        for _ in each_engine():
            with pytest.raises(DecodeError, match="not UTF-8"):
                Message.from_json(FIELDS[field].encode().replace(b"@", data))
