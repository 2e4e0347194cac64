"""The dialect of JSON: what the flatbuffers C++ library, and so Batsim, accepts and refuses, we do too.

The oracles are Batsim's recorded verdicts, and flatc, which is the same parser. Three things are flatc's alone, and
left out: its trigonometric functions (`rad(180)`), which nobody writes; its refusal of files with a NUL, where Batsim
stops reading; and that it leaves out fields equal to their default, and so takes -0.0 for 0.0.
"""

from __future__ import annotations

import base64
import json
import lzma
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from engines import each_engine
from exact import exact, unsigned_zero
from flatc import needs_known_flatc, to_binary
from hypothesis import given, settings
from hypothesis import strategies as st
from support import SHARED

from batprotocol.errors import DecodeError
from batprotocol.model import Message
from batprotocol.testing import strategies as bat
from batprotocol.wire import frames

VERDICTS = SHARED / "verdicts" / "batsim-5.0.0-rc2.jsonl.xz"


def event(name: str, fields: str) -> str:
    return f'{{"events":[{{"event_type":"{name}","event":{{{fields}}}}}]}}'


FIELDS = {
    "double": '{"now":@,"events":[]}',
    "optional double": event("RegisterJobEvent", '"job_id":"a!b","job":{"profile_id":"p","walltime":@}'),
    "uint64": event("CallMeLaterEvent", '"call_me_later_id":"x","when_type":"OneShot","when":{"time":@}'),
    "uint32": event("RegisterJobEvent", '"job_id":"a!b","job":{"profile_id":"p","resource_request":@}'),
    "int32": event("JobCompletedEvent", '"job_id":"p","return_code":@'),
    "bool": event("TriggerProbeEvent", '"probe_id":"p","force_data_emission":@'),
    "enum": event("CallMeLaterEvent", '"call_me_later_id":"x","when_type":"OneShot","when":{"time_unit":@}'),
    "union type": '{"events":[{"event_type":@,"event":{"job_id":"x"}}]}',
    "union type after its union": '{"events":[{"event":{"job_id":"x"},"event_type":@}]}',
    "union": '{"events":[{"event_type":"RejectJobEvent","event":@}]}',
    "string": event("RejectJobEvent", '"job_id":@'),
    "doubles": event(
        "RegisterProfileEvent",
        '"profile":{"id":"i","profile_type":"ParallelTaskProfile","profile":{"computation_vector":[@]}}',
    ),
    "numbers": event(
        "ExecuteJobEvent",
        '"job_id":"i","allocation":{"host_allocation":"0","executor_placement_type":"CustomExecutorToHostMapping",'
        '"executor_placement":{"mapping":[@]}}',
    ),
    "strings": event("KillJobsEvent", '"job_ids":[@]'),
    "vector": event("KillJobsEvent", '"job_ids":@'),
    "table": event("RegisterJobEvent", '"job_id":"a","job":@'),
    "unknown": '{"unknown":@,"events":[]}',
}
"""A message for each kind of field, with @ where its value goes."""


def words(text: str) -> list[str]:
    """The texts that have no blank in them."""
    return text.split()


def lines(text: str) -> list[str]:
    """The texts that have no end of line in them."""
    return text.strip("\n").split("\n")


VALUES = words("""
5 -5 +5 5.0 5. .5 -.5 +.5 5e0 5E+1 5e-1 5e 1e+ e e5 . - + -- --5 +-5 01 007 00.5 0e0 -0 0. 1.2.3 1e5.5 5a 5_0 1_000
0b1 0x10 0X1f 0x -0x10 0x1p3 0x1.8p1 0x1.8 0x1P-2 0xfp1 0x.8p1 0xp1 0x1p 1e999 -1e999 1e-999 9007199254740993 0.1
nan NaN NAN -nan +nan inf -inf +inf Inf INF infinit Infinity -Infinity +Infinity infinity INFINITY -infinity nanx
true false True TRUE tru truefalse -true null NULL Null -null pi Second Millisecond second +Second TimeUnit.Second
0 1 2 29 30 127 128 -128 -129 255 256 2147483647 2147483648 -2147483648 -2147483649 4294967295 4294967296
18446744073709551615 18446744073709551616 -9223372036854775808 99999999999999999999999999999999999999999999999999
RejectJobEvent NONE @ # $ `5` , ; : {} {"a":1} {"job_id":"x"} {"profile_id":"p"} {, {"a"} {"a":} {"job_id":"x"]
""")
VALUES += [
    "",
    " ",
    "5 5",
    "- 5",
    "5,",
    "5 // c",
    "5 /* c */",
    "/* c */ 5",
    "5 /* c",
    "5 /// c\n",
    "\n/// c\n5",
    "5\n// c\n",
]
VECTORS = words('[] [5] ["a","b"] [[]] [{}] [null] [1,] [,] [1,,2] [1;2] [ [1 [1,2}')
TEXTS = words("""
5 -5 +5 5.5 5. .5 -.5 1e3 0x10 0x 0x1p3 -0x10 -0 01 1_000 nan NaN NAN nan(1) -nan inf -inf Infinity -Infinity
infinity 1e999 null true false True abc Second Millisecond second TimeUnit.Second RejectJobEvent NONE 2 3 29 30 256
-1 Event.RejectJobEvent 18446744073709551615 18446744073709551616 4294967296 9999999999999999999999999999999999999999
""")
TEXTS += ["", " ", "  ", " 5", "5 ", "  5  ", "\u00a05", "5\u00a0", "- 5", "5 5", "\x7f5", "nan ", "true ", " true"]
TEXTS += [
    "Second Millisecond",
    "Second  Millisecond",
    " Second",
    "Second ",
    "Millisecond Second Millisecond",
    "Infinity ",
]
ESCAPED = words(r"5\u0020 \t5 \u0035 5\n \x35 \u0000 5\u0000 Secon\u0064 \u0053econd \/ tru\u0065 R\u0065jectJobEvent")
STRINGS = [
    text.encode()
    for text in words(r"""
"a\u00e9" "\u00E9" "\ud83d\ude00" "\ud83d" "\ude00" "\ud83dx" "\ud83d\n" "\ud83d\ud83d" "\ud83d\u0041" "\uD83D\uDE00"
"\u0000" "a\u0000b" "\x41" "\xc3\xa9" "\xe9" "\x4" "\x" "\x4g" "\u12" "\u" "\u00g0" "\q" "\v" "\0" "\a" "\X41"
"\/" "\b\f\n\r\t\\\"" "\'" 'it\'s' 'a"b' 'a\"b' '' "" "unterminated 'unterminated "a\" "a'b" "a"b" "\uFFFF" "\ufffe"
"\U0041" "\ " "\
""")
]
STRINGS += [b'"a" "b"', b'"/* c */"', b'"// c"', b"a", b"`a`", b"\xe2\x80\x9ca\xe2\x80\x9d", b"\xc3\xa9", b"'\xc3\xa9'"]
STRINGS += [
    b'"%s"' % text for text in (b"\xc3\xa9", b"\xe9", b"\xc3", b"\xf0\x9f\x98\x80", b"\xef\xbf\xbf", b"\xef\xbb\xbfa")
]
STRINGS += [b'"%s"' % text for text in (b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"a\tb", b"a\nb", b"a\rb")]
STRINGS += [b'"a\x7fb"', b'"a\x01b"', b"'\xe9'", b"'a\nb'"]

ENDS = '{"events":[{"event_type":"SimulationEndsEvent",@}]}'
ENVELOPE = '{"events":[{@}]}'
REGISTER = '{"events":[{"event_type":8,"event":{"job_id":"a","job":@}}]}'
WHOLE = lines(r"""
{}
[]
null
{"events":[]}
{"events":[],}
{,"events":[]}
{"events":[,]}
{"events":[}
{"events":[]
{"events":[]}}
{"events":[]}{}
{"events":[]}x
{"events":[]},
{"events":[]};
{"events":{}}
{"events":"x"}
{"events":5}
{"events":[1]}
{"events":[""]}
{"events":[{}]}
{"events":[null]}
{"events":null}
{"events":null,}
{"events":null,"events":[]}
{"events":[],"events":null}
{"events":[],"events":[]}
{"now":1,"now":1,"events":[]}
{"now":null,"events":[]}
{"now":1;"events":[]}
{"events":[],"now":}
{"now":1"events":[]}
{"now","events":[]}
{"now"1,"events":[]}
{"events"=[]}
{'events':[]}
{'events' : [ ] , }
{events:[]}
{"Events":[]}
{"events ":[]}
{"extra":1,"events":[]}
{"":1,"events":[]}
{"\u006eow":1,"events":[]}
{"n\x6fw":1,"events":[]}
{"now_type":1,"events":[]}
{"events_type":1,"events":[]}
{"events":[]/}
{"events":[]}/
{"events":[]}#
#{"events":[]}
{"events":[]}]
({"events":[]})
/* hi */{"events":[]}// end
{"events":[]}/* x
{"events":[]}// x
{"events":[]}/// x
/{"events":[]}
/*/{"events":[]}
/**/{"events":[]}
/***/{"events":[]}
/* /* */{"events":[]}
/* */ */{"events":[]}
//
/**/
{ /* a */ /* b */ "events" /* c */ : /* d */ [ /* e */ ] /* f */ } /* g */
{"events":[{"event_type":"KillJobsEvent","event":{"job_ids":[]}},]}
""")
WHOLE += ["", " ", "\ufeff", '{"now": 1, "events": [] } \n\n', "///\n{}"]
WHOLE += [
    f'{before}{{"events":[]}}' for before in ("\t\r\n", "\x0b", "\x0c", "\u00a0", "\ufeff", "\ufeff \ufeff", " \ufeff")
]
WHOLE += [
    f'{before}{{"events":[]}}' for before in ("// c\r", "// c\n", "/// c\n", "//// c\n", "/// c\n/// d\n", "//\n//\n")
]
WHOLE += [
    f'{{"events":[]}}{after}' for after in ("\ufeff", "\n/// c", " /// c", "\n/// c\n", "\r// c", "\n//", "\n///")
]
WHOLE += [
    f'{{{inside}"events":[]}}' for inside in (" // c\n", " /// c\n", "\n/// c\n", "\n/// c\n/// d\n", "\n/// c\n// d\n")
]
WHOLE += [
    f'{{"events":{inside}[]}}' for inside in ("/// c\n", "\n/// c\n", "/* c\n*/", "\n/* c */ /// d\n", "// c\r\n")
]
WHOLE += [
    ENDS.replace("@", inside)
    for inside in lines("""
"event":{}
"event":null
"event":{"a":1}
"event":{"timestamp":1}
"event":{},"event":{}
"event":{},"event_type":"SimulationEndsEvent"
"timestamp":1,"event":{}
"event":{},"timestamp":1,
"timestamp":1,"timestamp":1,"event":{}
"event":{},"extra":1
"timestamp":null,"event":{}
"event":{},,
""")
]
WHOLE += [
    ENVELOPE.replace("@", inside)
    for inside in lines(r"""
"event_type":"NONE","event":{}
"event_type":"NONE"
"event_type":"NONE","event":null
"event":{}
"event_type":"SimulationEndsEvent"
"event_type":null,"event":{}
"event":{},"event_type":null
"event":{},"event_type":"SimulationEndsEvent"
"event":{},"timestamp":1,"event_type":"SimulationEndsEvent"
"event":{},"event_type":"NONE"
"event":null,"event_type":"SimulationEndsEvent"
"event":{"a":nan},"event_type":19
"event":{"a":1,},"event_type":19
"event":{"a":[1,{}]},"event_type":19
"event":{},"event_type":19,"timestamp":2
"event":{},"event_type":19,"event_type":19
"event_type":19,"event":{},"event_type":19
"event":{}"event_type":19
'event':{},'event_type':'19'
"event":{},/* c */"event_type":19
"event" : {} , "event_type" : 19
"event":5,"event_type":19
"event":"","event_type":19
"event":{,"event_type":19
"timestamp":1,"event":{},"event_type":19
"event_type":"Event_SimulationEndsEvent","event":{}
"event_type":"batprotocol.fb.SimulationEndsEvent","event":{}
"event_type":"simulationendsevent","event":{}
"event":{"job_id":"a//b"},"event_type":3
"event":{"job_id":"a\\"},"event_type":3
"event":{"job_id":"}"},"event_type":3
"event":{"call_me_later_id":"x","when":{"time":5},"when_type":"OneShot"},"event_type":"CallMeLaterEvent"
"event":{"call_me_later_id":"x","when":{"mode":{},"mode_type":1,"period":4},"when_type":2},"event_type":14
"event":{"call_me_later_id":"x","when":{"period":4,"mode":{},"mode_type":0},"when_type":2},"event_type":14
"event_type":4,"event":{"job_id":"","allocation":{"host_allocation":"","executor_placement_type":0}}
"event_type":5,"event":{"job_ids":null}
"event_type":5,"event":{}
"event_type":6,"event":{"job_ids":[],"progresses":[]}
"event_type":6,"event":{"job_ids":[],"progresses":[],"profiles":null}
""")
]
WHOLE += [
    REGISTER.replace("@", inside)
    for inside in lines("""
null
{}
{"profile_id":null}
{"profile_id":"p","extra_data":null}
{"profile_id":"p","extra_data":null,"extra_data":"x"}
{"profile_id":"p","extra_data":"x","extra_data":null}
{"profile_id":"p","walltime":null,"walltime":1}
{"profile_id":"p","walltime":1,"walltime":null}
""")
]
AS_VECTORS = lines("""
{"events":[[]]}
{"events":[[1]]}
{"events":[[1,"SimulationEndsEvent",{}]]}
{"events":[[1,"SimulationEndsEvent",[]]]}
{"events":[[1,"RejectJobEvent",["x"]]]}
{"events":[{"event_type":"SimulationEndsEvent","event":[]}]}
{"events":[{"event_type":"RejectJobEvent","event":["x"]}]}
{"events":[{"event":["x"],"event_type":"RejectJobEvent"}]}
{"events":[{"event_type":"RejectJobEvent","event":["x",]}]}
{"events":[{"event_type":"RejectJobEvent","event":["x","y"]}]}
{"events":[{"event_type":"RejectJobEvent","event":["job_id":"x"]}]}
{"events":[{"event_type":"RejectJobEvent","event":[]}]}
{"events":[{"event_type":"RegisterJobEvent","event":["a",[3,null,"e","p"]]}]}
{"events":[{"event_type":"RegisterJobEvent","event":["a",[3,null,null,"p"]]}]}
{"events":[{"event_type":"RegisterJobEvent","event":["a",[3]]}]}
[1,[]]
""")
"""Tables as vectors, which hold all fields in the order of the schema: the parser knows that too."""


def nested(levels: int, inside: str, outside: str = "@", outside_levels: int = 0) -> str:
    """A message with kill progresses one in the other: so many around the last one, and so many around these."""
    progress = '{"kill_progress_type":"KillProgressAtomicProfile","kill_progress":{"profile_id":"p"}}'
    for around in [inside] * levels + [outside] * outside_levels:
        progress = around.replace("@", progress)
    return event("JobsKilledEvent", f'"job_ids":["a"],"progresses":[{{"job_id":"a","wrapper":{progress}}}]')


KIND, PROGRESS = '"kill_progress_type":"KillProgress@Profile"', '"kill_progress":{"profile_id":"p",'
SEQUENCE = f'{KIND.replace("@", "Sequential")},{PROGRESS}"current_task_progress":@}}'
FORK_JOIN = f'{KIND.replace("@", "ForkJoin")},{PROGRESS}"tasks_progress":[@]}}'
SEQUENCE_REVERSED = f'{PROGRESS}"current_task_progress":@}},{KIND.replace("@", "Sequential")}'
FORK_JOIN_REVERSED = f'{PROGRESS}"tasks_progress":[@]}},{KIND.replace("@", "ForkJoin")}'
SEQUENCE, FORK_JOIN, SEQUENCE_REVERSED, FORK_JOIN_REVERSED = (
    f"{{{fields}}}" for fields in (SEQUENCE, FORK_JOIN, SEQUENCE_REVERSED, FORK_JOIN_REVERSED)
)
NESTED = [nested(levels, inside) for inside in (SEQUENCE, FORK_JOIN) for levels in (1, 20, 28, 29, 30, 31, 40)]
REVERSED = [
    *(nested(levels, SEQUENCE_REVERSED) for levels in (1, 10, 27, 28, 29, 30)),
    *(nested(levels, FORK_JOIN_REVERSED) for levels in (1, 10, 18, 19, 20, 29, 30)),
    *(nested(levels, FORK_JOIN_REVERSED, SEQUENCE, 10) for levels in (11, 12, 13, 14, 19, 20)),
    *(nested(levels, SEQUENCE, FORK_JOIN_REVERSED, 10) for levels in (12, 13, 14, 15, 19, 20)),
]


def groups() -> dict[str, list[bytes]]:
    """The texts, by what they try."""
    values = [
        *VALUES,
        *(f"{quote}{text}{quote}" for text in TEXTS for quote in "\"'"),
        *(f'"{text}"' for text in ESCAPED),
    ]
    found = {
        f"values: {kind}": [text.replace("@", value).encode() for value in values] for kind, text in FIELDS.items()
    }
    for kind in ("string", "strings", "unknown"):
        found[f"strings: {kind}"] = [FIELDS[kind].encode().replace(b"@", text) for text in STRINGS]
    found["strings: key"] = [b'{%s:1,"events":[]}' % text for text in STRINGS]
    found["whole"] = [text.encode() for text in WHOLE]
    found["tables as vectors"] = [text.encode() for text in AS_VECTORS]
    found["nested"] = [text.encode() for text in NESTED]
    found["nested, unions before their types"] = [text.encode() for text in REVERSED]
    return found


GROUPS = groups()


def ours(text: bytes) -> tuple[Any, str]:
    """What we make of a text, in a form in which NaN is itself and -0.0 is 0.0; or None and what we say against it."""
    try:
        return exact(Message.from_json(text), unsigned_zero), ""
    except DecodeError as error:
        return None, str(error)


def theirs(text: bytes) -> tuple[Any, str]:
    """The same of flatc."""
    data, said = to_binary(text)
    return (None if data is None else exact(Message.from_binary(data), unsigned_zero)), said


def disagreements(texts: Sequence[bytes]) -> list[str]:
    """What flatc and an engine make of the texts of which they do not make the same."""
    found = []
    with ThreadPoolExecutor(2) as pool:
        flatc_says = list(pool.map(theirs, texts))
    for engine in each_engine():
        for text, (expected, said) in zip(texts, flatc_says, strict=True):
            value, say = ours(text)
            if value != expected:
                found.append(f"{text!r}\n   flatc: {said or expected}\n   {engine}: {say or value}"[:2000])
    return found


@needs_known_flatc
@pytest.mark.parametrize("group", GROUPS)
def test_flatc_agrees(group: str) -> None:
    different = disagreements([text for text in GROUPS[group] if b"\0" not in text])
    assert not different, "\n".join(different)


# What is known of Batsim itself, without flatc


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
    *(Known("union type", text, REFUSED) for text in ('"Nothing"', "30", "256", "-1", "NONE", '"NONE"', "0", "null")),
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


@pytest.mark.parametrize(
    "data", [b'"\xe9"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xc0\x80"', b"'\xe9'"]
)
def test_invalid_utf8_is_refused(data: bytes) -> None:
    for field in ("string", "strings"):
        for _ in each_engine():
            with pytest.raises(DecodeError, match="not UTF-8"):
                Message.from_json(FIELDS[field].encode().replace(b"@", data))


# Batsim's verdicts


def verdicts() -> list[Any]:
    if not VERDICTS.is_file():
        return [pytest.param({}, marks=pytest.mark.skip(reason="the recorded verdicts of Batsim are not here"))]
    conversations = map(json.loads, lzma.decompress(VERDICTS.read_bytes()).decode().splitlines())
    return [pytest.param(each, id=each["name"]) for each in conversations if each["name"].startswith("json: ")]


@pytest.mark.parametrize("conversation", verdicts())
def test_batsim_agrees(conversation: dict[str, Any]) -> None:
    """Of a reply that Batsim's parser refused, which is the last one, or accepted, whatever Batsim made of it then."""
    hello, *replies = [base64.b64decode(data) for direction, data in conversation["messages"] if direction == "e2b"]
    assert frames.decode_hello(hello).format == "json"
    unparsed = any("Could not parse" in error for error in conversation["errors"])
    assert unparsed <= (conversation["verdict"] == "refused")
    for _ in each_engine():
        for number, reply in enumerate(replies, 1):
            if unparsed and number == len(replies):
                with pytest.raises(DecodeError):
                    Message.from_json(reply)
            else:
                Message.from_json(reply)


# Texts with random changes

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+|\s+')
TOKENS = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "{}",
    "[]",
    '""',
    '"x"',
    "'x'",
    "0",
    "1",
    "-1",
    "1.5",
    "1e3",
    "5.",
    "0x1F",
    "nan",
]
TOKENS += [
    "-inf",
    "null",
    "true",
    "false",
    '"1"',
    '"null"',
    "Second",
    '"Second"',
    '"NONE"',
    "\n",
    "/* c */",
    "// c\n",
    "//",
]
TOKENS += [
    '"now"',
    '"events"',
    '"event"',
    '"event_type"',
    '"timestamp"',
    '"job_id"',
    '"job"',
    '"walltime"',
    '"wrong"',
    "'",
]
TOKENS += [
    '"OneShot"',
    '"RejectJobEvent"',
    '"SimulationEndsEvent"',
    "256",
    "4294967296",
    '"\\u00e9"',
    '"\\ud800"',
    "\\",
    '"',
]


@st.composite
def changed_texts(draw: st.DrawFn) -> bytes:
    """A message's text with a few tokens put in, taken away, put elsewhere or in the place of others."""
    text = draw(bat.messages(max_events=2)).to_json(draw(st.sampled_from((None, 1))))
    tokens = TOKEN.findall(text)
    if len(tokens) > 400:
        tokens = TOKEN.findall('{"now": 1.5,"events": []}')
    for _ in range(draw(st.integers(1, 3))):
        place, other = draw(st.integers(0, len(tokens) - 1)), draw(st.integers(0, len(tokens) - 1))
        change = draw(st.sampled_from(("insert", "delete", "replace", "swap", "repeat", "move a field")))
        if change == "insert":
            tokens.insert(place, draw(st.sampled_from(TOKENS)))
        elif change == "delete" and len(tokens) > 1:
            del tokens[place]
        elif change == "replace":
            tokens[place] = draw(st.sampled_from(TOKENS))
        elif change == "swap":
            tokens[place], tokens[other] = tokens[other], tokens[place]
        elif change == "repeat":
            tokens[place:place] = tokens[min(place, other) : max(place, other) + 1][:20]
        else:
            tokens.insert(place, tokens.pop(other))
    return "".join(tokens).encode()


@needs_known_flatc
@settings(max_examples=3 * settings().max_examples)
@given(changed_texts())
def test_flatc_agrees_on_changed_texts(text: bytes) -> None:
    different = disagreements([text])
    assert not different, different[0]
