"""The vocabulary as JSON schema (draft 2020-12), for editors and for programs that write workloads."""

from __future__ import annotations

from typing import Any, Final

from batprotocol.workloads.requests.dependencies import KINDS
from batprotocol.workloads.requests.keys import HOST_KEYS, JOB_KEYS, RequestKey

__all__ = ["host_schema", "request_schema"]

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_NAMES: Final = {"type": "string", "minLength": 1}

SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "text": {"type": "string", "minLength": 1, "maxLength": 1000},
    "texts": {"anyOf": [_NAMES, {"type": "array", "items": _NAMES, "minItems": 1}]},
    "hostnames": {"anyOf": [_NAMES, {"type": "array", "items": _NAMES, "minItems": 1}]},
    "id": {"type": ["string", "integer"]},
    "integer": {"type": "integer"},
    "count": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,16}$"}]},
    "positive": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^0*[1-9][0-9]{0,15}$"}]},
    "boolean": {"type": "boolean"},
    "per": {"enum": ["host", "task"]},
    "moment": {
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^now(\+[0-9]{1,12}((second|minute|hour|day|week)s?)?)?$"},
        ]
    },
    "memory": {
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^[0-9]{1,15}(\.[0-9]{1,6})?[KMGTkmgt]?[Bb]?$"},
        ]
    },
    "gres": {
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "propertyNames": {"pattern": r"^[A-Za-z_][\w.-]*(:[A-Za-z_][\w.-]*)?$"},
                "additionalProperties": {"$ref": "#/$defs/count"},
            },
        ]
    },
    "licenses": {
        "anyOf": [
            {"type": "string", "pattern": r"^ *[A-Za-z_][\w.@-]*(:[0-9]+)?( *, *[A-Za-z_][\w.@-]*(:[0-9]+)?)* *$"},
            {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"pattern": r"^[A-Za-z_][\w.@-]*$"},
                "additionalProperties": {"$ref": "#/$defs/count"},
            },
        ]
    },
    "constraint": {"type": "string", "minLength": 1, "maxLength": 1000},
    "dependency": {"type": "string", "pattern": f"^ *({'|'.join(KINDS)})"},
    "array": {"type": "string", "pattern": "^.+_[0-9]{1,9}(%[0-9]{1,9})?$"},
    "recorded": {
        "type": "object",
        "properties": {
            "start": {"type": "number"},
            "hosts": {"type": "string", "pattern": r"^[0-9]+(-[0-9]+)?([ ,]+[0-9]+(-[0-9]+)?)*$"},
            "cores": {"$ref": "#/$defs/count"},
        },
        "required": ["start"],
        "additionalProperties": False,
    },
}
"""The form of the values of each kind. The readers check more than a schema can express."""


def request_schema() -> dict[str, Any]:
    """The JSON schema of the extra data of jobs.

    >>> request_schema()["properties"]["exclusive"]["type"]
    'boolean'
    """
    return _schema("The request of a job, in its extra data", JOB_KEYS)


def host_schema() -> dict[str, Any]:
    """The JSON schema of the properties of hosts, as an object of texts and numbers."""
    return _schema("The offer of a host, in its properties", HOST_KEYS)


def _schema(title: str, keys: dict[str, RequestKey]) -> dict[str, Any]:
    properties = {name: {"description": key.meaning, **SCHEMAS[key.kind]} for name, key in keys.items()}
    return {
        "$schema": _DRAFT,
        "title": title,
        "type": "object",
        "properties": properties,
        "additionalProperties": True,
        "$defs": {"count": SCHEMAS["count"]},
    }
