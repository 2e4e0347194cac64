"""Built-in policies to use, derive from and compare with: a queue order, a kind of backfilling, an allocation.

`Policy`, in `scheduler`, combines the parts. `named`, in `names`, makes a policy from its name, whose parts have
`options`, and `by_name` does so for programs that load schedulers from files only. Each part is a class of a few lines
in `orders`, `backfilling` (which makes reservations in a `profile`), `allocations`, `walltimes`, `failures`, `starts`
or `capping`. The parts read the state in `jobs` and `queue`.
`whole` gives whole hosts to jobs, and `switching` knows which hosts sleep. `site` plans jobs that share hosts, with
partitions, limits, dependencies and preemption. `replaying` starts jobs as a log says, and `filling` divides their
cores between hosts. `happening` reads events of hosts, and `unknown_keys` logs keys that have no effect. `reporting`
has what both kinds of policies report on jobs that they have started. `places` is the old name of `allocations`.
`slurm` is another scheduler: Slurm's own.
"""

from __future__ import annotations

from batprotocol._util.deprecation import old_names
from batprotocol.policies.allocations import *
from batprotocol.policies.backfilling import *
from batprotocol.policies.capping import *
from batprotocol.policies.failures import *
from batprotocol.policies.jobs import *
from batprotocol.policies.names import *
from batprotocol.policies.orders import *
from batprotocol.policies.queue import *
from batprotocol.policies.replaying import *
from batprotocol.policies.scheduler import *
from batprotocol.policies.site import *
from batprotocol.policies.starts import *
from batprotocol.policies.walltimes import *

__getattr__ = old_names(__name__, {"Place": "Allocation"})
