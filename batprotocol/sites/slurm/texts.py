"""Slurm's texts, each read in one place: times, resources (TRES), states, ids, keys with values, flags and numbers.

Files of the configuration, accounting, logs, commands and the REST interface have the same texts. Each function raises
`InputError` for a text that it cannot read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, hint, shown
from batprotocol.workloads.requests import expanded_names

__all__ = [
    "ENDED",
    "MOST_BYTES",
    "MOST_DIGITS",
    "MOST_NAMES",
    "MOST_TASKS",
    "NOTHING",
    "SHORT_STATES",
    "UNLIMITED",
    "WAITING",
    "JobId",
    "NodeNames",
    "amount",
    "elapsed",
    "flag",
    "gres",
    "job_id",
    "json_number",
    "keyed",
    "lines_of",
    "listed",
    "minutes",
    "number_of",
    "one_of",
    "one_word",
    "pairs_of",
    "real",
    "span",
    "task_numbers",
    "text_of",
    "tres",
    "weights",
    "whole",
    "words",
]


UNLIMITED: Final = frozenset({"UNLIMITED", "INFINITE", "-1"})
"""The words for no limit, in capital letters."""

NOTHING: Final = frozenset({"", "(null)", "N/A", "n/a", "None"})
"""The texts that Slurm writes for an absent value."""

SHORT_STATES: Final = {
    "BF": "BOOT_FAIL",
    "CA": "CANCELLED",
    "CD": "COMPLETED",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "DL": "DEADLINE",
    "F": "FAILED",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RQ": "REQUEUED",
    "RS": "RESIZING",
    "RV": "REVOKED",
    "S": "SUSPENDED",
    "TO": "TIMEOUT",
}
"""The states of jobs in their long form, by the short one."""

ENDED: Final = frozenset(
    (
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL"),
        *("OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
    )
)
"""The states of jobs that do not run and never will."""

WAITING: Final = frozenset(("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"))
"""The states of jobs that have no nodes yet."""

MOST_DIGITS: Final = 10
"""The most digits of the number of a job: Slurm has 32 bits for it."""

MOST_TASKS: Final = 100_000
"""The most tasks of an array that a text may stand for."""

MOST_BYTES: Final = 1 << 24
"""The most bytes that the files of a configuration may have together."""

_TIME: Final = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?", re.ASCII)
_WEIGHT: Final = re.compile(r"(-?(?:[0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}))([KMGTP])?", re.ASCII | re.IGNORECASE)
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_REAL: Final = re.compile(r"-?(?:[0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})", re.ASCII)
_RESOURCE: Final = re.compile(r"[A-Za-z][\w.-]{0,60}(?:/[\w.-]{1,60}(?::[\w.-]{1,60})?)?", re.ASCII)
_SOCKETS: Final = re.compile(r"\([^()]*\)")
_AMOUNT: Final = re.compile(r"([0-9]{1,15})([KMGTP]?)", re.ASCII | re.IGNORECASE)
_ELAPSED: Final = re.compile(
    r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,8}):([0-9]{2}(?:\.[0-9]{1,9})?)|([0-9]{1,12})", re.ASCII
)
_ID: Final = re.compile(r"([0-9]{1,10})(?:([_+])([0-9]{1,9}))?", re.ASCII)
_TASKS: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?", re.ASCII)
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_/:]*", re.ASCII)
_KIND: Final = re.compile(r"[A-Za-z_][\w.-]{0,100}(?::[A-Za-z_][\w.-]{0,100})?", re.ASCII)
_WORD: Final = re.compile(r"[^\s;#=,\[\]]{1,255}")
_MOST: Final = 2**53
_POWERS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_UNITS: Final = {"K": 2.0**-10, "": 1.0, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
_YES: Final = {"YES": True, "UP": True, "TRUE": True, "1": True, "NO": False, "DOWN": False, "FALSE": False, "0": False}


def span(text: str) -> float:
    """A time in seconds: minutes, `mm:ss`, `hh:mm:ss`, `d-hh`, `d-hh:mm` or `d-hh:mm:ss`; infinite if it is unlimited.

    >>> span("1-12:00:00"), span("30"), span("1:30:00"), span("UNLIMITED")
    (129600.0, 1800.0, 5400.0, inf)
    """
    if text.upper() in UNLIMITED:
        return math.inf
    found = _TIME.fullmatch(text)
    if found is None:
        raise InputError(f"expected a time such as '1-12:00:00', minutes or 'UNLIMITED', got {shown(text)}")
    days, first, second, third = found.groups()
    parts = [int(part or 0) for part in (first, second, third)]
    if days is not None:
        return int(days) * 86400.0 + parts[0] * 3600 + parts[1] * 60 + parts[2]
    if third is not None:
        return parts[0] * 3600.0 + parts[1] * 60 + parts[2]
    return parts[0] * 60.0 + parts[1]


def minutes(text: str) -> float:
    """A limit of the time of a job, in seconds: a `span` that is rounded up to a whole minute.

    >>> minutes("1:30"), minutes("90")
    (120.0, 5400.0)
    """
    seconds = span(text)
    return seconds if math.isinf(seconds) else math.ceil(seconds / 60) * 60.0


def elapsed(text: str) -> float:
    """A time that has passed, in seconds, as accounting writes it: `D-HH:MM:SS`, `HH:MM:SS`, `MM:SS` or seconds.

    >>> elapsed("1-02:03:04"), elapsed("00:00.015"), elapsed("76")
    (93784.0, 0.015, 76.0)
    """
    found = _ELAPSED.fullmatch(text)
    if found is None:
        raise InputError(f"expected a time such as '1-02:03:04', or seconds, got {shown(text)}")
    if found[5]:
        return float(found[5])
    return int(found[1] or 0) * 86400.0 + int(found[2] or 0) * 3600 + int(found[3]) * 60 + float(found[4])


def flag(text: str) -> bool:
    """`YES` or `NO`, in any letters.

    >>> flag("yes"), flag("NO")
    (True, False)
    """
    found = _YES.get(text.upper())
    if found is None:
        raise InputError(f"expected YES or NO, got {shown(text)}")
    return found


def number_of(text: str, least: int, most: int) -> int:
    """A whole number between two others."""
    if _WHOLE.fullmatch(text) is None or not least <= int(text) <= most:
        raise InputError(f"expected a whole number from {least:,} to {most:,}, got {shown(text)}")
    return int(text)


def whole(least: int = 0, most: int = 2**32 - 3) -> Callable[[str], int]:
    """A reader of whole numbers.

    >>> whole()("12")
    12
    """
    return lambda text: number_of(text, least, most)


def real(text: str) -> float:
    """A number, with a point or without."""
    if _REAL.fullmatch(text) is None:
        raise InputError(f"expected a number, got {shown(text)}")
    return float(text)


def listed(text: str) -> tuple[str, ...]:
    """Names with commas between them.

    >>> listed("a,b")
    ('a', 'b')
    """
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def words(text: str) -> tuple[str, ...]:
    """Names with commas between them, which have no spaces and none of some signs.

    >>> words("ib,gpu")
    ('ib', 'gpu')
    """
    return tuple(map(one_word, listed(text)))


def one_word(text: str) -> str:
    """A name that has no spaces and none of some signs."""
    if _WORD.fullmatch(text) is None:
        raise InputError(f"expected a name that has no spaces and none of the signs ;#=, got {shown(text)}")
    return text


def amount(text: str) -> int:
    """A whole number, which a unit multiplies: 1024 for `K`, 1024² for `M`, and so on.

    >>> amount("12"), amount("4K")
    (12, 4096)
    """
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise InputError(f"expected a whole number, with a unit K, M, G, T or P or without, got {shown(text)}")
    return int(found[1]) << _POWERS[found[2].upper()]


def tres(text: str, what: str = "amounts such as 'cpu=10,mem=4G'") -> dict[str, str]:
    """The amounts of trackable resources (TRES) by their names, as they are written.

    >>> tres("cpu=2,mem=1000M,gres/gpu:a100=2")
    {'cpu': '2', 'mem': '1000M', 'gres/gpu:a100': '2'}

    Args:
        text: the text.
        what: what is expected, for the error.
    """
    found: dict[str, str] = {}
    parts = text.strip().removesuffix(",")
    for part in parts.split(",") if parts else ():
        name, mark, number = part.partition("=")
        name = name.strip()
        if not mark or not name:
            raise InputError(f"expected {what}, got {shown(part.strip())}")
        found[name] = number.strip()
    return found


def gres(text: str) -> tuple[tuple[str, int], ...]:
    """The generic resources of a node, with their numbers, in the order of their names; equal ones are added.

    >>> gres("gpu:a100:4(S:0-1),fpga,bandwidth:lustre:no_consume:4K")
    (('bandwidth:lustre', 4096), ('fpga', 1), ('gpu:a100', 4))
    """
    plain = _SOCKETS.sub("", text)
    found: dict[str, int] = {}
    for part in plain.split(",") if plain not in NOTHING else ():
        kind, mark, last = part.strip().replace(":no_consume", "").rpartition(":")
        count = _AMOUNT.fullmatch(last) if mark else None
        name = kind if count else f"{kind}{mark}{last}"
        number = int(count[1]) << _POWERS[count[2].upper()] if count else 1
        if _KIND.fullmatch(name) is None or number > _MOST:
            raise InputError(f"expected NAME, NAME:COUNT or NAME:TYPE:COUNT such as 'gpu:a100:2', got {shown(part)}")
        found[name] = found.get(name, 0) + number
    return tuple((name, number) for name, number in sorted(found.items()) if number)


def one_of(*names: str, prefix: str = "") -> Callable[[str], str]:
    """A reader of one of some names, in any letters, with a prefix such as `sched/` or without.

    >>> one_of("backfill", "builtin", prefix="sched/")("sched/BackFill")
    'backfill'
    """

    def read(text: str) -> str:
        low = text.lower().removeprefix(prefix)
        if low not in names:
            known = [prefix + name for name in names]
            raise InputError(f"expected {' or '.join(known)}, got {shown(text)}{hint(text, known)}")
        return low

    return read


def weights(text: str) -> dict[str, float]:
    """The weights of trackable resources (TRES), by name in small letters: `cpu`, `mem`, `node`, `gres/NAME`...

    The weight of memory counts for a mebibyte. A unit after a weight divides it: `0.25G` is 0.25 for a gibibyte.

    >>> weights("CPU=1.0,Mem=0.25G,GRES/gpu=2.0")
    {'cpu': 1.0, 'mem': 0.000244140625, 'gres/gpu': 2.0}
    """
    found: dict[str, float] = {}
    for name, weight in tres(text, "weights of resources such as 'CPU=1.0,Mem=0.25G'").items():
        value = _WEIGHT.fullmatch(weight)
        if _RESOURCE.fullmatch(name) is None or value is None:
            part = f"{name}={weight}"
            raise InputError(f"expected weights of resources such as 'CPU=1.0,Mem=0.25G', got {shown(part)}")
        kind, _, rest = name.partition("/")
        found[kind.lower() + (f"/{rest}" if rest else "")] = float(value[1]) / _UNITS[(value[2] or "").upper()]
    return found


class JobId(NamedTuple):
    """The id of a job.

    Attributes:
        number: the number of the job, or of its array or of the first component.
        kind: `_` for a task of an array, `+` for a component of a heterogeneous job, "" for others.
        part: the number of the task or component; 0 for others.
    """

    number: int
    kind: str = ""
    part: int = 0


def job_id(text: str) -> JobId | None:
    """The id of one job, without its steps; None if the text is none.

    >>> job_id("123_4"), job_id("17+1"), job_id("9.batch")
    (JobId(number=123, kind='_', part=4), JobId(number=17, kind='+', part=1), None)
    """
    found = _ID.fullmatch(text)
    return JobId(int(found[1]), found[2] or "", int(found[3] or 0)) if found else None


def task_numbers(text: str) -> list[int]:
    """The tasks of an array, with the number that may run at a time (`%`) or without.

    >>> task_numbers("1-4:2,9%2")
    [1, 3, 9]
    """
    found: list[int] = []
    for part in re.sub(r"%[0-9]{1,9}$", "", text, flags=re.ASCII).split(","):
        tasks = _TASKS.fullmatch(part)
        if tasks is None:
            raise InputError(f"expected tasks such as '0-9:3,12', got {shown(part)}")
        numbers = range(int(tasks[1]), int(tasks[2] or tasks[1]) + 1, int(tasks[3] or 1) or 1)
        if not numbers or len(found) + len(numbers) > MOST_TASKS:
            raise InputError(f"expected 1 to {MOST_TASKS:,} tasks, got {shown(text)}")
        found.extend(numbers)
    return found


def keyed(line: str, is_key: Callable[[str], Any] = _KEY.fullmatch) -> Iterator[tuple[str, str]]:
    """The keys of a line with their values. A value goes on to the next key, with its spaces.

    >>> dict(keyed("PartitionName=be Reason=not so good State=UP"))
    {'PartitionName': 'be', 'Reason': 'not so good', 'State': 'UP'}

    Args:
        line: the line.
        is_key: whether a text before a `=` is a key.
    """
    key, words = "", list[str]()
    for word in line.split(" "):
        name, sign, value = word.partition("=")
        if sign and is_key(name):
            if key:
                yield key, " ".join(words).rstrip()
            key, words = name, [value]
        else:
            words.append(word)
    if key:
        yield key, " ".join(words).rstrip()


def json_number(value: Any) -> Any:
    """The number in a value of Slurm's JSON, which newer versions write as an object; None if it is not set.

    >>> json_number(3), json_number({"set": True, "infinite": False, "number": 3}), json_number({"infinite": True})
    (3, 3, inf)
    """
    if not isinstance(value, dict):
        return value
    if value.get("infinite"):
        return math.inf
    return value.get("number") if value.get("set", True) else None


def text_of(path: str, most: int = MOST_BYTES) -> str:
    """The text of a file.

    Raises:
        InputError: it is larger than `most` bytes.
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"expected at most {MOST_BYTES >> 20} MiB, with all files that are included", file=path)
    return data.decode("utf-8-sig", "replace")


# Lines of configuration files


MOST_NAMES: Final = 1_000_000
"""The names that all lines of a file may stand for together: a short file can stand for very many."""

_COMMENT: Final = re.compile(r"(?<!\\)#")
_NAME: Final = re.compile(r"\s*([A-Za-z0-9_.]+)")
_EQUALS: Final = re.compile(r"\s*=")
_QUOTED: Final = re.compile(r'\s*"([^"]*)"(?=\s|$)')
_PLAIN: Final = re.compile(r"\s*(\S+)")
_BLANK: Final = re.compile(r"\s+(?=[A-Za-z0-9_.]+=)|\s*$")


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    r"""The lines with the numbers of their beginnings, without comments and blank lines.

    A `\` at the end joins a line and the next. A `#` begins a comment, except after a `\`.

    >>> list(lines_of("# nodes\nNodeName=n0 \\\n  CPUs=4\n"))
    [(2, 'NodeName=n0    CPUs=4')]
    """
    parts: list[str] = []
    begin = 0
    for number, line in enumerate(text.splitlines(), 1):
        begin = begin or number
        plain = _COMMENT.split(line, maxsplit=1)[0].rstrip().replace("\\#", "#")
        if plain.endswith("\\"):
            parts.append(plain[:-1] + " ")
            continue
        parts.append(plain)
        joined = "".join(parts)
        if joined.strip():
            yield begin, joined
        parts, begin = [], 0
    joined = "".join(parts)
    if joined.strip():
        yield begin, joined


def pairs_of(line: str) -> list[tuple[str, str]]:
    """The names of a line with their values, as they are written. A value in quotation marks can have spaces.

    >>> pairs_of('NodeName=n0 Reason="is being repaired" Weight = 3')
    [('NodeName', 'n0'), ('Reason', 'is being repaired'), ('Weight', '3')]

    Raises:
        InputError: a word is neither a name nor a value.
    """
    pairs: list[tuple[str, str]] = []
    place, end = 0, len(line.rstrip())
    while place < end:
        name = _NAME.match(line, place)
        equals = name and _EQUALS.match(line, name.end())
        if not name or not equals:
            raise InputError(f"expected NAME=VALUE, got {shown(line[place:end].split()[0])}")
        place = equals.end()
        blank = _BLANK.match(line, place)
        if blank is not None:
            pairs.append((name[1], ""))
            place = blank.end()
            continue
        value = _QUOTED.match(line, place) or _PLAIN.match(line, place)
        assert value is not None, "text that is not blank has a value"
        pairs.append((name[1], value[1]))
        place = value.end()
    return pairs


class NodeNames:
    """Expands names of nodes, `n[0-63]`, up to a limit for all files together."""

    def __init__(self, most: int = MOST_NAMES) -> None:
        self._most = self._left = most

    def of(self, text: str) -> list[str]:
        """The names that a text stands for.

        Raises:
            InputError: the text cannot be read, or the names are too many.
        """
        found = expanded_names(text)
        self.count(len(found))
        return found

    def count(self, names: int) -> None:
        """Count names.

        Raises:
            InputError: there are too many.
        """
        self._left -= names
        if self._left < 0:
            raise InputError(f"the lines of the file stand for more than {self._most:,} names")
