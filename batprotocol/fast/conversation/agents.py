"""Agents and mmbwmon: an agent starts, is configured, and reports; each request to mmbwmon has one answer."""

from __future__ import annotations

from typing import Final, NamedTuple

from batprotocol.fast import values as v
from batprotocol.fast.conversation import state as limits
from batprotocol.fast.conversation.state import Memory, State, Waiting

__all__ = ["PATIENCE", "Agents"]

PATIENCE: Final = 60.0
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


class _Request(NamedTuple):
    """A request that has no answer yet."""

    message: v.FastMessage
    waiting: Waiting


class Agents:
    """The agents and mmbwmons of all nodes."""

    def __init__(self) -> None:
        self._started: Memory[str, Waiting] = Memory()
        """The agents that have started and were not configured since."""
        self._configured: Memory[str, bool] = Memory()
        self._asked: Memory[tuple[str, type[v.FastMessage]], list[_Request]] = Memory()

    def status(self, node: str, message: v.FastMessage, state: State) -> None:
        """Take a message from an agent."""
        if not isinstance(message, v.Init):
            self._ordered(node, message, state)
        elif self._configured.get(node) is None and self._started.get(node) is None:
            text = f"'init agent' for {node}"
            self._started[node] = state.wait(PATIENCE, "agent.no-init-agent", "agent.no-init-agent", text)

    def told(self, node: str, message: v.FastMessage, state: State) -> None:
        """Take a message to an agent."""
        if not isinstance(message, v.InitAgent):
            self._ordered(node, message, state)
            return
        self._configured[node] = True
        waiting = self._started.pop(node)
        if waiting is not None:
            waiting.done = True

    def _ordered(self, node: str, message: v.FastMessage, state: State) -> None:
        if self._started.get(node) is not None:
            state.report("agent.order", "", f"{type(message).__name__} comes before {node} was configured")

    def asked(self, node: str, message: v.FastMessage, state: State) -> None:
        """Take a request to mmbwmon."""
        key = node, _ANSWERS[type(message)]
        waiting = state.wait(
            PATIENCE, "mmbwmon.unanswered", "mmbwmon.open", f"{_WORDS[type(message)]} of mmbwmon on {node}"
        )
        self._asked[key] = [*(self._asked.get(key) or []), _Request(message, waiting)][-limits.LARGEST :]

    def answered(self, node: str, message: v.FastMessage, state: State) -> None:
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


def _fits(request: _Request, answer: v.FastMessage) -> bool:
    if isinstance(request.message, v.MmbwmonRequest) and isinstance(answer, v.MmbwmonResponse):
        return sorted(request.message.cores) == sorted(answer.cores)
    return True
