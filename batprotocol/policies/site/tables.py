"""The tables of a site's file as values: each is checked with its place, and misspelt keys with the near name.

Times and weights of resources are written as Slurm writes them. This module must not know what the tables mean.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import UnionType
from typing import Any, Final, TypeVar, get_args, get_origin

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.texts import span
from batprotocol.workloads.requests.notation import parse_memory

__all__ = ["converted", "seconds_of", "weights_of"]

Made = TypeVar("Made", bound=msgspec.Struct)

_WEIGHT: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})([KMGT])?", re.ASCII | re.IGNORECASE)
_TIMES: Final = frozenset(
    {"max_time", "default_time", "grace", "max_age", "decay_half_life", "calc_period", "begin", "end"}
)
_WEIGHTS: Final = frozenset({"tres_billing_weights", "weight_tres"})
_RESOURCES: Final = ("cpu", "mem", "node", "gres/gpu")
_MOST: Final = 1e15
_GRES: Final = re.compile(r"gres/[A-Za-z_][\w.-]{0,60}(?::[\w.-]{1,60})?", re.ASCII)


def converted(tables: Mapping[str, Any], made: type[Made]) -> Made:
    """The values of tables, as a TOML file has them.

    Raises:
        InputError: a key is unknown, or a value is not one that it can have; `path` is the key.
    """
    value: Made = msgspec.convert(_checked(tables, made, ""), made)
    return value


def _checked(value: Any, kind: Any, path: str) -> Any:
    """A value with times and weights as numbers, if it can be of that type."""
    name = path.rpartition(".")[2]
    if name in _TIMES and isinstance(value, str):
        value = seconds_of(value, path)
    elif name in _WEIGHTS:
        value = weights_of(value, path)
    if isinstance(kind, UnionType):  # with None, which tables cannot say
        kind = next(each for each in get_args(kind) if each is not type(None))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, Mapping):
        kinds = {field.name: field.type for field in msgspec.structs.fields(kind)}
        for key in value:
            if key not in kinds:
                raise InputError(f"there is no key {shown(key)}{hint(key, kinds)}", path)
        return {key: _checked(inner, kinds[key], _joined(path, key)) for key, inner in value.items()}
    if get_origin(kind) is dict and isinstance(value, Mapping):
        return {key: _checked(inner, get_args(kind)[1], _joined(path, key)) for key, inner in value.items()}
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text, _, rest = str(error).partition(" - at `$")
        text = text[:1].lower() + text[1:].replace("`object`", "a table")
        got = f", got {shown(value)}" if text.startswith("expected") and ", got" not in text else ""
        raise InputError(text + got, path + rest.rstrip("`")) from None
    return value


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def seconds_of(text: str, path: str = "") -> float:
    """A time as Slurm writes it, in seconds: minutes, `mm:ss`, `hh:mm:ss`, `d-hh`, `d-hh:mm:ss`, or `UNLIMITED`.

    >>> seconds_of("1-12:00:00"), seconds_of("30"), seconds_of("1:30:00")
    (129600.0, 1800.0, 5400.0)
    """
    try:
        return span(text)
    except InputError:
        expected = "expected seconds as a number, or a time such as '1-12:00:00'"
        raise InputError(f"{expected}, got {shown(text)}", path) from None


def weights_of(value: Any, path: str = "") -> dict[str, float]:
    """The weights of trackable resources (TRES), by name in lower case: `cpu`, `mem`, `node` and `gres/NAME`.

    The weight of memory counts for a mebibyte, or with a unit for that unit.

    Args:
        value: Slurm's text, or a table.
        path: the key, for errors.

    >>> weights_of("CPU=1.0,Mem=0.25G,GRES/gpu=2.0") == weights_of({"cpu": 1, "mem": 0.25 / 1024, "gres/gpu": 2})
    True

    Raises:
        InputError: a resource is unknown, or its weight is not a number >= 0.
    """
    if isinstance(value, str):
        pairs = [(name.strip(), weight.strip()) for name, _, weight in (part.partition("=") for part in _parts(value))]
    elif isinstance(value, Mapping):
        pairs = [(str(name), weight) for name, weight in value.items()]
    else:
        raise InputError(f"expected a table, or a text such as 'CPU=1.0,Mem=0.25G', got {shown(value)}", path)
    weights: dict[str, float] = {}
    for name, weight in pairs:
        known = name.lower() if name.lower() in _RESOURCES else f"gres/{name[5:]}"
        if known not in _RESOURCES and not (name[:5].lower() == "gres/" and _GRES.fullmatch(known)):
            near = hint(name, _RESOURCES) or f"; there are {', '.join(_RESOURCES[:3])} and gres/NAME"
            raise InputError(f"there is no resource {shown(name)}{near}", path)
        number, unit = _number(weight)
        if not 0 <= number <= _MOST or (unit and known != "mem"):
            example = ", with a unit such as '0.25G' if need be" if known == "mem" else ""
            raise InputError(f"expected a number >= 0{example}, got {shown(weight)}", _joined(path, name))
        weights[known] = number / (parse_memory(f"1{unit}") / 2**20 if unit else 1.0)
    return weights


def _number(weight: Any) -> tuple[float, str]:
    """A weight as a number and its unit; not a number if it is neither a number nor a text of this form."""
    if isinstance(weight, int | float) and not isinstance(weight, bool):
        return float(weight), ""
    found = _WEIGHT.fullmatch(weight) if isinstance(weight, str) else None
    return (float(found[1]), found[2] or "") if found else (math.nan, "")


def _parts(text: str) -> list[str]:
    return [part for part in text.split(",") if part.strip()]
