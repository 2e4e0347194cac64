"""Comparing values more strictly than `==`, which takes -0.0 for 0.0 and no NaN for itself; or just as much less."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from batprotocol.model import Doubles, ProtocolEnum, Value

__all__ = ["as_printed", "bits", "exact", "one_nan", "unsigned_zero"]


def bits(number: float) -> Any:
    """The number's eight bytes: NaN is NaN with the same payload, -0.0 is not 0.0."""
    return struct.pack("<d", number)


def one_nan(number: float) -> Any:
    """As `bits`, but NaN has no payload: JSON has no digits for it."""
    return "NaN" if math.isnan(number) else bits(number)


def unsigned_zero(number: float) -> Any:
    """As `one_nan`, but -0.0 is 0.0: flatc leaves out fields that are equal to their default."""
    return one_nan(number or 0.0)


def as_printed(number: float) -> Any:
    """What is left of the number where the C++ library prints it: twelve decimals."""
    return one_nan(number if math.isnan(number) or math.isinf(number) else float(f"{number:.12f}"))


def exact(value: Any, number: Callable[[float], Any] = bits) -> Any:
    """The value as nested tuples that are equal when the values are the same, with each double as `number` gives it."""
    if isinstance(value, Value):
        return (type(value).__name__, *(exact(getattr(value, name), number) for name in value.__struct_fields__))
    if isinstance(value, Doubles):
        return ("Doubles", *map(number, value))
    if isinstance(value, tuple):
        return ("tuple", *(exact(each, number) for each in value))
    if isinstance(value, float):
        return number(value)
    if isinstance(value, ProtocolEnum):
        return (type(value).__name__, int(value))
    assert value is None or type(value) in (str, int, bool), f"{value!r} is no value of the protocol"
    return (type(value).__name__, value)
