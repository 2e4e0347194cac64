"""The other programs of nodes to test with (agent, mmbwmon, pscom, applications), and all nodes at a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Final
from zlib import crc32

from batprotocol._util.signals import Interrupts
from batprotocol.errors import DecodeError
from batprotocol.fast import values as v
from batprotocol.fast import wire
from batprotocol.fast.runtime.cluster import DEFAULT_BROKER, subscriptions_of
from batprotocol.fast.runtime.connection import Broker, BrokerConnection, Inbox, Received, logger
from batprotocol.fast.runtime.hypervisor import Hypervisors, Luck, MigrationFramework, Settings
from batprotocol.fast.topics import QOS, Participant, Topic, TopicKind, route_of
from batprotocol.fast.values import (
    ALLOWED,
    ANY_PROCESS,
    COMPLETED,
    RESUME,
    SUSPEND,
    ApplicationKPIs,
    ApplicationStatus,
    FastMessage,
    PscomRequest,
    PscomResponse,
)

__all__ = ["Agent", "Applications", "Nodes", "PscomProcesses", "serve_nodes"]

LEAST_BANDWIDTH: Final = 0.33
"""The share that is always left, by the specification."""


class Agent:
    """The agent and the mmbwmon of one host.

    Args:
        host: the host.
        hypervisors: the machines of all hosts.
        settings: how much bandwidth machines use.
        luck: what chance has in store.
        publish: called with what is said.
        start: runs a coroutine beside the others.
    """

    def __init__(
        self,
        host: str,
        hypervisors: Hypervisors,
        settings: Settings,
        luck: Luck,
        publish: Callable[[v.FastMessage], None],
        start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]],
    ) -> None:
        self.host = host
        self._hypervisors = hypervisors
        self._settings = settings
        self._luck = luck
        self._publish = publish
        self._start = start
        self._reporting: asyncio.Task[Any] | None = None

    def begin(self) -> None:
        """Announce the node to schedulers."""
        self._publish(v.Init(self.host))

    def take(self, message: v.FastMessage) -> None:
        """Do what a scheduler asks for."""
        if isinstance(message, v.InitAgent):
            self._configure(message)
        elif isinstance(message, v.MmbwmonRequest):
            self._start(self._measure(message))
        elif isinstance(message, v.MmbwmonStop):
            self._publish(v.MmbwmonStopAck())
        elif isinstance(message, v.MmbwmonRestart):
            self._publish(v.MmbwmonRestartAck())
        else:  # stop monitoring
            self.end()

    def end(self) -> None:
        """Report nothing any more."""
        if self._reporting is not None:
            self._reporting.cancel()
            self._reporting = None

    @property
    def available_bandwidth(self) -> float:
        """The share of the memory bandwidth that the machines leave that are not suspended."""
        machines = self._hypervisors.machines(self.host).values()
        used = sum(self._settings.bandwidth_of(each.name) for each in machines if not each.is_suspended)
        return round(max(LEAST_BANDWIDTH, 1 - used), 4)

    def _configure(self, message: v.InitAgent) -> None:
        self.end()
        accepted = message.kpi.repeat > 0
        self._publish(v.Configuration(self.host, "accepted" if accepted else "denied"))
        if accepted:
            self._reporting = self._start(self._report(message))

    async def _report(self, message: v.InitAgent) -> None:
        while True:
            await asyncio.sleep(message.kpi.repeat)
            machines = len(self._hypervisors.names(self.host))
            known = {"Node memory bandwidth": str(self.available_bandwidth), "Node virtual machines": str(machines)}
            self._publish(v.KPI(self.host, {name: known.get(name, "0") for name in message.kpi.categories} or known))

    async def _measure(self, message: v.MmbwmonRequest) -> None:
        fate = self._luck.draw("mmbwmon", str(message.cores))
        await asyncio.sleep(fate.seconds)
        if not fate.fails and not fate.is_silent:  # it has no words for a failure
            self._publish(v.MmbwmonResponse(message.cores, self.available_bandwidth))


# The processes in the machines: MPI, whose layer pscom closes its connections on request, and applications


PATIENCE: Final = 10.0
"""Seconds that a migration framework waits for each answer of pscom."""

_Publish = Callable[[str, FastMessage, "int | str | None"], None]
_Start = Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]]


class PscomProcesses:
    """The processes of MPI in all machines: pscom in them, and how a migration framework reaches it.

    Args:
        hypervisors: the machines of all hosts.
        settings: how many processes there are in each.
        luck: what chance has in store.
        publish: called with a machine, what is said to it or by it, and the process.
        start: runs a coroutine beside the others.
    """

    def __init__(
        self, hypervisors: Hypervisors, settings: Settings, luck: Luck, publish: _Publish, start: _Start
    ) -> None:
        self._hypervisors = hypervisors
        self._settings = settings
        self._luck = luck
        self._publish = publish
        self._start = start
        self._answers: dict[str, asyncio.Queue[None]] = {}

    def numbers(self, machine: str) -> tuple[int, ...]:
        """The numbers of the processes in a machine."""
        first = 2000 + crc32(machine.encode()) % 8000
        return tuple(range(first, first + self._settings.pscom_procs))

    # As pscom

    def take_request(self, machine: str, process: str, request: PscomRequest) -> None:
        """Let the processes answer that are meant, if the machine is on one of these hosts."""
        if self._hypervisors.host_of(machine) is None or request.task not in (SUSPEND, RESUME):
            return
        state = ALLOWED if request.task == SUSPEND else COMPLETED
        for number in self.numbers(machine):
            if process in (ANY_PROCESS, str(number)):
                self._start(self._answer(machine, PscomResponse(state, number)))

    async def _answer(self, machine: str, response: PscomResponse) -> None:
        fate = self._luck.draw("pscom", f"{machine} {response}")
        await asyncio.sleep(fate.seconds)
        if not fate.fails and not fate.is_silent:  # it has no words for a failure
            self._publish(machine, response, response.process)

    # As a migration framework reaches it

    def count(self, machine: str) -> int:
        """How many processes there are in a machine."""
        return self._settings.pscom_procs

    async def ask(self, machine: str, what: str, processes: int) -> bool:
        """Let the processes of a machine `suspend` or `resume` their connections; whether so many answered in time."""
        answers = self._answers[machine] = asyncio.Queue()
        self._publish(machine, PscomRequest(what), ANY_PROCESS)
        try:
            for _ in range(processes):
                await asyncio.wait_for(answers.get(), PATIENCE)
        except asyncio.TimeoutError:
            return False
        finally:
            self._answers.pop(machine, None)
        return True

    def take_response(self, machine: str) -> None:
        """Take note that a process of a machine has answered; the content of its answer does not matter."""
        if machine in self._answers:
            self._answers[machine].put_nowait(None)


class Applications:
    """An application in each machine that reports its progress. The job id of each is the name of its machine.

    Args:
        hypervisors: the machines of all hosts.
        settings: how often they report, if they do at all.
        publish: called with a job id, what is said, and None.
        start: runs a coroutine beside the others.
    """

    def __init__(self, hypervisors: Hypervisors, settings: Settings, publish: _Publish, start: _Start) -> None:
        self._hypervisors = hypervisors
        self._settings = settings
        self._publish = publish
        self._start = start
        self._running: dict[str, asyncio.Task[Any]] = {}

    def look(self) -> None:
        """Start the applications of machines that are new, and end those of machines that are gone."""
        if not self._settings.applications:
            return
        there = {name for host in self._hypervisors.hosts for name in self._hypervisors.names(host)}
        for name in self._running.keys() - there:
            self._running.pop(name).cancel()
        for name in there - self._running.keys():
            self._running[name] = self._start(self._report(name))

    async def _report(self, job_id: str) -> None:
        self._publish(job_id, ApplicationStatus(job_id, True, ["progress", "memory bandwidth"]), None)
        seconds = 0.0
        while True:
            await asyncio.sleep(self._settings.report_time)
            seconds += self._settings.report_time
            bandwidth = self._settings.bandwidth_of(job_id)
            kpis = {"progress": f"{seconds:g}", "memory bandwidth": f"{bandwidth:.3f}"}
            self._publish(job_id, ApplicationKPIs(job_id, kpis), None)


# Nodes at a broker: each message goes to its receiver, and their messages are published


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
    connection = BrokerConnection(broker, subscriptions, lambda received: inbox.tell(partial(nodes.take, received)))
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
            str(TopicKind.MIGFRA_TASK.topic(host))  # what cannot be a name is refused before anything is done
        self._publish: Callable[[str, bytes, int], None] = _nowhere
        luck, start = Luck(settings, "machines"), inbox.start
        self._processes = PscomProcesses(self.hypervisors, settings, luck, self._say, start)
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
        if topic.channel is TopicKind.MIGFRA_TASK:
            self.migration_frameworks[topic.name].take(received.payload)
        elif topic.channel is TopicKind.PSCOM_RESPONSE:  # any content counts
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
