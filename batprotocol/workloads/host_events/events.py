"""The vocabulary of events of hosts: its keys, events as values, and the states of hosts through a sequence of events.

Events are read from the data of external events, and written to them. `HostStates` refuses events that cannot be
meant, such as the repair of a host that works.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from batprotocol.errors import HostSetError, InputError, hint, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts

__all__ = [
    "EVENT_KEYS",
    "FLAGS",
    "MAINT",
    "STATES",
    "WINDOW_KEYS",
    "HostChange",
    "HostEvent",
    "HostEventKey",
    "HostStates",
    "Window",
    "host_event_schema",
    "read_host_event",
]


# Keys


class HostEventKey(NamedTuple):
    """A key of an event or a window.

    Attributes:
        schema: the form of its value, as JSON schema. The reader checks more than a schema can express.
        meaning: one sentence.
        slurm: the parameter of scontrol that means the same; "" if there is none.
    """

    schema: dict[str, Any]
    meaning: str
    slurm: str = ""


STATES: Final[dict[str, tuple[str, str]]] = {
    "down": ("The hosts fail. The jobs on them are lost, and no job starts there.", "State=DOWN"),
    "drain": ("No job starts on the hosts any more. The jobs on them run to their ends.", "State=DRAIN"),
    "up": ("The hosts are back, and jobs can start there.", "State=RESUME"),
}
"""The states that hosts can change to: the meaning, and Slurm's word."""

FLAGS: Final[dict[str, str]] = {
    "MAINT": "The time of the window is planned maintenance, and no failure.",
}
"""The flags of windows, with Slurm's names."""

_NAME: Final = {"type": "string", "minLength": 1, "maxLength": 1000}
_ID: Final = {"anyOf": [_NAME, {"type": "integer"}]}
_TIME: Final = {"type": "number", "minimum": 0, "maximum": 2**53}
_HOSTS: Final = r"^ *[0-9]{1,20}(-[0-9]{1,20})?([ ,]+[0-9]{1,20}(-[0-9]{1,20})?)*[ ,]*$"


def _some(item: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [_NAME, {"type": "array", "items": item, "minItems": 1}]}


EVENT_KEYS: Final[dict[str, HostEventKey]] = {
    "hosts": HostEventKey(
        {"type": "string", "pattern": _HOSTS}, "The numbers of the hosts, such as `0-3,7`.", "NodeName="
    ),
    "state": HostEventKey({"enum": list(STATES)}, "The new state of the hosts.", "State="),
    "reason": HostEventKey({"type": "string", "maxLength": 1000}, "Why, for people.", "Reason="),
    "window": HostEventKey(
        {"$ref": "#/$defs/window"}, "A time for which the hosts are promised.", "create reservation"
    ),
}
"""The keys of the data of an event. It has either `state` or `window`."""

WINDOW_KEYS: Final[dict[str, HostEventKey]] = {
    "begin": HostEventKey(_TIME, "The time at which it begins, in seconds of the simulation.", "StartTime="),
    "end": HostEventKey(_TIME, "The time at which it ends, later than its begin.", "EndTime="),
    "name": HostEventKey(_NAME, "Its name, which jobs can ask for with their key `reservation`.", "ReservationName="),
    "users": HostEventKey(_some(_ID), "The users whose jobs may run on the hosts, such as `ann,bob`.", "Users="),
    "accounts": HostEventKey(_some(_NAME), "The accounts whose jobs may run on the hosts.", "Accounts="),
    "flags": HostEventKey(
        {"anyOf": [{"enum": list(FLAGS)}, {"type": "array", "items": {"enum": list(FLAGS)}}]},
        "`MAINT`: it is planned maintenance.",
        "Flags=",
    ),
}
"""The keys of a window. The begin and the end are required."""


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


# JSON schema

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def host_event_schema() -> dict[str, Any]:
    """The JSON schema of the data of events of hosts.

    >>> host_event_schema()["properties"]["state"]["enum"]
    ['down', 'drain', 'up']
    """
    return {
        "$schema": _DRAFT,
        "title": "An event of hosts, in the data of an external event",
        "type": "object",
        "properties": _properties(EVENT_KEYS),
        "required": ["hosts"],
        "oneOf": [{"required": ["state"]}, {"required": ["window"]}],
        "additionalProperties": True,
        "$defs": {
            "window": {
                "type": "object",
                "properties": _properties(WINDOW_KEYS),
                "required": ["begin", "end"],
                "additionalProperties": False,
            }
        },
    }


def _properties(keys: dict[str, HostEventKey]) -> dict[str, Any]:
    return {name: {"description": key.meaning, **key.schema} for name, key in keys.items()}


# States

_UP: Final = 0
_DRAINED: Final = 1
_DOWN: Final = 2
_CODES: Final = {HostChange.UP: _UP, HostChange.DRAIN: _DRAINED, HostChange.DOWN: _DOWN}


class HostStates:
    """Which hosts are down or drained, and which windows are known. In the beginning, all hosts are up.

    Events must come in the order of their times. An event that is refused changes nothing.

    Args:
        host_count: the number of hosts; they are 0 to `host_count` - 1.

    >>> from batprotocol.workloads.host_events import read_host_event
    >>> states = HostStates(8)
    >>> states.take(10.0, read_host_event('{"hosts": "0-3", "state": "down"}'))
    >>> states.take(20.0, read_host_event('{"hosts": "0-1", "state": "up"}'))
    >>> states.down
    FrozenHosts('2-3')
    >>> states.take(30.0, read_host_event('{"hosts": "0", "state": "up"}'))
    Traceback (most recent call last):
    ...
    batprotocol.errors.InputError: state: host 0 is up already: it must fail or be drained before it comes back
    """

    def __init__(self, host_count: int) -> None:
        self.host_count = host_count
        self._states = bytearray(host_count)
        self._windows: list[tuple[float, int, Window]] = []
        self._longest = 0.0
        self._order = 0

    @property
    def down(self) -> FrozenHosts:
        """The hosts that have failed."""
        return self._in_state(_DOWN)

    @property
    def drained(self) -> FrozenHosts:
        """The hosts where no job may start, and the jobs on them run to their ends."""
        return self._in_state(_DRAINED)

    @property
    def windows(self) -> list[Window]:
        """The windows that are known and were not over at the last event, by their begins."""
        return [window for _, _, window in self._windows]

    def _in_state(self, code: int) -> FrozenHosts:
        return frozen_hosts(host for host, state in enumerate(self._states) if state == code)

    def take(self, time: float, event: HostEvent | Window) -> None:
        """An event happens.

        Args:
            time: its time, in seconds of the simulation.
            event: the event.

        Raises:
            InputError: it names a host that does not exist; a host comes back that is up, fails while it is down, or is
                drained while it is drained or down; or a window begins before its event, or overlaps with another one.
        """
        last = event.hosts.intervals[-1][1]
        if last >= self.host_count:
            known = f"0 to {self.host_count - 1}" if self.host_count else "none"
            raise InputError(f"there is no host {last}; the hosts are {known}", "hosts")
        if isinstance(event, Window):
            self.announce(time, event)
        else:
            self._change(event)

    def _change(self, event: HostEvent) -> None:
        states = self._states
        for first, last in event.hosts.intervals:
            for code in _REFUSED[event.state]:
                host = states.find(code, first, last + 1)
                if host >= 0:
                    raise InputError(f"host {host} {_REFUSED[event.state][code]}", "state")
        code = _CODES[event.state]
        for first, last in event.hosts.intervals:
            states[first : last + 1] = bytes((code,)) * (last + 1 - first)

    def announce(self, time: float, window: Window) -> None:
        """A window is announced, whose hosts may be any.

        Args:
            time: the time, in seconds of the simulation.
            window: the window.

        Raises:
            InputError: the window begins before its event, or overlaps with another one.
        """
        if window.begin < time:
            raise InputError(
                f"expected a time that is not before the event, which is at {time:.15g}, got {window.begin:.15g}",
                "window.begin",
            )
        if self._windows and self._windows[0][2].end <= time:
            self._windows = [entry for entry in self._windows if entry[2].end > time]
        first = bisect_left(self._windows, (window.begin - self._longest, -1))
        last = bisect_left(self._windows, (window.end, -1))
        for _, _, other in self._windows[first:last]:
            if window.overlaps(other):
                named = f" {other.name!r}" if other.name else ""
                hosts = (window.hosts & other.hosts).text
                raise InputError(
                    f"it overlaps with the window{named} from {other.begin:.15g} to {other.end:.15g} on hosts {hosts}",
                    "window",
                )
        self._order += 1
        insort(self._windows, (window.begin, self._order, window))
        self._longest = max(self._longest, window.end - window.begin)


_REFUSED: Final = {
    HostChange.UP: {_UP: "is up already: it must fail or be drained before it comes back"},
    HostChange.DOWN: {_DOWN: "is down already: it must come back before it fails again"},
    HostChange.DRAIN: {
        _DRAINED: "is drained already: it must come back before it is drained again",
        _DOWN: "is down: it must come back before it is drained",
    },
}
"""The states in which hosts cannot change to a state, and why."""
