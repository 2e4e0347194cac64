"""Names of traces of carbon intensities, prices and caps: a file with options, a daily curve, or a number of watts.

`gb.csv?begin=2020-05-01&repeat=yes` and `daily:300?swing=100&peak=19h` are such names.
"""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from batprotocol._util.clocks import Clock, zone_of
from batprotocol._util.compression import DAMAGES, decompressed
from batprotocol._util.durations import parse_duration
from batprotocol._util.skipped_rows import LeftOut
from batprotocol.errors import InputError, hint, shown
from batprotocol.workloads.electricity import (
    CARBON,
    POWER,
    Kind,
    Trace,
    daily_trace,
    parse_power,
    parse_unit,
    read_table,
)
from batprotocol.workloads.electricity.units import QUANTITIES

__all__ = ["DAILY_WORDS", "TRACE_WORDS", "cap_named", "is_number", "trace_file", "trace_named"]


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
