"""Schedulers to use, derive from and compare with: an order of the queue, a kind of backfilling, a choice of hosts.

`Policy`, in `scheduler`, puts them together; `named`, in `names`, does so by a name, and `by_name` for those who know
files only. What the parts see is in `jobs` and `queue`; they are in `orders`, `backfilling` (with reservations in a
`profile`), `places` and `walltimes`, each a class of a few lines. `switching` knows which hosts sleep.

Jobs that share hosts, partitions, limits, dependencies and preemption are in `site`.
"""

from __future__ import annotations

from batprotocol.policies.backfilling import *
from batprotocol.policies.jobs import *
from batprotocol.policies.names import *
from batprotocol.policies.orders import *
from batprotocol.policies.places import *
from batprotocol.policies.queue import *
from batprotocol.policies.scheduler import *
from batprotocol.policies.site import *
from batprotocol.policies.walltimes import *
