"""Metrics of one's own: a function of the jobs of a run, and of the run, with what tables and plots need to show it.

It must not know how the metrics of the field are computed, nor who asks for them.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.simulator.results.catalogue import Metric, expect_free
from batprotocol.simulator.results.observing import JobRow

if TYPE_CHECKING:
    from batprotocol.simulator.results.metrics import Metrics

__all__ = ["MeasuredRun", "OwnMetric", "expect_own", "load_metric", "metric"]

_MODULES: Final[dict[tuple[str, int, int], ModuleType]] = {}
"""The files that were loaded, by their paths, times and sizes: a file that has changed is loaded again."""


class MeasuredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run, as a metric of one's own sees it.

    Args:
        hosts: how many computation hosts there are.
        users: who submitted each job, by its full name (`w0!1`); empty where that is not known.
        metrics: the metrics of the field.
        time: from when until when is measured, in seconds.
        rows: all jobs, also those of the warm-up and the cool-down.
    """

    hosts: int
    users: Mapping[str, object]
    metrics: Metrics
    time: tuple[float, float]
    rows: tuple[JobRow, ...]


class OwnMetric(Metric, frozen=True):
    """A metric that a function computes; it can be called as that function. `metric` makes it.

    Args:
        function: called with the rows of the measured jobs, and with a `MeasuredRun` if it takes two arguments. It
            returns a number, or None where there is none.
        target: the file and the function, `FILE.py:NAME`; "" where it is in no file.
    """

    function: Callable[..., Any]
    target: str = ""

    def __call__(self, *given: Any) -> Any:
        """Call the function."""
        return self.function(*given)

    def value(self, rows: Sequence[JobRow], run: MeasuredRun) -> float | None:
        """The metric of these jobs; None where there is none.

        Raises:
            InputError: the function raises an exception, or returns no number.
        """
        given = (rows, run) if _takes_run(self.function) else (rows,)
        try:
            found = self.function(*given)
        except Exception as error:
            raise InputError(f"the metric {self.name} raised {type(error).__name__}: {error}") from error
        if found is None:
            return None
        if hasattr(found, "item"):  # of numpy
            found = found.item()
        if not isinstance(found, int | float):
            raise InputError(f"the metric {self.name} is to return a number or None, and returned {shown(found)}")
        return None if math.isnan(found) else float(found)


@overload
def metric(function: Callable[..., Any], /) -> OwnMetric: ...


@overload
def metric(
    *,
    label: str = "",
    unit: str = "",
    better: Literal["less", "more"] | None = None,
    definition: str = "",
    source: str = "",
) -> Callable[[Callable[..., Any]], OwnMetric]: ...


def metric(
    function: Callable[..., Any] | None = None,
    /,
    *,
    label: str = "",
    unit: str = "",
    better: Literal["less", "more"] | None = None,
    definition: str = "",
    source: str = "",
) -> OwnMetric | Callable[[Callable[..., Any]], OwnMetric]:
    """Make a metric of a function of jobs. It is named as the function.

    Args:
        function: called with the rows of the measured jobs, a tuple of `JobRow`, rejected ones among them; and, if it
            takes two arguments, with a `MeasuredRun`. It returns a number, or None where there is none.
        label: what tables and plots call it; the name with spaces unless given.
        unit: such as `s`; none unless given.
        better: whether `less` or `more` is better; None: neither is, and tables mark no winner.
        definition: how it is computed; the first line of the function's docstring unless given.
        source: who defined it where.

    Raises:
        InputError: the name is taken, or the function takes no arguments, or more than two.

    >>> @metric(label="late jobs", better="less")
    ... def late(jobs):
    ...     "Jobs that waited for more than an hour."
    ...     return sum(job.waiting_time is not None and job.waiting_time > 3600 for job in jobs)
    >>> late.name, late.label_with_unit, late([])
    ('late', 'late jobs', 0)
    """

    def made(own: Callable[..., Any]) -> OwnMetric:
        name = getattr(own, "__name__", "")
        if not name.isidentifier():
            raise InputError(f"a metric is a function with a name, got {shown(own)}")
        if better not in ("less", "more", None):
            raise InputError(f"expected less, more or None, got {shown(better)}")
        expect_free(name)
        _takes_run(own)
        line = (inspect.getdoc(own) or "").partition("\n")[0].removesuffix(".")
        return OwnMetric(
            name, label or name.replace("_", " "), definition or line, unit, source, better, "own", own, _target(own)
        )

    return made if function is None else made(function)


def _target(function: Callable[..., Any]) -> str:
    """The file and the name of a function; "" where it is in no file, or inside of another function."""
    name = getattr(function, "__qualname__", "")
    try:
        path = inspect.getsourcefile(function)
    except TypeError:
        path = None
    if path is None or not os.path.isfile(path) or not name.isidentifier():
        return ""
    return f"{os.path.abspath(path)}:{name}"


def _takes_run(function: Callable[..., Any]) -> bool:
    """Whether a function takes a run beside the jobs.

    Raises:
        InputError: it takes neither one argument nor two.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of some functions in C, nobody knows it
        return False
    for given in ((None, None), (None,)):
        try:
            signature.bind(*given)
            return len(given) == 2
        except TypeError:
            continue
    name = getattr(function, "__name__", shown(function))
    raise InputError(f"the metric {name} takes {signature}: it is called with the jobs, or with the jobs and the run")


def expect_own(given: OwnMetric | Callable[..., object]) -> OwnMetric:
    """A metric of one's own, of such a metric or of a plain function.

    Raises:
        InputError: it is neither.
    """
    if isinstance(given, OwnMetric):
        return given
    if not callable(given) or isinstance(given, type):
        raise InputError(f"expected a function of jobs, got {shown(given)}")
    return metric(given)


def load_metric(text: str, folder: str = "") -> OwnMetric:
    """The metric that `FILE.py:FUNCTION` names. The files beside it can be imported.

    Args:
        text: the file and the function in it, plain or made by `metric`.
        folder: where the file is looked for.

    Raises:
        InputError: there is no such file, or no such function in it, or the file raises an exception.
    """
    path, colon, name = text.rpartition(":")
    if not colon or not path or not name:
        raise InputError(f"expected FILE.py:FUNCTION, for example metrics.py:late, got {shown(text)}")
    path = os.path.abspath(os.path.join(folder, path))
    if not os.path.isfile(path):
        raise InputError("there is no such file", file=path)
    found = getattr(_module(path), name, None)
    if found is None:
        raise InputError(f"it defines no {shown(name)}", file=path)
    try:
        own = expect_own(found)
    except InputError as error:
        raise InputError(error.reason, file=path) from None
    return msgspec.structs.replace(own, target=f"{path}:{name}")


def _module(path: str) -> ModuleType:
    state = os.stat(path)
    key = path, state.st_mtime_ns, state.st_size
    if key not in _MODULES:
        spec = importlib.util.spec_from_file_location(f"batprotocol_metrics_{len(_MODULES)}", path)
        if spec is None or spec.loader is None:
            raise InputError("it is not a file of Python", file=path)
        module = importlib.util.module_from_spec(spec)
        beside = os.path.dirname(path)
        sys.modules[spec.name] = module
        sys.path.insert(0, beside)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[spec.name]
            raise InputError(f"it cannot be loaded: {type(error).__name__}: {error}", file=path) from error
        finally:
            sys.path.remove(beside)
        _MODULES[key] = module
    return _MODULES[key]
