"""The limits of associations and qualities of service: which jobs Slurm refuses, and which ones wait, and why."""

from batprotocol.policies.slurm.accounts.keeper import Keeper, keeper_of
from batprotocol.policies.slurm.accounts.members import Members, Standing

__all__ = ["Keeper", "Members", "Standing", "keeper_of"]
