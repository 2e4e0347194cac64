"""An independent check of jobs that share hosts: it counts from the results alone.

It looks at the rows of jobs.csv, at the amounts that a site recorded, at what the jobs asked for, at the properties of
the hosts, and at the tables of the rules. It uses nothing of the library's own plans, pools, timelines and limits. The
meanings are those of `docs/reference/requests.md`, written a second time, as slow and as simple as can be.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from asked import Host, needs_of, ways
from lives import JUST, KILLED, LATE, REJECTED, Job, Run

from batprotocol.model import parse_hosts

__all__ = ["LATE", "Check"]

DECISIVE = (
    *("partition", "begin", "deadline", "constraint", "tasks", "cores", "memory", "gres", "exclusive"),
    *("contiguous", "dependency", "array", "reservation"),
)
"""The keys of which one makes a policy without rules look at partitions."""


class Check:
    """The check of a result.

    Args:
        hosts: the hosts, in the order of their numbers.
        tables: the rules of the site, as tables.
        jobs: the jobs as they were submitted, in the order of their submission.
        rows: the rows of jobs.csv.
        allocated: the record of the site.
        reasons: the reasons of all rejections, by full id.
        contiguous: whether all jobs need hosts with consecutive numbers.
    """

    def __init__(
        self,
        hosts: list[Host],
        tables: Mapping[str, Any],
        jobs: Iterable[Any],
        rows: Iterable[Any],
        allocated: Iterable[Any],
        reasons: Mapping[str, str],
        *,
        contiguous: bool = False,
    ) -> None:
        self.hosts, self.tables, self.reasons = hosts, tables, reasons
        jobs = list(jobs)
        asking = [job for job in jobs if any(json.loads(job.extra_data or "{}").get(key) for key in DECISIVE)]
        first = min((job.submission_time for job in asking), default=math.inf)
        self.opened = -math.inf if tables else first  # until then, jobs are in no partition
        self.jobs = {
            job.id: Job(
                *(job.id, place, job.submission_time, job.resource_request),
                math.inf if job.walltime is None else job.walltime,
                json.loads(job.extra_data or "{}") | ({"contiguous": True} if contiguous else {}),
            )
            for place, job in enumerate(jobs)
        }
        self.taken = {each.job_id: each for each in allocated}
        self.members = self._members()
        seen: set[str] = set()
        for row in rows:
            id = f"{row.workload_name}!{row.job_id}"
            assert id not in seen, f"{id} ends twice"
            seen.add(id)
            again = re.fullmatch(r"w0-(.+)~(\d+)", row.job_id) if row.workload_name == "again" else None
            first, number = (again[1], int(again[2])) if again else (row.job_id, 0)
            if row.final_state is REJECTED:
                self.jobs[first].is_rejected = True
                is_too_late = re.match("it would end at|.*too few will ever be free again", self.reasons[id])
                assert number == 0 or is_too_late, f"{id} is rejected"
                continue
            members = tuple(parse_hosts(row.allocated_resources))
            end = row.starting_time + row.execution_time
            self.jobs[first].runs.append(Run(first, number, row, row.starting_time, end, members, self.taken.get(id)))
        for job in self.jobs.values():
            job.runs.sort(key=lambda run: run.number)

    def _members(self) -> dict[str, set[int]]:
        numbers = {host.name: number for number, host in enumerate(self.hosts)}
        found: dict[str, set[int]] = {name: set() for name in self.tables.get("partitions", {})}
        for number, host in enumerate(self.hosts):
            for name in host.partitions:
                found.setdefault(name, set()).add(number)
        for name, table in self.tables.get("partitions", {}).items():
            if "hosts" in table:
                wanted = numbers if table["hosts"] == "ALL" else table["hosts"].split(",")
                found[name] |= {numbers[host] for host in wanted}
        return found

    @property
    def runs(self) -> list[Run]:
        return [run for job in self.jobs.values() for run in job.runs]

    def all(self) -> None:
        """Check everything."""
        for check in (
            *(self.each_job_ends_once, self.amounts, self.places, self.times, self.limits, self.waiting_limits),
            *(self.dependencies, self.arrays, self.preemption, self.rejections),
        ):
            check()

    # Each job

    def each_job_ends_once(self) -> None:
        for job in self.jobs.values():
            was_late = job.is_rejected and bool(job.runs) and self.may_be_late(job)  # before it ran again
            assert job.is_rejected != bool(job.runs) or was_late, f"{job.id} neither ran nor was rejected, or both"
            assert [run.number for run in job.runs] == list(range(len(job.runs))), f"{job.id} misses a life"
            for run, following in itertools.pairwise(job.runs):
                assert run.row.final_state is KILLED, f"{job.id} runs again, though it was not killed"
                assert run.end <= following.start + JUST, f"{job.id} runs twice at a time"

    def may_be_late(self, job: Job) -> bool:
        """Whether there may be no time for a job to run again."""
        return "deadline" in job.asks

    def names(self, job: Job) -> list[str]:
        """The partitions that a job names or has by default; "" where there are none, or before a site opens."""
        if not self.tables and job.runs and job.runs[0].taken is None:
            return [""]
        if job.asks.get("partition"):
            return [name.strip() for name in job.asks["partition"].split(",")]
        default = [name for name, table in self.tables.get("partitions", {}).items() if table.get("default")]
        if not default and len(self.members) == 1:
            default = list(self.members)
        return default or [""]

    def inside(self, name: str) -> list[tuple[int, Host]]:
        return [(n, host) for n, host in enumerate(self.hosts) if not name or n in self.members.get(name, ())]

    def table(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.tables.get("partitions", {}).get(name, {})
        return found

    def quality(self, job: Job) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.tables.get("qos", {}).get(job.asks.get("qos"), {})
        return found

    def may_use(self, job: Job, name: str) -> bool:
        table = self.table(name)
        allowed = all(
            str(job.asks.get(key)) in table.get(f"allow_{key}{'' if key == 'qos' else 's'}", [str(job.asks.get(key))])
            for key in ("account", "group", "qos")
        )
        longest = min(table.get("max_time", math.inf), self.quality(job).get("max_time", math.inf))
        fits = table.get("min_hosts", 0) <= job.size <= table.get("max_hosts", math.inf)
        return allowed and fits and (job.walltime == math.inf or job.walltime <= longest)

    def places(self) -> None:
        """Partition, features, limits of the partition, and the record of the site."""
        for run in self.runs:
            job = self.jobs[run.first]
            assert len(run.hosts) == job.size, f"{job.id} has {len(run.hosts)} hosts"
            name = run.taken.partition if run.taken else ""
            if run.taken or self.tables:
                assert tuple(parse_hosts(run.taken.hosts)) == run.hosts, f"{job.id}: the record has other hosts"
                assert abs(run.taken.starting_time - run.start) <= LATE, f"{job.id}: the record has another start"
                assert run.taken.first_id == f"w0!{job.id}"
                is_early = name == "" and run.start <= self.opened + LATE
                assert is_early or name in self.names(job), f"{job.id} runs in {name!r}"
                assert self.may_use(job, name), f"{job.id} may not use {name!r}"
            assert run.hosts in ways(job.asks, self.inside(name), job.size), f"{job.id} on {run.hosts} of {name!r}"

    def is_whole(self, run: Run) -> bool:
        name = run.taken.partition if run.taken else ""
        return needs_of(run.row and self.jobs[run.first].asks, 1).is_whole or bool(self.table(name).get("exclusive"))

    def amounts(self) -> None:
        """No host gives more than it has at any time."""
        for run in self.runs:
            if run.taken:
                needs = needs_of(self.jobs[run.first].asks, len(run.hosts))
                assert run.taken.whole == self.is_whole(run), f"{run.first}: the record is not exclusive"
                if not run.taken.whole:
                    assert (run.taken.cores, run.taken.memory) == (needs.cores, needs.memory), (
                        f"{run.first}: the record"
                    )
        for number, host in enumerate(self.hosts):
            there = [run for run in self.runs if number in run.hosts and run.end > run.start + JUST]
            for moment in [run.start for run in there]:
                now = [run for run in there if run.start <= moment < run.end - JUST]
                names = f"{', '.join(run.first for run in now)} on {host.name} at {moment}"
                if any(self.is_whole(run) for run in now):
                    assert len(now) == 1, f"{names}: one has the host for itself"
                    continue
                needs = [needs_of(self.jobs[run.first].asks, len(run.hosts)) for run in now]
                assert sum(each.cores for each in needs) <= host.cores, f"{names}: cores"
                assert sum(each.memory for each in needs) <= host.memory, f"{names}: memory"
                for kind in {kind for each in needs for kind in each.gpus if kind}:
                    assert sum(each.gpus.get(kind, 0) for each in needs) <= host.gpus.get(kind, 0), f"{names}: {kind}"
                total = sum(count for each in needs for count in each.gpus.values())
                assert total <= sum(host.gpus.values()), f"{names}: GPUs"

    def moment(self, value: Any, job: Job) -> float:
        return job.submitted + float(value.partition("+")[2] or 0) if isinstance(value, str) else float(value)

    def times(self) -> None:
        """Submission, begin, deadline, walltime."""
        for run in self.runs:
            job = self.jobs[run.first]
            begin = max(job.submitted, self.moment(job.asks.get("begin", 0), job))
            assert run.start >= begin - LATE, f"{job.id} starts before {begin}"
            assert run.end - run.start <= self.time_limit(run) + LATE
            deadline = self.moment(job.asks.get("deadline", 1e9), job)
            walltime = 0.0 if job.walltime == math.inf else job.walltime
            assert run.start + walltime <= deadline + LATE, f"{job.id} misses its deadline"

    def time_limit(self, run: Run) -> float:
        """The walltime of a job, or the time that its partition and its quality of service give to jobs without one."""
        job = self.jobs[run.first]
        if job.walltime < math.inf:
            return job.walltime
        table = self.table(run.taken.partition if run.taken else "")
        longest = min(table.get("max_time", math.inf), self.quality(job).get("max_time", math.inf))
        return min(float(table.get("default_time", math.inf)), longest)

    # Limits

    def scopes(self, job: Job) -> Iterator[tuple[tuple[Any, ...], Mapping[str, int]]]:
        """The scopes of a job, with the limits of each."""
        user, account, qos = (job.asks.get(key) for key in ("user", "account", "qos"))
        yield ("all",), self.tables.get("limits", {})
        yield ("user", user), self.tables.get("per_user", {})
        accounts = self.tables.get("accounts", {})
        name = account
        while name in accounts:
            yield ("account", name), accounts[name].get("limits", {})
            if name == account:
                yield ("account user", name, user), accounts[name].get("per_user", {})
            name = accounts[name].get("parent")
        quality = self.quality(job)
        yield ("qos", qos), quality.get("limits", {})
        yield ("qos user", qos, user), quality.get("per_user", {})
        yield ("qos account", qos, account), quality.get("per_account", {})

    def counts(self, job: Job, place: str, hosts: Iterable[int]) -> dict[str, int]:
        """The amounts by which limits count a job on some hosts of a partition."""
        needs = needs_of(job.asks, job.size)
        is_whole = needs.is_whole or self.table(place).get("exclusive")
        cores = sum(self.hosts[host].cores if is_whole else needs.cores for host in hosts)
        return {"running": 1, "hosts": job.size, "cores": cores, "gpus": sum(needs.gpus.values()) * job.size}

    def counts_of(self, run: Run) -> dict[str, int]:
        return self.counts(self.jobs[run.first], run.taken.partition if run.taken else "", run.hosts)

    def limits(self) -> None:
        for scope, limits, runs in self._by_scope():
            for run in runs:
                now = [each for each in runs if each.start <= run.start < each.end - JUST]
                for key in ("running", "hosts", "cores", "gpus"):
                    if key in limits:
                        used = sum(self.counts_of(each)[key] for each in now)
                        names = ", ".join(each.first for each in now)
                        assert used <= limits[key], f"{names} have {used} {key} at {run.start}, {scope}: {limits[key]}"

    def _by_scope(self) -> Iterator[tuple[tuple[Any, ...], Mapping[str, int], list[Run]]]:
        found: dict[tuple[Any, ...], tuple[Mapping[str, int], list[Run]]] = {}
        for job in self.jobs.values():
            for scope, limits in self.scopes(job) if job.runs else ():
                if limits:
                    found.setdefault(scope, (limits, []))[1].extend(
                        run for run in job.runs if run.end > run.start + JUST
                    )
        for scope, (limits, runs) in found.items():
            yield scope, limits, runs

    def waiting_limits(self) -> None:
        """Of the jobs that were accepted, no more wait than may; those that run again come on top."""
        for job in self.jobs.values():
            for scope, limits in self.scopes(job) if job.runs else ():
                if "waiting" not in limits or job.start <= job.submitted + LATE:
                    continue
                wait = [
                    other
                    for other in self.jobs.values()
                    if other.runs
                    and other.submitted <= job.submitted
                    and other.place <= job.place
                    and other.start > job.submitted + LATE
                    and scope in [each for each, _ in self.scopes(other)]
                ]
                assert len(wait) <= limits["waiting"], f"{[other.id for other in wait]} wait, {scope}: {limits}"

    # Dependencies

    def conditions(self, job: Job) -> tuple[list[tuple[str, str, float]], Callable[[Iterable[Any]], bool]]:
        text = job.asks.get("dependency")
        if not text:
            return [], all
        found = []
        for part in re.split("[,?]", text):
            kind, *names = part.split(":")
            for name in names or [""]:
                name, _, minutes = name.partition("+")
                found.append((kind, name, 60 * float(minutes or 0)))
        return found, any if "?" in text else all

    def named(self, job: Job, kind: str, name: str) -> list[Job]:
        """The jobs that a condition names."""
        if kind == "singleton":
            if "name" not in job.asks:
                return []
            own = job.asks["name"], job.asks.get("user")
            rest = (other for other in self.jobs.values() if other.place < job.place)
            return [other for other in rest if (other.asks.get("name"), other.asks.get("user")) == own]
        if name in self.jobs:
            return [self.jobs[name]]
        tasks = [other for other in self.jobs.values() if other.asks.get("array", "").startswith(f"{name}_")]
        if kind == "aftercorr" and "array" in job.asks:
            own_task = task_of(job)
            tasks = [other for other in tasks if task_of(other) == own_task]
        return tasks

    def holds(self, job: Job, condition: tuple[str, str, float], by: float) -> bool:
        """Whether a condition held by a time. Tasks that were submitted later were not known then."""
        kind, name, delay = condition
        others = [other for other in self.named(job, kind, name) if other.submitted <= by]
        known = [other for other in others if other.submitted < by - 2 * LATE]
        if not known:  # those that came just then came one after the other
            return kind == "singleton" or any(self._has(kind, other, delay, by) for other in others)
        return all(self._has(kind, other, delay, by) for other in known)

    @staticmethod
    def _has(kind: str, other: Job, delay: float, by: float) -> bool:
        if other.is_rejected:
            return kind in ("after", "afterany", "afternotok", "singleton")
        if kind == "after":
            return other.start + delay <= by
        if kind in ("afterany", "singleton"):
            return other.end <= by
        return other.end <= by and other.is_done == (kind != "afternotok")

    def dependencies(self) -> None:
        for job in self.jobs.values():
            conditions, together = self.conditions(job)
            if job.runs and conditions:
                named = [other for kind, name, _ in conditions if name for other in self.named(job, kind, name)]
                # A job joins the queue once and for all: tasks of an array that come thereafter do not count.
                moments = [job.start, *(other.submitted - LATE for other in named if other.submitted < job.start)]
                held = [together([self.holds(job, each, by + LATE) for each in conditions]) for by in moments]
                assert any(held), f"{job.id} started at {job.start}"

    def arrays(self) -> None:
        for job in self.jobs.values():
            limit = job.asks.get("array", "").partition("%")[2]
            if limit:
                array = job.asks["array"].rpartition("_")[0]
                tasks = [other for other in self.jobs.values() if other.asks.get("array", "").startswith(f"{array}_")]
                for run in job.runs:
                    runs = (each for other in tasks for each in other.runs)
                    now = [each for each in runs if each.start <= run.start < each.end - JUST]
                    assert len(now) <= int(limit), f"{[each.first for each in now]} run, {array} may {limit}"

    # Preemption

    def preempts(self, job: Job, place: str, victim: Run) -> bool:
        """Whether a job of a partition may let a running one give way."""
        partitions = self.tables.get("partitions", {})
        by_tier = any(table.get("preempt", "off") != "off" for table in partitions.values())
        where = victim.taken.partition
        mine, its = (self.table(name).get("tier", 1) for name in (place, where))
        if self.mode(victim) == "off":
            return False
        if mine > its and self.table(where).get("preempt", "off") != "off":
            return True
        other = self.jobs[victim.first].asks.get("qos")
        return (mine >= its or not by_tier) and other in self.quality(job).get("preempts", ())

    def _rules(self, victim: Run) -> tuple[Mapping[str, Any], str]:
        name = self.jobs[victim.first].asks.get("qos")
        qualities = self.tables.get("qos", {})
        if name in qualities and any(name in each.get("preempts", ()) for each in qualities.values()):
            return qualities[name], "requeue"
        return self.table(victim.taken.partition), "off"

    def mode(self, victim: Run) -> str:
        rules, usual = self._rules(victim)
        return str(rules.get("preempt", usual))

    def preemption(self) -> None:
        for victim in self.runs:
            job = self.jobs[victim.first]
            if victim.row.final_state is not KILLED:
                continue
            if job.walltime == math.inf and victim.end - victim.start >= self.time_limit(victim):
                assert victim is job.runs[-1], f"{job.id} was killed at its limit and should not run again"
                continue
            decided = victim.end - self._rules(victim)[0].get("grace", 0.0)
            above = [
                other
                for other in self.jobs.values()
                if other is not job
                and other.submitted <= decided + LATE
                and any(
                    self.preempts(other, name, victim) for name in self.names(other) if self.can_run_in(other, name)
                )
                and not any(run.start < decided - LATE and run.end >= victim.end - LATE for run in other.runs)
            ]
            assert above, f"{job.id} was killed, and nobody may preempt it"
            ends = self.mode(victim) == "cancel" or job.asks.get("requeue") is False
            if "deadline" in job.asks and not ends:  # there may be no time for another life
                deadline = self.moment(job.asks["deadline"], job)
                ends = victim.end + (0.0 if job.walltime == math.inf else job.walltime) > deadline
            if victim is job.runs[-1]:
                assert ends or job.is_rejected, f"{job.id} was killed and should run again"
            else:
                assert not ends, f"{job.id} was killed and should not run again"

    # Rejections

    def can_run_in(self, job: Job, name: str) -> bool:
        return self.may_use(job, name) and any(True for _ in ways(job.asks, self.inside(name), job.size))

    def rejections(self) -> None:
        """Each rejected job has a reason, and none that could never run did."""
        for job in self.jobs.values():
            never = self._can_never_run(job)
            assert not (never and job.runs), f"{job.id} can never run, and did"
            if job.is_rejected and not job.runs:
                reason = self.reasons.get(f"w0!{job.id}")
                assert reason, f"{job.id} is rejected without a reason"
                assert never or self._may_be_refused(job, reason), f"{job.id} is rejected: {reason}"

    def _can_never_run(self, job: Job) -> bool:
        for key in ("qos", "account"):
            known = self.tables.get("qos" if key == "qos" else "accounts", {})
            if known and job.asks.get(key) is not None and job.asks[key] not in known:
                return True
        if "reservation" in job.asks or not any(self.can_run_in(job, name) for name in self.names(job)):
            return True
        ways_to_run = (
            self.counts(job, name, hosts)
            for name in self.names(job)
            if self.may_use(job, name)
            for hosts in ways(job.asks, self.inside(name), job.size)
        )
        scopes = [limits for _, limits in self.scopes(job)]
        return not any(
            all(counts[key] <= limits.get(key, math.inf) for limits in scopes for key in counts)
            for counts in ways_to_run
        )

    def _may_be_refused(self, job: Job, reason: str) -> bool:
        if "wait already" in reason and not reason.startswith("it waits for"):
            return any("waiting" in limits for _, limits in self.scopes(job))
        if reason.startswith("it would end at"):
            return "deadline" in job.asks
        if reason.startswith("it waits for itself"):
            chain = [name.removeprefix("w0!") for name in reason.partition("itself: ")[2].split(" -> ")]
            assert chain[0] == chain[-1] == job.id
            for one, other in itertools.pairwise(chain):
                named = [
                    each
                    for kind, name, _ in self.conditions(self.jobs[one])[0]
                    for each in self.named(self.jobs[one], kind, name)
                ]
                assert self.jobs[other] in named, f"{one} does not wait for {other}"
            return True
        conditions, together = self.conditions(job)
        return bool(conditions) and not together([self.holds(job, each, math.inf) for each in conditions])


def task_of(job: Job) -> int:
    return int(job.asks["array"].partition("%")[0].rpartition("_")[2])
