"""The names of workloads, on the command line and elsewhere, and the selection of a reader for each.

A name is a file, a file with changes (`log.swf.gz?jobs=1981-3004&offered-load=0.9`), or a model
(`lublin:256?jobs=10000`). `advice_on` warns of properties of a workload that affect its results.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, MutableMapping
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from batprotocol.errors import InputError, shown
from batprotocol.workloads.changes import (
    WEEK,
    estimated_walltimes,
    exact_walltimes,
    resampled_weeks,
    scaled_arrivals,
    scaled_walltimes,
    shuffled_weeks,
    window,
    window_with_margins,
    with_offered_load,
)
from batprotocol.workloads.lublin import lublin_workload
from batprotocol.workloads.swf import read_swf
from batprotocol.workloads.workload import Workload
from batprotocol.workloads.workload_files import read_workload_json

__all__ = [
    "EXAMPLE_PLATFORM",
    "EXAMPLE_WORKLOAD",
    "FILE_WORDS",
    "MODEL_WORDS",
    "WorkloadOption",
    "advice_on",
    "is_log",
    "named_workload",
    "read_workload",
    "with_recordings",
]


# Readers and examples

_EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples")
EXAMPLE_PLATFORM: Final = os.path.join(_EXAMPLES, "cluster.xml")
"""A platform file with 32 hosts that can be switched off, and with their watts."""
EXAMPLE_WORKLOAD: Final = os.path.join(_EXAMPLES, "jobs.json")
"""A workload file with 250 jobs that keep those hosts busy for half a day."""


def read_workload(
    path: str | os.PathLike[str],
    *,
    name: str = "w0",
    compositions: bool = False,
    corrected: bool = False,
    lazy: bool = False,
) -> Workload:
    """Read a workload: in the Standard Workload Format if its name ends with `.swf` or `.swf.gz`, else Batsim's JSON.

    Args:
        path: the file.
        name: the workload's name.
        compositions: whether fork-join and merge profiles are accepted, which Batsim refuses.
        corrected: whether usage traces are read to their ends where Batsim does not.
        lazy: whether jobs stay in the file, and are read again when they are needed, so that a workload can be larger
            than memory. Jobs must be sorted by (submission time, id), and the file must not change meanwhile.

    Raises:
        InputError: the file is not a workload; the error names the place.
        OSError: the file cannot be read.
    """
    if is_log(path):
        return read_swf(path, name=name, lazy=lazy)
    return read_workload_json(path, name=name, compositions=compositions, corrected=corrected, lazy=lazy)


def is_log(path: str | os.PathLike[str]) -> bool:
    """Whether a file is in the Standard Workload Format, by its name."""
    return "swf" in os.fspath(path).lower().split(".")[-2:]


class WorkloadOption(NamedTuple):
    """A word that may follow the `?` of a name.

    Args:
        value: a placeholder for its value, for help texts.
        convert: converts the text of the value. It raises ValueError or KeyError if the text is not a value.
        meaning: its meaning, as a sentence.
        function: the function of `batprotocol.simulator` that does this; "" if there is none.
        source: the publication, or "".
    """

    value: str
    convert: Callable[[str], Any]
    meaning: str
    function: str = ""
    source: str = ""


def named_workload(
    text: str,
    *,
    name: str = "w0",
    compositions: bool = False,
    corrected: bool = False,
    lazy: bool = False,
    kept: MutableMapping[Any, Workload] | None = None,
    hosts: int | None = None,
) -> Workload:
    """Read the workload with a name, as on the command line.

    Args:
        text: one of these names. `&` separates the words that follow the `?`:

            - a file, as `read_workload` reads it;
            - `FILE?jobs=FIRST-LAST`, `FILE?time=BEGIN-END` (seconds): a part of a file, see `window`. `&shift=yes`
              counts times from its first job. For a log, `&larger=yes`, `&runtime-limits=yes`, `&recorded=yes` and
              `&partitions=yes` are options of `read_swf`;
            - `FILE?window=BEGIN-END&before=SECONDS&after=SECONDS`: a window with margins, see `window_with_margins`;
            - `lublin:HOSTS?jobs=N`, with `&seed=N` and `&estimates=no`: see `lublin_workload`.

            Further words change the workload, in this order: `weeks=shuffled` or `weeks=resampled` (`shuffled_weeks`,
            `resampled_weeks`), with `period=SECONDS`; `arrival-factor=FACTOR` (`scaled_arrivals`) or
            `offered-load=X` (`with_offered_load`); `estimates=exact` (`exact_walltimes`) or `estimate-factor=F`
            (`estimated_walltimes`); and `walltimes=FACTOR` (`scaled_walltimes`). Models take all of these except
            `weeks`. `seed=N` is the seed of all random numbers, by default 0.
        name: the workload's name.
        compositions: see `read_workload`.
        corrected: see `read_workload`.
        lazy: see `read_workload`.
        kept: the files that were read before, which are not read again. Files that are read now are added.
        hosts: the size of the machine for `offered-load`; None: the size that the workload is made for.

    Raises:
        InputError: the text is not such a name, or the file is not a workload.
        OSError: the file cannot be read.
    """
    path, mark, query = text.partition("?")
    if path.startswith("lublin:") and not os.path.exists(text):
        given = _options(text, query, MODEL_WORDS)
        _expect_one_of_each(text, given)
        changes: dict[str, Any] = {key: given.pop(key) for key in _OF_MODELS if key in given}
        if given.get("estimates") == _EXACT:
            changes["estimates"] = given.pop("estimates")
        size = _converted(text, "hosts", path.partition(":")[2], int)
        if hosts in (None, size) and "offered-load" in changes:
            given["offered_load"] = changes.pop("offered-load")  # the model itself has whole seconds
        drawn = lublin_workload(size, given.pop("jobs", 1000), name=name, **given)
        return _changed(drawn, {**changes, "seed": given.get("seed", 0)}, hosts)
    if not mark or os.path.exists(text):
        path, query = text, ""
    given = _options(text, query, FILE_WORDS)
    _expect_one_of_each(text, given)
    options = {_SWF[key]: given[key] for key in sorted(_SWF.keys() & given.keys())}
    if options and not is_log(path):
        raise InputError(f"{shown(text)}: {' and '.join(sorted(_SWF))} are for logs (.swf, .swf.gz)")
    place = path, name, compositions, corrected, lazy, tuple(options.items())
    whole = None if kept is None else kept.get(place)
    if whole is None:
        if options:
            whole = read_swf(path, name=name, lazy=lazy, **options)
        else:
            whole = read_workload(path, name=name, compositions=compositions, corrected=corrected, lazy=lazy)
        if kept is not None:
            kept[place] = whole
    if "period" in given and "weeks" not in given:
        raise InputError(f"{shown(text)}: a period is for weeks: add weeks=shuffled or weeks=resampled")
    if "seed" in given and not {"weeks", "estimate-factor"} & given.keys():
        raise InputError(f"{shown(text)}: a seed is for random numbers: add weeks or estimate-factor")
    for word in ("before", "after"):
        if word in given and "window" not in given:
            raise InputError(f"{shown(text)}: {word} is for a window: add window=BEGIN-END")
    return _changed(_part(whole, given), given, hosts)


def with_recordings(text: str) -> str:
    """The name of a log with its recorded starts and partitions, which descriptions use; other names as they are.

    >>> with_recordings("log.swf?jobs=0-9"), with_recordings("w.json")
    ('log.swf?jobs=0-9&recorded=yes&partitions=yes', 'w.json')
    """
    path, mark, query = text.partition("?")
    if os.path.exists(text) and mark:
        path, query = text, ""
    if not is_log(path):
        return text
    given = {word for word, _ in parse_qsl(query, keep_blank_values=True)}
    added = [f"{word}=yes" for word in ("recorded", "partitions") if word not in given]
    return f"{path}?{'&'.join([*filter(None, [query]), *added])}"


def _part(whole: Workload, given: Mapping[str, Any]) -> Workload:
    """The part of a workload that its name selects; the workload itself if it selects all."""
    if "window" in given:
        begin, end = given["window"]
        return window_with_margins(whole, begin, end, before=given.get("before", 0.0), after=given.get("after", 0.0))
    if not {"jobs", "time", "shift"} & given.keys():
        return whole
    first, last = given.get("jobs", (0.0, math.inf))
    begin, end = given.get("time", (None, None))
    return window(
        whole,
        first=int(first),
        last=None if last == math.inf else int(last),
        begin=begin,
        end=end,
        shifted=given.get("shift", False),
    )


def _changed(workload: Workload, given: Mapping[str, Any], hosts: int | None) -> Workload:
    """The workload with the changes of its name."""
    seed = given.get("seed", 0)
    if "weeks" in given:
        workload = given["weeks"](workload, seed, period=given.get("period", WEEK))
    if "arrival-factor" in given:
        workload = scaled_arrivals(workload, given["arrival-factor"], origin=0.0 if "window" in given else None)
    if "offered-load" in given:
        workload = with_offered_load(workload, given["offered-load"], hosts=hosts)
    if given.get("estimates") == _EXACT:
        workload = exact_walltimes(workload)
    if "estimate-factor" in given:
        workload = estimated_walltimes(workload, given["estimate-factor"], seed=seed)
    return scaled_walltimes(workload, given["walltimes"]) if "walltimes" in given else workload


def _expect_one_of_each(text: str, given: Mapping[str, Any]) -> None:
    for words in _EXCLUSIVE:
        found = [word for word in words if word in given]
        if len(found) > 1:
            raise InputError(f"{shown(text)}: {' and '.join(found)} exclude one another: use one of them")


def _interval(text: str, convert: Callable[[str], float]) -> tuple[float, float]:
    """Two numbers with a hyphen between them. Without the second number, the interval has no end."""
    first, hyphen, last = text.partition("-")
    return convert(first), convert(last) if last else math.inf if hyphen else convert(first)


def _yes(text: str) -> bool:
    return {"yes": True, "no": False}[text]


def _of_log(text: str) -> str:
    return {_EXACT: _EXACT, _ASKED: _ASKED}[text]


def _estimates(text: str) -> bool | str:
    return _EXACT if text == _EXACT else _yes(text)


def _weeks(text: str) -> Callable[..., Workload]:
    return {"shuffled": shuffled_weeks, "resampled": resampled_weeks}[text]


_EXACT: Final = "exact"
_ASKED: Final = "asked"
_EXCLUSIVE: Final = (
    *(("arrival-factor", "offered-load"), ("estimates", "estimate-factor")),
    *(("window", other) for other in ("jobs", "time", "shift", "weeks")),
)
"""A name has at most one word of each of these groups."""
_OLD: Final = {"badness": ("estimate-factor", "estimate-factor"), "load": ("arrival-factor", "offered-load")}
"""Old words, each with the new one for files, and the one for models."""
_OF_MODELS: Final = ("arrival-factor", "offered-load", "estimate-factor", "walltimes")
"""The changes to the workload of a model."""
_CHANCE: Final = WorkloadOption("N", int, "The seed of all random numbers, by default 0.")
_OFFERED: Final = WorkloadOption(
    "X", float, "Arrivals are compressed by the factor that leads to this offered load.", "with_offered_load"
)
_FACTOR: Final = WorkloadOption(
    "FACTOR",
    float,
    "The factor by which arrivals are compressed: with 1.2, jobs arrive 1.2 times as fast.",
    "scaled_arrivals",
)
_WALLTIMES: Final[Mapping[str, WorkloadOption]] = {
    "estimate-factor": WorkloadOption(
        "F",
        float,
        "Walltimes are drawn between the run time and (1 + this factor) times the run time.",
        "estimated_walltimes",
        "the f-model of A. W. Mu'alem and D. G. Feitelson, TPDS 2001",
    ),
    "walltimes": WorkloadOption("FACTOR", float, "Walltimes are multiplied by this factor.", "scaled_walltimes"),
}
FILE_WORDS: Final[Mapping[str, WorkloadOption]] = {
    "jobs": WorkloadOption(
        "FIRST-LAST",
        partial(_interval, convert=int),
        "The jobs with these numbers, from 0 on, of the jobs that can run.",
        "window",
    ),
    "time": WorkloadOption(
        "BEGIN-END",
        partial(_interval, convert=float),
        "The jobs that are submitted in this interval, in seconds.",
        "window",
    ),
    "shift": WorkloadOption("yes", _yes, "Count times from the first of these jobs.", "window"),
    "larger": WorkloadOption(
        "yes",
        _yes,
        "For a log: take the larger number of requested and allocated processors.",
        "read_swf",
    ),
    "runtime-limits": WorkloadOption(
        "yes",
        _yes,
        "For a log: take the run time as the walltime where no time was requested.",
        "read_swf",
    ),
    "window": WorkloadOption(
        "BEGIN-END",
        partial(_interval, convert=float),
        "The jobs that are submitted in this interval, in seconds, and those of the margins before and after it. Times "
        "are counted from the margin.",
        "window_with_margins",
    ),
    "before": WorkloadOption("SECONDS", float, "The margin before the window, by default 0.", "window_with_margins"),
    "after": WorkloadOption("SECONDS", float, "The margin after it, by default 0.", "window_with_margins"),
    "recorded": WorkloadOption(
        "yes",
        _yes,
        "For a log: take the start of each job, for the policy recorded.",
        "read_swf",
    ),
    "partitions": WorkloadOption(
        "yes",
        _yes,
        "For a log: take the partition of each job.",
        "read_swf",
    ),
    "weeks": WorkloadOption(
        "shuffled, resampled",
        _weeks,
        "The weeks in another order, or random weeks, some of them several times; jobs keep their day and hour.",
        "shuffled_weeks, resampled_weeks",
        "N. Zakay and D. G. Feitelson, CCPE 2014",
    ),
    "period": WorkloadOption("SECONDS", float, "The length of a week, for weeks; by default 604800."),
    "seed": _CHANCE,
    "arrival-factor": _FACTOR,
    "offered-load": _OFFERED,
    "estimates": WorkloadOption(
        "asked, exact",
        _of_log,
        "By default, walltimes are those that users asked for. With `exact`, they are the run times plus a "
        "microsecond, so that they end no job.",
        "exact_walltimes",
    ),
    **_WALLTIMES,
}
"""The words for a file, in the order in which they are applied."""
MODEL_WORDS: Final[Mapping[str, WorkloadOption]] = {
    "jobs": WorkloadOption("N", int, "The number of jobs, by default 1000.", "lublin_workload"),
    "seed": _CHANCE,
    "arrival-factor": _FACTOR,
    "offered-load": _OFFERED,
    "estimates": WorkloadOption(
        "no, exact",
        _estimates,
        "By default, walltimes are users' estimates, which are longer than run times. With `no`, they are the run "
        "times, and with `exact` a microsecond longer, so that they end no job.",
        "lublin_workload",
        "D. Tsafrir, Y. Etsion and D. G. Feitelson, JSSPP 2005",
    ),
    **_WALLTIMES,
}
"""The words for the model of U. Lublin and D. G. Feitelson (JPDC 2003), `lublin:HOSTS`."""

_SWF: Final = {word: word.replace("-", "_") for word in ("larger", "runtime-limits", "recorded", "partitions")}


def _options(text: str, query: str, known: Mapping[str, WorkloadOption]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for given, value in parse_qsl(query, keep_blank_values=True):
        key = _OLD[given][known is MODEL_WORDS] if given in _OLD else given
        word = known.get(key)
        if word is None or key in found:
            near = get_close_matches(key, known, 1) if word is None else []
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"{shown(text)}: expected {', '.join(known)}, each once at most, got {shown(given)}{hint}")
        if key != given:
            sentence = f"the word {given!r} of workloads is deprecated: use {key!r} instead"
            warnings.warn(sentence, DeprecationWarning, stacklevel=3)
        found[key] = _converted(text, key, value, word.convert)
    if query and not found:
        raise InputError(f"{shown(text)}: expected {', '.join(known)}, with values, got {shown(query)}")
    return found


def _converted(text: str, key: str, value: str, convert: Callable[[str], Any]) -> Any:
    try:
        return convert(value)
    except (ValueError, KeyError):
        raise InputError(f"{shown(text)}: {shown(value)} is not a value for {key}") from None


# Advice


def advice_on(workload: Workload) -> list[str]:
    """Advice on a workload before its results are used, as sentences; empty for most workloads.

    >>> from batprotocol.model import DelayProfile
    >>> from batprotocol.simulator import StaticJob, Workload
    >>> advice_on(Workload([StaticJob("1", 0.0, 1, DelayProfile(5.0), walltime=60.0)]))
    []
    """
    found = []
    if workload.skipped:
        left_out = "1 job is" if workload.skipped == 1 else f"{workload.skipped:,} jobs are"
        found.append(f"{left_out} left out, without a run time or processors")
    if workload.is_older:
        found.append("it has profiles of Batsim 1 to 4, which are read as those of Batsim 5")
    if workload.dependent:
        name = "1 job names" if workload.dependent == 1 else f"{workload.dependent:,} jobs name"
        found.append(f"{name} a preceding job or a think time (fields 17 and 18), which is not followed")
    if workload.declared is not None:
        found.append(
            f"its header declares {workload.declared:,} hosts, and its largest job requests "
            f"{workload.resource_count:,}: without a platform, the machine has {workload.resource_count:,} hosts"
        )
    missing = workload.without_walltime if is_log(workload.filename) else 0
    if missing:
        have = "1 job has" if missing == 1 else f"{missing:,} of {len(workload):,} jobs have"
        found.append(
            f"{have} no requested time: policies expect them to run without end, so that sjf, easy and "
            "conservative cannot order them; add estimates=exact or estimate-factor=2"
        )
    return found
