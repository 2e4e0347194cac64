"""Selects the events of a message by their types and jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from batprotocol._schema.description import UNIONS

__all__ = ["EVENTS", "Selection", "event_name"]

EVENTS = UNIONS["Event"].members
"""The names of all event types."""

_SUFFIX = "event"
_BY_LOWER_NAME = {name.lower(): name for name in EVENTS}


class Selection(NamedTuple):
    """The events that the user wants to see. An empty selection has all events.

    Args:
        events: types of events. An event must have one of them.
        jobs: ids of jobs. An event must mention one of them. An id without `!` means that job of every workload.
    """

    events: frozenset[str] = frozenset()
    jobs: frozenset[str] = frozenset()

    @property
    def everything(self) -> bool:
        """Whether all events are selected."""
        return not self.events and not self.jobs

    def indices(self, tree: dict[str, Any]) -> list[int]:
        """The numbers of the selected events of a message."""
        entries = tree.get("events")
        if not isinstance(entries, list):
            return []
        return [number for number, entry in enumerate(entries) if isinstance(entry, dict) and self._wants(entry)]

    def _wants(self, entry: dict[str, Any]) -> bool:
        if self.events and entry.get("event_type") not in self.events:
            return False
        return not self.jobs or any(name in self.jobs for job in _jobs(entry.get("event")) for name in _names(job))


def event_name(name: str) -> str | None:
    """The event type of this name, such as `JobSubmittedEvent` or `jobsubmitted`, or None."""
    lower = name.lower()
    return _BY_LOWER_NAME.get(lower) or _BY_LOWER_NAME.get(lower + _SUFFIX) or _old_name(name) or _fast_name(lower)


def _old_name(name: str) -> str | None:
    """The event type of the older protocols of this name, such as `JOB_SUBMITTED`, or None."""
    if not name.isupper():
        return None
    from batprotocol.legacy.json.events import EVENTS

    return name if any(row.type == name for row in EVENTS) else None


def _fast_name(lower: str) -> str | None:
    """The message of FaST of this name, such as `StartVM` or `startvm`, or None."""
    from batprotocol.fast.topics import MESSAGES

    return next((name for name in MESSAGES if name.lower() == lower), None)


def _jobs(event: Any) -> Iterator[Any]:
    """The ids of the jobs that an event mentions. A missing id is None."""
    if not isinstance(event, dict):
        return
    yield event.get("job_id")
    yield from event.get("job_ids") or ()
    yield from (progress.get("job_id") for progress in event.get("progresses") or ())


def _names(job: Any) -> tuple[str, ...]:
    """The names of a job in a selection: its id, and its id without the workload."""
    return (job, job.partition("!")[2]) if isinstance(job, str) else ()
