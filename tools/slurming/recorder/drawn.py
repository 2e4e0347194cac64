"""Counts the options that plans have drawn, by the names that the manual gives them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from slurming.recorder.plans import Plan

__all__ = ["drawn_by", "drawn_table"]

SHORT = {
    "A": "account",
    "C": "constraint",
    "H": "hold",
    "J": "job-name",
    "L": "licenses",
    "N": "nodes",
    "c": "cpus-per-task",
    "d": "dependency",
    "n": "ntasks",
    "p": "partition",
    "t": "time",
    "w": "nodelist",
    "x": "exclude",
}
"""The long names of the short options of sbatch that plans have."""


def drawn_by(plans: Iterable[Plan]) -> Counter[tuple[str, str]]:
    """How many plans have each option, by where it stands and its name, in small letters."""
    return Counter(each for made in plans for each in {*_of(made)})


def drawn_table(found: Counter[tuple[str, str]]) -> str:
    """The counts as a table."""
    lines = [f"| {place} | {name} | {count} |" for (place, name), count in sorted(found.items())]
    return "\n".join(["| where | option | plans |", "|---|---|---|", *lines])


def _of(made: Plan) -> Iterator[tuple[str, str]]:
    for key, value in made.slurm_conf.items():
        if key in ("NodeSet", "DownNodes"):
            yield from ((key.lower(), name) for name in (key.lower(), *_keys(value)))
            continue
        yield "cluster", key.lower()
        if key == "SchedulerParameters":
            yield from (("SchedulerParameters", word.partition("=")[0].lower()) for word in value.split(","))
        if key == "PriorityFlags":
            yield from (("PriorityFlags", word.lower()) for word in value.split(","))
    for group in made.nodes:
        yield from (("node", name) for name in _keys(group.conf))
    for line in made.partitions:
        yield from (("partition", name) for name in _keys(line))
    for job in made.submissions:
        yield from (("sbatch", name) for name in _options(job.args))
    for given in made.events:
        yield from _commands(given.cmd)


def _keys(line: str) -> Iterator[str]:
    return (found.lower() for found in re.findall(r"(?:^|\s)(\w+)=", line))


def _options(args: Iterable[str]) -> Iterator[str]:
    for word in args:
        if found := re.match(r"--([a-z-]+)", word):
            yield found[1]
        elif found := re.match(r"-([A-Za-z])", word):
            yield SHORT.get(found[1], found[1])


def _commands(words: list[str]) -> Iterator[tuple[str, str]]:
    program, verb, *rest = words
    if program == "scancel":
        yield from (("scancel", re.split("[= ]", word.lstrip("-"))[0]) for word in words if word.startswith("-"))
        return
    yield "scontrol", verb
    subjects = {"jobid": "update job", "nodename": "update node", "partitionname": "update partition"}
    names = [*_keys(" ".join(rest))]
    for name in names:
        yield subjects.get(names[0], "reservation"), name
    for word in rest:
        if word.startswith("Flags="):
            yield from (("reservation flag", flag.lower()) for flag in word[6:].split(","))
