"""Simulations of campaigns on clusters.

`plan` reads the input of a simulation. `scheduler` is the decision component. It has a `cluster` for each set of hosts,
with a `local_queue` for the cluster's own jobs and the `usage` of its resources. `workload` makes workloads for
clusters, `study` runs simulations, `report` has their results, and `plots` draws them.
"""

from batprotocol.campaigns.simulation.plan import CampaignPlan, GridPlan, read_plan
from batprotocol.campaigns.simulation.scheduler import GridScheduler

__all__ = ["CampaignPlan", "GridPlan", "GridScheduler", "read_plan"]
