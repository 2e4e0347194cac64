"""Strategies for vectors of doubles."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import cycled, mostly
from batprotocol.testing.strategies._numbers import float64s

__all__ = ["doubles"]

_NAN_WORDS = (0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 2**64 - 1)


def doubles(*, allow_nan: bool = False) -> SearchStrategy[model.Doubles]:
    """`Doubles`: empty, short, and now and then up to 4000 numbers.

    Args:
        allow_nan: whether NaN comes up too, with any payload: quiet, signalling, negative. Such `Doubles` are equal to
            others with the same bytes.
    """
    numbers = float64s(allow_nan=allow_nan)
    huge = st.builds(cycled, st.lists(numbers, min_size=1, max_size=3), st.integers(0, 4000)).map(model.Doubles)
    usual = mostly(st.lists(numbers, max_size=4).map(model.Doubles), huge, one_in=8)
    if not allow_nan:
        return usual
    words = st.one_of(st.sampled_from(_NAN_WORDS), st.integers(0, 2**64 - 1))
    return st.one_of(usual, st.lists(words, max_size=4).map(_doubles_of_words))


def _doubles_of_words(words: Sequence[int]) -> model.Doubles:
    return model.Doubles.from_bytes(struct.pack(f"<{len(words)}Q", *words))
