"""The lines of PBS's accounting: `MM/DD/YYYY HH:MM:SS;TYPE;ID;KEY=VALUE KEY=VALUE...`. It must not know jobs."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from batprotocol.errors import InputError
from batprotocol.history.platforms.pbs import pbs_memory
from batprotocol.history.slurm.times import Clock

__all__ = ["Held", "PbsRecord", "held_hosts", "record_of", "seconds_of_span", "vnode_resources"]

_MOMENT: Final = re.compile(r"([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9]{2}:[0-9]{2}:[0-9]{2})", re.ASCII)
_SPAN: Final = re.compile(r"[0-9]{1,12}(?::[0-9]{1,2}){0,3}", re.ASCII)
_MOST_CORES: Final = 1 << 24


class PbsRecord(NamedTuple):
    """A record.

    Attributes:
        time: when it was written, in seconds since 1970 (UTC).
        kind: its type, such as `E`.
        id: the id of the job or of another object.
        values: its values by their keys.
    """

    time: float
    kind: str
    id: str
    values: dict[str, str]


class Held(NamedTuple):
    """The hosts of a job, in the order of the record, and the cores that it has of all."""

    hosts: tuple[str, ...]
    cores: int


def record_of(line: str, clock: Clock) -> PbsRecord:
    """The record of a line.

    Raises:
        ValueError: the line is not a record.

    >>> from datetime import timezone
    >>> record = record_of('11/23/2026 22:33:19;E;7.head;user=ada account="my lab" start=5', Clock(timezone.utc))
    >>> record.time, record.kind, record.id, record.values
    (1795473199.0, 'E', '7.head', {'user': 'ada', 'account': 'my lab', 'start': '5'})
    """
    moment, kind, id, text = line.split(";", 3)
    found = _MOMENT.fullmatch(moment.strip())
    time = None if found is None else clock.at(f"{found[3]}-{found[1]}-{found[2]}T{found[4]}")
    if time is None or not kind or not id:
        raise ValueError(line)
    return PbsRecord(time, kind, id, _values(text))


def _values(text: str) -> dict[str, str]:
    """The values of a record. A value with spaces is in quotation marks."""
    found: dict[str, str] = {}
    key, parts = "", list[str]()
    for word in text.split(" "):
        if parts:
            parts.append(word)
        else:
            key, equals, value = word.partition("=")
            if not equals:
                continue
            if not value.startswith('"') or (len(value) > 1 and value.endswith('"')):
                found[key] = value.strip('"')
                continue
            parts = [value]
            continue
        if word.endswith('"'):
            found[key] = " ".join(parts)[1:-1]
            parts = []
    return found


def held_hosts(text: str) -> Held:
    """The hosts and cores of `exec_host`: `n1/0*4+n2/0-3` (PBS Pro, Torque 6), or `n1/1+n1/0` (Torque).

    >>> held_hosts("n1/0*4+n2/0-1+n2/5")
    Held(hosts=('n1', 'n2'), cores=7)

    Raises:
        ValueError: the text has another form.
    """
    hosts: dict[str, None] = {}
    cores = 0
    for part in text.split("+"):
        host, slash, slots = part.partition("/")
        if not host:
            raise ValueError(text)
        hosts[host] = None
        cores += _slots(slots) if slash else 1
        if cores > _MOST_CORES:
            raise ValueError(text)
    return Held(tuple(hosts), cores)


def _slots(text: str) -> int:
    """The number of cores behind a host: `3`, `0*4`, `0-3`, `0-3,8`."""
    index, times, count = text.partition("*")
    if times:
        return count_of(count)
    total = 0
    for each in index.split(","):
        first, hyphen, last = each.partition("-")
        begin = count_of(first)
        total += max(count_of(last) - begin + 1, 0) if hyphen else 1
    return total


def vnode_resources(text: str) -> dict[str, int]:
    """The sums of the resources in `exec_vnode`; memory in bytes.

    >>> vnode_resources("(n1:ncpus=4:mem=2kb)+(n2:ncpus=1:ngpus=1)")
    {'ncpus': 5, 'mem': 2048, 'ngpus': 1}

    Raises:
        ValueError: the text has another form.
    """
    found: dict[str, int] = {}
    for chunk in text.replace("(", "").replace(")", "").split("+"):
        for part in chunk.split(":")[1:]:
            key, _, value = part.partition("=")
            if key in ("ncpus", "ngpus", "mem"):
                found[key] = found.get(key, 0) + (amount_of(value) if key == "mem" else count_of(value))
    return found


def amount_of(text: str) -> int:
    """An amount of memory in bytes.

    Raises:
        ValueError: the text is not an amount.
    """
    try:
        return pbs_memory(text)
    except InputError:
        raise ValueError(text) from None


def count_of(text: str) -> int:
    """A number of up to nine digits.

    Raises:
        ValueError: the text is not such a number.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ValueError(text)
    return int(text)


def seconds_of_span(text: str) -> float:
    """A span of time in seconds: `HH:MM:SS`, `MM:SS`, or a number of seconds.

    >>> seconds_of_span("100:00:01"), seconds_of_span("90")
    (360001.0, 90.0)

    Raises:
        ValueError: the text is not a span.
    """
    if not _SPAN.fullmatch(text):
        raise ValueError(text)
    parts = [int(part) for part in text.split(":")]
    days = parts.pop(0) if len(parts) == 4 else 0
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + part
    return float(days * 86_400 + seconds)
