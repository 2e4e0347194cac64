"""Divides a line of PBS's accounting: `MM/DD/YYYY HH:MM:SS;TYPE;ID;key=value key="a value"`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["PASSED", "Record", "pairs_of", "record_of"]

_RECORD: Final = re.compile(
    r"([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9]{2}:[0-9]{2}:[0-9]{2});([A-Za-z]);([^;]{1,300});(.*)",
    re.ASCII | re.DOTALL,
)
_ID: Final = re.compile(r"([0-9]{1,10})(?:\[([0-9]{0,9})\]|-([0-9]{1,9}))?(?:\.([^\s;]*))?", re.ASCII)
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*", re.ASCII)
_QUOTES: Final = ('"', "'")

PASSED: Final = {
    "a": "a record of a job that was altered: its other records have the last values",
    "B": "a record of a reservation",
    "C": "a record of a checkpoint",
    "c": "a record of a job that released hosts: only its last one is read",
    "e": "a record of a job that released hosts: only its last one is read",
    "F": "a record of a reservation",
    "k": "a record of a reservation",
    "K": "a record of a reservation",
    "L": "a record of licenses",
    "M": "a record of a job that went to another server",
    "P": "a record of hosts that were set up for a job",
    "p": "a record of hosts that were set up for a job",
    "T": "a record of a job that went on after a checkpoint",
    "u": "a record of a job that released hosts: only its last one is read",
    "U": "a record of a reservation",
    "Y": "a record of a reservation",
}
"""Types of records that are not read, with the reasons."""


class Record(NamedTuple):
    """A line.

    Attributes:
        moment: the time of the record, without a zone, as `YYYY-MM-DDTHH:MM:SS`.
        kind: its type.
        job: the id of the job, `123` or `123_4` for a task of an array; "" if it is none of a job.
        array: the array that the job is a task of; None: of none.
        is_array: whether it is of a whole array.
        server: the server in the id.
        text: the values.
    """

    moment: str
    kind: str
    job: str
    array: str | None
    is_array: bool
    server: str
    text: str


def record_of(line: str) -> Record | None:
    """Divide a line; None if it is not a record.

    >>> record_of("02/11/2026 20:12:21;E;7[3].host;user=ada").job
    '7_3'
    """
    found = _RECORD.fullmatch(line)
    if found is None:
        return None
    month, day, year, time, kind, name, text = found.groups()
    moment = f"{year}-{month}-{day}T{time}"
    id = _ID.fullmatch(name)
    if id is None:
        return Record(moment, kind, "", None, False, "", text)
    number, task, server = id[1], id[2] if id[2] is not None else id[3], id[4] or ""
    if task is None:
        return Record(moment, kind, number, None, False, server, text)
    return Record(moment, kind, f"{number}_{task}", number, not task, server, text)


def pairs_of(text: str) -> dict[str, str]:
    """The keys with their values, which may have spaces, with quotation marks or without. The first of a key counts.

    >>> pairs_of('user=ada account="a b" jobname=x y=1 z')
    {'user': 'ada', 'account': 'a b', 'jobname': 'x', 'y': '1 z'}
    """
    found: dict[str, str] = {}
    key, words, quote = "", list[str](), ""
    for word in text.split(" "):
        if quote:
            words.append(word)
            if word.endswith(quote):
                quote = ""
            continue
        name, equals, value = word.partition("=")
        if not equals or _KEY.fullmatch(name) is None:
            words.append(word)
            continue
        if key:
            found.setdefault(key, _value(words))
        key, words = name, [value]
        if value[:1] in _QUOTES and (len(value) == 1 or not value.endswith(value[0])):
            quote = value[0]
    if key:
        found.setdefault(key, _value(words))
    return found


def _value(words: list[str]) -> str:
    value = " ".join(words).rstrip()
    return value[1:-1] if len(value) > 1 and value[0] in _QUOTES and value[-1] == value[0] else value
