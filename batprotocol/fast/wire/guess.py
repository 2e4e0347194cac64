"""Payloads without a known topic: the message that they could be, by their keys. For files, and for people."""

from __future__ import annotations

from typing import Any, Final

from batprotocol.errors import DecodeError
from batprotocol.fast import values as v
from batprotocol.fast.messages import ROUTES
from batprotocol.fast.wire.codec import decode_as, task_word
from batprotocol.fast.wire.nodes import MappingNode, compose
from batprotocol.fast.wire.shapes import Reading

__all__ = ["decode_alone"]

_BY_TASK: Final = {route.task: route.message for route in ROUTES if route.task}

_BY_KEYS: Final[tuple[tuple[tuple[str, ...], type[v.FastMessage]], ...]] = (
    (("result", "list"), v.Result),
    (("result", "vm-name"), v.Result),
    (("cores", "result"), v.MmbwmonResponse),
    (("cores",), v.MmbwmonRequest),
    (("job-description",), v.StopMonitoring),
    (("KPI",), v.InitAgent),
    (("hostname",), v.Init),
    (("cgroup",), v.MmbwmonStop),
    (("threads", "numa"), v.SystemInfo),
    ((), v.MmbwmonStopAck),
)
"""The message of payloads with these keys and without a `task`: the first row that fits. Of equal ones, the first."""


def decode_alone(payload: bytes, *, dialect: Reading = "any") -> v.FastMessage:
    """Read a payload without a known topic.

    Raises:
        DecodeError: its keys fit no message, or it is not a valid message of that kind.

    >>> decode_alone(b"cgroup: poncos_0")
    MmbwmonStop(cgroup='poncos_0')
    """
    message: v.FastMessage = decode_as(_class_of(payload), payload, dialect=dialect)
    return message


def _class_of(payload: bytes) -> type[Any]:
    node = compose(payload)
    word = task_word(node)
    entries = node.entries if isinstance(node, MappingNode) else {}
    if word in _BY_TASK:
        return _BY_TASK[word]
    found = next((cls for keys, cls in _BY_KEYS if all(key in entries for key in keys) and (keys or not entries)), None)
    if found is None:
        keys = ", ".join(map(repr, list(entries)[:8]))
        raise DecodeError(f"no message has the keys {keys}", line=node.line, column=node.column)
    return found
