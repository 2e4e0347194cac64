"""The recording of a job in a log: when it started, and on which hosts. It is `recorded` in the job's extra data.

Functions that give jobs other times of submission move the recorded start along. This module must not know policies.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import HostSetError, InputError, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts

__all__ = ["Recording", "moved_recording", "parse_recording", "with_recording"]

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
