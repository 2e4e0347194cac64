"""A grid that is kept in dicts: the least that a store does, for tests of the entities, and to compare a store with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from batprotocol.campaigns.entities import cycle, failures
from batprotocol.campaigns.model import (
    Blacklist,
    Campaign,
    CampaignProgress,
    CampaignState,
    CampaignStatus,
    Decisions,
    Durations,
    EventState,
    Forecast,
    GridCluster,
    GridEvent,
    GridJob,
    GridJobState,
    GridSettings,
    GridState,
    GridStatus,
    GridTask,
    GridUpdate,
    KillReason,
    Observation,
    PiControllerState,
    Tap,
    TaskState,
    ThroughputWindow,
)


class MemoryGrid:
    """Campaigns, tasks and jobs by number. Nothing that ended is forgotten, so that tests can look at it."""

    def __init__(self, clusters: Iterable[GridCluster], settings: GridSettings) -> None:
        self.clusters = tuple(clusters)
        self.settings = settings
        self.campaigns: dict[int, Campaign] = {}
        self.tasks: dict[int, GridTask] = {}
        self.jobs: dict[int, GridJob] = {}
        self.events: dict[int, GridEvent] = {}
        self.gridstatus: dict[str, GridStatus] = {}
        self.forecasts: dict[tuple[int, str | None], Forecast] = {}
        self.taps: dict[tuple[int, str], Tap] = {}
        self.controllers: dict[tuple[int, str], PiControllerState] = {}
        self.affinities: dict[tuple[int, str], int] = {}
        self.endings: dict[int, list[TaskState]] = {}
        self.decisions = Decisions()

    def submit(self, campaign: Campaign, parameters: Sequence[str]) -> Campaign:
        """A new campaign and its tasks."""
        campaign = msgspec.structs.replace(campaign, id=len(self.campaigns) + 1)
        self.campaigns[campaign.id] = campaign
        for each in parameters:
            number = len(self.tasks) + 1
            self.tasks[number] = GridTask(number, campaign.id, each, each)
        return campaign

    def run(self, observations: Iterable[Observation], now: float) -> tuple[GridUpdate, Decisions]:
        """One cycle. What the clusters are to do is in the jobs then."""
        update = failures.update(self.active(), observations, now=now, open_events=self.open_events())
        self.apply_update(update)
        decisions = cycle.decide(self.grid(now), self.settings, self.first)
        self.apply_decisions(decisions, now)
        self.decisions = decisions
        return update, decisions

    def active(self) -> tuple[GridJob, ...]:
        return tuple(job for job in self.jobs.values() if not job.state.ended)

    def open_events(self) -> tuple[GridEvent, ...]:
        return tuple(event for event in self.events.values() if event.state is EventState.OPEN)

    def first(self, campaign: int, cluster: str, many: int) -> list[GridTask]:
        """The first tasks of a campaign that wait, for a cluster."""
        waiting = (task for task in self.tasks.values() if task.campaign == campaign)
        waiting = (task for task in waiting if task.state is TaskState.PENDING)

        def key(task: GridTask) -> tuple[int, int, int]:
            return (-task.priority, -self.affinities.get((task.id, cluster), 0), task.id)

        return sorted(waiting, key=key)[:many]

    def grid(self, now: float) -> GridState:
        """What is known, for a cycle."""
        done = [job for job in self.jobs.values() if job.state is GridJobState.TERMINATED and job.task is not None]
        return GridState(
            now=now,
            clusters=self.clusters,
            gridstatus=tuple(self.gridstatus.values()),
            campaigns=tuple(map(self.status, self.campaigns.values())),
            jobs=self.active(),
            progress=tuple(
                self._progress(campaign, each.cluster, done)
                for campaign in self.campaigns.values()
                for each in campaign.clusters
            ),
            blacklist=tuple(
                Blacklist(event.cluster or "", event.campaign)
                for event in self.open_events()
                if event.code == "BLACKLIST"
            ),
            forecasts=tuple(self.forecasts.values()),
            taps=tuple(self.taps.values()),
            controllers=tuple(self.controllers.values()),
        )

    def status(self, campaign: Campaign) -> CampaignStatus:
        """How far a campaign is."""
        states = [task.state for task in self.tasks.values() if task.campaign == campaign.id]
        tags = {
            (job.tag, job.cluster)
            for job in self.jobs.values()
            if job.campaign == campaign.id and job.state is GridJobState.TERMINATED
        }
        return CampaignStatus(
            campaign=campaign,
            total=len(states),
            pending=states.count(TaskState.PENDING),
            active=states.count(TaskState.ACTIVE),
            terminated=states.count(TaskState.TERMINATED),
            failed=states.count(TaskState.EVENT) + states.count(TaskState.CANCELLED),
            events=sum(event.campaign == campaign.id for event in self.open_events()),
            prologue_done=tuple(cluster for tag, cluster in tags if tag == "prologue"),
            epilogue_done=tuple(cluster for tag, cluster in tags if tag == "epilogue"),
            used=tuple({job.cluster for job in self.jobs.values() if job.campaign == campaign.id}),
        )

    def _progress(self, campaign: Campaign, cluster: str, done: Iterable[GridJob]) -> CampaignProgress:
        own = [job for job in done if job.campaign == campaign.id and job.cluster == cluster]
        took = Durations.of(*((job.stop_time or 0) - (job.start_time or job.submission_time) for job in own))
        window = ThroughputWindow(len(own), min((job.submission_time for job in own), default=None))
        return CampaignProgress(campaign=campaign.id, cluster=cluster, durations=took, window=window)

    def apply_update(self, update: GridUpdate) -> None:
        self.gridstatus |= {each.cluster: each for each in update.gridstatus}
        for change in update.jobs:
            news = {key: each for key, each in msgspec.structs.asdict(change).items() if each is not None}
            news.pop("job")
            self.jobs[change.job] = msgspec.structs.replace(self.jobs[change.job], **news)
        for task_change in update.tasks:
            task = self.tasks[task_change.task]
            priority = task.priority if task_change.priority is None else task_change.priority
            self.tasks[task.id] = msgspec.structs.replace(task, state=task_change.state, priority=priority)
            if task_change.state is not TaskState.PENDING:
                self.endings.setdefault(task.id, []).append(task_change.state)
            if task_change.cluster is not None:
                key = (task.id, task_change.cluster)
                self.affinities[key] = self.affinities.get(key, 0) + task_change.affinity
        for event in update.events:
            parent = self._insert(event)
            if event.blacklists:
                self._insert(failures.blacklist_event(event, parent))
        for event_change in update.event_changes:
            event = self.events[event_change.event]
            self.events[event.id] = msgspec.structs.replace(event, state=event_change.state)
        for wipe in update.wipes:
            self.kill(wipe.job, wipe.reason)

    def _insert(self, event: GridEvent) -> int:
        number = len(self.events) + 1
        self.events[number] = msgspec.structs.replace(event, id=number)
        return number

    def kill(self, job: int, reason: KillReason) -> None:
        """A job is to be killed."""
        self.jobs[job] = msgspec.structs.replace(self.jobs[job], kill=reason)

    def apply_decisions(self, decisions: Decisions, now: float) -> None:
        self.forecasts = {(each.campaign, each.cluster): each for each in decisions.forecasts}
        self.taps |= {(each.campaign, each.cluster): each for each in decisions.taps}
        self.controllers |= {(each.campaign, each.cluster): each for each in decisions.controllers}
        for each in decisions.submissions:
            for task in each.tasks if each.tag is None else (None,):
                number = len(self.jobs) + 1
                self.jobs[number] = GridJob(
                    id=number,
                    campaign=each.campaign.id,
                    task=task,
                    cluster=each.cluster,
                    submission_time=now,
                    best_effort=each.best_effort,
                    replica=each.replica,
                    tag=each.tag,
                    weight=each.weight,
                )
                if task is not None:
                    self.tasks[task] = msgspec.structs.replace(self.tasks[task], state=TaskState.ACTIVE)
        for wipe in decisions.wipes:
            self.kill(wipe.job, wipe.reason)
            if wipe.event is not None:
                self._insert(wipe.event)
        for number in decisions.ended:
            self.campaigns[number] = msgspec.structs.replace(self.campaigns[number], state=CampaignState.TERMINATED)
