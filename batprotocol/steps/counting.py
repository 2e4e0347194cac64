"""Counting steps: a call of `step` costs a compiled loop a nanosecond or two."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol.steps.looking import look

__all__ = ["step"]

_STEPS: Final = 1024
"""So many at a time: of the longest steps that there are, some tenths of a second."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Count:
    """What is left of them. A compiled module has no quicker place for a number that changes."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _STEPS


_COUNT: Final = _Count()


def step() -> None:
    """One more step of something that may take long; it raises what the handler of a signal does."""
    _COUNT.left -= 1
    if _COUNT.left <= 0:
        _COUNT.left = _STEPS
        look()
