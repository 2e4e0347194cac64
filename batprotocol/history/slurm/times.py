"""Times in Slurm's accounting: moments, with or without a zone, and spans such as `1-02:03:04`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from batprotocol.errors import InputError, hint, shown

__all__ = [
    "NOTHING",
    "NO_LIMITS",
    "OF_PARTITION",
    "Clock",
    "minutes_of",
    "seconds_of",
    "settled",
    "walltime_of",
    "zone_of",
]

NOTHING: Final = frozenset({"", "Unknown", "unknown", "UNKNOWN", "None", "NONE", "(null)", "N/A", "n/a", "0"})
"""The words for a time, or another value, that the log does not have."""

OF_PARTITION: Final = "Partition_Limit"
"""The word for the time limit of a job that did not ask for one, before it starts."""
NO_LIMITS: Final = frozenset({"UNLIMITED", "INFINITE", "-1", OF_PARTITION})
"""The words for no time limit, or one that is not known."""

_MOST_HOURS: Final = 50_000
_HOUR: Final = len("2026-11-23T22")
_IN_HOUR: Final = {f":{second // 60:02}:{second % 60:02}": float(second) for second in range(3600)}
_EPOCH: Final = re.compile(r"[0-9]{1,11}(?:\.[0-9]{1,9})?", re.ASCII)
_MOMENT: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,9})?"
    r"(?:(Z)|([+-])([0-9]{2})(?::?([0-9]{2}))?)?",
    re.ASCII,
)
_SPAN: Final = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,8}):([0-9]{2}(?:\.[0-9]{1,9})?)", re.ASCII)
_WHOLE: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_FIRST_YEAR: Final = 1971
_LAST_YEAR: Final = 9000
_TOLERANCE: Final = 1.0  # seconds between an elapsed time and the difference of two times, which are whole seconds


def zone_of(name: str | None) -> tzinfo:
    """The zone of a name such as `Europe/Paris`; None: UTC.

    Raises:
        InputError: there is no such zone.
    """
    if name is None or name.upper() in ("UTC", "Z"):
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        import zoneinfo

        question = hint(name, zoneinfo.available_timezones())
        raise InputError(f"expected a zone such as 'Europe/Paris', got {shown(name)}{question}") from None


class Clock:
    """Reads moments. Hours that it has seen are kept, as the times of a log are near to one another.

    Args:
        zone: the zone of times that have none.

    Attributes:
        doubtful: whether a time was read that comes twice, as clocks were set back. The caller sets it to False.

    >>> Clock(timezone.utc).at("2026-11-23T22:33:19"), Clock(timezone.utc).at("Unknown")
    (1795473199.0, None)
    """

    def __init__(self, zone: tzinfo) -> None:
        self.doubtful = False
        self._zone = zone
        self._hours: dict[str, float] = {}

    def at(self, text: str) -> float | None:
        """A moment in seconds since 1970 (UTC), or None if the text says that there is none.

        Raises:
            ValueError: the text is no moment.
        """
        try:
            return self._hours[text[:_HOUR]] + _IN_HOUR[text[_HOUR:]]
        except KeyError:
            return self._new(text)

    def _new(self, text: str) -> float | None:
        if text in NOTHING:
            return None
        if _EPOCH.fullmatch(text):
            return float(text)
        found = _MOMENT.fullmatch(text)
        if found is None or not _FIRST_YEAR <= int(found[1]) <= _LAST_YEAR:
            raise ValueError(text)
        year, month, day, hour, minute = map(int, found.group(1, 2, 3, 4, 5))
        local = datetime(year, month, day, hour, minute)
        seconds = int(found[6]) + float(found[7] or 0)
        if int(found[6]) >= 60:
            raise ValueError(text)
        if found[8] or found[9]:
            offset = timedelta(hours=int(found[10] or 0), minutes=int(found[11] or 0))
            return (local - (-offset if found[9] == "-" else offset)).replace(tzinfo=timezone.utc).timestamp() + seconds
        first, second = self._moments(local)
        if second > first:
            self.doubtful = True
        elif not found[7] and text[_HOUR - 3] == "T":
            self._keep(text[:_HOUR], local)
        return first + seconds

    def _moments(self, local: datetime) -> tuple[float, float]:
        moment = local.replace(tzinfo=self._zone)
        return moment.timestamp(), moment.replace(fold=1).timestamp()

    def _keep(self, hour: str, local: datetime) -> None:
        """Keep an hour in which clocks are not changed."""
        begin, end = self._moments(local.replace(minute=0)), self._moments(local.replace(minute=59))
        if begin[0] == begin[1] == end[0] - 59 * 60 == end[1] - 59 * 60:
            if len(self._hours) >= _MOST_HOURS:
                self._hours.clear()
            self._hours[hour] = begin[0]

    def both(self, text: str) -> tuple[float | None, ...]:
        """The moments that a text can stand for: two if it comes twice."""
        moment = self.at(text)
        found = _MOMENT.fullmatch(text)
        if moment is None or found is None or found[8] or found[9]:
            return (moment,)
        local = datetime.fromtimestamp(moment, self._zone)
        later = local.replace(fold=1).timestamp()
        return (moment, later) if later > moment else (moment,)


def settled(
    choices: Sequence[tuple[float | None, ...]],
    taken: float | None,
    waited: float | None,
    not_before: float | None,
) -> tuple[float | None, ...]:
    """The moments of a job among those that its texts can stand for: the first ones that agree best with the rest.

    Args:
        choices: the moments of its submission, eligibility, start and end.
        taken: seconds from its start to its end; None: not known.
        waited: seconds from its eligibility to its start; None: not known.
        not_before: when the job before it in the log was submitted, if the log is sorted by submission.
    """

    def faults(moments: tuple[float | None, ...]) -> int:
        submitted, eligible, started, ended = moments
        known = [each for each in moments if each is not None]
        count = 4 * sum(one > two for one, two in itertools.pairwise(known))
        if taken is not None and started is not None and ended is not None:
            count += 8 * (abs(ended - started - taken) > _TOLERANCE)
        if waited is not None and started is not None and eligible is not None:
            count += 2 * (abs(started - eligible - waited) > _TOLERANCE)
        if not_before is not None and submitted is not None:
            count += submitted < not_before
        return count

    return min(itertools.product(*choices), key=faults)


@lru_cache(8192)
def minutes_of(text: str) -> float:
    """A span of time of whole minutes, in seconds.

    Raises:
        ValueError: the text is no number.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text) * 60.0


@lru_cache(8192)
def seconds_of(text: str) -> float:
    """A span of time in seconds: `D-HH:MM:SS`, `HH:MM:SS`, `MM:SS`, or a whole number of seconds.

    >>> seconds_of("1-02:03:04"), seconds_of("00:00.015"), seconds_of("76")
    (93784.0, 0.015, 76.0)

    Raises:
        ValueError: the text is no span.
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        if _WHOLE.fullmatch(text):
            return float(text)
        raise ValueError(text)
    return int(found[1] or 0) * 86400.0 + int(found[2] or 0) * 3600 + int(found[3]) * 60 + float(found[4])


@lru_cache(8192)
def walltime_of(limit: str, minutes: str) -> float | None:
    """A time limit in seconds, of the columns `Timelimit` and `TimelimitRaw`; None if there is none.

    >>> walltime_of("", "3"), walltime_of("1-00:00:00", ""), walltime_of("UNLIMITED", "")
    (180.0, 86400.0, None)

    Raises:
        ValueError: a text is no time limit.
    """
    if limit not in NOTHING:
        return None if limit in NO_LIMITS else seconds_of(limit)
    return None if minutes in NOTHING or minutes in NO_LIMITS else minutes_of(minutes)
