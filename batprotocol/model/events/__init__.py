"""The events of the protocol's `Event` union, and the side that sends each.

All constructors take keyword arguments only. All events have a `timestamp`, in simulated seconds: the time at which the
event happened or is to happen. It must not be later than the `now` of the message. `MessageBuilder` fills it in.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, get_args

from batprotocol.model.events.from_batsim import *
from batprotocol.model.events.from_batsim import EventFromBatsim as EventFromBatsim
from batprotocol.model.events.from_edc import *
from batprotocol.model.events.from_edc import EventFromEDC as EventFromEDC

if not TYPE_CHECKING:  # type checkers export what is imported with `*`, and mypy cannot read such an `__all__`
    from batprotocol.model.events import from_batsim, from_edc

    __all__ = [
        "BATSIM_TO_EDC",
        "EDC_TO_BATSIM",
        "Direction",
        "Event",
        "EventFromBatsim",
        "EventFromEDC",
        *from_batsim.__all__,
        *from_edc.__all__,
    ]


Event: TypeAlias = EventFromBatsim | EventFromEDC
"""Any event. `isinstance(thing, Event)` works."""


class Direction(str, Enum):
    """The side that sends an event or a message."""

    BATSIM_TO_EDC = "b2e"
    """From Batsim to the external decision component."""
    EDC_TO_BATSIM = "e2b"
    """From the external decision component to Batsim."""


BATSIM_TO_EDC: tuple[type[Event], ...] = get_args(EventFromBatsim)
"""The types of the events that Batsim sends."""

EDC_TO_BATSIM: tuple[type[Event], ...] = get_args(EventFromEDC)
"""The types of the events that the decision component sends."""
