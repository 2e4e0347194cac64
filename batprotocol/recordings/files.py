"""A conversation in files such as `00004-b2e.bin`, in an archive or a folder.

It has no index. A search for a time reads the messages. `sources` finds the files.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final

from batprotocol.edc.recording import METADATA, UNFINISHED, Names
from batprotocol.edc.recording.moments import moment_of
from batprotocol.errors import CaptureError
from batprotocol.model import Direction
from batprotocol.recordings import sources
from batprotocol.recordings.archives import CUT
from batprotocol.recordings.entries import Entry
from batprotocol.recordings.names import SIDES, counted

__all__ = ["WALL", "Files"]

WALL: Final = "recorded.csv"
"""The file with the time of the recording of each message, in nanoseconds since 1970."""

_NAME: Final = re.compile(r"(?:.*/)?([0-9]*)(-(b2e|e2b|b2s|s2b)\.[a-z]+)", re.ASCII | re.DOTALL)
_IN_TURN: Final = tuple(Direction)
_SEVERAL: Final = (*sources.ARCHIVES, sources.LINES)


class Files:
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
