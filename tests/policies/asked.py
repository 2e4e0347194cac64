"""The requests of jobs and the offers of hosts, read a second time without the library."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Host", "Needs", "accepts", "gives", "host_of", "needs_of", "satisfied", "ways"]

UNITS = {"G": 2**30, "M": 2**20}


@dataclass(frozen=True)
class Host:
    """A host by its properties."""

    name: str
    cores: int
    memory: float
    gpus: Mapping[str, int]  # by type; "" for those without one
    features: frozenset[str]
    partitions: frozenset[str]


def bytes_of(text: str) -> int:
    return int(text[:-1]) * UNITS[text[-1]]


def host_of(name: str, cores: int, properties: Mapping[str, str]) -> Host:
    gpus: dict[str, int] = {}
    for part in filter(None, properties.get("gres", "").split(",")):
        _, *kind, count = part.split(":")
        gpus["".join(kind)] = gpus.get("".join(kind), 0) + int(count)
    features, partitions = (
        frozenset(filter(None, properties.get(key, "").split(","))) for key in ("features", "partitions")
    )
    return Host(
        name, cores, bytes_of(properties["memory"]) if "memory" in properties else math.inf, gpus, features, partitions
    )


@dataclass
class Needs:
    """The amounts that a job takes of each host; `gpus` by type."""

    is_whole: bool
    cores: int
    memory: int
    gpus: dict[str, int]


def needs_of(asks: Mapping[str, Any], size: int) -> Needs:
    tasks = asks.get("tasks")
    each = -(-tasks // size) if tasks else 1
    times = each if asks.get("per") == "task" else 1
    cores = asks.get("cores")
    gpus: dict[str, int] = {}
    for name, count in asks.get("gres", {}).items():
        gpus[name.partition(":")[2]] = count * times
    whole = bool(asks.get("exclusive")) or not any(asks.get(key) for key in ("cores", "memory", "gres", "tasks"))
    taken = cores * times if cores else each if tasks else 0 if whole else 1
    return Needs(whole, taken, bytes_of(asks["memory"]) * times if "memory" in asks else 0, gpus)


def gives(host: Host, needs: Needs) -> bool:
    typed = all(host.gpus.get(kind, 0) >= count for kind, count in needs.gpus.items() if kind)
    return (
        typed
        and host.cores >= needs.cores
        and host.memory >= needs.memory
        and sum(host.gpus.values()) >= sum(needs.gpus.values())
    )


def accepts(expression: str, features: Iterable[str]) -> bool:
    """Whether features match an expression without counts and brackets, by Python's own logic."""
    text = re.sub(r"[A-Za-z]\w*", lambda found: str(found[0] in features), expression)
    return bool(eval(text.replace("!", " not ").replace("&", " and ").replace("|", " or ")))


def satisfied(constraint: str | None, hosts: list[Host]) -> bool:
    """Whether hosts satisfy a constraint together."""
    if constraint is None:
        return True
    if "*" in constraint:
        counted = [part.split("*") for part in constraint.strip("[]").split("&")]
        return all(sum(accepts(part, host.features) for host in hosts) >= int(count) for part, count in counted)
    if constraint.startswith("["):
        return any(all(accepts(part, host.features) for host in hosts) for part in constraint.strip("[]").split("|"))
    return all(accepts(constraint, host.features) for host in hosts)


def ways(asks: Mapping[str, Any], hosts: list[tuple[int, Host]], size: int) -> Iterator[tuple[int, ...]]:
    """All sets of hosts that a job could have on an empty machine."""

    needs = needs_of(asks, size)
    for group in itertools.combinations([(number, host) for number, host in hosts if gives(host, needs)], size):
        numbers = tuple(number for number, _ in group)
        if asks.get("contiguous") and numbers[-1] - numbers[0] != size - 1:
            continue
        if satisfied(asks.get("constraint"), [host for _, host in group]):
            yield numbers
