"""A cluster that speaks FaST, as its scheduler sees it: nodes that take tasks, and the messages to the scheduler."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar, cast

import msgspec

from batprotocol.errors import DecodeError, PeerGone, PeerSilent, ProtocolError, TaskFailed, shown
from batprotocol.fast import values as v
from batprotocol.fast import wire
from batprotocol.fast.conversation import Conversation, Violation
from batprotocol.fast.runtime.connection import Broker, BrokerConnection, Received, Will, logger
from batprotocol.fast.topics import QOS, RESULTS, ROUTES, Participant, Topic, route_of, topic_for
from batprotocol.fast.values import FastMessage

__all__ = ["DEFAULT_BROKER", "Call", "Cluster", "Heard", "Ledger", "Node", "Sender", "subscriptions_of"]

# Tasks that wait for their results: the task of each answer, the answers so far, and the missing ones


REMEMBERED: Final = 100_000
"""The number of answered tasks in memory, which serve to recognize results that a broker delivers again."""

ABSENCES: Final = 1000
"""The number of absences of the broker in memory."""

_TASKS: Final = tuple(RESULTS)

_Answer = TypeVar("_Answer")


class Call(Future[_Answer], Generic[_Answer]):
    """A task that was sent to a node, and its future result.

    It is a `concurrent.futures.Future` that can be awaited, too: `await call`, or `call.result()` without asyncio. Both
    return the result if the task succeeded, and otherwise raise

    - `TaskFailed`: the node could not do the task, or only a part of it; `error.result` has an entry for each machine;
    - `PeerSilent`: no result came within `timeout` seconds; the error says whether the broker was away meanwhile;
    - `PeerGone`: the connection was closed before that.

    Attributes:
        host: the node.
        task: the message that was sent.
        timeout: the time for the result, in seconds.
        deadline: the end of this time, on the clock of `time.monotonic`.
    """

    def __init__(self, host: str, task: Any, timeout: float, deadline: float) -> None:
        super().__init__()
        self.host = host
        self.task = task
        self.timeout = timeout
        self.deadline = deadline
        self.set_running_or_notify_cancel()  # it cannot be cancelled: the message is on its way

    def __await__(self) -> Generator[Any, None, _Answer]:
        return asyncio.wrap_future(self).__await__()

    def __repr__(self) -> str:
        state = "done" if self.done() else "waiting"
        return f"<Call {self.host}: {_words(self.task)}, {state}>"


class Ledger:
    """The calls that wait, by what their answers will say. All methods can be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, deque[Call[Any]]] = {}
        self._deadlines: list[tuple[float, int, Hashable, Call[Any]]] = []
        self._numbers = itertools.count()
        self._answered: dict[Hashable, bool] = {}
        self._complaints: dict[str, str] = {}
        self._away: deque[tuple[float, float]] = deque(maxlen=ABSENCES)
        self._away_since: float | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, call: Call[Any]) -> None:
        """A call that is about to be sent. ProtocolError if its id is that of another one that waits for its result."""
        key = _key_of_task(call.host, call.task)
        with self._lock:
            others = self._waiting.setdefault(key, deque())
            if others and isinstance(call.task, _TASKS):
                raise ProtocolError(f"a task with the id {shown(key[1])} is waiting for its result from {call.host}")
            others.append(call)
            self._size += 1
            heapq.heappush(self._deadlines, (call.deadline, next(self._numbers), key, call))
            if len(self._deadlines) > 4 * self._size + 1000:  # most of them have been answered in time
                self._deadlines = [each for each in self._deadlines if not each[3].done()]
                heapq.heapify(self._deadlines)

    def drop(self, call: Call[Any]) -> None:
        """Forget a call that could not be sent."""
        with self._lock:
            self._remove(_key_of_task(call.host, call.task), call)

    def take(self, host: str, message: v.FastMessage) -> tuple[bool, Call[Any] | None]:
        """A message that came: whether it is news, and the call that it settles, if there is one."""
        key = _key_of_answer(host, message)
        if key is None:
            return True, None
        with self._lock:
            if self._answered.get(key):
                return False, None
            call = self._pop(key)
            if isinstance(message, v.Result):
                if call is not None or key in self._answered:
                    _remember(self._answered, key, True)
                elif message.id is None and message.result == v.UNKNOWN and message.list:
                    _remember(self._complaints, host, message.list[0].details or "")
        if call is not None:
            _settle(call, message)
        return True, call

    def expire(self, now: float) -> list[Call[Any]]:
        """Settle the calls whose time is over, and give them."""
        expired = []
        with self._lock:
            while self._deadlines and (self._deadlines[0][0] <= now or self._deadlines[0][3].done()):
                _, _, key, call = heapq.heappop(self._deadlines)
                if call in self._waiting.get(key, ()):
                    self._remove(key, call)
                    expired.append(call)
                    if isinstance(call.task, _TASKS):
                        _remember(self._answered, key, False)
            errors = [self._silence(call, now) for call in expired]
        for call, error in zip(expired, errors, strict=True):
            call.set_exception(error)
        return expired

    def connected(self, is_there: bool, now: float) -> None:
        """The connection to the broker is lost, or is there again."""
        with self._lock:
            if not is_there:
                self._away_since = now if self._away_since is None else self._away_since
            elif self._away_since is not None:
                self._away.append((self._away_since, now))
                self._away_since = None

    def next_deadline(self) -> float | None:
        """When the time of the next call is over; None if none waits."""
        with self._lock:
            return self._deadlines[0][0] if self._deadlines else None

    def close(self, error: ProtocolError) -> None:
        """Settle all calls: no answer will come."""
        with self._lock:
            calls = [call for waiting in self._waiting.values() for call in waiting]
            self._waiting.clear()
            self._deadlines.clear()
            self._size = 0
        for call in calls:
            call.set_exception(type(error)(f"{call.host}: {_words(call.task)}: {error}"))

    def _pop(self, key: Hashable) -> Call[Any] | None:
        waiting = self._waiting.get(key)
        if not waiting:
            return None
        call = waiting[0]
        self._remove(key, call)
        return call

    def _remove(self, key: Hashable, call: Call[Any]) -> None:
        waiting = self._waiting[key]
        waiting.remove(call)
        self._size -= 1
        if not waiting:
            del self._waiting[key]

    def _silence(self, call: Call[Any], now: float) -> PeerSilent:
        text = f"{call.host}: {_words(call.task)}: no answer within {call.timeout:g} seconds"
        absence, complaint = self._absence(call, now), self._complaints.pop(call.host, "")
        said = f"it has said of some task: {complaint}" if complaint else ""
        return PeerSilent("; ".join(part for part in (text, absence, said) if part))

    def _absence(self, call: Call[Any], now: float) -> str:
        """Whether the broker was away while a call waited, in words."""
        began = call.deadline - call.timeout
        if self._away_since is not None:
            return f"the broker is away, since {now - self._away_since:.3g} seconds"
        away = sum(end - max(since, began) for since, end in self._away if end > began)
        return f"the broker was away for {away:.3g} of them, and the task or its result may be lost" if away else ""


def _remember(memory: dict[Any, Any], key: Hashable, value: object) -> None:
    """Put this into a memory, which forgets what is oldest."""
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]


# The key that an answer is recognised by: the id, the cores, or its kind alone


def _key_of_task(host: str, task: v.FastMessage) -> tuple[Any, ...]:
    if isinstance(task, v.MmbwmonRequest):
        return v.MmbwmonResponse, host, task.cores
    if isinstance(task, v.MmbwmonStop):
        return v.MmbwmonStopAck, host
    if isinstance(task, v.MmbwmonRestart):
        return v.MmbwmonRestartAck, host
    return v.Result, cast(Any, task).id, host


def _key_of_answer(host: str, message: v.FastMessage) -> tuple[Any, ...] | None:
    if isinstance(message, v.Result):
        return v.Result, message.id, host
    if isinstance(message, v.MmbwmonResponse):
        return v.MmbwmonResponse, host, message.cores
    if isinstance(message, v.MmbwmonStopAck | v.MmbwmonRestartAck):
        return type(message), host
    return None


def _settle(call: Call[Any], answer: v.FastMessage) -> None:
    fault = _fault(call.task, answer) if isinstance(answer, v.Result) else ""
    if fault:
        call.set_exception(TaskFailed(fault, call.host, call.task, answer))
    else:
        call.set_result(answer)


def _fault(task: v.FastMessage, result: v.Result) -> str:
    """The error in a result, "" if the task succeeded."""
    bad = [entry for entry in result.list if not entry.is_success]
    word = _words(task)
    if bad:
        first = f"{bad[0].vm_name}: {bad[0].details or bad[0].status}"
        return f"{word}: {first}{f', and {len(bad) - 1} more' if len(bad) > 1 else ''}"
    expected = RESULTS[type(task)]
    return "" if result.result == expected else f"{word}: expected the result {expected!r}, got {shown(result.result)}"


def _words(task: v.FastMessage) -> str:
    """The name of a task in the protocol, with its id if it has one."""
    id = getattr(task, "id", None)
    return f"{route_of(task).task}{f' {id}' if id is not None else ''}"


# Nodes: a method for each task, which returns the future result


class Sender(Protocol):
    """It sends tasks: a `Cluster`."""

    def call(self, host: str, task: v.FastMessage, timeout: float | None = None) -> Call[Any]: ...
    def send(self, name: str, message: v.FastMessage, process: str | int | None = None) -> None: ...


class Node:
    """A node. Each method sends a task, and returns the `Call` of its result.

    Attributes:
        host: its name.

    `timeout` is the time for the result, in seconds; the default is that of the cluster. For options that the methods
    do not have, use `call`: `node.call(StartVM([...], concurrent_execution=False))`.
    """

    __slots__ = ("_sender", "host")

    def __init__(self, sender: Sender, host: str) -> None:
        self._sender = sender
        self.host = host

    def __repr__(self) -> str:
        return f"Node({self.host!r})"

    def call(self, task: v.FastMessage, timeout: float | None = None) -> Call[Any]:
        """Send a task as it is; it is given an id unless it has one."""
        return self._sender.call(self.host, task, timeout)

    # The migration framework

    def start(self, *machines: v.VMConfiguration | str, timeout: float | None = None) -> Call[v.Result]:
        """Start these machines: those that the node knows by their names, others by a `VMConfiguration`."""
        entries = [v.VMConfiguration(vm_name=each) if isinstance(each, str) else each for each in machines]
        return self.call(v.StartVM(entries), timeout)

    def stop(
        self,
        *machines: v.VMToStop | str,
        force: bool | None = None,
        undefine: bool | None = None,
        timeout: float | None = None,
    ) -> Call[v.Result]:
        """Stop these machines.

        Args:
            machines: their names; `VMToStop(regex=".*")` is all of them.
            force: whether those that are named are switched off rather than shut down.
            undefine: whether the node forgets those that are named.
            timeout: see above.
        """
        named = (v.VMToStop(vm_name=each, force=force, undefine=undefine) for each in machines if isinstance(each, str))
        return self.call(v.StopVM([next(named) if isinstance(each, str) else each for each in machines]), timeout)

    def suspend(self, *names: str, timeout: float | None = None) -> Call[v.Result]:
        """Let these machines have no CPU time."""
        return self.call(v.SuspendVM([v.VM(vm_name=name) for name in names]), timeout)

    def resume(self, *names: str, timeout: float | None = None) -> Call[v.Result]:
        """Let these machines go on."""
        return self.call(v.ResumeVM([v.VM(vm_name=name) for name in names]), timeout)

    def migrate(
        self,
        name: str,
        destination: str,
        parameter: v.MigrateParameter | None = None,
        *,
        swap_with: str | v.SwapWith | None = None,
        timeout: float | None = None,
    ) -> Call[v.Result]:
        """Bring a machine to another node.

        Args:
            name: the machine, which runs here.
            destination: the node that it comes to.
            parameter: how.
            swap_with: the machine that comes here in its place, in addition to what `parameter` says.
            timeout: see above.
        """
        if swap_with is not None:
            given = parameter or v.MigrateParameter()
            other = v.SwapWith(swap_with) if isinstance(swap_with, str) else swap_with
            fields = {each: getattr(given, each) for each in given.__struct_fields__}
            parameter = v.MigrateParameter(**{**fields, "swap_with": other})
        return self.call(v.MigrateVM(name, destination, parameter), timeout)

    def repin(self, name: str, vcpu_map: Iterable[Iterable[int]], timeout: float | None = None) -> Call[v.Result]:
        """Let the virtual CPUs of a machine run on these CPUs: an entry for each of them."""
        return self.call(v.RepinVM(name, vcpu_map), timeout)

    def evacuate(
        self, *destinations: str, parameter: v.EvacuateParameter | None = None, timeout: float | None = None
    ) -> Call[v.Result]:
        """Bring all machines that run here to these nodes."""
        return self.call(v.EvacuateNode(destinations, parameter=parameter), timeout)

    def quit(self, timeout: float | None = None) -> Call[v.Result]:
        """Let the migration framework of this node end."""
        return self.call(v.Quit(), timeout)

    # The agent and mmbwmon

    def init_agent(self, categories: Mapping[str, str], repeat: int) -> None:
        """Let the agent report these indicators, every so many seconds. It may answer with a `Configuration`."""
        self._sender.send(self.host, v.InitAgent(v.KPIConfiguration(categories, repeat)))

    def stop_monitoring(self, job_id: str, process_id: int) -> None:
        """Let the agent watch a job no longer."""
        self._sender.send(self.host, v.StopMonitoring(v.JobDescription(job_id, process_id)))

    def measure(self, cores: Iterable[int], timeout: float | None = None) -> Call[v.MmbwmonResponse]:
        """Let mmbwmon measure the memory bandwidth that is left to these cores: what runs there is suspended before."""
        return self.call(v.MmbwmonRequest(cores), timeout)

    def stop_cgroup(self, cgroup: str, timeout: float | None = None) -> Call[v.MmbwmonStopAck]:
        """Let mmbwmon stop the processes of a cgroup."""
        return self.call(v.MmbwmonStop(cgroup), timeout)

    def restart_cgroup(self, cgroup: str, timeout: float | None = None) -> Call[v.MmbwmonRestartAck]:
        """Let mmbwmon restart the processes of a cgroup."""
        return self.call(v.MmbwmonRestart(cgroup), timeout)


DEFAULT_BROKER: Final = "127.0.0.1:1883"

DEFAULT_TIMEOUT: Final = 300.0
"""Seconds that a task may take: a migration framework gives up a start after 60 seconds, but does many in turn."""

EVERYTHING: Final = {"fast/#": 1}
"""The subscription that the rules need. With 2, a message of quality 1 would overtake an earlier one of quality 2."""

_HEARD: Final = {route.channel for route in ROUTES if route.receiver is Participant.SCHEDULER}

_Cluster = TypeVar("_Cluster", bound="Cluster")


class Heard(NamedTuple):
    """A message to a scheduler, as it came.

    Attributes:
        topic: its topic.
        message: the message; if the payload is not a message, the error with the reason.
        payload: the bytes.
    """

    topic: Topic
    message: FastMessage | DecodeError
    payload: bytes


def subscriptions_of(who: Participant, names: Iterable[str] = ("+",)) -> dict[str, int]:
    """The subscriptions of this participant on these nodes: all topics of which it is the receiver in the table.

    >>> subscriptions_of(Participant.MIGFRA, ["node-a"])
    {'fast/migfra/node-a/task': 2, 'fast/pscom/node-a/+/response': 1}
    """
    channels = {route.channel: QOS[route.channel] for route in ROUTES if route.receiver is who}
    return {channel.filter(name): qos for channel, qos in channels.items() for name in names}


class Cluster:
    """A cluster behind a broker. Use it in a `with`, which connects and disconnects.

    Args:
        broker: where the broker is, as `Broker` or in the form `HOST:PORT`.
        on_message: called once with each message to the scheduler, results of tasks included. It is called in the
            thread of the connection, and must be quick; `run` calls the methods of a scheduler in the main thread.
        on_timeout: called with each task that has timed out, in the same way.
        on_change: called with False when the connection is lost, and with True when it is back.
        client_id: the name of this scheduler at the broker; by default, a new name.
        will: the message that the broker publishes when the connection is lost.
        dialect: how messages are written, "fastlib" as the programs do or "specification".
        timeout: seconds that a task may take by default.
        rules: the rule set to judge all that is said on FaST's topics with, one of `fast.conversation.RULE_SETS`; "" is
            the usual one, None judges nothing.
        on_violation: called with each violation of a rule, in the same way.

    Results are read as fast-lib reads them, or as the specification has them.

    ```python
    with Cluster("127.0.0.1:1883") as cluster:
        node = cluster.node("node-a")
        node.start("vm1").result()
    ```
    """

    def __init__(
        self,
        broker: Broker | str = DEFAULT_BROKER,
        *,
        on_message: Callable[[Heard], None] | None = None,
        on_timeout: Callable[[Call[Any]], None] | None = None,
        on_change: Callable[[bool], None] | None = None,
        client_id: str = "",
        will: Will | None = None,
        dialect: wire.Dialect = "fastlib",
        timeout: float = DEFAULT_TIMEOUT,
        rules: str | None = None,
        on_violation: Callable[[Violation], None] | None = None,
    ) -> None:
        self.timeout = timeout
        self._on_message = on_message
        self._on_timeout = on_timeout
        self._on_change = on_change
        self._dialect = dialect
        self._ledger = Ledger()
        self._topics: dict[str, Topic | None] = {}
        self._conversation = None if rules is None else Conversation(rules)
        self._on_violation = on_violation
        self._connection = BrokerConnection(
            broker,
            subscriptions_of(Participant.SCHEDULER) if rules is None else EVERYTHING,
            self._receive,
            client_id=client_id,
            will=will,
            on_change=self._change,
            on_tick=self._tick,
        )
        self.broker = self._connection.broker

    def node(self, host: str) -> Node:
        """The node of this name, whether there is one or not."""
        return Node(self, host)

    @property
    def waiting(self) -> int:
        """How many tasks wait for their results."""
        return len(self._ledger)

    def call(self, host: str, task: FastMessage, timeout: float | None = None) -> Call[Any]:
        """Send something that is answered: a task of a migration framework, or what mmbwmon answers.

        Args:
            host: the node.
            task: the task; it is given an id unless it has one.
            timeout: seconds that it may take; unless given, those of the cluster.

        Raises:
            EncodeError: it cannot be written.
            ProtocolError: the connection is closed, or another task with the same id waits.
        """
        if getattr(task, "id", "") is None:
            task = msgspec.structs.replace(task, id=uuid.uuid4().hex)
        patience = self.timeout if timeout is None else timeout
        topic, payload = str(topic_for(task, host)), wire.encode(task, dialect=self._dialect)
        call: Call[Any] = Call(host, task, patience, time.monotonic() + patience)
        self._ledger.add(call)
        try:
            self._connection.publish(topic, payload, 2)
        except Exception as error:
            self._ledger.drop(call)
            raise error
        return call

    def send(self, name: str, message: FastMessage, process: str | int | None = None) -> None:
        """Send something that is not answered, such as `InitAgent`, to this node or application."""
        topic = topic_for(message, name, process)
        payload = wire.encode(message, dialect=self._dialect)
        self._connection.publish(str(topic), payload, QOS[topic.channel])

    def open(self) -> None:
        """Connect. PeerGone or PeerSilent if that cannot be; see `BrokerConnection.open`."""
        self._connection.open()

    def close(self, timeout: float = 5.0) -> None:
        """Give the broker what it does not have yet, within these seconds, and disconnect.

        Tasks that still wait for their results raise `PeerGone`.
        """
        self._connection.close(timeout)
        self._ledger.close(PeerGone("the connection was closed before the answer came"))

    def __enter__(self: _Cluster) -> _Cluster:
        self.open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # In the thread of the connection

    def _receive(self, received: Received) -> None:
        if self._conversation is not None:
            self._judge(received, self._conversation)
        topic = self._topic(received.topic)
        if topic is None:
            return
        message: FastMessage | DecodeError
        try:
            message = wire.decode(received.payload, topic, dialect="any")
        except DecodeError as error:
            message = error
        else:
            is_news, _ = self._ledger.take(topic.name, message)
            if not is_news:
                logger.debug("known already: %s", received.topic)
                return
        if self._on_message is not None:
            self._on_message(Heard(topic, message, received.payload))

    def _change(self, is_there: bool) -> None:
        self._ledger.connected(is_there, time.monotonic())
        if self._on_change is not None:
            self._on_change(is_there)

    def _judge(self, received: Received, conversation: Conversation) -> None:
        now = time.time()
        for violation in conversation.feed(received.topic, received.payload, now, retain=received.retained):
            if self._on_violation is not None:
                self._on_violation(violation)

    def _topic(self, text: str) -> Topic | None:
        """A topic that a scheduler hears, as a value; those that come again and again are known."""
        if text not in self._topics:
            if len(self._topics) >= 10_000:
                self._topics.clear()
            topic = Topic.find(text)
            self._topics[text] = topic if topic is not None and topic.channel in _HEARD else None
        return self._topics[text]

    def _tick(self) -> float:
        """Settle the tasks whose time is over; the seconds until the next one's is."""
        now = time.monotonic()
        deadline = self._ledger.next_deadline()
        if deadline is None:
            return float("inf")
        if deadline <= now:
            for call in self._ledger.expire(now):
                if self._on_timeout is not None:
                    self._on_timeout(call)
            deadline = self._ledger.next_deadline()
        return float("inf") if deadline is None else deadline - now
