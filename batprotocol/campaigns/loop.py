"""The loop, CiGri's `almighty`: observe the clusters, decide in one transaction, send requests to the clusters.

Each decision is stored before a cluster gets it: the store has a job before it is submitted, and a kill before it is
sent. So the loop may be killed at any moment. The next loop repeats the requests, and the clusters skip those that they
have carried out already. The loop must not know of clocks or tables.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from typing import Final

import msgspec

from batprotocol.campaigns.entities import cycle, updator
from batprotocol.campaigns.entities.hindrances import hindrances
from batprotocol.campaigns.jdl import environment, seconds_of
from batprotocol.campaigns.managers.asking import Clusters
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES, Request, ResourceManager
from batprotocol.campaigns.model import Campaign, Decisions, Grid, Job, Observation, Settings, Task, Update
from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.store import Store

__all__ = ["Cycle", "Loop", "request_of"]


class Cycle(Record, frozen=True, kw_only=True):
    """The record of a cycle.

    Args:
        now: the time of the cycle, in seconds of the grid's clock.
        observations: the answers of the clusters.
        grid: the state of the grid that the cycle decided upon.
        decisions: the decisions.
        launched: the new jobs.
        troubles: the clusters that did not get their requests, and why. They get them in the next cycle.
    """

    now: float
    observations: tuple[Observation, ...]
    grid: Grid
    decisions: Decisions
    launched: tuple[Job, ...] = ()
    troubles: tuple[str, ...] = ()

    @property
    def idle(self) -> bool:
        """Whether there is no work: all campaigns and all jobs have ended."""
        living = {each.campaign.id for each in self.grid.campaigns} - set(self.decisions.ended)
        return not living and not self.launched and not self.grid.jobs

    @property
    def stuck(self) -> bool:
        """Whether no job runs or waits, and each campaign that has not ended waits for a person."""
        living = {each.campaign.id for each in self.grid.campaigns} - set(self.decisions.ended)
        waiting = {each.campaign.id for each in hindrances(self.grid) if each.waits}
        return bool(living) and living <= waiting and not self.launched and not self.grid.jobs


class Loop:
    """Runs the campaigns of a store on clusters, cycle by cycle.

    Args:
        store: the store of the campaigns.
        managers: the resource managers of the clusters. A cluster of the store without one is not used.
        settings: the settings of the grid.
        clock: returns the time, in seconds of the grid's clock.
        patience: how many seconds a cycle waits for slow clusters; a later cycle uses their answers. None: the loop
            asks one cluster after the other, and waits for each.
    """

    def __init__(
        self,
        store: Store,
        managers: Iterable[ResourceManager],
        settings: Settings,
        clock: Callable[[], float],
        patience: float | None = None,
    ) -> None:
        self._store = store
        self._clusters = Clusters(managers, patience)
        self._settings = settings
        self._clock = clock

    def cycle(self) -> Cycle:
        """Run one cycle. If the store cannot be used, it raises `StoreError`, and nothing has changed."""
        used, recent = self._store.used_clusters()
        observations = self._look(used, recent)
        now = self._clock()
        with self._store.cycle() as books:
            update = updator.update(books.jobs(), observations, now=now, open_events=books.open_events())
            books.record(_worth_keeping(update, observations, used), observations)
            grid = _seen(books.grid(now, self._settings.window), observations)
            decisions = cycle.decide(grid, self._settings, books.tasks)
            launched = books.carry_out(decisions, now)
        to_kill = {job.id for job in grid.jobs if job.kill is not None} | {wipe.job for wipe in decisions.wipes}
        alive = {job.id for job in grid.jobs}
        wanted = self._store.requests([*update.relaunch, *(job.id for job in launched)])
        requests: dict[str, list[Request]] = {}
        for number in sorted(wanted):
            requests.setdefault(wanted[number][0].cluster, []).append(request_of(*wanted[number]))
        words = {}
        for observation in observations:
            if observation.error is None:
                known = [job.job for job in observation.jobs]
                words[observation.cluster] = partial(
                    _request,
                    kill=[number for number in known if number in to_kill],
                    submit=requests.get(observation.cluster, ()),
                    forget=[number for number in known if number not in alive],
                )
        _, errors = self._clusters.ask("request", words, now)
        return Cycle(
            now=now,
            observations=observations,
            grid=grid,
            decisions=decisions,
            launched=launched,
            troubles=tuple(map(str, errors)),
        )

    def tend(self) -> None:
        """Let the clusters do the work that is due between two cycles."""
        self._clusters.tend()

    def close(self) -> None:
        """Wait for the last requests to the clusters, for a short time."""
        self._clusters.close()

    def _look(self, used: Set[str], recent: Set[str]) -> tuple[Observation, ...]:
        """The answers of the clusters that campaigns use, or have just used."""
        now = self._clock()
        wanted = [name for name in self._clusters if name in used or name in recent]
        answers, errors = self._clusters.ask("look", dict.fromkeys(wanted, _look), now)
        silent = [
            Observation(cluster=error.cluster, time=now, error=UNREACHABLE, message=error.reason)
            for error in errors
            if error.cluster in used
        ]
        found = {each.cluster: each for each in (*answers.values(), *silent)}
        return tuple(found[name] for name in self._clusters if name in found)


def _look(manager: ResourceManager) -> Observation:
    return manager.look()


def _request(
    manager: ResourceManager, *, kill: Sequence[int], submit: Sequence[Request], forget: Sequence[int]
) -> None:
    manager.kill(kill)
    manager.submit(submit)
    manager.forget(forget)


def _seen(grid: Grid, observations: Iterable[Observation]) -> Grid:
    """The grid with the resources of only the clusters that have just answered: those of the others are unknown."""
    answered = {each.cluster for each in observations if each.error is None}
    return msgspec.structs.replace(grid, gridstatus=tuple(each for each in grid.gridstatus if each.cluster in answered))


def _worth_keeping(update: Update, observations: Iterable[Observation], used: Set[str]) -> Update:
    """The update without snapshots of clusters that have no jobs and that nobody uses: they are not asked again."""
    ours = {each.cluster for each in observations if each.jobs}
    kept = tuple(each for each in update.gridstatus if each.cluster in used or each.cluster in ours)
    return msgspec.structs.replace(update, gridstatus=kept)


UNREACHABLE: Final = "CONNECTION_REFUSED"
"""The event of a cluster that does not answer."""


def _once(command: str, marker: str) -> str:
    """A command that does not begin while it runs, or after it has ended well, on machines that share the files."""
    file, lock = shlex.quote(marker), shlex.quote(f"{marker}.lock")
    return f"exec 9>>{lock} && flock 9 || exit 1\n[ -e {file} ] && exit 0\n(\n{command}\n) && : >>{file}"


def request_of(job: Job, campaign: Campaign, task: Task | None) -> Request:
    """The request for a job to its cluster; without a task, the job is a prologue or an epilogue.

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

    elif task is not None and properties.result_marker:
        command = _once(command, properties.result_marker.replace("{NAME}", task.name.replace("/", "_")))

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
        resources="" if job.tag is not None else properties.resources,
        properties=properties.properties,
        project=properties.project,
        walltime=seconds_of(walltime),
        best_effort=job.best_effort,
        group=job.group,
    )
