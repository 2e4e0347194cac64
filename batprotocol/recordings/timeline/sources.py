"""The events of a run, read from its messages or from Batsim's result files, as the values of a timeline."""

from __future__ import annotations

import os
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import msgspec

from batprotocol import model
from batprotocol._util.tables import TableRows
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.edc.recording.entries import Entry
from batprotocol.edc.recording.sources import JOBS
from batprotocol.errors import InputError
from batprotocol.model import Direction, FinalJobState, Message
from batprotocol.recordings.statistics import CapturedJob, JobBook
from batprotocol.recordings.timeline.values import (
    MOST_HOSTS,
    MOST_TEXTS,
    Absences,
    DutyState,
    Messages,
    OffDuty,
    Series,
    Switches,
    TimelineData,
    TimelineJob,
    intervals_of,
)
from batprotocol.workloads.requests import Offer, Request, read_offer, read_request
from batprotocol.workloads.requests.request import NOTHING

Describe = Callable[[Entry], str]
"""Makes the text that the page shows for a message."""

_TELLING: Final = (
    model.SimulationErrorEvent,
    model.SimulationBeginsEvent,
    model.SimulationEndsEvent,
    model.JobsKilledEvent,
    model.KillJobsEvent,
    model.RejectJobEvent,
    model.ExecuteJobEvent,
    model.JobCompletedEvent,
    model.JobSubmittedEvent,
)
"""The events by which a message is named, the most important one first."""
_RANKS: Final[dict[type, int]] = {kind: rank for rank, kind in enumerate(_TELLING)}
_UNITS: Final = {
    model.Metrics.Power: ("W", "J"),
    model.Metrics.NetworkLoad: ("B/s", "B"),
    model.Metrics.ComputationLoad: ("flop/s", "flop"),
}
"""The units of the values that probes measure, and of the values that they accumulate."""
_USERS: Final = ("user", "user_id", "uid")
"""The usual keys of the user in the extra data of a job."""


def read_conversation(
    entries: Iterable[Entry],
    name: str,
    *,
    most_texts: int | None = MOST_TEXTS,
    describe: Describe | None = None,
    hint: str = "",
) -> TimelineData:
    """The timeline of a conversation.

    Args:
        entries: its messages, in their order.
        name: the name of the run.
        most_texts: the page keeps the texts of the first messages, up to this number; None: of all.
        describe: makes the text that the page shows for a message; by default, its JSON.
        hint: how to see the message `{number}` whose text the page does not keep.

    Raises:
        InputError: the number of a host is too large, or no message can be read.
    """
    reader = _Reader(Messages(most_texts, hint), describe or as_json)
    for entry in entries:
        reader.take(entry)
    if not reader.has_read:
        raise InputError(f"a timeline needs messages in the current schema, and {name} has none")
    return reader.finish(name)


def as_json(entry: Entry) -> str:
    """A message as JSON; a frame as its text."""
    if entry.message is not None:
        return entry.message.to_json(2, allow_late_events=True)
    if entry.fault is not None:
        return f"{len(entry.data):,} bytes that are not a message: {entry.fault}"
    return entry.data[4:].decode("utf-8", "replace")


class _Reader:
    """Takes messages, and keeps the parts that are drawn."""

    def __init__(self, messages: Messages, describe: Describe) -> None:
        self._messages = messages
        self._describe = describe
        self._book = JobBook()
        self._jobs: list[TimelineJob] = []
        self._users: dict[str, str] = {}
        self._requests: dict[str, Request] = {}
        self._offers: list[Offer] = []
        self._hosts: dict[int, str] = {}
        self._host_count = 0
        self._switches = Switches()
        self._absences = Absences()
        self._probes: dict[str, _Probe] = defaultdict(_Probe)
        self._now = 0.0
        self.has_read = False
        self._takers: dict[type, Callable[[Any], None]] = {
            model.SimulationBeginsEvent: self._begins,
            model.JobSubmittedEvent: self._submitted,
            model.RegisterJobEvent: lambda event: self._asked(event.job_id, event.job.extra_data),
            model.CreateProbeEvent: lambda event: self._probes[event.probe_id].created(event),
            model.ProbeDataEmittedEvent: lambda event: self._probes[event.probe_id].emitted(event),
            model.TurnOnOffHostsEvent: self._switch_asked,
            model.HostsTurnedOnOffEvent: self._switched,
            model.ExternalEventOccurredEvent: self._happened,
        }

    def take(self, entry: Entry) -> None:
        message = entry.message
        kind, job_ids = "", []
        if message is not None:
            self.has_read = True
            if message.now > self._now and entry.time is not None:
                self._now = message.now
            takers = self._takers
            for event in message.events:
                taker = takers.get(type(event))
                if taker is not None:
                    taker(event)
            for job in self._book.take(message, entry.direction):
                self._jobs.append(self._job(job))
            kind, job_ids = _kind_of(message), _jobs_of(message)
        text = self._describe(entry) if self._messages.wants_text else None
        events = 0 if message is None else len(message.events)
        sender = int(entry.direction is Direction.EDC_TO_BATSIM)
        self._messages.add(self._now, sender, kind, events, job_ids, text)

    def finish(self, name: str) -> TimelineData:
        self._messages.finish()
        names = [self._hosts.get(host, "") for host in range(max(self._hosts, default=-1) + 1)]
        series = [each for probe_id, probe in self._probes.items() for each in probe.series(probe_id)]
        return TimelineData(
            name,
            [*self._jobs, *map(self._job, self._book.open.values())],
            hosts=self._host_count,
            host_names=names,
            offers=self._offers,
            series=series,
            off_duty=[*self._absences.finish(self._now), *self._switches.finish(self._now)],
            messages=self._messages,
            end=self._now,
        )

    def _job(self, job: CapturedJob) -> TimelineJob:
        return TimelineJob(
            job_id=job.job_id,
            submitted=job.submitted,
            started=job.started,
            finished=job.rejected if job.rejected is not None else job.finished,
            hosts=_hosts_of(job),
            state=job.state,
            requested=job.resource_request,
            walltime=job.walltime,
            profile=job.profile_id,
            user=self._users.pop(job.job_id, ""),
            request=self._requests.pop(job.job_id, None),
        )

    def _begins(self, event: model.SimulationBeginsEvent) -> None:
        self._hosts = {host.id: host.name for host in event.computation_hosts if host.id < MOST_HOSTS}
        self._host_count = len(self._hosts)
        self._offers = [_offer(host) for host in event.computation_hosts if host.id < MOST_HOSTS]

    def _submitted(self, event: model.JobSubmittedEvent) -> None:
        extra = event.job.extra_data
        self._asked(event.job_id, extra)
        if extra and extra[0] == "{":
            try:
                found = msgspec.json.decode(extra)
            except msgspec.DecodeError:  # it is free text
                return
            user = next((found[key] for key in _USERS if found.get(key) is not None), None)
            if user is not None:
                self._users[event.job_id] = str(user)

    def _asked(self, job_id: str, extra: str | None) -> None:
        try:
            request = read_request(extra)
        except InputError:  # a scheduler rejects such a job
            return
        if request is not NOTHING:
            self._requests[job_id] = request

    def _switch_asked(self, event: model.TurnOnOffHostsEvent) -> None:
        """Hosts that are on switch off, and hosts that are off switch on."""
        intervals = _known(event.host_ids)
        if intervals:
            is_on = self._switches.power(intervals[0][0]) is DutyState.ON
            power = DutyState.SWITCHING_OFF if is_on else DutyState.SWITCHING_ON
            self._switches.change(max(event.timestamp, self._now), intervals, power)

    def _happened(self, event: model.ExternalEventOccurredEvent) -> None:
        """An external event, at the time of its message: its own timestamp may be earlier."""
        if isinstance(event.external_event, model.GenericExternalEvent):
            self._absences.read(self._now, event.external_event.data)

    def _switched(self, event: model.HostsTurnedOnOffEvent) -> None:
        intervals = _known(event.host_ids)
        if intervals:
            went_off = self._switches.power(intervals[0][0]) is DutyState.SWITCHING_OFF
            self._switches.change(self._now, intervals, DutyState.OFF if went_off else DutyState.ON)


class _Probe:
    """The values of a probe, and their unit."""

    def __init__(self) -> None:
        self._times, self._values = array("d"), array("d")
        self._metrics = model.Metrics.Power
        self._is_accumulated = False
        self._resources = 1

    def created(self, event: model.CreateProbeEvent) -> None:
        strategy = event.data_accumulation_strategy
        self._is_accumulated = isinstance(strategy, model.ProbeDataAccumulation) and not strategy.temporal_normalization

    def emitted(self, event: model.ProbeDataEmittedEvent) -> None:
        self._metrics = event.metrics
        self._times.append(event.timestamp)
        if isinstance(event.data, model.VectorialProbeData):
            self._resources = max(self._resources, len(event.data.data))
            self._values.append(sum(event.data.data))
        else:
            self._values.append(event.data.data)

    def series(self, probe_id: str) -> list[Series]:
        if not self._times:
            return []
        unit = _UNITS.get(self._metrics, ("", ""))[self._is_accumulated]
        name = probe_id if self._resources == 1 else f"{probe_id} (sum of {self._resources:,})"
        pairs = sorted(zip(self._times, self._values, strict=True))
        times, values = (array("d", column) for column in zip(*pairs, strict=True))
        return [Series(name, "probe", times, values, unit=unit, lane=f"probe {name}", is_step=False)]


def _hosts_of(job: CapturedJob) -> tuple[tuple[int, int], ...]:
    """The intervals of the hosts of a job; none if Batsim cannot read them."""
    found = read_hosts(job.hosts)
    if found.fault or not found.intervals:
        return ()
    if found.last >= MOST_HOSTS:
        raise InputError(f"the numbers of hosts are below {MOST_HOSTS:,}, got {found.last}", f"hosts of {job.job_id}")
    return found.intervals


def _offer(host: model.Host) -> Offer:
    """The offer of a host: its cores, if its properties cannot be read."""
    try:
        return read_offer(host)
    except InputError:
        return Offer(host.id, max(host.core_count, 1))


def _known(hosts: str) -> tuple[tuple[int, int], ...]:
    """The intervals of a host set; none if Batsim cannot read it."""
    found = read_hosts(hosts)
    return () if found.fault or not found.intervals or found.intervals[-1][1] >= MOST_HOSTS else found.intervals


def _kind_of(message: Message) -> str:
    """The name of the most important event of a message."""
    if not message.events:
        return ""
    ranks = map(_rank, map(type, message.events))
    return (next(ranks) if len(message.events) == 1 else min(ranks, key=itemgetter(0)))[1]


@cache
def _rank(kind: type) -> tuple[int, str]:
    """The rank of a type of events (0 is the most important), and the name of the type."""
    return _RANKS.get(kind, len(_RANKS)), kind.__name__.removesuffix("Event")


def _jobs_of(message: Message) -> list[str]:
    """The jobs that a message is about."""
    found: list[str] = []
    for event in message.events:
        job_id = getattr(event, "job_id", None)
        if job_id is not None:
            found.append(job_id)
        else:
            found += getattr(event, "job_ids", ())
    return found


# Make a timeline of Batsim's result files: jobs.csv, and the files beside it.


_NEEDED: Final = ("job_id", "submission_time", "starting_time", "allocated_resources")
_HOST_EVENTS: Final = "host_events.jsonl"
_SWITCHING: Final = {"-1": DutyState.SWITCHING_ON, "-2": DutyState.SWITCHING_OFF}


def read_tables(
    path: str | os.PathLike[str], name: str = "", jobs: Iterable[TimelineJob] | None = None
) -> TimelineData:
    """The timeline of a jobs.csv, with the files beside it that Batsim writes with the same beginning of their names.

    Args:
        path: the jobs.csv.
        name: the name of the run; by default, the name of its folder.
        jobs: its jobs, if they are stored elsewhere and the file does not exist.

    Raises:
        InputError: one of the files is invalid.
        OSError: one of the files cannot be read.
    """
    file = Path(path)
    rows = list(read_table(file) if jobs is None else jobs)
    prefix = file.name.removesuffix(JOBS) if file.name.endswith(JOBS) else None

    def beside(what: str) -> Path | None:
        found = None if prefix is None else file.with_name(f"{prefix}{what}.csv")
        return found if found is not None and found.is_file() else None

    end = max((job.finished for job in rows if job.finished is not None), default=0.0)
    states, energy, pstates = beside("machine_states"), beside("consumed_energy"), beside("pstate_changes")
    series: list[Series] = []
    hosts = None
    if states is not None:
        hosts = _host_count(states)
    if energy is not None:
        series.append(_power(energy))
    off_duty = [] if pstates is None else _off_duty(pstates, end)
    events = None if prefix is None else file.with_name(f"{prefix}{_HOST_EVENTS}")
    if events is not None and events.is_file():
        off_duty = [*_absences(events, end), *off_duty]
    allocations = beside("allocations")
    if allocations is not None:
        taken = _shares(allocations)
        rows = [msgspec.structs.replace(job, share=taken.get(job.job_id)) for job in rows]
    called = name or (file.resolve().parent.name if file.name == JOBS else file.stem)
    try:
        return TimelineData(called, rows, hosts=hosts, series=series, off_duty=off_duty)
    except InputError as error:
        raise InputError(error.reason, error.path, file=os.fspath(file)) from None


def _rows(file: Path, needed: Sequence[str], what: str = "such a table") -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table, each with the number of its line."""
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            rows = TableRows(opened)
            lacks = [column for column in needed if column not in rows.columns]
            if lacks:
                raise InputError(f"it has no column {lacks[0]}, which {what} has", file=os.fspath(file), line=1)
            for row in rows:
                if len(row) < len(rows.columns):
                    reason = "the line is cut short: it has fewer columns than the first one"
                    raise InputError(reason, file=os.fspath(file), line=rows.number)
                yield rows.number, row
    except InputError:
        raise
    except UnicodeDecodeError:
        raise InputError("it is not a table: it is not a text in UTF-8", file=os.fspath(file)) from None
    except ValueError as error:
        raise InputError(f"it is not a table: {error}", file=os.fspath(file)) from None


def _number(row: dict[str, str], column: str, file: Path, line: int) -> float | None:
    text = row.get(column, "")
    if text in ("", "NA"):
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"expected a number, got {text[:40]!r}", column, file=os.fspath(file), line=line) from None


def read_table(file: Path) -> Iterator[TimelineJob]:
    """The jobs of a jobs.csv, or of another table that has its most important columns.

    Raises:
        InputError: it is not such a table; the error names the line.
        OSError: it cannot be read.
    """
    for line, row in _rows(file, _NEEDED, "a table of jobs"):
        started = _number(row, "starting_time", file, line)
        finished = _number(row, "finish_time", file, line)
        if finished is None and started is not None:
            ran = _number(row, "execution_time", file, line)
            finished = None if ran is None else started + ran
        walltime = _number(row, "requested_time", file, line)
        requested = _number(row, "requested_number_of_resources", file, line)
        own, workload = row["job_id"], row.get("workload_name", "")
        try:
            hosts = intervals_of(row["allocated_resources"], "allocated_resources")
        except InputError as error:
            raise InputError(error.reason, error.path, file=os.fspath(file), line=line) from None
        state = row.get("final_state", "")
        yield TimelineJob(
            job_id=f"{workload}!{own}" if workload and not own.startswith(f"{workload}!") else own,
            submitted=_number(row, "submission_time", file, line),
            started=started,
            finished=finished,
            hosts=hosts,
            state=FinalJobState[state] if state in FinalJobState.__members__ else None,
            requested=int(requested) if requested is not None and 0 <= requested < 2**32 else 0,
            walltime=walltime if walltime is not None and walltime >= 0 else None,
            profile=row.get("profile", ""),
            user=row.get("user", ""),
        )


def _shares(file: Path) -> dict[str, float]:
    """The share of its hosts that each job has, from allocations.csv; none, if an older version wrote it."""
    found: dict[str, float] = {}
    for line, row in _rows(file, ("job_id", "hosts", "whole"), "a table of allocations"):
        held = _number(row, "held", file, line)
        if held is None or row["whole"] == "1":
            continue
        try:
            count = sum(last - first + 1 for first, last in intervals_of(row["hosts"], "hosts"))
        except InputError as error:
            raise InputError(error.reason, error.path, file=os.fspath(file), line=line) from None
        if count and 0 < held < count:
            found[row["job_id"]] = held / count
    return found


def _host_count(file: Path) -> int | None:
    """The number of hosts: the counts in each row of machine_states.csv add up to it."""
    for line, row in _rows(file, ("time", "nb_idle", "nb_computing")):
        counts = [_number(row, column, file, line) for column in row if column.startswith("nb_")]
        return int(sum(count or 0.0 for count in counts))
    return None


def _power(file: Path) -> Series:
    """The power of all hosts in watts. A row of the file has the mean since the row before it."""
    times, values = array("d"), array("d")
    last = None
    for line, row in _rows(file, ("time", "epower")):
        time, power = _number(row, "time", file, line), _number(row, "epower", file, line)
        if time is None:
            continue
        is_new = not values or values[-1] != power
        if power is not None and last is not None and time > last and is_new:
            times.append(last)
            values.append(power)
        last = time
    return Series("power", "power", times, values, unit="W", lane="power")


class _Event(msgspec.Struct):
    """A line of a file of external events."""

    timestamp: float
    data: str


def _absences(file: Path, end: float) -> list[OffDuty]:
    """When hosts were down, drained or promised, from host_events.jsonl."""
    absences = Absences()
    with open(file, "rb") as opened:
        for number, line in enumerate(opened, 1):
            try:
                event = msgspec.json.decode(line, type=_Event)
            except (msgspec.DecodeError, UnicodeError) as error:
                raise InputError(f"it is not an external event: {error}", file=os.fspath(file), line=number) from None
            absences.read(event.timestamp, event.data)
    return absences.finish(end)


def _off_duty(file: Path, end: float) -> list[OffDuty]:
    """When hosts switched off, were off and switched on again, from pstate_changes.csv."""
    switches = Switches()
    for line, row in _rows(file, ("time", "machine_id", "new_pstate")):
        time = _number(row, "time", file, line) or 0.0
        try:
            intervals = intervals_of(row["machine_id"], "machine_id")
        except InputError as error:
            raise InputError(error.reason, error.path, file=os.fspath(file), line=line) from None
        if row["new_pstate"] in _SWITCHING:
            switches.change(time, intervals, _SWITCHING[row["new_pstate"]])
        elif intervals:
            went_off = switches.power(intervals[0][0]) is DutyState.SWITCHING_OFF
            switches.change(time, intervals, DutyState.OFF if went_off else DutyState.ON)
    return switches.finish(end)
