"""What the names of workloads stand for, on the command line and elsewhere.

A name is a file, a file with what is made of it (`log.swf.gz?jobs=1981-3004&load=1.2`), or a model
(`lublin:256?jobs=10000`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl

from batprotocol.errors import InputError, shown
from batprotocol.simulator.inputs.changes import (
    WEEK,
    estimated_walltimes,
    resampled_weeks,
    scaled_load,
    scaled_walltimes,
    shuffled_weeks,
)
from batprotocol.simulator.inputs.lublin import lublin_workload
from batprotocol.simulator.inputs.reading import is_log, read_workload
from batprotocol.simulator.inputs.swf import read_swf
from batprotocol.simulator.inputs.windows import window
from batprotocol.simulator.inputs.workload import Workload

__all__ = ["named_workload"]


def named_workload(
    text: str,
    *,
    name: str = "w0",
    compositions: bool = False,
    corrected: bool = False,
    lazy: bool = False,
    kept: MutableMapping[Any, Workload] | None = None,
) -> Workload:
    """The workload that a text names, as on the command line.

    Args:
        text: one of these, where `&` separates what follows the `?`:

            - a file, as `read_workload` reads it;
            - `FILE?jobs=FIRST-LAST`, `FILE?time=BEGIN-END` (seconds): a part of it, see `window`; `&shift=yes` counts
              times from its first job; of a log, `&larger=yes` and `&runtime-limits=yes` are options of `read_swf`;
            - `lublin:HOSTS?jobs=N`, with `&seed=N`, `&load=X` and `&estimates=no`: see `lublin_workload`.

            What follows a file may say, too, what is made of it then, in this order: `weeks=shuffled` or
            `weeks=resampled` (`shuffled_weeks`, `resampled_weeks`), of `period=SECONDS`; `load=FACTOR` (`scaled_load`),
            `badness=F` (`estimated_walltimes`) and `walltimes=FACTOR` (`scaled_walltimes`), the last two also of a
            model; `seed=N` is that of all chance in it, 0 unless told otherwise.
        name: the workload's name.
        compositions: see `read_workload`; so are `corrected` and `lazy`.
        kept: the files that were read already, and are not read again; what is read now is added.

    Raises:
        InputError: the text names nothing, or what it names is no workload.
        OSError: the file cannot be read.
    """
    path, mark, query = text.partition("?")
    if path.startswith("lublin:") and not os.path.exists(text):
        given = _options(text, query, _LUBLIN)
        walltimes: dict[str, Any] = {key: given.pop(key) for key in ("badness", "walltimes") if key in given}
        hosts = _converted(text, "hosts", path.partition(":")[2], int)
        drawn = lublin_workload(hosts, given.pop("jobs", 1000), name=name, **given)
        return _with_walltimes(drawn, walltimes, given.get("seed", 0))
    if not mark or os.path.exists(text):
        path, query = text, ""
    given = _options(text, query, _FILE)
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
    if "seed" in given and not {"weeks", "badness"} & given.keys():
        raise InputError(f"{shown(text)}: a seed is for weeks and badness, which are drawn by chance")
    return _changed(_part(whole, given), given)


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


def _changed(workload: Workload, given: Mapping[str, Any]) -> Workload:
    """What a name makes of a workload."""
    seed = given.get("seed", 0)
    if "weeks" in given:
        workload = given["weeks"](workload, seed, period=given.get("period", WEEK))
    if "load" in given:
        workload = scaled_load(workload, given["load"])
    return _with_walltimes(workload, given, seed)


def _with_walltimes(workload: Workload, given: Mapping[str, Any], seed: int) -> Workload:
    if "badness" in given:
        workload = estimated_walltimes(workload, given["badness"], seed=seed)
    return scaled_walltimes(workload, given["walltimes"]) if "walltimes" in given else workload


def _interval(text: str, convert: Callable[[str], float]) -> tuple[float, float]:
    """Two numbers with a hyphen between them; without the second one, up to the end."""
    first, hyphen, last = text.partition("-")
    return convert(first), convert(last) if last else math.inf if hyphen else convert(first)


def _yes(text: str) -> bool:
    return {"yes": True, "no": False}[text]


def _weeks(text: str) -> Callable[..., Workload]:
    return {"shuffled": shuffled_weeks, "resampled": resampled_weeks}[text]


_WALLTIMES: Final[Mapping[str, Callable[[str], Any]]] = {"badness": float, "walltimes": float}
_LUBLIN: Final[Mapping[str, Callable[[str], Any]]] = {
    "jobs": int,
    "seed": int,
    "load": float,
    "estimates": _yes,
    **_WALLTIMES,
}
_FILE: Final[Mapping[str, Callable[[str], Any]]] = {
    "jobs": partial(_interval, convert=int),
    "time": partial(_interval, convert=float),
    "shift": _yes,
    "larger": _yes,
    "runtime-limits": _yes,
    "weeks": _weeks,
    "period": float,
    "seed": int,
    "load": float,
    **_WALLTIMES,
}
_SWF: Final = {"larger": "larger", "runtime-limits": "runtime_limits"}


def _options(text: str, query: str, known: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        convert = known.get(key)
        if convert is None or key in found:
            raise InputError(f"{shown(text)}: expected {', '.join(known)}, each once at most, got {shown(key)}")
        found[key] = _converted(text, key, value, convert)
    if query and not found:
        raise InputError(f"{shown(text)}: expected {', '.join(known)}, with values, got {shown(query)}")
    return found


def _converted(text: str, key: str, value: str, convert: Callable[[str], Any]) -> Any:
    try:
        return convert(value)
    except (ValueError, KeyError):
        raise InputError(f"{shown(text)}: {shown(value)} is no value for {key}") from None
