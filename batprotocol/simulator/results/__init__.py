"""The results of a simulation: the values that it reports, Batsim's result files, and the numbers worth having."""

from batprotocol.simulator.results.observing import (
    EnergyRow,
    JobRow,
    MachineStatesRow,
    Observer,
    Observers,
    PStateRow,
    Totals,
)

__all__ = ["EnergyRow", "JobRow", "MachineStatesRow", "Observer", "Observers", "PStateRow", "Totals"]
