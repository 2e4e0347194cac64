"""The store of the grid, for the loop and for the commands: the interface of this package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from sqlalchemy import Connection, func, select, update

from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    CampaignStatus,
    Durations,
    Forecast,
    GridCluster,
    GridEvent,
    GridJob,
    GridState,
    GridStatus,
    GridTask,
    JobOutput,
    UserPriority,
)
from batprotocol.campaigns.store import _requests
from batprotocol.campaigns.store import _tables as tables
from batprotocol.campaigns.store._cycle import LIVING, CampaignReader, CycleBooks, read_grid
from batprotocol.campaigns.store._engine import NUMBERS, Database, in_pieces, upsert
from batprotocol.campaigns.store._tables import (
    event_of,
    initialise,
    mark_of,
    next_cycle,
    next_numbers,
    row_of,
    value_of,
    values_of,
)
from batprotocol.errors import StoreError


class ClusterEntry(GridCluster, frozen=True, kw_only=True):
    """A cluster and its address.

    Args:
        address: its address for the resource manager `batch`: a folder, or the address of a scheduler.
        resources: how many resources to use, for `local`; None: all.
    """

    address: str = ""
    resources: int | None = None


class OpenCycle(CycleBooks):
    """The reads and writes of a cycle, with the grid."""

    def __init__(self, connection: Connection, cycle: int, reader: CampaignReader) -> None:
        super().__init__(connection, cycle)
        self._reader = reader

    def grid(self, now: float, window: float) -> GridState:
        """The grid to decide upon; see `GridState`."""
        return read_grid(self._connection, self._reader, now, window)


class GridStore:
    """A database of campaigns, tasks, jobs, clusters and events.

    Args:
        url: the name of a file for SQLite, or a URL of SQLAlchemy for SQLite or PostgreSQL. `sqlite://` is in memory.

    The tables are made if they are missing.

    Raises:
        StoreError: the database cannot be used. All methods raise it.

    >>> store = GridStore("sqlite://")
    >>> store.register(ClusterEntry(name="alpha", batch="local")).id
    1
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        self._reader = CampaignReader()
        with self._database.writing() as connection:
            initialise(connection)
            self.mark = mark_of(connection)
        self.url = self._database.shown

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    # For the loop

    def only_loop(self) -> AbstractContextManager[None]:
        """A context in which no other loop runs on this store. It raises `StoreError` if one runs."""
        return self._database.only_loop()

    @contextmanager
    def cycle(self) -> Iterator[OpenCycle]:
        """A transaction in which a cycle reads and writes. All of its changes are kept, or none."""
        with self._database.writing() as connection:
            yield OpenCycle(connection, next_cycle(connection), self._reader)

    def used_clusters(self) -> tuple[frozenset[str], frozenset[str]]:
        """The clusters that have jobs or that active campaigns use, and those of the last cycle."""
        with self._database.reading() as connection:
            used = connection.execute(_USED).scalars().all()
            recent = connection.execute(_RECENT).scalars().all()
        return frozenset(used), frozenset(recent)

    def requests(self, numbers: Sequence[int]) -> dict[int, tuple[GridJob, Campaign, GridTask | None]]:
        """These jobs with their campaigns and tasks, except jobs to kill. A prologue or epilogue has no task."""
        found: dict[int, tuple[GridJob, GridTask | None]] = {}
        if not numbers:
            return {}
        with self._database.reading() as connection:
            for row in in_pieces(connection, _REQUESTS, numbers):
                task = (
                    None if row.task is None else GridTask(row.task, row.campaign, row.task_name, row.task_parameters)
                )
                found[row.id] = value_of(GridJob, row), task
            campaigns = {job.campaign for job, _ in found.values()}
            known = {each.campaign.id: each.campaign for each in CampaignReader().statuses(connection, campaigns)}
        return {number: (job, known[job.campaign], task) for number, (job, task) in found.items()}

    # For users

    def submit(self, campaign: Campaign, parameters: Sequence[str], *, now: float, jdl: str = "") -> int:
        """Store a new campaign with its tasks and the text of its JDL; return its number."""
        with self._database.writing() as connection:
            return _requests.submit(connection, campaign, parameters, jdl=jdl, now=now)

    def add_tasks(self, campaign: int, user: str, parameters: Sequence[str]) -> None:
        """Add tasks to a campaign that has not ended."""
        with self._database.writing() as connection:
            _requests.add_tasks(connection, campaign, user, parameters)

    def pause(self, campaign: int, user: str) -> None:
        """Submit no more tasks of a campaign until it is resumed."""
        with self._database.writing() as connection:
            _requests.move(connection, campaign, user, CampaignState.PAUSED)

    def resume(self, campaign: int, user: str) -> None:
        """Continue a paused campaign."""
        with self._database.writing() as connection:
            _requests.move(connection, campaign, user, CampaignState.IN_TREATMENT)

    def cancel(self, campaign: int, user: str) -> None:
        """Cancel a campaign: its jobs are killed."""
        with self._database.writing() as connection:
            _requests.cancel(connection, campaign, user)

    def purge(self, campaign: int, user: str) -> None:
        """Remove a campaign that has ended from the store."""
        with self._database.writing() as connection:
            _requests.purge(connection, campaign, user)

    def kill_job(self, job: int, user: str) -> None:
        """Kill a job and cancel its task."""
        with self._database.writing() as connection:
            _requests.kill_job(connection, job, user)

    def fix(self, user: str, *, campaign: int | None = None, event: int | None = None, resubmit: bool = False) -> int:
        """Close an event, or all events of a campaign, and run their tasks again if wanted; return how many."""
        with self._database.writing() as connection:
            return _requests.fix(connection, user, campaign=campaign, event=event, resubmit=resubmit)

    # Clusters and preferences

    def register(self, cluster: ClusterEntry) -> ClusterEntry:
        """Store a new or changed cluster; return it with its number."""
        with self._database.writing() as connection:
            columns = tables.clusters.c
            number = connection.execute(select(columns.id).where(columns.name == cluster.name)).scalar()
            if number is None:
                number = next_numbers(connection, "cluster", 1)
            row = row_of(cluster, id=number)
            del row["details"]  # the other columns have it
            upsert(connection, tables.clusters, [row])
            return value_of(ClusterEntry, row)

    def enable(self, cluster: str, enabled: bool) -> None:
        """Enable or disable a cluster."""
        with self._database.writing() as connection:
            changed = update(tables.clusters).where(tables.clusters.c.name == cluster).values(enabled=enabled)
            if not connection.execute(changed).rowcount:
                raise StoreError(f"there is no cluster {cluster}: batproto grid clusters lists them")

    def prefer(self, preference: UserPriority) -> None:
        """Store the priority of a user on a cluster."""
        with self._database.writing() as connection:
            upsert(connection, tables.users_priority, [row_of(preference)])

    def clusters(self) -> tuple[ClusterEntry, ...]:
        """All clusters, by number."""
        with self._database.reading() as connection:
            return values_of(ClusterEntry, connection.execute(select(tables.clusters).order_by(tables.clusters.c.id)))

    # Reads

    def campaigns(self, user: str | None = None, *, ended: bool = False) -> tuple[CampaignStatus, ...]:
        """The progress of campaigns, of this user or of all; with `ended`, also of those that have ended."""
        with self._database.reading() as connection:
            columns = tables.campaigns.c
            query = select(columns.id)
            if user is not None:
                query = query.where(columns.user == user)
            if not ended:
                query = query.where(columns.state.in_(("in_treatment", "paused")))
            return CampaignReader().statuses(connection, [row.id for row in connection.execute(query)])

    def campaign(self, number: int) -> CampaignStatus | None:
        """The progress of the campaign of this number, or None."""
        with self._database.reading() as connection:
            found = CampaignReader().statuses(connection, [number])
            return found[0] if found else None

    def jdl(self, campaign: int) -> str | None:
        """The JDL of a campaign, with all defaults."""
        with self._database.reading() as connection:
            query = select(tables.campaigns.c.jdl).where(tables.campaigns.c.id == campaign)
            found: str | None = connection.execute(query).scalar()
            return found

    def tasks(self, campaign: int, *, after: int = 0, count: int | None = None) -> tuple[GridTask, ...]:
        """The tasks of a campaign, by number, `count` at most, beginning after one of them."""
        columns = tables.parameters.c
        query = select(tables.parameters).where(columns.campaign == campaign, columns.id > after).order_by(columns.id)
        with self._database.reading() as connection:
            return values_of(GridTask, connection.execute(query.limit(count)))

    def jobs(self, campaign: int | None = None, *, active: bool = False) -> tuple[GridJob, ...]:
        """Jobs, by number, of a campaign or of all; with `active`, only those that have not ended."""
        query = select(tables.jobs).order_by(tables.jobs.c.id)
        if campaign is not None:
            query = query.where(tables.jobs.c.campaign == campaign)
        if active:
            query = query.where(tables.jobs.c.active)
        with self._database.reading() as connection:
            return values_of(GridJob, connection.execute(query))

    def job(self, number: int) -> GridJob | None:
        """The job of this number, or None."""
        with self._database.reading() as connection:
            row = connection.execute(select(tables.jobs).where(tables.jobs.c.id == number)).one_or_none()
            return None if row is None else value_of(GridJob, row)

    def outputs(self, campaign: int | None = None, *, job: int | None = None) -> Iterator[tuple[GridJob, JobOutput]]:
        """The output of jobs that did not end well, by number, of a campaign or of this job, read lazily."""
        columns = tables.jobs.c
        query = select(tables.jobs, tables.outputs.c.stdout, tables.outputs.c.stderr).join(tables.outputs)
        query = query.where(columns.id == job if job is not None else columns.campaign == campaign)
        with self._database.reading() as connection:
            for row in connection.execute(query.order_by(columns.id)):
                yield value_of(GridJob, row), JobOutput(job=row.id, stdout=row.stdout, stderr=row.stderr)

    def task(self, number: int) -> GridTask | None:
        """The task of this number, or None."""
        with self._database.reading() as connection:
            row = connection.execute(select(tables.parameters).where(tables.parameters.c.id == number)).one_or_none()
            return None if row is None else value_of(GridTask, row)

    def events(
        self, campaign: int | None = None, *, event: int | None = None, closed: bool = False
    ) -> tuple[GridEvent, ...]:
        """Events, by number: of a campaign, this one, or those of no campaign; with `closed`, also closed ones."""
        columns = tables.events.c
        query = select(tables.events).order_by(columns.id)
        query = query.where(columns.id == event if event is not None else columns.campaign == campaign)
        if not closed and event is None:
            query = query.where(tables.OPEN)
        with self._database.reading() as connection:
            return tuple(map(event_of, connection.execute(query)))

    def forecasts(self, campaign: int) -> tuple[Forecast, ...]:
        """The newest forecasts of a campaign; the one for all its clusters has None as `cluster`."""
        query = (
            select(tables.forecasts).where(tables.forecasts.c.campaign == campaign).order_by(tables.forecasts.c.cluster)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return tuple(value_of(Forecast, {**row._mapping, "cluster": row.cluster or None}) for row in rows)

    def durations(self, campaign: int) -> dict[str, Durations]:
        """The durations of the jobs of a campaign that ended with exit code 0, by the names of the clusters."""
        columns = tables.progress.c
        with self._database.reading() as connection:
            rows = connection.execute(select(tables.progress).where(columns.campaign == campaign)).all()
        return {row.cluster: Durations(row.jobs, row.total, row.squares) for row in rows}

    def event_counts(self, campaign: int) -> dict[str, int]:
        """The number of events of a campaign's jobs, by code."""
        columns = tables.events.c
        query = select(columns.code, func.count().label("events")).where(
            columns.campaign == campaign, columns["class"] == "job"
        )
        with self._database.reading() as connection:
            return {row.code: row.events for row in connection.execute(query.group_by(columns.code))}

    def gridstatus(self) -> tuple[GridStatus, ...]:
        """The newest snapshot of each cluster."""
        columns = tables.gridstatus.c
        newest = select(columns.cluster, func.max(columns.cycle).label("cycle")).group_by(columns.cluster).subquery()
        query = select(tables.gridstatus).join(
            newest, (newest.c.cluster == columns.cluster) & (newest.c.cycle == columns.cycle)
        )
        with self._database.reading() as connection:
            return values_of(GridStatus, connection.execute(query.order_by(columns.cluster)))


_USED: Final = (
    select(tables.campaign_properties.c.cluster)
    .join(tables.campaigns)
    .where(tables.campaigns.c.state.in_(LIVING))
    .union(select(tables.jobs.c.cluster).where(tables.jobs.c.active))
)
_RECENT: Final = select(tables.gridstatus.c.cluster).where(
    tables.gridstatus.c.cycle == select(func.max(tables.gridstatus.c.cycle)).scalar_subquery()
)
_REQUESTS: Final = (
    select(
        tables.jobs,
        tables.parameters.c.name.label("task_name"),
        tables.parameters.c.parameters.label("task_parameters"),
    )
    .outerjoin(tables.parameters, tables.parameters.c.id == tables.jobs.c.task)
    .where(tables.jobs.c.id.in_(NUMBERS), tables.jobs.c.kill.is_(None))
    .order_by(tables.jobs.c.id)
)
