"""The common parts of several kinds of plans: the lines of a configuration, and plans with usual parts."""

from __future__ import annotations

from random import Random
from typing import Any

from slurming.recorder.plans import Asked, Nodes, Plan

__all__ = ["ALL", "BACKFILL", "LINEAR", "base", "nodes", "parameters", "scheduled", "some", "with_words"]

LINEAR = {"SchedulerType": "sched/backfill", "SelectType": "select/linear", "PriorityType": "priority/basic"}
BACKFILL = "bf_interval=15,bf_resolution=30,bf_continue"
ALL = "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=10 State=UP"


def nodes(draw: Random) -> list[Nodes]:
    """Nodes with one core each."""
    return [Nodes(draw.choice([6, 8, 8, 10, 12]), "CPUs=1")]


def some(draw: Random, share: float, **options: str) -> dict[str, str]:
    """Each of the options in this share of all cases."""
    return {key: value for key, value in options.items() if draw.random() < share}


def parameters(draw: Random) -> dict[str, str]:
    """SchedulerParameters of a backfill that is usual here, or Slurm's own."""
    chosen = draw.choice(
        [
            "",
            BACKFILL,
            BACKFILL,
            "bf_interval=10,bf_resolution=10,bf_continue",
            "bf_interval=30,bf_resolution=60,bf_window=1440,bf_continue",
            "bf_interval=5,bf_resolution=1",
        ]
    )
    return {"SchedulerParameters": chosen} if chosen else {}


def scheduled(conf: dict[str, str], more: dict[str, str]) -> dict[str, str]:
    """A configuration with more SchedulerParameters, each named by its two parts."""
    found = [conf.get("SchedulerParameters", ""), *("_".join(each) for each in more.items())]
    words = ",".join(filter(None, found))
    return conf | ({"SchedulerParameters": words} if words else {})


def with_words(draw: Random, jobs: list[Asked], share: float, choices: list[list[str]]) -> list[Asked]:
    """The jobs, some of them with more arguments."""
    return [
        Asked(job.at, job.runs, job.user, job.args + (draw.choice(choices) if draw.random() < share else []), job.exit)
        for job in jobs
    ]


def base(conf: dict[str, str], nodes: list[Nodes], jobs: list[Asked], **more: Any) -> Plan:
    """A plan with one partition, unless others are given. `plan` fills in its kind and seed."""
    return Plan("", 0, conf, nodes, more.pop("partitions", [ALL]), jobs, **more)
