"""Campaigns, tasks, jobs, clusters and events: the values that the store keeps. `model` has their public names."""

from __future__ import annotations

import math
import re
import signal
from enum import Enum, IntEnum
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model.value import Value

# The names of states and kinds, as in CiGri 3. Each is a string.


class Word(str, Enum):
    """A name of a fixed list. In every version of Python, `str` returns the name itself.

    >>> f"{GridJobState.REMOTE_WAITING}", GridJobState("running") is GridJobState.RUNNING
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


class GridJobState(Word):
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
        return self in (GridJobState.TERMINATED, GridJobState.EVENT)


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


# The base of the values of campaigns. Many have a field `type`, as in the JDL, so they have no other tag.


class GridValue(Value, frozen=True, tag=False):
    """A value of campaigns: immutable, hashable, comparable, made without checks."""


# Campaigns and their tasks.


class ClusterProperties(GridValue, frozen=True, kw_only=True):
    """The keys of a campaign for one of its clusters, with the names of the JDL.

    Args:
        cluster: the name of the cluster.
        exec_file: the command; the parameters of a task are appended to it.
        exec_directory: the directory of the command.
        walltime: the requested time, `hours:minutes:seconds`, after which a job is killed.
        resources: the resources of a job, such as `/nodes=1/cpu=2`; `batprotocol.campaigns.jdl.read_resources` reads
            them.
        properties: a condition for the resources, in the notation of the cluster's resource manager.
        project: the project that the cluster accounts the jobs to.
        type: `best-effort`: jobs of the cluster's own users may kill the jobs; `normal`: they may not.
        cluster_job_type: a type that is specific to the resource manager.
        test_mode: one job only, before the jobs of campaigns that are not tests, and not as best effort.
        max_jobs: how many jobs of the campaign may be on the cluster at once; None: no limit.
        priority: CiGri 2's order of the clusters of a campaign: the greatest first.
        prologue: commands that run once on the cluster, before the first job.
        epilogue: commands that run once on the cluster, after the last job.
        prologue_walltime: the requested time of the prologue, in place of `walltime`.
        epilogue_walltime: the requested time of the epilogue, likewise.
        result_marker: a file that marks a task as done; `{NAME}` is replaced by the name of the task. If the file
            exists, the command of the task does not begin again, and it never runs twice at a time. The file is made
            when the command ends well. Its path is relative to `exec_directory`, and its folder must exist. None: there
            is no marker, and tasks may be copied.
        temporal_grouping: whether a job may run several short tasks, one after the other.
    """

    cluster: str
    exec_file: str
    exec_directory: str = "$HOME"
    walltime: str = "01:00:00"
    resources: str = "/resource_id=1"
    properties: str = ""
    project: str = ""
    type: str = "best-effort"
    cluster_job_type: str = ""
    test_mode: bool = False
    max_jobs: int | None = None
    priority: int = 1
    prologue: tuple[str, ...] = ()
    epilogue: tuple[str, ...] = ()
    prologue_walltime: str | None = None
    epilogue_walltime: str | None = None
    result_marker: str | None = None
    output_gathering_method: str = "None"
    output_file: str | None = None
    output_destination: str | None = None
    checkpointing_type: str = "None"
    checkpointing_period: str | None = None
    temporal_grouping: bool = False
    dimensional_grouping: bool = False

    @property
    def best_effort(self) -> bool:
        """Whether the cluster's own jobs may kill its jobs: with an unknown type they may, in a test they may not."""
        return self.type != "normal" and not self.test_mode


class Campaign(GridValue, frozen=True, kw_only=True):
    """A campaign as it was submitted. `CampaignStatus` has its progress.

    Args:
        id: its number, from 1; 0 before it is submitted.
        user: the name of its user.
        name: its name.
        type: a test or not.
        jobs_type: a free text of the JDL for the kind of its jobs.
        state: its state.
        submission_time: the time of its submission, in seconds of the grid's clock.
        clusters: its clusters, in the order of the JDL.
    """

    id: int = 0
    user: str
    name: str
    type: CampaignType = CampaignType.DEFAULT
    jobs_type: str = "normal"
    state: CampaignState = CampaignState.IN_TREATMENT
    submission_time: float = 0.0
    clusters: tuple[ClusterProperties, ...] = ()

    def on(self, cluster: str) -> ClusterProperties | None:
        """Its keys for a cluster, or None if it does not run there."""
        return next((each for each in self.clusters if each.cluster == cluster), None)


class TaskPriority(IntEnum):
    """The priority of a task in its campaign: the greatest number comes first."""

    END = 0
    """It requested to run again after all others (exit code 67)."""
    USUAL = 10
    RESUBMITTED = 20
    """It was on a cluster before, and came back."""


class GridTask(GridValue, frozen=True):
    """One run of the program. It may take several jobs.

    Args:
        id: its number, unique in all campaigns.
        campaign: the number of its campaign.
        name: the first word of its parameters, unique in the campaign.
        parameters: the text that is appended to the command.
        priority: its priority in the campaign, a `TaskPriority`.
        state: its state.
    """

    id: int
    campaign: int
    name: str
    parameters: str
    priority: int = TaskPriority.USUAL
    state: TaskState = TaskState.PENDING


# Jobs: one attempt at a task, on one cluster.


class GridJob(GridValue, frozen=True, kw_only=True):
    """A task on a cluster.

    Args:
        id: its number. A cluster gets it at the submission, to recognise the job before its `remote_id` is known.
        campaign: the number of its campaign.
        task: the number of its task; None for a prologue or epilogue.
        cluster: the name of its cluster.
        state: its state.
        submission_time: the time of the decision, in seconds of the grid's clock.
        start_time: the time of its begin.
        stop_time: the time of its end.
        exit_code: its status as `wait` returns it: 256 for `exit 1`.
        remote_id: the cluster's id of the job.
        best_effort: whether the cluster's own jobs may kill it.
        replica: whether it is a copy of a task that has a job already.
        tag: `prologue`, `epilogue` or None.
        kill: the reason if it is to be killed, or None.
        weight: how many resources its JDL requests.
        group: the number of the first job of its group, which the cluster runs one after the other; None: it is alone.
    """

    id: int
    campaign: int
    task: int | None = None
    cluster: str
    state: GridJobState = GridJobState.TO_LAUNCH
    submission_time: float = 0.0
    start_time: float | None = None
    stop_time: float | None = None
    exit_code: int | None = None
    remote_id: str | None = None
    best_effort: bool = True
    replica: bool = False
    tag: str | None = None
    kill: KillReason | None = None
    weight: int = 1
    node: str | None = None
    group: int | None = None


class JobChange(GridValue, frozen=True, kw_only=True):
    """A change of a job by the updator. A field that is None is unchanged.

    Args:
        job: its number.
        state: its new state.
    """

    job: int
    state: GridJobState
    remote_id: str | None = None
    start_time: float | None = None
    stop_time: float | None = None
    exit_code: int | None = None
    node: str | None = None


class JobOutput(GridValue, frozen=True, kw_only=True):
    """The end of the output of a job that did not end well.

    Args:
        job: its number.
        stdout: the end of its standard output.
        stderr: the end of its standard error.
    """

    job: int
    stdout: str = ""
    stderr: str = ""


def exit_text(exit_code: int) -> str:
    """A description of the exit code of a job.

    Args:
        exit_code: the status as `wait` returns it.

    >>> exit_text(3 << 8), exit_text(9), exit_text(139 << 8)
    ('exit code 3', 'signal SIGKILL', "exit code 139 (a shell's code for SIGSEGV)")
    """
    number, code = exit_code & 0x7F, exit_code >> 8
    if number:
        return f"signal {_signal_name(number)}"
    shell = _signal_name(code - 128) if 128 < code < 128 + signal.NSIG else ""
    return f"exit code {code}" + (f" (a shell's code for {shell})" if shell.startswith("SIG") else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


# Clusters: their properties, their free resources, and the jobs that they report.


class GridCluster(GridValue, frozen=True, kw_only=True):
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


class GridStatus(GridValue, frozen=True, kw_only=True):
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


class RemoteEvent(GridValue, frozen=True):
    """An event of a job that its resource manager reports, with OAR's names.

    Args:
        type: `BESTEFFORT_KILL`, `WALLTIME`, `FRAG_JOB_REQUEST`, `EXTERMINATE`, `WORKING_DIRECTORY`...
        description: the text of the resource manager.
    """

    type: str
    description: str = ""


class RemoteJob(GridValue, frozen=True, kw_only=True):
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
    state: GridJobState
    remote_id: str | None = None
    exit_code: int | None = None
    events: tuple[RemoteEvent, ...] = ()
    start_time: float | None = None
    stop_time: float | None = None
    node: str | None = None
    output: str = ""
    errors: str = ""


class Observation(GridValue, frozen=True, kw_only=True):
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


class Blacklist(GridValue, frozen=True):
    """A cluster that must not be used.

    Args:
        cluster: its name.
        campaign: the number of the campaign that must not use it; None: no campaign may use it.
    """

    cluster: str
    campaign: int | None = None


class UserPriority(GridValue, frozen=True):
    """The priority of a user on a cluster: the affinity of the specification's note. The default is 0.

    Args:
        user: the name of the user.
        cluster: the name of the cluster.
        priority: the greatest comes first; users with a negative priority come after users without one.
    """

    user: str
    cluster: str
    priority: int = 1


# Events: failures of a job, a campaign or a cluster, until somebody closes them.


EventClass: TypeAlias = Literal["job", "campaign", "cluster", "notify"]
"""The subject of an event; `notify`: a notification of the user."""


class GridEvent(GridValue, frozen=True, kw_only=True):
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


# Reads the resources of a job in OAR's notation, `/nodes=1/cpu=2` or `resource_id=2`, and walltimes, `1:30:00`.


_LEVEL = re.compile(r"([A-Za-z_][A-Za-z0-9_]*) *= *(0*[1-9][0-9]{0,8}|ALL|BEST|BESTHALF)")
_WALLTIME = re.compile(r"([0-9]{1,7})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?")


class Level(GridValue, frozen=True):
    """One level of the hierarchy: a number of resources in each resource of the level above.

    Args:
        name: the name of the level: `nodes`, `cpu`, `core`, `resource_id`.
        count: the number of resources; None: all.
    """

    name: str
    count: int | None


class JobResources(GridValue, frozen=True):
    """The resources that a job requests.

    Args:
        levels: from the outermost to the innermost.
    """

    levels: tuple[Level, ...]

    @property
    def weight(self) -> int:
        """The number of resources of the innermost level.

        >>> read_resources("/nodes=2/cpu=4").weight
        8
        """
        return math.prod(1 if level.count is None else level.count for level in self.levels)

    def __str__(self) -> str:
        return "".join(f"/{level.name}={'ALL' if level.count is None else level.count}" for level in self.levels)


@lru_cache(1024)
def read_resources(text: str) -> JobResources:
    """Read a request for resources. The leading slash may be missing.

    Raises:
        InputError: it is not a hierarchy of names and numbers.

    >>> read_resources("resource_id=2")
    JobResources(levels=(Level(name='resource_id', count=2),))
    """
    levels = []
    for part in text.strip().removeprefix("/").split("/"):
        found = _LEVEL.fullmatch(part.strip())
        if found is None:
            raise InputError(f"expected a hierarchy such as /nodes=1/cpu=2, found {shown(text)}", "resources")
        levels.append(Level(found[1], int(found[2]) if found[2].isdigit() else None))
    return JobResources(tuple(levels))


def seconds_of(walltime: str) -> float:
    """The seconds of a walltime, `hours:minutes:seconds`. Missing parts are 0: `2` is two hours, as in OAR.

    Raises:
        InputError: it is not such a time.

    >>> seconds_of("01:00:00"), seconds_of("1:30"), seconds_of("2")
    (3600.0, 5400.0, 7200.0)
    """
    found = _WALLTIME.fullmatch(walltime.strip())
    if found is None:
        raise InputError(f"expected hours:minutes:seconds, found {shown(walltime)}", "walltime")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 3600.0 * hours + 60.0 * minutes + seconds


# Values in the notation of Ruby, for CiGri's messages and tables.


def as_ruby(value: Any) -> str:
    """A value of JSON in the notation of Ruby 3.3.

    >>> as_ruby({"besteffort": False, "ids": [1, None], "name": 'a "b"'})
    '{"besteffort"=>false, "ids"=>[1, nil], "name"=>"a \\\\"b\\\\""}'
    """
    if value is None:
        return "nil"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{as_ruby(key)}=>{as_ruby(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_ruby, value))}]"
    return msgspec.json.encode(value).decode()
