"""Users' own metrics: functions of the jobs of a run, in Python or in a file; and any metric by its name.

It must not know what a run is, nor how the numbers are used.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from traceback import walk_tb
from typing import Any, Final, Literal, TypeAlias, overload

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.results.catalogue import (
    ALL_METRICS,
    PREFIXES,
    TAU,
    Metric,
    metric_called,
    with_currency,
    with_tau,
)
from batprotocol.results.observing import JobRow

__all__ = ["OwnMetric", "load_metric", "metric", "metric_named", "own_metrics"]

Better: TypeAlias = Literal["less", "more"] | None
_EXAMPLE: Final = "for example mine.py:late"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class OwnMetric(Metric, frozen=True, kw_only=True):
    """A metric of your own. It has the name of its function.

    Args:
        function: a function of the jobs, or of the jobs and the run.
        takes_run: whether it is a function of the run, too.
        target: `FILE.py:NAME`, where other processes find it; "" if it is not in a file.
    """

    function: Callable[..., Any]
    takes_run: bool
    target: str = ""

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def value(self, jobs: Sequence[JobRow], run: object = None) -> float:
        """Its value for these jobs; NaN where it is not known, and without jobs.

        Args:
            jobs: the rows of the jobs that ran.
            run: the `MeasuredRun`, if it takes one.

        Raises:
            InputError: the function raises an exception, or does not return a finite number.
        """
        if not jobs:
            return math.nan
        try:
            found = self.function(jobs, run) if self.takes_run else self.function(jobs)
        except MemoryError:
            raise
        except Exception as error:
            reason = f"the metric {shown(self.name)} failed: {type(error).__name__}: {error}".removesuffix(": ")
            file, line = _place(error)
            raise InputError(reason, file=file, line=line) from error
        return math.nan if found is None else self._number(found)

    def _number(self, found: Any) -> float:
        value = math.inf
        if hasattr(type(found), "__float__") or hasattr(type(found), "__index__"):
            with suppress(TypeError, ValueError, OverflowError):
                value = float(found)
        if math.isinf(value):
            raise InputError(
                f"the metric {shown(self.name)} returned {shown(found)}: return a finite number, or None where it is "
                f"not known"
            )
        return value

    def __deepcopy__(self, memory: object) -> OwnMetric:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.target:  # the function's own name may stand for this metric, which pickle would not find to be it
            del fields["function"]
        return _restored, (fields,)


def _restored(fields: dict[str, Any]) -> OwnMetric:
    if "function" not in fields:
        file, _, name = fields["target"].rpartition(":")
        there = (module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == file)
        found = next((vars(module)[name] for module in there if name in vars(module)), None)  # a program runs only once
        found = load_metric(fields["target"]) if found is None else found
        fields["function"] = found.function if isinstance(found, OwnMetric) else found
    return OwnMetric(**fields)


def _place(error: Exception) -> tuple[str, int | None]:
    """The file and line of the metric where it failed: the last one in the file that was called first."""
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)][1:]
    own = [frame for frame in frames if frame[0] == frames[0][0]]
    return own[-1] if own and os.path.isfile(own[-1][0]) else ("", None)


@overload
def metric(function: Callable[..., Any], /) -> OwnMetric: ...


@overload
def metric(
    *, label: str = "", unit: str = "", better: Better = None, source: str = ""
) -> Callable[[Callable[..., Any]], OwnMetric]: ...


def metric(
    function: Callable[..., Any] | None = None,
    /,
    *,
    label: str = "",
    unit: str = "",
    better: Better = None,
    source: str = "",
) -> OwnMetric | Callable[[Callable[..., Any]], OwnMetric]:
    """Turn a function into a metric with the function's name.

    The function takes the rows of the jobs that ran in the measured time. If it has a second parameter without a
    default, it also takes the `MeasuredRun`. It returns a number, or None (or NaN) where the number is not known. It is
    not called if no job ran. The first line of its docstring is the definition.

    Args:
        function: the function, if `metric` is used without arguments.
        label: its name in tables and plots; "": the function's name with spaces.
        unit: its unit, such as `s`; "" if it has none.
        better: whether `less` or `more` is better; None: neither is, so no table marks a best value.
        source: the publication that defines it.

    Raises:
        InputError: the function takes other arguments, or its name is that of another metric.

    >>> @metric(label="jobs that waited", unit="jobs", better="less")
    ... def waited(jobs):
    ...     '''Jobs that did not start at once.'''
    ...     return sum(job.waiting_time > 0 for job in jobs)
    >>> waited.label_with_unit, waited.definition
    ('jobs that waited [jobs]', 'Jobs that did not start at once.')
    """
    if better not in ("less", "more", None):
        raise InputError(f"expected 'less', 'more' or None for better, got {shown(better)}")

    def made(function: Callable[..., Any]) -> OwnMetric:
        return _made(function, getattr(function, "__name__", ""), label, unit, better, source)

    return made if function is None else made(function)


def _made(
    function: Callable[..., Any],
    name: str,
    label: str = "",
    unit: str = "",
    better: Better = None,
    source: str = "",
) -> OwnMetric:
    """A metric of this name."""
    if not callable(function) or isinstance(function, type):
        raise InputError(f"expected a function of the jobs, got {shown(function)}")
    _check_name(name)
    definition = next(iter((inspect.getdoc(function) or "").splitlines()), "")
    return OwnMetric(
        name=name,
        label=label or name.replace("_", " ").strip(),
        definition=definition,
        unit=unit,
        source=source,
        better=better,
        path=f"own.{name}",
        function=function,
        takes_run=_takes_run(function, name),
        target=_target_of(function),
    )


def _check_name(name: str) -> None:
    """Whether a metric can be called like this."""
    if not _NAME.fullmatch(name):
        raise InputError(f"expected a function with a name, got {shown(name)}: define it with def")
    taken = next((each for each in PREFIXES if name.startswith(each)), None)
    if name in ALL_METRICS or taken:
        why = f"metrics of {PREFIXES[taken]} jobs begin like this" if taken else "the library has a metric of this name"
        raise InputError(f"a metric of your own cannot be called {shown(name)}: {why}; use another name")


def _takes_run(function: Callable[..., Any], name: str) -> bool:
    """Whether a function takes the run besides the jobs."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not known of some functions in C
        return False
    parameters = list(signature.parameters.values())
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = [each for each in places if each.default is each.empty]
    keywords = [each for each in parameters if each.kind is each.KEYWORD_ONLY and each.default is each.empty]
    some = places or any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if keywords or len(needed) > 2 or not some:
        raise InputError(f"the metric {shown(name)} takes {signature}: expected the jobs, or the jobs and the run")
    return len(needed) == 2 or (len(places) > 1 and places[1].name == "run")


def _target_of(function: Callable[..., Any]) -> str:
    """Where a function is written; "" if it cannot be found there by its name."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__qualname__", "")
    if code is None or not _NAME.fullmatch(name) or not os.path.isfile(code.co_filename):
        return ""
    return f"{os.path.abspath(code.co_filename)}:{name}"


def load_metric(text: str, folder: str = "") -> OwnMetric:
    """Load the metric `FILE.py:NAME`: a function, with or without `metric`. It can import files in the same folder.

    Args:
        text: the file and the name.
        folder: the folder of the file; "": the current folder.

    Raises:
        InputError: there is no such file, no such function in it, or the file cannot be loaded.
    """
    path, _, name = text.rpartition(":")
    if not path or not name:
        raise InputError(f"expected a metric of your own as FILE:NAME, {_EXAMPLE}, got {shown(text)}")
    file = os.path.abspath(os.path.join(folder, path))
    if not os.path.isfile(file):
        hint = f"; did you mean {path}.py:{name}?" if os.path.isfile(f"{file}.py") else ""
        raise InputError(f"there is no file {shown(path)} with the metric {shown(name)}{hint}")
    members = _members(file, path)
    if name not in members:
        known = [each for each, value in members.items() if isinstance(value, OwnMetric)]
        hint = f"; it has {' and '.join(known)}" if known else ""
        raise InputError(f"it has no metric {shown(name)}{hint}", file=path)
    found = members[name]
    try:
        made = found if isinstance(found, OwnMetric) else _made(found, name)
        _check_name(name)
    except InputError as error:
        raise InputError(error.reason, file=path) from None
    return msgspec.structs.replace(made, name=name, path=f"own.{name}", target=f"{file}:{name}")


_FILES: Final[dict[str, tuple[tuple[int, int], dict[str, Any]]]] = {}
"""The contents of loaded files, as long as the files do not change."""


def _members(file: str, path: str) -> dict[str, Any]:
    from batprotocol._util.user_code import ImportFault, module_in

    about = os.stat(file)
    state = about.st_mtime_ns, about.st_size
    known = _FILES.get(file)
    if known is None or known[0] != state:
        try:
            members = vars(module_in(file))
        except ImportFault as fault:
            raise InputError(str(fault)) from None
        except MemoryError:
            raise
        except Exception as error:
            reason = f"it cannot be loaded: {type(error).__name__}: {error}".removesuffix(": ")
            raise InputError(reason, file=path) from error
        known = _FILES[file] = state, members
    return known[1]


def own_metrics(given: Iterable[OwnMetric | Callable[..., Any] | str]) -> tuple[OwnMetric, ...]:
    """Users' own metrics, given as metrics, functions, or `FILE.py:NAME`.

    Raises:
        InputError: one of them is not a metric, or two of them have the same name.
    """
    if isinstance(given, str):
        raise InputError(f"expected several metrics, got {shown(given)}: put it into a list")
    found: dict[str, OwnMetric] = {}
    for each in given:
        if isinstance(each, OwnMetric):
            made = each
        else:
            made = load_metric(each) if isinstance(each, str) else metric(each)
        other = found.get(made.name)
        if other is not None and other != made and (other.target or "?") != made.target:
            raise InputError(f"two metrics are called {shown(made.name)}: give one of them another name")
        found[made.name] = made
    return tuple(found.values())


def metric_named(
    name: str | Metric | Callable[..., Any], *, tau: float = TAU, currency: str = "", own: Iterable[Metric] = ()
) -> Metric:
    """The metric with a flat name, also for a class of jobs; or `FILE.py:NAME`, a metric of your own.

    Args:
        name: the name. A metric is returned as it is, and a function becomes a metric of your own.
        tau: the bound of bounded slowdowns that was used, in seconds. The definition and the label contain it.
        currency: the currency of costs, which is then their unit; "" if it is unknown.
        own: your own metrics that may be named without their files.

    Raises:
        InputError: there is no such metric; the error suggests similar names.

    >>> metric_named("short_wide_mean_waiting_time").label_with_unit
    'mean waiting time, short wide jobs [s]'
    >>> metric_named("mean_bounded_slowdown", tau=60).label
    'mean bounded slowdown (tau = 60 s)'
    """
    if isinstance(name, Metric):
        return with_currency(with_tau(name, tau), currency)
    if isinstance(name, str):
        return load_metric(name) if ":" in name else with_currency(with_tau(metric_called(name, own), tau), currency)
    return metric(name)
