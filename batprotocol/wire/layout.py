"""The base of the generated codec: one read for each vtable of a table, and the pieces that are not tables.

The codec reads valid messages only. Any error ends in one of `STUMBLES`. `batprotocol.wire.reader` then reads the
message again, and reports the place and the reason. So errors here have no details (`Doubt`). The careful reader must
accept everything that passes here, and read the same.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from struct import Struct, error, pack, unpack_from
from typing import Any, NamedTuple

from batprotocol.model.value import Doubles

__all__ = [
    "PAD4",
    "STRING",
    "STUMBLES",
    "U32",
    "Doubt",
    "Seen",
    "Slot",
    "doubles",
    "learn",
    "long_string",
    "numbers",
    "offsets",
    "refuse",
    "strings",
    "write_doubles",
    "write_long_string",
    "write_numbers",
    "write_places",
    "write_strings",
]

Seen = dict[Any, Any]
"""What one decode has seen: how many more units it may spend (key 0), plans and long strings by place."""


class Doubt(Exception):
    """This is not what a usual writer writes: let the careful reader look at it."""


STUMBLES = (Doubt, error, IndexError, KeyError, TypeError, UnicodeDecodeError)

U32 = Struct("<I").unpack_from
PAD4 = bytes(4)

# Reading

_STEPS = [Struct(f"<{size}I").unpack_from for size in range(64)]


class Slot(NamedTuple):
    """A field as a vtable has it: its number, size and `struct` code, whether it is an offset and whether required."""

    number: int
    size: int
    code: str
    is_offset: bool
    required: bool


_MOST_LAYOUTS = 64  # of one table; writers have a handful, and a peer must not fill our memory with more


def learn(plans: dict[bytes, Any], slots: tuple[Slot, ...], data: bytes, vtable: int) -> Any:
    """Turn a vtable met for the first time into a plan for reading all tables that have it.

    A plan is `(read, *places)`: `read(data, position)` gives the values of all fields, in the order of `slots`, with
    `b""` for an absent one; then, for each field that is an offset, where in the table it lies, or None if absent.
    """
    key = data[vtable : vtable + data[vtable]]
    size = len(key)
    if size < 4 or size % 2 or size != key[0] or key[1]:
        raise Doubt
    offsets = [
        int.from_bytes(key[4 + 2 * slot.number : 6 + 2 * slot.number], "little") if 4 + 2 * slot.number < size else 0
        for slot in slots
    ]
    if any(slot.required and not offset for slot, offset in zip(slots, offsets, strict=True)):
        raise Doubt
    order = sorted(range(len(slots)), key=lambda index: offsets[index] or 0xFFFF)
    layout, end = "<", 0
    for index in order:
        if not offsets[index]:
            layout += "0s"
            continue
        gap = offsets[index] - end
        if gap < 0:
            raise Doubt  # fields that overlap
        layout += f"{gap}x{slots[index].code}"
        end = offsets[index] + slots[index].size
    if [index for index in order if offsets[index]] == [index for index, offset in enumerate(offsets) if offset]:
        # The usual order: absent fields can stand where they belong, for they take no place.
        layout, end = "<", 0
        for slot, offset in zip(slots, offsets, strict=True):
            layout += f"{offset - end}x{slot.code}" if offset else "0s"
            end = offset + slot.size if offset else end
        read: Callable[..., Any] = Struct(layout).unpack_from
    else:
        unpack, arrange = Struct(layout).unpack_from, itemgetter(*(order.index(index) for index in range(len(slots))))

        def read(data: bytes, position: int) -> Any:
            return arrange(unpack(data, position))

    places = [offset or None for slot, offset in zip(slots, offsets, strict=True) if slot.is_offset]
    if len(plans) >= _MOST_LAYOUTS:
        plans.clear()
    plans[key] = plan = (read, *places)
    return plan


def refuse(*_: object) -> Any:
    """What reads a union of type NONE."""
    raise Doubt


def long_string(data: bytes, position: int, size: int, seen: Seen) -> str:
    """A string long enough that a bomb could be made of many offsets to it: read once, shared after."""
    text: str | None = seen.get(("string", position))
    if text is None:
        start = position + 4
        if data[start + size]:
            raise Doubt
        _spend(size // 8, seen)
        text = seen["string", position] = data[start : start + size].decode()
    return text


def _spend(size: int, seen: Seen) -> None:
    """Count what can make a bomb, in units of eight bytes. More than there are bytes for are shared.

    The units also stand for tables: for each element of a vector and each level of recursion, there is one.
    """
    left = seen[0] - size
    if left < 0:
        raise Doubt
    seen[0] = left


def offsets(data: bytes, position: int, offset: int, seen: Seen) -> tuple[int, ...]:
    """The offsets in a vector, each counted from its own place. A bomb, whose vectors share elements, is refused."""
    (size,) = U32(data, position)
    if not size:
        if not offset:
            raise Doubt
        return ()
    _spend(size, seen)
    return _STEPS[size](data, position + 4) if size < 64 else unpack_from(f"<{size}I", data, position + 4)


def strings(data: bytes, position: int, offset: int, seen: Seen) -> tuple[str, ...]:
    """A vector of strings."""
    texts = []
    for step in offsets(data, position, offset, seen):
        position += 4
        at = position + step
        (size,) = U32(data, at)
        if not step:
            raise Doubt
        if size > 63:
            texts.append(long_string(data, at, size, seen))
        else:
            at += 4
            if data[at + size]:
                raise Doubt
            texts.append(data[at : at + size].decode())
    return tuple(texts)


def doubles(data: bytes, position: int, offset: int, seen: Seen) -> Doubles:
    """A vector of doubles."""
    (size,) = U32(data, position)
    start = position + 4
    end = start + 8 * size
    if not offset or end > len(data):
        raise Doubt
    if size > 7:
        _spend(size, seen)
    return Doubles.from_bytes(data[start:end])


def numbers(data: bytes, position: int, offset: int, seen: Seen) -> tuple[int, ...]:
    """A vector of uint32."""
    (size,) = U32(data, position)
    if not offset or position + 4 + 4 * size > len(data):
        raise Doubt
    if size > 7:
        _spend(size // 2, seen)
    return unpack_from(f"<{size}I", data, position + 4)


# Writing. A message is written from its end to its start, as flatbuffers wants it: `append` takes the pieces in that
# order, and places are counted from the end. `size` is what has been written so far, which makes it the place of the
# piece that was written last; it is always a multiple of 4.

_PLACES = [Struct(f"<{count + 1}I").pack for count in range(64)]

STRING = [Struct(f"<I{size}s{4 - size % 4}x").pack for size in range(128)]
"""By size, what packs a string: its size, its bytes, a NUL, and padding."""


def write_long_string(text: bytes) -> bytes:
    """A string of any size, as it lies in the message."""
    return b"".join((len(text).to_bytes(4, "little"), text, bytes(4 - len(text) % 4)))


def write_strings(texts: tuple[str, ...], append: Callable[[bytes], None], size: int) -> int:
    """Write a vector of strings; return the new size."""
    if texts.__class__ is not tuple:
        raise TypeError
    places = []
    for text in texts:
        piece = text.encode()
        length = len(piece)
        append(STRING[length](length, piece) if length < 128 else write_long_string(piece))
        size += length + 8 & -4
        places.append(size)
    return write_places(places, append, size)


def write_places(places: list[int], append: Callable[[bytes], None], size: int) -> int:
    """Write a vector of offsets to what was written at these places; return the new size."""
    count = len(places)
    if not count:
        append(PAD4)
        return size + 4
    at = size = size + 4 * count
    steps = []
    for place in places:
        steps.append(at - place)
        at -= 4
    append(_PLACES[count](count, *steps) if count < 64 else pack(f"<{count + 1}I", count, *steps))
    return size + 4


def write_doubles(vector: Doubles, append: Callable[[bytes], None], size: int) -> int:
    """Write a vector of doubles; return the new size."""
    if vector.__class__ is not Doubles:
        raise TypeError
    data = vector.to_bytes()
    if size & 4:
        append(PAD4)
        size += 4
    length = len(data)
    if length < 256:
        append((length >> 3).to_bytes(4, "little") + data)
    else:
        append(data)
        append((length >> 3).to_bytes(4, "little"))
    return size + length + 4


def write_numbers(vector: tuple[int, ...], append: Callable[[bytes], None], size: int) -> int:
    """Write a vector of uint32; return the new size."""
    if vector.__class__ is not tuple:
        raise TypeError
    append(pack(f"<{len(vector) + 1}I", len(vector), *vector))
    return size + 4 * len(vector) + 4
