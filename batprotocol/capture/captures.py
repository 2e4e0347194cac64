"""A capture: a conversation that was recorded, whatever it is kept in, read message by message.

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

from batprotocol.capture.entries import Entry
from batprotocol.capture.files import Files
from batprotocol.capture.jobs import CapturedJob, jobs_of
from batprotocol.capture.knowledge import Knowledge, knowledge_at, messages_in
from batprotocol.recording.moments import MOST, moment_of
from batprotocol.recording.names import MCAP, MCAP_MAGIC
from batprotocol.tables import Rows

if TYPE_CHECKING:
    import pandas

__all__ = ["Capture", "KeptResult"]

_RESULTS = ("jobs.csv", "schedule.json", "schedule.json.txt")
_MEMBER = re.compile(r'\s*"([^"]+)": ?("[^"]*"|[^",]+),?')


class Container(Protocol):
    """What a capture is kept in."""

    @property
    def missing(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, str]: ...

    def attachments(self) -> Iterator[tuple[str, bytes]]: ...

    def entries(self, start: int, end: int) -> Iterator[tuple[int, Entry]]:
        """The messages of these moments, both included, in their order, each with its moment; others may come, too."""
        ...

    def close(self) -> None: ...


class KeptResult(msgspec.Struct, frozen=True):
    """The result of a simulation, as it was kept with the conversation, in the words of Batsim's files.

    Attributes:
        jobs: the rows of `jobs.csv`, by the names of its columns.
        summary: what is in `schedule.json`; empty where that was not kept.
    """

    jobs: tuple[Mapping[str, str], ...]
    summary: Mapping[str, str]


class Capture:
    """A conversation between Batsim and a decision component that was recorded.

    Args:
        path: a `.mcap`, an archive (`.tar`, `.tar.xz`, `.tar.gz`), a folder, or an unfinished one of these.

    Raises:
        CaptureError: it is none, or nothing in it can be read.
        PackageMissing: it is a `.mcap`, and the package `mcap` is not installed.
        OSError: it cannot be opened.

    It is read lazily, as often as somebody iterates, and only one message at a time is in memory. Use it in a `with`,
    or `close` it.

    By its time, a message is found without reading all others in a `.mcap`, which has an index; in all else, those
    before it are read. A message without a time (the handshake, what is no message) counts as said at the time of the
    one before it, as does one that claims an earlier time. Times are told apart to a nanosecond.

    >>> with Capture("run.tar.xz") as run:  # doctest: +SKIP
    ...     for entry in run.between(0, 3600):
    ...         print(entry.number, entry.time, entry.message)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._container = _opened(self.path)

    def __iter__(self) -> Iterator[Entry]:
        """All messages, in the order in which they were said."""
        return (entry for _, entry in self._container.entries(0, MOST))

    def between(self, start: float, end: float) -> Iterator[Entry]:
        """The messages of a span of simulated time.

        Args:
            start: its start, in seconds.
            end: its end, in seconds, which belongs to it; `math.inf` for all that follow.
        """
        first, last = _moment(start, "start"), _moment(end, "end")
        for moment, entry in self._container.entries(first, last):
            if moment > last:  # no later one is any sooner
                return
            if moment >= first:
                yield entry

    def at(self, time: float) -> Entry | None:
        """The message that was said last, at a simulated time.

        Args:
            time: the time, in seconds.

        Returns:
            The last one of that time or before it; None before the first.
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
        """What messages tell of each job: as they end, then those that never did. All messages are read."""
        messages = ((entry.direction, entry.message) for entry in self)
        return jobs_of((direction, message) for direction, message in messages if message is not None)

    def knowledge_at(self, time: float = math.inf) -> Knowledge:
        """What was known at a simulated time: who waits, who runs where, what is free, which calls are due.

        Args:
            time: the time, in seconds; what was said then counts. The messages before it are read.
        """
        if math.isnan(time):
            raise ValueError(f"time: expected a simulated time in seconds, got {time}")
        return knowledge_at(messages_in(self), time)

    @property
    def metadata(self) -> Mapping[str, str]:
        """What is told of the run: versions, endpoint, arguments, scheduler, inputs. Empty where nothing was kept."""
        return self._container.metadata

    @property
    def is_whole(self) -> bool:
        """Whether it was recorded and kept to its end, for which all of it is read; `missing` tells what is not."""
        return not self.missing

    @property
    def missing(self) -> str:
        """What is missing of it, as a sentence; "" if nothing is."""
        return self._container.missing or self.metadata.get("missing", "")

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of the other files that were kept with the conversation: results, how it was run."""
        return self._container.attachments()

    @cached_property
    def result(self) -> KeptResult | None:
        """The result of the simulation, or None if it was not kept."""
        kept = {name: data for name, data in self.attachments() if name in _RESULTS}
        if "jobs.csv" not in kept:
            return None
        schedule = kept.get("schedule.json", kept.get("schedule.json.txt", b"{}"))
        return KeptResult(_rows(kept["jobs.csv"]), _texts(schedule))

    def to_pandas(self, what: str = "events") -> pandas.DataFrame:
        """A data frame: a row for each event, or for each job in the words of Batsim's `jobs.csv`.

        Args:
            what: "events" or "jobs".

        Raises:
            PackageMissing: pandas is not installed.
        """
        from batprotocol.capture.exporting.tables import data_frame  # which needs a capture

        return data_frame(self, what)

    def close(self) -> None:
        """Close the file. Closing twice does nothing."""
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
        from batprotocol.capture.mcap import McapFile  # which needs an extra

        container = McapFile(path, file)
        stack.pop_all()  # it closes the file
        return container


def _moment(time: float, name: str) -> int:
    if math.isnan(time):
        raise ValueError(f"{name}: expected a simulated time in seconds, got {time}")
    return moment_of(time)


def _texts(data: bytes) -> Mapping[str, str]:
    """The members of an object of JSON as texts; Batsim writes numbers that are none, too."""
    lines = (_MEMBER.fullmatch(line) for line in data.decode("utf-8", "replace").splitlines())
    return {found[1]: found[2].strip('"') for found in lines if found is not None}


def _rows(data: bytes) -> tuple[Mapping[str, str], ...]:
    """The rows of a CSV file; what is too much or too little in one is left out."""
    return tuple(Rows(io.StringIO(data.decode("utf-8", "replace"), newline="")))
