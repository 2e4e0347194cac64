"""How tasks share hosts and links: the fair bottleneck of SimGrid's model of parallel tasks.

Tables of numbers instead of objects that point at one another: a machine with thousands of tasks can be pickled, and
what changes concerns only the tasks that are connected with it over shared resources.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol.simulator.machine.task import Task
from batprotocol.steps.counting import step

__all__ = ["Resource", "Sharing"]

_LEFT: Final = 1e-5
"""Of a resource: with less left, it is used up."""
_MOST_ROUNDS: Final = 100_000


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Resource:
    """Something that tasks share: the cores of a host, or a link.

    Attributes:
        capacity: flops or bytes per second.
        is_fatpipe: whether every transfer gets all of it.
        users: the tasks that use it by number, with what their parts need of it; the newest last.
    """

    __slots__ = ("capacity", "is_fatpipe", "left", "offer", "users")

    def __init__(self, capacity: float, is_fatpipe: bool = False) -> None:
        self.capacity = capacity
        self.is_fatpipe = is_fatpipe
        self.users: dict[int, list[float]] = {}
        self.left = 0.0
        self.offer = 0.0


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Sharing:
    """Who uses which resource, and how fast each task goes on.

    Args:
        quirks: whether a resource loses the last growth of tasks that grow no more, as it does in SimGrid.

    Attributes:
        resources: by number; those of hosts have the numbers of the hosts.
        tasks: the tasks that go on, by number.
        speeds: flops per second of a core of each host now.
        changed: the resources that have changed since `settle`.
    """

    __slots__ = ("changed", "quirks", "resources", "speeds", "tasks")

    def __init__(self, quirks: bool) -> None:
        self.quirks = quirks
        self.resources: list[Resource] = []
        self.tasks: dict[int, Task] = {}
        self.speeds: list[float] = []
        self.changed: dict[int, None] = {}

    def add(self, task: Task) -> None:
        """A task begins."""
        self.tasks[task.number] = task
        task.rate = 0.0
        for resource, weights in task.weights.items():
            self.resources[resource].users[task.number] = weights
            self.changed[resource] = None

    def remove(self, task: Task) -> None:
        """A task has ended."""
        if self.tasks.pop(task.number, None) is None:
            return
        for resource in task.weights:
            del self.resources[resource].users[task.number]
            self.changed[resource] = None

    def change(self, host: int, speed: float, capacity: float) -> None:
        """The speed of a host has changed."""
        self.speeds[host] = speed
        self.resources[host].capacity = capacity
        self.changed[host] = None

    def load(self, host: int) -> float:
        """The flops per second that a host computes now."""
        total = 0.0
        for number, weights in self.resources[host].users.items():
            step()
            rate = self.tasks[number].rate
            for weight in weights:
                total += weight * rate
        return total

    def settle(self, before: Callable[[Task], None] | None = None) -> list[tuple[Task, float]]:
        """Find the rates anew of all tasks that a change can concern.

        Args:
            before: told of each task whose rate will change, before any does.

        Returns:
            The tasks whose rates have changed, with the rates that they had.
        """
        if not self.changed:
            return []
        concerned = self._connected()
        rates = [task.rate for task in concerned]
        if len(concerned) == 1 and not self.quirks:
            self._alone(concerned[0])
        else:
            self._share_out(concerned)
        changed = [(task, rate) for task, rate in zip(concerned, rates, strict=True) if task.rate != rate]
        if before is not None:
            _tell(before, concerned, rates)
        return changed

    def _connected(self) -> list[Task]:
        """The tasks that are connected with what has changed, in the order in which they began."""
        todo, seen = list(self.changed), self.changed
        found: dict[int, Task] = {}
        while todo:
            for number in self.resources[todo.pop()].users:
                if number not in found:
                    step()
                    task = found[number] = self.tasks[number]
                    for resource in task.weights:
                        if resource not in seen:
                            seen[resource] = None
                            todo.append(resource)
        self.changed = {}
        return [found[number] for number in sorted(found)]

    def bound(self, task: Task) -> float:
        """The greatest rate that a task could have with all resources to itself, as far as one part can tell."""
        bound = task.network_bound
        for host, flops in task.flops.items():
            bound = min(bound, self.speeds[host] / flops)
        return bound

    def _alone(self, task: Task) -> None:
        """The rate of a task that shares nothing."""
        rate = self.bound(task)
        for number, weights in task.weights.items():
            resource = self.resources[number]
            rate = min(rate, resource.capacity / (max(weights) if resource.is_fatpipe else sum(weights)))
        task.rate = rate

    def _share_out(self, tasks: list[Task]) -> None:
        """Raise all rates together until each task is stopped by its bound or by a resource that is used up."""
        left = {number: self.resources[number] for task in tasks for number in task.weights}
        growing = {task.number: task for task in tasks}
        bounds = {task.number: self.bound(task) for task in tasks}
        for task in tasks:
            task.rate = task.growth = 0.0
        for resource in left.values():
            resource.left = resource.capacity
        for _ in range(_MOST_ROUNDS):
            for resource in left.values():
                step()
                parts = sum([len(weights) for number, weights in resource.users.items() if number in growing])
                if parts == 0:
                    resource.left = resource.offer = 0.0
                else:
                    resource.offer = resource.left if resource.is_fatpipe else resource.left / parts
            for task in list(growing.values()):
                step()
                self._grow(task, bounds[task.number])
                if task.rate == bounds[task.number]:
                    del growing[task.number]
            for number in [number for number, resource in left.items() if self._is_used_up(resource, growing)]:
                for user in left.pop(number).users:
                    growing.pop(user, None)
            if not growing:
                break
            if not self.quirks:  # else a resource goes on losing what finished tasks took last
                for task in tasks:
                    if task.number not in growing:
                        task.growth = 0.0

    def _grow(self, task: Task, bound: float) -> None:
        growth = inf
        for number, weights in task.weights.items():
            offer = self.resources[number].offer
            for weight in weights:
                growth = min(growth, offer / weight)
        if bound < inf:
            growth = min(growth, bound - task.rate)
        task.growth = growth
        task.rate += growth

    def _is_used_up(self, resource: Resource, growing: dict[int, Task]) -> bool:
        """Take what the tasks have got from a resource; whether nothing is left of it."""
        tasks = self.tasks
        if resource.is_fatpipe:
            for number, weights in resource.users.items():
                for weight in weights:
                    resource.offer = min(resource.offer, weight * tasks[number].growth)
            resource.left -= resource.offer
        else:
            for number in reversed(resource.users):
                growth = tasks[number].growth
                for weight in reversed(resource.users[number]):
                    resource.left -= weight * growth
                    if resource.left < _LEFT:
                        resource.left = 0.0
        if resource.left < _LEFT:
            resource.left = 0.0
        return resource.left <= 0.0


def _tell(before: Callable[[Task], None], tasks: list[Task], rates: list[float]) -> None:
    """Tell of the tasks whose rates have changed, while all have the rates from before."""
    after = [task.rate for task in tasks]
    for task, rate in zip(tasks, rates, strict=True):
        task.rate = rate
    for task, rate in zip(tasks, after, strict=True):
        if task.rate != rate:
            before(task)
    for task, rate in zip(tasks, after, strict=True):
        task.rate = rate
