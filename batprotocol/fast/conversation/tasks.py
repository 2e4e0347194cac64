"""Tasks and their results: each task has one, with its id and an entry for each of its machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from batprotocol.fast import values as v
from batprotocol.fast.conversation import state as limits
from batprotocol.fast.conversation.machines import Machines, names_of
from batprotocol.fast.conversation.pscom import Pscom
from batprotocol.fast.conversation.state import Memory, State, Waiting
from batprotocol.fast.messages import RESULTS, route_of

__all__ = ["PATIENCE", "Tasks"]

PATIENCE: Final = {
    v.StartVM: 60.0,
    v.StopVM: 60.0,
    v.SuspendVM: 60.0,
    v.ResumeVM: 60.0,
    v.RepinVM: 60.0,
    v.MigrateVM: 600.0,
    v.EvacuateNode: 3600.0,
    v.Quit: 600.0,
}
"""How long a machine of a task may take, in seconds. The time of start and stop is the framework's own time-out. The
framework has no other time-outs; no real program was seen to exceed the other times."""

_UNREADABLE: Final = 10.0


class _Asked:
    """A task that has no result yet; None for a payload that was not a task."""

    __slots__ = ("node", "task", "waiting")

    def __init__(self, node: str, task: v.Task | None, waiting: Waiting) -> None:
        self.node = node
        self.task = task
        self.waiting = waiting

    @property
    def id(self) -> str | None:
        """The id that its result has. The result of an empty id has no id."""
        return (self.task.id or None) if self.task is not None else None


class Tasks:
    """The tasks of all nodes.

    Args:
        machines: which machines run where.
        pscom: which connections are closed.
    """

    def __init__(self, machines: Machines, pscom: Pscom) -> None:
        self._machines = machines
        self._pscom = pscom
        self._asked: Memory[str, list[_Asked]] = Memory()  # by node
        self._count = 0
        self._answered: Memory[tuple[str, str], bool] = Memory()

    def asked(self, node: str, task: v.Task | None, state: State) -> None:
        """Take a task, or None for a payload that is not a task."""
        there = self._asked.get(node) or []
        if task is None:
            text, seconds = f"the result for this on {node}", _UNREADABLE
        else:
            names = names_of(task)
            text, seconds = f"the result of {_name(task)!r} on {node}", PATIENCE[type(task)] * max(1, len(names))
            if not names:
                state.report("task.empty", "", f"{_name(task)!r} names no machine")
            if task.id and any(each.id == task.id for each in there):
                state.report("task.id-twice", "id", f"{task.id!r} is the id of a task that {node} has not answered yet")
            self._machines.asked(node, task, state)
        there.append(_Asked(node, task, state.wait(seconds, "task.unanswered", "task.open", text)))
        self._asked[node] = there[-limits.LARGEST :]
        if isinstance(task, v.MigrateVM):
            self._pscom.migrating(task, state)

    def answered(self, node: str, result: v.Result, state: State) -> None:
        """Take a result."""
        there = self._asked.get(node)
        for index, entry in enumerate(result.list):
            if entry.status not in (v.SUCCESS, v.ERROR):
                state.report("result.status", _path(result, index, "status"), f"{entry.status!r} is not a status")
        if there is None:
            return  # the result of a task before the recording began
        asked = _match(there, result)
        if asked is None:
            self._unasked(node, result, state)
            return
        there.remove(asked)
        asked.waiting.done = True
        if result.id:
            self._answered[node, result.id] = True
        if asked.task is not None and result.result != v.UNKNOWN:
            self._compare(asked, asked.task, result, state)

    def _unasked(self, node: str, result: v.Result, state: State) -> None:
        if result.id and self._answered.get((node, result.id)):
            state.report("result.twice", "id", f"the task {result.id!r} of {node} has its result already")
        else:
            which = f" with the id {result.id!r}" if result.id else ""
            state.report("result.unasked", "", f"{node} has no open task{which} for the result {result.result!r}")

    def _compare(self, asked: _Asked, task: v.Task, result: v.Result, state: State) -> None:
        if result.result != RESULTS[type(task)]:
            state.report("result.title", "result", f"{result.result!r} is not a result of {_name(task)!r}")
            return
        if result.id != asked.id:
            state.report("result.id", "id", f"expected {asked.id!r}, the id of the task, found {result.id!r}")
        if not isinstance(task, v.EvacuateNode | v.Quit):
            _compare_names(task, result, state)
        self._machines.answered(asked.node, task, result)
        if isinstance(task, v.MigrateVM):
            self._pscom.migrated(task, result, state)


def _name(task: v.Task) -> str:
    return route_of(task).task


def _path(result: v.Result, index: int, key: str) -> str:
    return key if result.result == RESULTS[v.MigrateVM] else f"list[{index}].{key}"


def _match(there: list[_Asked], result: v.Result) -> _Asked | None:
    """The task of a result: the first one with the strongest ground."""
    for fits in _GROUNDS:
        asked = next((asked for asked in there if fits(asked, result)), None)
        if asked is not None:
            return asked
    return None


def _is_kind(asked: _Asked, result: v.Result) -> bool:
    return asked.task is not None and RESULTS[type(asked.task)] == result.result


def _is_unknown(result: v.Result) -> bool:
    return result.result == v.UNKNOWN and not result.id


def _names_agree(asked: _Asked, result: v.Result) -> bool:
    return asked.task is not None and not list(_differences(asked.task, result))


_GROUNDS: Final[tuple[Callable[[_Asked, v.Result], bool], ...]] = (
    lambda asked, result: _is_unknown(result) and asked.task is None,
    lambda asked, result: asked.id == result.id and _is_kind(asked, result) and _names_agree(asked, result),
    lambda asked, result: asked.id == result.id and _is_kind(asked, result),
    lambda asked, result: result.id is not None and asked.id == result.id,
    # The framework sends no id if it could not do the task at all
    lambda asked, result: _is_unknown(result) and isinstance(asked.task, v.EvacuateNode),
    lambda asked, result: _is_unknown(result),
    lambda asked, result: not result.id and _is_kind(asked, result) and _names_agree(asked, result),
    lambda asked, result: asked.id is None and _is_kind(asked, result) and _names_agree(asked, result),
    lambda asked, result: not result.id and not _is_unknown(result) and asked.id is None and asked.task is not None,
)
"""The grounds to assign a result to a task, the strongest first."""


# The entries


def _differences(task: v.Task, result: v.Result) -> Iterator[int]:
    """The places at which the names of a result are not those of the task."""
    expected = names_of(task)
    for index in range(max(len(expected), len(result.list))):
        if index >= len(expected) or index >= len(result.list) or not _is(result.list[index].vm_name, expected[index]):
            yield index


def _is(name: str, expected: frozenset[str] | None) -> bool:
    return expected is None or name in expected


def _compare_names(task: v.Task, result: v.Result, state: State) -> None:
    different = list(_differences(task, result))
    if not different:
        return
    expected, found = names_of(task), [entry.vm_name for entry in result.list]
    if len(expected) != len(found):
        text = f"expected {len(expected)} entries, one for each machine of the task, found {len(found)}"
        state.report("result.entries", "list", text)
    elif Counter(found) == Counter(min(names) for names in expected if names):
        state.report("result.order", "list", f"the entries are not in the order of the {_name(task)!r}")
    else:
        index = different[0]
        names = " or ".join(sorted(expected[index] or ()))
        path = _path(result, index, "vm-name")
        state.report("result.entries", path, f"expected the machine {names!r}, found {found[index]!r}")
