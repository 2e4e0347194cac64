"""Ids that a decision component made up become what they stand for: when a call or a probe was asked for, and how.

Two runs whose calls have other ids have the same names here. It must not know of messages.
"""

from __future__ import annotations

from bisect import insort
from math import inf
from typing import NamedTuple

from batprotocol import model

__all__ = ["Names", "as_milliseconds"]

_FACTORS = {model.TimeUnit.Second: 1000}


def as_milliseconds(trigger: model.TemporalTrigger) -> model.TemporalTrigger:
    """The same trigger in milliseconds, the smallest unit that there is.

    >>> as_milliseconds(model.OneShot(2)).time
    2000
    """
    factor, unit = _FACTORS.get(trigger.time_unit, 1), model.TimeUnit.Millisecond
    if factor == 1:
        return trigger
    if isinstance(trigger, model.OneShot):
        return model.OneShot(trigger.time * factor, unit)
    return model.Periodic(trigger.period * factor, trigger.offset * factor, unit, trigger.mode)


class _Asked(NamedTuple):
    """Something that fires: when it is due (infinite for what is periodic), and its name."""

    due: float
    number: int
    name: str


class Names:
    """The names of calls or of probes."""

    def __init__(self) -> None:
        self._asked: dict[str, list[_Asked]] = {}
        self._count = 0

    def ask(self, id: str, trigger: model.TemporalTrigger, place: str) -> str:
        """Something is asked for under this id; its name, of its place in the conversation and its trigger."""
        self._count += 1
        name = f"{place}, {trigger!r}"
        due = trigger.time / 1000.0 if isinstance(trigger, model.OneShot) else inf
        insort(self._asked.setdefault(id, []), _Asked(due, self._count, name))
        return name

    def fire(self, id: str, time: float, *, last: bool) -> str:
        """The canonical form of the call that fires with this id at this time, or the id if it was not requested.

        Args:
            id: the id.
            time: the time, in simulated seconds.
            last: whether a periodic one ends with this.
        """
        asked = self._asked.get(id)
        if not asked:
            return id
        found = asked[-1] if last or asked[0].due > time + 1e-6 else asked[0]
        if last or found.due < inf:
            self._drop(id, found)
        return found.name

    def stop(self, id: str) -> str:
        """What is periodic under this id, and comes no more."""
        asked = self._asked.get(id)
        if not asked or asked[-1].due < inf:
            return id
        found = asked[-1]
        self._drop(id, found)
        return found.name

    def get(self, id: str) -> str:
        """The last request with this id."""
        asked = self._asked.get(id)
        return asked[-1].name if asked else id

    def _drop(self, id: str, found: _Asked) -> None:
        self._asked[id].remove(found)
        if not self._asked[id]:
            del self._asked[id]
