"""Workloads of a cluster's own users, for studies of campaigns: jobs that arrive at random, with a given load."""

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
    """Jobs that arrive at random (a Poisson process), with a given load of the cluster.

    Args:
        hosts: the number of hosts of the cluster, at least 1.
        duration: the time in which they arrive, in seconds.
        load: the share of the hosts that they use on average, 0 to 1.
        mean_seconds: the mean duration of a job; the durations are distributed log-normally.
        largest: the greatest share of the hosts that a job takes; the sizes are distributed log-uniformly.
        seed: the seed of the random numbers.

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
