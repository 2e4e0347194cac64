"""The exact queue: SimGrid's own way through time, step by step.

Each step advances the clock to the earliest end and subtracts its length from what is left of everything under way, so
that rounding, and thereby who meets whom at the server at the same time, is Batsim's. Within a moment, actors run in
rounds: all that can, in order, then their kernel calls in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, Final

from mypy_extensions import mypyc_attr

from batprotocol.simulator.machine.machine import Machine
from batprotocol.simulator.machine.task import Task
from batprotocol.simulator.progress.matrices import message_task
from batprotocol.simulator.queue.actor import MASTER, Actor, Mailbox
from batprotocol.simulator.queue.base import Queue
from batprotocol.simulator.queue.pending import Action, Call, Communication, Timer
from batprotocol.steps.counting import step

__all__ = ["ExactQueue"]

_TIME_LEFT: Final = 1e-9
"""A sleep or a latency with less left, in seconds, is over."""
_WORK_LEFT: Final = 1e-14
"""Work with less left, of 1, is done."""
_NEVER: Final = inf


class ExactQueue(Queue):
    """See the module."""

    __slots__ = ("_actions", "_calls", "_failed", "_next", "_position", "_ready", "_round", "_timers")
    is_exact = True

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._actions: dict[int, Action] = {}
        self._timers: dict[int, Timer] = {}
        self._next = 0
        self._round: list[Actor | Call] = []
        self._position = 0
        self._calls: list[Call] = []
        self._ready: list[Actor | Call] = []
        self._failed: list[Task] = []

    def run(self, simulator: Any) -> bool:
        while True:
            while self._position < len(self._round):
                entry = self._round[self._position]
                self._position += 1
                step()
                actor = entry.actor if isinstance(entry, Call) else entry
                if actor.is_dead:
                    continue
                if isinstance(entry, Call) and (entry.kind != "read" or self._is_behind(entry)):
                    self._calls.append(entry)
                    continue
                actor.run(simulator)
                if simulator.has_spoken:
                    return True
            calls, self._calls = self._calls, []
            for call in calls:
                _HANDLERS[call.kind](self, call)
            if self._failed:
                self._fail()
            self._round, self._ready, self._position = self._ready, [], 0
            if not self._round and not self._step():
                return False

    # What actors do

    def start(self, actor: Actor) -> None:
        self._ready.append(actor)

    def spawn(self, actor: Actor, children: Iterable[Actor]) -> bool:
        self._calls.append(Call("spawn", actor, list(children)))
        return True

    def call(self, actor: Actor) -> bool:
        self._calls.append(Call("call", actor))
        return True

    def read(self, actor: Actor, hosts: Sequence[int]) -> bool:
        call = Call("read", actor, hosts, 0)
        if not self._is_behind(call):
            return False
        self._calls.append(call)
        return True

    def _is_behind(self, call: Call) -> bool:
        """Whether there is a host left to read, which nobody has read at this time."""
        hosts, place, machine = call.argument, call.extra, self.machine
        while place < len(hosts) and machine.is_read(hosts[place], self.now):
            place += 1
        call.extra = place
        return bool(place < len(hosts))

    def cancel(self, actor: Actor, task: Task) -> None:
        self._calls.append(Call("cancel", actor, task))

    def sleep(self, actor: Actor, duration: float) -> None:
        self._calls.append(Call("sleep", actor, duration))

    def post(self, actor: Actor, mailbox: Mailbox, message: Any) -> None:
        self._find(Call("post", actor, mailbox, message))

    def bequeath(self, actor: Actor, mailbox: Mailbox, message: Any) -> None:
        self._find(Call("bequeath", actor, mailbox, message))

    def leave(self, actor: Actor, mailbox: Mailbox, message: Any) -> None:
        self._find(Call("leave", actor, mailbox, message))

    def receive(self, actor: Actor, mailbox: Mailbox, timeout: float | None = None, *, finds: bool = True) -> None:
        call = Call("receive", actor, mailbox, timeout)
        if finds:
            self._find(call)
        else:
            self._calls.append(call)

    def _find(self, call: Call) -> None:
        """Find a mailbox by its name, which is a call of its own, and then make the call."""
        self._calls.append(Call("find", call.actor, call))

    def execute(self, actor: Actor, task: Task, timeout: float | None = None) -> None:
        self._calls.append(Call("execute", actor, task, timeout))

    def wait(self, actor: Actor, timeout: float | None) -> None:
        self._calls.append(Call("wait", actor, timeout))

    def wake(self, actor: Actor) -> None:
        if actor.alarm is not None:
            self._end_alarm(actor)
            self._ready.append(actor)
        else:  # it has not even begun to wait
            actor.message = True

    def kill(self, actor: Actor) -> None:
        actor.is_dead = True
        alarm = actor.alarm
        if isinstance(alarm, Action):
            self.machine.read_all(alarm.hosts, self.now)
        self._end_alarm(actor)

    def drop(self, task: Task) -> None:
        action = task.alarm
        if action is not None and self._actions.pop(action.number, None) is not None:
            task.remains = action.remains
            if self.machine.meters:
                self.machine.watch(self.now)
            self.machine.read_task(task, self.now)
            self.machine.sharing.remove(task)
        task.alarm = None
        task.owner = None

    def remaining(self, task: Task) -> float:
        action = task.alarm
        return task.remains if action is None else float(action.remains)

    # Kernel calls

    def _handle_spawn(self, call: Call) -> None:
        children = call.argument
        if children:
            self._ready.append(children.pop(0))
        self._ready.append(call if children else call.actor)

    def _handle_call(self, call: Call) -> None:
        self._ready.append(call.actor)

    def _handle_read(self, call: Call) -> None:
        self.machine.read(call.argument[call.extra], self.now)
        self._ready.append(call)

    def _handle_find(self, call: Call) -> None:
        self._ready.append(call.argument)

    def _handle_cancel(self, call: Call) -> None:
        task = call.argument
        task.is_cancelled = True
        action = task.alarm
        if action is not None and self._actions.pop(action.number, None) is not None:
            task.remains = action.remains
            self.machine.read_task(task, self.now)
            self._failed.append(task)
        self._ready.append(call.actor)

    def _fail(self) -> None:
        """Those whose tasks were cancelled in this round go on in the next one."""
        if self.machine.meters:
            self.machine.watch(self.now)
        for task in self._failed:
            self.machine.sharing.remove(task)
            task.alarm = None
            owner, task.owner = task.owner, None
            if owner is not None:
                self._end_alarm(owner)
                self._ready.append(owner)
        self._failed = []

    def _handle_sleep(self, call: Call) -> None:
        actor = call.actor
        actor.alarm = self._sleeping(actor, call.argument, actor)

    def _handle_post(self, call: Call) -> None:
        self._ready.append(Call("deliver", call.actor, self._posted(call)))

    def _handle_bequeath(self, call: Call) -> None:
        self._posted(call)

    def _handle_leave(self, call: Call) -> None:
        self._posted(call)
        self._ready.append(call.actor)

    def _posted(self, call: Call) -> Communication:
        mailbox: Mailbox = call.argument
        communication: Communication | None = mailbox.receiver
        if communication is None:
            communication = Communication()
            mailbox.inbox.append(communication)
        mailbox.receiver = None
        communication.sender, communication.message = call.actor, call.extra
        if communication.receiver is not None:
            self._start_transfer(communication)
        return communication

    def _handle_receive(self, call: Call) -> None:
        mailbox: Mailbox = call.argument
        if mailbox.inbox:
            communication = mailbox.inbox.popleft()
            communication.receiver = call.actor
            self._start_transfer(communication)
        else:
            communication = mailbox.receiver = Communication()
            communication.receiver = call.actor
        call.actor.message = None
        self._ready.append(Call("deliver", call.actor, communication, (mailbox, call.extra)))

    def _handle_deliver(self, call: Call) -> None:
        communication: Communication = call.argument
        actor = call.actor
        if communication.is_done:
            self._ready.append(actor)
            return
        communication.waiting.append(actor)
        if call.extra is not None and call.extra[1] is not None:
            mailbox, timeout = call.extra
            communication.timeout = self._timer(timeout, _ReceiveTimeout(communication, mailbox))

    def _start_transfer(self, communication: Communication) -> None:
        communication.is_started = True
        assert communication.sender is not None
        host = communication.sender.host
        self._working(message_task(self.machine, host), (host,) if host != MASTER else (), communication)

    def _handle_execute(self, call: Call) -> None:
        actor, task = call.actor, call.argument
        machine = self.machine
        if machine.has_energy and ((len(task.hosts) == 1 and self._executors(task) == 1) or not machine.quirks):
            machine.read_task(task, self.now)
        self._working(task, task.hosts, task)
        self._ready.append(Call("finish", actor, task, call.extra))

    @staticmethod
    def _executors(task: Task) -> int:
        return sum(len(weights) for host, weights in task.weights.items() if host in task.flops)

    def _handle_finish(self, call: Call) -> None:
        actor, task = call.actor, call.argument
        actor.in_time = True
        actor.alarm = None
        if task.is_cancelled:
            self._ready.append(actor)
            return
        task.owner = actor
        if call.extra is not None:
            actor.alarm = self._timer(call.extra, _TaskTimeout(task))

    def _handle_wait(self, call: Call) -> None:
        actor = call.actor
        actor.in_time = True
        if actor.message is True:
            actor.message = None
            self._ready.append(actor)
        else:
            actor.alarm = self._sleeping(actor, inf if call.argument is None else call.argument, _Waiting(actor))

    # Steps

    def _action(self, hosts: tuple[int, ...], meaning: Any) -> Action:
        self._next += 1
        action = self._actions[self._next] = Action(self._next, hosts, meaning)
        return action

    def _working(self, task: Task, hosts: tuple[int, ...], meaning: Any) -> None:
        action = self._action(hosts, meaning)
        action.is_sleep = False
        action.task = task
        action.latency = task.latency
        action.remains = task.remains
        task.alarm = action
        if task.latency <= 0.0:
            self.machine.sharing.add(task)
            if not task.weights:
                task.rate = 1.0

    def _sleeping(self, actor: Actor, duration: float, meaning: Any) -> Action:
        action = self._action((actor.host,) if actor.host != MASTER else (), meaning)
        action.left = duration
        return action

    def _timer(self, timeout: float, meaning: Any) -> Timer:
        self._next += 1
        timer = self._timers[self._next] = Timer(self._next, self.now + timeout, meaning)
        return timer

    def _end_alarm(self, actor: Actor) -> None:
        alarm, actor.alarm = actor.alarm, None
        if isinstance(alarm, Timer):
            self._timers.pop(alarm.number, None)
        elif isinstance(alarm, Action):
            self._actions.pop(alarm.number, None)

    def settle(self) -> None:
        machine = self.machine
        if not machine.sharing.changed:
            return
        if machine.meters:
            machine.watch(self.now)
        if machine.has_energy and not machine.quirks:
            machine.sharing.settle(lambda task: machine.read_task(task, self.now))
        else:
            machine.sharing.settle()

    def _step(self) -> bool:
        """Advance to the earliest end. False if nothing will ever end."""
        self.settle()
        next_timer = min([timer.date for timer in self._timers.values()], default=_NEVER)
        delta = max(0.0, next_timer - self.now)
        for action in self._actions.values():
            step()
            if action.is_sleep:
                delta = min(delta, action.left)
                continue
            assert action.task is not None
            action.rate = action.task.rate
            if action.rate > 0.0:
                delta = min(delta, action.remains / action.rate)
            if 0.0 < action.latency < delta:
                delta = action.latency
        if delta == _NEVER:
            return False
        self.now += delta
        ended = [action for action in self._actions.values() if self._has_ended(action, delta)]
        if self.machine.meters:
            self.machine.watch(self.now)
        if self.machine.has_energy:
            for action in ended:
                self.machine.read_all(action.hosts, self.now)
        if next_timer <= self.now:
            self._time_out({action.number for action in ended})
        for action in ended:
            if self._actions.pop(action.number, None) is not None:
                self._end(action)
        return True

    def _time_out(self, ended: set[int]) -> None:
        """Call those whose patience is at its end, unless what they wait for has ended in this very step."""
        for timer in sorted(self._timers.values(), key=lambda timer: (timer.date, timer.number)):
            if timer.date > self.now:
                break
            meaning = timer.meaning
            del self._timers[timer.number]
            if isinstance(meaning, _TaskTimeout):
                owner, action = meaning.task.owner, meaning.task.alarm
                if owner is not None and (action is None or action.number not in ended):
                    meaning.task.owner = None
                    owner.in_time = False
                    owner.alarm = None
                    self._ready_first(owner)
            elif not meaning.communication.is_started:
                meaning.mailbox.receiver = None
                self._ready_first(meaning.communication.receiver)

    def _has_ended(self, action: Action, delta: float) -> bool:
        """Subtract a step from what is left of an action; whether nothing is left."""
        step()
        if action.is_sleep:
            action.left -= delta
            return action.left < _TIME_LEFT
        rate = action.rate
        if action.latency > 0.0:
            action.latency = action.latency - delta if action.latency > delta else 0.0
            if action.latency < _TIME_LEFT:
                action.latency = 0.0
                self._begin_work(action)
        action.remains -= rate * delta
        if action.remains < _WORK_LEFT:
            action.remains = 0.0
        return action.remains <= 0.0 and action.latency <= 0.0

    def _begin_work(self, action: Action) -> None:
        assert action.task is not None
        self.machine.sharing.add(action.task)

    def _end(self, action: Action) -> None:
        meaning = action.meaning
        if action.task is not None:
            action.task.alarm = None
            action.task.remains = 0.0
            self.machine.sharing.remove(action.task)
        if isinstance(meaning, Task):
            owner = meaning.owner
            if owner is not None and not owner.is_dead:
                self._end_alarm(owner)
                self._ready_first(owner)
            meaning.owner = None
        elif isinstance(meaning, Communication):
            self._delivered(meaning)
        elif isinstance(meaning, _Waiting):
            meaning.actor.in_time = False
            meaning.actor.alarm = None
            self._ready_first(meaning.actor)
        else:
            meaning.alarm = None
            self._ready_first(meaning)

    def _ready_first(self, actor: Actor) -> None:
        """An actor can run in the first round of this moment."""
        self._round.append(actor)

    def _delivered(self, communication: Communication) -> None:
        communication.is_done = True
        if communication.timeout is not None:
            self._timers.pop(communication.timeout.number, None)
        assert communication.receiver is not None
        communication.receiver.message = communication.message
        for actor in communication.waiting:
            self._ready_first(actor)


_HANDLERS: Final = {
    "spawn": ExactQueue._handle_spawn,
    "call": ExactQueue._handle_call,
    "read": ExactQueue._handle_read,
    "find": ExactQueue._handle_find,
    "cancel": ExactQueue._handle_cancel,
    "sleep": ExactQueue._handle_sleep,
    "post": ExactQueue._handle_post,
    "bequeath": ExactQueue._handle_bequeath,
    "leave": ExactQueue._handle_leave,
    "receive": ExactQueue._handle_receive,
    "deliver": ExactQueue._handle_deliver,
    "execute": ExactQueue._handle_execute,
    "finish": ExactQueue._handle_finish,
    "wait": ExactQueue._handle_wait,
}


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _ReceiveTimeout:
    """The end of the patience of somebody who waits for a message."""

    __slots__ = ("communication", "mailbox")

    def __init__(self, communication: Communication, mailbox: Mailbox) -> None:
        self.communication = communication
        self.mailbox = mailbox


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _TaskTimeout:
    """The end of the patience of somebody who waits for a task."""

    __slots__ = ("task",)

    def __init__(self, task: Task) -> None:
        self.task = task


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Waiting:
    """Somebody waits to be woken: other than the time-outs of tasks and messages, that is a sleep."""

    __slots__ = ("actor",)

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
