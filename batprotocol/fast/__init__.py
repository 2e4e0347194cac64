r"""FaST: a scheduler, agents, migration frameworks and applications, which talk in YAML over MQTT.

>>> from batprotocol.fast import decode, topic_for
>>> message = decode(b"result: vm stopped\nlist: [{vm-name: vm1, status: success}]", "fast/migfra/node-a/result")
>>> message.is_success, str(topic_for(message, "node-a"))
(True, 'fast/migfra/node-a/result')

The packages and modules, from the lowest layer up: `values` (the messages), `topics`, `messages` (the table of messages
and topics), `wire` (YAML in two dialects, JSON), `recording` (lines of recordings), `conversation` (the rules, and the
check of messages), `runtime` (a connection to a broker, tasks that give their results, schedulers as programs) and
`nodes` (to test schedulers with).
"""

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.errors import TaskFailed as TaskFailed
from batprotocol.fast.messages import ROUTES as ROUTES
from batprotocol.fast.messages import Participant as Participant
from batprotocol.fast.messages import Route as Route
from batprotocol.fast.messages import route_of as route_of
from batprotocol.fast.messages import topic_for as topic_for
from batprotocol.fast.topics import Channel as Channel
from batprotocol.fast.topics import Topic as Topic
from batprotocol.fast.values import *

if TYPE_CHECKING:
    from batprotocol.fast.nodes.serving import serve_nodes as serve_nodes
    from batprotocol.fast.nodes.settings import Settings as Settings
    from batprotocol.fast.runtime.broker import Broker as Broker
    from batprotocol.fast.runtime.broker import Will as Will
    from batprotocol.fast.runtime.calls import Call as Call
    from batprotocol.fast.runtime.cluster import Cluster as Cluster
    from batprotocol.fast.runtime.node import Node as Node
    from batprotocol.fast.runtime.running import run as run
    from batprotocol.fast.runtime.scheduler import FastScheduler as FastScheduler
    from batprotocol.fast.wire import decode as decode
    from batprotocol.fast.wire import encode as encode
else:
    from batprotocol.fast import values

    _LATE = {
        "Broker": "runtime.broker",
        "Call": "runtime.calls",
        "Cluster": "runtime.cluster",
        "FastScheduler": "runtime.scheduler",
        "Node": "runtime.node",
        "Settings": "nodes.settings",
        "Will": "runtime.broker",
        "decode": "wire",
        "encode": "wire",
        "run": "runtime.running",
        "serve_nodes": "nodes.serving",
    }
    """The names that need packages which nothing else in the library needs, and their modules."""

    __getattr__ = old_names(__name__, {}, late=_LATE)

    __all__ = [
        "ROUTES",
        "Channel",
        "Participant",
        "Route",
        "TaskFailed",
        "Topic",
        *_LATE,
        "route_of",
        "topic_for",
        *values.__all__,
    ]
