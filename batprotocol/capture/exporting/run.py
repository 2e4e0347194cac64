"""What is exported: whatever has entries, jobs and other files, as a `Capture` does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from batprotocol.capture.entries import Entry
from batprotocol.capture.jobs import CapturedJob

__all__ = ["Run"]


class Run(Protocol):
    """A run to export."""

    def __iter__(self) -> Iterator[Entry]:
        """All messages, in the order in which they were said."""
        ...

    def jobs(self) -> Iterator[CapturedJob]:
        """What messages tell of each job."""
        ...

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of the other files that are kept."""
        ...
