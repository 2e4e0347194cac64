"""Messages of other ages on the command line: what reads them, what compares schemas, and what is told who forgets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from commands import run_here as batproto
from servers import lacking
from support import ROOT

from batprotocol._util.sockets import Requester
from batprotocol.edc import Scheduler
from batprotocol.edc import run as serve_one
from batprotocol.errors import DecodeError
from batprotocol.schemas import Codec, age
from batprotocol.wire import frames

WITHOUT_ENGINE = True

CALL = {"call_me_later_id": "again", "when_type": "OneShot", "when": {"time": 42.5}}
RECORD = {"now": 3.0, "events": [{"timestamp": 3.0, "event_type": "CallMeLaterEvent", "event": CALL}]}
BEGIN = {
    "now": 0.5,
    "events": [
        {
            "timestamp": 0.5,
            "event_type": "SimulationBeginsEvent",
            "event": {"host_number": 1, "computation_host_number": 1, "batsim_execution_context_json": "{}"},
        }
    ],
}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A message of 2023-07."""
    path = tmp_path / "00003-e2b.bin"
    path.write_bytes(Codec(age("2023-07-20")).encode(RECORD))
    return path


def test_dump_reads_by_another_schema(old: Path) -> None:
    done = batproto("dump", "--schema", "2023-07-20", str(old))
    assert done.status == 0
    assert "OneShot time=42.5" in done.out
    assert "again" in done.out
    json = batproto("dump", "--json", "--schema", "2023-07-20", str(old))
    assert '"time": 42.5' in json.out


def test_convert_goes_both_ways(old: Path, tmp_path: Path) -> None:
    text, again = tmp_path / "a.json", tmp_path / "b.bin"
    assert batproto("convert", "--schema", "2023-07-20", str(old), str(text)).status == 0
    assert batproto("convert", "--schema", "2023-07-20", str(text), str(again)).status == 0
    assert again.read_bytes() == old.read_bytes()
    assert batproto("convert", str(text), str(again)).status == 1  # a time of today is an integer


def test_validate_holds_it_against_one_schema(tmp_path: Path) -> None:
    text = tmp_path / "call.json"
    text.write_text(Codec(age("2023-07-20")).to_json(RECORD))
    assert batproto("validate", "--schema", "2023-07-20", text).status == 0
    done = batproto("validate", "--schema", "2024-10", text)
    assert (done.status, "events[0].event.when.time" in done.err) == (1, True)


def test_a_message_of_another_age_is_told(tmp_path: Path) -> None:
    path = tmp_path / "00002-b2e.bin"
    path.write_bytes(Codec(age("2024-10")).encode(BEGIN))
    done = batproto("dump", str(path))
    assert "it fits the schema of " in done.err
    assert "use --schema 2024-10 to read it" in done.err


@pytest.mark.parametrize("option", ["2020-01", "nothing.bfbs"])
def test_an_unknown_schema_is_one_sentence(option: str, old: Path) -> None:
    done = batproto("dump", "--schema", option, str(old))
    assert done.status == 1
    assert done.err.startswith(f"batproto: {option}: No such file")
    assert len(done.err.splitlines()) == 1


def test_which_age_a_recording_is_of(tmp_path: Path) -> None:
    codec = Codec(age("2023-07-20"))
    for number, record in ((2, BEGIN), (3, RECORD)):
        name = f"{number:05d}-{'e2b' if number % 2 else 'b2e'}.bin"
        (tmp_path / name).write_bytes(codec.encode(record))
    done = batproto("schema", "--which", tmp_path, "--also", ROOT / "schema" / "released" / "0.1.0.bfbs")
    lines = done.out.splitlines()
    assert done.status == 0
    assert lines[0].startswith("2 messages: it fits ")
    assert any(line.split() == ["2023-07-20", "fits"] for line in lines)
    assert "  2024-10" in done.out
    assert lines[-2].startswith("read by the current schema, these may be misread: ")
    assert " OneShot," in lines[-2]
    assert lines[-1].startswith("use --schema 2023-07-20 to read it; batproto schema --diff 2023-07-20 2026-06")


def test_a_recording_of_today_and_one_of_nobody(tmp_path: Path) -> None:
    run = next((ROOT / "tests" / "data" / "runs").glob("*pstate__binary.tar.xz"))
    assert "it fits 2026-06" in batproto("schema", "--which", run).out
    nonsense = tmp_path / "a.bin"
    nonsense.write_bytes(b"x" * 100)
    done = batproto("schema", "--which", nonsense)
    assert (done.status, done.out.splitlines()[0]) == (1, "1 message: it fits none of the known ages")


def test_differences_as_text() -> None:
    done = batproto("schema", "--diff", "2023-07-18", "2023-07-20")
    assert done.status == 1
    assert "  RejectJobEvent moved: number 4 before, 3 now" in done.out.splitlines()
    assert done.out.splitlines()[-1] == "6 differences; at worst, messages are misread"
    assert batproto("schema", "--diff", "2024-10", "2024-10").out == "no difference\n"
    # A feature more: binary messages are fine, or have the default, and JSON is refused.
    assert batproto("schema", "--allow", "refused", "--diff", "2021-10", "2022-01").status == 0
    assert batproto("schema", "--allow", "absent", "--diff", "2021-10", "2022-01").status == 1


def test_a_description_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(batproto("schema", "--describe", "2024-10").out)
    assert batproto("schema", "--diff", str(path), "2024-10").out == "no difference\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "--schema", "2024-10"),
        ("run", "--schema", "2024-10", "--protocol", "4.2", "fcfs"),
        ("run", "--schema", "2024-10", "--in-process", "fcfs"),
        ("bridge", "--schema", "2024-10", "--batsim", "tcp://127.0.0.1:*,2023-07-18", "--edc", "tcp://127.0.0.1:1"),
        ("schema", "Job", "--diff", "2024-10", "2022-01"),
        ("schema", "--also", "2024-10"),
    ],
)
def test_options_that_exclude_one_another(arguments: tuple[str, ...]) -> None:
    done = batproto(*arguments)
    assert done.status == 2
    assert len(done.err.splitlines()) == 1


def test_a_scheduler_is_told_of_a_batsim_of_another_age() -> None:
    """Who forgets --schema hears at the first message what to type."""
    bound: list[str] = []
    ready = threading.Event()
    raised: list[BaseException] = []

    def on_bound(endpoint: str) -> None:
        bound.append(endpoint)
        ready.set()

    def serve() -> None:
        try:
            serve_one(Scheduler(), "tcp://127.0.0.1:*", on_bound=on_bound)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert ready.wait(60)
    hello = {"batprotocol_version": "0.1.0", "batsim_version": "4.9"}
    first = {"now": 0.0, "events": [{"timestamp": 0.0, "event_type": "BatsimHelloEvent", "event": hello}]}
    with Requester(bound[0], timeout=60) as batsim:
        batsim.exchange(frames.encode_init(""))
        batsim.exchange(Codec(age("2024-10")).encode(first))
        thread.join(60)
    (error,) = raised
    assert isinstance(error, DecodeError)
    assert "2023-07-20 or 2024-10, and not the current one: use --schema 2024-10 to read it" in str(error)


def test_adopting_a_schema(tmp_path: Path) -> None:
    """In a copy of the tree: what was today's is an age, and the places to see to are listed."""
    if lacking("flatc"):
        pytest.skip("flatc is needed to compile a schema")
    for folder in ("schema", "tools", "generated"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "batprotocol",
        tmp_path / "batprotocol",
        ignore=shutil.ignore_patterns("__pycache__", "simulator", "*.so"),
    )
    shutil.copytree(ROOT / "generated" / "_schema", tmp_path / "batprotocol" / "_schema")
    source = (tmp_path / "schema" / "batprotocol.fbs").read_text()
    new = tmp_path / "new.fbs"
    new.write_text(source.replace("table RejectJobEvent {", "table RejectJobEvent {\n  reason: string;"))
    environment = {**os.environ, "BATPROTOCOL_ENGINE": "python"}
    command = [sys.executable, str(tmp_path / "tools" / "adopt_schema.py"), str(new), "2027-01"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert "RejectJobEvent.reason added: string (at worst misread)" in done.stdout
    assert "batprotocol/model/events.py:" in done.stdout
    assert "batprotocol/builder/from_edc.py:" in done.stdout
    made = (tmp_path / "batprotocol" / "schemas" / "ages" / "2026-06.txt").read_text()
    assert made == "table RejectJobEvent\n  job_id: string (required)\n"
    assert "reason" in (tmp_path / "generated" / "_schema" / "codec.py").read_text()
    reading = (tmp_path / "batprotocol" / "schemas" / "_sources.py").read_text()
    assert 'TODAY: Final = "2027-01"' in reading
    assert '"2024-10", "2026-06", TODAY)' in reading
