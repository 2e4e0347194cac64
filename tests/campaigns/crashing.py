"""A loop as a process of its own, which is killed again and again, and the judge of what came of it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from batprotocol.campaigns.model import Campaign, ClusterProperties, GridJobState, TaskState
from batprotocol.campaigns.store import ClusterEntry, GridStore

PROGRAM = """
import sys
from batprotocol.campaigns.model import Settings
from batprotocol.campaigns.loop import run_campaigns
from batprotocol.campaigns.store import Store
run_campaigns(Store(sys.argv[1]), Settings(), cycle_seconds=float(sys.argv[2]), until_idle=True)
"""


def submit(store: GridStore, clusters: list[ClusterEntry], tasks: int, folder: Path, *, grouped: bool = False) -> int:
    """A campaign of short commands, each of which writes its number down when it begins and when it ends."""
    for cluster in clusters:
        store.register(cluster)
    command = f"sh {folder / 'task.sh'}"
    (folder / "task.sh").write_text('echo "$1" >> begun\nsleep 0.0$(($1 % 5))\necho "$1" >> ended\n')
    says = tuple(
        ClusterProperties(cluster=each.name, exec_file=command, exec_directory=str(folder), temporal_grouping=grouped)
        for each in clusters
    )
    campaign = Campaign(user="alice", name="short", clusters=says)
    return store.submit(campaign, [str(number) for number in range(tasks)], now=time.time())


def run_and_kill(
    url: str, kills: int, drawn: random.Random, *, cycle: float, pause: float, halfway: Callable[[], None]
) -> int:
    """Run the loop until all is done; it is killed so often, at random, and something else happens in the middle.

    Returns how often it was killed: less, if all was done before.
    """
    for number in range(kills + 1):
        loop = subprocess.Popen([sys.executable, "-c", PROGRAM, url, str(cycle)], stderr=subprocess.PIPE, text=True)
        if number == kills // 2:
            halfway()
        if number < kills:
            time.sleep(0.7 + drawn.random() * pause)  # it takes a part of a second to begin
            loop.send_signal(signal.SIGKILL)
        _, errors = loop.communicate(timeout=600)
        assert loop.returncode in (0, -signal.SIGKILL), errors
        if loop.returncode == 0:
            return number
    raise AssertionError("the last one is not killed")


def judge(store: GridStore, campaign: int, tasks: int, folder: Path) -> Counter[str]:
    """Each task has ended exactly once, or an event tells why not; how many jobs ended in which state."""
    status = store.campaign(campaign)
    assert status is not None
    assert (status.total, status.pending, status.active) == (tasks, 0, 0)
    assert status.terminated + status.failed == tasks
    jobs = store.jobs(campaign)
    well = Counter(job.task for job in jobs if job.state is GridJobState.TERMINATED and not job.replica)
    events = {event.job for event in store.events(campaign, closed=True)}
    for task in store.tasks(campaign):
        assert task.state in (TaskState.TERMINATED, TaskState.EVENT)
        if task.state is TaskState.TERMINATED:
            assert any(job.task == task.id and job.state is GridJobState.TERMINATED for job in jobs)
    assert max(well.values()) == 1
    assert all(job.state.ended for job in jobs)
    begun = Counter((folder / "begun").read_text().split())
    ended = Counter((folder / "ended").read_text().split())
    # A command begins once for each job; those that did not end well tell why: by an event, or since a copy was faster.
    given = Counter(job.task for job in jobs)
    names = {task.id: task.name for task in store.tasks(campaign)}
    by_name = Counter({names[task]: count for task, count in given.items() if task is not None})
    assert all(begun[name] <= by_name[name] for name in begun), "a job was started twice"
    assert all(ended[name] >= 1 for name in names.values())
    for job in jobs:
        assert job.state is GridJobState.TERMINATED or job.id in events or job.kill is not None
    return Counter(job.state.value if job.kill is None else f"{job.state.value} {job.kill.value}" for job in jobs)
