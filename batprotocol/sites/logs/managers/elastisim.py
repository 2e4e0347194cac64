"""Reads the jobs of an ElastiSim workload that have a fixed number of hosts and a run time that is known.

The run times of application models are known as far as the models consist of delays, which are numbers or formulas.
"""

from __future__ import annotations

import ast
import math
import operator
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol.sites.logs.jobs import Attempt, LoggedJob
from batprotocol.sites.logs.sources import elements_of, opened

__all__ = [
    "NotKnown",
    "read_elastisim",
    "runtime_of",
    "value_of",
]


_LONGEST: Final = 1_000
_OPERATORS: Final[dict[type, Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: math.fmod,
    ast.Pow: math.pow,
}
_FUNCTIONS: Final[dict[str, Callable[..., float]]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}


def value_of(formula: str, variables: Mapping[str, float]) -> float:
    """The value of a formula.

    Args:
        formula: numbers, variables, + - * / % ^, parentheses, and functions such as `max(a, b)`.
        variables: the values of variables.

    Raises:
        ValueError: the formula has something else, or no finite value.

    >>> value_of("iterations*(num_nodes/base)^2", {"iterations": 10, "num_nodes": 4, "base": 2})
    40.0
    """
    if len(formula) > _LONGEST:
        raise ValueError("the formula is too long")
    try:
        tree = ast.parse(formula.strip().replace("^", "**"), mode="eval")
        value = _value(tree.body, variables)
    except (SyntaxError, ArithmeticError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from None
    if not math.isfinite(value):
        raise ValueError("the formula has no finite value")
    return value


def _value(node: ast.expr, variables: Mapping[str, float]) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.Name) and node.id in variables:
        return float(variables[node.id])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_value(node.left, variables), _value(node.right, variables)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand, variables)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and not node.keywords:
        function = _FUNCTIONS.get(node.func.id)
        if function is not None:
            return float(function(*(_value(each, variables) for each in node.args)))
    raise ValueError("the formula has a part that is not understood")


# Run times of application models


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


# Jobs


_FIXED: Final = "the number of its hosts is not fixed"
_NO_JOB: Final = "it lacks the hosts or the submission of a job of ElastiSim"
_ENDLESS: Final = "the file ends, or is damaged, within the jobs"
_NO_FILE: Final = "its application model is not found: put its file beside the workload, or into a folder above it"
_LARGEST: Final = 16 << 20
_MOST: Final = 2**32
_MOST_MODELS: Final = 256
_TEXTS: Final = ("name", "user", "group", "account", "partition", "qos")


def read_elastisim(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs of a workload, in its order. Their ids are their places in it, from 0 on, as in ElastiSim's results.

    Args:
        path: the file, compressed or not.
        left_out: where it counts what it leaves out; the lines are the numbers of jobs, from 1 on.
        zone: not used: times count from the begin of the simulation.

    Raises:
        InputError: the file has no array of jobs.
        OSError: the file cannot be read.
    """
    models = _Models(Path(os.path.abspath(path)).parent)
    with opened(path) as source:
        for number, text in enumerate(elements_of(source, "jobs"), 1):
            if text is None:
                left_out.row(_ENDLESS, number)
                return
            try:
                yield _job(_object(text), number, models, left_out)
            except NotKnown as error:
                left_out.row(str(error), number)


def _object(text: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise NotKnown(_NO_JOB) from None
    if not isinstance(found, dict):
        raise NotKnown(_NO_JOB)
    return found


def _job(given: Mapping[str, Any], number: int, models: _Models, left_out: LeftOut) -> LoggedJob:
    hosts, gpus = _fixed(given, "num_nodes"), _fixed(given, "num_gpus_per_node", 0)
    submitted = given.get("submit_time")
    if hosts < 1 or isinstance(submitted, bool) or not isinstance(submitted, int | float) or not 0 <= submitted < _MOST:
        raise NotKnown(_NO_JOB)
    arguments = _arguments(given.get("arguments"))
    runtime = runtime_of(models.model(given.get("application_model")), arguments, hosts, gpus)
    walltime = given.get("walltime", 0)
    if isinstance(walltime, bool) or not isinstance(walltime, int | float) or not 0 <= walltime < _MOST:
        left_out.value("its walltime cannot be read", number)
        walltime = 0
    gres = (("gpu", hosts * gpus),) if gpus else ()
    attributes = given.get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    texts: dict[str, Any] = {key: str(attributes[key]) for key in _TEXTS if isinstance(attributes.get(key), str | int)}
    priority = attributes.get("priority")
    return LoggedJob(
        id=str(number - 1),
        attempts=(
            Attempt(submitted=float(submitted), started=float(submitted), ended=submitted + runtime, is_planned=True),
        ),
        host_count=hosts,
        requested_hosts=hosts,
        gres=gres,
        requested_gres=gres,
        walltime=float(walltime) or None,
        priority=priority if type(priority) is int and 0 <= priority < _MOST else None,
        line=number,
        **texts,
    )


def _fixed(given: Mapping[str, Any], key: str, default: int | None = None) -> int:
    """A number that is fixed: given once, or with a minimum that is the maximum."""
    least, most = given.get(f"{key}_min"), given.get(f"{key}_max")
    value = given.get(key, default)
    if least is not None or most is not None:
        if least != most:
            raise NotKnown(_FIXED)
        value = least
    if type(value) is not int or not 0 <= value < _MOST:
        raise NotKnown(_NO_JOB)
    return value


def _arguments(given: Any) -> dict[str, float]:
    """The arguments that are numbers, also as texts; others cannot be used in formulas."""
    found = {}
    for name, value in given.items() if isinstance(given, dict) else ():
        try:
            found[name] = value_of(str(value), {})
        except ValueError:
            continue
    return found


class _Models:
    """The application models that jobs name: files whose names count from a folder, from those above it, or beside."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Any] = {}

    def model(self, name: Any) -> Any:
        """A model, which is read once."""
        if isinstance(name, dict):
            return name
        if not isinstance(name, str) or not name or "\0" in name:
            raise NotKnown(MODEL)
        if name not in self._known:
            if len(self._known) >= _MOST_MODELS:
                self._known.clear()
            self._known[name] = self._read(name)
        found = self._known[name]
        if isinstance(found, NotKnown):
            raise NotKnown(str(found))
        return found

    def _read(self, name: str) -> Any:
        places = [self._folder / name, *(parent / name for parent in self._folder.parents)]
        for place in (*places, self._folder / Path(name).name):
            try:
                facts = os.stat(place)
                if not stat.S_ISREG(facts.st_mode):
                    continue
                if facts.st_size > _LARGEST:
                    return NotKnown(MODEL)
                return msgspec.json.decode(place.read_bytes())
            except (OSError, ValueError):
                continue
            except (msgspec.DecodeError, RecursionError):
                return NotKnown(MODEL)
        return NotKnown(_NO_FILE)
