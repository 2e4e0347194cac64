"""The jobs of a workload, in memory or in its file.

`JobTable` is the interface that a workload uses. `JobColumns` keeps jobs in columns: about forty bytes for each job
instead of about four hundred. `JobFile` reads jobs from their file when they are needed. Both know the order of jobs,
and find duplicate names.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, shown
from batprotocol.workloads.requests import moved_recording

__all__ = [
    "ColumnBlock",
    "DuplicateId",
    "FileRows",
    "Hashes",
    "JobColumns",
    "JobFile",
    "JobTable",
    "StoredJob",
    "first_duplicate",
]


_NO_WALLTIME = -1.0  # a walltime that is given is > 0


class StoredJob(NamedTuple):
    """One row: a job's name inside its workload, and the values of the other columns."""

    id: str
    time: float
    resources: int
    profile: str
    walltime: float | None
    extra_data: str | None

    def at(self, time: float) -> StoredJob:
        """The same job, submitted at another time. The start in a recording of it moves along."""
        return self._replace(time=time, extra_data=moved_recording(self.extra_data, time - self.time))


class DuplicateId(InputError):
    """Two rows have the same id. Both are counted from 0, in the order in which they were appended."""

    def __init__(self, row: int, earlier: int, id: str) -> None:
        super().__init__(f"jobs[{earlier}] has the id {shown(id)}, too", f"jobs[{row}].id")
        self.row = row
        self.earlier = earlier
        self.id = id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row, self.earlier, self.id)


_FIRST_CHECK: Final = 1024
"""The number of rows after which ids are compared for the first time."""

_NEXT_CHECK: Final = 4
"""The factor to the next number of rows: all comparisons take a third longer than one comparison at the end."""


class JobTable(ABC):
    """Rows by (time, id), and totals over all rows.

    Attributes:
        most_resources: the largest number of resources; 0 without rows.
        uses: the first row that uses a profile with a number of resources: row by (name of the profile, resources).
    """

    def __init__(self) -> None:
        self.most_resources = 0
        self.uses: dict[tuple[str, int], int] = {}
        self._profile_numbers: dict[str, int] = {}
        self._next_check = _FIRST_CHECK

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, place: int) -> StoredJob:
        """The row at a place of the order."""

    @abstractmethod
    def append(
        self, id: str, time: float, resources: int, profile: str, walltime: float | None, extra_data: str | None
    ) -> None:
        """Add a row. `resources` must fit into uint32, and `id` into UTF-8."""

    @abstractmethod
    def sort(self) -> None:
        """Order the rows by (time, id), ids by their UTF-8 bytes. This costs nothing if the rows are in order."""

    @abstractmethod
    def duplicate(self) -> tuple[int, int, str] | None:
        """The first row with the name of an earlier row, that earlier row, and the name; None if all names differ.

        Rows are counted in the order in which they were appended.
        """

    def check_ids(self) -> None:
        """Check that all rows have different ids.

        Raises:
            DuplicateId: two rows have the same id.
        """
        found = self.duplicate()
        if found is not None:
            raise DuplicateId(*found)

    def check_ids_on_the_way(self) -> None:
        """Compare the ids at some rows. Readers call this after each row, so they refuse a large file early."""
        if len(self) >= self._next_check:
            self._next_check *= _NEXT_CHECK
            self.check_ids()

    @property
    def without_walltime(self) -> int:
        """The number of rows without a walltime."""
        return sum(self[place].walltime is None for place in range(len(self)))

    def extra_data(self) -> Iterator[tuple[str, str]]:
        """The id and the extra data of each row that has some."""
        rows = (self[place] for place in range(len(self)))
        return ((row.id, row.extra_data) for row in rows if row.extra_data is not None)

    @property
    def texts(self) -> Collection[str] | None:
        """The different extra data of the rows; None if only a pass over all rows would find them."""
        return None

    @property
    def profiles(self) -> list[str]:
        """The names of the profiles that rows use, without duplicates, in the order of their first use."""
        return list(self._profile_numbers)

    def _note(self, row: int, resources: int, profile: str) -> int:
        """Note that a row uses a profile, and return the number of that profile."""
        number = self._profile_numbers.get(profile)
        if number is None:
            number = self._profile_numbers[profile] = len(self._profile_numbers)
        if resources > self.most_resources:
            self.most_resources = resources
        self.uses.setdefault((profile, resources), row)
        return number


class ColumnBlock(NamedTuple):
    """Columns of some rows, in the bytes of arrays, as C makes them.

    Attributes:
        ids: the ids in UTF-8, one behind the other.
        ends: where each id ends, counted from the first id of all rows (uint64).
        times: submission times (doubles).
        resources: numbers of resources (uint32).
        walltimes: walltimes (doubles); -1 for none.
        profiles: the numbers of profiles (uint32).
        texts: the numbers of extra data, from 1 on; 0 for none (uint32).
    """

    ids: bytes
    ends: bytes
    times: bytes
    resources: bytes
    walltimes: bytes
    profiles: bytes
    texts: bytes


class JobColumns(JobTable):
    """Rows in the order in which they were appended, and, once `sort` was called, by (time, id)."""

    def __init__(self) -> None:
        super().__init__()
        self._distinct = 0  # the number of rows whose ids are known to differ
        self._ids = bytearray()
        self._ends = array("Q")
        self._times = array("d")
        self._resources = array("I")
        self._walltimes = array("d")
        self._profiles = array("I")
        self._profile_names: list[str] = []
        self._extra_data: dict[int, str] = {}
        self._extra_texts: dict[str, str] = {}
        self._order: array[int] | None = None

    def __len__(self) -> int:
        return len(self._times)

    def append(
        self, id: str, time: float, resources: int, profile: str, walltime: float | None, extra_data: str | None
    ) -> None:
        row = len(self._times)
        number = self._note(row, resources, profile)
        if number == len(self._profile_names):
            self._profile_names.append(profile)
        if extra_data is not None:
            self._extra_data[row] = self._extra_texts.setdefault(extra_data, extra_data)  # each text is kept once
        self._resources.append(resources)
        self._ids += id.encode()
        self._ends.append(len(self._ids))
        self._times.append(time)
        self._walltimes.append(_NO_WALLTIME if walltime is None else walltime)
        self._profiles.append(number)

    @property
    def id_length(self) -> int:
        """The length of all ids, in bytes."""
        return len(self._ids)

    @property
    def profile_numbers(self) -> dict[str, int]:
        """The numbers of profiles, by their names. A reader of blocks adds new ones in the order of their first use."""
        return self._profile_numbers

    def extend(self, block: ColumnBlock, texts: Sequence[str], *, are_distinct: bool) -> None:
        """Add the rows of a block.

        Args:
            block: the rows. Their profiles are in `profile_numbers`.
            texts: the extra data by their numbers, from 0 on.
            are_distinct: whether all rows have different ids, also those that were added before.
        """
        first = len(self._times)
        resources, profiles = array("I", block.resources), array("I", block.profiles)
        self._ids += block.ids
        self._ends.frombytes(block.ends)
        self._times.frombytes(block.times)
        self._resources += resources
        self._walltimes.frombytes(block.walltimes)
        self._profiles += profiles
        self._profile_names += islice(self._profile_numbers, len(self._profile_names), None)
        names = self._profile_names
        for row, (number, count) in enumerate(zip(profiles, resources, strict=True), first):
            use = names[number], count
            if use not in self.uses:
                self.uses[use] = row
        self.most_resources = max(self.most_resources, max(resources, default=0))
        self._extra_texts.update(zip(texts, texts, strict=True))
        if texts:
            numbers = enumerate(array("I", block.texts), first)
            self._extra_data.update((row, texts[number - 1]) for row, number in numbers if number)
        if are_distinct and self._distinct == first:
            self._distinct = len(self._times)

    @property
    def without_walltime(self) -> int:
        return self._walltimes.count(_NO_WALLTIME)

    def extra_data(self) -> Iterator[tuple[str, str]]:
        return ((self.id_of(row), text) for row, text in self._extra_data.items())

    @property
    def texts(self) -> Collection[str] | None:
        return self._extra_texts.keys()

    def __getitem__(self, place: int) -> StoredJob:
        return self.appended(place if self._order is None else self._order[place])

    def appended(self, row: int) -> StoredJob:
        """The row that was appended as number `row`, from 0 on."""
        walltime = self._walltimes[row]
        id = self._ids[self._ends[row - 1] if row else 0 : self._ends[row]].decode()
        return StoredJob(
            id,
            self._times[row],
            self._resources[row],
            self._profile_names[self._profiles[row]],
            None if walltime == _NO_WALLTIME else walltime,
            self._extra_data.get(row) if self._extra_data else None,
        )

    def id_of(self, row: int) -> str:
        """The name of the row that was appended as number `row`."""
        return self._ids[self._ends[row - 1] if row else 0 : self._ends[row]].decode()

    def duplicate(self) -> tuple[int, int, str] | None:
        if self._distinct == len(self):
            return None
        hashes = Hashes()
        for row in range(len(self)):
            hashes.add(self.id_of(row))
        return first_duplicate(hashes, map(self.id_of, range(len(self))))

    def sort(self) -> None:
        times = self._times
        before = (float("-inf"), b"")
        for row, time in enumerate(times):
            if time > before[0]:
                before = (time, b"")
                continue
            earlier = self._id_bytes(row - 1)
            if time < before[0] or self._id_bytes(row) < earlier:
                break
        else:
            return
        order = sorted(range(len(times)), key=times.__getitem__)
        first = 0
        for last in range(1, len(order) + 1):
            if last == len(order) or times[order[last]] != times[order[first]]:
                if last - first > 1:
                    order[first:last] = sorted(order[first:last], key=self._id_bytes)
                first = last
        self._order = array("I", order)

    def _id_bytes(self, row: int) -> bytes:
        return bytes(self._ids[self._ends[row - 1] if row else 0 : self._ends[row]])


class Hashes:
    """The hashes of names: they show that all names differ, and need much less memory than the names."""

    def __init__(self) -> None:
        # Sorted one by one at the end, as a list of all takes five times the memory.
        self._buckets = [array("q") for _ in range(256)]

    def add(self, name: str) -> None:
        """Add a name."""
        hashed = hash(name)
        self._buckets[hashed & 255].append(hashed)

    def twice(self) -> set[int]:
        """The hashes that more than one name has."""
        return {one for bucket in self._buckets for one, other in pairwise(sorted(bucket)) if one == other}

    def known(self, names: Iterable[str]) -> set[str]:
        """The names among these whose hashes were added."""
        wanted = {hash(name): name for name in names}
        if not wanted:
            return set()
        return {wanted[hashed] for bucket in self._buckets for hashed in bucket if hashed in wanted}


def first_duplicate(hashes: Hashes, names: Iterable[str]) -> tuple[int, int, str] | None:
    """The first name that equals an earlier one, see `JobTable.duplicate`.

    Args:
        hashes: the hashes of all names.
        names: all names in order. They are read only if two hashes are equal.
    """
    twice = hashes.twice()
    if not twice:
        return None
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if hash(name) in twice:
            if name in seen:
                return row, seen[name], name
            seen[name] = row
    return None


# Jobs in a file
#
# A first pass checks the whole file, and stores where each block of jobs begins. A job is read again together with its
# block. The memory holds eight bytes for each job, and a few blocks.

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
