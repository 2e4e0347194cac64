"""How the parts of a policy read their options. This module must not know how the parts of a name are combined."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

from batprotocol._util.times import parse_duration
from batprotocol.errors import InputError, hint, shown
from batprotocol.policies import allocations, backfilling, capping, failures, orders, walltimes
from batprotocol.policies.site import SiteRules, read_site
from batprotocol.policies.starts import Wait
from batprotocol.workloads.electricity import CARBON, PRICE, Kind, Trace

__all__ = [
    "OPTIONS",
    "ORDERS",
    "cap_file",
    "number_of",
    "only",
    "resolution",
    "seconds_of",
    "site_rules",
    "trace_and_words",
]

Maker = Callable[[Sequence[str]], tuple[str, Any]]
"""A function of options. It returns the name and the value of an argument of `Policy`."""

ORDERS: Final[Mapping[str, Callable[[], orders.Order]]] = {
    each.name: each
    for each in (
        *(orders.FCFS, orders.LCFS, orders.SJF, orders.LJF, orders.SAF, orders.LAF, orders.Smallest, orders.Largest),
        *(orders.F1, orders.F2, orders.F3, orders.F4, orders.WFP3, orders.Unicep, orders.ExpansionFactor),
        *(orders.Multifactor, orders.HEFT),
    )
}
"""The orders by their names."""


def _order(name: str) -> orders.Order:
    if name not in ORDERS:
        raise ValueError(f"there is no order {shown(name)}{hint(name, ORDERS)}")
    return ORDERS[name]()


def number_of(text: str, least: float, whole: bool = False) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number < math.inf or (whole and number != int(number)):
        raise ValueError(f"expected {'a whole number' if whole else 'a number'} >= {least:g}, got {shown(text)}")
    return number


def only(options: Sequence[str], default: str) -> str:
    if len(options) > 1:
        raise ValueError(f"expected one option, got {shown(','.join(options))}")
    return options[0] if options else default


def _easy(options: Sequence[str]) -> tuple[str, Any]:
    words = set(options)
    rest = [each for each in options if each not in ("no-spare", "strict", "once")]
    order = _order(only(rest, "")) if rest else None
    spare = "no-spare" not in words
    return "backfilling", backfilling.EASY(order, spare=spare, strict="strict" in words, once="once" in words)


def _greedy(options: Sequence[str]) -> tuple[str, Any]:
    return "backfilling", backfilling.Greedy(_order(only(options, "")) if options else None)


def _conservative(options: Sequence[str]) -> tuple[str, Any]:
    depth = _whole(only(options, ""), 0) if options else None
    return "backfilling", backfilling.Conservative(depth)


def _reservations(options: Sequence[str]) -> tuple[str, Any]:
    if len(options) > 2:
        raise ValueError(f"expected a number and an order, got {shown(','.join(options))}")
    count = _whole(options[0], 1) if options else 2
    return "backfilling", backfilling.Reservations(count, _order(options[1]) if len(options) > 1 else None)


def _predicted(options: Sequence[str]) -> tuple[str, Any]:
    return "walltimes", walltimes.MeanOfLast(_whole(only(options, "2"), 1))


def _shared(options: Sequence[str]) -> tuple[str, Any]:
    return "allocation", allocations.Shared(_whole(only(options, "2"), 1))


def _multifactor(options: Sequence[str]) -> tuple[str, Any]:
    if len(options) > 3:
        raise ValueError("expected at most three weights: of age, size and share")
    weights = [number_of(each, -1e300) for each in options] + [1000.0] * (3 - len(options))
    return "order", orders.Multifactor(age=weights[0], size=weights[1], share=weights[2])


@contextmanager
def _read(path: str, otherwise: str = "") -> Iterator[None]:
    """Read the file of an option. `otherwise` is what the option can be in place of a file."""
    try:
        yield
    except OSError as error:
        also = f"; expected {otherwise}" if otherwise and isinstance(error, FileNotFoundError) else ""
        raise ValueError(f"cannot read {shown(error.filename or path)}: {error.strerror}{also}") from None
    except InputError as error:
        raise ValueError(str(error)) from None


def site_rules(options: Sequence[str]) -> SiteRules:
    path = ",".join(options)
    if not path:
        raise ValueError("site needs a file, as in site=site.toml")
    with _read(path):
        return read_site(path)


def _requeue(options: Sequence[str]) -> tuple[str, Any]:
    times = [each for each in options if each != "last"]
    if len(times) > 1 or len(options) > 2:
        raise ValueError(f"expected a number of times and last, got {shown(','.join(options))}")
    return "failures", failures.Requeue(_whole(times[0]) if times else math.inf, last="last" in options)


def _whole(text: str, least: int = 0) -> int:
    return int(number_of(text, least, whole=True))


def seconds_of(text: str) -> float:
    try:
        return parse_duration(text)
    except InputError as error:
        raise ValueError(error.reason) from None


def _checkpoint(options: Sequence[str]) -> tuple[str, Any]:
    named: dict[str, Any] = {}
    given: list[str] = []  # by their places
    for each in options:
        key, equals, value = each.partition("=")
        if each == "last":
            named["last"] = True
        elif not equals:
            given.append(each)
        elif key in ("restart", "times") and key not in named:
            named[key] = seconds_of(value) if key == "restart" else _whole(value)
        else:
            raise ValueError(f"expected restart=SECONDS or times=N once, got {shown(each)}")
    is_formula = not given or given[0] in failures.FORMULAS
    if len(given) > (3 if is_formula else 2) or (not is_formula and len(given) < 2):
        known = ", ".join(failures.FORMULAS)
        raise ValueError(
            f"expected SECONDS,COST, or a formula ({known}) with COST and MTBF, got {shown(','.join(given))}"
        )
    interval = (given[0] if given else "daly") if is_formula else _interval(given[0])
    named |= {key: seconds_of(value) for key, value in zip(("cost", "mtbf"), given[1:], strict=False)}
    return "failures", failures.Checkpoint(interval, **named)


def _interval(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError:
        known = ", ".join(failures.FORMULAS)
        raise ValueError(f"expected SECONDS or a formula ({known}), got {shown(text)}") from None


def trace_and_words(text: str, folder: str) -> list[str]:
    """The options of a part whose first one is the name of a trace, with its file in a folder."""
    from batprotocol.workloads.electricity.tables import trace_file

    first, *rest = text.split(",")
    return [first if trace_file(first) is None else os.path.join(folder, first), *rest]


def _wait(options: Sequence[str]) -> tuple[str, Any]:
    if not options or not options[0]:
        raise ValueError("wait needs a trace, as in wait=intensity.csv or wait=daily:300")
    given: dict[str, Any] = {}
    for each in options[1:]:
        word, equals, value = each.partition("=")
        known = _WORDS_OF_WAIT.get(word)
        needs_value = known is not _flag and word != "queue"
        if known is None or word in given or (equals and known is _flag) or (needs_value and not equals):
            near = hint(word, _WORDS_OF_WAIT) if known is None else ""
            raise ValueError(f"expected {', '.join(_WORDS_OF_WAIT)}, each once, got {shown(each)}{near}")
        given[word] = known(value or "50%")
    with _read(options[0], "a table, or a daily curve such as daily:300"):
        trace = _trace(options[0], PRICE if given.pop("price", False) else CARBON)
    slack, share = given.pop("slack", (None, None))
    quantile = given.pop("queue", None)
    if slack is None:  # a deadline is enough
        slack = 0.0 if given.get("deadline") or share is not None else 8 * 3600.0
    return "starts", Wait(trace, slack, share=share, quantile=quantile, **given)


def _trace(text: str, kind: Kind) -> Trace:
    """The trace of a name. A file is read once, as long as it does not change."""
    from batprotocol.workloads.electricity.tables import trace_file

    path = trace_file(text)
    status = None if path is None else os.stat(path)
    return _read_trace(text, kind, None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(8)
def _read_trace(text: str, kind: Kind, status: object) -> Trace:
    from batprotocol.workloads.electricity.tables import trace_named

    return trace_named(text, kind)


def _slack(text: str) -> tuple[float | None, float | None]:
    """A slack in seconds, or as a part of the run time."""
    return (None, _part(text)) if text.endswith("%") else (seconds_of(text), None)


def _part(text: str) -> float:
    """A part, from a percentage or a number."""
    return number_of(text.removesuffix("%"), 0) / (100 if text.endswith("%") else 1)


def _flag(text: str) -> bool:
    return True


_WORDS_OF_WAIT: Final[Mapping[str, Callable[[str], Any]]] = {
    "slack": _slack,
    "deadline": _flag,
    "interruptible": _flag,
    "queue": _part,
    "error": _part,
    "seed": _whole,
    "price": _flag,
}


def cap_file(text: str, folder: str) -> list[str]:
    """The options of a cap, of which the first one can be a file of that folder."""
    from batprotocol.workloads.electricity.tables import is_number

    first, *rest = text.split(",")
    return [first if is_number(first) or not first else os.path.join(folder, first), *rest]


def _cap(options: Sequence[str]) -> tuple[str, Any]:
    from batprotocol.workloads.electricity.tables import cap_named  # it reads tables, which most policies do not need

    if not options or not options[0]:
        raise ValueError("cap needs a number of watts or a table, as in cap=4kW or cap=caps.csv")
    words = options[1:]
    if len(set(words)) < len(words) or not set(words) <= {"slow", "off"}:
        raise ValueError(f"expected WATTS or FILE, and slow or off, got {shown(','.join(options))}")
    with _read(options[0], "a number of watts such as 4kW, or a table"):
        return "cap", capping.Cap(cap_named(options[0]), slow="slow" in words, off="off" in words)


def resolution(options: Sequence[str]) -> tuple[str, Any]:
    return "resolution", number_of(only(options, "1"), 0)


OPTIONS: Final[Mapping[type, tuple[str, Maker]]] = {
    backfilling.EASY: ("ORDER,no-spare,strict,once", _easy),
    backfilling.Conservative: ("DEPTH", _conservative),
    backfilling.Reservations: ("COUNT,ORDER", _reservations),
    backfilling.Greedy: ("ORDER", _greedy),
    allocations.Shared: ("JOBS", _shared),
    walltimes.MeanOfLast: ("N", _predicted),
    orders.Multifactor: ("AGE,SIZE,SHARE", _multifactor),
    capping.Cap: ("WATTS|FILE,slow,off", _cap),
    failures.Requeue: ("TIMES,last", _requeue),
    Wait: ("TRACE,slack=TIME,deadline,interruptible,queue=PART,error=PART,seed=N,price", _wait),
    failures.Checkpoint: ("SECONDS,COST,restart=SECONDS,times=N,last", _checkpoint),
}
"""The parts with options: these as `batproto policies` prints them, and the function that reads them."""
