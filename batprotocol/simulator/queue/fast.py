"""The fast queue: absolute times in a heap, so that an event costs the same however much is under way.

What has become void stays in the heap until its time comes: each entry carries a number, and whoever it is for knows
the number of the one that is still valid.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, Final

from batprotocol.simulator.machine.machine import Machine
from batprotocol.simulator.machine.task import Task
from batprotocol.simulator.progress.matrices import message_task
from batprotocol.simulator.queue.actor import MASTER, Actor, Mailbox
from batprotocol.simulator.queue.base import Queue
from batprotocol.steps.counting import step

__all__ = ["FastQueue"]

_WORK_LEFT: Final = 1e-12
"""Of 1: with less left to do, a task that is timed out was in time."""


class FastQueue(Queue):
    """See the module.

    Attributes:
        ready: the actors that can go on at this moment, in their order.
    """

    __slots__ = ("_costs", "_heap", "_links", "_next", "_sharing", "ready")

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._costs: dict[int, float] = {}
        self._links: dict[int, list[int]] = {}
        self._sharing = machine.sharing
        self._heap: list[tuple[float, int, Any]] = []
        self._next = 0
        self.ready: deque[Actor] = deque()

    def run(self, simulator: Any) -> bool:
        ready, heap, sharing = self.ready, self._heap, self._sharing
        while True:
            while ready:
                step()
                actor = ready.popleft()
                if not actor.is_dead:
                    actor.run(simulator)
                    if simulator.has_spoken:
                        return True
            if sharing.changed:
                self.settle()
            if not heap:
                return False
            step()
            time, number, what = heappop(heap)
            if what.alarm == number:
                self.now = time
                what.alarm = None
                what.when_due(self)

    # What actors do

    def start(self, actor: Actor) -> None:
        self.ready.append(actor)

    def spawn(self, actor: Actor, children: Iterable[Actor]) -> bool:
        self.ready.extend(children)
        return False

    def call(self, actor: Actor) -> bool:
        return False

    def read(self, actor: Actor, hosts: Sequence[int]) -> bool:
        calls = self.machine.read_all(hosts, self.now)
        if calls:
            self.ready.append(actor)
        return calls > 0

    def cancel(self, actor: Actor, task: Task) -> None:
        task.is_cancelled = True
        owner = task.owner
        self.drop(task)
        self.ready.append(actor)
        if owner is not None:
            owner.alarm = owner.message = None
            self.ready.append(owner)

    def sleep(self, actor: Actor, duration: float) -> None:
        self._next = actor.alarm = number = self._next + 1
        heappush(self._heap, (self.now + duration, number, actor))

    def post(self, actor: Actor, mailbox: Mailbox, message: Any) -> None:
        receiver = mailbox.receiver
        if receiver is None:
            mailbox.inbox.append((actor, actor.host, message))
        else:
            mailbox.transfer = (message, actor)
            mailbox.receiver = receiver.alarm = None
            self._transfer(mailbox, actor.host)

    def bequeath(self, actor: Actor, mailbox: Mailbox, message: Any) -> None:
        receiver = mailbox.receiver
        if receiver is None:
            mailbox.inbox.append((None, actor.host, message))
        else:
            mailbox.transfer = (message, None)
            mailbox.receiver = receiver.alarm = None
            self._transfer(mailbox, actor.host)

    def leave(self, actor: Actor, mailbox: Mailbox, message: Any) -> None:
        self.bequeath(actor, mailbox, message)
        self.ready.append(actor)

    def receive(self, actor: Actor, mailbox: Mailbox, timeout: float | None = None, *, finds: bool = True) -> None:
        if mailbox.inbox:
            sender, host, message = mailbox.inbox.popleft()
            mailbox.transfer = (message, sender)
            self._transfer(mailbox, host)
            return
        mailbox.receiver = actor
        if timeout is not None:
            actor.message = mailbox  # where it waits, should the time-out come
            self.sleep(actor, timeout)

    def execute(self, actor: Actor, task: Task, timeout: float | None = None) -> None:
        if self.machine.has_energy:
            self.machine.read_task(task, self.now)
        actor.in_time = True
        task.owner = actor
        self._start(task)
        if timeout is not None:
            actor.message = task  # what it waits for, should the time-out come
            self.sleep(actor, timeout)

    def wait(self, actor: Actor, timeout: float | None) -> None:
        actor.in_time = True
        if actor.message is True:
            actor.message = None
            self.ready.append(actor)
        elif timeout is not None:
            self.sleep(actor, timeout)
        else:
            actor.alarm = True

    def wake(self, actor: Actor) -> None:
        if actor.alarm is None:  # it has not even begun to wait
            actor.message = True
        else:
            actor.alarm = None
            self.ready.append(actor)

    def kill(self, actor: Actor) -> None:
        actor.is_dead = True
        actor.alarm = None

    def drop(self, task: Task) -> None:
        task.owner = None
        task.alarm = None
        if task.number in self.machine.sharing.tasks:
            task.remains = self.remaining(task)
            if self.machine.meters:
                self.machine.watch(self.now)
            if self.machine.has_energy:
                self.machine.read_task(task, self.now)
            self.machine.sharing.remove(task)

    def remaining(self, task: Task) -> float:
        return max(0.0, task.remains - task.rate * (self.now - task.since))

    # What happens when its time has come

    def _transfer(self, mailbox: Mailbox, host: int) -> None:
        """Start the transfer of a message from a host to the master."""
        if self._sharing.tasks and self._is_loaded(host):
            task = message_task(self.machine, host)
            task.owner = mailbox
            self._start(task)
            return
        cost = self._costs.get(host, -1.0)
        if cost < 0.0:
            cost = self._costs[host] = self.machine.message_cost(host)
        self._next = mailbox.alarm = number = self._next + 1
        heappush(self._heap, (self.now + cost, number, mailbox))

    def _is_loaded(self, host: int) -> bool:
        """Whether somebody uses a link between a host and the master."""
        links = self._links.get(host)
        if links is None:
            links = self._links[host] = self.machine.path(host, MASTER)[1]
        resources = self.machine.sharing.resources
        return any(resources[link].users for link in links)

    def _start(self, task: Task) -> None:
        task.since = self.now
        if task.latency > 0.0 or not task.weights:
            self._schedule(task, self.now + task.latency)
        else:
            self.machine.sharing.add(task)

    def _schedule(self, task: Task, time: float) -> None:
        self._next = task.alarm = number = self._next + 1
        heappush(self._heap, (time, number, task))

    def end(self, task: Task) -> None:
        if task.latency > 0.0:  # only that is over
            task.latency = 0.0
            task.since = self.now
            self.machine.sharing.add(task)
            return
        machine = self.machine
        if machine.meters:
            machine.watch(self.now)
        if machine.has_energy:
            machine.read_task(task, self.now)
        task.remains = 0.0
        machine.sharing.remove(task)
        owner = task.owner
        task.owner = None
        if isinstance(owner, Mailbox):
            owner.when_due(self)
        elif owner is not None:
            owner.alarm = None
            if not owner.is_dead:
                owner.message = None
                self.ready.append(owner)

    def time_out(self, actor: Actor) -> None:
        waited = actor.message
        if isinstance(waited, Mailbox):
            waited.receiver = None
            actor.message = None
        elif isinstance(waited, Task):
            if self.remaining(waited) < _WORK_LEFT and waited.latency <= 0.0:
                waited.alarm = None
                self.end(waited)
                return
            waited.owner = None
            actor.message = None
        actor.in_time = False
        self.ready.append(actor)

    def settle(self) -> None:
        machine, now = self.machine, self.now
        if machine.meters:
            machine.watch(now)
        before = (lambda task: machine.read_task(task, now)) if machine.has_energy else None
        for task, rate in machine.sharing.settle(before):
            if task.since < now:
                task.remains = max(0.0, task.remains - rate * (now - task.since))
            task.since = now
            if task.rate > 0.0:
                self._schedule(task, now + task.remains / task.rate)
            else:
                task.alarm = None
