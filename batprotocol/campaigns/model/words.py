"""The names of states and kinds, as in CiGri 3. Each is a string."""

from __future__ import annotations

from enum import Enum

__all__ = ["CampaignState", "CampaignType", "EventState", "JobState", "KillReason", "TapState", "TaskState", "Word"]


class Word(str, Enum):
    """A name of a fixed list. In every version of Python, `str` returns the name itself.

    >>> f"{JobState.REMOTE_WAITING}", JobState("running") is JobState.RUNNING
    ('remote_waiting', True)
    """

    def __str__(self) -> str:
        return str.__str__(self)

    def __format__(self, specification: str) -> str:
        return str.__format__(str(self), specification)


class CampaignState(Word):
    """The state of a campaign."""

    IN_TREATMENT = "in_treatment"
    """Its tasks are submitted to clusters."""
    PAUSED = "paused"
    """No task is submitted until its user resumes it."""
    CANCELLED = "cancelled"
    """Its user has cancelled it."""
    TERMINATED = "terminated"
    """All its tasks have ended."""


class CampaignType(Word):
    """The type of a campaign."""

    DEFAULT = "default"
    """All its tasks run."""
    TEST = "test"
    """One job on each of its clusters, before all default campaigns."""


class TaskState(Word):
    """The state of a task. It ends once: as `TERMINATED`, `EVENT` (until its user resubmits it) or `CANCELLED`."""

    PENDING = "pending"
    """It waits for a cluster: it is in the bag of tasks."""
    ACTIVE = "active"
    """It is in at least one job."""
    TERMINATED = "terminated"
    """A job of it ended with exit code 0."""
    EVENT = "event"
    """Its job failed; an event has the reason."""
    CANCELLED = "cancelled"
    """Its user has cancelled its campaign, or killed its job."""


class JobState(Word):
    """The state of a job. In the last two, it has ended."""

    TO_LAUNCH = "to_launch"
    """It is decided, but its cluster may not have it yet."""
    SUBMITTED = "submitted"
    """Its cluster has it, and has not reported its state yet."""
    REMOTE_WAITING = "remote_waiting"
    """It waits in the cluster's queue."""
    RUNNING = "running"
    TERMINATED = "terminated"
    """It ended with exit code 0."""
    EVENT = "event"
    """It did not end well; an event has the reason."""

    @property
    def ended(self) -> bool:
        """Whether the job has ended."""
        return self in (JobState.TERMINATED, JobState.EVENT)


class KillReason(Word):
    """The reason to kill a job. It is only an intention until the cluster reports the end of the job."""

    OVERFLOW = "FRAG"
    """Too many jobs waited on its cluster: its task goes back."""
    STALE = "FRAG_STALE"
    """It waited too long: its task goes back, and prefers other clusters."""
    WALLTIME = "CIGRI_WALLTIME"
    """It ran longer than its walltime and a time of grace."""
    REPLICA = "REPLICA"
    """Another copy of its task has ended."""
    USER = "USER_FRAG"
    """Its user has killed it, or cancelled its campaign."""


class EventState(Word):
    """Whether an event is open."""

    OPEN = "open"
    CLOSED = "closed"


class TapState(Word):
    """Whether a campaign may submit jobs to a cluster."""

    OPEN = "open"
    CLOSED = "closed"
