"""Simulations of campaigns on clusters.

`plan` reads the input of a simulation, and makes workloads for the clusters. `scheduler` is the decision component,
with a simulated cluster for each set of hosts. `report` runs simulations, has their results, and draws them.
"""

from batprotocol.campaigns.simulation.plan import CampaignPlan, GridPlan, read_plan
from batprotocol.campaigns.simulation.scheduler import GridScheduler

__all__ = ["CampaignPlan", "GridPlan", "GridScheduler", "read_plan"]
