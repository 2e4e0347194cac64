"""A PI controller: it keeps a small number of jobs waiting, by how many more or fewer it submits.

The law is that of the published controllers for CiGri: `submitted += Kp * error + Ki * (sum of errors)`, where the
error is how many jobs should wait minus how many do.
"""

from __future__ import annotations

from batprotocol.campaigns.model import ControllerSettings, ControllerState

__all__ = ["step"]


def step(state: ControllerState, waiting: int, settings: ControllerSettings) -> ControllerState:
    """What the controller remembers after it saw how many jobs wait.

    Where the result is cut off, at 0 or at the maximum, the sum does not grow further that way: a long time in which
    nothing could be submitted is not made up for by a flood.

    >>> step(ControllerState(campaign=1, cluster="a"), 0, ControllerSettings()).submitted
    2.2
    """
    error = settings.reference - waiting
    integral = state.integral + error
    submitted = state.submitted + settings.proportional * error + settings.integral * integral
    bounded = min(max(submitted, 0.0), float(settings.maximum))
    if (submitted - bounded) * error > 0:
        integral = state.integral
    return ControllerState(campaign=state.campaign, cluster=state.cluster, submitted=bounded, integral=integral)
