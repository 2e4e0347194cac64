"""Advice on a workload before its results are used: jobs that were left out, and data that policies do not have."""

from __future__ import annotations

from batprotocol.workloads.reading import is_log
from batprotocol.workloads.workload import Workload

__all__ = ["advice_on"]


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
    missing = workload.without_walltime if is_log(workload.filename) else 0
    if missing:
        have = "1 job has" if missing == 1 else f"{missing:,} of {len(workload):,} jobs have"
        found.append(
            f"{have} no requested time: policies expect them to run without end, so that sjf, easy and "
            "conservative cannot order them; add estimates=exact or estimate-factor=2"
        )
    return found
