"""Clusters: what is known of them for good, what they have free, and what they say of our jobs."""

from __future__ import annotations

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import JobState

__all__ = ["Blacklist", "Cluster", "GridStatus", "Observation", "RemoteEvent", "RemoteJob", "UserPriority"]


class Cluster(Record, frozen=True, kw_only=True):
    """A cluster that campaigns may name.

    Args:
        name: its name.
        id: its number, from 1, in the order of their registration.
        power: the speed of a resource, against those of other clusters; a campaign's clusters of equal priority are
            used from the greatest power downwards.
        batch: what drives it, for people.
        resource_unit: what a resource is there, for people.
        stress_factor: how hard it has it, as it says itself, from 0; None if it does not say.
        stress_limit: from which stress factor on nothing is given to it.
        enabled: whether it is used at all.
        details: what its driver must know, and people may: pairs of a name and a text, such as `api_url`.
    """

    name: str
    id: int = 0
    power: float = 1
    batch: str = ""
    resource_unit: str = "resource_id"
    stress_factor: float | None = None
    stress_limit: float = 0.8
    enabled: bool = True
    details: tuple[tuple[str, str], ...] = ()

    @property
    def under_stress(self) -> bool:
        """Whether it asks to be spared."""
        return self.stress_factor is not None and self.stress_factor >= self.stress_limit


class GridStatus(Record, frozen=True, kw_only=True):
    """A snapshot of a cluster's resources: a row of the table `gridstatus`.

    Args:
        cluster: the cluster's name.
        time: when, in seconds of the grid's clock.
        max: how many resources it has, those that are down not counted.
        free: how many of them nobody uses.
    """

    cluster: str
    time: float = 0.0
    max: int
    free: int

    @property
    def used(self) -> int:
        """How many resources somebody uses."""
        return self.max - self.free


class RemoteEvent(Record, frozen=True):
    """Something that a resource manager tells of a job, in OAR's words.

    Args:
        type: `BESTEFFORT_KILL`, `WALLTIME`, `FRAG_JOB_REQUEST`, `EXTERMINATE`, `WORKING_DIRECTORY`...
        description: its own words.
    """

    type: str
    description: str = ""


class RemoteJob(Record, frozen=True, kw_only=True):
    """What a cluster says of one of our jobs.

    Args:
        job: our number of it.
        state: `REMOTE_WAITING`, `RUNNING`, `TERMINATED` (it ended, however) or `SUBMITTED` (it cannot tell).
        remote_id: the cluster's name of it.
        exit_code: how it ended, as `wait` gives it: 256 for `exit 1`, 9 for signal 9; None if nobody knows.
        events: what the resource manager tells of it.
        start_time: when it began to run, in seconds of the grid's clock.
        stop_time: when it ended.
        node: where it ran, for people.
        output: the end of what it wrote to standard output, if it did not end well.
        errors: likewise to standard error.
    """

    job: int
    state: JobState
    remote_id: str | None = None
    exit_code: int | None = None
    events: tuple[RemoteEvent, ...] = ()
    start_time: float | None = None
    stop_time: float | None = None
    node: str | None = None
    output: str = ""
    errors: str = ""


class Observation(Record, frozen=True, kw_only=True):
    """All that a cluster said when it was asked.

    Args:
        cluster: its name.
        time: when it was asked, in seconds of the grid's clock.
        max: how many resources it has; 0 if it did not answer.
        free: how many of them nobody uses.
        jobs: those of our jobs that it knows, the ended ones until they are forgotten.
        error: the code of what kept it from answering (`TIMEOUT`, `CONNECTION_REFUSED`...), or None: it answered.
        message: what there is to say of the error.
        stress_factor: how hard it has it, if it says so.
    """

    cluster: str
    time: float = 0.0
    max: int = 0
    free: int = 0
    jobs: tuple[RemoteJob, ...] = ()
    error: str | None = None
    message: str = ""
    stress_factor: float | None = None


class Blacklist(Record, frozen=True):
    """A cluster that is not to be used.

    Args:
        cluster: its name.
        campaign: the number of the campaign that it failed for; None: no campaign may use it.
    """

    cluster: str
    campaign: int | None = None


class UserPriority(Record, frozen=True):
    """How much a user is preferred on a cluster: the affinity of the specification's note. None is 0.

    Args:
        user: the user's name.
        cluster: the cluster's name.
        priority: the greatest comes first; negative: after those who have none.
    """

    user: str
    cluster: str
    priority: int = 1
