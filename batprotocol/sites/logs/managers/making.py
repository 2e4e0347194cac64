"""Values that a row of a log may lack, and attempts whose times are in order.

It must not know any format.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from batprotocol._util.tables import LeftOut
from batprotocol.sites.logs.jobs import Attempt, JobState

__all__ = ["Refused", "Row", "amount_of", "moment_of", "number_of", "text_of"]

_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?", re.ASCII)
_LARGEST: Final = 2**53
_LATEST: Final = 220_000_000_000.0
"""No time of a log is later, in seconds since 1970: that is the year 8941."""

Value = TypeVar("Value")


class Refused(Exception):
    """A row that is left out, with the reason."""


def number_of(value: Any) -> float | None:
    """A number, also as a text; None if there is none.

    >>> number_of("12.5"), number_of(3), number_of(None), number_of("")
    (12.5, 3.0, None, None)

    Raises:
        ValueError: the value is no number, or too large to be exact.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if _NUMBER.fullmatch(value) is None:
            raise ValueError(value)
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise ValueError(value)
    return float(value)


def amount_of(value: Any) -> int | None:
    """A whole number >= 1; None if there is none, or if it is 0 or -1, which mean that there is none.

    Raises:
        ValueError: the value is no whole number, or less than -1.
    """
    number = number_of(value)
    if number is None or number in (0, -1):
        return None
    if number < 0 or not number.is_integer():
        raise ValueError(value)
    return int(number)


def moment_of(value: Any) -> float | None:
    """A time in seconds since 1970; None if there is none, or if it is 0 or -1, which mean that there is none.

    Raises:
        ValueError: the value is no such time.
    """
    number = number_of(value)
    if number is None or number in (0, -1):
        return None
    if not 0 < number <= _LATEST:
        raise ValueError(value)
    return number


def text_of(value: Any) -> str | None:
    """A text; None if it is empty, or no text. A number becomes a text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) <= 2**64 else None
    return value if isinstance(value, str) and value else None


class Row:
    """Reads the values of one row, and counts those that cannot be read.

    Args:
        left_out: where it counts them.
        line: the line of the row.
    """

    def __init__(self, left_out: LeftOut, line: int) -> None:
        self.line = line
        self._left_out = left_out

    def note(self, reason: str) -> None:
        """A value of the row is left out."""
        self._left_out.value(reason, self.line)

    def read(self, name: str, reader: Callable[[Any], Value], value: Any) -> Value | None:
        """A value; None if it cannot be read, which is counted by its name."""
        try:
            return reader(value)
        except ValueError:
            self.note(f"the value of {name} cannot be read")
            return None

    def needed(self, name: str, reader: Callable[[Any], Value], value: Any) -> Value:
        """A value without which the row is left out, if it cannot be read.

        Raises:
            Refused: it cannot be read.
        """
        try:
            return reader(value)
        except ValueError:
            raise Refused(f"the value of {name} cannot be read") from None

    def attempt(
        self,
        submitted: float | None,
        started: float | None,
        ended: float | None,
        state: JobState,
        *,
        eligible: float | None = None,
        hosts: tuple[str, ...] = (),
        suspended: float = 0.0,
        exit_code: int | None = None,
        signal: int | None = None,
    ) -> Attempt:
        """An attempt with these times, in seconds since 1970.

        Raises:
            Refused: it has no submission, or ends before it starts.
        """
        if submitted is None:
            raise Refused("the job has no time of submission")
        if started is not None and started < submitted:
            self.note("the job starts before it is submitted; its start is taken for both")
            submitted = started
        if ended is not None and ended < (submitted if started is None else started):
            raise Refused("the job ends before it starts, or before it is submitted")
        return Attempt(
            submitted=submitted,
            eligible=eligible,
            started=started,
            ended=ended,
            state=state,
            hosts=hosts if started is not None else (),
            suspended=suspended,
            exit_code=exit_code,
            signal=signal,
        )
