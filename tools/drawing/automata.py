"""The automata of the conversation as sources for Graphviz, from the tables that the rules use.

Events of Batsim have the colour of letters and solid arrows, those of the decision component the colour of links and
dashed arrows. Names of events are links to their pages, relative to `docs/figures/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from html import escape
from itertools import zip_longest
from textwrap import wrap
from typing import Any, Final

from batprotocol.conversation.automaton import HOSTS, JOBS, REGISTRATION, EventType, Phase
from batprotocol.conversation.events import EVENTS, PHASES
from batprotocol.model import (
    BATSIM_TO_EDC,
    CallMeLaterEvent,
    CreateProbeEvent,
    ProbeDataEmittedEvent,
    RequestedCallEvent,
    StopCallMeLaterEvent,
    StopProbeEvent,
)

__all__ = ["sources"]

Table = Mapping[Any, Mapping[EventType, Any]]

_INK: Final = "#222222"
_PALE: Final = "#5a5c63"
_BRAND: Final = "#0a4bff"
_LINES: Final = "#d9d6d9"
_LINE: Final = "<HR/>"

KINDS: Final = {
    "jobs": "jobs",
    "registration": "registration",
    "periodic": "calls, probes",
    "hosts": "hosts",
    "simulation": "inputs",
    "events": "not yet",  # there is nothing to judge them by
}
"""The topics of events, by the module that judges them, in the order in which the figure shows them."""

_SILENT: Final = (
    (Phase.INIT, Phase.HELLO, "the initialization data", True),
    (Phase.END, Phase.OVER, "the last reply", False),
)
"""The steps without an event: from, to, their cause, and whether it comes from Batsim."""

_LOOKS: Final = {
    Phase.RUN: f'group=spine penwidth=2 color="{_BRAND}"',
    Phase.STOP: "",
    Phase.OVER: "group=spine peripheries=2",
}
_ANSWERS: Final = {Phase.END: "a reply has no effect"}


class _Repeated(Enum):
    """The states of calls and probes, which have no table."""

    NONE = "not asked for, or over"
    CALL = "to come, once or more often"
    PROBE = "measures"


def sources() -> dict[str, str]:
    """The source of each automaton by the name of its figure."""
    return {
        "phases": phases(),
        "jobs": automaton(JOBS, "TB"),
        "hosts": automaton(HOSTS, "TB"),
        "registration": automaton(REGISTRATION, "LR"),
        "calls": calls(),
    }


# The pieces


def _from_batsim(event: EventType) -> bool:
    return event in BATSIM_TO_EDC


def _colour(batsim: bool) -> str:
    return _INK if batsim else _BRAND


def _name(event: EventType) -> str:
    """A cell with an event's name, which leads to its page."""
    name = event.__name__
    return _text(name.removesuffix("Event"), _colour(_from_batsim(event)), f'HREF="../reference/events/{name}.md"')


def _text(text: str, colour: str = _PALE, more: str = "") -> str:
    """A cell."""
    return f'<TD ALIGN="LEFT" {more}><FONT COLOR="{colour}">{escape(text)}</FONT></TD>' if text else "<TD></TD>"


def _bold(text: str, colour: str = _INK, more: str = "") -> str:
    return f'<TD ALIGN="LEFT" {more}><FONT COLOR="{colour}"><B>{text}</B></FONT></TD>'


def _table(rows: Iterable[str], padding: int = 1) -> str:
    whole = "".join(row if row == _LINE else f"<TR>{row}</TR>" for row in rows)
    return f'<TABLE COLOR="{_LINES}" BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}">{whole}</TABLE>'


def _state(state: Enum, more: Sequence[str] = (), look: str = "", width: int = 34) -> str:
    """A state: its name, its meaning, and more rows of three columns."""
    span = 'COLSPAN="3"' if more else ""
    meaning = [_text(line, _PALE, span) for line in wrap(state.value, width)]
    return f"{state.name} [label=<{_table([_bold(state.name, _INK, span), *meaning, *more], 3 if more else 1)}> {look}]"


def _arrows(table: Table) -> Iterator[tuple[Any, Any, bool, list[EventType]]]:
    """The arrows of a table: source, target, whether Batsim sends the events, and the events."""
    for source, steps in table.items():
        found: dict[tuple[Any, bool], list[EventType]] = {}
        for event, target in steps.items():
            found.setdefault((target, _from_batsim(event)), []).append(event)
        yield from ((source, target, batsim, events) for (target, batsim), events in found.items())


def _arrow(source: Enum, target: Enum, batsim: bool, rows: Sequence[str]) -> str:
    look = f'color="{_colour(batsim)}" style={"solid" if batsim else "dashed"}'
    return f"{source.name} -> {target.name} [{look} label=<{_table(rows, 2)}>]"


def _graph(direction: str, lines: Sequence[str]) -> str:
    return "\n".join(["digraph {", f"rankdir={direction} nodesep=0.35 ranksep=0.35", *lines, "}", ""])


# The figures


def automaton(table: Table, direction: str) -> str:
    """An automaton of few events: each on its arrow."""
    states = [_state(state, width=24) for state in table]
    arrows = [
        _arrow(source, target, batsim, [_name(event) for event in events])
        for source, target, batsim, events in _arrows(table)
    ]
    return _graph(direction, [*states, *arrows])


def calls() -> str:
    """The automaton of calls and probes, which are alike."""
    none, arrows = _Repeated.NONE, []
    for there, asked, comes, stopped, which in (
        (_Repeated.CALL, CallMeLaterEvent, RequestedCallEvent, StopCallMeLaterEvent, "a periodic one"),
        (_Repeated.PROBE, CreateProbeEvent, ProbeDataEmittedEvent, StopProbeEvent, ""),
    ):
        arrows += [
            _arrow(none, there, False, [_name(asked)]),
            _arrow(there, there, True, [_name(comes)]),
            _arrow(there, none, True, [_name(comes), _text("the last one")]),
            _arrow(there, none, False, [_name(stopped), *([_text(which)] if which else [])]),
        ]
    return _graph("LR", [_state(_Repeated.CALL), _state(none), _state(_Repeated.PROBE), *arrows])


def phases() -> str:
    """The conversation: events between phases are on arrows, and events within a phase are in its box."""
    states = [_state(phase, list(_kept(phase)), _LOOKS.get(phase, "group=spine")) for phase in Phase]
    arrows = [
        _arrow(source, target, batsim, [_name(event) for event in events])
        for source, target, batsim, events in _arrows(PHASES)
        if source is not target
    ]
    silent = [
        _arrow(source, target, batsim, [_text(text, _colour(batsim))]) for source, target, text, batsim in _SILENT
    ]
    return _graph("TB", [*states, *silent, *arrows])


def _kept(phase: Phase) -> Iterator[str]:
    """The events within a phase, as rows: topic, Batsim's events, events of the other side."""
    events = [event for event, target in PHASES[phase].items() if target is phase]
    if events:
        yield _LINE
        batsim = _bold("Batsim sends") if any(map(_from_batsim, events)) else "<TD></TD>"
        yield "<TD></TD>" + batsim + _bold(_ANSWERS.get(phase, "the EDC replies with"), _BRAND)
    for kind, title in KINDS.items():
        about = [event for event in events if EVENTS[event].judge.__module__.rpartition(".")[2] == kind]
        if about:
            yield _LINE
        theirs, ours = ([event for event in about if _from_batsim(event) is batsim] for batsim in (True, False))
        for number, row in enumerate(zip_longest(theirs, ours)):
            yield _text("" if number else title) + "".join(_name(event) if event else "<TD></TD>" for event in row)
