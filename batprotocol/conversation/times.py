"""Times: the now of a message, and the timestamps of its events.

The functions report what is wrong. Most times are right, which the conversation finds itself: it calls these functions
only for wrong times.
"""

from __future__ import annotations

import math

from batprotocol import model
from batprotocol._util.steps.counting import step
from batprotocol.conversation.state import State

__all__ = ["after_now", "now", "order", "timestamps"]


def order(state: State, timestamp: float) -> None:
    """Report the timestamp of an event of a reply that is not after those before it."""
    path, first = f"events[{state.index}].timestamp", state.first_timestamp
    if timestamp != timestamp or first is None:
        state.report_at("time.not-a-number", path, "the timestamp is not a number")
    elif timestamp < first:
        text = f"timestamp {timestamp} is before that of the first event, {first}"
        state.report_at("time.before-first", path, text)
    else:
        text = f"timestamp {timestamp} is before that of the event before it, {state.last_timestamp}"
        state.report_at("time.order", path, text)


def now(state: State, now: float, infinite: str = "time.infinite") -> None:
    """Report what is wrong with the now of a message of the decision component.

    Args:
        state: the state, which takes the report.
        now: the now, which is before the state's own, or is not a time.
        infinite: the rule that an infinite now breaks.
    """
    if now == math.inf:
        state.report_at(infinite, "now", "now is infinite")
    elif now != now:
        state.report_at("time.now-not-a-number", "now", "now is not a number")
    else:
        state.report_at("time.past", "now", f"now is {now}, and the simulated time is {state.now}")


def timestamps(state: State, message: model.Message) -> None:
    """Report the events of a message that are after its now."""
    for index, event in enumerate(message.events):
        step()
        if not event.timestamp <= message.now and event.timestamp == event.timestamp:
            state.index = index
            after_now(state, event, message)


def after_now(state: State, event: model.Event, message: model.Message) -> None:
    """Report an event that is after the now of its message."""
    text = f"timestamp {event.timestamp} of {type(event).__name__} is after now, {message.now}"
    state.report_at("time.after-now", f"events[{state.index}].timestamp", text)
