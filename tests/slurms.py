"""A real Slurm for tests, in real time: slurmctld and a slurmd for each node, on the loopback interface.

Jobs of the partition `main` preempt those of `idle`, which campaigns use.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from servers import find
from support import ROOT

sys.path.append(str(ROOT / "tools"))
from slurming.clusters import Cluster
from slurming.situations import Situation

__all__ = ["NEEDED", "RunningSlurm", "running_slurm"]

NEEDED = ("sbatch", "slurmctld", "slurmd")

CONF = [
    "PreemptType=preempt/partition_prio",
    "PreemptMode=REQUEUE",
    "KillWait=5",
    "SlurmdTimeout=10",
    "SchedulerParameters=bf_interval=1,bf_resolution=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=100000",
]
PARTITIONS = [
    "main Nodes=ALL Default=YES PriorityTier=10 PreemptMode=OFF",
    "idle Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE",
    "short Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE MaxTime=10",
]


class RunningSlurm(Cluster):
    """A Slurm whose daemons can be killed and started again."""

    def pids(self, program: str, *words: str) -> list[int]:
        """The daemons of this name, whose arguments have these words."""
        found = []
        for process in self._daemons:
            arguments = [str(each) for each in process.args]  # type: ignore[union-attr]
            if Path(arguments[0]).name == program and set(words) <= set(arguments) and process.poll() is None:
                found.append(process.pid)
        return found

    def kill_controller(self) -> None:
        for pid in self.pids("slurmctld"):
            os.kill(pid, signal.SIGKILL)
        self.until(lambda: not self.pids("slurmctld"), 10)

    def start_controller(self) -> None:
        """It goes on with the state that the one before has left."""
        self.daemon(self.folder / "slurmctld", "-D")

    def restart_controller(self) -> None:
        self.kill_controller()
        self.start_controller()

    def lose(self, node: str) -> None:
        """A node dies, with all that it runs."""
        daemons = self.pids("slurmd", node)
        steps = subprocess.run(["pgrep", "-f", f"slurmstepd.*{self.folder}"], capture_output=True, text=True, check=False)
        for pid in [*daemons, *map(int, steps.stdout.split() if False else [])]:
            os.kill(pid, signal.SIGKILL)
        self.command("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=lost")

    def bring_back(self, node: str) -> None:
        self.daemon(self.folder / "slurmd", "-c", "-D", "-d", str(self.folder / "slurmstepd"), "-N", node)
        self.command("scontrol", "update", f"NodeName={node}", "State=RESUME")


@contextmanager
def running_slurm(nodes: int = 4, cores: int = 4, more: tuple[str, ...] = ()) -> Iterator[RunningSlurm]:
    """A Slurm; without its programs, the test is skipped. Commands of this process reach it."""
    for name in NEEDED:
        find(name)
    about = Situation(
        about="campaigns", nodes=[f"n[0-{nodes - 1}] CPUs={cores}"], partitions=PARTITIONS, jobs=[], conf=[*CONF, *more]
    )
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, RunningSlurm(Path(folder), about) as cluster:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SLURM_CONF", f"{folder}/slurm.conf")
            yield cluster
