"""`batproto compare`: what two runs differ in, as text or JSON."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import parse_qsl

from batprotocol.cli.terminal.grids import print_grid
from batprotocol.cli.terminal.output import Output
from batprotocol.cli.terminal.text import printable
from batprotocol.simulator import METRICS, OwnMetric, metric_named
from batprotocol.studies import Store
from batprotocol.studies.comparing import Schedule, compare, read_schedule
from batprotocol.studies.comparing.formats import as_json as json_of
from batprotocol.studies.comparing.rows import select_one
from batprotocol.studies.comparing.schedules import schedule_of
from batprotocol.studies.store.jobs import PARQUET, jobs_in

__all__ = ["show"]

_ALL = "all"


def show(
    first: str,
    second: str,
    *,
    metrics: Sequence[str],
    most: int,
    tau: float,
    tolerance: float,
    hosts: int | None,
    as_json: bool,
) -> None:
    """Print what two runs differ in."""
    shown = [metric_named(name) for name in metrics if name != _ALL]
    own = [each for each in shown if isinstance(each, OwnMetric)]
    output = Output()
    one, other = (_schedule(each, hosts, than) for each, than in ((first, second), (second, first)))
    found = compare(one, other, tau=tau, tolerance=tolerance, metrics=own)
    if as_json:
        output.json(json_of(found.record(most)))
        return
    print_grid(output, found.metrics_grid((*METRICS, *own) if _ALL in metrics else shown or None))
    for fact in found.facts():
        output.line(("", printable(fact)))
    for header, pairs in (("gained most", found.gained_most(most)), ("lost most", found.lost_most(most))):
        if pairs:
            output.line()
            print_grid(output, found.jobs_grid(pairs, header))


def _schedule(given: str, hosts: int | None, other: str) -> Schedule:
    """What a folder, a jobs.csv, or `STORE?scheduler=easy&seed=3` holds; in short, it is called by what differs."""
    path, mark, query = given.partition("?")
    name = given
    if mark and not os.path.exists(given):
        wanted = parse_qsl(query, keep_blank_values=True)
        shared = parse_qsl(other.partition("?")[2], keep_blank_values=True)
        name = " ".join(f"{axis}={value}" for axis, value in wanted if (axis, value) not in shared) or given
        with Store(path) as store:
            row = select_one(store.rows(), {axis: [value] for axis, value in wanted})
            path = store.folder(row.key)
    else:
        path = given
    if os.path.exists(os.path.join(path, PARQUET)):
        return schedule_of(jobs_in(path), os.path.join(path, "schedule.json"), name=name, hosts=hosts)
    return read_schedule(path, name=name, hosts=hosts)
