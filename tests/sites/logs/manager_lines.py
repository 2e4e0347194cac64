"""Jobs as the logs of resource managers hold them, and writers of these logs, for the tests of the readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone, tzinfo
from random import Random
from typing import Any, Final

from batprotocol.sites.logs import Attempt, AttemptState, LoggedJob

BEGIN: Final = 1_770_000_000
HOSTS: Final = [f"n{number}" for number in range(12)]


def jobs_of(make: Callable[[Random, int], LoggedJob], seeds: Sequence[int]) -> list[LoggedJob]:
    """A job for each number, with ids that count from 1 on."""
    return [make(Random(seed), number) for number, seed in enumerate(seeds, 1)]


def by_id(jobs: Iterable[LoggedJob]) -> list[LoggedJob]:
    """Jobs in the order of their ids."""
    return sorted(jobs, key=lambda job: job.id)


def texts(draw: Random, *names: str) -> dict[str, Any]:
    """Texts, or None, for these names."""
    return {name: draw.choice([None, f"{name[:2]}{draw.randrange(9)}"]) for name in names}


# PBS


def pbs_moment(moment: float, zone: tzinfo = timezone.utc) -> str:
    """A time as PBS writes it."""
    return datetime.fromtimestamp(moment, zone).strftime("%m/%d/%Y %H:%M:%S")


def pbs_job(draw: Random, number: int) -> LoggedJob:
    """A job as PBS logs it, with up to three attempts; it may wait or run at the end of the log."""
    attempts: list[Attempt] = []
    hosts, cores = draw.sample(HOSTS, draw.randrange(1, 4)), draw.randrange(1, 9)
    memory, gpus = draw.randrange(1, 99) * 2**20, draw.choice([0, 0, 2])
    submitted = float(BEGIN + draw.randrange(5000))
    walltime = draw.choice([None, 60.0, 90_061.0])
    for count in range(draw.choice([0, 0, 0, 1, 2]), -1, -1):
        started = submitted + draw.randrange(500)
        last = draw.choice(["E", "E", "E", "S", "Q", "D"]) if not count else "R"
        suspended = float(draw.choice([0, 0, 7]))
        ended = started + suspended + draw.randrange(1, 50)
        code, signal, state = draw.choice([(0, None, "COMPLETED"), (3, None, "FAILED"), (0, 15, "FAILED")])
        attempt = Attempt(
            submitted=submitted,
            eligible=draw.choice([None, float(BEGIN)]) if not attempts else attempts[0].eligible,
            started=started,
            ended=ended,
            state=AttemptState(state),
            hosts=tuple(hosts),
            suspended=suspended,
            exit_code=code,
            signal=signal,
        )
        if last == "R":
            attempt = _but(attempt, state=AttemptState.REQUEUED, exit_code=None, signal=None)
        if last == "S":
            attempt = _but(attempt, state=AttemptState.RUNNING, ended=None, suspended=0.0, exit_code=None, signal=None)
        if last in "QD":
            state = "CANCELLED" if last == "D" else "PENDING"
            attempt = _but(attempt, state=AttemptState(state), started=None, hosts=(), suspended=0.0, exit_code=None)
            attempt = _but(attempt, ended=started if last == "D" else None, signal=None)
        attempts.append(attempt)
        submitted = ended
    has_run = attempts[-1].started is not None
    task = draw.choice([None, None, draw.randrange(20)])
    gres = (("gpu", gpus * len(hosts)),) if gpus else ()
    return LoggedJob(
        id=f"{number}" if task is None else f"{number}_{task}",
        attempts=tuple(attempts),
        host_count=len(hosts),
        cores=cores * len(hosts) if has_run else None,
        memory=memory * len(hosts) if has_run else None,
        gres=gres if has_run else (),
        requested_hosts=len(hosts),
        requested_cores=cores * len(hosts),
        requested_memory=memory * len(hosts),
        requested_gres=gres,
        walltime=walltime,
        dependency=draw.choice([None, None, "afterok:1:2,afterany:3_4"]),
        array=None if task is None else str(number),
        exclusive=draw.choice([None, True]),
        **texts(draw, "name", "user", "group", "account", "partition", "reservation"),
    )


def _but(attempt: Attempt, **changes: Any) -> Attempt:
    values = {name: getattr(attempt, name) for name in Attempt.__struct_fields__}
    return Attempt(**{**values, **changes})


def pbs_records(job: LoggedJob, number: int) -> Iterable[tuple[float, int, str]]:
    """The records of a job: each with its time, a number that orders those of one time, and its text."""
    id = job.id if job.array is None else f"{job.array}[{job.id.partition('_')[2]}]"
    step = iter(range(number * 100, number * 100 + 100))

    def record(moment: float, kind: str, **values: Any) -> tuple[float, int, str]:
        pairs = " ".join(f"{key}={value}" for key, value in values.items() if value is not None)
        return moment, next(step), f"{kind};{id}.host;{pairs}"

    walltime = job.walltime and int(job.walltime)
    asked = {
        "user": job.user,
        "group": job.group,
        "account": job.account and f'"{job.account}"',
        "jobname": job.name,
        "queue": job.partition,
        "resvname": job.reservation,
        "ctime": int(job.first.submitted),
        "qtime": int(job.first.submitted),
        "etime": int(job.first.eligible or 0),
    }
    resources = {
        "Resource_List.mem": f"{(job.requested_memory or 0) // 2**20}mb",
        "Resource_List.ncpus": job.requested_cores,
        "Resource_List.ngpus": dict(job.requested_gres).get("gpu", 0),
        "Resource_List.nodect": job.requested_hosts,
        "Resource_List.place": "scatter:excl" if job.exclusive else "scatter",
        "Resource_List.walltime": walltime and f"{walltime // 3600:02}:{walltime // 60 % 60:02}:{walltime % 60:02}",
    }
    depend = job.dependency and ":".join(
        each if not each[0].isdigit() else f"{each.replace('_4', '[4]')}.host"
        for each in job.dependency.replace(",", ":,:").split(":")
    ).replace(":,:", ",")
    yield record(job.first.submitted, "Q", **asked, depend=depend, **resources)
    for attempt in job.attempts:
        if attempt.started is None:
            if attempt.ended is not None:
                yield record(attempt.ended, "D", requestor="u@host")
            continue
        count = len(attempt.hosts)
        each = f"ncpus={(job.requested_cores or 0) // count}:mem={(job.requested_memory or 0) // 2**10 // count}kb"
        each += f":ngpus={job.requested_gres[0][1] // count}" if job.requested_gres else ""
        hosts = {
            "start": int(attempt.started),
            "exec_host": "+".join(f"{name}/0*4" for name in attempt.hosts),
            "exec_vnode": "+".join(f"({name}:{each})" for name in attempt.hosts),
        }
        yield record(attempt.started, "S", **asked, **hosts, **resources)
        if attempt.suspended:
            yield record(attempt.started, "z")
            yield record(attempt.started + attempt.suspended, "r")
        if attempt.ended is None:
            continue
        status = attempt.exit_code if attempt.signal is None else 256 + attempt.signal
        kind = "R" if attempt.state is AttemptState.REQUEUED else "E"
        yield record(
            attempt.ended, kind, **asked, **hosts, **resources, session=7, end=int(attempt.ended), Exit_status=status
        )


def pbs_text(jobs: Iterable[LoggedJob], zone: tzinfo = timezone.utc) -> str:
    """The accounting records of jobs, in the order of their times."""
    records = sorted(record for number, job in enumerate(jobs) for record in pbs_records(job, number))
    return "".join(f"{pbs_moment(moment, zone)};{text}\n" for moment, _, text in records)


# LSF


def lsf_job(draw: Random, number: int) -> LoggedJob:
    """A job as LSF logs it: it has ended, and may have been requeued before."""
    attempts: list[Attempt] = []
    hosts, slots = draw.sample(HOSTS, draw.randrange(1, 4)), draw.randrange(1, 9)
    submitted = float(BEGIN + draw.randrange(5000))
    started = submitted + draw.randrange(500)
    eligible = draw.choice([None, submitted + 5])
    for count in range(draw.choice([0, 0, 0, 1, 2]), -1, -1):
        suspended = float(draw.choice([0, 0, 7]))
        state, code, signal = draw.choice([("COMPLETED", 0, 0), ("FAILED", 3, 0), ("TIMEOUT", 0, 9)])
        if count:
            state, code, signal = "REQUEUED", 0, 0
        ran = count > 0 or draw.random() < 0.9
        attempts.append(
            Attempt(
                submitted=attempts[-1].ended or 0.0 if attempts else submitted,
                eligible=eligible,
                started=started if ran else None,
                ended=started + suspended + draw.randrange(1, 50),
                state=AttemptState(state) if ran else AttemptState.CANCELLED,
                hosts=tuple(hosts) if ran else (),
                suspended=suspended if ran else 0.0,
                exit_code=code if ran else 0,
                signal=signal if ran else 0,
            )
        )
        started = (attempts[-1].ended or 0.0) + 3
    task = draw.choice([None, None, draw.randrange(1, 20)])
    ran = any(attempt.started is not None for attempt in attempts)
    return LoggedJob(
        id=f"{number}" if task is None else f"{number}_{task}",
        attempts=tuple(attempts),
        host_count=len(hosts) if ran else 1,
        cores=slots * len(hosts) if ran else None,
        requested_cores=slots * len(hosts),
        walltime=draw.choice([None, 60.0, 43200.0]),
        dependency=draw.choice([None, None, "afterok:1,afterany:3", "afternotok:1?after:3"]),
        array=None if task is None else str(number),
        exclusive=draw.choice([None, True]),
        **texts(draw, "name", "user", "account", "partition", "reservation"),
    )


LSF_REASONS: Final = {"TIMEOUT": 5, "REQUEUED": 10, "CANCELLED": 14}
LSF_CONDITIONS: Final = {"afterok": "done", "afterany": "ended", "afternotok": "exit", "after": "started"}


def lsf_line(job: LoggedJob, attempt: Attempt, short: bool, usage: bool) -> str:
    """A record of `lsb.acct`, with the hosts in short, and with the usage of each host."""
    condition = job.dependency or ""
    for ours, theirs in LSF_CONDITIONS.items():
        condition = condition.replace(f"{ours}:", f"{theirs}(")
    condition = condition.replace(",", ") && ").replace("?", ") || ") + (")" if condition else "")
    count = len(attempt.hosts)
    slots = (job.requested_cores or 0) // (count or 1)
    hosts: list[Any] = [f"{slots}*{name}" for name in attempt.hosts]
    if not short:
        hosts = [name for name in attempt.hosts for _ in range(slots)]
    runtime = 0 if attempt.started is None else int((attempt.ended or 0) - attempt.started - attempt.suspended)
    host_usage = [part for name in attempt.hosts for part in (Bare(name), 1, 0, 2, 3, 0)] if usage else []
    fields: list[Any] = [
        *("JOB_FINISH", "10.1", int(attempt.ended or 0), int(job.id.partition("_")[0]), 1000),
        *(0x2000002 | (0x40 if job.exclusive else 0), job.requested_cores, int(job.first.submitted)),
        *(int(attempt.eligible or 0), 0, int(attempt.started or 0), job.user or "", job.partition or ""),
        *("select[type == any]", condition, "", "login", "/home/a b", "", "", "", "1527326745.7610", 1, "asked"),
        *(len(hosts), *hosts, 64 if attempt.state is AttemptState.COMPLETED else 32, 60.0, job.name or ""),
        *('#!/bin/sh;#BSUB -R "span[hosts=1]";run', *[-1] * 19, "", job.account or ""),
        *((attempt.exit_code or 0) << 8 | (attempt.signal or 0), 1, "", "", int(job.id.partition("_")[2] or 0)),
        *(2048, 0, "", "", job.reservation or "", "", 0, "", LSF_REASONS.get(attempt.state.value, 0)),
        *("", -1, "/ada", "", "", "", -1, "", "", 5136, "", 0, "", "", 2, 1032, "0", 1033, "0"),
        *(count if usage else 0, *host_usage, -1 if job.walltime is None else int(job.walltime), 64, 2048),
        *("select[type == any] ", "", -1, "", -1, 0, "", 0, 0, "", runtime, "/home", 0, "", 0.0),
    ]
    return " ".join(_lsf_field(field) for field in fields)


class Bare(str):
    """A text without quotation marks."""


def _lsf_field(value: Any) -> str:
    if isinstance(value, str) and not isinstance(value, Bare):
        return '"' + value.replace('"', '""') + '"'
    return f"{value}"


def lsf_text(jobs: Sequence[LoggedJob]) -> str:
    """A file `lsb.acct` with the jobs."""
    lines = [
        ((attempt.ended or 0.0, number), lsf_line(job, attempt, number % 2 == 0, number % 3 == 0))
        for number, job in enumerate(jobs)
        for attempt in job.attempts
    ]
    return "".join(f"{line}\n" for _, line in sorted(lines))


# Grid Engine


def gridengine_job(draw: Random, number: int) -> LoggedJob:
    """A job as Grid Engine accounts it: one attempt, which may never have started; hosts that tasks name, or none."""
    submitted = float(BEGIN + draw.randrange(5000))
    started = submitted + draw.randrange(2, 500)
    state, code, signal = draw.choice([("COMPLETED", 0, None), ("FAILED", 3, None), ("FAILED", 0, 15)])
    ran = draw.random() < 0.9
    slots = draw.choice([1, 1, 4])
    hosts = draw.sample(HOSTS, 1 if slots == 1 else draw.choice([0, 2, 3]))
    attempt = Attempt(
        submitted=submitted,
        started=started if ran else None,
        ended=started + draw.randrange(2, 90) if ran else None,
        state=AttemptState(state) if ran else AttemptState.FAILED,
        hosts=(hosts[0], *sorted(hosts[1:])) if ran and hosts else (),
        exit_code=code if ran else None,
        signal=signal if ran else None,
    )
    task = draw.choice([None, None, draw.randrange(1, 20)])
    return LoggedJob(
        id=f"{number}" if task is None else f"{number}_{task}",
        attempts=(attempt,),
        host_count=len(attempt.hosts) or 1,
        cores=slots if ran else None,
        requested_cores=slots,
        walltime=draw.choice([None, 43200.0]),
        array=None if task is None else str(number),
        reservation=draw.choice([None, "7"]),
        **texts(draw, "name", "user", "group", "account", "partition"),
    )


def gridengine_records(job: LoggedJob) -> Iterable[dict[str, Any]]:
    """The records of a job, by the names of accounting(5): those of its tasks, and its own."""
    attempt, slots = job.last, job.requested_cores or 1
    status = (attempt.exit_code or 0) if attempt.signal is None else 128 + attempt.signal
    record: dict[str, Any] = {
        "qname": job.partition or "NONE",
        "hostname": attempt.hosts[0] if attempt.hosts else "n0",
        **{key: value or "" for key, value in (("group", job.group), ("owner", job.user), ("job_name", job.name))},
        "job_number": job.id.partition("_")[0],
        "account": job.account or "sge",
        "priority": 0,
        "submission_time": attempt.submitted,
        "start_time": attempt.started or 0.0,
        "end_time": attempt.ended or 0.0,
        "failed": 26 if attempt.started is None else 100 if attempt.signal else 0,
        "exit_status": status,
        **dict.fromkeys((f"usage{place}" for place in range(18)), "0.000000"),
        "project": "NONE",
        "department": "defaultdepartment",
        "granted_pe": "NONE" if slots == 1 else "mpi",
        "slots": slots,
        "task_number": job.id.partition("_")[2] or 0,
        **dict.fromkeys(("cpu", "mem", "io"), "0.000000"),
        "category": " ".join(
            [
                *(["-l a=b:c,h_rt=43200"] if job.walltime else ["-u user"]),
                *([f"-pe mpi {slots}"] if slots > 1 else []),
            ]
        ),
        "iow": "0.000000",
        "pe_taskid": "NONE",
        "maxvmem": "13754000.000000",
        "arid": job.reservation or 0,
        "ar_sub_time": 0,
    }
    for name in attempt.hosts if slots > 1 else ():
        times = {"submission_time": (attempt.started or 0) + 1, "start_time": (attempt.started or 0) + 1}
        yield {**record, **times, "hostname": name, "pe_taskid": f"1.{name}"}
    yield record


TIMES: Final = ("submission_time", "start_time", "end_time")


def gridengine_text(jobs: Sequence[LoggedJob], part: int = 1, more: str = "") -> str:
    """The file `accounting` of jobs, with times in this part of a second, and with more fields at the end."""
    lines = [
        ":".join(f"{value * part:.0f}" if name in TIMES else f"{value}" for name, value in record.items())
        for job in jobs
        for record in gridengine_records(job)
    ]
    return "# Version: 8.1.9\n# \n" + "".join(f"{line}{more}\n" for line in lines)


QACCT: Final = {
    "job_name": "jobname",
    "job_number": "jobnumber",
    "task_number": "taskid",
    "submission_time": "qsub_time",
}


def qacct_text(jobs: Sequence[LoggedJob], form: str = "%a %b %e %H:%M:%S %Y") -> str:
    """The text of `qacct -j` of jobs, with times in this form."""
    text = ""
    for record in (record for job in jobs for record in gridengine_records(job)):
        text += "=" * 62 + "\n"
        for name, value in record.items():
            if name in TIMES:
                value = datetime.fromtimestamp(value, timezone.utc).strftime(form)
            if name == "failed":
                value = f"{value:<4}: assumedly after job" if value else "0    "
            if name in ("task_number", "arid") and value == 0:
                value = "undefined"
            if name != "pe_taskid":
                text += f"{QACCT.get(name, name):<12} {value}\n"
    return text


# Flux


def ended_job(draw: Random, number: int, fraction: bool = False) -> dict[str, Any]:
    """The times and hosts of a job with one attempt, which may have been cancelled while it waited."""
    submitted = float(BEGIN + draw.randrange(5000)) + (0.25 if fraction else 0.0)
    has_run = draw.random() < 0.8
    started = submitted + draw.randrange(500) if has_run else None
    return {
        "submitted": submitted,
        "started": started,
        "ended": (started or submitted) + draw.randrange(1, 50),
        "hosts": tuple(draw.sample(HOSTS, draw.randrange(1, 4))) if has_run else (),
    }


def flux_job(draw: Random, number: int) -> LoggedJob:
    """A job as Flux lists it."""
    times = ended_job(draw, number, fraction=True)
    has_run = times["started"] is not None
    state, code, signal = draw.choice(
        [("COMPLETED", 0, None), ("FAILED", 3, None), ("FAILED", 0, 9), ("TIMEOUT", 0, 15), ("RUNNING", None, None)]
        if has_run
        else [("CANCELLED", None, None), ("PENDING", None, None)]
    )
    if state in ("RUNNING", "PENDING"):
        times["ended"] = None
    count, cores = len(times["hosts"]) or 2, draw.randrange(1, 99)
    return LoggedJob(
        id=str(10**12 + number),
        attempts=(Attempt(**times, state=AttemptState(state), exit_code=code, signal=signal),),
        host_count=count,
        cores=cores if has_run else None,
        requested_hosts=None if has_run else count,
        requested_cores=None if has_run else cores,
        walltime=draw.choice([None, 60.0, 90.5]),
        priority=draw.choice([None, 0, 16]),
        **texts(draw, "name", "user", "account", "partition"),
    )


FLUX_STATES: Final = {"RUNNING": "RUN", "PENDING": "SCHED"}


def flux_text(jobs: Sequence[LoggedJob]) -> str:
    """The output of `flux jobs -a --json`, with a line for each job."""
    return '{"jobs": [\n' + ",\n".join(json.dumps(_flux_values(job)) for job in jobs) + "\n]}\n"


def _flux_values(job: LoggedJob) -> dict[str, Any]:
    state, attempt = job.last.state.value, job.last
    values = {
        "t_depend": attempt.submitted + 0.01,
        "t_run": attempt.started,
        "t_cleanup": attempt.ended,
        "t_inactive": attempt.ended and attempt.ended + 3,
        "duration": job.walltime or 0.0,
        "name": job.name,
        "queue": job.partition,
        "bank": job.account,
        "ncores": job.cores or job.requested_cores,
        "nnodes": job.host_count,
        "priority": job.priority,
        "nodelist": ",".join(attempt.hosts),
        "id": int(job.id),
        "t_submit": attempt.submitted,
        "state": FLUX_STATES.get(state, "INACTIVE"),
        "result": None if state in FLUX_STATES else state.replace("CANCELLED", "CANCELED"),
        "username": job.user,
        "returncode": -attempt.signal if attempt.signal else attempt.exit_code,
        "annotations": {"user": {"a}": '"{'}},
    }
    if state == "CANCELLED":
        values["returncode"] = -128
    return {key: value for key, value in values.items() if value is not None and value != ""}


# OAR and CiGri


def oar_job(draw: Random, number: int) -> LoggedJob:
    """A job as OAR lists it."""
    times = ended_job(draw, number)
    has_run = times["started"] is not None
    state, code, signal = draw.choice(
        [("COMPLETED", 0, 0), ("FAILED", 3, 0), ("TIMEOUT", 0, 9), ("PREEMPTED", 0, 9), ("RUNNING", None, None)]
        if has_run
        else [("CANCELLED", None, None), ("PENDING", None, None)]
    )
    if state in ("RUNNING", "PENDING"):
        times["ended"] = None
    return LoggedJob(
        id=str(number),
        attempts=(Attempt(**times, state=AttemptState(state), exit_code=code, signal=signal),),
        host_count=len(times["hosts"]) or 1,
        cores=draw.randrange(1, 30) if has_run else None,
        walltime=draw.choice([None, 60.0, 3600.0]),
        dependency=draw.choice([None, None, "afterany:1:2"]),
        array=draw.choice([None, "99999"]),
        **texts(draw, "name", "user", "account", "partition"),
    )


OAR_STATES: Final = {"RUNNING": "Running", "PENDING": "Waiting", "CANCELLED": "Error"}
OAR_EVENTS: Final = {"TIMEOUT": "WALLTIME", "PREEMPTED": "BESTEFFORT_KILL", "CANCELLED": "FRAG_JOB_REQUEST"}


def oar_text(jobs: Sequence[LoggedJob], gantt: bool = False) -> str:
    """The output of `oarstat -J -f`; with `--gantt`, if `gantt`."""
    if gantt:
        names = {"startTime": "start_time", "stopTime": "stop_time", "submissionTime": "submission_time"}
        names |= {"assigned_resources": "resources", "assigned_network_address": "network_addresses"}
        names |= {"owner": "user", "queue": "queue_name", "name": "job_name"}
        listed = {job.id: {names.get(key, key): value for key, value in _oar_values(job).items()} for job in jobs}
        return json.dumps(
            {"resources": [{"resource_id": 1}], "jobs": listed, "dead_resources": {"3": [[1, 2]]}}, indent=3
        )
    return json.dumps({job.id: _oar_values(job) for job in jobs}, indent=3, separators=(",", " : ")) + "\n"


def _oar_values(job: LoggedJob) -> dict[str, Any]:
    attempt, state = job.last, job.last.state.value
    event = OAR_EVENTS.get(state)
    return {
        "types": ["besteffort"],
        "dependencies": [int(each) for each in (job.dependency or "").split(":")[1:]],
        "Job_Id": int(job.id),
        "assigned_network_address": list(attempt.hosts),
        "assigned_resources": list(range(job.cores or 0)),
        "owner": job.user,
        "project": job.account,
        "properties": "(desktop_computing = 'NO') AND drain='NO'",
        "queue": job.partition,
        "name": job.name,
        "state": OAR_STATES.get(state, "Terminated"),
        "array_id": int(job.array or job.id),
        "submissionTime": int(attempt.submitted),
        "startTime": int(attempt.started or 0),
        "stopTime": int(attempt.ended or 0),
        "walltime": job.walltime and int(job.walltime),
        "exit_code": None if attempt.exit_code is None else attempt.exit_code << 8 | (attempt.signal or 0),
        "events": [] if event is None else [{"type": "SWITCH_INTO_ERROR_STATE"}, {"type": event, "date": 5}],
        "wanted_resources": "-l \"{type = 'default'}/network_address=2,walltime=1:0:0\" ",
    }


def cigri_job(draw: Random, number: int) -> LoggedJob:
    """A job as CiGri lists it."""
    times = ended_job(draw, number)
    has_run = times["started"] is not None
    state, code = draw.choice(
        [("COMPLETED", 0), ("FAILED", 3), ("RUNNING", None)] if has_run else [("PENDING", None), ("FAILED", None)]
    )
    signal = None if code is None else draw.choice([0, 9]) if code else 0
    if state in ("RUNNING", "PENDING"):
        times["ended"] = None
    times["hosts"] = ()
    return LoggedJob(
        id=str(number),
        attempts=(Attempt(**times, state=AttemptState(state), exit_code=code, signal=signal),),
        account=str(draw.randrange(1, 9)),
        **texts(draw, "name", "user", "partition"),
    )


CIGRI_STATES: Final = {"COMPLETED": "terminated", "FAILED": "event", "RUNNING": "running", "PENDING": "remote_waiting"}


def _cigri_moment(moment: float | None, zone: tzinfo) -> str:
    if moment is None:
        return ""
    text = datetime.fromtimestamp(moment, zone).isoformat(" ")
    return text.removesuffix(":00") if zone is timezone.utc else text


def cigri_rows(jobs: Iterable[LoggedJob], zone: tzinfo = timezone.utc) -> list[dict[str, str]]:
    """The rows of CiGri's table of jobs."""
    return [
        {
            "id": job.id,
            "param": f"{job.name} d=4" if job.name else "",
            "grid_user": job.user or "",
            "campaign_id": job.account or "",
            "cluster_id": (job.partition or "")[-1:],
            "state": CIGRI_STATES[job.last.state.value],
            "return_code": "" if job.last.exit_code is None else str(job.last.exit_code << 8 | (job.last.signal or 0)),
            "submission_time": _cigri_moment(job.last.submitted, zone),
            "start_time": _cigri_moment(job.last.started, zone),
            "stop_time": _cigri_moment(job.last.ended, zone),
            "node_name": "",
            "runner_options": '{"besteffort"=>false, "batch_id"=>1}',
            "cluster_name": job.partition or "",
        }
        for job in jobs
    ]


def gridstat_text(jobs: Iterable[LoggedJob], zone: tzinfo = timezone.utc) -> str:
    """The outputs of `gridstat -j` for jobs, one after another."""
    return "".join("".join(f"{key}: {value}\n" for key, value in row.items()) for row in cigri_rows(jobs, zone))


def cigri_text(jobs: Iterable[LoggedJob], zone: tzinfo = timezone.utc) -> str:
    """CiGri's table of jobs as CSV."""
    rows = cigri_rows(jobs, zone)
    names = [name for name in rows[0] if name not in ("param", "grid_user", "cluster_name", "runner_options")]
    return "".join(f"{','.join(line)}\n" for line in [names, *([row[name] for name in names] for row in rows)])
