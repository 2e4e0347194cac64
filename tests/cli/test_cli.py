"""`batproto` as its users meet it: mostly real processes, their output, their errors and their exit statuses."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from support import ROOT, read_run, runs

from batprotocol.cli.main import main
from batprotocol.errors import DecodeError
from batprotocol.model import (
    AllocationPlacement,
    Doubles,
    EDCHelloEvent,
    EDCRequestedSimulationFeatures,
    ExecuteJobEvent,
    FinalJobState,
    Host,
    HostProperty,
    Job,
    JobAndProgress,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    KillProgressAtomicProfile,
    Message,
    ParallelTaskProfile,
    ProfileAndId,
    RegisterProfileEvent,
    RejectJobEvent,
    SimulationBeginsEvent,
    SimulationEndsEvent,
)
from batprotocol.wire import decode, detect, frames

PROGRAM = (sys.executable, "-m", "batprotocol")
DECIDING_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "PYTHONIOENCODING")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in DECIDING_VARIABLES} | {
    "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    "PYTHONUTF8": "1",
    "TERM": "xterm-256color",
}

SUBMITTED = JobSubmittedEvent(
    timestamp=1.0, job_id="w0!1", job=Job(resource_request=2, walltime=9.5, profile_id="w0!d"), submission_time=0.5
)
EXECUTED = ExecuteJobEvent(timestamp=2.0, job_id="w0!1", allocation=AllocationPlacement("0-1"))
REJECTED = RejectJobEvent(timestamp=2.0, job_id="w1!1")
COMPLETED = JobCompletedEvent(timestamp=3.0, job_id="w0!2", state=FinalJobState.COMPLETED_FAILED, return_code=1)
KILLED = JobsKilledEvent(
    timestamp=3.0,
    job_ids=("w0!7", "w0!8"),
    progresses=(JobAndProgress("w0!9", KillProgressAtomicProfile("w0!d", 0.5)),),
)
MESSAGE = Message(3.0, (SUBMITTED, EXECUTED, REJECTED, COMPLETED, KILLED))
HELLO = Message(
    0.0,
    (
        EDCHelloEvent(
            batprotocol_version="0.1.0",
            decision_component_name="test",
            decision_component_version="1",
            decision_component_commit="",
            requested_simulation_features=EDCRequestedSimulationFeatures(),
        ),
    ),
)


class Result(NamedTuple):
    """How a process ended, and what it wrote."""

    status: int
    out: str
    err: str


def run(*arguments: str | Path, given: bytes = b"", variables: Mapping[str, str] | None = None) -> Result:
    """Run `batproto` as a process of its own, with pipes all around. It must never print a traceback."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        input=given,
        capture_output=True,
        env={**ENVIRONMENT, **(variables or {})},
        check=False,
        timeout=60,
    )
    result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in result.err
    return result


def run_here(*arguments: str | Path) -> Result:
    """Run `batproto` in this process: for the many cases in which a process of its own would show nothing more."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
    assert isinstance(ended.value.code, int)
    return Result(ended.value.code, out.read(), err.read())


def run_on_terminal(
    *arguments: str | Path, variables: Mapping[str, str] | None = None, out: Path | None = None
) -> tuple[int, str]:
    """Run `batproto` on a terminal, with standard output in a file if one is given: (status, what the terminal got)."""
    terminal, its_end = pty.openpty()
    with (
        nullcontext(its_end) if out is None else open(out, "wb") as standard_output,
        subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            stdin=its_end,
            stdout=standard_output,
            stderr=its_end,
            env={**ENVIRONMENT, "COLUMNS": "1000", **(variables or {})},
        ) as process,
    ):
        os.close(its_end)
        shown = b"".join(iter(lambda: _read_terminal(terminal), b""))
    os.close(terminal)
    return process.returncode, shown.decode().replace("\r\n", "\n")


def _read_terminal(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other end is closed
        return b""


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def write_archive(path: Path, members: Iterable[tuple[str, bytes]], mode: str = "w:xz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]  # the mode is not a literal here
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def json_values(text: str) -> list[object]:
    """The JSON values that follow one another in a text, as `jq` reads them."""
    values = []
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        values.append(value)
        text = text[end:]
    return values


def as_json(message: Message) -> object:
    return json.loads(message.to_json())


@pytest.fixture
def message_file(tmp_path: Path) -> Path:
    return write(tmp_path / "00004-b2e.bin", MESSAGE.to_binary())


@pytest.fixture(scope="module", params=["binary", "json"])
def recorded_run(request: pytest.FixtureRequest) -> Path:
    """The smallest recorded run of a format."""
    return min((path for path in runs() if path.name.endswith(f"__{request.param}.tar.xz")), key=_file_size)


def _file_size(path: Path) -> int:
    return path.stat().st_size


@pytest.fixture(autouse=True)
def no_deciding_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in DECIDING_VARIABLES:
        monkeypatch.delenv(name, raising=False)


# The tree


def test_a_message_is_a_tree(message_file: Path) -> None:
    size = message_file.stat().st_size
    assert run("dump", message_file) == Result(
        0,
        f"""\
{message_file}: binary, Batsim to EDC, now 3.0, 5 events, {size} bytes
├── [0] JobSubmittedEvent at 1.0
│   ├── job_id: "w0!1"
│   ├── job: resource_request=2 walltime=9.5 profile_id="w0!d"
│   └── submission_time: 0.5
├── [1] ExecuteJobEvent at 2.0
│   ├── job_id: "w0!1"
│   └── allocation: host_allocation="0-1" executor_placement=SpreadOverHostsFirst
├── [2] RejectJobEvent at 2.0
│   └── job_id: "w1!1"
├── [3] JobCompletedEvent at 3.0
│   ├── job_id: "w0!2"
│   ├── state: COMPLETED_FAILED
│   └── return_code: 1
└── [4] JobsKilledEvent at 3.0
    ├── job_ids: ["w0!7", "w0!8"]
    └── progresses: [{{job_id="w0!9" wrapper=KillProgressAtomicProfile{{profile_id="w0!d" progress=0.5}}}}]
""",
        "",
    )


def test_the_two_formats_give_the_same_tree(tmp_path: Path) -> None:
    binary = run_here("dump", write(tmp_path / "a.bin", MESSAGE.to_binary())).out.splitlines()
    text = run_here("dump", write(tmp_path / "a.json", MESSAGE.to_json())).out.splitlines()
    with_nul = run_here("dump", write(tmp_path / "nul", MESSAGE.to_json() + "\0")).out.splitlines()
    assert binary[1:] == text[1:] == with_nul[1:]
    assert ": binary, now" in binary[0]
    assert ": JSON, now" in text[0]


def test_an_encoding_without_lines_gets_ascii(message_file: Path) -> None:
    out = run("dump", message_file, variables={"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}).out
    assert "|-- [0] JobSubmittedEvent" in out
    assert '|   |-- job_id: "w0!1"' in out
    assert "`-- [4] JobsKilledEvent" in out


def test_the_init_frame_shows_its_text(tmp_path: Path) -> None:
    frame = write(tmp_path / "00000-b2e.bin", frames.encode_init('{"a": 1}'))
    assert run_here("dump", frame).out == f"{frame}: init frame, Batsim to EDC, 12 bytes\n└── text: '{{\"a\": 1}}'\n"


@pytest.mark.parametrize(("format", "words"), [("binary", "binary"), ("json", "JSON")])
def test_the_hello_frame_shows_flags_format_and_message(tmp_path: Path, format: str, words: str) -> None:
    frame = write(tmp_path / "hello", frames.encode_hello(HELLO, format))
    first, *others = run_here("dump", frame).out.splitlines()
    flags = frames.FLAGS[format]
    assert f"hello frame ({words}), EDC to Batsim, flags {flags}, now 0.0, 1 event," in first
    assert '    ├── decision_component_name: "test"' in others


def test_nothing_of_a_message_can_reach_the_terminal_as_a_command(tmp_path: Path) -> None:
    job = "[red]x[/red]\x1b[31m\r\n\x07\u202e\x9b\\é∪"
    path = write(tmp_path / "a\x1b[31m.bin", Message(0.0, (RejectJobEvent(job_id=job),)).to_binary())
    status, shown = run_on_terminal("dump", path)
    assert status == 0
    assert r'"[red]x[/red]\x1b[31m\r\n\x07\u202e\x9b\\é∪"' in shown
    assert r"a\x1b[31m.bin" in shown
    broken = run("dump", write(tmp_path / "b\x1b[31m.bin", b"?")).err
    assert r"b\x1b[31m.bin" in broken


def test_quotes_are_chosen_so_that_json_in_a_string_stays_readable(tmp_path: Path) -> None:
    events = (RejectJobEvent(job_id='{"a": "b"}'), RejectJobEvent(job_id="it's"))
    out = run_here("dump", write(tmp_path / "a", Message(0.0, events).to_binary())).out
    assert 'job_id: \'{"a": "b"}\'\n' in out
    assert 'job_id: "it\'s"\n' in out


def test_long_vectors_and_texts_are_shortened_unless_full(tmp_path: Path) -> None:
    profile = ParallelTaskProfile(Doubles(range(100)), Doubles(range(9)))
    event = RegisterProfileEvent(profile=ProfileAndId("w!p", profile, extra_data="x" * 5000))
    path = write(tmp_path / "a", Message(0.0, (event,)).to_binary())
    out = run_here("dump", path).out
    assert "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, ... 92 more]" in out
    assert "6.0, 7.0, 8.0]" in out  # "... 1 more" would be no shorter
    assert '"' + "x" * 1000 + '" ... 4000 more characters' in out
    full = run_here("dump", "--full", path).out
    assert "98.0, 99.0]" in full
    assert '"' + "x" * 5000 + '"' in full


def test_each_of_many_hosts_has_its_line(tmp_path: Path) -> None:
    hosts = tuple(Host(id=number, name=f"h{number}", computation_speed=Doubles([1e9])) for number in range(50))
    odd = Host(id=50, name="h50", properties=(HostProperty("k" * 100, "v" * 100),), computation_speed=Doubles([1]))
    event = SimulationBeginsEvent(
        batprotocol_version="0.1.0",
        batsim_version="5",
        host_number=51,
        computation_host_number=51,
        computation_hosts=(*hosts, odd),
        storage_host_number=0,
        storage_hosts=(),
        batsim_arguments=(),
        batsim_execution_context_json="{}",
        workloads=(),
        external_event_lists=(),
    )
    lines = run_here("dump", write(tmp_path / "a", Message(0.0, (event,)).to_binary())).out.splitlines()
    assert "    ├── computation_hosts: 51 entries" in lines
    start = '    │   ├── [7] id=7 name="h7" pstate=0 pstate_count=1 state=SLEEPING core_count=1 '
    assert f"{start.replace('7', '0')}computation_speed=[1000000000.0]" in lines
    assert "    │   ├── [1] to [49] 49 entries like [0], but for their id and name" in lines
    assert "    │   └── [50]" in lines
    assert "    ├── storage_hosts: []" in lines
    lines = run_here("dump", "--full", tmp_path / "a").out.splitlines()
    assert f"{start}computation_speed=[1000000000.0]" in lines
    assert not any("entries like" in line for line in lines)


def test_numbers_that_the_schema_does_not_name_are_marked(tmp_path: Path) -> None:
    data = Message(0.0, (JobCompletedEvent(job_id="w!1", state=FinalJobState(77)),)).to_binary()
    assert "state: 77 (unknown)" in run_here("dump", write(tmp_path / "a", data)).out


# Colour, and who gets none


def test_colour_on_a_terminal(message_file: Path) -> None:
    status, shown = run_on_terminal("dump", message_file)
    assert status == 0
    assert "\x1b[1;36mJobSubmittedEvent\x1b[0m" in shown
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == run("dump", message_file).out


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_no_colour_where_nobody_wants_it(message_file: Path, variables: dict[str, str]) -> None:
    status, shown = run_on_terminal("dump", message_file, variables=variables)
    assert (status, shown) == (0, run("dump", message_file).out)


def test_no_colour_in_a_pipe_unless_forced(message_file: Path) -> None:
    assert "\x1b" not in run("dump", message_file).out
    assert "\x1b[" in run("dump", message_file, variables={"FORCE_COLOR": "1"}).out


def test_lines_in_a_pipe_are_never_wrapped(tmp_path: Path) -> None:
    path = write(tmp_path / "a", Message(0.0, (RejectJobEvent(job_id="w!" + "long " * 150),)).to_binary())
    assert len(run("dump", path, variables={"COLUMNS": "40"}).out.splitlines()) == 3


# JSON


@pytest.mark.parametrize("option", ["--json", "--json-lines"])
def test_json_is_the_message(message_file: Path, option: str) -> None:
    result = run("dump", option, message_file)
    assert result.status == 0
    assert json.loads(result.out) == as_json(MESSAGE)
    assert result.out.endswith("}\n")
    assert (result.out.count("\n") == 1) == (option == "--json-lines")


def test_json_is_the_same_for_every_locale(tmp_path: Path) -> None:
    path = write(tmp_path / "a", Message(0.0, (RejectJobEvent(job_id="é∪"),)).to_binary())
    out = run("dump", "--json", path, variables={"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}).out
    assert json.loads(out)["events"][0]["event"]["job_id"] == "é∪"


@pytest.mark.parametrize("option", ["--json", "--json-lines"])
def test_json_of_a_recorded_run(recorded_run: Path, option: str) -> None:
    messages = read_run(recorded_run)
    values = json_values(run("dump", option, recorded_run).out)
    assert values[0] == {"init": frames.decode_init(messages[0].data)}
    assert values[1:] == [as_json(decode(message.data)) for message in messages[1:]]


def test_json_of_what_is_broken_says_so(tmp_path: Path) -> None:
    text = MESSAGE.to_json()
    path = write(tmp_path / "a.json", text[: text.index("w1!1")])
    result = run_here("dump", "--json-lines", path)
    shown = json.loads(result.out)
    assert result.status == 1
    assert shown["now"] == 3.0
    assert shown["events"][:2] == json.loads(text)["events"][:2]
    error = shown["error"]
    assert error["path"] == "events[2].event.job_id"
    assert result.err == f"batproto: {path}: events[2].event.job_id, byte {error['offset']}: {error['reason']}\n"


# Filters


def _events_shown(*arguments: str | Path) -> list[str]:
    lines = [json.loads(line) for line in run_here("dump", "--json-lines", *arguments).out.splitlines()]
    return [event["event_type"] for message in lines for event in message["events"]]


@pytest.mark.parametrize("name", ["JobSubmittedEvent", "JobSubmitted", "jobsubmitted", "JOBSUBMITTEDEVENT"])
def test_events_of_a_type(message_file: Path, name: str) -> None:
    assert _events_shown("--event", name, message_file) == ["JobSubmittedEvent"]


@pytest.mark.parametrize(
    ("jobs", "shown"),
    [
        (["w0!1"], [SUBMITTED, EXECUTED]),
        (["1"], [SUBMITTED, EXECUTED, REJECTED]),
        (["w1!1", "w0!2"], [REJECTED, COMPLETED]),
        (["w0!7"], [KILLED]),
        (["w0!9"], [KILLED]),
        (["w0!d"], []),
        (["w0"], []),
    ],
)
def test_events_of_a_job(message_file: Path, jobs: list[str], shown: Sequence[object]) -> None:
    options = [word for job in jobs for word in ("--job", job)]
    assert _events_shown(*options, message_file) == [type(event).__name__ for event in shown]


def test_filters_hold_together_and_leave_out_messages_without_events(message_file: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", Message(9.0, (SimulationEndsEvent(),)).to_binary())
    init = write(tmp_path / "init", frames.encode_init("x"))
    result = run_here("dump", "-e", "ExecuteJob", "-e", "RejectJob", "-j", "w0!1", init, message_file, other)
    size = message_file.stat().st_size
    assert result.out == (
        f"{message_file}: binary, Batsim to EDC, now 3.0, 1 of 5 events, {size} bytes\n"
        "└── [1] ExecuteJobEvent at 2.0\n"
        '    ├── job_id: "w0!1"\n'
        '    └── allocation: host_allocation="0-1" executor_placement=SpreadOverHostsFirst\n'
    )
    assert result.status == 0


def test_an_unknown_event_type_is_a_wrong_argument(message_file: Path) -> None:
    result = run_here("dump", "--event", "JobSubmited", message_file)
    assert result == Result(
        2,
        "",
        "batproto dump: no event type is called 'JobSubmited'; did you mean JobSubmittedEvent?"
        " (see batproto dump --help)\n",
    )
    assert "AllStaticJobsHaveBeenSubmittedEvent" in run_here("dump", "--event", "submitted", message_file).err


# What is broken


def test_a_broken_message_shows_what_was_read(tmp_path: Path) -> None:
    path = write(tmp_path / "broken.bin", MESSAGE.to_binary().replace(b"w1!1\0", b"w1!1?"))
    with pytest.raises(DecodeError) as expected:
        decode(path.read_bytes())
    result = run("dump", path)
    assert result.status == 1
    assert result.err == f"batproto: {path}: {expected.value}\n"
    assert re.search(r": events\[2\]\.event\.job_id, byte \d+: ", result.err)
    whole = run("dump", write(tmp_path / "whole.bin", MESSAGE.to_binary())).out.splitlines()
    first, *others = result.out.splitlines()
    assert first.endswith(f"{path.stat().st_size} bytes, broken")
    assert others == [*whole[1:8], "└── [2] RejectJobEvent at 2.0"]


def test_every_truncation_is_told_with_its_place(recorded_run: Path, tmp_path: Path) -> None:
    data = max((message.data for message in read_run(recorded_run)[2:]), key=len)
    path = tmp_path / "cut"
    told = 0
    for length in range(1, len(data), max(1, len(data) // 150)):
        path.write_bytes(data[:length])
        result = run_here("dump", path)
        fault = _fault_of(data[:length])
        if fault is None:  # only what the format ignores is missing: padding, a line break, the final NUL
            assert result.status == 0
        else:
            told += 1
            assert (result.status, result.err) == (1, f"batproto: {path}: {fault}\n")
            assert fault.path or fault.offset is not None
    assert told > 100


def _fault_of(data: bytes) -> DecodeError | None:
    try:
        decode(data)
    except DecodeError as fault:
        return fault
    return None


def test_a_broken_hello_frame_counts_its_bytes_from_the_frame(tmp_path: Path) -> None:
    path = write(tmp_path / "hello", frames.encode_hello(HELLO, "json").replace(b'"test"', b"12345 "))
    result = run_here("dump", path)
    assert result.status == 1
    assert f"decision_component_name, byte {path.read_bytes().index(b'12345')}: " in result.err
    assert "hello frame" in result.out
    assert 'batprotocol_version: "0.1.0"' in result.out


def test_the_other_files_are_still_printed(message_file: Path, tmp_path: Path) -> None:
    broken = write(tmp_path / "broken", b"\x10\0\0\0nonsense")
    result = run("dump", tmp_path / "missing", broken, message_file)
    assert result.status == 1
    missing, wrong = result.err.splitlines()
    assert missing == f"batproto: {tmp_path / 'missing'}: no such file or directory"
    assert wrong.startswith(f"batproto: {broken}: byte 0: ")
    assert f"{message_file}: binary" in result.out


def test_fields_of_a_newer_schema_get_a_remark(tmp_path: Path) -> None:
    text = '{"now": 1,"later": [],"events": [{"event_type": "RejectJobEvent","event": {"job_id": "w!1","why": {}}}]}'
    path = write(tmp_path / "newer.json", text)
    result = run_here("dump", path)
    assert result.status == 0
    assert '    └── job_id: "w!1"' in result.out
    assert result.err.startswith(f"batproto: {path}: ")
    assert "later" in result.err
    assert "events[0].event.why" in result.err
    frame = write(tmp_path / "frame", b"\x02\0\0\0" + text.encode())
    assert "events[0].event.why" in run_here("dump", frame).err
    assert run_here("validate", path).status == 1


# Where messages come from


@pytest.mark.parametrize("data", [MESSAGE.to_binary(), MESSAGE.to_json().encode(), frames.encode_hello(HELLO)])
def test_standard_input(data: bytes) -> None:
    result = run("dump", "--json", "-", given=data)
    assert result.status == 0
    assert json.loads(result.out) == as_json(decode(data))


def test_an_archive_on_standard_input(recorded_run: Path) -> None:
    from_file = run("dump", "--json-lines", recorded_run)
    assert run("dump", "--json-lines", "-", given=recorded_run.read_bytes()) == from_file


def test_empty_standard_input() -> None:
    assert run("dump", "-") == Result(1, "", "batproto: standard input: is empty\n")


def test_a_pipe_with_a_name(message_file: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([*PROGRAM, "dump", "--json", pipe], stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        pipe.write_bytes(message_file.read_bytes())
        out, _ = process.communicate()
    assert json.loads(out) == as_json(MESSAGE)


def test_several_files_are_printed_in_the_order_of_the_arguments(tmp_path: Path) -> None:
    files = [write(tmp_path / name, Message(now, ()).to_binary()) for now, name in enumerate("cab")]
    out = run_here("dump", "--json-lines", *files).out
    assert [json.loads(line)["now"] for line in out.splitlines()] == [0, 1, 2]


def test_a_directory_is_its_messages_by_name(tmp_path: Path) -> None:
    names = ["00002-b2e.bin", "00010-e2b.bin", "a.json", "b.fb", "deep/00001-e2b.bin"]
    ignored = ["twin/00002-b2e.json", "run.json", "jobs.csv", ".hidden.bin", ".git/x.bin", "notes.txt"]
    for number, name in enumerate(reversed(names)):
        message = Message(len(names) - 1 - number, ())
        write(tmp_path / name, message.to_json() if name.endswith("json") else message.to_binary())
    for name in ignored:
        write(tmp_path / name, "nonsense")
    write_archive(tmp_path / "z.tar.xz", [("00001-b2e.bin", Message(5, ()).to_binary())])
    result = run_here("dump", "--json-lines", tmp_path)
    assert result.err == ""
    assert [json.loads(line)["now"] for line in result.out.splitlines()] == [0, 1, 2, 3, 4, 5]


def test_a_directory_without_messages(tmp_path: Path) -> None:
    result = run_here("dump", tmp_path)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"batproto: {tmp_path}: holds no message files (*.bin,")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(message_file: Path) -> None:
    message_file.chmod(0)
    assert run("dump", message_file) == Result(1, "", f"batproto: {message_file}: permission denied\n")


def test_an_archive_is_its_messages_by_name(recorded_run: Path) -> None:
    lines = [line for line in run_here("dump", recorded_run).out.splitlines() if line[0] not in "├│└ "]
    messages = read_run(recorded_run)
    assert [line.split(": ")[0] for line in lines] == [
        f"{recorded_run}/{message.number:05}-{message.direction}.bin" for message in messages
    ]
    ways = {"b2e": "Batsim to EDC", "e2b": "EDC to Batsim"}
    assert all(ways[message.direction] in line for line, message in zip(lines, messages, strict=True))


@pytest.mark.parametrize(("suffix", "mode"), [(".tar.xz", "w:xz"), (".tar", "w"), (".tar.gz", "w:gz"), ("", "w:xz")])
def test_archives_need_no_order_and_no_name(tmp_path: Path, suffix: str, mode: str) -> None:
    members = [(f"./run/{number:05}-b2e.bin", Message(number, ()).to_binary()) for number in (2, 0, 1)]
    others = [("./run/run.json", b"{}"), ("./run/jobs.csv", b"x"), ("./run/twin/00000-b2e.json", b"?")]
    archive = write_archive(tmp_path / f"run{suffix}", [*others, *members], mode)
    result = run_here("dump", "--json-lines", archive)
    assert result.err == ""
    assert [json.loads(line)["now"] for line in result.out.splitlines()] == [0, 1, 2]


def test_a_member_of_an_archive(recorded_run: Path) -> None:
    message = read_run(recorded_run)[2]
    member = f"{recorded_run}/00002-{message.direction}.bin"
    assert json.loads(run_here("dump", "--json", member).out) == as_json(decode(message.data))
    missing = run_here("dump", f"{recorded_run}/missing.bin")
    assert missing == Result(1, "", f"batproto: {recorded_run}: has no member missing.bin\n")


def test_an_archive_that_is_cut_short_is_read_up_to_there(tmp_path: Path) -> None:
    members = [(f"{number:05}-b2e.bin", os.urandom(30_000) if number else MESSAGE.to_binary()) for number in range(3)]
    whole = write_archive(tmp_path / "whole.tar.xz", members).read_bytes()
    result = run_here("dump", "-e", "RejectJob", write(tmp_path / "cut.tar.xz", whole[: len(whole) // 2]))
    assert result.status == 1
    assert "[2] RejectJobEvent" in result.out
    assert "cut.tar.xz: breaks off after" in result.err


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\xfd7zXZ\0", b"\x1f\x8b\x08\0"])
def test_what_is_no_archive(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path / "a.tar.xz", data)
    result = run_here("dump", path)
    assert (result.status, result.out) == (1, "")
    assert result.err == f"batproto: {path}: is not a tar archive, or not a whole one\n"


def test_an_archive_without_messages(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.tar.xz", [("readme.txt", b"x")])
    assert run_here("dump", path) == Result(1, "", f"batproto: {path}: holds no messages (*.bin, *.json, *.fb)\n")


def test_what_is_larger_than_any_message_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bin", b"")
    os.truncate(path, 2**31 + 1)
    assert "a.bin: is larger than a message can be" in run_here("validate", path).err
    member = tarfile.TarInfo("00001-b2e.bin")
    member.size = 2**31 + 1
    write(tmp_path / "b.tar", member.tobuf() + bytes(1024))  # the header says it all: `addfile` wants all the bytes
    assert "b.tar/00001-b2e.bin: is larger than a message can be" in run_here("validate", tmp_path / "b.tar").err


# validate


def test_validate_tells_what_is_good(message_file: Path, recorded_run: Path) -> None:
    messages = read_run(recorded_run)
    events = sum(len(decode(message.data).events) for message in messages[1:])
    result = run("validate", message_file, recorded_run)
    assert result == Result(
        0,
        f"ok {message_file}: binary, 5 events\n"
        f"ok {recorded_run}: {len(messages)} messages, {events} events\n"
        f"2 files ({len(messages) + 1} messages), all good\n",
        "",
    )
    assert run("validate", "--quiet", message_file, recorded_run) == Result(0, "", "")


def test_validate_tells_what_is_bad(message_file: Path, tmp_path: Path) -> None:
    broken = write(tmp_path / "broken.json", '{"now": 1}')
    archive = write_archive(tmp_path / "a.tar.xz", [("1.bin", b"?"), ("2.bin", MESSAGE.to_binary())])
    result = run("validate", broken, message_file, archive, tmp_path / "missing")
    assert result.status == 1
    assert result.out == f"ok {message_file}: binary, 5 events\n4 files (5 messages), 3 of them bad\n"
    assert [line.split(": ")[1] for line in result.err.splitlines()] == [
        str(broken),
        f"{archive}/1.bin",
        str(tmp_path / "missing"),
    ]
    quiet = run("validate", "-q", broken, message_file, archive, tmp_path / "missing")
    assert quiet == Result(1, "", result.err)


def test_validate_knows_the_handshake(tmp_path: Path) -> None:
    init = write(tmp_path / "0", frames.encode_init("x"))
    hello = write(tmp_path / "1", frames.encode_hello(HELLO, "json"))
    result = run_here("validate", init, hello)
    assert result.out.splitlines()[:2] == [f"ok {init}: init frame", f"ok {hello}: hello frame (JSON), 1 event"]


# convert


def test_convert_there_and_back(message_file: Path, tmp_path: Path) -> None:
    text, binary = tmp_path / "a.json", tmp_path / "a.fb"
    assert run("convert", message_file, text) == Result(0, "", "")
    assert text.read_text() == MESSAGE.to_json(2) + "\n"
    assert run("convert", text, binary) == Result(0, "", "")
    assert binary.read_bytes() == MESSAGE.to_binary()


def test_convert_through_pipes() -> None:
    assert json.loads(run("convert", "-", "-", given=MESSAGE.to_binary()).out) == as_json(MESSAGE)
    converted = subprocess.run(
        [*PROGRAM, "convert", "-", "-"],
        input=MESSAGE.to_json().encode(),
        capture_output=True,
        env=ENVIRONMENT,
        check=True,
    )
    assert converted.stdout == MESSAGE.to_binary()


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("a.json", [], "json"),
        ("a.bin", [], "binary"),
        ("a.fb", [], "binary"),
        ("a", [], "json"),
        ("a.txt", [], "json"),
        ("a.json", ["--to", "binary"], "binary"),
        ("a.bin", ["--to", "json"], "json"),
    ],
)
def test_convert_finds_out_the_format(
    message_file: Path, tmp_path: Path, name: str, options: list[str], expected: str
) -> None:
    assert run_here("convert", message_file, tmp_path / name, *options).status == 0
    data = (tmp_path / name).read_bytes()
    assert detect(data) == expected
    assert decode(data) == MESSAGE


def test_convert_indents_as_asked(message_file: Path) -> None:
    assert run_here("convert", "--indent", "0", message_file, "-").out == MESSAGE.to_json() + "\n"
    assert run_here("convert", "--indent", "4", message_file, "-").out == MESSAGE.to_json(4) + "\n"
    assert run_here("convert", "--indent", "-1", message_file, "-").status == 2


def test_convert_in_place_keeps_mode_and_link(message_file: Path, tmp_path: Path) -> None:
    message_file.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(message_file)
    assert run_here("convert", message_file, link).status == 0
    assert link.is_symlink()
    assert message_file.read_text() == MESSAGE.to_json(2) + "\n"
    assert stat.S_IMODE(message_file.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00004-b2e.bin", "link"]


def test_convert_to_what_is_no_file(message_file: Path) -> None:
    assert json.loads(run("convert", "--to", "json", message_file, "/dev/stdout").out) == as_json(MESSAGE)


@pytest.mark.parametrize("format", ["binary", "json"])
def test_convert_keeps_the_hello_frame(tmp_path: Path, format: str) -> None:
    other = {"binary": "json", "json": "binary"}[format]
    frame = write(tmp_path / "hello", frames.encode_hello(HELLO, format))
    assert run_here("convert", frame, tmp_path / "out").status == 0
    assert (tmp_path / "out").read_bytes() == frames.encode_hello(HELLO, other)


def test_what_cannot_be_converted_leaves_the_target_alone(message_file: Path, tmp_path: Path) -> None:
    target = write(tmp_path / "target.json", "precious")
    init = write(tmp_path / "init", frames.encode_init("x"))
    broken = write(tmp_path / "broken", b"nonsense")
    newer = write(tmp_path / "newer", '{"now": 1,"events": [],"later": 1}')
    for source in (init, broken, newer, tmp_path, tmp_path / "missing"):
        result = run_here("convert", source, target)
        assert result.status == 1
        assert result.err.count("\n") == 1
        assert result.out == ""
    assert target.read_text() == "precious"
    in_no_folder = tmp_path / "no" / "folder.json"
    assert run_here("convert", message_file, in_no_folder) == Result(
        1, "", f"batproto: {in_no_folder}: no such file or directory\n"
    )
    assert run_here("convert", message_file, tmp_path) == Result(1, "", f"batproto: {tmp_path}: is a directory\n")


# schema


def test_the_schema_lists_its_names_events_first() -> None:
    lines = run("schema").out.splitlines()
    assert lines[:2] == ["Events from Batsim", "  JobSubmittedEvent"]
    for name in ("  ExecuteJobEvent", "  Job", "  TemporalTrigger", "  FinalJobState", "Tables", "Unions", "Enums"):
        assert name in lines
    assert lines.index("  ExecuteJobEvent") < lines.index("Tables") < lines.index("Unions") < lines.index("Enums")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("job", "table Job"),
        ("Job", "  walltime: float64 = null"),
        ("Job", "  profile_id: string (required)"),
        ("Host", "  computation_speed: [float64] (required)"),
        ("Host", "  properties: [HostProperty] = null"),
        ("Host", "  state: HostState = SLEEPING"),
        ("Host", "  core_count: uint32 = 1"),
        ("TriggerProbe", "  force_data_emission: bool = true"),
        ("JobCompletedEvent", "      The job's final state."),
        ("jobcompleted", "table JobCompletedEvent: an event that Batsim sends"),
        ("CallMeLater", "  when: TemporalTrigger (required)"),
        ("CallMeLater", '      One of OneShot, Periodic; "when_type" names it in JSON.'),
        ("SimulationEnds", "  no fields"),
        ("finaljobstate", "enum FinalJobState: int8"),
        ("FinalJobState", "  COMPLETED_KILLED = 3"),
        ("FinalJobState", "      Job executed but killed by the decision process."),
        ("TemporalTrigger", "union TemporalTrigger"),
        ("TemporalTrigger", "  Periodic = 2"),
        ("ExternalEvent", "union ExternalEvent"),
    ],
)
def test_the_schema_of_a_name(name: str, expected: str) -> None:
    result = run_here("schema", name)
    assert result.status == 0
    assert expected in result.out.splitlines()


def test_comments_are_wrapped_on_a_terminal_only() -> None:
    _, shown = run_on_terminal("schema", "CallMeLater", variables={"COLUMNS": "60"})
    comments = [line for line in re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines() if line.startswith("      ")]
    assert 50 < max(map(len, comments)) <= 60
    assert max(map(len, run("schema", "CallMeLater").out.splitlines())) > 100


def test_an_unknown_name_gets_suggestions() -> None:
    result = run_here("schema", "JobStat")
    assert result.status == 2
    assert "did you mean" in result.err
    assert "FinalJobState" in result.err
    assert result.err.count("\n") == 1


# The program


@pytest.mark.parametrize("command", [[], ["dump"], ["validate"], ["convert"], ["schema"], ["completion"]])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(command: list[str], option: str) -> None:
    result = run_here(*command, option)
    assert result.status == 0
    assert result.out.startswith("Usage: batproto")


@pytest.mark.parametrize("arguments", [["--help"], ["schema", "Job"]])
def test_rich_is_imported_only_where_there_is_colour(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from batprotocol.cli.main import main\n"
        f"try: main({arguments})\n"
        "finally: assert 'rich' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr


def test_version() -> None:
    result = run("--version")
    assert re.fullmatch(rf"batproto \S+, codec: \w+, source tree: {re.escape(str(ROOT))}\n", result.out)


@pytest.fixture(scope="module")
def bare_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed where there is no compiler; where it lies."""
    root = tmp_path_factory.mktemp("site-packages")
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "batprotocol", root / "batprotocol", ignore=ignored)
    for name in ("_schema", "fb"):
        shutil.copytree(ROOT / "generated" / name, root / "batprotocol" / name, ignore=ignored)
    return root


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["--version"], 0), (["run", f"{ROOT}/examples/fcfs.py:FCFS", "--endpoint", "nowhere"], 1)],
)
@pytest.mark.parametrize("engine", ["", "python"])
def test_a_slow_engine_that_nobody_asked_for_is_told(
    bare_package: Path, tmp_path: Path, engine: str, arguments: list[str], status: int
) -> None:
    environment = {**ENVIRONMENT, "PYTHONPATH": str(bare_package), "BATPROTOCOL_ENGINE": engine}
    command = [sys.executable, "-m", "batprotocol", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert "source tree" not in done.stdout
    told = done.stderr.startswith("batproto: messages are read and written by the Python engine, which takes some 20 ")
    assert told == (engine == "")
    assert ("Install a C compiler (Debian and Ubuntu: apt-get install gcc python3-dev)" in done.stderr) == told


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["dump"],
        ["dump", "--nosuch", "x"],
        ["convert", "x"],
        ["convert", "--to", "xml", "x", "y"],
        ["completion", "tcsh"],
        ["completion"],
        ["schema", "Nosuch"],
    ],
)
def test_wrong_arguments_are_one_sentence(arguments: list[str]) -> None:
    result = run_here(*arguments)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("batproto")
    assert result.err.count("\n") == 1
    assert "--help)" in result.err


def test_no_arguments_show_the_help() -> None:
    result = run_here()
    assert result.status == 2
    assert result.err.startswith("Usage: batproto")


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    events = tuple(RejectJobEvent(job_id=f"w!{number}") for number in range(20_000))
    return write(tmp_path / "long.bin", Message(0.0, events).to_binary())


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_closed_pipe_ends_it_quietly(long_file: Path, options: list[str], unbuffered: str) -> None:
    with subprocess.Popen(
        [*PROGRAM, "dump", *options, long_file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_head_takes_the_first_line(long_file: Path) -> None:
    command = f'"$@" dump {long_file} | head -1'
    done = subprocess.run(["sh", "-c", command, "sh", *PROGRAM], capture_output=True, env=ENVIRONMENT, check=False)
    assert done.stdout.decode().startswith(f"{long_file}: binary, now 0.0, 20,000 events, ")
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk(message_file: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "dump", message_file], stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"batproto: standard output: no space left on device\n"


def test_control_c(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [*PROGRAM, "dump", pipe],
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # background jobs inherit it as ignored
    ) as process:
        with open(pipe, "wb"):  # waits until it is opened on the other side
            process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        err = process.stderr.read()
    assert process.returncode == 130
    assert err.strip() == b""


# Progress


@pytest.fixture
def long_run(tmp_path: Path) -> Path:
    members = [(f"{number:05}-b2e.bin", Message(number, ()).to_binary()) for number in range(300)]
    return write_archive(tmp_path / "run.tar.xz", members)


def test_a_progress_bar_on_long_work_never_gets_into_the_output(long_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, shown = run_on_terminal("dump", "--json-lines", long_run, tmp_path / "missing", out=out)
    assert status == 1
    assert "messages" in shown
    assert "%" in shown
    assert f"batproto: {tmp_path / 'missing'}: no such file or directory\n" in shown
    assert out.read_text() == run("dump", "--json-lines", long_run).out


def test_no_progress_bar_in_between_what_is_printed(long_run: Path, message_file: Path, tmp_path: Path) -> None:
    assert "%" not in run_on_terminal("dump", "--json-lines", long_run)[1]
    assert run_on_terminal("dump", message_file, out=tmp_path / "out") == (0, "")
    assert run("dump", long_run).err == ""
    assert "%" in run_on_terminal("validate", "--quiet", long_run)[1]


# Completion


def complete(*words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    variables = {
        "_BATPROTO_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["batproto", *words]),
        "COMP_CWORD": str(len(words)),
    }
    return [line.split(",", 1)[1] for line in run(variables=variables).out.splitlines()]


def test_completion_of_commands_events_and_names() -> None:
    assert complete("d") == ["dump"]
    assert "--json-lines" in complete("dump", "--js")
    assert complete("dump", "--event", "jobs") == ["JobSubmittedEvent", "JobsKilledEvent"]
    assert complete("schema", "hostp") == ["HostProperty"]
    assert complete("convert", "--to", "j") == ["json"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    result = run_here("completion", shell)
    assert result.status == 0
    assert f"_BATPROTO_COMPLETE={shell}_complete" in result.out


# Everything that was recorded


@pytest.mark.parametrize("path", runs(), ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_every_recorded_run_can_be_dumped(path: Path) -> None:
    result = run_here("dump", path)
    assert (result.status, result.err) == (0, "")
    titles = [line for line in result.out.splitlines() if line[0] not in "├│└ "]
    assert len(titles) == len(read_run(path))
