"""Calls the methods of a scheduler in a turn: one for each event, then `decide`. It must not know what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mypy_extensions import mypyc_attr

from batprotocol._util.steps.counting import step
from batprotocol.edc.moments import note_event
from batprotocol.edc.session import LAST_EVENTS, Turn
from batprotocol.model import Event

__all__ = ["Attendant"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Attendant:
    """Lets a scheduler fill in the replies of its turns.

    Args:
        scheduler: the scheduler; its `_turn` becomes the open turn.
        methods: the methods by type of event. Each of `LAST_EVENTS` has one.
        decides: whether to call `decide` after the events. It is never called after a last event.
    """

    def __init__(self, scheduler: Any, methods: Mapping[type, Callable[[Any], object]], decides: bool) -> None:
        self._scheduler = scheduler
        self._methods = dict(methods)
        self._decides = decides

    def attend(self, turn: Turn) -> None:
        """Let the scheduler fill in the reply of this turn."""
        scheduler, methods = self._scheduler, self._methods
        scheduler._turn = turn
        goes_on = self._decides
        current: Event | None = None
        try:
            for event in turn.message.events:
                step()
                kind = type(event)
                method = methods.get(kind)
                if method is not None:
                    current = event
                    method(event)
                    if kind in LAST_EVENTS:  # which is asked only of those with a method
                        goes_on = False
            if goes_on:
                current = None
                scheduler.decide()
        except Exception as error:
            note_event(error, turn.message, turn.conversation.number - 1, current)
            raise
