"""`Hosts`, the free hosts of a scheduler: take hosts from it, and give them back.

This package only knows sets of hosts. It must not know the jobs on them, nor the messages to Batsim.
"""

from __future__ import annotations

from batprotocol.model.free_hosts.hosts import MOST_HOSTS, Hosts
from batprotocol.model.hosts import FrozenHosts

__all__ = ["MOST_HOSTS", "FrozenHosts", "Hosts"]
