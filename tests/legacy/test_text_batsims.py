"""Text as four Batsims of 2015 to 2017 spoke it: their frames, what they made of odd replies, and both sides of it."""

from __future__ import annotations

import csv
import io
import json
import lzma
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from old_runs import TEXT, TextRun, conversation_of, first_runs, text_names, text_run, text_verdicts
from support import ROOT
from test_old_rules import NOTHING, SUBMITTED, begins, frames

sys.path.insert(0, str(ROOT / "examples"))

from easy_backfilling import EASY
from fcfs import FCFS

from batprotocol import DecodeError, PeerGone
from batprotocol.edc import Scheduler
from batprotocol.legacy import JobStore, decode, encode
from batprotocol.legacy.bridge import CheckedScheduler, TextBatsim, TextScheduler, drive
from batprotocol.legacy.conversation import Conversation, check
from batprotocol.legacy.store import store_of_workload
from batprotocol.legacy.text.runtime import UnixLine
from batprotocol.model import SimulationEndsEvent
from batprotocol.simulator import Result, read_platform, read_workload, simulate

WITHOUT_ENGINE = True
LIMIT = 30.0
KEPT = [
    "text-0__own_late_nops__delays",
    "text-0__filler_sched__pair",
    "text-1__own_sets_interval__delays",
    "text-1__fillerSched__delays",
    "text-1__fillerSched__protected__delays",
    "text-1__own_reject__precise",
    "text-2__own_wake__delays",
    "text-2__own_reject__toobig",
    "text-2__own_fcfs__unicode",
    "text-3__own_late_nops__delays",
    "text-3__own_energy_sleep__delays_E",
    "text-3__own_fcfs__two_workloads",
    "text-3__fillerSched__test_workload_profile",
]


# Frames


@pytest.mark.parametrize("name", text_names())
def test_all_frames_are_read_and_batsim_s_are_written_as_they_are(name: str) -> None:
    run = text_run(name)
    version = f"text-{run.version}"
    for who, data in run.messages:
        message = decode(data, version, strict=who == "batsim")
        assert who != "batsim" or encode(message, version) == data


@pytest.mark.parametrize("run", first_runs(), ids=lambda run: run.name)
def test_all_frames_of_the_first_json_are_read_and_written(run: Any) -> None:
    for _, data in run.messages:
        message = decode(data, run.version[1:], strict=True)
        assert json.loads(encode(message, run.version[1:])) == json.loads(data)
    if run.facts["batsim"]["rc"] == 0:
        assert not check([data for _, data in run.messages], f"batsim-{run.version[1:]}")


# Rules


@pytest.mark.parametrize("name", text_names())
def test_no_clean_run_has_a_fatal_finding(name: str) -> None:
    run = text_run(name)
    found = check([data for _, data in run.messages], f"text-{run.version}")
    if run.is_clean:
        assert not [violation for violation in found if violation.is_fatal]


@pytest.mark.parametrize("version", range(4))
def test_what_batsim_takes_is_not_called_fatal_and_what_it_aborts_on_is(version: int) -> None:
    """Ten of each version abort on what cannot be seen: sizes of jobs and platforms, power states, sharing, energy."""
    foreseen = missed = 0
    for verdict in text_verdicts(version):
        _, found = conversation_of(version, verdict)
        is_fatal = any(violation.is_fatal for violation in found)
        if verdict["outcome"] == "accepted":
            assert not is_fatal, verdict["case"]
        elif is_fatal:
            foreseen += 1
        else:
            missed += 1
    assert missed <= 12
    assert foreseen >= 4 * missed


@pytest.mark.parametrize("version", ["1.0.0", "1.2.0"])
def test_the_first_json_is_judged_by_its_own_rules(version: str) -> None:
    """Its templates are those of 1.4.0."""
    aborts = foreseen = 0
    for verdict in json.loads(lzma.decompress((TEXT / "verdicts" / f"legacy-v{version}.json.xz").read_bytes())):
        conversation = Conversation(f"batsim-{version}")
        for message in (begins("v1.4.0", verdict["case"]), NOTHING, SUBMITTED):
            conversation.feed(message)
        is_fatal = any(found.is_fatal for found in conversation.feed(*frames(verdict["reply"])))
        if verdict["outcome"] == "accepted":
            assert not is_fatal, verdict["case"]
        else:
            aborts, foreseen = aborts + 1, foreseen + is_fatal
    assert foreseen > 0.95 * aborts


# Schedulers of today


def store_of(run: TextRun, folder: Path) -> JobStore:
    """What jobs ask for: of the workload file, or what was in Redis."""
    if run.version < 2:
        name = next(each for each in run.facts["batsim_cmd"] if each.endswith(".json"))
        path = folder / "workload.json"
        path.write_bytes(run.files[name])
        return store_of_workload(str(path))
    values = {key: value.encode() for key, value in json.loads(run.files["redis.json"]).items()}
    return JobStore(values, next(key for key in values if key.endswith(":nb_res")).removesuffix(":nb_res"))


class Recorded:
    """A Batsim that says what it said, whatever it hears, and closes its socket then."""

    def __init__(self, run: TextRun, path: str) -> None:
        self.heard: list[bytes] = []
        self._said, self._path = run.said("batsim"), path
        self._thread = threading.Thread(target=self._speak, daemon=True)
        self._thread.start()

    def _speak(self) -> None:
        line = UnixLine(self._path, listens=True, timeout=LIMIT)
        for said in self._said:
            self.heard.append(line.exchange(said))
        line.close()

    def end(self) -> None:
        self._thread.join(LIMIT)
        assert len(self.heard) == len(self._said)


@pytest.mark.parametrize("scheduler", [FCFS, EASY])
@pytest.mark.parametrize("name", KEPT)
def test_recorded_batsims_drive_schedulers_of_today_to_the_end(
    name: str, scheduler: Callable[[], Scheduler], tmp_path: Path
) -> None:
    run, path = text_run(name), str(tmp_path / "socket")
    said = []
    recorded = Recorded(run, path)
    with TextBatsim(path, store_of(run, tmp_path), run.version, timeout=LIMIT) as batsim:
        drive(batsim, CheckedScheduler(scheduler()), lambda message, reply: said.append(message))
    recorded.end()
    assert isinstance(said[-1].events[-1], SimulationEndsEvent)
    for reply in recorded.heard:  # its own version, six digits, no event before the clock
        assert encode(decode(reply, f"text-{run.version}", strict=True), f"text-{run.version}") == reply


@pytest.mark.parametrize(
    "name", ["text-0__filler_sched__pair", "text-1__own_reject__precise", "text-3__own_late_nops__delays"]
)
def test_a_batsim_that_dies_with_jobs_to_do_is_gone(name: str, tmp_path: Path) -> None:
    run, path = text_run(name), str(tmp_path / "socket")
    first = next(number for number, data in enumerate(run.said("batsim")) if b":S:" in data)
    messages = [("batsim", data) for data in run.said("batsim")[: first + 1]]
    recorded = Recorded(run._replace(messages=tuple(messages)), path)
    with TextBatsim(path, store_of(run, tmp_path), run.version, timeout=LIMIT) as batsim, pytest.raises(PeerGone):
        drive(batsim, CheckedScheduler(FCFS()))
    recorded.end()


# Schedulers of old


def played(run: TextRun, folder: Path) -> tuple[Result, list[bytes]]:
    """A simulation with the recorded replies, and what the scheduler was told."""
    heard: list[bytes] = []
    path = str(folder / "socket")

    def speak() -> None:
        line = UnixLine(path, listens=False, timeout=LIMIT)
        with suppress(PeerGone):
            for reply in run.said("edc"):
                heard.append(line.receive())
                line.send(reply)
        line.close()

    for name, data in run.files.items():
        if name.startswith("in/"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
    command = run.facts["batsim_cmd"]
    workloads = [read_workload(folder / each, name=f"w{number}") for number, each in enumerate(files_in(command))]
    platform = read_platform(
        folder / next(each for each in command if each.endswith(".xml")), energy=True and is_energy(run)
    )
    names = dict(zip((each.name for each in workloads), workload_names(run), strict=False)) if run.version > 1 else {}
    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    with TextScheduler(path, version=run.version, workloads=names, timeout=LIMIT) as scheduler:
        result = simulate(platform, workloads, scheduler, energy=is_energy(run))
    thread.join(LIMIT)
    return result, heard


def files_in(command: list[str]) -> list[str]:
    return [each for each in command if each.endswith(".json")]


def is_energy(run: TextRun) -> bool:
    return "-E" in run.facts["batsim_cmd"] or run.name.endswith("_E")


def workload_names(run: TextRun) -> list[str]:
    submitted = [part.split(b":")[2] for data in run.said("batsim") for part in data.split(b"|")[1:] if b":S:" in part]
    return list(dict.fromkeys(name.rpartition(b"!")[0].decode() for name in submitted))


TIED = ("text-2__own_wake__delays", "text-3__own_fcfs__two_workloads")
"""A job ends when a reply is delivered, and Batsims of old say which is first; and names of workloads are numbers."""
DETERMINISTIC = [name for name in KEPT if name not in TIED]


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_recorded_replies_give_the_recorded_starts(name: str, tmp_path: Path) -> None:
    """Jobs start when they started and where; most of what is told is the same to the last byte."""
    run = text_run(name)
    result, heard = played(run, tmp_path)
    table = next((data for path, data in run.files.items() if path.startswith("out/") and "jobs" in path), None)
    by_id = {row.job_id: row for row in result.jobs}
    for row in csv.DictReader(io.StringIO((table or b"").decode())):
        job_id = row.get("job_id") or row["jobID"]
        found = by_id[str(int(job_id) // 10) if run.version == 2 else job_id]
        if float(row["starting_time"]) >= 0:
            assert found.starting_time == pytest.approx(float(row["starting_time"]), abs=3e-4)
            assert found.allocated_resources == row["allocated_processors"]
    said = run.said("batsim")
    assert len(heard) == len(said)
    assert sum(one == other for one, other in zip(heard, said, strict=True)) >= len(said) / 3
    shapes = [[part.split(b":", 1)[-1] for part in data.split(b"|")[1:]] for data in heard]
    assert shapes == [[part.split(b":", 1)[-1] for part in data.split(b"|")[1:]] for data in said] or is_energy(run)


def test_an_event_before_the_clock_is_refused(tmp_path: Path) -> None:
    run = text_run("text-1__own_sets_interval__delays")
    replies = [(who, data if who == "batsim" else b"1:0|0.000001:N") for who, data in run.messages]
    with pytest.raises(DecodeError, match="earlier than"):
        played(run._replace(messages=tuple(replies)), tmp_path)
