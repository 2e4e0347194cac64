"""Makes a recording of what Slurm said: times in seconds since the run began, and nothing of this machine in it."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from slurming.recorder.driving import REFUSED, Said
from slurming.recorder.plans import Plan

__all__ = ["FAULTS", "faults", "recording"]

_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_PAIR = re.compile(r"(\S+?)=(.*?)(?= \S+?=|$)")
_LOG = re.compile(rf"\[({_STAMP})(\.\d+)\] (.*)")
_MAIN = re.compile(r"sched: Allocate JobId=(\S+) NodeList=(\S+) #CPUs=(\d+) Partition=(\S+)")
_BACKFILL = re.compile(r"sched/backfill: _start_job: Started JobId=(\S+) in (\S+) on (\S+)")
_KEPT = re.compile(
    r"(debug:  )?(sched\b|gang: |_slurm_rpc_(submit|kill|requeue|update|resv|delete|top|suspend)|_job_complete"
    r"|Time limit|Reque|requeue|preempted|Killing|update_node|node_did_resp|[Nn]ode n|Reservation|JobId=|Job |_?kill_d"
    r"|job_signal|Purging|handle_invalid|_?job_requeue|setting \d+ sec|_foreach|_set_top|Invalid node|_?send_job_warn"
    r"|acct_policy)"
    r"|TRACE_JOBS: (deallocate_nodes: |job_epilog_complete: enter |cleanup_completing: )JobId="
    r"|debug2: (_slurm_rpc_epilog_complete: JobId=|Testing job time limits)"
)
_MACHINE = (
    *("Command", "WorkDir", "StdErr", "StdIn", "StdOut", "AllocNode:Sid", "BatchHost", "GroupId", "MCS_label"),
    *("Power", "SubmitLine", "Comment"),
)


def recording(plan: Plan, said: Said, setup: list[list[str]], speed: int) -> dict[str, Any]:
    """A run as JSON has it; its keys are those of all recordings."""
    texts, clock = said.texts, _Clock(said.began)
    log = list(clock.logged(texts["log"]))
    jobs = [_job(line, clock.number) for line in texts["jobs"].splitlines() if line.startswith("JobId=")]
    made: dict[str, Any] = {
        "config": plan.kind,
        "seed": plan.seed,
        "speed": speed,
        "slurm_version": texts["version"].strip(),
        "t0_epoch_mod_86400": said.began % 86400,
        "slurm_conf": {key: value for key, value in plan.slurm_conf.items() if key != "AccountingStorageType"},
        "dbd": plan.accounted,
        "setup": setup,
        "nodes": msgspec.to_builtins(plan.nodes),
        "partitions": plan.partitions,
        "gres": plan.gres.strip(),
        "topology": plan.topology,
        "submissions": said.submissions,
        "events": clock.inside(said.events),
        "result_jobs": jobs,
        "starts": list(_starts(log)),
        "jobcomp": [_job(line, clock.number) for line in texts["jobcomp"].splitlines()],
        "left": texts["left"].splitlines(),
        "samples": clock.inside(said.samples),
        "log": log,
        "sdiag": [line for line in texts["sdiag"].splitlines() if not re.search(r"\d{9}|output at|since|\*{3}", line)],
    }
    for name in ("sacct", "assoc", "qos", "dump"):
        if name in texts:
            made[name] = [line for line in clock.inside(texts[name]).splitlines() if line[:1] != "#"]
    made["quality"] = _quality(plan, made)
    return made


class _Clock:
    """Knows the begin of a run."""

    def __init__(self, began: int) -> None:
        self._began = began

    def seconds(self, stamp: str) -> int:
        return int(time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%S"))) - self._began

    def number(self, text: str) -> str | float:
        """A moment as a number; other texts as they are."""
        return float(self.seconds(text)) if re.fullmatch(_STAMP, text) else text

    def inside(self, value: Any) -> Any:
        """The same with each moment in its texts as @, followed by its second."""
        if isinstance(value, str):
            value = re.sub(_STAMP, lambda match: f"@{self.seconds(match[0])}", value)
            return re.sub(r"\b1[7-9]\d{8}\b", lambda match: f"@{int(match[0]) - self._began}", value)
        if isinstance(value, dict):
            return {key: self.inside(each) for key, each in value.items()}
        return [self.inside(each) for each in value] if isinstance(value, list) else value

    def logged(self, text: str) -> Iterator[tuple[float, str]]:
        """The lines of the log about jobs and nodes, with their seconds."""
        for line in text.splitlines():
            found = _LOG.match(line)
            if found and _KEPT.match(found[3]):
                at = self.seconds(found[1]) + float(found[2])
                if at >= 0:
                    yield round(at, 3), self.inside(found[3])


def _job(line: str, number: Callable[[str], str | float]) -> dict[str, Any]:
    """A record of scontrol or jobcomp. Where nodes differ, the cores and devices on each are in `allocated`."""
    pairs = [(key, value.strip()) for key, value in _PAIR.findall(line)]
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key == "UserId":
            record["User"] = value.partition("(")[0]
        elif key not in _MACHINE:
            record[key] = number(value)
    if sum(key == "CPU_IDs" for key, _ in pairs) > 1:
        first = [number for number, (key, _) in enumerate(pairs) if key == "Nodes"]
        record["allocated"] = [dict(pairs[at : at + 4]) for at in first]
    return record


def _starts(log: Iterable[tuple[float, str]]) -> Iterator[dict[str, Any]]:
    for at, line in log:
        if found := _MAIN.match(line):
            job, nodes, cpus, partition = found.groups()
            yield {"t": at, "by": "main", "job": job, "nodes": nodes, "cpus": int(cpus), "partition": partition}
        elif found := _BACKFILL.match(line):
            job, partition, nodes = found.groups()
            yield {"t": at, "by": "backfill", "job": job, "nodes": nodes, "partition": partition}


def _quality(plan: Plan, made: dict[str, Any]) -> dict[str, Any]:
    runs: dict[str, list[int]] = {}
    for row in made["submissions"]:
        runs[str(row["id"])] = row.get("runs") or [row["run"]]
    excess = [0.0]
    suspended = {job["JobId"] for job in made["result_jobs"] if isinstance(job.get("SuspendTime"), float)}
    for job in made["jobcomp"]:
        if job["JobState"] in ("COMPLETED", "FAILED") and job["JobId"] not in suspended:
            own = runs.get(job.get("ArrayJobId", job["JobId"]))
            if own and isinstance(job["EndTime"], float) and isinstance(job["StartTime"], float):
                excess.append(job["EndTime"] - job["StartTime"] - own[int(job.get("ArrayTaskId", 0))])
    sent = {row["index"]: row["t_sent"] for row in made["submissions"]}
    late = [at - plan.submissions[index].at for index, at in sent.items()]
    cycles = [at for at, line in made["log"] if line.endswith("_attempt_backfill: beginning")]
    found = re.search(r"bf_interval=(\d+)", plan.slurm_conf.get("SchedulerParameters", ""))
    every = int(found[1]) if found else 30
    between = [after - before - every for before, after in itertools.pairwise(cycles)]
    gaps = sorted(gap for gap in between if gap < 3)  # the others are of cycles with nothing to do
    return {
        "max_duration_minus_run": max(excess),
        "max_late_submission": round(max(late, default=0.0), 3),
        "p90_late_backfill": round(gaps[len(gaps) * 9 // 10], 3) if len(gaps) >= 10 else None,
        "note": "seconds; recorded durations exceed run by this many at most, jobs that came together are submitted "
        "one by one, and a cycle of the backfill comes this late after its interval in nine of ten cases",
    }


FAULTS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "jobs ran much longer than their scripts": lambda made: made["quality"]["max_duration_minus_run"] > 10,
    "submissions came late": lambda made: made["quality"]["max_late_submission"] > 10,
    "the backfill came late": lambda made: (made["quality"]["p90_late_backfill"] or 0) > 2,
    "no job started": lambda made: len(made["starts"]) < 5,
    "there are jobs without a record": lambda made: (
        not {str(row["id"]) for row in made["submissions"] if row["id"] != REFUSED}
        <= {job.get("ArrayJobId", job["JobId"]) for job in made["result_jobs"]}
    ),
    "there are starts of jobs without a record": lambda made: (
        not {re.sub(r".*\((\d+)\)", r"\1", row["job"]) for row in made["starts"]}
        <= {job["JobId"] for job in made["result_jobs"]}
    ),
}
"""The faults that make a recording useless."""


def faults(made: dict[str, Any]) -> list[str]:
    """The faults of a recording; an empty list if it has none."""
    return [fault for fault, holds in FAULTS.items() if holds(made)]
