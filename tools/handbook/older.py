"""The events of the older protocols, from the tables of their codecs, with their current successors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from batprotocol.legacy.commands import fields, sides
from batprotocol.legacy.json.events import EVENTS, EventVersions, written
from batprotocol.legacy.text.wire import STAMPS, VERSIONS, Stamp
from batprotocol.schemas.commands.definitions import title
from handbook.events.history import FIRST, json_rows, stamps, when
from handbook.events.places import EVENTS as TODAY
from handbook.markdown import capitalised, code, definitions, prose, target

__all__ = ["json_events", "names", "text_events"]

_PAGE: Final = "reference/older-protocols"


def names() -> Mapping[str, tuple[str, str]]:
    """The places of events, by the names of their classes; those of JSON also by their names on the wire."""
    found = {row.type: (_PAGE, _anchor(row.type)) for row in EVENTS}
    found.update({_json_class(row): (_PAGE, _anchor(row.type)) for row in EVENTS})
    return {**found, **{_text_class(stamp): (_PAGE, _stamp_anchor(stamp)) for stamp in STAMPS}}


def _anchor(name: str) -> str:
    return f"older-{name.lower().replace('_', '-')}"


def _stamp_anchor(stamp: Stamp) -> str:
    return f"older-text-{stamp.value.__name__.lower()}"


def _json_class(row: EventVersions) -> str:
    return f"json_events.{row.value.__name__}"


def _text_class(stamp: Stamp) -> str:
    return f"text_events.{stamp.value.__name__}"


def json_events(page: str, argument: str) -> str:
    """All events of JSON."""
    named = sorted(EVENTS, key=lambda row: [each.type for each in EVENTS].index(row.type))
    return "\n\n".join(_json_event(name, list(rows)) for name, rows in groupby(named, lambda row: row.type)) + "\n"


def _json_event(name: str, rows: list[EventVersions]) -> str:
    last = rows[-1]
    parts = [f"{target(_anchor(name))}\n### {code(name)}", _sentence(title(last.value))]
    facts = [("Sent by", "; ".join(_said(row) for row in rows)), ("In Python", code(_json_class(last)))]
    if last.successor:
        facts.append((f"Since {written(last.until)}", code(last.successor)))
    facts.append(("Today", _today({name for name in TODAY for row in json_rows(name) if row.value is last.value})))
    parts.append("  \n".join(f"{name}: {text}." for name, text in facts))
    parts.append(_fields(last))
    return "\n\n".join(parts)


def _sentence(text: str) -> str:
    """The purpose of an event, without its sender: the facts below it show the sender."""
    said = text.partition(": ")[2] or text
    return prose(capitalised(said))


def _said(row: EventVersions) -> str:
    """The sides that send an event, and the versions."""
    return ", ".join(filter(None, (sides(row), when(row.since, row.until))))


def _today(events: set[str]) -> str:
    return ", ".join(code(name) for name in TODAY if name in events) or "nothing"


def _fields(row: EventVersions) -> str:
    found = list(fields(row))
    if not found:
        return "No fields."
    if not found[0].name:
        return f"Its fields have the names of their content: {prose(found[0].meaning)}"
    return definitions(
        (
            f"{code(each.name)} {', '.join((each.kind, *filter(None, map(_worth_saying, each.notes))))}",
            prose(capitalised(each.meaning)),
        )
        for each in found
    )


def _worth_saying(note: str) -> str:
    """A note without "since" for fields that exist since the first version."""
    return note.removeprefix(f"since {written(FIRST)}").removeprefix(", ")


def text_events(page: str, argument: str) -> str:
    """All stamps of text."""
    return "\n\n".join(map(_stamp, STAMPS)) + "\n"


def _stamp(stamp: Stamp) -> str:
    return "\n\n".join(_stamp_parts(stamp))


def _stamp_parts(stamp: Stamp) -> Iterator[str]:
    yield f"{target(_stamp_anchor(stamp))}\n### {code(stamp.letter)}"
    yield _sentence(title(stamp.value))
    since = f", since text-{stamp.since}" if stamp.since > VERSIONS[0] else ""
    facts = [("Sent by", f"{sides(stamp)}{since}{'' if stamp.is_sent else ', but no Batsim sends it'}")]
    facts.append(("Content", code(stamp.content) if stamp.content else "nothing"))
    facts.append(("In Python", code(_text_class(stamp))))
    facts.append(("Today", _today({name for name in TODAY if stamp in stamps(name)})))
    yield "  \n".join(f"{name}: {text}." for name, text in facts)
