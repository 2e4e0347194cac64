"""The settings of `<config>` in a platform file that have an effect in Batsim.

Most of SimGrid's settings do not change the results of a simulation: they concern the way in which it is computed, or
models that Batsim does not use. The reader accepts and ignores these settings. It keeps the few settings that have an
effect, and refuses all others by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.workloads.network import LOOPBACK, Link

__all__ = ["TCP_GAMMA", "TIMING", "WORK_AMOUNT", "PlatformConfiguration", "read_configuration"]

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
