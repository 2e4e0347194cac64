"""Places of values in rows: a column, or a path into objects of JSON such as `detail[].ip`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["getter"]

Getter = Callable[[Mapping[str, Any]], Any]
"""Finds a value in a row; None: there is none."""


def getter(path: str) -> Getter:
    """A function that finds the value at a place of a row.

    A column whose name is the whole path comes first. Otherwise, `.` goes into an object, and `[]` to all elements of a
    list: what is behind it is found in each of them, and the result is a list.

    >>> row = {"a.b": 1, "detail": [{"ip": "m1", "gpus": [0, 1]}, {"ip": "m2", "gpus": [4]}]}
    >>> getter("a.b")(row), getter("detail[].ip")(row), getter("detail[].gpus[]")(row), getter("none.x")(row)
    (1, ['m1', 'm2'], [0, 1, 4], None)
    """
    steps = path.replace("[]", ".[]").split(".")
    if len(steps) == 1:
        return lambda row: row.get(path)

    def find(row: Mapping[str, Any]) -> Any:
        return row[path] if path in row else _found(row, steps, 0)

    return find


def _found(value: Any, steps: list[str], place: int) -> Any:
    for number in range(place, len(steps)):
        step = steps[number]
        if step == "[]":
            if not isinstance(value, list):
                return None
            found = []
            for element in value:
                inner = _found(element, steps, number + 1)
                if isinstance(inner, list):
                    found.extend(inner)
                elif inner is not None:
                    found.append(inner)
            return found
        value = value.get(step) if isinstance(value, dict) else None
    return value
