"""Schemas and where they come from: known ages, files, and short texts; and the lines where their parts are defined.

A short text has the differences from another schema, with a line for each field:

    # a comment
    table Job
      resource_request: uint32
      walltime: float64 = null
      extra_data: string
      profile_id: string (required)
    enum TimeUnit: int8
      Second = 0
      Millisecond = 1
    union TemporalTrigger
      OneShot
      Periodic
    root Message
    without BatsimHelloEvent

It has a table, enum or union completely, or not at all if it is equal in the other schema; `without` names those that
were removed. The library describes older states of the protocol in this way.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, NoReturn

from batprotocol._schema.description import SCHEMA
from batprotocol.errors import InputError
from batprotocol.wire.reader import CODES
from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union, read_reflection

TODAY: Final = "2026-06"
"""The age of this library's own schema, that of Batsim 5.0.0-rc2."""

AGES: Final = ("2021-10", "2022-01", "2023-07-18", "2023-07-20", "2024-10", TODAY)
"""The known ages, named by the time at which each schema was public, the oldest first."""

LARGEST: Final = 2**24
"""The maximum size of a schema, 16 MiB. The library's own has 40 KiB."""


@cache
def age(name: str) -> Schema:
    """The schema of one of the `AGES`.

    Raises:
        InputError: there is no such age.
    """
    if name == TODAY:
        today: Schema = SCHEMA
        return today
    if name not in AGES:
        raise InputError(f"there is no age {name}: use {', '.join(AGES)}, or a file")
    from importlib.resources import files  # which takes longer to import than everything else here

    text = files("batprotocol.schemas").joinpath(f"ages/{name}.txt").read_text(encoding="utf-8")
    return applied(text, age(AGES[AGES.index(name) + 1]), f"the age {name}")


def ages() -> dict[str, Schema]:
    """All known ages by name, the oldest first."""
    return {name: age(name) for name in AGES}


def read_schema(
    source: str | os.PathLike[str],
    *,
    whole: bool = False,
    include: Sequence[str | os.PathLike[str]] = (),
    root: str = "",
) -> Schema:
    """A schema by the name of its age, or from a file.

    Args:
        source: one of the `AGES`, or a file: `.bfbs`, a reflection schema; `.fbs`, for which flatc must be installed;
            `.txt`, the differences from this library's schema (see `batprotocol.schemas._sources`).
        whole: also read what a `Codec` does not write: vectors of unions, unions of anything except tables, offsets and
            sizes of 64 bits, and schemas without a root type. `differences` and `dissector` take such a schema.
        include: folders in which flatc looks for the files that an `.fbs` includes, as its `-I`. It looks there first,
            and then beside the file.
        root: the table of a message, with or without its namespace, in place of the `root_type`.

    `notes` of the schema are sentences about parts that were not read: those of a newer flatc, and defaults that a
    `.bfbs` does not have.

    Raises:
        InputError: it cannot be read, or it is not a schema of messages.
    """
    path = os.fspath(source)
    if root and (path in AGES or path.endswith(".txt")):
        raise InputError(f"a root type is for .fbs and .bfbs files, and {path} has its own")
    if path in AGES:
        return age(path)
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        known = "" if os.path.dirname(path) or "." in path else f"; known ages are {', '.join(AGES)}"
        raise InputError(f"{error.strerror}{known}", file=path) from None
    if len(data) > LARGEST:
        raise InputError(f"a schema has at most {LARGEST:,} bytes", file=path)
    literals = None
    if path.endswith(".fbs"):
        data = _compiled(path, include)
        literals = literals_of(path, include)
    elif data[4:8] != b"BFBS" and path.endswith(".txt"):
        try:
            return applied(data.decode(), SCHEMA, path)
        except UnicodeDecodeError as error:
            raise InputError(f"it is not UTF-8: {error.reason}", file=path) from None
    try:
        return read_reflection(data, whole=whole, root=root, literals=literals)
    except ValueError as error:
        raise InputError(str(error), file=path) from None


def _compiled(path: str, include: Sequence[str | os.PathLike[str]]) -> bytes:
    """Compile an `.fbs` file with flatc."""
    import shutil
    import subprocess
    import tempfile

    if shutil.which("flatc") is None:
        raise InputError(
            "install flatc to read it (Debian and Ubuntu: apt-get install flatbuffers-compiler), or use a .bfbs file, "
            "which needs no flatc",
            file=path,
        )
    with tempfile.TemporaryDirectory() as folder:
        options = ["--binary", "--schema", "--bfbs-comments"]
        options += [part for each in include for part in ("-I", os.fspath(each))]
        command = ["flatc", *options, "-o", folder, "--bfbs-builtins", os.path.realpath(path)]
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            raise InputError("flatc does not finish", file=path) from None
        name, _ = os.path.splitext(os.path.basename(path))
        made = os.path.join(folder, f"{name}.bfbs")
        if done.returncode or not os.path.exists(made):
            said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
            raise InputError(f"flatc refuses it: {said[-1].strip() if said else 'without a message'}", file=path)
        with open(made, "rb") as file:
            return file.read()


# Descriptions


_FIELD: Final = re.compile(r"(\w+): (\[?)(\w+)(\]?)(?: = ([^ ()]+))?((?: \((?:required|deprecated)\))*)")
_PART: Final = re.compile(r"(table|enum|union|root|without) (\w+)(?:: (\w+))?")


def described(schema: Schema, base: Schema) -> str:
    """The differences of a schema from another one, as a text that `applied` reads. Comments are left out.

    Raises:
        InputError: the text has no form for a part of the schema: structs, nested messages, FlexBuffers, aliases of
            members of unions, the identifier of messages, or names with a namespace.
    """
    _check_plain(schema)
    lines = []
    if schema.root != base.root:
        lines.append(f"root {schema.root}")
    for name, table in schema.tables.items():
        if name not in base.tables or bare(base.tables[name]) != bare(table):
            lines.append(f"table {name}")
            lines += [f"  {_field(schema, field)}" for field in table.fields if field.type.kind != "utype"]
    for name, enum in schema.enums.items():
        if name not in base.enums or (base.enums[name].kind, base.enums[name].values) != (enum.kind, enum.values):
            lines.append(f"enum {name}: {enum.kind}")
            lines += [f"  {member} = {number}" for member, number in enum.values.items()]
    for name, union in schema.unions.items():
        if name not in base.unions or base.unions[name].members != union.members:
            lines.append(f"union {name}")
            lines += [f"  {member}" for member in union.members]
    for there, here in ((base.tables, schema.tables), (base.enums, schema.enums), (base.unions, schema.unions)):
        lines += [f"without {name}" for name in there if name not in here]
    return "".join(f"{line}\n" for line in lines)


def _check_plain(schema: Schema) -> None:
    """Refuse a schema that the text would not give back."""
    found: list[tuple[object, str]] = [(schema.identifier, "the identifier of messages, " + schema.identifier)]
    for table in schema.tables.values():
        found.append((bool(table.size), f"the struct {table.name}"))
        found += [(field.nested or field.is_flexible, f"{table.name}.{field.name}") for field in table.fields]
    for union in schema.unions.values():
        found.append((bool(union.types or union.numbers), f"the members of {union.name}"))
    names = [*schema.tables, *schema.enums, *schema.unions]
    found += [("." in name, f"the name {name}") for name in names]
    for is_there, what in found:
        if is_there:
            raise InputError(f"the text has no form for {what}: use the schema itself")


def bare(table: Table) -> tuple[Field, ...]:
    """The fields of a table, without their comments."""
    return tuple(field._replace(doc="") for field in table.fields)


def _field(schema: Schema, field: Field) -> str:
    kind = field.type
    said = f"{field.name}: {kind}"
    if field.optional:
        said += " = null"
    elif kind.kind == "enum" and field.default:
        said += f" = {schema.names[kind.name].get(field.default, field.default)}"
    elif kind.kind in CODES and field.default:
        said += f" = {str(field.default).lower()}"
    return said + " (required)" * field.required + " (deprecated)" * field.deprecated


def applied(text: str, base: Schema, name: str = "the description") -> Schema:
    """The schema with the differences from another one that a text describes.

    Args:
        text: the description.
        base: the other schema.
        name: the name of the text in errors.

    Raises:
        InputError: the text is not such a description; the error has the line.
    """
    return _Description(text, base, name).schema()


class _Description:
    """A description while it is read: its parts, each with the lines below it."""

    def __init__(self, text: str, base: Schema, name: str) -> None:
        self.name = name
        self.base = base
        self.line = 0
        self.parts: dict[tuple[str, str], tuple[str, list[tuple[int, str]]]] = {}
        lines: list[tuple[int, str]] | None = None
        for self.line, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].rstrip()
            if not line:
                continue
            if line.startswith("  "):
                if lines is None:
                    self.fail("this line belongs to no table, enum or union")
                lines.append((self.line, line.strip()))
                continue
            part = _PART.fullmatch(line)
            if part is None or bool(part[3]) != (part[1] == "enum"):
                self.fail("expected 'table NAME', 'enum NAME: TYPE', 'union NAME', 'root NAME' or 'without NAME'")
            if (part[1], part[2]) in self.parts:
                self.fail(f"{part[2]} is already defined: remove one of them")
            below: list[tuple[int, str]] = []
            self.parts[part[1], part[2]] = (part[3] or "", below)
            lines = below if part[1] in ("table", "enum", "union") else None

    def fail(self, reason: str) -> NoReturn:
        raise InputError(reason, file=self.name, line=self.line)

    def of(self, what: str) -> dict[str, tuple[str, list[tuple[int, str]]]]:
        return {name: part for (kind, name), part in self.parts.items() if kind == what}

    def schema(self) -> Schema:
        gone = self.of("without")
        self.enums = {name: enum for name, enum in self.base.enums.items() if name not in gone}
        self.unions = {name: union for name, union in self.base.unions.items() if name not in gone}
        tables = {name: table for name, table in self.base.tables.items() if name not in gone}
        for name, (kind, lines) in self.of("enum").items():
            self.enums[name] = Enum(name, kind, dict(map(self.member, lines)), "", {})
        for name, (_, lines) in self.of("union").items():
            self.unions[name] = Union(name, tuple(member for _, member in lines), "", {})
        self.known = {*tables, *self.of("table")}
        for name, (_, lines) in self.of("table").items():
            tables[name] = Table(name, self.fields(lines), "")
        root = next(iter(self.of("root")), self.base.root)
        self.whole(root, tables)
        return Schema(root, tables, self.enums, self.unions)

    def whole(self, root: str, tables: dict[str, Table]) -> None:
        """Refuse a schema with a reference to a part that it does not have."""
        used = [("the root", root), *((union.name, each) for union in self.unions.values() for each in union.members)]
        for table in tables.values():
            for field in table.fields:
                type_ = field.type.element or field.type
                names = {"enum": [*self.enums], "union": [*self.unions]}.get(type_.kind, [type_.name])
                if type_.name not in names:
                    raise InputError(
                        f"{table.name}.{field.name} has the type {type_.name}, which does not exist", file=self.name
                    )
                if type_.kind == "table":
                    used.append((f"{table.name}.{field.name}", type_.name))
        for where, name in used:
            if name not in tables:
                raise InputError(f"{where} refers to the table {name}, which does not exist", file=self.name)

    def member(self, line: tuple[int, str]) -> tuple[str, int]:
        self.line, text = line
        name, separator, number = text.partition(" = ")
        if not separator or not re.fullmatch(r"-?\d{1,19}", number):
            self.fail("expected 'NAME = NUMBER'")
        return name, int(number)

    def fields(self, lines: list[tuple[int, str]]) -> tuple[Field, ...]:
        fields: list[Field] = []
        for self.line, text in lines:
            found = _FIELD.fullmatch(text)
            if found is None or bool(found[2]) != bool(found[4]):
                self.fail("expected 'NAME: TYPE', then '= DEFAULT', '(required)' or '(deprecated)' where it has them")
            name, kind = found[1], self.type(found[3])
            if found[2]:
                kind = Type("vector", "", kind)
            if kind.kind == "union":
                fields.append(Field(f"{name}_type", len(fields), Type("utype", kind.name), False, False, 0, ""))
            optional = found[5] == "null"
            default = None if optional else self.default(kind, found[5])
            attributes = found[6]
            slot = len(fields)
            fields.append(
                Field(name, slot, kind, "required" in attributes, optional, default, "", "deprecated" in attributes)
            )
        return tuple(fields)

    def type(self, name: str) -> Type:
        if name in CODES and name != "utype":
            return Type(name)
        if name == "string":
            return Type("string")
        for kind, there in (("enum", self.enums), ("union", self.unions), ("table", self.known)):
            if name in there:
                return Type(kind, name)
        return self.fail(f"there is no type {name}")

    def default(self, kind: Type, text: str | None) -> Any:
        if kind.kind == "enum":
            return self.enums[kind.name].values.get(text or "", 0)
        if kind.kind not in CODES:
            return None
        try:
            if kind.kind == "bool":
                return {"true": True, "false": False}[text or "false"]
            return float(text or 0.0) if kind.kind.startswith("float") else int(text or 0)
        except (KeyError, ValueError):
            self.fail(f"{text} is not a value of type {kind.kind}")


# Lines: flatc's reflection has none, and not all defaults. They are found in the `.fbs` file and in included files.


_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[A-Za-z_][\w.]*|\d[\w.]*|[^\w\s]', re.DOTALL)
_DEFINITIONS: Final = ("table", "struct", "enum", "union")
_MOST_FILES: Final = 100
_LONGEST: Final = 1000
"""The most tokens of the definition of a field up to the end of its default."""


class Line(NamedTuple):
    """A line of a file, from 1."""

    file: str
    line: int


def places_of(path: str | os.PathLike[str], include: Sequence[str | os.PathLike[str]] = ()) -> Mapping[str, Line]:
    """The lines of all parts: `Job` is a table, `Job.walltime` a field of it, `root_type` and `file_identifier` are
    what they are. A part is also found by its name with the namespace. Empty if the file is not a `.fbs` or cannot be
    read.

    Args:
        path: the file.
        include: the folders of included files, besides those of the files themselves.
    """
    found: dict[str, Line] = {}
    for file, part in _all_parts(path, include):
        line = Line(os.fspath(file), part.line)
        found.setdefault(part.name, line)
        found.setdefault(f"{part.space}{part.name}", line)
    return found


def literals_of(path: str | os.PathLike[str], include: Sequence[str | os.PathLike[str]] = ()) -> Mapping[str, str]:
    """The defaults of all fields as they are written, by `space.Job.walltime`.

    Args:
        path: the file, `.fbs`.
        include: the folders of included files, besides those of the files themselves.
    """
    return {f"{part.space}{part.name}": part.literal for _, part in _all_parts(path, include) if part.literal}


class _Part(NamedTuple):
    """A part of a schema: its name, its line, its namespace with a point behind it, and the default of a field.

    An included file is a name in quotation marks.
    """

    name: str
    line: int
    space: str = ""
    literal: str = ""


def _all_parts(path: str | os.PathLike[str], include: Sequence[str | os.PathLike[str]]) -> Iterator[tuple[str, _Part]]:
    """The parts of a file and of the files that it includes."""
    waiting = [os.path.normpath(path)] if os.fspath(path).endswith(".fbs") else []
    seen: set[str] = set()
    while waiting and len(seen) < _MOST_FILES:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        try:
            with open(file, encoding="utf-8", errors="replace") as opened:
                text = opened.read(LARGEST)
        except OSError:
            continue
        for part in _parts(text):
            if part.name.startswith('"'):
                folders = (*include, os.path.dirname(file))
                places = [os.path.normpath(os.path.join(folder, part.name[1:-1])) for folder in folders]
                waiting.append(next(filter(os.path.exists, places), places[-1]))
            else:
                yield file, part


def _parts(text: str) -> Iterator[_Part]:
    tokens = list(_tokens(text))
    place, space = 0, ""
    while place < len(tokens) - 1:
        (token, line), (following, _) = tokens[place], tokens[place + 1]
        if token == "include" and following.startswith('"'):
            yield _Part(following, line)
        elif token == "namespace":
            space = f"{following}." if following[0].isidentifier() else ""
        elif token in ("root_type", "file_identifier"):
            yield _Part(token, line)
        elif token in _DEFINITIONS and following[0].isidentifier():
            name = following.rpartition(".")[2]
            yield _Part(name, line, space)
            place = yield from _members(tokens, place + 2, name, space, token in ("enum", "union"))
            continue
        place += 1


def _members(
    tokens: list[tuple[str, int]], place: int, owner: str, space: str, is_list: bool
) -> Generator[_Part, None, int]:
    """The members of a definition. It returns the place behind it."""
    depth = 0
    begins = False
    while place < len(tokens):
        token, line = tokens[place]
        if token in "{([":
            depth += 1
            begins = token == "{" and depth == 1
        elif token in "})]":
            depth -= 1
            if not depth and token == "}":
                return place + 1
        elif depth == 1 and token in (",", ";"):
            begins = True
        elif depth == 1 and begins and token[0].isidentifier():
            yield _Part(f"{owner}.{token.rpartition('.')[2]}", line, space, "" if is_list else _literal(tokens, place))
            begins = False
        elif not depth and (token in _DEFINITIONS or token == ";") and not is_list:
            return place
        place += 1
    return place


def _literal(tokens: list[tuple[str, int]], place: int) -> str:
    """The default of the field whose name is at a place, or ""."""
    found: list[str] = []
    is_default = False
    for token, _ in tokens[place : place + _LONGEST]:
        if token in (";", "(", "}"):
            break
        if is_default:
            found.append(token)
        is_default = is_default or token == "="
    return "".join(found)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line, done = 1, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", done, found.start())
        done = found.start()
        if not found[0].startswith(("//", "/*")):
            yield found[0], line
