"""The older protocols: JSON over ZeroMQ, which Batsim 1 to 4 spoke, and text over Unix sockets, which came before.

Each has values, a codec and a table of its versions. Nothing else of the library knows of them.

>>> message = decode(b'{"now": 5.0, "events": [{"timestamp": 5.0, "type": "REQUESTED_CALL", "data": {}}]}', "4.2.1")
>>> message.now, type(message.events[0]).__name__
(5.0, 'RequestedCall')
>>> encode(message, "4.2.1")
b'{"now":5.0,"events":[{"timestamp":5.0,"type":"REQUESTED_CALL","data":{}}]}'
"""

from batprotocol.legacy.json import events as json_events
from batprotocol.legacy.json.builder import MessageBuilder
from batprotocol.legacy.json.events import VERSIONS, version_of
from batprotocol.legacy.json.values import Job, JobProfile, JobProgress, Resource
from batprotocol.legacy.store import JobStore, connect_redis
from batprotocol.legacy.text import events as text_events
from batprotocol.legacy.wire import decode, detect, encode

__all__ = [
    "VERSIONS",
    "Job",
    "JobProfile",
    "JobProgress",
    "JobStore",
    "MessageBuilder",
    "Resource",
    "connect_redis",
    "decode",
    "detect",
    "encode",
    "json_events",
    "text_events",
    "version_of",
]
