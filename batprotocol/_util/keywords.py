"""Keyword arguments that several functions share, declared once as a `TypedDict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["expect_options"]


def expect_options(function: str, given: Mapping[str, Any], known: type) -> None:
    """Refuse keyword arguments that are not known, as Python does.

    Args:
        function: the name of the function.
        given: the keyword arguments.
        known: the `TypedDict` of those that are known, whose bases count, too.

    Raises:
        TypeError: one is not known.
    """
    names = known.__annotations__
    for name in given:
        if name not in names:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
