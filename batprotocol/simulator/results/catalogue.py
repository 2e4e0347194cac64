"""The metrics by flat names (`mean_bounded_slowdown`), as tables and stores have them: definition, unit and source.

It tells where in a `Metrics` each is, and nothing of how it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Final, Literal

import msgspec

from batprotocol.errors import InputError, shown

__all__ = ["CLASSES", "METRICS", "PREFIXES", "TAU", "Metric", "flat", "metric_called", "of_class", "with_tau"]

CLASSES: Final = ("short narrow", "short wide", "long narrow", "long wide")
"""Those of jobs, by their lengths and sizes, which may be measured apart."""


TAU: Final = 10.0
"""Seconds: what a job counts as having run, at least, for bounded slowdowns, unless told otherwise."""
_USUAL: Final = f"tau = {TAU:g} s"
_WITH_TAU: Final = ("bounded_slowdown.", "per_processor_bounded_slowdown.")


class Metric(msgspec.Struct, frozen=True):
    """A number that a simulation came to.

    Args:
        name: its flat name.
        label: what it is called in tables and plots.
        definition: how it is computed.
        unit: such as `s`; "" for what has none.
        source: who defined it where; "" for what needs none.
        better: whether `less` or `more` is better; None: neither is.
        path: where it is in a `Metrics`: `bounded_slowdown.mean`.
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
        """Its label, and its unit where it has one: `mean waiting time [s]`."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


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
"""Name, label, and what it says."""
_OF_THE_MACHINE: Final[tuple[tuple[str, str, str, Literal["less", "more"] | None, str, str], ...]] = (
    ("utilisation", "utilisation", "", "more", "host-seconds of all jobs / (hosts * measured time)", ""),
    (
        "loss_of_capacity",
        "loss of capacity",
        "",
        "less",
        "idle host-seconds while jobs were waiting / (hosts * measured time)",
        "Y. Zhang, H. Franke, J. E. Moreira and A. Sivasubramaniam, IPDPS 2000",
    ),
    ("makespan", "makespan", "s", "less", "last end of a job - first submission, of the whole run", ""),
    (
        "measured_time",
        "measured time",
        "s",
        None,
        "the makespan, or what a warm-up and cool-down leave of it",
        "",
    ),
    ("throughput", "throughput", "jobs/s", "more", "jobs that ended / measured time", ""),
    (
        "offered_load",
        "offered load",
        "",
        None,
        "host-seconds of the measured jobs / (hosts * (last - first submission of these))",
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
"""Name, label, unit, what is better, definition, source."""


def _all() -> dict[str, Metric]:
    found: list[Metric] = []
    for name, field, unit, definition, source in _OF_JOBS:
        spoken = name.replace("_", " ").replace("per processor", "per-processor")
        for statistic, label, meaning in _STATISTICS:
            told = f"{definition}; {meaning}"
            path = f"{field}.{statistic}"
            found.append(Metric(f"{statistic}_{name}", label.format(spoken), told, unit, source, "less", path))
    for name, label, unit, better, definition, source in _OF_THE_MACHINE:
        found.append(Metric(name, label, definition, unit, source, better, name))
    return {each.name: each for each in found}


METRICS: Final = _all()
"""All metrics by their names. Of a class of jobs, the name has that in front: `short_narrow_mean_waiting_time`."""

_GETTERS: Final = tuple((each.name, attrgetter(each.path)) for each in METRICS.values())
PREFIXES: Final = {f"{each.replace(' ', '_')}_": each for each in CLASSES}
"""What names of metrics begin with that are of a class of jobs."""


def flat(metrics: Any) -> dict[str, float]:
    """The numbers of a `Metrics` by their names, those of its classes after the others; without what is not known.

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
            if value is not None and value == value:  # no NaN
                found[prefix + name] = float(value)
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
    """A metric that was measured with this tau, in seconds; its label has it where it is not the usual one."""
    if tau == TAU or not metric.path.startswith(_WITH_TAU):
        return metric
    told = metric.definition.replace(_USUAL, f"tau = {tau:g} s")
    return msgspec.structs.replace(metric, label=f"{metric.label} (tau = {tau:g} s)", definition=told)


def metric_called(name: str, own: Iterable[Metric] = ()) -> Metric:
    """What a flat name stands for, also one of a class of jobs.

    Args:
        name: the name.
        own: metrics that are no `METRICS`, but known here.

    Raises:
        InputError: there is no such metric; with the names that are spelled or labelled alike.
    """
    known = {**METRICS, **{each.name: each for each in own}}
    if name in known:
        return known[name]
    for prefix, jobs in PREFIXES.items():
        whole = known.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if whole is not None:
            return of_class(whole, jobs)
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3, cutoff=0.6)
    near = near or [each for each, metric in known.items() if name in metric.label.split()][:3]  # `energy`
    hint = f"did you mean {' or '.join(near)}?" if near else f"one of your own is named with its file: FILE.py:{name}"
    raise InputError(f"there is no metric {shown(name)}; {hint}")
