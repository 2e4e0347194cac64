"""The rates at which clusters get jobs of campaigns: CiGri 3's taps, and the states of controllers."""

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
        close_date: the time at which it was last closed, in seconds of the grid's clock; None: never.
    """

    campaign: int
    cluster: str
    state: TapState = TapState.OPEN
    rate: int = 3
    close_date: float | None = None


class ControllerState(Record, frozen=True, kw_only=True):
    """The state of the controller of a campaign on a cluster.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        submitted: how many jobs to submit in a cycle, before rounding.
        integral: the sum of the errors so far.
    """

    campaign: int
    cluster: str
    submitted: float = 0.0
    integral: float = 0.0
