"""The metrics by flat names (`mean_bounded_slowdown`), as in tables and stores: definition, unit and source.

It has the path of each metric in a `Metrics`. Users' own metrics are functions of the jobs of a run, in Python or in a
file. Printed numbers can be in other units, with a prefix where they are large. Those in stores, CSV and JSON stay in
the unit of the metric.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from traceback import walk_tb
from typing import Any, Final, Literal, TypeAlias, overload

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.results.observers import TAU, JobRow

__all__ = [
    "ALL_METRICS",
    "CLASSES",
    "METRICS",
    "OF_FAILURES",
    "OF_POWER",
    "OF_RUNS",
    "OF_WORKFLOWS",
    "PREFIXES",
    "UNITS",
    "Metric",
    "OwnMetric",
    "flat",
    "in_unit",
    "load_metric",
    "metric",
    "metric_called",
    "metric_named",
    "of_class",
    "own_metrics",
    "usual_unit",
    "with_currency",
    "with_tau",
]


CLASSES: Final = ("short narrow", "short wide", "long narrow", "long wide")
"""The classes of jobs, by length and size, which may be measured separately."""


_USUAL: Final = f"tau = {TAU:g} s"
_WITH_TAU: Final = ("bounded_slowdown.", "per_processor_bounded_slowdown.")


class Metric(msgspec.Struct, frozen=True):
    """A number that describes the results of a simulation.

    Args:
        name: its flat name.
        label: its name in tables and plots.
        definition: its definition.
        unit: its unit, such as `s`; "" if it has none.
        source: the publication that defines it; "" if it needs none.
        better: whether `less` or `more` is better; None: neither is.
        path: its place in a `Metrics`, such as `bounded_slowdown.mean`.
    """

    name: str
    label: str
    definition: str
    unit: str
    source: str
    better: Literal["less", "more"] | None
    path: str

    @property
    def label_with_unit(self) -> str:
        """Its label, and its unit if it has one: `mean waiting time [s]`."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label

    @property
    def domain(self) -> tuple[float, float]:
        """The lowest and the highest value that it can have; infinite ones for a metric of the user's own.

        >>> METRICS["utilisation"].domain, METRICS["mean_bounded_slowdown"].domain, METRICS["makespan"].domain
        ((0.0, 1.0), (1.0, inf), (0.0, inf))
        """
        part, _, name = self.path.partition(".")
        if part == "own":
            return -math.inf, math.inf
        if part in _SLOWDOWNS:
            return 1.0, math.inf
        return 0.0, 1.0 if (name or part) in _SHARES else math.inf


_SLOWDOWNS: Final = ("slowdown", "bounded_slowdown", "per_processor_bounded_slowdown", "stretch")
"""The parts of a `Metrics` that are at least 1."""
_SHARES: Final = (
    *("utilisation", "memory_utilisation", "gpu_utilisation", "loss_of_capacity", "waiting_at_end", "fairness"),
    "mean_workflow_efficiency",
    *("goodput", "checkpoint_overhead", "availability", "full_availability"),
)
"""The metrics that are at most 1."""
_FEITELSON: Final = "D. G. Feitelson and L. Rudolph, JSSPP 1998"
_OF_JOBS: Final = (
    ("waiting_time", "waiting", "s", "start - submission", ""),
    ("turnaround_time", "turnaround", "s", "end - submission", ""),
    ("slowdown", "slowdown", "", "turnaround time / run time", _FEITELSON),
    (
        "bounded_slowdown",
        "bounded_slowdown",
        "",
        f"max(1, turnaround time / max(run time, tau)), {_USUAL}",
        _FEITELSON,
    ),
    (
        "per_processor_bounded_slowdown",
        "per_processor_bounded_slowdown",
        "",
        f"max(1, turnaround time / (hosts * max(run time, tau))), {_USUAL}",
        "D. Zotkin and P. J. Keleher, HPDC 1999",
    ),
    (
        "stretch",
        "stretch",
        "",
        "turnaround time / run time: the slowdown, as Batsim and scheduling theory call it",
        "M. A. Bender, S. Chakrabarti and S. Muthukrishnan, SODA 1998",
    ),
)
"""Name, field of `Metrics`, unit, definition, source."""
_STATISTICS: Final = (
    ("mean", "mean {}", "the sum over the number of jobs"),
    ("median", "median {}", "half of the jobs have at most this"),
    ("p90", "{}, 90th percentile", "nine jobs of ten have at most this"),
    ("p95", "{}, 95th percentile", "nineteen jobs of twenty have at most this"),
    ("p99", "{}, 99th percentile", "ninety-nine jobs of a hundred have at most this"),
    ("max", "largest {}", "that of the job with the largest"),
)
"""Name, label and meaning."""
_OF_THE_MACHINE: Final[tuple[tuple[str, str, str, Literal["less", "more"] | None, str, str], ...]] = (
    ("utilisation", "utilisation", "", "more", "host-seconds that jobs used / (hosts * measured time)", ""),
    (
        *("memory_utilisation", "utilisation of memory", "", "more"),
        *("byte-seconds that jobs held / (bytes of all hosts * measured time), where memory is given out", ""),
    ),
    (
        *("gpu_utilisation", "utilisation of GPUs", "", "more"),
        *("GPU-seconds that jobs held / (GPUs of all hosts * measured time), where hosts have GPUs", ""),
    ),
    (
        "loss_of_capacity",
        "loss of capacity",
        "",
        "less",
        "unused host-seconds while jobs were waiting / (hosts * measured time)",
        "Y. Zhang, H. Franke, J. E. Moreira and A. Sivasubramaniam, IPDPS 2000",
    ),
    ("makespan", "makespan", "s", "less", "last end of a job - first submission, of the whole run", ""),
    (
        "measured_time",
        "measured time",
        "s",
        None,
        "the makespan, without a warm-up and a cool-down",
        "",
    ),
    ("throughput", "throughput", "jobs/s", "more", "jobs that ended / measured time", ""),
    (
        "offered_load",
        "offered load",
        "",
        None,
        "host-seconds of the measured jobs / (hosts * (last - first submission of these, or the length of a window))",
        "",
    ),
    (
        "waiting_at_end",
        "share waiting at the last submission",
        "",
        "less",
        "measured jobs submitted before, and started after, the last submission of these / measured jobs",
        "",
    ),
    (
        "fairness",
        "fairness",
        "",
        "more",
        "Jain's index over users' mean bounded slowdowns: sum(x)^2 / (n * sum(x^2)); where users are known",
        "R. K. Jain, D.-M. W. Chiu and W. R. Hawe, DEC-TR-301, 1984",
    ),
    ("consumed_joules", "energy", "J", "less", "energy of all hosts in the measured time, where that is known", ""),
    ("nb_jobs", "jobs that ran", "", None, "jobs that ran", ""),
    ("nb_rejected", "rejected jobs", "", "less", "jobs that were rejected", ""),
)
"""Name, label, unit, better direction, definition, source."""


def _all() -> dict[str, Metric]:
    found: list[Metric] = []
    for name, field, unit, definition, source in _OF_JOBS:
        spoken = name.replace("_", " ").replace("per processor", "per-processor")
        for statistic, label, meaning in _STATISTICS:
            text = f"{definition}; {meaning}"
            path = f"{field}.{statistic}"
            found.append(Metric(f"{statistic}_{name}", label.format(spoken), text, unit, source, "less", path))
    for name, label, unit, better, definition, source in _OF_THE_MACHINE:
        found.append(Metric(name, label, definition, unit, source, better, name))
    return {each.name: each for each in found}


METRICS: Final = _all()
"""All metrics by their names. For a class of jobs, the name begins with the class: `short_narrow_mean_waiting_time`."""

_HEFT: Final = "H. Topcuoglu, S. Hariri and M.-Y. Wu, TPDS 13(3), 2002"
_EACH: Final = "the mean over the workflows whose tasks all succeeded"
_WORKFLOWS: Final[tuple[tuple[str, str, str, str, Literal["less", "more"] | None, str], ...]] = (
    (
        *("mean_workflow_makespan", "mean makespan of a workflow", "s"),
        *(f"last end of a task - arrival of the workflow; {_EACH}", "less", ""),
    ),
    (
        *("mean_workflow_stretch", "mean stretch of a workflow", ""),
        *(f"makespan / critical path; {_EACH}", "less", _HEFT),
    ),
    (
        *("mean_workflow_efficiency", "mean efficiency of a workflow", ""),
        *(f"core-seconds of its tasks / (cores * makespan); {_EACH}", "more", _HEFT),
    ),
    ("nb_workflows", "workflows", "", "workflows that arrived in the measured time", None, ""),
    ("nb_failed_workflows", "failed workflows", "", "those of which a task did not succeed", "less", ""),
)
"""Name, label, unit, definition, better direction, source."""
OF_WORKFLOWS: Final = {
    name: Metric(name, label, definition, unit, source, better, name)
    for name, label, unit, definition, better, source in _WORKFLOWS
}
"""The metrics of runs whose jobs name workflows, by their names. They are not in a `Metrics`."""

_DALY: Final = "J. T. Daly, Future Generation Computer Systems 22(3), 2006"
_AVIZIENIS: Final = "A. Avizienis, J.-C. Laprie, B. Randell and C. Landwehr, IEEE TDSC 1(1), 2004"
_FAILURES: Final[tuple[tuple[str, str, str, str, Literal["less", "more"] | None, str], ...]] = (
    (
        *("goodput", "goodput", ""),
        "host-seconds of useful work / host-seconds of hosts that were neither down nor in a closed window",
        *(
            "more",
            "J. Basney and M. Livny, International Journal of High Performance Computing Applications 13(3), 1999",
        ),
    ),
    (
        *("lost_work", "lost work", "host s"),
        *("host-seconds of work that interruptions of jobs destroyed", "less", _DALY),
    ),
    ("repeated_work", "repeated work", "host s", "host-seconds of lost work that jobs did again", "less", _DALY),
    (
        *("checkpoint_overhead", "overhead of checkpoints", ""),
        *("host-seconds of checkpoints and restarts / host-seconds of all jobs", "less", _DALY),
    ),
    (
        *("availability", "availability", ""),
        "host-seconds of hosts that were not away (down, drained or in a closed window) / (hosts * measured time)",
        *("more", _AVIZIENIS),
    ),
    (
        *("full_availability", "share of time with all hosts", ""),
        *("the share of the measured time in which no host was away", "more", _AVIZIENIS),
    ),
    (
        *("nb_interruptions", "interruptions of jobs", ""),
        *("interruptions of jobs by failures, by windows, and by jobs to which they gave way", "less", ""),
    ),
    (
        *("mean_time_to_interrupt", "mean time to interrupt", "s"),
        *("seconds that jobs ran / interruptions of jobs", "more", _DALY),
    ),
    ("nb_given_up", "jobs given up", "", "jobs that were interrupted, and did not run again", "less", ""),
)
"""Name, label, unit, definition, better direction, source."""
OF_FAILURES: Final = {
    name: Metric(name, label, definition, unit, source, better, f"failures.{name}")
    for name, label, unit, definition, better, source in _FAILURES
}
"""The metrics of runs whose hosts failed or whose jobs were interrupted, by their names."""

_EEHPC: Final = (
    "EE HPC Working Group, Energy Efficient High Performance Computing Power Measurement Methodology 2.0, 2017"
)
_SCOPE_2: Final = "GHG Protocol, Scope 2 Guidance, 2015: location based"
_SCI: Final = "Software Carbon Intensity, ISO/IEC 21031:2024"
_WITHOUT_JOBS: Final = "energy of all hosts - energy of the hosts of each job while it ran, also of those that sleep"
_POWER: Final[tuple[tuple[str, str, str, str, Literal["less", "more"] | None, str], ...]] = (
    ("mean_watts", "mean power", "W", "energy of all hosts / measured time", "less", _EEHPC),
    ("peak_watts", "peak power", "W", "greatest mean watts between two readings of the energy", "less", _EEHPC),
    ("idle_joules", "energy without jobs", "J", _WITHOUT_JOBS, "less", ""),
    ("job_joules", "energy of jobs", "J", "energy of the hosts of each job while it ran, of all jobs", "less", ""),
    (
        *("carbon_grams", "carbon", "g", "sum over time of the energy of all hosts * carbon intensity, as CO2eq"),
        *("less", _SCOPE_2),
    ),
    (
        *("job_carbon_grams", "carbon of jobs", "g", "energy of jobs * mean carbon intensity while each ran, as CO2eq"),
        *("less", _SCOPE_2),
    ),
    ("cost", "cost", "", "sum over time of the energy of all hosts * price", "less", ""),
    ("job_cost", "cost of jobs", "", "energy of jobs * mean price while each ran", "less", ""),
    (
        *("seconds_above_cap", "time above the cap", "s"),
        *("time in which the mean watts between two readings of the energy are above the cap", "less", ""),
    ),
    ("joules_above_cap", "energy above the cap", "J", "the energy above the cap in this time", "less", ""),
    (
        *("joules_per_core_hour", "energy per useful core hour", "J/core h"),
        *("energy of all hosts / core hours of useful work, as for goodput", "less", _SCI),
    ),
    (
        *("grams_per_core_hour", "carbon per useful core hour", "g/core h"),
        *("carbon / core hours of useful work, as for goodput", "less", _SCI),
    ),
)
"""Name, label, unit, definition, better direction, source. The unit of money is that of the price."""
OF_POWER: Final = {
    name: Metric(name, label, definition, unit, source, better, f"power.{name}")
    for name, label, unit, definition, better, source in _POWER
}
"""The metrics of electricity of runs whose energy over time is known, by their names."""
OF_RUNS: Final = {**METRICS, **OF_FAILURES, **OF_POWER}
"""The metrics of whole runs by their names."""
ALL_METRICS: Final = {**OF_RUNS, **OF_WORKFLOWS}
"""All metrics of the library by their names."""
_MONEY: Final = ("power.cost", "power.job_cost")

_GETTERS: Final = tuple((each.name, attrgetter(each.path)) for each in METRICS.values())
PREFIXES: Final = {f"{each.replace(' ', '_')}_": each for each in CLASSES}
"""The prefixes of the names of metrics for each class of jobs."""


def flat(metrics: Any) -> dict[str, float]:
    """The known numbers of a `Metrics` by their names. Those of its classes are last.

    >>> from batprotocol.simulator import measured
    >>> flat(measured([], 4))["nb_jobs"]
    0.0
    """
    found: dict[str, float] = {}
    for prefix, part in (
        ("", metrics),
        *((f"{name.replace(' ', '_')}_", each) for name, each in metrics.classes.items()),
    ):
        for name, get in _GETTERS:
            value = get(part)
            if value is not None and value == value:  # not NaN
                found[prefix + name] = float(value)
        for names, section in ((OF_FAILURES, part.failures), (OF_POWER, part.power)):
            if section is not None:
                known = ((prefix + name, getattr(section, name)) for name in names)
                found.update({name: float(value) for name, value in known if value is not None and value == value})
        found.update({prefix + name: value for name, value in part.own.items() if value == value})
    return found


def of_class(metric: Metric, jobs: str) -> Metric:
    """A metric of the jobs of a class only, such as `short wide` ones."""
    return msgspec.structs.replace(
        metric,
        name=f"{jobs.replace(' ', '_')}_{metric.name}",
        label=f"{metric.label}, {jobs} jobs",
        definition=f"{metric.definition}; of {jobs} jobs only",
    )


def with_tau(metric: Metric, tau: float) -> Metric:
    """A metric that was measured with this tau, in seconds. Its label contains a tau that is not the default."""
    if tau == TAU or not metric.path.startswith(_WITH_TAU):
        return metric
    definition = metric.definition.replace(_USUAL, f"tau = {tau:g} s")
    return msgspec.structs.replace(metric, label=f"{metric.label} (tau = {tau:g} s)", definition=definition)


def with_currency(metric: Metric, currency: str) -> Metric:
    """A metric of money that was measured in this currency, which is then its unit; other metrics are as they were."""
    return msgspec.structs.replace(metric, unit=currency) if currency and metric.path in _MONEY else metric


def metric_called(name: str, own: Iterable[Metric] = ()) -> Metric:
    """The metric with a flat name, also for a class of jobs.

    Args:
        name: the name.
        own: metrics in addition to `METRICS`.

    Raises:
        InputError: there is no such metric; the error suggests similar names.
    """
    known = {**ALL_METRICS, **{each.name: each for each in own}}
    if name in known:
        return known[name]
    for prefix, jobs in PREFIXES.items():
        whole = known.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if whole is not None:
            return of_class(whole, jobs)
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3, cutoff=0.6)
    near = near or [each for each, metric in known.items() if name in metric.label.split()][:3]  # `energy`
    hint = f"did you mean {' or '.join(near)}?" if near else f"name a metric of your own with its file: FILE.py:{name}"
    raise InputError(f"there is no metric {shown(name)}; {hint}")


# Users' own metrics


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


# Units of printed numbers: the units that users ask for, and prefixes that shorten numbers of joules, watts and
# grams.


_JOULES: Final = {
    "J": 1.0,
    "kJ": 1e3,
    "MJ": 1e6,
    "GJ": 1e9,
    "TJ": 1e12,
    "Wh": 3.6e3,
    "kWh": 3.6e6,
    "MWh": 3.6e9,
    "GWh": 3.6e12,
}
_GRAMS: Final = {"g": 1.0, "kg": 1e3, "t": 1e6}
UNITS: Final = {
    "J": _JOULES,
    "J/core h": {f"{unit}/core h": size for unit, size in _JOULES.items()},
    "W": {"W": 1.0, "kW": 1e3, "MW": 1e6, "GW": 1e9},
    "g": _GRAMS,
    "g/core h": {f"{unit}/core h": size for unit, size in _GRAMS.items()},
    "s": {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0},
}
"""The units in which each unit of metrics can be shown, with their sizes."""
_SHORTER: Final = {
    "J": ("TJ", "GJ", "MJ", "kJ"),
    "J/core h": ("MJ/core h", "kJ/core h"),
    "W": ("GW", "MW", "kW"),
    "g": ("t", "kg"),
    "g/core h": ("kg/core h",),
}
"""The units that shorten large numbers, the largest first."""


def in_unit(metric: Metric, unit: str) -> tuple[Metric, float]:
    """A metric in another unit, and the divisor of its numbers.

    Args:
        metric: the metric.
        unit: one of `UNITS`, such as `kWh` or `h`.

    Raises:
        InputError: the metric has no such unit.

    >>> from batprotocol.results import METRICS
    >>> metric, divisor = in_unit(METRICS["mean_waiting_time"], "h")
    >>> metric.label_with_unit, divisor
    ('mean waiting time [h]', 3600.0)
    """
    known = UNITS.get(metric.unit, {})
    if unit not in known:
        hint = f"expected {', '.join(known)}" if known else "it has one unit only; leave out the unit"
        raise InputError(f"{metric.label_with_unit} cannot be shown in {shown(unit)}: {hint}")
    return msgspec.structs.replace(metric, unit=unit), known[unit]


def usual_unit(metric: Metric, values: Iterable[float | None]) -> tuple[Metric, float]:
    """A metric in its usual unit, with a prefix for large numbers, and the divisor of its numbers.

    >>> from batprotocol.results import METRICS
    >>> usual_unit(METRICS["consumed_joules"], [3.2e9, 1.5e9])[0].label_with_unit
    'energy [GJ]'
    """
    if metric.unit in _SHORTER:
        most = max((abs(value) for value in values if value is not None), default=0.0)
        for unit in _SHORTER[metric.unit]:
            if most >= UNITS[metric.unit][unit]:
                return in_unit(metric, unit)
    return metric, 1.0
