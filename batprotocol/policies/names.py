"""Policies by names: `easy-sjf`, `saf+conservative+contiguous`. It knows all parts and their names.

A name consists of parts with + or - between them, in any order, with at most one part of each kind. Some parts take
options, after a = and with commas between them: `easy=saf,no-spare`, `reservations=3`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from batprotocol.edc import Scheduler
from batprotocol.errors import SchedulerError, hint, shown
from batprotocol.policies import allocations, backfilling, capping, failures, walltimes
from batprotocol.policies.options import (
    OPTIONS,
    ORDERS,
    cap_file,
    number_of,
    only,
    resolution,
    site_rules,
    trace_and_words,
)
from batprotocol.policies.scheduler import Policy
from batprotocol.policies.slurm import SlurmFileError, SlurmNameError, is_slurm, slurm_named
from batprotocol.policies.starts import Wait

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
