#!/usr/bin/env python3
"""Runs situations on a real Slurm, on this machine and faster than time, and records what happens.

apt-get install slurmctld slurmd slurm-client faketime
python tools/real_slurm.py                      # record all situations in tests/data/slurm
python tools/real_slurm.py gpus memory          # record some
python tools/real_slurm.py --speed 5 --output elsewhere gpus

Each situation has a cluster of its own: slurmctld, and a slurmd for each node, on the loopback interface, in a
temporary folder. `faketime` makes their time and that of the jobs run faster. A recording has the runs of each job:
start and end in seconds since the first submission, nodes, and Slurm's state. `tests/slurm` compares the built-in
policies with it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pwd
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "slurm"
PROGRAMS = ("slurmctld", "slurmd", "slurmstepd")
LONGEST = 1500
"""Seconds of Slurm's time after which a situation is given up."""

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


class Asked(NamedTuple):
    """A job of a situation: its submission and run time in seconds, and the arguments of sbatch."""

    name: str
    at: float
    run: float
    longer: float
    """Seconds that each task of an array runs longer than the one before."""
    fails: bool
    arguments: list[str]


class Situation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster and its jobs, see tests/data/slurm/situations.toml."""

    about: str
    nodes: list[str]
    partitions: list[str]
    jobs: list[str]
    conf: list[str] = []
    policy: str = "conservative+pack"
    elsewhere: list[str] = []

    def asked(self) -> list[Asked]:
        """The jobs, in the order of their submission."""
        return [_asked(line) for line in self.jobs]

    def named(self, kind: str) -> dict[str, dict[str, str]]:
        """The keys of the nodes or partitions, by their names."""
        lines = [line.split() for line in getattr(self, kind)]
        return {name: dict(word.split("=", 1) for word in words) for name, *words in lines}


def _asked(line: str) -> Asked:
    name, at, run, *arguments = shlex.split(line)
    found = re.fullmatch(r"([0-9]+)(?:\+([0-9]+))?(!?)", run)
    assert found is not None, line
    return Asked(name, float(at), float(found[1]), float(found[2] or 0), bool(found[3]), arguments)


def read_situations(path: Path = DATA / "situations.toml") -> dict[str, Situation]:
    """All situations by name."""
    return msgspec.toml.decode(path.read_bytes(), type=dict[str, Situation])


def expanded(pattern: str) -> list[str]:
    """The names of nodes such as `n[0-1],n3`."""
    names: list[str] = []
    for part, ranges in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?,?", pattern):
        for each in ranges.split(",") if ranges else [""]:
            first, _, last = each.partition("-")
            names += [f"{part}{number}" for number in range(int(first), int(last or first) + 1)] if each else [part]
    return names


def record(situation: Situation, speed: int) -> dict[str, Any]:
    """Run a situation on a Slurm whose time is so many times as fast as real time.

    Raises:
        RuntimeError: Slurm does not start, or jobs do not end; with the last lines of its log.
    """
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        (Path(name) / "situation.json").write_bytes(msgspec.json.encode(situation))
        command = ["faketime", "-m", "-f", f"+0 x{speed}", sys.executable, __file__, "--inside", name]
        # In a session of its own, so that Ctrl-C ends this process alone; the other one then ends all of Slurm.
        inside = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        try:
            assert inside.stdout is not None
            answer = inside.stdout.read()
        finally:
            inside.stdin.close()  # type: ignore[union-attr]
            inside.wait()
        result: dict[str, Any] = json.loads(answer or '{"error": "there is no result"}')
        if "error" in result:
            raise RuntimeError(result["error"])
        return result


# What runs in Slurm's time


class Cluster:
    """A Slurm in a folder, for as long as a `with` lasts."""

    def __init__(self, folder: Path, situation: Situation) -> None:
        self.folder, self.situation = folder, situation
        self.nodes = {name: keys for pattern, keys in situation.named("nodes").items() for name in expanded(pattern)}
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
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
            self._until(lambda: not self._own(), 30)
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
    def _until(holds: Callable[[], bool], seconds: float) -> bool:
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
        self._daemon(programs["slurmctld"], "-c", "-D")
        if not self._until(lambda: self.command("scontrol", "ping").returncode == 0, 200):
            raise RuntimeError("slurmctld does not answer")
        for node in self.nodes:
            self._daemon(programs["slurmd"], "-c", "-D", "-d", str(programs["slurmstepd"]), "-N", node)
        if not self._until(self._all_idle, 400):
            raise RuntimeError("the nodes do not come up")

    def _daemon(self, *command: object) -> None:
        with (self.folder / "daemons.txt").open("ab") as output:
            self._daemons.append(
                subprocess.Popen([*map(str, command)], env=self._environment(), stdout=output, stderr=output)
            )

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
            each.endswith(" idle") for each in states if each
        )

    def _conf(self) -> Iterator[str]:
        user = pwd.getpwuid(os.getuid()).pw_name
        first, *others = free_ports(len(self.nodes) + 1)
        host = socket.gethostname().partition(".")[0]
        for key, value in CONF.items():
            yield f"{key}={value.format(host=host, port=first, user=user, folder=self.folder)}"
        own = dict(line.split("=", 1) for line in self.situation.conf)
        yield from (f"{key}={value}" for key, value in (USUAL | own).items())
        for (node, keys), port in zip(self.nodes.items(), others, strict=True):
            cores = keys.get("CPUs", "4")
            keys = {**keys, "CPUs": cores, "Sockets": "1", "CoresPerSocket": cores, "ThreadsPerCore": "1"}
            words = " ".join(f"{key}={value}" for key, value in keys.items())
            yield f"NodeName={node} NodeHostName={host} NodeAddr=127.0.0.1 Port={port} {words} State=UNKNOWN"
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


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def run(cluster: Cluster, stopped: Callable[[], bool]) -> dict[str, Any]:
    """Submit the jobs of a situation, and wait for their ends."""
    ids: dict[str, str] = {}
    refused: dict[str, str] = {}
    waiting = cluster.situation.asked()
    began = time.time()
    while True:
        while waiting and time.time() >= began + waiting[0].at:
            job = waiting.pop(0)
            done = cluster.command(
                "sbatch", "--parsable", "-o", "/dev/null", *words_of(job, ids), str(script(cluster, job))
            )
            if done.returncode:
                refused[job.name] = done.stderr.strip().splitlines()[-1]
            else:
                ids[job.name] = done.stdout.strip()
        present = cluster.command("squeue", "-h", "-t", "PD,R,CG,S", "-o", "%i").stdout.split()
        if not waiting and not present:
            break
        if stopped() or time.time() > began + LONGEST:
            raise RuntimeError("stopped" if stopped() else f"these jobs did not end: {' '.join(present)}")
        time.sleep(1)
    names = {number: name for name, number in ids.items()}
    lines = (cluster.folder / "jobcomp.txt").read_text().splitlines()
    version = cluster.command("sinfo", "--version").stdout.split()[-1]
    return {"slurm": version, "runs": dict(runs_of(lines, names, int(began))), "refused": refused}


def script(cluster: Cluster, job: Asked) -> Path:
    """The script of a job."""
    path = cluster.folder / f"{job.name}.sh"
    seconds = f"$(({job.run:g} + {job.longer:g} * (${{SLURM_ARRAY_TASK_ID:-0}} - ${{SLURM_ARRAY_TASK_MIN:-0}})))"
    path.write_text(f"#!/bin/sh\nsleep {seconds}\nexit {int(job.fails)}\n")
    return path


def words_of(job: Asked, ids: Mapping[str, str]) -> list[str]:
    """The arguments of sbatch, with the ids of the jobs that it depends on."""
    return ["-J", job.name, *(word.format_map(ids) if "{" in word else word for word in job.arguments)]


def runs_of(lines: Iterable[str], names: Mapping[str, str], began: int) -> dict[str, list[list[Any]]]:
    """The runs of each job: start, end, nodes, state. Tasks of arrays are named `a_0`."""
    found: dict[str, list[list[Any]]] = {}
    for line in lines:
        keys = dict(word.split("=", 1) for word in line.split() if "=" in word)
        name = names.get(keys.get("ArrayJobId", keys["JobId"]))
        if name is None:  # Slurm gives numbers to some jobs that it refuses
            continue
        if "ArrayTaskId" in keys:
            name += f"_{keys['ArrayTaskId']}"
        times = [_seconds(keys[key]) for key in ("StartTime", "EndTime")]
        row = [*(None if each is None else each - began for each in times), keys["NodeList"], keys["JobState"]]
        found.setdefault(name, []).append(row)
    return {name: found[name] for name in sorted(found)}


def _seconds(text: str) -> int | None:
    if not text[:1].isdigit():
        return None
    return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))


def inside(folder: Path) -> None:
    """Record the situation of a folder in Slurm's time, and print the result. It stops when its input ends."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    situation = msgspec.json.decode((folder / "situation.json").read_bytes(), type=Situation)

    def stopped() -> bool:
        return bool(select.select([sys.stdin], [], [], 0)[0])

    try:
        with Cluster(folder, situation) as cluster:
            result = run(cluster, stopped)
    except RuntimeError as error:
        logs = [folder / "slurmctld.log", *sorted(folder.glob("slurmd.*.log")), folder / "daemons.txt"]
        tails = [line for log in logs if log.exists() for line in log.read_text(errors="replace").splitlines()[-8:]]
        result = {"error": "\n".join([str(error), *tails])}
    print(json.dumps(result))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="the situations to record; all unless given")
    parser.add_argument("--speed", type=int, default=10, help="how many times as fast as real time (default: 10)")
    parser.add_argument("--output", type=Path, default=DATA, help="the folder to write to")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside is not None:
        inside(given.inside)
        return 0
    situations = read_situations()
    failed = False
    for name in given.names or situations:
        print(name, end=" ", flush=True)
        began = time.monotonic()
        try:
            recorded = {"speed": given.speed, **record(situations[name], given.speed)}
        except RuntimeError as error:
            print("failed:", error)
            failed = True
            continue
        except KeyboardInterrupt:
            print("stopped")
            return 130
        (given.output / f"{name}.json").write_text(text_of(recorded))
        print(f"took {time.monotonic() - began:.0f} s", flush=True)
    return int(failed)


def text_of(recorded: Mapping[str, Any]) -> str:
    """A recording as JSON, with a line for each job."""
    lines = [f"    {json.dumps(name)}: {json.dumps(rows)}" for name, rows in recorded["runs"].items()]
    runs = "{\n" + ",\n".join(lines) + "\n  }"
    parts = [f'  "{key}": {runs if key == "runs" else json.dumps(value)}' for key, value in recorded.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
