"""Topics as values, `fast/migfra/<hostname>/task` to its parts and back, and the table of the messages on them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from batprotocol.errors import DecodeError, EncodeError, shown
from batprotocol.fast import values as v
from batprotocol.model.value import Value

__all__ = [
    "ANY",
    "MESSAGES",
    "QOS",
    "RESULTS",
    "ROUTES",
    "Participant",
    "Topic",
    "TopicKind",
    "TopicRoute",
    "route_of",
    "routes_on",
    "topic_for",
]


ANY: Final = "+"
"""The wildcard for any name in a subscription."""

LONGEST: Final = 65_535
"""The maximum number of bytes of a topic in MQTT."""

_NAME = re.compile(r"[^/+#\0\ud800-\udfff]+")
_PLACEHOLDER = re.compile(r"<(\w+)>")


class TopicKind(str, Enum):
    """A kind of topic. Its value is the pattern that the specification has for it.

    >>> TopicKind.MIGFRA_TASK.topic("node-a")
    Topic(channel=TopicKind.MIGFRA_TASK, name='node-a', process=None)
    >>> TopicKind.MIGFRA_RESULT.filter(), TopicKind.PSCOM_RESPONSE.filter("vm1")
    ('fast/migfra/+/result', 'fast/pscom/vm1/+/response')
    """

    MIGFRA_TASK = "fast/migfra/<hostname>/task"
    MIGFRA_RESULT = "fast/migfra/<hostname>/result"
    AGENT_STATUS = "fast/agent/<hostname>/status"
    AGENT_TASK = "fast/agent/<hostname>/task"
    AGENT_INIT_AGENT = "fast/agent/<hostname>/task/init_agent"
    AGENT_STOP_MONITORING = "fast/agent/<hostname>/task/stop_monitoring"
    MMBWMON_REQUEST = "fast/agent/<hostname>/mmbwmon/request"
    MMBWMON_RESPONSE = "fast/agent/<hostname>/mmbwmon/response"
    MMBWMON_STOP = "fast/agent/<hostname>/mmbwmon/stop"
    MMBWMON_STOP_ACK = "fast/agent/<hostname>/mmbwmon/stop/ack"
    MMBWMON_RESTART = "fast/agent/<hostname>/mmbwmon/restart"
    MMBWMON_RESTART_ACK = "fast/agent/<hostname>/mmbwmon/restart/ack"
    PSCOM_REQUEST = "fast/pscom/<hostname>/<procID>/request"
    PSCOM_RESPONSE = "fast/pscom/<hostname>/<procID>/response"
    APPLICATION_STATUS = "fast/application/<slurm_jobid>/status"
    APPLICATION_KPIS = "fast/application/<slurm_jobid>/KPIs"

    def __repr__(self) -> str:
        return f"TopicKind.{self.name}"

    def __str__(self) -> str:
        return str(self.value)

    @property
    def has_process(self) -> bool:
        """Whether its topics name a process, too."""
        return "<procID>" in self.value

    def topic(self, name: str, process: str | int | None = None) -> Topic:
        """The topic of this kind for a host or an application, and optionally a process in it."""
        return Topic(self, name, None if process is None else str(process))

    def filter(self, name: str = ANY, process: str | int = ANY) -> str:
        """The filter to subscribe to all topics of this kind, or to those of one name or process."""
        return _filled(self.value, name, str(process))


class Topic(Value, frozen=True, tag=False):
    """A topic of FaST.

    Args:
        channel: its kind.
        name: the name in it: of a host, or for applications Slurm's job id. For pscom, the host is the virtual machine.
        process: the process, for pscom: its number, or `any_proc` for all of them.

    >>> topic = Topic.parse("fast/pscom/vm1/any_proc/request")
    >>> topic
    Topic(channel=TopicKind.PSCOM_REQUEST, name='vm1', process='any_proc')
    >>> str(topic)
    'fast/pscom/vm1/any_proc/request'
    """

    channel: TopicKind
    name: str
    process: str | None = None

    @classmethod
    def parse(cls, text: str) -> Topic:
        """Read a topic. DecodeError if it is not a topic of FaST."""
        topic = cls.find(text)
        if topic is None:
            raise DecodeError(f"{shown(text)} is not a topic of FaST")
        return topic

    @classmethod
    def find(cls, text: str) -> Topic | None:
        """Read a topic, or return None if it is not a topic of FaST."""
        levels = text.split("/") if len(text) <= LONGEST else []
        channel = _CHANNELS.get(_key(levels))
        if channel is None or not all(map(_is_name, levels)) or len(text.encode()) > LONGEST:
            return None
        return cls(channel, levels[2], levels[3] if channel.has_process else None)

    def __str__(self) -> str:
        """The topic as a text. EncodeError if a part of it is not allowed in a topic."""
        parts = [("name", self.name), *([("process", self.process)] if self.channel.has_process else [])]
        for field, part in parts:
            if not isinstance(part, str) or not _is_name(part):
                raise EncodeError(f"expected a text without /, +, # and NUL, got {shown(part)}", field)
        text = _filled(self.channel.value, self.name, self.process or "")
        if len(text.encode()) > LONGEST:
            raise EncodeError(f"expected a topic of at most {LONGEST:,} bytes", "name")
        return text


def _key(levels: list[str]) -> tuple[str, ...]:
    """The levels of a topic that define its kind."""
    names = 2 if levels[1:2] == ["pscom"] else 1
    return tuple(levels[:2] + [""] * names + levels[2 + names :]) if len(levels) > 2 else ()


def _is_name(level: str) -> bool:
    return _NAME.fullmatch(level) is not None


def _filled(pattern: str, name: str, process: str) -> str:
    return _PLACEHOLDER.sub(lambda found: process if found[1] == "procID" else name, pattern)


_CHANNELS: Final[Mapping[tuple[str, ...], TopicKind]] = {
    _key(_PLACEHOLDER.sub("", channel.value).split("/")): channel for channel in TopicKind
}
"""The channels by the levels of their topics that are not names."""


# Routes: the topic, the sender, the receiver and the quality of service of each message


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


class TopicRoute(NamedTuple):
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
    channel: TopicKind
    sender: Participant
    receiver: Participant
    qos: int
    retained: bool = False


_SCHEDULER, _MIGFRA, _AGENT, _MMBWMON, _PSCOM, _APPLICATION = Participant
_TASK = (TopicKind.MIGFRA_TASK, _SCHEDULER, _MIGFRA, 2)

ROUTES: Final[tuple[TopicRoute, ...]] = (
    TopicRoute(v.StartVM, "start vm", *_TASK),
    TopicRoute(v.StopVM, "stop vm", *_TASK),
    TopicRoute(v.SuspendVM, "suspend vm", *_TASK),
    TopicRoute(v.ResumeVM, "resume vm", *_TASK),
    TopicRoute(v.MigrateVM, "migrate vm", *_TASK),
    TopicRoute(v.EvacuateNode, "evacuate node", *_TASK),
    TopicRoute(v.RepinVM, "repin vm", *_TASK),
    TopicRoute(v.Quit, "quit", *_TASK),
    TopicRoute(v.Result, "", TopicKind.MIGFRA_RESULT, _MIGFRA, _SCHEDULER, 1),
    TopicRoute(v.Init, "init", TopicKind.AGENT_STATUS, _AGENT, _SCHEDULER, 2),
    TopicRoute(v.Configuration, "configuration", TopicKind.AGENT_STATUS, _AGENT, _SCHEDULER, 2),
    TopicRoute(v.KPI, "KPI", TopicKind.AGENT_STATUS, _AGENT, _SCHEDULER, 2),
    TopicRoute(v.InitAgent, "init agent", TopicKind.AGENT_TASK, _SCHEDULER, _AGENT, 2),
    TopicRoute(v.InitAgent, "init agent", TopicKind.AGENT_INIT_AGENT, _SCHEDULER, _AGENT, 2),
    TopicRoute(v.StopMonitoring, "stop monitoring", TopicKind.AGENT_TASK, _SCHEDULER, _AGENT, 2),
    TopicRoute(v.StopMonitoring, "stop monitoring", TopicKind.AGENT_STOP_MONITORING, _SCHEDULER, _AGENT, 2),
    TopicRoute(v.MmbwmonRequest, "mmbwmon request", TopicKind.MMBWMON_REQUEST, _SCHEDULER, _MMBWMON, 2),
    TopicRoute(v.MmbwmonResponse, "mmbwmon response", TopicKind.MMBWMON_RESPONSE, _MMBWMON, _SCHEDULER, 2),
    TopicRoute(v.MmbwmonStop, "mmbwmon stop", TopicKind.MMBWMON_STOP, _SCHEDULER, _MMBWMON, 2),
    TopicRoute(v.MmbwmonStopAck, "", TopicKind.MMBWMON_STOP_ACK, _MMBWMON, _SCHEDULER, 2),
    TopicRoute(v.MmbwmonRestart, "mmbwmon restart", TopicKind.MMBWMON_RESTART, _SCHEDULER, _MMBWMON, 2),
    TopicRoute(v.MmbwmonRestartAck, "", TopicKind.MMBWMON_RESTART_ACK, _MMBWMON, _SCHEDULER, 2),
    TopicRoute(v.PscomRequest, "", TopicKind.PSCOM_REQUEST, _MIGFRA, _PSCOM, 0),
    TopicRoute(v.PscomResponse, "", TopicKind.PSCOM_RESPONSE, _PSCOM, _MIGFRA, 1),
    TopicRoute(v.ApplicationStatus, "status", TopicKind.APPLICATION_STATUS, _APPLICATION, _SCHEDULER, 2),
    TopicRoute(v.ApplicationKPIs, "KPIs", TopicKind.APPLICATION_KPIS, _APPLICATION, _SCHEDULER, 2),
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

QOS: Final[Mapping[TopicKind, int]] = {route.channel: route.qos for route in ROUTES}
"""The quality of service of each kind of topic: it is the same for all messages on it."""

_USUAL: Final = {route.message: route for route in reversed(ROUTES)}
_ON: Final = {channel: tuple(route for route in ROUTES if route.channel is channel) for channel in TopicKind}


def route_of(message: v.FastMessage | type[v.FastMessage]) -> TopicRoute:
    """The usual route of a message. EncodeError if it has no topic.

    >>> route_of(v.Quit).channel, route_of(v.Quit).qos
    (TopicKind.MIGFRA_TASK, 2)
    """
    kind = message if isinstance(message, type) else type(message)
    route = _USUAL.get(kind)
    if route is None:
        raise EncodeError(f"{shown(message)} is not a message with a topic")
    return route


def routes_on(channel: TopicKind) -> tuple[TopicRoute, ...]:
    """All messages that travel on topics of this kind."""
    return _ON[channel]


def topic_for(message: v.FastMessage | type[v.FastMessage], name: str, process: str | int | None = None) -> Topic:
    """The topic that a message usually travels on, to or from this host, application or process.

    >>> str(topic_for(v.Quit(), "node-a"))
    'fast/migfra/node-a/task'
    """
    return route_of(message).channel.topic(name, process)
