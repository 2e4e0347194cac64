"""Kinds of plans whose jobs are suspended and go on: by preemption, by time slices of a gang, and by operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from slurming.recorder.kinds.accounts import factors, tree
from slurming.recorder.kinds.parts import LINEAR, base, nodes, parameters, some, with_words
from slurming.recorder.kinds.shared import drawn_cores
from slurming.recorder.plans import Asked, Given, Nodes, Plan
from slurming.recorder.workloads import Shape, jobs, sized

__all__ = ["SUSPENDS"]

USUAL = "MaxTime=INFINITE DefaultTime=10 State=UP"


def _commands(draw: Random, asked: list[Asked], count: int) -> list[Given]:
    """Operators suspend jobs, and let most of them go on later."""
    made = []
    for number in draw.sample(range(len(asked)), min(count, len(asked))):
        at = round(asked[number].at + draw.uniform(2, 40), 1)
        made.append(Given(at, ["scontrol", "suspend", f"{{{number}}}"]))
        if draw.random() < 0.9:
            later = round(at + draw.uniform(5, 70), 1)
            made.append(Given(later, ["scontrol", "resume", f"{{{number}}}"]))
    return made


def _cluster(draw: Random, kinds: list[str]) -> tuple[dict[str, str], list[Nodes], Shape]:
    """A cluster and the shape of its jobs: jobs share cores of these kinds, or have whole nodes if there are none."""
    if not kinds:
        groups = nodes(draw)
        return {**LINEAR}, groups, sized(max(2, groups[0].count * 2 // 3))
    count = draw.randint(3, 5)
    memory = draw.choice(["RealMemory=8000", "RealMemory=16000"])
    conf = {**LINEAR, "SelectType": "select/cons_tres", "SelectTypeParameters": draw.choice(kinds)}
    return conf, [Nodes(count, f"CPUs=4 {memory}")], drawn_cores(4 * count, count)


def _preempted(draw: Random, by_core: bool) -> Plan:
    """Jobs of partitions with larger tiers suspend those of the others."""
    kinds = ["CR_Core", "CR_Core_Memory", "CR_CPU", "CR_CPU_Memory"] if by_core else []
    conf, groups, shape = _cluster(draw, kinds)
    count = groups[0].count
    if by_core:
        words = [["-p", "mid"], ["-p", "high"], ["-p", "low,mid"], ["--mem=2000"], ["-p", "high", "--mem-per-cpu=1000"]]
        usual = f"DefMemPerCPU=1000 {USUAL}"
    else:
        words, usual = [["-p", "mid"], ["-p", "high"], ["-p", "low,mid"], ["--no-requeue"]], USUAL
    conf |= parameters(draw) | {"PreemptType": "preempt/partition_prio", "PreemptMode": "SUSPEND,GANG"}
    conf |= some(draw, 0.6, SchedulerTimeSlice=draw.choice(["10", "20"]))
    keys = ["", "", "", "PreemptMode=OFF", "PreemptMode=REQUEUE", "PreemptMode=SUSPEND", "GraceTime=20"]
    low, mid, high = draw.choice(keys), draw.choice(keys), draw.choice(["", "PreemptMode=OFF"])
    first, last = draw.randint(0, 2), draw.randint(count // 2, count - 1)
    lines = [
        f"PartitionName=low Nodes=ALL Default=YES PriorityTier=1 {low} {usual}",
        f"PartitionName=mid Nodes=n[0-{last}] PriorityTier=5 {mid} {usual}",
        f"PartitionName=high Nodes=n[{min(first, count - 2)}-{count - 1}] PriorityTier=10 {high} {usual}",
    ]
    asked = with_words(draw, jobs(draw, shape), 0.55, words)
    events = _commands(draw, asked, draw.randint(2, 5)) if draw.random() < 0.35 else []
    return base(conf, groups, asked, partitions=lines, events=events, longest=620)


def gang(draw: Random) -> Plan:
    """Jobs that share nodes or cores take turns (OverSubscribe=FORCE:n with GANG)."""
    kinds = ["CR_Core", "CR_CPU", "CR_Core_Memory"] if draw.random() < 0.5 else []
    conf, groups, shape = _cluster(draw, kinds)
    count = groups[0].count
    usual = f"DefMemPerCPU=500 {USUAL}" if kinds else USUAL
    conf |= parameters(draw) | {"PreemptMode": "GANG"} | {"SchedulerTimeSlice": draw.choice(["5", "10", "15", "30"])}
    share = draw.choice(["FORCE:2", "FORCE:2", "FORCE:3", "YES:2"])
    lines = [f"PartitionName=all Nodes=ALL Default=YES OverSubscribe={share} {usual}"]
    words = [["--oversubscribe"]]
    if draw.random() < 0.4:
        lines.append(f"PartitionName=b Nodes=n[0-{count // 2}] {usual}")
        words.append(["-p", "b"])
    if draw.random() < 0.4:  # both: jobs of another partition come first
        conf |= {"PreemptType": "preempt/partition_prio", "PreemptMode": "SUSPEND,GANG"}
        lines.append(f"PartitionName=high Nodes=n[0-{count - 2}] PriorityTier=10 {usual}")
        words.append(["-p", "high"])
    asked = with_words(draw, jobs(draw, shape, busy=(300, 460)), 0.4, words)
    return base(conf, groups, asked, partitions=lines, longest=620)


def suspended(draw: Random) -> Plan:
    """Operators suspend jobs and let them go on, without gang or with it."""
    kinds = ["CR_Core", "CR_Core_Memory", "CR_CPU"] if draw.random() < 0.5 else []
    conf, groups, shape = _cluster(draw, kinds)
    usual = f"DefMemPerCPU=1000 {USUAL}" if kinds else USUAL
    conf |= parameters(draw) | some(draw, 0.3, PreemptMode="GANG")
    asked = jobs(draw, shape, until=200, busy=(110, 170))  # most of them start soon
    events = _commands(draw, asked, draw.randint(8, 16))
    lines = [f"PartitionName=all Nodes=ALL Default=YES {usual}"]
    return base(conf, groups, asked, partitions=lines, events=events, longest=620)


def suspend_qos(draw: Random) -> Plan:
    """Jobs of a quality of service suspend those of another one."""
    conf, groups, shape = _cluster(draw, ["CR_Core", "CR_CPU"] if draw.random() < 0.5 else [])
    count = groups[0].count
    conf |= parameters(draw) | factors(draw)
    conf |= {"PreemptType": "preempt/qos", "PreemptMode": "SUSPEND,GANG"}
    conf |= {"AccountingStorageEnforce": "associations,limits,qos"} | some(draw, 0.6, SchedulerTimeSlice="10")
    setup = [*tree(draw), ["modify", "qos", "high", "set", draw.choice(["preempt=low", "preempt=low,normal"])]]
    if draw.random() < 0.2:
        setup.append(["modify", "qos", "low", "set", "PreemptMode=requeue"])
    lines = [f"PartitionName=all Nodes=ALL Default=YES {USUAL}"]
    words = [["--qos", "high"], ["--qos", "low"]]
    if draw.random() < 0.5:
        lines.append(f"PartitionName=b Nodes=n[0-{count // 2}] {USUAL}")
        words.append(["-p", "b", "--qos", "high"])
    asked = with_words(draw, jobs(draw, shape), 0.8, words)
    return base(conf, groups, asked, partitions=lines, setup=setup, longest=620)


SUSPENDS: dict[str, Callable[[Random], Plan]] = {
    "gang": gang,
    "suspend": partial(_preempted, by_core=False),
    "suspend_cores": partial(_preempted, by_core=True),
    "suspend_qos": suspend_qos,
    "suspended": suspended,
}
