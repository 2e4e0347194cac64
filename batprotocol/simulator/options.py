"""The options of a simulation, which `simulate` and `Simulator` share."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["SimulationOptions"]


class SimulationOptions(TypedDict, total=False):
    """The options of a simulation.

    Attributes:
        energy: whether energy is measured, which needs the wattages of all hosts. By default, it is not.
        rules: the rule set for both sides; by default, that of Batsim 5.0.0-rc2.
        corrected: correct the behaviour of Batsim 5.0.0-rc2 that looks unintended. With rules beyond Batsim's, it is
            always corrected.
        init: the initialization data; by default, "".
    """

    energy: bool
    rules: str
    corrected: bool
    init: str
