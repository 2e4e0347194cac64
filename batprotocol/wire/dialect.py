"""The JSON dialect of the flatbuffers C++ library, which Batsim parses with.

The reader accepts what that parser accepts (single quotes, comments, numbers in strings, a union before its type ...)
and refuses what it refuses; it makes a wire tree, guided by the schema's description. It takes its time: the engines
read plain messages, and this what they leave.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NoReturn

from batprotocol._schema.description import ENUMS, TABLES, UNIONS, Field, Type
from batprotocol.errors import DecodeError, shown
from batprotocol.model import Doubles
from batprotocol.wire.binding import MAX_DEPTH, RANGES, ROOT, names_of
from batprotocol.wire.tree import Tree, path_of

__all__ = ["read"]


def read(data: bytes, strict: bool, skipped: list[str] | None) -> Tree:
    """The wire tree of a message in JSON, or a `DecodeError` that says what is wrong with it, and where."""
    return _Parser(data, strict, skipped).message()


_BLANK = re.compile(rb"(?:[ \t\r\n]+|//(?!/)[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_DOCUMENTATION = re.compile(rb"///[^\r\n]*")
_PLAIN_STRING = re.compile(rb'"([ !#-\[\]-~]*)"')
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(
    rb"[+-]?(?:0[xX](?:[0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+|[0-9a-fA-F]+)"
    rb"|inf(?![A-Za-z0-9_])|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
)
_INTEGER = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", re.ASCII)
_DOUBLE = re.compile(
    r"\s*[+-]?(?:0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.ASCII | re.IGNORECASE,
)
_ESCAPES = {
    ord(letter): character.encode() for letter, character in zip("nrtbf\"'\\/", "\n\r\t\b\f\"'\\/", strict=True)
}
_PIECE = {quote: re.compile(rb"[^\x00-\x1f\\" + quote + rb"]+") for quote in (b'"', b"'")}
_CLOSING = {b"{": b"}", b"[": b"]"}
_HEX = {"u": re.compile(rb"[0-9a-fA-F]{4}"), "x": re.compile(rb"[0-9a-fA-F]{2}")}
_BOM = b"\xef\xbb\xbf"
# The dialect takes any byte for a boolean, and checks a union's tag against its members later.
_RANGES = RANGES | {"bool": (0, 255), "utype": (0, 255)}
_STRING, _IDENTIFIER, _NUMERAL = "a string", "a word", "a number"


@cache
def _fields(table: str) -> dict[str, Field]:
    return {field.name: field for field in TABLES[table].fields}


@cache
def _required(table: str) -> list[str]:
    return [field.name for field in TABLES[table].fields if field.required]


class _Parser:
    """One reading: `at` is the byte where it stands, `path` the place in the message."""

    def __init__(self, data: bytes, strict: bool, skipped: list[str] | None) -> None:
        self.data = data
        self.end = data.find(b"\0")
        if self.end < 0:
            self.end = len(data)
        self.at = 0
        self.strict = strict
        self.skipped = skipped
        self.path: list[str] = []
        self.tree: Tree | None = None

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        raise DecodeError(reason, path_of(self.path), self.at if at is None else at, self.tree) from None

    def message(self) -> Tree:
        if self.data.startswith(_BOM):
            self.at = 3
        if self.peek() == b"":
            self.fail("expected a JSON object, found nothing")
        if self.peek() != b"{":
            self.fail(f"expected '{{' to open a {ROOT}, found {self.found()}")
        self.tree = {}
        self.table(ROOT, 1, self.tree)
        if self.peek() != b"":
            self.fail(f"expected the end of the text after the message, found {self.found()}")
        return self.tree

    # Tokens

    def peek(self) -> bytes:
        """The next character that means something, or nothing at the end."""
        blank = _BLANK.match(self.data, self.at, self.end)
        while blank:
            start, self.at = blank.start(), blank.end()
            # A documentation comment of the schema language, which must be on a line on its own.
            comment = _DOCUMENTATION.match(self.data, self.at, self.end)
            if not comment or (start and b"\n" not in self.data[start : self.at]):
                break
            blank = _BLANK.match(self.data, comment.end(), self.end)
        return self.data[self.at : min(self.at + 1, self.end)]

    def found(self) -> str:
        text = self.data[self.at : min(self.at + 20, self.end)]
        return repr(text.decode(errors="replace")) if text else "the end of the text"

    def expect(self, character: bytes, after: str) -> None:
        if self.peek() != character:
            self.fail(f"expected {character.decode()!r} after {after}, found {self.found()}")
        self.at += 1

    def string(self) -> str:
        """The string that starts here; the parser stands on its quote."""
        plain = _PLAIN_STRING.match(self.data, self.at, self.end)
        if plain:
            self.at = plain.end()
            return plain[1].decode("ascii")
        start, quote = self.at, self.data[self.at : self.at + 1]
        self.at += 1
        pieces = []
        while True:
            piece = _PIECE[quote].match(self.data, self.at, self.end)
            if piece:
                pieces.append(piece[0])
                self.at = piece.end()
            if self.at >= self.end:
                self.fail("the string does not end", start)
            if self.data[self.at : self.at + 1] == quote:
                self.at += 1
                break
            if self.data[self.at] != ord("\\"):
                self.fail(f"a string cannot hold the control character {self.data[self.at]:#04x} as it is; escape it")
            pieces.append(self.escape())
        try:
            return b"".join(pieces).decode()
        except UnicodeDecodeError as error:
            self.fail(f"the string is not UTF-8: {error.reason}", start)

    def escape(self) -> bytes:
        """The bytes that the escape sequence here stands for."""
        letter = self.data[self.at + 1] if self.at + 1 < self.end else 0
        if letter in _ESCAPES:
            self.at += 2
            return _ESCAPES[letter]
        if letter == ord("x"):  # a byte: the dialect's own
            return bytes([self.hexadecimal("x")])
        if letter != ord("u"):
            self.fail("unknown escape in a string")
        start = self.at
        code = self.hexadecimal("u")
        if 0xD800 <= code < 0xDC00:
            if self.data[self.at : self.at + 2] != b"\\u":
                self.fail("a high surrogate without its low one", start)
            low = self.hexadecimal("u")
            if not 0xDC00 <= low < 0xE000:
                self.fail("a high surrogate without its low one", start)
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        elif 0xDC00 <= code < 0xE000:
            self.fail("a low surrogate without its high one", start)
        return chr(code).encode()

    def hexadecimal(self, letter: str) -> int:
        digits = _HEX[letter].match(self.data, self.at + 2, self.end)
        if not digits:
            self.fail(f"expected hexadecimal digits after \\{letter}")
        self.at = digits.end()
        return int(digits[0], 16)

    def scalar(self) -> tuple[str, str, int]:
        """The scalar here: what it is, its text, where it starts."""
        first = self.peek()
        start = self.at
        if first in (b'"', b"'"):
            value = self.string()
            # With an escape in it, a string is no number and no name, whatever it stands for; nor is one with a NUL.
            return _STRING, f"{value}\0" if b"\\" in self.data[start : self.at] else value, start
        number = _NUMBER.match(self.data, self.at, self.end)
        if number:
            self.at = number.end()
            return _NUMERAL, number[0].decode("ascii"), start
        sign = first if first in (b"+", b"-") else b""
        word = _WORD.match(self.data, self.at + len(sign), self.end)
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
            self.fail(f"expected '{{' to open a {name}, found {self.found()}")
        self.at += 1
        fields = _fields(name)
        # The dialect also takes a table as a vector of all its fields in order, without their names.
        unnamed = list(fields) if opening == b"[" else None
        seen: set[str] = set()
        if self.peek() != _CLOSING[opening]:
            self.member(name, fields, unnamed, depth, tree, seen)
            while self.peek() != _CLOSING[opening]:
                self.expect(b",", "a field")
                self.member(name, fields, unnamed, depth, tree, seen)
        if unnamed and len(seen) != len(unnamed):
            self.fail(f"expected all {len(unnamed)} fields of {name}, found {len(seen)}")
        for required in _required(name):
            if required not in tree:
                self.path.append(required)
                self.fail(f"this field of {name} is required and missing")
        self.at += 1
        read = dict(tree)
        tree.clear()
        for field in fields.values():
            if field.name in read:
                tree[field.name] = read[field.name]
            elif field.type.kind == "enum":
                tree[field.name] = names_of(field.type.name).get(field.default, field.default)
            elif (field.default is not None and field.type.kind != "utype") or field.optional:
                tree[field.name] = field.default

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
        word = _WORD.match(self.data, self.at, self.end)
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
        if self.peek() != b"]":
            self.element(element, depth, items)
            while self.peek() != b"]":
                self.expect(b",", "an element")
                self.element(element, depth, items)
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
            self.skip(depth + 1)
            self.expect(b",", "a union without its type before it")
            if self.key() == type_name:
                self.expect(b":", f"the name {type_name!r}")
                self.path[-1] = type_name
                member = tree[type_name] = self.number(Type("utype", field.type.name), optional=False)
            self.at, self.path = start, path
            if member is None:
                self.fail(f"expected {type_name!r} right before or right after this union")
        if member == "NONE":
            self.fail(f"a {field.type.name} must not be NONE")
        return str(member)

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
            return f"a {type_.name}"
        return "true or false" if type_.kind == "bool" else f"an integer ({type_.kind})"

    def double(self, text: str, start: int) -> float:
        text = text.rstrip(" ")
        if not _DOUBLE.fullmatch(text):
            self.fail(f"expected a double, found {_quoted(text)}", start)
        try:
            return float.fromhex(text) if "x" in text or "X" in text else float(text)
        except OverflowError:
            return float("-inf" if "-" in text.split("p")[0] else "inf")

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
                self.fail(f"expected a {type_.name}, found type {value} of 1 to {len(members)}", start)
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

    def skip_member(self, opening: bytes, depth: int) -> None:
        if opening == b"{":
            self.key()
            self.expect(b":", "the name of a field")
        self.skip(depth + 1)


def _quoted(text: str) -> str:
    return shown(text.rstrip("\0"))
