"""Which machines run on which node, according to tasks and results, and the tasks that need a machine that runs.

The state of a machine is unknown until a message shows it, and no violation is reported for it. It must not know of ids
and of open requests.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from batprotocol.fast import values as v
from batprotocol.fast.conversation.state import Memory, State

__all__ = ["Machines", "names_of"]

_State: TypeAlias = Literal["running", "suspended", "stopped", "failed"]
_NAME: Final = re.compile(r"<name>([^<]*)</name>")
_ALL: Final = ".*"
_GONE: Final = {"stopped": "has been stopped", "failed": "could not be started"}


def names_of(task: v.Task) -> list[frozenset[str] | None]:
    """The names that the entries of the result of a task may have; None for any number of entries with any names.

    >>> names_of(v.StopVM([v.VMToStop("vm1"), v.VMToStop(regex="vm.*")]))
    [frozenset({'vm1'}), frozenset({'vm.*'})]
    """
    if isinstance(task, v.StartVM):
        return [_names(entry.vm_name, *_names_in(entry.xml)) for entry in task.vm_configurations]
    if isinstance(task, v.StopVM):
        return [_names(entry.vm_name, entry.regex) for entry in task.list]
    if isinstance(task, v.SuspendVM | v.ResumeVM):
        return [_names(entry.vm_name) for entry in task.list]
    if isinstance(task, v.MigrateVM | v.RepinVM):
        return [_names(task.vm_name)]
    return [None]


def _names(*names: str | None) -> frozenset[str] | None:
    return frozenset(name for name in names if name) or None


def _names_in(xml: str | None) -> tuple[str, ...]:
    """The name in an XML, or if there is none, the XML itself, which the framework takes as the name."""
    if not xml:
        return ()
    found = _NAME.search(xml)
    return (found[1].strip(), xml) if found else (xml,)


class Machines:
    """The machines of all nodes."""

    def __init__(self) -> None:
        self._on: Memory[tuple[str, str], _State] = Memory()
        self._emptied: Memory[str, bool] = Memory()
        self._started: Memory[str, bool] = Memory()

    def asked(self, node: str, task: v.Task, state: State) -> None:
        """Judge a task."""
        if isinstance(task, v.SuspendVM | v.ResumeVM):
            for index, entry in enumerate(task.list):
                self._judge(node, entry.vm_name, f"list[{index}].vm-name", task, state)
        elif isinstance(task, v.MigrateVM | v.RepinVM):
            self._judge(node, task.vm_name, "vm-name", task, state)

    def _judge(self, node: str, name: str, path: str, task: v.Task, state: State) -> None:
        known = self._known(node, name)
        if known in _GONE:
            state.report("vm.not-started", path, f"{name!r} {_GONE[known]} on {node}")
        elif known is None and self._started.get(name) is None:
            state.report("vm.not-started", path, f"no message so far has started {name!r}")
        elif known == "running" and isinstance(task, v.ResumeVM):
            state.report("vm.not-suspended", path, f"{name!r} runs on {node}")
        elif known == "suspended" and isinstance(task, v.SuspendVM):
            state.report("vm.suspended", path, f"{name!r} is suspended on {node}")

    def _known(self, node: str, name: str) -> _State | None:
        known = self._on.get((node, name))
        return "stopped" if known is None and self._emptied.get(node) else known

    def answered(self, node: str, task: v.Task, result: v.Result) -> None:
        """Take the results of the machines of a task."""
        if isinstance(task, v.StartVM):
            self._start(node, result)
        elif isinstance(task, v.StopVM):
            self._stop(node, task, result)
        elif isinstance(task, v.MigrateVM):
            self._migrate(node, task, result)
        elif isinstance(task, v.EvacuateNode):
            for entry in result.list:
                self._on.pop((node, entry.vm_name))
        elif isinstance(task, v.SuspendVM | v.ResumeVM):
            for entry in result.list:
                if entry.is_success:
                    self._set(node, entry.vm_name, "suspended" if isinstance(task, v.SuspendVM) else "running")

    def _start(self, node: str, result: v.Result) -> None:
        for entry in result.list:
            if entry.is_success:
                self._set(node, entry.vm_name, "running")
            elif self._known(node, entry.vm_name) is None:
                self._set(node, entry.vm_name, "failed")

    def _stop(self, node: str, task: v.StopVM, result: v.Result) -> None:
        patterns = {entry.regex for entry in task.list if entry.regex and not entry.vm_name}
        for entry in result.list:
            if entry.is_success and entry.vm_name in patterns:  # the machines that it matches are unknown
                self._on.drop(lambda key: key[0] == node)
                if entry.vm_name == _ALL:
                    self._emptied[node] = True
            elif entry.is_success:
                self._set(node, entry.vm_name, "stopped")

    def _migrate(self, node: str, task: v.MigrateVM, result: v.Result) -> None:
        if not result.is_success:
            return
        self._move(task.vm_name, node, task.destination)
        if task.parameter is not None and task.parameter.swap_with is not None:
            self._move(task.parameter.swap_with.vm_name, task.destination, node)

    def _move(self, name: str, source: str, destination: str) -> None:
        """A machine runs on another node now. For tasks on the first node, the real framework reports an error."""
        known = self._on.pop((source, name))
        self._set(destination, name, known or "running")

    def _set(self, node: str, name: str, state: _State) -> None:
        self._on[node, name] = state
        if state in ("running", "suspended"):
            self._started[name] = True
