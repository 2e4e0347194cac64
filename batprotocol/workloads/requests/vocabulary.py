"""The keys of jobs and of hosts, each with its kind, its meaning and Slurm's word, as tables and as JSON schema.

The readers, the JSON schema and the page of the handbook use these tables.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from batprotocol.workloads.requests.notation import DEPENDENCY_KINDS

__all__ = [
    "HOST_KEYS",
    "JOB_KEYS",
    "SLURM_KEYS",
    "RequestKey",
    "host_schema",
    "request_schema",
]


class RequestKey(NamedTuple):
    """A key of jobs or hosts.

    Attributes:
        kind: the kind of its value, a name of `schema.KINDS`.
        meaning: one sentence.
        slurm: the option of sbatch or the parameter of slurm.conf that means the same; "" if there is none.
    """

    kind: str
    meaning: str
    slurm: str = ""


JOB_KEYS: Final[dict[str, RequestKey]] = {
    "name": RequestKey("text", "The name of the job, which `singleton` compares.", "--job-name"),
    "user": RequestKey("id", "The user who submitted the job.", "--uid"),
    "group": RequestKey("id", "The group of the user.", "--gid"),
    "account": RequestKey("text", "The account that is charged.", "--account"),
    "qos": RequestKey("text", "The quality of service.", "--qos"),
    "partition": RequestKey("texts", "The partitions that the job may run in, the preferred one first.", "--partition"),
    "priority": RequestKey("count", "The priority that an administrator set; larger comes first.", "--priority"),
    "nice": RequestKey("integer", "A number that is subtracted from the priority.", "--nice"),
    "begin": RequestKey("moment", "The job does not start before this moment.", "--begin"),
    "deadline": RequestKey("moment", "The job must be able to end by this moment; else it is rejected.", "--deadline"),
    "constraint": RequestKey("constraint", "The features that hosts must have.", "--constraint"),
    "tasks": RequestKey("positive", "The number of tasks, divided evenly among the hosts.", "--ntasks"),
    "cores": RequestKey("positive", "Cores on each host, or for each task.", "--cpus-per-task"),
    "memory": RequestKey("memory", "Memory on each host, or for each task; without a unit in MiB.", "--mem"),
    "gres": RequestKey("gres", "Generic resources on each host, or for each task.", "--gres, --gpus-per-task"),
    "licenses": RequestKey(
        "licenses", "The licences that the job takes, of all hosts together. Only `slurm` counts them.", "--licenses"
    ),
    "per": RequestKey("per", "Whether `cores`, `memory` and `gres` count for each host (the default) or each task."),
    "nodelist": RequestKey(
        "hostnames", "The hosts that the job must have, by their names, as `n[0-3,8]`.", "--nodelist"
    ),
    "exclude": RequestKey("hostnames", "The hosts that the job must not have, by their names.", "--exclude"),
    "exclusive": RequestKey("boolean", "Whether the job shares its hosts with no other job.", "--exclusive"),
    "contiguous": RequestKey("boolean", "Whether the hosts must have consecutive numbers.", "--contiguous"),
    "dependency": RequestKey("dependency", "The conditions that must hold before the job can start.", "--dependency"),
    "workflow": RequestKey("text", "The workflow that the job is a task of."),
    "array": RequestKey("array", "The array that the job is a task of: `ID_TASK`, or `ID_TASK%LIMIT`.", "--array"),
    "requeue": RequestKey(
        "boolean", "Whether the job may run again after it was preempted or its host failed.", "--requeue"
    ),
    "reservation": RequestKey("text", "The reservation that the job uses.", "--reservation"),
    "recorded": RequestKey(
        "recorded",
        'When and where a log says that the job started: `{"start": 60, "hosts": "0-3"}`, in seconds. With `cores`, so '
        "many cores fill the hosts one after the other.",
    ),
}
"""The keys of the extra data of jobs."""

SLURM_KEYS: Final[dict[str, RequestKey]] = {
    "time": RequestKey("seconds", "The time limit in seconds, for jobs without a walltime.", "--time"),
    "time_min": RequestKey("seconds", "The least time limit in seconds.", "--time-min"),
    "nodes": RequestKey(
        "range",
        "`[2, 4]`: the least number of nodes, and the most, of which the job gets as many as there are.",
        "--nodes",
    ),
    "use_min_nodes": RequestKey(
        "boolean", "Whether it gets as few nodes as possible of that range.", "--use-min-nodes"
    ),
    "tasks": RequestKey("positive", "The tasks on all nodes together, on as many nodes as they need.", "--ntasks"),
    "tasks_per_node": RequestKey("positive", "The tasks on each node.", "--ntasks-per-node"),
    "cpus_per_task": RequestKey("positive", "The CPUs of each task.", "--cpus-per-task"),
    "memory_per_cpu": RequestKey("count", "MiB for each CPU.", "--mem-per-cpu"),
    "threads_per_core": RequestKey(
        "positive",
        "1: the job has one thread of each of its cores, and the others stay idle.",
        "--threads-per-core=1, --hint=nomultithread",
    ),
    "spread_job": RequestKey("boolean", "Whether it is spread over as many nodes as possible.", "--spread-job"),
    "oversubscribe": RequestKey(
        "boolean", "Whether it may share cores, where the partition allows it.", "--oversubscribe"
    ),
    "exclusive_user": RequestKey("boolean", "Whether no other user has jobs on its nodes.", "--exclusive=user"),
    "cpus_per_gpu": RequestKey("positive", "The CPUs that come with each GPU.", "--cpus-per-gpu"),
    "memory_per_gpu": RequestKey("count", "The MiB that come with each GPU.", "--mem-per-gpu"),
    "gpus": RequestKey("gpus", "The GPUs of all nodes together: `2`, or `v100:2` with their type.", "--gpus"),
    "gpus_per_task": RequestKey("gpus", "The GPUs of each task, or `v100:1` with their type.", "--gpus-per-task"),
    "nodelist": RequestKey("hostnames", "The nodes that the job must have.", "--nodelist"),
    "exclude": RequestKey("hostnames", "The nodes that it must not have.", "--exclude"),
    "shares": RequestKey("boolean", "Whether it asks for one CPU for each of its tasks, and not for whole nodes."),
    "switches": RequestKey(
        "switches",
        "The most switches of the tree that its nodes are at, and the time for which it waits for that, as `1` or "
        "`1@5`: minutes, or HH:MM:SS.",
        "--switches",
    ),
    "hold": RequestKey("boolean", "Whether it is held.", "--hold"),
    "hetjob": RequestKey(
        "text", "The component of a heterogeneous job that it is, and how many there are, as `17+0/2`.", ":"
    ),
    "number": RequestKey("count", "The number of the job; by default, jobs are numbered as they come."),
}
"""The keys of the object `slurm` in the extra data of jobs: options of sbatch that only the policy `slurm` knows."""

HOST_KEYS: Final[dict[str, RequestKey]] = {
    "partitions": RequestKey("texts", "The partitions that the host belongs to.", "PartitionName=... Nodes="),
    "features": RequestKey("texts", "The features that constraints can name.", "Feature="),
    "cores": RequestKey("positive", "The cores that jobs can have; by default those of the platform.", "CPUs="),
    "memory": RequestKey("memory", "The memory that jobs can have; without a unit in MiB.", "RealMemory="),
    "gres": RequestKey("gres", "The generic resources that jobs can have.", "Gres="),
    "weight": RequestKey("count", "Hosts with a smaller weight are allocated first.", "Weight="),
}
"""The keys of the properties of hosts."""


# JSON schema

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_NAMES: Final = {"type": "string", "minLength": 1}

SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "text": {"type": "string", "minLength": 1, "maxLength": 1000},
    "texts": {"anyOf": [_NAMES, {"type": "array", "items": _NAMES, "minItems": 1}]},
    "hostnames": {"anyOf": [_NAMES, {"type": "array", "items": _NAMES, "minItems": 1}]},
    "id": {"type": ["string", "integer"]},
    "integer": {"type": "integer"},
    "count": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,16}$"}]},
    "positive": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^0*[1-9][0-9]{0,15}$"}]},
    "boolean": {"type": "boolean"},
    "per": {"enum": ["host", "task"]},
    "moment": {
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^now(\+[0-9]{1,12}((second|minute|hour|day|week)s?)?)?$"},
        ]
    },
    "memory": {
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^[0-9]{1,15}(\.[0-9]{1,6})?[KMGTkmgt]?[Bb]?$"},
        ]
    },
    "gres": {
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "propertyNames": {"pattern": r"^[A-Za-z_][\w.-]*(:[A-Za-z_][\w.-]*)?$"},
                "additionalProperties": {"$ref": "#/$defs/count"},
            },
        ]
    },
    "licenses": {
        "anyOf": [
            {"type": "string", "pattern": r"^ *[A-Za-z_][\w.@-]*(:[0-9]+)?( *, *[A-Za-z_][\w.@-]*(:[0-9]+)?)* *$"},
            {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"pattern": r"^[A-Za-z_][\w.@-]*$"},
                "additionalProperties": {"$ref": "#/$defs/count"},
            },
        ]
    },
    "constraint": {"type": "string", "minLength": 1, "maxLength": 1000},
    "dependency": {"type": "string", "pattern": f"^ *({'|'.join(DEPENDENCY_KINDS)})"},
    "array": {"type": "string", "pattern": "^.+_[0-9]{1,9}(%[0-9]{1,9})?$"},
    "recorded": {
        "type": "object",
        "properties": {
            "start": {"type": "number"},
            "hosts": {"type": "string", "pattern": r"^[0-9]+(-[0-9]+)?([ ,]+[0-9]+(-[0-9]+)?)*$"},
            "cores": {"$ref": "#/$defs/count"},
        },
        "required": ["start"],
        "additionalProperties": False,
    },
}
"""The form of the values of each kind. The readers check more than a schema can express."""


def request_schema() -> dict[str, Any]:
    """The JSON schema of the extra data of jobs.

    >>> request_schema()["properties"]["exclusive"]["type"]
    'boolean'
    """
    return _schema("The request of a job, in its extra data", JOB_KEYS)


def host_schema() -> dict[str, Any]:
    """The JSON schema of the properties of hosts, as an object of texts and numbers."""
    return _schema("The offer of a host, in its properties", HOST_KEYS)


def _schema(title: str, keys: dict[str, RequestKey]) -> dict[str, Any]:
    properties = {name: {"description": key.meaning, **SCHEMAS[key.kind]} for name, key in keys.items()}
    return {
        "$schema": _DRAFT,
        "title": title,
        "type": "object",
        "properties": properties,
        "additionalProperties": True,
        "$defs": {"count": SCHEMAS["count"]},
    }
