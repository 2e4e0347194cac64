"""The sentences with which CiGri's commands answer what somebody wants done."""

from __future__ import annotations

from typing import Literal

import msgspec

from batprotocol.campaigns.model import CampaignStatus
from batprotocol.campaigns.text.gridstat import campaign_item

__all__ = ["changed", "events_closed", "failed", "foreign", "not_found", "submitted"]


def submitted(status: CampaignStatus, *, details: bool = False) -> str:
    """A campaign was submitted; with all that is known of it, if that is asked for."""
    item = [msgspec.json.encode(campaign_item(status)).decode()] if details else []
    return "\n".join(["Campaign successfully submitted", *item, f"CAMPAIGN_ID={status.campaign.id}"])


def changed(campaign: int, what: Literal["cancelled", "paused", "resumed", "purged"]) -> str:
    """Something was done to a campaign.

    >>> changed(4, "paused")
    'Campaign 4 paused.'
    """
    return f"Campaign {campaign} {what}."


def events_closed(campaign: int) -> str:
    """The events of a campaign were closed."""
    return f"Campaign {campaign} events closed."


def foreign(user: str, campaign: int, *, job: bool = False) -> str:
    """Why something is refused: the campaign, or that of the job, is another user's.

    >>> foreign("alice", 3)
    "Campaign 3 does not belong to you: User 'alice' is not the owner of campaign '3'."
    """
    reason = f"User '{user}' is not the owner of campaign '{campaign}'."
    return reason if job else f"Campaign {campaign} does not belong to you: {reason}"


def failed(what: str, reason: str) -> str:
    """Something was not done.

    >>> failed("cancel campaign 4", "Campaign already cancelled.")
    'Failed to cancel campaign 4: Campaign already cancelled.'
    """
    return f"Failed to {what}: {reason}"


def not_found(campaign: int) -> str:
    """There is no campaign of this number."""
    return f"Campaign {campaign} not found!"
