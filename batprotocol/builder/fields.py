"""The check and the completion of one field whose type is valid.

Each function returns the value to write, or raises `BuilderError` with the given path. `completions` assigns the
functions to fields.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Collection
from typing import Any, Final, SupportsIndex

from msgspec.structs import force_setattr

from batprotocol import model
from batprotocol.errors import BuilderError, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts

__all__ = [
    "commit",
    "csv_text",
    "finite",
    "finite_vector",
    "fraction",
    "host_set",
    "id",
    "ids",
    "integer",
    "integers",
    "known",
    "number",
    "some_hosts",
    "some_ids",
]

_LAST_HOST: Final = 2**32 - 1


# Numbers


def number(value: Any, path: str) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise BuilderError(f"expected a number, got {shown(value)}", path)
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise BuilderError(f"expected a number that a double can hold, got {shown(value)}", path) from error


def finite(value: Any, path: str) -> float:
    found = number(value, path)
    if not math.isfinite(found):
        raise BuilderError(f"expected a finite number, got {found}", path)
    return found


def finite_vector(values: model.Doubles | None, path: str) -> model.Doubles | None:
    if values is not None and not math.isfinite(sum(values.view)):  # the sum of finite numbers can be infinite too
        for index, value in enumerate(values):
            finite(value, f"{path}[{index}]")
    return values


def fraction(value: Any, path: str) -> float:
    found = number(value, path)
    if not 0.0 <= found <= 1.0:
        raise BuilderError(f"expected a number in [0,1], got {found}", path)
    return found


def integer(value: SupportsIndex, path: str) -> int:
    return operator.index(value)  # numpy's integers become Python's, like integers from the wire


def integers(values: tuple[SupportsIndex, ...], path: str) -> tuple[int, ...]:
    return tuple(map(operator.index, values))


# Enums


def known(value: model.ProtocolEnum, path: str) -> model.ProtocolEnum:
    if not value.known:
        names = ", ".join(member.name for member in type(value))
        raise BuilderError(f"expected one of {names}, got {int(value)}", path)
    return value


# Texts


def id(value: str, path: str) -> str:
    if not value:
        raise BuilderError(f"expected an id that is not empty, got {value!r}", path)
    return value


def ids(values: tuple[str, ...], path: str) -> tuple[str, ...]:
    for index, value in enumerate(values):
        id(value, f"{path}[{index}]")
    return values


def some_ids(values: tuple[str, ...], path: str) -> tuple[str, ...]:
    if not values:
        raise BuilderError("expected at least one id, got none", path)
    return ids(values, path)


def csv_text(value: str | None, path: str) -> str | None:
    if value is not None and ("," in value or '"' in value):
        raise BuilderError(f"expected a text without comma or double quote, got {shown(value)}", path)
    return value


def commit(value: str | None, path: str) -> str | None:
    return csv_text(value or "", path)


# Host sets


def host_set(value: Any, path: str) -> str:
    try:
        hosts = frozen_hosts(value)
        text = hosts.text
    except ValueError as error:  # HostSetError, or Python refuses to write an int of thousands of digits
        raise BuilderError(str(error), path) from error
    if type(value) is not str and isinstance(value, Collection) and len(value) != len(hosts):
        twice = next(host for host, count in Counter(map(int, value)).items() if count > 1)
        raise BuilderError(f"expected each host once, got {twice} twice", path)
    if hosts.intervals and hosts.intervals[-1][1] > _LAST_HOST:
        raise BuilderError(f"a host is an integer in [0, {_LAST_HOST}], got {shown(text)}", path)
    return value if type(value) is str and value == text else text  # the given string itself if it is canonical


def some_hosts(value: Any, path: str) -> str:
    hosts = host_set(value, path)
    if not hosts:
        raise BuilderError(f"expected at least one host, got {value!r}", path)
    if type(value) is FrozenHosts:
        force_setattr(value, "_sent", hosts)
    return hosts
