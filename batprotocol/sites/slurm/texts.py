"""Slurm's texts, each read in one place: times, resources (TRES), states, ids, keys with values, flags and numbers.

Files of the configuration, accounting, logs, commands and the REST interface have the same texts. Each function raises
`InputError` for a text that it cannot read.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, hint, shown
from batprotocol.workloads.requests import expanded_names

__all__ = [
    "CHECKED",
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
    "Line",
    "Lines",
    "NodeNames",
    "amount",
    "configured_span",
    "elapsed",
    "flag",
    "gres",
    "hinted",
    "job_id",
    "json_number",
    "keyed",
    "leading_number",
    "licenses",
    "lines_of",
    "listed",
    "minutes",
    "number_of",
    "one_of",
    "one_word",
    "pairs_of",
    "partition_state",
    "real",
    "span",
    "task_numbers",
    "text_of",
    "tres",
    "unsigned",
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
_ANY_TIME: Final = re.compile(
    r"([0-9]{1,18})-(?:([0-9]{1,18})(?::([0-9]{1,18})(?::([0-9]{1,18}))?)?)?"
    r"|([0-9]{1,18})(?::([0-9]{1,18})(?::([0-9]{1,18}))?)?",
    re.ASCII,
)
_WEIGHT: Final = re.compile(
    r"([-+]?(?:[0-9]{1,15}(?:\.[0-9]{0,19})?|\.[0-9]{1,19})(?:e[-+]?[0-9]{1,2})?)([KMGTP])?", re.ASCII | re.IGNORECASE
)
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
_KIND: Final = re.compile(r"[A-Za-z_][\w.-]{0,100}(?::(?![0-9.]+$)\w[\w.-]{0,99})?", re.ASCII)
_COUNT: Final = re.compile(r"([0-9]{1,30})([KMGTP]?|[KMGTP]i?B)", re.ASCII | re.IGNORECASE)
_WORD: Final = re.compile(r"[^\s;#=,\[\]]{1,255}")
_POWERS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_UNITS: Final = {"K": 2.0**-10, "": 1.0, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
_YES: Final = {"YES": True, "UP": True, "TRUE": True, "1": True, "NO": False, "DOWN": False, "FALSE": False, "0": False}


def span(text: str) -> float:
    """A time in seconds: minutes, `mm:ss`, `hh:mm:ss`, `d-hh`, `d-hh:mm` or `d-hh:mm:ss`; infinite if it is unlimited.

    >>> span("1-12:00:00"), span("30"), span("1:30:00"), span("UNLIMITED")
    (129600.0, 1800.0, 5400.0, inf)
    """
    if text.upper() not in UNLIMITED and _TIME.fullmatch(text) is None:
        raise InputError(f"expected a time such as '1-12:00:00', minutes or 'UNLIMITED', got {shown(text)}")
    return configured_span(text)


def configured_span(text: str) -> float:
    """A time in seconds as slurmctld reads it in a file: as a `span`, also `d-`, and parts of any number of digits.

    Slurm computes with 32 bits, so that a time of more than 68 years becomes another one, or is refused.

    >>> configured_span("1-"), configured_span("1:234")
    (86400.0, 294.0)
    """
    if text.upper() in UNLIMITED:
        return math.inf
    found = _ANY_TIME.fullmatch(text)
    if found is not None:
        days, hours, minutes, seconds, *short = [_of_32_bits(int(part or 0)) for part in found.groups()]
        if found[5] is not None and found[7] is None:
            minutes, seconds = short[:2]
        elif found[5] is not None:
            hours, minutes, seconds = short
        whole = _of_32_bits(days * 86400 + hours * 3600 + minutes * 60 + seconds)
        if whole == -1:
            return math.inf
        if whole >= 0:
            return float(whole)
    raise InputError(f"expected a time such as '1-12:00:00', minutes or 'UNLIMITED', got {shown(text)}")


def _of_32_bits(number: int) -> int:
    """The part of a number that an `int` of C keeps."""
    return (number + 2**31) % 2**32 - 2**31


def minutes(text: str) -> float:
    """A limit of the time of a job, in seconds: a `configured_span` that is rounded up to a whole minute.

    >>> minutes("1:30"), minutes("90")
    (120.0, 5400.0)
    """
    seconds = configured_span(text)
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


def partition_state(text: str) -> str:
    """The state of a partition.

    >>> partition_state("drained")
    'DRAIN'
    """
    for state in ("DOWN", "UP", "DRAIN", "INACTIVE"):  # only the beginning is compared
        if text.upper().startswith(state):
            return state
    raise InputError(f"expected UP, DOWN, DRAIN or INACTIVE, got {shown(text)}")


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


_C_NUMBER: Final = re.compile(
    r"[\s]*([-+]?)(?:(0x[0-9a-f]{1,400})|(0[0-7]{0,400})|([1-9][0-9]{0,399}))([k]?)", re.ASCII | re.IGNORECASE
)
_C_INTEGER: Final = re.compile(r"\s*([-+]?[0-9]{1,400})", re.ASCII)


def unsigned(bits: int) -> Callable[[str], int]:
    """A reader of numbers as Slurm's files have them: decimal, octal (`017`) or hexadecimal (`0x1F`), or `UNLIMITED`.

    Args:
        bits: how many bits Slurm keeps: 16, 32 or 64. Unlimited is the largest number of them. From 32 bits on, a `k`
            behind the number multiplies it by 1024.

    >>> unsigned(32)("10k"), unsigned(16)("0x1F"), unsigned(16)("INFINITE")
    (10240, 31, 65535)
    """
    most: int = 2**bits - 1

    def read(text: str) -> int:
        if text.upper() in ("UNLIMITED", "INFINITE"):
            return most
        if not text or (bits > 16 and text.lower() == "k"):  # strtoul() finds no digit, and nothing is left
            return 0
        found = _C_NUMBER.fullmatch(text)
        if found is not None and not (found[5] and bits == 16):
            sign, hexadecimal, octal, decimal, kilo = found.groups()
            digits, base = (hexadecimal[2:], 16) if hexadecimal else (octal, 8) if octal else (decimal, 10)
            number = int(digits, base) << (10 if kilo else 0)
            if number <= most and sign != "-":
                return number
        raise InputError(f"expected a whole number from 0 to {most:,}, or UNLIMITED, got {shown(text)}")

    return read


def leading_number(text: str, bits: int = 32) -> int:
    """The number at the beginning of a text, as atoi() of C reads it: 0 if there is none. It keeps so many bits.

    >>> leading_number("45s"), leading_number("-2"), leading_number("=7"), leading_number("4294967299")
    (45, -2, 0, 3)
    """
    found = _C_INTEGER.match(text)
    number = int(found[1]) if found else 0
    number = max(min(number, 2**63 - 1), -(2**63))
    return _of_32_bits(number) if bits == 32 else number


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
    for part in filter(None, parts.split(",")):
        name, mark, number = part.partition("=")
        name = name.strip()
        if not mark or not name:
            raise InputError(f"expected {what}, got {shown(part.strip())}")
        found[name] = number.strip()
    return found


_SUFFIXES: Final[Mapping[str, int]] = {
    **{unit: 1 << power for unit, power in _POWERS.items()},
    **{f"{unit}IB": 1 << power for unit, power in _POWERS.items() if unit},
    **{f"{unit}B": 1000 ** (power // 10) for unit, power in _POWERS.items() if unit},
}
"""The units of a number of generic resources: `k` and `kib` are 1024, `kb` is 1000."""


def gres(text: str) -> tuple[tuple[str, int], ...]:
    """The generic resources of a node, with their numbers, in the order of their names; equal ones are added.

    A last part that is not a number is a type, of which there is one. The units `K`, `M`, `G`, `T` and `P` are powers
    of 1024.

    >>> gres("gpu:a100:4(S:0-1),fpga,bandwidth:lustre:no_consume:4K")
    (('bandwidth:lustre', 4096), ('fpga', 1), ('gpu:a100', 4))
    """
    plain = _SOCKETS.sub("", text)
    found: dict[str, int] = {}
    for part in plain.split(",") if plain not in NOTHING else ():
        kind, mark, last = part.strip().replace(":no_consume", "").rstrip(":").rpartition(":")
        count = _COUNT.fullmatch(last) if mark else None
        name = kind if count else f"{kind}{mark}{last}"
        number = min(int(count[1]) * _SUFFIXES[count[2].upper()], 2**63 - 1) if count else 1
        if _KIND.fullmatch(name) is None:
            raise InputError(f"expected NAME, NAME:COUNT or NAME:TYPE:COUNT such as 'gpu:a100:2', got {shown(part)}")
        found[name] = found.get(name, 0) + number
    return tuple((name, number) for name, number in sorted(found.items()) if number)


def one_of(*names: str, prefix: str = "", exact: bool = False) -> Callable[[str], str]:
    """A reader of one of some names, in any letters unless they are `exact`, with a prefix such as `sched/` or without.

    >>> one_of("backfill", "builtin", prefix="sched/")("sched/BackFill")
    'backfill'
    """

    def read(text: str) -> str:
        low = text if exact else text.lower().removeprefix(prefix)
        if low not in names:
            known = [prefix + name for name in names]
            raise InputError(f"expected {' or '.join(known)}, got {shown(text)}{hint(text, known)}")
        return low

    return read


def hinted(name: str, known: Iterable[str]) -> str:
    """A question for the end of a sentence, as `hint` gives it, for names in any letters."""
    from difflib import get_close_matches

    names = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), list(names), 1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


_LICENSE: Final = re.compile(r"([^:]+)(?::\s*([0-9]{0,18}))?", re.ASCII)


def licenses(text: str) -> dict[str, int]:
    """The licences of a cluster, with their numbers; equal ones are added.

    >>> licenses("matlab:4,foo;matlab:1")
    {'matlab': 5, 'foo': 1}
    """
    found: dict[str, int] = {}
    for part in filter(None, re.split("[,;]", text)):
        match = _LICENSE.fullmatch(part)
        count = 1 if match is None or match[2] is None else leading_number(match[2])
        if match is None or count < 0:
            raise InputError(f"expected NAME or NAME:COUNT, got {shown(part)}")
        found[match[1]] = found.get(match[1], 0) + count
    return found


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


def _words(*known: str, exact: bool = False) -> Callable[[str], Mapping[str, Any]]:
    """A reader that only accepts some words, in any letters unless they are exact, and sets nothing."""

    def read(text: str) -> Mapping[str, Any]:
        for part in filter(None, text.split(",")):
            if (part if exact else part.lower()) not in known:
                raise InputError(f"expected {' or '.join(known)}, got {shown(part)}{hint(part.lower(), known)}")
        return {}

    return read


_LEVELS: Final = ("quiet", "fatal", "error", "info", "verbose", "debug", *(f"debug{level}" for level in range(2, 6)))


def _level(text: str) -> Mapping[str, Any]:
    return {} if re.match("[0-9]", text) else _words(*_LEVELS)(text)


_RESOURCES: Final = ("AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK")
CHECKED: Final[Mapping[str, Callable[[str], Mapping[str, Any]]]] = {
    **dict.fromkeys(("SlurmctldDebug", "SlurmctldSyslogDebug", "SlurmdDebug", "SlurmdSyslogDebug"), _level),
    "PrologFlags": _words(
        *("alloc", "contain", "deferbatch", "forcerequeueonfail", "nohold", "runinjob", "serial", "x11")
    ),
    "TaskPluginParam": _words(
        *("autobind=cores", "autobind=none", "autobind=sockets", "autobind=threads", "boards", "cores", "cpusets"),
        *("none", "sched", "slurmdoffspec", "sockets", "threads", "verbose"),
    ),
    **dict.fromkeys(
        ("PropagateResourceLimits", "PropagateResourceLimitsExcept"),
        _words("ALL", "NONE", *(prefix + name for prefix in ("", "RLIMIT_") for name in _RESOURCES), exact=True),
    ),
}
"""Readers of parameters that decide nothing, whose texts slurmctld refuses if they are others."""


# Lines of configuration files


MOST_NAMES: Final = 1_000_000
"""The names that all lines of a file may stand for together: a short file can stand for very many."""

_COMMENT: Final = re.compile(r"(?:[^\\#]|\\.|\\$)*", re.DOTALL)
_CONTINUED: Final = re.compile(r"(?<!\\)(?:\\\\)*(\\)\s*$")
_ESCAPED: Final = re.compile(r"\\(.?)", re.DOTALL)
_PAIR: Final = re.compile(r'\s*([A-Za-z0-9_.]+)\s*[-*+/]?=\s*(?:"([^"]*)"(?=\s|$)|(\S+))', re.ASCII)
_NAME: Final = re.compile(r"\s*([A-Za-z0-9_.]+)\s*[-*+/]?=\s*", re.ASCII)
_EMPTY: Final = re.compile(r"\s*([A-Za-z0-9_.]+)\s*=(?:\s*$|\s+(?=[A-Za-z0-9_.]+=))", re.ASCII)


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    r"""The lines with the numbers of their beginnings, without comments and blank lines.

    A `\` at the end joins a line and the next, with nothing between them. A `#` begins a comment, except after a `\`,
    which goes away.

    >>> list(lines_of("# nodes\nNodeName=n0 \\\n  CPUs=4\n"))
    [(2, 'NodeName=n0   CPUs=4')]
    """
    parts: list[str] = []
    begin = 0
    for number, line in enumerate(text.split("\n"), 1):
        begin = begin or number
        plain = line
        if "#" in line:
            comment = _COMMENT.match(line)
            plain = comment[0] if comment else ""
        continued = _CONTINUED.search(plain) if "\\" in plain else None
        if continued is not None:
            parts.append(plain[: continued.start(1)])
            continue
        parts.append(plain)
        if found := _joined(parts):
            yield begin, found
        parts, begin = [], 0
    if found := _joined(parts):
        yield begin, found


def _joined(parts: list[str]) -> str:
    """The parts of a line without escapes, or nothing if it is blank."""
    joined = "".join(parts).rstrip()
    return _ESCAPED.sub(r"\1", joined) if "\\" in joined else joined


def pairs_of(line: str, *, empty: bool = False) -> list[tuple[str, str]]:
    """The names of a line with their values, as they are written. A value in quotation marks can have spaces.

    As in Slurm, the value begins with the next sign that is not a space, also if a space follows the `=`.

    Args:
        line: the line.
        empty: whether a name without a value has an empty one, which slurmctld refuses.

    >>> pairs_of('NodeName=n0 Reason="is being repaired" Weight = 3')
    [('NodeName', 'n0'), ('Reason', 'is being repaired'), ('Weight', '3')]

    Raises:
        InputError: a word is neither a name nor a value, or a name has no value.
    """
    pairs: list[tuple[str, str]] = []
    place, end = 0, len(line.rstrip())
    while place < end:
        blank = _EMPTY.match(line, place) if empty else None
        if blank is not None:
            pairs.append((blank[1], ""))
            place = blank.end()
            continue
        found = _PAIR.match(line, place)
        if found is None:
            name = _NAME.match(line, place)
            if name is None:
                raise InputError(f"expected NAME=VALUE, got {shown(line[place:end].split()[0])}")
            raise InputError('expected a value, got nothing; use "" for an empty one', name[1])
        pairs.append((found[1], found[3] if found[2] is None else found[2]))
        place = found.end()
    return pairs


_MOST_DEPTH: Final = 10
_MOST_FILES: Final = 1000
_INCLUDE: Final = re.compile(r"include\s+(\S+)\s*", re.IGNORECASE)
_CLUSTER: Final = re.compile(r"\s*clustername\s*=\s*\"?([^\s\"]+)", re.IGNORECASE)


class Line(NamedTuple):
    """A line.

    Attributes:
        file: its file, as errors name it.
        number: its number.
        text: its text, without a comment.
    """

    file: str
    number: int
    text: str


class Lines:
    """Reads lines, and those of included files in the places where they are included.

    Args:
        folder: the folder of slurm.conf, where included files are looked for; None: no file may be included.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._left = MOST_BYTES
        self._files = 0
        self._cluster = ""

    def of(self, text: str, file: str, depth: int = 0) -> Iterator[Line]:
        """The lines of a text.

        Raises:
            InputError: a file cannot be included, or there are too many.
        """
        for number, line in lines_of(text):
            included = _INCLUDE.fullmatch(line)
            if included is None:
                cluster = _CLUSTER.match(line)
                if cluster is not None:
                    self._cluster = cluster[1]
                yield Line(file, number, line)
                continue
            try:
                path, inner = self._included(included[1].strip().strip('"'), depth)
            except InputError as error:
                raise InputError(error.reason, error.path, file=file, line=number) from None
            yield from self.of(inner, path, depth + 1)

    def _included(self, name: str, depth: int) -> tuple[str, str]:
        """The path of an included file, and its text."""
        if self._folder is None:
            raise InputError(f"the file {shown(name)} cannot be included in a text; use the path of slurm.conf")
        self._files += 1
        if depth >= _MOST_DEPTH or self._files > _MOST_FILES:
            what = f"{_MOST_DEPTH} files in one another" if depth >= _MOST_DEPTH else f"{_MOST_FILES} files"
            raise InputError(
                f"expected at most {what} to be included; does {shown(name)} include the file that includes it?"
            )
        path = os.path.join(self._folder, name.replace("%c", self._cluster.lower()))
        try:
            text = text_of(path, self._left)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            if isinstance(error, InputError):
                reason = error.reason
            raise InputError(f"the included file {shown(path)} cannot be read: {reason}") from None
        self._left -= len(text)
        return path, text


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
