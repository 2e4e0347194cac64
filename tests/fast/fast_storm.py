"""A storm: many virtual machines on many nodes, whose broker is killed on the way, and what became of every task.

`python tests/fast/fast_storm.py --nodes 50 --machines 1000` tells it in words.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from brokers import Mosquitto
from fast_nodes import nodes, own_sockets, own_threads

from batprotocol.errors import PeerSilent, TaskFailed
from batprotocol.fast import Call, Cluster, Result
from batprotocol.fast.runtime.cluster import Heard
from batprotocol.fast.topics import RESULTS

DEEDS = ("start", "stop", "suspend", "resume", "migrate")
OPTIONS = [
    "--verbose",
    *(option for deed in DEEDS for option in ("--fail", f"{deed}:0.05")),
    *("--start-time", "0.01-0.05", "--migrate-time", "0.01-0.05", "--stop-time", "0-0.01", "--seed", "1"),
]


@dataclass
class Outcome:
    """What became of a storm.

    Attributes:
        ends: how many tasks ended how, by the results that they should have: "success", "error" or "time-out".
        calls: all tasks.
        told: how often the scheduler was told the result of each.
        deeds: how often the nodes did each thing, by the id of its task.
        seconds: how long it took.
        threads: the threads that were left.
        sockets: the sockets that were left.
    """

    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: list[Call[Any]] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    deeds: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0
    threads: Sequence[str] = ()
    sockets: Sequence[str] = ()

    @property
    def unsettled(self) -> int:
        """How many tasks have neither a result nor a time-out."""
        return sum(not call.done() for call in self.calls)

    @property
    def twice(self) -> list[Any]:
        """What was done twice, or told twice."""
        return [each for count in (self.deeds, self.told) for each, times in count.items() if times > 1]

    def contradictions(self) -> list[Call[Any]]:
        """Tasks whose result is not what the nodes have done."""
        done = Counter(id for id, _ in self.deeds)
        return [
            call
            for call in self.calls
            if not isinstance(call.exception(), PeerSilent) and (done[call.task.id] != (call.exception() is None))
        ]

    def __str__(self) -> str:
        total = Counter(end for (_, end), times in self.ends.items() for _ in range(times))
        lines = [f"{len(self.calls)} tasks in {self.seconds:.1f} s: {dict(total)}, {self.unsettled} unsettled"]
        for word in sorted({word for word, _ in self.ends}):
            ends = {end: times for (each, end), times in self.ends.items() if each == word}
            lines += [f"  {word}: {ends}"]
        lines.append(f"done or told twice: {len(self.twice)}, against their results: {len(self.contradictions())}")
        lines.append(f"left: {len(self.threads)} threads, {len(self.sockets)} sockets")
        return "\n".join(lines)


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
        started = [await self.tried(node(places[each]).start(names[each])) for each in (0, 1)]
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
    """Let it storm over so many hosts and machines, so many of them at once, and kill the broker so many times."""
    outcome = Outcome()
    names = [f"node-{number:02}" for number in range(hosts)]
    sockets = own_sockets()
    began = time.monotonic()

    def heard(message: Heard) -> None:
        if isinstance(message.message, Result) and message.message.id is not None:
            outcome.told[message.message.id] += 1

    async def run(cluster: Cluster, broker: Mosquitto) -> None:
        its, turn, done = Storm(cluster, names, outcome), asyncio.Semaphore(at_once), 0

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

    with (
        Mosquitto(folder) as broker,
        nodes(names, broker.address, *OPTIONS, log=folder / "nodes.log"),
        Cluster(broker.address, timeout=timeout, on_message=heard) as cluster,
    ):
        asyncio.run(run(cluster, broker))
    for id, deed in re.findall(r"^batproto: node-\d+: task (\w+): (.*)$", (folder / "nodes.log").read_text(), re.M):
        outcome.deeds[id, deed] += 1
    outcome.seconds = time.monotonic() - began
    outcome.threads = own_threads()
    outcome.sockets = sorted(own_sockets() - sockets)
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--machines", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=50, help="how many pairs of machines live at once")
    parser.add_argument("--timeout", type=float, default=20.0)
    parser.add_argument("--kills", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(storm(given.nodes, given.machines, given.at_once, given.timeout, given.kills, Path(folder)))


if __name__ == "__main__":
    main()
