"""The jobs of a file that are read when they are needed, for workloads that are larger than memory.

A first pass checks the whole file, and stores where each block of jobs begins. Later, a job is read again together with
its block when it is needed. The memory holds eight bytes for each job, and a few blocks.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from batprotocol.errors import InputError, shown
from batprotocol.workloads.columns import Hashes, JobTable, StoredJob, first_duplicate

__all__ = ["FileRows", "JobFile"]

_BLOCK: Final = 256
"""The number of jobs that are read at once."""
_KEPT: Final = 4
"""The number of blocks in memory. Copies of a simulation that are not far apart in time share them."""


class FileRows(ABC):
    """A reader of the jobs of a file from some place on.

    Args:
        filename: the file.
    """

    def __init__(self, filename: str) -> None:
        self.filename = filename

    @abstractmethod
    def read(self, place: int) -> Iterator[StoredJob]:
        """The jobs from a place of the first pass on; `InputError` or `OSError` if they can no longer be read."""


class JobFile(JobTable):
    """Rows that stay in a file. They must be in order in this file.

    Args:
        rows: the reader of the rows.
    """

    def __init__(self, rows: FileRows) -> None:
        super().__init__()
        self._rows = rows
        self._count = 0
        self._places = array("Q")
        self._hashes = Hashes()
        self._last = (float("-inf"), b"")
        self._state = _state(rows.filename)
        self._blocks: dict[int, list[StoredJob]] = {}
        self._next_block = -1
        self._following: Iterator[StoredJob] = iter(())

    def __len__(self) -> int:
        return self._count

    @property
    def wants_place(self) -> bool:
        """Whether the next row begins a block. Then call `begin_block` first."""
        return self._count % _BLOCK == 0 and self._count // _BLOCK == len(self._places)

    def begin_block(self, place: int) -> None:
        """Note the place of the next row in the file."""
        self._places.append(place)

    def append(
        self, id: str, time: float, resources: int, profile: str, walltime: float | None, extra_data: str | None
    ) -> None:
        key = (time, id.encode())
        if key < self._last:
            before, name = self._last
            raise InputError(
                f"expected jobs sorted by submission time and id, but job {shown(id)} at {time} comes after "
                f"{shown(name.decode())} at {before}; sort the file, or do not use --lazy (lazy=True)"
            )
        self._last = key
        self._note(self._count, resources, profile)
        self._hashes.add(id)
        self._count += 1

    def sort(self) -> None:
        """Do nothing to the rows, which are in order. Reading has ended here, so the hashes are dropped."""
        self._hashes = Hashes()

    def duplicate(self) -> tuple[int, int, str] | None:
        return first_duplicate(self._hashes, (row.id for row in self._read(0)))

    def _read(self, block: int) -> Iterator[StoredJob]:
        if not self._count:
            return iter(())
        if _state(self._rows.filename) != self._state:
            raise InputError("the file has changed during the simulation", file=self._rows.filename)
        return islice(self._rows.read(self._places[block]), self._count - block * _BLOCK)

    def __getitem__(self, place: int) -> StoredJob:
        number = place // _BLOCK
        block = self._blocks.get(number)
        if block is None:
            block = self._block(number)
        return block[place % _BLOCK]

    def _block(self, number: int) -> list[StoredJob]:
        """Read a block. The next block begins where the last one ended, which saves time in compressed files."""
        if not 0 <= number < len(self._places):
            raise IndexError(number)
        following = self._following if number == self._next_block else self._read(number)
        self._next_block = -1
        block = list(islice(following, _BLOCK))
        self._following, self._next_block = following, number + 1
        while len(self._blocks) >= _KEPT:
            del self._blocks[next(iter(self._blocks))]
        self._blocks[number] = block
        return block

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_blocks": {}, "_following": iter(()), "_next_block": -1}


def _state(filename: str) -> tuple[int, int]:
    """Values that differ if a file has changed."""
    status = os.stat(filename)
    return status.st_size, status.st_mtime_ns
