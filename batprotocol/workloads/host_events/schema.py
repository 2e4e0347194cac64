"""The vocabulary as JSON schema (draft 2020-12), for editors and for programs that write events."""

from __future__ import annotations

from typing import Any, Final

from batprotocol.workloads.host_events.keys import EVENT_KEYS, WINDOW_KEYS, HostEventKey

__all__ = ["host_event_schema"]

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def host_event_schema() -> dict[str, Any]:
    """The JSON schema of the data of events of hosts.

    >>> host_event_schema()["properties"]["state"]["enum"]
    ['down', 'drain', 'up']
    """
    return {
        "$schema": _DRAFT,
        "title": "An event of hosts, in the data of an external event",
        "type": "object",
        "properties": _properties(EVENT_KEYS),
        "required": ["hosts"],
        "oneOf": [{"required": ["state"]}, {"required": ["window"]}],
        "additionalProperties": True,
        "$defs": {
            "window": {
                "type": "object",
                "properties": _properties(WINDOW_KEYS),
                "required": ["begin", "end"],
                "additionalProperties": False,
            }
        },
    }


def _properties(keys: dict[str, HostEventKey]) -> dict[str, Any]:
    return {name: {"description": key.meaning, **key.schema} for name, key in keys.items()}
