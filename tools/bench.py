#!/usr/bin/env python3
"""Measure how fast batprotocol reads and writes messages, against the alternatives that build the same values.

One interleaved run over six workloads: the classes that flatc generates, the standard library's json, orjson and
msgspec.json, all used as a careful user would, and first seen to read and write the same. It is for people, not for
tests: it needs a quiet machine, and `pip install -e '.[bench]'`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

# An installed batprotocol comes first; without one, it is the source tree that is measured.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmark import (
    captures,
    cpp,
    electricity,
    environments,
    hosts,
    in_process,
    logs,
    mqtt,
    policies,
    queues,
    round_trip,
    simulation,
    sites,
    slurm,
    turns,
)
from benchmark.competitors import OTHERS, Competitor, engine, json_of, prepare
from benchmark.report import GOALS, Results, machine
from benchmark.tables import parser_for, table
from benchmark.timing import Call, import_times, measure
from benchmark.workloads import WORKLOADS

from batprotocol.wire.binary import ENGINES

MILLISECOND = 1_000_000
FULL = (60, 4 * MILLISECOND)  # rounds, and how long a batch takes
QUICK = (15, 2 * MILLISECOND)
PURE = "python"


def run(competitors: Sequence[Competitor], rounds: int, batch: int) -> Results:
    """Measure everybody on every workload."""
    times, sizes = {}, {}
    for workload in WORKLOADS:
        data = prepare(workload, competitors)
        calls = {}
        for each in competitors:
            calls[each.name, "decode"] = Call(each.decode, data[each.dialect], each.prepare)
            calls[each.name, "encode"] = Call(each.encode, workload.message, each.prepare)
        times[workload] = measure(calls, rounds, batch)
        sizes[workload] = {each.name: len(each.encode(workload.message)) for each in competitors}
        print(f"measured: {workload.name}", file=sys.stderr)
    return Results(times, sizes)


def imports(engines: Sequence[str], rounds: int, markdown: bool) -> str:
    """The table of what importing costs."""
    programs: dict[str, tuple[str, dict[str, str]]] = {"msgspec": ("msgspec", {})}
    for name in engines:
        programs[f"batprotocol, {name} engine"] = ("batprotocol", {"BATPROTOCOL_ENGINE": name})
    times = import_times(programs, rounds)
    rows = [["import", "ms", "against msgspec"]]
    rows += [[name, f"{time / MILLISECOND:.1f}", f"{time / times['msgspec']:.2f}x"] for name, time in times.items()]
    return f"Importing, median of {rounds} new interpreters:\n\n{table(rows, markdown)}"


def arguments() -> argparse.Namespace:
    parser = parser_for(__doc__, quick="take some 10 seconds instead of a minute")
    parser.add_argument("--engine", choices=ENGINES, action="append", help="measure this one only (may be repeated)")
    parser.add_argument("--imports", action="store_true", help="also measure what importing batprotocol costs")
    parser.add_argument("--round-trips", action="store_true", help="also measure schedulers' turns over ZeroMQ")
    parser.add_argument("--cpp", action="store_true", help="also measure flatbuffers' objects in C++, if they compile")
    parser.add_argument("--hosts", action="store_true", help="also measure taking hosts and giving them back")
    parser.add_argument("--turns", action="store_true", help="also measure the parts of a turn")
    parser.add_argument("--in-process", action="store_true", help="also measure turns inside Batsim")
    parser.add_argument("--queues", action="store_true", help="also measure turns while many jobs wait")
    parser.add_argument("--policies", action="store_true", help="also measure policies while many jobs wait")
    parser.add_argument("--sites", action="store_true", help="also measure policies for shared hosts")
    parser.add_argument("--slurm", action="store_true", help="also measure the policy slurm with 100,000 jobs")
    parser.add_argument("--gym", action="store_true", help="also measure steps of environments to learn in")
    parser.add_argument("--simulation", action="store_true", help="also measure simulations of up to a million jobs")
    parser.add_argument("--fast", action="store_true", help="also measure tasks of FaST over an MQTT broker")
    parser.add_argument("--electricity", action="store_true", help="also measure a year of carbon intensities")
    parser.add_argument("--logs", action="store_true", help="also measure reading ten million rows of sacct")
    parser.add_argument("--captures", action="store_true", help="also measure recording, a large capture, and a tap")
    parser.add_argument(
        "--check",
        action="store_true",
        help=f"exit 1 if the {PURE} engine is below {GOALS['decode']:g}x decode or {GOALS['encode']:g}x encode",
    )
    given = parser.parse_args()
    given.engine = given.engine or list(ENGINES)
    if given.check and PURE not in given.engine:
        parser.error(f"--check needs the {PURE} engine")
    return given


def main() -> int:
    given = arguments()
    own = [each for name in given.engine for each in (engine(name), json_of(name))]
    results = run([*own, *OTHERS], *(QUICK if given.quick else FULL))
    for name in given.engine:
        for text in results.directions(engine(name), [*OTHERS, json_of(name)], given.markdown):
            print(text, end="\n\n")
    print(results.message_sizes([*own[:2], *OTHERS], given.markdown), end="\n\n")
    if given.imports:
        print(imports(given.engine, 11 if given.quick else 41, given.markdown), end="\n\n")
    print(machine())
    extras = {
        round_trip: given.round_trips,
        turns: given.turns,
        in_process: given.in_process,
        cpp: given.cpp,
        hosts: given.hosts,
        queues: given.queues,
        policies: given.policies,
        sites: given.sites,
        slurm: given.slurm,
        environments: given.gym,
        simulation: given.simulation,
        electricity: given.electricity,
        mqtt: given.fast,
        captures: given.captures,
        logs: given.logs,
    }
    for extra, wanted in extras.items():
        if wanted:
            print()
            extra.main([name for name in ("--quick", "--markdown") if getattr(given, name[2:])])
    shortfalls = results.shortfalls(engine(PURE)) if given.check else []
    for shortfall in shortfalls:
        print(f"bench: {shortfall}", file=sys.stderr)
    return 1 if shortfalls else 0


if __name__ == "__main__":
    sys.exit(main())
