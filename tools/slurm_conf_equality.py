#!/usr/bin/env python3
"""Holds our reader of slurm.conf against a real slurmctld, field by field, for files drawn from the manual.

python tools/slurm_conf_equality.py                      # 200 files, of the seeds 0 to 199
python tools/slurm_conf_equality.py --seeds 500-699      # of others
python tools/slurm_conf_equality.py --keys               # how often each key is drawn
python tools/slurm_conf_equality.py site/slurm.conf ...  # files of sites, without their keys about other machines

slurmctld starts with each file, and `scontrol show config`, `partition`, `node` and `license` say what it has read. A
file that slurmctld refuses must be refused, or named. A warning of slurmctld must be named. The status is 1 if a
difference is not named.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from slurming.confs import drawn, drawn_keys, expected_keys
from slurming.controller import OWN_KEYS, Answer, ask

from batprotocol.errors import InputError
from batprotocol.sites.slurm.configuration import (
    NodeLine,
    PartitionLine,
    SlurmConfiguration,
    read_configuration,
)

__all__ = ["Verdict", "differences", "judged", "unheard"]


class Verdict(NamedTuple):
    """What became of a file.

    Attributes:
        name: its name.
        kind: `equal`, `refused` (by both), `named` (a difference that is named), or `silent`.
        details: the differences.
    """

    name: str
    kind: str
    details: tuple[str, ...] = ()


# What scontrol prints, as values


def _time(text: str) -> float:
    if text == "UNLIMITED":
        return math.inf
    days, _, clock = text.rpartition("-")
    hours, minutes, seconds = map(int, clock.split(":"))
    return int(days or 0) * 86400.0 + hours * 3600 + minutes * 60 + seconds


def _unlimited(text: str) -> int | None:
    return None if text in ("UNLIMITED", "0", "9223372036854775807", "18446744073709551615") else int(text)


def _number(text: str) -> float:
    return float(text.split()[0])


def _minutes(text: str) -> float:
    word = text.split()[0]
    return math.inf if word in ("UNLIMITED", "65535") else float(word) * 60


def _modes(text: str) -> tuple[str, bool, bool]:
    parts = {part.lower() for part in text.split(",")}
    return next(iter(parts - {"gang", "within"}), "off"), "gang" in parts, "within" in parts


def _gpus(text: str, key: str) -> int | None:
    found = re.search(rf"{key}=([0-9]+)", text)
    return _unlimited(found[1]) if found else None


CONFIG: Final[Mapping[str, tuple[Callable[[str], Any], Callable[[SlurmConfiguration], Any]]]] = {
    "AccountingStorageEnforce": (
        lambda text: set(text.split(",")) - {"none"},
        lambda conf: set(conf.jobs.enforce),
    ),
    "ClusterName": (str, lambda conf: conf.cluster),
    "CompleteWait": (_number, lambda conf: conf.jobs.complete_wait),
    "DependencyParameters": (
        lambda text: "kill_invalid_depend" in text.lower(),
        lambda conf: conf.jobs.kill_invalid_depend,
    ),
    "DefMemPerCPU": (_unlimited, lambda conf: conf.jobs.memory_per_cpu),
    "DefMemPerNode": (_unlimited, lambda conf: conf.jobs.memory_per_node),
    "MaxMemPerCPU": (_unlimited, lambda conf: conf.jobs.max_memory_per_cpu),
    "MaxMemPerNode": (_unlimited, lambda conf: conf.jobs.max_memory_per_node),
    "JobDefaults": (
        lambda text: (_gpus(text, "DefCpuPerGPU"), _gpus(text, "DefMemPerGPU")),
        lambda conf: (conf.jobs.cpus_per_gpu, conf.jobs.memory_per_gpu),
    ),
    "EnforcePartLimits": (str.lower, lambda conf: conf.jobs.enforce_limits),
    "FirstJobId": (int, lambda conf: conf.jobs.first_id),
    "FairShareDampeningFactor": (int, lambda conf: conf.priority.dampening),
    "GresTypes": (lambda text: () if text == "(null)" else tuple(text.split(",")), lambda conf: conf.gres_types),
    "JobRequeue": (lambda text: text == "1", lambda conf: conf.jobs.requeue),
    "KillWait": (_number, lambda conf: conf.jobs.kill_wait),
    "MaxArraySize": (int, lambda conf: conf.jobs.max_array_size),
    "MaxJobCount": (int, lambda conf: conf.jobs.max_count),
    "MinJobAge": (_number, lambda conf: conf.jobs.min_age),
    "OverTimeLimit": (_minutes, lambda conf: conf.jobs.over_time_limit),
    "PreemptMode": (_modes, lambda conf: (conf.preemption.mode, conf.preemption.gang, conf.preemption.within)),
    "PreemptType": (lambda text: text.partition("/")[2], lambda conf: conf.preemption.plugin),
    "PreemptExemptTime": (
        lambda text: 0.0 if text == "NONE" else _time(text),
        lambda conf: conf.preemption.exempt_time,
    ),
    "PriorityType": (lambda text: text.partition("/")[2], lambda conf: conf.priority.plugin),
    "PriorityDecayHalfLife": (_time, lambda conf: conf.priority.half_life),
    "PriorityCalcPeriod": (_time, lambda conf: conf.priority.calc_period),
    "PriorityMaxAge": (_time, lambda conf: conf.priority.max_age),
    "PriorityFavorSmall": (lambda text: text == "Yes", lambda conf: conf.priority.favor_small),
    "PriorityUsageResetPeriod": (str.lower, lambda conf: conf.priority.reset),
    **{
        f"PriorityWeight{name}": (int, lambda conf, field=field: getattr(conf.priority, f"weight_{field}"))
        for name, field in (
            *(("Age", "age"), ("Assoc", "assoc"), ("FairShare", "fairshare"), ("JobSize", "job_size")),
            *(("Partition", "partition"), ("QOS", "qos")),
        )
    },
    "ResvOverRun": (_minutes, lambda conf: conf.jobs.reservation_overrun),
    "ReturnToService": (int, lambda conf: conf.jobs.return_to_service),
    "SchedulerType": (lambda text: text.partition("/")[2], lambda conf: conf.scheduler.plugin),
    "SelectType": (lambda text: text.partition("/")[2], lambda conf: conf.select.plugin),
    "SelectTypeParameters": (
        lambda text: set(text.split(",")) - {"NONE"},
        lambda conf: _select_flags(conf.select),
    ),
    "TopologyPlugin": (lambda text: text.partition("/")[2], lambda conf: conf.topology),
    "TopologyParam": (lambda text: "topooptional" in text.lower(), lambda conf: conf.topology_optional),
    "PriorityFlags": (
        lambda text: set(text.split(",")) - {"NO_NORMAL_ALL", ""},
        lambda conf: {name for name, flag in PRIORITY_FLAGS.items() if flag(conf)},
    ),
}
"""How `scontrol show config` prints a parameter, and where the configuration has it."""

PRIORITY_FLAGS: Final[Mapping[str, Callable[[SlurmConfiguration], bool]]] = {
    "ACCRUE_ALWAYS": lambda conf: conf.priority.accrue_always,
    "SMALL_RELATIVE_TO_TIME": lambda conf: conf.priority.small_relative_to_time,
    "CALCULATE_RUNNING": lambda conf: conf.priority.calculate_running,
    "DEPTH_OBLIVIOUS": lambda conf: conf.priority.depth_oblivious,
    "NO_FAIR_TREE": lambda conf: not conf.priority.fair_tree,
    "INCR_ONLY": lambda conf: conf.priority.increase_only,
    "MAX_TRES": lambda conf: conf.priority.max_tres,
}
MULTIFACTOR: Final = ("FairShareDampeningFactor", "Priority")
"""The beginnings of parameters that scontrol only prints with priority/multifactor."""


def _select_flags(select: Any) -> set[str]:
    unit = "" if select.unit == "node" else f"CR_{select.unit.upper()}"
    memory = ("_MEMORY" if unit else "CR_MEMORY") if select.counts_memory else ""
    flags = {
        "CR_LLN": select.least_loaded,
        "CR_ONE_TASK_PER_CORE": select.one_task_per_core,
        "CR_PACK_NODES": select.pack_nodes,
        "CR_CORE_DEFAULT_DIST_BLOCK": select.block_cores,
    }
    return ({unit + memory} - {""}) | {name for name, flag in flags.items() if flag}


def _words(line: str) -> dict[str, str]:
    """The words `KEY=VALUE` of a line; a value goes on to the next one."""
    found = re.findall(r"(\w+)=(.*?)(?=\s+\w+=|$)", line)
    return {key: value.strip() for key, value in found}


NODE: Final = {
    "CPUTot": "cpus",
    "Sockets": "sockets",
    "Boards": "boards",
    "CoresPerSocket": "cores_per_socket",
    "ThreadsPerCore": "threads_per_core",
    "RealMemory": "memory",
    "TmpDisk": "disk",
    "Weight": "weight",
    "MemSpecLimit": "memory_reserved",
    "CoreSpecCount": "cores_reserved",
}
STATES: Final = {
    "UNKNOWN": "UNKNOWN",
    "DRAIN": "UNKNOWN+DRAIN",
    "FAIL": "IDLE+FAIL",
    "FAILING": "IDLE+FAIL",
}
HIDDEN: Final = ("FUTURE", "CLOUD")
"""The states of nodes that scontrol does not print."""
UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}


def _gres(text: str) -> dict[str, int]:
    found = {}
    for part in text.split(",") if text != "(null)" else ():
        name, _, count = re.sub(r"\(.*\)", "", part).rpartition(":")
        number = re.fullmatch(r"([0-9]+)([KMGTP]?)", count)
        if number is None:
            return {text: -1}
        found[name] = int(number[1]) << UNITS[number[2]]
    return {name: count for name, count in found.items() if count}


def _of_node(node: NodeLine, words: Mapping[str, str]) -> Iterator[str]:
    for name, field in NODE.items():
        if str(getattr(node, field)) != words.get(name, "0"):
            yield f"node {node.name}.{field}: {getattr(node, field)}, not {words.get(name)}"
    if (",".join(node.features) or "(null)") != words["AvailableFeatures"]:
        yield f"node {node.name}.features: {node.features}, not {words['AvailableFeatures']}"
    if dict(node.gres) != _gres(words["Gres"]):
        yield f"node {node.name}.gres: {node.gres}, not {words['Gres']}"
    if STATES.get(node.state, node.state) != words["State"]:
        yield f"node {node.name}.state: {node.state}, not {words['State']}"


PARTITION: Final[Mapping[str, tuple[Callable[[str], Any], Callable[[PartitionLine], Any]]]] = {
    "AllowGroups": (lambda text: None if text == "ALL" else tuple(text.split(",")), lambda each: each.allow_groups),
    "AllowAccounts": (lambda text: None if text == "ALL" else tuple(text.split(",")), lambda each: each.allow_accounts),
    "AllowQos": (lambda text: None if text == "ALL" else tuple(text.split(",")), lambda each: each.allow_qos),
    "DenyAccounts": (lambda text: tuple(text.split(",")), lambda each: each.deny_accounts),
    "DenyQos": (lambda text: tuple(text.split(",")), lambda each: each.deny_qos),
    "Alternate": (str, lambda each: each.alternate),
    "Default": (lambda text: text == "YES", lambda each: each.default),
    "QoS": (lambda text: None if text == "N/A" else text, lambda each: each.qos),
    "DefaultTime": (lambda text: None if text == "NONE" else _time(text), lambda each: each.default_time),
    "ExclusiveUser": (lambda text: text == "YES", lambda each: each.exclusive_user),
    "GraceTime": (float, lambda each: each.grace_time),
    "MaxNodes": (lambda text: None if text == "UNLIMITED" else int(text), lambda each: each.max_nodes),
    "MaxTime": (_time, lambda each: each.max_time),
    "MinNodes": (lambda text: 2**32 - 1 if text == "UNLIMITED" else int(text), lambda each: each.min_nodes),
    "LLN": (lambda text: text == "YES", lambda each: each.least_loaded),
    "MaxCPUsPerNode": (lambda text: None if text == "UNLIMITED" else int(text), lambda each: each.max_cpus_per_node),
    "PriorityJobFactor": (int, lambda each: each.priority_job_factor),
    "PriorityTier": (int, lambda each: each.priority_tier),
    "RootOnly": (lambda text: text == "YES", lambda each: each.root_only),
    "ReqResv": (lambda text: text == "YES", lambda each: each.needs_reservation),
    "OverTimeLimit": (
        lambda text: None if text == "NONE" else math.inf if text == "UNLIMITED" else float(text) * 60,
        lambda each: each.over_time_limit,
    ),
    "OverSubscribe": (
        lambda text: (text.split(":")[0].lower(), int(text.partition(":")[2] or 1)),
        lambda each: (each.over_subscribe, each.over_subscribe_jobs),
    ),
    "State": (str, lambda each: each.state),
    "SelectTypeParameters": (
        lambda text: set(text.split(",")) - {"NONE"},
        lambda each: set() if each.select is None else _select_flags(each.select),
    ),
    "JobDefaults": (
        lambda text: (_gpus(text, "DefCpuPerGPU"), _gpus(text, "DefMemPerGPU")),
        lambda each: (each.cpus_per_gpu, each.memory_per_gpu),
    ),
    "DefMemPerCPU": (_unlimited, lambda each: each.memory_per_cpu),
    "DefMemPerNode": (_unlimited, lambda each: each.memory_per_node),
    "MaxMemPerCPU": (_unlimited, lambda each: each.max_memory_per_cpu),
    "MaxMemPerNode": (_unlimited, lambda each: each.max_memory_per_node),
}
ABSENT: Final = {"DenyAccounts": "", "DenyQos": "", "Alternate": ""}
"""The parameters that scontrol leaves out if they are not set."""


def _of_partition(found: SlurmConfiguration, each: PartitionLine, words: Mapping[str, str]) -> Iterator[str]:
    for name, (printed, ours) in PARTITION.items():
        if name in words:
            expected = printed(words[name])
        elif name in ABSENT:
            expected = None if name == "Alternate" else ()
        elif name in ("AllowAccounts", "AllowQos"):
            expected = None
        else:
            expected = None
        if ours(each) != expected:
            yield f"partition {each.name}.{name}: {ours(each)}, not {words.get(name)}"
    mode = each.preempt_mode or "off"  # scontrol prints that of its own file, if there is none
    if "PreemptMode" in words:
        shown = _modes(words["PreemptMode"])
        if mode != (shown[0] if shown[0] != "off" else "gang" if shown[1] and each.preempt_mode else "off"):
            yield f"partition {each.name}.preempt_mode: {each.preempt_mode}, not {words['PreemptMode']}"
    weights = words.get("TRESBillingWeights")
    if (weights is None) != (each.billing_weights is None):
        yield f"partition {each.name}.billing_weights: {each.billing_weights}, not {weights}"
    if weights:
        shown_weights = {
            part.partition("=")[0].lower(): _weight(part.partition("=")[2]) for part in weights.split(",") if part
        }
        if dict(each.billing_weights or {}) != shown_weights:
            yield f"partition {each.name}.billing_weights: {each.billing_weights}, not {weights}"


def _weight(text: str) -> float:
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "M")
    return float(number) / {"K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}[unit]


def differences(found: SlurmConfiguration, answer: Answer) -> Iterator[str]:
    """The values that are not those that slurmctld printed."""
    config = dict((part.strip() for part in line.split("=", 1)) for line in answer.config.splitlines() if "=" in line)
    multifactor = found.priority.plugin == "multifactor"
    for name, (printed, ours) in CONFIG.items():
        if name in config and (multifactor or name == "PriorityType" or not name.startswith(MULTIFACTOR)):
            expected = printed(config[name])
            if ours(found) != expected:
                yield f"{name}: {ours(found)}, not {config[name]}"
        elif name in ("DefMemPerCPU", "MaxMemPerCPU", "DefMemPerNode", "MaxMemPerNode") and ours(found) is not None:
            yield f"{name}: {ours(found)}, not printed"
    nodes = {words["NodeName"]: words for words in map(_words, answer.nodes.splitlines()) if "NodeName" in words}
    names = [node.name for node in found.nodes if node.state not in HIDDEN]
    if sorted(names) != sorted(nodes):
        yield f"nodes: {sorted({*names} ^ {*nodes})}"
    for node in found.nodes:
        if node.name in nodes:
            yield from _of_node(node, nodes[node.name])
    lines = map(_words, answer.partitions.splitlines())
    partitions = {words["PartitionName"]: words for words in lines if "PartitionName" in words}
    if sorted(partitions) != sorted(each.name for each in found.partitions):
        yield f"partitions: {[each.name for each in found.partitions]}, not {list(partitions)}"
    for each in found.partitions:
        if each.name in partitions:
            yield from _of_partition(found, each, partitions[each.name])
            shown = partitions[each.name].get("TotalNodes", "0")
            futures = {node.name for node in found.nodes if node.state == "FUTURE"}
            if str(len(set(each.nodes) - futures)) != shown and str(len(each.nodes)) != shown:
                yield f"partition {each.name}.nodes: {len(each.nodes)}, not {shown}"
    licenses = {
        words["LicenseName"]: int(words["Total"])
        for words in map(_words, answer.licenses.splitlines())
        if "LicenseName" in words
    }
    if dict(found.licenses) != licenses:
        yield f"licenses: {dict(found.licenses)}, not {licenses}"


# What slurmctld warns of


QUIET: Final = re.compile(
    r"mpi/pmix|MPI:|state file|NOTE: Trying|default partition not set|High latency|_find_node_record: lookup failure"
    r"|Port [0-9]+ is used|power_save module|can only be used with SlurmDBD|No memory enforcing|Configured MailProg"
    r"|without SlurmDBD|We have no QOS|_get_group_members|needs to be set|JobAcctGatherParams|HealthCheckNodeState"
    r"|CpuFreq|KeepAliveTime|TreeWidth|MessageTimeout is too high|error: Ignoring obsolete|UnkillableStep"
    r"|PriorityWeight values too high|MaxJobId can not exceed|CpuBind=|gres.conf|read_slurm_conf: default"
    r"|Duplicate|Node configuration differs|sinfo|SwitchType|hostlist|Invalid BcastAddr|error: Could not"
    r"|MCSParameters|burst_buffer|Unable to resolve|get_addr|Parameter .* is deprecated|is deprecated|cpu_freq"
    r"|Parameters interval: |lack access to [0-9]+ nodes: $|Invalid GRES configured on node [^ ]+: [a-z]+:0$"
    r"|[Aa]ccounting information"
    r"|we have a shared gres|reconfig|SchedulerAuth|LaunchType|ReconfigFlags|InteractiveStep|RoutePlugin|cannot be used"
)
"""Lines that are about this machine, or about parameters that decide nothing in a simulation."""
SAID: Final[tuple[tuple[str, str], ...]] = (
    (r"(\w+) \d specified more than once", r"{0} is given again"),
    (r"^error: (\w+) specified more than once", r"{0} is given again"),
    (r"NodeNames=(\S+) CPUs=\d+ match no", r"NodeName={0} has CPUs="),
    (r"NodeNames=(\S+) (\w+)=0 is invalid", r"NodeName={0} has .*=0|NodeName={0} has MemSpecLimit"),
    (r"NodeNames=(\S+) Sockets=# and", r"NodeName={0} has Sockets and SocketsPerBoard"),
    (r"NodeNames=(\S+) Sockets\(\d+\) < Boards", r"NodeName={0} has \d+ sockets on"),
    (r"NodeNames=(\S+) CoreSpecCount=\d+ is invalid, reset", r"NodeName={0} has CoreSpecCount"),
    (r"NodeNames=(\S+) MemSpecLimit=", r"NodeName={0} has MemSpecLimit"),
    (r"NodeNames=(\S+) (?:CpuSpecList|CoreSpecCount)", r"NodeName={0} has (CpuSpecList|CoreSpecCount)"),
    (r"(D\w+) ignored, since", r"{0} is ignored by Slurm"),
    (r"(M\w+) ignored, since", r"{0} is ignored by Slurm"),
    (r"Both Allow(\w+) and Deny", r"Deny\w+ is ignored"),
    (r"DownNode \"(.*)\" does not exist", r"DownNodes has nodes that there are not"),
    (r"invalid state|Invalid State", r"DownNodes changes no state"),
    (r"Ignoring bad OverSubscribe", r"(OverSubscribe|Shared) has the value"),
    (r"Ignoring bad OverTimeLimit", r"OverTimeLimit has the value"),
    (r"Both bf_max_job_user and", r"bf_max_job_user is ignored"),
    (r"(bf_max_job_\w+) >= bf_max_job_test", r"SchedulerParameters/{0} limits nothing"),
    (r"DefaultTime exceeds MaxTime", r"DefaultTime is larger"),
    (r"MinJobAge must", r"MinJobAge is less"),
    (r"MaxArraySize value", r"MaxArraySize is larger"),
    (r"SchedulerTimeSlice must", r"SchedulerTimeSlice is less"),
    (r"Invalid SchedulerParameters (bf_hetjob_prio)", r"SchedulerParameters/{0} is not followed"),
    (r"Invalid .*?(bf_\w+|max_rpc_cnt|\w+): -?\d+", r"SchedulerParameters/{0} keeps its default"),
    (r"You can not have AccountingStorageEnforce", r"AccountingStorageEnforce needs"),
    (r"Invalid GRES configured|Bad GRES", r"Gres=\S+ is not in GresTypes"),
    (r"Invalid hostnames in switch", r"Nodes has nodes that there are not"),
    (r"Multiple leaf switches", r"Nodes has nodes of another switch"),
    (r"No switches configured", r"has no switches"),
    (r"switches lack access", r"has no switch for"),
    (r"Resetting MaxJobCount", r"MaxJobCount"),
)
"""Lines of the log, and what must be said of them."""


def unheard(found: SlurmConfiguration, answer: Answer) -> Iterator[str]:
    """The warnings of slurmctld that are not named."""
    named = [f"{each.name} {each.reason}" for each in found.not_followed]
    for line in dict.fromkeys(answer.log.splitlines()):
        said = re.search(r"specified more than once", line)
        if said and any(key in line.lower() for key in OWN_KEYS):
            continue
        if not (line.startswith("error: ") or "DefaultTime exceeds" in line) or QUIET.search(line):
            continue
        for pattern, wanted in SAID:
            match = re.search(pattern, line)
            if match is not None:
                words = [re.escape(word) for word in match.groups()]
                if not any(re.search(wanted.format(*words), each, re.IGNORECASE) for each in named):
                    yield f"slurmctld warns: {line}"
                break
        else:
            yield f"slurmctld says: {line}"


# Verdicts


def judged(name: str, files: Mapping[str, str], folder: Path) -> Verdict:
    """Read files, ask slurmctld about them, and compare.

    Args:
        name: the name of the files.
        files: their texts, by name.
        folder: a folder that does not exist.
    """
    try:
        answer = ask(files, folder)
    except TimeoutError as error:
        return Verdict(name, "silent", (f"slurmctld does not answer: {str(error)[-300:]}",))
    (folder / "slurm.conf").write_text(files["slurm.conf"])
    return compared(name, folder / "slurm.conf", answer)


def compared(name: str, path: Path, answer: Answer) -> Verdict:
    """The same for an answer that there is."""
    try:
        found = read_configuration(path)
    except InputError as error:
        if answer.refused:
            return Verdict(name, "refused", (str(error),))
        return Verdict(name, "silent", (f"is refused, and Slurm takes it: {error}",))
    named = [str(each) for each in found.not_followed]
    if answer.refused:
        why = [line for line in answer.log.splitlines() if "error" in line or "fatal" in line]
        kind = "named" if any("refuses" in each for each in named) else "silent"
        return Verdict(
            name, kind, ("is taken, and Slurm refuses it: " + " / ".join(dict.fromkeys(why))[-400:], *named[:3])
        )
    details = (*differences(found, answer), *unheard(found, answer))
    if not details:
        return Verdict(name, "equal")
    left = [each for each in details if not _is_named(each, named)]
    return Verdict(name, "silent" if left else "named", tuple(left or details))


def _is_named(detail: str, named: Sequence[str]) -> bool:
    """Whether a difference is about a parameter that is not followed."""
    if ".gres" in detail:
        return any("reads in another way" in each for each in named)
    return False


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def _site(path: Path) -> dict[str, str]:
    """The files of a site, without the keys that are about its machines."""
    kept = []
    for line in path.read_text(errors="replace").splitlines():
        key = re.match(r"\s*(\w+)\s*=", line)
        if key and key[1].lower() in OWN_KEYS | {"slurmctldaddr", "backupcontroller", "backupaddr", "controladdr"}:
            line = ""
        if re.match(r"\s*NodeName", line, re.IGNORECASE) and "DEFAULT" not in line.upper():
            line = re.sub(r"\s(NodeAddr|NodeHostname|Port)=\S+", "", line, flags=re.IGNORECASE)
        kept.append(line)
    others = {each.name: each.read_text() for each in path.parent.iterdir() if each.is_file() and each != path}
    return {**others, "slurm.conf": "\n".join(kept) + "\n"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdicts; the status is 1 if a difference is not named."""
    parser = argparse.ArgumentParser(description="Hold the reader of slurm.conf against a real slurmctld.")
    parser.add_argument("paths", nargs="*", type=Path, help="files of sites (default: drawn ones)")
    parser.add_argument("--seeds", type=_seeds, default=_seeds("0-199"), metavar="FIRST-LAST", help="the seeds")
    parser.add_argument("--keys", action="store_true", help="print how often each key is drawn")
    parser.add_argument("--all", action="store_true", help="print all verdicts, also equal ones")
    given = parser.parse_args(arguments)
    if given.keys:
        counts: Counter[str] = sum((drawn_keys(drawn(seed)) for seed in given.seeds), Counter())
        print(*(f"| {key} | {counts[key]} |" for key in sorted(expected_keys())), sep="\n")
        return 0
    cases: list[tuple[str, Mapping[str, str]]] = [(str(path), _site(path)) for path in given.paths]
    cases = cases or [(f"seed {seed}", drawn(seed)) for seed in given.seeds]
    with tempfile.TemporaryDirectory(prefix="slurm-conf-") as folder, ThreadPoolExecutor(2) as pool:
        numbered = enumerate(cases)
        verdicts = list(pool.map(lambda each: judged(*each[1], Path(folder) / str(each[0])), numbered))
    for verdict in verdicts:
        if verdict.kind == "silent" or given.all:
            print(f"{verdict.name}: {verdict.kind}", *verdict.details[:12], sep="\n    ")
    sums = Counter(verdict.kind for verdict in verdicts)
    print(
        f"{len(verdicts)} files:", ", ".join(f"{sums[kind]} {kind}" for kind in ("equal", "refused", "named", "silent"))
    )
    return int(sums["silent"] > 0)


if __name__ == "__main__":
    sys.exit(main())
