"""Submits the jobs of a situation, gives its commands, waits for the ends, and says what the jobs did."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from slurming.clusters import Cluster
from slurming.situations import Asked

__all__ = ["run", "text_of"]


def run(cluster: Cluster, stopped: Callable[[], bool]) -> tuple[dict[str, Any], set[str]]:
    """Submit the jobs of a situation, and wait for their ends. The result is what they did, and their ids."""
    ids: dict[str, str] = {}
    refused: dict[str, str] = {}
    waiting, commands = cluster.situation.asked(), cluster.situation.commanded()
    began = time.time()
    while True:
        while waiting and time.time() >= began + waiting[0].at:
            job = waiting.pop(0)
            done = cluster.command(
                "sbatch", "--parsable", "-o", "/dev/null", *words_of(job, ids), str(script(cluster, job))
            )
            if done.returncode:
                refused[job.name] = done.stderr.strip().splitlines()[-1]
            else:
                ids[job.name] = done.stdout.strip()
        while commands and time.time() >= began + commands[0][0]:
            _, words = commands.pop(0)
            if all(each in ids for word in words for each in re.findall(r"\{(\w+)\}", word)):
                cluster.command(*(word.format_map(ids) for word in words))
        present = cluster.command("squeue", "-h", "-t", "PD,R,CG,S", "-o", "%i").stdout.split()
        if not (waiting or commands or present):
            break
        if stopped() or time.time() > began + cluster.situation.longest:
            raise RuntimeError("stopped" if stopped() else f"these jobs did not end: {' '.join(present)}")
        time.sleep(1)
    names = {number: name for name, number in ids.items()}
    lines = (cluster.folder / "jobcomp.txt").read_text().splitlines()
    version = cluster.command("sinfo", "--version").stdout.split()[-1]
    return {"slurm": version, "runs": dict(runs_of(lines, names, int(began))), "refused": refused}, {*ids.values()}


def script(cluster: Cluster, job: Asked) -> Path:
    """The script of a job."""
    path = cluster.folder / f"{job.name}.sh"
    seconds = f"$(({job.run:g} + {job.longer:g} * (${{SLURM_ARRAY_TASK_ID:-0}} - ${{SLURM_ARRAY_TASK_MIN:-0}})))"
    path.write_text(f"#!/bin/sh\nsleep {seconds}\nexit {int(job.fails)}\n")
    return path


def words_of(job: Asked, ids: Mapping[str, str]) -> list[str]:
    """The arguments of sbatch, with the ids of the jobs that it depends on."""
    return ["-J", job.name, *(word.format_map(ids) if "{" in word else word for word in job.arguments)]


def runs_of(lines: Iterable[str], names: Mapping[str, str], began: int) -> dict[str, list[list[Any]]]:
    """The runs of each job: start, end, nodes, state. Tasks of arrays are named `a_0`."""
    found: dict[str, list[list[Any]]] = {}
    for line in lines:
        keys = dict(word.split("=", 1) for word in line.split() if "=" in word)
        name = names.get(keys.get("ArrayJobId", keys["JobId"]))
        if name is None:  # Slurm gives numbers to some jobs that it refuses
            continue
        if "ArrayTaskId" in keys:
            name += f"_{keys['ArrayTaskId']}"
        times = [_seconds(keys[key]) for key in ("StartTime", "EndTime")]
        row = [*(None if each is None else each - began for each in times), keys["NodeList"], keys["JobState"]]
        found.setdefault(name, []).append(row)
    return {name: found[name] for name in sorted(found)}


def _seconds(text: str) -> int | None:
    if not text[:1].isdigit():
        return None
    return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))


def text_of(recorded: Mapping[str, Any]) -> str:
    """A recording as JSON, with a line for each job."""
    lines = [f"    {json.dumps(name)}: {json.dumps(rows)}" for name, rows in recorded["runs"].items()]
    runs = "{\n" + ",\n".join(lines) + "\n  }"
    parts = [f'  "{key}": {runs if key == "runs" else json.dumps(value)}' for key, value in recorded.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"
