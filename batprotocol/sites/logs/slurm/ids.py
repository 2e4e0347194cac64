"""The ids of Slurm's jobs: `123`, `123_4` (a task of an array), `123+1` (a component), and those that come again."""

from __future__ import annotations

import re
from typing import Final

from batprotocol.errors import InputError
from batprotocol.sites.slurm.texts import MOST_DIGITS, job_id, task_numbers

__all__ = ["Repeated", "array_of", "tasks_of"]

_GROUP: Final = re.compile(r"([0-9]{1,10})_\[([0-9,:-]+)(?:%[0-9]{1,9})?\]", re.ASCII)
_MASK: Final = re.compile(r"([0-9]{1,10})_\[0x([0-9A-Fa-f]{1,25000})(?:%[0-9]{1,9})?\]", re.ASCII)
_MOST_REPEATED: Final = 500_000
_PAGE: Final = 13  # 2**13 ids in a page
_TASK_BITS: Final = 5


def array_of(text: str) -> str | None:
    """The array of a task.

    >>> array_of("3_0"), array_of("17+1")
    ('3', None)
    """
    array, line, _ = text.partition("_")
    return array if line else None


def tasks_of(text: str) -> list[str] | None:
    """The ids of the tasks of a group that waits; None if the text is not such a group, or stands for too many.

    The JSON of sacct has the tasks as a mask of bits, with the bit of task 0 last.

    >>> tasks_of("3_[1-4:2,9%2]"), tasks_of("3_[0x20A]")
    (['3_1', '3_3', '3_9'], ['3_1', '3_3', '3_9'])
    """
    mask = _MASK.fullmatch(text)
    if mask is not None:
        bits = f"{int(mask[2], 16):b}"[::-1]
        return [f"{mask[1]}_{number}" for number, bit in enumerate(bits) if bit == "1"] or None
    group = _GROUP.fullmatch(text)
    try:
        return [f"{group[1]}_{number}" for number in task_numbers(group[2])] if group else None
    except InputError:
        return None


class Repeated:
    """The ids that come in more than one row. It takes a bit for each id, so that a log of any size fits in memory.

    Attributes:
        rows: the ids that come again, with the number of their rows.
    """

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self._pages: dict[int, bytearray] = {}
        self._tasks: dict[int, int] = {}

    def add(self, text: str) -> None:
        """A row has this id. A text that is not an id is passed over.

        Raises:
            InputError: too many jobs have several rows.
        """
        if text.isdecimal() and len(text) <= MOST_DIGITS:
            number = int(text)
            page = self._pages.get(number >> _PAGE)
            if page is None:
                page = self._pages[number >> _PAGE] = bytearray(1 << _PAGE - 3)
            byte, bit = number >> 3 & (1 << _PAGE - 3) - 1, 1 << (number & 7)
            if not page[byte] & bit:
                page[byte] |= bit
                return
        else:
            found = job_id(text)
            if found is None:
                return
            number, kind, index = found
            place = (number << 30 | index >> _TASK_BITS) << 1 | (kind == "+")
            bits, bit = self._tasks.get(place, 0), 1 << (index & (1 << _TASK_BITS) - 1)
            if not bits & bit:
                self._tasks[place] = bits | bit
                return
        if text not in self.rows and len(self.rows) >= _MOST_REPEATED:
            raise InputError(
                f"more than {_MOST_REPEATED:,} jobs have several rows; use sacct without --duplicates, "
                "or import months one by one"
            )
        self.rows[text] = self.rows.get(text, 1) + 1
