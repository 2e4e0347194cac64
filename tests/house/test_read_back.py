"""Each table that is written is read back equal, or refused in one sentence, whatever its names and numbers are."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol import model
from batprotocol._util.grids import as_csv, as_json
from batprotocol._util.tables import TableRows
from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, Direction, FinalJobState, Message
from batprotocol.recordings import Entry
from batprotocol.recordings.exports import FORMATS, events_of, writer_of
from batprotocol.recordings.exports import job_rows as captured_rows
from batprotocol.recordings.statistics import CapturedJob
from batprotocol.results import ResultFiles, read_energy
from batprotocol.results.files import COLUMNS, jobs_text, parse_jobs, schedule_text
from batprotocol.results.reports import PowerFile, power_beside, read_attempts, write_attempts, write_power
from batprotocol.simulator import (
    EnergyRow,
    JobRow,
    StaticJob,
    Workload,
    read_allocations,
    read_external_events,
    read_jobs,
    read_workload,
    workload_json,
    write_allocations,
)
from batprotocol.sites.logs import Attempt as LoggedAttempt
from batprotocol.sites.logs import AttemptState, LeftOut, LoggedJob
from batprotocol.sites.logs.tables import read_table, write_table
from batprotocol.sites.logs.workloads import logged_workload, write_logged_workload
from batprotocol.studies.comparing.schedules import _totals
from batprotocol.studies.rows import as_parquet, jobs_in, rounded
from batprotocol.studies.store import Index
from batprotocol.studies.store import IndexedRun as Indexed
from batprotocol.workloads.electricity.trace import PowerEvent, read_power_event
from batprotocol.workloads.events import write_event_lines
from batprotocol.workloads.requests import Allocated, AttemptReport, Gres

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

LETTERS = st.sampled_from("a1,\"'\\\n\r\t\0 =+@;|[]{}!w0é\x85\u2028\ufeff\U0001f600") | st.characters()
NAMES = st.text(LETTERS, max_size=10) | st.sampled_from(
    ["", "w0", "nan", "null", '"a,b"', "a,w0,w0!b", "=1+1", "\ud800"]
)
HARD = [0.0, -0.0, 5e-324, 1e-7, 0.1, 2.0**53, 7.5e21, 1.7976931348623157e308, math.inf, -math.inf, math.nan, -1.0]
NUMBERS = st.sampled_from(HARD) | st.floats()
COUNTS = st.sampled_from([0, 1, 2**31, 2**53, 2**63 - 1, 2**63, 10**30, -1]) | st.integers()


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, where NaN is equal to NaN, and a float to the same integer."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


def refused(write: Callable[[], object]) -> bool:
    """Whether a writer refuses in one sentence."""
    try:
        write()
    except InputError as error:
        if len(str(error).splitlines()) > 1:
            raise
        return True
    return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


# Results


@st.composite
def job_rows(draw: st.DrawFn) -> JobRow:
    state = draw(st.sampled_from(list(FinalJobState)))
    ran = state is not FinalJobState.REJECTED
    seconds = st.sampled_from([0.0, -0.0, 5e-324, 0.1, 1e9 / 3, 7.5e21]) | st.floats(0, 1e15)
    workload = draw(st.sampled_from(["w0", "again"]) | NAMES.filter(lambda name: "!" not in name))
    return JobRow(
        job_id=draw(NAMES),
        workload_name=workload,
        profile=f"{workload}!{draw(NAMES)}",
        submission_time=draw(seconds),
        requested_number_of_resources=draw(st.integers(0, 2**32 - 1)),
        requested_time=draw(st.none() | seconds),
        final_state=state,
        starting_time=draw(seconds) if ran else None,
        execution_time=draw(seconds) if ran else None,
        allocated_resources=draw(st.sampled_from(["0", "0-3 8"])) if ran else "",
        consumed_energy=draw(st.sampled_from([-1.0, 0.0, math.nan, math.inf]) | seconds) if ran else None,
    )


def same_rows(found: Iterable[JobRow], expected: Iterable[JobRow]) -> bool:
    pairs = list(zip(found, expected, strict=True))
    return all(same(getattr(a, name), getattr(b, name)) for a, b in pairs for name in a.__struct_fields__)


@given(st.lists(job_rows(), max_size=4))
def test_jobs_csv(folder: Path, rows: list[JobRow]) -> None:
    """By each writer, by each reader: line by line, and as the Parquet file of a study."""
    if refused(lambda: jobs_text(rows)):
        return
    try:
        data = jobs_text(rows).encode()
    except UnicodeEncodeError:  # no name of a message, or of a workload, has such characters
        return
    files = ResultFiles(f"{folder}/", energy=False, machine_states=False, pstate_changes=False)
    for row in rows:
        files.job_ended(row)
    files.flush()
    assert (folder / "jobs.csv").read_bytes() == data
    expected = rounded(rows)
    assert same_rows(read_jobs(folder / "jobs.csv"), expected)
    assert same_rows(parse_jobs(io.StringIO(data.decode(), newline=""), ""), expected)
    (folder / "jobs.parquet").write_bytes(as_parquet(data))
    assert same_rows(jobs_in(str(folder)), expected)


@given(st.lists(st.tuples(st.floats(0, 1e15), st.floats(0, 1e15)), max_size=4))
def test_consumed_energy_csv(folder: Path, points: list[tuple[float, float]]) -> None:
    points.sort()
    files = ResultFiles(f"{folder}/", energy=True)
    for time, joules in points:
        files.energy_read(EnergyRow(time, joules, "e", 0.0, None))
    files.flush()
    assert read_energy(folder / "consumed_energy.csv") == [(round(a, 6), round(b, 6)) for a, b in points]


@given(st.dictionaries(st.sampled_from(["nb_jobs", "makespan", "mean_slowdown"]), NUMBERS | st.integers(0, 2**63)))
def test_schedule_json(folder: Path, numbers: dict[str, Any]) -> None:
    (folder / "schedule.json").write_text(schedule_text({**numbers, "platform": "a: nan"}))
    (folder / "jobs.csv").write_text(jobs_text([]))
    found = _totals(str(folder / "schedule.json"))
    written = {key: value if isinstance(value, int) else float(f"{value:f}") for key, value in numbers.items()}
    assert found == {key: value for key, value in written.items() if 0 <= value < math.inf}


@given(st.just(4) | COUNTS, st.just("typical") | NAMES | st.just("x" * 70_000))
def test_power_json(folder: Path, cores: int, watts: str) -> None:
    power = PowerFile(cores, watts)
    (folder / "consumed_energy.csv").write_text("time,energy,event_type,wattmin,epower\n")
    if not refused(lambda: write_power(f"{folder}/", power)):
        found = power_beside(f"{folder}/")
        assert (found.cores, found.watts) == (cores, watts)


GRES = st.builds(Gres, st.sampled_from(["gpu", "a b", "é"]) | NAMES, st.none() | st.just("a100"), COUNTS)


@given(st.data())
def test_allocations_csv(folder: Path, data: st.DataObject) -> None:
    made = st.builds(
        Allocated,
        job_id=st.sampled_from(["w0!1", "w0!,"]) | NAMES,
        first_id=st.just("w0!1") | NAMES,
        starting_time=st.just(0.5) | NUMBERS,
        partition=NAMES,
        hosts=st.sampled_from(["0", "0-1 4", "1 0", "", "a"]),
        cores=st.just(4) | COUNTS,
        memory=st.just(0) | COUNTS,
        gres=st.just(()) | st.lists(GRES, max_size=2).map(tuple),
        whole=st.booleans(),
    )
    given = data.draw(st.lists(made, max_size=3))
    path = folder / "allocations.csv"
    if not refused(lambda: write_allocations(path, given)):
        for one, other in zip(read_allocations(path), given, strict=True):
            for name in one.__struct_fields__:
                value = getattr(other, name)
                assert same(getattr(one, name), round(value, 6) if isinstance(value, float) else value)


@given(st.data())
def test_attempts_csv(folder: Path, data: st.DataObject) -> None:
    seconds = st.just(1.5) | NUMBERS
    made = st.builds(
        AttemptReport,
        job_id=st.sampled_from(["w0!1", "w0!,"]) | NAMES,
        first_id=st.just("w0!1") | NAMES,
        number=st.just(0) | COUNTS,
        starting_time=seconds,
        finish_time=seconds,
        end=st.sampled_from(["failure", "completed"]) | NAMES,
        next_id=NAMES,
        work=seconds,
        checkpoints=seconds,
        restart=seconds,
        lost=seconds,
    )
    given = data.draw(st.lists(made, max_size=3))
    path = folder / "attempts.csv"
    if not refused(lambda: write_attempts(path, given)):
        for one, other in zip(read_attempts(path), given, strict=True):
            for name in one.__struct_fields__:
                value = getattr(other, name)
                assert same(getattr(one, name), round(value, 6) if isinstance(value, float) else value)


# Inputs


class Data:
    def __init__(self, text: str) -> None:
        self.text = text

    def to_data(self) -> str:
        return self.text


@given(st.lists(st.tuples(NUMBERS, NAMES), max_size=4))
def test_external_events(folder: Path, events: list[tuple[float, str]]) -> None:
    path = folder / "events.jsonl"
    with path.open("w", encoding="utf-8") as file:
        if refused(lambda: write_event_lines([(time, Data(text)) for time, text in events], file)):
            return
    found = read_external_events(path, corrected=True).events
    assert [(each.timestamp, each.data) for each in found] == sorted(events, key=lambda event: event[0])


@given(st.sampled_from(["carbon", "price"]), NUMBERS)
def test_power_events(kind: Any, value: float) -> None:
    event = PowerEvent(kind, value, "g/kWh" if kind == "carbon" else "EUR/kWh")
    text: list[str] = []
    if not refused(lambda: text.append(event.to_data())):
        try:
            assert read_power_event(text[0]) == event
        except InputError:  # a trace has finite values only, and intensities are >= 0
            assert not math.isfinite(value) or (kind == "carbon" and value < 0)


@given(st.data())
def test_workloads(folder: Path, data: st.DataObject) -> None:
    def made() -> Workload:
        delay = DelayProfile(data.draw(st.just(1.0) | NUMBERS))
        name = data.draw(st.just("p") | NAMES)
        jobs = [
            StaticJob(
                id,
                data.draw(st.just(1.0) | NUMBERS),
                data.draw(st.just(1) | COUNTS),
                name,
                walltime=data.draw(st.none() | NUMBERS),
                extra_data=data.draw(st.none() | NAMES),
            )
            for id in data.draw(st.lists(NAMES, max_size=3))
        ]
        return Workload(jobs, {name: delay})

    path = folder / "workload.json"
    texts: list[str] = []
    workloads: list[Workload] = []

    def write() -> None:
        workloads.append(made())
        texts.append(workload_json(workloads[0]))

    if refused(write):
        return
    path.write_text(texts[0], encoding="utf-8")
    again = read_workload(path, corrected=True)
    assert list(again) == list(workloads[0])
    assert again.profiles == workloads[0].profiles


# Logs


@st.composite
def logged(draw: st.DrawFn) -> LoggedJob:
    text, number = st.none() | NAMES, st.none() | st.just(3.5) | NUMBERS
    count = st.none() | st.just(4) | COUNTS
    amounts = st.just(()) | st.lists(st.tuples(NAMES, COUNTS), max_size=2).map(tuple)
    attempt = st.builds(
        LoggedAttempt,
        submitted=st.just(1.7e9) | NUMBERS,
        eligible=number,
        started=number,
        ended=number,
        state=st.sampled_from(list(AttemptState)),
        hosts=st.lists(NAMES, max_size=3).map(tuple),
        suspended=st.just(0.0) | NUMBERS,
        exit_code=count,
        signal=count,
        is_planned=st.booleans(),
    )
    texts = ("name", "user", "group", "account", "partition", "qos", "constraint", "reservation", "dependency", "array")
    strange = draw(st.sampled_from([*texts, "walltime", "cores", "memory", "gres", "attempts", "id", "host_count"]))
    kinds: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(texts, text),
        **dict.fromkeys(("cores", "memory", "host_count"), count.filter(lambda value: value is not None)),
        "walltime": number,
        "gres": amounts,
        "attempts": st.lists(attempt, max_size=3).map(tuple),
        "id": NAMES,
    }
    usual: dict[str, Any] = {"id": "1", "attempts": (LoggedAttempt(submitted=1.0),)}
    return LoggedJob(**{**usual, strange: draw(kinds[strange])})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@settings(max_examples=60)
@given(st.lists(logged(), max_size=3))
def test_logs(folder: Path, kind: str, jobs: list[LoggedJob]) -> None:
    path = folder / f"log.{kind}"

    def write(counted: LeftOut | None) -> int:
        with path.open("wb") as file:
            return write_table(file, jobs, kind, left_out=counted)

    is_refused = refused(lambda: write(None))
    left_out, unread = LeftOut(), LeftOut()
    written = write(left_out)
    assert (left_out.rows, left_out.rows > 0) == (len(jobs) - written, is_refused)
    found = list(read_table(path, unread))
    assert (len(found), list(unread)) == (written, [])
    kept = iter(jobs)
    assert all(any(job == each for each in kept) for job in found)  # in their order
    if not is_refused:
        assert found == jobs


@settings(max_examples=100)
@given(st.lists(logged().filter(lambda job: "\\ud" not in ascii(job)), max_size=3), NUMBERS, NUMBERS)
def test_workloads_of_logs(folder: Path, jobs: list[LoggedJob], runtime: float, walltime: float) -> None:
    """What is written is what is made in memory, and jobs that neither can have are counted."""
    attempt = LoggedAttempt(submitted=1.0, started=2.0, ended=2.0 + runtime)
    jobs = [*jobs, LoggedJob(id="w0!7", attempts=(attempt,), walltime=walltime, user="a,b")]
    path = folder / "logged.json"
    made: list[Workload] = []

    def write() -> None:
        made.append(logged_workload(jobs))
        with path.open("wb") as file:
            write_logged_workload(file, jobs)

    if not refused(write):
        again = read_workload(path, corrected=True)
        assert list(again) == list(made[0])
        assert again.profiles == made[0].profiles


# Studies


@given(st.lists(st.dictionaries(NAMES, NAMES | NUMBERS | st.booleans() | st.none() | COUNTS, max_size=4), max_size=3))
def test_records_of_tables(records: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for record in records for name in record))
    found = list(csv.reader(io.StringIO(as_csv(records), newline=""), strict=True))
    shown = [["" if value is None else str(value) for value in map(record.get, names)] for record in records]
    shown = [[text.lower() if text in ("True", "False") else text for text in row] for row in shown]
    assert [row for row in found if row] == [row for row in [names, *shown] if row]
    again = json.loads(as_json(records))
    for one, other in zip(again, records, strict=True):
        unknown = {key for key, value in other.items() if isinstance(value, float) and not math.isfinite(value)}
        assert one == {key: None if key in unknown else value for key, value in other.items()}


@given(st.lists(st.tuples(NAMES, st.dictionaries(NAMES, NAMES | COUNTS | NUMBERS, max_size=3)), max_size=3))
def test_the_index_of_a_store(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, dict[str, Any]]]) -> None:
    index = Index(str(tmp_path_factory.mktemp("store")), writes=True)
    entries = [Indexed(str(place), "done", "", error, axes, axes, 1.0) for place, (error, axes) in enumerate(rows)]
    try:
        index.add(entries)
        index.add_measured([(each.key, "m", {"a": 0.5}) for each in entries], {"m": {}})
        found = index.entries()
    finally:
        index.close()
    for each in entries:
        again = found[each.key]
        assert again.error == each.error.encode("utf-8", "backslashreplace").decode()
        assert all(same(again.axes[name], value) for name, value in each.axes.items())
        assert again.axes.keys() == again.facts.keys() == each.axes.keys()


# Exports


TEXTS = NAMES.filter(lambda text: not any("\ud800" <= each <= "\udfff" for each in text))
"""The texts that messages can have."""


class Run:
    """A run of one message and of these jobs, with its jobs.csv if it has one."""

    def __init__(self, message: Message, jobs: list[CapturedJob], kept: bytes | None = None) -> None:
        self._data, self._jobs, self._kept = message.to_binary(), jobs, kept

    def __iter__(self) -> Iterator[Entry]:
        return iter([Entry(3, Direction.EDC_TO_BATSIM, self._data, wall=17)])

    def jobs(self) -> Iterator[CapturedJob]:
        return iter(self._jobs)

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        return iter([] if self._kept is None else [("jobs.csv", self._kept)])


@st.composite
def runs(draw: st.DrawFn) -> Run:
    number = st.none() | NUMBERS.filter(math.isfinite)
    names = draw(st.lists(TEXTS.map(lambda name: f"w0!{name}"), max_size=3))
    events = [model.RejectJobEvent(job_id=name) for name in names]
    made = st.builds(
        CapturedJob,
        job_id=TEXTS.map(lambda name: f"w0!{name}"),
        submitted=number,
        profile_id=TEXTS,
        resource_request=st.integers(0, 2**32 - 1),
        walltime=number,
        started=number,
        finished=number,
        hosts=st.sampled_from(["", "0-3 8"]),
        state=st.none() | st.sampled_from(list(FinalJobState)),
    )
    return Run(Message(draw(st.floats(0, 1e300)), events), draw(st.lists(made, max_size=3)))


def exported(run: Run, format: str, *, guard: bool = False) -> bytes:
    file = io.BytesIO()
    writer_of(format, guard=guard)(run, file)
    return file.getvalue()


@given(runs())
def test_exports(run: Run) -> None:
    """The same rows in each format; CSV writes None as nothing."""
    jobs = [tuple(row.values()) for row in captured_rows(run.jobs())]
    events = [tuple(each) for each in events_of(run)]
    for rows, name, parquet in ((jobs, "jobs-csv", "jobs-parquet"), (events, "events-csv", "parquet")):
        header, *found = csv.reader(io.StringIO(exported(run, name).decode(), newline=""), strict=True)
        assert found == [["" if value is None else str(value) for value in row] for row in rows]
        table = pyarrow.parquet.read_table(io.BytesIO(exported(run, parquet)))
        assert (table.column_names, len(table)) == (header, len(rows))
        for column, values in zip(table.columns, zip(*rows, strict=True), strict=False):
            kept = column.cast("int64") if str(column.type).startswith("timestamp") else column
            assert all(map(same, kept.to_pylist(), values))


@given(runs(), st.lists(job_rows(), max_size=3))
def test_spreadsheets_compute_nothing(run: Run, rows: list[JobRow]) -> None:
    """Only texts that begin as a formula are changed, also in the jobs.csv that a recording has."""
    try:
        kept = [None, jobs_text(rows).encode()]
    except (InputError, UnicodeEncodeError):
        kept = [None]
    for data in kept:
        one = Run(Message(0.0, ()), list(run.jobs()), data)
        for format in ("jobs-csv", "events-csv"):
            plain = list(csv.reader(io.StringIO(exported(one, format).decode(), newline="")))
            if data is not None and format == "jobs-csv":
                read = TableRows(io.StringIO(data.decode(), newline=""))
                plain = [list(COLUMNS), *(list(row.values()) for row in read)]
            text = exported(one, format, guard=True).decode()
            for before, after in zip(plain, csv.reader(io.StringIO(text, newline=""), strict=True), strict=True):
                for cell, changed in zip(before, after, strict=True):
                    assert changed in (cell, f"'{cell}")
                    assert not changed.lstrip().startswith(("=", "+", "-", "@")) or float(changed) is not None


def test_spreadsheets_in_tables_of_studies_and_logs() -> None:
    formula = '=HYPERLINK("http://example.org")'
    records = [{"scheduler": formula, "@mean": -1.5, "other": "-2"}]
    assert as_csv(records, guard=True).splitlines() == [
        "scheduler,'@mean,other",
        '"\'=HYPERLINK(""http://example.org"")",-1.5,-2',
    ]
    assert formula.replace('"', '""') in as_csv(records)
    file = io.BytesIO()
    write_table(file, [LoggedJob(id="1", attempts=(LoggedAttempt(submitted=-1.5),), name=formula)], "csv", guard=True)
    assert b",-1.5," in file.getvalue()
    assert b"\"'=HYPERLINK(" in file.getvalue()
    for format in set(FORMATS) - {"jobs-csv", "events-csv"}:
        with pytest.raises(InputError, match="in CSV only"):
            writer_of(format, guard=True)
