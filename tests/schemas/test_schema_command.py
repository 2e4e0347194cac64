"""`batproto schema`: the names of the schema, and what is known of each. `batproto rules` and `policies`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable

import pytest
from commands import run, run_here, run_on_terminal
from support import ROOT

from batprotocol.cli.parameters import SchemaFile
from batprotocol.errors import InputError
from batprotocol.policies.names import KINDS, PARTS
from batprotocol.schemas import AGES, TODAY, age, dissector
from batprotocol.wire.commands.protocols import all_catalogues
from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union
from batprotocol.workloads.host_events import host_event_schema
from batprotocol.workloads.requests import host_schema, request_schema

WITHOUT_ENGINE = True


def test_the_schema_lists_its_names_events_first() -> None:
    lines = run_here("schema").out.splitlines()
    assert lines[:2] == ["Events from Batsim", "  JobSubmittedEvent"]
    for name in ("  ExecuteJobEvent", "  Job", "  TemporalTrigger", "  FinalJobState", "Tables", "Unions", "Enums"):
        assert name in lines
    assert lines.index("  ExecuteJobEvent") < lines.index("Tables") < lines.index("Unions") < lines.index("Enums")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("job", "table Job"),
        ("Job", "  walltime: float64 = null"),
        ("Job", "  profile_id: string (required)"),
        ("Host", "  computation_speed: [float64] (required)"),
        ("Host", "  properties: [HostProperty] = null"),
        ("Host", "  state: HostState = SLEEPING"),
        ("Host", "  core_count: uint32 = 1"),
        ("TriggerProbe", "  force_data_emission: bool = true"),
        ("JobCompletedEvent", "      The job's final state."),
        ("jobcompleted", "table JobCompletedEvent: an event that Batsim sends"),
        ("CallMeLater", "  when: TemporalTrigger (required)"),
        ("CallMeLater", '      One of OneShot, Periodic; "when_type" names it in JSON.'),
        ("SimulationEnds", "  no fields"),
        ("finaljobstate", "enum FinalJobState: int8"),
        ("FinalJobState", "  COMPLETED_KILLED = 3"),
        ("FinalJobState", "      Job executed but killed by the decision process."),
        ("TemporalTrigger", "union TemporalTrigger"),
        ("TemporalTrigger", "  Periodic = 2"),
        ("ExternalEvent", "union ExternalEvent"),
    ],
)
def test_the_schema_of_a_name(name: str, expected: str) -> None:
    result = run_here("schema", name)
    assert result.status == 0
    assert expected in result.out.splitlines()


@pytest.mark.slow
def test_comments_are_wrapped_on_a_terminal_only() -> None:
    _, shown = run_on_terminal("schema", "CallMeLater", variables={"COLUMNS": "60"})
    comments = [line for line in re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines() if line.startswith("      ")]
    assert 50 < max(map(len, comments)) <= 60
    assert max(map(len, run("schema", "CallMeLater").out.splitlines())) > 100


def test_an_unknown_name_gets_suggestions() -> None:
    result = run_here("schema", "JobStat")
    assert result.status == 2
    assert "did you mean" in result.err
    assert "FinalJobState" in result.err
    assert result.err.count("\n") == 1


# The file of the schema itself

KIND = r"\[?\w+\]?"
FIELD = re.compile(rf"^  (\w+)\s*:\s*({KIND})(?:\s*=\s*([-\w.]+))?\s*(\(required\))?;", re.MULTILINE)
NUMBERS = re.compile(r"u?int\d+|float\d+")


def declared() -> dict[str, tuple[str, str]]:
    """Each part of the schema, as its file declares it: the word and the text between the braces, without comments."""
    text = (ROOT / "schema" / "batprotocol.fbs").read_text()
    text = re.sub(r"//.*", "", text)
    found = re.finditer(r"^(table|enum|union)\s+(\w+)[^{]*\{([^}]*)\}", text, re.MULTILINE)
    return {match[2]: (match[1], match[3]) for match in found}


def shown(name: str) -> list[str]:
    """The lines of `batproto schema NAME` without comments, which have six spaces, or two below the first line."""
    done = run_here("schema", name)
    assert done.status == 0
    return [line for line in done.out.splitlines() if re.match(r"  \w+(:| = )", line)]


def test_all_fields_are_those_of_the_file() -> None:
    """Each name in its order, with its type, its default, and whether it is required."""
    parts = declared()
    names = {word: [name for name, (each, _) in parts.items() if each == word] for word in ("table", "enum", "union")}
    overview = [line.strip() for line in run_here("schema").out.splitlines() if line.startswith("  ")]
    assert sorted(overview) == sorted(parts)
    for name in names["table"]:
        lines = []
        for field, kind, default, required in FIELD.findall(parts[name][1]):
            usual = "false" if kind == "bool" else "0.0" if "float" in kind else "0"
            if kind in names["enum"]:
                usual = parts[kind][1].split(",")[0].partition("=")[0].strip()
            written = default or (
                usual if NUMBERS.fullmatch(kind) or kind == "bool" or kind in names["enum"] else "null"
            )
            if "float" in kind and written != "null":
                written = json.dumps(float(written))
            lines.append(f"  {field}: {kind}" + (" (required)" if required else f" = {written}"))
        assert shown(name) == lines, name
    for name in names["enum"]:
        number, lines = -1, []
        for member in parts[name][1].split(","):
            word, _, given = member.partition("=")
            number = int(given) if given else number + 1
            lines.append(f"  {word.strip()} = {number}")
        assert shown(name) == lines, name
    for name in names["union"]:
        assert shown(name) == [f"  {each.strip()} = {at}" for at, each in enumerate(parts[name][1].split(","), 1)], name


@pytest.mark.parametrize(
    ("option", "schema"),
    [("--requests", request_schema), ("--offers", host_schema), ("--host-events", host_event_schema)],
)
def test_the_vocabularies_are_printed(option: str, schema: object) -> None:
    assert callable(schema)
    assert json.loads(run_here("schema", option).out) == schema()
    others = {"--requests", "--offers", "--host-events"} - {option}
    for more in ([each] for each in (*others, "Job")):
        done = run_here("schema", option, *more)
        assert (done.status, done.out) == (2, "")
        assert "use only one of --requests, --offers and --host-events" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--ports", "1"), "--ports is for --wireshark"),
        (("--check",), "--check is for --diff"),
        (("--format", "json"), "--format is for --diff"),
        (("--readers", "old"), "--readers is for --diff"),
        (("--encoding", "json"), "--encoding is for --diff"),
        (("--include", "."), "--include is for --diff, --describe, --wireshark and --also"),
        (("--root-type", "R"), "--root-type is for --diff, --describe, --wireshark and --also"),
        (("--also", "2024-10"), "--also needs --which"),
        (("Job", "--wireshark", "2024-10"), "use only one of NAME"),
        (("--protocol", "fast", "--wireshark", "2024-10"), "use only one of NAME"),
        (("--protocol", "fast", "nothing"), "there is no 'nothing' in FaST"),
        (("--protocol", "4.2", "nothing"), "4.2 has no 'nothing'"),
        (("--protocol", "text-0", "nothing"), "text-0 has no 'nothing'"),
    ],
)
def test_an_option_without_its_other_is_refused(arguments: tuple[str, ...], said: str) -> None:
    done = run_here("schema", *arguments)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(("given", "root"), [((), ""), (("--root-type", "R"), "R")])
@pytest.mark.parametrize(
    ("arguments", "place", "files"),
    [
        (("--diff", "a.fbs", "b.fbs"), "comparison.show_differences", ["a.fbs", "b.fbs"]),
        (("--wireshark", "a.fbs"), "reference.show_dissector", ["a.fbs"]),
        (("--which", "run", "--also", "a.fbs", "--also", "b.fbs"), "comparison.show_ages", ["a.fbs", "b.fbs"]),
    ],
)
def test_a_root_is_that_of_each_schema(
    arguments: tuple[str, ...],
    place: str,
    files: list[str],
    given: tuple[str, ...],
    root: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(f"batprotocol.schemas.commands.{place}", lambda *call: calls.append(call) or 0)
    for include in ((), ("--include", "x", "--include", "y")):
        calls.clear()
        assert run_here("schema", *arguments, *given, *include).status == 0
        (call,) = calls
        found = [each for part in call for each in (part if isinstance(part, list) else [part])]
        expected = [SchemaFile(name, ("x", "y") if include else (), root) for name in files]
        assert [each for each in found if isinstance(each, SchemaFile)] == expected


@pytest.mark.parametrize(("given", "root"), [((), ""), (("--root-type", "R"), "R")])
def test_a_description_is_of_the_root(given: tuple[str, ...], root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[object, ...]] = []

    def read(path: str, *, include: tuple[str, ...], root: str) -> Schema:
        calls.append((path, include, root))
        return age(TODAY)

    monkeypatch.setattr("batprotocol.schemas.read_schema", read)
    done = run_here("schema", "--describe", "a.fbs", *given)
    assert (done.status, done.out, calls) == (0, "", [("a.fbs", (), root)])


@pytest.mark.parametrize(
    ("arguments", "name", "ports"),
    [
        ((), "batprotocol", ""),
        (("2024-10",), "batprotocol", ""),
        (("2024-10", "--ports", "28000"), "batprotocol", "28000"),
    ],
)
def test_the_dissector_of_an_age(arguments: tuple[str, ...], name: str, ports: str) -> None:
    found = age(arguments[0] if arguments else TODAY)
    assert run_here("schema", "--wireshark", *arguments).out == dissector(found, name, ports)


LUA = re.compile(r'\s*(?:(?P<text>"(?:\\.|[^"\\])*")|(?P<other>[{}\[\]=,]|[-+\w./]+))')
ESCAPES = {"n": "\n", "r": "\r"}


def lua_value(text: str) -> object:
    """A constructor of a table in Lua, as its manual has it: {1, 2} is {1: 1, 2: 2}, and a name is a key."""
    tokens = [found[0].strip() for found in LUA.finditer(text)]

    def value(at: int) -> tuple[object, int]:
        token = tokens[at]
        if token[0] == '"':
            return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), token[1:-1], flags=re.DOTALL), at + 1
        if token != "{":
            known = {"true": True, "false": False, "math.huge": math.inf, "-math.huge": -math.inf, "0/0": "nan"}
            number = float if re.search(r"[.e]", token) else int
            return (known[token] if token in known else number(token)), at + 1
        found: dict[object, object] = {}
        at += 1
        while tokens[at] != "}":
            key: object = len(found) + 1
            if tokens[at] == "[":
                key, at = value(at + 1)
                assert tokens[at : at + 2] == ["]", "="]
                at += 2
            elif tokens[at + 1] == "=":
                key, at = tokens[at], at + 2
                assert key not in WORDS_OF_LUA
            assert key not in found
            found[key], at = value(at)
            at += tokens[at] == ","
        return found, at + 1

    return value(0)[0]


WORDS_OF_LUA = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
]  # fmt: skip


def listed(values: Iterable[object]) -> dict[object, object]:
    return dict(enumerate(values, 1))


def lua_type(type_: Type) -> dict[object, object]:
    found: dict[object, object] = {"k": type_.kind}
    if type_.name:
        found["t"] = type_.name
    if type_.element is not None:
        found["e"] = lua_type(type_.element)
        if type_.element.kind in ("int8", "uint8"):
            found["bytes"] = True
    return found | ({"length": type_.length} if type_.length else {})


def lua_field(field: Field, kind: str) -> dict[object, object]:
    found: dict[object, object] = {"n": field.name, "s": field.slot, "t": lua_type(field.type), "o": field.offset}
    found |= {"r": True} if field.required else {}
    found |= {"nested": field.nested} if field.nested else {}
    if field.optional:
        return found | {"d": "null"}
    if field.default is None:
        return found
    if kind in ("int64", "uint64"):
        number = int.from_bytes((field.default % 2**64).to_bytes(8, "little"), "little")
        return found | {"d": listed([number & 0xFFFFFFFF, number >> 32])}
    return found | {"d": "nan" if field.default != field.default else field.default}


def odd_schema() -> Schema:
    """A schema whose names are words of Lua, and whose defaults are at the ends of their types."""
    kinds = {
        "int8": [-128, 127], "uint64": [2**64 - 1, 2**32], "int64": [-1, -(2**63), 2**63 - 1, 0],
        "float64": [math.inf, -math.inf, math.nan, 0.1, 1e300, -2.0], "float32": [0.0], "bool": [True, False],
    }  # fmt: skip
    values = [(kind, value) for kind, each in kinds.items() for value in each]
    fields = [
        Field(
            f"f{slot}" if slot >= len(WORDS_OF_LUA) else WORDS_OF_LUA[slot], slot, Type(kind), False, False, value, ""
        )
        for slot, (kind, value) in enumerate(values)
    ]
    more = [
        ("text", Type("string"), {"required": True}),
        ("bytes", Type("vector", element=Type("uint8")), {"nested": "end"}),
        ("ints", Type("vector", element=Type("int8")), {}),
        ("words", Type("vector", element=Type("string")), {}),
        ("maybe", Type("int64"), {"optional": True}),
        ("gone", Type("int8"), {"deprecated": True, "default": 1}),
        ("colour", Type("enum", "nil"), {"default": 3}),
        ("any_type", Type("utype", "U"), {"default": 0}),
        ("any", Type("union", "U"), {}),
    ]
    usual = {"required": False, "optional": False, "default": None, "doc": ""}
    fields += [
        Field(name, len(fields) + at, kind, **{**usual, **given})  # type: ignore[arg-type]
        for at, (name, kind, given) in enumerate(more)
    ]
    array = Field("values", 0, Type("array", element=Type("int16"), length=3), False, False, None, "", offset=4)
    return Schema(
        "end",
        {"end": Table("end", tuple(fields), ""), "S": Table("S", (array,), "", size=12, align=4)},
        {"nil": Enum("nil", "int64", {"One": 3, "Two": 3, "a b": -1}, "", {}, is_flags=True)},
        {"U": Union("U", ("end", "S"), "", {}, numbers=(3, 300), types=(Type("table", "end"), Type("struct", "S")))},
        identifier='a"\\\n',
    )


@pytest.mark.parametrize("which", [*AGES, "odd"])
def test_the_tables_of_a_dissector_are_the_schema(which: str) -> None:
    """A dissector has all that its code in Lua reads by, in Lua's own syntax."""
    schema = odd_schema() if which == "odd" else age(which)
    text = dissector(schema, "My-own", "1,65535,20-30")
    found = lua_value(text.partition("local schema =")[2])
    assert found == {
        "name": "my_own",
        "title": "My_own",
        "ports": "1,65535,20-30",
        "root": schema.root,
        "identifier": schema.identifier,
        "handshake": "EDCHelloEvent" in schema.tables,
        "enums": {
            each.name: {
                "kind": each.kind,
                "is_flags": each.is_flags,
                "values": {str(number): schema.names[each.name][number] for number in each.values.values()},
            }
            for each in schema.enums.values()
        },
        "unions": {
            each.name: {
                "names": {"0": "NONE"} | {str(number): name for name, number, _ in each.numbered},
                "members": {
                    number: {"n": name, "k": kind.kind, "t": kind.name} for name, number, kind in each.numbered
                },
            }
            for each in schema.unions.values()
        },
        "tables": {
            each.name: {
                "size": each.size,
                "fields": listed(
                    lua_field(field, schema.kind_of(field.type)) for field in each.fields if not field.deprecated
                ),
            }
            for each in schema.tables.values()
        },
    }
    assert max(map(len, text.partition("local schema =")[2].partition("\n}\n")[0].splitlines())) < 250


@pytest.mark.parametrize("ports", ["65536", "1,", ",1", "1-", "-1", "1-2-3", "a", "1 2", "0,99999", "123456"])
def test_wrong_ports_have_no_dissector(ports: str) -> None:
    with pytest.raises(InputError, match="expected TCP ports"):
        dissector(age(TODAY), ports=ports)


@pytest.mark.parametrize(
    ("name", "own"), [("a.B", "a_b"), ("--", "flatbuffers"), ("_x_", "x"), ("9", "9"), ("é", "flatbuffers")]
)
def test_a_dissector_has_a_name_for_filters(name: str, own: str) -> None:
    assert f'name = "{own}"' in dissector(age("2024-10"), name)


@pytest.mark.parametrize(("protocol", "form"), [("fast", "  (\\w+)"), ("4.2", r"(\w+)  "), ("text-0", r"(\w)  ")])
def test_each_name_of_another_protocol_is_described(protocol: str, form: str) -> None:
    """In any case of its letters, unless the names of the protocol are single letters; the overview lists it."""
    lines = run_here("schema", "--protocol", protocol).out.splitlines()
    names = [found[1] for line in lines if (found := re.match(form, line))]
    assert len(names) > 3
    for name in names:
        done = run_here("schema", "--protocol", protocol, name)
        assert (done.status, done.err) == (0, "")
        assert re.search(rf"\b{name}\b", done.out.partition("\n")[0])
        if len(name) > 1:
            assert run_here("schema", "--protocol", protocol, name.swapcase()) == done


# Rules and policies


def test_each_rule_has_its_words_in_each_set() -> None:
    """The overview has a line for each rule of a catalogue, and `batproto rules ID` the same severities."""
    lines = iter(run_here("rules").out.splitlines())
    catalogues = all_catalogues()
    for name, catalogue in catalogues.items():
        assert next(lines) == name
        head = next(lines)
        assert head.split() == ["rule", *catalogue.rule_sets, "problem"]
        for rule in catalogue.rules.values():
            line = next(lines)
            words = [found.get(rule.id, "off") for found in catalogue.rule_sets.values()]
            assert line.split() == [rule.id, *words, *rule.title.split()]
            assert line.index(rule.title, len(rule.id)) == head.index("problem")
    assert not list(lines)
    for id in dict.fromkeys(id for catalogue in catalogues.values() for id in catalogue.rules):
        having = {name: catalogue for name, catalogue in catalogues.items() if id in catalogue.rules}
        expected = []
        for name, catalogue in having.items():
            rule = catalogue.rules[id]
            expected += [name] * (len(having) > 1) + [f"{id}: {rule.title}", f"  {rule.explanation}"]
            expected += [f"  {each}: {found.get(id, 'off')}" for each, found in catalogue.rule_sets.items()]
        assert run_here("rules", id).out.splitlines() == expected


def test_each_policy_is_listed_below_its_kind() -> None:
    lines = run_here("policies").out.splitlines()
    at = -1
    for kind, heading in KINDS.items():
        begin = lines.index(heading)
        assert begin > at
        for part in PARTS.values():
            if part.kind == kind:
                here = next(number for number, line in enumerate(lines) if line.split()[:1] == [part.name])
                assert begin < here
                assert part.sentence in lines[here]
                assert (f"{part.name}={part.options}" in lines[here]) is bool(part.options)
                if part.source:
                    assert lines[here + 1].strip() == part.source
                    assert lines[here + 1].index(part.source) == lines[here].index(part.sentence)
                at = here
