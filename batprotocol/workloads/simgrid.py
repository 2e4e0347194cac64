"""SimGrid's settings and units in platform files.

`read_configuration` keeps the few settings of `<config>` that have an effect in Batsim. It accepts and ignores those
that concern the way in which results are computed, or models that Batsim does not use, and refuses all others by name.
The functions `parse_...` read numbers with units: `100Mf`, `1.25GBps`, `50us`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.workloads.network import LOOPBACK, Link

__all__ = [
    "TCP_GAMMA",
    "TIMING",
    "WORK_AMOUNT",
    "PlatformConfiguration",
    "parse_bandwidth",
    "parse_coordinates",
    "parse_integer",
    "parse_ranges",
    "parse_speed",
    "parse_time",
    "read_configuration",
]


TCP_GAMMA: Final = 4194304.0
"""The maximum number of bytes under way in SimGrid's TCP."""
TIMING: Final = 1e-9
WORK_AMOUNT: Final = 1e-5
"""SimGrid's precision of times, in seconds, and of amounts."""


class PlatformConfiguration(msgspec.Struct, frozen=True, gc=False):
    """The settings that have an effect.

    Args:
        tcp_gamma: the maximum number of bytes under way: with a latency of t seconds, a transfer gets at most
            `tcp_gamma / (2 * t)` bytes per second. With 0, the rate of a task that sends over such a link has no
            limit, because SimGrid treats a bound of 0 as no bound.
        timing: a sleep or latency ends when less than this remains, in seconds.
        work_amount: a host or link is used up when less than this remains while it is shared, in flops or bytes per
            second. A task ends when less than the product of `timing` and `work_amount` remains of 1.
        concurrency_limit: the maximum number of executors on a host at the same time, and of tasks on a link; 0: no
            limit.
        loopback: the link between a host and itself, if the platform does not define one.
    """

    tcp_gamma: float = TCP_GAMMA
    timing: float = TIMING
    work_amount: float = WORK_AMOUNT
    concurrency_limit: int = 0
    loopback: Link = LOOPBACK


_INTEGER: Final = re.compile(r"\s*[+-]?[0-9]{1,9}\s*", re.ASCII)
_BOOLEANS: Final = frozenset({"yes", "on", "true", "1", "no", "off", "false", "0"})


def _anything(text: str) -> bool:
    return True


def _integer(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None


def _boolean(text: str) -> bool:
    return text.lower() in _BOOLEANS


def _number(text: str) -> float | None:
    try:
        return float(text) if len(text) <= 100 and "_" not in text else None
    except ValueError:
        return None


def _only(*words: str) -> Callable[[str], bool]:
    return lambda text: text in words


_HARMLESS: Final[Mapping[str, Callable[[str], bool]]] = {
    "contexts/factory": _only("raw", "thread", "ucontext", "boost"),
    "contexts/guard-size": _integer,
    "contexts/nthreads": _integer,
    "contexts/stack-size": _integer,
    "cpu/maxmin-selective-update": _boolean,
    "cpu/optim": _only("Full", "Lazy", "TI"),
    "cpu/solver": _only("fairbottleneck"),
    "debug/breakpoint": _anything,
    "debug/clean-atexit": _boolean,
    "debug/verbose-exit": _boolean,
    "disk/model": _only("S19"),
    "disk/solver": _only("maxmin", "fairbottleneck"),
    "exception/cutpath": _boolean,
    "host/model": _only("default", "compound", "ptask_L07"),
    "host/solver": _only("fairbottleneck"),
    "network/bandwidth-factor": _anything,
    "network/coordinates": _boolean,
    "network/crosstraffic": _boolean,
    "network/latency-factor": _anything,
    "network/maxmin-selective-update": _boolean,
    "network/optim": _only("Full", "Lazy"),
    "network/solver": _only("fairbottleneck"),
    "network/weight-S": _anything,
    "path": _anything,
    "plugin": _only("host_energy"),
    "smpi/bw-factor": _anything,
    "tracing": _only("no"),
}
"""The settings without an effect, each with a check of the values that have none."""

_AMOUNTS: Final[Mapping[str, bool]] = {
    "network/TCP-gamma": True,
    "network/loopback-bw": False,
    "network/loopback-lat": True,
    "precision/timing": False,
    "precision/work-amount": False,
}
"""The settings with an effect, and whether they may be 0."""

_OLDER: Final[Mapping[str, str]] = {
    "maxmin/precision": "precision/work-amount",
    "surf/precision": "precision/timing",
    **{name.replace("-", "_"): name for name in (*_HARMLESS, *_AMOUNTS, "maxmin/concurrency-limit")},
}
"""Older names that SimGrid accepts: until 2018, it wrote underscores, as in the platforms of Batsim 1 and 2."""


def read_configuration(properties: Iterable[tuple[str, str]]) -> PlatformConfiguration:
    """Read settings. If a name appears twice, the first setting counts.

    Raises:
        InputError: a setting would change the results of a simulation in an unsupported way, or does not exist.

    >>> read_configuration([("contexts/stack-size", "128"), ("network/TCP-gamma", "65536")]).tcp_gamma
    65536.0
    """
    settings: dict[str, str] = {}
    for name, value in properties:
        settings.setdefault(_OLDER.get(name, name), value)
    amounts = {}
    limit = 0
    for name, value in settings.items():
        if name in _AMOUNTS:
            amounts[name] = _positive(name, value, or_zero=_AMOUNTS[name])
            continue
        if name == "maxmin/concurrency-limit":
            limit = _limit(name, value)
            continue
        harmless = _HARMLESS.get(name)
        if harmless is None:
            raise InputError(f"the configuration {shown(name)} is not supported", name)
        if not harmless(value):
            raise InputError(f"the configuration {shown(name)} is not supported with the value {shown(value)}", name)
    bandwidth = amounts.get("network/loopback-bw", LOOPBACK.bandwidth)
    latency = amounts.get("network/loopback-lat", LOOPBACK.latency)
    is_usual = (bandwidth, latency) == (LOOPBACK.bandwidth, LOOPBACK.latency)
    return PlatformConfiguration(
        amounts.get("network/TCP-gamma", TCP_GAMMA),
        amounts.get("precision/timing", TIMING),
        amounts.get("precision/work-amount", WORK_AMOUNT),
        limit,
        LOOPBACK if is_usual else Link(LOOPBACK.name, bandwidth, latency, LOOPBACK.fatpipe),
    )


def _limit(name: str, value: str) -> int:
    """A limit; 0: no limit, which SimGrid writes as a negative number."""
    if not _integer(value) or int(value) == 0:
        raise InputError(f"expected a whole number > 0, or < 0 for no limit, got {shown(value)}", name)
    return max(0, int(value))


def _positive(name: str, value: str, *, or_zero: bool = False) -> float:
    number = _number(value)
    if number is None or not (0 < number < float("inf") or (or_zero and number == 0)):
        raise InputError(f"expected a finite number >{'=' if or_zero else ''} 0, got {shown(value)}", name)
    return number


# Numbers with units

_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(\S*)\s*", re.ASCII)
_WHOLE_NUMBER = re.compile(r"\s*([0-9]{1,9})(?:\.0*)?\s*", re.ASCII)
_LONGEST = 100  # characters of a number


def _scaled(unit: str, value: float, factor: float, prefixes: str) -> dict[str, float]:
    """The unit alone and with each prefix. Each prefix multiplies by `factor` once more."""
    units = {unit: value}
    for prefix in prefixes.split():
        value *= factor
        units[prefix + unit] = value
    return units


_DECIMAL = "k M G T P E Z Y"
_BINARY = "Ki Mi Gi Ti Pi Ei Zi Yi"
_SPEEDS: Final = {
    **_scaled("f", 1.0, 1000.0, _DECIMAL),
    **_scaled("flops", 1.0, 1000.0, "kilo mega giga tera peta exa zeta yotta"),
}
_BANDWIDTHS: Final = {
    **_scaled("Bps", 1.0, 1000.0, _DECIMAL),
    **_scaled("Bps", 1.0, 1024.0, _BINARY),
    **_scaled("bps", 0.125, 1000.0, _DECIMAL),
    **_scaled("bps", 0.125, 1024.0, _BINARY),
}
_TIMES: Final = {
    "w": 604800.0,
    "d": 86400.0,
    "h": 3600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "ps": 1e-12,
}


def _parse(text: str, units: Mapping[str, float], default: str, meaning: str) -> float:
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise InputError(f"expected {meaning}, got {shown(text)}")
    factor = units.get(found[2] or default)
    if factor is None:
        raise InputError(f"unknown unit {shown(found[2])} in {shown(text)}; use one of {', '.join(units)}")
    value = float(found[1]) * factor
    if not 0 <= value < math.inf:
        raise InputError(f"expected {meaning} that is finite and not negative, got {shown(text)}")
    return value


def parse_speed(text: str) -> float:
    """Read flops per second. It raises InputError if the text is not a speed.

    >>> parse_speed("100Mf"), parse_speed("1.5gigaflops"), parse_speed("42")
    (100000000.0, 1500000000.0, 42.0)
    """
    return _parse(text, _SPEEDS, "f", "a speed such as 100Mf")


def parse_bandwidth(text: str) -> float:
    """Read bytes per second; bits per second are eighths. It raises InputError if the text is not a bandwidth.

    >>> parse_bandwidth("125MBps"), parse_bandwidth("8kbps"), parse_bandwidth("1KiBps")
    (125000000.0, 1000.0, 1024.0)
    """
    return _parse(text, _BANDWIDTHS, "Bps", "a bandwidth such as 125MBps")


def parse_time(text: str) -> float:
    """Read seconds. It raises InputError if the text is not a time.

    >>> parse_time("5ms"), parse_time("0"), parse_time("2h")
    (0.005, 0.0, 7200.0)
    """
    return _parse(text, _TIMES, "s", "a time such as 50us")


def parse_integer(text: str) -> int:
    """Read an integer from 0 to 999,999,999, with or without `.0`, as in SimGrid's defaults; else InputError."""
    found = _WHOLE_NUMBER.fullmatch(text)
    if found is None:
        raise InputError(f"expected an integer from 0 to 999999999, got {shown(text)}")
    return int(found[1])


def parse_coordinates(text: str) -> tuple[float, float, float]:
    """Read three numbers: a place in the plane, and a height above it.

    >>> parse_coordinates("1.5 -2 0")
    (1.5, -2.0, 0.0)
    """
    parts = [_NUMBER.fullmatch(part) for part in text.split()] if len(text) <= 4 * _LONGEST else []
    if len(parts) != 3 or not all(part and not part[2] and len(part[1]) <= _LONGEST for part in parts):
        raise InputError(f"expected three numbers, got {shown(text)}")
    x, y, height = (float(part[1]) for part in parts if part)
    return x, y, height


def parse_ranges(text: str, most: int) -> list[int]:
    """Read the numbers of a `radical`, such as `0-3,5`, in their order. InputError if there are more than `most`.

    >>> parse_ranges("0-3,5", 10)
    [0, 1, 2, 3, 5]
    """
    numbers: list[int] = []
    for part in text.split(","):
        ends = [parse_integer(end) for end in part.split("-")]
        if len(ends) > 2:
            raise InputError(f"expected numbers a and intervals a-b, got {shown(part)}")
        if ends[-1] - ends[0] + len(numbers) >= most:
            limit = "raise the limit (--host-limit, host_limit)"
            raise InputError(f"{shown(text)} describes more than {most} hosts; {limit}")
        numbers.extend(range(ends[0], ends[-1] + 1))
    return numbers
