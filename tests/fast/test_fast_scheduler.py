"""Schedulers for FaST: what is wrong with a class is told when it is made, and `run` tells what comes until it ends."""

from __future__ import annotations

import asyncio
import logging
import queue
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from brokers import PATIENCE, Mosquitto
from fast_nodes import nodes, own_sockets, own_threads
from processes import line_of, started

from batprotocol import DecodeError, EncodeError, PeerGone, PeerSilent, SchedulerError
from batprotocol.errors import TaskFailed
from batprotocol.fast import (
    ROUTES,
    Call,
    Cluster,
    FastScheduler,
    MigrateParameter,
    Participant,
    Result,
    StartVM,
    SwapWith,
    VMConfiguration,
    VMResult,
    VMToStop,
    encode,
    run,
)
from batprotocol.fast import values as v
from batprotocol.fast.conversation import Violation
from batprotocol.fast.runtime.cluster import Node
from batprotocol.fast.runtime.connection import BrokerConnection
from batprotocol.fast.runtime.scheduler import METHODS, RESULT_METHODS, method_for

WITHOUT_ENGINE = True
QUICK = ("--start-time", "0-0.01", "--stop-time", "0-0.01", "--migrate-time", "0-0.01")


# The class


def test_there_is_a_method_for_each_message_that_is_said_to_schedulers() -> None:
    heard = {route.message for route in ROUTES if route.receiver is Participant.SCHEDULER}
    assert heard == {*METHODS, Result}
    for name in [*METHODS.values(), *RESULT_METHODS.values(), "on_unknown"]:
        assert callable(getattr(FastScheduler, name)), name
    assert method_for(Result("whatever")) == "on_unknown"


async def yields(self: FastScheduler, host: str, message: Any) -> Any:
    yield host


@pytest.mark.parametrize(
    ("name", "method", "words"),
    [
        ("on_vm_start", None, "would never be called: there is no such message; did you mean on_vm_started?"),
        ("on_init", lambda self, message: None, "is called with (self, host, message)"),
        ("on_connected", lambda self, host: None, "is called with (self)"),
        ("on_init", yields, "contains a `yield`"),
        ("on_init", 5, "is not a method: expected a function, got 5"),
        ("main", lambda: None, "is called with (self)"),
        ("node", lambda self: None, "would hide the one of FastScheduler"),
    ],
)
def test_a_method_that_could_not_be_called_is_refused(name: str, method: Any, words: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        type("Mine", (FastScheduler,), {name: method})
    assert f"Mine.{name}" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("method", [staticmethod(lambda host, message: None), property(lambda self: print)])
def test_what_cannot_be_known_is_left_alone(method: Any) -> None:
    assert type("Mine", (FastScheduler,), {"on_init": method})


def test_what_is_no_scheduler_is_refused() -> None:
    for wrong in (FastScheduler, None, Node):
        with pytest.raises(SchedulerError, match="run takes a FastScheduler"):
            run(wrong)  # type: ignore[arg-type]  # that is the point


def test_nodes_are_there_while_it_runs_only() -> None:
    with pytest.raises(RuntimeError, match="is not running"):
        FastScheduler().node("node-a")


# Nodes as their scheduler sees them


class Sent:
    """Takes tasks, and sends nothing."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def call(self, host: str, task: v.FastMessage, timeout: float | None = None) -> Call[Any]:
        self.messages.append((host, task, timeout))
        return Call(host, task, 1.0, 1.0)

    def send(self, name: str, message: v.FastMessage, process: str | int | None = None) -> None:
        self.messages.append((name, message, process))


@pytest.mark.parametrize(
    ("ask", "task"),
    [
        (lambda n: n.start("a", VMConfiguration(xml="x")), StartVM([VMConfiguration("a"), VMConfiguration(xml="x")])),
        (
            lambda n: n.stop("a", VMToStop(regex="b"), "c", force=True),
            v.StopVM([VMToStop("a", force=True), VMToStop(regex="b"), VMToStop("c", force=True)]),
        ),
        (lambda n: n.suspend("a", "b"), v.SuspendVM([v.VM("a"), v.VM("b")])),
        (lambda n: n.resume("a"), v.ResumeVM([v.VM("a")])),
        (lambda n: n.migrate("a", "m"), v.MigrateVM("a", "m")),
        (
            lambda n: n.migrate("a", "m", MigrateParameter(migration_type="live"), swap_with="b"),
            v.MigrateVM("a", "m", MigrateParameter(migration_type="live", swap_with=SwapWith("b"))),
        ),
        (lambda n: n.repin("a", [[1], [2, 3]]), v.RepinVM("a", ((1,), (2, 3)))),
        (lambda n: n.evacuate("m", "o"), v.EvacuateNode(["m", "o"])),
        (lambda n: n.quit(), v.Quit()),
        (lambda n: n.init_agent({"a": "b"}, 5), v.InitAgent(v.KPIConfiguration({"a": "b"}, 5))),
        (lambda n: n.stop_monitoring("j", 7), v.StopMonitoring(v.JobDescription("j", 7))),
        (lambda n: n.measure([1, 2]), v.MmbwmonRequest((1, 2))),
        (lambda n: n.stop_cgroup("g"), v.MmbwmonStop("g")),
        (lambda n: n.restart_cgroup("g"), v.MmbwmonRestart("g")),
    ],
)
def test_each_method_of_a_node_sends_its_task(ask: Callable[[Node], Any], task: v.FastMessage) -> None:
    sent = Sent()
    ask(Node(sent, "node-a"))
    assert sent.messages == [("node-a", task, None)]
    assert encode(task)


# With nodes


@pytest.mark.slow
def test_tasks_give_their_results_without_asyncio(mosquitto: Mosquitto) -> None:
    with nodes(["node-a", "node-b"], mosquitto.address, *QUICK), Cluster(mosquitto.address) as cluster:
        node, other = cluster.node("node-a"), cluster.node("node-b")
        started = node.start("vm1", "vm2").result(PATIENCE)
        assert [entry.vm_name for entry in started.list] == ["vm1", "vm2"]
        other.start("vm3").result(PATIENCE)
        assert node.migrate("vm1", "node-b", swap_with="vm3").result(PATIENCE).result == "vm migrated"
        node.suspend("vm3").result(PATIENCE)
        with pytest.raises(TaskFailed, match=r"^node-a: resume vm .*: vm1: Domain not found") as caught:
            node.resume("vm1", "vm3").result(PATIENCE)
        assert [entry.status for entry in caught.value.result.list] == ["error", "success"]
        assert other.repin("vm1", [[3]]).result(PATIENCE).is_success
        assert {entry.vm_name for entry in other.evacuate("node-a").result(PATIENCE).list} == {"vm1"}
        assert 0.33 <= node.measure([0, 1]).result(PATIENCE).result < 1
        node.stop_cgroup("g").result(PATIENCE)
        node.restart_cgroup("g").result(PATIENCE)
        assert node.stop(VMToStop(regex=".*")).result(PATIENCE).is_success
        assert other.quit().result(PATIENCE).list[0].vm_name == "n/a"
        assert cluster.waiting == 0


def test_what_is_not_answered_runs_out_of_time(mosquitto: Mosquitto) -> None:
    late: list[Call[Any]] = []
    with Cluster(mosquitto.address, timeout=0.2, on_timeout=late.append) as cluster:
        call = cluster.node("nobody").start("vm1")
        other = cluster.node("nobody").quit(timeout=60)
        with pytest.raises(PeerSilent, match=r"^nobody: start vm .*: no answer within 0\.2 seconds$"):
            call.result(PATIENCE)
        assert late == [call]
        assert not other.done()
    with pytest.raises(PeerGone, match="closed before the answer came"):
        other.result(0)


def test_what_cannot_be_sent_leaves_nothing(mosquitto: Mosquitto) -> None:
    with Cluster(mosquitto.address) as cluster:
        with pytest.raises(EncodeError):
            cluster.node("a/b").quit()
        with pytest.raises(EncodeError):
            cluster.node("a").start(VMConfiguration(vcpus=-1))
        assert cluster.waiting == 0
    with pytest.raises(PeerGone):
        Cluster("127.0.0.1:1").open()
    assert own_threads() == []


class Recorder(FastScheduler):
    """Writes down what it is told."""

    timeout = 0.3

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("on_"):
            return super().__getattribute__(name)
        return lambda *arguments: self.told.append((name, *arguments))


class Player(Recorder):
    """Says what all others could say to a scheduler, and stops when the last of it has come."""

    def __init__(self, address: str, payloads: list[tuple[str, bytes]]) -> None:
        super().__init__()
        self.address = address
        self.payloads = payloads

    async def main(self) -> None:
        with BrokerConnection(self.address, {}, lambda received: None) as connection:
            for topic, payload in self.payloads:
                connection.publish(topic, payload, 2)
        call = self.node("nobody").quit()
        with pytest.raises(PeerSilent):
            await call
        while not any(name == "on_timeout" for name, *_ in self.told):
            await asyncio.sleep(0.01)


@pytest.mark.slow
def test_a_time_out_tells_that_the_broker_was_away(own_mosquitto: Mosquitto) -> None:
    changes: queue.Queue[bool] = queue.Queue()
    with Cluster(own_mosquitto.address, on_change=changes.put) as cluster:
        assert changes.get(timeout=PATIENCE)
        own_mosquitto.kill()
        assert not changes.get(timeout=PATIENCE)
        lost, late = (cluster.node("nobody").start("vm1", timeout=seconds) for seconds in (0.1, 1.0))
        with pytest.raises(PeerSilent, match=r"no answer within 0\.1 seconds; the broker is away, since"):
            lost.result(PATIENCE)
        own_mosquitto.start()
        assert changes.get(timeout=PATIENCE)
        with pytest.raises(PeerSilent, match=r"no answer within 1 seconds; the broker (was|is) away"):
            late.result(PATIENCE)


def test_each_message_is_told_to_its_method(mosquitto: Mosquitto) -> None:
    said = [
        ("fast/agent/n/status", v.Init("n")),
        ("fast/agent/n/status", v.Configuration("n", "accepted")),
        ("fast/agent/n/status", v.KPI("n", {"a": "1"})),
        ("fast/agent/n/mmbwmon/response", v.MmbwmonResponse((1,), 0.5)),
        ("fast/agent/n/mmbwmon/stop/ack", v.MmbwmonStopAck()),
        ("fast/agent/n/mmbwmon/restart/ack", v.MmbwmonRestartAck()),
        ("fast/application/7/status", v.ApplicationStatus("7", True, ["a"])),
        ("fast/application/7/KPIs", v.ApplicationKPIs("7", {"a": "1"})),
        *(("fast/migfra/n/result", Result(word, [VMResult("vm")])) for word in [*RESULT_METHODS, "unknown", "other"]),
    ]
    payloads = [(topic, encode(message)) for topic, message in said]
    player = Player(mosquitto.address, [*payloads, ("fast/migfra/n/result", b"[")])
    run(player, mosquitto.address)
    expected = [(method_for(message), topic.split("/")[2], message) for topic, message in said]
    assert player.told[0] == ("on_connected",)
    told = {name: [each for each in player.told[1:] if each[0] == name] for name, *_ in player.told[1:]}
    ((_, topic, payload, error),) = told.pop("on_undecodable")
    assert (str(topic), payload) == ("fast/migfra/n/result", b"[")
    assert isinstance(error, DecodeError)
    ((_, late),) = told.pop("on_timeout")
    assert late.host == "nobody"
    assert told == {name: [each for each in expected if each[0] == name] for name, *_ in expected}


def test_a_result_that_is_delivered_again_is_told_once(mosquitto: Mosquitto) -> None:
    class Once(Recorder):
        async def main(self) -> None:
            task = StartVM([VMConfiguration("vm")], id="mine")
            call = self.node("n").call(task, PATIENCE)
            with BrokerConnection(mosquitto.address, {}, lambda received: None) as connection:
                for _ in range(3):
                    connection.publish(
                        "fast/migfra/n/result", encode(Result("vm started", [VMResult("vm")], "mine")), 1
                    )
                connection.publish("fast/migfra/n/result", encode(Result("quit", [VMResult("n/a")])), 1)
            assert (await call).id == "mine"
            while len(self.told) < 3:
                await asyncio.sleep(0.01)

    scheduler = Once()
    run(scheduler, mosquitto.address)
    assert [name for name, *_ in scheduler.told] == ["on_connected", "on_vm_started", "on_quit"]


@pytest.mark.slow
def test_methods_may_be_async_and_wait_beside_each_other(mosquitto: Mosquitto) -> None:
    class Starter(FastScheduler):
        def __init__(self) -> None:
            self.running = 0
            self.most = 0

        async def on_init(self, host: str, message: v.Init) -> None:
            self.running += 1
            self.most = max(self.most, self.running)
            await self.node(host).start(f"vm-of-{host}")
            self.running -= 1
            if not self.running:
                self.stop()

        async def on_connected(self) -> None:
            self.process = nodes(["a", "b", "c"], mosquitto.address, "--start-time", "0.1")
            await asyncio.to_thread(self.process.__enter__)

    scheduler = Starter()
    run(scheduler, mosquitto.address)
    scheduler.process.__exit__(None, None, None)
    assert (scheduler.running, scheduler.most) == (0, 3)


@pytest.mark.slow
def test_methods_may_wait_without_asyncio(mosquitto: Mosquitto) -> None:
    class Waiter(FastScheduler):
        def on_connected(self) -> None:
            with nodes(["node-a"], mosquitto.address, *QUICK):
                self.result = self.node("node-a").start("vm1").result(PATIENCE)
            self.stop()

    waiter = Waiter()
    run(waiter, mosquitto.address)
    assert waiter.result.is_success


def raising(error: BaseException) -> type[FastScheduler]:
    class Raising(FastScheduler):
        def on_connected(self) -> None:
            raise error

    return Raising


def raising_later(error: BaseException) -> type[FastScheduler]:
    class Raising(FastScheduler):
        async def main(self) -> None:
            await asyncio.sleep(0.01)
            raise error

    return Raising


@pytest.mark.parametrize("kind", [raising, raising_later])
def test_what_a_method_raises_ends_the_run(mosquitto: Mosquitto, kind: Callable[[Exception], Any]) -> None:
    sockets = own_sockets()
    with pytest.raises(LookupError, match="lost"):
        run(kind(LookupError("lost"))(), mosquitto.address)
    assert own_threads() == []
    assert own_sockets() == sockets


@pytest.mark.slow
def test_a_broker_that_comes_back_is_told(own_mosquitto: Mosquitto) -> None:
    class Watcher(Recorder):
        async def main(self) -> None:
            while len(self.told) < 1:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(own_mosquitto.restart)
            while len(self.told) < 3:
                await asyncio.sleep(0.01)

    watcher = Watcher()
    run(watcher, own_mosquitto.address)
    assert watcher.told == [("on_connected",), ("on_disconnected",), ("on_connected",)]


class Careless(FastScheduler):
    """Lets somebody say what is no task, and waits for what is said next."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.heard = asyncio.Event()

    def on_init(self, host: str, message: v.Init) -> None:
        self.heard.set()

    async def main(self) -> None:
        with BrokerConnection(self.address, {}, lambda received: None) as connection:
            connection.publish("fast/migfra/n/task", b"{task: fly vm}", 1)
            connection.publish("fast/agent/n/status", b"{task: init, hostname: n}", 2)
            await asyncio.wait_for(self.heard.wait(), PATIENCE)


def test_rules_watch_what_is_said(mosquitto: Mosquitto, caplog: pytest.LogCaptureFixture) -> None:
    class Strict(Careless):
        def on_violation(self, violation: Violation) -> None:
            raise LookupError(str(violation))

    with caplog.at_level(logging.WARNING, "batprotocol.fast"):
        run(Careless(mosquitto.address), mosquitto.address)
        assert caplog.text == ""
        run(Careless(mosquitto.address), mosquitto.address, rules="")
    assert "[task.form]" in caplog.text
    with pytest.raises(LookupError, match=r"\[task\.form\]"):
        run(Strict(mosquitto.address), mosquitto.address, rules="")


# Signals

PROGRAM = """
import sys, time, asyncio
from batprotocol.fast import FastScheduler, run

class Waits(FastScheduler):
    def on_connected(self):
        print("connected", flush=True)

class Blocks(Waits):
    def on_connected(self):
        print("connected", flush=True)
        self.node("nobody").quit().result()

try:
    run({kind}(), {address!r})
finally:
    print("ended", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Waits", "Blocks"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143)])
def test_signals_end_it(mosquitto: Mosquitto, kind: str, number: signal.Signals, status: int) -> None:
    code = PROGRAM.format(kind=kind, address=mosquitto.address)
    with started([sys.executable, "-c", code]) as process:
        assert line_of(process.stdout) == "connected"
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=PATIENCE / 2)
        except subprocess.TimeoutExpired:
            # Python notices no signal that comes just before its main thread waits for a lock: users press once more.
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE)
    assert out == "ended\n"
    assert process.returncode == status
    assert "KeyboardInterrupt" in err if number == signal.SIGINT else err == ""
