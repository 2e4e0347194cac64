#!/usr/bin/env python3
"""Asks a real Slurm which nodes, CPUs and GPUs a job gets, in thousands of states, and keeps the answers.

python tools/slurm_choices.py --seeds 1-12 choices.json.xz                 # all kinds
python tools/slurm_choices.py --seeds 7 --kind gpus --count 500 gpus.json.xz

A seed makes a cluster of a kind. `salloc --immediate` asks it for one job after the other, some of which end in
between, so each answer depends on the state that the answers before it left. No job runs, and nothing waits: an answer
takes a tenth of a second. `tests/policies/slurm/test_choices.py` asks the policy `slurm` in the same states.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools")]

from slurm_equality import seeds_of
from slurming.recorder.clusters import Planned
from slurming.recorder.plans import Nodes, Plan
from slurming.situations import expanded

__all__ = ["KINDS", "ask"]

_EIGHT: Final = "CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1"
_ALL: Final = "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=10"
_MOST: Final = 14
"""The jobs that are there at once at most."""
_PATIENCE: Final = 20.0

Questions = Callable[[Random], list[str]]
"""The options of a job, drawn."""


def _conf(select: str, **more: str) -> dict[str, str]:
    return {"SelectType": "select/cons_tres", "SelectTypeParameters": select, **more}


def _one_of(draw: Random, *texts: str) -> list[str]:
    return draw.choice(texts).split()


def sharing(draw: Random) -> tuple[Plan, Questions]:
    """Two partitions, whose jobs share cores or not."""
    groups = [Nodes(draw.randint(3, 4), "CPUs=4 RealMemory=8000")]
    groups.append(Nodes(draw.randint(2, 3), f"{_EIGHT} RealMemory=16000"))
    memory = draw.choice(["", " DefMemPerCPU=700"])
    first, second = draw.choice(["YES:2", "YES:4", "YES:2", "NO", "FORCE:2"]), draw.choice(["NO", "YES:2", "NO"])
    last = sum(each.count for each in groups) - 1
    partitions = [
        f"{_ALL}{memory} OverSubscribe={first} State=UP",
        f"PartitionName=two Nodes=n[2-{last}] MaxTime=INFINITE DefaultTime=10{memory} OverSubscribe={second} State=UP",
    ]

    def question(draw: Random) -> list[str]:
        count, tasks = draw.randint(1, 3), draw.randint(1, 3)
        words = _one_of(
            draw,
            *("-n1", "-n2", "-n3", "-n4", "-n5", "-n6", "-n1 -c2", "-n2 -c2", "-n3 -c2", "-n1 -c3", "-n2 -c3"),
            *(f"-N{count} --ntasks-per-node={tasks}", f"-N{count}", "-N2 -n5", "-N1-3", "-N1-3 -n4", "-N2-4 -n6"),
        )
        options = ("--oversubscribe", "--exclusive=user", "--exclusive", "--spread-job", "--use-min-nodes")
        if draw.random() < 0.5:
            words += draw.choices(options, (25, 8, 5, 7, 7))
        return words + (["-p", "two"] if draw.random() < 0.15 else [])

    select = draw.choice(["CR_Core", "CR_CPU", "CR_Core_Memory"])
    return Plan("sharing", 0, _conf(select), groups, partitions, []), question


def features(draw: Random) -> tuple[Plan, Questions]:
    """Nodes with features and weights."""
    groups = [
        Nodes(3, "CPUs=4 Feature=a,fast"),
        Nodes(3, "CPUs=4 Feature=b,fast" + draw.choice([" Weight=4", "", ""])),
        Nodes(3, draw.choice(["CPUs=4", "CPUs=2", _EIGHT]) + " Feature=b,slow" + draw.choice(["", " Weight=2"])),
    ]

    def question(draw: Random) -> list[str]:
        least = draw.randint(1, 4)
        sizes = (
            f"-N{least}",
            f"-n{least}",
            f"-N{least}-{least + 2}",
            f"-n{least + 2}",
            f"-N{min(least, 3)} -n{least + 4}",
        )
        words, node = _one_of(draw, *sizes), draw.randint(0, 8)
        more = _one_of(
            draw,
            *("--contiguous", "--spread-job", "--use-min-nodes", f"-x n{node}", f"-w n{node}"),
            *(f"-w n{node} --contiguous", "-C [a|b]", "-C [fast|slow]", "-C a|slow", "-C fast&b", "-C fast"),
            *("-C [a*1&b*2]", "-C [fast*1&slow*1]", "-C [b*2&a*1]", "-C [slow*1&fast*2]"),
        )
        if "*" in more[-1]:
            return ["-N3", *more]
        return words + more if draw.random() < 0.8 else words

    plan = Plan("features", 0, _conf(draw.choice(["CR_Core", "CR_Core", "CR_CPU"])), groups, [f"{_ALL} State=UP"], [])
    return plan, question


def gpus(draw: Random) -> tuple[Plan, Questions]:
    """Nodes with GPUs of two types, of one, and of none."""
    first, weight = draw.choice(["CPUs=8", _EIGHT]), draw.choice(["Weight=5", "Weight=1"])
    groups = [
        Nodes(2, f"{first} RealMemory=16000 Gres=gpu:a100:2,gpu:v100:2"),
        Nodes(2, f"{first} RealMemory=16000 Gres=gpu:v100:4 {weight}"),
        Nodes(2, "CPUs=4 RealMemory=8000"),
    ]
    gres = (
        "NodeName=n[0-1] Name=gpu Type=a100 File=/dev/gpu[0-1]\n"
        "NodeName=n[0-1] Name=gpu Type=v100 File=/dev/gpu[2-3]\n"
        "NodeName=n[2-3] Name=gpu Type=v100 File=/dev/gpu[0-3]\n"
    )

    def question(draw: Random) -> list[str]:
        kind, some = draw.choice(["", "", "v100:", "a100:"]), draw.randint(1, 5)
        few, each = draw.randint(1, 3), draw.randint(1, 3)
        return _one_of(
            draw,
            *(f"-n1 --gres=gpu:{kind}{few}", f"-n1 --gres=gpu:{kind}1", "-n1 --gres=gpu:a100:1,gpu:v100:1"),
            *(f"-n4 --gres=gpu:{kind}1", f"-n1 -c3 --gres=gpu:{kind}1", f"-n2 -c2 --gres=gpu:{kind}1"),
            *(f"-N2 --gres=gpu:{kind}{min(few, 2)}", f"-N2 --ntasks-per-node=2 --gres=gpu:{kind}1"),
            *(f"-N1 -n3 --gpus-per-node={kind}{min(few, 2)}", f"--gpus={kind}{some}", f"--gpus={kind}1"),
            *(f"-n4 --gpus={kind}2", f"-N2 --gpus={kind}{min(some + 1, 4)}", f"-n2 --gpus-per-task={kind}1"),
            *(f"-n3 --gpus-per-task={kind}1", f"-n2 -c2 --gpus-per-task={kind}1"),
            *(f"--gpus={kind}{few} --cpus-per-gpu={each}", f"-n1 --gres=gpu:{kind}1 --cpus-per-gpu={few}"),
            *(f"-n1 --gres=gpu:{min(few, 2)} --mem-per-gpu={1500 * each}", f"--gpus={few} --mem-per-gpu=3000"),
            *("-n5", "-n2", "-n6", "-n1 -c3", "-n3 -c2", "-n2 -c2", "-N2 --ntasks-per-node=3"),
        )

    conf = _conf(draw.choice(["CR_Core", "CR_Core", "CR_Core_Memory"]), GresTypes="gpu")
    return Plan("gpus", 0, conf, groups, [f"{_ALL} DefMemPerCPU=800 State=UP"], [], gres=gres), question


def units(draw: Random) -> tuple[Plan, Questions]:
    """Nodes with sockets and threads, whose CPUs, cores or sockets are given out, with memory or without."""
    threads = "CPUs=8 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2", "CPUs=8 Sockets=1 CoresPerSocket=4 ThreadsPerCore=2"
    groups = [Nodes(3, draw.choice(["CPUs=4", _EIGHT, threads[0]]) + " RealMemory=8000")]
    groups.append(Nodes(3, draw.choice([_EIGHT, threads[1]]) + " RealMemory=16000" + draw.choice(["", " Weight=3"])))
    select = draw.choice(["CR_Core", "CR_CPU", "CR_Socket", "CR_Core_Memory", "CR_CPU_Memory"])
    line = f"{_ALL} DefMemPerCPU=1000{draw.choice(['', ' OverSubscribe=EXCLUSIVE', ''])} State=UP"

    def question(draw: Random) -> list[str]:
        least, tasks, node = draw.randint(1, 3), draw.randint(1, 9), draw.randint(0, 5)
        each = f"--ntasks-per-node={draw.randint(1, 3)}"
        sizes = f"-n{tasks}", f"-n{least} -c{draw.randint(2, 3)}", f"-N{least}", f"-N{least} -n{least + tasks // 2}"
        ranges = f"-N{least}-{least + 2}", f"-N{least} {each}", f"-N{least}-{least + 1} {each}", f"-N{least} {each} -c2"
        words = _one_of(draw, *sizes, *ranges)
        memory = f"--mem={draw.choice([500, 3000, 7000])}", f"--mem-per-cpu={draw.choice([500, 1500, 3000])}"
        more = "--exclusive", *memory, "--hint=nomultithread", "--spread-job", f"-w n{node}"
        return words + _one_of(draw, *more) if draw.random() < 0.5 else words

    return Plan("units", 0, _conf(select), groups, [line], []), question


def trees(draw: Random) -> tuple[Plan, Questions]:
    """Nodes at the leaves of a tree of switches."""
    groups = [Nodes(6, "CPUs=4 Feature=a")]
    groups.append(Nodes(6, draw.choice(["CPUs=4", "CPUs=8"]) + " Feature=b" + draw.choice(["", " Weight=3"])))
    leaves = [f"SwitchName=s{leaf} Nodes=n[{3 * leaf}-{3 * leaf + 2}]" for leaf in range(4)]
    above = ["SwitchName=t0 Switches=s[0-1]", "SwitchName=t1 Switches=s[2-3]", "SwitchName=root Switches=t[0-1]"]

    def question(draw: Random) -> list[str]:
        least, node = draw.randint(1, 6), draw.randint(0, 11)
        sizes = f"-N{least}", f"-n{2 * least}", f"-N{least}-{least + 2}", f"-N{least} -n{least + draw.randint(0, 6)}"
        more = f"-w n{node}", f"-x n{node}", "--contiguous", "--use-min-nodes", "-C a", "-C b", "--exclusive"
        words = _one_of(draw, *sizes)
        return words + _one_of(draw, *more) if draw.random() < 0.4 else words

    conf = _conf("CR_Core", TopologyPlugin="topology/tree")
    topology = "\n".join([*leaves, *above, ""])
    return Plan("trees", 0, conf, groups, [f"{_ALL} State=UP"], [], topology=topology), question


def capped(draw: Random) -> tuple[Plan, Questions]:
    """Two partitions with limits of CPUs and memory on each node."""
    threads = "CPUs=8 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2"
    groups = [Nodes(3, f"{draw.choice([_EIGHT, 'CPUs=6', threads])} RealMemory=8000")]
    groups.append(Nodes(2, f"{draw.choice([_EIGHT, threads])} RealMemory=16000"))
    memory = "", "MaxMemPerCPU=1500", "MaxMemPerCPU=700", "MaxMemPerNode=6000"
    caps = [f"MaxCPUsPerNode={draw.choice([2, 3, 4, 5, 6])} MaxMemPerNode=7000", draw.choice(memory)]
    draw.shuffle(caps)
    sharing = draw.choice(["", "", "OverSubscribe=FORCE:2", "OverSubscribe=YES:2"])
    use = draw.choice(["DefMemPerCPU=500", "DefMemPerNode=2000"])
    partitions = [
        f"{_ALL} {use} {caps[0]} {sharing} State=UP",
        f"PartitionName=two Nodes=n[1-4] MaxTime=INFINITE DefaultTime=10 {use} {caps[1]} State=UP",
    ]

    def question(draw: Random) -> list[str]:
        least, tasks = draw.randint(1, 3), draw.randint(1, 9)
        sizes = f"-n{tasks}", f"-n{least} -c{draw.randint(2, 3)}", f"-N{least}", f"-N{least} -n{least + tasks // 2}"
        words = _one_of(draw, *sizes, f"-N{least} --ntasks-per-node={draw.randint(1, 3)}", f"-N{least}-{least + 2}")
        given = f"--mem={draw.choice([500, 1600, 3000, 5000, 7000])}", f"--mem-per-cpu={draw.choice([300, 1600, 2500])}"
        more = (*given, *given, "--mem=0", "--exclusive", "--spread-job", f"-w n{draw.randint(0, 4)}")
        words += _one_of(draw, *more) if draw.random() < 0.5 else []
        return words + (["-p", "two"] if draw.random() < 0.4 else [])

    conf = _conf(draw.choice(["CR_Core", "CR_CPU", "CR_Core_Memory", "CR_Core_Memory", "CR_CPU_Memory"]))
    if draw.random() < 0.4:
        conf |= draw.choice([{"MaxMemPerCPU": "1000"}, {"MaxMemPerNode": "4000"}])
    return Plan("capped", 0, conf, groups, [" ".join(line.split()) for line in partitions], []), question


def special(draw: Random) -> tuple[Plan, Questions]:
    """Nodes with cores and memory that are the system's."""
    threads = "CPUs=8 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2"
    cores = (
        "CoreSpecCount=1",
        "CoreSpecCount=2",
        "CoreSpecCount=3",
        "CpuSpecList=0",
        "CpuSpecList=1,4-5",
        "CpuSpecList=7",
    )
    memory = "", "MemSpecLimit=900"
    groups = [
        Nodes(2, f"{_EIGHT} RealMemory=8000 {draw.choice(cores)} {draw.choice(memory)}".strip()),
        Nodes(
            2, f"{draw.choice([threads, _EIGHT])} RealMemory=8000 {draw.choice(cores)} {draw.choice(memory)}".strip()
        ),
        Nodes(1, f"{_EIGHT} RealMemory=8000"),
    ]
    sharing = draw.choice(["", "", " OverSubscribe=YES:2"])
    line = f"{_ALL} {draw.choice(['DefMemPerCPU=500', 'DefMemPerNode=2000'])}{sharing} State=UP"

    def question(draw: Random) -> list[str]:
        least, tasks = draw.randint(1, 3), draw.randint(1, 9)
        sizes = f"-n{tasks}", f"-n{least} -c{draw.randint(2, 3)}", f"-N{least}", f"-N{least} -n{least + tasks}"
        words = _one_of(draw, *sizes, f"-N{least} --ntasks-per-node={draw.randint(1, 3)}", f"-N{least}-{least + 2}")
        more = "--exclusive", "--exclusive", "--oversubscribe", "--spread-job", "--core-spec=1", "--mem-per-cpu=1000"
        words += _one_of(draw, *more, "--mem=7500", f"-w n{draw.randint(0, 4)}") if draw.random() < 0.5 else []
        return words

    conf = _conf(draw.choice(["CR_Core", "CR_CPU", "CR_Core_Memory", "CR_Core_Memory"]))
    return Plan("special", 0, conf, groups, [line], []), question


def gpu_defaults(draw: Random) -> tuple[Plan, Questions]:
    """Nodes with GPUs that bring CPUs and memory along, and jobs that name their tasks."""
    first = draw.choice(["CPUs=4", "CPUs=8", _EIGHT])
    groups = [
        Nodes(3, f"{first} RealMemory=16000 Gres=gpu:{draw.choice([2, 3])}"),
        Nodes(2, f"CPUs=4 RealMemory=16000 Gres=gpu:2 {draw.choice(['', 'Weight=5'])}".strip()),
        Nodes(1, "CPUs=4 RealMemory=8000"),
    ]
    count = groups[0].conf[-1]
    gres = "\n".join(
        f"NodeName=n{node} Name=gpu File=/dev/gpu[0-{int(count if node < 3 else 2) - 1}]" for node in range(5)
    )
    default = draw.choice(["DefCpuPerGPU=2", "DefCpuPerGPU=2", "DefCpuPerGPU=1", "DefCpuPerGPU=3"])
    line = f"{_ALL} {default} {draw.choice(['', 'DefMemPerGPU=3000'])} DefMemPerCPU=800 State=UP"

    def question(draw: Random) -> list[str]:
        tasks, some, few = draw.randint(1, 4), draw.randint(1, 4), draw.randint(1, 3)
        sizes = (
            f"-n{tasks}",
            f"-n{tasks}",
            "-n1",
            f"-N1 -n{tasks}",
            f"-N1 --ntasks-per-node={few}",
            f"-N{few}",
            f"-n{tasks} -c2",
        )
        words = _one_of(draw, *sizes, f"-N2 --ntasks-per-node={few}", f"-N2 -n{tasks}", "-c1", "")
        gpus = (
            f"--gpus={some}",
            f"--gpus={some}",
            f"--gpus={few}",
            f"--gpus-per-node={few}",
            f"--gres=gpu:{few}",
            "--gpus-per-task=1",
        )
        words += _one_of(draw, *gpus, "-t 9")
        more = f"--cpus-per-gpu={few}", "--mem-per-gpu=2000", "--mem=3000", "--exclusive"
        return words + (_one_of(draw, *more) if "-t" not in words and draw.random() < 0.25 else [])

    conf = _conf(draw.choice(["CR_Core", "CR_CPU", "CR_CPU_Memory", "CR_Core_Memory"]), GresTypes="gpu")
    return Plan("gpu_defaults", 0, conf, groups, [" ".join(line.split())], [], gres=gres), question


KINDS: Final[Mapping[str, Callable[[Random], tuple[Plan, Questions]]]] = {
    "sharing": sharing,
    "features": features,
    "gpus": gpus,
    "units": units,
    "trees": trees,
    "capped": capped,
    "special": special,
    "gpu_defaults": gpu_defaults,
}
"""The kinds: each draws a cluster, and draws the questions."""


def ask(kind: str, seed: int, count: int) -> dict[str, Any]:
    """Ask a Slurm of a kind for a number of jobs.

    Returns:
        The configuration, with the keys of a recording, and `asked`: for each job, the ids of those that ended before,
        its user, its options, and its id and nodes (for each its CPUs, MiB and generic resources), or what was said.
    """
    draw = Random(f"{kind} {seed}")
    plan, question = KINDS[kind](draw)
    asked: list[dict[str, Any]] = []
    running: list[int] = []
    with tempfile.TemporaryDirectory(prefix="slurm-") as name, Planned(Path(name), plan) as cluster:
        fails = 0
        for _ in range(count):
            ends = []
            if running and (fails or draw.random() < 0.15 or len(running) > _MOST):
                ends = draw.sample(running, min(len(running), draw.randint(1, 3) + fails))
                running = [each for each in running if each not in ends]
                _end(cluster, ends)
            row: dict[str, Any] = {"ends": ends, "user": f"u{draw.randint(1, 3)}", "args": question(draw)}
            words = [*cluster.users.words(row["user"]), *row["args"]]
            said = cluster.command("salloc", "--immediate", "--no-shell", "-t", "600", *words).stderr
            found = re.search(r"Granted job allocation (\d+)", said)
            if found is None:
                row["said"] = said.strip().splitlines()[-1]
                fails += 1
            else:
                row["id"], fails = int(found[1]), 0
                running.append(row["id"])
                row["nodes"] = _nodes(cluster, row["id"])
            asked.append(row)
    nodes = [{"count": each.count, "conf": each.conf} for each in plan.nodes]
    files = {"partitions": plan.partitions, "gres": plan.gres, "topology": plan.topology, "dbd": False}
    return {"config": kind, "seed": seed, "slurm_conf": plan.slurm_conf, "nodes": nodes, **files, "asked": asked}


def _end(cluster: Planned, jobs: list[int]) -> None:
    """End jobs, and wait until their nodes are clean."""
    cluster.command("scancel", *map(str, jobs))
    numbers = ",".join(map(str, jobs))
    last = time.monotonic() + _PATIENCE
    while cluster.command("squeue", "-h", "-t", "CG,R", "-j", numbers).stdout.strip():
        if time.monotonic() > last:
            raise RuntimeError(f"these jobs do not end: {numbers}")
        time.sleep(0.03)


def _nodes(cluster: Planned, job: int) -> dict[str, tuple[list[int], int, str]]:
    """The nodes of a job: the CPUs, MiB and generic resources that it has of each."""
    text = cluster.command("scontrol", "show", "job", "-d", "-o", str(job)).stdout
    found: dict[str, tuple[list[int], int, str]] = {}
    for nodes, ids, memory, gres in re.findall(r" Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)", text):
        cpus: list[int] = []
        for part in ids.split(","):
            first, _, last = part.partition("-")
            cpus += range(int(first), int(last or first) + 1)
        found |= dict.fromkeys(expanded(nodes), (cpus, int(memory), gres))
    return found


def main() -> int:
    """Ask, and write the answers to a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("output", type=Path, help="the file to write, such as choices.json.xz")
    parser.add_argument("--seeds", type=seeds_of, default="1-3", metavar="LIST", help="the seeds (default: 1-3)")
    parser.add_argument("--kind", action="append", choices=[*KINDS], help="the kinds; all unless given")
    parser.add_argument("--count", type=int, default=200, help="the questions of each seed (default: 200)")
    given = parser.parse_args()
    runs = []
    for seed in sorted(given.seeds):
        for kind in given.kind or KINDS:
            runs.append(ask(kind, seed, given.count))
            print(f"{kind} {seed}: {sum('id' in row for row in runs[-1]['asked'])} of {given.count} jobs", flush=True)
    text = json.dumps(runs, separators=(",", ":"))
    given.output.write_bytes(lzma.compress(text.encode(), preset=9))
    return 0


if __name__ == "__main__":
    sys.exit(main())
