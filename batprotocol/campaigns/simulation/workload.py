"""Workloads of a cluster's own users, to study campaigns with: jobs that come at random and load it so much."""

from __future__ import annotations

import math
import random

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.simulator import StaticJob, Workload

__all__ = ["local_workload"]


def local_workload(
    hosts: int,
    duration: float,
    *,
    load: float = 0.6,
    mean_seconds: float = 600.0,
    largest: float = 0.0625,
    seed: int = 0,
) -> Workload:
    """Jobs that come one after the other at random (Poisson), as many as load a cluster so much.

    Args:
        hosts: how many hosts the cluster has, at least 1.
        duration: over how many seconds they come.
        load: how many of the hosts they take in the mean: 0 to 1.
        mean_seconds: how long a job takes in the mean; the lengths are distributed log-normally.
        largest: up to which part of the hosts a job takes; the sizes are distributed log-uniformly.
        seed: the same gives the same.

    >>> len(local_workload(64, 36000.0, load=0.6)), len(local_workload(64, 36000.0, load=0.3))
    (1112, 555)
    """
    if hosts < 1 or not 0 <= load <= 1 or not 0 < mean_seconds < math.inf:
        raise InputError(f"expected hosts, a load of 0 to 1 and seconds, got {hosts}, {load} and {mean_seconds}")
    drawn = random.Random(seed)
    most = max(1, int(hosts * largest))
    widest = math.log(most + 1)
    mean_hosts = sum(size * math.log((size + 1) / size) for size in range(1, most + 1)) / widest
    between = math.inf if not load else mean_hosts * mean_seconds / (load * hosts)
    sigma = 1.0
    mu = math.log(mean_seconds) - sigma * sigma / 2
    jobs: list[StaticJob] = []
    time = drawn.expovariate(1 / between) if load else math.inf
    while time < duration:
        seconds = min(max(drawn.lognormvariate(mu, sigma), 1.0), 20 * mean_seconds)
        size = min(most, int(math.exp(drawn.random() * widest)))
        profile = DelayProfile(round(seconds, 3))
        walltime = round(seconds * drawn.uniform(1.1, 3.0), 3)
        jobs.append(StaticJob(str(len(jobs)), round(time, 3), size, profile, walltime=walltime))
        time += drawn.expovariate(1 / between)
    return Workload(jobs)
