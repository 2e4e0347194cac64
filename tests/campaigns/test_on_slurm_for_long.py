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
from slurms import SILENT_NODES_ARE_DOWN, RunningSlurm, running_slurm

from batprotocol.campaigns.model import Campaign, ClusterProperties, GridJobState, TaskState
from batprotocol.campaigns.store import ClusterEntry, GridStore

WITHOUT_ENGINE = True

NODES, CORES = 16, 4
TASKS, LONGEST = 2000, 24.0
"""The tasks, and how many seconds the longest of them sleeps: they are drawn evenly from 0."""

SHORT = 1000
"""The tasks of 10 ms whose overhead is measured."""

LOOP_KILLS, CONTROLLER_KILLS, LOST_NODES = 10, 3, 10


PROGRAM = """
import sys
from batprotocol.campaigns.model import Settings
from batprotocol.campaigns.loop import run_campaigns
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
    """Ordinary jobs see the same deaths with and without the campaign."""
    length = TASKS * LONGEST / 2 / (NODES * CORES) * 1.5
    found = {}
    for name in ("alone", "beside"):
        with running_slurm(NODES, CORES, (SILENT_NODES_ARE_DOWN,)) as slurm:
            stream = Stream(slurm, ordinary_jobs(1, length))
            folder = tmp_path if name == "beside" else None
            store, number = campaign(tmp_path) if folder is not None else (None, 0)
            stream.start()
            deaths(slurm, folder, length)
            stream.stopped.set()
            stream.join()
            found[name] = delays(slurm)
    means = {name: sum(each) / len(each) for name, each in found.items()}
    assert store is not None
    marks = Counter((tmp_path / "ended").read_text().split())
    report(store, number, stream, marks)
    print(f"{len(found['beside'])} ordinary jobs wait {means['beside']:.2f} s, {means['alone']:.2f} s without it")
    assert means["beside"] <= means["alone"] + 5


def campaign(folder: Path) -> tuple[GridStore, int]:
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
    store = GridStore(str(folder / "grid.db"))
    store.register(ClusterEntry(name="site", batch="slurm", address=str(folder / "cluster.toml")))
    parameters = [f"t{task} {drawn.uniform(0, LONGEST):.2f}" for task in range(TASKS)]
    return store, store.submit(Campaign(user="alice", name="long", clusters=(says,)), parameters, now=time.time())


def deaths(slurm: RunningSlurm, folder: Path | None, length: float) -> None:
    """Run the loop of a folder until all is done; it dies meanwhile, and so do slurmctld and nodes.

    Without a folder, there is no loop, and this lasts as long as the deaths and some more.
    """
    drawn, began = random.Random(2), time.time()
    events = [("loop", drawn.uniform(5, length)) for _ in range(LOOP_KILLS)]
    events += [("controller", drawn.uniform(10, length)) for _ in range(CONTROLLER_KILLS)]
    events += [("node", drawn.uniform(10, length)) for _ in range(LOST_NODES)]
    events.sort(key=lambda event: event[1])
    back: list[tuple[float, str]] = []
    loop = Loop(folder)
    while not loop.has_ended():
        now = time.time() - began
        if folder is None and now > length + 40:
            break
        if events and events[0][1] <= now:
            kind, _ = events.pop(0)
            if kind == "loop":
                loop.kill()
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
    assert not events, f"{len(events)} deaths were left"


class Loop:
    """The loop of a folder, which is started again after its death; none without a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def has_ended(self) -> bool:
        """Whether it has ended by itself. It is started if it does not run."""
        if self._folder is None:
            return False
        if self._process is None:
            words = [sys.executable, "-c", PROGRAM, str(self._folder / "grid.db")]
            self._process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        if self._process.poll() is None:
            return False
        assert self._process.returncode == 0, self._process.communicate()[1]
        return True

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def report(store: GridStore, number: int, stream: Stream, marks: Counter[str]) -> None:
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
        f"marks: {len(marks)} tasks, {sum(marks.values())} ends; {100 * used / idle:.1f} % of {idle / 2:.0f} idle core",
        f"seconds used in {last - min(begun):.0f} s",
    )
    assert (status.total, status.terminated, status.failed) == (TASKS, TASKS, 0)
    assert all(task.state is TaskState.TERMINATED for task in store.tasks(number))
    assert Counter(job.task for job in jobs if job.state is GridJobState.TERMINATED).most_common(1)[0][1] == 1
    assert (len(marks), sum(marks.values())) == (TASKS, TASKS)
    assert used >= 0.9 * idle


# What short tasks cost


@pytest.mark.minutes
@pytest.mark.timeout(3600)
def test_what_short_tasks_cost(tmp_path: Path) -> None:
    """Tasks of 10 ms: an array by hand, a campaign with each of them alone, and one with groups; and a step of srun."""
    found = {}
    with running_slurm(NODES, CORES, (SILENT_NODES_ARE_DOWN,)) as slurm:
        began = time.monotonic()
        array = slurm.sbatch("-p", "idle", f"--array=0-{SHORT - 1}", "--wrap", "sleep 0.01")
        assert array.returncode == 0, array.stderr
        assert slurm.until(lambda: (shown := slurm.command("squeue", "-h")).returncode == 0 and not shown.stdout, 3000)
        found["an array by hand"] = time.monotonic() - began
        for name, grouped in (("alone", False), ("in groups", True)):
            (tmp_path / name).mkdir()
            found[name] = seconds_of_short_tasks(tmp_path / name, grouped=grouped)
        began = time.monotonic()
        for _ in range(10):
            assert slurm.command("srun", "-p", "idle", "-n1", "sleep", "0.01").returncode == 0
        step = (time.monotonic() - began) / 10
    print(f"\n{SHORT} tasks of 10 ms: {', '.join(f'{name} {each:.1f} s' for name, each in found.items())};")
    print(f"{found['alone'] / found['an array by hand']:.2f} times the array; a step of srun takes {step:.2f} s")
    assert found["in groups"] / SHORT <= step + 0.005


def seconds_of_short_tasks(folder: Path, *, grouped: bool) -> float:
    """How long the loop takes for a campaign of them, all of which end well."""
    (folder / "cluster.toml").write_text(f'type = "slurm"\nfolder = "{folder}/jobs"\npartition = "idle"\n')
    says = ClusterProperties(
        cluster="site", exec_file="sleep 0.01; :", exec_directory=str(folder), temporal_grouping=grouped
    )
    store = GridStore(str(folder / "grid.db"))
    store.register(ClusterEntry(name="site", batch="slurm", address=str(folder / "cluster.toml")))
    names = [f"t{number}" for number in range(SHORT)]
    number = store.submit(Campaign(user="alice", name="short", clusters=(says,)), names, now=time.time())
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", PROGRAM, str(folder / "grid.db")], check=True)
    seconds = time.monotonic() - began
    status = store.campaign(number)
    assert status is not None
    assert (status.terminated, status.failed) == (SHORT, 0)
    store.close()
    return seconds
