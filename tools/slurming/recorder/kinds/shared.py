"""Kinds of plans whose jobs share nodes: cores, memory and GPUs, with select/cons_tres."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from slurming.recorder.kinds.parts import ALL, LINEAR, base, parameters, with_words
from slurming.recorder.plans import Nodes, Plan
from slurming.recorder.workloads import jobs

__all__ = ["SHARED", "SIZES", "drawn_cores"]

SIZES = (("-n1", 1), ("-n2", 2), ("-n4", 4), ("-n6", 6), ("-n1 -c2", 2), ("-n2 -c3", 6), ("-n1 -c4", 4), ("-n10", 10))


def _conf(draw: Random, select: str) -> dict[str, str]:
    return {**LINEAR, "SelectType": "select/cons_tres", "SelectTypeParameters": select} | parameters(draw)


def drawn_cores(total: int, nodes: int) -> Callable[[Random], tuple[float, list[str]]]:
    def draw_one(draw: Random) -> tuple[float, list[str]]:
        if draw.random() < 0.2:
            count = draw.randint(1, max(1, nodes // 2))
            tasks = draw.choice([1, 2, 4])
            return count * tasks / total, ["-N", str(count), f"--ntasks-per-node={tasks}"]
        if draw.random() < 0.1:
            count = draw.randint(1, 2)
            return count / nodes, ["-N", str(count), "--exclusive"]
        words, cores = draw.choice(SIZES)
        return cores / total, words.split()

    return draw_one


def cores(draw: Random) -> Plan:
    """Cores, and memory where it counts."""
    select = draw.choice(["CR_Core", "CR_Core_Memory", "CR_CPU", "CR_Core,CR_LLN", "CR_CPU_Memory"])
    groups = [Nodes(draw.randint(3, 5), "CPUs=4 RealMemory=8000")]
    if draw.random() < 0.6:
        words = "CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=16000"
        groups.append(Nodes(draw.randint(1, 3), words + draw.choice(["", " Weight=5"])))
    size = sum(group.count for group in groups)
    total = sum(group.count * int(group.conf.split()[0][5:]) for group in groups)
    asked = jobs(draw, drawn_cores(total, size), count=(32, 42), busy=(330, 430))
    memory = [["--mem=2000"], ["--mem-per-cpu=1500"], ["--mem=7000"], ["--mem-per-cpu=3000"]]
    asked = with_words(draw, asked, 0.3 if "Memory" in select else 0.1, memory)
    line = ALL.replace("State", "DefMemPerCPU=1000 State")
    if draw.random() < 0.2:
        line = line.replace("State", f"OverSubscribe={draw.choice(['EXCLUSIVE', 'FORCE:2', 'YES:2'])} State")
    return base(_conf(draw, select), groups, asked, partitions=[line])


def gpus(draw: Random) -> Plan:
    """Nodes with and without GPUs, and with features."""
    select = draw.choice(["CR_Core", "CR_Core_Memory"])
    words = "CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1"
    first, last = draw.randint(2, 4), draw.randint(2, 3)
    each = draw.choice([2, 4])
    groups = [
        Nodes(first, "CPUs=4 RealMemory=8000 Feature=old,ib"),
        Nodes(last, f"{words} RealMemory=16000 Feature=new,gpu Gres=gpu:{each} Weight=20"),
    ]
    gres = f"NodeName=n[{first}-{first + last - 1}] Name=gpu File=/dev/gpu[0-{each - 1}]\n"
    total = first * 4 + last * 8
    plain = drawn_cores(total, first + last)

    def draw_one(generator: Random) -> tuple[float, list[str]]:
        if generator.random() < 0.5:
            return plain(generator)
        count = generator.randint(1, each)
        asked = generator.choice(
            [
                ["-n1", f"--gres=gpu:{count}"],
                [f"--gpus={count}"],
                ["-N", "2", f"--gres=gpu:{generator.randint(1, each)}"],
                ["-n2", f"--gpus-per-node={count}", "-N", "1"],
                ["-n2", "--gpus-per-task=1"],
                ["-n1", "-c3", f"--gres=gpu:{count}"],
            ]
        )
        return count / (last * each), asked

    asked = jobs(draw, draw_one, count=(30, 40), busy=(300, 400))
    asked = with_words(draw, asked, 0.25, [["-C", "new"], ["-C", "old"], ["-C", "ib"], ["--mem=2000"], ["--mem=6000"]])
    conf = _conf(draw, select) | {"GresTypes": "gpu"}
    line = ALL.replace("State", "DefMemPerCPU=1000 State")
    return base(conf, groups, asked, partitions=[line], gres=gres)


SHARED: dict[str, Callable[[Random], Plan]] = {each.__name__: each for each in (cores, gpus)}
