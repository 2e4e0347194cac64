"""Runs as users name them: recordings, result files, and runs of studies.

A recording has messages and a schedule. The schedule comes from its result files, if they were kept, or from the
messages. Result files, runs of studies, logs and recordings of a Slurm have a schedule only.
`batprotocol.edc.recording.sources` finds out the kind of a path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from batprotocol.cli.terminal import Output
from batprotocol.edc.recording.sources import NEEDED, jobs_file
from batprotocol.errors import CaptureError, InputError, StudyError
from batprotocol.recordings import Capture
from batprotocol.wire.commands.batsim5 import BATSIM_5
from batprotocol.wire.commands.protocols import protocol_of

if TYPE_CHECKING:
    from batprotocol.recordings.timeline import TimelineData
    from batprotocol.studies import Row, Rows
    from batprotocol.studies.comparing import Schedule
    from batprotocol.studies.recorded import ReplayAgreement

__all__ = ["NamedRun", "named", "opened", "remark_on", "tolerance_between", "with_logs"]

_STUDY: Final = ".toml"
_INDEX: Final = ".sqlite"
_PARQUET: Final = "jobs.parquet"


class NamedRun:
    """A run that a user has named.

    Args:
        given: its name, as the user wrote it.
        name: its short name.
        table: its table of jobs, or None.
        row: its row in the store of a study, or None.
        recording: its recording, or None.
        log: its log of a resource manager, or None.
        slurm: its recording of a real Slurm, or None. One of the five is given.
        zone: of a log: the zone of its times that have none; None: UTC.
        nodes: of a log: the file with the nodes of its machine; None: the nodes that jobs ran on.
    """

    def __init__(
        self,
        given: str,
        name: str,
        *,
        table: str | None = None,
        row: Row | None = None,
        recording: str | None = None,
        log: str | None = None,
        slurm: str | None = None,
        zone: str | None = None,
        nodes: str | None = None,
    ) -> None:
        self._zone = zone
        self._nodes = nodes
        self.given = given
        self.name = name
        self._table = table
        self._row = row
        self._recording = recording
        self._log = log
        self._slurm = slurm

    @property
    def is_of_slurm(self) -> bool:
        """Whether it is a recording of a real Slurm, which can be simulated again."""
        return self._slurm is not None

    def replayed(self) -> tuple[Schedule, Schedule, ReplayAgreement]:
        """The schedule of a recording of a real Slurm, that of its replay, and how far they agree.

        Raises:
            InputError: it cannot be read.
            OSError: the same.
        """
        from batprotocol.studies.recorded import judged, recorded_schedule, replay, replayed_schedule
        from batprotocol.studies.slurm_recordings import read_recording

        assert self._slurm is not None
        run = read_recording(self._slurm)
        simulated = replay(run)
        verdict = judged(run, simulated.starts)
        return recorded_schedule(run, self.name), replayed_schedule(simulated, "its replay"), verdict

    @property
    def has_messages(self) -> bool:
        """Whether it is a recording."""
        return self._recording is not None

    @contextmanager
    def conversation(self, *, from_its_beginning: bool = True) -> Iterator[Capture]:
        """Its messages, those of Batsim 5.

        Args:
            from_its_beginning: whether it must hold the initialization data, with which a conversation begins.

        Raises:
            CaptureError: it has none, or others.
        """
        if self._recording is None:
            needed = "make a recording of its messages with --record or 'batproto tap'"
            raise CaptureError(f"holds jobs and no messages: {needed}", self.given)
        with Capture(self._recording) as run:
            first = next(iter(run), None)
            if first is not None:
                protocol = protocol_of(first.data)[0]
                if protocol is not BATSIM_5:
                    reason = f"is of {protocol.name}, and this command needs a run of {BATSIM_5.name}"
                    raise CaptureError(reason, self.given)
                if all(entry.fault is not None for entry in run):
                    raise CaptureError(f"holds nothing that can be read as a run: expected {NEEDED}", self.given)
            if from_its_beginning and (first is None or first.kind != "init"):
                reason = "does not begin with the initialization data, with which a conversation begins"
                raise CaptureError(reason, self.given)
            yield run

    def schedule(self, hosts: int | None = None) -> Schedule:
        """Its jobs, and the machine that they ran on.

        Args:
            hosts: the number of hosts; None takes it from the run.

        Raises:
            ProtocolError: something in it is wrong.
            OSError: it cannot be read.
        """
        from batprotocol.studies.comparing import read_schedule, schedule_in
        from batprotocol.studies.comparing.schedules import schedule_of

        if self._log is not None:
            from batprotocol.sites.logs.formats import read_log
            from batprotocol.studies.comparing.schedules import schedule_of_log

            with read_log(self._log, zone=self._zone) as log:
                return schedule_of_log(log, name=self.name, hosts=hosts, nodes=self._nodes)
        if self._slurm is not None:
            from batprotocol.studies.recorded import recorded_schedule
            from batprotocol.studies.slurm_recordings import read_recording

            return recorded_schedule(read_recording(self._slurm), self.name)
        if self._row is not None:
            folder = self._row.folder
            return schedule_of(self._row.jobs(), os.path.join(folder, "schedule.json"), name=self.name, hosts=hosts)
        if self._table is not None:
            return read_schedule(self._table, name=self.name, hosts=hosts)
        with self.conversation(from_its_beginning=False) as run:
            return schedule_in(run, name=self.name, hosts=hosts)

    def timeline(self) -> TimelineData:
        """The timeline of its result files. A run of a study has the carbon, the price and the cap of the study.

        Raises:
            ProtocolError: something in them is wrong.
            OSError: they cannot be read.
        """
        from batprotocol.recordings.timeline import timeline

        if self._row is not None:
            from batprotocol.studies.sources import known_electricity

            known = known_electricity(self._row.measure)
            return timeline(
                tuple(self._row.jobs()),
                name=self.name,
                beside=self._row.folder,
                carbon=known.carbon,
                price=known.price,
                cap=known.cap,
            ).runs[0]
        assert self._table is not None
        return timeline(self._table).runs[0]


@contextmanager
def opened(path: str, *, from_its_beginning: bool = True) -> Iterator[Capture]:
    """The messages of a run that a user has named; see `NamedRun.conversation`."""
    with named(path).conversation(from_its_beginning=from_its_beginning) as run:
        yield run


def with_logs(given: str, others: Sequence[str] = (), *, zone: str | None = None, nodes: str | None = None) -> NamedRun:
    """The run of this name, as for `named`; or a log of a resource manager or a recording of a Slurm.

    Args:
        given: the name.
        others: the names given with it, as for `named`.
        zone: see `NamedRun`.
        nodes: see `NamedRun`.

    Raises:
        ProtocolError: see `named`.
        OSError: it cannot be read.
    """
    from batprotocol.sites.logs.formats import is_logged
    from batprotocol.studies.slurm_recordings import is_recorded

    if is_recorded(given):
        return NamedRun(given, given, slurm=given)
    found = named(given, others)
    if found.has_messages and is_logged(given):
        return NamedRun(given, given, log=given, zone=zone, nodes=nodes)
    return found


def named(given: str, others: Sequence[str] = ()) -> NamedRun:
    """The run of this name: a path, or `STORE?scheduler=easy&seed=3` for that of a study, also `STUDY.toml?...`.

    Args:
        given: the name.
        others: the names given with it: the short name has only the parts that differ from these.

    Raises:
        ProtocolError: there is no run of this name, or several.
        OSError: it cannot be read.
    """
    path, mark, query = given.partition("?")
    if mark and not os.path.lexists(given):
        return _run_of_study(given, path, parse_qsl(query, keep_blank_values=True), others)
    if _is_study(given):
        return _run_of_study(given, given, [], others)
    if os.path.basename(given) == _PARQUET and os.path.isfile(given):
        return _parquet(given, os.path.dirname(given))
    if os.path.isfile(os.path.join(given, _PARQUET)):
        return _parquet(given, given)
    table = jobs_file(given)
    return NamedRun(given, given, table=table, recording=given if table is None else None)


def tolerance_between(one: Schedule, other: Schedule) -> float:
    """The largest difference, in seconds, that counts as none between two schedules, by default."""
    from batprotocol.studies.comparing import REPORTED_TOLERANCE, TOLERANCE
    from batprotocol.studies.comparing.schedules import LOGGED_TOLERANCE

    if one.is_logged or other.is_logged:
        return LOGGED_TOLERANCE
    return TOLERANCE if one.is_reported == other.is_reported else REPORTED_TOLERANCE


def remark_on(schedule: Schedule, output: Output) -> None:
    """Print the remarks about a schedule."""
    for remark in schedule.remarks:
        output.remark(schedule.name, remark)


def _is_study(path: str) -> bool:
    if os.path.isdir(path):
        return any(name.endswith(_INDEX) for name in os.listdir(path))
    return path.lower().endswith(_STUDY) and os.path.isfile(path)


def _parquet(given: str, folder: str) -> NamedRun:
    from batprotocol.studies import Row
    from batprotocol.studies.runs import DONE

    return NamedRun(given, given, row=Row(key="", axes={}, state=DONE, folder=folder or os.curdir))


def _run_of_study(given: str, path: str, wanted: Sequence[tuple[str, str]], others: Sequence[str]) -> NamedRun:
    from batprotocol.studies import read_rows
    from batprotocol.studies.runs import DONE

    try:
        rows = read_rows(path)
    except StudyError as error:
        if path.lower().endswith(_STUDY) and error.file != path and not os.path.exists(error.file):
            raise StudyError(
                f"it has no results yet: run its simulations with 'batproto study run {path}'", file=path
            ) from None
        raise
    row = _row(given, path, rows, wanted)
    name = _short(wanted, others) or given
    if row.state == DONE:
        return NamedRun(given, name, row=row)
    if row.recording is None:
        raise StudyError(f"the run has failed, and nothing of it was kept: {row.error}", file=given)
    return NamedRun(given, name, recording=row.recording)


def _row(given: str, path: str, rows: Rows, wanted: Sequence[tuple[str, str]]) -> Row:
    """The one row that matches."""
    from batprotocol.studies.comparing.rows import axes_of, label, select, select_one

    where = {axis: [value] for axis, value in wanted}
    if not rows:
        raise StudyError("there are no runs in it", file=path)
    try:
        found = select(rows, where)
        if len(found) < 2:
            return select_one(rows, where)
    except InputError as error:
        raise InputError(error.reason, file=given) from None
    differing = [axis for axis, labels in axes_of(found).items() if len(labels) > 1]
    one = "&".join(
        [*(f"{axis}={value}" for axis, value in wanted), *(f"{a}={label(found[0].axes[a])}" for a in differing)]
    )
    raise InputError(f"{len(found):,} runs have this name: name one, such as '{path}?{one}'", file=given)


def _short(wanted: Sequence[tuple[str, str]], others: Sequence[str]) -> str:
    """The values of a run on the axes on which the runs named with it differ."""
    named_with = [parse_qsl(other.partition("?")[2], keep_blank_values=True) for other in others]
    return " ".join(
        f"{axis}={value}"
        for axis, value in wanted
        if not named_with or not all((axis, value) in pairs for pairs in named_with)
    )
