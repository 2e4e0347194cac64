"""Strategies for the enums of the schema."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import mostly

__all__ = ["enums"]

EnumType = TypeVar("EnumType", bound=model.ProtocolEnum)


def enums(enum_type: type[EnumType], *, known_only: bool = False) -> SearchStrategy[EnumType]:
    """Members of an enum of the schema, and numbers that only a newer schema may name.

    Args:
        enum_type: the enum, for example `TimeUnit`.
        known_only: leave out the unknown numbers, which are in [-128, 127] and come up one time in four.
    """
    known = st.sampled_from(list(enum_type))
    return known if known_only else mostly(known, st.integers(-128, 127).map(enum_type), one_in=4)
