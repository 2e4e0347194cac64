"""FaST: a scheduler, agents, migration frameworks and applications, which talk in YAML over MQTT.

>>> from batprotocol.fast import decode
>>> decode(b"{task: init, hostname: node-a}", "fast/agent/node-a/status")
Init(hostname='node-a')

The rooms, from the ground up: `values` (the messages), `topics`, `messages` (the table of what travels where), `wire`
(payloads to messages and back), `conversation` (what may be said when), `recording` (lines of what was said), `runtime`
(a connection to a broker, tasks that give their results, schedulers as programs) and `nodes` (to test schedulers with).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from batprotocol.fast.topics import Channel, Topic
from batprotocol.fast.wire import decode, encode

if TYPE_CHECKING:
    from batprotocol.fast.nodes.serving import serve_nodes
    from batprotocol.fast.nodes.settings import Settings
    from batprotocol.fast.runtime.broker import Broker, Will
    from batprotocol.fast.runtime.calls import Call
    from batprotocol.fast.runtime.cluster import Cluster
    from batprotocol.fast.runtime.node import Node
    from batprotocol.fast.runtime.running import run
    from batprotocol.fast.runtime.scheduler import FastScheduler

__all__ = [
    "Broker",
    "Call",
    "Channel",
    "Cluster",
    "FastScheduler",
    "Node",
    "Settings",
    "Topic",
    "Will",
    "decode",
    "encode",
    "run",
    "serve_nodes",
]

_AT_BROKERS = {
    "Broker": "runtime.broker",
    "Call": "runtime.calls",
    "Cluster": "runtime.cluster",
    "FastScheduler": "runtime.scheduler",
    "Node": "runtime.node",
    "Settings": "nodes.settings",
    "Will": "runtime.broker",
    "run": "runtime.running",
    "serve_nodes": "nodes.serving",
}


def __getattr__(name: str) -> Any:
    """What has to do with brokers is imported when it is wanted: who reads payloads needs no threads."""
    if name not in _AT_BROKERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = found = getattr(import_module(f"{__name__}.{_AT_BROKERS[name]}"), name)
    return found
