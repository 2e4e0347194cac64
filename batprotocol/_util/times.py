"""Times: moments of logs and tables, with and without a zone, and durations."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from itertools import pairwise
from typing import Final

from batprotocol.errors import InputError, hint, shown

__all__ = [
    "CLOCKS_DIFFER",
    "Clock",
    "not_before",
    "parse_duration",
    "zone_of",
]


CLOCKS_DIFFER: Final = 60.0
"""Seconds by which lines of a log may be out of order, as they are written by several processes."""

_MOST_HOURS: Final = 50_000
_HOUR: Final = len("2026-11-23T22")
_IN_HOUR: Final = {f":{second // 60:02}:{second % 60:02}": float(second) for second in range(3600)}
_EPOCH: Final = re.compile(r"[0-9]{1,11}(?:\.[0-9]{1,9})?", re.ASCII)
_MOMENT: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,9})?"
    r"(?:(Z)|([+-])([0-9]{2})(?::?([0-9]{2}))?)?",
    re.ASCII,
)
_FIRST_YEAR: Final = 1971
_LAST_YEAR: Final = 9000


def zone_of(name: str | None) -> tzinfo:
    """The zone of a name such as `Europe/Paris`; None: UTC.

    Raises:
        InputError: there is no such zone.
    """
    if name is None or name.upper() in ("UTC", "Z"):
        return timezone.utc
    import zoneinfo  # few times have one

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        question = hint(name, zoneinfo.available_timezones())
        raise InputError(f"expected a zone such as 'Europe/Paris', got {shown(name)}{question}") from None


class Clock:
    """Reads moments. Hours that it has seen are kept, as the times of a log are near to one another.

    Args:
        zone: the zone of times that have none.
        nothing: the texts that say that there is no time.

    Attributes:
        doubtful: whether a time was read that comes twice, as clocks were set back. The caller sets it to False.

    >>> clock = Clock(timezone.utc, frozenset({"Unknown"}))
    >>> clock.at("2026-11-23T22:33:19"), clock.at("Unknown")
    (1795473199.0, None)
    """

    def __init__(self, zone: tzinfo, nothing: frozenset[str] = frozenset()) -> None:
        self.doubtful = False
        self._zone, self._nothing = zone, nothing
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

    def hour(self, text: str) -> float:
        """The begin of the hour of a moment, written as `2026-11-23T22:33:19`, in seconds since 1970 (UTC).

        >>> Clock(timezone.utc).hour("2026-11-23T22:33:19")
        1795471200.0

        Raises:
            ValueError: the text is no such moment, or clocks are changed in that hour.
        """
        self.at(text)
        self.doubtful = False
        try:
            return self._hours[text[:_HOUR]]
        except KeyError:
            raise ValueError(text) from None

    def _new(self, text: str) -> float | None:
        if text in self._nothing:
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

    def after(self, text: str, before: float) -> float | None:
        """A moment, and of one that comes twice the first that is not before another one; if both are, the first.

        >>> clock, set_back = Clock(zone_of("Europe/Paris")), 1_761_440_400.0
        >>> [clock.after("2025-10-26T02:30:00", before) - set_back for before in (set_back - 3600, set_back)]
        [-1800.0, 1800.0]

        Raises:
            ValueError: the text is no moment.
        """
        moment = self.at(text)
        if self.doubtful and moment is not None:
            self.doubtful = False
            return not_before(moment, before, self._zone)
        return moment

    def both(self, text: str) -> tuple[float | None, ...]:
        """The moments that a text can stand for: two if it comes twice."""
        moment = self.at(text)
        found = _MOMENT.fullmatch(text)
        if moment is None or found is None or found[8] or found[9]:
            return (moment,)
        later = _second(moment, self._zone)
        return (moment, later) if later > moment else (moment,)


def not_before(moment: float, before: float, zone: tzinfo) -> float:
    """A moment, or the second one of its local time, if clocks were set back and only that one is not before another.

    Args:
        moment: the first of them, in seconds since 1970.
        before: the moment that it is not before.
        zone: the zone of the local time.

    >>> not_before(1_761_438_600.0, 1_761_440_400.0, zone_of("Europe/Paris")) - 1_761_438_600.0
    3600.0
    """
    if moment >= before:
        return moment
    later = _second(moment, zone)
    return later if later >= before else moment


def _second(moment: float, zone: tzinfo) -> float:
    """The second moment with the local time of this one; the moment itself, if there is only one."""
    try:
        return datetime.fromtimestamp(moment, zone).replace(fold=1).timestamp()
    except (ValueError, OverflowError, OSError):  # it has no date
        return moment


# Durations as people write them: `1d8h`, `30min`, `1y`.


_LONGEST: Final = 100  # characters of a duration
_YEAR: Final = 31_557_600.0
_DURATIONS: Final = {
    "y": _YEAR,
    "mo": _YEAR / 12,
    "w": 604800.0,
    "d": 86400.0,
    "h": 3600.0,
    "min": 60.0,
    "m": 60.0,
    "s": 1.0,
}
_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)(y|mo|w|d|h|min|m|s)", re.ASCII)
_PLAIN = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?", re.ASCII)


def parse_duration(text: str) -> float:
    """Read a duration of people, in seconds: numbers with units, the largest unit first, or seconds alone.

    The units are y (365.25 days), mo (a twelfth of a year), w, d, h, m or min, and s.

    >>> parse_duration("1d8h"), parse_duration("1.5h"), parse_duration("90"), parse_duration("1mo")
    (115200.0, 5400.0, 90.0, 2629800.0)

    Raises:
        InputError: the text is not a duration.
    """
    if len(text) <= _LONGEST:
        if _PLAIN.fullmatch(text):
            return float(text)
        parts, end = [], 0
        while found := _PART.match(text, end):
            parts.append((_DURATIONS[found[2]], float(found[1])))
            end = found.end()
        units = [unit for unit, _ in parts]
        if parts and end == len(text) and all(high > low for high, low in pairwise(units)):
            return sum(unit * number for unit, number in parts)
    raise InputError(f"expected a duration such as 1d8h, 30min, 1y or 90 (seconds), got {shown(text)}")
