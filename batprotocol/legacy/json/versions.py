"""The versions of Batsim in which each event and each field exists: one table, for the codec and for people.

The current names are those of Batsim 4. A version is a tuple of numbers, such as (4, 2, 1), and so are the bounds.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from batprotocol.legacy.json import events as e
from batprotocol.model import Direction

__all__ = ["EVENTS", "VERSIONS", "EventRow", "FieldRow", "Version", "rows_of", "version_of", "written"]

Version: TypeAlias = tuple[int, ...]

VERSIONS: Final = ("1.0", "1.1", "1.2", "1.3", "1.4", "2.0", "3.0", "3.1", "4.0", "4.1", "4.2")
"""The versions of Batsim that use this JSON protocol."""

B2S: Final = (Direction.BATSIM_TO_EDC,)
S2B: Final = (Direction.EDC_TO_BATSIM,)
BOTH: Final = (*B2S, *S2B)

_FIRST: Final = (1,)
_LAST: Final = (5,)


class FieldRow(NamedTuple):
    """A field of an event's data.

    Attributes:
        name: its name in the value.
        since: the first version that has it.
        until: the first version that does not have it any more.
        required: whether the event needs it.
        key: its name on the wire.
    """

    name: str
    since: Version = _FIRST
    until: Version = _LAST
    required: bool = False
    key: str = ""

    @property
    def on_wire(self) -> str:
        """Its name on the wire."""
        return self.key or self.name


class EventRow(NamedTuple):
    """An event.

    Attributes:
        type: its name on the wire.
        value: its class.
        directions: the sides that send it.
        fields: the fields of its data; None if they are the questions or answers, by their names.
        since: the first version that has it.
        until: the first version that does not have it any more.
        successor: its later name, or "".
    """

    type: str
    value: builtins.type[e.Event]
    directions: tuple[Direction, ...]
    fields: tuple[FieldRow, ...] | None
    since: Version = _FIRST
    until: Version = _LAST
    successor: str = ""

    def exists(self, version: Version) -> bool:
        """Whether that version has the event."""
        return self.since <= version < self.until

    def fields_of(self, version: Version) -> tuple[FieldRow, ...]:
        """The fields of the event in that version."""
        return tuple(field for field in self.fields or () if field.since <= version < field.until)


def _must(name: str, key: str = "") -> FieldRow:
    return FieldRow(name, required=True, key=key)


_JOB: Final = (_must("job_id"),)
_PROFILE: Final = (_must("workload_name"), _must("profile_name"), _must("profile"))
_STATE: Final = (_must("resources"), _must("state"))

EVENTS: Final[tuple[EventRow, ...]] = (
    # Both sides
    EventRow("QUERY", e.Query, BOTH, (_must("requests"),), (2,)),
    EventRow("ANSWER", e.Answer, BOTH, None, (2,)),
    EventRow("NOTIFY", e.Notify, S2B, None, (1,), (3,)),  # Batsim notifies since 3.0
    EventRow("NOTIFY", e.Notify, BOTH, None, (3,)),
    # Batsim
    EventRow(
        "SIMULATION_BEGINS",
        e.SimulationBegins,
        B2S,
        (
            FieldRow("nb_resources"),
            FieldRow("nb_compute_resources", (3,)),
            FieldRow("nb_storage_resources", (3,)),
            FieldRow("allow_time_sharing", (1,), (3,)),
            FieldRow("allow_compute_sharing", (3,)),
            FieldRow("allow_storage_sharing", (3,)),
            FieldRow("config"),
            FieldRow("resources_data", (1,), (3,)),
            FieldRow("hpst_host", (1,), (3,)),
            FieldRow("lcst_host", (1,), (3,)),
            FieldRow("compute_resources", (3,)),
            FieldRow("storage_resources", (3,)),
            FieldRow("workloads", (2,)),
            FieldRow("profiles", (3,)),
        ),
    ),
    EventRow("SIMULATION_ENDS", e.SimulationEnds, B2S, ()),
    EventRow("JOB_SUBMITTED", e.JobSubmitted, B2S, (*_JOB, FieldRow("job"), FieldRow("profile"))),
    EventRow(
        "JOB_COMPLETED",
        e.JobCompleted,
        B2S,
        (
            *_JOB,
            FieldRow("status", (1,), (2,)),
            FieldRow("job_state"),
            FieldRow("return_code", (1, 1)),
            FieldRow("kill_reason", (1,), (3,)),
            FieldRow("alloc", (2,)),
        ),
    ),
    EventRow("JOB_KILLED", e.JobKilled, B2S, (_must("job_ids"), FieldRow("job_progress", (1, 2)))),
    EventRow("RESOURCE_STATE_CHANGED", e.ResourceStateChanged, B2S, _STATE),
    EventRow("QUERY_REPLY", e.QueryReply, B2S, None, (1,), (2,), "ANSWER"),
    EventRow("REQUESTED_CALL", e.RequestedCall, B2S, ()),
    EventRow("FROM_JOB_MSG", e.FromJobMsg, B2S, (*_JOB, _must("msg")), (1, 1)),
    # The scheduler
    EventRow("QUERY_REQUEST", e.QueryRequest, S2B, None, (1,), (2,), "QUERY"),
    EventRow("REJECT_JOB", e.RejectJob, S2B, _JOB),
    EventRow(
        "EXECUTE_JOB",
        e.ExecuteJob,
        S2B,
        (
            *_JOB,
            _must("alloc"),
            FieldRow("mapping"),
            FieldRow("storage_mapping", (3,)),
            FieldRow("additional_io_job", (3,)),
        ),
    ),
    EventRow("CALL_ME_LATER", e.CallMeLater, S2B, (_must("time", "timestamp"),)),
    EventRow("KILL_JOB", e.KillJob, S2B, (_must("job_ids"),)),
    EventRow("SUBMIT_JOB", e.SubmitJob, S2B, (*_JOB, FieldRow("job"), FieldRow("profile")), (1,), (3,), "REGISTER_JOB"),
    EventRow("SUBMIT_PROFILE", e.SubmitProfile, S2B, _PROFILE, (1, 4), (3,), "REGISTER_PROFILE"),
    EventRow("REGISTER_JOB", e.RegisterJob, S2B, (*_JOB, FieldRow("job")), (3,)),
    EventRow("REGISTER_PROFILE", e.RegisterProfile, S2B, _PROFILE, (3,)),
    EventRow("SET_RESOURCE_STATE", e.SetResourceState, S2B, _STATE),
    EventRow("CHANGE_JOB_STATE", e.ChangeJobState, S2B, (*_JOB, _must("job_state"), FieldRow("kill_reason"))),
    EventRow("SET_JOB_METADATA", e.SetJobMetadata, S2B, (*_JOB, _must("metadata")), (2,)),
    EventRow("TO_JOB_MSG", e.ToJobMsg, S2B, (*_JOB, _must("msg")), (1, 1)),
)
"""All events, in the order of the documentation. The fields are in the order in which Batsim writes them."""

_WRITTEN = re.compile(r"v?([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:\.([0-9]{1,4}))?", re.ASCII)


def version_of(version: str | Version) -> Version:
    """A version as numbers.

    Args:
        version: "4.2.1", "4.2", "v1.4.0" or "4", the last of its kind; or the numbers.

    Raises:
        ValueError: no Batsim of this version uses this protocol.

    >>> version_of("4.2.1"), version_of("2.0"), version_of("4")
    ((4, 2, 1), (2, 0), (4, 2))
    """
    if isinstance(version, tuple):
        numbers = version
    else:
        found = _WRITTEN.fullmatch(version)
        numbers = tuple(int(part) for part in found.groups() if part is not None) if found else ()
        if len(numbers) == 1:  # the last one
            known = [tuple(map(int, each.split("."))) for each in VERSIONS]
            numbers = max((each for each in known if each[0] == numbers[0]), default=numbers)
    if not numbers or not _FIRST <= numbers < _LAST:
        raise ValueError(f"expected a version from 1.0 to 4.2, such as '4.2.1', got {version!r}")
    return numbers


def written(version: Version) -> str:
    """A version as people write it: "3.0", and not "3"."""
    return ".".join(map(str, version if len(version) > 1 else (*version, 0)))


@cache
def rows_of(version: Version) -> Mapping[str, EventRow]:
    """The events of a version, by their names on the wire."""
    return {row.type: row for row in EVENTS if row.exists(version)}
