"""The priorities of a recorded run, computed again from its jobs' times and held against what sprio and sshare printed.

The moments of Slurm's calculations are not recorded. Ages show their seconds; the order within a second, where a job
ended in the same one, is in `MOMENTS`, fitted to the rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from batprotocol.policies.slurm.fair_share import AccountShare
from batprotocol.policies.slurm.priorities import JobFacts, MultifactorPriorities
from batprotocol.studies.slurm_recordings import accounting_of_run, configuration_of_run

__all__ = ["Compared", "compared", "moments_that_fit", "was_requeued"]

SPRIO = 'sprio -h -o "%i %u %Y %A %F %J %P %Q %N %T"'
SSHARE = "sshare -a -P -h -l"
ENDS = tuple(f"WEXITSTATUS {code}" for code in range(10))
KILLS = ("Time limit exhausted for JobId=", "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=")
PERIOD = 60
LATE = 0.5  # sshare is called after sprio and squeue, which take a moment

MOMENTS: Mapping[int, tuple[int, int, Mapping[int, float]]] = {
    0: (-11, 49, {}),
    1: (-11, 49, {}),
    4: (-14, 46, {0: 0.6455, 12: 0.3685}),
    5: (-12, 48, {14: 0.3545, 19: 1.0}),
}
"""By seed: the last calculation before the first job, the first one after it, and how much later some of them were."""


class Compared(NamedTuple):
    """How many rows there are, and those that differ."""

    sprio: int
    sshare: int
    first: int
    wrong: list[str]


_Moments = tuple[float, float, Mapping[int, float]]


class _Event(NamedTuple):
    time: float
    rank: int
    number: int
    what: str
    given: Any


def minutes_of(limit: str) -> float:
    """A time limit that Slurm printed, in minutes: `1-00:02:00`."""
    days, _, rest = limit.rpartition("-")
    hours, minutes, seconds = map(int, rest.split(":"))
    return int(days or 0) * 1440 + hours * 60 + minutes + seconds / 60


def _cpus_of(job: Mapping[str, Any]) -> int:
    """The CPUs that a job asked for: on whole nodes, scontrol prints later how many it got."""
    each = job.get("CPUs/Task", "1")
    asked = int(job.get("NumTasks", "0")) * (int(each) if each.isdigit() else 1)
    return asked or int(job["NumCPUs"].partition("-")[0])


def facts_of(job: Mapping[str, Any]) -> JobFacts:
    """The facts of a job that scontrol printed."""
    named = {name: "" if job.get(name) in (None, "(null)") else job[name] for name in ("Account", "QOS")}
    return JobFacts(
        number=int(job["JobId"]),
        user=job["User"],
        account=named["Account"],
        qos=named["QOS"],
        partitions=(job["Partition"],),
        nodes=int(job["NumNodes"].partition("-")[0]),
        cpus=_cpus_of(job),
        minutes=minutes_of(job["TimeLimit"]),
        nice=int(job["Nice"]),
        submitted=job["SubmitTime"],
    )


def moments_of(run: Mapping[str, Any], fitted: _Moments | None = None) -> Iterator[float]:
    """The moments of calculations; none without a database."""
    if run["dbd"]:
        before, first, later = fitted or MOMENTS[run["seed"]]
        yield before
        last = max(sample["t"] for sample in run["samples"])
        for place in range(int(last - first) // PERIOD + 1):
            yield first + PERIOD * place + later.get(place, 0.0)


def events_of(run: Mapping[str, Any], fitted: _Moments | None = None) -> list[_Event]:
    """All that happens in a run, in its order."""
    done = {
        each.split("JobId=")[1].split()[0]: time
        for time, each in run["log"]
        if each.startswith(KILLS) or (each.startswith("_job_complete: JobId=") and each.endswith((*ENDS, "done")))
    }
    sent = {each.split("JobId=")[1].split()[0]: time for time, each in run["log"] if "InitPrio=" in each}
    looks = [time for time, each in run["log"] if "Running job scheduler" in each or each.endswith("fill: beginning")]
    events = [_Event(time, 0, 0, "renew", None) for time in moments_of(run, fitted)]
    for job in run["result_jobs"]:
        facts = facts_of(job)
        events.append(_Event(job["SubmitTime"], 2, facts.number, "submitted", facts))
        if not isinstance(job["AccrueTime"], str):
            seen = bisect_left(looks, max(sent.get(job["JobId"], 0.0), job["AccrueTime"]))
            time = looks[seen] if seen < len(looks) and fitted else job["AccrueTime"]
            events.append(_Event(time, 3, facts.number, "eligible", job["AccrueTime"]))
        if isinstance(job["StartTime"], str) or isinstance(job["EndTime"], str):  # it never started
            continue
        events.append(_Event(job["StartTime"], 4, facts.number, "started", job))
        end = job["EndTime"]  # Slurm's log has the millisecond, except for jobs that were killed
        noted = done.get(job["JobId"], end + 0.9)
        events.append(_Event(noted if end <= noted < end + 2 else end + 0.9, 1, facts.number, "ended", end))
    for sample in run["samples"]:
        events.append(_Event(sample["t"], 5, 0, "sprio", sample[SPRIO]))
        if sample.get(SSHARE):
            events.append(_Event(sample["t"], 6, 0, "sshare", sample[SSHARE]))
            events.append(_Event(sample["t"] + LATE, 6, 0, "late", sample[SSHARE]))
    return sorted(events, key=lambda event: event[:3])


def compared(run: Mapping[str, Any], fitted: _Moments | None = None) -> Compared:
    """Compute all priorities of a run again, and compare each row of sprio and sshare, and each first priority."""
    priorities = MultifactorPriorities(configuration_of_run(run), accounting_of_run(run), since=-600.0)
    noted = {
        int(each.split("JobId=")[1].split()[0]): int(each.split("InitPrio=")[1].split()[0])
        for _, each in run["log"]
        if "InitPrio=" in each
    }
    keeps = not run["dbd"] and "CALCULATE_RUNNING" in run["slurm_conf"].get("PriorityFlags", "")
    sprio = sshare = first = 0
    wrong: list[str] = []
    early: dict[str, str] = {}
    for time, _, number, what, given in events_of(run, fitted):
        if what == "renew":
            priorities.renew(time)
        elif what == "submitted":
            first += 1
            got = priorities.submitted(given, time)[given.partitions[0]]
            if got != noted[number]:
                wrong.append(f"{time}: the first priority of {number} is {got}, not {noted[number]}")
        elif what == "eligible":
            priorities.eligible(number, given)
        elif what == "started":
            if not keeps:
                priorities.started(number, time, given["Partition"], {"cpu": float(given["NumCPUs"])})
        elif what == "ended":
            if not keeps:
                priorities.ended(number, given)
        elif what == "sprio":
            sprio += len(given)
            wrong += [f"{time}: {row} is {got}" for row in given if (got := sprio_row(priorities, row)) != row.strip()]
        else:
            rows = {row: sshare_row(priorities, row) for row in given[1:]}
            differ = {row: got for row, got in rows.items() if got != shown(row)}
            if what == "sshare":
                sshare, early = sshare + len(rows), differ
            else:
                wrong += [f"{time}: {row} is {got}" for row, got in differ.items() if row in early]
    return Compared(sprio, sshare, first, wrong)


def was_requeued(run: Mapping[str, Any]) -> bool:
    """Whether a job ran several times: scontrol prints the times of its last run only."""
    return any(int(job["Restarts"]) for job in run["result_jobs"])


def moments_that_fit(run: Mapping[str, Any]) -> _Moments:
    """The moments of calculations that explain most rows: when they happened is in no recording.

    First the phase of all moments is searched, and then the lateness of each one.
    """
    if not run["dbd"]:
        return -10.0, 50.0, {}
    phases = (place / 4 for place in range(120, 261))
    first = min(phases, key=lambda time: len(compared(run, (time - PERIOD, time, {})).wrong))
    later: dict[int, float] = {}
    count = int(max(sample["t"] for sample in run["samples"]) - first) // PERIOD + 1
    for place in range(count):
        before = later.get(place - 1, 0.0)
        steps = [before + step / 10 for step in (0, *range(-12, 14, 2))]
        tries = [{**later, **dict.fromkeys(range(place, count), each)} for each in steps]
        tries += [{**later, place: each} for each in steps]
        later = min(tries, key=lambda each: len(compared(run, (first - PERIOD, first, each)).wrong))
    return first - PERIOD, first, later


def sprio_row(priorities: MultifactorPriorities, row: str) -> str:
    """A row of sprio: number, user, priority, and its parts as whole numbers."""
    number, user, *_ = row.split()
    (parts,) = priorities.parts(int(number)).values()
    (total,) = priorities.priorities(int(number)).values()
    numbers = parts.age, parts.fairshare, parts.size, parts.partition, parts.qos, float(parts.nice)
    return " ".join([number, user, str(total), *(str(round(each)) for each in numbers)])


def shown(row: str) -> list[str]:
    """The columns of a row of sshare that are compared: shares, usage, and factors."""
    return row.strip().split("|")[3:9]


def sshare_row(priorities: MultifactorPriorities, row: str) -> list[str]:
    """The same columns of a row as computed here."""
    account, user = row.strip().split("|")[:2]
    shares = priorities.shares
    share = next(each for each in shares.all if _is_of(each, account, user))
    columns = shown(row)
    factor = shares.factor(share) if columns[4] else None
    level = shares.level(share) if columns[5] else None
    own = share.normalized_shares if level is None else share.level_share
    assert share.effective is not None
    return [
        f"{own:.6f}",
        str(int(share.usage)),
        f"{share.normalized:.6f}",
        f"{share.effective:.6f}",
        "" if factor is None else f"{factor:.6f}",
        "" if level is None else f"{level:.6f}",
    ]


def _is_of(share: AccountShare, account: str, user: str) -> bool:
    if user:
        return share.is_user and share.name == user and share.parent is not None and share.parent.name == account
    return not share.is_user and share.name == account
