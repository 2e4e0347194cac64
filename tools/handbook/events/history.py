"""The former names of an event: in older schemas of Batsim 5, in JSON, and in text, from the code that translates."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Any, Final

from batprotocol import model
from batprotocol.legacy.json.events import EVENTS as OLD_EVENTS
from batprotocol.legacy.json.events import VERSIONS, EventVersions, Notify, Version, version_of, written
from batprotocol.legacy.text import runtime as text_runtime
from batprotocol.legacy.text.wire import BY_VALUE, Stamp
from batprotocol.legacy.translate import ToOldScheduler, old_batsim, old_scheduler
from batprotocol.schemas.commands.definitions import meanings
from handbook.events import ages
from handbook.events.examples import of_event
from handbook.events.layout import rows
from handbook.events.mentions import mentioned
from handbook.events.places import event_of
from handbook.markdown import code, listed

__all__ = ["FIRST", "event_history", "json_rows", "stamps", "when"]

_JSON: Final = "batprotocol.legacy.json.events"
_TRANSLATE: Final = "batprotocol.legacy.translate"
_TODAY: Final = "batprotocol.model"

FIRST: Final = (1,)
"""The first version of JSON."""
_LAST: Final = (5,)


def _of_today(functions: Mapping[type[Any], Any]) -> dict[str, set[type[Any]]]:
    """By the name of a current event, the older events that a table of translations converts to it."""
    found: dict[str, set[type[Any]]] = {}
    for old, function in functions.items():
        for module, name in mentioned(function, _TRANSLATE).names:
            if module == _TODAY:
                found.setdefault(name, set()).add(old)
    return found


def _older(name: str) -> set[type[Any]]:
    """The events of JSON that a current event is translated to, and translated from if both directions exist."""
    kind, translation = getattr(model, name), _translation(name)
    names = mentioned(translation, _TRANSLATE).names if translation is not None else ()
    made = {by_name for module, by_name in names if module == _JSON}
    known = {row.value.__name__: row.value for row in OLD_EVENTS}
    forth = {known[each] for each in made if each in known}
    back = _of_today(old_batsim.EVENTS if kind in model.BATSIM_TO_EDC else old_scheduler.DECISIONS).get(name, set())
    return (forth & back) or (back if kind in model.EDC_TO_BATSIM else set())


def _translation(name: str) -> Any:
    """The function that translates a current event to an older one, or None."""
    kind = getattr(model, name)
    return old_scheduler.EVENTS.get(kind) or old_batsim.DECISIONS.get(kind)


def when(since: Version, until: Version) -> str:
    """The versions of JSON that have something, "" for all: "since 2.0, before 3.0"."""
    limits = f"since {written(since)}" * (since > FIRST), f"before {written(until)}" * (until < _LAST)
    return ", ".join(filter(None, limits))


def json_rows(name: str) -> list[EventVersions]:
    """The rows of the events of JSON that a current event had before."""
    older = _older(name)
    direction = model.Direction.BATSIM_TO_EDC
    if getattr(model, name) in model.EDC_TO_BATSIM:
        direction = model.Direction.EDC_TO_BATSIM
    found = [row for row in OLD_EVENTS if row.value in older and direction in row.directions]
    return sorted(found, key=lambda row: row.since)


def stamps(name: str) -> list[Stamp]:
    """The stamps of the text protocol that a current event had before."""
    older = {(_JSON, row.value.__name__) for row in json_rows(name) if row.value is not Notify}
    return [stamp for cls, stamp in BY_VALUE.items() if older & _said_as_json().get(cls.__name__, set())]


def _text_names(name: str) -> list[str]:
    """The same as texts, with the versions that have them."""
    last = max(stamp.since for stamp in BY_VALUE.values())
    return [
        f"{code(stamp.letter)} in text-{stamp.since}{f' to text-{last}' if stamp.since < last else ''}"
        for stamp in stamps(name)
    ]


@cache
def _said_as_json() -> Mapping[str, set[tuple[str, str]]]:
    """By the name of an event of text, the same event in JSON: the cases of the translation."""
    found: dict[str, set[tuple[str, str]]] = {}
    tree = ast.parse(inspect.getsource(text_runtime))
    for case in (each for each in ast.walk(tree) if isinstance(each, ast.match_case)):
        if isinstance(case.pattern, ast.MatchClass) and isinstance(case.pattern.cls, ast.Attribute):
            made = [each for part in case.body for each in ast.walk(part) if isinstance(each, ast.Attribute)]
            found[case.pattern.cls.attr] = {(_JSON, each.attr) for each in made}
    return found


def event_history(page: str, argument: str) -> str:
    """The section about the past of the event whose page this is."""
    name = event_of(page).__name__
    table = [("Batsim 5", _batsim_5(name))]
    table.append(("JSON, Batsim 1 to 4", listed(_json(name)) if json_rows(name) else "no such event"))
    table.append(("Text", listed(_text_names(name)) if _text_names(name) else "no such stamp"))
    more = "[Use older protocols](../../howto/use-older-protocols.md) documents the losses of a translation."
    return f"## Other versions\n\n{rows(table)}\n{more}\n"


def _batsim_5(name: str) -> str:
    numbers = ages.numbers(name)
    texts = [f"{number} ({since})" if len(numbers) > 1 else str(number) for since, number in numbers]
    parts = [f"number {', '.join(texts)} of the union `Event`"]
    parts += [f"{code(older)} before {to}" for older, to in ages.names_before(name)]
    parts += [f"with {code(field)} before {to}" for field, to in ages.gone(name)]
    return "; ".join(parts)


def _json(name: str) -> Iterator[str]:
    for kind, found in groupby(json_rows(name), key=lambda row: row.type):
        versions = list(found)
        row, until = versions[0], versions[-1].until
        since = max(row.since, _notified_since(name)) if row.value is Notify else row.since
        yield f"{code(kind)}{_kinds(name, row)} {when(since, until)}".rstrip()


def _kinds(name: str, row: EventVersions) -> str:
    """The kinds of notifications, if the event is one."""
    if row.value is not Notify:
        return ""
    texts = mentioned(_translation(name), _TRANSLATE).texts
    kinds = [kind for kind in meanings(Notify)["type"].split("`")[1::2] if kind in texts]
    return f" of {listed(map(code, kinds), 'or')}" if kinds else ""


def _notified_since(name: str) -> Version:
    """The first version whose Batsim sent a notification in place of this event, by the translation."""
    kind = getattr(model, name)
    for version in map(version_of, VERSIONS) if kind in old_scheduler.EVENTS else ():
        found = ToOldScheduler(version).hear(of_event(kind).message)
        if found is not None and any(isinstance(each, Notify) for each in found.events):
            return version
    return FIRST
