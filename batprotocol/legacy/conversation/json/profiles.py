"""Profiles that the scheduler registers: the requirements of Batsim for each type, and where it aborts.

This module must not know any event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from batprotocol.errors import shown
from batprotocol.legacy.cpp import is_int, printable, printed

__all__ = ["COMPOSED", "SPREADING", "fault_of", "too_large"]

Fields = Mapping[str, Any]

SPREADING: Final = ("parallel_homogeneous_total", "msg_par_hg_tot")
"""The types of profiles that run on any number of hosts."""

COMPOSED: Final = "composed"


class _Fault(Exception):
    """Batsim aborts on this."""


def _number(fields: Fields, key: str, least: float | None = None, above: float | None = None) -> None:
    if key not in fields:
        raise _Fault(f"it has no {key}")
    value = fields[key]
    if type(value) not in (int, float):
        raise _Fault(f"its {key} is not a number: {shown(value)}")
    number = printed(value)
    if (least is not None and number < least) or (above is not None and number <= above):
        bound = f">= {least}" if above is None else f"> {above}, with six digits behind the point"
        raise _Fault(f"its {key} is not {bound}: {shown(value)}")


def _text(fields: Fields, key: str) -> None:
    if not isinstance(fields.get(key), str):
        raise _Fault(f"its {key} is not a string" if key in fields else f"it has no {key}")


def _array(fields: Fields, key: str, size: int | None = None) -> int:
    value = fields.get(key)
    if not isinstance(value, list):
        raise _Fault(f"its {key} is not an array" if key in fields else f"it has no {key}")
    if not value if size is None else len(value) != size:
        raise _Fault(f"its {key} has {len(value)} members" + ("" if size is None else f", and not {size}"))
    return len(value)


def _delay(fields: Fields) -> None:
    _number(fields, "delay", above=0)


def _parallel(fields: Fields) -> None:
    for key in ("cpu", "com"):
        if key not in fields:
            raise _Fault(f"it has no {key}")
    count = _array(fields, "cpu")
    _array(fields, "com", count * count)
    for key in ("cpu", "com"):
        for value in fields[key]:
            if type(value) not in (int, float) or value < 0:
                raise _Fault(f"its {key} holds {shown(value)}, and not numbers >= 0 only")


def _homogeneous(fields: Fields) -> None:
    _number(fields, "cpu", least=0)
    _number(fields, "com", least=0)


def _composed(fields: Fields) -> None:
    repeat = fields.get("repeat", fields.get("nb", 1))
    if not is_int(repeat) or repeat <= 0:
        raise _Fault(f"it is repeated {shown(repeat)} times")
    _array(fields, "seq")
    for name in fields["seq"]:
        if not isinstance(name, str):
            raise _Fault(f"its seq holds {shown(name)}, which is not a name")


def _storage(fields: Fields) -> None:
    given = [key for key in ("bytes_to_read", "bytes_to_write") if key in fields]
    if not given:
        raise _Fault("it has neither bytes_to_read nor bytes_to_write")
    for key in given:
        _number(fields, key)
    for key in ("storage", "host"):
        if key in fields:
            _text(fields, key)
            break


def _staging(fields: Fields) -> None:
    _number(fields, "nb_bytes", least=0)
    _text(fields, "from")
    _text(fields, "to")


def _send(fields: Fields) -> None:
    if not isinstance(fields.get("msg"), Mapping):
        raise _Fault("its msg is not an object" if "msg" in fields else "it has no msg")
    if "sleeptime" in fields:
        _number(fields, "sleeptime", above=0)


def _recv(fields: Fields) -> None:
    for key in ("regex", "success", "failure", "timeout"):
        if key in fields:
            _text(fields, key)
    if "polltime" in fields:
        _number(fields, "polltime", above=0)


def _from_file(fields: Fields) -> None:
    raise _Fault("traces are replayed from workload files only")


def _anything(fields: Fields) -> None:
    """The check of the types that Batsim is not known to refuse."""


_ALWAYS: Final[Mapping[str, Callable[[Fields], None]]] = {
    "delay": _delay,
    "composed": _composed,
    "smpi": _from_file,
    "send": _send,
    "recv": _recv,
}
_BEFORE_3: Final = {
    **_ALWAYS,
    "msg_par": _parallel,
    "msg_par_hg": _homogeneous,
    "msg_par_hg_tot": _homogeneous,
    "msg_par_hg_pfs": _anything,
    "msg_par_hg_pfs0": _anything,
    "msg_par_hg_pfs_tiers": _anything,
    "data_staging": _anything,
}
_SINCE_3: Final = {
    **_ALWAYS,
    "parallel": _parallel,
    "parallel_homogeneous": _homogeneous,
    "parallel_homogeneous_total": _homogeneous,
    "parallel_homogeneous_pfs": _storage,
    "data_staging": _staging,
    "usage_trace": _from_file,
}


def fault_of(fields: Fields, major: int) -> str | None:
    """The reason why that Batsim refuses a profile, None if it accepts it."""
    kind = fields.get("type")
    if not isinstance(kind, str):
        return "it has no type" if kind is None else f"its type is not a string: {shown(kind)}"
    demand = (_SINCE_3 if major >= 3 else _BEFORE_3).get(kind)
    if demand is None:
        return f"there is no type {shown(kind)} in this version"
    if "ret" in fields and not is_int(fields["ret"]):
        return f"its ret is not an integer: {shown(fields['ret'])}"
    if too_large(fields):
        return "Batsim cannot print a number that large"
    try:
        demand(fields)
    except _Fault as fault:
        return str(fault)
    return None


def too_large(value: Any) -> bool:
    """Whether this contains a number that Batsim cannot print."""
    if type(value) is float:
        return not printable(value)
    if isinstance(value, Mapping):
        return any(map(too_large, value.values()))
    return isinstance(value, list) and any(map(too_large, value))
