"""`batproto compare`: the differences of two runs, as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence

from batprotocol._util.grids import as_json as json_of
from batprotocol.cli.terminal import Output, print_grid, printable
from batprotocol.recordings.commands.named_runs import named, remark_on, tolerance_between
from batprotocol.results.catalogue import OF_RUNS
from batprotocol.simulator import OwnMetric, metric_named
from batprotocol.studies.comparing import compare
from batprotocol.workloads.commands.electricity import read_electricity

__all__ = ["show"]

_ALL = "all"


def show(
    first: str,
    second: str,
    *,
    metrics: Sequence[str],
    most: int,
    tau: float,
    tolerance: float | None,
    hosts: int | None,
    carbon: str | None,
    price: str | None,
    cap: str | None,
    as_json: bool,
) -> None:
    """Print the differences of two runs."""
    shown = [metric_named(name) for name in metrics if name != _ALL]
    own = [each for each in shown if isinstance(each, OwnMetric)]
    output = Output()
    one, other = (named(each, [than]).schedule(hosts) for each, than in ((first, second), (second, first)))
    within = tolerance_between(one, other) if tolerance is None else tolerance
    for schedule in (one, other):
        remark_on(schedule, output)
    if one.is_reported != other.is_reported and tolerance is None:
        output.remark("tolerance", f"times that differ by less than {within:g} s count as equal")
    electricity = read_electricity(carbon, price, cap, output)
    for schedule in (one, other) if (carbon or price or cap) else ():
        if schedule.power.energy is None:
            output.remark(schedule.name, "its energy over time is not known: it needs a consumed_energy.csv")
    found = compare(one, other, tau=tau, tolerance=within, metrics=own, electricity=electricity)
    if as_json:
        output.json(json_of(found.record(most)))
        return
    print_grid(output, found.metrics_grid((*OF_RUNS, *own) if _ALL in metrics else shown or None))
    for fact in found.facts():
        output.line(("", printable(fact)))
    for header, pairs in (("gained most", found.gained_most(most)), ("lost most", found.lost_most(most))):
        if pairs:
            output.line()
            print_grid(output, found.jobs_grid(pairs, header))
