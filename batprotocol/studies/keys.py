"""The keys of a study and their possible values. A key with several values is an axis.

Keys that change a workload have the names of the options in names of workloads (`named_workload`).
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from batprotocol._util.times import parse_duration
from batprotocol.conversation import RULE_SETS
from batprotocol.errors import InputError, StudyError, shown
from batprotocol.workloads.described import parse_watts
from batprotocol.workloads.host_events import parse_law
from batprotocol.workloads.names import FILE_WORDS

__all__ = ["ESTIMATES", "KEYS", "MOST_RUNS", "NEVER", "OLD_KEYS", "StudyKey", "values_of", "with_new_names"]


class StudyKey(NamedTuple):
    """A key.

    Args:
        kind: its purpose: an `input`, a `change` of the workload, the `machine`, its `failures`, its `power`, an
            `option` of the simulation, or the `metrics`. Keys of that kind set how results are measured; a change of
            their values runs nothing again.
        expected: a description of its values, for error messages.
        check: whether a value is valid.
        meaning: a sentence that describes it.
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


NEVER: Final = "never"
"""The mean time between failures if no host fails."""
ESTIMATES: Final = ("asked", "exact", "predicted")
"""The estimates of run times that schedulers can use."""
_TRUTH: Final = ("true or false", _is_truth)
_INTERVAL: Final = ('an interval such as "0-999"', _is_interval)


def _is_mean(value: Any) -> bool:
    return _is_duration(value) or value == NEVER


def _is_duration(value: Any) -> bool:
    if not isinstance(value, str):
        return _is_positive(value)
    try:
        return 0 < parse_duration(value) < math.inf
    except InputError:
        return False


def _is_law(value: Any) -> bool:
    try:
        return isinstance(value, str) and parse_law(value) is not None
    except InputError:
        return False


def _is_watts(value: Any) -> bool:
    try:
        return isinstance(value, str) and parse_watts(value) is not None
    except InputError:
        return False


def _is_cap(value: Any) -> bool:
    return _is_positive(value) or (isinstance(value, str) and bool(value))


def _is_factor(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _changing(word: str, expected: str, check: Callable[[Any], bool], more: str = "") -> StudyKey:
    """A key that changes a workload as an option in its name does."""
    return StudyKey("change", expected, check, f"{FILE_WORDS[word].meaning.removesuffix('.')}{more}.")


KEYS: Final[Mapping[str, StudyKey]] = {
    "workload": StudyKey(
        "input",
        "the name of a workload",
        _is_text,
        "The workload: a file (Batsim's JSON, .swf, .swf.gz), a part of one (log.swf.gz?jobs=0-999), or a model "
        "(lublin:256?jobs=1000). The default is the example of the package.",
    ),
    "platform": StudyKey(
        "input",
        "a file or a number of hosts",
        lambda value: _is_text(value) or _is_count(value),
        "A platform file of SimGrid, or a number of equal hosts. The default is the number that the workload is made "
        "for.",
    ),
    "master": StudyKey(
        "machine", "the name of a host", _is_text, "The host of Batsim itself, which runs no jobs, as `-m` of simulate."
    ),
    "mmax": StudyKey(
        "machine", "a number of hosts > 0", _is_count, "The maximum number of hosts: the first ones are used."
    ),
    "events": StudyKey(
        "input",
        "a file",
        _is_text,
        "A file of external events. For policies, its events of hosts are checked.",
    ),
    "failures": StudyKey(
        "input",
        "a file",
        _is_text,
        "The failures of hosts: a trace of the Failure Trace Archive or of Los Alamos National Laboratory, or a file "
        "of events of hosts.",
    ),
    "mtbf": StudyKey(
        "failures",
        'a duration such as "1mo", seconds > 0, or "never"',
        _is_mean,
        "Draw failures: the mean time from a repair of a host to its next failure; with `never`, no host fails.",
    ),
    "failure_shape": StudyKey(
        "failures",
        "a number > 0",
        _is_positive,
        "The shape of the Weibull distribution of these times. The default is 1, the exponential distribution.",
    ),
    "repair": StudyKey(
        "failures",
        'a law such as "fixed:2h"',
        _is_law,
        "The law of the times of repairs, as for `batproto workload failures`. The default is "
        "`lognormal:mean=355min,median=54min`.",
    ),
    "failing": StudyKey(
        "failures",
        'a group of hosts such as "rack=32"',
        _is_text,
        "The hosts that fail together, as for `batproto workload failures`. The default is `host`, each host alone.",
    ),
    "failures_until": StudyKey(
        "failures",
        'a duration such as "30d", or seconds > 0',
        _is_duration,
        "The time until which failures are drawn. The default is four times the time that the jobs need without "
        "failures. A run that lasts longer fails.",
    ),
    "failure_seed": StudyKey(
        "failures",
        "an integer >= 0",
        _is_natural,
        'The seed of the failures; "0-9" are ten seeds. The default is the seed of the run.',
    ),
    "watts": StudyKey(
        "power",
        'watts such as "idle=95,busy=250"',
        _is_watts,
        "Typical watts for hosts that declare none, as `--watts` of simulate.",
    ),
    "carbon": StudyKey(
        "power",
        'a trace such as "gb.csv" or "daily:300"',
        _is_text,
        "The carbon intensity, to measure carbon. In the name of a policy, `{carbon}` stands for it.",
    ),
    "price": StudyKey(
        "power",
        'a trace such as "prices.csv" or "daily:0.25"',
        _is_text,
        "The price of the energy, to measure costs. In the name of a policy, `{price}` stands for it.",
    ),
    "cap": StudyKey(
        "power",
        'watts such as "4kW", a table of watts, or "none"',
        _is_cap,
        "A cap on the power, to measure the time and the energy above it. Policies keep it: it becomes their part "
        "`cap`.",
    ),
    "jobs": _changing("jobs", *_INTERVAL, "; of a model, the number of jobs"),
    "time": _changing("time", *_INTERVAL),
    "window": _changing("window", *_INTERVAL, "; only the jobs of the window itself count in the results"),
    "before": _changing("before", "seconds >= 0", _is_factor),
    "after": _changing("after", "seconds >= 0", _is_factor),
    "shift": _changing("shift", *_TRUTH),
    "larger": _changing("larger", *_TRUTH),
    "runtime_limits": _changing("runtime-limits", *_TRUTH),
    "recorded": _changing("recorded", *_TRUTH),
    "partitions": _changing("partitions", *_TRUTH),
    "weeks": _changing("weeks", '"shuffled" or "resampled"', lambda value: value in ("shuffled", "resampled")),
    "period": _changing("period", "seconds > 0", _is_positive),
    "arrival_factor": _changing("arrival-factor", "a number > 0", _is_positive),
    "offered_load": _changing("offered-load", "a number > 0", _is_positive),
    "estimates": _changing(
        "estimates",
        '"asked", "exact" or "predicted"',
        lambda value: value in ESTIMATES,
        " With predicted, the scheduler, a policy, predicts run times, as its part `predicted` does",
    ),
    "estimate_factor": _changing("estimate-factor", "a number >= 0", _is_factor),
    "walltimes": _changing("walltimes", "a number > 0", _is_positive),
    "seed": _changing("seed", "an integer >= 0", _is_natural, '; "0-9" are ten seeds'),
    "init": StudyKey(
        "option",
        "a text",
        _is_text,
        'The initialization data of the scheduler; the seed of the run replaces "{seed}" in it.',
    ),
    "energy": StudyKey(
        "option",
        *_TRUTH,
        "Whether energy is measured. With watts, carbon, price or cap, it is, unless this is false.",
    ),
    "corrected": StudyKey("option", *_TRUTH, "Whether behaviour that looks unintended in Batsim is corrected."),
    "rules": StudyKey(
        "option",
        " or ".join(RULE_SETS),
        lambda value: value in RULE_SETS,
        "The rule set, batsim-5.0.0-rc2 by default.",
    ),
    "warm_up": StudyKey(
        "metrics",
        "a share in [0, 1)",
        _is_share,
        "The share of the time of submissions that the statistics leave out at the beginning.",
    ),
    "cool_down": StudyKey(
        "metrics", "a share in [0, 1)", _is_share, "The share that they leave out at the end of that time."
    ),
    "tau": StudyKey(
        "metrics",
        "seconds > 0",
        _is_positive,
        "The minimum run time of jobs in bounded slowdowns, 10 by default.",
    ),
    "wide": StudyKey(
        "metrics",
        "a number of hosts > 0",
        _is_count,
        "With long: jobs on more hosts are wide. The four classes of jobs are also measured separately.",
    ),
    "long": StudyKey("metrics", "seconds > 0", _is_positive, "With wide: jobs that run for longer are long."),
    "scheduler": StudyKey(
        "input",
        "a policy or FILE:CLASS",
        _is_text,
        "The scheduler. It is the last axis: the schedulers of one workload run one after the other.",
    ),
}
"""All keys, in the order in which runs are listed: the last one changes first."""

MOST_RUNS: Final = 10_000_000
"""The maximum number of runs of a study: a list of runs takes about a kilobyte a run."""

OLD_KEYS: Final = {"badness": ("estimate_factor", "estimate_factor"), "load": ("arrival_factor", "offered_load")}
"""The old names of keys, each with the new one for files, and the one for models. They work for one version more."""


def with_new_names(keys: Mapping[str, Any], of_models: Iterable[bool]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The same keys without old names, and a sentence on each old name. It warns of each.

    Args:
        keys: the keys of a study.
        of_models: whether each workload of the study is drawn from a model.

    Raises:
        StudyError: a key is given by both of its names, or has two new names in this study.
    """
    found, notes, kinds = dict(keys), [], set(of_models)
    for old, names in OLD_KEYS.items():
        if old in found:
            possible = {names[is_model] for is_model in kinds}
            if len(possible) > 1:
                first, second = sorted(possible)
                raise StudyError(f"it means {first} for files and {second} for models: give one of these", old)
            (new,) = possible
            if new in found:
                raise StudyError(f"{new} and {old}, its old name, exclude one another: give {new} only", old)
            found[new] = found.pop(old)
            notes.append(f"the key {old} is deprecated: use {new} instead")
            warnings.warn(notes[-1], DeprecationWarning, stacklevel=4)
    return found, tuple(notes)


def values_of(key: str, given: Any) -> Sequence[Any]:
    """The values of a key, which is given as one value or several. Those of an interval are a `range`.

    Raises:
        StudyError: there is no value, or an interval of seeds is not valid.
    """
    if key in ("seed", "failure_seed") and isinstance(given, str):
        found = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", given)
        if found is None or int(found[1]) > int(found[2]):
            raise StudyError(f'expected integers, or an interval such as "0-9", got {shown(given)}', key)
        seeds = range(int(found[1]), int(found[2]) + 1)
        if len(seeds) > MOST_RUNS:
            raise StudyError(f"{len(seeds):,} seeds are too many: a study has {MOST_RUNS:,} runs at most", key)
        return seeds
    if hasattr(given, "tolist"):  # of numpy
        given = given.tolist()
    values = list(given) if isinstance(given, list | tuple | range | set | frozenset) else [given]
    if not values:
        raise StudyError("an axis has at least one value: write one, or leave out the key", key)
    return values
