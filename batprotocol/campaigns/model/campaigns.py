"""Campaigns: one program that runs many times, each time with other parameters, on several clusters."""

from __future__ import annotations

from enum import IntEnum

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import CampaignState, CampaignType, TaskState

__all__ = ["Campaign", "ClusterProperties", "Task", "TaskPriority"]


class ClusterProperties(Record, frozen=True, kw_only=True):
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


class Campaign(Record, frozen=True, kw_only=True):
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


class Task(Record, frozen=True):
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
