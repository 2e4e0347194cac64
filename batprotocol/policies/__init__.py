"""Built-in policies to use, derive from and compare with: a queue order, a kind of backfilling, an allocation.

`Policy`, in `scheduler`, combines the parts, and `names` makes it from its name; `by_name` does so for programs that
load schedulers from files only. Each part is a class of a few lines in `orders`, `backfilling`, `allocations`,
`failures`, `energy` or `caps`. Parts read the state in `jobs` and `queue`.

A `driver` gets the events of a simulation, and carries out what a plan chooses. There are two plans, and a log:
`whole_hosts` counts free hosts; `site` plans the amounts of each host, with partitions, limits, dependencies and
preemption; `recorded` starts jobs as a log says. Where jobs only take time, `counting` decides as `whole_hosts` does,
without messages. `availability` has what is free now and later, for both plans, and `fair_share` accounts and the
arithmetic of priorities. `slurm` is another scheduler: Slurm's own.
"""

from __future__ import annotations

from batprotocol._util.deprecation import old_names
from batprotocol.policies.allocations import *
from batprotocol.policies.backfilling import *
from batprotocol.policies.caps import *
from batprotocol.policies.energy import *
from batprotocol.policies.failures import *
from batprotocol.policies.jobs import *
from batprotocol.policies.names import *
from batprotocol.policies.orders import *
from batprotocol.policies.queue import *
from batprotocol.policies.recorded import *
from batprotocol.policies.scheduler import *
from batprotocol.policies.site import *

__getattr__ = old_names(__name__, {"Place": "Allocation"})
