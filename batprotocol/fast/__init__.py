r"""FaST: a scheduler, agents, migration frameworks and applications, which talk in YAML over MQTT.

>>> from batprotocol.fast import decode, topic_for
>>> message = decode(b"result: vm stopped\nlist: [{vm-name: vm1, status: success}]", "fast/migfra/node-a/result")
>>> message.is_success, str(topic_for(message, "node-a"))
(True, 'fast/migfra/node-a/result')

The modules, from the lowest layer up: `values` (the messages), `topics` (and the table of the messages on them), `wire`
(YAML in two dialects, JSON), `recording` (lines of recordings), `conversation` (the check of messages, by its rules),
and `runtime` (a connection to a broker, tasks that give their results, schedulers as programs, and nodes to test
schedulers with).
"""

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.errors import TaskFailed as TaskFailed
from batprotocol.fast.topics import ROUTES as ROUTES
from batprotocol.fast.topics import Participant as Participant
from batprotocol.fast.topics import Topic as Topic
from batprotocol.fast.topics import TopicKind as TopicKind
from batprotocol.fast.topics import TopicRoute as TopicRoute
from batprotocol.fast.topics import route_of as route_of
from batprotocol.fast.topics import topic_for as topic_for
from batprotocol.fast.values import *

if TYPE_CHECKING:
    from batprotocol.fast.runtime.cluster import Call as Call
    from batprotocol.fast.runtime.cluster import Cluster as Cluster
    from batprotocol.fast.runtime.cluster import Node as Node
    from batprotocol.fast.runtime.connection import Broker as Broker
    from batprotocol.fast.runtime.connection import Will as Will
    from batprotocol.fast.runtime.hypervisor import Settings as Settings
    from batprotocol.fast.runtime.nodes import serve_nodes as serve_nodes
    from batprotocol.fast.runtime.scheduler import FastScheduler as FastScheduler
    from batprotocol.fast.runtime.scheduler import run as run
    from batprotocol.fast.wire import decode as decode
    from batprotocol.fast.wire import encode as encode
else:
    from batprotocol.fast import values

    _LATE = {
        "Broker": "runtime.connection",
        "Call": "runtime.cluster",
        "Cluster": "runtime.cluster",
        "FastScheduler": "runtime.scheduler",
        "Node": "runtime.cluster",
        "Settings": "runtime.hypervisor",
        "Will": "runtime.connection",
        "decode": "wire",
        "encode": "wire",
        "run": "runtime.scheduler",
        "serve_nodes": "runtime.nodes",
    }
    """The names that need packages which nothing else in the library needs, and their modules."""

    _OLD = {"Channel": "TopicKind", "Part": "MessagePart", "Result": "Result", "Route": "TopicRoute"}
    """The old names, and those that replace them."""

    __getattr__ = old_names(__name__, _OLD, late=_LATE)

    __all__ = [
        "ROUTES",
        "TopicKind",
        "Participant",
        "TopicRoute",
        "TaskFailed",
        "Topic",
        *_LATE,
        "route_of",
        "topic_for",
        *values.__all__,
    ]
