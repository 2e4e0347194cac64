"""The kinds of plans: each is a function of a generator of random numbers.

`whole` has those whose jobs take whole nodes, `shared` those whose jobs share nodes and what is on them, `accounts`
those that need Slurm's accounting, `hetjobs` those with heterogeneous jobs, and `suspends` those whose jobs are
suspended. Those of `drawn` mix all options that are followed. `KINDS` lists all.
"""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from slurming.recorder.kinds.accounts import ACCOUNTS
from slurming.recorder.kinds.drawn import DRAWN
from slurming.recorder.kinds.hetjobs import HETEROGENEOUS
from slurming.recorder.kinds.shared import SHARED
from slurming.recorder.kinds.suspends import SUSPENDS
from slurming.recorder.kinds.whole import WHOLE
from slurming.recorder.plans import Plan

__all__ = ["KINDS", "plan"]

KINDS = WHOLE | SHARED | ACCOUNTS | HETEROGENEOUS | SUSPENDS | DRAWN


def plan(kind: str, seed: int) -> Plan:
    """The plan of a kind that a seed makes: always the same.

    Raises:
        KeyError: there is no such kind.
    """
    made = KINDS[kind](Random(f"{kind} {seed}"))
    ordered = sorted(made.events, key=lambda each: each.at)
    return replace(made, kind=kind, seed=seed, events=ordered)
