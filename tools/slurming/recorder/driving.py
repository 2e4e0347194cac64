"""Submits the jobs of a plan, gives its commands, and keeps the answers of Slurm. It must not understand them."""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from slurming.recorder.clusters import Planned
from slurming.recorder.plans import Asked, Given, Plan

__all__ = ["REFUSED", "Said", "drive"]

REFUSED = -1
"""The id of a job that sbatch refused."""

BETWEEN = 30
"""Seconds between two samples."""
QUIET = 80
"""Seconds without a running job after which those that wait are left: Slurm will not start them."""
WAITING = ("BeginTime", "Reservation", "ReqNodeNotAvail", "Cleaning", "Licenses")
"""Reasons of jobs that may start after a long pause."""

PLANNED = ('squeue -h -t PD -o "%i %Q %r %S"', 'squeue -h --start -o "%i %S %Y"')
FACTORS = ('sprio -h -o "%i %u %Y %A %F %J %P %Q %N %T"', "sprio -h -l")
SHARES = ("sshare -a -P -h -l",)
LAST = {
    "sacct": "sacct -a -D -P -S now-2days -E now+2days --format=JobID,JobIDRaw,JobName,User,Account,Partition,QOS,"
    "Submit,Eligible,Start,End,State,ExitCode,NNodes,NCPUS,NodeList,ReqNodes,ReqCPUS,Timelimit,Priority,Flags,Reason",
    "assoc": "sacctmgr -P show assoc format=Cluster,Account,User,Share,QOS,GrpJobs,GrpTRES,GrpTRESRunMins,GrpWall,"
    "GrpSubmit,MaxJobs,MaxTRES,MaxTRESMins,MaxSubmit,MaxWall",
    "qos": "sacctmgr -P show qos",
}


class Said(NamedTuple):
    """The actions of a run, and the answers of Slurm: texts as they are, and times as seconds since its begin."""

    began: int
    submissions: list[dict[str, Any]]
    events: list[dict[str, Any]]
    samples: list[dict[str, Any]]
    texts: dict[str, str]


def drive(cluster: Planned, stopped: Callable[[], bool]) -> Said:
    """Run a plan on its cluster.

    Args:
        stopped: whether to give up.

    Raises:
        RuntimeError: it was stopped.
    """
    began = math.ceil(time.time()) + 1
    run = _Run(cluster, began)
    quiet_since = time.time()
    for at, action in run.actions():
        while (left := began + at - time.time()) > 0:
            time.sleep(min(left, 2))
            if stopped():
                raise RuntimeError("stopped")
        if action is None:
            lines = cluster.command("squeue", "-h", "-o", "%T %r").stdout.splitlines()
            if any(not line.startswith("PENDING") or line.endswith(WAITING) for line in lines) or not run.is_last(at):
                quiet_since = time.time()
            if (not lines and run.is_last(at)) or time.time() > quiet_since + QUIET:
                break
        else:
            action()
    return Said(began, run.submissions, run.events, run.samples, _texts(cluster))


class _Run:
    """The steps of a run, in the order of their seconds."""

    def __init__(self, cluster: Planned, began: int) -> None:
        self._cluster, self._began, self._plan = cluster, began, cluster.plan
        self._ids: list[int | None] = []
        self.submissions: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.samples: list[dict[str, Any]] = []

    def actions(self) -> Iterator[tuple[float, Callable[[], None] | None]]:
        """The seconds and what to do then; None is a look at the queue."""
        plan = self._plan
        steps: list[tuple[float, int, Any]] = [(job.at, 1, job) for job in plan.submissions]
        steps += [(given.at, 0, given) for given in plan.events]
        steps += [(float(second), 2, None) for second in range(5, plan.longest, BETWEEN)]
        steps += [(float(second), 3, None) for second in range(10, plan.longest + 4, 4)]
        for at, kind, what in sorted(steps, key=lambda each: each[:2]):
            yield at, (partial(self._give, what), partial(self._submit, what), self._sample, None)[kind]

    def is_last(self, at: float) -> bool:
        """Whether there is nothing to do any more but to look."""
        return at > max([*(job.at for job in self._plan.submissions), *(given.at for given in self._plan.events)]) + 3

    def _now(self) -> float:
        return round(time.time() - self._began, 3)

    def _filled(self, word: str) -> str | None:
        """A word with the ids of jobs; None if one of these was refused."""
        numbers = [int(number) for number in re.findall(r"\{(\d+)\}", word)]
        if any(self._ids[number] is None for number in numbers):
            return None
        return re.sub(r"\{(\d+)\}", lambda match: str(self._ids[int(match[1])]), word)

    def _submit(self, job: Asked) -> None:
        filled = [self._filled(word) for word in job.args]
        index = len(self._ids)
        row: dict[str, Any] = {"index": index, "id": REFUSED}
        args = [word for word in filled if word is not None]
        if None in filled:
            self._ids.append(None)
            return
        cluster = self._cluster
        if len(job.runs) > 1:
            script = f"set -- {' '.join(map(str, job.runs))}; shift $SLURM_ARRAY_TASK_ID; sleep $1; exit {job.exit}"
        else:
            script = f"sleep {job.runs[0]}; exit {job.exit}"
        words = [*cluster.users.words(job.user), "-o", "/dev/null", *args, f"--wrap={script}"]
        row["t_sent"] = self._now()
        done = cluster.command("sbatch", "--parsable", *words)
        row["t_returned"] = self._now()
        self._ids.append(int(done.stdout.split(";")[0]) if done.returncode == 0 else None)
        row |= {"id": self._ids[-1] or REFUSED, "user": job.user, "exit": job.exit, "args": args}
        row |= {"runs": job.runs} if job.is_array else {"run": job.runs[0]}
        if done.returncode:
            row["error"] = cluster.users.planned(done.stderr).strip()
        self.submissions.append(row)

    def _give(self, given: Given) -> None:
        filled = [self._filled(word) for word in given.cmd]
        words = [word for word in filled if word is not None]
        if len(words) < len(filled):
            return
        users = self._cluster.users
        sent = self._now()
        done = self._cluster.command(*(users.system(word) for word in words))
        said = users.planned(done.stdout + done.stderr).strip()
        self.events.append({"t_sent": sent, "t_returned": self._now(), "cmd": words, "out": said})

    def _sample(self) -> None:
        sample: dict[str, Any] = {"t": round(self._now(), 1)}
        for line in _sampled(self._plan):
            printed = self._cluster.command(*shlex.split(line)).stdout
            sample[line] = self._cluster.users.planned(printed).splitlines()
        self.samples.append(sample)


def _sampled(plan: Plan) -> tuple[str, ...]:
    factors = FACTORS if plan.slurm_conf.get("PriorityType") == "priority/multifactor" else ()
    return factors + PLANNED + (SHARES if plan.accounted else ())


def _texts(cluster: Planned) -> dict[str, str]:
    """The answers of Slurm in the end."""
    time.sleep(3)
    lines = {"left": 'squeue -h -o "%i %T %r"', "jobs": "scontrol show job -d -o", "sdiag": "sdiag"}
    lines |= {"version": "sinfo --version"} | (LAST if cluster.plan.accounted else {})
    texts = {name: cluster.command(*shlex.split(line)).stdout for name, line in lines.items()}
    if cluster.plan.accounted:
        cluster.command("sacctmgr", "dump", "witness", f"File={cluster.folder}/dump.txt")
        texts["dump"] = (cluster.folder / "dump.txt").read_text()
    texts["log"] = (cluster.folder / "slurmctld.log").read_text(errors="replace")
    jobcomp = cluster.folder / "jobcomp.txt"
    texts["jobcomp"] = jobcomp.read_text() if jobcomp.exists() else ""
    return {name: cluster.users.planned(text) for name, text in texts.items()}
