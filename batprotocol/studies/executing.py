"""The work of a process that executes runs: one run after the other, on inputs that it reads once.

It must not know the study, nor the store. Every end of a run, also by an exception, becomes its outcome.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final

import msgspec

from batprotocol._util.engines.interface import PRINTED
from batprotocol._util.tables import LeftOut
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.edc.scheduler import Scheduler
from batprotocol.errors import InputError
from batprotocol.policies import Policy
from batprotocol.policies.reporting import allocations_of
from batprotocol.results.beside import (
    ALLOCATIONS,
    PowerFile,
    power_beside,
    write_failures,
    write_power,
)
from batprotocol.results.grouping import with_allocations
from batprotocol.simulator import (
    JobRow,
    JobRows,
    Platform,
    WorkflowResult,
    Workload,
    host_events_of,
    simulate,
    watched,
    workflow_results,
    write_allocations,
)
from batprotocol.studies.failing import file_of_events, made_events, until_of
from batprotocol.studies.files import Files
from batprotocol.studies.inputs import Inputs, Submitted
from batprotocol.studies.keeping import Keeper
from batprotocol.studies.measuring import Measurable, measures_of
from batprotocol.studies.outcomes import DONE, FAILED, KINDS, RECORDING, Outcome, TimeOver, failed, is_full
from batprotocol.studies.runs import Limits, Measure, Task
from batprotocol.studies.schedulers import Shelf
from batprotocol.studies.store.jobs import GROUPS, USERS, WORKFLOWS, rounded

__all__ = ["FUNCTION", "execute"]

FUNCTION: Final = "batprotocol.studies.executing:execute"
"""The function that engines call."""

_NOT_KEPT: Final = ("real_exec_info.json",)
"""This file describes the machine, and differs between equal runs."""
_TAIL: Final = 10_000
"""The number of bytes that are kept of the output of a failed run: the last ones."""


class Workshop:
    """The inputs and schedulers that a process keeps from one run to the next.

    Args:
        folder: the folder of the process.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.inputs = Inputs(os.path.join(folder, "files"))
        self.shelf = Shelf()


@cache
def _workshop(folder: str) -> Workshop:
    return Workshop(folder)


def execute(argument: tuple[Task, Limits, tuple[Measure, ...]], shared: Mapping[str, Files], scratch: str) -> Outcome:
    """Run a task, and measure it.

    Args:
        argument: the task, its limits, and its measures.
        shared: the files that it needs, by their digests.
        scratch: an empty folder.
    """
    task, limits, measures = argument
    workshop = _workshop(os.path.dirname(scratch))
    began = time.perf_counter()
    try:
        outcome = _run(workshop, task, limits, measures, shared, scratch)
    except BaseException as error:
        with _without_limit():
            outcome = failed(error, limits.seconds)
    with _without_limit():
        files = {**outcome.files, **_written(scratch, outcome, workshop.folder)}
    return msgspec.structs.replace(outcome, files=files, seconds=time.perf_counter() - began)


def _run(
    workshop: Workshop,
    task: Task,
    limits: Limits,
    measures: tuple[Measure, ...],
    shared: Mapping[str, Files],
    scratch: str,
) -> Outcome:
    with _in_time(limits.seconds):
        try:
            workload = workshop.inputs.workload(task, shared)
            platform = workshop.inputs.platform(task, shared)
            events = made_events(
                task, platform, workload.workload, lambda digest: workshop.inputs.path(digest, shared), LeftOut()
            )
        except OSError as error:
            if is_full(error):
                raise
            raise InputError(str(error)) from error
        scheduler = _scheduler(workshop, task, shared)
        if isinstance(scheduler, Outcome):
            return scheduler
        rules = task.rules or DEFAULT_RULE_SET
        prefix = os.path.join(scratch, "out", "")
        hosts = len(platform.computation_hosts)
        if task.batsim:
            from batprotocol.studies.real import simulate_with  # it needs ZeroMQ

            os.mkdir(prefix)
            source = workshop.inputs.root(task.source, shared)
            workload_path = workshop.inputs.path(task.workload_files, shared) if task.workload_files else ""
            paths = [file_of_events(events, scratch)] if events else []
            fault, joules = simulate_with(
                task, scheduler, platform, workload.workload, workload_path, source, paths, scratch
            )
            if fault is not None:
                return fault
            from batprotocol.simulator import read_jobs

            rows: Any = list(read_jobs(f"{prefix}jobs.csv"))
        else:
            kept, keeper = JobRows(), Keeper(scratch)
            try:
                result = simulate(
                    platform,
                    workload.workload,
                    watched(scheduler, keeper),
                    external_events=events,
                    energy=task.energy,
                    rules=rules,
                    corrected=task.corrected,
                    init=task.init,
                    output=prefix,
                    observers=[kept],
                )
            except BaseException:
                with _without_limit():
                    keeper.save()
                raise
            if not result.is_complete:
                keeper.save()
                kind = "stopped" if result.was_stopped else "deadlock"
                return Outcome(state=FAILED, kind=kind, error=KINDS[kind])
            keeper.drop()
            rows, joules = rounded(kept.rows), result.consumed_joules
        late = _too_late(task, rows, workload.workload, hosts)
        if late is not None:
            return late
        allocations = allocations_of(scheduler)
        attempts = scheduler.attempts if isinstance(scheduler, Policy) else ()
        host_events = list(host_events_of(events))
        write_failures(prefix, attempts, host_events)
        if allocations:
            write_allocations(f"{prefix}{ALLOCATIONS}", allocations)
        if joules is not None:
            write_power(prefix, PowerFile(platform.core_count, task.watts))
        workflows = _workflows(rows, workload, platform)
        what = Measurable(
            rows=rows,
            hosts=hosts,
            users=workload.users,
            workflows=workflows,
            consumed_joules=joules,
            attempts=attempts,
            events=host_events,
            power=power_beside(prefix),
        )
        roots = {digest: workshop.inputs.root(digest, shared) for each in measures for digest in each.shared}
        found = measures_of(what, measures, roots, lenient=True)
    groups = workload.groups
    if allocations:
        named = {name: str(user) for name, user in (workload.users or {}).items()}
        groups = with_allocations({**groups, "user": named}, allocations)
    known: dict[str, Any] = {
        USERS: workload.users,
        GROUPS: {key: labels for key, labels in groups.items() if labels},
        WORKFLOWS: workflows,
    }
    files = {name: msgspec.json.encode(value) for name, value in known.items() if value}
    return Outcome(state=DONE, measured=found, hosts=hosts, files=files)


def _too_late(task: Task, rows: Sequence[JobRow], workload: Workload, hosts: int) -> Outcome | None:
    """The outcome of a run that lasted longer than failures were drawn; None if it did not."""
    if not task.drawn_failures:
        return None
    until = until_of(task.drawn_failures, workload, hosts)
    last = max((row.finish_time or 0.0 for row in rows), default=0.0)
    if last <= until:
        return None
    reason = f"the last job ended at {last:.15g} s, and failures are drawn until {until:.15g} s: raise failures_until"
    return Outcome(state=FAILED, kind="input", error=reason)


def _workflows(rows: Sequence[JobRow], submitted: Submitted, platform: Platform) -> list[WorkflowResult]:
    """The results of the workflows that jobs name."""
    if not submitted.groups["workflow"]:
        return []
    try:
        found = workflow_results(rows, submitted.workload.named("w0"), cores=platform.core_count)
        return list(found.values())
    except InputError:  # a job asks for something that cannot be read
        return []


def _scheduler(workshop: Workshop, task: Task, shared: Mapping[str, Files]) -> Scheduler | Outcome:
    """The scheduler, or the outcome of the run if the scheduler cannot be loaded."""
    try:
        return workshop.shelf.scheduler(task.scheduler, task.arguments, workshop.inputs.root(task.source, shared))
    except (MemoryError, TimeOver):
        raise
    except BaseException as error:
        outcome = failed(error, 0.0)
        if outcome.kind in ("exception", "scheduler"):
            reason = f"the scheduler {task.scheduler} cannot be loaded: {outcome.error}"
            outcome = msgspec.structs.replace(outcome, kind="scheduler", error=reason)
        return outcome


@contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    """Raise `TimeOver` inside the block if it takes longer. Python interrupts the main thread only."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def over(number: int, frame: object) -> None:
        raise TimeOver

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _without_limit() -> Iterator[None]:
    """Lift the limit of the memory: a report on a run that took too much memory needs some, too."""
    try:
        import resource
    except ImportError:  # where it is missing, there are no limits
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _written(scratch: str, outcome: Outcome, folder: str) -> dict[str, bytes]:
    """The files of a run: Batsim's results and, if it failed, its recording and its output."""
    found: dict[str, bytes] = {}
    results = os.path.join(scratch, "out")
    if os.path.isdir(results):
        for entry in sorted(os.scandir(results), key=lambda entry: entry.name):
            if entry.is_file() and entry.name not in _NOT_KEPT:
                found[entry.name] = _bytes(entry.path)
    if outcome.state == FAILED:
        with suppress(OSError):
            found[RECORDING] = _bytes(os.path.join(scratch, RECORDING))
        sys.stdout.flush()
        sys.stderr.flush()
        with suppress(OSError):
            printed = _bytes(os.path.join(folder, PRINTED))[-_TAIL:]
            if printed:
                found["printed.txt"] = printed
    return found


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
