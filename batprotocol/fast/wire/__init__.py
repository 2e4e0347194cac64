"""The wire: payloads to messages and back, and JSON for people and tools.

`_yaml` makes a tree of the text of a payload, with lines and columns, by libyaml, and writes the YAML that yaml-cpp
would write. `kinds` has the keys of each message in each dialect, and reads and writes what stands below a key, as
fast-lib does. `codec` chooses the message by its topic.
"""

from batprotocol.fast.wire.codec import (
    NO_TASK,
    UNKNOWN_TASK,
    decode,
    decode_alone,
    decode_as,
    encode,
    from_json,
    to_json,
)
from batprotocol.fast.wire.kinds import DIALECTS, Dialect, Reading

__all__ = [
    "DIALECTS",
    "NO_TASK",
    "UNKNOWN_TASK",
    "Dialect",
    "Reading",
    "decode",
    "decode_alone",
    "decode_as",
    "encode",
    "from_json",
    "to_json",
]
