"""The amounts that a started job takes of its hosts, as schedulers report them and results keep them.

It must not know schedulers, nor files.
"""

from __future__ import annotations

import msgspec

from batprotocol.workloads.requests.amounts import Gres

__all__ = ["Allocated"]


class Allocated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The amounts that a job takes of each of its hosts, from its start to its end.

    Args:
        job_id: the job, by its full name.
        first_id: the name under which the job was submitted first; another one than `job_id` after a preemption.
        starting_time: when the scheduler started it, in seconds.
        partition: the partition that it runs in; "" without partitions.
        hosts: its host set.
        cores: the cores that it takes of each host; 0 if it has whole hosts.
        memory: the bytes of memory that it takes of each host; 0 if it has whole hosts.
        gres: the generic resources that it takes of each host; empty if it has whole hosts.
        whole: whether it has its hosts for itself, with all that they have.
        held: the hosts that it holds by their cores: the sum over its hosts of the cores that it takes / the cores of
            the host; the number of its hosts if it has whole hosts. None if it is not known.
        memory_share: the share of the memory of all hosts of the machine that it holds, in [0, 1]: all memory of its
            hosts if it has whole hosts. None if memory is not given out, or a host does not say how much it has.
        gpu_share: the same for GPUs, the generic resources named `gpu` of any type; None if no host has one.

    >>> Allocated(job_id="w0!1", first_id="w0!1", starting_time=0.0, hosts="0-1", cores=4).cores
    4
    """

    job_id: str
    first_id: str
    starting_time: float
    partition: str = ""
    hosts: str
    cores: int = 0
    memory: int = 0
    gres: tuple[Gres, ...] = ()
    whole: bool = False
    held: float | None = None
    memory_share: float | None = None
    gpu_share: float | None = None

    @property
    def share(self) -> float | None:
        """The share of its hosts that it has, in ]0, 1[; None if it has whole hosts, or that is not known."""
        count = sum(int(last or first) - int(first) + 1 for first, _, last in map(_ends, self.hosts.split()))
        return self.held / count if not self.whole and self.held is not None and 0 < self.held < count else None


def _ends(interval: str) -> tuple[str, str, str]:
    return interval.partition("-")
