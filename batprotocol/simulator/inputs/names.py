"""What the names of workloads stand for, on the command line and elsewhere.

A name is a file, a file with what is made of it (`log.swf.gz?jobs=1981-3004&load=1.2`), or a model
(`lublin:256?jobs=10000`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from batprotocol.errors import InputError, shown
from batprotocol.simulator.inputs.changes import (
    WEEK,
    estimated_walltimes,
    exact_walltimes,
    resampled_weeks,
    scaled_load,
    scaled_walltimes,
    shuffled_weeks,
    with_offered_load,
)
from batprotocol.simulator.inputs.lublin import lublin_workload
from batprotocol.simulator.inputs.reading import is_log, read_workload
from batprotocol.simulator.inputs.swf import read_swf
from batprotocol.simulator.inputs.windows import window
from batprotocol.simulator.inputs.workload import Workload

__all__ = ["FILE_WORDS", "MODEL_WORDS", "Word", "named_workload"]


class Word(NamedTuple):
    """What may be said behind the `?` of a name.

    Args:
        value: what stands behind its `=`, as people are shown it.
        convert: makes a value of that. ValueError or KeyError if it is none.
        meaning: what it is, as a sentence.
        function: what does it, by the name that `batprotocol.simulator` has for it; "" where that is no function.
        source: where that comes from, or "".
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
    """The workload that a text names, as on the command line.

    Args:
        text: one of these, where `&` separates what follows the `?`:

            - a file, as `read_workload` reads it;
            - `FILE?jobs=FIRST-LAST`, `FILE?time=BEGIN-END` (seconds): a part of it, see `window`; `&shift=yes` counts
              times from its first job; of a log, `&larger=yes` and `&runtime-limits=yes` are options of `read_swf`;
            - `lublin:HOSTS?jobs=N`, with `&seed=N`, `&load=X` and `&estimates=no`: see `lublin_workload`.

            What follows a file may say, too, what is made of it then, in this order: `weeks=shuffled` or
            `weeks=resampled` (`shuffled_weeks`, `resampled_weeks`), of `period=SECONDS`; `load=FACTOR` (`scaled_load`)
            or `offered-load=X` (`with_offered_load`); `estimates=exact` (`exact_walltimes`) or `estimate-factor=F`
            (`estimated_walltimes`), which is `badness=F`, too; and `walltimes=FACTOR` (`scaled_walltimes`). All but the
            weeks are for models, too. `seed=N` is that of all chance in it, 0 if not given.
        name: the workload's name.
        compositions: see `read_workload`; so are `corrected` and `lazy`.
        kept: the files that were read already, and are not read again; what is read now is added.
        hosts: the size of the machine that `offered-load` is for; None: the one that the workload is made for.

    Raises:
        InputError: the text names nothing, or what it names is no workload.
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
        raise InputError(f"{shown(text)}: a period is what counts as a week: weeks says what is done with them")
    if "seed" in given and not {"weeks", *_FACTORS} & given.keys():
        raise InputError(f"{shown(text)}: a seed is for weeks and for an estimate-factor, which are drawn by chance")
    return _changed(_part(whole, given), given, hosts)


def _part(whole: Workload, given: Mapping[str, Any]) -> Workload:
    """The part of a workload that its name asks for; itself where that is all."""
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
    """What a name makes of a workload."""
    seed = given.get("seed", 0)
    if "weeks" in given:
        workload = given["weeks"](workload, seed, period=given.get("period", WEEK))
    if "load" in given:
        workload = scaled_load(workload, given["load"])
    if "offered-load" in given:
        workload = with_offered_load(workload, given["offered-load"], hosts=hosts)
    if "estimates" in given:
        workload = exact_walltimes(workload)
    for word in _FACTORS:
        if word in given:
            workload = estimated_walltimes(workload, given[word], seed=seed)
    return scaled_walltimes(workload, given["walltimes"]) if "walltimes" in given else workload


def _expect_one_of_each(text: str, given: Mapping[str, Any]) -> None:
    for words in (("load", "offered-load"), ("estimates", *_FACTORS)):
        found = [word for word in words if word in given]
        if len(found) > 1:
            raise InputError(f"{shown(text)}: {' and '.join(found)} exclude one another")


def _interval(text: str, convert: Callable[[str], float]) -> tuple[float, float]:
    """Two numbers with a hyphen between them; without the second one, up to the end."""
    first, hyphen, last = text.partition("-")
    return convert(first), convert(last) if last else math.inf if hyphen else convert(first)


def _yes(text: str) -> bool:
    return {"yes": True, "no": False}[text]


def _exact(text: str) -> str:
    return {_EXACT: _EXACT}[text]


def _estimates(text: str) -> bool | str:
    return _EXACT if text == _EXACT else _yes(text)


def _weeks(text: str) -> Callable[..., Workload]:
    return {"shuffled": shuffled_weeks, "resampled": resampled_weeks}[text]


_EXACT: Final = "exact"
_FACTORS: Final = ("estimate-factor", "badness")
"""The word for how far estimates are off, and its former name."""
_OF_MODELS: Final = ("offered-load", *_FACTORS, "walltimes")
"""What is made of a model's workload when it is drawn."""
_CHANCE: Final = Word("N", int, "The seed of all that is drawn by chance; 0 if not given.")
_OFFERED: Final = Word(
    "X", float, "Arrivals are compressed by the factor that makes this the offered load.", "with_offered_load"
)
_WALLTIMES: Final[Mapping[str, Word]] = {
    "estimate-factor": Word(
        "F",
        float,
        "Walltimes are drawn between the run time and 1 + this times as much.",
        "estimated_walltimes",
        "the f-model of A. W. Mu'alem and D. G. Feitelson, TPDS 2001",
    ),
    "badness": Word("F", float, "The former name of estimate-factor.", "estimated_walltimes"),
    "walltimes": Word("FACTOR", float, "Walltimes are this times as long.", "scaled_walltimes"),
}
FILE_WORDS: Final[Mapping[str, Word]] = {
    "jobs": Word(
        "FIRST-LAST",
        partial(_interval, convert=int),
        "The jobs of these numbers, from 0 on, of those that can run.",
        "window",
    ),
    "time": Word(
        "BEGIN-END",
        partial(_interval, convert=float),
        "The jobs that are submitted then, in seconds.",
        "window",
    ),
    "shift": Word("yes", _yes, "Whether times are counted from the first of these jobs.", "window"),
    "larger": Word(
        "yes",
        _yes,
        "Of a log: whether the larger one of the requested and allocated processors counts.",
        "read_swf",
    ),
    "runtime-limits": Word(
        "yes",
        _yes,
        "Of a log: whether the run time is the walltime where no time was requested.",
        "read_swf",
    ),
    "weeks": Word(
        "shuffled, resampled",
        _weeks,
        "The weeks in another order, in which jobs keep their day and hour; or drawn, some of them several times.",
        "shuffled_weeks, resampled_weeks",
        "N. Zakay and D. G. Feitelson, CCPE 2014",
    ),
    "period": Word("SECONDS", float, "What counts as a week, for weeks; 604800 unless told otherwise."),
    "seed": _CHANCE,
    "load": Word(
        "FACTOR",
        float,
        "The factor by which arrivals are compressed: not the load itself, which is offered-load.",
        "scaled_load",
    ),
    "offered-load": _OFFERED,
    "estimates": Word(
        "exact",
        _exact,
        "Walltimes are the run times, and a microsecond more, so that no job is ended by them.",
        "exact_walltimes",
    ),
    **_WALLTIMES,
}
"""What may be said of a file, in the order in which it is done."""
MODEL_WORDS: Final[Mapping[str, Word]] = {
    "jobs": Word("N", int, "How many jobs; 1000 unless told otherwise.", "lublin_workload"),
    "seed": _CHANCE,
    "load": Word("X", float, "The offered load that times are scaled to when jobs are drawn.", "lublin_workload"),
    "offered-load": _OFFERED,
    "estimates": Word(
        "no, exact",
        _estimates,
        "Without it, walltimes are longer than run times, as people estimate them; with `no`, they are the run times, "
        "and with `exact` a microsecond longer, so that no job is ended by them.",
        "lublin_workload",
        "D. Tsafrir, Y. Etsion and D. G. Feitelson, JSSPP 2005",
    ),
    **_WALLTIMES,
}
"""What may be said of the model of U. Lublin and D. G. Feitelson (JPDC 2003), `lublin:HOSTS`."""

_SWF: Final = {"larger": "larger", "runtime-limits": "runtime_limits"}


def _options(text: str, query: str, known: Mapping[str, Word]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        word = known.get(key)
        if word is None or key in found:
            raise InputError(f"{shown(text)}: expected {', '.join(known)}, each once at most, got {shown(key)}")
        found[key] = _converted(text, key, value, word.convert)
    if query and not found:
        raise InputError(f"{shown(text)}: expected {', '.join(known)}, with values, got {shown(query)}")
    return found


def _converted(text: str, key: str, value: str, convert: Callable[[str], Any]) -> Any:
    try:
        return convert(value)
    except (ValueError, KeyError):
        raise InputError(f"{shown(text)}: {shown(value)} is no value for {key}") from None
