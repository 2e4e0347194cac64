"""Recordings of the messages of a broker: one line of JSON for each message, in the format of `mosquitto_sub -F %j`."""

from __future__ import annotations

import base64
import binascii
import json
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Final, NamedTuple

from batprotocol.errors import DecodeError, shown

__all__ = ["LONGEST", "Recorded", "read_line", "write_line"]

LONGEST: Final = 2**23
"""The maximum number of bytes of a line."""

_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?Z?(?:([+-])([0-9]{2}):?([0-9]{2}))?",
    re.ASCII,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Recorded(NamedTuple):
    """A message, and its metadata from the broker.

    Attributes:
        topic: its topic.
        payload: its bytes.
        time: when it came, in seconds since 1970.
        qos: its quality of service.
        retain: whether the broker had kept it.
        mid: its number, 0 if it has none.
    """

    topic: str
    payload: bytes
    time: float = 0.0
    qos: int = 0
    retain: bool = False
    mid: int = 0


def read_line(line: str | bytes) -> Recorded:
    """Read a line of a recording.

    Args:
        line: an object with a `topic`; its other members are `tst` (the time), `qos`, `retain`, `mid` and `payload`, a
            text or null for none, or `payload_base64` for bytes that are not text.

    Raises:
        DecodeError: the line is not such an object; the path is the wrong member.

    >>> read_line('{"tst":"1970-01-01T00:00:01.500000Z+0000","topic":"fast/migfra/a/task","payload":"task: quit"}')
    Recorded(topic='fast/migfra/a/task', payload=b'task: quit', time=1.5, qos=0, retain=False, mid=0)
    """
    if len(line) > LONGEST:
        raise DecodeError(f"expected a line of at most {LONGEST:,} bytes, found {len(line):,}")
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise DecodeError(
            f"this is not a line of a recording: {error.msg}", column=error.colno, line=error.lineno
        ) from None
    except (ValueError, RecursionError) as error:  # bytes that are not text, numbers of thousands of digits
        raise DecodeError(f"this is not a line of a recording: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("topic"), str):
        raise DecodeError("this is not a line of a recording: expected an object with a topic")
    try:
        found["topic"].encode()
    except UnicodeEncodeError:
        raise DecodeError(f"expected Unicode, found {shown(found['topic'])} with half a character", "topic") from None
    return Recorded(
        found["topic"],
        _payload(found),
        _seconds(found["tst"]) if "tst" in found else 0.0,
        _number(found, "qos", 2),
        bool(_number(found, "retain", 1)),
        _number(found, "mid", 2**31),
    )


def write_line(recorded: Recorded) -> str:
    """The line of a recording for a message, without a line break.

    >>> write_line(Recorded("fast/migfra/a/task", b"task: quit", 1.5))[:79]
    '{"tst":"1970-01-01T00:00:01.500000Z+0000","topic":"fast/migfra/a/task","qos":0,'
    """
    when = _EPOCH + timedelta(microseconds=round(recorded.time * 1e6))
    line: dict[str, Any] = {
        "tst": when.strftime("%Y-%m-%dT%H:%M:%S.%fZ%z"),
        "topic": recorded.topic,
        "qos": recorded.qos,
        "retain": int(recorded.retain),
        "payloadlen": len(recorded.payload),
        "mid": recorded.mid,
    }
    try:
        line["payload"] = recorded.payload.decode() or None
    except UnicodeDecodeError:
        line["payload_base64"] = base64.b64encode(recorded.payload).decode()
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def _payload(found: dict[str, Any]) -> bytes:
    text = found.get("payload")
    if text is None and "payload_base64" in found:
        try:
            return base64.b64decode(found["payload_base64"], validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise DecodeError("expected a text in base64", "payload_base64") from None
    if text is None:
        return b""
    if not isinstance(text, str):
        raise DecodeError(f"expected a text or null, found {shown(text)}", "payload")
    return text.encode(errors="replace")


def _seconds(text: Any) -> float:
    """A time such as `2026-11-21T12:25:21.160165Z+0000`, in seconds since 1970."""
    found = _TIME.fullmatch(text) if isinstance(text, str) else None
    try:
        if found is None:
            raise ValueError
        when = datetime.fromisoformat(found[1]).replace(tzinfo=timezone.utc)
        if found[3]:
            offset = timedelta(hours=int(found[4]), minutes=int(found[5]))
            when = when + offset if found[3] == "-" else when - offset
    except (ValueError, OverflowError):  # such as the year 10000
        raise DecodeError(f"expected a time, found {shown(text)}", "tst") from None
    return (when - _EPOCH).total_seconds() + float(f"0.{found[2] or 0}")


def _number(found: dict[str, Any], name: str, largest: int) -> int:
    value = found.get(name, 0)
    if not isinstance(value, int | float) or not 0 <= value <= largest or value != int(value):
        raise DecodeError(f"expected a number in [0, {largest}], found {shown(value)}", name)
    return int(value)
