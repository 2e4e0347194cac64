"""`batproto dump`: the tree, JSON, filters, and what is shown of what is broken."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from commands import (
    COMPLETED,
    EXECUTED,
    HELLO,
    KILLED,
    MESSAGE,
    REJECTED,
    SUBMITTED,
    Result,
    as_json,
    json_values,
    run,
    run_here,
    run_on_terminal,
    write,
)
from support import read_run, runs

from batprotocol.errors import DecodeError
from batprotocol.model import (
    Doubles,
    FinalJobState,
    Host,
    HostProperty,
    JobCompletedEvent,
    Message,
    ParallelTaskProfile,
    ProfileAndId,
    RegisterProfileEvent,
    RejectJobEvent,
    SimulationBeginsEvent,
    SimulationEndsEvent,
)
from batprotocol.wire import decode, frames

# The tree


def test_a_message_is_a_tree(message_file: Path) -> None:
    size = message_file.stat().st_size
    assert run_here("dump", message_file) == Result(
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


@pytest.mark.slow
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
    broken = run_here("dump", write(tmp_path / "b\x1b[31m.bin", b"?")).err
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
    assert "    │   ├── [1] to [49] 49 entries like [0], except for their id and name" in lines
    assert "    │   └── [50]" in lines
    assert "    ├── storage_hosts: []" in lines
    lines = run_here("dump", "--full", tmp_path / "a").out.splitlines()
    assert f"{start}computation_speed=[1000000000.0]" in lines
    assert not any("entries like" in line for line in lines)


def test_numbers_that_the_schema_does_not_name_are_marked(tmp_path: Path) -> None:
    data = Message(0.0, (JobCompletedEvent(job_id="w!1", state=FinalJobState(77)),)).to_binary()
    assert "state: 77 (unknown)" in run_here("dump", write(tmp_path / "a", data)).out


# JSON


@pytest.mark.parametrize("option", ["--json", "--json-lines"])
def test_json_is_the_message(message_file: Path, option: str) -> None:
    result = run_here("dump", option, message_file)
    assert result.status == 0
    assert json.loads(result.out) == as_json(MESSAGE)
    assert result.out.endswith("}\n")
    assert (result.out.count("\n") == 1) == (option == "--json-lines")


@pytest.mark.slow
def test_json_is_the_same_for_every_locale(tmp_path: Path) -> None:
    path = write(tmp_path / "a", Message(0.0, (RejectJobEvent(job_id="é∪"),)).to_binary())
    out = run("dump", "--json", path, variables={"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}).out
    assert json.loads(out)["events"][0]["event"]["job_id"] == "é∪"


@pytest.mark.parametrize("option", ["--json", "--json-lines"])
def test_json_of_a_recorded_run(recorded_run: Path, option: str) -> None:
    messages = read_run(recorded_run)
    values = json_values(run_here("dump", option, recorded_run).out)
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
    result = run_here("dump", path)
    assert result.status == 1
    assert result.err == f"batproto: {path}: {expected.value}\n"
    assert re.search(r": events\[2\]\.event\.job_id, byte \d+: ", result.err)
    whole = run_here("dump", write(tmp_path / "whole.bin", MESSAGE.to_binary())).out.splitlines()
    first, *others = result.out.splitlines()
    assert first.endswith(f"{path.stat().st_size} bytes, broken")
    assert others == [*whole[1:8], "└── [2] RejectJobEvent at 2.0"]


@pytest.mark.once
@pytest.mark.slow
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
    result = run_here("dump", tmp_path / "missing", broken, message_file)
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


# Everything that was recorded


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("path", runs(), ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_every_recorded_run_can_be_dumped(path: Path) -> None:
    result = run_here("dump", path)
    assert (result.status, result.err) == (0, "")
    titles = [line for line in result.out.splitlines() if line[0] not in "├│└ "]
    assert len(titles) == len(read_run(path))


# What is no message, and what is size-prefixed


@pytest.mark.parametrize(("data", "found"), [(b"[]", "an array"), (b"hello world", "other text, 'hello world'")])
def test_what_is_neither_json_nor_binary_is_said_once(tmp_path: Path, data: bytes, found: str) -> None:
    file = write(tmp_path / "a.bin", data)
    reason = f"neither JSON nor binary: a message in JSON is an object in UTF-8, and this is {found}"
    assert run_here("dump", file) == Result(
        1, f"{file}: no message, {len(data)} bytes\n", f"batproto: {file}: {reason}\n"
    )


def test_size_prefixed(tmp_path: Path) -> None:
    body = Message(1.0, (RejectJobEvent(timestamp=1.0, job_id="w!1"),)).to_binary()
    data = len(body).to_bytes(4, "little") + body
    file = write(tmp_path / "a.bin", data)
    assert run_here("dump", file).err.endswith("; use --size-prefixed if it is a size-prefixed message\n")
    assert run_here("dump", "--size-prefixed", file) == Result(
        0,
        f'{file}: binary, now 1.0, 1 event, {len(data)} bytes\n└── [0] RejectJobEvent at 1.0\n    └── job_id: "w!1"\n',
        "",
    )
    assert run_here("validate", "--size-prefixed", file).status == 0
    for schema in (), ("--schema", "2024-10"):
        assert json.loads(run_here("convert", "--size-prefixed", *schema, file, "-").out)["now"] == 1.0
    write(file, data[:-5])
    refused = run_here("dump", "--size-prefixed", file)
    assert (refused.status, refused.err) == (
        1,
        f"batproto: {file}: byte 0: the size says {len(body)} bytes of a message, {len(body) - 5} are there\n",
    )
