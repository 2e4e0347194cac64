"""Recordings of a real Slurm: their jobs and events, the options of sbatch, and the site that they are of.

A recording is checked when it is read.
"""

from __future__ import annotations

import lzma
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypedDict

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.accounting import Accounting, accounting_of
from batprotocol.sites.slurm.configuration import SlurmConfiguration, configuration_of, switches_of
from batprotocol.sites.slurm.parameters import ParameterStanding
from batprotocol.workloads.host_events.events import HostChange
from batprotocol.workloads.requests import expanded_names

__all__ = [
    "FOLLOWED_VALUES",
    "SBATCH",
    "SEPARATOR",
    "SlurmRun",
    "accounting_of_run",
    "component_numbers",
    "conf_of",
    "configuration_of_run",
    "is_followed",
    "is_recorded",
    "number_of",
    "parts_of",
    "read_recording",
    "read_recordings",
    "readable",
    "sbatch_options",
    "silence_of",
    "submitted_of",
]


_MAGIC: Final = b"\xfd7zXZ\x00"
_HEAD: Final = 1 << 12
_MOST: Final = 1 << 29
"""The bytes that a recording may have."""
_MOST_NODES: Final = 100_000
_LATEST: Final = 1e6
"""The latest second of a recording. It bounds the time that its replay takes."""
_FASTEST: Final = 1e4
"""The most seconds of a recording in a second of its machines."""
_DAY: Final = 86_400
_BEGAN: Final = "t0_epoch_mod_86400"
_SEED: Final = "?seed="
_BEGIN: Final = re.compile(rb'\s*(?:\[\s*)?\{\s*"config"\s*:')


class _Nodes(TypedDict):
    count: int
    conf: str


class _Needed(TypedDict):
    id: int
    t_returned: float
    args: list[str]


class _Submission(_Needed, total=False):
    user: str
    run: float
    runs: list[float]
    exit: int


class _RecordedEvent(TypedDict):
    t_sent: float
    t_returned: float
    cmd: list[str]
    out: str


class _Start(TypedDict):
    t: float
    by: str
    job: str
    nodes: str
    partition: str


class _Run(TypedDict):
    config: str
    seed: int
    speed: float
    t0_epoch_mod_86400: int
    slurm_conf: dict[str, str]
    dbd: bool
    setup: list[tuple[str, str]]
    nodes: list[_Nodes]
    partitions: list[str]
    submissions: list[_Submission]
    events: list[_RecordedEvent]
    starts: list[_Start]
    log: list[tuple[float, str]]


class SlurmRun(_Run, total=False):
    """A recorded run. Its times are seconds since it began; the handbook has the meaning of each key."""

    result_jobs: list[dict[str, Any]]
    jobcomp: list[dict[str, Any]]
    samples: list[dict[str, Any]]
    topology: str
    assoc: list[str]
    qos: list[str]
    dump: list[str]


def is_recorded(path: str) -> bool:
    """Whether a file begins as recordings do. `path` may name one run of an archive: `FILE?seed=3`.

    Raises:
        OSError: the file cannot be read.
    """
    file = path if os.path.exists(path) else path.partition(_SEED)[0]
    if not os.path.isfile(file):
        return False
    with open(file, "rb") as opened:
        head = opened.read(_HEAD)
    if head.startswith(_MAGIC):
        try:
            head = lzma.LZMADecompressor().decompress(head, _HEAD)
        except lzma.LZMAError:
            return False
    return _BEGIN.match(head) is not None


def read_recordings(path: str | os.PathLike[str]) -> list[SlurmRun]:
    """The runs in a file: one, or those of an archive.

    Raises:
        InputError: the file is not a recording; `path` is the place in it.
        OSError: the file cannot be read.
    """
    name = os.fspath(path)
    with open(path, "rb") as file:
        data = file.read(_MOST + 1)
    if data.startswith(_MAGIC):
        data = _unpacked(data, name)
    if len(data) > _MOST:
        raise InputError(f"expected a recording of at most {_MOST >> 20} MiB", file=name)
    try:
        if data.lstrip()[:1] == b"[":
            runs = msgspec.json.decode(data, type=list[SlurmRun])
        else:
            runs = [msgspec.json.decode(data, type=SlurmRun)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"it is not a recording of a Slurm: {error}", file=name) from None
    for run in runs:
        _check(run, name)
    return runs


def read_recording(path: str) -> SlurmRun:
    """The run in a file; of an archive, the one that the name selects by its seed: `FILE?seed=3`.

    Raises:
        InputError: the file is not a recording, has several runs, or none with this seed.
        OSError: the file cannot be read.
    """
    file, _, seed = (path, "", "") if os.path.exists(path) else path.partition(_SEED)
    runs = read_recordings(file)
    found = [run for run in runs if str(run["seed"]) == seed] if seed else runs
    if len(found) == 1:
        return found[0]
    seeds = ", ".join(str(run["seed"]) for run in runs[:20])
    if not found:
        which = f"no run with the seed {shown(seed)}: its seeds are {seeds}" if runs else "no run"
        raise InputError(f"it has {which}", file=file)
    raise InputError(
        f"it has {len(found)} runs: name one, such as '{file}{_SEED}{found[0]['seed']}'; its seeds are {seeds}",
        file=file,
    )


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Report a text of a recording that cannot be read, such as an option of sbatch, as an `InputError`."""
    try:
        yield
    except InputError as error:
        raise InputError(error.reason, error.path, file=error.file or name, line=error.line) from None
    except (ValueError, LookupError, ArithmeticError) as error:
        what = f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else str(error)
        raise InputError(f"a part of the recording cannot be read: {what}", file=name) from None


def _unpacked(data: bytes, name: str) -> bytes:
    decompressor = lzma.LZMADecompressor(memlimit=_MOST)
    try:
        found = decompressor.decompress(data, _MOST + 1)
    except lzma.LZMAError as error:
        raise InputError(f"it cannot be unpacked: {error}", file=name) from None
    if not decompressor.eof and len(found) <= _MOST:
        raise InputError("it ends too early", file=name)
    return found


def _check(run: SlurmRun, name: str) -> None:
    """Check the numbers on which time and memory depend."""
    nodes = sum(max(group["count"], 0) for group in run["nodes"])
    if not 0 < nodes <= _MOST_NODES or any(group["count"] < 1 for group in run["nodes"]):
        raise InputError(f"expected 1 to {_MOST_NODES:,} nodes, got {nodes:,}", "nodes", file=name)
    if not 0 < run["speed"] <= _FASTEST:
        raise InputError(f"expected a number > 0 and <= {_FASTEST:g}, got {run['speed']:g}", "speed", file=name)
    second = run[_BEGAN]
    if not 0 <= second < _DAY:
        raise InputError(f"expected a second of the day, from 0 to {_DAY - 1}, got {second}", _BEGAN, file=name)
    for place, time in _times(run):
        if not abs(time) <= _LATEST:
            raise InputError(f"expected a time of at most {_LATEST:g} s, got {time:g}", place, file=name)


def _times(run: SlurmRun) -> Iterator[tuple[str, float]]:
    """The times in a recording, with their places."""
    for place, job in enumerate(run["submissions"]):
        for time in (job["t_returned"], job.get("run", 0.0), *job.get("runs", ())):
            yield f"submissions[{place}]", time
    for place, each in enumerate(run["events"]):
        yield from ((f"events[{place}]", time) for time in (each["t_sent"], each["t_returned"]))
    yield from ((f"starts[{place}]", start["t"]) for place, start in enumerate(run["starts"]))
    yield from ((f"log[{place}]", time) for place, (time, _) in enumerate(run["log"]))


# The Slurm of a recorded run: its configuration as the text of a slurm.conf and as values, and its accounts.


def conf_of(run: Mapping[str, Any]) -> str:
    """The slurm.conf of a recorded run: what differs from Slurm's defaults, and what is the same in all runs."""
    parameters = {"ClusterName": "emu", "ReturnToService": "2", **run["slurm_conf"]}
    if run["dbd"]:
        parameters["AccountingStorageType"] = "accounting_storage/slurmdbd"
        if "dump" not in run:  # recordings with the commands only are of clusters that enforce limits
            parameters.setdefault("AccountingStorageEnforce", "associations,limits,qos")
    lines = [f"{name}={value}" for name, value in parameters.items()]
    first = 0
    for group in run["nodes"]:
        last = first + group["count"] - 1
        names = [f"n{node}" for node in range(first, last + 1)] if "topology" in run else [f"n[{first}-{last}]"]
        state = "" if "State=" in group["conf"] else " State=UNKNOWN"
        lines += [f"NodeName={name} {group['conf']}{state}" for name in names]  # recorded with a line for each
        first = last + 1
    return "\n".join([*lines, *run["partitions"], ""])


def configuration_of_run(run: Mapping[str, Any]) -> SlurmConfiguration:
    """The configuration of a recorded run."""
    found = configuration_of(conf_of(run))
    if not run.get("topology"):
        return found
    return msgspec.structs.replace(found, switches=switches_of(run["topology"], [node.name for node in found.nodes]))


def accounting_of_run(run: Mapping[str, Any]) -> Accounting:
    """The accounts of a recorded run, as they were printed or from the commands that made them, and its QOS."""
    if run.get("dump"):
        return accounting_of([("dump.cfg", "\n".join(run["dump"])), ("qos.txt", "\n".join(run.get("qos", ())))])
    rows = [row.split("|") for row in run.get("assoc", ())[1:]]
    allowed = {user: f":QOS='{qos}'" for _, _, user, _, qos, *_ in rows if user}
    cluster, *lines = ["Cluster - 'emu':Fairshare=1:QOS='normal'", "Parent - 'root'", "User - 'root':Fairshare=1"]
    for command, _ in run["setup"]:
        words = command.split()
        options = dict(word.split("=") for word in words if "=" in word)
        share = f":Fairshare={options.get('fairshare', '1')}"
        if words[2:4] == ["add", "account"]:
            lines += [f"Parent - '{options.get('parent', 'root')}'", f"Account - '{words[4]}'{share}"]
        elif words[2:4] == ["add", "user"]:
            users = (f"User - '{user}'{share}{allowed.get(user, '')}" for user in words[4].split(","))
            lines += [f"Parent - '{options['account']}'", *users]
    return accounting_of([("dump.cfg", "\n".join([cluster, *lines])), ("qos.txt", "\n".join(run.get("qos", ())))])


def number_of(job: str) -> str:
    """`12`, `3_7` for a task of an array, or `3+1` for a component of a heterogeneous job."""
    return job.partition("(")[0]


SEPARATOR: Final = ":"
"""The word between the options of two components of a heterogeneous job."""
_INHERITED: Final = frozenset(
    (
        *("account", "begin", "dependency", "exclude", "hold", "job-name", "mem", "nice", "no-requeue", "qos"),
        *("requeue", "reservation", "time", "time-min"),
    )
)
"""The options that a component has of the one before it, unless it has its own. The first one has those of the last."""


def parts_of(options: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """The options of each component of a heterogeneous job, with those that it inherits, as sbatch of 22.05 does it.

    Components are on nodes of their own, so that none has nodes that another one asks for.

    >>> parts_of([("ntasks", "3"), ("nodelist", "n1"), (":", ""), ("time", "5")])
    [{'time': '5', 'ntasks': '3', 'nodelist': 'n1'}, {'time': '5', 'exclude': 'n1'}]
    """
    whole, own = list(options), dict[str, str]()
    for _ in range(2):
        parts = [own]
        for name, value in whole:
            if name == SEPARATOR:
                own = {each: text for each, text in own.items() if each in _INHERITED}
                parts.append(own)
            else:
                own[name] = value
        own = {each: text for each, text in own.items() if each in _INHERITED}
    for part in parts:
        others = [each["nodelist"] for each in parts if each is not part and "nodelist" in each]
        if others:
            part["exclude"] = ",".join(filter(None, [part.get("exclude", ""), *others]))
    return parts


def component_numbers(run: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The components of heterogeneous jobs by the numbers of jobs: all for a leader, and one for others.

    >>> component_numbers({"submissions": [{"id": 7, "args": ["-n1", ":", "-n2"]}]})
    {'8': ('7+1',), '7': ('7+0', '7+1')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for each in run["submissions"]:
        count = each["args"].count(SEPARATOR) if each["id"] > 0 else 0
        names = tuple(f"{each['id']}+{offset}" for offset in range(count + 1))
        found |= {str(each["id"] + offset): (names[offset],) for offset in range(1, count + 1)}
        found |= {str(each["id"]): names} if count else {}
    return found


def submitted_of(run: Mapping[str, Any]) -> dict[str, float]:
    """When the jobs were submitted, heterogeneous ones by the number of their leader.

    The log has that at the end of the request, with its length.
    """
    found = {}
    for time, text in run["log"]:
        match = re.match(r"_slurm_rpc_submit_batch_(?:het_)?job: JobId=(\d+)(?:.* usec=(\d+))?", text)
        if match:
            found[match[1]] = time - int(match[2] or 0) * 1e-6
    return found


def silence_of(run: Mapping[str, Any], node: str, time: float) -> Iterator[tuple[float, HostChange]]:
    """A node that answers again at a time has not answered since a job ended there, and so no job could start.

    The job is cleaned up after the answer only, at a moment that no recording has: some time before the next start.
    """
    ends = ((job.get("EndTime"), job.get("NodeList")) for job in run.get("result_jobs", ()))
    known = ((end, names) for end, names in ends if names and isinstance(end, float) and end < time)
    since = max((end for end, names in known if node in expanded_names(names)), default=0.0)
    told = f"update_node: node {node} state set"  # it answers to a command
    if since and not any(since < each <= time and text.startswith(told) for each, text in run["log"]):
        starts = (start["t"] for start in run["starts"] if start["t"] > time and node in expanded_names(start["nodes"]))
        yield since, HostChange.DRAIN
        yield min(starts, default=time) - _BEFORE, HostChange.UP


_BEFORE: Final = 0.1
"""A node that was silent is free so many seconds before a job starts there."""


# The options of sbatch


_SHORT: Final = {
    "A": "account",
    "a": "array",
    "b": "begin",
    "D": "chdir",
    "M": "clusters",
    "C": "constraint",
    "S": "core-spec",
    "c": "cpus-per-task",
    "d": "dependency",
    "m": "distribution",
    "e": "error",
    "x": "exclude",
    "G": "gpus",
    "B": "extra-node-info",
    "h": "help",
    "H": "hold",
    "i": "input",
    "J": "job-name",
    "L": "licenses",
    "N": "nodes",
    "k": "no-kill",
    "F": "nodefile",
    "w": "nodelist",
    "n": "ntasks",
    "o": "output",
    "O": "overcommit",
    "s": "oversubscribe",
    "p": "partition",
    "q": "qos",
    "Q": "quiet",
    "t": "time",
    "v": "verbose",
    "V": "version",
    "W": "wait",
}
"""The options of sbatch that have a letter."""
_FLAGS: Final = frozenset(
    {
        *("contiguous", "exclusive", "get-user-env", "help", "hold", "ignore-pbs", "nice", "no-kill", "no-requeue"),
        *("overcommit", "oversubscribe", "parsable", "propagate", "quiet", "reboot", "requeue", "spread-job"),
        *("test-only", "usage", "use-min-nodes", "verbose", "version", "wait"),
    }
)
"""The options of sbatch that need no value."""


def _standings() -> dict[str, ParameterStanding]:
    """The options of sbatch in the manual of Slurm 22.05, with the fate of each in a replay."""
    followed = (
        "account array begin constraint contiguous cpus-per-gpu cpus-per-task dependency exclude exclusive gpus"
        " gpus-per-node gpus-per-task gres hold job-name licenses mem mem-per-cpu mem-per-gpu nice no-requeue nodelist"
        " nodes ntasks ntasks-per-node oversubscribe partition qos requeue reservation spread-job switches time"
        " time-min use-min-nodes"
    )
    idle = (
        "acctg-freq chdir comment container core-spec error export export-file get-user-env gpu-bind gpu-freq help"
        " ignore-pbs input mail-type mail-user mem-bind open-mode output parsable profile propagate quiet thread-spec"
        " usage verbose version wait wait-all-nodes wckey wrap"
    )
    missed = (
        "batch bb bbf cluster-constraint clusters cores-per-socket cpu-freq deadline delay-boot"
        " distribution extra-node-info gid gpus-per-socket gres-flags hint kill-on-invalid-dep mcs-label"
        " mincpus network no-kill nodefile ntasks-per-core ntasks-per-gpu ntasks-per-socket overcommit"
        " power prefer priority reboot signal sockets-per-node test-only threads-per-core tmp uid"
    )
    kinds = (
        (followed, ParameterStanding.FOLLOWED),
        (idle, ParameterStanding.IDLE),
        (missed, ParameterStanding.MISSED),
    )
    return {name: kind for names, kind in kinds for name in names.split()}


SBATCH: Final[Mapping[str, ParameterStanding]] = _standings()
"""The options of sbatch, and the fate of each in a replay. Others are refused."""


FOLLOWED_VALUES: Final = {"hint": "nomultithread", "threads-per-core": "1"}
"""Options that are not followed otherwise, and their values that are."""


def is_followed(name: str, value: str) -> bool:
    """Whether an option has all of its effect in a replay."""
    return SBATCH[name] is not ParameterStanding.MISSED or FOLLOWED_VALUES.get(name) == value


def sbatch_options(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options of a call of sbatch, with their values; `:` stands between components of a heterogeneous job.

    Raises:
        InputError: the words are no options, or lack a value.
    """
    words = list(args)
    while words:
        word = words.pop(0)
        if word == SEPARATOR:
            yield word, ""
            continue
        name, equals, value = word[2:].partition("=") if word.startswith("--") else ("", "", word[2:])
        name = name or (_SHORT.get(word[1:2], "") if word.startswith("-") else "")
        if not name:
            raise InputError(f"expected an option of sbatch, got {shown(word)}")
        if name not in SBATCH:
            raise InputError(f"the option --{name} of sbatch is not known{hint(name, SBATCH)}")
        if not (value or equals or name in _FLAGS):
            if not words:
                raise InputError(f"expected a value behind the option {shown(word)} of sbatch")
            value = words.pop(0)
        yield name, value
