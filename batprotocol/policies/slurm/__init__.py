"""Slurm's scheduler as a policy: what a slurm.conf says, a Slurm does with the same jobs.

The data take this way: `clusters` makes the `values` of a cluster of its configuration, with sets of nodes as numbers
(`bits`). `asking` reads what jobs ask for, and `commands` what operators do. `controller` has the state: `jobs`, their
`queue`, `reservations`, and the nodes as `selecting` gives them out; its `clock` calls the two loops, `main_loop` and
`backfill`, which plans over `space`. `ordering` asks `priorities` for
the order of jobs. `scheduler` connects all that with Batsim.
"""

from __future__ import annotations

from batprotocol.policies.slurm.clock import Phases
from batprotocol.policies.slurm.scheduler import SlurmScheduler

__all__ = ["Phases", "SlurmScheduler"]
