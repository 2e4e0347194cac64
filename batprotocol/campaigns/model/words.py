"""The words for states and kinds, as CiGri 3 writes them. Each is a string, to go into tables and texts as it is."""

from __future__ import annotations

from enum import Enum

__all__ = ["CampaignState", "CampaignType", "EventState", "JobState", "KillReason", "TapState", "TaskState", "Word"]


class Word(str, Enum):
    """A word out of a list. As text it is the word itself, with every Python.

    >>> f"{JobState.REMOTE_WAITING}", JobState("running") is JobState.RUNNING
    ('remote_waiting', True)
    """

    def __str__(self) -> str:
        return str.__str__(self)

    def __format__(self, specification: str) -> str:
        return str.__format__(str(self), specification)


class CampaignState(Word):
    """What becomes of a campaign."""

    IN_TREATMENT = "in_treatment"
    """Its tasks are given to clusters."""
    PAUSED = "paused"
    """Nothing new is submitted until its user resumes it."""
    CANCELLED = "cancelled"
    """Its user gave it up."""
    TERMINATED = "terminated"
    """All its tasks have ended."""


class CampaignType(Word):
    """What a campaign is for."""

    DEFAULT = "default"
    """All its tasks are to be done."""
    TEST = "test"
    """One job on each of its clusters, before all default campaigns."""


class TaskState(Word):
    """Where a task is. It ends once: as `TERMINATED`, `EVENT` (until its user resubmits it) or `CANCELLED`."""

    PENDING = "pending"
    """It waits to be given to a cluster: it is in the bag of tasks."""
    ACTIVE = "active"
    """It is in at least one job."""
    TERMINATED = "terminated"
    """A job of it ended with exit code 0."""
    EVENT = "event"
    """Its job failed; an event says why."""
    CANCELLED = "cancelled"
    """Its campaign was cancelled, or its job killed by its user."""


class JobState(Word):
    """Where a job is. The last two are ends."""

    TO_LAUNCH = "to_launch"
    """It is decided, and nobody has told the cluster yet, or not for certain."""
    SUBMITTED = "submitted"
    """The cluster has it, and has not yet said how it is."""
    REMOTE_WAITING = "remote_waiting"
    """It waits in the cluster's queue."""
    RUNNING = "running"
    TERMINATED = "terminated"
    """It ended with exit code 0."""
    EVENT = "event"
    """It ended otherwise; an event says how."""

    @property
    def ended(self) -> bool:
        """Whether it stays like that."""
        return self in (JobState.TERMINATED, JobState.EVENT)


class KillReason(Word):
    """Why we had a job killed. It is only an intention until the cluster says how the job ended."""

    OVERFLOW = "FRAG"
    """Too many jobs waited on its cluster: its task goes back."""
    STALE = "FRAG_STALE"
    """It waited too long: its task goes back, and rather to another cluster."""
    WALLTIME = "CIGRI_WALLTIME"
    """It ran longer than its walltime and a time of grace."""
    REPLICA = "REPLICA"
    """Another copy of its task has ended."""
    USER = "USER_FRAG"
    """Its user wants it so, or cancelled its campaign."""


class EventState(Word):
    """Whether somebody must still look at an event."""

    OPEN = "open"
    CLOSED = "closed"


class TapState(Word):
    """Whether jobs flow from a campaign to a cluster."""

    OPEN = "open"
    CLOSED = "closed"
