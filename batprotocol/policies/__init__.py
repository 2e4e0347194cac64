"""Schedulers to use, to derive from and to compare with: an order of the queue, a kind of backfilling, a choice of hosts.

`Policy` puts them together. `jobs` has what its parts see, `orders`, `backfilling`, `places` and `walltimes` have the
parts, each a class of a few lines, and `queue` the jobs that wait, sorted.
"""

from __future__ import annotations

from batprotocol.policies.backfilling import *
from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.policies.orders import *
from batprotocol.policies.places import *
from batprotocol.policies.scheduler import Policy
from batprotocol.policies.walltimes import *
