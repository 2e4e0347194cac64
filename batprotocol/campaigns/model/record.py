"""The base of the values of campaigns. Many have a field `type`, as in the JDL, so they have no other tag."""

from __future__ import annotations

from batprotocol.model.value import Value

__all__ = ["Record"]


class Record(Value, frozen=True, tag=False):
    """A value of campaigns: immutable, hashable, comparable, made without checks."""
