"""Events of hosts as values, read from the data of external events and written to them.

This module must not know which events came before.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec

from batprotocol.errors import HostSetError, InputError, hint, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.workloads.host_events.keys import FLAGS, WINDOW_KEYS

__all__ = ["MAINT", "HostChange", "HostEvent", "Window", "read_host_event"]

MAINT: Final = "MAINT"
"""The flag of windows that are planned maintenance."""

_LARGEST: Final = 2**53
"""No time is larger, so that seconds are exact."""
_LONGEST: Final = 1_000
_MOST_TEXT: Final = 1 << 20
"""The longest data that are read."""
_MINE: Final = re.compile(r'"(?:state|window)"')
_LOOKS_MINE: Final = re.compile(r'\s*\{\s*"hosts"\s*:')

UserId: TypeAlias = "str | int"


class HostChange(Enum):
    """The new state of hosts."""

    DOWN = "down"
    """They fail: the jobs on them are lost, and no job starts there."""
    DRAIN = "drain"
    """No job starts there any more; the jobs on them run to their ends."""
    UP = "up"
    """They are back: jobs can start there."""


class HostEvent(msgspec.Struct, frozen=True):
    """Hosts fail, are drained or come back, at the time of the external event.

    Args:
        hosts: the hosts, at least one.
        state: their new state.
        reason: why, for people, or "".

    >>> HostEvent(frozen_hosts("0-3"), HostChange.DOWN).to_data()
    '{"hosts":"0-3","state":"down"}'
    """

    hosts: FrozenHosts
    state: HostChange
    reason: str = ""

    def to_data(self) -> str:
        """The data of the external event."""
        text = f'{{"hosts":"{self.hosts.text.replace(" ", ",")}","state":"{self.state.value}"'
        return f'{text},"reason":{_json(self.reason)}}}' if self.reason else text + "}"


class Window(msgspec.Struct, frozen=True):
    """Hosts are promised for a time that begins later: a reservation, or maintenance.

    It is known from the time of the external event on. From its begin to its end, the hosts are for the jobs of its
    users and accounts. A window without users and accounts is closed: its hosts are away, as between `down` and `up`.

    Args:
        hosts: the hosts, at least one.
        begin: the time at which it begins, in seconds of the simulation.
        end: the time at which it ends, > `begin`.
        name: its name, or "".
        users: the users whose jobs may run in it; empty: any user of `accounts`.
        accounts: the accounts whose jobs may run in it; empty: any account of `users`.
        flags: Slurm's flags: `MAINT` for planned maintenance.

    >>> window = read_host_event('{"hosts": "0-7", "window": {"begin": 60, "end": 90, "users": "ann,bob"}}')
    >>> window.allows("ann", None), window.allows("eve", None), window.is_closed
    (True, False, False)
    """

    hosts: FrozenHosts
    begin: float
    end: float
    name: str = ""
    users: tuple[UserId, ...] = ()
    accounts: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()

    @property
    def is_closed(self) -> bool:
        """Whether no job may run in it."""
        return not self.users and not self.accounts

    @property
    def is_maintenance(self) -> bool:
        """Whether it is planned maintenance."""
        return MAINT in self.flags

    def allows(self, user: UserId | None, account: str | None) -> bool:
        """Whether a job of this user and account may run in it. With users and accounts, both must be named.

        A user of a log may be a number in the job and a text in the window, or the reverse: these are the same.
        """
        if self.is_closed:
            return False
        of_user = not self.users or (user is not None and str(user) in map(str, self.users))
        return of_user and (not self.accounts or account in self.accounts)

    def overlaps(self, other: Window) -> bool:
        """Whether both have a host in common, and a time. A window may begin when another one ends."""
        return self.begin < other.end and other.begin < self.end and not self.hosts.isdisjoint(other.hosts)

    def to_data(self) -> str:
        """The data of the external event."""
        window: dict[str, Any] = {"begin": self.begin, "end": self.end}
        for key in ("name", "users", "accounts"):
            if getattr(self, key):
                window[key] = getattr(self, key)
        if self.flags:
            window["flags"] = sorted(self.flags)
        return _json({"hosts": self.hosts.text.replace(" ", ","), "window": window})


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def read_host_event(data: str) -> HostEvent | Window | None:
    """The event of hosts that the data of an external event describe.

    Args:
        data: the data of a `GenericExternalEvent`.

    Returns:
        None if the data are about something else: they are no JSON object with `hosts`, and `state` or `window`. Other
        keys have no effect.

    Raises:
        InputError: a key has a value that it cannot have, and `path` is the key; or the data begin as an event of
            hosts, and are no JSON.

    >>> read_host_event('{"hosts": "0-3,7", "state": "down"}').hosts
    FrozenHosts('0-3 7')
    >>> read_host_event("the cooling fails") is None
    True
    """
    if len(data) > _MOST_TEXT or not (_MINE.search(data) or "\\" in data):  # most data that are about something else
        return None
    try:
        given: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        if _LOOKS_MINE.match(data) and _MINE.search(data):  # someone has meant an event of hosts
            raise InputError(f"this is not JSON: {error}") from None
        return None
    if not isinstance(given, dict) or "hosts" not in given or not ("state" in given or "window" in given):
        return None
    hosts = _hosts(given["hosts"])
    if "window" not in given:
        return HostEvent(hosts, _state(given["state"]), _reason(given.get("reason")))
    if "state" in given:
        raise InputError("expected either a state or a window, got both", "state")
    try:
        return _window(hosts, given["window"])
    except InputError as error:
        raise InputError(error.reason, f"window.{error.path}" if error.path else "window") from None


def _hosts(value: Any) -> FrozenHosts:
    try:
        found = frozen_hosts(value) if isinstance(value, str) else None
    except HostSetError:
        found = None
    if found is None or not found.intervals:
        raise InputError(f"expected numbers of hosts such as '0-3,7', got {shown(value)}", "hosts")
    return found


_CHANGES: Final = {each.value: each for each in HostChange}


def _state(value: Any) -> HostChange:
    found = _CHANGES.get(value) if isinstance(value, str) else None
    if found is None:
        known = hint(value, _CHANGES) if isinstance(value, str) else ""
        raise InputError(f"expected {', '.join(_CHANGES)}, got {shown(value)}{known}", "state")
    return found


def _reason(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise InputError(f"expected a text of at most {_LONGEST:,} characters, got {shown(value)}", "reason")
    return value


def _window(hosts: FrozenHosts, value: Any) -> Window:
    if not isinstance(value, dict):
        raise InputError(f"""expected an object such as {{"begin": 60, "end": 90}}, got {shown(value)}""")
    for key in value:
        if key not in WINDOW_KEYS:
            raise InputError(f"expected {', '.join(WINDOW_KEYS)}, got the key {shown(key)}{hint(key, WINDOW_KEYS)}")
    begin, end = _time(value, "begin"), _time(value, "end")
    if end <= begin:
        raise InputError(f"expected a time after the begin, {begin:.15g}, got {end:.15g}", "end")
    name = value.get("name", "")
    if not isinstance(name, str) or len(name) > _LONGEST:
        raise InputError(f"expected a text of at most {_LONGEST:,} characters, got {shown(name)}", "name")
    users = _several(value, "users", str | int)
    accounts = _several(value, "accounts", str)
    flags = _several(value, "flags", str)
    for flag in flags:
        if flag not in FLAGS:
            raise InputError(f"expected {', '.join(FLAGS)}, got {shown(flag)}", "flags")
    return Window(hosts, begin, end, name, users, accounts, frozenset(flags))


def _time(window: dict[str, Any], key: str) -> float:
    value = window.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        found = shown(value) if key in window else "nothing"
        raise InputError(f"expected seconds from 0 to 2^53, got {found}", key)
    return float(value)


def _several(window: dict[str, Any], key: str, kind: Any) -> tuple[Any, ...]:
    """Names as a text with commas or as an array; an absent key and an empty array mean that there are none."""
    value = window.get(key, [])
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(
        isinstance(part, kind) and not isinstance(part, bool) and part != "" for part in parts
    ):
        raise InputError(f"expected names, as 'a,b' or ['a', 'b'], got {shown(value)}", key)
    return tuple(dict.fromkeys(parts))
