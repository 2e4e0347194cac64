"""The tokens of the dialect: blanks and comments, strings, words and numbers, read one at a time."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from batprotocol._util.counting import step
from batprotocol.errors import DecodeError, shown
from batprotocol.wire.tree import Tree, path_of

__all__ = [
    "CLOSING",
    "DOUBLE",
    "IDENTIFIER",
    "INTEGER",
    "NUMERAL",
    "REAL",
    "STRING",
    "WORD",
    "Tokens",
    "plainer",
    "quoted",
    "real",
]


def plainer(data: bytes) -> bytes:
    """The same text with blanks for comments and a BOM, and double quotes for single ones, every byte in its place.

    Text that cannot be replaced byte by byte stays. If there is nothing to replace, the result is the same object.
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
WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(
    rb"[+-]?(?:0[xX](?:[0-9a-fA-F]*(?:\.[0-9a-fA-F]*)?[pP][+-]?[0-9]+|[0-9a-fA-F]+)"
    rb"|inf(?![A-Za-z0-9_])|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
)
INTEGER = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", re.ASCII)
REAL = (
    r"[+-]?(?:0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
    r"|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)"
)
DOUBLE = re.compile(rf"\s*{REAL}", re.ASCII | re.IGNORECASE)
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
CLOSING = {b"{": b"}", b"[": b"]"}
_HEX = {b"u": re.compile(rb"[0-9a-fA-F]{4}"), b"x": re.compile(rb"[0-9a-fA-F]{2}")}
_BOM = b"\xef\xbb\xbf"
STRING, IDENTIFIER, NUMERAL = "a string", "a word", "a number"


def real(text: str) -> float:
    """The number that such a text is, as C reads it."""
    try:
        return float.fromhex(text) if "x" in text or "X" in text else float(text)
    except OverflowError:
        return float("-inf" if "-" in text.lower().split("p")[0] else "inf")


class Tokens:
    """One reading: `at` is the byte where it stands, `path` the place in the message."""

    def __init__(self, data: bytes) -> None:
        self.given = data.partition(b"\0")[0]
        self.data = plainer(self.given)
        self.at = 0
        self.path: list[str] = []
        self.tree: Tree | None = None

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        raise DecodeError(reason, path_of(self.path), self.at if at is None else at, self.tree) from None

    def peek(self) -> bytes:
        """The next character that means something, or nothing at the end."""
        first = self.data[self.at : self.at + 1]
        if first > b" " and first != b"/":
            return first
        blank = _BLANK.match(self.data, self.at)
        while blank:
            step()
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
        """Raise the error of a malformed string."""
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
            # A string with an escape is neither a number nor a name, even if it reads as one; nor is one with a NUL.
            return STRING, f"{value}\0" if b"\\" in self.data[start : self.at] else value, start
        number = _NUMBER.match(self.data, self.at)
        if number:
            self.at = number.end()
            return NUMERAL, number[0].decode("ascii"), start
        sign = first if first in (b"+", b"-") else b""
        word = WORD.match(self.data, self.at + len(sign))
        if not word:
            self.fail(f"expected a value, found {self.found()}")
        self.at = word.end()
        return IDENTIFIER, (sign + word[0]).decode("ascii"), start

    def key(self) -> str:
        if self.peek() not in (b'"', b"'"):
            self.fail(f"expected the name of a field in quotes, found {self.found()}")
        return self.string()


def quoted(text: str) -> str:
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
    """The text of a whole escape sequence."""
    text = escape[0]
    if text[1] == ord("u"):
        character: str = json.loads(b'"%b"' % text)
        return character.encode()
    return bytes([int(text[2:], 16)]) if text[1] == ord("x") else _ESCAPES[text[1]]
