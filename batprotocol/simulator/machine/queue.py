"""The queue: it advances time step by step, as SimGrid does.

Each step advances the clock to the earliest end, and subtracts its length from the remaining part of everything under
way, in `actions`. So rounding is equal to Batsim's, and with it the messages that reach the server at the same time.
Within a moment, actors run in rounds: first all actors that can, in order, then their kernel calls in the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, Final

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.simulator.machine.machine import ParallelTask, SimulatedMachine
from batprotocol.simulator.machine.work import message_demand

__all__ = [
    "MASTER",
    "Communication",
    "EventQueue",
    "Mailbox",
    "SimulationActor",
    "Timer",
    "Timers",
]


# Actors
#
# An actor runs until it must wait. Then it calls exactly one method of the queue, which runs it again after the wait.
# All its data is in its fields, so a simulation can be copied and pickled between any two turns.


MASTER: Final = -1
"""The host of Batsim itself, which has no number of its own; as an index it is the last one."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SimulationActor(ABC):
    """A part of Batsim that waits and acts.

    Attributes:
        host: the host where it runs: a number or `MASTER`.
        message: the last message that it has received; None after a time-out.
        in_time: whether the work that it waited for ended before the time-out.
        is_dead: whether it was killed.
        call: its kernel call, or 0. Only the queue uses this field and the following ones.
        argument: the argument of the call.
        extra: a second argument of the call.
        sleep: the number of its sleep, or 0.
        alarm: its time-out, or None.
    """

    __slots__ = ("alarm", "argument", "call", "extra", "host", "in_time", "is_dead", "message", "sleep")

    def __init__(self, host: int = MASTER) -> None:
        self.host = host
        self.message: Any = None
        self.in_time = True
        self.is_dead = False
        self.call = 0
        self.argument: Any = None
        self.extra: Any = None
        self.sleep = 0
        self.alarm: Any = None

    @abstractmethod
    def run(self, simulator: Any) -> None:
        """Run until the next wait."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Mailbox:
    """The mailbox of one actor, which receives messages one at a time.

    Attributes:
        inbox: the messages that were posted and are not being transferred yet, oldest first.
        expected: the message that the actor waits for before it is posted, or None.
    """

    __slots__ = ("expected", "inbox")

    def __init__(self) -> None:
        self.inbox: deque[Any] = deque()
        self.expected: Any = None


# Pending messages and time-outs


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Communication:
    """One message, from the first half of its meeting (post or receive) to its delivery.

    Attributes:
        first: the actor that waited first for its delivery, or None.
        second: the actor that waited next.
        timeout: the time-out of its receiver, or None.
    """

    __slots__ = ("first", "is_done", "is_started", "message", "receiver", "second", "sender", "timeout")

    def __init__(self) -> None:
        self.sender: SimulationActor | None = None
        self.receiver: SimulationActor | None = None
        self.message: Any = None
        self.is_started = False
        self.is_done = False
        self.first: SimulationActor | None = None
        self.second: SimulationActor | None = None
        self.timeout: Timer | None = None


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Timer:
    """A time-out with a date: unlike for an action, steps are not subtracted from it.

    Attributes:
        date: the time of the time-out.
        what: the task or the communication that an actor waits for; None if no actor waits any more.
        mailbox: the mailbox where the communication is expected.
        node: its node in `Timers`, until the time-out.
    """

    __slots__ = ("date", "mailbox", "node", "what")

    def __init__(self, date: float, what: Any, mailbox: Mailbox | None) -> None:
        self.date = date
        self.what = what
        self.mailbox = mailbox
        self.node = 0


# Time-outs in the order in which SimGrid finds them
#
# SimGrid stores its timers in boost's `fibonacci_heap`. For equal dates, the heap returns the one that its last
# consolidation reached last, so the order depends on the shape of its trees. `Timers` has the same trees, with the same
# order of roots and children. They are in flat lists, because a long chain of objects cannot be pickled.

_RANKS: Final = 64
"""A larger number of children than any node has: this many would take 2**64 time-outs."""
_ROOTS: Final = 0
"""The node whose children are the roots. It is not a time-out."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Timers:
    """The pending time-outs.

    Nodes are numbers. The children of a node are a ring: place `2 * node` is the place of the node among its siblings,
    and place `2 * node + 1` is before its first child and after its last one.
    """

    __slots__ = ("_after", "_before", "_counts", "_dates", "_free", "_parents", "_timers", "_top")

    def __init__(self) -> None:
        self._after: list[int] = [0, 1]
        self._before: list[int] = [0, 1]
        self._parents: list[int] = [_ROOTS]
        self._counts: list[int] = [0]
        self._dates: list[float] = [-inf]
        self._timers: list[Timer | None] = [None]
        self._free: list[int] = []
        self._top = _ROOTS

    def add(self, timer: Timer) -> None:
        """Add a time-out, and set its `node`."""
        if self._free:
            node = self._free.pop()
        else:
            node = len(self._dates)
            self._after += [2 * node, 2 * node + 1]
            self._before += [2 * node, 2 * node + 1]
            self._parents.append(_ROOTS)
            self._counts.append(0)
            self._dates.append(0.0)
            self._timers.append(None)
        self._dates[node] = timer.date
        self._timers[node] = timer
        timer.node = node
        self._insert(node, _ROOTS, 2 * _ROOTS + 1)
        if self._top == _ROOTS or self._dates[self._top] > timer.date:
            self._top = node

    def remove(self, timer: Timer) -> None:
        """Remove a time-out, which must be pending."""
        self._take(timer.node)

    def next_date(self) -> float:
        """The date of the next time-out; infinite if there is none."""
        return inf if self._top == _ROOTS else self._dates[self._top]

    def pop(self) -> Timer:
        """Remove and return the next time-out. There must be one."""
        timer = self._timers[self._top]
        assert timer is not None
        self._take(self._top)
        return timer

    def _take(self, node: int) -> None:
        after, before, header = self._after, self._before, 2 * node + 1
        self._leave(node)
        place = after[header]
        while place != header:
            step()
            following = after[place]
            self._parents[place >> 1] = _ROOTS
            place = following
        if after[header] != header:  # all its children, in order, behind the last root
            first, last, end = after[header], before[header], 2 * _ROOTS + 1
            before[first], after[before[end]] = before[end], first
            after[last], before[end] = end, last
            after[header] = before[header] = header
            self._counts[_ROOTS] += self._counts[node]
            self._counts[node] = 0
        self._timers[node] = None
        self._free.append(node)
        self._consolidate()

    def _consolidate(self) -> None:
        """Merge trees until all roots have different numbers of children."""
        after, dates, counts = self._after, self._dates, self._counts
        end = 2 * _ROOTS + 1
        by_count = [_ROOTS] * _RANKS
        place = after[end]
        top = _ROOTS if place == end else place >> 1
        while place != end:
            step()
            node = place >> 1
            place = after[place]
            count = counts[node]
            other = by_count[count]
            while other != _ROOTS:
                if dates[node] > dates[other]:
                    node, other = other, node
                self._leave(other)
                self._insert(other, node, self._before[2 * node + 1])
                by_count[count] = _ROOTS
                count = counts[node]
                other = by_count[count]
            by_count[count] = node
            if not dates[node] > dates[top]:
                top = node
        self._top = top

    def _insert(self, node: int, parent: int, place: int) -> None:
        """Make a node a child of another one, behind this place."""
        after, before, own = self._after, self._before, 2 * node
        following = after[place]
        after[place] = before[following] = own
        before[own], after[own] = place, following
        self._parents[node] = parent
        self._counts[parent] += 1

    def _leave(self, node: int) -> None:
        """Remove a node from its parent."""
        after, before, own = self._after, self._before, 2 * node
        after[before[own]], before[after[own]] = after[own], before[own]
        self._counts[self._parents[node]] -= 1


# The queue

# Kernel calls, of which an actor makes one in a round. Some continue in the next round. Those with a minus find a
# mailbox by its name first, which is a call of its own.
_POST: Final = 1
_POST_AND_END: Final = 2
_POST_AND_CONTINUE: Final = 3
_RECEIVE: Final = 4
_SLEEP: Final = 5
_EXECUTE: Final = 6
_WAIT: Final = 7
_SPAWN: Final = 8
_CALL: Final = 9
_READ: Final = 10
_CANCEL: Final = 11
_DELIVER: Final = 12
_FINISH: Final = 13


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class EventQueue:
    """The clock, and all future events.

    Args:
        machine: the machine whose hosts run the work.

    The methods with an actor as the first argument let this actor wait. The actor must return after such a call.
    """

    __slots__ = (
        "_calls",
        "_failed",
        "_position",
        "_ready",
        "_round",
        "_timers",
        "_under_way",
        "machine",
        "now",
    )

    def __init__(self, machine: SimulatedMachine) -> None:
        self.machine = machine
        self.now = 0.0
        self._under_way: dict[Any, Any] = {}
        self._timers = Timers()
        self._round: list[SimulationActor] = []
        self._position = 0
        self._calls: list[SimulationActor] = []
        self._ready: list[SimulationActor] = []
        self._failed: list[ParallelTask] = []

    def run(self, simulator: Any) -> bool:
        """Let actors run until the simulator has a message (True), or no more events can happen (False)."""
        while True:
            while self._position < len(self._round):
                actor = self._round[self._position]
                self._position += 1
                step()
                if actor.is_dead:
                    continue
                if actor.call and (actor.call != _READ or self._is_behind(actor)):
                    self._calls.append(actor)
                else:
                    actor.run(simulator)
                    if simulator.has_message:
                        return True
            for actor in self._calls:
                self._handle(actor)
            self._calls.clear()
            if self._failed:
                self._fail()
            self._round.clear()
            self._round, self._ready, self._position = self._ready, self._round, 0
            if not self._round and not self._step():
                return False

    # What actors do

    def start(self, actor: SimulationActor) -> None:
        """Start an actor without a parent."""
        self._ready.append(actor)

    def spawn(self, actor: SimulationActor, children: Iterable[SimulationActor]) -> None:
        """Start other actors, and wait until they have run for the first time."""
        self._call(actor, _SPAWN, list(children))

    def call(self, actor: SimulationActor) -> None:
        """Make one call without waiting for simulated time."""
        self._call(actor, _CALL)

    def read(self, actor: SimulationActor, hosts: Sequence[int]) -> bool:
        """Bring the energy of hosts up to date, one after the other; whether the actor must wait for it.

        Each host that was not read at this time takes a call.
        """
        actor.argument, actor.extra = hosts, 0
        if not self._is_behind(actor):
            return False
        actor.call = _READ
        self._calls.append(actor)
        return True

    def cancel(self, actor: SimulationActor, task: ParallelTask) -> None:
        """Stop a task, so that its owner continues, with `task.is_cancelled` set."""
        self._call(actor, _CANCEL, task)

    def sleep(self, actor: SimulationActor, duration: float) -> None:
        """Wait for more than 0 seconds."""
        self._call(actor, _SLEEP, duration)

    def post(self, actor: SimulationActor, mailbox: Mailbox, message: Any) -> None:
        """Wait until the message is delivered."""
        self._call(actor, -_POST, mailbox, message)

    def post_and_end(self, actor: SimulationActor, mailbox: Mailbox, message: Any) -> None:
        """Post a message, and never run again."""
        self._call(actor, -_POST_AND_END, mailbox, message)

    def post_and_continue(self, actor: SimulationActor, mailbox: Mailbox, message: Any) -> None:
        """Post a message, and continue without waiting for its delivery."""
        self._call(actor, -_POST_AND_CONTINUE, mailbox, message)

    def receive(
        self, actor: SimulationActor, mailbox: Mailbox, timeout: float | None = None, *, finds: bool = True
    ) -> None:
        """Wait for the next message, which will be in `actor.message`; None there if it takes too long.

        Args:
            actor: the actor that waits.
            mailbox: its mailbox.
            timeout: seconds, or None: no limit.
            finds: whether the mailbox must be found by its name first, which takes a call.
        """
        self._call(actor, -_RECEIVE if finds else _RECEIVE, mailbox, timeout)

    def execute(self, actor: SimulationActor, task: ParallelTask, timeout: float | None = None) -> None:
        """Start a task, and wait for its end; `actor.in_time` is whether it came before the time-out."""
        self._call(actor, _EXECUTE, task, timeout)

    def wait(self, actor: SimulationActor, timeout: float | None) -> None:
        """Wait for `wake`; `actor.in_time` is whether it came before the time-out."""
        self._call(actor, _WAIT, timeout)

    def wake(self, actor: SimulationActor) -> None:
        """Let an actor continue that waits in `wait`."""
        if actor.sleep:
            self._cancel(actor.sleep)
            actor.sleep = 0
            actor.in_time = True
            self._ready.append(actor)
        else:  # it has not begun to wait
            actor.message = True

    def kill(self, actor: SimulationActor) -> None:
        """Kill an actor: it never runs again, and the action that it waits for is cancelled."""
        actor.is_dead = True
        if actor.sleep:
            self._read_host(actor.host)
            self._cancel(actor.sleep)
            actor.sleep = 0
        self._end_alarm(actor)

    def drop(self, task: ParallelTask) -> None:
        """Stop a task, if it has not ended yet."""
        if task.number:
            machine = self.machine
            task.remains = machine.actions.remains(task.number)
            if machine.meters:
                machine.watch(self.now)
            machine.read_task(task, self.now)
            self._cancel(task.number)
            task.number = 0
        task.owner = None

    def remaining(self, task: ParallelTask) -> float:
        """The remaining part of a task's work, in [0,1]."""
        remains: float = self.machine.actions.remains(task.number) if task.number else task.remains
        return remains

    # Kernel calls

    def _call(self, actor: SimulationActor, call: int, argument: Any = None, extra: Any = None) -> None:
        actor.call, actor.argument, actor.extra = call, argument, extra
        self._calls.append(actor)

    def _call_again(self, actor: SimulationActor, call: int, argument: Any, extra: Any = None) -> None:
        """Make a call in the next round."""
        actor.call, actor.argument, actor.extra = call, argument, extra
        self._ready.append(actor)

    def _handle(self, actor: SimulationActor) -> None:
        call, argument, extra = actor.call, actor.argument, actor.extra
        if call < 0 or call == _READ:
            if call < 0:
                actor.call = -call
            else:
                self.machine.read(argument[extra], self.now)
            self._ready.append(actor)
            return
        actor.call = 0
        actor.argument = actor.extra = None
        if call == _DELIVER:
            self._handle_deliver(actor, argument, extra)
        elif call == _RECEIVE:
            self._handle_receive(actor, argument, extra)
        elif call == _POST:
            self._call_again(actor, _DELIVER, self._posted(actor, argument, extra))
        elif call == _POST_AND_END:
            self._posted(actor, argument, extra)
        elif call == _SLEEP:
            self._sleep(actor, argument)
        elif call == _SPAWN:
            self._handle_spawn(actor, argument)
        elif call == _EXECUTE:
            self._handle_execute(actor, argument, extra)
        elif call == _FINISH:
            self._handle_finish(actor, argument, extra)
        elif call == _CALL:
            self._ready.append(actor)
        elif call == _CANCEL:
            self._handle_cancel(actor, argument)
        elif call == _POST_AND_CONTINUE:
            self._posted(actor, argument, extra)
            self._ready.append(actor)
        else:
            self._handle_wait(actor, argument)

    def _handle_spawn(self, actor: SimulationActor, children: list[SimulationActor]) -> None:
        if children:
            self._ready.append(children.pop(0))
        if children:
            self._call_again(actor, _SPAWN, children)
        else:
            self._ready.append(actor)

    def _is_behind(self, actor: SimulationActor) -> bool:
        """Whether a host remains that was not read at this time. Otherwise the call ends."""
        hosts, place, machine = actor.argument, actor.extra, self.machine
        while place < len(hosts) and machine.is_read(hosts[place], self.now):
            place += 1
        actor.extra = place
        if place < len(hosts):
            return True
        actor.call = 0
        actor.argument = actor.extra = None
        return False

    def _handle_cancel(self, actor: SimulationActor, task: ParallelTask) -> None:
        if task.number and not task.is_cancelled:
            task.remains = self.machine.actions.remains(task.number)
            self.machine.read_task(task, self.now)
            self._failed.append(task)
        task.is_cancelled = True
        self._ready.append(actor)

    def _fail(self) -> None:
        """Let actors whose tasks were cancelled in this round continue in the next one."""
        if self.machine.meters:
            self.machine.watch(self.now)
        for task in self._failed:
            self._cancel(task.number)
            task.number = 0
            owner, task.owner = task.owner, None
            if owner is not None:
                self._end_alarm(owner)
                self._ready.append(owner)
        self._failed = []

    def _posted(self, actor: SimulationActor, mailbox: Mailbox, message: Any) -> Communication:
        communication: Communication | None = mailbox.expected
        if communication is None:
            communication = Communication()
            mailbox.inbox.append(communication)
        mailbox.expected = None
        communication.sender, communication.message = actor, message
        if communication.receiver is not None:
            self._start_transfer(communication, actor.host)
        return communication

    def _handle_receive(self, actor: SimulationActor, mailbox: Mailbox, timeout: float | None) -> None:
        if mailbox.inbox:
            communication: Communication = mailbox.inbox.popleft()
            communication.receiver = actor
            assert communication.sender is not None
            self._start_transfer(communication, communication.sender.host)
        else:
            communication = mailbox.expected = Communication()
            communication.receiver = actor
        actor.message = None
        self._call_again(actor, _DELIVER, communication, None if timeout is None else (mailbox, timeout))

    def _handle_deliver(self, actor: SimulationActor, communication: Communication, patience: Any) -> None:
        if communication.is_done:
            self._ready.append(actor)
            return
        if communication.first is None:
            communication.first = actor
        else:
            communication.second = actor
        if patience is not None:
            mailbox, timeout = patience
            communication.timeout = self._timer(timeout, communication, mailbox)

    def _start_transfer(self, communication: Communication, host: int) -> None:
        communication.is_started = True
        demand = message_demand(self.machine, host)
        self._under_way[self.machine.actions.work(demand, 0.0 if demand.is_empty else 1.0)] = communication

    def _handle_execute(self, actor: SimulationActor, task: ParallelTask, timeout: float | None) -> None:
        machine = self.machine
        if machine.has_energy and ((len(task.hosts) == 1 and task.demand.executors == 1) or machine.corrected):
            machine.read_task(task, self.now)
        task.number = machine.actions.work(task.demand, task.remains)
        self._under_way[task.number] = task
        self._call_again(actor, _FINISH, task, timeout)

    def _handle_finish(self, actor: SimulationActor, task: ParallelTask, timeout: float | None) -> None:
        actor.in_time = True
        actor.alarm = None
        if task.is_cancelled:
            self._ready.append(actor)
            return
        task.owner = actor
        if timeout is not None:
            actor.alarm = self._timer(timeout, task)

    def _handle_wait(self, actor: SimulationActor, timeout: float | None) -> None:
        actor.in_time = actor.message is True
        if actor.in_time:
            actor.message = None
            self._ready.append(actor)
        else:  # other than for tasks and messages, patience is a sleep, which may end a little too early
            self._sleep(actor, inf if timeout is None else timeout)

    def _sleep(self, actor: SimulationActor, seconds: float) -> None:
        actor.sleep = self.machine.actions.sleep(seconds)
        self._under_way[actor.sleep] = actor

    # Time-outs

    def _timer(self, timeout: float, what: Any, mailbox: Mailbox | None = None) -> Timer:
        timer = Timer(self.now + timeout, what, mailbox)
        self._timers.add(timer)
        return timer

    def _end_timer(self, timer: Timer) -> None:
        """Remove a timer for which no actor waits any more."""
        if timer.what is not None:
            timer.what = None
            self._timers.remove(timer)

    def _end_alarm(self, actor: SimulationActor) -> None:
        alarm, actor.alarm = actor.alarm, None
        if alarm is not None:
            self._end_timer(alarm)

    def _time_out(self, ended: list[Any]) -> None:
        """Let the expired timers act, unless the awaited action has ended in this very step."""
        while self._timers.next_date() <= self.now:
            timer = self._timers.pop()
            what, timer.what = timer.what, None
            if isinstance(what, ParallelTask):
                owner = what.owner
                if owner is not None and not any(each is what for each in ended):
                    what.owner = None
                    owner.in_time = False
                    owner.alarm = None
                    self._round.append(owner)
            elif not what.is_started:
                assert timer.mailbox is not None
                timer.mailbox.expected = None
                self._round.append(what.receiver)

    # Steps

    def settle(self) -> None:
        """Compute again the rates of all tasks that a change affects."""
        machine = self.machine
        if machine.meters and not machine.actions.is_settled:
            machine.watch(self.now)
        if machine.has_energy and machine.corrected:
            machine.actions.settle(self._read_work)
        else:
            machine.actions.settle()

    def _step(self) -> bool:
        """Advance to the earliest end. False if nothing will ever end, or if that is at an infinite time."""
        machine, actions, next_timer = self.machine, self.machine.actions, self._timers.next_date()
        most = inf if next_timer == inf else max(0.0, next_timer - self.now)
        is_watched = machine.has_energy or bool(machine.meters)
        if is_watched:
            self.settle()
            seconds: float = actions.step(most)
            numbers: list[Any] = actions.advance(seconds) if seconds != inf else []
        else:
            made: tuple[float, list[Any]] = actions.go_on(most)
            seconds, numbers = made
        if seconds == inf:
            return False
        self.now += seconds
        if self.now == inf:
            return False
        # Numbers are objects here: compiled, each use as an int would make one.
        ended: list[Any] = []
        under_way: dict[Any, Any] = self._under_way
        for number in numbers:
            ended.append(under_way[number])
            del under_way[number]
        if is_watched:
            machine.watch(self.now)
            for what in ended if machine.has_energy else ():
                self._read(what)
            actions.retire()
        if next_timer <= self.now:
            self._time_out(ended)
        for what in ended:
            self._end(what)
        return True

    def _cancel(self, number: int) -> None:
        del self._under_way[number]
        self.machine.actions.cancel(number)

    def _read_work(self, number: int) -> None:
        """Bring the energy of the hosts of work up to date."""
        task = self._under_way[number]
        if isinstance(task, ParallelTask):
            self.machine.read_task(task, self.now)

    def _read(self, what: Any) -> None:
        """Bring the energy of the hosts of an action up to date."""
        if isinstance(what, ParallelTask):
            self.machine.read_task(what, self.now)
        elif isinstance(what, Communication):
            assert what.sender is not None
            self._read_host(what.sender.host)
        else:
            self._read_host(what.host)

    def _read_host(self, host: int) -> None:
        if host >= 0:
            self.machine.read(host, self.now)

    def _end(self, what: Any) -> None:
        """End an action: the actor that waited for it can run in the first round of this moment."""
        if isinstance(what, Communication):
            what.is_done = True
            if what.timeout is not None:
                self._end_timer(what.timeout)
            assert what.receiver is not None
            what.receiver.message = what.message
            if what.first is not None:
                self._round.append(what.first)
            if what.second is not None:
                self._round.append(what.second)
        elif isinstance(what, ParallelTask):
            owner, what.owner = what.owner, None
            what.number = 0
            what.remains = 0.0
            if owner is not None and not owner.is_dead:
                self._end_alarm(owner)
                self._round.append(owner)
        else:
            what.sleep = 0
            self._round.append(what)
