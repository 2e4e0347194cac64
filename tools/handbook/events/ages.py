"""The age of the schema that introduced an event, a value or a field, and the later changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Final

from batprotocol.schemas import AGES, Difference, age, differences

__all__ = ["field_ages", "gone", "names_before", "numbers", "since"]

_ELSEWHERE: Final = {"added", "removed", "renamed", "moved", "type"}
"""The kinds of differences that the pages show elsewhere, or that do not matter to readers."""


@cache
def _changes() -> Mapping[str, list[tuple[str, Difference]]]:
    """The changes of the schema by place: the age with the change, and the difference."""
    found: dict[str, list[tuple[str, Difference]]] = {}
    for old, new in pairwise(AGES):
        for each in differences(age(old), age(new)):
            found.setdefault(each.place, []).append((new, each))
    return found


def since(place: str) -> str:
    """The first age that has a table, an enum, a union, or a field of one."""
    added = [to for to, each in _changes().get(place, ()) if each.kind == "added"]
    return added[-1] if added else AGES[0]


def field_ages(table: str, field: str) -> Iterator[str]:
    """The age that introduced a field, and its later changes except those of its number."""
    yield f"since {max(since(table), since(f'{table}.{field}'))}"
    for to, each in _changes().get(f"{table}.{field}", ()):
        if each.kind == "type":
            yield f"{each.detail.partition(' before')[0]} before {to}"
        elif each.kind not in _ELSEWHERE:
            yield f"{'can be absent' if each.kind == 'nullable' else each.kind} since {to}"


def gone(table: str) -> Iterator[tuple[str, str]]:
    """The fields that a table had, each with the first age without it."""
    for place, changes in _changes().items():
        owner, dot, field = place.partition(".")
        if owner == table and dot:
            yield from ((field, to) for to, each in changes if each.kind == "removed")


def names_before(name: str) -> Iterator[tuple[str, str]]:
    """The former names of a table, each with the first age that has another name."""
    for to, each in _changes().get(name, ()):
        if each.kind == "renamed":
            yield each.detail.removeprefix("it was "), to


def numbers(event: str) -> list[tuple[str, int]]:
    """The numbers of an event in the union of all events, each with the first age that has it."""
    found: list[tuple[str, int]] = []
    names = (event, *(name for name, _ in names_before(event)))
    for each in AGES:
        members = age(each).unions["Event"].members
        number = next((members.index(name) + 1 for name in names if name in members), 0)
        if number and (not found or found[-1][1] != number):
            found.append((each, number))
    return found
