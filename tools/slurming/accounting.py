"""Slurm's accounting: a database of its own for each cluster, slurmdbd, and what sacct and scontrol print in the end.

MariaDB runs in real time, and slurmdbd in Slurm's. The texts that are kept hold no names of this machine.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from ports import free_port

from slurming.clusters import Cluster, program
from slurming.situations import Situation

__all__ = ["AccountedCluster", "accounts_of", "database", "share_the_clock"]

_PACKAGES = "apt-get install slurmdbd mariadb-server"
_QUICK = (
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=16M",
    "--skip-log-bin",
    "--skip-name-resolve",
)
_SACCT = ("sacct", "-a", "-D", "-P", "-S", "now-2days", "-E", "now+2days")
"""The log, also of jobs that were to begin later and were cancelled before."""
_USERS = ("daemon", "bin", "sys", "games", "man", "lp", "mail", "news", "uucp", "proxy")
"""Users that each Debian has: Slurm wants names that the system knows."""


def accounts_of(groups: dict[str, int]) -> dict[str, list[str]]:
    """Accounts with so many users each. Only root can submit jobs for others; another user has all accounts."""
    if os.getuid():
        return {account: [pwd.getpwuid(os.getuid()).pw_name] for account in groups}
    names = iter(_USERS)
    return {account: [next(names) for _ in range(count)] for account, count in groups.items()}


@contextlib.contextmanager
def database(folder: Path) -> Iterator[int]:
    """A MariaDB with no data, in a folder, for as long as a `with` lasts. It needs no password.

    Returns:
        its port.

    Raises:
        RuntimeError: it is not installed, or does not start.
    """
    install, server = program("mariadb-install-db"), program("mariadbd")
    if install is None or server is None:
        raise RuntimeError(f"there is no MariaDB here: {_PACKAGES}")
    data, log = folder / "database", folder / "database.txt"
    user = f"--user={pwd.getpwuid(os.getuid()).pw_name}"
    usual = [f"--datadir={data}", user, *_QUICK]
    with log.open("ab") as output:
        method = "--auth-root-authentication-method=normal"
        made = subprocess.run(
            [install, "--no-defaults", *usual, method, "--skip-test-db"], stdout=output, stderr=output, check=False
        )
        port = free_port()
        own = [f"--port={port}", "--bind-address=127.0.0.1", "--skip-grant-tables", f"--socket={folder}/database.sock"]
        process = subprocess.Popen(
            [server, "--no-defaults", *usual, *own, f"--pid-file={folder}/database.pid"], stdout=output, stderr=output
        )
    try:
        if made.returncode or not _answers(port, process, 120):
            raise RuntimeError(f"MariaDB does not start: {log.read_text(errors='replace')[-2000:]}")
        yield port
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(port: int, process: subprocess.Popen[bytes], seconds: float) -> bool:
    last = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < last:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        time.sleep(0.1)
    return False


def share_the_clock() -> None:
    """Let other users look at the clock of faketime that all processes share."""
    for name in os.environ.get("FAKETIME_SHARED", "").split():
        for path in (Path("/dev/shm") / f"{kind}{name.strip('/')}" for kind in ("", "sem.")):
            with contextlib.suppress(OSError):
                path.chmod(0o666)


class AccountedCluster(Cluster):
    """A cluster whose slurmctld reports to a slurmdbd."""

    store = "slurm_acct_db"
    """The name of its database."""

    def __init__(self, folder: Path, situation: Situation, database_port: int) -> None:
        super().__init__(folder, situation)
        self._database_port = database_port
        self._port = free_port()
        self.more = {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": str(self._port),
            "AccountingStoreFlags": "job_comment",
        }

    def before(self) -> None:
        """Start slurmdbd, and add the accounts and their users."""
        share_the_clock()
        self.folder.chmod(0o755)  # the scripts of jobs are in it
        found = program("slurmdbd")
        if found is None:
            raise RuntimeError(f"there is no slurmdbd here: {_PACKAGES}")
        conf = self.folder / "slurmdbd.conf"
        conf.write_text("".join(f"{key}={value}\n" for key, value in self._dbd_conf().items()))
        conf.chmod(0o600)
        self.daemon(found, "-D")
        if not self.until(lambda: self._manages("list", "cluster"), 400):
            raise RuntimeError("slurmdbd does not answer")
        self._manages("add", "cluster", "witness")
        for account, users in self.situation.accounts.items():
            if not self._manages("add", "account", account, "cluster=witness"):
                raise RuntimeError(f"slurmdbd does not take the account {account}")
            for user in users:
                self._manages("add", "user", user, f"account={account}", "cluster=witness")

    def _manages(self, *words: str) -> bool:
        return self.command("sacctmgr", "-i", *words).returncode == 0

    def _dbd_conf(self) -> dict[str, str]:
        folder = self.folder
        return {
            "AuthType": "auth/none",
            "DbdHost": socket.gethostname().partition(".")[0],
            "DbdAddr": "127.0.0.1",
            "DbdPort": str(self._port),
            "SlurmUser": pwd.getpwuid(os.getuid()).pw_name,
            "PidFile": f"{folder}/slurmdbd.pid",
            "LogFile": f"{folder}/slurmdbd.log",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "127.0.0.1",
            "StoragePort": str(self._database_port),
            "StorageUser": "root",
            "StoragePass": "none",
            "StorageLoc": self.store,
        }

    def files(self, ids: set[str]) -> dict[str, str]:
        """The log of the cluster and what describes its nodes, once the accounting has the ends of all jobs.

        Args:
            ids: the ids of the jobs.

        Raises:
            RuntimeError: the accounting does not get them.
        """
        if not self.until(lambda: self._has_ended(ids), 300):
            found = self.command(*_SACCT, "-X")
            raise RuntimeError(f"the accounting does not get the ends of jobs: {found.stdout}{found.stderr}")
        printed = {
            "sacct.txt": (*_SACCT, "--format=ALL"),
            "sacct.json": (*(word for word in _SACCT if word != "-P"), "--json"),
            "nodes.txt": ("scontrol", "show", "node", "-o"),
        }
        texts = {name: self.command(*words).stdout for name, words in printed.items()}
        texts |= {name: (self.folder / name).read_text() for name in ("slurm.conf", "jobcomp.txt")}
        names = _Names([user for users in self.situation.accounts.values() for user in users])
        texts["sacct.txt"] = names.in_sacct(texts["sacct.txt"])
        texts["jobcomp.txt"] = names.in_jobcomp(texts["jobcomp.txt"])
        texts = {name: _without_machine(text, self.folder) for name, text in texts.items()}
        return texts | {"ids.txt": "".join(f"{id}\n" for id in sorted(ids, key=int))}

    def _has_ended(self, ids: set[str]) -> bool:
        printed = self.command(
            "sacct", "-a", "-D", "-n", "-P", "-X", "-S", "now-2days", "-E", "now+2days", "--format=JobID,End"
        ).stdout
        rows = [line.split("|") for line in printed.splitlines()]
        ended = all(end != "Unknown" for _, end in rows)
        return ended and ids <= {id.partition("_")[0] for id, _ in rows}


def _without_machine(text: str, folder: Path) -> str:
    """A text without the names of this machine and its folders."""
    text = text.replace(str(folder), "/tmp/slurm")
    text = re.sub(rf"\b{re.escape(socket.gethostname().partition('.')[0])}\b", "head", text)
    text = re.sub(r" OS=Linux .*?(?= RealMemory| $)", " OS=Linux", text)
    return re.sub(r"(?m)^Slurmd?User=.*\n", "", text)


class _Names:
    """Calls users and their groups u1, u2..., with the numbers 1001, 1002..."""

    def __init__(self, users: list[str]) -> None:
        found = [pwd.getpwnam(user) for user in dict.fromkeys(users)]
        groups = [grp.getgrgid(each.pw_gid).gr_name for each in found]
        new = [f"u{number}" for number in range(1, len(found) + 1)]
        numbers = [str(1000 + number) for number in range(1, len(found) + 1)]
        self._users = dict(zip([each.pw_name for each in found], new, strict=True))
        self._columns = {
            "User": self._users,
            "Group": dict(zip(groups, new, strict=True)),
            "UID": dict(zip([str(each.pw_uid) for each in found], numbers, strict=True)),
            "GID": dict(zip([str(each.pw_gid) for each in found], numbers, strict=True)),
        }

    def in_sacct(self, text: str) -> str:
        """The output of `sacct -P`."""
        header, *lines = text.splitlines()
        columns = header.split("|")
        made = [header]
        for line in lines:
            values = dict(zip(columns, line.split("|"), strict=True))
            for column, new in self._columns.items():
                values[column] = new.get(values[column], values[column])
            values["SubmitLine"] = re.sub(
                r"(?<=--[ug]id=)(\w+)", lambda match: self._users.get(match[1], match[1]), values["SubmitLine"]
            )
            made.append("|".join(values.values()))
        return "\n".join(made) + "\n"

    def in_jobcomp(self, text: str) -> str:
        """The file of jobcomp/filetxt."""
        for key, column in (("UserId", "UID"), ("GroupId", "GID")):
            names = self._columns["User" if key == "UserId" else "Group"]
            for (old, new), (number, other) in zip(names.items(), self._columns[column].items(), strict=True):
                text = text.replace(f"{key}={old}({number})", f"{key}={new}({other})")
        return text
