"""One run: its scheduler, its simulation by the embedded or a real Batsim, and the files that it leaves.

Every end of a run, also by an exception, becomes its outcome.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final

import msgspec

from batprotocol._util.engines import PRINTED
from batprotocol._util.tables import LeftOut
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.edc import run
from batprotocol.edc.embedded.options import OPTION, EmbeddedReport, carried, library
from batprotocol.edc.scheduler import Scheduler
from batprotocol.errors import InputError, PeerGone
from batprotocol.model import Message
from batprotocol.model.planned_jobs import HostPlanner
from batprotocol.policies import Policy
from batprotocol.policies.jobs import allocations_of
from batprotocol.results.files import expect_plain_names
from batprotocol.results.groups import with_allocations
from batprotocol.results.reports import ALLOCATIONS, PowerFile, power_beside, write_failures, write_power
from batprotocol.results.times import TimedHostEvent
from batprotocol.simulator import (
    JobRow,
    JobRows,
    Platform,
    ResultFiles,
    WorkflowResult,
    Workload,
    host_events_of,
    simulate,
    watched,
    workflow_results,
    write_allocations,
)
from batprotocol.simulator.recorder import SimulationRecorder
from batprotocol.studies._inputs import Inputs, Submitted, file_of_events, made_events, until_of
from batprotocol.studies._measurement import Measurable, measures_of
from batprotocol.studies.rows import GROUPS, USERS, WORKFLOWS, rounded
from batprotocol.studies.runs import (
    DONE,
    FAILED,
    KINDS,
    RECORDING,
    Measure,
    Outcome,
    RunLimits,
    Task,
    TimeOver,
    failed,
    is_full,
)
from batprotocol.studies.sources import Shelf, StudyFiles
from batprotocol.workloads import platform_xml, workload_json

# The conversation of a run, kept until the run ends. If the run fails, it becomes a recording.


_KEPT: Final = 20_000
"""From this number of messages on, they are written to a file, to bound the memory."""


class Keeper:
    """A watcher of a simulation that keeps its messages, first in memory, then in a file.

    Args:
        folder: the folder of that file.
    """

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, RECORDING)
        self._hello: tuple[str, Message] | None = None
        self._messages: list[Message] = []  # in turns: the simulator's, the reply
        self._recorder: SimulationRecorder | None = None
        self._is_reply = False

    def hello(self, init: str, message: Message) -> None:
        """The initialization data, and the hello message in return."""
        self._hello = init, message

    def without_messages(self, planner: HostPlanner) -> HostPlanner:
        """No messages are needed of a policy that only counts hosts: such a run fails for no reason of its own."""
        return planner

    def sent(self, message: Message) -> None:
        """A message of the simulator, which may never be answered."""
        self._messages.append(message)
        if len(self._messages) >= _KEPT:
            self._write()

    def answered(self, reply: Message) -> None:
        """The reply to the last message."""
        self._messages.append(reply)

    def _write(self) -> None:
        if self._hello is None:
            return
        if self._recorder is None:
            self._recorder = SimulationRecorder(self._path)
            self._recorder.hello(*self._hello)
        for message in self._messages:
            (self._recorder.answered if self._is_reply else self._recorder.sent)(message)
            self._is_reply = not self._is_reply
        self._messages.clear()

    def save(self) -> None:
        """Finish the recording. If it cannot be written, there is none."""
        with suppress(OSError):
            self._write()
        self.drop()

    def drop(self) -> None:
        """Close the file. Nobody needs the recording any more."""
        if self._recorder is not None:
            with suppress(OSError):
                self._recorder.close()


FUNCTION: Final = "batprotocol.studies._simulation:execute"
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
        self.kept: dict[str, bytes] = {}
        """The result files of the present run that were not written."""


@cache
def _workshop(folder: str) -> Workshop:
    return Workshop(folder)


def execute(
    argument: tuple[Task, RunLimits, tuple[Measure, ...]], shared: Mapping[str, StudyFiles], scratch: str
) -> Outcome:
    """Run a task, and measure it.

    Args:
        argument: the task, its limits, and its measures.
        shared: the files that it needs, by their digests.
        scratch: an empty folder.
    """
    task, limits, measures = argument
    workshop = _workshop(os.path.dirname(scratch))
    began = time.perf_counter()
    workshop.kept = {}
    try:
        outcome = _run(workshop, task, limits, measures, shared, scratch)
    except BaseException as error:
        with _without_limit():
            outcome = failed(error, limits.seconds)
    with _without_limit():
        files = {**outcome.files, **workshop.kept, **_written(scratch, outcome, workshop.folder)}
    return msgspec.structs.replace(outcome, files=files, seconds=time.perf_counter() - began)


def _run(
    workshop: Workshop,
    task: Task,
    limits: RunLimits,
    measures: tuple[Measure, ...],
    shared: Mapping[str, StudyFiles],
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
            # Most runs are small: files would take longer than what is in them. With energy, the files are needed.
            files = None if task.energy else ResultFiles(prefix, later=True)
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
                    output=prefix if files is None else None,
                    observers=[kept] if files is None else [kept, files],
                )
            except BaseException:
                with _without_limit():
                    if files is not None:
                        with suppress(OSError):
                            files.flush()
                    keeper.save()
                raise
            if files is not None:
                workshop.kept = files.kept
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
        windows = scheduler.windows if isinstance(scheduler, Policy) else ()
        host_events: list[TimedHostEvent] = [*((0.0, window) for window in windows), *host_events_of(events)]
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
    described = {name: msgspec.json.encode(value) for name, value in known.items() if value}
    return Outcome(state=DONE, measured=found, hosts=hosts, files=described)


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


def _scheduler(workshop: Workshop, task: Task, shared: Mapping[str, StudyFiles]) -> Scheduler | Outcome:
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


# Runs that Batsim or a program like it simulates. The scheduler serves it over a socket, or it loads the scheduler.


WORDS: Final = ("{platform}", "{workload}", "{events}", "{output}", "{endpoint}", "{init}", "{library}", "{energy}")
"""The placeholders in a command. A word that begins with `{energy}` stays only where energy is measured, without it."""

_USUAL: Final = ("-p", "{platform}", "-w", "{workload}", "-e", "{output}", "{energy}--energy-host")
_SOCKET: Final = ("--edc-socket-str", "{endpoint}", "{init}")
_LIBRARY: Final = (OPTION, "{library}", "{init}")
_PATIENCE: Final = 10.0
"""The seconds in which Batsim must end when its scheduler is done."""

_LOADED: Final = """
from batprotocol.studies.sources import Shelf

ARGUMENTS = {arguments!r}


class Chosen(Shelf().loaded({target!r}, ARGUMENTS, {root!r})):
    def __init__(self):
        super().__init__(**ARGUMENTS)
"""


class _Ended(Exception):
    """Batsim has ended while its scheduler waited for it."""


class _Batsim:
    """The program that simulates."""

    def __init__(self, words: Sequence[str], values: dict[str, str], energy: bool, folder: str) -> None:
        self._words, self._values, self._energy = words, values, energy
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, endpoint: str = "") -> None:
        """Start it. Its scheduler accepts connections at the endpoint."""
        values = {**self._values, "{endpoint}": endpoint}
        words = []
        for word in self._words:
            if word.startswith("{energy}"):
                if not self._energy:
                    continue
                word = word.removeprefix("{energy}")
            for name, value in values.items():
                word = word.replace(name, value)
            words.append(word)
        # Its output goes to that of this process, which is kept for failed runs.
        self._process = subprocess.Popen(words, cwd=self._folder, stdin=subprocess.DEVNULL)

    def check(self) -> None:
        """Raise an exception if it has ended. The scheduler calls this while it waits."""
        if self._process is not None and self._process.poll() is not None:
            raise _Ended

    def status(self, timeout: float | None = _PATIENCE) -> int | None:
        """Wait for its end, and return its exit status; None if it does not end in time."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout)
        return None

    def stop(self) -> None:
        """End it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def simulate_with(
    task: Task,
    scheduler: Scheduler,
    platform: Platform,
    workload: Workload,
    workload_path: str,
    root: str,
    events: Sequence[str],
    scratch: str,
) -> tuple[Outcome | None, float | None]:
    """Let Batsim simulate a run, with results in the folder `out` below `scratch`.

    Args:
        task: the run.
        scheduler: its scheduler.
        platform: its platform.
        workload: its workload.
        workload_path: the file of the workload, or "".
        root: the folder of the scheduler's file, or "".
        events: the files of external events.
        scratch: a folder that has nothing in it except `out`.

    Returns:
        The outcome if it failed, else None; and the consumed joules, or None if they were not measured.
    """
    if task.watts and platform.filename:
        raise InputError(
            "typical watts are for the embedded Batsim, and for platforms without a file: add the property "
            "wattage_per_state to the hosts",
            file=platform.filename,
        )
    for job in workload:
        expect_plain_names(job.id, job.job.profile_id)
    output = os.path.join(scratch, "out", "")
    words = list(task.batsim)
    if not any(word.startswith(each) or each in word for word in words for each in WORDS):
        words += [*_USUAL, *(["--events", "{events}"] if events else []), *(_LIBRARY if task.in_process else _SOCKET)]
    words += _machine(task)
    values = {
        "{platform}": platform.filename or _written_files(scratch, "platform.xml", platform_xml(platform)),
        "{workload}": _workload_file(task, workload, workload_path, scratch),
        "{output}": output,
        "{events}": events[0] if events else "",
        "{init}": task.init,
    }
    batsim = _Batsim(words, values, task.energy, scratch)
    try:
        fault = (
            _inside(task, batsim, values, root, scratch)
            if task.in_process
            else _over_socket(scheduler, batsim, scratch)
        )
    finally:
        batsim.stop()
    if fault is None and not os.path.isfile(f"{output}jobs.csv"):
        fault = Outcome(state=FAILED, kind="batsim", error=f"{words[0]} has written no {{output}}jobs.csv")
    joules = None
    if fault is None and task.energy:
        with open(f"{output}schedule.json", encoding="utf-8") as file:
            joules = float(json.loads(file.read().replace("-nan", "NaN"))["consumed_joules"])
    return fault, joules


def _machine(task: Task) -> list[str]:
    """The options of Batsim that set the roles of the platform's hosts."""
    words = ["-m", task.master] if task.master else []
    words += ["--mmax", str(task.mmax)] if task.mmax else []
    for host, role in task.roles.items():
        words += ["-r", host, role]
    return words


def _over_socket(scheduler: Scheduler, batsim: _Batsim, scratch: str) -> Outcome | None:
    endpoint = f"ipc://{scratch}/edc.sock"
    record = os.path.join(scratch, RECORDING)
    try:
        run(scheduler, endpoint, record=record, on_bound=batsim.start, on_wait=batsim.check)
    except (_Ended, PeerGone):
        status = batsim.status()
        return _ended(batsim, status, " before the simulation was over")
    status = batsim.status()
    return _ended(batsim, status, "") if status != 0 else None


def _inside(task: Task, batsim: _Batsim, values: dict[str, str], root: str, scratch: str) -> Outcome | None:
    target = _written_files(
        scratch, "study_scheduler.py", _LOADED.format(target=task.scheduler, arguments=task.arguments, root=root)
    )
    report = os.path.join(scratch, "report")
    open(report, "w").close()
    values["{library}"] = library()
    values["{init}"] = carried(
        f"{target}:Chosen", init=task.init, record=os.path.join(scratch, RECORDING), report=report
    )
    batsim.start()
    status = batsim.status(None)
    found = EmbeddedReport.read(report)
    if status or found.state != "over":
        reason = found.reason or {"": "it has not loaded the scheduler", "begun": "the simulation was not over"}.get(
            found.state, ""
        )
        return _ended(batsim, status, f": {reason}" if reason else "")
    return None


def _ended(batsim: _Batsim, status: int | None, why: str) -> Outcome:
    how = "did not end" if status is None else f"ended with status {status}"
    name = os.path.basename(batsim._words[0])
    return Outcome(state=FAILED, kind="batsim", error=f"{name} {how}{why}")


def _workload_file(task: Task, workload: Workload, path: str, scratch: str) -> str:
    """The given file if the study does not change the workload and Batsim can read it; else a new file."""
    is_plain = path and "?" not in task.workload and not task.changes and not workload.is_older
    if is_plain and "swf" not in os.path.basename(path).lower().split(".")[-2:]:
        return path
    return _written_files(scratch, "workload.json", workload_json(workload))


def _written_files(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
