"""The keys of a study: which there are, and what their values may be. Each is an axis where it has several values.

What is made of a workload is named by the words that names of workloads have, too (`named_workload`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from batprotocol.conversation import RULE_SETS
from batprotocol.errors import StudyError, shown
from batprotocol.simulator.inputs.names import FILE_WORDS

__all__ = ["KEYS", "Key", "values_of"]


class Key(NamedTuple):
    """A key.

    Args:
        kind: what its values are for: an `input`, a `change` of the workload, the `machine`, an `option` of the
            simulation, or the `metrics`: how results are measured, for which nothing runs again.
        expected: what its values are, in words.
        check: whether a value is one.
        meaning: what it is, as a sentence.
    """

    kind: str
    expected: str
    check: Callable[[Any], bool]
    meaning: str


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_natural(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_interval(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9.]+(-[0-9.]*)?", value) is not None


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value < 1


_TRUTH: Final = ("true or false", _is_truth)
_INTERVAL: Final = ('an interval such as "0-999"', _is_interval)


def _is_factor(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _changing(word: str, expected: str, check: Callable[[Any], bool], more: str = "") -> Key:
    """A key that says of a workload what a word of its name could."""
    return Key("change", expected, check, f"{FILE_WORDS[word].meaning.removesuffix('.')}{more}.")


KEYS: Final[Mapping[str, Key]] = {
    "workload": Key(
        "input",
        "the name of a workload",
        _is_text,
        "What is submitted: a file (Batsim's JSON, .swf, .swf.gz), a part of one (log.swf.gz?jobs=0-999), or a model "
        "(lublin:256?jobs=1000); the example of the package unless told otherwise.",
    ),
    "platform": Key(
        *("input", "a file or a number of hosts", lambda value: _is_text(value) or _is_count(value)),
        "SimGrid's file, or a number of equal hosts; as many as the workload is made for unless told otherwise.",
    ),
    "master": Key(
        "machine", "the name of a host", _is_text, "The host of Batsim itself, which runs no jobs, as `-m` of simulate."
    ),
    "mmax": Key("machine", "a number of hosts > 0", _is_count, "How many hosts are used at most, the first ones."),
    "events": Key("input", "a file", _is_text, "A file of external events."),
    "jobs": _changing("jobs", *_INTERVAL, "; of a model, how many"),
    "time": _changing("time", *_INTERVAL),
    "shift": _changing("shift", *_TRUTH),
    "larger": _changing("larger", *_TRUTH),
    "runtime_limits": _changing("runtime-limits", *_TRUTH),
    "weeks": _changing("weeks", '"shuffled" or "resampled"', lambda value: value in ("shuffled", "resampled")),
    "period": _changing("period", "seconds > 0", _is_positive),
    "load": _changing("load", "a number > 0", _is_positive, "; of a model, the load itself"),
    "offered_load": _changing("offered-load", "a number > 0", _is_positive),
    "estimates": _changing("estimates", '"exact"', lambda value: value == "exact"),
    "estimate_factor": _changing("estimate-factor", "a number >= 0", _is_factor),
    "badness": Key("change", "a number >= 0", _is_factor, "The former name of `estimate_factor`."),
    "walltimes": _changing("walltimes", "a number > 0", _is_positive),
    "seed": _changing("seed", "an integer >= 0", _is_natural, '; "0-9" are ten of them'),
    "init": Key(
        "option", "a text", _is_text, 'The initialization data of the scheduler; "{seed}" in it is the seed of the run.'
    ),
    "energy": Key("option", *_TRUTH, "Whether energy is measured."),
    "corrected": Key("option", *_TRUTH, "Whether what looks unintended in Batsim is done otherwise."),
    "rules": Key(
        "option",
        " or ".join(RULE_SETS),
        lambda value: value in RULE_SETS,
        "The rule set; batsim-5.0.0-rc2 unless told otherwise.",
    ),
    "warm_up": Key(
        "metrics",
        "a share in [0, 1)",
        _is_share,
        "What the statistics leave out at the beginning, a share of the submissions' time.",
    ),
    "cool_down": Key("metrics", "a share in [0, 1)", _is_share, "What the statistics leave out at the end, likewise."),
    "tau": Key(
        "metrics",
        "seconds > 0",
        _is_positive,
        "What jobs count to have run at least, in bounded slowdowns; 10 unless told otherwise.",
    ),
    "wide": Key(
        "metrics",
        "a number of hosts > 0",
        _is_count,
        "With long: jobs on more hosts are wide, and the jobs of four classes are measured apart, too.",
    ),
    "long": Key("metrics", "seconds > 0", _is_positive, "With wide: jobs that run for longer are long."),
    "scheduler": Key(
        *("input", "a policy or FILE:CLASS", _is_text),
        "What decides. The last axis: the schedulers of one workload run one after the other.",
    ),
}
"""All keys, in the order in which runs are listed: the last one changes first."""


def values_of(key: str, given: Any) -> list[Any]:
    """The values of a key, of one value or several.

    Raises:
        StudyError: there is none.
    """
    if key == "seed" and isinstance(given, str):
        found = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", given)
        if found is None or int(found[1]) > int(found[2]):
            raise StudyError(f'expected integers, or an interval such as "0-9", got {shown(given)}', key)
        return list(range(int(found[1]), int(found[2]) + 1))
    if hasattr(given, "tolist"):  # of numpy
        given = given.tolist()
    values = list(given) if isinstance(given, list | tuple | range | set | frozenset) else [given]
    if not values:
        raise StudyError("an axis has at least one value", key)
    return values
