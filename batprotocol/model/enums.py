"""The enums of the schema, with the schema's own names and numbers.

An unknown number is not an error, because a newer schema may have added it. It becomes a member without a name of its
own, and is encoded as the same number.
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
    """An enum of the schema, a signed byte on the wire. Numbers outside [-128, 127] raise `ValueError`.

    A number that the schema does not name makes a member whose `known` is false.

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
        """Whether the schema of this library has a name for this number."""
        return self._name_ in type(self)._member_map_


class HomogeneousParallelTaskGenerationStrategy(ProtocolEnum):
    """How Batsim generates the vector and the matrix of a parallel task from one amount each."""

    DefinedAmountsUsedForEachValue = 0
    """Each executor computes the computation amount, and sends the communication amount to each other executor."""
    DefinedAmountsSpreadUniformly = 1
    """The amounts are totals: Batsim spreads them uniformly over the executors and over the pairs of executors."""


class TraceType(ProtocolEnum):
    """The content of the trace files of a `TraceReplayProfile`."""

    SMPI = 0
    """Traces of an MPI application, which SimGrid's SMPI replays."""
    FractionalComputation = 1
    """Computation usage over time, which Batsim replays as fractions of the hosts' speed."""


class FinalJobState(ProtocolEnum):
    """How a job ended."""

    COMPLETED_SUCCESSFULLY = 0
    """The job ended before its walltime, with return code 0."""
    COMPLETED_FAILED = 1
    """The job ended before its walltime, with a return code other than 0."""
    COMPLETED_WALLTIME_REACHED = 2
    """Batsim killed the job when it reached its walltime."""
    COMPLETED_KILLED = 3
    """Batsim killed the job because the decision component sent a `KillJobsEvent`."""
    REJECTED = 4
    """The decision component rejected the job. Batsim sends no `JobCompletedEvent` for it."""


class PredefinedExecutorPlacementStrategy(ProtocolEnum):
    """How Batsim places a job's executors on its hosts if there is no `CustomExecutorToHostMapping`."""

    SpreadOverHostsFirst = 0
    """Executors go to Host1, Host2, ..., HostN, then Host1 again."""
    FillOneHostCoresFirst = 1
    """Executors fill the cores of Host1, then the cores of Host2, ..."""


class CumulativeFunction(ProtocolEnum):
    """How a probe accumulates its measures over time."""

    Sum = 0
    """The sum over time. The sum of power is energy."""
    Minimum = 1
    """The smallest measure."""
    Maximum = 2
    """The largest measure."""


class Metrics(ProtocolEnum):
    """The quantity that a probe measures. Batsim 5.0.0-rc2 implements `Power` only."""

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
    """The measure is greater than or equal to the threshold."""
    LessThan = 2
    """The measure is less than the threshold."""
    LessThanOrEqual = 3
    """The measure is less than or equal to the threshold."""


class TimeUnit(ProtocolEnum):
    """The unit of the integers of a temporal trigger."""

    Second = 0
    """Simulated seconds."""
    Millisecond = 1
    """Simulated milliseconds."""


class HostState(ProtocolEnum):
    """The activity of a host. In `SimulationBeginsEvent`, Batsim always sends `IDLE`."""

    SLEEPING = 0
    """The host is in a sleep state."""
    IDLE = 1
    """The host is on and computes nothing."""
    COMPUTING = 2
    """The host is on and computes."""
    SWITCHING_ON = 3
    """The host is switching from a sleep state to a computation state."""
    SWITCHING_OFF = 4
    """The host is switching to a sleep state."""
