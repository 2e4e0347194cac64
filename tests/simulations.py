"""Whole simulations in this process: what the simulator says, and a scheduler that it meets."""

from __future__ import annotations

from replay import HOSTS, Peer, begins, completed, ends, said, submitted

from batprotocol import AllStaticJobsHaveBeenSubmittedEvent, ForceSimulationStopEvent, JobSubmittedEvent, Message
from batprotocol.edc import Scheduler
from batprotocol.wire import frames

ANY_PORT = "tcp://127.0.0.1:*"


SIMULATION = [
    begins(),
    submitted(1.0),
    said(5.0, *completed(5.0).events, AllStaticJobsHaveBeenSubmittedEvent()),
    ends(6.0),
]


class Everywhere(Scheduler):
    """Executes each job on all hosts at once."""

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, f"0-{HOSTS - 1}")


def whole(peer: Peer) -> list[Message]:
    """A whole simulation, of one job; the replies."""
    frames.decode_hello(peer.ask(frames.encode_init("init")))
    return [peer.say(message) for message in SIMULATION]


def stopped(peer: Peer, first: Message) -> bool:
    """Whether this is answered by a stop, and the end of the simulation is awaited then. What Batsim needs to go on."""
    reply = peer.say(first)
    assert [type(event) for event in reply.events] == [ForceSimulationStopEvent]
    return peer.say(ends(first.now)).events == ()


def types(messages: list[Message]) -> list[list[str]]:
    return [[type(event).__name__ for event in message.events] for message in messages]
