"""Conversations of FaST: the messages on all topics, checked one by one.

`Conversation` gives each message to its receiver: tasks and results (with the machines that they concern), agents, or
pscom. The receivers share one `FastState`; `_rules` lists the rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from batprotocol.errors import DecodeError, shown
from batprotocol.fast import _rules as limits
from batprotocol.fast import values as v
from batprotocol.fast._rules import CATALOGUE, RULE_SETS, BoundedMemory, FastState, OpenRequest, Violation
from batprotocol.fast.recording import Recorded
from batprotocol.fast.topics import RESULTS, Topic, TopicKind, route_of
from batprotocol.fast.wire import decode

__all__ = [
    "CATALOGUE",
    "RULE_SETS",
    "Conversation",
    "Violation",
    "check",
]


# Machines: which ones run on which node, according to tasks and results


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


class KnownMachines:
    """The machines of all nodes."""

    def __init__(self) -> None:
        self._on: BoundedMemory[tuple[str, str], _State] = BoundedMemory()
        self._emptied: BoundedMemory[str, bool] = BoundedMemory()
        self._started: BoundedMemory[str, bool] = BoundedMemory()

    def asked(self, node: str, task: v.Task, state: FastState) -> None:
        """Judge a task."""
        if isinstance(task, v.SuspendVM | v.ResumeVM):
            for index, entry in enumerate(task.list):
                self._judge(node, entry.vm_name, f"list[{index}].vm-name", task, state)
        elif isinstance(task, v.MigrateVM | v.RepinVM):
            self._judge(node, task.vm_name, "vm-name", task, state)

    def _judge(self, node: str, name: str, path: str, task: v.Task, state: FastState) -> None:
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


# pscom: its connections are closed before a migration with hooks, and opened again after it


PSCOM_PATIENCE: Final = 10.0
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
        self.waiting: OpenRequest | None = None

    def has_all(self) -> bool:
        """Whether all expected answers have come; if their number is unknown, whether one has come."""
        return self.answers >= (1 if self.expected is None else self.expected)


class Pscom:
    """The connections of all machines."""

    def __init__(self) -> None:
        self._machines: BoundedMemory[str, _Machine] = BoundedMemory()
        self._is_heard = False  # whether any message came on pscom's topics

    def migrating(self, task: v.MigrateVM, state: FastState) -> None:
        """Take the task to migrate a machine."""
        for name, processes in _hooked(task):
            self._machines[name] = _Machine(int(processes) if _NUMBER.fullmatch(processes) else None)

    def migrated(self, task: v.MigrateVM, result: v.Result, state: FastState) -> None:
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

    def asked(self, name: str, request: v.PscomRequest, state: FastState) -> None:
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
        seconds = PSCOM_PATIENCE * max(1, min(machine.expected or 1, 1000))
        machine.waiting = state.wait(seconds, "pscom.unanswered", "", text)

    def answered(self, name: str, response: v.PscomResponse, state: FastState) -> None:
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


# Tasks and results: each task has one, with its id and an entry for each of its machines


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


class _OpenTask:
    """A task that has no result yet; None for a payload that was not a task."""

    __slots__ = ("node", "task", "waiting")

    def __init__(self, node: str, task: v.Task | None, waiting: OpenRequest) -> None:
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

    def __init__(self, machines: KnownMachines, pscom: Pscom) -> None:
        self._machines = machines
        self._pscom = pscom
        self._asked: BoundedMemory[str, list[_OpenTask]] = BoundedMemory()  # by node
        self._count = 0
        self._answered: BoundedMemory[tuple[str, str], bool] = BoundedMemory()

    def asked(self, node: str, task: v.Task | None, state: FastState) -> None:
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
        there.append(_OpenTask(node, task, state.wait(seconds, "task.unanswered", "task.open", text)))
        self._asked[node] = there[-limits.LARGEST :]
        if isinstance(task, v.MigrateVM):
            self._pscom.migrating(task, state)

    def answered(self, node: str, result: v.Result, state: FastState) -> None:
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

    def _unasked(self, node: str, result: v.Result, state: FastState) -> None:
        if result.id and self._answered.get((node, result.id)):
            state.report("result.twice", "id", f"the task {result.id!r} of {node} has its result already")
        else:
            which = f" with the id {result.id!r}" if result.id else ""
            state.report("result.unasked", "", f"{node} has no open task{which} for the result {result.result!r}")

    def _compare(self, asked: _OpenTask, task: v.Task, result: v.Result, state: FastState) -> None:
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


def _match(there: list[_OpenTask], result: v.Result) -> _OpenTask | None:
    """The task of a result: the first one with the strongest ground."""
    for fits in _GROUNDS:
        asked = next((asked for asked in there if fits(asked, result)), None)
        if asked is not None:
            return asked
    return None


def _is_kind(asked: _OpenTask, result: v.Result) -> bool:
    return asked.task is not None and RESULTS[type(asked.task)] == result.result


def _is_unknown(result: v.Result) -> bool:
    return result.result == v.UNKNOWN and not result.id


def _names_agree(asked: _OpenTask, result: v.Result) -> bool:
    return asked.task is not None and not list(_differences(asked.task, result))


_GROUNDS: Final[tuple[Callable[[_OpenTask, v.Result], bool], ...]] = (
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


def _compare_names(task: v.Task, result: v.Result, state: FastState) -> None:
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


# Agents and mmbwmon: an agent starts, is configured, and reports; each request has one answer


AGENT_PATIENCE: Final = 60.0
"""How long an agent waits to be configured, and how long mmbwmon may measure, in seconds: four times the usual time."""

_ANSWERS: Final[dict[type[v.FastMessage], type[v.FastMessage]]] = {
    v.MmbwmonRequest: v.MmbwmonResponse,
    v.MmbwmonStop: v.MmbwmonStopAck,
    v.MmbwmonRestart: v.MmbwmonRestartAck,
}
"""The requests to mmbwmon, each with the class of its answer."""

_WORDS: Final = {
    v.MmbwmonRequest: "the measurement",
    v.MmbwmonStop: "the acknowledgement of the stop",
    v.MmbwmonRestart: "the acknowledgement of the restart",
}


class _AgentRequest(NamedTuple):
    """A request that has no answer yet."""

    message: v.FastMessage
    waiting: OpenRequest


class Agents:
    """The agents and mmbwmons of all nodes."""

    def __init__(self) -> None:
        self._started: BoundedMemory[str, OpenRequest] = BoundedMemory()
        """The agents that have started and were not configured since."""
        self._configured: BoundedMemory[str, bool] = BoundedMemory()
        self._asked: BoundedMemory[tuple[str, type[v.FastMessage]], list[_AgentRequest]] = BoundedMemory()

    def status(self, node: str, message: v.FastMessage, state: FastState) -> None:
        """Take a message from an agent."""
        if not isinstance(message, v.Init):
            self._ordered(node, message, state)
        elif self._configured.get(node) is None and self._started.get(node) is None:
            text = f"'init agent' for {node}"
            self._started[node] = state.wait(AGENT_PATIENCE, "agent.no-init-agent", "agent.no-init-agent", text)

    def told(self, node: str, message: v.FastMessage, state: FastState) -> None:
        """Take a message to an agent."""
        if not isinstance(message, v.InitAgent):
            self._ordered(node, message, state)
            return
        self._configured[node] = True
        waiting = self._started.pop(node)
        if waiting is not None:
            waiting.done = True

    def _ordered(self, node: str, message: v.FastMessage, state: FastState) -> None:
        if self._started.get(node) is not None:
            state.report("agent.order", "", f"{type(message).__name__} comes before {node} was configured")

    def asked(self, node: str, message: v.FastMessage, state: FastState) -> None:
        """Take a request to mmbwmon."""
        key = node, _ANSWERS[type(message)]
        waiting = state.wait(
            AGENT_PATIENCE, "mmbwmon.unanswered", "mmbwmon.open", f"{_WORDS[type(message)]} of mmbwmon on {node}"
        )
        self._asked[key] = [*(self._asked.get(key) or []), _AgentRequest(message, waiting)][-limits.LARGEST :]

    def answered(self, node: str, message: v.FastMessage, state: FastState) -> None:
        """Take an answer of mmbwmon: to the first request that it fits, or to the first one of all."""
        there = self._asked.get((node, type(message)))
        if there is None:
            return  # the answer to a request before the recording began
        if not there:
            state.report("mmbwmon.unasked", "", f"mmbwmon on {node} has no open request")
            return
        request = next((request for request in there if _fits(request, message)), there[0])
        if not _fits(request, message):
            state.report("mmbwmon.cores", "cores", f"the request was for other cores on {node}")
        there.remove(request)
        request.waiting.done = True


def _fits(request: _AgentRequest, answer: v.FastMessage) -> bool:
    if isinstance(request.message, v.MmbwmonRequest) and isinstance(answer, v.MmbwmonResponse):
        return sorted(request.message.cores) == sorted(answer.cores)
    return True


# The conversation


_ROOT: Final = "fast/"


class Conversation:
    """A conversation of any number of nodes.

    Args:
        rules: one of `RULE_SETS`, or "" for the default, `protocol`.

    >>> conversation = Conversation()
    >>> conversation.feed("fast/migfra/node-a/task", b"task: stop vm\\nlist: [{vm-name: vm1}]\\nid: 7", 0.0)
    []
    >>> answer = b"result: vm stopped\\nlist: [{vm-name: vm2, status: success}]\\nid: 7"
    >>> print(*conversation.feed("fast/migfra/node-a/result", answer, 0.1))
    message 1, list[0].vm-name: error: expected the machine 'vm1', found 'vm2' [result.entries]
    """

    def __init__(self, rules: str = "") -> None:
        self._state = FastState(rules or CATALOGUE.default)
        self._agents = Agents()
        pscom = Pscom()
        tasks = Tasks(KnownMachines(), pscom)
        agents = self._agents
        self._takers: dict[TopicKind, Callable[[str, Any, FastState], None]] = {
            TopicKind.MIGFRA_TASK: tasks.asked,
            TopicKind.MIGFRA_RESULT: tasks.answered,
            TopicKind.AGENT_STATUS: agents.status,
            TopicKind.AGENT_TASK: agents.told,
            TopicKind.AGENT_INIT_AGENT: agents.told,
            TopicKind.AGENT_STOP_MONITORING: agents.told,
            TopicKind.MMBWMON_REQUEST: agents.asked,
            TopicKind.MMBWMON_RESPONSE: agents.answered,
            TopicKind.MMBWMON_STOP: agents.asked,
            TopicKind.MMBWMON_STOP_ACK: agents.answered,
            TopicKind.MMBWMON_RESTART: agents.asked,
            TopicKind.MMBWMON_RESTART_ACK: agents.answered,
            TopicKind.PSCOM_REQUEST: pscom.asked,
            TopicKind.PSCOM_RESPONSE: pscom.answered,
        }

    @property
    def number(self) -> int:
        """The number of messages so far, which is the number of the next one."""
        return self._state.number

    def feed(self, topic: str, payload: bytes, time: float, *, retain: bool = False) -> list[Violation]:
        """Take the next message, and return all violations in it, and the answers that are overdue.

        Args:
            topic: its topic. A message whose topic is not below `fast/` is not checked.
            payload: its bytes.
            time: when it came, in seconds, of any clock.
            retain: whether the broker had kept it from before.
        """
        state = self._state
        state.found = []
        state.clock(time)
        found = Topic.find(topic)
        if found is not None:
            if retain:
                state.report("message.retained", "", "it was published with the retain flag")
            self._take(found, payload)
        elif topic.startswith(_ROOT):
            state.report("message.topic", "", f"{shown(topic)} is not a topic of FaST")
        state.number += 1
        return state.found

    def wait(self, time: float) -> list[Violation]:
        """Return the answers that are overdue at this time, as violations."""
        self._state.found = []
        self._state.clock(time)
        return self._state.found

    def finish(self) -> list[Violation]:
        """End the conversation, and return the answers that are missing, as violations."""
        self._state.found = []
        self._state.end()
        return self._state.found

    def _take(self, topic: Topic, payload: bytes) -> None:
        state = self._state
        message: Any = None
        try:
            message = decode(payload, topic, dialect="any")
            if "message.dialect" in state.severities:
                decode(payload, topic)
        except DecodeError as error:
            is_task = topic.channel is TopicKind.MIGFRA_TASK
            rule = "message.dialect" if message is not None else "task.form" if is_task else "message.form"
            place = f"line {error.line}: " if error.line is not None else ""
            state.report(rule, error.path, f"{place}{error.reason}")
            if message is None and not is_task:
                return
        taker = self._takers.get(topic.channel)
        if taker is not None:
            taker(topic.name, message, state)


def check(messages: Iterable[Recorded], rules: str = "") -> list[Violation]:
    """Return all violations in a recorded conversation.

    Args:
        messages: its messages, in the order in which they came.
        rules: one of `RULE_SETS`, or "" for the default.

    >>> check([Recorded("fast/migfra/node-a/task", b"task: quit")])[0].rule
    'task.open'
    """
    conversation = Conversation(rules)
    found: list[Violation] = []
    for message in messages:
        found += conversation.feed(message.topic, message.payload, message.time, retain=message.retain)
    return found + conversation.finish()
