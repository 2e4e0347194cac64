"""The requests of users: to submit, pause, cancel and fix campaigns. Each is one transaction.

The owner of a campaign is checked here, for all commands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from batprotocol.campaigns.jdl import names_of
from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    EventChange,
    KillReason,
    TaskChange,
    TaskPriority,
    TaskState,
)
from batprotocol.campaigns.store import _tables as tables
from batprotocol.campaigns.store._cycle import change_events, change_tasks
from batprotocol.campaigns.store._engine import NUMBERS, in_pieces, insert_rows
from batprotocol.campaigns.store._tables import next_numbers, row_of
from batprotocol.errors import StoreError, shown

ROWS: Final = 10_000
"""How many tasks are written at a time, to save memory."""

_MOVES: Final = {
    CampaignState.PAUSED: ((CampaignState.IN_TREATMENT,), "paused"),
    CampaignState.IN_TREATMENT: ((CampaignState.PAUSED,), "resumed"),
}


def submit(connection: Connection, campaign: Campaign, parameters: Sequence[str], *, jdl: str, now: float) -> int:
    """Store a new campaign and its tasks; return its number.

    Args:
        connection: a connection in a transaction.
        campaign: the campaign. Its number and submission time are set here. A campaign without a name, or with its
            expected number (`id`) as its name, is called by the number that is set here.
        parameters: the parameters of its tasks; the first word of each is the name of the task.
        jdl: the text of its JDL.
        now: seconds of the grid's clock.

    Raises:
        StoreError: two tasks have the same name.
    """
    number = next_numbers(connection, "campaign", 1)
    by_number = not campaign.name or (campaign.id > 0 and campaign.name == str(campaign.id))
    name = str(number) if by_number else campaign.name
    row = row_of(campaign, id=number, name=name, submission_time=now, jdl=jdl)
    del row["clusters"]
    connection.execute(insert(tables.campaigns), [row])
    properties = [
        {"campaign": number, "cluster": each.cluster, "position": position, "properties": _json(each)}
        for position, each in enumerate(campaign.clusters)
    ]
    insert_rows(connection, tables.campaign_properties, properties)
    _insert_tasks(connection, number, parameters)
    return number


def add_tasks(connection: Connection, number: int, user: str, parameters: Sequence[str]) -> None:
    """Add tasks to a campaign that has not ended."""
    row = _owned(connection, number, user)
    if row.state not in ("in_treatment", "paused"):
        raise StoreError(f"campaign {number} is {row.state}: add tasks only to a campaign that has not ended")
    _insert_tasks(connection, number, parameters)


def move(connection: Connection, number: int, user: str, state: CampaignState) -> None:
    """Pause a campaign (`PAUSED`), or resume it (`IN_TREATMENT`)."""
    row = _owned(connection, number, user)
    before, done = _MOVES[state]
    if row.state not in before:
        raise StoreError(f"campaign {number} is {row.state}: it cannot be {done}")
    connection.execute(update(tables.campaigns).where(_campaigns.id == number).values(state=str(state)))


def cancel(connection: Connection, number: int, user: str) -> None:
    """Cancel a campaign: waiting tasks are cancelled, and running jobs are marked to be killed."""
    row = _owned(connection, number, user)
    if row.state in ("cancelled", "terminated"):
        raise StoreError(f"campaign {number} is already {row.state}")
    connection.execute(
        update(tables.parameters)
        .where(_tasks.campaign == number, tables.PENDING)
        .values(state=str(TaskState.CANCELLED))
    )
    connection.execute(
        update(tables.campaigns)
        .where(_campaigns.id == number)
        .values(state="cancelled", failed=_campaigns.failed + _campaigns.pending, pending=0)
    )
    _kill(connection, _jobs.campaign == number)


def kill_job(connection: Connection, number: int, user: str) -> None:
    """Mark a job to be killed, and cancel its task."""
    row = connection.execute(select(_jobs.campaign, _jobs.active).where(_jobs.id == number)).one_or_none()
    if row is None:
        raise StoreError(f"there is no job {number}")
    _owned(connection, row.campaign, user)
    if not row.active:
        raise StoreError(f"job {number} has ended")
    _kill(connection, _jobs.id == number)


def fix(
    connection: Connection, user: str, *, campaign: int | None = None, event: int | None = None, resubmit: bool = False
) -> int:
    """Close an event, or all events of a campaign; return how many. Tasks of their jobs may go back into the bag."""
    open = [tables.OPEN]
    if event is not None:
        of = connection.execute(select(_events.campaign).where(_events.id == event)).one_or_none()
        if of is None:
            raise StoreError(f"there is no event {event}")
        if of.campaign is not None:
            _owned(connection, of.campaign, user)
        chosen = [_events.id == event, *open]
    else:
        assert campaign is not None
        _owned(connection, campaign, user)
        chosen = [_events.campaign == campaign, *open]
    rows = connection.execute(select(_events.id, _events.job).where(*chosen)).all()
    change_events(connection, [EventChange(row.id) for row in rows])
    if resubmit:
        numbers = [row.job for row in rows if row.job is not None]
        failed = {row.id: row.campaign for row in in_pieces(connection, _FAILED, numbers)}
        again = [
            TaskChange(task=task, state=TaskState.PENDING, priority=TaskPriority.RESUBMITTED) for task in sorted(failed)
        ]
        change_tasks(connection, again)
        for reopened in sorted(set(failed.values())):
            connection.execute(
                update(tables.campaigns)
                .where(_campaigns.id == reopened, _campaigns.state == "terminated")
                .values(state=str(CampaignState.IN_TREATMENT))
            )
    return len(rows)


def purge(connection: Connection, number: int, user: str) -> None:
    """Remove a campaign that has ended from all tables."""
    row = _owned(connection, number, user)
    active = connection.execute(select(func.count()).where(_jobs.campaign == number, _jobs.active)).scalar()
    if row.state not in ("cancelled", "terminated") or active:
        raise StoreError(f"campaign {number} has not ended: cancel it, and wait for its jobs")
    connection.execute(delete(tables.jobs).where(_jobs.campaign == number))
    connection.execute(delete(tables.campaigns).where(_campaigns.id == number))  # and all rows that refer to it


def _owned(connection: Connection, number: int, user: str) -> Any:
    """The row of a campaign of this user. An empty name means an administrator."""
    row = connection.execute(select(_campaigns.user, _campaigns.state).where(_campaigns.id == number)).one_or_none()
    if row is None:
        raise StoreError(f"there is no campaign {number}")
    if user and row.user != user:
        raise StoreError(f"user {user!r} is not the owner of campaign {number}, but {row.user!r} is")
    return row


def _insert_tasks(connection: Connection, campaign: int, parameters: Sequence[str]) -> None:
    if not parameters:
        return
    number = next_numbers(connection, "task", len(parameters))
    usual = {"campaign": campaign, "priority": int(TaskPriority.USUAL), "state": str(TaskState.PENDING)}
    for begin in range(0, len(parameters), ROWS):
        piece = parameters[begin : begin + ROWS]
        rows = [
            {"id": place, "name": name, "parameters": each, **usual}
            for place, (name, each) in enumerate(zip(names_of(piece), piece, strict=True), number + begin)
        ]
        try:
            connection.execute(insert(tables.parameters), rows)
        except IntegrityError:
            raise StoreError(f"campaign {campaign}: {_twice(parameters)}") from None
    count = {"total": _campaigns.total + len(parameters), "pending": _campaigns.pending + len(parameters)}
    connection.execute(update(tables.campaigns).where(_campaigns.id == campaign).values(**count))


def _twice(parameters: Iterable[str]) -> str:
    """The message with the name that occurs twice. The transaction is lost, so only the new names are known."""
    counted = Counter(names_of(parameters))
    repeated = next((name for name, count in counted.items() if count > 1), None)
    if repeated is not None:
        return f"two tasks have the name {shown(repeated)}: use different first words in the parameters"
    return "a new task has the name of an existing one: use different first words in the parameters"


def _kill(connection: Connection, which: Any) -> None:
    marked = update(tables.jobs).where(which, _jobs.active, _jobs.kill.is_(None))
    connection.execute(marked.values(kill=str(KillReason.USER)))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_campaigns, _tasks, _jobs, _events = tables.campaigns.c, tables.parameters.c, tables.jobs.c, tables.events.c
_FAILED: Final = (
    select(_tasks.id, _tasks.campaign)
    .join(tables.jobs, _jobs.task == _tasks.id)
    .where(_jobs.id.in_(NUMBERS), _tasks.state == "event")
)
