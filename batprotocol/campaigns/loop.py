"""The loop, CiGri's `almighty`: observe the clusters, decide in one transaction, send requests to the clusters.

Each decision is stored before a cluster gets it: the store has a job before it is submitted, and a kill before it is
sent. So the loop may be killed at any moment. The next loop repeats the requests, and the clusters skip those that they
have carried out already. `ClusterConnections` asks the clusters in parallel, `Loop` has the cycle, and `run_campaigns`
runs cycle after cycle.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, TypeVar

import msgspec

from batprotocol._util.signals import Interrupts
from batprotocol.campaigns import jdl
from batprotocol.campaigns.entities import cycle, failures
from batprotocol.campaigns.entities.failures import hindrances
from batprotocol.campaigns.jdl import seconds_of
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES, JobRequest, ResourceManager
from batprotocol.campaigns.managers.types import open_manager
from batprotocol.campaigns.model import (
    Campaign,
    Decisions,
    GridJob,
    GridSettings,
    GridState,
    GridTask,
    GridUpdate,
    GridValue,
    Observation,
)
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.errors import ClusterError, StoreAway

__all__ = [
    "Cycle",
    "Loop",
    "request_of",
    "run_campaigns",
]


# Asks clusters in parallel, so that a cluster that does not answer does not delay the others.


Answer = TypeVar("Answer")

FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 60.0
"""The pause before a cluster that has failed is asked again: the first one, and the longest one."""


class ClusterConnection:
    """A cluster, and the thread that asks it."""

    def __init__(self, manager: ResourceManager, threaded: bool) -> None:
        self.manager = manager
        self.asked: Future[Any] | None = None  # a question whose answer has not been taken
        self.kind = ""
        self.retry_at = 0.0
        self._pause = 0.0
        self._threaded = threaded
        self._questions: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether it has a question that it has not answered."""
        return self.asked is not None and not self.asked.done()

    def ask(self, kind: str, question: Callable[[], Any]) -> Future[Any]:
        """Ask the cluster, now or in its thread."""
        asked: Future[Any] = Future()
        self.asked, self.kind = asked, kind
        if not self._threaded:
            _answer(asked, question)
            return asked
        if self._thread is None:
            self._thread = threading.Thread(target=self._listen, name=f"cluster {self.manager.name}", daemon=True)
            self._thread.start()
        self._questions.put((asked, question))
        return asked

    def take(self) -> Any:
        """Take its answer. An exception of the question is raised here."""
        assert self.asked is not None
        asked, self.asked = self.asked, None
        return asked.result()

    def failed(self, now: float) -> None:
        """Record that it did not answer: it is not asked again before a pause."""
        self._pause = min(max(FIRST_SECONDS, 2 * self._pause), LONGEST_SECONDS)
        self.retry_at = now + self._pause

    def answered(self) -> None:
        """Record that it has answered."""
        self._pause = self.retry_at = 0.0

    def close(self) -> None:
        """Let its thread end, after the question that it has."""
        if self._thread is not None:
            self._questions.put(None)

    def _listen(self) -> None:
        while (asked := self._questions.get()) is not None:
            _answer(*asked)


def _answer(asked: Future[Any], question: Callable[[], Any]) -> None:
    try:
        asked.set_result(question())
    except BaseException as error:  # `take` raises it
        asked.set_exception(error)


class ClusterConnections:
    """All clusters.

    Args:
        managers: their resource managers.
        patience: how many seconds to wait for slow clusters; None: without a limit, one cluster after the other in this
            thread.
    """

    def __init__(self, managers: Iterable[ResourceManager], patience: float | None) -> None:
        self._stations = {each.name: ClusterConnection(each, patience is not None) for each in managers}
        self._patience = patience

    def __iter__(self) -> Iterator[str]:
        return iter(self._stations)

    def ask(
        self, kind: str, questions: Mapping[str, Callable[[ResourceManager], Answer]], now: float
    ) -> tuple[dict[str, Answer], list[ClusterError]]:
        """Ask clusters by their names; return the answers that came within the patience, and the errors.

        A cluster that has not answered its last question, or that has just failed, gets no question. So an answer may
        belong to an earlier question of this kind.

        Args:
            kind: the kind of the questions.
            questions: the question for each cluster, by name; unknown names are ignored.
            now: seconds of the grid's clock.
        """
        answers: dict[str, Answer] = {}
        errors: list[ClusterError] = []
        answers.update(self._taken(kind, now, errors))
        asked: list[Future[Any]] = []
        for name, question in questions.items():
            station = self._stations.get(name)
            if station is None or name in answers or station.asked is not None or now < station.retry_at:
                continue
            asked.append(station.ask(kind, _bound(question, station.manager)))
        wait(asked, self._patience)
        answers.update(self._taken(kind, now, errors))  # also late ones, of any kind
        return answers, errors

    def tend(self) -> None:
        """Let the clusters do the work that is due between two cycles, except those that are busy."""
        for station in self._stations.values():
            if not station.busy:
                station.manager.tend()

    def close(self) -> None:
        """Wait for the answers, for the patience at most, and let the threads end."""
        asked = [station.asked for station in self._stations.values() if station.asked is not None]
        wait(asked, self._patience)
        for station in self._stations.values():
            station.close()

    def _taken(self, kind: str, now: float, errors: list[ClusterError]) -> dict[str, Any]:
        """Take all new answers; return those to questions of a kind, by cluster."""
        found: dict[str, Any] = {}
        for name, station in self._stations.items():
            if station.asked is None or station.busy:
                continue
            try:
                answer = station.take()
                station.answered()
                if station.kind == kind:
                    found[name] = answer
            except ClusterError as error:
                errors.append(error)
                station.failed(now)
        return found


def _bound(question: Callable[[ResourceManager], Answer], manager: ResourceManager) -> Callable[[], Answer]:
    return lambda: question(manager)


class Cycle(GridValue, frozen=True, kw_only=True):
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
    grid: GridState
    decisions: Decisions
    launched: tuple[GridJob, ...] = ()
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
        store: GridStore,
        managers: Iterable[ResourceManager],
        settings: GridSettings,
        clock: Callable[[], float],
        patience: float | None = None,
    ) -> None:
        self._store = store
        self._clusters = ClusterConnections(managers, patience)
        self._settings = settings
        self._clock = clock

    def cycle(self) -> Cycle:
        """Run one cycle. If the store cannot be used, it raises `StoreError`, and nothing has changed."""
        used, recent = self._store.used_clusters()
        observations = self._look(used, recent)
        now = self._clock()
        with self._store.cycle() as books:
            update = failures.update(books.jobs(), observations, now=now, open_events=books.open_events())
            books.record(_worth_keeping(update, observations, used), observations)
            grid = _seen(books.grid(now, self._settings.window), observations)
            decisions = cycle.decide(grid, self._settings, books.tasks)
            launched = books.carry_out(decisions, now)
        to_kill = {job.id for job in grid.jobs if job.kill is not None} | {wipe.job for wipe in decisions.wipes}
        alive = {job.id for job in grid.jobs}
        wanted = self._store.requests([*update.relaunch, *(job.id for job in launched)])
        requests: dict[str, list[JobRequest]] = {}
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
    manager: ResourceManager, *, kill: Sequence[int], submit: Sequence[JobRequest], forget: Sequence[int]
) -> None:
    manager.kill(kill)
    manager.submit(submit)
    manager.forget(forget)


def _seen(grid: GridState, observations: Iterable[Observation]) -> GridState:
    """The grid with the resources of only the clusters that have just answered: those of the others are unknown."""
    answered = {each.cluster for each in observations if each.error is None}
    return msgspec.structs.replace(grid, gridstatus=tuple(each for each in grid.gridstatus if each.cluster in answered))


def _worth_keeping(update: GridUpdate, observations: Iterable[Observation], used: Set[str]) -> GridUpdate:
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


def request_of(job: GridJob, campaign: Campaign, task: GridTask | None) -> JobRequest:
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

    return JobRequest(
        job=job.id,
        command=expanded(command),
        environment=jdl.environment(campaign, properties, job, task, workdir=DIRECTORY, node_file=NODES),
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


# Runs the loop: cycle after cycle with pauses, until a signal stops it or there is no work.


PATIENCE_SECONDS: Final = 2.0
"""How long a cycle waits for slow clusters."""

RETRY_SECONDS: Final = (0.2, 10.0)
"""The pause before the store is asked again after its server has gone: the first one, and the longest one."""

TEND_SECONDS: Final = 0.02
"""The interval in which local clusters are tended while the loop pauses."""


def run_campaigns(
    store: GridStore,
    settings: GridSettings,
    *,
    cycle_seconds: float = 5.0,
    until_idle: bool = False,
    until_stuck: bool = False,
    cycles: int | None = None,
    on_cycle: Callable[[Cycle], None] = lambda cycle: None,
    on_trouble: Callable[[str], None] = lambda trouble: None,
) -> None:
    """Run the campaigns of a store on its clusters.

    It may end at any moment, also by a signal. The jobs on the clusters go on, and the next run continues.

    Args:
        store: the store of the campaigns.
        settings: the settings of the grid.
        cycle_seconds: the minimum number of seconds from one cycle to the next.
        until_idle: whether to return when all campaigns and jobs have ended.
        until_stuck: whether to return when each campaign has ended or waits for a person.
        cycles: the number of cycles to run; None: no limit.
        on_cycle: called with each cycle.
        on_trouble: called with the reason when the server of the store cannot be reached.

    Raises:
        StoreError: the store cannot be used, or another loop runs on it. If the server goes away after the first cycle,
            the loop waits for it.
        KeyboardInterrupt: the process got SIGINT. In the main thread, the cycle ends first.
        SystemExit: the process got SIGTERM; the status is 143. In the main thread, the cycle ends first.
    """
    done = 0
    pause = RETRY_SECONDS[0]

    def over(cycle: Cycle) -> bool:
        idle = cycle.idle and (until_idle or until_stuck)
        return idle or (until_stuck and cycle.stuck) or done == cycles

    with Interrupts() as interrupts, _loop(store, settings) as loop:
        while True:
            try:
                with store.only_loop():
                    while True:
                        began = time.monotonic()
                        cycle = loop.cycle()
                        done += 1
                        pause = RETRY_SECONDS[0]
                        on_cycle(cycle)
                        if over(cycle):
                            return
                        interrupts.check()
                        _tend(loop, interrupts, began + cycle_seconds)
            except StoreAway as error:
                if not done:
                    raise
                on_trouble(str(error))
                _tend(loop, interrupts, time.monotonic() + pause)
                pause = min(2 * pause, RETRY_SECONDS[1])


def _tend(loop: Loop, interrupts: Interrupts, until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, TEND_SECONDS))
        interrupts.check()
        loop.tend()


class _Reached:
    """A resource manager that is opened at its first use, and again at the next one if that fails."""

    def __init__(self, where: ClusterEntry, mark: str) -> None:
        self.name = where.name
        self._where = where
        self._mark = mark
        self._manager: ResourceManager | None = None

    def look(self) -> Observation:
        return self._opened().look()

    def submit(self, requests: Sequence[JobRequest]) -> None:
        self._opened().submit(requests)

    def kill(self, jobs: Iterable[int]) -> None:
        self._opened().kill(jobs)

    def forget(self, jobs: Iterable[int]) -> None:
        self._opened().forget(jobs)

    def tend(self) -> None:
        if self._manager is not None:
            self._manager.tend()

    def close(self) -> None:
        if self._manager is not None:
            self._manager.close()

    def _opened(self) -> ResourceManager:
        if self._manager is None:
            where = self._where
            self._manager = open_manager(where.name, where.batch, where.address, where.resources, self._mark)
        return self._manager


@contextmanager
def _loop(store: GridStore, settings: GridSettings) -> Iterator[Loop]:
    """The loop on a store, with the resource managers of all its clusters."""
    managers: list[ResourceManager] = [_Reached(where, store.mark) for where in store.clusters()]
    loop = Loop(store, managers, settings, time.time, PATIENCE_SECONDS)
    try:
        yield loop
    finally:
        loop.close()
        for manager in managers:
            try:
                manager.close()
            except ClusterError:  # it is gone already
                continue
