"""The kind of plans with heterogeneous jobs: several components that start at once, each with options of its own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from slurming.recorder.kinds.parts import ALL, LINEAR, base, nodes, parameters, scheduled, some
from slurming.recorder.kinds.shared import drawn_cores
from slurming.recorder.plans import Asked, Given, Nodes, Plan
from slurming.recorder.workloads import jobs

__all__ = ["HETEROGENEOUS"]

_SEPARATOR = ":"
_SECOND = "PartitionName=fast Nodes=ALL MaxTime=INFINITE DefaultTime=10 State=UP"


def _components(draw: Random, job: Asked, shape: Callable[[Random], tuple[float, list[str]]]) -> Asked:
    """A job with one or two components more, which have its time limit or a longer one."""
    limit = job.args[-2:]
    args = list(job.args)
    for _ in range(draw.choice([1, 1, 1, 1, 1, 1, 2])):
        _, words = shape(draw)
        args += [_SEPARATOR, *words, *(limit if draw.random() < 0.7 else ["-t", str(draw.randint(2, 9))])]
    return Asked(job.at, job.runs, job.user, args, job.exit)


def _in_partitions(draw: Random, job: Asked) -> Asked:
    """The job with a partition for each of its components."""
    args: list[str] = []
    for word in [*job.args, _SEPARATOR]:
        args += ["-p", draw.choice(["all", "fast"]), word] if word == _SEPARATOR else [word]
    return Asked(job.at, job.runs, job.user, args[:-1], job.exit)


def _commands(draw: Random, asked: list[Asked]) -> list[Given]:
    """Commands about heterogeneous jobs and their components."""
    found = [number for number, job in enumerate(asked) if _SEPARATOR in job.args]
    events: list[Given] = []
    for number in draw.sample(found, min(len(found), 5)):
        at, job = asked[number].at + draw.choice([1, 9, 60]), f"{{{number}}}"
        component = f"{job}+1"
        choice = draw.randrange(7)
        if choice == 0:
            events.append(Given(at, ["scancel", draw.choice([job, component])]))
        elif choice == 1:
            held = draw.choice([job, component])
            events += [Given(at, ["scontrol", "hold", held]), Given(at + 40, ["scontrol", "release", held])]
        elif choice == 2:
            limit = draw.choice(["3", "8"])
            words = ["scontrol", "update", f"JobId={draw.choice([job, component])}", f"TimeLimit={limit}"]
            events.append(Given(at, words))
        elif choice == 3:
            events.append(Given(at, ["scontrol", "update", f"JobId={job}", f"Nice={draw.choice([-50, 50])}"]))
        elif choice == 4:
            events.append(Given(at, ["scontrol", "requeue", job]))
        elif choice == 5:
            events.append(Given(at, ["scontrol", "top", job]))
        else:
            events.append(Given(at, ["scontrol", "update", f"JobId={component}", "Priority=5000"]))
    return events


def hetjobs(draw: Random) -> Plan:
    """Heterogeneous jobs among others: limits, partitions and dependencies of components, commands about them."""
    is_whole = draw.random() < 0.3
    groups = nodes(draw) if is_whole else [Nodes(draw.randint(6, 9), "CPUs=4")]
    count = groups[0].count

    def whole(generator: Random) -> tuple[float, list[str]]:
        size = generator.choice([1, 1, 2, 2, 3, max(count // 3, 1)])
        return size / count, ["-N", str(size)]

    shape = whole if is_whole else drawn_cores(4 * count, count)
    asked = jobs(draw, shape, count=(22, 30), busy=(190, 260))
    small = whole if is_whole else drawn_cores(4 * count, count // 2)
    asked = [_components(draw, job, small) if draw.random() < 0.5 else job for job in asked]
    has_partitions = draw.random() < 0.4
    if has_partitions:
        asked = [_in_partitions(draw, job) for job in asked]
    for number, job in enumerate(asked):
        if number > 3 and draw.random() < 0.1:
            kind = draw.choice(["afterok", "afterany", "after"])
            on = [f"--dependency={kind}:{{{draw.randrange(number)}}}"]
            asked[number] = Asked(job.at, job.runs, job.user, [*on, *job.args], job.exit)
    select = (
        {}
        if is_whole
        else {"SelectType": "select/cons_tres", "SelectTypeParameters": draw.choice(["CR_Core", "CR_CPU"])}
    )
    conf = LINEAR | select | parameters(draw)
    if draw.random() < 0.3:
        conf |= {
            "PriorityType": "priority/multifactor",
            "PriorityWeightJobSize": "1000",
            "PriorityWeightPartition": "500",
        }
    conf = scheduled(conf, some(draw, 0.15, bf_max="job_start=3"))
    lines = [ALL, _SECOND.replace("State", "PriorityJobFactor=10 State")] if has_partitions else [ALL]
    events = _commands(draw, asked) if draw.random() < 0.5 else []
    return base(conf, groups, asked, partitions=lines, events=events)


HETEROGENEOUS: dict[str, Callable[[Random], Plan]] = {hetjobs.__name__: hetjobs}
