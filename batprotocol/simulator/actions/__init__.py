"""Actions: sleeps, latencies and work, which advance step by step. Work shares hosts and links.

This package has all arithmetic of a simulation's time, in doubles and in SimGrid's order. It exists twice, with the
same state and the same results to the last bit: in C (`native/`, if the package was compiled), and in Python, in
`demand` (the needs of work), `sharing` (the rates of work) and `actions` (the whole).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from batprotocol.simulator.actions.actions import PythonActions
from batprotocol.simulator.actions.demand import PythonDemand, usual

__all__ = ["KINDS"]

KINDS: Final[dict[str, tuple[type[PythonActions], type[PythonDemand]]]] = {}
"""The available classes, with the fastest ones first."""

if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.simulator.actions import _actions

        KINDS["native"] = _actions.Actions, _actions.Demand
KINDS["python"] = PythonActions, PythonDemand
usual.Actions, usual.Demand = next(iter(KINDS.values()))
