"""A storm: many virtual machines on many nodes, whose broker is killed on the way, and what became of every task.

`python tests/fast/storm.py --nodes 50 --machines 1000` tells it in words.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from brokers import Mosquitto
from fast_nodes import nodes, own_sockets, own_threads

from batprotocol import PeerSilent, TaskFailed
from batprotocol.fast import Call, Cluster, Topic, decode
from batprotocol.fast.messages import RESULTS
from batprotocol.fast.recording import Recorded, read_line
from batprotocol.fast.values import Result, VMConfiguration


@dataclass
class Outcome:
    """What became of a storm.

    Attributes:
        ends: how many tasks ended how, by the words of their tasks: "success", "error" or "time-out".
        unsettled: how many tasks had neither a result nor a time-out in the end.
        results: how many results the broker was seen to carry for each task; it was not there all the time.
        seconds: how long it took.
        threads: the threads that were left.
        sockets: the sockets that were left.
    """

    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: list[Call[Any]] = field(default_factory=list)
    told: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0
    threads: Sequence[str] = ()
    sockets: Sequence[str] = ()


class Storm:
    """The life of each machine: started, suspended and resumed, migrated, swapped with another one, stopped."""

    def __init__(self, cluster: Cluster, hosts: Sequence[str], outcome: Outcome) -> None:
        self.cluster = cluster
        self.hosts = hosts
        self.outcome = outcome

    async def tried(self, call: Call[Any]) -> bool:
        """Wait for the end of a task, and count it."""
        self.outcome.calls.append(call)
        word = RESULTS[type(call.task)]
        try:
            await call
        except TaskFailed:
            self.outcome.ends[word, "error"] += 1
        except PeerSilent:
            self.outcome.ends[word, "time-out"] += 1
        else:
            self.outcome.ends[word, "success"] += 1
            return True
        return False

    async def two_lives(self, number: int) -> None:
        """Two machines on two nodes, which are migrated to others, and swapped there."""
        names = f"vm{2 * number}", f"vm{2 * number + 1}"
        places = [self.hosts[(number * 7 + shift) % len(self.hosts)] for shift in range(4)]
        node = self.cluster.node
        started = [await self.tried(node(places[each]).start(VMConfiguration(vm_name=names[each]))) for each in (0, 1)]
        if not all(started):
            return
        if await self.tried(node(places[0]).suspend(names[0])):
            await self.tried(node(places[0]).resume(names[0]))
        for each in (0, 1):
            if await self.tried(node(places[each]).migrate(names[each], places[each + 2])):
                places[each] = places[each + 2]
        if places[0] != places[1] and await self.tried(
            node(places[0]).migrate(names[0], places[1], swap_with=names[1])
        ):
            places[0], places[1] = places[1], places[0]
        for each in (0, 1):
            await self.tried(node(places[each]).stop(names[each], force=True))


def storm(hosts: int, machines: int, at_once: int, timeout: float, kills: int, folder: Path) -> Outcome:
    """Let it storm."""
    outcome = Outcome()
    names = [f"node-{number:02}" for number in range(hosts)]
    options = [option for deed in ("start", "stop", "suspend", "resume", "migrate") for option in ("--fail", f"{deed}:0.05")]
    times = ["--start-time", "0.01-0.05", "--migrate-time", "0.01-0.05", "--stop-time", "0-0.01"]
    sockets = own_sockets()
    began = time.monotonic()
    recording = folder / "said.jsonl"

    def heard(message: Any) -> None:
        if isinstance(message.message, Result) and message.message.id:
            outcome.told[message.topic.name, message.message.id] += 1

    async def run(cluster: Cluster, broker: Mosquitto) -> None:
        its = Storm(cluster, names, outcome)
        turn = asyncio.Semaphore(at_once)
        done = 0

        async def one(number: int) -> None:
            nonlocal done
            async with turn:
                await its.two_lives(number)
                done += 1

        lives = asyncio.gather(*(one(number) for number in range(machines // 2)))
        for kill in range(1, kills + 1):
            while done < machines // 2 * kill / (kills + 1):
                await asyncio.sleep(0.01)
            await asyncio.to_thread(broker.restart, 0.2)
        await lives

    with Mosquitto(folder) as broker, nodes(names, broker.address, *times, *options, "--seed", "1") as process:
        with Cluster(broker.address, timeout=timeout, on_message=heard) as cluster:
            asyncio.run(run(cluster, broker))
        process.terminate()
        process.wait(20)
    outcome.seconds = time.monotonic() - began
    outcome.threads = own_threads()
    outcome.sockets = sorted(own_sockets() - sockets)
    return outcome
