"""Events: failures of a job, a campaign or a cluster, until somebody closes them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import EventState

__all__ = ["Event", "EventClass"]

EventClass: TypeAlias = Literal["job", "campaign", "cluster", "notify"]
"""The subject of an event; `notify`: a notification of the user."""


class Event(Record, frozen=True, kw_only=True):
    """A failure, or another event that a person should know.

    Args:
        id: its number, from 1; 0 before it is stored.
        class_: its subject.
        code: the kind of the event: `EXIT_ERROR`, `BLACKLIST`, `RESUBMIT`...
        state: whether it is open.
        date: its time, in seconds of the grid's clock.
        job: the number of its job.
        campaign: the number of its campaign.
        cluster: the name of its cluster.
        parent: the number of the event that caused it: a `BLACKLIST` ends when its parent is closed.
        message: the description.
        blacklists: whether its campaign must not use the cluster until it is closed; for an event of class `cluster`,
            no campaign may. The store adds `blacklist_event(event)` of `batprotocol.campaigns.entities.failures`.
    """

    id: int = 0
    class_: EventClass
    code: str
    state: EventState = EventState.OPEN
    date: float = 0.0
    job: int | None = None
    campaign: int | None = None
    cluster: str | None = None
    parent: int | None = None
    message: str = ""
    blacklists: bool = False
