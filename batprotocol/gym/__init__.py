"""Environments to learn scheduling in, by Gymnasium's conventions. They come with `batprotocol[gym]`.

`import batprotocol.gym` registers them: `gymnasium.make("batprotocol/Batch-v0")`, and `gymnasium.make_vec` for many in
one process. An `Environment` (`environment`) draws episodes from a `log`, and advances a world until there is a
decision. It returns observations (`observations`) and rewards (`rewards`), and renders the world (`_rendering`).
`machines` describes hosts that jobs share, hosts that fail, and their electricity. `environments` defines the
decisions. `vector` combines many environments into one. `wrappers` has the observations of other papers.

A world has the waiting and running jobs of an episode, and its next events. In that of `_world`, jobs only take time.
In those of `_simulated`, the embedded Batsim simulates the jobs, with hosts that fail or electricity that changes. In
`_shared`, jobs share hosts.
"""

from __future__ import annotations

from batprotocol._util.deprecation import old_names
from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing

try:
    import gymnasium as _gymnasium
except ImportError as error:
    raise PackageMissing(f"environments need the package {error.name}: {installing('gym')}") from None

from batprotocol.gym.environment import Environment, EnvironmentOptions, Snapshot
from batprotocol.gym.environments import Backfill, Batch, Hosts, Policies, Power
from batprotocol.gym.log import LogArrays, order_of
from batprotocol.gym.machines import Electric
from batprotocol.gym.observations import FEATURES
from batprotocol.gym.rewards import BoundedSlowdown, Carbon, Cost, Energy, Reward, Utilisation, Waiting
from batprotocol.gym.vector import VectorEnvironment
from batprotocol.gym.wrappers import RLSchedulerLayout, SplitWindow

__all__ = [
    "FEATURES",
    "Backfill",
    "Batch",
    "BoundedSlowdown",
    "Carbon",
    "Cost",
    "Electric",
    "Energy",
    "Environment",
    "EnvironmentOptions",
    "Hosts",
    "LogArrays",
    "Policies",
    "Power",
    "RLSchedulerLayout",
    "Reward",
    "Snapshot",
    "SplitWindow",
    "Utilisation",
    "VectorEnvironment",
    "Waiting",
    "order_of",
]

for _kind in (Batch, Policies, Backfill, Power, Hosts):
    _name = f"batprotocol/{_kind.__name__}-v0"
    if _name not in _gymnasium.registry:
        _gymnasium.register(
            _name,
            entry_point=f"{_kind.__module__}:{_kind.__name__}",
            vector_entry_point=f"batprotocol.gym.vector:{_kind.__name__}",
        )

__getattr__ = old_names(__name__, {"Log": "LogArrays"})
