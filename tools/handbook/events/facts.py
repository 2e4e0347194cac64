"""The overview of an event: its meaning, who sends it and when, and its names in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

from batprotocol import model
from batprotocol.conversation.automaton import HOSTS, JOBS, REGISTRATION, Phase
from batprotocol.conversation.events import EVENTS as ROWS
from batprotocol.edc.scheduler import METHODS
from handbook.events import ages
from handbook.events.calls import method_of
from handbook.events.docstrings import said, sentence
from handbook.events.layout import rows
from handbook.events.places import EVENTS, SPEAKERS, event_of, speaker_of
from handbook.markdown import code, listed, prose

__all__ = ["event", "events"]

_ANSWERED: Final = re.compile(r"Batsim answers with an? `(\w+)`([^.]*)\.")
_REPLY: Final = re.compile(r" Batsim answers with [^.]*\.")
_AUTOMATA: Final[tuple[tuple[str, Mapping[Any, Mapping[Any, Any]]], ...]] = (
    ("A job", JOBS),
    ("A host", HOSTS),
    ("Registration", REGISTRATION),
)
_CONVERSATION: Final = "../../explanation/conversation.md"


def event(page: str, argument: str) -> str:
    """The text and the table under the title of the page of an event."""
    kind = event_of(page)
    return f"{prose(_REPLY.sub('', sentence(kind)))}\n\n{rows(_rows(kind))}"


def _rows(kind: type[model.Event]) -> Iterator[tuple[str, str]]:
    yield "Sent by", speaker_of(kind)
    yield "When", f"{_phases(kind)} ([phases]({_CONVERSATION}#the-phases))"
    for what, automaton in _AUTOMATA:
        steps = [(state, there[kind]) for state, there in automaton.items() if kind in there]
        if steps:
            yield what, f"{_steps(steps)} ([drawn]({_CONVERSATION}#{what.lower().replace(' ', '-')}))"
    (answer, when), asks = _answer(kind), [each for each in EVENTS.values() if _answer(each)[0] == kind.__name__]
    if answer:
        yield "Answer", f"{code(answer)}{when}"
    if asks:
        yield "Answer to", listed(f"{code(each.__name__)}{_condition(each)}" for each in asks)
    if kind in METHODS:
        yield "Scheduler", code(f"Scheduler.{METHODS[kind]}")
    yield "Builder", code(f"MessageBuilder.{method_of(kind)}")
    yield "Since", f"Batsim 5, [schema](../../howto/read-other-schemas.md) of {ages.since(kind.__name__)}"


def _answer(kind: type[model.Event]) -> tuple[str, str]:
    """The event that answers it, and when, by its docstring."""
    found = _ANSWERED.search(said(kind))
    return (found[1], found[2]) if found else ("", "")


def _condition(kind: type[model.Event]) -> str:
    """The condition under which an event is answered."""
    when = _answer(kind)[1]
    return when if when.startswith(" if ") else ""


_WHEN: Final = {
    Phase.HELLO: "before anything else",
    Phase.BEGIN: "in Batsim's first message",
    Phase.RUN: "while the simulation runs",
    Phase.STOP: "after a stop was requested",
}


def _phases(kind: type[model.Event]) -> str:
    """When the event may be sent, and the phase that follows."""
    steps = ROWS[kind].steps
    text = listed([_WHEN[phase] for phase in steps if phase is not Phase.END], "or")
    after = {to.meaning for phase, to in steps.items() if to is not phase and to is not Phase.BEGIN}
    if after:
        text += f"; from then on: {listed(sorted(after))}"
    return text + ("; in the last reply without effect" if steps.get(Phase.END) is Phase.END else "")


def _steps(steps: list[tuple[Enum, Enum]]) -> str:
    """The steps of an automaton in words: those that change the state, if there are any."""
    leading = [(before, after) for before, after in steps if before is not after]
    described = (
        f"{before.value} → {'the same' if before is after else after.value}" for before, after in leading or steps
    )
    return prose("; or ".join(described))


def events(page: str, argument: str) -> str:
    """All events by sender, each with a sentence."""
    parts = []
    for speaker, kinds in SPEAKERS.items():
        table = rows(((code(kind.__name__), prose(_briefly(kind))) for kind in kinds), "about halves")
        parts.append(f"## From {speaker}\n\n{table}")
    return "\n\n".join(parts)


def _briefly(kind: type[model.Event]) -> str:
    """The meaning of an event, or the first sentence of it if there are many."""
    text = _REPLY.sub("", sentence(kind))
    return text if len(text) < 110 else text.partition(". ")[0].rstrip(".") + "."
