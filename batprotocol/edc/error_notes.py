"""Adds a note to an exception that names the moment of the simulation; the exception itself does not change."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import Any, Final

from batprotocol.errors import an, shown
from batprotocol.model import Event, Message

__all__ = ["MomentNote", "inspection_hint", "moment_of", "note", "note_event", "note_moment"]

logger = logging.getLogger("batprotocol.edc")

_KINDS: Final = {
    "job_id": "job ",
    "job_ids": "jobs ",
    "host_ids": "hosts ",
    "call_me_later_id": "call ",
    "probe_id": "probe ",
    "id": "",
}
"""The fields that identify the object of an event, each with a word for the kind of object."""


class MomentNote(str):
    """A note that names a moment of a simulation.

    Attributes:
        message: the number of the message that the scheduler was answering; message 0 is the initialization data.
    """

    message: int = 0


def note_event(error: BaseException, message: Message, number: int, event: Event | None) -> None:
    """Note which event a scheduler was handling when it raised an exception.

    Args:
        error: the exception.
        message: the message that the scheduler was answering.
        number: the number of the message.
        event: the event; None if it had handled all events, and was deciding.
    """
    where = "in decide, after all its events"
    if event is not None:
        index = next(index for index, each in enumerate(message.events) if each is event)
        where = f"about events[{index}], {an(type(event).__name__)}{_of(event)}"
    note_moment(error, f"at simulated time {message.now}, in message {number}, {where}", number)


def _of(event: Event) -> str:
    """The object of an event, as a part of a sentence; or ""."""
    for name, kind in _KINDS.items():
        value = getattr(event, name, None)
        if value is not None:
            return f" of {kind}{shown(value)}"
    return ""


def note_moment(error: BaseException, text: str, number: int) -> None:
    """Note the moment of an exception. It replaces the note of another moment.

    Python shows notes since 3.11. Before, the moment is also logged.
    """
    moment = MomentNote(text)
    moment.message = number
    _keep(error, [*(each for each in _notes_of(error) if not isinstance(each, MomentNote)), moment])
    if sys.version_info < (3, 11):
        logger.error("%s: %s", type(error).__name__, moment)


def note(error: BaseException, text: str) -> None:
    """Add a note to an exception."""
    _keep(error, [*_notes_of(error), text])


def _notes_of(error: BaseException | None) -> list[str]:
    notes: Any = getattr(error, "__notes__", None)
    return list(notes) if isinstance(notes, list | tuple) else []


def _keep(error: BaseException, notes: list[str]) -> None:
    with suppress(Exception):  # not every exception lets itself be changed
        vars(error)["__notes__"] = notes


def moment_of(error: BaseException | None) -> MomentNote | None:
    """The moment of a simulation at which an exception was raised; None if nobody noted it."""
    return next((each for each in _notes_of(error) if isinstance(each, MomentNote)), None)


def inspection_hint(moment: MomentNote, record: str | None, option: str) -> str:
    """A sentence that says how to see the message that the scheduler was answering.

    Args:
        moment: the moment.
        record: the recording of the simulation, or None.
        option: the option that records a simulation.
    """
    where = f"{record or 'run.tar.xz'}/{moment.message:05}-b2e.bin"
    return (
        f"batproto dump {where} shows that message"
        if record
        else f"record with {option}, then batproto dump {where} shows that message"
    )
