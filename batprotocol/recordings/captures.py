"""A capture: a recorded conversation in any container, read message by message.

It must not know how the containers are made.
"""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

import msgspec

from batprotocol._util.tables import Rows
from batprotocol.edc.recording.moments import MOST, moment_of
from batprotocol.edc.recording.names import MCAP, MCAP_MAGIC
from batprotocol.errors import CaptureError
from batprotocol.recordings.entries import Entry
from batprotocol.recordings.files import Files
from batprotocol.recordings.jobs import CapturedJob, jobs_of
from batprotocol.recordings.knowledge import Knowledge, knowledge_at, messages_in

if TYPE_CHECKING:
    import pandas

__all__ = ["Capture", "KeptResult"]

_RESULTS = ("jobs.csv", "schedule.json", "schedule.json.txt")
_MEMBER = re.compile(r'\s*"([^"]+)": ?("[^"]*"|[^",]+),?')


class Container(Protocol):
    """The container of a capture."""

    @property
    def missing(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, str]: ...

    def attachments(self) -> Iterator[tuple[str, bytes]]: ...

    def entries(self, start: int, end: int) -> Iterator[tuple[int, Entry]]:
        """The messages from `start` to `end`, in their order, each with its moment. It may yield others, too."""
        ...

    def close(self) -> None: ...


class KeptResult(msgspec.Struct, frozen=True):
    """The result of a simulation in a recording, with the names of Batsim's files.

    Attributes:
        jobs: the rows of `jobs.csv`, by the names of its columns.
        summary: the content of `schedule.json`. Empty if the recording does not have it.
    """

    jobs: tuple[Mapping[str, str], ...]
    summary: Mapping[str, str]


class Capture:
    """A recorded conversation between Batsim and a decision component.

    Args:
        path: a `.mcap`, an archive (`.tar`, `.tar.xz`, `.tar.gz`), a folder, or an unfinished one of these.

    Raises:
        CaptureError: the path is not a recording, or nothing in it can be read.
        PackageMissing: the path is a `.mcap`, and the package `mcap` is not installed.
        OSError: the path cannot be opened.

    Each iteration reads the recording again, lazily, with only one message at a time in memory. Use the capture in a
    `with` statement, or `close` it.

    A `.mcap` has an index: `between` and `at` find messages without reading all others. In other recordings, they read
    all messages before the time. A message without a time counts as sent at the time of the message before it. The
    messages of the handshake have no time, nor have data that are not a message. The same holds for a message with an
    earlier time than the one before it. Times have a resolution of a nanosecond.

    >>> with Capture("run.tar.xz") as run:  # doctest: +SKIP
    ...     for entry in run.between(0, 3600):
    ...         print(entry.number, entry.time, entry.message)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._container = _opened(self.path)

    def __iter__(self) -> Iterator[Entry]:
        """All messages, in the order in which they were sent."""
        return (entry for _, entry in self._container.entries(0, MOST))

    def between(self, start: float, end: float) -> Iterator[Entry]:
        """The messages of a span of simulated time.

        Args:
            start: its start, in seconds.
            end: its end, in seconds, which is included. `math.inf` for the end of the recording.
        """
        first, last = _moment(start, "start"), _moment(end, "end")
        for moment, entry in self._container.entries(first, last):
            if moment > last:  # no later one is any sooner
                return
            if moment >= first:
                yield entry

    def at(self, time: float) -> Entry | None:
        """The last message that was sent at or before a simulated time.

        Args:
            time: the time, in seconds.

        Returns:
            The message, or None if the time is before the first message.
        """
        wanted = _moment(time, "time")
        if time < 0:
            return None
        found = None
        for moment, entry in self._container.entries(wanted, wanted):
            if moment > wanted:
                break
            found = entry
        return found

    def jobs(self) -> Iterator[CapturedJob]:
        """A row for each job: those that ended, in the order of their ends, then the others. Reads all messages."""
        messages = ((entry.direction, entry.message) for entry in self)
        return jobs_of((direction, message) for direction, message in messages if message is not None)

    def knowledge_at(self, time: float = math.inf) -> Knowledge:
        """The state at a simulated time: the queue, the running jobs and their hosts, free hosts, calls and probes.

        Args:
            time: the time, in seconds. Messages at that time are included. All messages up to the time are read.
        """
        if math.isnan(time):
            raise ValueError(f"time: expected a simulated time in seconds, got {time}")
        return knowledge_at(messages_in(self), time)

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the run: versions, endpoint, arguments, scheduler, inputs. Empty if it has none."""
        return self._container.metadata

    @property
    def is_whole(self) -> bool:
        """Whether the recording is complete; `missing` describes what is not. Reads the whole recording."""
        return not self.missing

    @property
    def missing(self) -> str:
        """The part of the recording that is missing, as a sentence. "" if nothing is missing."""
        return self._container.missing or self.metadata.get("missing", "")

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        """The names and bytes of the other files in the recording, such as results."""
        return self._container.attachments()

    @cached_property
    def result(self) -> KeptResult | None:
        """The result of the simulation, or None if the recording does not have it.

        Raises:
            CaptureError: its `jobs.csv` cannot be read.
        """
        kept = {name: data for name, data in self.attachments() if name in _RESULTS}
        if "jobs.csv" not in kept:
            return None
        schedule = kept.get("schedule.json", kept.get("schedule.json.txt", b"{}"))
        try:
            return KeptResult(_rows(kept["jobs.csv"]), _texts(schedule))
        except ValueError as error:
            raise CaptureError(f"its jobs.csv cannot be read: {error}", self.path) from None

    def to_pandas(self, what: str = "events") -> pandas.DataFrame:
        """A data frame with a row for each event, or for each job with the columns of Batsim's `jobs.csv`.

        Args:
            what: "events" or "jobs".

        Raises:
            PackageMissing: pandas is not installed.
        """
        from batprotocol.recordings.exporting.tables import data_frame  # which needs a capture

        return data_frame(self, what)

    def close(self) -> None:
        """Close the file. A second call has no effect."""
        self._container.close()

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _opened(path: str) -> Container:
    if os.path.isdir(path):
        return Files(path)
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))
        if file.read(len(MCAP_MAGIC)) != MCAP_MAGIC and not path.endswith(MCAP):
            return Files(path)
        from batprotocol.recordings.mcap import McapFile  # which needs an extra

        container = McapFile(path, file)
        stack.pop_all()  # it closes the file
        return container


def _moment(time: float, name: str) -> int:
    if math.isnan(time):
        raise ValueError(f"{name}: expected a simulated time in seconds, got {time}")
    return moment_of(time)


def _texts(data: bytes) -> Mapping[str, str]:
    """The members of a JSON object as texts. Batsim also writes numbers that are not JSON."""
    lines = (_MEMBER.fullmatch(line) for line in data.decode("utf-8", "replace").splitlines())
    return {found[1]: found[2].strip('"') for found in lines if found is not None}


def _rows(data: bytes) -> tuple[Mapping[str, str], ...]:
    """The rows of a CSV file. Surplus and missing values of a row are ignored."""
    return tuple(Rows(io.StringIO(data.decode("utf-8", "replace"), newline="")))
