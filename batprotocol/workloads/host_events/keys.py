"""The keys of the data of events of hosts, and of the windows in them, each with its meaning and Slurm's word.

The readers, the JSON schema and the page of the handbook use these tables.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

__all__ = ["EVENT_KEYS", "FLAGS", "STATES", "WINDOW_KEYS", "HostEventKey"]


class HostEventKey(NamedTuple):
    """A key of an event or a window.

    Attributes:
        schema: the form of its value, as JSON schema. The reader checks more than a schema can express.
        meaning: one sentence.
        slurm: the parameter of scontrol that means the same; "" if there is none.
    """

    schema: dict[str, Any]
    meaning: str
    slurm: str = ""


STATES: Final[dict[str, tuple[str, str]]] = {
    "down": ("The hosts fail. The jobs on them are lost, and no job starts there.", "State=DOWN"),
    "drain": ("No job starts on the hosts any more. The jobs on them run to their ends.", "State=DRAIN"),
    "up": ("The hosts are back, and jobs can start there.", "State=RESUME"),
}
"""The states that hosts can change to: the meaning, and Slurm's word."""

FLAGS: Final[dict[str, str]] = {
    "MAINT": "The time of the window is planned maintenance, and no failure.",
}
"""The flags of windows, with Slurm's names."""

_NAME: Final = {"type": "string", "minLength": 1, "maxLength": 1000}
_ID: Final = {"anyOf": [_NAME, {"type": "integer"}]}
_TIME: Final = {"type": "number", "minimum": 0, "maximum": 2**53}
_HOSTS: Final = r"^ *[0-9]{1,20}(-[0-9]{1,20})?([ ,]+[0-9]{1,20}(-[0-9]{1,20})?)*[ ,]*$"


def _some(item: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [_NAME, {"type": "array", "items": item, "minItems": 1}]}


EVENT_KEYS: Final[dict[str, HostEventKey]] = {
    "hosts": HostEventKey(
        {"type": "string", "pattern": _HOSTS}, "The numbers of the hosts, such as `0-3,7`.", "NodeName="
    ),
    "state": HostEventKey({"enum": list(STATES)}, "The new state of the hosts.", "State="),
    "reason": HostEventKey({"type": "string", "maxLength": 1000}, "Why, for people.", "Reason="),
    "window": HostEventKey(
        {"$ref": "#/$defs/window"}, "A time for which the hosts are promised.", "create reservation"
    ),
}
"""The keys of the data of an event. It has either `state` or `window`."""

WINDOW_KEYS: Final[dict[str, HostEventKey]] = {
    "begin": HostEventKey(_TIME, "The time at which it begins, in seconds of the simulation.", "StartTime="),
    "end": HostEventKey(_TIME, "The time at which it ends, later than its begin.", "EndTime="),
    "name": HostEventKey(_NAME, "Its name, which jobs can ask for with their key `reservation`.", "ReservationName="),
    "users": HostEventKey(_some(_ID), "The users whose jobs may run on the hosts, such as `ann,bob`.", "Users="),
    "accounts": HostEventKey(_some(_NAME), "The accounts whose jobs may run on the hosts.", "Accounts="),
    "flags": HostEventKey(
        {"anyOf": [{"enum": list(FLAGS)}, {"type": "array", "items": {"enum": list(FLAGS)}}]},
        "`MAINT`: it is planned maintenance.",
        "Flags=",
    ),
}
"""The keys of a window. The begin and the end are required."""
