"""Topics as values: `fast/migfra/<hostname>/task` to its parts and back.

It must not know the messages of a topic: `messages` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from batprotocol.errors import DecodeError, EncodeError, shown
from batprotocol.model.value import Value

__all__ = ["ANY", "Channel", "Topic"]

ANY: Final = "+"
"""The wildcard for any name in a subscription."""

LONGEST: Final = 65_535
"""The maximum number of bytes of a topic in MQTT."""

_NAME = re.compile(r"[^/+#\0\ud800-\udfff]+")
_PLACEHOLDER = re.compile(r"<(\w+)>")


class Channel(str, Enum):
    """A kind of topic. Its value is the pattern that the specification has for it.

    >>> Channel.MIGFRA_TASK.topic("node-a")
    Topic(channel=Channel.MIGFRA_TASK, name='node-a', process=None)
    >>> Channel.MIGFRA_RESULT.filter(), Channel.PSCOM_RESPONSE.filter("vm1")
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
        return f"Channel.{self.name}"

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
    Topic(channel=Channel.PSCOM_REQUEST, name='vm1', process='any_proc')
    >>> str(topic)
    'fast/pscom/vm1/any_proc/request'
    """

    channel: Channel
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


_CHANNELS: Final[Mapping[tuple[str, ...], Channel]] = {
    _key(_PLACEHOLDER.sub("", channel.value).split("/")): channel for channel in Channel
}
"""The channels by the levels of their topics that are not names."""
