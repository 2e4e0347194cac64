"""Events later than their message: refused in both formats by both engines, and written if the caller allows them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from cases import talk
from engines import each_engine
from exact import exact, one_nan
from hypothesis import given

from batprotocol.conversation import Conversation
from batprotocol.errors import EncodeError
from batprotocol.model import EDCHelloEvent, Message, RejectJobEvent
from batprotocol.testing import strategies as bat
from batprotocol.wire import binary, frames, json

WRITERS: dict[str, Callable[..., Any]] = {
    "to_binary": Message.to_binary,
    "to_json": Message.to_json,
    "to_json with indent": lambda message, **options: message.to_json(2, **options),
    "binary.encode": lambda message, **options: binary.encode(message, **options),
    "json.encode": json.encode,
    "json.dumps": json.dumps,
}
LATE = Message(1.0, (RejectJobEvent(timestamp=0.5, job_id="w!1"), RejectJobEvent(timestamp=5.0, job_id="w!2")))


def read(data: Any) -> Message:
    """A message in either format."""
    is_json = isinstance(data, str) or data[:1] == b"{"
    return Message.from_json(data) if is_json else Message.from_binary(data)


@pytest.mark.parametrize("writer", WRITERS)
def test_the_error_names_the_event_and_both_times(writer: str) -> None:
    for _ in each_engine():
        with pytest.raises(EncodeError) as refused:
            WRITERS[writer](LATE)
        assert refused.value.path == "events[1].timestamp"
        assert "RejectJobEvent is at 5.0, after the now of its message, 1.0" in refused.value.reason
        assert read(WRITERS[writer](LATE, allow_late_events=True)) == LATE


@given(bat.messages())
def test_what_is_in_time_is_written(message: Message) -> None:
    for writer, _ in itertools.product(WRITERS.values(), each_engine()):
        data = writer(message)
        assert data == writer(message, allow_late_events=True)
        assert read(data) == message


@given(bat.messages("e2b", chronological=False, allow_nan=True))
def test_the_writers_refuse_what_the_rules_report(message: Message) -> None:
    *before, reply = talk(message)
    conversation = Conversation()
    for said in before:
        conversation.feed(said)
    is_late = "time.after-now" in {violation.rule for violation in conversation.feed(reply)}
    for writer, _ in itertools.product(WRITERS.values(), each_engine()):
        data = writer(message, allow_late_events=True)
        assert exact(read(data), one_nan) == exact(message, one_nan)
        if is_late:
            with pytest.raises(EncodeError, match="after the now of its message"):
                writer(message)
        else:
            assert writer(message) == data


@pytest.mark.parametrize(
    ("now", "timestamp", "is_late"),
    [
        (1.0, 1.0, False),
        (1.0, math.nextafter(1.0, 2.0), True),
        (-0.0, 0.0, False),
        (1, 2, True),  # whole numbers are written by the Python engine
        (2, 1, False),
        (math.inf, math.inf, False),
        (1.0, math.inf, True),
        (1.0, math.nan, False),  # the rules report it: it is no time
        (math.nan, 1.0, True),
    ],
)
def test_late_is_what_is_after_now(now: float, timestamp: float, is_late: bool) -> None:
    message = Message(now, (RejectJobEvent(timestamp=timestamp, job_id="w!1"),))
    for writer, _ in itertools.product(WRITERS.values(), each_engine()):
        assert writer(message, allow_late_events=True)
        if is_late:
            with pytest.raises(EncodeError):
                writer(message)
        else:
            assert writer(message)


@pytest.mark.parametrize("format", ["binary", "json"])
def test_a_late_hello(format: str) -> None:
    event = EDCHelloEvent(
        timestamp=1.0, batprotocol_version="", decision_component_name="n", decision_component_version=""
    )
    late = Message(0.0, (event,))
    with pytest.raises(EncodeError, match="after the now"):
        frames.encode_hello(late, format)
    frame = frames.encode_hello(late, format, allow_late_events=True)
    assert frames.decode_hello(frame).message == late


def test_another_error_comes_first() -> None:
    wrong: Any = Message(1.0, (RejectJobEvent(timestamp=5.0, job_id=None),))  # type: ignore[arg-type]
    for writer, _ in itertools.product(WRITERS.values(), each_engine()):
        with pytest.raises(EncodeError) as refused:
            writer(wrong)
        assert refused.value.path == "events[0].event.job_id"


def test_the_permission_is_asked_for_by_its_name() -> None:
    for engine in binary.ENGINES:
        write: Any = binary.engine(engine).encode
        for arguments, options in (((LATE, True), {}), ((), {}), ((LATE,), {"late": True})):
            with pytest.raises(TypeError):
                write(*arguments, **options)
