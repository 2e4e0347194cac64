"""A client of a real Slurm, through its commands, here or on a host that OpenSSH reaches, or through slurmrestd.

`answers` and `rest_answers` read what Slurm prints and return values of `rows`; they do no input or output. `runners`
start commands. `commands` and `rest` are the two clients. The package must not know what jobs are for.
"""

from batprotocol.sites.slurm.client.commands import SlurmCommands
from batprotocol.sites.slurm.client.errors import SlurmAway, SlurmError, SlurmLimit, SlurmRefusal
from batprotocol.sites.slurm.client.rest import SlurmRest, read_token
from batprotocol.sites.slurm.client.rows import Batch, Limits, SlurmClient, SlurmJob, SlurmNode
from batprotocol.sites.slurm.client.runners import LocalRunner, Runner, SshRunner, runner_of

__all__ = [
    "Batch",
    "Limits",
    "LocalRunner",
    "Runner",
    "SlurmAway",
    "SlurmClient",
    "SlurmCommands",
    "SlurmError",
    "SlurmJob",
    "SlurmLimit",
    "SlurmNode",
    "SlurmRefusal",
    "SlurmRest",
    "SshRunner",
    "read_token",
    "runner_of",
]
