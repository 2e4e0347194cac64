"""The jobs of logs that a user wants: of several files, of a period, and without names.

It must not know formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import inf
from typing import Final

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import Clock, zone_of
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.anonymous import Anonymizer
from batprotocol.sites.logs.jobs import LoggedJob

__all__ = ["Chosen", "moment"]

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
EARLIER: Final = "the job was submitted before the period"
LATER: Final = "the job was submitted after the period"


class Chosen:
    """The jobs of logs in a period, read anew in each iteration.

    Args:
        logs: the logs, in order. Each can be read more than once.
        begin: only jobs that were submitted at this moment or later, in seconds since 1970 (UTC).
        end: only jobs that were submitted before this moment.
        anonymizer: it replaces names; None: names are kept.
        left_out: where the first iteration counts jobs outside of the period.
    """

    def __init__(
        self,
        logs: Iterable[Iterable[LoggedJob]],
        *,
        begin: float = -inf,
        end: float = inf,
        anonymizer: Anonymizer | None = None,
        left_out: LeftOut | None = None,
    ) -> None:
        self._logs = list(logs)
        self._begin, self._end = begin, end
        self._anonymizer = anonymizer
        self._left_out = LeftOut() if left_out is None else left_out
        self._is_counted = False

    def __iter__(self) -> Iterator[LoggedJob]:
        left_out = LeftOut() if self._is_counted else self._left_out
        self._is_counted = True
        begin, end, anonymizer = self._begin, self._end, self._anonymizer
        for log in self._logs:
            for job in log:
                if begin <= job.first.submitted < end:
                    yield job if anonymizer is None else anonymizer.job(job)
                else:
                    left_out.row(EARLIER if job.first.submitted < begin else LATER, job.line)


def moment(text: str, zone: str | None = None) -> float:
    """A moment in seconds since 1970 (UTC): a day, a day with a time, or such seconds.

    Args:
        text: such as `2026-11-23`, `2026-11-23T22:33:19`, `2026-11-23T22:33:19+01:00`.
        zone: the zone of a moment that has none, such as `Europe/Paris`; None: UTC.

    >>> moment("2026-11-23"), moment("2026-11-23T00:00:00", "Europe/Paris")
    (1795392000.0, 1795388400.0)

    Raises:
        InputError: the text is not a moment, or there is no such zone.
    """
    clock = Clock(zone_of(zone))
    try:
        found = clock.at(f"{text}T00:00:00" if _DAY.fullmatch(text) else text)
    except ValueError:
        found = None
    if found is None:
        raise InputError(f"expected a moment such as 2026-11-23 or 2026-11-23T22:33:19, got {shown(text)}")
    return found
