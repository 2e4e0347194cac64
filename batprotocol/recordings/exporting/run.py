"""The interface of a run to export: it has entries, jobs and other files, as a `Capture` has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from batprotocol.recordings.entries import Entry
from batprotocol.recordings.jobs import CapturedJob

__all__ = ["Run"]


class Run(Protocol):
    """A run to export."""

    def __iter__(self) -> Iterator[Entry]:
        """All messages, in the order in which they were sent."""
        ...

    def jobs(self) -> Iterator[CapturedJob]:
        """A row for each job, from the messages."""
        ...

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        """The names and bytes of the other files in the recording."""
        ...
