"""The enums of the schema, with the schema's own names and numbers.

A number that a newer schema may have added is not an error: it becomes a member that exists only where it is met, and
goes back to the wire as the number it was.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

__all__ = [
    "BooleanComparisonOperator",
    "CumulativeFunction",
    "FinalJobState",
    "HomogeneousParallelTaskGenerationStrategy",
    "HostState",
    "Metrics",
    "PredefinedExecutorPlacementStrategy",
    "ProtocolEnum",
    "TimeUnit",
    "TraceType",
]


class ProtocolEnum(IntEnum):
    """An enum of the schema. All are signed bytes on the wire, so numbers outside [-128, 127] are a `ValueError`.

    >>> TimeUnit(1), TimeUnit(7), TimeUnit(7).known
    (<TimeUnit.Millisecond: 1>, <TimeUnit.7: 7>, False)
    """

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if not isinstance(value, int) or not -128 <= value <= 127:
            return None
        member = int.__new__(cls, value)
        member._name_ = str(int(value))
        member._value_ = int(value)
        return cls._value2member_map_.setdefault(member._value_, member)

    def __reduce_ex__(self, proto: object) -> tuple[Any, ...]:
        # By number: Python 3.11.0 to 3.11.3 would pickle the name, by which an unknown member cannot be found.
        return type(self), (int(self),)

    @property
    def known(self) -> bool:
        """Whether the schema that this library was built with names this number."""
        return self._name_ in type(self)._member_map_


class HomogeneousParallelTaskGenerationStrategy(ProtocolEnum):
    """How one amount becomes a parallel task's vector and matrix."""

    DefinedAmountsUsedForEachValue = 0
    """Each executor computes the computation amount, and sends the communication amount to each other one."""
    DefinedAmountsSpreadUniformly = 1
    """The amounts are totals, spread uniformly over the executors and over the pairs of them."""


class TraceType(ProtocolEnum):
    """What the trace files of a `TraceReplayProfile` hold."""

    SMPI = 0
    """Traces of an MPI application, replayed by SimGrid's SMPI."""
    FractionalComputation = 1
    """Computation usage over time, replayed as fractions of the hosts' speed."""


class FinalJobState(ProtocolEnum):
    """How a job ended."""

    COMPLETED_SUCCESSFULLY = 0
    """Executed without reaching its walltime, return code 0."""
    COMPLETED_FAILED = 1
    """Executed without reaching its walltime, return code other than 0."""
    COMPLETED_WALLTIME_REACHED = 2
    """Executed, and killed by Batsim when it reached its walltime."""
    COMPLETED_KILLED = 3
    """Executed, and killed because the decision component asked for it."""
    REJECTED = 4
    """Not executed: rejected by the decision component. Batsim sends no `JobCompletedEvent` for it."""


class PredefinedExecutorPlacementStrategy(ProtocolEnum):
    """Where a job's executors go on its hosts when no explicit mapping is given."""

    SpreadOverHostsFirst = 0
    """Executors go to Host1, Host2, ..., HostN, then Host1 again."""
    FillOneHostCoresFirst = 1
    """Executors fill the cores of Host1, then those of Host2, ..."""


class CumulativeFunction(ProtocolEnum):
    """How a probe accumulates its measures over time."""

    Sum = 0
    """The sum over time: of power, the energy."""
    Minimum = 1
    """The smallest measure."""
    Maximum = 2
    """The largest measure."""


class Metrics(ProtocolEnum):
    """What a probe measures. Batsim 5.0.0-rc2 implements `Power` only."""

    Power = 0
    """Electrical power, in joules per second."""
    NetworkLoad = 1
    """Network load, in bytes per second."""
    ComputationLoad = 2
    """Computation load, in flops (floating-point operations) per second."""
    NormalizedNetworkLoad = 3
    """Network load in [0,1]. Cannot be accumulated over time, as it is not defined per unit of time."""
    NormalizedComputationLoad = 4
    """Computation load in [0,1]. Cannot be accumulated over time, as it is not defined per unit of time."""


class BooleanComparisonOperator(ProtocolEnum):
    """How an emission filter compares a measure (left) with its threshold (right)."""

    GreaterThan = 0
    """The measure is greater than the threshold."""
    GreaterThanOrEqual = 1
    """It is greater, or equal."""
    LessThan = 2
    """It is less than the threshold."""
    LessThanOrEqual = 3
    """It is less, or equal."""


class TimeUnit(ProtocolEnum):
    """The unit of the integers of a temporal trigger."""

    Second = 0
    """Simulated seconds."""
    Millisecond = 1
    """Simulated milliseconds."""


class HostState(ProtocolEnum):
    """What a host does. In `SimulationBeginsEvent`, Batsim always says IDLE."""

    SLEEPING = 0
    """It is in a sleep state."""
    IDLE = 1
    """It is on, and computes nothing."""
    COMPUTING = 2
    """It is on, and computes."""
    SWITCHING_ON = 3
    """It is on the way from a sleep state to one in which it can compute."""
    SWITCHING_OFF = 4
    """It is on the way to a sleep state."""
