"""Nodes at a broker: each message goes to its receiver, and the messages of the nodes are published.

All nodes of a process have one connection. It must not know the effect of any message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from batprotocol._util.signals import Interrupts
from batprotocol.errors import DecodeError
from batprotocol.fast import wire
from batprotocol.fast.messages import QOS, Participant, route_of
from batprotocol.fast.nodes.agent import Agent
from batprotocol.fast.nodes.hypervisor import Hypervisors
from batprotocol.fast.nodes.migfra import MigrationFramework
from batprotocol.fast.nodes.processes import Applications, Processes
from batprotocol.fast.nodes.settings import Luck, Settings
from batprotocol.fast.runtime.broker import Broker
from batprotocol.fast.runtime.cluster import DEFAULT_BROKER, subscriptions_of
from batprotocol.fast.runtime.connection import Connection, Received, logger
from batprotocol.fast.runtime.inbox import Inbox
from batprotocol.fast.topics import Channel, Topic
from batprotocol.fast.values import FastMessage, PscomRequest

__all__ = ["Nodes", "serve_nodes"]


def serve_nodes(
    hosts: Iterable[str],
    broker: Broker | str = DEFAULT_BROKER,
    settings: Settings | None = None,
    *,
    on_ready: Callable[[Nodes], None] | None = None,
) -> None:
    """Run nodes of these names at a broker, until all of them have got the task `quit`.

    Args:
        hosts: the names of the nodes.
        broker: the address of the broker, as `Broker` or in the form `HOST:PORT`.
        settings: the behaviour of the nodes.
        on_ready: called when the nodes are connected.

    Raises:
        PeerGone, PeerSilent: there is no broker, or it refuses the connection.
        EncodeError: a name is not allowed in a topic.
        KeyboardInterrupt: SIGINT came. SystemExit(143): SIGTERM came.
    """
    with Interrupts() as interrupts:
        asyncio.run(_serve(tuple(hosts), broker, settings or Settings(), interrupts, on_ready))


async def _serve(
    hosts: tuple[str, ...],
    broker: Broker | str,
    settings: Settings,
    interrupts: Interrupts,
    on_ready: Callable[[Nodes], None] | None,
) -> None:
    inbox = Inbox()
    nodes = Nodes(hosts, settings, inbox)
    subscriptions: dict[str, int] = {}
    for who in (Participant.MIGFRA, Participant.AGENT, Participant.MMBWMON):
        subscriptions.update(subscriptions_of(who, hosts))
    for who in (Participant.MIGFRA, Participant.PSCOM):  # they know of machines, which may be anywhere
        subscriptions.update({topic: qos for topic, qos in subscriptions_of(who).items() if "/pscom/" in topic})
    connection = Connection(broker, subscriptions, lambda received: inbox.tell(partial(nodes.take, received)))
    nodes.publish_with(connection.publish)
    interrupts.wake = inbox.stop
    try:
        with interrupts.immediately():
            connection.open()
            inbox.start(nodes.serve(), stop_after=True)
            if on_ready is not None:
                on_ready(nodes)
            await inbox.until_stopped()
    finally:
        connection.close()


class Nodes:
    """The nodes of one process.

    Attributes:
        hypervisors: which machines are where.
        migration_frameworks: the migration framework of each host.
        agents: the agent of each host.
    """

    def __init__(self, hosts: Iterable[str], settings: Settings, inbox: Inbox) -> None:
        self.hypervisors = Hypervisors(hosts, settings.cores)
        for host in self.hypervisors.hosts:
            str(Channel.MIGFRA_TASK.topic(host))  # what cannot be a name is refused before anything is done
        self._publish: Callable[[str, bytes, int], None] = _nowhere
        luck, start = Luck(settings, "machines"), inbox.start
        self._processes = Processes(self.hypervisors, settings, luck, self._say, start)
        self._applications = Applications(self.hypervisors, settings, self._say, start)
        self.migration_frameworks = {
            host: MigrationFramework(
                host,
                self.hypervisors,
                Luck(settings, host),
                self._processes,
                partial(self._say, host),
                start,
                self._applications.look,
            )
            for host in self.hypervisors.hosts
        }
        self.agents = {
            host: Agent(host, self.hypervisors, settings, Luck(settings, host), partial(self._say, host), start)
            for host in self.hypervisors.hosts
        }

    def publish_with(self, publish: Callable[[str, bytes, int], None]) -> None:
        """Publish what is said with this: it is called with topic, payload and quality of service."""
        self._publish = publish

    async def serve(self) -> None:
        """Announce the nodes, and return when all of them have quit."""
        for agent in self.agents.values():
            agent.begin()
        await asyncio.gather(*(each.serve() for each in self.migration_frameworks.values()))

    def take(self, received: Received) -> None:
        """Give a message to its receiver."""
        topic = Topic.find(received.topic)
        if topic is None:
            return
        if topic.channel is Channel.MIGFRA_TASK:
            self.migration_frameworks[topic.name].take(received.payload)
        elif topic.channel is Channel.PSCOM_RESPONSE:  # any content counts
            self._processes.take_response(topic.name)
        else:
            try:
                message = wire.decode(received.payload, topic, dialect="any")
            except DecodeError as error:
                logger.warning("%s: %s", received.topic, error)
                return
            if isinstance(message, PscomRequest):
                self._processes.take_request(topic.name, topic.process or "", message)
            else:
                self.agents[topic.name].take(message)

    def _say(self, name: str, message: FastMessage, process: Any = None) -> None:
        channel = route_of(message).channel
        self._publish(str(channel.topic(name, process)), wire.encode(message), QOS[channel])


def _nowhere(topic: str, payload: bytes, qos: int) -> None:
    raise RuntimeError("nobody listens yet")
