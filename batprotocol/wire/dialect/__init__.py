"""The JSON dialect of the flatbuffers C++ library, which Batsim parses with.

The reader accepts what that parser accepts (single quotes, comments, numbers in strings, a union before its type ...)
and refuses what it refuses; it makes a wire tree, guided by the schema's description. It takes its time: the engines
read plain messages, and this what they leave.

The text goes through `tokens` to `parser`, which passes over with `skipping` what it does not want now, and reads with
`at_once` what is usual.
"""

from __future__ import annotations

from batprotocol.wire.dialect.parser import read
from batprotocol.wire.dialect.tokens import plainer

__all__ = ["plainer", "read"]
