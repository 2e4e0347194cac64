"""Counting steps: a call of `step` costs a compiled loop a nanosecond or two."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

__all__ = ["step"]

_STEPS: Final = 1024
"""The number of steps between two calls: for the longest steps, this takes some tenths of a second."""


_NOTHING: Final = compile("None", "<step>", "eval")


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Count:
    """The remaining steps until the next call. A compiled module has no faster place for a number that changes."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _STEPS


_COUNT: Final = _Count()


def step() -> None:
    """Count a step of a long loop. It raises the exception of a signal handler."""
    _COUNT.left -= 1
    if _COUNT.left <= 0:
        _COUNT.left = _STEPS
        eval(_NOTHING)  # the interpreter runs signal handlers, which may raise
