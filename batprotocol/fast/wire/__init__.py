"""The wire: payloads to messages and back (`codec`), and JSON for people and tools (`json`).

A payload goes through `nodes` (text to a tree, by libyaml), and `shapes` (which key has which of the `kinds`, whose
`scalars` are read as yaml-cpp does); a message through `shapes` and `emitter`. `words` has the payloads that are not
YAML, and `guess` reads payloads without a known topic.
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
