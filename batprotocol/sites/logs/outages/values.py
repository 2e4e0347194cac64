"""An outage of a node, as a trace has it."""

from __future__ import annotations

import msgspec

__all__ = ["Outage"]


class Outage(msgspec.Struct, frozen=True, gc=False):
    """A time for which a node was away.

    Attributes:
        node: the name or the number of the node in the trace.
        begin: when it failed, in seconds since 1970 (UTC).
        end: when it was back, later than the begin; None: the trace does not say.
        reason: the cause, as the trace has it, or "".
        line: the number of its line in the file, from 1 on.
    """

    node: str
    begin: float
    end: float | None
    reason: str
    line: int
