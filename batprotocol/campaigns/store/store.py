"""The store: the grid as it is kept, for the loop and for the commands. What others need of this room is here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from sqlalchemy import Connection, func, select, update

from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    CampaignStatus,
    Cluster,
    Durations,
    Event,
    Forecast,
    Grid,
    GridStatus,
    Job,
    JobOutput,
    Task,
    UserPriority,
)
from batprotocol.campaigns.store import tables, users
from batprotocol.campaigns.store.cycle import CycleBooks
from batprotocol.campaigns.store.engine import NUMBERS, Database, in_pieces, upsert
from batprotocol.campaigns.store.numbers import initialise, mark_of, next_cycle, next_numbers
from batprotocol.campaigns.store.reading import LIVING, CampaignReader, read_grid
from batprotocol.campaigns.store.rows import event_of, row_of, value_of, values_of
from batprotocol.errors import StoreError

__all__ = ["OpenCycle", "Store", "Where"]


class Where(Cluster, frozen=True, kw_only=True):
    """A cluster, and where it is.

    Args:
        address: what `batch` needs to reach it: a folder, a scheduler's address.
        resources: how many it shall have, where that can be chosen; None: as many as there are.
    """

    address: str = ""
    resources: int | None = None


class OpenCycle(CycleBooks):
    """The books of a cycle, with the grid as it is now."""

    def __init__(self, connection: Connection, cycle: int, reader: CampaignReader) -> None:
        super().__init__(connection, cycle)
        self._reader = reader

    def grid(self, now: float, window: float) -> Grid:
        """All that is to be decided upon; see `Grid`."""
        return read_grid(self._connection, self._reader, now, window)


class Store:
    """Campaigns, tasks, jobs and what is known of them, in a database.

    Args:
        url: a file, for SQLite; or a URL of SQLAlchemy, for SQLite or PostgreSQL. `sqlite://` is in memory.

    The tables are made where there are none.

    Raises:
        StoreError: the database cannot be used; so do all methods.

    >>> store = Store("sqlite://")
    >>> store.register(Where(name="alpha", batch="local")).id
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
        """As long as this lasts, no other loop runs on this store. `StoreError` if one does."""
        return self._database.only_loop()

    @contextmanager
    def cycle(self) -> Iterator[OpenCycle]:
        """A transaction in which a cycle reads and writes. All of it is kept, or nothing."""
        with self._database.writing() as connection:
            yield OpenCycle(connection, next_cycle(connection), self._reader)

    def used_clusters(self) -> tuple[frozenset[str], frozenset[str]]:
        """The clusters that campaigns use which have not ended, or that have jobs; and those of the last cycle."""
        with self._database.reading() as connection:
            used = connection.execute(_USED).scalars().all()
            recent = connection.execute(_RECENT).scalars().all()
        return frozenset(used), frozenset(recent)

    def requests(self, numbers: Sequence[int]) -> dict[int, tuple[Job, Campaign, Task | None]]:
        """What is to be done in these jobs, but for those that are to be killed; a prologue or epilogue has no task."""
        found: dict[int, tuple[Job, Task | None]] = {}
        if not numbers:
            return {}
        with self._database.reading() as connection:
            for row in in_pieces(connection, _REQUESTS, numbers):
                task = None if row.task is None else Task(row.task, row.campaign, row.task_name, row.task_parameters)
                found[row.id] = value_of(Job, row), task
            campaigns = {job.campaign for job, _ in found.values()}
            known = {each.campaign.id: each.campaign for each in CampaignReader().statuses(connection, campaigns)}
        return {number: (job, known[job.campaign], task) for number, (job, task) in found.items()}

    # For users

    def submit(self, campaign: Campaign, parameters: Sequence[str], *, now: float, jdl: str = "") -> int:
        """Keep a new campaign and its tasks, `jdl` being the text to show of it; its number."""
        with self._database.writing() as connection:
            return users.submit(connection, campaign, parameters, jdl=jdl, now=now)

    def add_tasks(self, campaign: int, user: str, parameters: Sequence[str]) -> None:
        """Add tasks to a campaign that has not ended."""
        with self._database.writing() as connection:
            users.add_tasks(connection, campaign, user, parameters)

    def pause(self, campaign: int, user: str) -> None:
        """Submit nothing more of a campaign until it is resumed."""
        with self._database.writing() as connection:
            users.move(connection, campaign, user, CampaignState.PAUSED)

    def resume(self, campaign: int, user: str) -> None:
        """Go on with a campaign that was paused."""
        with self._database.writing() as connection:
            users.move(connection, campaign, user, CampaignState.IN_TREATMENT)

    def cancel(self, campaign: int, user: str) -> None:
        """Give a campaign up, and have its jobs killed."""
        with self._database.writing() as connection:
            users.cancel(connection, campaign, user)

    def purge(self, campaign: int, user: str) -> None:
        """Take a campaign that has ended out of the store."""
        with self._database.writing() as connection:
            users.purge(connection, campaign, user)

    def kill_job(self, job: int, user: str) -> None:
        """Have a job killed; its task is given up."""
        with self._database.writing() as connection:
            users.kill_job(connection, job, user)

    def fix(self, user: str, *, campaign: int | None = None, event: int | None = None, resubmit: bool = False) -> int:
        """Close an event or all of a campaign, and have the tasks done again if wanted; how many were closed."""
        with self._database.writing() as connection:
            return users.fix(connection, user, campaign=campaign, event=event, resubmit=resubmit)

    # Clusters and preferences

    def register(self, cluster: Where) -> Where:
        """Keep a cluster, new or changed; with its number."""
        with self._database.writing() as connection:
            columns = tables.clusters.c
            number = connection.execute(select(columns.id).where(columns.name == cluster.name)).scalar()
            if number is None:
                number = next_numbers(connection, "cluster", 1)
            row = row_of(cluster, id=number)
            del row["details"]  # it is told by what is kept already
            upsert(connection, tables.clusters, [row])
            return value_of(Where, row)

    def enable(self, cluster: str, enabled: bool) -> None:
        """Use a cluster from now on, or do not."""
        with self._database.writing() as connection:
            changed = update(tables.clusters).where(tables.clusters.c.name == cluster).values(enabled=enabled)
            if not connection.execute(changed).rowcount:
                raise StoreError(f"there is no cluster {cluster}")

    def prefer(self, preference: UserPriority) -> None:
        """Keep how much a user is preferred on a cluster."""
        with self._database.writing() as connection:
            upsert(connection, tables.users_priority, [row_of(preference)])

    def clusters(self) -> tuple[Where, ...]:
        """All clusters, by number."""
        with self._database.reading() as connection:
            return values_of(Where, connection.execute(select(tables.clusters).order_by(tables.clusters.c.id)))

    # To look at

    def campaigns(self, user: str | None = None, *, ended: bool = False) -> tuple[CampaignStatus, ...]:
        """How far campaigns are: of this user, or of all; those that have ended, too, if wanted."""
        with self._database.reading() as connection:
            columns = tables.campaigns.c
            query = select(columns.id)
            if user is not None:
                query = query.where(columns.user == user)
            if not ended:
                query = query.where(columns.state.in_(("in_treatment", "paused")))
            return CampaignReader().statuses(connection, [row.id for row in connection.execute(query)])

    def campaign(self, number: int) -> CampaignStatus | None:
        """How far a campaign is; None if there is none of this number."""
        with self._database.reading() as connection:
            found = CampaignReader().statuses(connection, [number])
            return found[0] if found else None

    def jdl(self, campaign: int) -> str | None:
        """The text of a campaign as it was submitted, with all defaults."""
        with self._database.reading() as connection:
            query = select(tables.campaigns.c.jdl).where(tables.campaigns.c.id == campaign)
            found: str | None = connection.execute(query).scalar()
            return found

    def tasks(self, campaign: int, *, after: int = 0, count: int | None = None) -> tuple[Task, ...]:
        """The tasks of a campaign, by number, from behind one of them."""
        columns = tables.parameters.c
        query = select(tables.parameters).where(columns.campaign == campaign, columns.id > after).order_by(columns.id)
        with self._database.reading() as connection:
            return values_of(Task, connection.execute(query.limit(count)))

    def jobs(self, campaign: int | None = None, *, active: bool = False) -> tuple[Job, ...]:
        """Jobs, by number: of a campaign, or of all; only those that have not ended, if wanted."""
        query = select(tables.jobs).order_by(tables.jobs.c.id)
        if campaign is not None:
            query = query.where(tables.jobs.c.campaign == campaign)
        if active:
            query = query.where(tables.jobs.c.active)
        with self._database.reading() as connection:
            return values_of(Job, connection.execute(query))

    def job(self, number: int) -> Job | None:
        """A job, None if there is none of this number."""
        with self._database.reading() as connection:
            row = connection.execute(select(tables.jobs).where(tables.jobs.c.id == number)).one_or_none()
            return None if row is None else value_of(Job, row)

    def outputs(self, campaign: int | None = None, *, job: int | None = None) -> Iterator[tuple[Job, JobOutput]]:
        """What jobs printed that did not end well, by number: of a campaign, or of this job. Read as it is taken."""
        columns = tables.jobs.c
        query = select(tables.jobs, tables.outputs.c.stdout, tables.outputs.c.stderr).join(tables.outputs)
        query = query.where(columns.id == job if job is not None else columns.campaign == campaign)
        with self._database.reading() as connection:
            for row in connection.execute(query.order_by(columns.id)):
                yield value_of(Job, row), JobOutput(job=row.id, stdout=row.stdout, stderr=row.stderr)

    def task(self, number: int) -> Task | None:
        """A task, None if there is none of this number."""
        with self._database.reading() as connection:
            row = connection.execute(select(tables.parameters).where(tables.parameters.c.id == number)).one_or_none()
            return None if row is None else value_of(Task, row)

    def events(
        self, campaign: int | None = None, *, event: int | None = None, closed: bool = False
    ) -> tuple[Event, ...]:
        """Events, by number: of a campaign, this one, or those of no campaign; the closed ones, too, if wanted."""
        columns = tables.events.c
        query = select(tables.events).order_by(columns.id)
        query = query.where(columns.id == event if event is not None else columns.campaign == campaign)
        if not closed and event is None:
            query = query.where(tables.OPEN)
        with self._database.reading() as connection:
            return tuple(map(event_of, connection.execute(query)))

    def forecasts(self, campaign: int) -> tuple[Forecast, ...]:
        """The newest forecasts of a campaign; `cluster` is None in the one of all its clusters."""
        query = (
            select(tables.forecasts).where(tables.forecasts.c.campaign == campaign).order_by(tables.forecasts.c.cluster)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return tuple(value_of(Forecast, {**row._mapping, "cluster": row.cluster or None}) for row in rows)

    def durations(self, campaign: int) -> dict[str, Durations]:
        """How long the jobs of a campaign took that ended with exit code 0, by the names of the clusters."""
        columns = tables.progress.c
        with self._database.reading() as connection:
            rows = connection.execute(select(tables.progress).where(columns.campaign == campaign)).all()
        return {row.cluster: Durations(row.jobs, row.total, row.squares) for row in rows}

    def event_counts(self, campaign: int) -> dict[str, int]:
        """How many events of its jobs a campaign has had, by their codes."""
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
