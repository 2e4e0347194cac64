"""Runs plans on a real Slurm in processes of their own, some at once, and keeps their recordings in a folder."""

from __future__ import annotations

import contextlib
import json
import lzma
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from slurming.accounting import database
from slurming.recorder.clusters import planned
from slurming.recorder.driving import drive
from slurming.recorder.kinds import KINDS, plan
from slurming.recorder.plans import Plan
from slurming.recorder.reading import faults, recording

__all__ = ["chosen", "record_all", "run_plan"]

ATTEMPTS = 3


def run_plan(folder: Path, made: Plan, database_port: int, speed: int, stopped: Callable[[], bool]) -> dict[str, Any]:
    """The recording of a plan. This process must run in Slurm's time."""
    with planned(folder, made, database_port) as cluster:
        said = drive(cluster, stopped)
        cluster.check()
    recorded = recording(made, said, cluster.answers, speed)
    host = re.escape(socket.gethostname().partition(".")[0])
    text = re.sub(rf"\b{host}\b", "head", json.dumps(recorded).replace(str(folder), "/tmp/slurm"))
    result: dict[str, Any] = json.loads(text)
    return result


def chosen(kinds: list[str], seed: int, count: int) -> Iterator[tuple[str, int]]:
    """The kinds and seeds to record: those of each seed together.

    Raises:
        KeyError: there is no such kind.
    """
    names = kinds or [*KINDS]
    for name in names:
        KINDS[name]
    return ((name, number) for number in range(seed, seed + count) for name in names)


def record_all(
    which: Iterator[tuple[str, int]],
    output: Path,
    record: Callable[[Plan, int], dict[str, Any]],
    *,
    parallel: int = 1,
    folder: Path,
    interrupt: Callable[[], None],
    made: Callable[[str, int], Plan] = plan,
) -> int:
    """Record what is not there yet, and return the number of plans that could not be recorded.

    Args:
        which: kinds and seeds.
        output: where the files KIND/SEED.json.xz are.
        record: runs a plan, given the port of a database for it.
        parallel: how many clusters run at once.
        folder: a temporary folder for the database.
        interrupt: ends the runs of other threads, when this one is interrupted.
        made: makes the plan of a kind and a seed.
    """
    wanted = [(kind, seed) for kind, seed in which if not _path(output, kind, seed).exists()]
    with contextlib.ExitStack() as stack:
        needed = any(made(*each).accounted for each in wanted)
        port = stack.enter_context(database(folder)) if needed else 0
        stop = threading.Event()
        pool = stack.enter_context(ThreadPoolExecutor(parallel))

        def work(each: tuple[str, int]) -> bool:
            return stop.is_set() or _record_one(output, each, lambda: record(made(*each), port), stop.is_set)

        try:
            return sum(not done for done in pool.map(work, wanted))
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            interrupt()
            raise


def _path(output: Path, kind: str, seed: int) -> Path:
    return output / kind / f"{seed:02}.json.xz"


def _record_one(
    output: Path, which: tuple[str, int], record: Callable[[], dict[str, Any]], stopped: Callable[[], bool]
) -> bool:
    """Record a plan; a recording with faults is made again."""
    name = "{}/{:02}".format(*which)
    for _ in range(ATTEMPTS):
        began = time.monotonic()
        try:
            made = record()
        except RuntimeError as error:
            print(f"{name} failed: {error}", file=sys.stderr, flush=True)
            if stopped():
                return False
            continue
        took = f"{len(made['starts'])} starts, {made['quality']['max_duration_minus_run']:g} s too long"
        took += f", in {time.monotonic() - began:.0f} s"
        if found := faults(made):
            print(f"{name} is useless, as {', '.join(found)} ({took})", file=sys.stderr, flush=True)
            continue
        path = _path(output, *which)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(lzma.compress(json.dumps(made).encode(), preset=6))
        part.rename(path)
        print(f"{name} has {took}", flush=True)
        return True
    return False
