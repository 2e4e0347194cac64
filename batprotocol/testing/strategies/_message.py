"""Strategies for messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.testing.strategies._events import direction_of, events_of
from batprotocol.testing.strategies._values import LARGEST, TIMES, cycled, float64s, makes, mostly

_LIGHT_FROM_BATSIM: tuple[model.Event, ...] = (
    model.JobCompletedEvent(job_id="w0!1", state=model.FinalJobState.COMPLETED_SUCCESSFULLY),
    model.RequestedCallEvent(call_me_later_id="call0"),
    model.SimulationEndsEvent(),
)
_LIGHT_TO_BATSIM: tuple[model.Event, ...] = (
    model.RejectJobEvent(job_id="w0!1"),
    model.ExecuteJobEvent(job_id="w0!1", allocation=model.AllocationPlacement("0-3")),
    model.FinishRegistrationEvent(),
)
_LIGHT_EVENTS: dict[model.Direction | None, tuple[model.Event, ...]] = {
    None: _LIGHT_FROM_BATSIM + _LIGHT_TO_BATSIM,
    model.Direction.BATSIM_TO_EDC: _LIGHT_FROM_BATSIM,
    model.Direction.EDC_TO_BATSIM: _LIGHT_TO_BATSIM,
}
"""The events of messages that have a thousand: enough to find errors of long messages, and quick to handle."""


@makes(model.Message)
def messages(
    direction: model.Direction | str | None = None,
    *,
    max_events: int | None = None,
    chronological: bool = True,
    allow_nan: bool = False,
) -> SearchStrategy[model.Message]:
    """Messages of any events, without regard to what may be said when.

    Args:
        direction: only events that go this way, as in `events`; None, the default, mixes both ways.
        max_events: how many events a message holds at most. None, the default, is up to 5, and now and then up to 1500.
        chronological: timestamps are finite, >= 0, ascending, and not after `now`. False allows any doubles.
        allow_nan: whether doubles may be NaN; with `chronological`, all but timestamps and `now`.

    Raises:
        ValueError: this is no direction, or `max_events` is negative.

    `messages("e2b", max_events=1)` makes what a decision component may answer, nothing included.
    """
    side = direction_of(direction)
    if max_events is not None and max_events < 0:
        raise ValueError(f"max_events is an integer >= 0 or None, got {max_events}")
    several = st.lists(events_of(side, allow_nan), max_size=5 if max_events is None else max_events).map(tuple)
    if max_events is None:
        light = st.lists(st.sampled_from(_LIGHT_EVENTS[side]), min_size=1, max_size=3)
        several = mostly(several, st.builds(cycled, light, st.integers(0, 1500)), one_in=16)
    if not chronological:
        return st.tuples(float64s(allow_nan=allow_nan), several).map(lambda parts: model.Message(*parts))
    times = st.one_of(st.sampled_from(TIMES), st.floats(0.0, LARGEST))
    return st.builds(_chronological, several, st.lists(times, min_size=1, max_size=6))


def _chronological(events: Sequence[model.Event], times: Sequence[float]) -> model.Message:
    timestamps = sorted(cycled(times, len(events)))
    stamped = [msgspec.structs.replace(event, timestamp=time) for event, time in zip(events, timestamps, strict=True)]
    return model.Message(max(times), tuple(stamped))


def conversations(rules: str = DEFAULT_RULE_SET) -> SearchStrategy[list[Any]]:
    """Whole conversations of the embedded Batsim with a decision component that does anything it may, as values.

    Each is a list: the initialization data, the hello, then messages and replies in turn, until the reply to
    SimulationEndsEvent. `batprotocol.conversation.check` finds nothing in them that a simulation does not survive.

    Args:
        rules: the rule set that they follow.
    """
    from batprotocol.testing import conformance  # the simulator, which the other strategies do not need

    return conformance.conversations(rules=rules)
