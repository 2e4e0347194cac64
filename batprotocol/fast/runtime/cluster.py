"""A cluster that speaks FaST, as its scheduler sees it: nodes that take tasks, and the messages to the scheduler.

It puts together connection, wire and calls. It must not know of decisions.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from batprotocol.errors import DecodeError, PeerGone
from batprotocol.fast import wire
from batprotocol.fast.conversation import Conversation, Violation
from batprotocol.fast.messages import QOS, ROUTES, Participant, topic_for
from batprotocol.fast.runtime.broker import Broker, Will
from batprotocol.fast.runtime.calls import Call, Ledger
from batprotocol.fast.runtime.connection import Connection, Received, logger
from batprotocol.fast.runtime.node import Node
from batprotocol.fast.topics import Topic
from batprotocol.fast.values import FastMessage

__all__ = ["DEFAULT_BROKER", "DEFAULT_TIMEOUT", "Cluster", "Heard", "subscriptions_of"]

DEFAULT_BROKER: Final = "127.0.0.1:1883"

DEFAULT_TIMEOUT: Final = 300.0
"""Seconds that a task may take: a migration framework gives up a start after 60 seconds, but does many in turn."""

EVERYTHING: Final = {"fast/#": 1}
"""The subscription that the rules need. With 2, a message of quality 1 would overtake an earlier one of quality 2."""

_HEARD: Final = {route.channel for route in ROUTES if route.receiver is Participant.SCHEDULER}

_Cluster = TypeVar("_Cluster", bound="Cluster")


class Heard(NamedTuple):
    """A message to a scheduler, as it came.

    Attributes:
        topic: its topic.
        message: the message; if the payload is not a message, the error with the reason.
        payload: the bytes.
    """

    topic: Topic
    message: FastMessage | DecodeError
    payload: bytes


def subscriptions_of(who: Participant, names: Iterable[str] = ("+",)) -> dict[str, int]:
    """The subscriptions of this participant on these nodes: all topics of which it is the receiver in the table.

    >>> subscriptions_of(Participant.MIGFRA, ["node-a"])
    {'fast/migfra/node-a/task': 2, 'fast/pscom/node-a/+/response': 1}
    """
    channels = {route.channel: QOS[route.channel] for route in ROUTES if route.receiver is who}
    return {channel.filter(name): qos for channel, qos in channels.items() for name in names}


class Cluster:
    """A cluster behind a broker. Use it in a `with`, which connects and disconnects.

    Args:
        broker: where the broker is, as `Broker` or in the form `HOST:PORT`.
        on_message: called once with each message to the scheduler, results of tasks included. It is called in the
            thread of the connection, and must be quick; `run` calls the methods of a scheduler in the main thread.
        on_timeout: called with each task that has timed out, in the same way.
        on_change: called with False when the connection is lost, and with True when it is back.
        client_id: the name of this scheduler at the broker; by default, a new name.
        will: the message that the broker publishes when the connection is lost.
        dialect: how messages are written, "fastlib" as the programs do or "specification".
        timeout: seconds that a task may take by default.
        rules: the rule set to judge all that is said on FaST's topics with, one of `fast.conversation.RULE_SETS`; "" is
            the usual one, None judges nothing.
        on_violation: called with each violation of a rule, in the same way.

    Results are read as fast-lib reads them, or as the specification has them.

    ```python
    with Cluster("127.0.0.1:1883") as cluster:
        node = cluster.node("node-a")
        node.start("vm1").result()
    ```
    """

    def __init__(
        self,
        broker: Broker | str = DEFAULT_BROKER,
        *,
        on_message: Callable[[Heard], None] | None = None,
        on_timeout: Callable[[Call[Any]], None] | None = None,
        on_change: Callable[[bool], None] | None = None,
        client_id: str = "",
        will: Will | None = None,
        dialect: wire.Dialect = "fastlib",
        timeout: float = DEFAULT_TIMEOUT,
        rules: str | None = None,
        on_violation: Callable[[Violation], None] | None = None,
    ) -> None:
        self.timeout = timeout
        self._on_message = on_message
        self._on_timeout = on_timeout
        self._on_change = on_change
        self._dialect = dialect
        self._ledger = Ledger()
        self._topics: dict[str, Topic | None] = {}
        self._conversation = None if rules is None else Conversation(rules)
        self._on_violation = on_violation
        self._connection = Connection(
            broker,
            subscriptions_of(Participant.SCHEDULER) if rules is None else EVERYTHING,
            self._receive,
            client_id=client_id,
            will=will,
            on_change=self._change,
            on_tick=self._tick,
        )
        self.broker = self._connection.broker

    def node(self, host: str) -> Node:
        """The node of this name, whether there is one or not."""
        return Node(self, host)

    @property
    def waiting(self) -> int:
        """How many tasks wait for their results."""
        return len(self._ledger)

    def call(self, host: str, task: FastMessage, timeout: float | None = None) -> Call[Any]:
        """Send something that is answered: a task of a migration framework, or what mmbwmon answers.

        Args:
            host: the node.
            task: the task; it is given an id unless it has one.
            timeout: seconds that it may take; unless given, those of the cluster.

        Raises:
            EncodeError: it cannot be written.
            ProtocolError: the connection is closed, or another task with the same id waits.
        """
        if getattr(task, "id", "") is None:
            task = msgspec.structs.replace(task, id=uuid.uuid4().hex)
        patience = self.timeout if timeout is None else timeout
        topic, payload = str(topic_for(task, host)), wire.encode(task, dialect=self._dialect)
        call: Call[Any] = Call(host, task, patience, time.monotonic() + patience)
        self._ledger.add(call)
        try:
            self._connection.publish(topic, payload, 2)
        except Exception as error:
            self._ledger.drop(call)
            raise error
        return call

    def send(self, name: str, message: FastMessage, process: str | int | None = None) -> None:
        """Send something that is not answered, such as `InitAgent`, to this node or application."""
        topic = topic_for(message, name, process)
        payload = wire.encode(message, dialect=self._dialect)
        self._connection.publish(str(topic), payload, QOS[topic.channel])

    def open(self) -> None:
        """Connect. PeerGone or PeerSilent if that cannot be; see `Connection.open`."""
        self._connection.open()

    def close(self, timeout: float = 5.0) -> None:
        """Give the broker what it does not have yet, within these seconds, and disconnect.

        Tasks that still wait for their results raise `PeerGone`.
        """
        self._connection.close(timeout)
        self._ledger.close(PeerGone("the connection was closed before the answer came"))

    def __enter__(self: _Cluster) -> _Cluster:
        self.open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # In the thread of the connection

    def _receive(self, received: Received) -> None:
        if self._conversation is not None:
            self._judge(received, self._conversation)
        topic = self._topic(received.topic)
        if topic is None:
            return
        message: FastMessage | DecodeError
        try:
            message = wire.decode(received.payload, topic, dialect="any")
        except DecodeError as error:
            message = error
        else:
            is_news, _ = self._ledger.take(topic.name, message)
            if not is_news:
                logger.debug("known already: %s", received.topic)
                return
        if self._on_message is not None:
            self._on_message(Heard(topic, message, received.payload))

    def _change(self, is_there: bool) -> None:
        self._ledger.connected(is_there, time.monotonic())
        if self._on_change is not None:
            self._on_change(is_there)

    def _judge(self, received: Received, conversation: Conversation) -> None:
        now = time.time()
        for violation in conversation.feed(received.topic, received.payload, now, retain=received.retained):
            if self._on_violation is not None:
                self._on_violation(violation)

    def _topic(self, text: str) -> Topic | None:
        """A topic that a scheduler hears, as a value; those that come again and again are known."""
        if text not in self._topics:
            if len(self._topics) >= 10_000:
                self._topics.clear()
            topic = Topic.find(text)
            self._topics[text] = topic if topic is not None and topic.channel in _HEARD else None
        return self._topics[text]

    def _tick(self) -> float:
        """Settle the tasks whose time is over; the seconds until the next one's is."""
        now = time.monotonic()
        deadline = self._ledger.next_deadline()
        if deadline is None:
            return float("inf")
        if deadline <= now:
            for call in self._ledger.expire(now):
                if self._on_timeout is not None:
                    self._on_timeout(call)
            deadline = self._ledger.next_deadline()
        return float("inf") if deadline is None else deadline - now
