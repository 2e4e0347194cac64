"""Which reader a file of jobs needs, what names stand for, and the examples that come with the library.

A name is a file, a file with a part of it (`log.swf.gz?jobs=1981-3004`), or a model (`lublin:256?jobs=10000`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl

from batprotocol.errors import InputError, shown
from batprotocol.simulator.inputs.lublin import lublin_workload
from batprotocol.simulator.inputs.swf import read_swf
from batprotocol.simulator.inputs.windows import window
from batprotocol.simulator.inputs.workload import Workload
from batprotocol.simulator.inputs.workload_json import read_workload_json

__all__ = ["EXAMPLE_PLATFORM", "EXAMPLE_WORKLOAD", "named_workload", "read_workload"]

_EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples")
EXAMPLE_PLATFORM: Final = os.path.join(_EXAMPLES, "cluster.xml")
"""A platform file with 32 hosts that can be switched off, and with what they draw."""
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
    """The workload of a file: in the Standard Workload Format if it is called `.swf` or `.swf.gz`, else Batsim's JSON.

    Args:
        path: the file.
        name: the workload's name.
        compositions: whether fork-join and merge profiles are read, which Batsim refuses.
        corrected: whether usage traces are read to their ends where Batsim does not.
        lazy: whether jobs stay in the file, and are read again as they are needed, so that a workload can be larger
            than memory. They must be sorted by (submission time, id) for that, and the file must not change meanwhile.

    Raises:
        InputError: the file is no workload; with its place.
        OSError: the file cannot be read.
    """
    if _is_log(os.fspath(path)):
        return read_swf(path, name=name, lazy=lazy)
    return read_workload_json(path, name=name, compositions=compositions, corrected=corrected, lazy=lazy)


def named_workload(
    text: str, *, name: str = "w0", compositions: bool = False, corrected: bool = False, lazy: bool = False
) -> Workload:
    """The workload that a text names, as on the command line.

    Args:
        text: one of these, where `&` separates what follows the `?`:

            - a file, as `read_workload` reads it;
            - `FILE?jobs=FIRST-LAST`, `FILE?time=BEGIN-END` (seconds): a part of it, see `window`; `&shift=yes` counts
              times from its first job; of a log, `&larger=yes` and `&runtime-limits=yes` are options of `read_swf`;
            - `lublin:HOSTS?jobs=N`, with `&seed=N`, `&load=X` and `&estimates=no`: see `lublin_workload`.
        name: the workload's name.
        compositions: see `read_workload`; so are the others.

    Raises:
        InputError: the text names nothing, or what it names is no workload.
        OSError: the file cannot be read.
    """
    path, mark, query = text.partition("?")
    if path.startswith("lublin:") and not os.path.exists(text):
        given = _options(text, query, _LUBLIN)
        hosts = _converted(text, "hosts", path.partition(":")[2], int)
        return lublin_workload(hosts, given.pop("jobs", 1000), name=name, **given)
    if not mark or os.path.exists(text):
        return read_workload(text, name=name, compositions=compositions, corrected=corrected, lazy=lazy)
    given = _options(text, query, _PARTS)
    first, last = given.get("jobs", (0.0, math.inf))
    begin, end = given.get("time", (None, None))
    options = {_SWF[key]: given[key] for key in _SWF.keys() & given.keys()}
    if _is_log(path):
        whole = read_swf(path, name=name, lazy=lazy, **options)
    elif options:
        raise InputError(f"{shown(text)}: {' and '.join(sorted(_SWF))} are for logs (.swf, .swf.gz)")
    else:
        whole = read_workload(path, name=name, compositions=compositions, corrected=corrected, lazy=lazy)
    return window(
        whole,
        first=int(first),
        last=None if last == math.inf else int(last),
        begin=begin,
        end=end,
        shifted=given.get("shift", False),
    )


def _interval(text: str, convert: Callable[[str], float]) -> tuple[float, float]:
    """Two numbers with a hyphen between them; without the second one, up to the end."""
    first, hyphen, last = text.partition("-")
    return convert(first), convert(last) if last else math.inf if hyphen else convert(first)


def _yes(text: str) -> bool:
    return {"yes": True, "no": False}[text]


_LUBLIN: Final[Mapping[str, Callable[[str], Any]]] = {"jobs": int, "seed": int, "load": float, "estimates": _yes}
_PARTS: Final[Mapping[str, Callable[[str], Any]]] = {
    "jobs": partial(_interval, convert=int),
    "time": partial(_interval, convert=float),
    "shift": _yes,
    "larger": _yes,
    "runtime-limits": _yes,
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


def _is_log(path: str) -> bool:
    return "swf" in os.fspath(path).lower().split(".")[-2:]
