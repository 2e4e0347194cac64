"""Actions: sleeps, latencies and work, which advance step by step. Work shares hosts and links.

This package has all arithmetic of a simulation's time, in doubles and in SimGrid's order. It must not know who waits
for an action. It exists twice, with the same state and the same results to the last bit: in C (`native/`, if the
package was compiled), and in Python, in `sleeps` (time), `demand` (the needs of work), `sharing` (the rates of work)
and `actions` (the whole). Both use `rounds`, which computes many rounds of sharing at once. `usual` has the classes
that simulations use.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from batprotocol.simulator.actions.actions import PythonActions
from batprotocol.simulator.actions.demand import PythonDemand
from batprotocol.simulator.actions.usual import usual

__all__ = ["KINDS"]

KINDS: Final[dict[str, tuple[type[PythonActions], type[PythonDemand]]]] = {}
"""The available classes, with the fastest ones first."""

if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.simulator.actions import _actions

        KINDS["native"] = _actions.Actions, _actions.Demand
KINDS["python"] = PythonActions, PythonDemand
usual.Actions, usual.Demand = next(iter(KINDS.values()))
