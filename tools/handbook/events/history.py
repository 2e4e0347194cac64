"""Since when there is an event or a field, and what other protocols called it.

The schemas of older Batsims 5 are known by their ages. What JSON and text said instead, the translations tell.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby, pairwise
from typing import Any, Final

from batprotocol import model
from batprotocol.legacy.json.events import Notify
from batprotocol.legacy.json.versions import EVENTS as OLD_EVENTS
from batprotocol.legacy.json.versions import VERSIONS, EventRow, Version, version_of
from batprotocol.legacy.text import as_json
from batprotocol.legacy.text.stamps import BY_VALUE
from batprotocol.legacy.translate import ToOldScheduler
from batprotocol.legacy.translate.batsim.told import TOLD as SAID_TO_TODAY
from batprotocol.legacy.translate.batsim.wishes import WISHES
from batprotocol.legacy.translate.scheduler.decisions import DECISIONS
from batprotocol.legacy.translate.scheduler.told import TOLD
from batprotocol.schemas import AGES, Difference, age, differences
from handbook.events.docstrings import meanings
from handbook.events.examples import of_event
from handbook.events.layout import listed, rows
from handbook.events.mentions import mentioned
from handbook.events.places import event_of
from handbook.markdown import code

__all__ = ["event_age", "event_history", "field_ages", "json_names", "text_names"]

_JSON: Final = "batprotocol.legacy.json.events"
_TRANSLATE: Final = "batprotocol.legacy.translate"
_TODAY: Final = "batprotocol.model"


# Ages


@cache
def _changes() -> Mapping[str, list[tuple[str, Difference]]]:
    """What has changed in the schema, by place: the age it changed to, and how."""
    found: dict[str, list[tuple[str, Difference]]] = {}
    for old, new in pairwise(AGES):
        for each in differences(age(old), age(new)):
            found.setdefault(each.place, []).append((new, each))
    return found


def _since(place: str) -> str:
    """The first age that has it."""
    added = [to for to, each in _changes().get(place, ()) if each.kind == "added"]
    return added[-1] if added else AGES[0]


def event_age(name: str) -> str:
    """The age of the schema since which there is an event, or any other part of it."""
    return _since(name)


_WORDS: Final = {
    "default": "default {} {to}",
    "not required": "no more required since {to}",
    "not nullable": "no more to be absent since {to}",
    "nullable": "that it can be absent since {to}",
    "required": "required since {to}",
}


def field_ages(table: str, field: str) -> Iterator[str]:
    """Since when there is a field, and what has changed in it but its number."""
    since = max(_since(table), _since(f"{table}.{field}"))
    yield f"since {since}"
    for to, each in _changes().get(f"{table}.{field}", ()):
        if each.kind == "type":
            yield f"{each.detail.partition(' before')[0]} before {to}"
        elif each.kind in _WORDS:
            yield _WORDS[each.kind].format(each.detail, to=to)


def _gone(table: str) -> Iterator[str]:
    """The fields of a table that are gone."""
    for place, changes in _changes().items():
        owner, dot, field = place.partition(".")
        if owner == table and dot:
            yield from (f"{code(field)} until {to}" for to, each in changes if each.kind == "removed")


def _numbers(name: str) -> str:
    """Its number in the union of all events, today and before."""
    found: list[tuple[str, int]] = []
    older = [each.detail.removeprefix("it was ") for _, each in _changes().get(name, ()) if each.kind == "renamed"]
    for each in AGES:
        members = age(each).unions["Event"].members
        number = next((members.index(called) + 1 for called in (name, *older) if called in members), 0)
        if number and (not found or found[-1][1] != number):
            found.append((each, number))
    return ", ".join(f"{number} ({since})" if len(found) > 1 else str(number) for since, number in found)


# Older protocols


def _of_today(functions: Mapping[type[Any], Any]) -> dict[str, set[type[Any]]]:
    """By the name of an event of today, the older ones that a table of translations makes it of."""
    found: dict[str, set[type[Any]]] = {}
    for old, function in functions.items():
        for module, name in mentioned(function, _TRANSLATE).names:
            if module == _TODAY:
                found.setdefault(name, set()).add(old)
    return found


def _older(name: str) -> set[type[Any]]:
    """The events of JSON that an event of today is translated into, and back where that goes."""
    kind, translation = getattr(model, name), _translation(name)
    names = mentioned(translation, _TRANSLATE).names if translation is not None else ()
    made = {by_name for module, by_name in names if module == _JSON}
    known = {row.value.__name__: row.value for row in OLD_EVENTS}
    there = {known[each] for each in made if each in known}
    back = _of_today(SAID_TO_TODAY if kind in model.BATSIM_TO_EDC else DECISIONS).get(name, set())
    return (there & back) or (back if kind in model.EDC_TO_BATSIM else set())


def _translation(name: str) -> Any:
    """The function that says an event of today in older words, None if there is none."""
    kind = getattr(model, name)
    return TOLD.get(kind) or WISHES.get(kind)


def _version(version: Version) -> str:
    return ".".join(map(str, version if len(version) > 1 else (*version, 0)))


def json_names(name: str) -> list[EventRow]:
    """The rows of the events of JSON that an event of today was called."""
    older = _older(name)
    direction = model.Direction.BATSIM_TO_EDC
    if getattr(model, name) in model.EDC_TO_BATSIM:
        direction = model.Direction.EDC_TO_BATSIM
    found = [row for row in OLD_EVENTS if row.value in older and direction in row.directions]
    return sorted(found, key=lambda row: row.since)


def text_names(name: str) -> list[str]:
    """The stamps of the text protocol that an event of today was called, with the versions that have them."""
    older = {(_JSON, row.value.__name__) for row in json_names(name) if row.value is not Notify}
    found = []
    for cls, stamp in BY_VALUE.items():
        if older & _said_as_json().get(cls.__name__, set()):
            found.append(
                f"{code(stamp.letter)} in text-{stamp.since} to text-3"
                if stamp.since < 3
                else f"{code(stamp.letter)} in text-3"
            )
    return found


@cache
def _said_as_json() -> Mapping[str, set[tuple[str, str]]]:
    """By the name of an event of text, what it is in JSON: the cases of the translation."""
    found: dict[str, set[tuple[str, str]]] = {}
    tree = ast.parse(inspect.getsource(as_json))
    for case in (each for each in ast.walk(tree) if isinstance(each, ast.match_case)):
        if isinstance(case.pattern, ast.MatchClass) and isinstance(case.pattern.cls, ast.Attribute):
            made = [each for part in case.body for each in ast.walk(part) if isinstance(each, ast.Attribute)]
            found[case.pattern.cls.attr] = {(_JSON, each.attr) for each in made}
    return found


def event_history(page: str, argument: str) -> str:
    """The section about the past of the event whose page this is."""
    name = event_of(page).__name__
    told = [("Batsim 5", _batsim_5(name))]
    told.append(("JSON, Batsim 1 to 4", listed(_json(name)) if json_names(name) else "no such event"))
    told.append(("Text", listed(text_names(name)) if text_names(name) else "no such stamp"))
    more = "What is lost on the way, [the older protocols](../../howto/use-older-protocols.md) tell."
    return f"## Other versions\n\n{rows(told)}\n{more}\n"


def _batsim_5(name: str) -> str:
    text = f"number {_numbers(name)} of the union `Event`"
    for to, each in _changes().get(name, ()):
        if each.kind == "renamed":
            text += f"; {code(each.detail.removeprefix('it was '))} before {to}"
    gone = list(_gone(name))
    return text + (f"; with {listed(gone)}" if gone else "")


def _json(name: str) -> Iterator[str]:
    for kind, found in groupby(json_names(name), key=lambda row: row.type):
        versions = list(found)
        row, until = versions[0], versions[-1].until
        since = max(row.since, _notified_since(name)) if row.value is Notify else row.since
        parts = [f"since {_version(since)}" * (since > (1,)), f"before {_version(until)}" * (until < (5,))]
        when = ", ".join(part for part in parts if part)
        yield code(kind) + _kinds(name, row) + (f" {when}" if when else "")


def _kinds(name: str, row: EventRow) -> str:
    """What is notified of, where it is a notification."""
    if row.value is not Notify:
        return ""
    texts = mentioned(_translation(name), _TRANSLATE).texts
    kinds = [kind for kind in meanings(Notify)["type"].split("`")[1::2] if kind in texts]
    return f" of {listed(map(code, kinds), 'or')}" if kinds else ""


def _notified_since(name: str) -> Version:
    """Since when Batsim notified of what it has an event for today: since the translation says so."""
    kind = getattr(model, name)
    for version in map(version_of, VERSIONS) if kind in TOLD else ():
        told = ToOldScheduler(version).hear(of_event(kind).message)
        if told is not None and any(isinstance(each, Notify) for each in told.events):
            return version
    return (1,)
