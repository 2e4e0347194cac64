"""Strategies for the events, by the side that sends them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import STRATEGIES
from batprotocol.testing.strategies._events.from_batsim import *
from batprotocol.testing.strategies._events.from_edc import *

if not TYPE_CHECKING:  # type checkers export what is imported with `*`, and mypy cannot read such an `__all__`
    from batprotocol.testing.strategies._events import from_batsim, from_edc

    __all__ = ["EVENT_STRATEGIES", "events", *from_batsim.__all__, *from_edc.__all__]

EVENT_STRATEGIES: dict[type[model.Event], Callable[..., SearchStrategy[Any]]] = {
    kind: strategy for kind, strategy in STRATEGIES.items() if kind in get_args(model.Event)
}
"""The strategy of each event type: those that Batsim sends, then those that the decision component sends, in the order
of the schema. All of them take `allow_nan`."""

_TYPES: dict[model.Direction | None, tuple[type[model.Event], ...]] = {
    None: get_args(model.Event),
    model.Direction.BATSIM_TO_EDC: model.BATSIM_TO_EDC,
    model.Direction.EDC_TO_BATSIM: model.EDC_TO_BATSIM,
}


def direction_of(direction: model.Direction | str | None) -> model.Direction | None:
    """The direction that was meant. `ValueError` if there is none such."""
    try:
        return None if direction is None else model.Direction(direction)
    except ValueError:
        raise ValueError(f"a direction is a Direction, 'b2e', 'e2b' or None for both, got {direction!r}") from None


def events(direction: model.Direction | str | None = None, *, allow_nan: bool = False) -> SearchStrategy[model.Event]:
    """Any event.

    Args:
        direction: only what goes this way: `Direction.BATSIM_TO_EDC` or `"b2e"`, `Direction.EDC_TO_BATSIM` or
            `"e2b"`. None, the default, is both ways.
        allow_nan: whether doubles, the timestamp among them, may be NaN.

    Raises:
        ValueError: this is no direction.
    """
    return events_of(direction_of(direction), allow_nan)


@cache
def events_of(direction: model.Direction | None, allow_nan: bool) -> SearchStrategy[model.Event]:
    """The same, of a direction that is one."""
    # Hundreds of strategies, which take tens of milliseconds to make: too long for each draw inside a test.
    return st.one_of(
        [make(allow_nan=allow_nan) for kind, make in EVENT_STRATEGIES.items() if kind in _TYPES[direction]]
    )
