"""Campaigns: one program to be run many times, each time with other parameters, on any of several clusters."""

from __future__ import annotations

from enum import IntEnum

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import CampaignState, CampaignType, TaskState

__all__ = ["Campaign", "ClusterProperties", "Task", "TaskPriority"]


class ClusterProperties(Record, frozen=True, kw_only=True):
    """What a campaign says of one of its clusters, in the words of the JDL.

    Args:
        cluster: the cluster's name.
        exec_file: the command; a task's parameters are appended to it.
        exec_directory: where it is run.
        walltime: `hours:minutes:seconds`, after which a job is killed.
        resources: what a job asks for, `/nodes=1/cpu=2`; `batprotocol.campaigns.jdl.read_resources` reads it.
        properties: a condition that the resources must meet, as the cluster's resource manager writes conditions.
        project: whom the cluster accounts the jobs to.
        type: `best-effort` jobs may be killed by the cluster for those of its own users; `normal` ones not.
        cluster_job_type: a type of the resource manager's own.
        test_mode: one job only, before the jobs of campaigns that are no tests, and not as best effort.
        max_jobs: how many jobs of the campaign may be on the cluster at once; None: as many as fit.
        priority: CiGri 2's order of a campaign's clusters: the greatest first.
        prologue: commands to be run once on the cluster before the first job.
        epilogue: commands to be run once after the last one.
        prologue_walltime: after which the prologue is killed, in place of `walltime`.
        epilogue_walltime: after which the epilogue is killed, likewise.
        result_marker: a file that says that a task is done, `{NAME}` standing for the task's name: its command is not
            begun again when the file is there, and never twice at a time. It is made when the command ends well, in
            `exec_directory` unless its path is absolute, in a folder that is there. None: there is none, and tasks may
            be copied.
        temporal_grouping: whether short tasks may be run one after the other, in one job.
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
        """Whether its jobs give way to the cluster's own. An unknown type means that they do; a test's jobs do not."""
        return self.type != "normal" and not self.test_mode


class Campaign(Record, frozen=True, kw_only=True):
    """A campaign as it was submitted. How far it is, `CampaignStatus` says.

    Args:
        id: its number, from 1; 0 before it is submitted.
        user: whose it is.
        name: what its user calls it.
        type: a test or not.
        jobs_type: the JDL's free word for the kind of its jobs.
        state: what becomes of it.
        submission_time: seconds of the grid's clock.
        clusters: where it may run, in the order of the JDL.
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
        """What it says of a cluster, or None if it does not run there."""
        return next((each for each in self.clusters if each.cluster == cluster), None)


class TaskPriority(IntEnum):
    """Which task of a campaign comes first: that with the greatest number."""

    END = 0
    """It asked to be run again after all others (exit code 67)."""
    USUAL = 10
    RESUBMITTED = 20
    """It was given to a cluster before, and came back."""


class Task(Record, frozen=True):
    """One run of the program, however many jobs it takes.

    Args:
        id: its number, over all campaigns.
        campaign: the number of its campaign.
        name: the first word of its parameters, unique in the campaign.
        parameters: what is appended to the command.
        priority: which comes first, a `TaskPriority`.
        state: where it is.
    """

    id: int
    campaign: int
    name: str
    parameters: str
    priority: int = TaskPriority.USUAL
    state: TaskState = TaskState.PENDING
