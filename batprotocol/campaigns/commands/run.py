"""`batproto grid run`: the loop, with a progress bar, until a signal stops it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from batprotocol.campaigns.commands.requests import json_of, opened
from batprotocol.campaigns.entities.hindrances import hindrances
from batprotocol.campaigns.model import Settings
from batprotocol.campaigns.text.hindrances import hindrance_sentence
from batprotocol.cli.terminal.output import Output, ProgressBar
from batprotocol.cli.terminal.text import number_of
from batprotocol.errors import StoreError, printable

if TYPE_CHECKING:
    from batprotocol.campaigns.store import Store

__all__ = ["run", "settings_of"]

INTERRUPTED = 130
TERMINATED = 143
"""The exit statuses after SIGINT and SIGTERM, as in shells."""


def settings_of(given: dict[str, Any]) -> Settings:
    """The settings by the options that were given."""
    return Settings(**{name: value for name, value in given.items() if value is not None})


def run(
    url: str,
    *,
    cycle: float,
    until_done: bool,
    until_stuck: bool,
    cycles: int | None,
    verbose: bool,
    as_json: bool,
    **settings: Any,
) -> int:
    """Run the campaigns; return the exit status."""
    output = Output()
    with opened(url) as store:
        if not store.clusters():
            raise StoreError(f"{store.url}: no cluster is known: add one by batproto grid clusters --add")
        from batprotocol.campaigns.running import run_campaigns

        with output.progress(counted="tasks") as bar:
            news = _News(output, bar, verbose, as_json)
            try:
                run_campaigns(
                    store,
                    settings_of(settings),
                    cycle_seconds=cycle,
                    until_idle=until_done,
                    until_stuck=until_stuck,
                    cycles=cycles,
                    on_cycle=news.cycle,
                    on_trouble=news.trouble,
                )
            except (KeyboardInterrupt, SystemExit) as signal:
                output.remark("grid", "stopped; the jobs on clusters go on, and the next run continues")
                return INTERRUPTED if isinstance(signal, KeyboardInterrupt) else TERMINATED
        if not (until_done or until_stuck):
            return 0
        for number, failed in news.failures(store):
            why = f"batproto grid events -c {number} and batproto grid output -c {number} show why"
            output.error("grid", f"campaign {number}: {number_of(failed, 'task')} did not end well: {why}")
    return 1 if output.failed or news.stuck else 0


class _News:
    """Prints the news of each cycle."""

    def __init__(self, output: Output, bar: ProgressBar, verbose: bool, as_json: bool) -> None:
        self.stuck = False
        self._output = output
        self._bar = bar
        self._verbose = verbose
        self._as_json = as_json
        self._ended: dict[int, int] = {}  # of each campaign, also of those that have ended
        self._totals: dict[int, int] = {}
        self._failed: dict[int, int] = {}  # the failed tasks of each campaign at the first cycle
        self._number = 0
        self._remarks: frozenset[str] = frozenset()
        self._copied: set[int] = set()

    def cycle(self, cycle: Any) -> None:
        campaigns = cycle.grid.campaigns
        self._number += 1
        self.stuck = cycle.stuck
        before = sum(self._ended.values())
        for each in campaigns:
            self._failed.setdefault(each.campaign.id, each.failed)
        self._totals.update({each.campaign.id: each.total for each in campaigns})
        self._ended.update({each.campaign.id: each.terminated + each.failed for each in campaigns})
        total, ended = sum(self._totals.values()), sum(self._ended.values())
        for _ in range(ended - before):
            self._bar.at(ended / total if total else 1.0)
        remarks = frozenset(_remarks(cycle))
        for remark in sorted(remarks - self._remarks):
            self._output.remark("grid", remark)
        self._remarks = remarks
        self._report_copies(cycle)
        if self._as_json:
            self._output.json(json_of(self._summary(cycle)))
        elif self._verbose:
            running = sum(job.state == "running" for job in cycle.grid.jobs)
            waiting = len(cycle.grid.jobs) - running
            text = f"cycle {self._number}: {ended:,} of {total:,} tasks ended, {running:,} jobs run, {waiting:,} wait"
            self._output.line(("", f"{text}, {len(cycle.launched):,} new ones"))

    def trouble(self, reason: str) -> None:
        """Print that the server of the store does not answer."""
        if reason not in self._remarks:
            self._output.remark("grid", f"{reason}; trying again")
            self._remarks |= {reason}

    def failures(self, store: Store) -> Iterator[tuple[int, int]]:
        """The campaigns with tasks that did not end well in this run, and how many."""
        for number, before in self._failed.items():
            status = store.campaign(number)
            if status is not None and status.failed > before:
                yield number, status.failed - before

    def _report_copies(self, cycle: Any) -> None:
        for submission in cycle.decisions.submissions:
            number = submission.campaign.id
            if submission.replica and number not in self._copied:
                self._copied.add(number)
                no_copies = "use --no-finalize, or a result_marker in the JDL, to prevent it"
                text = f"campaign {number}: its last tasks are copied, so their commands run twice: {no_copies}"
                self._output.remark("grid", text)

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
            "troubles": sorted(self._remarks),
        }


def _remarks(cycle: Any) -> Iterator[str]:
    """The remarks on a cycle, each of which is printed once while it holds."""
    yield from cycle.troubles
    for each in cycle.observations:
        if each.message:
            yield f"cluster {each.cluster}: {each.message}"
    for hindrance in hindrances(cycle.grid):
        yield printable(hindrance_sentence(hindrance))
