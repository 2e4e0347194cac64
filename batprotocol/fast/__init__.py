"""FaST: a scheduler, agents, migration frameworks and applications, which talk in YAML over MQTT.

>>> from batprotocol.fast import decode, topic_for
>>> message = decode(b"result: vm stopped\\nlist: [{vm-name: vm1, status: success}]", "fast/migfra/node-a/result")
>>> message.is_success, str(topic_for(message, "node-a"))
(True, 'fast/migfra/node-a/result')

The rooms, from the ground up: `values` (the messages), `topics`, `messages` (the table of what travels where), `wire`
(YAML in two dialects, JSON), `recording` (lines of recordings), `conversation` (the rules, and who judges by them).
"""

from typing import TYPE_CHECKING

from batprotocol.fast.messages import ROUTES as ROUTES
from batprotocol.fast.messages import Participant as Participant
from batprotocol.fast.messages import Route as Route
from batprotocol.fast.messages import route_of as route_of
from batprotocol.fast.messages import topic_for as topic_for
from batprotocol.fast.topics import Channel as Channel
from batprotocol.fast.topics import Topic as Topic
from batprotocol.fast.values import *

if TYPE_CHECKING:
    from batprotocol.fast.wire import decode as decode
    from batprotocol.fast.wire import encode as encode
else:
    from batprotocol.fast import values

    _LATE = {"decode": "wire", "encode": "wire"}
    """What needs packages that nothing else of the library needs, and the modules that have it."""

    def __getattr__(name):
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)

    __all__ = ["ROUTES", "Channel", "Participant", "Route", "Topic", *_LATE, "route_of", "topic_for", *values.__all__]
