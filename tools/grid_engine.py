"""Records the accounting of a real Grid Engine: four hosts of this machine run some 300 short jobs.

    mkdir packages && cd packages
    apt-get download gridengine-master gridengine-exec gridengine-client gridengine-common
    for file in *.deb; do dpkg -x $file .; done; cd ..
    python tools/grid_engine.py packages recorded

It needs root on Linux, and `ip` of iproute2. The hosts, users and files are in namespaces of their own, and end with
this program. The folder `recorded` then has `accounting`, and what Grid Engine's own `qacct` prints about it:
`jobs.txt` (`qacct -j`), `owners.txt`, `hosts.txt`, `environments.txt` and `slots.txt` (its sums).
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

HOSTS: Final = ("node1", "node2", "node3", "node4")
SLOTS: Final = 4
USERS: Final = {"user1": ("group1", 2001), "user2": ("group1", 2002), "user3": ("group2", 2003)}
GROUPS: Final = {"group1": 2001, "group2": 2002}
PORTS: Final = {"sge_qmaster": 6444, "sge_execd": 6445}
LONGEST: Final = 1500
"""Seconds after which it gives up."""
INSIDE: Final = "GRID_ENGINE_INSIDE"
SUMS: Final = {
    "jobs.txt": ("-j",),
    "owners.txt": ("-o",),
    "hosts.txt": ("-h",),
    "environments.txt": ("-pe",),
    "slots.txt": ("-slots",),
}
"""The files of what qacct prints, with its options."""
ENVIRONMENT: Final = """\
pe_name {name}
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule {rule}
control_slaves TRUE
job_is_first_task {first}
urgency_slots min
accounting_summary {summary}
qsort_args NONE
"""
ENVIRONMENTS: Final = (
    ("smp", "$pe_slots", "TRUE", "FALSE"),
    ("summed", "$fill_up", "TRUE", "TRUE"),
    ("each", "$round_robin", "FALSE", "FALSE"),
    ("each_first", "$round_robin", "TRUE", "FALSE"),
)
"""Parallel environments: the name, `allocation_rule`, `job_is_first_task` and `accounting_summary`."""
TASKS: Final = 'for host in $(cut -d" " -f1 $PE_HOSTFILE); do qrsh -inherit $host /bin/sleep $1 & done; wait'
"""A job that starts a task on each of its hosts."""


class Site:
    """A Grid Engine of this machine.

    Args:
        packages: the folder of the unpacked packages.
        folder: an empty folder for its files.
    """

    def __init__(self, packages: Path, folder: Path) -> None:
        self.root = folder / "root"
        self.home = folder / "home"
        self.packages = packages
        self.programs = Path("/usr/lib/gridengine")
        self.shared = Path("/usr/share/gridengine")
        self.cell = self.root / "default/common"
        self.spool = folder / "spool"
        self.nodes: dict[str, int] = {}
        self.environment = {
            "PATH": f"{self.programs}:/usr/sbin:/usr/bin:/sbin:/bin",
            "LD_LIBRARY_PATH": str(self.programs),
            "SGE_ROOT": str(self.root),
            "SGE_CELL": "default",
            "SGE_QMASTER_PORT": str(PORTS["sge_qmaster"]),
            "SGE_EXECD_PORT": str(PORTS["sge_execd"]),
            "HOME": str(self.home),
            "TZ": "UTC",
        }

    def call(self, *words: str, user: str | None = None, text: str | None = None, host: str | None = None) -> str:
        """What a command prints, of a user and on a host.

        Raises:
            RuntimeError: it fails.
        """
        before: list[str] = []
        if host is not None:
            before += ["nsenter", f"--target={self.nodes[host]}", "--net", "--uts", "--pid", "--mount"]
        if user is not None:
            group, number = USERS[user]
            before += ["setpriv", f"--reuid={number}", f"--regid={GROUPS[group]}", "--clear-groups"]
        environment = {**self.environment, "USER": user or "root", "LOGNAME": user or "root"}
        done = subprocess.run(
            [*before, *words], env=environment, cwd=self.home, input=text or "", text=True, capture_output=True
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def configure(self) -> None:
        """Write the files of a new cell."""
        for path in (self.cell, self.spool / "qmaster/job_scripts", self.spool / "db", self.home):
            path.mkdir(parents=True)
        self.home.chmod(0o777)
        for name in ("bin", "utilbin", "lib"):
            (self.root / name).mkdir()
            (self.root / name / "lx-amd64").symlink_to(self.programs)
        (self.root / "util").symlink_to(self.shared / "util")
        (self.cell / "act_qmaster").write_text("master\n")
        (self.cell / "bootstrap").write_text(
            "admin_user none\ndefault_domain none\nignore_fqdn true\nspooling_method berkeleydb\n"
            f"spooling_lib libspoolb\nspooling_params {self.spool}/db\nbinary_path {self.root}/bin\n"
            f"qmaster_spool_dir {self.spool}/qmaster\nsecurity_mode none\nlistener_threads 2\nworker_threads 2\n"
            "scheduler_threads 1\njvm_threads 0\n"
        )
        settings = (self.shared / "default-configuration").read_text()
        changes = {
            "execd_spool_dir": f"{self.spool}/execd",
            "min_uid": "0",
            "min_gid": "0",
            "mailer": "/bin/true",
            "load_report_time": "00:00:05",
            "reporting_params": "accounting=true reporting=false flush_time=00:00:01 joblog=false sharelog=00:00:00",
        }
        lines = [line.split(None, 1) for line in settings.splitlines() if line and line[0] != "#"]
        written = "".join(f"{name} {changes.get(name, value.strip())}\n" for name, value in lines)
        (self.spool / "configuration").write_text(written)
        (self.spool / "execd").mkdir()
        self.call("spoolinit", "berkeleydb", "libspoolb", f"{self.spool}/db", "init")
        resources = self.shared / "util/resources"
        for words in (
            ("configuration", f"{self.spool}/configuration"),
            ("complexes", f"{resources}/centry"),
            ("usersets", f"{resources}/usersets"),
            ("managers", "root"),
        ):
            self.call("spooldefaults.bin", *words)

    def start(self) -> None:
        """Start the master and its hosts, with a queue and parallel environments."""
        self.call("sge_qmaster")
        self._wait("the master does not answer", lambda: "reporting_params" in self.call("qconf", "-sconf"))
        self.call("qconf", "-as", "master")
        for host in HOSTS:
            self.call("qconf", "-ah", host)
            self.call("qconf", "-as", host)
        self.call("qconf", "-au", "user1", "arusers")
        project = "name project1\noticket 0\nfshare 0\nacl NONE\nxacl NONE\n"
        self.call("qconf", "-Aprj", str(self._file("project", project)))
        for name, rule, first, summary in ENVIRONMENTS:
            text = ENVIRONMENT.format(name=name, rule=rule, first=first, summary=summary)
            self.call("qconf", "-Ap", str(self._file("environment", text)))
        often = re.sub(r"(?m)^schedule_interval .*", "schedule_interval 0:0:1", self.call("qconf", "-ssconf"))
        self.call("qconf", "-Msconf", str(self._file("scheduler", often)))
        for host in HOSTS:
            self.call("sge_execd", host=host)
        self.call("qconf", "-Aq", str(self._file("queue", self._queue())))
        self._wait("the hosts do not report", lambda: self.call("qhost").count("lx-amd64") == len(HOSTS))
        self.call("qrsub", "-d", "3600", user="user1")

    def _wait(self, what: str, done: Callable[[], bool], seconds: float = 60) -> None:
        end, why = time.monotonic() + seconds, ""
        while True:
            try:
                if done():
                    return
            except RuntimeError as error:
                why = f": {error}"
            if time.monotonic() > end:
                raise RuntimeError(f"{what}{why}")
            time.sleep(0.5)

    def _file(self, name: str, text: str) -> Path:
        path = self.spool / name
        path.write_text(text)
        return path

    def _queue(self) -> str:
        changes = {
            "qname": "main.q",
            "hostlist": " ".join(HOSTS),
            "pe_list": " ".join(each[0] for each in ENVIRONMENTS),
            "slots": str(SLOTS),
            "rerun": "FALSE",
            "shell": "/bin/sh",
            "load_thresholds": "NONE",
        }
        template = (line.split(None, 1) for line in self.call("qconf", "-sq").splitlines())
        return "".join(f"{name} {changes.get(name, value)}\n" for name, value in template)


def namespaces(site: Site, folder: Path) -> None:
    """Make the hosts: each a network and a name, which reaches the others through the master."""
    run("mount", "-t", "overlay", "-o", f"lowerdir={site.packages}/usr:/usr", "none", "/usr")
    hosts = ["127.0.0.1 localhost", "10.99.0.1 master"]
    hosts += [f"10.99.{number}.2 {host}" for number, host in enumerate(HOSTS, 1)]
    mounted(folder, "/etc/hosts", "\n".join(hosts) + "\n")
    users = [f"{name}:x:{number}:{GROUPS[group]}::{site.home}:/bin/sh" for name, (group, number) in USERS.items()]
    mounted(folder, "/etc/passwd", Path("/etc/passwd").read_text() + "\n".join(users) + "\n")
    groups = [f"{name}:x:{number}:" for name, number in GROUPS.items()]
    mounted(folder, "/etc/group", Path("/etc/group").read_text() + "\n".join(groups) + "\n")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    run("hostname", "master")
    run("ip", "link", "set", "lo", "up")
    run("ip", "address", "add", "10.99.0.1/32", "dev", "lo")
    for number, host in enumerate(HOSTS, 1):
        site.nodes[host] = node(host)
        inside = ("nsenter", f"--target={site.nodes[host]}", "--net")
        run("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", str(site.nodes[host]))
        run("ip", "address", "add", f"10.99.{number}.1/24", "dev", f"v{number}")
        run("ip", "link", "set", f"v{number}", "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        run(*inside, "ip", "address", "add", f"10.99.{number}.2/24", "dev", "eth0")
        run(*inside, "ip", "link", "set", "eth0", "up")
        run(*inside, "ip", "route", "add", "default", "via", f"10.99.{number}.1")


def node(name: str) -> int:
    """Start a host with processes of its own, as Grid Engine ends those with the group of a job."""
    words = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c"]
    process = subprocess.Popen([*words, f"hostname {name}; echo; sleep infinity"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


def mounted(folder: Path, path: str, text: str) -> None:
    """Replace a file in this namespace."""
    copy = folder / path.replace("/", "_")
    copy.write_text(text)
    run("mount", "--bind", str(copy), path)


def run(*words: str) -> None:
    """Run a command."""
    subprocess.run(words, check=True)


# The jobs


class Asked(NamedTuple):
    """A job: its words for qsub, and what happens to it.

    Attributes:
        user: its user.
        words: the arguments of qsub.
        act: a command that is given some seconds after the submission; None: none.
    """

    user: str
    words: tuple[str, ...]
    act: str | None = None


def jobs_of(draw: random.Random, count: int, scripts: Mapping[str, str]) -> Iterator[Asked]:
    """Jobs of all kinds, with the scripts that they run."""

    def seconds() -> str:
        return str(draw.randrange(1, 7))

    kinds: list[Callable[[], tuple[tuple[str, ...], str | None]]] = [
        *[lambda: ((scripts["sleep"], seconds()), None)] * 6,
        *[lambda: ((scripts["exit"], draw.choice(["1", "3", "137"])), None)] * 2,
        *[lambda: (("-t", draw.choice(["1-4", "2-8:3", "5"]), scripts["sleep"], seconds()), None)] * 2,
        *[lambda: (("-pe", "smp", draw.choice(["2", "4"]), scripts["sleep"], seconds()), None)] * 2,
        *[lambda: (("-pe", "summed", draw.choice(["3", "2-6"]), scripts["tasks"], seconds()), None)] * 2,
        *[lambda: (("-pe", draw.choice(["each", "each_first"]), "5", scripts["tasks"], seconds()), None)] * 2,
        lambda: (("-pe", "each", "4", "-t", "1-2", scripts["tasks"], "2"), None),
        lambda: (("-l", draw.choice(["h_rt=00:00:03", "s_rt=2,h_rt=60"]), scripts["sleep"], "30"), None),
        lambda: (("-l", "h_rt=1:00:00", "-P", "project1", scripts["sleep"], seconds()), None),
        lambda: (("-A", "account1", "-q", f"main.q@{draw.choice(HOSTS)}", scripts["sleep"], seconds()), None),
        lambda: ((scripts["signal"], draw.choice(["9", "15"])), None),
        lambda: (("-o", "/nowhere/out", scripts["sleep"], "1"), "qdel {}"),
        lambda: (("-h", scripts["sleep"], "1"), "qdel {}"),
        lambda: ((scripts["sleep"], "60"), "qdel {}"),
        lambda: (("-r", "y", scripts["sleep"], "8"), "qmod -rj {}"),
        lambda: ((scripts["sleep"], "4"), "qmod -sj {}; sleep 3; qmod -usj {}"),
        lambda: (("-ar", "1", scripts["sleep"], "1"), None),
    ]
    for number in range(count):
        words, act = kinds[number]() if number < len(kinds) else draw.choice(kinds)()
        yield Asked("user1" if "-ar" in words else draw.choice(list(USERS)), ("-N", f"job{number}", *words), act)


def scripts_in(folder: Path) -> dict[str, str]:
    """Write the scripts of jobs."""
    texts = {"sleep": "exec sleep $1", "exit": "exit $1", "signal": "kill -$1 $$; sleep 9", "tasks": TASKS}
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    return {name: str(folder / name) for name in texts}


def submitted(site: Site, jobs: Iterable[Asked]) -> None:
    """Submit the jobs, give their commands, and wait for their ends."""
    end, waiting = time.monotonic() + LONGEST, list[tuple[float, str]]()
    for job in jobs:
        usual = ("-V", "-o", "/dev/null", "-e", "/dev/null")
        text = site.call("qsub", "-terse", *usual, *job.words, user=job.user).strip()
        if job.act is not None:
            waiting.append((time.monotonic() + 9, job.act.format(*[text.partition(".")[0]] * 2)))
        while site.call("qstat", "-u", "*").count(" qw ") > len(HOSTS) * SLOTS:
            time.sleep(1)
        waiting = _given(site, waiting)
    while waiting or site.call("qstat", "-u", "*").strip():
        if time.monotonic() > end:
            raise RuntimeError(f"these jobs did not end: {site.call('qstat', '-u', '*')}")
        waiting = _given(site, waiting)
        time.sleep(1)


def _given(site: Site, waiting: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Give the commands whose time has come. The others are returned. Jobs may have ended, and then a command fails."""
    now = time.monotonic()
    for moment, command in waiting:
        if moment <= now:
            site.call("sh", "-c", f"{command}; true")
    return [each for each in waiting if each[0] > now]


def record(packages: Path, result: Path, count: int, seed: int) -> None:
    """Run the jobs, and keep the accounting with what qacct prints."""
    with tempfile.TemporaryDirectory(prefix="grid-engine-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        site = Site(packages, folder)
        namespaces(site, folder)
        site.configure()
        site.start()
        submitted(site, jobs_of(random.Random(seed), count, scripts_in(site.home)))
        time.sleep(3)  # the master writes records each second
        result.mkdir(parents=True, exist_ok=True)
        shutil.copy(site.cell / "accounting", result)
        for file, words in SUMS.items():
            (result / file).write_text(site.call("qacct", *words))


def main() -> None:
    """Read the arguments, and go into namespaces."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path, help="the folder of the unpacked packages")
    parser.add_argument("result", type=Path, help="the folder of the records")
    parser.add_argument("--jobs", type=int, default=280, help="the number of submissions")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the jobs")
    options = parser.parse_args()
    if os.environ.get(INSIDE) is None:
        words = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child"]
        os.environ[INSIDE] = "1"
        os.execvp(words[0], [*words, sys.executable, *sys.argv])
    record(options.packages.resolve(), options.result.resolve(), options.jobs, options.seed)


if __name__ == "__main__":
    main()
