"""The messages of FaST: one table with the topic, the sender, the receiver and the quality of service of each message.

All other modules use this table. It must not know the content of a message, nor of YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from batprotocol.errors import EncodeError, shown
from batprotocol.fast import values as v
from batprotocol.fast.topics import Channel, Topic

__all__ = ["MESSAGES", "QOS", "RESULTS", "ROUTES", "Participant", "Route", "route_of", "routes_on", "topic_for"]


class Participant(str, Enum):
    """A program that sends or receives messages."""

    SCHEDULER = "scheduler"
    MIGFRA = "migration framework"
    AGENT = "agent"
    MMBWMON = "mmbwmon"
    PSCOM = "pscom"
    APPLICATION = "application"

    def __repr__(self) -> str:
        return f"Participant.{self.name}"

    def __str__(self) -> str:
        return str(self.value)


class Route(NamedTuple):
    """A row of the table: a message, and how it travels.

    Attributes:
        message: the class of the message.
        task: the value of its key `task` in payloads, or "" if it has no such key.
        channel: the kind of topic.
        sender: who publishes it.
        receiver: who subscribes to it.
        qos: the quality of service that it is published with.
        retained: whether the broker keeps it for later subscribers. No message of FaST is retained.
    """

    message: type[v.FastMessage]
    task: str
    channel: Channel
    sender: Participant
    receiver: Participant
    qos: int
    retained: bool = False


_SCHEDULER, _MIGFRA, _AGENT, _MMBWMON, _PSCOM, _APPLICATION = Participant
_TASK = (Channel.MIGFRA_TASK, _SCHEDULER, _MIGFRA, 2)

ROUTES: Final[tuple[Route, ...]] = (
    Route(v.StartVM, "start vm", *_TASK),
    Route(v.StopVM, "stop vm", *_TASK),
    Route(v.SuspendVM, "suspend vm", *_TASK),
    Route(v.ResumeVM, "resume vm", *_TASK),
    Route(v.MigrateVM, "migrate vm", *_TASK),
    Route(v.EvacuateNode, "evacuate node", *_TASK),
    Route(v.RepinVM, "repin vm", *_TASK),
    Route(v.Quit, "quit", *_TASK),
    Route(v.Result, "", Channel.MIGFRA_RESULT, _MIGFRA, _SCHEDULER, 1),
    Route(v.Init, "init", Channel.AGENT_STATUS, _AGENT, _SCHEDULER, 2),
    Route(v.Configuration, "configuration", Channel.AGENT_STATUS, _AGENT, _SCHEDULER, 2),
    Route(v.KPI, "KPI", Channel.AGENT_STATUS, _AGENT, _SCHEDULER, 2),
    Route(v.InitAgent, "init agent", Channel.AGENT_TASK, _SCHEDULER, _AGENT, 2),
    Route(v.InitAgent, "init agent", Channel.AGENT_INIT_AGENT, _SCHEDULER, _AGENT, 2),
    Route(v.StopMonitoring, "stop monitoring", Channel.AGENT_TASK, _SCHEDULER, _AGENT, 2),
    Route(v.StopMonitoring, "stop monitoring", Channel.AGENT_STOP_MONITORING, _SCHEDULER, _AGENT, 2),
    Route(v.MmbwmonRequest, "mmbwmon request", Channel.MMBWMON_REQUEST, _SCHEDULER, _MMBWMON, 2),
    Route(v.MmbwmonResponse, "mmbwmon response", Channel.MMBWMON_RESPONSE, _MMBWMON, _SCHEDULER, 2),
    Route(v.MmbwmonStop, "mmbwmon stop", Channel.MMBWMON_STOP, _SCHEDULER, _MMBWMON, 2),
    Route(v.MmbwmonStopAck, "", Channel.MMBWMON_STOP_ACK, _MMBWMON, _SCHEDULER, 2),
    Route(v.MmbwmonRestart, "mmbwmon restart", Channel.MMBWMON_RESTART, _SCHEDULER, _MMBWMON, 2),
    Route(v.MmbwmonRestartAck, "", Channel.MMBWMON_RESTART_ACK, _MMBWMON, _SCHEDULER, 2),
    Route(v.PscomRequest, "", Channel.PSCOM_REQUEST, _MIGFRA, _PSCOM, 0),
    Route(v.PscomResponse, "", Channel.PSCOM_RESPONSE, _PSCOM, _MIGFRA, 1),
    Route(v.ApplicationStatus, "status", Channel.APPLICATION_STATUS, _APPLICATION, _SCHEDULER, 2),
    Route(v.ApplicationKPIs, "KPIs", Channel.APPLICATION_KPIS, _APPLICATION, _SCHEDULER, 2),
)
"""All of them. A message that travels on several topics has the usual one first."""

RESULTS: Final[Mapping[type[v.FastMessage], str]] = {
    v.StartVM: "vm started",
    v.StopVM: "vm stopped",
    v.SuspendVM: "vm suspended",
    v.ResumeVM: "vm resumed",
    v.MigrateVM: "vm migrated",
    v.EvacuateNode: "node evacuated",
    v.RepinVM: "vm repinned",
    v.Quit: "quit",
}
"""The word of the result of each task."""

MESSAGES: Final[Mapping[str, type[v.FastMessage]]] = {
    **{route.message.__name__: route.message for route in ROUTES},
    v.SystemInfo.__name__: v.SystemInfo,
}
"""All messages by the names of their classes, including the one that has no topic."""

QOS: Final[Mapping[Channel, int]] = {route.channel: route.qos for route in ROUTES}
"""The quality of service of each kind of topic: it is the same for all messages on it."""

_USUAL: Final = {route.message: route for route in reversed(ROUTES)}
_ON: Final = {channel: tuple(route for route in ROUTES if route.channel is channel) for channel in Channel}


def route_of(message: v.FastMessage | type[v.FastMessage]) -> Route:
    """The usual route of a message. EncodeError if it has no topic.

    >>> route_of(v.Quit).channel, route_of(v.Quit).qos
    (Channel.MIGFRA_TASK, 2)
    """
    kind = message if isinstance(message, type) else type(message)
    route = _USUAL.get(kind)
    if route is None:
        raise EncodeError(f"{shown(message)} is not a message with a topic")
    return route


def routes_on(channel: Channel) -> tuple[Route, ...]:
    """All messages that travel on topics of this kind."""
    return _ON[channel]


def topic_for(message: v.FastMessage | type[v.FastMessage], name: str, process: str | int | None = None) -> Topic:
    """The topic that a message usually travels on, to or from this host, application or process.

    >>> str(topic_for(v.Quit(), "node-a"))
    'fast/migfra/node-a/task'
    """
    return route_of(message).channel.topic(name, process)
