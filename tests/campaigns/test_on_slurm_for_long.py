"""A campaign beside ordinary jobs that preempt it, on a real Slurm: the loop, slurmctld and nodes die meanwhile."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from slurms import RunningSlurm, running_slurm

from batprotocol.campaigns.model import Campaign, ClusterProperties, JobState, TaskState
from batprotocol.campaigns.store import Store, Where

WITHOUT_ENGINE = True

NODES, CORES = 16, 4
TASKS, LONGEST = 2000, 24.0
"""The tasks, and how many seconds the longest of them sleeps: they are drawn evenly from 0."""

LOOP_KILLS, CONTROLLER_KILLS, LOST_NODES = 10, 3, 10


PROGRAM = """
import sys
from batprotocol.campaigns.model import Settings
from batprotocol.campaigns.running import run_campaigns
from batprotocol.campaigns.store import Store
run_campaigns(Store(sys.argv[1]), Settings(order_flood_rate=0.25), cycle_seconds=2.0, until_idle=True)
"""
"""The loop. Some jobs always wait in Slurm, as it takes a second to start one."""


UP = ("idle", "mixed", "allocated", "completing")


class Ordinary(NamedTuple):
    """An ordinary job: when it comes, its cores and seconds."""

    at: float
    cores: int
    seconds: float


def ordinary_jobs(seed: int, until: float) -> list[Ordinary]:
    """Jobs that take about a third of the cluster."""
    drawn = random.Random(seed)
    jobs, at = [], 0.0
    while at < until:
        at += drawn.expovariate(1 / 6)
        jobs.append(Ordinary(at, drawn.choice((1, 4, 8, 16)), drawn.uniform(5, 30)))
    return jobs


class Stream(threading.Thread):
    """Submits ordinary jobs, and samples what is used meanwhile."""

    def __init__(self, slurm: RunningSlurm, jobs: list[Ordinary]) -> None:
        super().__init__(daemon=True)
        self.slurm, self.jobs = slurm, jobs
        self.samples: list[tuple[float, int, int, int]] = []  # moment; cores that are up, of ordinary jobs, of tasks
        self.stopped = threading.Event()

    def run(self) -> None:
        began, waiting = time.time(), [*self.jobs]
        while not self.stopped.is_set():
            while waiting and waiting[0].at <= time.time() - began:
                job = waiting.pop(0)
                words = ["-p", "main", f"-n{job.cores}", "-t5", "-Jordinary"]
                done = self.slurm.sbatch(*words, "--wrap", f"exec sleep {job.seconds:.1f}")
                if done.returncode:  # slurmctld is away
                    waiting.insert(0, job)
                    break
            self._sample()
            self.stopped.wait(0.5)

    def _sample(self) -> None:
        queue = self.slurm.command("squeue", "-h", "-t", "R,CG", "-o", "%P%t|%C")
        nodes = self.slurm.command("sinfo", "-h", "-N", "-p", "idle", "-o", "%T|%C")
        if queue.returncode or nodes.returncode:
            return
        used: Counter[str] = Counter()
        for line in queue.stdout.split():
            partition, _, cores = line.partition("|")
            used[partition] += int(cores)
        rows = [line.partition("|") for line in nodes.stdout.split()]
        up = sum(int(cores.split("/")[3]) for state, _, cores in rows if state in UP)
        self.samples.append((time.time(), up, used["mainR"] + used["mainCG"], used["idleR"]))


def delays(slurm: RunningSlurm) -> list[int]:
    """The seconds that each ordinary job has waited."""
    found = []
    for line in (slurm.folder / "jobcomp.txt").read_text().splitlines():
        keys = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if keys["Name"] == "ordinary" and keys["StartTime"][:1].isdigit():
            begun, asked = (
                time.mktime(time.strptime(keys[k], "%Y-%m-%dT%H:%M:%S")) for k in ("StartTime", "SubmitTime")
            )
            found.append(int(begun - asked))
    return found


@pytest.mark.minutes
@pytest.mark.timeout(3600)
def test_a_campaign_beside_ordinary_jobs(tmp_path: Path) -> None:
    alone = with_campaign = 0.0
    length = TASKS * LONGEST / 2 / (NODES * CORES) * 1.5
    with running_slurm(NODES, CORES) as slurm:
        stream = Stream(slurm, ordinary_jobs(1, min(length, 60.0)))
        stream.start()
        time.sleep(min(length, 60.0) + 30)
        stream.stopped.set()
        stream.join()
        found = delays(slurm)
        alone = sum(found) / len(found)
    with running_slurm(NODES, CORES) as slurm:
        stream = Stream(slurm, ordinary_jobs(1, length))
        store, number = campaign(tmp_path)
        stream.start()
        deaths(slurm, tmp_path, length)
        stream.stopped.set()
        stream.join()
        found = delays(slurm)
        with_campaign = sum(found) / len(found)
        marks = Counter((tmp_path / "ended").read_text().split())
        report(store, number, stream, marks, alone, with_campaign, len(found))
    assert with_campaign <= alone + 5


def campaign(folder: Path) -> tuple[Store, int]:
    """A campaign whose tasks write their names when they begin and end."""
    (folder / "cluster.toml").write_text(f'type = "slurm"\nfolder = "{folder}/jobs"\npartition = "idle"\n')
    (folder / "task.sh").write_text('echo "$1" >>begun\nsleep "$2" || exit\necho "$1" >>ended\n')
    (folder / "done").mkdir()
    drawn = random.Random(1)
    says = ClusterProperties(
        cluster="site",
        exec_file=f"sh {folder}/task.sh",
        exec_directory=str(folder),
        walltime="00:05:00",
        result_marker="done/{NAME}",
    )
    store = Store(str(folder / "grid.db"))
    store.register(Where(name="site", batch="slurm", address=str(folder / "cluster.toml")))
    parameters = [f"t{task} {drawn.uniform(0, LONGEST):.2f}" for task in range(TASKS)]
    return store, store.submit(Campaign(user="alice", name="long", clusters=(says,)), parameters, now=time.time())


def deaths(slurm: RunningSlurm, folder: Path, length: float) -> None:
    """Run the loop until all is done; it dies meanwhile, and so do slurmctld and nodes."""
    drawn, began = random.Random(2), time.time()
    events = [("loop", drawn.uniform(5, length)) for _ in range(LOOP_KILLS)]
    events += [("controller", drawn.uniform(10, length)) for _ in range(CONTROLLER_KILLS)]
    events += [("node", drawn.uniform(10, length)) for _ in range(LOST_NODES)]
    events.sort(key=lambda event: event[1])
    back: list[tuple[float, str]] = []
    loop: subprocess.Popen[str] | None = None
    while True:
        if loop is None:
            words = [sys.executable, "-c", PROGRAM, str(folder / "grid.db")]
            loop = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        if loop.poll() is not None:
            assert loop.returncode == 0, loop.communicate()[1]
            assert not events, f"{len(events)} deaths were left"
            break
        now = time.time() - began
        if events and events[0][1] <= now:
            kind, _ = events.pop(0)
            if kind == "loop":
                loop.send_signal(signal.SIGKILL)
                loop.communicate()
                loop = None
            elif kind == "controller":
                slurm.kill_controller()
                time.sleep(2)
                slurm.start_controller()
            else:
                node = f"n{drawn.randrange(NODES)}"
                slurm.lose(node)
                back.append((now + 25, node))
        while back and back[0][0] <= now:
            slurm.bring_back(back.pop(0)[1])
        time.sleep(0.2)


def report(
    store: Store, number: int, stream: Stream, marks: Counter[str], alone: float, beside: float, ordinary: int
) -> None:
    status = store.campaign(number)
    assert status is not None
    jobs = store.jobs(number)
    how = Counter(job.state.value for job in jobs)
    begun = [job.start_time for job in jobs if job.start_time is not None]
    last = sorted(begun)[-NODES * CORES]  # from here on, there are fewer tasks than cores
    inside = [each for each in stream.samples if min(begun) + 3 <= each[0] <= last]
    idle = sum(up - main for _, up, main, _ in inside)
    used = sum(tasks for *_, tasks in inside)
    print(
        f"\n{status.terminated} of {status.total} tasks ended well, {status.failed} failed; jobs {dict(how)};",
        f"marks: {len(marks)} tasks, {sum(marks.values())} ends; {ordinary} ordinary jobs wait {beside:.2f} s,",
        f"{alone:.2f} s without the campaign; {100 * used / idle:.1f} % of {idle / 2:.0f} idle core seconds used",
        f"in {last - min(begun):.0f} s",
    )
    assert (status.total, status.terminated, status.failed) == (TASKS, TASKS, 0)
    assert all(task.state is TaskState.TERMINATED for task in store.tasks(number))
    assert Counter(job.task for job in jobs if job.state is JobState.TERMINATED).most_common(1)[0][1] == 1
    assert len(marks) == TASKS
    assert used >= 0.9 * idle
