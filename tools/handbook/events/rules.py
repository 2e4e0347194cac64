"""The rules that an event can break: those in the code that checks it, and those of whole messages from a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from batprotocol import model
from batprotocol.conversation.automaton import Phase
from batprotocol.conversation.events import EVENTS as ROWS
from batprotocol.conversation.rules import CATALOGUE
from handbook.events.layout import entries
from handbook.events.mentions import mentioned
from handbook.events.places import event_of, speaker_of
from handbook.markdown import code, listed, prose
from handbook.severities import severities

__all__ = ["event_rules", "general", "own"]

_JUDGES: Final = "batprotocol.conversation"

_OF_MESSAGES: Final[Mapping[type[model.Event], tuple[str, ...]]] = {
    model.EDCHelloEvent: ("frame.init", "frame.hello", "frame.flags", "hello.first-message"),
    model.SimulationBeginsEvent: ("simulation.not-begun",),
    model.JobSubmittedEvent: ("simulation.stuck-jobs",),
    model.ExecuteJobEvent: ("simulation.stuck-jobs",),
    model.RejectJobEvent: ("simulation.stuck-jobs",),
    model.FinishRegistrationEvent: ("simulation.stuck-registration",),
    model.RegisterJobEvent: ("simulation.stuck-jobs", "simulation.stuck-registration"),
    model.ForceSimulationStopEvent: ("stop.dropped",),
    model.CallMeLaterEvent: ("simulation.endless",),
    model.CreateProbeEvent: ("simulation.endless",),
}
"""The rules about whole messages whose violation depends on these events."""

_OF_ALL: Final = ("turn.order", "message.unreadable", "event.wrong-direction", "event.out-of-phase", "time.after-now")
_OF_BATSIM: Final = ("time.backwards",)
_OF_EDC: Final = (
    "message.unverified",
    "time.before-first",
    "time.order",
    "time.infinite",
    "time.not-a-number",
    "time.now-not-a-number",
    "time.past",
)


def _in_order(rules: set[str]) -> tuple[str, ...]:
    return tuple(rule for rule in CATALOGUE.rules if rule in rules)


@cache
def own(kind: type[model.Event]) -> tuple[str, ...]:
    """The rules that are about events of this type, in the order of the catalogue."""
    row = ROWS[kind]
    found = {rule for rule, _ in row.misplaced.values()} | set(_OF_MESSAGES.get(kind, ()))
    for judge in filter(None, (row.judge, row.read)):
        found |= mentioned(judge, _JUDGES).texts & CATALOGUE.rules.keys()
    return _in_order(found)


@cache
def general(kind: type[model.Event]) -> tuple[str, ...]:
    """The rules that all events of this side can break."""
    if kind in model.BATSIM_TO_EDC:
        return _in_order({*_OF_ALL, *_OF_BATSIM})
    found = {*_OF_ALL, *_OF_EDC}
    if Phase.STOP not in ROWS[kind].steps and kind is not model.EDCHelloEvent:
        found.add("stop.dropped")
    if ROWS[kind].steps.get(Phase.END) is Phase.END:
        found.add("end.useless")
    return _in_order(found - set(own(kind)))


def event_rules(page: str, argument: str) -> str:
    """The section about the rules of the event of a page."""
    kind = event_of(page)
    parts = ["## Rules", ""]
    if own(kind):
        parts.append(entries(_entries(own(kind))))
    also = "also " if own(kind) else ""
    start = f"Like all events from {speaker_of(kind)}, it can {also}break"
    parts.append(f"{start} {listed(map(code, general(kind)), 'or')}.\n")
    return "\n".join(parts)


def _entries(rules: tuple[str, ...]) -> Iterator[tuple[str, str, str, str]]:
    for rule in rules:
        row = CATALOGUE.rules[rule]
        yield "", f"{code(rule)} {prose(row.title)}", severities(row, CATALOGUE), prose(row.explanation)
