"""When in a simulation an exception was raised: told in a note, and the exception stays what it is.

It must not know whose fault it is, nor who shows it.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import Any, Final

from batprotocol.errors import an, shown
from batprotocol.model import Event, Message

__all__ = ["Moment", "how_to_look", "moment_of", "note", "note_event", "note_moment"]

logger = logging.getLogger("batprotocol.edc")

_KINDS: Final = {
    "job_id": "job ",
    "job_ids": "jobs ",
    "host_ids": "hosts ",
    "call_me_later_id": "call ",
    "probe_id": "probe ",
    "id": "",
}
"""The fields that tell which one an event is about, where it has them, and what that is."""


class Moment(str):
    """A note that tells when it was.

    Attributes:
        message: the number of the message that was being answered, counted from the initialization data (0) on.
    """

    message: int = 0


def note_event(error: BaseException, message: Message, number: int, event: Event | None) -> None:
    """Tell in a note which event a scheduler was told of when it raised this.

    Args:
        error: what was raised.
        message: the message that was being answered.
        number: its number.
        event: the event; None if all had been told, and it was to decide.
    """
    where = "when all its events had been told"
    if event is not None:
        index = next(index for index, each in enumerate(message.events) if each is event)
        where = f"about events[{index}], {an(type(event).__name__)}{_of(event)}"
    note_moment(error, f"at simulated time {message.now}, in message {number}, {where}", number)


def _of(event: Event) -> str:
    """What an event is of, as a part of a sentence; or ""."""
    for name, kind in _KINDS.items():
        value = getattr(event, name, None)
        if value is not None:
            return f" of {kind}{shown(value)}"
    return ""


def note_moment(error: BaseException, text: str, number: int) -> None:
    """Tell in a note of an exception when it was raised, in the place of what was told of another moment.

    Before Python 3.11, which shows no notes, it is logged, too.
    """
    moment = Moment(text)
    moment.message = number
    _keep(error, [*(each for each in _notes_of(error) if not isinstance(each, Moment)), moment])
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


def moment_of(error: BaseException | None) -> Moment | None:
    """When in a simulation an exception was raised, None if nobody has told."""
    return next((each for each in _notes_of(error) if isinstance(each, Moment)), None)


def how_to_look(moment: Moment, record: str | None, option: str) -> str:
    """How to see the message that was being answered, as a sentence.

    Args:
        moment: when it was.
        record: where the simulation was recorded, or None.
        option: how to have it recorded.
    """
    where = f"{record or 'run.tar.xz'}/{moment.message:05}-b2e.bin"
    return (
        f"batproto dump {where} shows that message"
        if record
        else f"{option} keeps what is said, for batproto dump {where}"
    )
