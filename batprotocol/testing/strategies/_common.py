"""The parts that strategies of all types share, and the table that finds them by type. It must not know of any type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import Any, ParamSpec, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")
P = ParamSpec("P")

STRATEGIES: dict[type[Any], Callable[..., SearchStrategy[Any]]] = {}
"""The strategy of each type, in the order of registration."""


def makes(kind: type[T]) -> Callable[[Callable[P, SearchStrategy[T]]], Callable[P, SearchStrategy[T]]]:
    """Register a strategy as that of this type: nothing else has to list it."""

    def known(strategy: Callable[P, SearchStrategy[T]]) -> Callable[P, SearchStrategy[T]]:
        STRATEGIES[kind] = strategy
        return strategy

    return known


@st.composite
def mostly(draw: DrawFn, usual: SearchStrategy[T], awkward: SearchStrategy[T], *, one_in: int) -> T:
    """The awkward strategy once in `one_in` draws, else the usual one; it shrinks to the usual one."""
    return draw(awkward if draw(st.integers(1, one_in)) == one_in else usual)


def cycled(pattern: Sequence[T], size: int) -> tuple[T, ...]:
    """That many elements: the pattern over and over."""
    return tuple(islice(cycle(pattern), size))


def vectors(
    elements: SearchStrategy[T], light: SearchStrategy[T] | None = None, *, one_in: int = 12
) -> SearchStrategy[tuple[T, ...]]:
    """Empty and short tuples, and now and then one of up to 1500 elements: two light ones over and over."""
    pattern = st.lists(elements if light is None else light, min_size=1, max_size=2)
    huge = st.builds(cycled, pattern, st.integers(0, 1500))
    return mostly(st.lists(elements, max_size=3).map(tuple), huge, one_in=one_in)


def optional(elements: SearchStrategy[T]) -> SearchStrategy[T | None]:
    """These, or None for an absent value."""
    return st.one_of(st.none(), elements)
