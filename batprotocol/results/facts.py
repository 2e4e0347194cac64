"""The numbers of a run as names and texts for readers: times of jobs, failures, electricity.

It must not know how a number is computed.
"""

from __future__ import annotations

from collections.abc import Mapping

from batprotocol.results.failures import FailureMetrics
from batprotocol.results.metrics import Metrics
from batprotocol.results.usage import RESOURCES, Resource
from batprotocol.results.words import duration, energy, grams, percent, ratio, watts

__all__ = ["facts_of_failures", "facts_of_power", "facts_of_resources", "facts_of_times"]

_SHOWN = 5e-4
"""Smaller shares would be shown as 0.0%."""


def facts_of_times(metrics: Metrics) -> list[tuple[str, str]]:
    """The times and slowdowns of jobs, as names and texts."""
    times = [
        ("waiting time", duration, metrics.waiting),
        ("slowdown", ratio, metrics.slowdown),
        ("bounded slowdown", ratio, metrics.bounded_slowdown),
        ("turnaround time", duration, metrics.turnaround),
    ]
    return [(name, f"{write(each.mean)} mean, {write(each.max)} at most") for name, write, each in times]


def facts_of_resources(use: Mapping[Resource, float | None]) -> list[tuple[str, str]]:
    """The known utilisations of memory and of GPUs, as names and texts."""
    known = ((RESOURCES[each], value) for each, value in use.items() if value is not None)
    return [(f"utilisation of {name}", f"{value:.1%} of all hosts") for name, value in known]


def facts_of_failures(failures: FailureMetrics) -> list[tuple[str, str]]:
    """The numbers of failures, as names and texts."""
    found = []
    if failures.availability is not None:
        found.append(("availability", percent(failures.availability)))
    count = failures.nb_interruptions
    text = f"{count:,}"
    if count:
        text += f", one in {duration(failures.mean_time_to_interrupt)} that jobs ran"
    if failures.nb_given_up:
        text += f"; jobs given up: {failures.nb_given_up:,}"
    found.append(("interruptions", text))
    lost = f"{failures.lost_work / 3600:,.4g} host hours lost" if failures.lost_work else ""
    overhead = f"{percent(failures.checkpoint_overhead)} for checkpoints" if failures.checkpoint_overhead else ""
    found.append(("goodput", ", ".join(filter(None, (percent(failures.goodput), lost, overhead)))))
    return found


def facts_of_power(metrics: Metrics) -> list[tuple[str, str]]:
    """The numbers of electricity, as names and texts: the energy, and all that is known about it."""
    joules, power = metrics.consumed_joules, metrics.power
    found = []
    if joules is not None:
        text = f"{energy(joules)} consumed"
        if power is not None and power.idle_joules is not None and power.idle_joules >= _SHOWN * joules > 0:
            text += f", {percent(power.idle_joules / joules)} of it without jobs"
        found.append(("energy", text))
    if power is None:
        return found
    if power.mean_watts is not None and power.peak_watts is not None:
        found.append(("power", f"{watts(power.mean_watts)} mean, {watts(power.peak_watts)} peak"))
    if power.carbon_grams is not None:
        each = power.grams_per_core_hour
        more = "" if each is None else f", {grams(each)} for each core hour of useful work"
        found.append(("carbon", f"{grams(power.carbon_grams)} CO2eq{more}"))
    if power.cost is not None:
        found.append(("cost", f"{power.cost:,.2f} {power.currency}"))
    if power.seconds_above_cap is not None and power.joules_above_cap is not None:
        above = f"above it for {duration(power.seconds_above_cap)}, by {energy(power.joules_above_cap)}"
        found.append(("cap", above if power.seconds_above_cap else "never above it"))
    return found
