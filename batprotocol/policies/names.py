"""Policies by names: `easy-sjf`, `saf+conservative+contiguous`. It knows all parts and their names.

A name consists of parts with + or - between them, in any order, with at most one part of each kind. Some parts take
options, after a = and with commas between them: `easy=saf,no-spare`, `reservations=3`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, NamedTuple

from batprotocol._util.times import parse_duration
from batprotocol.edc import Scheduler
from batprotocol.errors import InputError, SchedulerError, hint, shown
from batprotocol.policies import allocations, backfilling, failures, orders
from batprotocol.policies import backfilling as walltimes
from batprotocol.policies import caps as capping
from batprotocol.policies.energy import Wait
from batprotocol.policies.scheduler import Policy
from batprotocol.policies.site import SiteRules, read_site
from batprotocol.policies.slurm import SlurmFileError, SlurmNameError, is_slurm, slurm_named
from batprotocol.workloads.electricity import CARBON, PRICE, Kind, Trace

__all__ = [
    "KINDS",
    "PARTS",
    "Part",
    "PolicyFileError",
    "PolicyNameError",
    "files_in",
    "is_compatible",
    "is_name",
    "named",
    "parts_of",
    "scheduler_named",
    "with_options",
]


# The options of parts.


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
    return (None, _share(text)) if text.endswith("%") else (seconds_of(text), None)


def _share(text: str) -> float:
    """A part, from a percentage or a number."""
    return number_of(text.removesuffix("%"), 0) / (100 if text.endswith("%") else 1)


def _flag(text: str) -> bool:
    return True


_WORDS_OF_WAIT: Final[Mapping[str, Callable[[str], Any]]] = {
    "slack": _slack,
    "deadline": _flag,
    "interruptible": _flag,
    "queue": _share,
    "error": _share,
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


KINDS: Final[Mapping[str, str]] = {
    "order": "Queue order",
    "backfilling": "Backfilling",
    "allocation": "Allocation",
    "walltimes": "Expected run times",
    "failures": "Hosts that fail",
    "starts": "Better times",
    "power": "Power",
    "settings": "Settings",
    "replay": "Replay",
}
"""The kinds of parts, as headings."""


_NOWHERE: Final = "\0"
_BELOW: Final = os.path.join(_NOWHERE, "")
"""A folder that cannot be, to see which options are files."""


class PolicyNameError(SchedulerError):
    """A text is not the name of a policy."""


class PolicyFileError(PolicyNameError):
    """A file that the name of a policy gives cannot be read or used. The message begins with the file."""


class Part(NamedTuple):
    """A part of a name.

    Args:
        kind: one of `KINDS`.
        name: its name.
        options: the options that it takes, as `batproto policies` prints them; "" if none.
        sentence: one sentence that describes it.
        source: the publication or documentation that defines it, or "".
        make: a function of the options. It returns the name and the value of an argument of `Policy`.
        split: for parts with a file: a function of the text of the options and of a folder, which returns the options
            with the file in that folder; None: the part has no file.
    """

    kind: str
    name: str
    options: str
    sentence: str
    source: str
    make: Callable[[Sequence[str]], tuple[str, Any]]
    split: Callable[[str, str], list[str]] | None = None


def named(text: str, folder: str = "") -> type[Policy]:
    """The class of the policy of this name: a scheduler class that takes no arguments.

    Args:
        text: its name.
        folder: the folder of the files that it names, as `site=FILE` does; the current folder by default.

    Raises:
        PolicyNameError: the text is not the name of a policy. The message names the part that is wrong.

    >>> named("easy-sjf")().order.name
    'sjf'
    """
    if is_slurm(text):
        raise PolicyNameError(f"{shown(text)} is a Slurm, which has no parts: use scheduler_named")
    chosen: dict[str, tuple[Part, list[str]]] = {}
    for word in _words(text):
        name, equals, options = word.partition("=")
        part = PARTS.get(name)
        if part is None:
            raise PolicyNameError(f"{shown(text)} is not a policy: {_no_part(name)}")
        slot = part.name if part.kind == "settings" else part.kind
        if slot in chosen:
            other = chosen[slot][0].name
            why = f"{name} is named twice" if other == name else f"{other} and {name} exclude one another"
            raise PolicyNameError(f"{shown(text)} is not a policy: {why}; keep one of them")
        if equals and not part.options:
            raise PolicyNameError(f"{shown(text)} is not a policy: {name} takes no options; write {name} alone")
        split = part.split if options else None
        given = split(options, folder) if split is not None else options.split(",") if equals else []
        chosen[slot] = part, given

    without = next((part.name for part, _ in chosen.values() if not is_compatible(part, "recorded")), None)
    if "replay" in chosen and without is not None:
        why = f"the log decides all that {without} would; write recorded alone"
        raise PolicyNameError(f"{shown(text)} is not a policy: {why}")

    def arguments() -> dict[str, Any]:
        made = dict(part.make(options) for part, options in chosen.values())
        rules, (order, weights) = made.get("site"), chosen.get("order", (None, []))
        if rules is not None and rules.priority is not None and weights and order is PARTS["multifactor"]:
            raise ValueError("the site's file has the weights in its section priority; write multifactor alone")
        return made

    try:
        arguments()
    except ValueError as error:
        raise PolicyNameError(f"{shown(text)} is not a policy: {error}") from None

    class NamedPolicy(Policy):
        name = text.replace(",", ";")  # Batsim takes no commas

        def __init__(self) -> None:
            super().__init__(**arguments())

    NamedPolicy.__name__ = NamedPolicy.__qualname__ = text
    return NamedPolicy


def scheduler_named(text: str, folder: str = "") -> type[Scheduler]:
    """The class of the policy of this name, also of a Slurm: a scheduler class that takes no arguments.

    Args:
        text: its name, as for `named`, or `slurm:slurm.conf`.
        folder: the folder of the files that it names; the current folder by default.

    Raises:
        PolicyNameError: the text is not the name of a policy. The message names the part that is wrong.
        PolicyFileError: a file of a Slurm cannot be used. The message names the file and the line.

    >>> scheduler_named("easy").__name__
    'easy'
    """
    if not is_slurm(text):
        return named(text, folder)
    try:
        return slurm_named(text, folder)
    except SlurmFileError as error:
        raise PolicyFileError(str(error)) from None
    except SlurmNameError as error:
        raise PolicyNameError(str(error)) from None


def parts_of(text: str) -> list[Part] | None:
    """The parts of a name, in its order; None if one of its words is not a part."""
    parts = [PARTS.get(word.partition("=")[0]) for word in _words(text)]
    return [part for part in parts if part is not None] if all(parts) else None


def is_compatible(part: Part, other: str) -> bool:
    """Whether two different parts can be in one name, as far as their kinds do not decide it.

    Args:
        part: a part.
        other: the name of another part, or the same one.
    """
    names = {part.name, other}
    return "recorded" not in names or names <= {"recorded", "resolution"}


def is_name(text: str) -> bool:
    """Whether a text begins with the name of a part. The name of a file does not."""
    words = _words(text)
    return is_slurm(text) or (bool(words) and words[0].partition("=")[0] in PARTS)


def files_in(text: str) -> dict[str, tuple[str, str]]:
    """The files that a name gives as the first options of its parts: each with the other options, by the parts.

    Args:
        text: the name of a policy.

    >>> files_in("easy+site=sites/gpu.toml+cap=caps.csv?repeat=yes"), files_in("easy+cap=4kW")
    ({'site': ('sites/gpu.toml', ''), 'cap': ('caps.csv?repeat=yes', '')}, {})
    """
    found = {}
    for word in _words(text):
        name, _, options = word.partition("=")
        part = PARTS.get(name)
        if part is None or part.split is None or not options:
            continue
        first, *rest = part.split(options, _NOWHERE)
        if first.startswith(_BELOW):
            found[name] = first.removeprefix(_BELOW), ",".join(rest)
    return found


def with_options(text: str, options: Mapping[str, object]) -> str:
    """The name of the same policy with other options.

    Args:
        text: the name of a policy.
        options: the names of parts with their options. `True` adds the part without options, `False` removes it.

    Raises:
        PolicyNameError: a part does not exist or takes no options.

    >>> with_options("easy-sjf", {"off": 60}), with_options("easy+off=5", {"off": 60, "keep": True})
    ('easy+sjf+off=60', 'easy+off=60+keep')
    """
    words = _words(text)
    for name, value in options.items():
        part = PARTS.get(name)
        if part is None or not (part.options or isinstance(value, bool)):
            why = _no_part(name) if part is None else f"{name} takes no options; give it true or false"
            raise PolicyNameError(f"the options of {shown(text)} cannot be set: {why}")
        positions = [position for position, word in enumerate(words) if word.partition("=")[0] == name]
        word = name if value is True else f"{name}={value:.10g}" if isinstance(value, float) else f"{name}={value}"
        if positions:
            del words[positions[0]]
        if value is not False:
            words.insert(positions[0] if positions else len(words), word)
    return "+".join(words)


def _no_part(name: str) -> str:
    near = hint(name, PARTS) or '; "batproto policies" lists the parts'
    return f"there is no part {shown(name)}{near}"


def _words(text: str) -> list[str]:
    words: list[str] = []
    for each in text.split("+"):
        name, equals, options = each.partition("=")
        part = PARTS.get(name.lower())
        if part is not None and part.split is not None:  # the path of a file has capitals and hyphens
            words.append(f"{part.name}{equals}{options}")
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


# The table


def _simple(argument: str, make: Callable[[], Any]) -> Callable[[Sequence[str]], tuple[str, Any]]:
    return lambda options: (argument, make())


_BACKFILLINGS: Final = (
    *(backfilling.NoBackfilling, backfilling.Greedy, backfilling.EASY),
    *(backfilling.Reservations, backfilling.Conservative),
)
_ALLOCATIONS: Final = (
    *(allocations.First, allocations.Last, allocations.Contiguous, allocations.BestContiguous, allocations.Zones),
    *(allocations.Fastest, allocations.Slowest, allocations.AwakeFirst, allocations.Shared),
    *(allocations.BestFit, allocations.Pack, allocations.Spread, allocations.Weight),
)


def _part(kind: str, made: Any, split: Callable[[str, str], list[str]] | None = None) -> Part:
    options, make = OPTIONS.get(made, ("", _simple(kind, made)))
    return Part(kind, made.name, options, made.sentence, made.source, make, split)


_SETTINGS: Final = (
    Part(
        *("settings", "each", "", "The policy decides after each event, not once after all events of one time.", ""),
        lambda options: ("each", True),
    ),
    Part(
        *("settings", "keep", "", "The first job stays the first one until it starts, whichever jobs arrive.", ""),
        lambda options: ("keeps", True),
    ),
    Part(
        *("settings", "off", "SECONDS", "Hosts without a job for that long are switched off, and on when needed.", ""),
        lambda options: ("off_after", number_of(only(options, "600"), 0)),
    ),
    Part(
        *("settings", "site", "FILE", "The rules of a TOML file hold: partitions, accounts, limits, preemption.", ""),
        lambda options: ("site", site_rules(options)),
        lambda text, folder: [os.path.join(folder, text)],
    ),
    Part(
        *(
            "settings",
            "risk",
            "",
            "Jobs start although a window that is known would meet them, such as maintenance.",
            "",
        ),
        lambda options: ("risk", True),
    ),
    Part(
        *("settings", "resolution", "SECONDS", "Times that differ by less count as equal; 0.001 by default.", ""),
        resolution,
    ),
)

_REPLAY: Final = Part(
    *("replay", "recorded", "", "Jobs start when and where the log says, in `recorded` of their extra data.", ""),
    lambda options: ("replays", True),
)

PARTS: Final[Mapping[str, Part]] = {
    part.name: part
    for part in (
        *(_part("order", each) for each in ORDERS.values()),
        *(_part("backfilling", each) for each in _BACKFILLINGS),
        *(_part("allocation", each) for each in _ALLOCATIONS),
        *(_part("walltimes", each) for each in (walltimes.AsRequested, walltimes.MeanOfLast)),
        *(_part("failures", each) for each in (failures.Requeue, failures.Checkpoint)),
        _part("starts", Wait, trace_and_words),
        _part("power", capping.Cap, cap_file),
        *_SETTINGS,
        _REPLAY,
    )
}
"""All parts by name."""
