"""The limits of associations and qualities of service: which jobs Slurm refuses, and which ones wait, and why."""

from batprotocol.policies.slurm.accounts.keeper import AccountLimits, account_limits_of
from batprotocol.policies.slurm.accounts.members import AccountMembers, JobAssociation

__all__ = ["AccountLimits", "AccountMembers", "JobAssociation", "account_limits_of"]
