"""The priorities of Slurm's jobs, made of plain values: priority/basic, and priority/multifactor with fair share.

`basic` has the numbers of the first. The second has the `facts` of a job, the `machine` that they are relative to, the
tree of `shares`, the decay of `usage`, and all together in `multifactor`.
"""

from batprotocol.policies.slurm.priorities.basic import FirstComeNumbers
from batprotocol.policies.slurm.priorities.facts import JobFacts, Parts
from batprotocol.policies.slurm.priorities.multifactor import MultifactorPriorities
from batprotocol.policies.slurm.priorities.shares import AccountShare, ShareTree

__all__ = ["AccountShare", "FirstComeNumbers", "JobFacts", "MultifactorPriorities", "Parts", "ShareTree"]
