"""A capture: a recorded conversation in any container, read message by message. Each message is an `Entry`.

The containers are files such as `00004-b2e.bin` in an archive or a folder, or an MCAP file (`_mcap`).
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property, lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from batprotocol._util.deprecation import OldName
from batprotocol._util.tables import TableRows
from batprotocol.edc.recording import METADATA, UNFINISHED, Names, sources
from batprotocol.edc.recording.entries import Entry
from batprotocol.edc.recording.names import MCAP, MCAP_MAGIC, MOST, SIDES, counted, moment_of
from batprotocol.edc.recording.unpacked import CUT
from batprotocol.errors import CaptureError
from batprotocol.model import Direction
from batprotocol.recordings.states import RunState, messages_in, state_at
from batprotocol.recordings.statistics import CapturedJob, jobs_of

if TYPE_CHECKING:
    import pandas

__all__ = [
    "WALL",
    "Capture",
    "CaptureFiles",
    "KeptResult",
]


# A conversation in files such as `00004-b2e.bin`, in an archive or a folder


WALL: Final = "recorded.csv"
"""The file with the time of the recording of each message, in nanoseconds since 1970."""

_NAME: Final = re.compile(r"(?:.*/)?([0-9]*)(-(b2e|e2b|b2s|s2b)\.[a-z]+)", re.ASCII | re.DOTALL)
_IN_TURN: Final = tuple(Direction)
_SEVERAL: Final = (*sources.ARCHIVES, sources.LINES)


class CaptureFiles:
    """An archive, a folder, or a file with a message in each line."""

    def __init__(self, path: str) -> None:
        self._path = path
        if os.path.isdir(path):
            inside = [file.path for file in sources.expanded(path)]
            several = [file for file in inside if file.endswith(_SEVERAL) and os.path.basename(file) != UNFINISHED]
            if several:
                raise CaptureError(f"holds several recordings: name one of them, such as {several[0]}", path)
        self._missing: str | None = None
        self._listing = sources.listing_of(path)
        first = next(sources.messages([path], self._listing))
        if self._is_end(first):
            raise CaptureError(first.fault, path)

    def _is_end(self, found: sources.Found) -> bool:
        """Whether nothing can be read from here on, so that the fault is not in a single message."""
        if not found.fault:
            return False
        return found.name == self._path or os.path.basename(found.name) == UNFINISHED or found.fault == CUT

    @property
    def missing(self) -> str:
        """The part of the conversation that cannot be read, as a sentence, or ""."""
        if self._missing is not None:
            return self._missing
        for _ in self._messages():  # the last of them sets it
            pass
        return self._missing or ""

    def _messages(self) -> Iterator[sources.Found]:
        """All messages up to the end of the readable part."""
        count, remark = 0, ""
        for found in sources.messages([self._path], self._listing):
            if self._is_end(found):
                is_cut = found.fault == CUT or found.fault.startswith("breaks off")
                self._missing = (
                    f"It {'is cut short or damaged' if is_cut else found.fault}: {counted(count)} can be read."
                )
                return
            remark = remark or found.remark
            count += 1
            yield found
        self._missing = f"It {remark}: there may be more than {counted(count)}." if remark else ""

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the run."""
        try:
            found = json.loads(self._kept.get(METADATA, b"{}"))
        except ValueError:
            return {}
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}

    @cached_property
    def _kept(self) -> Mapping[str, bytes]:
        return {name: data for name, data in self._others() if name in (METADATA, WALL)}

    @cached_property
    def _walls(self) -> Mapping[int, int]:
        """The time of the recording of each message, by its number."""
        rows = csv.reader(io.StringIO(self._kept.get(WALL, b"").decode("ascii", "replace")))
        return {int(row[0]): int(row[1]) for row in rows if len(row) == 2 and "".join(row).isdecimal()}

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        """The other files in the recording, one after the other."""
        return ((name, data) for name, data in self._others() if name not in (METADATA, WALL))

    def _others(self) -> Iterator[tuple[str, bytes]]:
        if os.path.isdir(self._path) or self._path.endswith(sources.ARCHIVES):
            yield from (
                (found.name, found.data) for found in sources.others(self._path, self._listing) if not found.fault
            )

    def entries(self, start: int, end: int) -> Iterator[tuple[int, Entry]]:
        """All messages, each with its moment. It also yields the messages before `start` and after `end`."""
        walls = self._walls
        moment = 0
        for number, found in enumerate(self._messages()):
            name = _NAME.fullmatch(found.name)
            direction = SIDES[name[3]] if name is not None else _IN_TURN[number % 2]
            entry = Entry(number, direction, found.data, walls.get(number), found.fault)
            if name is not None:
                entry.names = _names(direction, name[2], len(name[1]))
            moment = max(moment, moment_of(entry.time))
            yield moment, entry

    def close(self) -> None:
        """Do nothing: no file is open."""


@lru_cache
def _names(direction: Direction, end: str, digits: int) -> Names:
    """The names of the messages of a recording, by the name of one message."""
    return Names({**Names().ends, direction: end}, min(digits, Names().digits))


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

    def state_at(self, time: float = math.inf) -> RunState:
        """The state at a simulated time: the queue, the running jobs and their hosts, free hosts, calls and probes.

        Args:
            time: the time, in seconds. Messages at that time are included. All messages up to the time are read.
        """
        if math.isnan(time):
            raise ValueError(f"time: expected a simulated time in seconds, got {time}")
        return state_at(messages_in(self), time)

    knowledge_at = OldName("state_at")

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
        from batprotocol.recordings.exports import data_frame  # which needs a capture

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
        return CaptureFiles(path)
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))
        if file.read(len(MCAP_MAGIC)) != MCAP_MAGIC and not path.endswith(MCAP):
            return CaptureFiles(path)
        from batprotocol.edc.recording.mcap_reader import McapFile  # which needs an extra

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
    return tuple(TableRows(io.StringIO(data.decode("utf-8", "replace"), newline="")))
