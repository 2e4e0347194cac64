"""Values over time, such as the carbon intensity of electricity or its price: they change in steps.

They have units (`Unit`), and may repeat each day (`daily_trace`). A scheduler can get them as external events
(`PowerEvent`), and needs no file of its own then.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from batprotocol.errors import InputError, shown

__all__ = [
    "CARBON",
    "JOULES_PER_KWH",
    "NEVER_NEGATIVE",
    "POWER",
    "PRICE",
    "QUANTITIES",
    "Kind",
    "PowerEvent",
    "Step",
    "Trace",
    "Unit",
    "daily_trace",
    "parse_power",
    "parse_unit",
    "power_events",
    "read_power_event",
    "unit_in",
    "unit_of_power",
]


JOULES_PER_KWH: Final = 3.6e6
"""The joules of a kilowatt hour."""
_MOST_STEPS: Final = 10_000_000


class Step(NamedTuple):
    """A value and the time in which it holds: from `begin` to before `end`, in seconds."""

    begin: float
    end: float
    value: float


class Trace:
    """A value over time. Between two times it is the one that was given for the earlier of them.

    Args:
        times: the times at which values begin, in seconds, ascending.
        values: the value from each time on.
        end: the time up to which the last value holds, later than the last time.
        unit: the unit of the values, such as `g/kWh`.
        repeats: whether the trace begins anew at its end, and again, without end.

    Raises:
        InputError: there are no values, or times do not ascend.

    >>> trace = Trace([0.0, 3600.0], [300.0, 200.0], 7200.0, "g/kWh")
    >>> trace.at(3599.0), trace.at(3600.0), trace.integral(1800.0, 5400.0)
    (300.0, 200.0, 900000.0)
    """

    def __init__(
        self, times: Iterable[float], values: Iterable[float], end: float, unit: str, *, repeats: bool = False
    ) -> None:
        self.times, self.values = array("d", times), array("d", values)
        self.end, self.unit, self.repeats = end, unit, repeats
        if not self.times or len(self.times) != len(self.values):
            raise InputError(f"expected a value for each time, got {len(self.values)} for {len(self.times)} times")
        if len(self.times) > _MOST_STEPS:
            raise InputError(f"expected at most {_MOST_STEPS:,} values, got {len(self.times):,}")
        if not all(one < two for one, two in pairwise([*self.times, end])):
            raise InputError("expected ascending times")
        total = 0.0
        self._sums = array("d", [0.0])  # the integral up to the end of each step
        for begin, after, value in zip(self.times, [*self.times[1:], end], self.values, strict=True):
            total += value * (after - begin)
            self._sums.append(total)

    @property
    def begin(self) -> float:
        """The first time, in seconds."""
        return self.times[0]

    @property
    def period(self) -> float:
        """The time from the begin to the end, in seconds."""
        return self.end - self.times[0]

    def moved(self, seconds: float, *, repeats: bool | None = None) -> Trace:
        """The same values so many seconds later.

        Args:
            seconds: by how much; negative: earlier.
            repeats: whether the trace repeats; None: as this one does.
        """
        again = self.repeats if repeats is None else repeats
        return Trace((time + seconds for time in self.times), self.values, self.end + seconds, self.unit, repeats=again)

    def repeated(self, seconds: float) -> Trace:
        """The same values, which begin anew after some time, and again, without end.

        Args:
            seconds: the time from one begin to the next, longer than that from the first value to the last one.

        Raises:
            InputError: the last value begins later.
        """
        if not seconds > self.times[-1] - self.begin:
            raise InputError(
                f"expected a time of more than {self.times[-1] - self.begin:.15g} s from the first value to the first "
                f"one again, got {seconds:.15g} s"
            )
        return Trace(self.times, self.values, self.begin + seconds, self.unit, repeats=True)

    def sampled(self, seconds: float) -> Trace:
        """The trace of the values at all multiples of a time; the values in between are dropped.

        Args:
            seconds: the distance of the values, > 0.

        Raises:
            InputError: no multiple is inside the trace, or there would be too many.
        """
        if not seconds > 0 or self.period / seconds > _MOST_STEPS:
            raise InputError(f"expected a distance of values that leaves at most {_MOST_STEPS:,}, got {seconds:g} s")
        first, last = math.ceil(self.begin / seconds), math.ceil(self.end / seconds)
        times = [place * seconds for place in range(first, last)]
        return Trace(times, map(self.at, times), max(self.end, last * seconds), self.unit, repeats=self.repeats)

    # Values

    def at(self, time: float) -> float:
        """The value at a time.

        Raises:
            InputError: the trace does not reach to this time.
        """
        return self.values[self._place(self._folded(time)[0])]

    def next_change(self, time: float) -> float:
        """The first time after `time` at which another value may begin; infinity: none is known."""
        if time < self.begin and not self.repeats:
            return self.begin
        if time >= self.end and not self.repeats:
            return math.inf
        folded, offset = self._folded(time)
        place = bisect_right(self.times, folded)
        found = (self.times[place] if place < len(self.times) else self.end) + offset
        if found <= time:  # the sum was rounded
            found = math.nextafter(time, math.inf)
        return found

    def steps(self, begin: float, end: float) -> Iterator[Step]:
        """The steps between two times; the first begins and the last ends there.

        Raises:
            InputError: the trace does not reach over the whole time.
        """
        self._check(begin, end)
        while begin < end:
            after = min(self.next_change(begin), end)
            yield Step(begin, after, self.at(begin))
            begin = after

    def integral(self, begin: float, end: float) -> float:
        """The sum of value times seconds between two times, exact to some rounding errors of this sum.

        Raises:
            InputError: the trace does not reach over the whole time.
        """
        if end <= begin:
            return 0.0
        self._check(begin, end)
        (first, _), (last, _) = self._folded(begin), self._folded(end, is_end=True)
        turns = round((end - begin - (last - first)) / self.period)
        return turns * self._sums[-1] + (self._within(first, last) if first <= last else -self._within(last, first))

    def _within(self, begin: float, end: float) -> float:
        """The integral between two times inside the trace. Short times do not lose digits to the long sums."""
        first, last = self._place(begin), bisect_left(self.times, end) - 1
        if first >= last:
            return (end - begin) * self.values[first]
        values, times = self.values, self.times
        inner = self._sums[last] - self._sums[first + 1]
        return (times[first + 1] - begin) * values[first] + inner + (end - times[last]) * values[last]

    def mean(self, begin: float, end: float) -> float:
        """The mean value between two times; that at the time if they are one."""
        return self.integral(begin, end) / (end - begin) if end > begin else self.at(begin)

    def weighted(self, points: Iterable[tuple[float, float]]) -> float:
        """The sum of an amount that grows over time, each part times the value at its time.

        Args:
            points: times in ascending order, and the amount since the beginning. It grows evenly in between.

        Returns:
            With joules and g/kWh, grams times `JOULES_PER_KWH`.

        >>> joules = [(0.0, 0.0), (3600.0, 3.6e6), (7200.0, 7.2e6)]  # a kilowatt for two hours
        >>> Trace([0.0, 3600.0], [300.0, 200.0], 7200.0, "g/kWh").weighted(joules) / JOULES_PER_KWH
        500.0
        """
        total, before = 0.0, None
        since, until, value = math.inf, -math.inf, 0.0  # the step that was used last: amounts often change faster
        for time, amount in points:
            if before is not None and amount != before[1]:
                begin, less = before
                if not since <= begin < until and (time > begin or time < self.end or self.repeats):
                    since, until, value = begin, self.next_change(begin), self.at(begin)
                if since <= begin and time <= until:
                    total += (amount - less) * value
                elif time > begin:
                    total += (amount - less) / (time - begin) * self.integral(begin, time)
                else:
                    total += (amount - less) * self.at(time)
            before = time, amount
        return total

    def best_start(self, earliest: float, latest: float, seconds: float, grid: Sequence[float] | None = None) -> float:
        """The begin of the interval with the least mean value; of equal ones, the earliest.

        Args:
            earliest: the first time at which it may begin.
            latest: the last time at which it may begin, >= `earliest`.
            seconds: how long it is.
            grid: the times that are tried; None: all times, as the least one begins or ends with a step.

        Raises:
            InputError: the trace does not reach over the whole time.
        """
        tried = [earliest, *(grid if grid is not None else self._corners(earliest, latest, seconds))]
        best, least = earliest, math.inf
        for start in sorted(each for each in tried if earliest <= each <= latest):
            value = self.integral(start, start + seconds)
            if value < least - 1e-12 * abs(least) if least < math.inf else True:
                best, least = start, value
        return best

    def _corners(self, earliest: float, latest: float, seconds: float) -> Iterator[float]:
        """The times at which an interval begins, or ends, with a step: one of them has the least integral."""
        yield latest
        for step in self.steps(earliest, latest):
            yield step.begin
        for step in self.steps(earliest + seconds, latest + seconds):
            yield step.begin - seconds

    # Times

    def _place(self, time: float) -> int:
        return max(bisect_right(self.times, time) - 1, 0)

    def _check(self, begin: float, end: float) -> None:
        if self.repeats or (begin >= self.begin and end <= self.end):
            return
        if begin < self.begin:
            raise InputError(f"the trace begins at {self.begin:.15g} s, and its value at {begin:.15g} s is needed")
        raise InputError(f"the trace ends at {self.end:.15g} s, and its values up to {end:.15g} s are needed")

    def _folded(self, time: float, *, is_end: bool = False) -> tuple[float, float]:
        """A time inside the trace with the same value, and how much later the given one is."""
        if not self.repeats:
            self._check(time, time if is_end or time < self.end else math.nextafter(time, math.inf))
            return time, 0.0
        turns = math.floor((time - self.begin) / self.period)
        folded = time - turns * self.period
        if folded < self.begin:
            folded = self.begin
        elif folded >= self.end:
            turns, folded = turns + 1, self.begin
        return folded, time - folded


# Units
#
# Carbon intensities are in `g/kWh`: grams of CO2 equivalent for each kilowatt hour. Prices are in a currency for each
# kilowatt hour, such as `EUR/kWh`. Power is in `W`.

Kind: TypeAlias = Literal["carbon", "price", "power"]
"""The kinds of values."""
CARBON: Final[Kind] = "carbon"
"""Carbon intensities, in g/kWh."""
PRICE: Final[Kind] = "price"
"""Prices, in a currency for each kWh."""
POWER: Final[Kind] = "power"
"""Watts, such as those that a machine may draw at most."""
QUANTITIES: Final[dict[Kind, str]] = {CARBON: "a carbon intensity", PRICE: "a price", POWER: "a number of watts"}
"""The names of a value of each kind."""
NEVER_NEGATIVE: Final = frozenset((CARBON, POWER))
"""The kinds of values that are never less than 0. Prices can be."""

_POUND: Final = 0.45359237  # kilograms; exact by definition
_MASSES: Final = {"g": 1.0, "kg": 1000.0, "t": 1e6, "lb": 1000 * _POUND, "lbs": 1000 * _POUND}
_ENERGIES: Final = {"kwh": 1.0, "mwh": 1000.0, "gwh": 1e6}
_CENTS: Final = {"ct": "EUR", "cent": "EUR", "c": "EUR", "p": "GBP", "pence": "GBP"}
_SIGNS: Final = {"€": "EUR", "£": "GBP", "$": "USD"}

_TEXT: Final = re.compile(
    r"(?<![a-z0-9])(kg|g|t|lbs?|[a-z]{3}|ct|cent|c|pence|p|[€£$])"
    r"(?:[ _]?(co2(?:eq|e)?(?:q)?))?"
    r"(?:/| per |_per_)([kmg]wh)e?(?![a-z0-9])"
)

_POWER: Final = re.compile(r"(?<![a-z0-9])(?:(|k|m|g)w|(|kilo|mega|giga)watts?)(?![a-z0-9/])")
_POWERS: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


class Unit(NamedTuple):
    """A unit of a table.

    Attributes:
        kind: the kind of the values.
        name: the unit that the library computes with: `g/kWh`, a currency for each kilowatt hour, or `W`.
        factor: what a value is multiplied by to have that unit.
    """

    kind: Kind
    name: str
    factor: float


def unit_in(text: str) -> Unit | None:
    """The unit that a text, such as the header of a column, names; None if it names none.

    >>> unit_in("Carbon intensity gCO₂eq/kWh (direct)")
    Unit(kind='carbon', name='g/kWh', factor=1.0)
    >>> unit_in("Day-ahead Price (EUR/MWh)")
    Unit(kind='price', name='EUR/kWh', factor=0.001)
    """
    found = _TEXT.search(text[:1000].lower().replace("₂", "2"))
    if found is None:
        return None
    first, carbon, energy = found.groups()
    if first in _MASSES:
        return Unit(CARBON, "g/kWh", _MASSES[first] / _ENERGIES[energy])
    if carbon:
        return None
    if first in _CENTS:
        return Unit(PRICE, f"{_CENTS[first]}/kWh", 0.01 / _ENERGIES[energy])
    return Unit(PRICE, f"{_SIGNS.get(first, first.upper())}/kWh", 1 / _ENERGIES[energy])


def parse_unit(text: str) -> Unit:
    """The unit of a text.

    Raises:
        InputError: it is no unit.

    >>> parse_unit("lbs/MWh").factor
    0.45359237
    """
    unit = unit_in(text)
    if unit is None:
        raise InputError(f"expected a unit such as g/kWh, lb/MWh, EUR/MWh or ct/kWh, got {shown(text)}")
    return unit


def unit_of_power(text: str) -> Unit | None:
    """The unit of power that a text, such as the header of a column, names; None if it names none.

    >>> unit_of_power("Cap (kW)")
    Unit(kind='power', name='W', factor=1000.0)
    """
    found = _POWER.search(text[:1000].lower())
    return None if found is None else Unit(POWER, "W", _POWERS[(found[1] or found[2] or "")[:1]])


def parse_power(text: str) -> float:
    """The watts of a text such as `4kW`, `1.5 MW` or `4000`.

    Raises:
        InputError: it is no number of watts.

    >>> parse_power("4kW"), parse_power("250")
    (4000.0, 250.0)
    """
    number, factor = text.strip().lower(), 1.0
    if number.endswith("w"):
        number = number[:-1]
        if number.endswith(("k", "m", "g")):
            number, factor = number[:-1], _POWERS[number[-1]]
    try:
        watts = float(number) * factor if number.isascii() and "_" not in number else math.nan
    except ValueError:
        watts = math.nan
    if not 0 <= watts < math.inf:
        raise InputError(f"expected a number of watts such as 4000, 4kW or 1.5MW, got {shown(text)}")
    return watts


# Daily curves

_DAY: Final = 86400.0


def daily_trace(mean: float, swing: float, peak: float = 19 * 3600.0, *, step: float = 1800.0, unit: str) -> Trace:
    """A trace that repeats each day. Each step has the value of the cosine at its middle.

    Args:
        mean: the mean value.
        swing: how much more the greatest value is.
        peak: the time of the day with the greatest value, in seconds since midnight, from 0 to 86,400.
        step: how long a value holds, in seconds; a part of a day.
        unit: the unit of the values.

    Raises:
        InputError: a number is out of its range, the unit is no unit, or carbon intensities would be less than 0.

    >>> trace = daily_trace(300.0, 100.0, unit="g/kWh")
    >>> round(trace.at(19 * 3600)), round(trace.at(7 * 3600)), round(trace.mean(0, 86400), 9)
    (400, 200, 300.0)
    """
    count = round(_DAY / step) if 1 <= step <= _DAY else 0
    if not count or abs(count * step - _DAY) > 1e-6:
        raise InputError(f"expected a step that divides a day, from 1 to 86,400 s, got {step:g}")
    if not (math.isfinite(mean) and math.isfinite(swing) and swing >= 0):
        raise InputError(f"expected a finite mean, and a swing >= 0, got {mean:g} and {swing:g}")
    kind = parse_unit(unit).kind
    if mean < swing and kind in NEVER_NEGATIVE:
        raise InputError(
            f"expected {QUANTITIES[kind]} >= 0 at all times, got a mean of {mean:g} and a swing of {swing:g}"
        )
    if not 0 <= peak <= _DAY:
        raise InputError(f"expected a time of the day from 0 to 86,400 s, got {peak:g}")
    times = [place * step for place in range(count)]
    cosines = (math.cos(2 * math.pi * (time + step / 2 - peak) / _DAY) for time in times)
    values = [float(f"{mean + swing * cosine:.12g}") for cosine in cosines]  # the same on all machines
    return Trace(times, values, _DAY, unit, repeats=True)


# External events

_MOST_TEXT: Final = 1 << 16
_MINE: Final = re.compile(r'"(?:carbon|price)"')


class PowerEvent(msgspec.Struct, frozen=True):
    """The carbon intensity or the price of electricity from the time of the event on.

    Args:
        kind: `carbon` or `price`.
        value: the value, in `unit`.
        unit: `g/kWh`, or a currency for each kilowatt hour.

    >>> PowerEvent("carbon", 212.5, "g/kWh").to_data()
    '{"carbon":212.5,"unit":"g/kWh"}'
    """

    kind: Kind
    value: float
    unit: str

    def to_data(self) -> str:
        """The data of the external event."""
        return msgspec.json.encode({self.kind: self.value, "unit": self.unit}).decode()


def power_events(trace: Trace, kind: Kind, until: float) -> Iterator[tuple[float, PowerEvent]]:
    """The events of a trace from time 0 on: the value at time 0, and each change before a time.

    Args:
        trace: the values. Time 0 is the begin of the simulation.
        kind: what they are.
        until: the end, in seconds.

    Raises:
        InputError: the trace does not reach over the whole time.
    """
    before: float | None = None
    for step in trace.steps(0.0, until):
        if step.value != before:
            yield step.begin, PowerEvent(kind, step.value, trace.unit)
        before = step.value


def read_power_event(data: str) -> PowerEvent | None:
    """The change that the data of an external event describe.

    Args:
        data: the data of a `GenericExternalEvent`.

    Returns:
        None if the data are about something else: they are no JSON object with `carbon` or `price`.

    Raises:
        InputError: a key has a value that it cannot have, and `path` is the key.

    >>> read_power_event('{"price": 52.1, "unit": "EUR/MWh"}')
    PowerEvent(kind='price', value=0.0521, unit='EUR/kWh')
    """
    if len(data) > _MOST_TEXT or not _MINE.search(data):
        return None
    try:
        given: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    kind: Kind | None = CARBON if CARBON in given else PRICE if PRICE in given else None
    if kind is None:
        return None
    value, name = given[kind], given.get("unit", "g/kWh" if kind == CARBON else None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"expected a number, got {shown(value)}", kind)
    if kind in NEVER_NEGATIVE and value < 0:
        raise InputError(f"expected {QUANTITIES[kind]} >= 0, got {shown(value)}", kind)
    try:
        unit = parse_unit(name) if isinstance(name, str) else None
    except InputError:
        unit = None
    if unit is None or unit.kind != kind:
        expected = "g/kWh" if kind == CARBON else "EUR/MWh"
        raise InputError(f"expected a unit such as {expected}, got {shown(name)}", "unit")
    return PowerEvent(kind, value * unit.factor, unit.name)
