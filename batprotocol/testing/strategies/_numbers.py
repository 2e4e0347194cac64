"""Strategies for the numbers of the wire."""

from __future__ import annotations

import math

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["float64s", "int32s", "uint32s", "uint64s"]

_UINT32_EDGES = (0, 1, 2**32 - 1, 2**31 - 1, 2**31)
_UINT64_EDGES = (0, 1, 2**64 - 1, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63)
_INT32_EDGES = (0, 1, -1, -2, 2**31 - 1, -(2**31))
LARGEST = 1.7976931348623157e308
_FLOAT64_EDGES = (
    *(0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, LARGEST, -LARGEST, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(0.1, 1.0000000000000002, 1.5e-5, 1e-7, 1e16, 1e22, 9007199254740993.0, 123456789.12345679),
)
TIMES = (0.0, 1.5e-5, 1.0, 10.000015, 86400.0, 1.0000000000000002, 5e-324, LARGEST)


def uint32s() -> SearchStrategy[int]:
    """Integers from 0 to 2**32 - 1; both ends come up often."""
    return st.one_of(st.sampled_from(_UINT32_EDGES), st.integers(0, 2**32 - 1))


def uint64s() -> SearchStrategy[int]:
    """Integers from 0 to 2**64 - 1; both ends, and those that no double or signed integer holds, come up often."""
    return st.one_of(st.sampled_from(_UINT64_EDGES), st.integers(0, 2**64 - 1))


def int32s() -> SearchStrategy[int]:
    """Integers from -2**31 to 2**31 - 1; both ends come up often."""
    return st.one_of(st.sampled_from(_INT32_EDGES), st.integers(-(2**31), 2**31 - 1))


def float64s(*, allow_nan: bool = False) -> SearchStrategy[float]:
    """Floats, infinities included; 0.0, -0.0, the smallest and the largest double come up often.

    Args:
        allow_nan: whether NaN comes up too.
    """
    edges = (*_FLOAT64_EDGES, math.nan) if allow_nan else _FLOAT64_EDGES
    return st.one_of(st.sampled_from(edges), st.floats(allow_nan=allow_nan))
