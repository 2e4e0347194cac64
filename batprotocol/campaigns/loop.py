"""The loop: what CiGri calls its almighty. Look at the clusters, decide in one transaction, tell the clusters.

What is decided is written down before anybody is told: a job is in the store, and so is that it is to be killed, when
its cluster hears of it. So the loop may be killed anywhere: what a cluster has not been told, the next loop tells it,
and what it has been told already, it does not do again. The loop must not know of clocks or tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from batprotocol.campaigns.entities import cycle, updator
from batprotocol.campaigns.jdl import environment, seconds_of
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES, Request, ResourceManager
from batprotocol.campaigns.model import Campaign, Decisions, Grid, Job, Observation, Settings, Task
from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.store import Store
from batprotocol.errors import ClusterError

__all__ = ["Cycle", "Loop", "request_of"]


class Cycle(Record, frozen=True, kw_only=True):
    """What came of a cycle.

    Args:
        now: when, in seconds of the grid's clock.
        observations: what the clusters said.
        grid: what was known.
        decisions: what was decided.
        launched: the jobs that were decided.
        troubles: the clusters that could not be told, and why; they are told in the next cycle.
    """

    now: float
    observations: tuple[Observation, ...]
    grid: Grid
    decisions: Decisions
    launched: tuple[Job, ...] = ()
    troubles: tuple[str, ...] = ()

    @property
    def idle(self) -> bool:
        """Whether there is nothing left to do: no campaign is to be treated, and no job is on its way."""
        living = {each.campaign.id for each in self.grid.campaigns} - set(self.decisions.ended)
        return not living and not self.launched and not self.grid.jobs


class Loop:
    """Lets the campaigns of a store run on clusters, cycle by cycle.

    Args:
        store: where all is kept.
        managers: the resource managers of the clusters; those of the store that have none are not used.
        settings: how the grid is run.
        clock: tells the time, in seconds of the grid's clock.
    """

    def __init__(
        self, store: Store, managers: Iterable[ResourceManager], settings: Settings, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._managers = {manager.name: manager for manager in managers}
        self._settings = settings
        self._clock = clock

    def cycle(self) -> Cycle:
        """One cycle. `StoreError` if the store cannot be used; then nothing has changed."""
        observations = tuple(map(self._look, self._managers.values()))
        now = self._clock()
        with self._store.cycle() as books:
            update = updator.update(books.jobs(), observations, now=now, open_events=books.open_events())
            books.record(update, observations)
            grid = books.grid(now, self._settings.window)
            decisions = cycle.decide(grid, self._settings, books.tasks)
            launched = books.carry_out(decisions, now)
        to_kill = {job.id for job in grid.jobs if job.kill is not None} | {wipe.job for wipe in decisions.wipes}
        alive = {job.id for job in grid.jobs}
        wanted = self._store.requests([*update.relaunch, *(job.id for job in launched)])
        troubles = []
        for observation in observations:
            if observation.error is not None:
                continue
            name = observation.cluster
            requests = [request_of(*wanted[number]) for number in sorted(wanted) if wanted[number][0].cluster == name]
            known = [job.job for job in observation.jobs]
            try:
                self._tell(
                    self._managers[name],
                    kill=[number for number in known if number in to_kill],
                    submit=requests,
                    forget=[number for number in known if number not in alive],
                )
            except ClusterError as error:
                troubles.append(str(error))
        return Cycle(
            now=now,
            observations=observations,
            grid=grid,
            decisions=decisions,
            launched=launched,
            troubles=tuple(troubles),
        )

    def tend(self) -> None:
        """Let the clusters do what they have to do between two cycles."""
        for manager in self._managers.values():
            manager.tend()

    def _look(self, manager: ResourceManager) -> Observation:
        try:
            return manager.look()
        except ClusterError as error:
            return Observation(cluster=manager.name, time=self._clock(), error=UNREACHABLE, message=error.reason)

    @staticmethod
    def _tell(
        manager: ResourceManager, *, kill: Sequence[int], submit: Sequence[Request], forget: Sequence[int]
    ) -> None:
        manager.kill(kill)
        manager.submit(submit)
        manager.forget(forget)


UNREACHABLE: Final = "CONNECTION_REFUSED"
"""The event of a cluster that cannot be asked."""


def request_of(job: Job, campaign: Campaign, task: Task | None) -> Request:
    """What a cluster is told of a job; without a task, it is a prologue or an epilogue.

    In commands and the directory, `{HOME}` and `{CAMPAIGN_ID}` are replaced.
    """
    properties = campaign.on(job.cluster)
    assert properties is not None, "a job is on a cluster of its campaign"
    command, walltime = f"{properties.exec_file} {task.parameters if task else ''}".rstrip(), properties.walltime
    if job.tag is not None:
        epilogue = job.tag == "epilogue"
        lines = properties.epilogue if epilogue else properties.prologue
        command = "\n".join(("set -e", *lines))
        walltime = (properties.epilogue_walltime if epilogue else properties.prologue_walltime) or walltime

    def expanded(text: str) -> str:
        return text.replace("{HOME}", "$HOME").replace("{CAMPAIGN_ID}", str(campaign.id))

    return Request(
        job=job.id,
        command=expanded(command),
        environment=environment(campaign, properties, job, task, workdir=DIRECTORY, node_file=NODES),
        campaign=campaign.id,
        parameters=task.parameters if task else "",
        directory=expanded(properties.exec_directory),
        weight=job.weight,
        properties=properties.properties,
        walltime=seconds_of(walltime),
        best_effort=job.best_effort,
    )
