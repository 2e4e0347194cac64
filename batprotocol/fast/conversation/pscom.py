"""The connections of pscom: closed before a migration with hooks, and opened again after it.

The framework publishes `suspend` for a machine, waits for as many answers as there are processes, migrates, publishes
`resume`, and waits again; then comes the result. It must not know of ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from batprotocol.fast import values as v
from batprotocol.fast.conversation.state import Memory, State, Waiting

__all__ = ["PATIENCE", "Pscom"]

PATIENCE: Final = 10.0
"""How long the framework waits for each answer, in seconds."""

_NUMBER: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


class _Machine:
    """The requests to the processes of a machine since its migration was requested, and their answers.

    Attributes:
        expected: the expected number of answers, None if it is unknown.
        asked: the last request, or "".
        answers: the number of answers since.
        suspended: whether all processes have closed their connections.
        resumed: whether all processes have opened them again.
        waiting: the answers that are missing.
    """

    __slots__ = ("answers", "asked", "expected", "resumed", "suspended", "waiting")

    def __init__(self, expected: int | None) -> None:
        self.expected = expected
        self.asked = ""
        self.answers = 0
        self.suspended = False
        self.resumed = False
        self.waiting: Waiting | None = None

    def has_all(self) -> bool:
        """Whether all expected answers have come; if their number is unknown, whether one has come."""
        return self.answers >= (1 if self.expected is None else self.expected)


class Pscom:
    """The connections of all machines."""

    def __init__(self) -> None:
        self._machines: Memory[str, _Machine] = Memory()
        self._is_heard = False  # whether any message came on pscom's topics

    def migrating(self, task: v.MigrateVM, state: State) -> None:
        """Take the task to migrate a machine."""
        for name, processes in _hooked(task):
            self._machines[name] = _Machine(int(processes) if _NUMBER.fullmatch(processes) else None)

    def migrated(self, task: v.MigrateVM, result: v.Result, state: State) -> None:
        """Take the result of a migration. If it failed, nothing is known about the connections."""
        for name, _ in _hooked(task):
            machine = self._machines.get(name)
            if machine is None or not result.is_success:
                continue
            if not self._is_heard:
                text = f"no message of pscom has closed the connections of {name!r} before it was migrated"
                state.report(
                    "pscom.not-suspended",
                    "",
                    f"{text}, and there was no other message of pscom: check the subscription to its topics",
                    severity="warning",
                )
            elif not machine.suspended:
                text = f"the connections of {name!r} were not all closed before it was migrated"
                state.report("pscom.not-suspended", "", text)
            elif not machine.resumed:
                text = f"the connections of {name!r} were not all opened again after it was migrated"
                state.report("pscom.not-resumed", "", text)

    def asked(self, name: str, request: v.PscomRequest, state: State) -> None:
        """Take a request of the framework to the processes of a machine. A new request ends its wait for answers."""
        self._is_heard = True
        machine = self._there(name)
        waiting = machine.waiting
        is_overdue = waiting is not None and waiting.deadline < state.time  # reported already
        if waiting is not None and not waiting.done and not is_overdue and request.task != machine.asked:
            text = f"{waiting.text} had not come when {request.task!r} was requested"
            state.report("pscom.unanswered", "", text, waiting.number)
        if request.task == machine.asked == v.SUSPEND:
            state.report("pscom.order", "", f"the connections of {name!r} are closed already")
        elif request.task == v.RESUME and machine.asked != v.SUSPEND:
            state.report("pscom.order", "", f"the connections of {name!r} are not closed")
        machine.asked = request.task
        machine.answers = 0
        if waiting is not None:
            waiting.done = True
        text = f"the answer of the processes of {name!r} to {request.task!r}"
        seconds = PATIENCE * max(1, min(machine.expected or 1, 1000))
        machine.waiting = state.wait(seconds, "pscom.unanswered", "", text)

    def answered(self, name: str, response: v.PscomResponse, state: State) -> None:
        """Take an answer of a process of a machine."""
        self._is_heard = True
        machine = self._machines.get(name)
        if machine is None or not machine.asked:
            state.report("pscom.unasked", "", f"the processes of {name!r} have no open request")
            return
        machine.answers += 1
        if not machine.has_all():
            return
        if machine.waiting is not None:
            machine.waiting.done = True
        if machine.asked == v.SUSPEND:
            machine.suspended = True
        elif machine.asked == v.RESUME and machine.suspended:
            machine.resumed = True

    def _there(self, name: str) -> _Machine:
        machine = self._machines.get(name)
        if machine is None:
            machine = self._machines[name] = _Machine(None)
        return machine


def _hooked(task: v.MigrateVM) -> Iterator[tuple[str, str]]:
    """The machines of a migration whose processes must close their connections, and the number of these processes."""
    parameter = task.parameter
    if parameter is None:
        return
    swap = parameter.swap_with
    for name, processes in (
        (task.vm_name, parameter.pscom_hook_procs),
        *(((swap.vm_name, swap.pscom_hook_procs),) if swap else ()),
    ):
        if processes is not None and processes.strip() != "0":
            yield name, processes.strip()
