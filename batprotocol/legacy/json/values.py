"""The values in the events of the JSON protocol: jobs, profiles, resources, progress. Plain, immutable, comparable.

The fields have the names of the protocol. An absent field is None. `extra` keeps the fields that no version of the
protocol knows. This module must not know bytes, nor versions: `versions` has the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec
from msgspec.structs import FieldInfo

from batprotocol.legacy.json.profiles import described, profile_of
from batprotocol.model import Profile
from batprotocol.model.value import Value

__all__ = ["Job", "JobProfile", "JobProgress", "Resource", "fields_of", "types_of"]


@cache
def fields_of(value: type[Value]) -> tuple[FieldInfo, ...]:
    """The fields of a class of values. To resolve their types takes longer than to read a message."""
    return msgspec.structs.fields(value)


@cache
def types_of(value: type[Value]) -> Mapping[str, Any]:
    """The type of each field of a class of values."""
    return {field.name: field.type for field in fields_of(value)}


_NESTED: Final[dict[str, Any]] = {
    "tag": False,
    "forbid_unknown_fields": True,
    "omit_defaults": True,
    "rename": {"extra": "\uf8ffextra"},
}
"""These values are read and written directly. Workload files use the name `extra`, too, so this field has no name on
the wire: the careful reader puts unknown fields into it."""


class Job(Value, frozen=True, **_NESTED):
    """A job, as in the workload file.

    Args:
        id: `workload!job`. For a dynamic job, Batsim 1.x requires the number alone, as an integer or a string.
        profile: the name of its profile, in its own workload.
        res: how many resources it requests.
        subtime: the time of its submission, in simulated seconds.
        walltime: seconds after which Batsim kills it; None or -1: never.
        extra: its other fields in the workload file.

    >>> Job("w0!1", "delay10", 4).walltime is None
    True
    """

    id: str | int | None = None
    profile: str | None = None
    res: int | None = None
    subtime: float | None = None
    walltime: float | None = None
    extra: Mapping[str, Any] = {}


class Resource(Value, frozen=True, **_NESTED):
    """A host of the platform.

    Args:
        id: its number; the hosts of the parallel file systems of Batsim 1 and 2 have -2 and -3.
        name: its name in the platform file.
        state: "idle", "computing", "sleeping", "switching_on", "switching_off", "unavailable".
        properties: its properties in the platform file.
        zone_properties: the properties of its zone; None before 4.0.
        extra: its other fields.
    """

    id: int
    name: str
    state: str | None = None
    properties: Mapping[str, Any] | None = None
    zone_properties: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = {}


class JobProgress(Value, frozen=True, **_NESTED):
    """The progress of a job, or of one of its tasks, when it was killed.

    Args:
        profile: the name of its profile, until 2.x.
        profile_name: the name of its profile, from 3.0 on.
        progress: the completed share, in [0,1].
        current_task_index: for a composed profile, the task that ran; -1 for replayed traces.
        current_task: the progress of that task.
        extra: its other fields.
    """

    profile: str | None = None
    profile_name: str | None = None
    progress: float | None = None
    current_task_index: int | None = None
    current_task: JobProgress | None = None
    extra: Mapping[str, Any] = {}

    @property
    def name(self) -> str | None:
        """The name of the profile, from the field that the version has for it."""
        return self.profile_name if self.profile is None else self.profile


class JobProfile:
    """A profile, as in the workload file.

    Args:
        fields: the JSON object: its `type`, and the fields of that type.

    >>> JobProfile({"type": "delay", "delay": 10}).value
    DelayProfile(delay=10.0)
    >>> JobProfile({"type": "send", "msg": {}}).value is None
    True
    """

    __slots__ = ("fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields

    @classmethod
    def of(cls, profile: Profile, version: object = (4, 2)) -> JobProfile | None:
        """A profile of the current protocol, as in that version's workload files; None if they have no such type.

        >>> JobProfile.of(profile_of({"type": "delay", "delay": 3}))
        JobProfile({'type': 'delay', 'delay': 3.0})
        """
        fields = described(profile, version)
        return None if fields is None else cls(fields)

    @property
    def type(self) -> str | None:
        """Its type: "delay", "parallel_homogeneous", "composed"..., with the name of its version."""
        kind = self.fields.get("type")
        return kind if isinstance(kind, str) else None

    @property
    def value(self) -> Profile | None:
        """The same profile in the current protocol, None for `send`, `recv` and malformed profiles."""
        return profile_of(self.fields)

    @property
    def return_code(self) -> int:
        """The return code of jobs with this profile, 0 by default."""
        code = self.fields.get("ret", 0)
        return code if type(code) is int else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobProfile) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(str(self.type))

    def __repr__(self) -> str:
        return f"JobProfile({dict(self.fields)!r})"
