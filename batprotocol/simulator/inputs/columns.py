"""The jobs of a workload in columns: some forty bytes a job instead of some four hundred.

It knows of order and of duplicate names, but not of what the columns mean.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import NamedTuple

__all__ = ["JobColumns", "JobRecord"]

_NO_WALLTIME = -1.0  # a walltime that is given is > 0


class JobRecord(NamedTuple):
    """One row: a job's name inside its workload, and what its other columns hold."""

    id: str
    time: float
    resources: int
    profile: str
    walltime: float | None
    extra_data: str | None


class JobColumns:
    """Rows in the order in which they were appended, and, once `sort` was called, by (time, id)."""

    def __init__(self) -> None:
        self._ids = bytearray()
        self._ends = array("Q")
        self._times = array("d")
        self._resources = array("I")
        self._walltimes = array("d")
        self._profiles = array("I")
        self._profile_names: list[str] = []
        self._profile_numbers: dict[str, int] = {}
        self._extra_data: dict[int, str] = {}
        self._order: array[int] | None = None

    def __len__(self) -> int:
        return len(self._times)

    def append(
        self, id: str, time: float, resources: int, profile: str, walltime: float | None, extra_data: str | None
    ) -> None:
        """Add a row. `resources` must fit into uint32, and `id` into UTF-8."""
        number = self._profile_numbers.get(profile)
        if number is None:
            number = self._profile_numbers[profile] = len(self._profile_names)
            self._profile_names.append(profile)
        if extra_data is not None:
            self._extra_data[len(self._times)] = extra_data
        self._resources.append(resources)
        self._ids += id.encode()
        self._ends.append(len(self._ids))
        self._times.append(time)
        self._walltimes.append(_NO_WALLTIME if walltime is None else walltime)
        self._profiles.append(number)

    def __getitem__(self, place: int) -> JobRecord:
        return self.appended(place if self._order is None else self._order[place])

    def appended(self, row: int) -> JobRecord:
        """The row that was appended as number `row`, from 0 on."""
        walltime = self._walltimes[row]
        id = self._ids[self._ends[row - 1] if row else 0 : self._ends[row]].decode()
        return JobRecord(
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

    @property
    def profiles(self) -> list[str]:
        """The names of the profiles that the rows use, each once, in the order of their first use."""
        return list(self._profile_names)

    @property
    def most_resources(self) -> int:
        """The largest number of resources; 0 without rows."""
        return max(self._resources, default=0)

    def duplicate(self) -> tuple[int, int] | None:
        """The first row whose name an earlier one has, and that earlier one, by their numbers; None if all differ."""
        # Hashes are enough to see that all names differ, and a fraction of the names' size.
        hashes = array("q", (hash(self.id_of(row)) for row in range(len(self))))
        ordered = sorted(hashes)
        twice = {one for one, other in pairwise(ordered) if one == other}
        if not twice:
            return None
        seen: dict[str, int] = {}
        for row, hashed in enumerate(hashes):
            if hashed in twice:
                name = self.id_of(row)
                if name in seen:
                    return row, seen[name]
                seen[name] = row
        return None

    def sort(self) -> None:
        """Order the rows by (time, id), ids by their UTF-8 bytes. Rows that are in order already cost nothing."""
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
