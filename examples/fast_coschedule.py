"""A scheduler for FaST: two jobs run on each node at the same time, if the memory bandwidth is enough for both.

It works like poncos: each node has two slots, each with half of the cores and a virtual machine for a job. When a job
has started, the scheduler suspends the job in the other slot, and mmbwmon measures the bandwidth that the new job
leaves to those cores. If both jobs together need more than the node has, the new job swaps its place with a job of the
node with the most bandwidth left. Where this would not help, the new job is frozen until its neighbour has ended.

    batproto fast node node-a node-b &
    python examples/fast_coschedule.py 127.0.0.1:1883 node-a node-b
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from batprotocol.fast import FastScheduler, TaskFailed, run
from batprotocol.fast.values import VMConfiguration, VMToStop

CORES = (tuple(range(8)), tuple(range(8, 16)))
"""The cores of the two slots of each node."""

LIMIT = 0.9
"""The share of its memory bandwidth that a node can give to its jobs together."""


@dataclass(eq=False)
class Job:
    """A job: its virtual machine, its run time, its place, and its measured use of bandwidth."""

    name: str
    seconds: float
    node: str = ""
    slot: int = 0
    use: float = 0.0
    is_started: bool = False
    is_frozen: bool = False

    @property
    def runs(self) -> bool:
        """Whether its machine has started, and gets CPU time."""
        return self.is_started and not self.is_frozen


@dataclass
class CoScheduler(FastScheduler):
    """Runs all jobs in their order on these nodes."""

    nodes: Sequence[str]
    jobs: Sequence[Job]
    finished: list[str] = field(default_factory=list)
    migrated: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)

    async def main(self) -> None:
        """Clear the nodes, run the jobs, and clear the nodes again."""
        self.slots: dict[tuple[str, int], Job | None] = {(node, slot): None for slot in (0, 1) for node in self.nodes}
        self.room = asyncio.Condition()
        self.measuring = asyncio.Lock()
        await self.clear()
        running = [asyncio.create_task(self.run_job(job, *await self.free_slot(job))) for job in self.jobs]
        await asyncio.gather(*running)
        await self.clear()

    async def clear(self) -> None:
        """Stop all machines on the nodes."""
        everything = VMToStop(regex=".*", force=True)
        await asyncio.gather(*(self.node(node).stop(everything) for node in self.nodes))

    async def free_slot(self, job: Job) -> tuple[str, int]:
        """Wait for a slot, and take it."""
        async with self.room:
            await self.room.wait_for(lambda: None in self.slots.values())
            node, slot = next(place for place, other in self.slots.items() if other is None)
            self.slots[node, slot] = job
            return node, slot

    async def run_job(self, job: Job, node: str, slot: int) -> None:
        """Start a job in its slot, check whether it can stay there, and wait for its end."""
        job.node, job.slot = node, slot
        machine = VMConfiguration(vm_name=job.name, vcpus=8, vcpu_map=[[core] for core in CORES[slot]])
        try:
            async with self.measuring:  # one new job after the other
                await self.node(node).start(machine)
                job.is_started = True
                await self.find_its_place(job)
            await asyncio.sleep(job.seconds)
            await self.wait_for_thaw(job)
            async with self.measuring:
                job.is_started = False
                await self.node(job.node).stop(job.name)
            self.finished.append(job.name)
        except TaskFailed as error:
            print(f"{job.name} is given up: {error}", file=sys.stderr)
        await self.leave(job)

    async def find_its_place(self, job: Job) -> None:
        """Measure the use of a new job, and swap or freeze it if its neighbour leaves less than this."""
        neighbour = self.neighbour(job)
        if neighbour is not None and neighbour.runs:
            await self.node(job.node).suspend(neighbour.name)
        response = await self.node(job.node).measure(CORES[1 - job.slot])
        if neighbour is not None and neighbour.runs:
            await self.node(job.node).resume(neighbour.name)
        job.use = 1 - response.result
        if neighbour is None or self.use_of(job.node) <= LIMIT:
            return
        other = self.partner(job)
        if other is None:
            await self.node(job.node).suspend(job.name)
            job.is_frozen = True
            self.frozen.append(job.name)
        else:
            await self.node(job.node).migrate(job.name, other.node, swap_with=other.name)
            self.slots[job.node, job.slot], self.slots[other.node, other.slot] = other, job
            job.node, job.slot, other.node, other.slot = other.node, other.slot, job.node, job.slot
            self.migrated.append(job.name)

    def partner(self, job: Job) -> Job | None:
        """A job on the least loaded node that can swap its place with this one; both nodes stay below the limit."""
        others = [other for other in self.slots.values() if other is not None and other.node != job.node]
        fitting = [
            other
            for other in others
            if other.runs
            and other.use > 0
            and self.use_of(other.node) - other.use + job.use <= LIMIT
            and self.use_of(job.node) - job.use + other.use <= LIMIT
        ]
        return min(fitting, key=lambda other: self.use_of(other.node), default=None)

    async def wait_for_thaw(self, job: Job) -> None:
        """Resume a frozen job when its neighbour has ended, and let it run for its time."""
        if job.is_frozen:
            async with self.room:
                await self.room.wait_for(lambda: self.neighbour(job) is None)
            await self.node(job.node).resume(job.name)
            job.is_frozen = False
            await asyncio.sleep(job.seconds)

    async def leave(self, job: Job) -> None:
        """Give the slot back."""
        async with self.room:
            self.slots[job.node, job.slot] = None
            self.room.notify_all()

    def neighbour(self, job: Job) -> Job | None:
        """The job in the other slot of the same node."""
        return self.slots[job.node, 1 - job.slot]

    def use_of(self, node: str) -> float:
        """The total use of the running jobs of a node."""
        found = (self.slots[node, slot] for slot in (0, 1))
        return sum(job.use for job in found if job is not None and job.runs)


if __name__ == "__main__":
    scheduler = CoScheduler(nodes=sys.argv[2:], jobs=[Job(f"job{number}", seconds=1.0) for number in range(8)])
    run(scheduler, sys.argv[1])
    print(f"finished: {len(scheduler.finished)}, migrated: {scheduler.migrated}, frozen: {scheduler.frozen}")
