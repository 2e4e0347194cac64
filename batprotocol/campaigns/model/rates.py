"""How fast a campaign's jobs flow to a cluster: CiGri 3's taps, and what a controller remembers."""

from __future__ import annotations

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import TapState

__all__ = ["ControllerState", "Tap"]


class Tap(Record, frozen=True, kw_only=True):
    """A tap between a campaign and a cluster. `batprotocol.campaigns.entities.taps` turns it.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        state: whether it is open.
        rate: how many jobs may be submitted in a cycle while it is open.
        close_date: when it was last closed, in seconds of the grid's clock; None: never.
    """

    campaign: int
    cluster: str
    state: TapState = TapState.OPEN
    rate: int = 3
    close_date: float | None = None


class ControllerState(Record, frozen=True, kw_only=True):
    """What the controller of a campaign on a cluster remembers.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        submitted: how many jobs to submit in a cycle, before it is made a whole number.
        integral: the sum of the errors so far.
    """

    campaign: int
    cluster: str
    submitted: float = 0.0
    integral: float = 0.0
