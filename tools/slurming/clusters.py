"""A Slurm in a folder: its configuration and its daemons, on the loopback interface. It must not know jobs."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ports import free_ports

from slurming.situations import Situation, expanded

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Cluster", "program"]

PROGRAMS = ("slurmctld", "slurmd", "slurmstepd")

CONF = {
    "ClusterName": "witness",
    "SlurmctldHost": "{host}(127.0.0.1)",
    "SlurmctldPort": "{port}",
    "SlurmUser": "{user}",
    "SlurmdUser": "{user}",
    "AuthType": "auth/none",
    "CredType": "cred/none",
    "StateSaveLocation": "{folder}/state",
    "SlurmdSpoolDir": "{folder}/spool.%n",
    "SlurmctldPidFile": "{folder}/slurmctld.pid",
    "SlurmdPidFile": "{folder}/slurmd.%n.pid",
    "SlurmctldLogFile": "{folder}/slurmctld.log",
    "SlurmdLogFile": "{folder}/slurmd.%n.log",
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "MpiDefault": "none",
    "ReturnToService": "2",
    "SlurmdParameters": "config_overrides",
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "bf_interval=1,bf_resolution=1,sched_interval=1,batch_sched_delay=0",
    "PriorityType": "priority/basic",
    "GresTypes": "gpu",
    "AccountingStorageType": "accounting_storage/none",
    "JobCompType": "jobcomp/filetxt",
    "JobCompLoc": "{folder}/jobcomp.txt",
}
USUAL = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CPU"}
"""A situation can set these in another way."""


class Cluster:
    """A Slurm in a folder, for as long as a `with` lasts."""

    usual = USUAL

    def __init__(self, folder: Path, situation: Situation) -> None:
        self.folder, self.situation = folder, situation
        self.nodes = {name: keys for pattern, keys in situation.named("nodes").items() for name in expanded(pattern)}
        self.more: dict[str, str] = {}
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for sent in (signal.SIGTERM, signal.SIGKILL):
            for process in self._own():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, sent)
            self.until(lambda: not self._own(), 30)
        for daemon in self._daemons:
            daemon.wait()

    def _own(self) -> list[int]:
        """The processes of this Slurm and its jobs, known by its folder in their environments."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        found = []
        for daemon in self._daemons:
            daemon.poll()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return found

    @staticmethod
    def until(holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds, at most for these seconds, and say whether it does."""
        last = time.monotonic() + seconds
        while not (done := holds()) and time.monotonic() < last:
            time.sleep(1)
        return done

    def _start(self) -> None:
        folder = self.folder
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text("\n".join(self._conf()) + "\n")
        (folder / "gres.conf").write_text("\n".join(self._gres()) + "\n")
        programs = {}
        for name in PROGRAMS:  # slurmctld must be called so, see Debian's links
            found = program(f"{name}-wlm") or program(name)
            if found is None:
                raise RuntimeError(f"there is no {name} here: apt-get install slurmctld slurmd slurm-client faketime")
            programs[name] = folder / name
            programs[name].symlink_to(found)
        self.before()
        self.daemon(programs["slurmctld"], "-c", "-D")
        if not self.until(lambda: self.command("scontrol", "ping").returncode == 0, 200):
            raise RuntimeError("slurmctld does not answer")
        for node in self.nodes:
            self.daemon(programs["slurmd"], "-c", "-D", "-d", str(programs["slurmstepd"]), "-N", node)
        if not self.until(self._all_idle, 400):
            raise RuntimeError("the nodes do not come up")
        for daemon in self._daemons:  # of which another Slurm can seem to be the node
            if daemon.poll() is not None:
                raise RuntimeError(f"{' '.join(map(str, daemon.args))} has ended")

    def before(self) -> None:
        """Start the programs that slurmctld needs."""

    def daemon(self, *command: object) -> None:
        """Start a program that runs until the cluster ends."""
        with (self.folder / "daemons.txt").open("ab") as output:
            self._daemons.append(
                subprocess.Popen([*map(str, command)], env=self._environment(), stdout=output, stderr=output)
            )

    def check(self) -> None:
        """Check that the programs still run.

        Raises:
            RuntimeError: one of them has ended, with the last line of its log.
        """
        for daemon in self._daemons:
            if (code := daemon.poll()) is not None:
                name = Path(str(daemon.args[0] if isinstance(daemon.args, list) else daemon.args)).name
                how = f"by the signal {signal.Signals(-code).name}" if code < 0 else f"with the status {code}"
                log = self.folder / f"{name}.log"
                lines = log.read_text(errors="replace").splitlines() if log.exists() else []
                raise RuntimeError(f"{name} has ended {how}; its log ends: {lines[-1] if lines else 'it has none'}")

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": f"{self.folder}/slurm.conf", "TZ": "UTC"}

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Slurm."""
        return subprocess.run(
            words, env=self._environment(), cwd=self.folder, capture_output=True, text=True, check=False
        )

    def _all_idle(self) -> bool:
        states = self.command("sinfo", "-h", "-N", "-o", "%N %T").stdout.split("\n")
        return len({*filter(None, states)}) == len(self.nodes) and all(
            each.endswith((" idle", " drained", " down", " fail")) for each in states if each
        )

    def _conf(self) -> Iterator[str]:
        user = pwd.getpwuid(os.getuid()).pw_name
        first, *others = free_ports(len(self.nodes) + 1)
        host = socket.gethostname().partition(".")[0]
        conf = {key: value.format(host=host, port=first, user=user, folder=self.folder) for key, value in CONF.items()}
        own = dict(line.split("=", 1) for line in self.situation.conf)
        yield from (f"{key}={value}" for key, value in (conf | self.usual | own | self.more).items())
        for (node, keys), port in zip(self.nodes.items(), others, strict=True):
            cores = keys.get("CPUs", keys.get("Procs", "4"))
            count = {} if "Procs" in keys else {"CPUs": cores}
            keys = {"Sockets": "1", "CoresPerSocket": cores, "ThreadsPerCore": "1", "State": "UNKNOWN", **keys, **count}
            words = " ".join(f"{key}={value}" for key, value in keys.items())
            yield f"NodeName={node} NodeHostName={host} NodeAddr=127.0.0.1 Port={port} {words}"
        yield from (f"PartitionName={line} State=UP" for line in self.situation.partitions)

    def _gres(self) -> Iterator[str]:
        for node, keys in self.nodes.items():
            for number, gres in enumerate(filter(None, keys.get("Gres", "").split(","))):
                name, *kind, count = gres.split(":")
                files = [self.folder / f"{node}.{name}{number}.{each}" for each in range(int(count))]
                for file in files:
                    file.touch()
                typed = f" Type={kind[0]}" if kind else ""
                yield from (f"NodeName={node} Name={name}{typed} File={file}" for file in files)


def program(name: str) -> str | None:
    """Where a program is, on the PATH or where Debian has those of administrators."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin")
