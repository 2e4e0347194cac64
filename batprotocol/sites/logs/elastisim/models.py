"""The run times of application models, as far as the models consist of delays. It must not know jobs.

The time of a task that computes, communicates or writes depends on the platform, so there is no run time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from batprotocol.sites.logs.elastisim.formulas import value_of

__all__ = ["NotKnown", "runtime_of"]

_DELAYS: Final = frozenset({"idle", "busy_wait"})
_DEEPEST: Final = 32
PLATFORM: Final = "its application computes, communicates or reads files: its run time depends on the platform"
MODEL: Final = "its application model cannot be read"
FORMULA: Final = "a formula of its application model cannot be computed"
PATTERN: Final = "its application has delays that differ between hosts"


class NotKnown(Exception):
    """The run time of an application is not known; its text is the reason."""


def runtime_of(model: Any, arguments: Mapping[str, float], hosts: int, gpus: int) -> float:
    """The run time of an application, in seconds.

    Args:
        model: the application model.
        arguments: the arguments of the job.
        hosts: the number of its hosts.
        gpus: the number of GPUs of each host.

    Raises:
        NotKnown: the run time is not known.

    >>> model = {"phases": [{"iterations": 3, "tasks": [{"type": "idle", "delay": "d*num_nodes"}]}]}
    >>> runtime_of(model, {"d": 10}, 2, 0)
    60.0
    """
    if not isinstance(model, dict):
        raise NotKnown(MODEL)
    scaled = {**arguments, "num_nodes": hosts, "num_gpus_per_node": gpus, "num_gpus": hosts * gpus}
    init = model.get("on_init")
    total = _tasks(init.get("tasks") if isinstance(init, dict) else init, scaled, 0) if init else 0.0
    phases = model.get("phases")
    if not isinstance(phases, list):
        raise NotKnown(MODEL)
    for phase in phases:
        if not isinstance(phase, dict):
            raise NotKnown(MODEL)
        total += _times(phase, scaled) * _tasks(phase.get("tasks"), scaled, 0)
    if not math.isfinite(total):
        raise NotKnown(FORMULA)
    return total


def _tasks(tasks: Any, variables: Mapping[str, float], depth: int) -> float:
    if not isinstance(tasks, list) or depth > _DEEPEST:
        raise NotKnown(MODEL)
    return math.fsum(_task(task, variables, depth) for task in tasks)


def _task(task: Any, variables: Mapping[str, float], depth: int) -> float:
    if not isinstance(task, dict):
        raise NotKnown(MODEL)
    kind = str(task.get("type")).lower()
    times = _times(task, variables)
    if kind == "sequence":
        return times * _tasks(task.get("tasks"), variables, depth + 1)
    if kind not in _DELAYS:
        raise NotKnown(PLATFORM)
    if str(task.get("pattern", "uniform")).lower() != "uniform":
        raise NotKnown(PATTERN)
    return times * max(_number(task.get("delay"), variables), 0.0)


def _times(given: Mapping[str, Any], variables: Mapping[str, float]) -> float:
    """The number of iterations: a whole number, 1 by default."""
    iterations = given.get("iterations")
    return 1.0 if iterations is None else float(max(math.floor(_number(iterations, variables)), 0))


def _number(given: Any, variables: Mapping[str, float]) -> float:
    if isinstance(given, str):
        try:
            return value_of(given, variables)
        except ValueError:
            raise NotKnown(FORMULA) from None
    if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) <= 2**62:
        raise NotKnown(MODEL)
    return float(given)
