"""The work of `batproto fast node`, `send` and `watch`: nodes, one message, and all messages of a broker."""

from __future__ import annotations

import json
import logging
import queue
import sys
import time
from contextlib import ExitStack
from datetime import datetime
from io import TextIOWrapper
from typing import Any, NamedTuple

import click

from batprotocol._util.files import naming
from batprotocol._util.signals import Interrupts
from batprotocol.cli.terminal.output import Output
from batprotocol.cli.terminal.text import Piece, number_of, printable
from batprotocol.errors import DecodeError, PeerGone, TaskFailed
from batprotocol.fast import wire
from batprotocol.fast.conversation import Conversation
from batprotocol.fast.recording import Recorded, write_line
from batprotocol.fast.runtime.cluster import Cluster
from batprotocol.fast.runtime.connection import Broker, BrokerConnection, Received
from batprotocol.fast.runtime.hypervisor import Settings
from batprotocol.fast.runtime.nodes import Nodes, serve_nodes
from batprotocol.fast.topics import QOS, RESULTS, Topic
from batprotocol.fast.values import FastMessage
from batprotocol.fast.wire.codec import tree_of


def node(hosts: tuple[str, ...], broker: Broker, verbose: bool, **settings: Any) -> None:
    """Run these nodes."""
    logging.basicConfig(format="batproto: %(message)s", level=logging.INFO if verbose else logging.WARNING)

    def tell(nodes: Nodes) -> None:
        count = number_of(len(nodes.agents), "node")
        print(f"batproto: {count} at the broker {broker}: {' '.join(hosts)}", file=sys.stderr, flush=True)

    serve_nodes(hosts, broker, Settings(**settings), on_ready=tell)


# One message to a broker


def send(broker: Broker, topic: str, payload: bytes, as_is: bool, qos: int | None, wait: float | None) -> None:
    """Send a payload to a topic, and if it is a task, optionally wait for its result."""
    known = None if as_is else Topic.parse(topic)
    message = None if known is None else wire.decode(payload, known, dialect="any")
    if wait is None:
        _publish(broker, topic, payload, qos if qos is not None else QOS[known.channel] if known else 2)
        return
    if known is None or message is None or type(message) not in RESULTS:
        raise click.UsageError("only a task of a migration framework has a result to wait for")
    with Cluster(broker) as cluster:
        try:
            result = cluster.call(known.name, message, wait).result()
        except TaskFailed as error:
            print(f"batproto: {error}", file=sys.stderr)
            result = error.result
    Output().json(wire.to_json(result))
    if not result.is_success:
        raise click.exceptions.Exit(1)


def _publish(broker: Broker, topic: str, payload: bytes, qos: int) -> None:
    with BrokerConnection(broker, {}, lambda received: None) as connection:
        connection.publish(topic, payload, qos)
        if not connection.flush():
            raise PeerGone(f"the broker at {broker} has not taken the message")
        if connection.refusal:
            raise PeerGone(f"the broker at {broker} does not take the message: {connection.refusal}")


# The messages of a broker, shown and recorded


IN_ORDER = 1
"""The quality of service of the subscription: with 2, a message of quality 1 overtakes an earlier one of quality 2."""

TICK = 0.2
"""Seconds between two checks for signals."""


def watch(
    broker: Broker,
    *,
    topics: tuple[str, ...],
    messages: frozenset[str],
    record: str | None,
    check: bool,
    json_lines: bool,
    count: int | None,
    quiet: bool,
) -> int:
    """Show messages until a signal comes, or until `count` messages have come. Return the exit status."""
    output = Output()
    heard: queue.Queue[Recorded] = queue.Queue()

    def receive(received: Received) -> None:
        heard.put(
            Recorded(received.topic, received.payload, time.time(), received.qos, received.retained, received.number)
        )

    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        file = None if record is None else stack.enter_context(open(record, "x", encoding="utf-8"))
        stack.enter_context(BrokerConnection(broker, dict.fromkeys(topics, IN_ORDER), receive))
        print(f"batproto: watching {' '.join(topics)} at {broker}", file=sys.stderr, flush=True)
        show = _Show(output, messages, file, Conversation() if check else None, json_lines, quiet)
        seen = 0
        while count is None or seen < count:
            interrupts.check()
            try:
                show.take(heard.get(timeout=TICK))
                seen += 1
            except queue.Empty:
                show.wait(time.time())
    return int(output.failed)


class _Show(NamedTuple):
    """The output of each message."""

    output: Output
    messages: frozenset[str]
    file: TextIOWrapper | None
    conversation: Conversation | None
    json_lines: bool
    quiet: bool

    def take(self, recorded: Recorded) -> None:
        if self.file is not None:
            with naming(self.file.name):
                self.file.write(write_line(recorded) + "\n")
                self.file.flush()
        if not self.quiet:
            self._print(recorded, _read(recorded))
        if self.conversation is not None:
            for violation in self.conversation.feed(
                recorded.topic, recorded.payload, recorded.time, retain=recorded.retain
            ):
                self.output.error(recorded.topic, str(violation))

    def wait(self, now: float) -> None:
        """Report the answers that are overdue, if no message has come until now."""
        if self.conversation is not None:
            for violation in self.conversation.wait(now):
                self.output.error("too late", str(violation))

    def _print(self, recorded: Recorded, message: FastMessage | DecodeError | None) -> None:
        if self.messages and type(message).__name__ not in self.messages:
            return
        if self.json_lines:
            self.output.json(_json(recorded, message))
            return
        clock = datetime.fromtimestamp(recorded.time).strftime("%H:%M:%S.%f")[:-3]
        line: list[Piece] = [("detail", f"{clock} "), ("file", printable(recorded.topic)), ("", " ")]
        if isinstance(message, FastMessage):
            fields = tree_of(message)
            line += [("event", fields.pop("message")), ("", f" {printable(json.dumps(fields, ensure_ascii=False))}")]
        else:
            text = recorded.payload.decode("utf-8", "backslashreplace")
            line += [("string", printable(text[:200]))]
        self.output.line(*line)
        if isinstance(message, DecodeError):
            self.output.remark(recorded.topic, str(message))


def _read(recorded: Recorded) -> FastMessage | DecodeError | None:
    """The message, the error if the payload is not one, or None if the topic is not of FaST."""
    topic = Topic.find(recorded.topic)
    if topic is None:
        return None
    try:
        return wire.decode(recorded.payload, topic, dialect="any")
    except DecodeError as error:
        return error


def _json(recorded: Recorded, message: FastMessage | DecodeError | None) -> str:
    found = {"time": round(recorded.time, 6), "topic": recorded.topic, "qos": recorded.qos}
    if isinstance(message, FastMessage):
        return json.dumps({**found, **tree_of(message)}, ensure_ascii=False)
    error = {"error": str(message)} if message is not None else {}
    return json.dumps({**found, "payload": recorded.payload.decode("utf-8", "backslashreplace"), **error})
