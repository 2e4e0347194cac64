#!/usr/bin/env python3
"""Runs situations on a real Slurm, on this machine and faster than time, and records what happens.

apt-get install slurmctld slurmd slurm-client faketime
python tools/real_slurm.py                      # record all situations in tests/data/slurm
python tools/real_slurm.py gpus memory          # record some
python tools/real_slurm.py --speed 5 --output elsewhere gpus

Each situation has a cluster of its own: slurmctld, and a slurmd for each node, on the loopback interface, in a
temporary folder. `faketime` makes their time and that of the jobs run faster. A recording has the runs of each job:
start and end in seconds since the first submission, nodes, and Slurm's state. `tests/policies/slurm` compares the
built-in policies with it.

apt-get install slurmdbd mariadb-server         # besides the packages above
python tools/real_slurm.py --site 1             # record the log of a site in tests/data/logs/site

python tools/real_slurm.py --random 1 --count 3 --kind backfill --kind cores --output elsewhere
python tools/real_slurm.py --random 1 --parallel 3 --output elsewhere     # all kinds
python tools/real_slurm.py --pack elsewhere --output archives             # one file for each kind

python tools/real_slurm.py --again recorded/backfill/01.json.xz --output elsewhere   # the same jobs once more

python tools/real_slurm.py --drawn 50                                     # how often each option is drawn

A random run has a cluster, a configuration and a workload of a kind, made from a seed. The kinds whose names begin with
`drawn` take all options that the policy `slurm` follows, in mixtures that nobody chose. Its file, KIND/01.json.xz, has
all that is needed to play it again. Files that are there already stay, and a recording on which the load of this
machine shows is made again.

A site has accounts and users, and jobs of each kind that a site sees, made from a seed. The log is what sacct prints,
with what describes the nodes. `tests/sites/logs` reads it.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT)]

from slurming.accounting import AccountedCluster, database
from slurming.clusters import Cluster
from slurming.recorder.archives import pack
from slurming.recorder.drawn import drawn_by, drawn_table
from slurming.recorder.kinds import KINDS, plan
from slurming.recorder.plans import Plan, recorded_plan
from slurming.recorder.runs import chosen, record_all, run_plan
from slurming.running import run, text_of
from slurming.sites import site
from slurming.situations import DATA, Asked, Situation, expanded, read_situations

__all__ = ["DATA", "Asked", "Situation", "expanded", "read_situations", "record", "site"]


RUNNING: dict[int, IO[bytes]] = {}
"""The inputs of processes that run Slurm: such a process ends when its input is closed."""

SITE = ROOT / "tests" / "data" / "logs" / "site"
RANDOM = DATA / "random"


def record(situation: Situation, speed: int) -> dict[str, Any]:
    """Run a situation on a Slurm whose time is so many times as fast as real time.

    Raises:
        RuntimeError: Slurm does not start, or jobs do not end; with the last lines of its log.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        port = stack.enter_context(database(folder)) if situation.accounts else 0
        return in_its_time(folder, situation, speed, port)


def record_plan(plan: Plan, speed: int, database_port: int) -> dict[str, Any]:
    """The same for a random plan; the port is that of a database, if it needs one."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        return in_its_time(Path(name), plan, speed, database_port)


def in_its_time(folder: Path, what: Situation | Plan, speed: int, port: int) -> dict[str, Any]:
    """Run a situation or a plan in a process whose time is faster, and return what it prints."""
    file = "plan.json" if isinstance(what, Plan) else "situation.json"
    (folder / file).write_bytes(msgspec.json.encode(what))
    command = ["faketime", "-m", "-f", f"+0 x{speed}", sys.executable, __file__, "--inside", str(folder)]
    command += ["--database", str(port), "--speed", str(speed)]
    # In a session of its own, so that Ctrl-C ends this process alone; the other one then ends all of Slurm.
    inside = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert inside.stdin is not None
    assert inside.stdout is not None
    RUNNING[inside.pid] = inside.stdin
    try:
        answer = inside.stdout.read()
    finally:
        del RUNNING[inside.pid]
        inside.stdin.close()
        inside.wait()
    result: dict[str, Any] = json.loads(answer or '{"error": "there is no result"}')
    if "error" in result:
        raise RuntimeError(result["error"])
    return result


def inside(folder: Path, database_port: int, speed: int) -> None:
    """Record what is in a folder in Slurm's time, and print the result. It stops when its input ends."""
    os.environ["TZ"] = "UTC"
    time.tzset()

    def stopped() -> bool:
        return bool(select.select([sys.stdin], [], [], 0)[0])

    try:
        if (folder / "plan.json").exists():
            plan = msgspec.json.decode((folder / "plan.json").read_bytes(), type=Plan)
            print(json.dumps(run_plan(folder, plan, database_port, speed, stopped)))
            return
        situation = msgspec.json.decode((folder / "situation.json").read_bytes(), type=Situation)
        if situation.accounts:
            accounted = AccountedCluster(folder, situation, database_port)
            with accounted:
                result, ids = run(accounted, stopped)
                result["files"] = accounted.files(ids)
        else:
            with Cluster(folder, situation) as cluster:
                result, _ = run(cluster, stopped)
    except RuntimeError as error:
        logs = [
            folder / "slurmctld.log",
            folder / "slurmdbd.log",
            *sorted(folder.glob("slurmd.*.log")),
            folder / "daemons.txt",
        ]
        tails = [line for log in logs if log.exists() for line in log.read_text(errors="replace").splitlines()[-8:]]
        result = {"error": "\n".join([str(error), *tails])}
    with suppress(BrokenPipeError):  # nobody waits for it any more
        print(json.dumps(result), flush=True)


def write_site(recorded: dict[str, Any], folder: Path) -> None:
    """Write the files of a site, but not the large one with the names of users."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in recorded["files"].items():
        if name != "sacct.json":
            (folder / f"{name}.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def end_all() -> None:
    """Let all processes that run Slurm end it."""
    for stdin in [*RUNNING.values()]:
        stdin.close()


def plans_of(paths: Sequence[Path]) -> dict[tuple[str, int], Plan]:
    """The plans of recordings, by their kinds and seeds.

    Raises:
        InputError: a file is not a recording.
    """
    from batprotocol.studies.recorded import read_recording  # Slurm's own process, in its time, does not need it

    plans = (recorded_plan(read_recording(str(path))) for path in paths)
    return {(each.kind, each.seed): each for each in plans}


def record_random(given: argparse.Namespace, again: dict[tuple[str, int], Plan]) -> int:
    """Record random runs. A signal to end ends all daemons, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="slurm-") as name:
        missing = record_all(
            iter(again) if again else chosen(given.kind or [], given.random, given.count),
            given.output or Path("slurm-recorded"),
            lambda plan, port: record_plan(plan, given.speed, port),
            parallel=given.parallel,
            folder=Path(name),
            interrupt=end_all,
            made=lambda kind, seed: again[kind, seed] if again else plan(kind, seed),
        )
        return int(missing > 0)
    return 130


def at_least(least: int) -> Callable[[str], int]:
    """A type of argparse: a whole number that is not less than another one."""

    def whole(text: str) -> int:
        found = int(text)
        if found < least:
            raise argparse.ArgumentTypeError(f"expected a whole number that is at least {least}, got {text}")
        return found

    whole.__name__ = "whole number"  # argparse names it
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="the situations to record; all unless given")
    parser.add_argument(
        "--speed", type=at_least(1), default=10, help="how many times as fast as real time (default: 10)"
    )
    parser.add_argument("--output", type=Path, help="the folder to write to")
    parser.add_argument("--site", type=at_least(0), metavar="SEED", help="record the log of a site")
    parser.add_argument("--jobs", type=at_least(1), default=150, help="the number of jobs of the site (default: 150)")
    parser.add_argument("--random", type=at_least(0), metavar="SEED", help="record random runs from this seed on")
    parser.add_argument("--count", type=at_least(1), default=1, help="the number of seeds (default: 1)")
    parser.add_argument("--kind", action="append", choices=[*KINDS], help="the kinds of random runs; all unless given")
    parser.add_argument("--parallel", type=at_least(1), default=1, help="the clusters that run at once (default: 1)")
    parser.add_argument(
        "--again",
        type=Path,
        nargs="+",
        metavar="FILE",
        default=[],
        help="record these recordings once more",
    )
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="pack the random runs of a folder")
    parser.add_argument(
        "--drawn",
        type=at_least(1),
        metavar="COUNT",
        help="print how many plans of the seeds up to COUNT draw each option",
    )
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--database", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.inside is not None:
        inside(given.inside, given.database, given.speed)
        return 0
    if given.drawn is not None:
        kinds = given.kind or [*KINDS]
        print(drawn_table(drawn_by(plan(kind, seed) for kind in kinds for seed in range(1, given.drawn + 1))))
        return 0
    if given.pack is not None:
        for kind, count in pack(given.pack, given.output or RANDOM).items():
            print(f"{kind}: {count}")
        return 0
    if given.random is not None or given.again:
        try:
            again = plans_of(given.again)
        except (ValueError, OSError) as error:
            parser.error(str(error))
        return record_random(given, again)
    if given.site is not None:
        write_site(record(site(given.site, given.jobs), given.speed), given.output or SITE)
        return 0
    output = given.output or DATA
    situations = read_situations()
    failed = False
    for name in given.names or situations:
        print(name, end=" ", flush=True)
        began = time.monotonic()
        try:
            recorded = {"speed": given.speed, **record(situations[name], given.speed)}
        except RuntimeError as error:
            print("failed:", error)
            failed = True
            continue
        except KeyboardInterrupt:
            print("stopped")
            return 130
        (output / f"{name}.json").write_text(text_of(recorded))
        print(f"took {time.monotonic() - began:.0f} s", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
