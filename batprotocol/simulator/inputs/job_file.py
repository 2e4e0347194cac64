"""The jobs of a file that is read as they are needed, for workloads that are larger than memory.

A first pass checks the whole file, and remembers where each block of jobs begins; then a job is read again, with its
block, when somebody asks for it. In memory are eight bytes a job, and a few blocks.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from batprotocol.errors import InputError, shown
from batprotocol.simulator.inputs.columns import Hashes, JobRecord, JobTable, first_duplicate

__all__ = ["JobFile", "Rows"]

_BLOCK: Final = 256
"""How many jobs are read at once."""
_KEPT: Final = 4
"""How many blocks are kept: copies of a simulation that are not far apart share them."""


class Rows(ABC):
    """How the jobs of a file are read from some place on.

    Args:
        filename: the file.
    """

    def __init__(self, filename: str) -> None:
        self.filename = filename

    @abstractmethod
    def read(self, place: int) -> Iterator[JobRecord]:
        """The jobs from a place on, which the first pass has told; `InputError` or `OSError` if there are none now."""


class JobFile(JobTable):
    """Rows that stay in a file, in which they must be in order.

    Args:
        rows: reads them.
    """

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._rows = rows
        self._count = 0
        self._places = array("Q")
        self._hashes = Hashes()
        self._last = (float("-inf"), b"")
        self._state = _state(rows.filename)
        self._blocks: dict[int, list[JobRecord]] = {}
        self._next_block = -1
        self._following: Iterator[JobRecord] = iter(())

    def __len__(self) -> int:
        return self._count

    @property
    def wants_place(self) -> bool:
        """Whether the next row begins a block, so that `begin_block` is to be called."""
        return self._count % _BLOCK == 0 and self._count // _BLOCK == len(self._places)

    def begin_block(self, place: int) -> None:
        """The next row is at this place of the file."""
        self._places.append(place)

    def append(
        self, id: str, time: float, resources: int, profile: str, walltime: float | None, extra_data: str | None
    ) -> None:
        key = (time, id.encode())
        if key < self._last:
            before, name = self._last
            raise InputError(
                f"a workload that is read as it is needed is sorted by submission time and id, but job {shown(id)} at "
                f"{time} comes after {shown(name.decode())} at {before}"
            )
        self._last = key
        self._note(self._count, resources, profile)
        self._hashes.add(id)
        self._count += 1

    def sort(self) -> None:
        """They are in order. This is the end of reading, and hashes are of no use after it."""
        self._hashes = Hashes()

    def duplicate(self) -> tuple[int, int, str] | None:
        return first_duplicate(self._hashes, (row.id for row in self._read(0)))

    def _read(self, block: int) -> Iterator[JobRecord]:
        if not self._count:
            return iter(())
        if _state(self._rows.filename) != self._state:
            raise InputError("the file has changed since it was read first", file=self._rows.filename)
        return islice(self._rows.read(self._places[block]), self._count - block * _BLOCK)

    def __getitem__(self, place: int) -> JobRecord:
        number = place // _BLOCK
        block = self._blocks.get(number)
        if block is None:
            block = self._block(number)
        return block[place % _BLOCK]

    def _block(self, number: int) -> list[JobRecord]:
        """Read a block; the one after the last one goes on where that ended, which matters in compressed files."""
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
    """What tells whether a file is another one."""
    status = os.stat(filename)
    return status.st_size, status.st_mtime_ns
