"""Clusters: their properties, their free resources, and the jobs that they report."""

from __future__ import annotations

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import JobState

__all__ = ["Blacklist", "Cluster", "GridStatus", "Observation", "RemoteEvent", "RemoteJob", "UserPriority"]


class Cluster(Record, frozen=True, kw_only=True):
    """A cluster that campaigns may use.

    Args:
        name: its name.
        id: its number, from 1, in the order of registration.
        power: the speed of a resource, relative to those of other clusters. Of the clusters of a campaign with equal
            priority, those with the greatest power are used first.
        batch: the name of its resource manager, for display.
        resource_unit: the name of a resource, for display.
        stress_factor: the load that it reports, from 0; None if it reports none.
        stress_limit: the stress factor from which on it gets no jobs.
        enabled: whether it is used.
        details: pairs of a name and a text for its resource manager, such as `api_url`.
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
        """Whether its stress factor has reached the limit."""
        return self.stress_factor is not None and self.stress_factor >= self.stress_limit


class GridStatus(Record, frozen=True, kw_only=True):
    """A snapshot of a cluster's resources: a row of the table `gridstatus`.

    Args:
        cluster: the name of the cluster.
        time: the time of the snapshot, in seconds of the grid's clock.
        max: how many resources it has, without those that are down.
        free: how many of them are free.
    """

    cluster: str
    time: float = 0.0
    max: int
    free: int

    @property
    def used(self) -> int:
        """How many resources are in use."""
        return self.max - self.free


class RemoteEvent(Record, frozen=True):
    """An event of a job that its resource manager reports, with OAR's names.

    Args:
        type: `BESTEFFORT_KILL`, `WALLTIME`, `FRAG_JOB_REQUEST`, `EXTERMINATE`, `WORKING_DIRECTORY`...
        description: the text of the resource manager.
    """

    type: str
    description: str = ""


class RemoteJob(Record, frozen=True, kw_only=True):
    """One of the campaigns' jobs, as its cluster reports it.

    Args:
        job: the campaigns' number of the job.
        state: `REMOTE_WAITING`, `RUNNING`, `TERMINATED` (it ended, well or not) or `SUBMITTED` (unknown).
        remote_id: the cluster's id of the job.
        exit_code: its status as `wait` returns it: 256 for `exit 1`, 9 for signal 9; None if it is unknown.
        events: the events of the job.
        start_time: the time of its begin, in seconds of the grid's clock.
        stop_time: the time of its end.
        node: the node on which it ran, for display.
        output: the end of its standard output, if it did not end well.
        errors: the end of its standard error, likewise.
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
    """The answer of a cluster: its resources and jobs, or an error.

    Args:
        cluster: its name.
        time: the time of the answer, in seconds of the grid's clock.
        max: how many resources it has; 0 if it did not answer.
        free: how many of them are free.
        jobs: the campaigns' jobs that it knows. Jobs that have ended are included until they are forgotten.
        error: the code of the error if it did not answer (`TIMEOUT`, `CONNECTION_REFUSED`...), or None.
        message: a description of the error.
        stress_factor: the load that it reports, if it reports one.
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
    """A cluster that must not be used.

    Args:
        cluster: its name.
        campaign: the number of the campaign that must not use it; None: no campaign may use it.
    """

    cluster: str
    campaign: int | None = None


class UserPriority(Record, frozen=True):
    """The priority of a user on a cluster: the affinity of the specification's note. The default is 0.

    Args:
        user: the name of the user.
        cluster: the name of the cluster.
        priority: the greatest comes first; users with a negative priority come after users without one.
    """

    user: str
    cluster: str
    priority: int = 1
