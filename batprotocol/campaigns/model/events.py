"""Events: what went wrong, with a job, a campaign or a cluster, until somebody closes it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import EventState

__all__ = ["Event", "EventClass"]

EventClass: TypeAlias = Literal["job", "campaign", "cluster", "notify"]
"""What an event is about; `notify`: what users are told of."""


class Event(Record, frozen=True, kw_only=True):
    """Something that somebody should know of.

    Args:
        id: its number, from 1; 0 before it is stored.
        class_: what it is about.
        code: what happened: `EXIT_ERROR`, `BLACKLIST`, `RESUBMIT`...
        state: whether it is still to be looked at.
        date: when, in seconds of the grid's clock.
        job: the number of the job that it is about.
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        parent: the number of the event that it follows from: a `BLACKLIST` is lifted when its parent is closed.
        message: what there is to say.
        blacklists: whether its cluster is not to be used until it is closed, by its campaign or, for an event of class
            `cluster`, by any. Who stores it adds `blacklist_event(event)` of `batprotocol.campaigns.entities.failures`.
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
