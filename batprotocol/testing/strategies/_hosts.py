"""Strategies for host sets."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol.testing.strategies._common import cycled, mostly
from batprotocol.testing.strategies._texts import texts

__all__ = ["host_sets"]

_AWKWARD_HOST_SETS = (
    *("", " ", "1,3", "1, 3", "0-2,4", "3 1", "2-4 3-5", "1 1", "0 1", "0-0", "5-3", "-1", "1-", "-", "1--2", "007"),
    *(" 1", "1 ", "1  2", "1\t2", "0x10", "1.0", "+1", "\u0661", "all", "1-2-3", "4294967296", "9" * 25, "1\x00"),
)


def host_sets(*, canonical: bool = False) -> SearchStrategy[str]:
    """Host sets as strings, two in three in canonical form: `""`, `"7"`, `"0-3 8"`, and up to some hundred intervals.

    Args:
        canonical: only canonical form, which Batsim reads: ascending disjoint intervals, separated by one space. False
            adds what is a set but not written so (`"3,1-2"`, overlaps) and what is none (`"5-3"`, any text): the wire
            carries them all.
    """
    steps = st.tuples(st.integers(2, 9), st.integers(0, 4))
    few = st.builds(_canonical_host_set, st.integers(0, 99), st.lists(steps, max_size=4))
    many = st.builds(cycled, st.lists(steps, min_size=1, max_size=2), st.integers(0, 300))
    large = st.sampled_from(("0-4294967295", "4294967295", "0 4294967294", "999999"))
    sets = mostly(few, st.one_of(large, st.builds(_canonical_host_set, st.just(0), many)), one_in=8)
    if canonical:
        return sets
    return mostly(sets, st.one_of(st.sampled_from(_AWKWARD_HOST_SETS), texts()), one_in=3)


def _canonical_host_set(first: int, steps: Sequence[tuple[int, int]]) -> str:
    """Intervals, given as (distance from the end of the one before, at least 2, and length - 1)."""
    intervals = []
    for distance, more in steps:
        intervals.append(f"{first}-{first + more}" if more else str(first))
        first += more + distance
    return " ".join(intervals)
