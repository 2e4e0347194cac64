"""Tasks and results a second through a broker: the runtime of FaST, against a bare loop of paho with the same payloads.

Both send tasks that start a machine (QoS 2) to the same peer, which answers each with a result (QoS 1), as many at
once, through the same mosquitto, in turn. The bare loop neither writes nor reads their contents; it is measured
with paho's defaults, and also with `TCP_NODELAY`, which the runtime sets. The figures are time by the clock, and the
processor time of this process beside it.
"""

from __future__ import annotations

import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from ports import free_port

from batprotocol.fast import Cluster, StartVM, VMConfiguration, encode
from benchmark.tables import parser_for, table

__all__ = ["GOAL", "main", "measure"]

GOAL = 0.6
"""How many messages a second the runtime must carry, of those that a bare loop does."""

AT_ONCE = 50
TASKS = "fast/migfra/node-a/task"

PEER = """
import socket, sys
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
peer = Client(CallbackAPIVersion.VERSION2)
def answer(client, data, message):
    id = message.payload[message.payload.index(b"\\nid: "):]
    result = b"---\\nresult: vm started\\nlist:\\n  - vm-name: vm1\\n    status: success" + id
    client.publish("fast/migfra/node-a/result", result, 1)
peer.on_message = answer
peer.on_socket_open = lambda client, data, opened: opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
peer.on_connect = lambda *_: peer.subscribe("fast/migfra/node-a/task", 2)
peer.on_subscribe = lambda *_: print("ready", flush=True)
peer.connect("127.0.0.1", int(sys.argv[1]))
peer.loop_forever()
"""
"""The peer that answers, in a process of its own."""


class Sample(NamedTuple):
    """The times that some tasks took, in seconds."""

    clock: float
    processor: float


@contextmanager
def broker() -> Iterator[int]:
    """A mosquitto with the peer at it; its port."""
    program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        file = Path(folder, "mosquitto.conf")
        file.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_type error\n")
        server = subprocess.Popen([program, "-c", file])
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.02)
            with subprocess.Popen([sys.executable, "-c", PEER, str(port)], stdout=subprocess.PIPE) as peer:
                try:
                    assert peer.stdout is not None
                    peer.stdout.readline()
                    yield port
                finally:
                    peer.kill()
        finally:
            server.kill()
            server.wait()


def bare(port: int, count: int, nodelay: bool) -> Sample:
    """`count` tasks by paho alone, which are written before."""
    client = Client(CallbackAPIVersion.VERSION2)
    turn, done, subscribed = threading.Semaphore(AT_ONCE), threading.Event(), threading.Event()
    left = count

    def take(_client: Client, _data: Any, _message: Any) -> None:
        nonlocal left
        left -= 1
        turn.release()
        if not left:
            done.set()

    def no_delay(_client: Client, _data: Any, opened: Any) -> None:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(nodelay))

    client.on_message, client.on_socket_open = take, no_delay
    client.on_subscribe = lambda *_: subscribed.set()
    client.connect("127.0.0.1", port)
    client.subscribe("fast/migfra/+/result", 1)
    client.loop_start()
    subscribed.wait()
    payloads = [encode(StartVM([VMConfiguration("vm1")], id=uuid.uuid4().hex)) for _ in range(count)]
    clock, processor = time.perf_counter(), time.process_time()
    for payload in payloads:
        turn.acquire()
        client.publish(TASKS, payload, 2)
    done.wait()
    sample = Sample(time.perf_counter() - clock, time.process_time() - processor)
    client.disconnect()
    client.loop_stop()
    return sample


def runtime(port: int, count: int) -> Sample:
    """`count` tasks by a cluster: written and sent, their results read and returned."""
    with Cluster(f"127.0.0.1:{port}") as cluster:
        node, turn, calls = cluster.node("node-a"), threading.Semaphore(AT_ONCE), []
        clock, processor = time.perf_counter(), time.process_time()
        for _ in range(count):
            turn.acquire()
            call = node.start("vm1")
            call.add_done_callback(lambda _: turn.release())
            calls.append(call)
        assert all(call.result().is_success for call in calls)
        return Sample(time.perf_counter() - clock, time.process_time() - processor)


def measure(rounds: int, count: int) -> dict[str, tuple[float, float]]:
    """Tasks with their results a second, and microseconds of the processor for each: medians, by who carried them."""
    carriers: dict[str, Callable[[int, int], Sample]] = {
        "bare paho": lambda port, count: bare(port, count, False),
        "bare paho, TCP_NODELAY": lambda port, count: bare(port, count, True),
        "batprotocol.fast": runtime,
    }
    samples: dict[str, list[Sample]] = {name: [] for name in carriers}
    with broker() as port:
        for carry in carriers.values():
            carry(port, count // 10)
        for _ in range(rounds):
            for name, carry in carriers.items():
                samples[name].append(carry(port, count))
    return {
        name: (
            count / statistics.median(each.clock for each in found),
            statistics.median(each.processor for each in found) / count * 1e6,
        )
        for name, found in samples.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="fewer tasks")
    parser.add_argument("--check", action="store_true", help=f"exit 1 below {GOAL:g} of bare paho")
    given = parser.parse_args(arguments)
    found = measure(*((3, 500) if given.quick else (9, 2000)))
    own = found["batprotocol.fast"][0]
    rows = [["tasks with their results", "a second", "the runtime's share", "processor, µs each"]]
    for name, (rate, processor) in found.items():
        rows.append([name, f"{rate:,.0f}", f"{own / rate:.2f}", f"{processor:,.0f}"])
    print(f"FaST over a broker, {AT_ONCE} tasks at once:\n\n{table(rows, given.markdown)}")
    return 1 if given.check and own < GOAL * found["bare paho"][0] else 0


if __name__ == "__main__":
    sys.exit(main())
