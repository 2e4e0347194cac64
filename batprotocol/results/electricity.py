"""The metrics of electricity of a run: watts, energy of hosts without jobs, carbon, cost, and a cap on the power.

They are computed from what Batsim measures, so they hold for a real Batsim, too: the energy of all hosts over time
(consumed_energy.csv), and the energy of the hosts of each job while it ran (jobs.csv).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from batprotocol.errors import InputError
from batprotocol.results.times import JobTimes, overlap, stays_of
from batprotocol.workloads.electricity import JOULES_PER_KWH, Trace, consumption_of
from batprotocol.workloads.requests import Allocated
from batprotocol.workloads.requests.usage import ROUNDED, share_hosts

__all__ = [
    "CoreTimes",
    "Electricity",
    "PowerMetrics",
    "TraceTooShort",
    "power_of_jobs",
    "power_of_machine",
]


class TraceTooShort(InputError):
    """A trace that does not reach over the measured time."""


class Electricity(msgspec.Struct, frozen=True, kw_only=True):
    """The electricity that a machine uses, as far as it is known. Time 0 of each trace is the begin of the simulation.

    Args:
        carbon: the carbon intensity, in g/kWh; None if it is unknown.
        price: the price, in a currency for each kWh; None if it is unknown.
        cap: the watts that are allowed, always or over time; None if all are.

    >>> from batprotocol.workloads.electricity import daily_trace
    >>> Electricity(carbon=daily_trace(300.0, 100.0, unit="g/kWh"), cap=4000.0).currency
    ''
    """

    carbon: Trace | None = None
    price: Trace | None = None
    cap: Trace | float | None = None

    @property
    def currency(self) -> str:
        """The currency of the price; "" if it is unknown."""
        return "" if self.price is None else self.price.unit.partition("/")[0]

    def expect_until(self, time: float) -> None:
        """Refuse traces that end before a time, such as the last submission of a job.

        Raises:
            TraceTooShort: one does.
        """
        for name in ("carbon", "price", "cap"):
            trace = getattr(self, name)
            if isinstance(trace, Trace) and not trace.repeats and trace.end < time:
                raise TraceTooShort(
                    f"the {name} is known until {trace.end:,.15g} s, and jobs are submitted until {time:,.15g} s: use "
                    "a longer trace, or repeat it with repeat=yes",
                    name,
                )


class PowerMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of electricity, in the measured time. Each is None where it is not known.

    The energy of a job is that of its hosts while it ran, as in jobs.csv. It is not known where jobs share hosts.

    Args:
        mean_watts: the mean watts of all hosts.
        peak_watts: the greatest mean watts between two readings of the energy. Batsim reads it at each start and end of
            a job, and at each change of power states.
        idle_joules: the energy of hosts while no job ran on them, also of those that slept or switched, in joules.
        job_joules: the energy of hosts while jobs ran on them, in joules.
        carbon_grams: the carbon dioxide equivalent of all hosts, in grams, by the carbon intensity of each time.
        job_carbon_grams: that of hosts while jobs ran on them. The energy of a job grows evenly while it runs.
        cost: the money for the energy of all hosts.
        job_cost: the money for the energy of hosts while jobs ran on them.
        currency: the currency of both; "" without a price.
        seconds_above_cap: the time in which the mean watts between two readings were above the cap.
        joules_above_cap: the energy above the cap in this time.
        joules_per_core_hour: the energy for each core hour of useful work.
        grams_per_core_hour: the carbon dioxide equivalent for each core hour of useful work, in grams.
    """

    mean_watts: float | None = None
    peak_watts: float | None = None
    idle_joules: float | None = None
    job_joules: float | None = None
    carbon_grams: float | None = None
    job_carbon_grams: float | None = None
    cost: float | None = None
    job_cost: float | None = None
    currency: str = ""
    seconds_above_cap: float | None = None
    joules_above_cap: float | None = None
    joules_per_core_hour: float | None = None
    grams_per_core_hour: float | None = None


class CoreTimes(msgspec.Struct, frozen=True):
    """How many cores jobs take.

    Args:
        cores: the mean number of cores of a host; None if it is unknown.
        shared: the cores of each host that a job takes, for jobs that share hosts, by their full names.
    """

    cores: float | None = None
    shared: Mapping[str, int] = {}

    @classmethod
    def of(cls, cores: int | None, hosts: int, allocations: Iterable[Allocated]) -> CoreTimes:
        """The cores of jobs by what the scheduler reports. Jobs without a report have whole hosts.

        Args:
            cores: the number of cores of all hosts, or None.
            hosts: the number of hosts.
            allocations: the amounts that jobs took of their hosts.
        """
        mean = None if cores is None else cores / hosts
        return cls(mean, {each.job_id: each.cores for each in allocations if not each.whole and each.cores})

    def hours(self, jobs: Iterable[JobTimes], begin: float, end: float) -> float | None:
        """The core hours of these jobs in a time; None if they are not known."""
        if self.cores is None:
            return None
        each = self.cores
        return math.fsum(
            (self.shared.get(job.name) or each) * job.hosts * _inside(job, begin, end) / 3600.0 for job in jobs
        )


def power_of_machine(
    running: Sequence[JobTimes],
    energy: Iterable[tuple[float, float]],
    electricity: Electricity,
    times: CoreTimes,
    useful: float,
    begin: float,
    end: float,
) -> PowerMetrics | None:
    """The metrics of all hosts in a time.

    Args:
        running: all times that jobs ran.
        energy: times in ascending order, and the joules of all hosts since time 0, as in consumed_energy.csv.
        electricity: what is known about the electricity.
        times: how many cores jobs take.
        useful: the share of their work that was useful.
        begin: the beginning of the measured time, in seconds.
        end: its end.

    Returns:
        None if the readings of the energy do not reach to the end.

    Raises:
        TraceTooShort: a trace does not reach over the whole time.
    """
    points = _from_zero(energy)
    begin = max(begin, 0.0)  # jobs may be submitted before the simulation begins
    if not end > begin or not points or points[-1][0] < end - ROUNDED:
        return None
    end = min(end, points[-1][0])
    carbon, price, cap = electricity.carbon, electricity.price, electricity.cap
    for name, value in (("carbon", carbon), ("price", price), ("cap", cap)):
        _expect_reach(value, name, begin, end)
    used = consumption_of(points, begin, end, carbon=carbon, price=price, cap=cap)
    jobs = power_of_jobs(running, electricity, times, useful, begin, end)
    hours = times.hours(running, begin, end)
    return msgspec.structs.replace(
        jobs,
        mean_watts=used.mean_watts,
        peak_watts=used.peak_watts,
        idle_joules=None if jobs.job_joules is None else used.joules - jobs.job_joules,
        carbon_grams=used.grams,
        cost=used.cost,
        seconds_above_cap=used.seconds_above,
        joules_above_cap=used.joules_above,
        joules_per_core_hour=_for_each(used.joules, hours, useful),
        grams_per_core_hour=_for_each(used.grams, hours, useful),
    )


def power_of_jobs(
    running: Sequence[JobTimes],
    electricity: Electricity,
    times: CoreTimes,
    useful: float,
    begin: float,
    end: float,
    *,
    is_shared: bool | None = None,
) -> PowerMetrics:
    """The metrics of hosts while these jobs ran on them, in a time.

    Args:
        running: all times that these jobs ran.
        electricity: what is known about the electricity.
        times: how many cores jobs take.
        useful: the share of their work that was useful.
        begin: the beginning of the measured time, in seconds.
        end: its end.
        is_shared: whether jobs share hosts; None: look.

    Raises:
        TraceTooShort: a trace does not reach over the whole time.
    """
    begin = max(begin, 0.0)
    shared = bool(times.shared) or (share_hosts(stays_of(running)) if is_shared is None else is_shared)
    if shared or any(job.joules is None for job in running):
        return PowerMetrics(currency=electricity.currency)
    amounts = [(each, job) for job in running if (each := _energy_inside(job, begin, end)) or _inside(job, begin, end)]
    joules = math.fsum(amount for amount, _ in amounts)
    weighted: dict[str, float | None] = {}
    for name, trace in (("carbon", electricity.carbon), ("price", electricity.price)):
        weighted[name] = None
        if trace is not None:
            if amounts:
                _expect_reach(trace, name, begin, end)
            parts = (
                amount * trace.mean(max(job.start, begin), min(job.finish, end)) for amount, job in amounts if amount
            )
            weighted[name] = math.fsum(parts) / JOULES_PER_KWH
    hours = times.hours(running, begin, end)
    return PowerMetrics(
        job_joules=joules,
        job_carbon_grams=weighted["carbon"],
        job_cost=weighted["price"],
        currency=electricity.currency,
        joules_per_core_hour=_for_each(joules, hours, useful),
        grams_per_core_hour=_for_each(weighted["carbon"], hours, useful),
    )


def _inside(job: JobTimes, begin: float, end: float) -> float:
    return overlap(job.start, job.finish, begin, end)


def _energy_inside(job: JobTimes, begin: float, end: float) -> float:
    """The energy of a job in a time; it grows evenly while the job runs."""
    joules = job.joules or 0.0
    if begin <= job.start and job.finish <= end + ROUNDED:
        return joules
    time = job.finish - job.start
    return joules * _inside(job, begin, end) / time if time > 0 else 0.0


def _from_zero(energy: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The readings, with that of time 0."""
    points = list(energy)
    return points if points and points[0][0] <= 0 else [(0.0, 0.0), *points]


def _expect_reach(value: Trace | float | None, name: str, begin: float, end: float) -> None:
    """Refuse a trace that does not reach over a time.

    Raises:
        TraceTooShort: it does not.
    """
    if not isinstance(value, Trace) or value.repeats or (value.begin <= begin and end <= value.end):
        return
    if begin < value.begin:
        raise TraceTooShort(
            f"the {name} is known from {value.begin:,.15g} s on, and the measured time begins at {begin:,.15g} s: use "
            "a trace that begins earlier"
        )
    raise TraceTooShort(
        f"the {name} is known until {value.end:,.15g} s, and the measured time ends at {round(end, 3):,.15g} s: use a "
        "longer trace, or repeat it with repeat=yes"
    )


def _for_each(amount: float | None, hours: float | None, useful: float) -> float | None:
    return amount / (hours * useful) if amount is not None and hours is not None and hours * useful > 0 else None
