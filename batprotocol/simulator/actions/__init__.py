"""What is under way: sleeps, latencies and work, step by step, and how work shares hosts and links.

All arithmetic of a simulation's time is here, in doubles and in SimGrid's order, and nothing of who waits for what. It
exists twice, with the same state and the same results to the last bit: in C (`native/`, where it was compiled), and in
Python, in `sleeps` (time), `demand` (what work takes), `sharing` (how fast it goes on) and `actions` (all of it).
`rounds`, which both use, computes what many rounds of sharing come to. `usual` knows which of the two simulations have.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from batprotocol.simulator.actions.actions import PythonActions
from batprotocol.simulator.actions.demand import PythonDemand
from batprotocol.simulator.actions.usual import usual

__all__ = ["KINDS"]

KINDS: Final[dict[str, tuple[type[PythonActions], type[PythonDemand]]]] = {}
"""The classes that are at hand, the best ones first."""

if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.simulator.actions import _actions

        KINDS["native"] = _actions.Actions, _actions.Demand
KINDS["python"] = PythonActions, PythonDemand
usual.Actions, usual.Demand = next(iter(KINDS.values()))
