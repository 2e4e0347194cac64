"""The variables in the environment of a job, each with the aliases of the specification."""

from __future__ import annotations

from batprotocol.campaigns.jdl.resources import seconds_of
from batprotocol.campaigns.model import Campaign, ClusterProperties, Job, Task

__all__ = ["ALIASES", "environment"]

ALIASES = {
    "CIGRI_NODEFILE": "CIGRI_NODE_FILE",
    "CIGRI_JOBID": "CIGRI_JOB_ID",
    "CIGRI_CAMPAIGN_ID": "CIGRI_CAMPAIGNID",
    "CIGRI_JOBNAME": "CIGRI_JOB_NAME",
    "CIGRI_WORKING_DIRECTORY": "CIGRI_WORKDIR",
}
"""The second name of a variable, and its first."""


def environment(
    campaign: Campaign, properties: ClusterProperties, job: Job, task: Task | None, *, workdir: str, node_file: str = ""
) -> dict[str, str]:
    """The variables of a job.

    Args:
        campaign: its campaign.
        properties: its keys for the cluster.
        job: the job.
        task: its task; None for a prologue or epilogue.
        workdir: the directory in which it runs.
        node_file: a file with the names of its nodes, one per line; "" if there is none.

    >>> properties = ClusterProperties(cluster="a", exec_file="x", walltime="0:10")
    >>> job = Job(id=7, campaign=3, task=1, cluster="a")
    >>> found = environment(Campaign(id=3, user="alice", name="n"), properties, job, None, workdir="/tmp")
    >>> found["CIGRI_JOBID"], found["CIGRI_CAMPAIGN_ID"], found["CIGRI_WALLTIME_SECONDS"]
    ('7', '3', '600')
    """
    found = {
        "CIGRI_NODE_FILE": node_file,
        "CIGRI_JOB_ID": str(job.id),
        "CIGRI_CAMPAIGNID": str(campaign.id),
        "CIGRI_JOB_NAME": (job.tag or "") if task is None else task.name,
        "CIGRI_USER": campaign.user,
        "CIGRI_WORKDIR": workdir,
        "CIGRI_RESOURCES": properties.resources,
        "CIGRI_WALLTIME": properties.walltime,
        "CIGRI_WALLTIME_SECONDS": f"{seconds_of(properties.walltime):.0f}",
    }
    return found | {alias: found[name] for alias, name in ALIASES.items()}
