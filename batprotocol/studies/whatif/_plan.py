"""The plan of a what-if study: its log and machines, its windows and its baseline, and its file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol._util.files import whole
from batprotocol.errors import InputError
from batprotocol.policies.slurm import is_slurm, slurm_files
from batprotocol.policies.slurm.scheduler import LIKE
from batprotocol.simulator import Platform, Workload
from batprotocol.sites.logs.formats import STANDARD_INPUT, is_logged, read_log
from batprotocol.sites.logs.imports import Import
from batprotocol.sites.slurm.configuration import read_configuration
from batprotocol.studies.comparing.rows import label
from batprotocol.studies.whatif._question import (
    LogSpan,
    LogWindow,
    Question,
    many_of,
    parse_nodes,
    span_of_log,
    usual_length,
    windows_of,
)
from batprotocol.workloads import (
    PlatformHost,
    advice_on,
    named_workload,
    platform_xml,
    read_platform,
    with_recordings,
    workload_info,
)
from batprotocol.workloads.names import is_log
from batprotocol.workloads.network import ClusterZone

# The log of a question as files that a study can name: a workload, and the machine that the log is from.


_ZONE: Final = (
    "Times of the log that name no zone count as UTC. Where the clocks of the site were changed in the time of the "
    "log, run times and waiting times can be wrong by an hour: import the log with batproto import --zone, and ask "
    "about the workload."
)


class ReadyLog(NamedTuple):
    """A log that a study can name.

    Attributes:
        workload: the name of the workload.
        platform: the file of the platform, or "".
        left_out: what was left out, and how times were read, as sentences.
    """

    workload: str
    platform: str
    left_out: tuple[str, ...] = ()


def ready_log(log: str, *, platform: str = "", folder: str = "") -> ReadyLog:
    """A log that a study can name. Workloads are taken as they are, and logs of resource managers are imported.

    Args:
        log: the name of a workload, or the file of a log; `-` is a log on standard input.
        platform: a platform file, or "". Without one, the machine of an imported log is the smallest that it fits on.
        folder: the folder for the workload and the platform of an imported log.

    Raises:
        InputError: the log cannot be read.
        OSError: a file cannot be read or written.
    """
    if log != STANDARD_INPUT and not is_logged(log):
        return ReadyLog(log, platform)
    stem = os.path.join(folder, "log" if log == STANDARD_INPUT else os.path.basename(log).partition(".")[0])
    workload = f"{stem}.workload.json"
    with read_log(log) as jobs:
        made = Import(jobs)
        with whole(workload) as file:
            made.write(file, "workload")
        if not platform:
            platform = f"{stem}.machine.xml"
            with whole(platform) as file:
                file.write(made.platform_text(platform).encode())
        notes = [*jobs.left_out, *made.left_out]
    rows = [f"{each.count:,} rows were left out: {each.reason}" for each in notes if each.is_row]
    values = [f"{each.count:,} jobs were taken without a value: {each.reason}" for each in notes if not each.is_row]
    return ReadyLog(workload, platform, (*rows, *values, _ZONE))


# Machines with more or fewer hosts of the same kinds, for jobs that the network does not slow down.


def resized(platform: Platform, count: int) -> Platform:
    """A platform with another number of computation hosts, of the same kinds in the same shares. It has no network.

    Hosts of a kind have the same speeds, cores and properties. Of fewer hosts, the first ones of each kind stay. More
    hosts come after the others, and are called `added0`, `added1`... Each is like a host of the machine, and has its
    name as the property `like`: Slurm, whose slurm.conf does not name the new host, has it where it has the other one.

    Args:
        platform: the platform.
        count: the number of its computation hosts.

    Raises:
        InputError: the platform has no computation hosts.

    >>> from batprotocol.workloads import described_platform
    >>> found = resized(described_platform("n[0-5] cores=4; g[0-2] cores=8"), 6)
    >>> [(host.name, host.cores) for host in found.hosts]
    [('n0', 4), ('n1', 4), ('n2', 4), ('n3', 4), ('g0', 8), ('g1', 8)]
    """
    kinds: dict[Any, list[PlatformHost]] = {}
    hosts = [(host, _kind(host)) for host in platform.computation_hosts]
    for host, kind in hosts:
        kinds.setdefault(kind, []).append(host)
    if not kinds:
        raise InputError("the platform has no computation hosts", file=platform.filename)
    missing = dict(zip(kinds, _shares([len(each) for each in kinds.values()], count), strict=True))
    kept: list[PlatformHost] = []
    for host, kind in hosts:
        if missing[kind]:
            missing[kind] -= 1
            kept.append(host)
    names = {host.name for host in (platform.master, *platform.hosts)}
    for kind, found in kinds.items():
        for number in range(missing[kind]):
            like = found[number * len(found) // missing[kind] if missing[kind] < len(found) else number % len(found)]
            names.add(name := _free_name(names, len(kept)))
            own = tuple(each for each in like.properties if each[0] != LIKE)
            kept.append(msgspec.structs.replace(like, name=name, properties=(*own, (LIKE, like.name))))
    zone = ClusterZone("cluster")
    members = {name: zone.add(name) for name in (platform.master.name, *(host.name for host in kept))}
    numbered = [msgspec.structs.replace(host, id=place) for place, host in enumerate(kept)]
    return Platform(numbered, msgspec.structs.replace(platform.master, properties=()), members)


def _kind(host: PlatformHost) -> Any:
    """All that a host is, without its name."""
    return msgspec.json.encode(msgspec.structs.replace(host, id=0, name=""))


def _shares(sizes: Sequence[int], count: int) -> list[int]:
    """A number split in the ratio of these sizes: by the largest remainders."""
    exact = [size * count / sum(sizes) for size in sizes]
    found = [math.floor(each) for each in exact]
    order = sorted(range(len(sizes)), key=lambda place: found[place] - exact[place])
    for place in order[: count - sum(found)]:
        found[place] += 1
    return found


def _free_name(names: set[str], number: int) -> str:
    name = f"added{number}"
    while name in names:
        number += 1
        name = f"added{number}"
    return name


RECORDED: Final = "recorded"
"""The policy that starts jobs when and where the log did."""
TODAY: Final = "easy"
"""The policy that is assumed if nobody says what a machine with a log has: most resource managers backfill."""
ARRIVALS: Final = "arrival_factor"
"""The key of studies for the factor of arrivals."""
_AXES: Final = ("scheduler", ARRIVALS, "platform", "estimates")
"""The axes of alternatives, in the order of their names."""


class WhatIfPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A what-if study.

    Attributes:
        question: what was asked.
        log: the name of the log, as it was given.
        workload: the log, with the users, partitions and starts that it has.
        span: the part of the log that counts.
        length: the length of the windows in seconds.
        windows: its windows, which are cut after the simulation.
        keys: the keys of the study; names of files are as they were given.
        axes: the axes of alternatives that have several values, in the order of the names of alternatives.
        baseline: the name of the baseline, a value on these axes joined by commas: today's policy, simulated.
        recorded: the name of what really happened; "" if the log has no starts.
        today: today's policy.
        is_assumed: whether nobody said that this is today's policy.
        hosts: the number of hosts of the machine.
        has_starts: whether the log has the starts of its jobs.
        machines: the number of hosts of each machine, by its name on the axis of platforms.
        files: the texts of platforms that the study needs, by the names of their files.
        has_watts: whether energy is measured.
        platform: the file of the platform, or "".
        notes: advice on the log, as sentences.
        remarks: what of the policies does not fit the machine, as sentences.
        partial: the number of jobs for parts of hosts, which loads count by their cores.
    """

    question: Question
    log: str
    workload: Workload
    span: LogSpan
    length: float
    windows: tuple[LogWindow, ...]
    keys: Mapping[str, Any]
    axes: tuple[str, ...]
    baseline: str
    recorded: str
    today: str
    is_assumed: bool
    hosts: int
    has_starts: bool
    machines: Mapping[str, int]
    files: Mapping[str, str] = {}
    has_watts: bool = False
    platform: str = ""
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    partial: int = 0

    @property
    def outside(self) -> int:
        """The number of jobs of the log that are in no window, and so do not count."""
        return len(self.workload) - sum(each.jobs for each in self.windows)


def plan_for(
    log: str, question: Question, *, platform: str = "", folder: str = "", left_out: Sequence[str] = ()
) -> WhatIfPlan:
    """The plan of a study of a log.

    Args:
        log: the name of a workload: a file, or a part of one (`log.swf.gz?time=0-2592000`).
        question: what is asked.
        platform: a platform file; "": as many equal hosts as the log is made for.
        folder: the folder for platforms with other numbers of hosts.
        left_out: what of the log is not in the workload, as sentences.

    Raises:
        InputError: the log or the platform cannot be read, is too short, or does not fit the question.
        OSError: a file cannot be read.
    """
    question.check()
    if log.startswith("lublin:"):
        raise InputError(f"{log} is drawn from a model: name the log of a machine, or use a study")
    workload = named_workload(with_recordings(log))
    has_starts = _has_starts(workload)
    span = span_of_log(workload, question.warm_up, question.cool_down)
    length = question.window or usual_length(span)
    times = [workload.record(place).time for place in range(len(workload))]
    windows = windows_of(times, span.begin, span.end, length)
    whole, has_watts = _machine(platform)
    if question.nodes:
        _expect_growing(question, whole)
    hosts = workload.resource_count if whole is None else len(whole.computation_hosts)
    counts = _with(hosts, [parse_nodes(each, hosts) for each in question.nodes])
    files = {} if whole is None else {_file(platform, each, folder): _text(whole, each) for each in counts[1:]}
    machines: list[Any] = counts
    if whole is not None:
        paths = [platform, *files]
        machines = [{"platform": path, "name": str(each)} for path, each in zip(paths, counts, strict=True)]
    arrivals = _with(1, list(map(_plain, question.arrivals)))
    estimates = _with("asked", question.estimates)
    today, is_assumed = _today(question, has_starts)
    combinations = len(arrivals) * len(counts) * len(estimates) * len({today, *question.policies})
    if combinations == 1 and not has_starts:
        raise InputError(
            f"there is nothing to compare: {today} is today's policy, and the only one. Name another policy, other "
            "arrivals, hosts or estimates, or another one as today's policy"
        )
    only = {ARRIVALS: 1, "platform": str(hosts), "estimates": "asked"}
    policies: list[Any] = list(question.policies)
    names = list(dict.fromkeys([today, *policies]))
    if today in policies:
        policies = list(names)
    else:
        policies.insert(0, {"scheduler": today, "only": only})
    if has_starts:
        names.insert(0, RECORDED)
        policies.insert(0, {"scheduler": RECORDED, "only": only})
    values = {"scheduler": names, ARRIVALS: arrivals, "platform": machines, "estimates": estimates}
    axes = tuple(axis for axis in _AXES if len(values[axis]) > 1) or ("scheduler",)
    base = {ARRIVALS: 1, "platform": hosts, "estimates": "asked"}
    keys: dict[str, Any] = {
        "workload": _for_runs(log, has_starts),
        "platform": machines,
        "window": [span.label],
        "before": _plain(span.begin),
        "after": _plain(max(math.floor(span.last) + 1.0 - span.end, 0.0)),
        ARRIVALS: arrivals,
        "estimates": estimates,
        "scheduler": policies,
        **({"energy": True} if has_watts else {}),
    }
    return WhatIfPlan(
        question=question,
        log=log,
        workload=workload,
        span=span,
        length=length,
        windows=windows,
        keys=keys,
        axes=axes,
        baseline=", ".join(label({**base, "scheduler": today}[axis]) for axis in axes),
        recorded=", ".join(label({**base, "scheduler": RECORDED}[axis]) for axis in axes) if has_starts else "",
        today=today,
        is_assumed=is_assumed,
        hosts=hosts,
        has_starts=has_starts,
        machines={str(each): each for each in counts},
        files=files,
        has_watts=has_watts,
        platform=platform,
        notes=(*left_out, *advice_on(workload)),
        remarks=tuple(_unlike(question, whole)),
        partial=sum(each.count for each in workload_info(workload, hosts).remarks if each.kind == "parts-of-hosts"),
    )


def _today(question: Question, has_starts: bool) -> tuple[str, bool]:
    """Today's policy, and whether it is an assumption."""
    known = question.today or next(filter(is_slurm, question.policies), "")
    if known:
        return known, False
    return (TODAY if has_starts else question.policies[0]), True


def _expect_growing(question: Question, machine: Platform | None) -> None:
    """Refuse other numbers of hosts for a slurm.conf whose nodes are not hosts of the platform.

    Raises:
        InputError: Slurm would not use the added hosts.
    """
    hosts = set() if machine is None else {host.name for host in machine.computation_hosts}
    for each in (question.today, *question.policies):
        if is_slurm(each):
            path = slurm_files(each)[0]
            nodes = {node.name for node in read_configuration(path).nodes}
            if hosts - nodes or not hosts:
                raise InputError(
                    "with other numbers of hosts, the hosts of the platform are nodes of slurm.conf, so that the added "
                    f"ones are in its partitions: give -p a platform with the nodes of {path} "
                    "(batproto import LOG --nodes slurm.conf -p FILE)",
                    file=path,
                )


def _unlike(question: Question, machine: Platform | None) -> Iterator[str]:
    """Sentences on a slurm.conf whose nodes have other CPUs than their hosts: Slurm places jobs by its own."""
    hosts = () if machine is None else machine.computation_hosts
    cores = {host.name: host.cores for host in hosts}
    paths = (slurm_files(each)[0] for each in (question.today, *question.policies) if is_slurm(each))
    for path in dict.fromkeys(paths):
        nodes = read_configuration(path).nodes
        if any(node.name in cores for node in nodes):
            pairs = [(node, cores[node.name]) for node in nodes if node.name in cores]
        else:
            pairs = [(node, host.cores) for node, host in zip(nodes, hosts, strict=False)]
        other = [each for each in pairs if each[1] not in (each[0].cpus, each[0].cpus // each[0].threads_per_core)]
        if other:
            node, number = other[0]
            yield (
                f"{path} says that {node.name} has {many_of(node.cpus, 'CPU')}, and the platform that it has "
                f"{many_of(number, 'core')}{f' ({len(other):,} nodes are so)' if len(other) > 1 else ''}. Slurm places "
                "jobs by its own number, and other policies by that of the platform: make both equal"
            )


def _has_starts(workload: Workload) -> bool:
    """Whether the log has the starts of its jobs."""
    return any('"recorded"' in (workload.record(place).extra_data or "") for place in range(len(workload)))


def _for_runs(log: str, has_starts: bool) -> str:
    """The name of the workload that runs use: with the recorded starts, if it has them."""
    if not has_starts or not is_log(log.partition("?")[0]) or "recorded=" in log:
        return log
    return f"{log}{'&' if '?' in log else '?'}recorded=yes"


def _machine(platform: str) -> tuple[Platform | None, bool]:
    """The platform of a file, or None, and whether it has watts."""
    if not platform:
        return None, False
    found = read_platform(platform)
    if not found.computation_hosts:
        raise InputError("the platform has no computation hosts", file=platform)
    try:
        return read_platform(platform, energy=True), True
    except InputError:
        return found, False


def _file(platform: str, hosts: int, folder: str) -> str:
    """The file of a platform with another number of hosts."""
    stem = os.path.splitext(os.path.basename(platform))[0]
    return os.path.join(folder, f"{stem}-{hosts}.xml")


def _text(platform: Platform, hosts: int) -> str:
    """A platform with another number of hosts as XML."""
    try:
        return platform_xml(resized(platform, hosts))
    except InputError as error:
        raise InputError(f"another number of hosts is not possible: {error.reason}", file=platform.filename) from None


def _plain(value: float) -> int | float:
    """The number as a file of a study has it: whole numbers are integers, and so runs have the same names."""
    return int(value) if value == int(value) else value


def _with(value: Any, values: Sequence[Any]) -> list[Any]:
    """These values, each once, with the value of the log itself as the first one."""
    return list(dict.fromkeys([value, *values]))


# A study as the text of a TOML file, which `batproto study run` runs with the same numbers.


_WIDTH: Final = 120


def study_toml(keys: Mapping[str, Any], comments: Iterable[str] = ()) -> str:
    """The text of a study.

    Args:
        keys: the keys of the study: texts, numbers, truth values, tables of these, and lists.
        comments: sentences before the first key.

    >>> print(study_toml({"scheduler": ["fcfs", {"scheduler": "easy", "only": {"seed": 1}}], "energy": True}), end="")
    scheduler = ["fcfs", { scheduler = "easy", only = { seed = 1 } }]
    energy = true
    """
    lines = [f"# {' '.join(each.split())}" for each in comments]
    for key, value in keys.items():
        line = f"{key} = {_value(value)}"
        if len(line) > _WIDTH and isinstance(value, list | tuple):
            lines += [f"{key} = [", *(f"    {_value(each)}," for each in value), "]"]
        else:
            lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
