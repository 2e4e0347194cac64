"""The environments. Each defines its decisions in a few lines on top of `Environment`."""

from batprotocol.gym.environments.backfill import Backfill
from batprotocol.gym.environments.batch import Batch, Policies
from batprotocol.gym.environments.hosts import Hosts, Power

__all__ = ["Backfill", "Batch", "Hosts", "Policies", "Power"]
