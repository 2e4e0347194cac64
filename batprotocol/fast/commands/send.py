"""`batproto fast send`: one message to a broker. The library defines the messages."""

from __future__ import annotations

import sys

import click

from batprotocol.cli.terminal.output import Output
from batprotocol.errors import PeerGone, TaskFailed
from batprotocol.fast import wire
from batprotocol.fast.messages import QOS, RESULTS
from batprotocol.fast.runtime.broker import Broker
from batprotocol.fast.runtime.cluster import Cluster
from batprotocol.fast.runtime.connection import Connection
from batprotocol.fast.topics import Topic

__all__ = ["send"]


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
    with Connection(broker, {}, lambda received: None) as connection:
        connection.publish(topic, payload, qos)
        if not connection.flush():
            raise PeerGone(f"the broker at {broker} has not taken the message")
        if connection.refusal:
            raise PeerGone(f"the broker at {broker} does not take the message: {connection.refusal}")
