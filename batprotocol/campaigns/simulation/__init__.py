"""Campaigns on simulated clusters, to be studied.

`plan` (what is simulated) makes `scheduler`, a decision component; it has a `cluster` for each set of hosts, with a
`local_queue` for its own jobs and the `usage` of its resources. `workload` makes workloads for clusters, `study` runs
whole simulations, `report` tells what came of them, and `plots` draws it.
"""

from batprotocol.campaigns.simulation.plan import CampaignPlan, GridPlan, read_plan
from batprotocol.campaigns.simulation.scheduler import GridScheduler

__all__ = ["CampaignPlan", "GridPlan", "GridScheduler", "read_plan"]
