"""Random files slurm.conf, and what a real Slurm prints of them: `scontrol show config`, `partition` and `node`."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

from servers import free_ports

__all__ = ["Printed", "printed_by_slurm", "random_conf"]

CLUSTER: Mapping[str, tuple[str, ...]] = {
    "PriorityType": ("priority/multifactor", "priority/basic"),
    "PriorityWeightAge": ("0", "1000"),
    "PriorityWeightAssoc": ("7",),
    "PriorityWeightFairshare": ("5000",),
    "PriorityWeightJobSize": ("1",),
    "PriorityWeightPartition": ("12",),
    "PriorityWeightQOS": ("800",),
    "PriorityMaxAge": ("1-0", "30", "0-0:20:00", "7-12:30", "90:30", "1:02:03", "UNLIMITED"),
    "PriorityCalcPeriod": ("1", "10", "0-1", "2:00", "1:00:00"),
    "PriorityDecayHalfLife": ("1-0", "14-0", "0-0:5:0", "90"),
    "PriorityUsageResetPeriod": ("NONE", "daily", "WEEKLY", "Monthly", "QUARTERLY", "yearly"),
    "PriorityFavorSmall": ("YES", "no", "Yes"),
    "PriorityFlags": (
        "ACCRUE_ALWAYS",
        "CALCULATE_RUNNING,INCR_ONLY",
        "DEPTH_OBLIVIOUS",
        "NO_FAIR_TREE,MAX_TRES",
        "NO_NORMAL_ALL",
        "NO_NORMAL_ASSOC,NO_NORMAL_PART",
        "no_normal_qos,NO_NORMAL_TRES,SMALL_RELATIVE_TO_TIME",
        "FAIR_TREE",
    ),
    "FairShareDampeningFactor": ("1", "5", "65533"),
    "SchedulerType": ("sched/builtin", "sched/backfill"),
    "SelectType": ("select/linear", "select/cons_tres", "select/cons_res"),
    "OverTimeLimit": ("0", "5", "65533"),
    "KillWait": ("0", "30", "300"),
    "CompleteWait": ("0", "32"),
    "JobRequeue": ("0", "1"),
    "ResvOverRun": ("0", "15"),
    "DependencyParameters": (
        "kill_invalid_depend",
        "disable_remote_singleton",
        "kill_invalid_depend,max_depend_depth=5",
    ),
    "ReturnToService": ("0", "1", "2"),
    "EnforcePartLimits": ("ALL", "ANY", "NO", "yes", "no"),
    "MaxJobCount": ("500", "20000"),
    "MinJobAge": ("2", "600"),
    "MaxArraySize": ("11", "4000001"),
    "FirstJobId": ("1", "1000"),
    "Licenses": ("foo:4", "foo:4,bar", "matlab:10"),
    "PreemptExemptTime": ("-1", "10", "1:00:00", "1-0"),
    "ClusterName": ("c1", "alpha"),
}
SELECT: Mapping[str, tuple[str, ...]] = {
    "select/linear": ("CR_Memory", "CR_ONE_TASK_PER_CORE", "CR_LLN"),
    "select/cons_tres": (
        *("CR_CPU", "CR_Core", "CR_Core_Memory", "CR_Socket", "CR_Socket_Memory,CR_LLN", "CR_CPU_Memory"),
        *("CR_Core,CR_ONE_TASK_PER_CORE,CR_Pack_Nodes", "CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK", "CR_Memory"),
    ),
}
MEMORY = ("DefMemPerCPU=100", "DefMemPerNode=2000", "MaxMemPerCPU=4000", "MaxMemPerNode=64000", "DefCpuPerGPU=3")
NODES = (
    "CPUs=4",
    "Procs=6",
    "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2",
    "CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2",
    "Boards=2 SocketsPerBoard=2 CoresPerSocket=3",
    "Boards=2 Sockets=2 CoresPerSocket=3",
    "CPUs=16 CoresPerSocket=4 ThreadsPerCore=2",
    "CPUs=12 CoresPerSocket=4",
    "CPUs=6 CoresPerSocket=3 ThreadsPerCore=2",
    "Sockets=3",
    "CoresPerSocket=5",
    "",
)
OF_NODES = (
    *("RealMemory=64000", "RealMemory=1", "Weight=50", "Weight=0", "TmpDisk=1000", "Feature=ib", "Features=new,ib,gpu"),
    *(
        "State=UNKNOWN",
        "State=DRAIN",
        "State=DOWN",
        "State=idle",
        "RealMemory=8000 MemSpecLimit=500",
        "CoreSpecCount=1",
    ),
)
OF_PARTITIONS: Mapping[str, tuple[str, ...]] = {
    "Default": ("YES", "NO"),
    "MaxTime": ("INFINITE", "60", "1-0", "2:00:00", "1:30", "90:01", "UNLIMITED", "-1", "0-0:00:30", "7-12"),
    "DefaultTime": ("10", "0:30", "1:00:00", "UNLIMITED"),
    "MinNodes": ("0", "2"),
    "MaxNodes": ("1", "UNLIMITED", "INFINITE", "5"),
    "OverTimeLimit": ("3", "UNLIMITED", "INFINITE"),
    "PriorityTier": ("0", "7", "65533"),
    "PriorityJobFactor": ("0", "9"),
    "Priority": ("4",),
    "GraceTime": ("0", "120"),
    "OverSubscribe": ("NO", "YES", "YES:2", "FORCE", "force:1", "EXCLUSIVE"),
    "Shared": ("YES:3",),
    "LLN": ("YES", "no"),
    "MaxCPUsPerNode": ("3", "UNLIMITED"),
    "DefMemPerCPU": ("50",),
    "DefMemPerNode": ("70",),
    "MaxMemPerCPU": ("500",),
    "AllowAccounts": ("a,b", "ALL"),
    "DenyAccounts": ("z",),
    "AllowQos": ("normal,high",),
    "DenyQos": ("x",),
    "ReqResv": ("YES",),
    "RootOnly": ("YES",),
    "ExclusiveUser": ("YES",),
    "State": ("UP", "DOWN", "DRAIN", "INACTIVE", "up"),
    "Alternate": ("other",),
    "TRESBillingWeights": ("CPU=1.0,Mem=0.25G", '"CPU=1.0,Mem=0.25G"', "cpu=2,mem=1T"),
}


class Printed(NamedTuple):
    """What Slurm prints of a file: its configuration, its partitions, its nodes; and its words, if it refuses it."""

    config: str
    partitions: str
    nodes: str
    refused: str = ""


def random_conf(seed: int) -> str:
    """A slurm.conf that has some parameters."""
    draw = Random(seed)
    lines = [f"{name}={draw.choice(values)}" for name, values in CLUSTER.items() if draw.random() < 0.4]
    plugin = next((line.partition("=")[2] for line in lines if line.startswith("SelectType=")), "select/linear")
    if draw.random() < 0.7:
        lines.append(f"SelectTypeParameters={draw.choice(SELECT[plugin.replace('cons_res', 'cons_tres')])}")
    if draw.random() < 0.5:
        lines.append(draw.choice(MEMORY))
    if draw.random() < 0.5:
        mode = draw.choice(("CANCEL", "REQUEUE", "SUSPEND,GANG", "GANG,SUSPEND", "requeue,gang"))
        lines += [f"PreemptType={draw.choice(('preempt/partition_prio', 'preempt/qos'))}", f"PreemptMode={mode}"]
    draw.shuffle(lines)
    return "\n".join([*lines, *_nodes(draw), *_partitions(draw), ""])


def _nodes(draw: Random) -> list[str]:
    lines = []
    for name in ("a[0-3]", "b[08-10]", "c[1,3-4]", "d"):
        if draw.random() < 0.3:
            lines.append(f"NodeName=DEFAULT {draw.choice(('Weight=9', 'RealMemory=500', 'Feature=x TmpDisk=5'))}")
        others = draw.sample(OF_NODES, draw.randrange(4))
        chosen = {each.split("=")[0].rstrip("s"): each for each in others}
        if any("MemSpecLimit" in each for each in chosen.values()):
            chosen = {key: each for key, each in chosen.items() if key != "RealMemory" or "MemSpecLimit" in each}
        lines.append(" ".join([f"NodeName={name} NodeAddr=127.0.0.1", draw.choice(NODES), *chosen.values()]))
    if draw.random() < 0.5:
        lines.append(f'DownNodes=a[1-2] State={draw.choice(("DOWN", "DRAIN", "FAIL"))} Reason="to be repaired"')
    return [*lines, "NodeSet=s Feature=ib", "NodeSet=t Nodes=a[0-1],d"]


def _partitions(draw: Random) -> list[str]:
    lines = ["PartitionName=other Nodes=ALL"]
    for name in ("p", "q", "r"):
        if draw.random() < 0.3:
            lines.append(
                f"PartitionName=DEFAULT {draw.choice(('MaxTime=100', 'PriorityTier=3 LLN=YES', 'MaxNodes=4'))}"
            )
        chosen = [
            f"{key}={draw.choice(OF_PARTITIONS[key])}" for key in draw.sample(list(OF_PARTITIONS), draw.randrange(7))
        ]
        nodes = draw.choice(("ALL", "s", "t,b09", "a[2-3],c[1,3]", "d"))
        lines.append(" ".join([f"PartitionName={name} Nodes={nodes}", *chosen]))
    return lines


def printed_by_slurm(conf: str, folder: Path, patience: float = 20.0) -> Printed:
    """Start a Slurm's controller with a configuration, without nodes that work, and ask what it has read."""
    (folder / "state").mkdir(parents=True)
    program = folder / "slurmctld"  # it must be called by this name
    program.symlink_to(shutil.which("slurmctld-wlm", path="/usr/sbin:/usr/bin") or shutil.which("slurmctld") or "")
    file = folder / "slurm.conf"
    controller, node = free_ports(2)
    head = {
        "SlurmctldHost": f"{socket.gethostname()}(127.0.0.1)",
        "SlurmctldPort": str(controller),
        "SlurmdPort": str(node),
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "SlurmUser": "root",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool",
        "SlurmctldPidFile": f"{folder}/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/slurmd.pid",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "MpiDefault": "none",
    }
    if "ClusterName=" not in conf:
        head["ClusterName"] = "x"
    file.write_text("".join(f"{name}={value}\n" for name, value in head.items()) + conf)
    env = {**os.environ, "SLURM_CONF": str(file), "TZ": "UTC"}

    def shown(*what: str) -> str:
        found = subprocess.run(["scontrol", "-o", "show", *what], env=env, capture_output=True, text=True, check=False)
        return found.stdout if found.returncode == 0 else ""

    with (folder / "output").open("wb") as output:
        slurm = subprocess.Popen([program, "-c", "-D", "-f", file], env=env, stdout=output, stderr=output)
    try:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if slurm.poll() is not None:
                return Printed("", "", "", (folder / "output").read_text(errors="replace"))
            config = shown("config")
            if "SLURM_VERSION" in config:
                return Printed(config, shown("partition"), shown("node"))
            time.sleep(0.1)
        raise TimeoutError((folder / "output").read_text(errors="replace"))
    finally:
        if slurm.poll() is None:
            slurm.send_signal(signal.SIGTERM)
        slurm.wait()
