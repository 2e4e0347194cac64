"""`batproto compare`: the differences of two runs, as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from batprotocol._util.grids import as_json as json_of
from batprotocol.cli.terminal import Output, print_grid, printable
from batprotocol.recordings.commands.named_runs import named, remark_on, tolerance_between
from batprotocol.results.catalogue import OF_RUNS
from batprotocol.simulator import OwnMetric, metric_named
from batprotocol.studies.comparing import compare
from batprotocol.workloads.commands.inputs import read_electricity

_ALL = "all"


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of `batproto compare`."""

    first: str
    second: str
    metrics: Sequence[str]
    most: int
    tau: float
    tolerance: float | None
    hosts: int | None
    carbon: str | None
    price: str | None
    cap: str | None
    as_json: bool


def show(options: CompareOptions) -> None:
    """Print the differences of two runs."""
    shown = [metric_named(name) for name in options.metrics if name != _ALL]
    own = [each for each in shown if isinstance(each, OwnMetric)]
    output = Output()
    one, other = (
        named(each, [than]).schedule(options.hosts)
        for each, than in ((options.first, options.second), (options.second, options.first))
    )
    within = tolerance_between(one, other) if options.tolerance is None else options.tolerance
    for schedule in (one, other):
        remark_on(schedule, output)
    if one.is_reported != other.is_reported and options.tolerance is None:
        output.remark("tolerance", f"times that differ by less than {within:g} s count as equal")
    electricity = read_electricity(options.carbon, options.price, options.cap, output)
    for schedule in (one, other) if (options.carbon or options.price or options.cap) else ():
        if schedule.power.energy is None:
            output.remark(schedule.name, "its energy over time is not known: it needs a consumed_energy.csv")
    found = compare(one, other, tau=options.tau, tolerance=within, metrics=own, electricity=electricity)
    if options.as_json:
        output.json(json_of(found.record(options.most)))
        return
    print_grid(output, found.metrics_grid((*OF_RUNS, *own) if _ALL in options.metrics else shown or None))
    for fact in found.facts():
        output.line(("", printable(fact)))
    for header, pairs in (
        ("gained most", found.gained_most(options.most)),
        ("lost most", found.lost_most(options.most)),
    ):
        if pairs:
            output.line()
            print_grid(output, found.jobs_grid(pairs, header))
