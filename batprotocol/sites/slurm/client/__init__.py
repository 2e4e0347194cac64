"""A client of a real Slurm, through its commands, here or on a host that OpenSSH reaches, or through slurmrestd.

`commands` and `rest` are the two clients, with readers of what Slurm prints, which do no input or output; `values` has
what they return. `runners` start commands.
"""

from batprotocol._util.deprecation import old_names
from batprotocol.sites.slurm.client.commands import SlurmCommands
from batprotocol.sites.slurm.client.rest import SlurmRest, read_token
from batprotocol.sites.slurm.client.runners import CommandRunner, LocalRunner, SshRunner, runner_of
from batprotocol.sites.slurm.client.values import (
    JobBatch,
    ReportedJob,
    ReportedNode,
    SlurmAway,
    SlurmClient,
    SlurmError,
    SlurmLimit,
    SlurmLimits,
    SlurmRefusal,
)

__all__ = [
    "CommandRunner",
    "JobBatch",
    "LocalRunner",
    "ReportedJob",
    "ReportedNode",
    "SlurmAway",
    "SlurmClient",
    "SlurmCommands",
    "SlurmError",
    "SlurmLimit",
    "SlurmLimits",
    "SlurmRefusal",
    "SlurmRest",
    "SshRunner",
    "read_token",
    "runner_of",
]


__getattr__ = old_names(
    __name__,
    {
        "Batch": "JobBatch",
        "Limits": "SlurmLimits",
        "Runner": "CommandRunner",
        "SlurmJob": "ReportedJob",
        "SlurmNode": "ReportedNode",
    },
)
