"""Policies by names: `easy-sjf`, `saf+conservative+contiguous`. It knows all parts, and what each is called.

A name is made of parts with + or - between them, in any order, of each kind one at most. Some take options, after a =
and with commas between them: `easy=saf,no-spare`, `reservations=3`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from batprotocol.errors import SchedulerError, shown
from batprotocol.policies import backfilling, orders, places, walltimes
from batprotocol.policies.scheduler import Policy
from batprotocol.policies.site import SiteRules, read_site

__all__ = ["KINDS", "PARTS", "Part", "PolicyNameError", "is_name", "named", "with_options"]

KINDS: Final[Mapping[str, str]] = {
    "order": "Order of the queue",
    "backfilling": "Backfilling",
    "hosts": "Choice of hosts",
    "walltimes": "How long jobs are expected to run",
    "settings": "Settings",
}
"""The kinds of parts, as headings."""


class PolicyNameError(SchedulerError):
    """A text names no policy."""


class Part(NamedTuple):
    """A part of a name.

    Args:
        kind: one of `KINDS`.
        name: what it is called.
        options: which options it takes, as shown; "" if none.
        sentence: what it does.
        source: where it comes from, or "".
        make: called with the options; gives the argument of `Policy` that it stands for and its value.
    """

    kind: str
    name: str
    options: str
    sentence: str
    source: str
    make: Callable[[Sequence[str]], tuple[str, Any]]


def named(text: str) -> type[Policy]:
    """The class of the policy of this name: a scheduler that is made without arguments.

    Raises:
        PolicyNameError: there is none; with what was not understood.

    >>> named("easy-sjf")().order.name
    'sjf'
    """
    chosen: dict[str, tuple[Part, list[str]]] = {}
    for word in _words(text):
        name, equals, options = word.partition("=")
        part = PARTS.get(name)
        if part is None:
            raise PolicyNameError(f"{shown(text)} is no policy: there is no part {shown(name)}; see batproto policies")
        slot = part.name if part.kind == "settings" else part.kind
        if slot in chosen:
            raise PolicyNameError(f"{shown(text)} is no policy: {chosen[slot][0].name} and {name} exclude one another")
        if equals and not part.options:
            raise PolicyNameError(f"{shown(text)} is no policy: {name} takes no options")
        chosen[slot] = part, options.split(",") if equals else []

    def arguments() -> dict[str, Any]:
        return dict(part.make(options) for part, options in chosen.values())

    try:
        arguments()
    except ValueError as error:
        raise PolicyNameError(f"{shown(text)} is no policy: {error}") from None

    class NamedPolicy(Policy):
        name = text.replace(",", ";")  # Batsim takes no commas

        def __init__(self) -> None:
            super().__init__(**arguments())

    NamedPolicy.__name__ = NamedPolicy.__qualname__ = text
    return NamedPolicy


def is_name(text: str) -> bool:
    """Whether a text begins as the name of a policy does: what is a file is none."""
    words = _words(text)
    return bool(words) and words[0].partition("=")[0] in PARTS


def with_options(text: str, options: Mapping[str, object]) -> str:
    """The name of the same policy with other options.

    Args:
        text: the name of a policy.
        options: by the names of parts, their options. `True` adds the part as it is, `False` takes it away.

    Raises:
        PolicyNameError: there is no such part, or it takes no options.

    >>> with_options("easy-sjf", {"off": 60}), with_options("easy+off=5", {"off": 60, "keep": True})
    ('easy+sjf+off=60', 'easy+off=60+keep')
    """
    words = _words(text)
    for name, value in options.items():
        part = PARTS.get(name)
        if part is None or not (part.options or isinstance(value, bool)):
            reason = (
                f"there is no part {shown(name)}; see batproto policies" if part is None else f"{name} takes no options"
            )
            raise PolicyNameError(f"{shown(text)} cannot be changed: {reason}")
        places = [place for place, word in enumerate(words) if word.partition("=")[0] == name]
        word = name if value is True else f"{name}={value:.10g}" if isinstance(value, float) else f"{name}={value}"
        if places:
            del words[places[0]]
        if value is not False:
            words.insert(places[0] if places else len(words), word)
    return "+".join(words)


def _words(text: str) -> list[str]:
    words: list[str] = []
    for each in text.split("+"):
        name, equals, options = each.partition("=")
        if name.lower() == "site":  # whose option is the path of a file
            words.append(f"site{equals}{options}")
        else:
            words += [each.lower()] if name.lower() in PARTS else _hyphenated(each.lower())
    return words


def _hyphenated(text: str) -> list[str]:
    """The parts of a name with hyphens between them, some of which have hyphens of their own."""
    pieces = text.split("-")
    words: list[str] = []
    while pieces:
        for count in range(len(pieces), 0, -1):
            word = "-".join(pieces[:count])
            if word.partition("=")[0] in PARTS or count == 1:
                words.append(word)
                del pieces[:count]
                break
    return words


# What each part makes of its options


def _simple(argument: str, make: Callable[[], Any]) -> Callable[[Sequence[str]], tuple[str, Any]]:
    return lambda options: (argument, make())


def _order(name: str) -> orders.Order:
    if name not in _ORDERS:
        raise ValueError(f"there is no order {shown(name)}")
    return _ORDERS[name]()


def _number(text: str, least: float, whole: bool = False) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number < math.inf or (whole and number != int(number)):
        raise ValueError(f"expected {'a whole number' if whole else 'a number'} >= {least:g}, got {shown(text)}")
    return number


def _only(options: Sequence[str], default: str) -> str:
    if len(options) > 1:
        raise ValueError(f"expected one option, got {shown(','.join(options))}")
    return options[0] if options else default


def _easy(options: Sequence[str]) -> tuple[str, Any]:
    words = set(options)
    rest = [each for each in options if each not in ("no-spare", "strict", "once")]
    order = _order(_only(rest, "")) if rest else None
    spare = "no-spare" not in words
    return "backfilling", backfilling.EASY(order, spare=spare, strict="strict" in words, once="once" in words)


def _greedy(options: Sequence[str]) -> tuple[str, Any]:
    return "backfilling", backfilling.Greedy(_order(_only(options, "")) if options else None)


def _conservative(options: Sequence[str]) -> tuple[str, Any]:
    depth = int(_number(_only(options, ""), 0, whole=True)) if options else None
    return "backfilling", backfilling.Conservative(depth)


def _reservations(options: Sequence[str]) -> tuple[str, Any]:
    if len(options) > 2:
        raise ValueError(f"expected a number and an order, got {shown(','.join(options))}")
    count = int(_number(options[0], 1, whole=True)) if options else 2
    return "backfilling", backfilling.Reservations(count, _order(options[1]) if len(options) > 1 else None)


def _predicted(options: Sequence[str]) -> tuple[str, Any]:
    return "walltimes", walltimes.MeanOfLast(int(_number(_only(options, "2"), 1, whole=True)))


def _shared(options: Sequence[str]) -> tuple[str, Any]:
    return "hosts", places.Shared(int(_number(_only(options, "2"), 1, whole=True)))


def _multifactor(options: Sequence[str]) -> tuple[str, Any]:
    if len(options) > 3:
        raise ValueError("expected at most three weights: of age, size and share")
    weights = [_number(each, -1e300) for each in options] + [1000.0] * (3 - len(options))
    return "order", orders.Multifactor(age=weights[0], size=weights[1], share=weights[2])


def _site(options: Sequence[str]) -> SiteRules:
    path = ",".join(options)
    try:
        return read_site(path)
    except OSError as error:
        raise ValueError(f"cannot read {shown(path)}: {error.strerror}") from None


def _resolution(options: Sequence[str]) -> tuple[str, Any]:
    return "resolution", _number(_only(options, "1"), 0)


# The table

_ORDERS: Final[Mapping[str, Callable[[], orders.Order]]] = {
    each.name: each
    for each in (
        *(orders.FCFS, orders.LCFS, orders.SJF, orders.LJF, orders.SAF, orders.LAF, orders.Smallest, orders.Largest),
        *(orders.F1, orders.F2, orders.F3, orders.F4, orders.WFP3, orders.Unicep, orders.ExpansionFactor),
        orders.Multifactor,
    )
}
_BACKFILLINGS: Final = (
    *(backfilling.NoBackfilling, backfilling.Greedy, backfilling.EASY),
    *(backfilling.Reservations, backfilling.Conservative),
)
_PLACES: Final = (
    *(places.First, places.Last, places.Contiguous, places.BestContiguous, places.BestFit),
    *(places.Zones, places.Fastest, places.Slowest, places.AwakeFirst, places.Shared),
    *(places.Pack, places.Spread, places.Weight),
)
_OPTIONS: Final[Mapping[type, tuple[str, Callable[[Sequence[str]], tuple[str, Any]]]]] = {
    backfilling.EASY: ("ORDER,no-spare,strict,once", _easy),
    backfilling.Conservative: ("DEPTH", _conservative),
    backfilling.Reservations: ("COUNT,ORDER", _reservations),
    backfilling.Greedy: ("ORDER", _greedy),
    places.Shared: ("JOBS", _shared),
    walltimes.MeanOfLast: ("N", _predicted),
    orders.Multifactor: ("AGE,SIZE,SHARE", _multifactor),
}


def _part(kind: str, made: Any) -> Part:
    options, make = _OPTIONS.get(made, ("", _simple(kind, made)))
    return Part(kind, made.name, options, made.sentence, made.source, make)


_SETTINGS: Final = (
    Part(
        *("settings", "each", "", "Something is decided after each event, not after all of one time.", ""),
        lambda options: ("each", True),
    ),
    Part(
        *("settings", "keep", "", "The first job stays the first one until it starts, whoever comes meanwhile.", ""),
        lambda options: ("keeps", True),
    ),
    Part(
        *("settings", "off", "SECONDS", "Hosts are switched off after so long without a job, and on when needed.", ""),
        lambda options: ("off_after", _number(_only(options, "600"), 0)),
    ),
    Part(
        *("settings", "site", "FILE", "The rules of a TOML file hold: partitions, accounts, limits, preemption.", ""),
        lambda options: ("site", _site(options)),
    ),
    Part(
        *("settings", "resolution", "SECONDS", "What is less apart counts as the same time; else 0.001.", ""),
        _resolution,
    ),
)

PARTS: Final[Mapping[str, Part]] = {
    part.name: part
    for part in (
        *(_part("order", each) for each in _ORDERS.values()),
        *(_part("backfilling", each) for each in _BACKFILLINGS),
        *(_part("hosts", each) for each in _PLACES),
        *(_part("walltimes", each) for each in (walltimes.AsRequested, walltimes.MeanOfLast)),
        *_SETTINGS,
    )
}
"""All parts by name."""
