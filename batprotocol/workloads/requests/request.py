"""The request of a job: the vocabulary's keys in its extra data, read and checked.

The key `recorded` has when and where a job ran in a log (`Recording`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import HostSetError, InputError, hint, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.workloads.requests.notation import (
    Constraint,
    Dependency,
    Gres,
    Moment,
    expanded_names,
    parse_constraint,
    parse_count,
    parse_dependency,
    parse_gres,
    parse_licenses,
    parse_memory,
    parse_moment,
)
from batprotocol.workloads.requests.vocabulary import JOB_KEYS, SLURM_KEYS

__all__ = [
    "NOTHING",
    "ArrayTask",
    "Recording",
    "Request",
    "asks_for_a_part",
    "moved_recording",
    "parse_recording",
    "read_request",
    "read_slurm_options",
    "with_recording",
]


# Recordings
#
# Functions that give jobs other times of submission move the recorded start along.

_KEY: Final = "recorded"
_KNOWN: Final = ("start", "hosts", "cores", "held")
_LARGEST: Final = 2**53
"""No time is larger, so that seconds are exact."""


class Recording(NamedTuple):
    """The recording of a job in a log.

    Attributes:
        start: when it started, in seconds of the simulation.
        hosts: the numbers of its hosts; None if the log does not have them.
        cores: its cores on all hosts together, if they fill one host after the other, as Slurm gives them; None if it
            has as many of each host.
        held: the seconds from its submission until it was eligible, when it comes in a simulation of the log.
    """

    start: float
    hosts: FrozenHosts | None = None
    cores: int | None = None
    held: float = 0.0


def parse_recording(value: Any) -> Recording:
    """Read the value of the key `recorded`.

    Raises:
        InputError: it is not an object with a start in seconds, and perhaps hosts such as "0-3 8" and their cores.

    >>> parse_recording({"start": 60, "hosts": "0-3 8"})
    Recording(start=60.0, hosts=FrozenHosts('0-3 8'), cores=None, held=0.0)
    """
    if not isinstance(value, dict) or "start" not in value:
        raise InputError(f"""expected an object such as {{"start": 60, "hosts": "0-3"}}, got {shown(value)}""")
    for key in value:
        if key not in _KNOWN:
            raise InputError(f"expected start, hosts, cores and held, got the key {shown(key)}")
    start, hosts = value["start"], value.get("hosts")
    if isinstance(start, bool) or not isinstance(start, int | float) or not abs(start) <= _LARGEST:
        raise InputError(f"expected seconds, got {shown(start)}", "start")
    cores = value.get("cores")
    if cores is not None and (isinstance(cores, bool) or not isinstance(cores, int) or not 0 < cores <= _LARGEST):
        raise InputError(f"expected a number of cores, got {shown(cores)}", "cores")
    held = value.get("held", 0.0)
    if isinstance(held, bool) or not isinstance(held, int | float) or not 0 <= held <= _LARGEST:
        raise InputError(f"expected seconds >= 0, got {shown(held)}", "held")
    if hosts is None:
        return Recording(float(start), None, cores, float(held))
    try:
        found = frozen_hosts(hosts) if isinstance(hosts, str) else None
    except HostSetError:
        found = None
    if found is None or not found.intervals:
        raise InputError(f"""expected numbers of hosts such as "0-3 8", got {shown(hosts)}""", "hosts")
    return Recording(float(start), found, cores, float(held))


def with_recording(extra_data: str | None, start: float, hosts: str | None = None) -> str:
    """Extra data with what a log says about the job.

    >>> with_recording('{"user":7}', 60.0, "0-3")
    '{"user":7,"recorded":{"start":60.0,"hosts":"0-3"}}'
    """
    data = _object(extra_data) or {}
    data[_KEY] = {"start": start} if hosts is None else {"start": start, "hosts": hosts}
    return msgspec.json.encode(data).decode()


def moved_recording(extra_data: str | None, seconds: float) -> str | None:
    """The same extra data, for a job that is submitted so many seconds later: its recorded start is later, too.

    >>> moved_recording('{"recorded": {"start": 60.0}}', -50.0)
    '{"recorded":{"start":10.0}}'
    """
    if not seconds or extra_data is None or _KEY not in extra_data:
        return extra_data
    data = _object(extra_data)
    recorded = None if data is None else data.get(_KEY)
    if not isinstance(recorded, dict):
        return extra_data
    start = recorded.get("start")
    if isinstance(start, bool) or not isinstance(start, int | float) or not abs(start) <= _LARGEST:
        return extra_data  # whoever reads it reports it
    recorded["start"] = start + seconds
    return msgspec.json.encode(data).decode()


def _object(extra_data: str | None) -> dict[str, Any] | None:
    """Extra data as an object; None if they are not one."""
    try:
        data = msgspec.json.decode(extra_data) if extra_data else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


_ARRAY = re.compile(r"(.+)_([0-9]{1,9})(?:%([0-9]{1,9}))?", re.ASCII | re.DOTALL)
_LONGEST: Final = 1_000
_MOST_NAMES: Final = 100_000


class ArrayTask(NamedTuple):
    """The place of a job in an array.

    Attributes:
        array: the id of the array.
        task: the number of the task in it.
        limit: how many tasks of the array may run at a time; None: any number.
    """

    array: str
    task: int
    limit: int | None = None


class Request(msgspec.Struct, frozen=True, gc=False):
    """The request of a job, beside a number of hosts and a walltime. `JOB_KEYS` has the meaning of each key.

    An absent key is None, or empty where several values are possible. Memory is in bytes.

    >>> request = read_request('{"partition": "gpu", "cores": 4, "memory": "16G", "gres": {"gpu": 2}}')
    >>> request.partition, request.cores, request.memory, str(request.gres[0])
    (('gpu',), 4, 17179869184, 'gpu:2')
    """

    name: str | None = None
    user: str | int | None = None
    group: str | int | None = None
    account: str | None = None
    qos: str | None = None
    partition: tuple[str, ...] = ()
    priority: int | None = None
    nice: int = 0
    begin: Moment | None = None
    deadline: Moment | None = None
    constraint: Constraint | None = None
    tasks: int | None = None
    cores: int | None = None
    memory: int | None = None
    gres: tuple[Gres, ...] = ()
    licenses: tuple[tuple[str, int], ...] = ()
    per: str = "host"
    nodelist: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    exclusive: bool = False
    contiguous: bool = False
    dependency: Dependency | None = None
    workflow: str | None = None
    array: ArrayTask | None = None
    requeue: bool | None = None
    reservation: str | None = None
    recorded: Recording | None = None
    unknown: tuple[str, ...] = ()
    """The keys of the extra data that are not in the vocabulary. They are kept, and have no effect."""

    @property
    def is_plain(self) -> bool:
        """Whether the job asks for whole hosts only, whenever and wherever they are."""
        return self is NOTHING or not any(getattr(self, key) for key in _DECISIVE)

    @property
    def takes_any(self) -> bool:
        """Whether the job can have any hosts that have what it asks for, whichever they are together."""
        constraint = self.constraint
        return not (self.contiguous or self.nodelist or (constraint and (constraint.same or constraint.counts)))

    @property
    def is_whole(self) -> bool:
        """Whether the job has its hosts for itself, as it asks for none of their cores, memory and resources."""
        return self.exclusive or not (self.cores or self.memory or self.gres or self.tasks)


_DECISIVE: Final = (
    *("partition", "begin", "deadline", "constraint", "tasks", "cores", "memory", "gres", "exclusive"),
    *("contiguous", "dependency", "array", "reservation", "nodelist", "exclude"),
)
"""The keys that change where or when a job can run."""


def read_request(extra_data: str | None) -> Request:
    """The request of a job, by its extra data.

    Args:
        extra_data: the extra data of a job. Text that is not a JSON object asks for nothing.

    Raises:
        InputError: a key of the vocabulary has a value that it cannot have; `path` is the key.
    """
    return _read(extra_data) if extra_data else NOTHING


@lru_cache(4096)
def _read(extra_data: str) -> Request:
    try:
        data: Any = msgspec.json.decode(extra_data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return NOTHING
    if not isinstance(data, dict):
        return NOTHING
    values: dict[str, Any] = {}
    unknown = []
    for key, value in data.items():
        if key not in JOB_KEYS:
            unknown.append(key)
        elif value is not None:
            try:
                values[key] = _READERS[JOB_KEYS[key].kind](value)
            except InputError as error:
                raise InputError(error.reason, f"{key}.{error.path}" if error.path else key) from None
    if values.get("per") == "task" and "tasks" not in values:
        raise InputError('expected the key tasks beside "per": "task", which is missing', "per")
    return Request(**values, unknown=tuple(unknown)) if values or unknown else NOTHING


def read_slurm_options(extra_data: str | None) -> dict[str, Any]:
    """The options of sbatch in the key `slurm` of the extra data of a job, by their names in `SLURM_KEYS`.

    A range of nodes is a pair of numbers. GPUs are a number and a type, which is "" for any.

    Raises:
        InputError: there is no such option, or it has a value that it cannot have; `path` is the key.

    >>> read_slurm_options('{"slurm": {"nodes": [2, 4], "gpus": "a100:2"}}')
    {'nodes': (2, 4), 'gpus': (2, 'a100')}
    """
    given = (_object(extra_data) or {}).get("slurm", {}) if extra_data and '"slurm"' in extra_data else {}
    if not isinstance(given, dict):
        raise InputError(f"expected an object with options of sbatch, got {shown(given)}", "slurm")
    found = {}
    for key, value in given.items():
        if key not in SLURM_KEYS:
            raise InputError(f"expected {', '.join(SLURM_KEYS)}, got {shown(key)}{hint(key, SLURM_KEYS)}", "slurm")
        try:
            found[key] = _READERS[SLURM_KEYS[key].kind](value)
        except InputError as error:
            raise InputError(error.reason, f"slurm.{key}") from None
    return found


NOTHING: Final = Request()
"""A job that asks for nothing but hosts."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > _LONGEST:
        raise InputError(f"expected a text that is not empty, got {shown(value)}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or not all(isinstance(part, str) and part.strip() for part in parts):
        raise InputError(f"expected names, as 'a,b' or ['a', 'b'], got {shown(value)}")
    return tuple(dict.fromkeys(part.strip() for part in parts))


def _host_names(value: Any) -> tuple[str, ...]:
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or not all(isinstance(part, str) and part for part in parts):
        raise InputError(f"expected names of hosts, as 'n[0-3]' or ['n0', 'n1'], got {shown(value)}")
    names: dict[str, None] = {}
    for part in parts:
        names |= dict.fromkeys(expanded_names(part, _MOST_NAMES))
        if len(names) > _MOST_NAMES:
            raise InputError(f"expected names of at most {_MOST_NAMES:,} hosts")
    return tuple(names)


def _id(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"expected a text or a whole number, got {shown(value)}")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2**53:
        raise InputError(f"expected a whole number, got {shown(value)}")
    return value


def _positive(value: Any) -> int:
    return parse_count(value, 1)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"expected true or false, got {shown(value)}")
    return value


def _per(value: Any) -> str:
    if value not in ("host", "task"):
        raise InputError(f"expected 'host' or 'task', got {shown(value)}")
    return str(value)


def _array(value: Any) -> ArrayTask:
    found = _ARRAY.fullmatch(value) if isinstance(value, str) and len(value) <= _LONGEST else None
    if found is None or found[3] == "0":
        raise InputError(
            f"expected the id of an array and the number of a task, as '12_3' or '12_3%2', got {shown(value)}"
        )
    return ArrayTask(found[1], int(found[2]), int(found[3]) if found[3] else None)


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        raise InputError(f"expected seconds >= 0, got {shown(value)}")
    return float(value)


def _range(value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(f"expected the least and the most number, as [2, 4], got {shown(value)}")
    least, most = map(_positive, value)
    if least > most:
        raise InputError(f"expected the least and then the most number, got {shown(value)}")
    return least, most


def _gpus(value: Any) -> tuple[int, str]:
    if not isinstance(value, str):
        return parse_count(value), ""
    type, colon, count = value.rpartition(":")
    if not (count.isascii() and count.isdigit() and len(count) <= 9) or "," in type or bool(colon) != bool(type):
        raise InputError(f"expected a number of GPUs such as 2 or v100:2, got {shown(value)}")
    return int(count), type


def _switches(value: Any) -> str:
    found = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(found, str) or not _SWITCHES.fullmatch(found):
        raise InputError(f"expected switches such as 1 or 1@5, got {shown(value)}")
    return found


_SWITCHES: Final = re.compile(r"[0-9]{1,9}(?:@[0-9:-]{1,20})?", re.ASCII)


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "text": _text,
    "texts": _texts,
    "hostnames": _host_names,
    "id": _id,
    "integer": _integer,
    "count": parse_count,
    "positive": _positive,
    "boolean": _boolean,
    "per": _per,
    "moment": parse_moment,
    "memory": parse_memory,
    "gres": parse_gres,
    "licenses": parse_licenses,
    "constraint": parse_constraint,
    "dependency": parse_dependency,
    "array": _array,
    "recorded": parse_recording,
    "seconds": _seconds,
    "range": _range,
    "gpus": _gpus,
    "switches": _switches,
}


def asks_for_a_part(extra_data: str) -> bool:
    """Whether a job asks for a part of each of its hosts: for some cores, memory or GPUs, and not exclusively.

    Args:
        extra_data: the extra data of the job, which need not be of this vocabulary, or be JSON.

    >>> asks_for_a_part('{"cores": 4}'), asks_for_a_part('{"cores": 4, "exclusive": true}'), asks_for_a_part("")
    (True, False, False)
    """
    try:
        return not read_request(extra_data).is_whole
    except InputError:
        return False
