"""Changed files for the tests of readers: some lines of a text, some bytes of a file, some cells of a table."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple

import pyarrow
from sacct_lines import mutated

__all__ = ["ALPHABET", "ChangedText", "changed_bytes", "changed_tables", "changed_texts", "changed_value"]

ALPHABET: Final = "0123456789;:-_+.,[]{}()=/*TKMGbknE naé\"'\\\n\t\x00٣ 9999999999"
_NUMBERS: Final = (0, -1, 1, 7, 2**31, 2**32, -(2**63), 2**63 - 1)
_DOUBLES: Final = (math.nan, math.inf, -math.inf, 1e308, -1e300, 5e-324, -0.0, 0.5, 1e12, 9e18)


class ChangedText(NamedTuple):
    """A text with changed lines.

    Attributes:
        text: the text.
        same: the lines that are not changed, without those at the begin that are kept.
    """

    text: str
    same: list[str]


def changed_texts(draw: Random, lines: Sequence[str], kept: int, share: int, changes: int) -> Iterator[ChangedText]:
    """Texts, until so many lines are changed: one in `share` of each text, and never the first `kept` ones."""
    head, body, changed = lines[:kept], lines[kept:], 0
    while changed < changes:
        found = list(body)
        chosen = set(draw.sample(range(len(body)), max(len(body) // share, 1)))
        for place in chosen:
            (found[place],) = mutated(draw, [body[place]], ALPHABET)
        changed += len(chosen)
        yield ChangedText("\n".join([*head, *found]), [line for place, line in enumerate(body) if place not in chosen])


def changed_bytes(draw: Random, whole: bytes, times: int, longest: int = 6000) -> Iterator[bytes]:
    """The begin of a file, as often as asked, with some bytes changed."""
    for _ in range(times):
        data = bytearray(whole[: draw.randrange(1, longest)])
        for _ in range(draw.randrange(1, 20)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        yield bytes(data)


def changed_tables(draw: Random, table: Any, changes: int) -> Iterator[Any]:
    """Tables of Arrow, until so many cells are changed: a fifth of each. Some columns have another type."""
    changed = 0
    while changed < changes:
        columns = {}
        for name, column in zip(table.schema.names, table.columns, strict=True):
            is_text = draw.random() < 0.2
            values = [None if value is None else str(value) for value in column.to_pylist()] if is_text else None
            columns[name] = _changed_column(draw, column, values)
        changed += table.num_rows * table.num_columns // 5
        yield pyarrow.table(columns)


def _changed_column(draw: Random, column: Any, texts: list[str | None] | None) -> Any:
    type_ = pyarrow.string() if texts is not None else column.type
    is_time = pyarrow.types.is_timestamp(type_)
    values: list[Any] = column.cast(pyarrow.int64()).to_pylist() if is_time else texts or column.to_pylist()
    for place in draw.sample(range(len(values)), len(values) // 5):
        values[place] = _changed_cell(draw, values[place], type_)
    return pyarrow.array(values, pyarrow.int64()).cast(type_) if is_time else pyarrow.array(values, type_)


def _changed_cell(draw: Random, value: Any, type_: Any) -> Any:
    if draw.random() < 0.1:
        return None
    if pyarrow.types.is_floating(type_):
        return draw.choice(_DOUBLES)
    if pyarrow.types.is_integer(type_):
        return draw.choice([each for each in _NUMBERS if abs(each) < 2 ** (type_.bit_width - 1)])
    if pyarrow.types.is_timestamp(type_):
        return draw.choice(_NUMBERS)
    if pyarrow.types.is_boolean(type_):
        return not value
    return mutated(draw, [str(value)], ALPHABET)[0]


def changed_value(draw: Random, value: Any, depth: int = 0) -> Any:
    """A value of JSON with one part changed: another value, a changed text, a key that is gone or has another name."""
    if isinstance(value, dict | list) and value and draw.random() < 0.85:
        found: Any = dict(value) if isinstance(value, dict) else list(value)
        place = draw.choice(list(found) if isinstance(found, dict) else range(len(found)))
        if draw.random() < 0.1:
            part = found.pop(place)
            if isinstance(found, dict) and draw.random() < 0.5:
                found[mutated(draw, [str(place)], ALPHABET)[0]] = part
        else:
            found[place] = changed_value(draw, found[place], depth + 1)
        return found
    others = [None, True, "", [], {}, [[]], {"a": 1}, *_NUMBERS, 2**64, 10**30, 0.5, -1e300, 1e300, "nan", "1e999"]
    if isinstance(value, str | int | float) and draw.random() < 0.6:
        text = mutated(draw, [str(value)], ALPHABET)[0]
        try:
            return json.loads(text) if draw.random() < 0.3 else text
        except ValueError:
            return text
    return draw.choice(others)
