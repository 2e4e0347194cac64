"""A PI controller: it submits more or fewer jobs, so that a small number of them waits.

The law is that of the published controllers for CiGri: `submitted += Kp * error + Ki * (sum of errors)`, where the
error is the number of jobs that should wait minus the number of jobs that wait.
"""

from __future__ import annotations

from batprotocol.campaigns.model import ControllerSettings, ControllerState

__all__ = ["step"]


def step(state: ControllerState, waiting: int, settings: ControllerSettings) -> ControllerState:
    """The next state of the controller.

    If the result is limited, to 0 or to the maximum, the sum does not grow further in that direction. So there is no
    flood after a long time in which nothing could be submitted.

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
