"""The limits of runs, as studies describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from batprotocol.errors import StudyError, shown
from batprotocol.studies.runs import Limits

__all__ = ["limits_of", "memory_of"]

_UNITS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def limits_of(keys: Mapping[str, Any]) -> Limits:
    """The limits of each run, by the keys `timeout` and `memory` of a study.

    Raises:
        StudyError: one of them is not valid.
    """
    usual = Limits()
    seconds, memory = keys.get("timeout", usual.seconds), keys.get("memory", usual.memory)
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds > 0:
        raise StudyError(f"expected a number of seconds > 0, got {shown(seconds)}", "timeout")
    return Limits(float(seconds), memory_of(memory))


def memory_of(given: Any) -> int:
    """The number of bytes in a text such as `2GB`, or a number as it is.

    Raises:
        StudyError: it is not a number of bytes.

    >>> memory_of("1.5GB"), memory_of(4096)
    (1500000000, 4096)
    """
    text = str(given).strip().removesuffix("B")
    unit = text[-1:] if text[-1:] in _UNITS else ""
    try:
        found = float(text.removesuffix(unit)) * _UNITS[unit]
    except ValueError:
        found = -1.0
    if isinstance(given, bool) or not 0 <= found < 2**62:
        raise StudyError(f'expected bytes, such as 4096 or "2GB", got {shown(given)}', "memory")
    return int(found)
