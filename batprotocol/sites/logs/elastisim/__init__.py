"""ElastiSim's workloads: `reading` has the jobs, `models` the run times of their applications, `formulas` the formulas.

A workload for a simulator has no starts: its jobs are planned, and would start at their submission on an idle machine.
"""

from __future__ import annotations

from batprotocol.sites.logs.elastisim.reading import read_elastisim

__all__ = ["read_elastisim"]
