"""A program that asks PSI/J: it reads a request from its input, and writes an answer for each job.

It runs with the interpreter that has `psij-python`, which may be another one than that of the loop. It must not import
batprotocol.
"""

import importlib
import json
import os
import subprocess
import sys
from datetime import timedelta
from typing import Any


def submit(executor: Any, job: "dict[str, Any]") -> "dict[str, str]":
    """Submit a script; the answer has the batch system's number of the job."""
    psij: Any = importlib.import_module("psij")
    attributes = psij.JobAttributes(
        # In whole minutes: for LSF, PSI/J drops the seconds, and a limit of half a minute is none.
        duration=timedelta(minutes=-(-job["seconds"] // 60)),
        queue_name=job["queue"] or None,
        account=job["account"] or None,
    )
    resources = psij.ResourceSpecV1(node_count=1, processes_per_node=1, cpu_cores_per_process=job["cores"])
    spec = psij.JobSpec(
        executable="/bin/sh",
        arguments=[job["script"]],
        name=job["name"],
        resources=resources,
        attributes=attributes,
        launcher="single",
    )
    made = psij.Job(spec)
    executor.submit(made)
    return {"native": made.native_id}


def states(executor: Any, natives: "list[str]") -> "dict[str, str]":
    """The state of each job that the batch system lists."""
    done = subprocess.run(executor.get_status_command(natives), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = executor.parse_status_output(done.returncode, done.stdout.decode("utf-8", "replace"))
    return {str(native): status.state.name for native, status in found.items()}


def answer(members: "dict[str, str]") -> None:
    """Write an answer at once, as the process may be killed."""
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Carry out the request. After the first job that cannot be submitted, it tries no other one."""
    request = json.load(sys.stdin)
    try:
        psij: Any = importlib.import_module("psij")
        batch: Any = importlib.import_module("psij.executors.batch.batch_scheduler_executor")
        never = batch.BatchSchedulerExecutorConfig(queue_polling_interval=10**6, initial_queue_polling_delay=10**6)
        executor = psij.JobExecutor.get_instance(request["executor"], config=never)
        for job in request.get("submit", ()):
            answer(submit(executor, job))
        if "states" in request:
            answer(states(executor, request["states"]))
        for native in request.get("cancel", ()):
            subprocess.run(executor.get_cancel_command(native), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
    os._exit(0)  # PSI/J's thread goes on


if __name__ == "__main__":
    main()
