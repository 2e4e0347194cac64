"""Strict JSON, read value by value from a stream, so a big file needs no more memory than its biggest value.

The reader is as strict as Batsim's: it accepts no comments, no byte order mark, no NaN, no number beyond a double, and
no half of a surrogate pair. If an object has a key twice, the first one counts. Every error names line and column.
Numbers are what Batsim reads: its fast reader may get the last bits of a number with many digits wrong.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from batprotocol.errors import InputError, shown

# Numbers
#
# Batsim's reader collects as many digits as fit exactly into an integer, a few more in a double, and scales once by a
# power of ten. It drops the other digits. Up to fifteen digits, the result is the nearest double, as everywhere else.

_PARTS = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_PLAIN = 16
"""The characters of a number without an exponent that is always exact: fifteen digits and a point."""
_EXACT = 2**53 - 1
_LARGEST = 2**64 - 1
_SIGNIFICANT = 17
_LEAST = -308


def quick_float(text: str) -> float:
    """The double that Batsim reads from a JSON number; infinite if the number is too big.

    >>> quick_float("99.0512677067334"), quick_float("99.05126770673341") == 99.05126770673341
    (99.0512677067334, False)
    """
    if len(text) <= _PLAIN and "e" not in text and "E" not in text:
        return float(text)
    parts = _PARTS.fullmatch(text)
    assert parts is not None, "it is JSON"
    sign, whole, fraction, exponent = parts.groups()
    number, shift = _mantissa(whole, fraction or "", bool(sign))
    if exponent:
        shift += int(exponent) if len(exponent) < 9 else (-(10**9) if exponent[0] == "-" else 10**9)
    number = _scaled(number, shift)
    return -number if sign else number


def _mantissa(whole: str, fraction: str, is_negative: bool) -> tuple[float, int]:
    """The digits as one number, and the power of ten for scaling."""
    digits = int(whole) if len(whole) <= 20 else _LARGEST + 1
    if digits > (2**63 if is_negative else _LARGEST):
        number = _gathered(whole, is_negative)
        significant = _SIGNIFICANT  # and more
    else:
        significant = 0 if digits == 0 else len(whole) - 1
        place = 0
        while place < len(fraction) and digits <= _EXACT:
            digits = digits * 10 + int(fraction[place])
            significant += digits != 0
            place += 1
        number = float(digits)
        if place == len(fraction):
            return number, -place
        fraction = fraction[place:]
        return _more(number, fraction, significant, -place)
    return _more(number, fraction, significant, 0)


def _gathered(whole: str, is_negative: bool) -> float:
    """An integer beyond 64 bits: the digits that fit, and the rest one after the other in doubles."""
    limit = 2**63 if is_negative else _LARGEST
    place, digits = 0, 0
    while place < len(whole) and digits * 10 + int(whole[place]) <= limit:
        digits = digits * 10 + int(whole[place])
        place += 1
    number = float(digits)
    for digit in whole[place:]:
        number = number * 10.0 + int(digit)
    return number


def _more(number: float, fraction: str, significant: int, shift: int) -> tuple[float, int]:
    """The digits that do not fit into an integer, up to seventeen in all."""
    for digit in fraction:
        if significant >= _SIGNIFICANT:
            break
        number = number * 10.0 + int(digit)
        shift -= 1
        significant += number > 0.0
    return number, shift


def _scaled(number: float, shift: int) -> float:
    """A number times a power of ten."""
    if shift >= 0:
        return number * float(f"1e{shift}") if number else 0.0
    if shift < _LEAST:
        number /= 1e308
        shift += 308
        return 0.0 if shift < _LEAST else number / float(f"1e{-shift}")
    return number / float(f"1e{-shift}")


_CHUNK = 1 << 18
_LONGEST = 1 << 28  # characters of one value
_SPACE = re.compile(r"[ \t\n\r]*")
_MOST_CHARACTERS = 20  # of an integer of 64 bits with its sign; what does not fit in is a double
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BEGUN = 2  # characters of a fraction or an exponent that are none yet: `1.`, `1e+`
_CLOSE = 16  # an error so near to the end of what was read may only say that there is more to read


def _first_counts(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else dict(reversed(pairs))


def _integer(text: str) -> int | float:
    if len(text) <= _MOST_CHARACTERS and -(2**63) <= (number := int(text)) < 2**64:
        return number
    return _float(text)


def _quick_integer(text: str) -> int | float:
    number = _integer(text)
    return number if isinstance(number, int) else _quick_float(text)


def _quick_float(text: str) -> float:
    return _finite(quick_float(text), text)


def _float(text: str) -> float:
    return _finite(float(text), text)


def _finite(number: float, text: str) -> float:
    if math.isinf(number):
        raise _RefusedNumber(f"the number {shown(text)} is too big for a double")
    return number


class _RefusedNumber(Exception):
    """A value that JSON's grammar allows, or Python's reader, but Batsim does not."""


def _constant(text: str) -> float:
    raise _RefusedNumber(f"{text} is not JSON")


class JsonStream:
    """A JSON text.

    Args:
        stream: its bytes.
        filename: the file that it comes from, for errors, or "".
        corrected: whether numbers with many digits are read to the nearest double. Batsim reads them inexactly.
    """

    def __init__(self, stream: BinaryIO, filename: str = "", *, corrected: bool = False) -> None:
        self._stream = stream
        self._filename = filename
        self._decoding = codecs.getincrementaldecoder("utf-8")()
        self._bytes = 0
        self._text = ""
        self._position = 0
        self._lines = 0  # before the text that is held
        self._column = 0  # characters of its first line that are gone
        self._ended = False
        self._start = 0  # of the value that was read last
        self._decoder = json.JSONDecoder(
            object_pairs_hook=_first_counts,
            parse_int=_integer if corrected else _quick_integer,
            parse_float=_float if corrected else _quick_float,
            parse_constant=_constant,
        )

    def error(self, reason: str, path: str = "", position: int | None = None) -> InputError:
        """An error at a position of the text in memory, or at the last value."""
        position = self._start if position is None else position
        before = self._text[:position]
        lines = before.count("\n")
        column = len(before) - before.rfind("\n") - 1 if lines else self._column + len(before)
        return InputError(reason, path, file=self._filename, line=self._lines + lines + 1, column=column + 1)

    def _more(self) -> bool:
        """Read more text, and drop the text that was used; False at the end."""
        if self._ended:
            return False
        done, self._text = self._text[: self._position], self._text[self._position :]
        lines = done.count("\n")
        self._lines += lines
        self._column = len(done) - done.rfind("\n") - 1 if lines else self._column + len(done)
        self._position = self._start = 0
        if len(self._text) > _LONGEST:
            raise self.error(f"a value of more than {_LONGEST} characters is not read")
        data = self._stream.read(max(_CHUNK, len(self._text)))
        try:
            self._text += self._decoding.decode(data, final=not data)
        except UnicodeDecodeError as error:
            self._text += data[: error.start].decode(errors="replace")
            raise self.error("this is not UTF-8", position=len(self._text)) from None
        self._bytes += len(data)
        self._ended = not data
        return True

    @property
    def offset(self) -> int:
        """The number of bytes of the stream before the next character."""
        pending = len(self._decoding.getstate()[0])
        return self._bytes - pending - len(self._text[self._position :].encode())

    def peek(self) -> str:
        """The next character that is not white space; "" at the end."""
        while True:
            space = _SPACE.match(self._text, self._position)
            assert space is not None
            self._position = space.end()
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._more():
                return ""

    def take(self, expected: str, path: str = "") -> None:
        """Read one of the characters `{}[],:`."""
        found = self.peek()
        if found != expected:
            raise self.error(
                f"expected {expected!r}, got {found!r}" if found else f"expected {expected!r}, got the end",
                path,
                self._position,
            )
        self._position += 1

    def value(self, path: str = "") -> Any:
        """Read a whole value of any type."""
        self.peek()
        while True:
            start = self._position
            try:
                found, end = self._decoder.raw_decode(self._text, start)
            except json.JSONDecodeError as error:
                incomplete = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _CLOSE
                if incomplete and self._more():
                    continue
                raise self.error(f"this is not JSON: {error.msg}", path, error.pos) from None
            except _RefusedNumber as error:
                raise self.error(str(error), path, start) from None
            except RecursionError:
                raise self.error("values are nested too deeply", path, start) from None
            if end >= len(self._text) - _BEGUN and self._more():
                continue  # a number may go on
            start = self._position
            if self._text.find("\\u", start, end) >= 0 and _SURROGATE.search(self._text, start, end):
                self._check_surrogates(found, path, start)
            self._start, self._position = start, end
            return found

    def _check_surrogates(self, value: Any, path: str, start: int) -> None:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise self.error("a string holds half of a surrogate pair", path, start) from None

    def members(self, path: str = "") -> Iterator[str]:
        """Read an object: its keys, one by one. The caller reads the value of each before it asks for the next."""
        self.take("{", path)
        if self.peek() == "}":
            self._position += 1
            return
        while True:
            if self.peek() != '"':
                raise self.error("this is not JSON: expected a key in double quotes", path, self._position)
            key = self.value(path)
            self.take(":", path)
            yield key
            if self.peek() != ",":
                break
            self._position += 1
        self.take("}", path)

    def items(self, path: str = "", *, inside: bool = False) -> Iterator[int]:
        """Read an array: the numbers of its values. The caller reads each value before it asks for the next.

        With `inside`, the stream begins with a value of the array.
        """
        if not inside:
            self.take("[", path)
            if self.peek() == "]":
                self._position += 1
                return
        number = 0
        while True:
            yield number
            number += 1
            if self.peek() != ",":
                break
            self._position += 1
        self.take("]", path)

    def end(self) -> None:
        """Check that the stream ends here."""
        if self.peek():
            raise self.error("this is not JSON: text follows after its end", position=self._position)
