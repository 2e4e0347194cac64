"""JSON of a scheduler as Batsim 1 to 4 read it: members in order, sets of hosts, names, profiles and jobs.

Batsim aborts where a reading here raises, or where a `fault_...` function returns a reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from math import isinf
from typing import Any, Final, NoReturn

from batprotocol.errors import DecodeError, shown
from batprotocol.legacy.json.values import integer, is_int, printable, printed
from batprotocol.legacy.rules import OldJob, RuleBroken, RuleState

_SURROGATES: Final = re.compile(rb"\\(?:[uU][dD][89aAbB][0-9a-fA-F]{2}(?P<rest>\\u[dD][c-fC-F])?|.)", re.DOTALL)


class JsonMembers(dict[str, Any]):
    """An object. If two members have one name, Batsim reads the first one, but its number of members includes both."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(reversed(pairs))
        self.pairs = pairs

    @property
    def count(self) -> int:
        """The number of members."""
        return len(self.pairs)


def members_of(data: bytes) -> Any:
    """The value of a text, with a `JsonMembers` for each object.

    Raises:
        DecodeError: this is not JSON.
    """
    text = data.partition(b"\0")[0]
    if b"\\u" in text:
        for found in _SURROGATES.finditer(text):
            if len(found[0]) > 2 and found["rest"] is None:
                raise DecodeError("this is not JSON: half of a surrogate pair", "", found.start())
    try:
        return json.loads(
            text.decode("utf-8", "surrogateescape"),
            object_pairs_hook=JsonMembers,
            parse_constant=_constant,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        raise DecodeError(f"this is not JSON: {error.msg}", "", error.pos) from None
    except ValueError as error:  # an integer of thousands of digits
        raise DecodeError(str(error)) from None
    except RecursionError:
        raise DecodeError("it is nested too deeply") from None


def _constant(name: str) -> NoReturn:
    raise ValueError(f"this is not JSON: {name}")


def _float(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise ValueError(f"this is not JSON: {digits} is too large")
    return value


def text_of(value: str) -> str:
    """A text as C++ reads it: it ends at its first NUL."""
    return value.partition("\0")[0]


# Sets of hosts


_WHOLE = re.compile(r"[ \t\n\r\f\v]*\+?[0-9]+", re.ASCII)
_LARGEST = 2**20


class Unreadable(Exception):
    """The text is not a set of hosts."""


def _host_number(text: str, major: int) -> int:
    found = integer(text)
    if found is None or (major >= 3 and not _WHOLE.fullmatch(text)):
        raise Unreadable(f"{text!r} is not a number")
    return found


def hosts_of(text: str, major: int) -> frozenset[int]:
    """The hosts of a set, as that Batsim reads it. `Unreadable` where it would abort."""
    hosts: set[int] = set()
    for part in re.split(" +", text):
        ends = re.split("-+", part)
        if len(ends) > 2:
            raise Unreadable(f"{part!r} is neither a host nor an interval a-b")
        first, last = _host_number(ends[0], major), _host_number(ends[-1], major)
        if first > last:
            raise Unreadable(f"the interval {part} is descending")
        if last - first > _LARGEST:
            raise Unreadable(f"the interval {part} has more hosts than any platform")
        hosts.update(range(first, last + 1))
    return frozenset(hosts)


# Profiles: what each type requires


Fields = Mapping[str, Any]

SPREADING: Final = ("parallel_homogeneous_total", "msg_par_hg_tot")
"""The types of profiles that run on any number of hosts."""

COMPOSED: Final = "composed"


class _ProfileFault(Exception):
    """Batsim aborts on this."""


def _number(fields: Fields, key: str, least: float | None = None, above: float | None = None) -> None:
    if key not in fields:
        raise _ProfileFault(f"it has no {key}")
    value = fields[key]
    if type(value) not in (int, float):
        raise _ProfileFault(f"its {key} is not a number: {shown(value)}")
    number = printed(value)
    if (least is not None and number < least) or (above is not None and number <= above):
        bound = f">= {least}" if above is None else f"> {above}, with six digits behind the point"
        raise _ProfileFault(f"its {key} is not {bound}: {shown(value)}")


def _text(fields: Fields, key: str) -> None:
    if not isinstance(fields.get(key), str):
        raise _ProfileFault(f"its {key} is not a string" if key in fields else f"it has no {key}")


def _array(fields: Fields, key: str, size: int | None = None) -> int:
    value = fields.get(key)
    if not isinstance(value, list):
        raise _ProfileFault(f"its {key} is not an array" if key in fields else f"it has no {key}")
    if not value if size is None else len(value) != size:
        raise _ProfileFault(f"its {key} has {len(value)} members" + ("" if size is None else f", and not {size}"))
    return len(value)


def _delay(fields: Fields) -> None:
    _number(fields, "delay", above=0)


def _parallel(fields: Fields) -> None:
    for key in ("cpu", "com"):
        if key not in fields:
            raise _ProfileFault(f"it has no {key}")
    count = _array(fields, "cpu")
    _array(fields, "com", count * count)
    for key in ("cpu", "com"):
        for value in fields[key]:
            if type(value) not in (int, float) or value < 0:
                raise _ProfileFault(f"its {key} holds {shown(value)}, and not numbers >= 0 only")


def _homogeneous(fields: Fields) -> None:
    _number(fields, "cpu", least=0)
    _number(fields, "com", least=0)


def _composed(fields: Fields) -> None:
    repeat = fields.get("repeat", fields.get("nb", 1))
    if not is_int(repeat) or repeat <= 0:
        raise _ProfileFault(f"it is repeated {shown(repeat)} times")
    _array(fields, "seq")
    for name in fields["seq"]:
        if not isinstance(name, str):
            raise _ProfileFault(f"its seq holds {shown(name)}, which is not a name")


def _storage(fields: Fields) -> None:
    given = [key for key in ("bytes_to_read", "bytes_to_write") if key in fields]
    if not given:
        raise _ProfileFault("it has neither bytes_to_read nor bytes_to_write")
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
        raise _ProfileFault("its msg is not an object" if "msg" in fields else "it has no msg")
    if "sleeptime" in fields:
        _number(fields, "sleeptime", above=0)


def _recv(fields: Fields) -> None:
    for key in ("regex", "success", "failure", "timeout"):
        if key in fields:
            _text(fields, key)
    if "polltime" in fields:
        _number(fields, "polltime", above=0)


def _from_file(fields: Fields) -> None:
    raise _ProfileFault("traces are replayed from workload files only")


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
    except _ProfileFault as fault:
        return str(fault)
    return None


def too_large(value: Any) -> bool:
    """Whether this contains a number that Batsim cannot print."""
    if type(value) is float:
        return not printable(value)
    if isinstance(value, Mapping):
        return any(map(too_large, value.values()))
    return isinstance(value, list) and any(map(too_large, value))


# Jobs and their names


class Unnamed(Exception):
    """The text is not the name of a job."""


def name_of(text: str, major: int) -> str:
    """The name WORKLOAD!JOB, written as Batsim writes it: it reads "w!!1" as "w!1", and Batsim 1 "w!01x", too.

    Raises:
        Unnamed: Batsim aborts on this.
    """
    parts = re.split("!+", text)
    if len(parts) != 2:
        raise Unnamed(f"{shown(text)} is not WORKLOAD!JOB")
    if major != 1:
        return "!".join(parts)
    number = integer(parts[1])
    if number is None:
        raise Unnamed(f"{shown(parts[1])} in {shown(text)} is not a number, and this Batsim requires one")
    return f"{parts[0]}!{number}"


def _inner_name(given: str | int, workload: str, major: int) -> str:
    """The full name of a job, from its name in its workload."""
    text = str(given)
    if type(given) is int if major == 1 else workload not in text:
        if "!" in text:
            raise Unnamed(f"its id {shown(text)} is not in the workload {shown(workload)}")
        return name_of(f"{workload}!{text}", major)
    return name_of(text, major)


def fault_of_job(job: Mapping[str, Any], job_id: str, major: int) -> tuple[str, str] | None:
    """The member and the reason for which that Batsim refuses this job under this name, None if it accepts the job."""
    given: Any = job.get("id")
    if not (isinstance(given, str) or is_int(given)):
        return "id", f"expected a name, found {shown(given)}" if "id" in job else "it is missing"
    try:
        name = _inner_name(given, job_id.partition("!")[0], major)
    except Unnamed as error:
        return "id", str(error)
    if name != job_id:
        return "id", f"it is {shown(name)}, and not the {shown(job_id)} that is registered"
    if type(job.get("subtime")) not in (int, float):
        return "subtime", f"expected a number, found {shown(job['subtime'])}" if "subtime" in job else "it is missing"
    walltime = job.get("walltime", -1)
    if type(walltime) not in (int, float) or not (printed(walltime) > 0 or printed(walltime) == -1):
        return "walltime", f"expected a number > 0, or -1, found {shown(walltime)}"
    res: Any = job.get("res")
    if not is_int(res) or (res < 0 and major >= 3):
        return "res", f"expected an integer >= 0, found {shown(res)}" if "res" in job else "it is missing"
    if not isinstance(job.get("profile"), str):
        return "profile", f"expected a name, found {shown(job['profile'])}" if "profile" in job else "it is missing"
    if too_large(job):
        return "", "Batsim cannot print a number that large"
    return None


# Members of the data of an event. These raise `RuleBroken`


def member(data: JsonMembers, key: str, path: str) -> Any:
    """The member of this name."""
    if key not in data:
        raise RuleBroken("event.form", f"{path}.{key}", "it is missing")
    return data[key]


def text(data: JsonMembers, key: str, path: str) -> str:
    """The text of a member."""
    value = member(data, key, path)
    if not isinstance(value, str):
        raise RuleBroken("event.form", f"{path}.{key}", f"expected a string, found {shown(value)}")
    return text_of(value)


def number(data: JsonMembers, key: str, path: str) -> float:
    """The number of a member."""
    value = member(data, key, path)
    if type(value) not in (int, float):
        raise RuleBroken("event.form", f"{path}.{key}", f"expected a number, found {shown(value)}")
    return value  # type: ignore[no-any-return]


def name(state: RuleState, given: str, path: str) -> str:
    """The name of a job, as Batsim writes it."""
    try:
        return name_of(given, state.major)
    except Unnamed as error:
        raise RuleBroken("job.id", path, str(error)) from None


def job_named(state: RuleState, given: str, path: str) -> tuple[str, OldJob]:
    """The name of a job that Batsim knows, and its state."""
    job_id = given if given in state.jobs else name(state, given, path)
    job = state.jobs.get(job_id)
    if job is None:
        raise RuleBroken("job.unknown", path, f"no job {shown(given)} was submitted so far")
    return job_id, job


def hosts(state: RuleState, given: str, path: str) -> frozenset[int]:
    """The hosts of a set. All of them exist."""
    try:
        found = hosts_of(given, state.major)
    except Unreadable as error:
        raise RuleBroken("alloc.form", path, f"{shown(given)} is not a set of hosts: {error}") from None
    if min(found) < 0 or (state.host_count is not None and max(found) >= state.host_count):
        odd = min(found) if min(found) < 0 else max(found)
        raise RuleBroken("alloc.hosts", path, f"there is no host {odd}, only {state.host_count} hosts")
    return found
