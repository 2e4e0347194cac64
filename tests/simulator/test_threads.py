"""Eight threads decode, build, simulate and use hosts at once, each its own objects, and share values.

Each thread gets what one thread alone gets. Built with -fsanitize=thread, the modules in C run this, too.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from support import files_of, runs

from batprotocol import Hosts, MessageBuilder, decode
from batprotocol.policies.names import scheduler_named
from batprotocol.simulator import EXAMPLE_PLATFORM, named_workload, read_platform, simulate
from batprotocol.wire import binary, json

THREADS = 8
FRAMES = [data for name, data in sorted(files_of(runs()[0]).items()) if name.endswith(("b2e.bin", "e2b.bin"))][2:60]
MESSAGES = [decode(data) for data in FRAMES]
PLATFORM = read_platform(EXAMPLE_PLATFORM)
WORKLOAD = named_workload("lublin:32?jobs=20", name="w0")


def decoded() -> object:
    return [decode(data) for data in FRAMES]


def encoded() -> object:
    """The messages are shared by all threads."""
    return [(binary.encode(message), json.encode(message)) for message in MESSAGES]


def built() -> object:
    replies = []
    for number in range(200):
        reply = MessageBuilder(float(number))
        reply.add_execute_job(f"w0!{number}", f"0-{number}")
        reply.add_kill_jobs([f"w0!{number}", "w0!1"])
        replies.append(binary.encode(reply.finish_message()))
    return replies


def simulated() -> object:
    """Platform and workload are shared by all threads."""
    return [
        list(simulate(PLATFORM, WORKLOAD, scheduler_named(policy)()).jobs)
        for policy in ("fcfs", "easy-sjf", "conservative")
    ]


def taken() -> object:
    free, seen = Hosts(range(512)), []
    for number in range(300):
        seen.append(free.take(number % 17 + 1))
        if len(seen) % 3 == 0 or len(free) < 20:
            free.give_back(seen.pop(0))
    return list(map(str, seen)), str(free)


@contextmanager
def restless() -> Iterator[None]:
    """Threads change as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("works", [(decoded, encoded, built, taken), (simulated,)], ids=["values", "simulations"])
def test_threads_get_what_one_thread_gets(works: tuple[Callable[[], object], ...]) -> None:
    alone = [work() for work in works]
    together = threading.Barrier(THREADS)

    def all_of_them(first: int) -> list[Any]:
        together.wait()
        order = [(first + step) % len(works) for step in range(len(works))]
        found = {place: works[place]() for place in order}
        return [found[place] for place in range(len(works))]

    with restless(), ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(all_of_them, range(THREADS)):
            assert found == alone
