"""Strategies of numbers, texts, enums and vectors, and what all strategies share."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import Any, ParamSpec, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from batprotocol import model

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


# The numbers of the wire


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


# Vectors of doubles


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


# Texts and for the names of things


_AWKWARD_TEXTS = (
    *("", "\x00", "a\x00b", "\x00\x00", '"', "'", "\\", '\\"', "\\u0041", "\\x00", "\n\r\t\b\f", "\x01\x1b\x7f\x80"),
    *("é", "e\u0301", "Grenoble été", "日本語", "\u0436\u05d0\u0639", "😀", "\U0010ffff", "\ud7ff\ue000", "\uffff"),
    *("\ufeff", "\u2028\u2029", "\u202e", " ", " a ", "null", "NONE", "0", "{}", "[1,", "/* */", "// a", "%s", "a,b"),
)
_AWKWARD_IDS = ("w0!é", "ŵ!日本", "😀!😀", "!", "w0!", "!1", "w0!1!2", "w0", "w0! 1", "w0!\x00", 'w"0"!1', "w0!\\1")


def texts() -> SearchStrategy[str]:
    """Any text that UTF-8 can hold.

    Empty, with NUL, quotes, backslashes, control characters, non-ASCII and astral characters, and now and then up to
    2000 characters long. Never a lone surrogate, for which UTF-8 has no bytes.
    """
    few = st.one_of(st.sampled_from(_AWKWARD_TEXTS), st.text(max_size=12))
    long = st.builds(cycled, st.text(min_size=1, max_size=3), st.integers(0, 2000)).map("".join)
    return mostly(few, long, one_in=24)


def job_ids() -> SearchStrategy[str]:
    """Names of jobs: two in three are `workload!job`, the others any text at all."""
    return _ids(few_job_ids())


def profile_ids() -> SearchStrategy[str]:
    """Names of profiles: two in three are `workload!name` or a bare `name`, the others any text at all."""
    return _ids(st.sampled_from(("w0!delay10", "w0!ptask", "w1!seq", "delay10")))


def probe_ids() -> SearchStrategy[str]:
    """Names of probes."""
    return names("probe0", "power")


def call_ids() -> SearchStrategy[str]:
    """Names of calls."""
    return names("call0", "every minute")


def few_job_ids() -> SearchStrategy[str]:
    """A thousand usual names of jobs: quick to make."""
    return st.integers(0, 999).map("w0!{}".format)


def _ids(usual: SearchStrategy[str]) -> SearchStrategy[str]:
    return mostly(usual, st.one_of(st.sampled_from(_AWKWARD_IDS), texts()), one_in=3)


def names(*usual: str) -> SearchStrategy[str]:
    """Two in three are one of these, the others any text at all."""
    return mostly(st.sampled_from(usual), texts(), one_in=3)


# The enums of the schema


EnumType = TypeVar("EnumType", bound=model.ProtocolEnum)


def enums(enum_type: type[EnumType], *, known_only: bool = False) -> SearchStrategy[EnumType]:
    """Members of an enum of the schema, and numbers that only a newer schema may name.

    Args:
        enum_type: the enum, for example `TimeUnit`.
        known_only: leave out the unknown numbers, which are in [-128, 127] and come up one time in four.
    """
    known = st.sampled_from(list(enum_type))
    return known if known_only else mostly(known, st.integers(-128, 127).map(enum_type), one_in=4)
