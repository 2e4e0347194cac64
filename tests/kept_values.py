"""Values that users keep as pickles, made of names that version 0.2 has too.

With an installation of that version, `python kept_values.py FOLDER FILE` wrote those in
`tests/data/version_0_2.tar.xz`.
"""

from __future__ import annotations

import pickle
import sys
from importlib import import_module
from typing import Any

from batprotocol import Hosts, MessageBuilder, model
from batprotocol.campaigns.model import Campaign, ClusterProperties
from batprotocol.fast import StopVM, VMToStop
from batprotocol.policies import named
from batprotocol.simulator import Platform, StaticJob, Workload, simulate
from batprotocol.studies import read_rows

_THEN = __name__ == "__main__"
recordings = import_module(f"batprotocol.{'capture' if _THEN else 'recordings'}")
task = getattr(import_module("batprotocol.campaigns.model"), "Task" if _THEN else "GridTask")


def platform() -> Platform:
    """Four hosts in a cluster."""
    return Platform.homogeneous(4, speed=1e9)


def workload() -> Workload:
    """Three jobs of two hosts each."""
    work = model.ParallelTaskHomogeneousProfile(computation_amount=10e9)
    return Workload([StaticJob(str(number), float(number), 2, work) for number in range(3)])


def message() -> model.Message:
    """A message with values of each kind of module: events, hosts, times, doubles."""
    builder = MessageBuilder(now=1.0)
    builder.add_execute_job("w0!1", "0-3")
    builder.add_call_me_later("call", model.Periodic(10))
    builder.add_kill_jobs(["w0!1"])
    return builder.finish_message(2.0)


def values(folder: str) -> dict[str, Any]:
    """All values, by what they are; some are read from a folder with a recording and the store of a study."""
    result = simulate(platform(), [workload()], named("easy")())
    capture = recordings.Capture(f"{folder}/run.tar.xz")
    return {
        "message": message(),
        "hosts": (Hosts("0-3 7"), model.parse_hosts("1-2")),
        "platform": platform(),
        "workload": workload(),
        "jobs": tuple(result.jobs),
        "metrics": result.metrics(),
        "captured jobs": tuple(capture.jobs()),
        "statistics": recordings.statistics_of(capture),
        "rows": tuple(read_rows(f"{folder}/study.runs", all=True)),
        "stop": StopVM((VMToStop("vm", force=True),), host="n1"),
        "campaign": Campaign(user="user", name="c", clusters=(ClusterProperties(cluster="here", exec_file="run"),)),
        "task": task(1, 2, "a", "a b"),
    }


if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        pickle.dump(values(sys.argv[1]), file, 4)
