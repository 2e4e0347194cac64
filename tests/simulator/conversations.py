"""Decision components for tests, as values: each function makes the events of a reply, and `simulated` plays them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from batprotocol import MessageBuilder
from batprotocol.edc import Scheduler
from batprotocol.model import (
    AllocationPlacement,
    EDCRequestedSimulationFeatures,
    Event,
    ExecuteJobEvent,
    JobCompletedEvent,
    JobSubmittedEvent,
    Message,
)
from batprotocol.simulator import Simulator

Decide = Callable[[Message], Sequence[Event]]


def hello(**features: bool) -> Message:
    """A hello that requests these features."""
    builder = MessageBuilder()
    builder.add_edc_hello("test", "1", "", EDCRequestedSimulationFeatures(**features))
    return builder.finish_message()


def simulated(simulator: Simulator, decide: Decide, **features: bool) -> list[Message]:
    """All that the simulator says to what is decided."""
    messages = []
    message: Message | None = simulator.begin(hello(**features))
    while message is not None:
        messages.append(message)
        message = simulator.turn(Message(message.now, tuple(decide(message))))
    return messages


def at_once(hosts: str = "0") -> Decide:
    """Executes each job at once, on these hosts."""

    def decide(message: Message) -> list[Event]:
        return [execute(message, event.job_id, hosts) for event in message.events if type(event) is JobSubmittedEvent]

    return decide


def execute(message: Message, job_id: str, hosts: str, **options: Any) -> Event:
    """Execute this job now."""
    return ExecuteJobEvent(timestamp=message.now, job_id=job_id, allocation=AllocationPlacement(hosts), **options)


def ends(messages: Sequence[Message]) -> dict[str, tuple[float, str]]:
    """When and how each job ended."""
    return {
        event.job_id: (event.timestamp, event.state.name)
        for message in messages
        for event in message.events
        if type(event) is JobCompletedEvent
    }


class FCFS(Scheduler):
    """On the first hosts, one job at a time: what each takes is its own business."""

    def __init__(self) -> None:
        self.queue: list[str] = []
        self.sizes: dict[str, int] = {}

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.queue.append(event.job_id)
        self.sizes[event.job_id] = event.job.resource_request

    def decide(self) -> None:
        if self.queue and not self.conversation.usage:
            job_id = self.queue.pop(0)
            self.reply.add_execute_job(job_id, range(max(1, self.sizes[job_id])))
