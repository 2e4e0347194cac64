"""The keys of the vocabulary: those of jobs and those of hosts, each with its kind, its meaning and Slurm's word.

The readers, the JSON schema and the page of the handbook use these tables.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["HOST_KEYS", "JOB_KEYS", "Key"]


class Key(NamedTuple):
    """A key of jobs or hosts.

    Attributes:
        kind: the kind of its value, a name of `schema.KINDS`.
        meaning: one sentence.
        slurm: the option of sbatch or the parameter of slurm.conf that means the same; "" if there is none.
    """

    kind: str
    meaning: str
    slurm: str = ""


JOB_KEYS: Final[dict[str, Key]] = {
    "name": Key("text", "The name of the job, which `singleton` compares.", "--job-name"),
    "user": Key("id", "The user who submitted the job.", "--uid"),
    "group": Key("id", "The group of the user.", "--gid"),
    "account": Key("text", "The account that is charged.", "--account"),
    "qos": Key("text", "The quality of service.", "--qos"),
    "partition": Key("texts", "The partitions that the job may run in, the preferred one first.", "--partition"),
    "priority": Key("count", "The priority that an administrator set; larger comes first.", "--priority"),
    "nice": Key("integer", "A number that is subtracted from the priority.", "--nice"),
    "begin": Key("moment", "The job does not start before this moment.", "--begin"),
    "deadline": Key("moment", "The job must be able to end by this moment; else it is rejected.", "--deadline"),
    "constraint": Key("constraint", "The features that hosts must have.", "--constraint"),
    "tasks": Key("positive", "The number of tasks, divided evenly among the hosts.", "--ntasks"),
    "cores": Key("positive", "Cores on each host, or for each task.", "--cpus-per-task"),
    "memory": Key("memory", "Memory on each host, or for each task; without a unit in MiB.", "--mem"),
    "gres": Key("gres", "Generic resources on each host, or for each task.", "--gres, --gpus-per-task"),
    "licenses": Key(
        "licenses", "The licences that the job takes, of all hosts together. Only `slurm` counts them.", "--licenses"
    ),
    "per": Key("per", "Whether `cores`, `memory` and `gres` count for each host (the default) or each task."),
    "nodelist": Key("hostnames", "The hosts that the job must have, by their names, as `n[0-3,8]`.", "--nodelist"),
    "exclude": Key("hostnames", "The hosts that the job must not have, by their names.", "--exclude"),
    "exclusive": Key("boolean", "Whether the job shares its hosts with no other job.", "--exclusive"),
    "contiguous": Key("boolean", "Whether the hosts must have consecutive numbers.", "--contiguous"),
    "dependency": Key("dependency", "The conditions that must hold before the job can start.", "--dependency"),
    "workflow": Key("text", "The workflow that the job is a task of."),
    "array": Key("array", "The array that the job is a task of: `ID_TASK`, or `ID_TASK%LIMIT`.", "--array"),
    "requeue": Key("boolean", "Whether the job may run again after it was preempted or its host failed.", "--requeue"),
    "reservation": Key("text", "The reservation that the job uses.", "--reservation"),
    "recorded": Key(
        "recorded",
        'When and where a log says that the job started: `{"start": 60, "hosts": "0-3"}`, in seconds. With `cores`, so '
        "many cores fill the hosts one after the other.",
    ),
}
"""The keys of the extra data of jobs."""

HOST_KEYS: Final[dict[str, Key]] = {
    "partitions": Key("texts", "The partitions that the host belongs to.", "PartitionName=... Nodes="),
    "features": Key("texts", "The features that constraints can name.", "Feature="),
    "cores": Key("positive", "The cores that jobs can have; by default those of the platform.", "CPUs="),
    "memory": Key("memory", "The memory that jobs can have; without a unit in MiB.", "RealMemory="),
    "gres": Key("gres", "The generic resources that jobs can have.", "Gres="),
    "weight": Key("count", "Hosts with a smaller weight are allocated first.", "Weight="),
}
"""The keys of the properties of hosts."""
