"""FlexBuffers, the values without a schema that a field with the attribute `flexbuffer` holds, as values of JSON.

The reader checks every offset, size and type before it follows it, and takes time in proportion to the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from batprotocol.errors import DecodeError, EncodeError, an, shown
from batprotocol.wire.binding import MAX_DEPTH
from batprotocol.wire.tree import path_of

__all__ = ["read", "write"]

# The types of FlexBuffers, as flatbuffers/flexbuffers.h numbers them.
_NULL, _INT, _UINT, _FLOAT, _KEY, _STRING, _FAR_INT, _FAR_UINT, _FAR_FLOAT, _MAP, _VECTOR = range(11)
_TYPED: Final = {11: _INT, 12: _UINT, 13: _FLOAT, 14: _KEY, 15: _STRING, 36: 26}
_FIXED: Final = {first + kind: (count, 1 + kind) for first, count in ((16, 2), (19, 3), (22, 4)) for kind in range(3)}
_BLOB, _BOOL = 25, 26
_INLINE: Final = {_FAR_INT: _INT, _FAR_UINT: _UINT, _FAR_FLOAT: _FLOAT}
_CODES: Final = {_INT: "bhiq", _UINT: "BHIQ", _BOOL: "BHIQ", _FLOAT: "\0efd"}


def read(data: bytes, path: list[str], start: int, deepest: int = MAX_DEPTH) -> Any:
    """The value of a FlexBuffer, in the types of JSON.

    Args:
        data: the bytes.
        path: the place of the field in its message, for errors.
        start: the place of the bytes in the message, for errors.
        deepest: how deep vectors and maps may nest.

    Raises:
        DecodeError: it is no FlexBuffer, or it holds what JSON does not have: a blob, or a key twice.
    """
    return _FlexReader(data, list(path), start).message(deepest)


class _FlexReader:
    """One reading: `left` is the number of values and bytes of strings that may still be read."""

    def __init__(self, data: bytes, path: list[str], start: int) -> None:
        self.data, self.path, self.start = data, path, start
        self.left = 16 * len(data)

    def fail(self, reason: str, place: int) -> NoReturn:
        raise DecodeError(f"the FlexBuffer {reason}", path_of(self.path), self.start + place)

    def spend(self, count: int, place: int) -> None:
        self.left -= count
        if self.left < 0:
            self.fail("has parts that overlap far more than any writer makes them", place)

    def message(self, deepest: int) -> Any:
        if len(self.data) < 3:
            self.fail(f"has {len(self.data)} bytes, it needs at least 3", 0)
        width, packed = self.data[-1], self.data[-2]
        if width not in (1, 2, 4, 8) or width + 2 > len(self.data):
            self.fail(f"has an impossible width, {width}", len(self.data) - 1)
        return self.value(len(self.data) - 2 - width, width, packed, deepest)

    def number(self, kind: int, place: int, width: int) -> Any:
        if place < 0 or place + width > len(self.data):
            self.fail("has a part outside of it", min(max(place, 0), len(self.data)))
        if kind == _FLOAT and width == 1:
            self.fail("has a float of one byte", place)
        return struct.unpack_from(f"<{_CODES[kind][width.bit_length() - 1]}", self.data, place)[0]

    def target(self, place: int, width: int) -> int:
        found = place - int(self.number(_UINT, place, width))
        if found < 0:
            self.fail("has an offset that leads outside of it", place)
        return found

    def value(self, place: int, parent: int, packed: int, deepest: int) -> Any:
        """The value at a place of a vector or map whose elements have `parent` bytes."""
        self.spend(1, place)
        kind, width = packed >> 2, 1 << (packed & 3)
        if kind == _NULL:
            return None
        if kind in (_INT, _UINT, _FLOAT):
            return self.number(kind, place, parent)
        if kind == _BOOL:
            return bool(self.number(kind, place, parent))
        there = self.target(place, parent)
        if kind in _INLINE:
            return self.number(_INLINE[kind], there, width)
        if kind == _KEY:
            return self.key(there)
        if kind == _STRING:
            return self.string(there, width)
        if kind == _BLOB:
            self.fail("holds a blob, for which JSON has no form", there)
        if deepest <= 0:
            self.fail(f"nests more than {MAX_DEPTH} deep", place)
        if kind == _MAP:
            return self.map(there, width, deepest - 1)
        if kind == _VECTOR:
            count = self.size(there, width, 1 + width)
            types = self.data[there + count * width : there + count * (width + 1)]
            return [self.item(there, width, index, types[index], deepest - 1) for index in range(count)]
        if kind in _TYPED:
            count, element = self.size(there, width, width), _TYPED[kind]
        elif kind in _FIXED:
            count, element = _FIXED[kind]
        else:
            self.fail(f"has a value of the unknown type {kind}", place)
        return [self.item(there, width, index, element << 2, deepest - 1) for index in range(count)]

    def item(self, there: int, width: int, index: int, packed: int, deepest: int) -> Any:
        self.path.append(f"[{index}]")
        value = self.value(there + index * width, width, packed, deepest)
        self.path.pop()
        return value

    def size(self, there: int, width: int, step: int) -> int:
        """The number of elements of a vector, which all lie in the FlexBuffer."""
        count = int(self.number(_UINT, there - width, width))
        if there + count * step > len(self.data):
            self.fail(f"has a vector of {count} elements, which leads outside of it", there - width)
        return count

    def map(self, there: int, width: int, deepest: int) -> dict[str, Any]:
        count = self.size(there, width, 1 + width)
        keys = self.target(there - 3 * width, width)
        keys_width = int(self.number(_UINT, there - 2 * width, width))
        if keys_width not in (1, 2, 4, 8) or self.size(keys, keys_width, keys_width) != count:
            self.fail("has a map whose keys do not belong to it", keys)
        found: dict[str, Any] = {}
        for index in range(count):
            name = self.key(self.target(keys + index * keys_width, keys_width))
            if name in found:
                self.fail(f"has the key {name!r} twice in a map", keys)
            self.path.append(name)
            packed = self.data[there + count * width + index]
            found[name] = self.value(there + index * width, width, packed, deepest)
            self.path.pop()
        return found

    def key(self, there: int) -> str:
        end = self.data.find(b"\0", there)
        if end < 0:
            self.fail("has a key that does not end", there)
        return self.text(there, end)

    def string(self, there: int, width: int) -> str:
        return self.text(there, there + self.size(there, width, 1))

    def text(self, start: int, end: int) -> str:
        self.spend(end - start, start)
        try:
            return self.data[start:end].decode()
        except UnicodeDecodeError as error:
            self.fail(f"has a string that is not UTF-8: {error.reason}", start + error.start)


def write(value: Any, path: list[str], deepest: int = MAX_DEPTH) -> bytes:
    """A FlexBuffer of a value in the types of JSON.

    Args:
        value: None, a bool, a number, a text, a sequence or a mapping of these.
        path: the place of the field in its message, for errors.
        deepest: how deep sequences and mappings may nest.

    Raises:
        EncodeError: it is something else, or nests too deep, or a number has more than 64 bits.
    """
    writer = _FlexWriter()
    packed, number, code = writer.value(value, list(path), deepest)
    writer.align()
    writer.element(number, code)
    return bytes(writer.data) + bytes([packed, _WIDTH])


_WIDTH: Final = 8
"""The bytes of each element that is written, which hold any number and offset."""


class _FlexWriter:
    """Writes the parts of a FlexBuffer one after the other, the parts of a value before it."""

    def __init__(self) -> None:
        self.data = bytearray()

    def align(self) -> None:
        self.data += bytes(-len(self.data) % _WIDTH)

    def element(self, value: Any, code: str) -> None:
        """Write an element: a number, or the offset to a place if there is no code."""
        self.data += struct.pack(f"<{code}", value) if code else struct.pack("<Q", len(self.data) - value)

    def value(self, value: Any, path: list[str], deepest: int) -> tuple[int, Any, str]:
        """The packed type of a value; its number, or the place where it lies; and the code of the number."""
        if value is None:
            return _packed(_NULL), 0, "Q"
        if isinstance(value, bool):
            return _packed(_BOOL), int(value), "Q"
        if isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                raise EncodeError(f"expected an integer of 64 bits, got {shown(value)}", path_of(path))
            return (_packed(_UINT), value, "Q") if value >= 2**63 else (_packed(_INT), value, "q")
        if isinstance(value, float):
            return _packed(_FLOAT), value, "d"
        if isinstance(value, str):
            encoded = _encoded(value, path)
            self.align()
            place = self.begin(len(encoded))
            self.data += encoded + b"\0"
            return _packed(_STRING), place, ""
        if not isinstance(value, Mapping | list | tuple):
            raise EncodeError(f"expected a value of JSON, got {an(type(value).__name__)}", path_of(path))
        if deepest <= 0:
            raise EncodeError(f"the FlexBuffer nests more than {MAX_DEPTH} deep", path_of(path))
        if isinstance(value, Mapping):
            return _packed(_MAP), self.map(value, path, deepest - 1), ""
        found = []
        for index, each in enumerate(value):
            path.append(f"[{index}]")
            found.append(self.value(each, path, deepest - 1))
            path.pop()
        self.align()
        place = self.begin(len(found))
        self.elements(found)
        return _packed(_VECTOR), place, ""

    def begin(self, size: int) -> int:
        """Write the size of a string, vector or map, and return the place behind it."""
        self.data += struct.pack("<Q", size)
        return len(self.data)

    def elements(self, found: list[tuple[int, Any, str]]) -> None:
        for _, number, code in found:
            self.element(number, code)
        self.data += bytes(packed for packed, _, _ in found)

    def map(self, value: Mapping[Any, Any], path: list[str], deepest: int) -> int:
        places: dict[bytes, int] = {}
        found: dict[bytes, tuple[int, Any, str]] = {}
        for name, each in value.items():
            path.append(str(name))
            if not isinstance(name, str) or "\0" in name:
                raise EncodeError("expected the name of a key, without NUL", path_of(path))
            key = _encoded(name, path)
            places[key] = len(self.data)
            self.data += key + b"\0"
            found[key] = self.value(each, path, deepest)
            path.pop()
        self.align()
        keys = self.begin(len(places))
        for key in sorted(places):  # readers search them
            self.element(places[key], "")
        self.element(keys, "")
        self.data += struct.pack("<Q", _WIDTH)
        place = self.begin(len(found))
        self.elements([found[key] for key in sorted(found)])
        return place


def _packed(kind: int) -> int:
    return kind << 2 | _WIDTH.bit_length() - 1


def _encoded(text: str, path: list[str]) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise EncodeError(f"expected text that UTF-8 can carry: {error.reason}", path_of(path)) from None
