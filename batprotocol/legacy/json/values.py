"""What the events of the JSON protocol hold: jobs, profiles, resources, progress. Plain, immutable, comparable.

What a field is called here, the protocol calls it too. Absent is None, and what no version of the protocol knows is
kept in `extra`, so that it survives. It must not know of bytes, nor of versions: `versions` has the table.
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
    """The fields of a class of values. To find out what their types mean takes longer than to read a message."""
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
"""These values are read and written as they stand. `extra` is a name that workload files use, too: it has none of its
own on the wire, and a value that is unknown there is put into it by the careful reader."""


class Job(Value, frozen=True, **_NESTED):
    """A job as the workload file has it.

    Args:
        id: `workload!job`. Batsim 1.x wants the number of a dynamic job alone, as an integer or in its text.
        profile: the name of its profile, in its own workload.
        res: how many resources it asks for.
        subtime: when it is or was submitted, in simulated seconds.
        walltime: seconds after which Batsim kills it; None or -1: never.
        extra: whatever else the workload file says of it.

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
        properties: those of the platform file.
        zone_properties: those of the zone that holds it; None before 4.0.
        extra: whatever else is said of it.
    """

    id: int
    name: str
    state: str | None = None
    properties: Mapping[str, Any] | None = None
    zone_properties: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = {}


class JobProgress(Value, frozen=True, **_NESTED):
    """How far a job or one of its tasks had come when it was killed.

    Args:
        profile: the name of its profile, until 2.x.
        profile_name: the name of its profile, from 3.0 on.
        progress: the share that was done, in [0,1].
        current_task_index: for a composed profile, the task that ran; -1 for replayed traces.
        current_task: how far that task had come.
        extra: whatever else is said of it.
    """

    profile: str | None = None
    profile_name: str | None = None
    progress: float | None = None
    current_task_index: int | None = None
    current_task: JobProgress | None = None
    extra: Mapping[str, Any] = {}

    @property
    def name(self) -> str | None:
        """The name of the profile, whatever the version calls it."""
        return self.profile_name if self.profile is None else self.profile


class JobProfile:
    """A profile, as the workload file has it.

    Args:
        fields: the JSON object: its `type` and what that takes.

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
        """The profile of today's protocol as that version's workload files describe it, None where they have no words.

        >>> JobProfile.of(profile_of({"type": "delay", "delay": 3}))
        JobProfile({'type': 'delay', 'delay': 3.0})
        """
        fields = described(profile, version)
        return None if fields is None else cls(fields)

    @property
    def type(self) -> str | None:
        """What kind it is: "delay", "parallel_homogeneous", "composed"..., in the words of its version."""
        kind = self.fields.get("type")
        return kind if isinstance(kind, str) else None

    @property
    def value(self) -> Profile | None:
        """The same profile in today's protocol, None where it has none: `send`, `recv`, and what is malformed."""
        return profile_of(self.fields)

    @property
    def return_code(self) -> int:
        """What jobs with this profile return, 0 unless told otherwise."""
        code = self.fields.get("ret", 0)
        return code if type(code) is int else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobProfile) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(str(self.type))

    def __repr__(self) -> str:
        return f"JobProfile({dict(self.fields)!r})"
