"""Texts in the dialect of JSON that the flatbuffers C++ library reads, and others that come near to it."""

from __future__ import annotations


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
