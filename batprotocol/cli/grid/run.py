"""`batproto grid run`: the loop, with a progress bar, until somebody stops it."""

from __future__ import annotations

from typing import Any

from batprotocol.campaigns.model import Settings
from batprotocol.cli.grid.requests import json_of, opened
from batprotocol.cli.terminal.output import Output, ProgressBar
from batprotocol.errors import StoreError

__all__ = ["run", "settings_of"]

INTERRUPTED = 130
TERMINATED = 143
"""The exit statuses after SIGINT and SIGTERM, as shells tell them."""


def settings_of(given: dict[str, Any]) -> Settings:
    """The settings of the options that were given."""
    return Settings(**{name: value for name, value in given.items() if value is not None})


def run(
    url: str, *, cycle: float, until_done: bool, cycles: int | None, verbose: bool, as_json: bool, **settings: Any
) -> int:
    """Let the campaigns run; the exit status."""
    output = Output()
    with opened(url) as store:
        if not store.clusters():
            raise StoreError(f"{store.url}: no cluster is known: batproto grid clusters --add")
        from batprotocol.campaigns.running import run_campaigns

        with output.progress(quiet=not (verbose or as_json), counted="tasks") as bar:
            told = _Told(output, bar, verbose, as_json)
            try:
                run_campaigns(
                    store,
                    settings_of(settings),
                    cycle_seconds=cycle,
                    until_idle=until_done,
                    cycles=cycles,
                    on_cycle=told.cycle,
                )
            except (KeyboardInterrupt, SystemExit) as signal:
                output.remark("grid", "stopped; what runs on clusters runs on, and the next run goes on from here")
                return INTERRUPTED if isinstance(signal, KeyboardInterrupt) else TERMINATED
        failed = sum(status.failed for status in store.campaigns(ended=True)) if until_done else 0
    if failed:
        output.remark("grid", f"{failed:,} tasks did not end well: batproto grid events -c ID tells why")
    return 1 if failed else 0


class _Told:
    """Tells of each cycle what is new."""

    def __init__(self, output: Output, bar: ProgressBar, verbose: bool, as_json: bool) -> None:
        self._output = output
        self._bar = bar
        self._verbose = verbose
        self._as_json = as_json
        self._ended: dict[int, int] = {}  # of each campaign: those that have ended are no longer told of
        self._totals: dict[int, int] = {}
        self._number = 0
        self._troubles: frozenset[str] = frozenset()

    def cycle(self, cycle: Any) -> None:
        campaigns = cycle.grid.campaigns
        self._number += 1
        before = sum(self._ended.values())
        self._totals.update({each.campaign.id: each.total for each in campaigns})
        self._ended.update({each.campaign.id: each.terminated + each.failed for each in campaigns})
        total, ended = sum(self._totals.values()), sum(self._ended.values())
        for _ in range(ended - before):
            self._bar.at(ended / total if total else 1.0)
        troubles = frozenset(
            [*cycle.troubles, *(f"cluster {each.cluster}: {each.message}" for each in cycle.observations if each.error)]
        )
        for trouble in sorted(troubles - self._troubles):
            self._output.remark("grid", trouble)
        self._troubles = troubles
        if self._as_json:
            self._output.json(json_of(self._summary(cycle)))
        elif self._verbose:
            running = sum(job.state == "running" for job in cycle.grid.jobs)
            waiting = len(cycle.grid.jobs) - running
            text = f"cycle {self._number}: {ended:,} of {total:,} tasks ended, {running:,} jobs run, {waiting:,} wait"
            self._output.line(("", f"{text}, {len(cycle.launched):,} new ones"))

    def _summary(self, cycle: Any) -> dict[str, object]:
        fields = ("total", "pending", "active", "terminated", "failed", "events")
        return {
            "cycle": self._number,
            "time": cycle.now,
            "campaigns": [
                {"id": each.campaign.id, **{name: getattr(each, name) for name in fields}}
                for each in cycle.grid.campaigns
            ],
            "clusters": [{"name": each.cluster, "max": each.max, "free": each.free} for each in cycle.grid.gridstatus],
            "launched": len(cycle.launched),
            "wiped": len(cycle.decisions.wipes),
            "ended": list(cycle.decisions.ended),
            "troubles": sorted(self._troubles),
        }
