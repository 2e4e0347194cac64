"""Tables of carbon intensities, prices and watts, as their publishers write them: text in, a `Trace` out.

The headers decide what a table is. `FORMATS` lists the known ones. `trace_named` and `cap_named` find a trace by its
name: a file with options (`gb.csv?begin=2020-05-01&repeat=yes`), a daily curve, or a number of watts.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from batprotocol._util.files import DAMAGES, decompressed
from batprotocol._util.tables import LeftOut
from batprotocol._util.times import Clock, parse_duration, zone_of
from batprotocol.errors import InputError, hint, shown
from batprotocol.workloads.electricity.trace import (
    CARBON,
    NEVER_NEGATIVE,
    POWER,
    PRICE,
    QUANTITIES,
    Kind,
    Trace,
    Unit,
    daily_trace,
    parse_power,
    parse_unit,
    unit_in,
    unit_of_power,
)

__all__ = [
    "DAILY_WORDS",
    "FORMATS",
    "TRACE_WORDS",
    "TraceTable",
    "cap_named",
    "is_number",
    "read_table",
    "trace_file",
    "trace_named",
]


FORMATS: Final[tuple[tuple[str, str, str], ...]] = (
    ("Electricity Maps", "Datetime (UTC), Zone id, Carbon intensity gCO₂eq/kWh (direct), (Life cycle)", "`direct`"),
    ("WattTime", "point_time or timestamp, MOER or value, signal_type", "lb/MWh, marginal; signals of CO2"),
    ("National Grid ESO, NESO", "Datetime (UTC), Actual Carbon Intensity (gCO2/kWh), Forecast ...", "`actual`"),
    ("Carbon Intensity API (Great Britain)", "from, to, forecast, actual, index", "`actual`, begins of the intervals"),
    ("Wiesner et al. 2021", "Time, Carbon Intensity", "g/kWh"),
    ("ENTSO-E", "MTU (CET/CEST), Day-ahead Price (EUR/MWh)", "begins of the intervals; first sequence"),
    ("Ember", "Datetime (UTC), Datetime (Local), Price (EUR/MWhe)", "UTC"),
)
"""The known tables: who publishes them, their headers, and what is taken of them. Similar tables can be read, too."""

_MOST_ROWS: Final = 5_000_000
_LONGEST_LINE: Final = 1 << 16
_TIMES: Final = ("datetime", "timestamp", "point_time", "mtu", "time", "date")
_BEGIN: Final = "from"
"""The header of times in tables of intervals whose other headers name no quantity."""
_OF_INTERVALS: Final = {"actual": "g/kWh", "forecast": "g/kWh"}
_REGIONS: Final = ("zone id", "zone_id", "region", "area", "iso3 code", "zone name", "country")
_VALUES: Final[dict[Kind, re.Pattern[str]]] = {
    CARBON: re.compile(r"carbon|co2|moer|emission|intensity"),
    PRICE: re.compile(r"price|tariff|cost"),
    POWER: re.compile(r"watt|power|cap|limit|budget"),
}
_FIRST: Final = ("actual", "direct", "day-ahead")
"""Of several columns with values, one with such a word is taken."""
_MISSING: Final = frozenset({"", "-", "n/e", "n/a", "na", "nan", "null", "none"})
_MARGINAL: Final = "lb/MWh"
_UNITS_OF: Final = {"moer": _MARGINAL, "value": _MARGINAL}
_EUROPEAN: Final = re.compile(r"([0-9]{2})[./]([0-9]{2})[./]([0-9]{4})[ T]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)", re.ASCII)
_ISO: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})(?!:)(.*)", re.ASCII)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_SUMMER: Final = {"CET": "+01:00", "CEST": "+02:00"}


class TraceTable(NamedTuple):
    """A table that was read.

    Attributes:
        trace: its values, with times in seconds since 1970 (UTC).
        kind: carbon, price or power.
        column: the header of the column that was taken.
        region: the region that was taken, or "".
        zone: the time zone of times without one.
    """

    trace: Trace
    kind: Kind
    column: str
    region: str
    zone: str


class _TableRow(NamedTuple):
    moments: Sequence[float | None]
    value: float | None
    line: int


def read_table(
    lines: Iterable[str],
    *,
    kind: Kind | None = None,
    column: str = "",
    unit: str = "",
    region: str = "",
    zone: str = "",
    left_out: LeftOut | None = None,
) -> TraceTable:
    """Read a table of values over time, with a header.

    A value holds until the next one. The last one holds as long as most others. A missing value, or a missing row, is
    the value before it, and is counted in `left_out`.

    Args:
        lines: the lines of the table.
        kind: what is wanted; None: what the table has.
        column: a part of the header of the column with the values; "": the first that looks like them.
        unit: their unit; "": as the header says, or g/kWh for carbon intensities, and W for power.
        region: of a table with several regions: the one to take.
        zone: the zone of times that have none, such as `Europe/Paris`; "": as the header says, or UTC.
        left_out: where missing values are counted.

    Raises:
        InputError: the table cannot be read; with the line.

    >>> lines = ["Time,Carbon Intensity", "2020-01-01 00:00:00,120.5", "2020-01-01 00:30:00,135"]
    >>> table = read_table(lines)
    >>> table.trace.at(1577836800.0), table.trace.period, table.trace.unit
    (120.5, 3600.0, 'g/kWh')
    """
    rows = _rows(lines)
    header = [each.strip().lstrip("\ufeff") for each in next(rows, (1, [""]))[1]]
    if not any(header):
        raise InputError("expected a header with the names of columns, and the line is empty", line=1)
    small = [each.lower().replace("₂", "2") for each in header]
    place = _column_of_times(small, header)
    taken, found = _column_of_values(small, header, place, kind, column, unit)
    named_zone = zone or _zone_in(small[place])
    clock, where = Clock(zone_of(named_zone or None)), left_out if left_out is not None else LeftOut()
    chosen, regions = _column_of_regions(small), Counter[str]()
    sequence = small.index("sequence") if "sequence" in small else None
    signal = small.index("signal_type") if "signal_type" in small and not unit else None
    read: list[_TableRow] = []
    for line, values in rows:
        if len(values) <= max(place, taken):
            raise InputError(f"expected {len(header)} values, got {len(values)}", line=line)
        if sequence is not None and "2" in (values[sequence] if sequence < len(values) else ""):
            continue
        if signal is not None and signal < len(values) and not values[signal].strip().lower().startswith("co2"):
            raise InputError(f"expected a signal such as co2_moer, got {shown(values[signal])}", line=line)
        if chosen is not None and chosen < len(values):
            here = values[chosen].strip()
            regions[here] += 1
            if region and here.lower() != region.lower():
                continue
        read.append(_row(values[place], values[taken], line, clock, named_zone, found))
        if len(read) > _MOST_ROWS:
            raise InputError(f"expected at most {_MOST_ROWS:,} rows", line=line)
    if region and region.lower() not in (each.lower() for each in regions):
        near = hint(region, regions) or (f"; it has {', '.join(sorted(regions)[:10])}" if regions else "")
        raise InputError(f"the table has no region {shown(region)}{near}")
    if not region and len(regions) > 1:
        names = ", ".join(sorted(regions)[:10])
        raise InputError(f"the table has {len(regions)} regions, {names}: choose one with region=")
    trace = _trace(read, found, where)
    return TraceTable(trace, found.kind, header[taken], region or next(iter(regions), ""), named_zone or "UTC")


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows with the numbers of their lines; `;` separates values if the header has no comma. Empty ones are not."""

    def checked() -> Iterator[str]:
        for number, line in enumerate(lines, 1):
            if len(line) > _LONGEST_LINE or "\0" in line:
                raise InputError("expected a line of text with values", line=number)
            yield line

    source = checked()
    first = next(source, "")
    comma = ";" if first.count(";") > first.count(",") else "," if first.count(",") else "\t"
    yield 1, next(csv.reader([first], delimiter=comma), [])
    reader = csv.reader(source, delimiter=comma)
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"this is not a row of a table: {error}", line=reader.line_num + 1) from None
        if values:
            yield reader.line_num + 1, values


# Columns


def _column_of_times(small: Sequence[str], header: Sequence[str]) -> int:
    for word in _TIMES:
        for place, name in enumerate(small):
            if name.startswith(word):
                return place
    if _BEGIN in small:
        return small.index(_BEGIN)
    raise InputError(f"expected a column of times, such as Datetime (UTC), got {', '.join(header[:20])}", line=1)


def _zone_in(name: str) -> str:
    if "utc" in name or "gmt" in name:
        return "UTC"
    return "Europe/Brussels" if "cet" in name else ""


def _column_of_regions(small: Sequence[str]) -> int | None:
    return next((small.index(name) for name in _REGIONS if name in small), None)


def _column_of_values(
    small: Sequence[str], header: Sequence[str], times: int, kind: Kind | None, column: str, unit: str
) -> tuple[int, Unit]:
    """The column with the values, and its unit."""
    named = unit_of_power if kind == POWER else parse_unit
    given = named(unit) if unit else None
    if unit and given is None:
        raise InputError(f"expected a unit such as W, kW or MW, got {shown(unit)}")
    wanted = kind or (given.kind if given is not None else None)
    found: list[tuple[int, Unit | None]] = []
    units = _UNITS_OF | _OF_INTERVALS if small[times] == _BEGIN else _UNITS_OF
    for place, name in enumerate(small):
        if place == times or name.startswith(_TIMES):
            continue
        own = given or (unit_of_power(name) if kind == POWER else unit_in(units.get(name, name)))
        if column:
            fits = column.lower().replace("₂", "2") in name
        else:
            kinds = [own.kind] if own is not None else [each for each, words in _VALUES.items() if words.search(name)]
            fits = bool(kinds) and (wanted is None or wanted in kinds) and "%" not in name
        if fits:
            found.append((place, own))
    if not found:
        what = (
            f"a column with {shown(column)} in its header"
            if column
            else "a column of watts"
            if kind == POWER
            else "a column of intensities or prices"
        )
        how = "" if column or kind == POWER else "; or name one with column= and its unit with unit="
        raise InputError(f"expected {what}, got {', '.join(header[:20])}{how}", line=1)
    if given is not None and not column:  # all columns could have the unit that was given
        named_so = [each for each in found if small[each[0]] in units or _VALUES[given.kind].search(small[each[0]])]
        found = named_so or found
    first = next((each for word in _FIRST for each in found if word in small[each[0]]), found[0])
    place, own = first
    if own is None and wanted != POWER and (wanted == PRICE or not _VALUES[CARBON].search(small[place])):
        raise InputError(f"the column {header[place]} has no unit: give one, such as unit=EUR/MWh", line=1)
    taken = own or (Unit(POWER, "W", 1.0) if wanted == POWER else parse_unit("g/kWh"))
    if wanted is not None and taken.kind != wanted:
        raise InputError(f"expected a {wanted}, and the column {header[place]} is a {taken.kind}", line=1)
    return place, taken


# Rows


def _row(time: str, value: str, line: int, clock: Clock, zone: str, unit: Unit) -> _TableRow:
    try:
        moments = clock.both(_standard(time.strip(), zone))
    except ValueError:
        raise InputError(f"expected a time such as 2020-02-21 08:30, got {shown(time)}", line=line) from None
    text = value.strip()
    if text.lower() in _MISSING:
        return _TableRow(moments, None, line)
    try:
        number = float(text.replace(",", ".")) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"expected a number, got {shown(value)}", line=line)
    if number < 0 and unit.kind in NEVER_NEGATIVE:
        raise InputError(f"expected {QUANTITIES[unit.kind]} >= 0, got {text}", line=line)
    return _TableRow(moments, number * unit.factor, line)


def _standard(text: str, zone: str) -> str:
    """A time as `Clock` reads it; of an interval, its begin."""
    begin = text.split(" - ")[0].strip()
    offset = ""
    for name, hours in _SUMMER.items():
        if begin.endswith(f"({name})"):
            begin, offset = begin[: -len(name) - 2].strip(), hours
    if begin.endswith((" UTC", " GMT")):
        begin, offset = begin[:-4], "Z"
    european = _EUROPEAN.fullmatch(begin)
    if european is not None:
        day, month, year, clock = european.groups()
        begin = f"{year}-{month}-{day}T{clock}"
    short = _ISO.fullmatch(begin)
    if short is not None:
        begin = f"{short[1]}T{short[2]}:00{short[3]}"
    elif _DAY.fullmatch(begin):
        begin += "T00:00:00"
    return begin + offset


def _trace(rows: list[_TableRow], unit: Unit, left_out: LeftOut) -> Trace:
    least = 1 if unit.kind == POWER else 2
    if len(rows) < least:
        raise InputError(f"expected {('a row', 'two rows')[least - 1]} with values at least, got {len(rows)}")
    if _first(rows[0]) > _first(rows[-1]):
        rows.reverse()
    times: list[float] = []
    for row in rows:
        later = [each for each in row.moments if each is not None and (not times or each > times[-1])]
        if not later:
            same = bool(times) and times[-1] in row.moments
            why = "there are two rows for one time" if same else "its time is earlier than that of the row before"
            raise InputError(f"{why}; expected ascending times", line=row.line)
        times.append(later[0])
    step = max(Counter(two - one for one, two in pairwise(times)).most_common(1), default=(1.0, 0))[0]
    has_gaps = unit.kind != POWER  # a cap changes when it does
    kept: list[tuple[float, float]] = []
    for number, (time, row) in enumerate(zip(times, rows, strict=True)):
        if number and has_gaps and time - times[number - 1] > 1.5 * step:
            left_out.value("rows are missing before it, and the value before holds on", row.line)
        if row.value is not None:
            kept.append((time, row.value))
        else:
            left_out.value("it has no value, and the value before holds on", row.line)
    if not kept or (unit.kind == POWER and kept[0][0] > times[0]):
        raise InputError("the table has no values" if not kept else "the first row has no value")
    return Trace((time for time, _ in kept), (value for _, value in kept), times[-1] + step, unit.name)


def _first(row: _TableRow) -> float:
    return row.moments[0] or 0.0


# Names of traces


class TraceOption(NamedTuple):
    """An option of a name.

    Attributes:
        values: the values it takes, for people.
        meaning: one sentence.
    """

    values: str
    meaning: str


TRACE_WORDS: Final[Mapping[str, TraceOption]] = {
    "begin": TraceOption("MOMENT", "The moment at which the simulation begins; by default, the first of the trace."),
    "repeat": TraceOption(
        "yes, no, DURATION",
        "With `yes`, the trace begins anew at its end; with a duration such as `24h`, after that time. By default, a "
        "longer simulation fails.",
    ),
    "step": TraceOption("DURATION", "Only the values at multiples of this time since 1970 are taken, such as `1h`."),
    "column": TraceOption("TEXT", "A part of the header of the column with the values."),
    "unit": TraceOption("UNIT", "The unit of the values, if the header has none."),
    "region": TraceOption("NAME", "The region to take, of a table with several."),
    "zone": TraceOption(
        "ZONE", "The zone of times without one, such as `Europe/Paris`; by default the header's, or UTC."
    ),
}
"""The options of files."""

DAILY_WORDS: Final[Mapping[str, TraceOption]] = {
    "swing": TraceOption(
        "NUMBER", "How much more the greatest value is than the mean; by default a third of the mean."
    ),
    "peak": TraceOption("DURATION", "The time of the day with the greatest value; `19h` by default."),
    "step": TraceOption("DURATION", "How long each value holds; `30min` by default."),
    "unit": TraceOption("UNIT", "The unit of the numbers; by default `g/kWh`, of prices `EUR/kWh`."),
}
"""The options of `daily:MEAN`."""

_MOST_BYTES: Final = 1 << 28
_FIRST_MOMENT: Final = 1e8  # in 1973
_NUMBER: Final = re.compile(r"\.?[0-9]", re.ASCII)


def trace_named(text: str, kind: Kind, folder: str = "", *, left_out: LeftOut | None = None) -> Trace:
    """The trace of a name. Time 0 is the begin of the simulation.

    Args:
        text: a file with options, or `daily:MEAN` with options.
        kind: what is wanted: `carbon`, `price` or `power`.
        folder: the folder of files with relative paths; the current folder by default.
        left_out: where missing values are counted.

    Raises:
        InputError: the text is no such name, or the file cannot be used.
        OSError: the file cannot be read.

    >>> trace_named("daily:300?swing=100", "carbon").unit
    'g/kWh'
    """
    path, _, query = text.partition("?")
    if path.startswith("daily:"):
        return _daily(text, path.removeprefix("daily:"), query, kind)
    given = _words(text, query, TRACE_WORDS)
    zone = given.get("zone", "")
    name = os.path.join(folder, path)
    options = {word: given[word] for word in ("column", "unit", "region", "zone") if word in given}
    try:
        table = read_table(_lines(name), kind=kind, left_out=left_out, **options)
    except InputError as error:
        raise InputError(error.reason, error.path, file=name, line=error.line) from None
    begin = _moment(text, given["begin"], zone or table.zone) if "begin" in given else table.trace.begin
    if kind == POWER and "begin" not in given and begin < _FIRST_MOMENT:
        begin = 0.0  # its times are seconds of the simulation
    trace = table.trace.sampled(parse_duration(given["step"])) if "step" in given else table.trace
    return _repeated(text, trace, given.get("repeat", "no")).moved(-begin)


def _repeated(text: str, trace: Trace, repeat: str) -> Trace:
    if repeat == "no":
        return trace
    try:
        return trace.repeated(trace.period if repeat == "yes" else parse_duration(repeat))
    except InputError as error:
        raise InputError(f"{shown(text)}: expected repeat=yes, no or a duration: {error.reason}") from None


def cap_named(text: str, folder: str = "", *, left_out: LeftOut | None = None) -> Trace:
    """The watts that a machine may draw at most, over time. Time 0 is the begin of the simulation.

    Args:
        text: a number of watts such as `4kW`, or a table of times and watts with the options of `trace_named`. Times
            are moments, or seconds of the simulation. The last value holds for ever, unless the table repeats; the
            first one holds before its time, too.
        folder: the folder of files with relative paths; the current folder by default.
        left_out: where missing values are counted.

    Raises:
        InputError: the text is neither, or the file cannot be used.
        OSError: the file cannot be read.

    >>> cap_named("4kW").at(1e9)
    4000.0
    """
    if is_number(text) and not os.path.exists(os.path.join(folder, text.partition("?")[0])):
        return Trace([0.0], [parse_power(text)], math.inf, "W")
    if text.startswith("daily:"):
        raise InputError(f"expected a number of watts or a table, got {shown(text)}")
    trace = trace_named(text, POWER, folder, left_out=left_out)
    if trace.repeats:
        return trace
    times, values = list(trace.times), list(trace.values)
    if times[0] > 0:
        times, values = [0.0, *times], [values[0], *values]
    return Trace(times, values, math.inf, trace.unit)


def is_number(text: str) -> bool:
    """Whether a cap is a number of watts as far as its begin shows, and not the name of a file.

    >>> is_number("4kW"), is_number(".5GW"), is_number("../caps.csv")
    (True, True, False)
    """
    return _NUMBER.match(text) is not None


def trace_file(text: str) -> str | None:
    """The file of a name; None for a daily curve.

    >>> trace_file("gb.csv?repeat=yes"), trace_file("daily:300")
    ('gb.csv', None)
    """
    path = text.partition("?")[0]
    return None if path.startswith("daily:") else path


def _daily(text: str, number: str, query: str, kind: Kind) -> Trace:
    given = _words(text, query, DAILY_WORDS)
    unit = parse_unit(given.get("unit", "g/kWh" if kind == CARBON else "EUR/kWh"))
    if unit.kind != kind:
        raise InputError(f"{shown(text)}: expected a unit of {QUANTITIES[kind]}, got {shown(given['unit'])}")
    mean = _number(text, number)
    swing = _number(text, given["swing"]) if "swing" in given else abs(mean) / 3
    try:
        return daily_trace(
            mean * unit.factor,
            swing * unit.factor,
            parse_duration(given.get("peak", "19h")),
            step=parse_duration(given.get("step", "30min")),
            unit=unit.name,
        )
    except InputError as error:
        raise InputError(f"{shown(text)}: {error.reason}") from None


def _words(text: str, query: str, known: Mapping[str, TraceOption]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word, value in parse_qsl(query, keep_blank_values=True):
        if word not in known or word in found:
            near = hint(word, known) if word not in known else ""
            raise InputError(f"{shown(text)}: expected {', '.join(known)}, each once at most, got {shown(word)}{near}")
        found[word] = value
    if query and not found:
        raise InputError(f"{shown(text)}: expected {', '.join(known)}, with values, got {shown(query)}")
    return found


def _number(text: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{shown(text)}: expected a number, got {shown(value)}")
    return number


def _moment(text: str, value: str, zone: str) -> float:
    clock = Clock(zone_of(zone))
    for form in (value, f"{value}:00", f"{value}T00:00:00"):
        try:
            found = clock.at(form)
        except ValueError:
            continue
        if found is not None:
            return found
    raise InputError(f"{shown(text)}: expected a moment such as 2020-05-01 or 2020-05-01T13:30, got {shown(value)}")


def _lines(path: str) -> Iterator[str]:
    """The lines of a file, compressed by gzip or xz or not."""
    with open(path, "rb") as raw:
        size = 0
        try:
            for line in io.TextIOWrapper(decompressed(raw), encoding="utf-8", newline=None):
                size += len(line)
                if size > _MOST_BYTES:
                    raise InputError(f"the file is larger than {_MOST_BYTES:,} characters")
                yield line
        except UnicodeDecodeError:
            raise InputError("this is not a text in UTF-8") from None
        except DAMAGES as error:
            raise InputError(f"the compressed file is damaged: {error}") from None
