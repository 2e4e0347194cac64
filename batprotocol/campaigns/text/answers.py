"""The answers of CiGri's commands to requests."""

from __future__ import annotations

from typing import Literal

import msgspec

from batprotocol.campaigns.model import CampaignStatus
from batprotocol.campaigns.text.gridstat import campaign_item

__all__ = ["changed", "events_closed", "failed", "foreign", "not_found", "submitted"]


def submitted(status: CampaignStatus, *, details: bool = False) -> str:
    """The answer to a submission; with `details`, all fields of the campaign."""
    item = [msgspec.json.encode(campaign_item(status)).decode()] if details else []
    return "\n".join(["Campaign successfully submitted", *item, f"CAMPAIGN_ID={status.campaign.id}"])


def changed(campaign: int, what: Literal["cancelled", "paused", "resumed", "purged"]) -> str:
    """The answer to a change of a campaign.

    >>> changed(4, "paused")
    'Campaign 4 paused.'
    """
    return f"Campaign {campaign} {what}."


def events_closed(campaign: int) -> str:
    """The answer when the events of a campaign were closed."""
    return f"Campaign {campaign} events closed."


def foreign(user: str, campaign: int, *, job: bool = False) -> str:
    """The reason of a refusal: the campaign, or that of the job, belongs to another user.

    >>> foreign("alice", 3)
    "Campaign 3 does not belong to you: User 'alice' is not the owner of campaign '3'."
    """
    reason = f"User '{user}' is not the owner of campaign '{campaign}'."
    return reason if job else f"Campaign {campaign} does not belong to you: {reason}"


def failed(what: str, reason: str) -> str:
    """The answer to a request that failed.

    >>> failed("cancel campaign 4", "Campaign already cancelled.")
    'Failed to cancel campaign 4: Campaign already cancelled.'
    """
    return f"Failed to {what}: {reason}"


def not_found(campaign: int) -> str:
    """The answer if there is no campaign of this number."""
    return f"Campaign {campaign} not found!"
