"""The clock of MessageBuilder, and its life: open, finished, cleared."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from calls import CALLS, NOW, adding, refusal, state
from hypothesis import given
from hypothesis import strategies as st

from batprotocol import model
from batprotocol.builder import MessageBuilder
from batprotocol.errors import BuilderError
from batprotocol.model import Message

WITHOUT_ENGINE = True

Step = Callable[[MessageBuilder], object]
finite = st.floats(allow_nan=False, allow_infinity=False)
anything = st.floats() | st.integers(-(2**70), 2**70)


@given(start=finite, steps=st.lists(st.tuples(st.sampled_from(["add_", "add", "set", "wrong", "clear"]), anything)))
def test_time_only_goes_forward_and_stamps_are_the_current_time(start: float, steps: list[tuple[str, float]]) -> None:
    builder = MessageBuilder(start)
    now, stamps = float(start), []
    for kind, value in steps:
        forward = math.isfinite(value) and value >= now
        if kind == "add_":
            builder.add_reject_job("w0!1")
            stamps.append(now)
        elif kind == "wrong":
            refusal(builder, lambda b: b.add_reject_job(""))
        elif kind == "clear" and math.isfinite(value):
            builder.clear(value)
            now, stamps = float(value), []
        elif kind == "set" and forward:
            builder.set_current_time(value)
            now = float(value)
        elif kind == "set":
            assert refusal(builder, lambda b, value=value: b.set_current_time(value)).path == "now"  # type: ignore[misc]  # a lambda's default
        elif kind == "add" and (value == 0 or forward):
            builder.add(model.RejectJobEvent(job_id="w0!1", timestamp=value))
            now = now if value == 0 else float(value)
            stamps.append(now)
        elif kind == "add":
            event = model.RejectJobEvent(job_id="w0!1", timestamp=value)
            assert refusal(builder, adding(event)).path == "timestamp"
        assert builder.current_time == now
        assert [event.timestamp for event in builder.events] == stamps
    message = builder.finish_message()
    assert message.now == now
    assert [event.timestamp for event in message.events] == stamps == sorted(stamps)
    assert all(type(event.timestamp) is float for event in message.events)


def test_the_clock_starts_where_it_is_told() -> None:
    assert MessageBuilder().current_time == 0.0
    assert MessageBuilder(-3).current_time == -3.0
    assert type(MessageBuilder(3).current_time) is float
    with pytest.raises(BuilderError, match=r"^now: .*nan"):
        MessageBuilder(math.nan)


def test_an_event_without_timestamp_is_stamped_even_when_the_clock_is_below_zero() -> None:
    builder = MessageBuilder(-5)
    builder.add(model.RejectJobEvent(job_id="w0!1"))
    builder.add(model.RejectJobEvent(job_id="w0!2", timestamp=-4))
    assert [event.timestamp for event in builder.events] == [-5.0, -4.0]
    assert builder.current_time == -4.0


def test_finish_takes_the_current_time_or_a_later_one() -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!1")
    assert builder.finish_message() == Message(NOW, (model.RejectJobEvent(job_id="w0!1", timestamp=NOW),))
    builder.clear(NOW)
    assert builder.finish_message(20) == Message(20.0, ())
    assert builder.current_time == 20.0


AFTER_THE_END: list[Step] = [
    *(call.on for call in CALLS),
    lambda b: b.add(model.SimulationEndsEvent()),
    lambda b: b.set_current_time(100),
    lambda b: b.finish_message(),
    lambda b: b.finish_message(100),
]


@pytest.mark.parametrize("step", AFTER_THE_END)
def test_nothing_but_clear_goes_on_after_the_end(step: Step) -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!1")
    message = builder.finish_message()
    assert builder.is_finished
    error = refusal(builder, step)
    assert error.path == "finish_message"
    assert "12.5" in error.reason
    assert "clear()" in error.reason
    builder.clear(1)
    assert state(builder) == ((), 1.0, False, 0)
    builder.add_reject_job("w0!2")
    assert builder.finish_message() == Message(1.0, (model.RejectJobEvent(job_id="w0!2", timestamp=1.0),))
    assert len(message.events) == 1  # a message is not touched by what its builder does later


def test_a_refused_clear_or_finish_leaves_the_builder_as_it_was() -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!1")
    refusal(builder, lambda b: b.finish_message(1))
    refusal(builder, lambda b: b.clear(math.nan))
    assert not builder.is_finished
    builder.finish_message()
    refusal(builder, lambda b: b.clear(math.nan))
    assert builder.is_finished


def test_a_builder_says_what_it_holds() -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!1")
    assert len(builder) == 1
    assert repr(builder) == "<MessageBuilder: 1 events, open at 12.5>"
    builder.finish_message()
    assert repr(builder) == "<MessageBuilder: 1 events, finished at 12.5>"
