"""The JSON dialect of the flatbuffers C++ library, which Batsim parses with.

The reader accepts what that parser accepts (single quotes, comments, numbers in strings, a union before its type ...)
and refuses what it refuses; it makes a wire tree, guided by the schema's description. It takes its time: the engines
read plain messages, and this what they leave.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, NoReturn

from batprotocol._schema.description import ENUMS, TABLES, UNIONS, Field, Type
from batprotocol.errors import DecodeError, an, shown
from batprotocol.model import Doubles
from batprotocol.wire.binding import MAX_DEPTH, RANGES, ROOT, names_of
from batprotocol.wire.tree import Tree, path_of

__all__ = ["plainer", "read"]


def read(data: bytes, strict: bool, skipped: list[str] | None) -> Tree:
    """The wire tree of a message in JSON, or a `DecodeError` that says what is wrong with it, and where.

    Args:
        data: the text.
        strict: refuse fields that the schema does not have. False skips them.
        skipped: a list to which the paths of skipped fields are appended.

    Whatever the text, this takes time in proportion to its size.
    """
    return _Parser(data, strict, skipped).message()


def plainer(data: bytes) -> bytes:
    """The same text with blanks for comments and a BOM, and double quotes for single ones, every byte in its place.

    What cannot be replaced byte by byte stays. Without anything to replace, the bytes are those given.
    """
    if data.startswith(_BOM):
        data = b"   " + data[3:]
    return _ODDITY.sub(_plainer, data) if b"'" in data or b"/" in data else data


def _plainer(oddity: re.Match[bytes]) -> bytes:
    text, group = oddity[0], oddity.lastindex
    if group == 1:
        return b'"' + oddity[1] + b'"'
    if group is None:
        return text
    return b"\n".join([b" " * len(line) for line in text.split(b"\n")]) if b"\n" in text else b" " * len(text)


# No pattern may be ambiguous: a text that almost matches must not be tried in many ways (a test counts the steps).
# Strings and comments that do not end take all the rest, lest each of their quotes is tried.
_ODDITY = re.compile(
    rb"""'([ !#-&(-\[\]-~]*)'|"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'"""
    rb"""|(/\*.*?\*/|//(?!/)[^\r\n]*)|///[^\r\n]*|(?:["']|/\*).*""",
    re.DOTALL,
)
_BLANK = re.compile(rb"[ \t\r\n]*(?:(?://(?!/)[^\r\n]*(?![^\r\n])|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)[ \t\r\n]*)*")
_DOCUMENTATION = re.compile(rb"///[^\r\n]*")
_PLAIN_STRING = re.compile(rb'"([ !#-\[\]-~]*)"')
_STRING_BODY = {
    quote: re.compile(rb"([^\x00-\x1f\\" + quote + rb"]*(?:\\[^\x00-\x1f][^\x00-\x1f\\" + quote + rb"]*)*)" + quote)
    for quote in (b'"', b"'")
}
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(
    rb"[+-]?(?:0[xX](?:[0-9a-fA-F]*(?:\.[0-9a-fA-F]*)?[pP][+-]?[0-9]+|[0-9a-fA-F]+)"
    rb"|inf(?![A-Za-z0-9_])|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
)
_INTEGER = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", re.ASCII)
_REAL = (
    r"[+-]?(?:0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
    r"|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)"
)
_DOUBLE = re.compile(rf"\s*{_REAL}", re.ASCII | re.IGNORECASE)
_ESCAPES = {
    ord(letter): character.encode() for letter, character in zip("nrtbf\"'\\/", "\n\r\t\b\f\"'\\/", strict=True)
}
_ESCAPE = re.compile(
    rb"""\\(?:[nrtbf"'\\/]|x[0-9a-fA-F]{2}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"""
    rb"""|u(?:[0-9a-ce-fA-CE-F][0-9a-fA-F]|[dD][0-7])[0-9a-fA-F]{2})"""
)
_FINE = {
    quote: re.compile(rb"[^\x00-\x1f\\%b]*(?:%b[^\x00-\x1f\\%b]*)*" % (quote, _ESCAPE.pattern, quote))
    for quote in (b'"', b"'")
}
_CLOSING = {b"{": b"}", b"[": b"]"}
_HEX = {b"u": re.compile(rb"[0-9a-fA-F]{4}"), b"x": re.compile(rb"[0-9a-fA-F]{2}")}
_BOM = b"\xef\xbb\xbf"
# The dialect takes any byte for a boolean, and checks a union's tag against its members later.
_RANGES = RANGES | {"bool": (0, 255), "utype": (0, 255)}
_STRING, _IDENTIFIER, _NUMERAL = "a string", "a word", "a number"

# What is usual is read many tokens at a time: a member whose value is a scalar, a run of elements of a vector.

_SPACE = rb"[ \t\r\n]*"
_SCALAR = rb'(?:"([ !#-\[\]-~]*)"|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(true|false|null))'
_PLAIN_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MEMBER = re.compile(_SPACE + rb'"([ !#-\[\]-~]*)"' + _SPACE + rb":" + _SPACE + _SCALAR + _SPACE + rb"([,}])")
_TEXT, _NUMERIC, _LITERAL, _AFTER = 2, 3, 4, 5


def _run(element: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """Elements with their commas, up to one that is not like this or to the end of the vector."""
    element = _SPACE + element + _SPACE
    return re.compile(element + rb"(?=[,\]])(?:," + element + rb"(?=[,\]]))*", flags)


_ANY_REAL = rb"(?:" + _REAL.encode() + rb")"
_RUNS = {
    "string": _run(rb'"[ !#-\[\]-~]*"'),
    "uint32": _run(rb"(?:0|[1-9][0-9]{0,8})"),
    "float64": _run(rb"(?:" + _ANY_REAL + rb'|"' + _ANY_REAL + rb'")', re.IGNORECASE),
}
_TEXTS = re.compile(r'"([^"]*)"')
_BRACKET = re.compile(rb"""[\[\]{}]|"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'|["'].*""", re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _real(text: str) -> float:
    """The number that such a text is, as C reads it."""
    try:
        return float.fromhex(text) if "x" in text or "X" in text else float(text)
    except OverflowError:
        return float("-inf" if "-" in text.lower().split("p")[0] else "inf")


def _items(kind: str, run: bytes) -> list[Any]:
    """The elements in a run of them."""
    if kind == "string":
        return _TEXTS.findall(run.decode("ascii"))
    texts = run.translate(None, b'"').split(b",")
    if kind == "uint32":
        return list(map(int, texts))
    try:
        return list(map(float, texts))
    except ValueError:
        return [_real(text) for text in run.decode("ascii").translate({ord('"'): None}).split(",")]


def _no_constant(name: str) -> Any:
    raise ValueError(name)


_JSON = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=_no_constant)


class _Plan(NamedTuple):
    """What reading a table takes.

    `plain` has for the name of each scalar field: its name as text, which group of `_MEMBER` holds its value where that
    is plain, and what makes the value of the group, or None.
    """

    fields: dict[str, Field]
    names: list[str]
    required: list[str]
    absent: list[tuple[str, bool, Any]]
    plain: dict[bytes, tuple[str, int, Callable[[bytes], Any]]]


@cache
def _plan(table: str) -> _Plan:
    fields = {field.name: field for field in TABLES[table].fields}
    absent = []
    for field in fields.values():
        default, given = field.default, field.optional
        if field.type.kind == "enum":
            default, given = names_of(field.type.name).get(default, default), True
        elif default is not None and field.type.kind != "utype":
            given = True
        absent.append((field.name, given, default))
    plain = {name.encode(): (name, *found) for name, field in fields.items() if (found := _plain(field.type))}
    required = [name for name, field in fields.items() if field.required]
    return _Plan(fields, list(fields), required, absent, plain)


def _plain(type_: Type) -> tuple[int, Callable[[bytes], Any]] | None:
    if type_.kind == "string":
        return _TEXT, lambda text: text.decode("ascii")
    if type_.kind == "float64":
        return _NUMERIC, float
    if type_.kind == "bool":
        return _LITERAL, {b"true": True, b"false": False}.get
    if type_.kind == "enum":
        return _TEXT, {name.encode(): name for name in names_of(type_.name).values()}.get
    if type_.kind == "utype":
        return _TEXT, {name.encode(): name for name in UNIONS[type_.name].members}.get
    if type_.kind in RANGES:
        least, most = RANGES[type_.kind]

        def integer(text: bytes) -> int | None:
            if len(text) > 20 or not text.lstrip(b"-").isdigit():
                return None
            number = int(text)
            return number if least <= number <= most else None

        return _NUMERIC, integer
    return None


class _Parser:
    """One reading: `at` is the byte where it stands, `path` the place in the message."""

    def __init__(self, data: bytes, strict: bool, skipped: list[str] | None) -> None:
        self.given = data.partition(b"\0")[0]
        self.data = plainer(self.given)
        self.at = 0
        self.strict = strict
        self.skipped = skipped
        self.path: list[str] = []
        self.tree: Tree | None = None
        self.latin: str | None = None
        self.plain_from = 0
        self.closings: dict[int, tuple[int, int]] | None = None

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        raise DecodeError(reason, path_of(self.path), self.at if at is None else at, self.tree) from None

    def message(self) -> Tree:
        if self.peek() == b"":
            self.fail("expected a JSON object, found nothing")
        if self.peek() != b"{":
            self.fail(f"expected '{{' to open {an(ROOT)}, found {self.found()}")
        self.tree = {}
        self.table(ROOT, 1, self.tree)
        if self.peek() != b"":
            self.fail(f"expected the end of the text after the message, found {self.found()}")
        return self.tree

    # Tokens

    def peek(self) -> bytes:
        """The next character that means something, or nothing at the end."""
        first = self.data[self.at : self.at + 1]
        if first > b" " and first != b"/":
            return first
        blank = _BLANK.match(self.data, self.at)
        while blank:
            start, self.at = blank.start(), blank.end()
            # A documentation comment of the schema language, which must be on a line on its own.
            comment = _DOCUMENTATION.match(self.data, self.at)
            if not comment or (start and b"\n" not in self.data[start : self.at]):
                break
            blank = _BLANK.match(self.data, comment.end())
        return self.data[self.at : self.at + 1]

    def found(self) -> str:
        text = self.given[self.at : self.at + 20]
        return repr(text.decode(errors="replace")) if text else "the end of the text"

    def expect(self, character: bytes, after: str) -> None:
        if self.peek() != character:
            self.fail(f"expected {character.decode()!r} after {after}, found {self.found()}")
        self.at += 1

    def string(self) -> str:
        """The string that starts here; the parser stands on its quote."""
        plain = _PLAIN_STRING.match(self.data, self.at)
        if plain:
            self.at = plain.end()
            return plain[1].decode("ascii")
        start, quote = self.at, self.data[self.at : self.at + 1]
        body = _STRING_BODY[quote].match(self.data, start + 1)
        if not body:
            self.broken_string(start, quote)
        text = _unescaped(body[1])
        if text is None:
            self.broken_string(start, quote)
        self.at = body.end()
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            self.fail(f"the string is not UTF-8: {error.reason}", start)

    def broken_string(self, start: int, quote: bytes) -> NoReturn:
        """Tell what is wrong with a string."""
        fine = _FINE[quote].match(self.data, start + 1)
        assert fine
        self.at = fine.end()
        if self.at == len(self.data):
            self.fail("the string does not end", start)
        if self.data[self.at] != ord("\\"):
            self.fail(f"a string cannot hold the control character {self.data[self.at]:#04x} as it is; escape it")
        self.broken_escape()

    def broken_escape(self) -> NoReturn:
        letter = self.data[self.at + 1 : self.at + 2]
        digits = _HEX[letter].match(self.data, self.at + 2) if letter in _HEX else None
        if letter not in _HEX:
            self.fail("unknown escape in a string")
        if not digits:
            self.fail(f"expected hexadecimal digits after \\{letter.decode()}")
        if int(digits[0], 16) >= 0xDC00:
            self.fail("a low surrogate without its high one")
        if self.data[digits.end() : digits.end() + 2] == b"\\u":
            self.at = digits.end()
            if not _HEX[b"u"].match(self.data, self.at + 2):
                self.fail("expected hexadecimal digits after \\u")
            self.at = digits.start() - 2
        self.fail("a high surrogate without its low one")

    def scalar(self) -> tuple[str, str, int]:
        """The scalar here: what it is, its text, where it starts."""
        first = self.peek()
        start = self.at
        if first in (b'"', b"'"):
            value = self.string()
            # With an escape in it, a string is no number and no name, whatever it stands for; nor is one with a NUL.
            return _STRING, f"{value}\0" if b"\\" in self.data[start : self.at] else value, start
        number = _NUMBER.match(self.data, self.at)
        if number:
            self.at = number.end()
            return _NUMERAL, number[0].decode("ascii"), start
        sign = first if first in (b"+", b"-") else b""
        word = _WORD.match(self.data, self.at + len(sign))
        if not word:
            self.fail(f"expected a value, found {self.found()}")
        self.at = word.end()
        return _IDENTIFIER, (sign + word[0]).decode("ascii"), start

    # Values

    def table(self, name: str, depth: int, tree: Tree) -> None:
        """Read the table that starts here into `tree`, the fields in the order of the schema."""
        if depth > MAX_DEPTH:
            self.fail(f"tables nest more than {MAX_DEPTH} deep")
        opening = self.peek()
        if opening not in _CLOSING:
            self.fail(f"expected '{{' to open {an(name)}, found {self.found()}")
        self.at += 1
        plan = _plan(name)
        # The dialect also takes a table as a vector of all its fields in order, without their names.
        unnamed = plan.names if opening == b"[" else None
        seen: set[str] = set()
        closed = self.peek() == _CLOSING[opening]
        while not closed:
            closed = unnamed is None and self.plain_members(plan, tree, seen)
            if not closed:
                self.member(name, plan.fields, unnamed, depth, tree, seen)
                closed = self.peek() == _CLOSING[opening]
                if not closed:
                    self.expect(b",", "a field")
        if unnamed and len(seen) != len(unnamed):
            self.fail(f"expected all {len(unnamed)} fields of {name}, found {len(seen)}")
        for required in plan.required:
            if required not in tree:
                self.path.append(required)
                self.fail(f"this field of {name} is required and missing")
        self.at += 1
        if list(tree) != plan.names:
            read = dict(tree)
            tree.clear()
            for field, has_default, default in plan.absent:
                if field in read:
                    tree[field] = read[field]
                elif has_default:
                    tree[field] = default

    def plain_members(self, plan: _Plan, tree: Tree, seen: set[str]) -> bool:
        """Read members as far as they are plain; return whether the table's closing brace was reached."""
        while member := _MEMBER.match(self.data, self.at):
            known = plan.plain.get(member[1])
            if known is None:
                name = member[1].decode("ascii")
                if self.strict or name in plan.fields:
                    return False
                if self.skipped is not None:
                    self.skipped.append(path_of([*self.path, name]))
            else:
                name, group, convert = known
                text = member[group]
                if text is None and group == _NUMERIC and member[_TEXT] and _PLAIN_NUMBER.fullmatch(member[_TEXT]):
                    text = member[_TEXT]
                value = None if text is None or name in seen else convert(text)
                if value is None:
                    return False
                tree[name] = value
                seen.add(name)
            if member[_AFTER] == b"}":
                self.at = member.end() - 1
                return True
            self.at = member.end()
        return False

    def key(self) -> str:
        if self.peek() not in (b'"', b"'"):
            self.fail(f"expected the name of a field in quotes, found {self.found()}")
        return self.string()

    def member(
        self,
        table: str,
        fields: dict[str, Field],
        unnamed: list[str] | None,
        depth: int,
        tree: Tree,
        seen: set[str],
    ) -> None:
        """Read one `name: value` of a table, or just the value of the next of its fields."""
        self.peek()
        start = self.at
        if unnamed is None:
            name = self.key()
            self.expect(b":", f"the name {name!r}")
        elif len(seen) < len(unnamed):
            name = unnamed[len(seen)]
        else:
            self.fail(f"{table} has no more than {len(unnamed)} fields")
        field = fields.get(name)
        self.path.append(name)
        if field is None:
            if self.strict:
                self.fail(f"{table} has no field of this name", start)
            if self.skipped is not None:
                self.skipped.append(path_of(self.path))
            self.skip(depth + 1)
        elif field.type.kind not in ("string", "table", "union", "vector") or not self.is_null():
            if name in seen:
                self.fail("this field is given more than once", start)
            self.value(field, depth, tree)
            seen.add(name)
        self.path.pop()

    def is_null(self) -> bool:
        self.peek()
        word = _WORD.match(self.data, self.at)
        if word and word[0] == b"null":
            start = self.at
            self.at = word.end()
            if self.peek() in (b",", b"}", b"]"):
                return True
            self.at = start
        return False

    def value(self, field: Field, depth: int, tree: Tree) -> None:
        """Read a field's value into the tree of its table."""
        name, type_ = field.name, field.type
        if type_.kind == "string":
            tree[name] = self.text()
        elif type_.kind == "vector":
            assert type_.element
            self.vector(name, type_.element, depth, tree)
        elif type_.kind in ("table", "union"):
            member = type_.name if type_.kind == "table" else self.union_member(field, depth, tree)
            child: Tree = {}
            tree[name] = child
            self.table(member, depth + 1, child)
        else:
            tree[name] = self.number(type_, field.optional)

    def text(self) -> str:
        if self.peek() not in (b'"', b"'"):
            self.fail(f"expected a string, found {self.found()}")
        return self.string()

    def vector(self, name: str, element: Type, depth: int, tree: Tree) -> None:
        if self.peek() != b"[":
            self.fail(f"expected '[' to open a vector, found {self.found()}")
        self.at += 1
        items: list[Any] = []
        tree[name] = items
        closed = self.peek() == b"]"
        while not closed:
            run = _RUNS[element.kind].match(self.data, self.at) if element.kind in _RUNS else None
            if run:
                items += _items(element.kind, run[0])
                self.at = run.end()
            else:
                self.element(element, depth, items)
            closed = self.peek() == b"]"
            if not closed:
                self.expect(b",", "an element")
        self.at += 1
        if element.kind == "float64":
            tree[name] = Doubles(items)

    def element(self, element: Type, depth: int, items: list[Any]) -> None:
        """Read one element of a vector."""
        self.path.append(f"[{len(items)}]")
        if element.kind == "string":
            items.append(self.text())
        elif element.kind == "table":
            child: Tree = {}
            items.append(child)
            self.table(element.name, depth + 1, child)
        else:
            items.append(self.number(element, optional=False))
        self.path.pop()

    def union_member(self, field: Field, depth: int, tree: Tree) -> str:
        """The table of a union's value, from the type before it or, as the C++ parser does, right after it."""
        type_name = f"{field.name}_type"
        member = tree.get(type_name)
        if member is None:
            self.peek()
            start, path = self.at, list(self.path)
            self.jump(depth + 1)
            self.expect(b",", "a union without its type before it")
            if self.key() == type_name:
                self.expect(b":", f"the name {type_name!r}")
                self.path[-1] = type_name
                member = tree[type_name] = self.number(Type("utype", field.type.name), optional=False)
            self.at, self.path = start, path
            if member is None:
                self.fail(f"expected {type_name!r} right before or right after this union")
        if member == "NONE":
            self.fail(f"{an(field.type.name)} must not be NONE")
        return str(member)

    def jump(self, depth: int) -> None:
        """Go behind a value that is read later. Each one is looked through once, however deep it nests in others."""
        if self.closings is None:
            self.closings = _closings(self.data, self.at)
        end, height = self.closings.get(self.at, (0, 0))
        if end and depth + height - 1 <= MAX_DEPTH:
            self.at = end
        else:
            self.skip(depth)

    def number(self, type_: Type, optional: bool) -> Any:
        """A scalar field's value: a number, a name, or either of them in a string."""
        what, text, start = self.scalar()
        if text == "null" and what != _NUMERAL:
            if optional:
                return None
            self.fail("this field cannot be null", start)
        if type_.kind == "bool" and text in ("true", "false"):
            return text == "true"
        if type_.kind == "float64":
            return self.double(text, start)
        if what != _NUMERAL and (text[:1].isalpha() or text[:1] == "_"):
            return self.named(type_, text, start)
        if not _INTEGER.fullmatch(text.rstrip(" ")):
            what = "a number with a fraction or exponent" if what == _NUMERAL else what
            self.fail(f"expected {self.described(type_)}, found {what}, {_quoted(text)}", start)
        return self.integer(type_, text.strip(), start)

    @staticmethod
    def described(type_: Type) -> str:
        if type_.name:
            return an(type_.name)
        return "true or false" if type_.kind == "bool" else f"an integer ({type_.kind})"

    def double(self, text: str, start: int) -> float:
        text = text.rstrip(" ")
        if not _DOUBLE.fullmatch(text):
            self.fail(f"expected a double, found {_quoted(text)}", start)
        return _real(text)

    def integer(self, type_: Type, text: str, start: int) -> Any:
        least, most = _RANGES[type_.kind]
        digits = text.lstrip("+-")
        base = 16 if digits[:2] in ("0x", "0X") else 10
        digits = (digits[2:] if base == 16 else digits).lstrip("0")
        value = int(digits[:32] or "0", base) * (-1 if text.startswith("-") else 1)
        if not least <= value <= most or len(digits) > 32:
            self.fail(f"expected {self.described(type_)}, in [{least}, {most}], found {_quoted(text)}", start)
        if type_.kind == "bool":
            return bool(value)
        if type_.kind == "utype":
            members = UNIONS[type_.name].members
            if value > len(members):
                self.fail(f"expected {an(type_.name)}, found type {value} of 1 to {len(members)}", start)
            return ("NONE", *members)[value]
        return names_of(type_.name).get(value, value) if type_.kind == "enum" else value

    def named(self, type_: Type, text: str, start: int) -> Any:
        """An enum's or a union's member by name; names separated by spaces are or-ed, as the C++ parser does."""
        if type_.kind == "utype":
            if text != "NONE" and text not in UNIONS[type_.name].members:
                self.fail(f"{type_.name} has no member {_quoted(text)}", start)
            return text
        if type_.kind != "enum":
            self.fail(f"expected {self.described(type_)}, found {_quoted(text)}", start)
        values, number = ENUMS[type_.name].values, 0
        for word in text.split(" "):
            if word not in values:
                self.fail(f"{type_.name} has no member {_quoted(word)}", start)
            number |= values[word]
        return names_of(type_.name).get(number, number)

    def skip(self, depth: int) -> None:
        """Read any JSON value and forget it. What nests in it counts as tables do, whatever it is."""
        if depth > MAX_DEPTH:
            self.fail(f"values nest more than {MAX_DEPTH} deep")
        first = self.peek()
        if self.skip_plain(depth):
            return
        if first not in _CLOSING:
            what, text, start = self.scalar()
            if what == _IDENTIFIER and text not in ("true", "false", "null"):
                self.fail(f"expected a value, found {_quoted(text)}", start)
            return
        self.at += 1
        if self.peek() != _CLOSING[first]:
            self.skip_member(first, depth)
            while self.peek() != _CLOSING[first]:
                self.expect(b",", "a value")
                self.skip_member(first, depth)
        self.at += 1

    def skip_plain(self, depth: int) -> bool:
        """Skip a container, if it is one, with the standard library's parser, where both agree."""
        if self.at < self.plain_from or self.data[self.at : self.at + 1] not in _CLOSING:
            return False
        if self.latin is None:
            self.latin = self.data.decode("latin-1")  # a character for each byte
        self.plain_from = len(self.data)  # not again for what is in this one
        try:
            level, end = _JSON.raw_decode(self.latin, self.at)
            self.data[self.at : end].decode()
        except (ValueError, RecursionError):
            return False
        if _SURROGATE.search(self.data, self.at, end) or _height(level, MAX_DEPTH) > MAX_DEPTH - depth:
            return False
        self.at = self.plain_from = end
        return True

    def skip_member(self, opening: bytes, depth: int) -> None:
        if opening == b"{":
            self.key()
            self.expect(b":", "the name of a field")
        self.skip(depth + 1)


def _quoted(text: str) -> str:
    return shown(text.rstrip("\0"))


def _unescaped(body: bytes) -> bytes | None:
    """The bytes that the inside of a string stands for, or None if there is something wrong with an escape in it."""
    if b"\\" not in body:
        return body
    try:
        text: str = json.loads(f'"{body.decode()}"')
        return text.encode()
    except ValueError:  # an escape of the dialect's own, or a fault
        pass
    if b"\\" in _ESCAPE.sub(b"", body):
        return None
    return _ESCAPE.sub(_escaped, body)


def _escaped(escape: re.Match[bytes]) -> bytes:
    """What a whole escape sequence stands for."""
    text = escape[0]
    if text[1] == ord("u"):
        character: str = json.loads(b'"%b"' % text)
        return character.encode()
    return bytes([int(text[2:], 16)]) if text[1] == ord("x") else _ESCAPES[text[1]]


def _height(value: Any, most: int) -> int:
    """How many levels of values there are in a container, itself included; more than `most` are not counted."""
    level, height = [value], 0
    while level and height <= most:
        inner = [list(each.values()) if type(each) is dict else each for each in level]
        height += 1
        level = [each for container in inner for each in container if type(each) in (list, dict)]
        if not level and any(inner):
            height += 1
    return height


def _closings(data: bytes, start: int) -> dict[int, tuple[int, int]]:
    """Where each container ends that starts behind `start`, and how many levels of values it has, itself included."""
    found: dict[int, tuple[int, int]] = {}
    open_: list[int] = []
    heights = [0]
    for token in _BRACKET.finditer(data, start):
        character = token[0]
        if character in _CLOSING:
            open_.append(token.start())
            heights.append(0)
        elif character in (b"]", b"}") and open_:
            first, height = open_.pop(), heights.pop() + 1
            if height == 1 and data[first + 1 : token.start()].strip(b" \t\r\n"):
                height = 2
            found[first] = (token.end(), height)
            heights[-1] = max(heights[-1], height)
    return found
