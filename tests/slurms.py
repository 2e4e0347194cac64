"""A real Slurm for tests, in real time: slurmctld and a slurmd for each node, on the loopback interface.

Jobs of the partition `main` preempt those of `idle`, which campaigns use.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from servers import find, free_port
from support import ROOT

sys.path.append(str(ROOT / "tools"))
from slurming.clusters import Cluster
from slurming.situations import Situation

__all__ = ["NEEDED", "SILENT_NODES_ARE_DOWN", "RunningSlurm", "running_slurm", "slurmrestd"]

SBATCH: Final = "sbatch"
SLURMCTLD: Final = "slurmctld"
SLURMD: Final = "slurmd"
NEEDED: Final = (SBATCH, SLURMCTLD, SLURMD)

CONF = [
    "PreemptType=preempt/partition_prio",
    "PreemptMode=REQUEUE",
    "KillWait=5",
    "BatchStartTimeout=60",
    "UnkillableStepTimeout=600",
    "SchedulerParameters=bf_interval=1,bf_resolution=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=100000",
]
SILENT_NODES_ARE_DOWN: Final = "SlurmdTimeout=10"
"""For tests in which nodes die. In others, a machine that stands still for ten seconds must not cost jobs."""

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

    def sbatch(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Submit a job without this library."""
        return self.command(SBATCH, *words, "-o/dev/null")

    def kill_controller(self) -> None:
        for pid in self.pids(SLURMCTLD):
            os.kill(pid, signal.SIGKILL)
        self.until(lambda: not self.pids(SLURMCTLD), 10)

    def start_controller(self) -> None:
        """It goes on with the state that the one before has left."""
        self.daemon(self.folder / SLURMCTLD, "-D")

    def restart_controller(self) -> None:
        self.kill_controller()
        self.start_controller()

    def lose(self, node: str) -> None:
        """A node dies, with all that runs on it. Slurm finds out by itself."""
        tasks = [pid for pid in self._own() if f"SLURMD_NODENAME={node}" in _variables(pid)]
        steps = {parent for pid in tasks if "slurmstepd" in _command(parent := _parent(pid))}
        for pid in [*self.pids(SLURMD, node), *steps, *tasks]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def bring_back(self, node: str) -> None:
        self.daemon(self.folder / SLURMD, "-D", "-d", str(self.folder / "slurmstepd"), "-N", node)


def _variables(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace").split("\0")
    return []


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    return ""


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


@contextmanager
def running_slurm(nodes: int = 4, cores: int = 4, more: tuple[str, ...] = ()) -> Iterator[RunningSlurm]:
    """A Slurm; without its programs, the test is skipped. Commands of this process reach it."""
    for name in NEEDED:
        find(name)
    about = Situation(
        about="campaigns", nodes=[f"n[0-{nodes - 1}] CPUs={cores}"], partitions=PARTITIONS, jobs=[], conf=[*CONF, *more]
    )
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        RunningSlurm(Path(folder), about) as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SLURM_CONF", f"{folder}/slurm.conf")
        try:
            yield cluster
        except BaseException:
            print(_unusual(Path(folder, "slurmctld.log")))  # the folder is gone when somebody reads of the failure
            raise


def _unusual(log: Path) -> str:
    """The last lines of the log of slurmctld that say what went wrong."""
    lines = log.read_text(errors="replace").splitlines()
    found = [line for line in lines if re.search("error|fail|not resp|DOWN|[Rr]equeue|preempt", line)]
    return "\n".join([f"{log.name}: {len(lines)} lines, of which", *found[-40:]])


@contextmanager
def slurmrestd(slurm: RunningSlurm, folder: Path, *, tokens: bool = False) -> Iterator[str]:
    """A slurmrestd on a Unix socket, or one on a port that wants tokens; its address.

    It runs as `nobody`, as it refuses to run as root.
    """
    slurm.folder.chmod(0o755)
    for each in (folder, *folder.parents):
        if each.stat().st_uid == os.getuid() and each != Path("/"):
            each.chmod(each.stat().st_mode | 0o711)
    folder.chmod(0o777)
    port = free_port()
    place = f"127.0.0.1:{port}" if tokens else f"unix:{folder}/rest"
    how = "rest_auth/jwt" if tokens else "rest_auth/local"
    words = [find("slurmrestd"), "-a", how, "-s", "openapi/v0.0.37,openapi/v0.0.38", place]
    if os.getuid() == 0:
        words = [find("setpriv"), "--reuid=nobody", "--regid=nogroup", "--clear-groups", *words]
    variables = {**os.environ, "HOME": "/", **({"SLURM_JWT": "daemon"} if tokens else {})}
    server = subprocess.Popen(words, stderr=subprocess.DEVNULL, env=variables)
    try:
        assert slurm.until(lambda: _listens(port) if tokens else (folder / "rest").exists(), 30)
        yield f"http://{place}" if tokens else place
    finally:
        server.kill()
        server.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
