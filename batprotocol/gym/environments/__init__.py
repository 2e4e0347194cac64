"""The environments: each says what is decided, in a few lines on `Environment`."""

from batprotocol.gym.environments.backfill import Backfill
from batprotocol.gym.environments.batch import Batch, Policies
from batprotocol.gym.environments.hosts import Hosts, Power

__all__ = ["Backfill", "Batch", "Hosts", "Policies", "Power"]
