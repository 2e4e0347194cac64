"""Slurm's scheduler as a policy: as a slurm.conf says, a Slurm does with the same jobs.

The data take this way: `clusters` makes the `values` of a cluster of its configuration, with sets of nodes as numbers
(`bits`); `added` gives hosts that a question adds to a machine their places. `asking` reads the requests of jobs, and
`commands` those of operators. `controller` changes the `state`: `jobs`, their `queue`, those `waiting` for something
else, `reservations`, and the nodes as `selecting` gives them out.
Its `clock` calls the two loops, `main_loop` and `backfill`, which plans over `space`. `endings` take jobs from their
nodes, at their `limits` or before.
`ordering` asks `priorities` for the order of jobs. `chances` has the starts that are possible, with the jobs that give
way (`preempting`, by the rules of `yielding`). `rules` keep jobs waiting or refuse them: the `access` of partitions,
`licenses`, and the limits of `accounts`. `scheduler` connects all that with Batsim, through the `sides` of the
controller; `naming` makes it of a name, and `reporting` has the amounts that jobs took of their nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.policies.slurm.clock import Phases

if TYPE_CHECKING:
    from batprotocol.policies.slurm.scheduler import SlurmScheduler

__all__ = ["Phases", "SlurmScheduler"]


# Programs that name another policy do not need it.
__getattr__ = old_names(__name__, {}, late={"SlurmScheduler": "scheduler"})
