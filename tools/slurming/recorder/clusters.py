"""The Slurm of a plan: its configuration as the plan has it, and nothing else than what a recording needs."""

from __future__ import annotations

import os
import pwd
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from slurming.accounting import AccountedCluster, share_the_clock
from slurming.clusters import Cluster
from slurming.recorder.plans import Plan
from slurming.situations import Situation

__all__ = ["AccountedPlanned", "Planned", "Users", "planned"]

KEPT = {
    "MinJobAge": "100000",
    "SlurmctldDebug": "debug2",
    "LogTimeFormat": "iso8601_ms",
    "DebugFlags": "Backfill,TraceJobs",
}
"""Records of jobs stay until the end. The log has its milliseconds, and says when each node of a job is clean."""
NOT_PLANNED = ("SchedulerParameters", "SchedulerType", "PriorityType", "GresTypes", "AccountingStorageType")
"""Parameters that situations set. A plan leaves them at Slurm's default."""


class Users:
    """The users u1, u2... of plans, as users that each Debian has: Slurm wants names that the system knows."""

    SYSTEM = ("uucp", "proxy", "games", "news", "backup", "irc")

    def __init__(self) -> None:
        """Only root can submit jobs for others; another user has all of them."""
        names = self.SYSTEM if os.getuid() == 0 else (pwd.getpwuid(os.getuid()).pw_name,) * len(self.SYSTEM)
        self._names = {f"u{number}": name for number, name in enumerate(names, 1)}

    def system(self, text: str) -> str:
        """A text with the system's names of users."""
        return re.sub(r"\bu[1-6]\b", lambda match: self._names[match[0]], text)

    def planned(self, text: str) -> str:
        """A text with the plan's names of users."""
        back = {name: user for user, name in reversed(self._names.items())}
        return re.sub(rf"\b(?:{'|'.join(map(re.escape, back))})\b", lambda match: back[match[0]], text)

    def words(self, user: str) -> list[str]:
        """The arguments of sbatch that make a job one of the user."""
        return [f"--uid={self._names[user]}"] if os.getuid() == 0 else []


class Planned(Cluster):
    """A Slurm that is as a plan has it."""

    usual = KEPT

    def __init__(self, folder: Path, plan: Plan) -> None:
        super().__init__(folder, _situation(plan))
        self.plan, self.users = plan, Users()
        self.answers: list[list[str]] = []

    def before(self) -> None:
        """Let the users of jobs look at the clock and at the folder."""
        share_the_clock()
        self.folder.chmod(0o755)

    def _conf(self) -> Iterator[str]:
        (self.folder / "topology.conf").write_text(self.plan.topology)
        given = {key for key in NOT_PLANNED if key not in self.plan.slurm_conf and key not in self.more}
        own = (line for line in super()._conf() if line.partition("=")[0] not in given)
        return (self.users.system(line) if "AllowGroups=" in line else line for line in own)

    def _gres(self) -> Iterator[str]:
        for line in self.plan.gres.splitlines():
            yield line.replace("/dev/", f"{self.folder}/")
            for first, last in re.findall(r"File=/dev/gpu\[(\d+)-(\d+)\]", line):
                for number in range(int(first), int(last) + 1):
                    (self.folder / f"gpu{number}").touch()


class AccountedPlanned(Planned, AccountedCluster):
    """The same with Slurm's accounting."""

    def __init__(self, folder: Path, plan: Plan, database_port: int) -> None:
        AccountedCluster.__init__(self, folder, _situation(plan), database_port)
        self.plan, self.users, self.answers = plan, Users(), []
        self.store = f"slurm_{plan.kind}_{plan.seed}_{os.getpid()}"

    def before(self) -> None:
        """Start slurmdbd, and set up accounts, users and qualities of service."""
        AccountedCluster.before(self)
        for words in self.plan.setup:
            done = self.command("sacctmgr", "-i", *(self.users.system(word) for word in words))
            said = f"{done.stdout}{done.stderr}".strip()
            lines = [line.strip() for line in self.users.planned(said).splitlines()]
            self.answers.append([shlex.join(["sacctmgr", "-i", *words]), "\n".join(lines)])
            if done.returncode:
                raise RuntimeError(f"sacctmgr refuses {shlex.join(words)}: {said}")


def planned(folder: Path, plan: Plan, database_port: int) -> Planned:
    """The Slurm of a plan, in a folder.

    Raises:
        RuntimeError: the plan needs several users, and this one is not root.
    """
    if plan.accounted and os.getuid():
        raise RuntimeError(f"only root can record {plan.kind}, as its jobs are of several users")
    return AccountedPlanned(folder, plan, database_port) if plan.accounted else Planned(folder, plan)


def _situation(plan: Plan) -> Situation:
    nodes = [f"{name} {words}" for name, words in plan.named_nodes().items()]
    partitions = [re.sub(r"^PartitionName=| State=UP", "", line) for line in plan.partitions]
    conf = [f"{key}={value}" for key, value in plan.slurm_conf.items() if key != "AccountingStorageType"]
    return Situation(plan.kind, nodes, partitions, [], conf)
