"""Campaigns of jobs on the idle resources of several clusters: CiGri's metascheduler.

A campaign runs one program many times, each time with other parameters. The entities of CiGri's specification are
functions without I/O, which take values and return decisions, also values. A cycle is a transaction of the store,
followed by requests to the clusters. In each cycle, the data take this way:

    clusters -> observations -> updator -> update -> store -> grid -> predictor, metascheduler, campaign schedulers,
    runner, nikita -> decisions -> store -> clusters

- `model`: the values.
- `jdl`: reads campaigns and admission rules.
- `entities`: the entities of the specification, and `entities.cycle`, which calls them in their order.
- `text`: the output of CiGri's commands, for values.
"""

from batprotocol.errors import ClusterError, JdlError, StoreAway, StoreError

__all__ = ["ClusterError", "JdlError", "StoreAway", "StoreError"]
