"""The messages of FaST: one table that says which of them travels on which topic, who says it to whom, and how.

Everything else asks this table. It must not know what is in a message, nor of YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from batprotocol.errors import EncodeError, shown
from batprotocol.fast.topics import Channel, Topic
from batprotocol.fast.values import (
    KPI,
    ApplicationKPIs,
    ApplicationStatus,
    Configuration,
    EvacuateNode,
    FastMessage,
    Init,
    InitAgent,
    MigrateVM,
    MmbwmonRequest,
    MmbwmonResponse,
    MmbwmonRestart,
    MmbwmonRestartAck,
    MmbwmonStop,
    MmbwmonStopAck,
    PscomRequest,
    PscomResponse,
    Quit,
    RepinVM,
    Result,
    ResumeVM,
    StartVM,
    StopMonitoring,
    StopVM,
    SuspendVM,
    SystemInfo,
)

__all__ = ["MESSAGES", "QOS", "RESULTS", "ROUTES", "Participant", "Route", "route_of", "routes_on", "topic_for"]


class Participant(str, Enum):
    """Who takes part."""

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
        task: the word that its `task` is in payloads, or "" if it has none there.
        channel: the kind of topic.
        sender: who publishes it.
        receiver: who subscribes to it.
        qos: the quality of service that it is published with.
        retained: whether the broker keeps it for those who come later. Nothing of FaST is.
    """

    message: type[FastMessage]
    task: str
    channel: Channel
    sender: Participant
    receiver: Participant
    qos: int
    retained: bool = False


_SCHEDULER, _MIGFRA, _AGENT, _MMBWMON, _PSCOM, _APPLICATION = Participant
_TASK = (Channel.MIGFRA_TASK, _SCHEDULER, _MIGFRA, 2)

ROUTES: Final[tuple[Route, ...]] = (
    Route(StartVM, "start vm", *_TASK),
    Route(StopVM, "stop vm", *_TASK),
    Route(SuspendVM, "suspend vm", *_TASK),
    Route(ResumeVM, "resume vm", *_TASK),
    Route(MigrateVM, "migrate vm", *_TASK),
    Route(EvacuateNode, "evacuate node", *_TASK),
    Route(RepinVM, "repin vm", *_TASK),
    Route(Quit, "quit", *_TASK),
    Route(Result, "", Channel.MIGFRA_RESULT, _MIGFRA, _SCHEDULER, 1),
    Route(Init, "init", Channel.AGENT_STATUS, _AGENT, _SCHEDULER, 2),
    Route(Configuration, "configuration", Channel.AGENT_STATUS, _AGENT, _SCHEDULER, 2),
    Route(KPI, "KPI", Channel.AGENT_STATUS, _AGENT, _SCHEDULER, 2),
    Route(InitAgent, "init agent", Channel.AGENT_TASK, _SCHEDULER, _AGENT, 2),
    Route(InitAgent, "init agent", Channel.AGENT_INIT_AGENT, _SCHEDULER, _AGENT, 2),
    Route(StopMonitoring, "stop monitoring", Channel.AGENT_TASK, _SCHEDULER, _AGENT, 2),
    Route(StopMonitoring, "stop monitoring", Channel.AGENT_STOP_MONITORING, _SCHEDULER, _AGENT, 2),
    Route(MmbwmonRequest, "mmbwmon request", Channel.MMBWMON_REQUEST, _SCHEDULER, _MMBWMON, 2),
    Route(MmbwmonResponse, "mmbwmon response", Channel.MMBWMON_RESPONSE, _MMBWMON, _SCHEDULER, 2),
    Route(MmbwmonStop, "mmbwmon stop", Channel.MMBWMON_STOP, _SCHEDULER, _MMBWMON, 2),
    Route(MmbwmonStopAck, "", Channel.MMBWMON_STOP_ACK, _MMBWMON, _SCHEDULER, 2),
    Route(MmbwmonRestart, "mmbwmon restart", Channel.MMBWMON_RESTART, _SCHEDULER, _MMBWMON, 2),
    Route(MmbwmonRestartAck, "", Channel.MMBWMON_RESTART_ACK, _MMBWMON, _SCHEDULER, 2),
    Route(PscomRequest, "", Channel.PSCOM_REQUEST, _MIGFRA, _PSCOM, 0),
    Route(PscomResponse, "", Channel.PSCOM_RESPONSE, _PSCOM, _MIGFRA, 1),
    Route(ApplicationStatus, "status", Channel.APPLICATION_STATUS, _APPLICATION, _SCHEDULER, 2),
    Route(ApplicationKPIs, "KPIs", Channel.APPLICATION_KPIS, _APPLICATION, _SCHEDULER, 2),
)
"""All of them. A message that travels on several topics has the usual one first."""

RESULTS: Final[Mapping[type[FastMessage], str]] = {
    StartVM: "vm started",
    StopVM: "vm stopped",
    SuspendVM: "vm suspended",
    ResumeVM: "vm resumed",
    MigrateVM: "vm migrated",
    EvacuateNode: "node evacuated",
    RepinVM: "vm repinned",
    Quit: "quit",
}
"""What the result of each task says."""

MESSAGES: Final[Mapping[str, type[FastMessage]]] = {
    **{route.message.__name__: route.message for route in ROUTES},
    SystemInfo.__name__: SystemInfo,
}
"""All messages by the names of their classes, with the one that travels on no topic."""

QOS: Final[Mapping[Channel, int]] = {route.channel: route.qos for route in ROUTES}
"""The quality of service of each kind of topic: it is the same for all messages on it."""

_USUAL: Final = {route.message: route for route in reversed(ROUTES)}
_ON: Final = {channel: tuple(route for route in ROUTES if route.channel is channel) for channel in Channel}


def route_of(message: FastMessage | type[FastMessage]) -> Route:
    """How a message travels usually. EncodeError if it travels on no topic.

    >>> route_of(Quit).channel, route_of(Quit).qos
    (Channel.MIGFRA_TASK, 2)
    """
    kind = message if isinstance(message, type) else type(message)
    route = _USUAL.get(kind)
    if route is None:
        raise EncodeError(f"{shown(message)} is no message that travels on a topic")
    return route


def routes_on(channel: Channel) -> tuple[Route, ...]:
    """All messages that travel on topics of this kind."""
    return _ON[channel]


def topic_for(message: FastMessage | type[FastMessage], name: str, process: str | int | None = None) -> Topic:
    """The topic that a message usually travels on, to or from this host, application or process.

    >>> str(topic_for(Quit(), "node-a"))
    'fast/migfra/node-a/task'
    """
    return route_of(message).channel.topic(name, process)
