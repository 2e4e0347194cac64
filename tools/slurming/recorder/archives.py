"""Many recordings in one file for each kind: whole, but for what a replay does not read, such as most of the log.

The module must not know how recordings are made.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["pack", "packed", "unpacked"]

LEFT_OUT = ("sdiag", "sacct")
"""The keys of recordings that archives do not have."""
LOGGED = re.compile(
    r"(debug:  )?(sched: Running|sched: Created|sched/backfill: _attempt_backfill: beginning|Time limit"
    r"|Reservation ended|_slurm_rpc_(submit_batch_(het_)?job: JobId|kill_job)|Reque|requeue job|_job_requeue_op"
    r"|preempted|gang: (suspending|resuming)|_slurm_rpc_suspend|sched: Allocate|sched/backfill: _start_job: Started"
    r"|setting \d+ sec|update_node: .*state set|node_did_resp|_job_complete: .*(WEXIT|WTERM)|Purging vestigial"
    r"|Node \S+ now responding|_slurm_rpc_(update|requeue)|sched: _(update|hold|release)_job"
    r"|JobId=\S+ timed out|job_signal: 9 of run"
    r"|TRACE_JOBS: (deallocate_nodes|job_epilog_complete|cleanup_completing): "
    r"|debug2: (_slurm_rpc_epilog_complete: |Testing job time limits))"
)
"""The lines of the log that archives have: when the loops ran, and what happened to jobs and nodes."""
JOB = (
    *("JobId", "ArrayJobId", "ArrayTaskId", "ArrayTaskThrottle", "User", "Account", "QOS", "Priority", "Nice"),
    *("JobState", "Reason", "Dependency", "Requeue", "Restarts", "ExitCode", "TimeLimit", "SubmitTime", "EligibleTime"),
    *("AccrueTime", "StartTime", "EndTime", "PreemptTime", "Scheduler", "Partition", "NodeList", "NumNodes", "NumCPUs"),
    *("NumTasks", "CPUs/Task", "TRES", "MinMemoryNode", "MinMemoryCPU", "CPU_IDs", "GRES", "allocated", "Licenses"),
    *("Reservation", "OverSubscribe", "HetJobId", "HetJobOffset", "SuspendTime", "SecsPreSuspend"),
)
COMPLETED = (
    *("JobId", "ArrayJobId", "ArrayTaskId", "JobState", "Partition", "StartTime", "EndTime", "NodeList", "SubmitTime"),
    *("EligibleTime", "ExitCode"),
)
"""The keys of records that archives have."""
NOTHING = ("(null)", "N/A", "")


def packed(made: dict[str, Any]) -> dict[str, Any]:
    """A recording as archives have it. Samples in which no job waits are left out."""
    kept = {key: value for key, value in made.items() if key not in LEFT_OUT}
    for key, names in (("result_jobs", JOB), ("jobcomp", COMPLETED)):
        kept[key] = [{name: row[name] for name in names if row.get(name, "") not in NOTHING} for row in made[key]]
    waiting = 'squeue -h -t PD -o "%i %Q %r %S"'
    kept["log"] = [[round(at, 3), line] for at, line in made["log"] if LOGGED.match(line)]
    kept["samples"] = [sample for sample in made["samples"] if sample[waiting]]
    return kept


def pack(folder: Path, output: Path) -> dict[str, int]:
    """Pack all recordings of a folder, KIND/SEED.json.xz, in the files KIND.json.xz of another one.

    Returns:
        the number of recordings of each kind.
    """
    counts: dict[str, int] = {}
    output.mkdir(parents=True, exist_ok=True)
    for kind in sorted(path for path in folder.iterdir() if path.is_dir()):
        made = [packed(json.loads(lzma.decompress(path.read_bytes()))) for path in sorted(kind.glob("*.json.xz"))]
        text = json.dumps(made, separators=(",", ":"))
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
        (output / f"{kind.name}.json.xz").write_bytes(lzma.compress(text.encode(), filters=filters))
        counts[kind.name] = len(made)
    return counts


def unpacked(path: Path) -> Iterator[dict[str, Any]]:
    """The recordings of an archive, by their seeds."""
    yield from json.loads(lzma.decompress(path.read_bytes()))
