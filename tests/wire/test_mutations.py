"""Recorded messages with random changes, 20,000 of them: each is a message or a `DecodeError`, whoever reads it.

`-m minutes` tries 200,000. The changes, and what must hold of an input, are those of `tools/fuzz.py`, which goes on for
as long as it is told.
"""

from __future__ import annotations

import subprocess
import sys
import typing
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
from batprotocol._schema import codec
from engines import needs_native
from support import ROOT

from batprotocol.errors import DecodeError
from batprotocol.model import (
    CallMeLaterEvent,
    Event,
    KillJobsEvent,
    Message,
    ParallelTaskProfile,
    Periodic,
    ProfileAndId,
    RegisterProfileEvent,
    RejectJobEvent,
    SimulationEndsEvent,
)
from batprotocol.wire import binary, engine, reader

sys.path.append(str(ROOT / "tools"))

import fuzz

PART = 10_000


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.minutes) for part in range(1, 10))])
@pytest.mark.parametrize("format", fuzz.FORMATS)
def test_changed_messages(format: str, part: int) -> None:
    count = PART if part else PART // 4
    tally = fuzz.run(fuzz.inputs((format,), seed=part, count=count), binary.ENGINES)
    print(f"\n{format}, seed {part}: {tally}")  # seen with -s
    assert tally.outcomes.total() == count
    assert set(tally.outcomes) <= {"message", "DecodeError", "EncodeError"}
    # The changes are neither so small that nothing is refused nor so large that nothing is read.
    assert tally.outcomes["message"] > count // 50
    assert tally.outcomes["DecodeError"] > count // 4


SMALL = [
    Message(1.0, (SimulationEndsEvent(timestamp=1.0),)),
    Message(2.0, (KillJobsEvent(job_ids=("a", "b")), RejectJobEvent(job_id="c"))),
    Message(3.0, (RegisterProfileEvent(profile=ProfileAndId("p", ParallelTaskProfile([1.0], [2.0]), "x")),)),
    Message(4.0, (CallMeLaterEvent(call_me_later_id="c", when=Periodic(2)),)),
]


@pytest.mark.parametrize("message", SMALL, ids=["end", "two", "profile", "call"])
def test_every_word_changed(message: Message) -> None:
    """Every word of small messages set to all that is special there: nothing is left to chance."""
    data = message.to_binary()
    for at in range(0, len(data), 4):
        for word in fuzz.special_words(at, len(data)):
            changed = bytearray(data)
            fuzz.put_word(changed, at, word)
            fuzz.check("binary", bytes(changed), careful=True)


@pytest.mark.slow
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.minutes)])
@pytest.mark.parametrize("message", SMALL, ids=["end", "two", "profile", "call"])
def test_every_character_changed(message: Message, every: int) -> None:
    """Every character of small messages put out, and each that means something put in its place and before it.

    Of those that are put in, a third, others at each place; `-m minutes` takes all.
    """
    text, characters = message.to_json().encode(), b"{}[]:,\"'\\/ \n\0x01-.eN\xff"
    for at in range(len(text)):
        fuzz.check("json", text[:at] + text[at + 1 :])
        for character in characters[at % every :: every]:
            fuzz.check("json", text[:at] + bytes([character]) + text[at:])
            fuzz.check("json", text[:at] + bytes([character]) + text[at + 1 :])


UNRECORDED = {"SimulationErrorEvent"}
"""The events that no recording has. Of one that is new, there is none yet."""


@pytest.mark.parametrize("format", fuzz.FORMATS)
def test_what_is_changed_are_whole_messages(format: str) -> None:
    sources = fuzz.recordings(format)
    every_type = {class_.__name__ for class_ in typing.get_args(Event)}
    assert {name for types in sources for name in types} == every_type - UNRECORDED
    for messages in sources.values():
        for data in messages[:10]:
            assert fuzz.check(format, data, careful=True) == "message"


@pytest.mark.parametrize("format", fuzz.FORMATS)
def test_every_change_changes_something(format: str) -> None:
    random, sources = Random(1), fuzz.recordings(format)
    message, other = fuzz.chosen(sources, random), fuzz.chosen(sources, random)
    for change in fuzz.CHANGES[format]:
        results = set()
        for _ in range(20):
            data = bytearray(message)
            change(data, random, other)
            results.add(bytes(data))
        assert len(results - {message}) > 5, change.__name__
        for tiny in (b"", b"x", b"xyz"):
            if tiny:
                change(bytearray(tiny), random, other)


def test_the_same_seed_gives_the_same_inputs() -> None:
    first, again, other = (list(fuzz.inputs(("binary", "json"), seed, 50)) for seed in (3, 3, 4))
    assert first == again != other
    assert [format for format, _ in first[:4]] == ["binary", "json", "binary", "json"]


def wrong_offset(data: bytes) -> Message:
    raise DecodeError("nothing is right", "", len(data) + 1)


def wrong_exception(data: bytes) -> Message:
    raise ZeroDivisionError


def wrong_message(data: bytes) -> Message:
    return Message(7.0)


FAULTLESS = Message(1.0, (RejectJobEvent(job_id="w!1"),)).to_binary()


@pytest.mark.parametrize(
    ("module", "name", "fault", "finding"),
    [
        (engine, "read_carefully", wrong_offset, fuzz.Finding),
        (engine, "read_carefully", wrong_exception, ZeroDivisionError),
        (codec, "decode", wrong_message, fuzz.Finding),
        (codec, "decode", wrong_exception, ZeroDivisionError),
        (reader, "read", lambda data: {"now": 7.0, "events": []}, fuzz.Finding),
    ],
)
def test_faults_are_found(
    module: ModuleType, name: str, fault: object, finding: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one of the engines or the careful reader does wrong does not go unnoticed."""
    data = {engine: b"x" + FAULTLESS}.get(module, FAULTLESS)
    fuzz.check("binary", data, careful=True)
    monkeypatch.setattr(module, name, fault)
    with pytest.raises(finding):
        fuzz.check("binary", data, careful=True)


@needs_native
def test_engines_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "decode", wrong_message)
    with pytest.raises(fuzz.Finding, match=r"python gives .* native gives"):
        fuzz.check("binary", FAULTLESS)


def test_a_writer_that_does_not_write_what_was_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    encode, times = codec.encode, iter(range(9))
    monkeypatch.setattr(codec, "encode", lambda message: encode(Message(float(next(times)))))
    with pytest.raises(fuzz.Finding, match="is not read the same"):
        fuzz.check("binary", FAULTLESS, ("python",))


def command(folder: Path, *arguments: str, program: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a folder; `program` is run before it, in the same process."""
    start = f"import runpy, sys\nsys.argv = ['fuzz.py', *{arguments!r}]\n{program}\n"
    code = f"{start}runpy.run_path({str(ROOT / 'tools' / 'fuzz.py')!r}, run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_command_counts(tmp_path: Path) -> None:
    done = command(tmp_path, "--count", "300", "--seed", "5")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].startswith("300 inputs: ")
    assert "DecodeErrors" in done.stdout
    assert "slowest" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command_goes_on_for_some_time(tmp_path: Path) -> None:
    done = command(tmp_path, "--seconds", "0.2", "--format", "json", "--engine", "python")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("engines python, seed 0; ")


@pytest.mark.slow
def test_the_command_saves_what_it_finds(tmp_path: Path) -> None:
    program = (
        f"sys.path.insert(0, {str(ROOT)!r})\nimport batprotocol.wire.reader as reader\nreader.read = lambda data: 1 / 0"
    )
    done = command(tmp_path, "--format", "binary", "--count", "100", "--engine", "python", program=program)
    assert done.returncode == 1
    assert "ZeroDivisionError; the input is saved in finding-" in done.stderr
    (saved,) = tmp_path.iterdir()
    assert saved.name in done.stderr
    assert saved.read_bytes() in [data for _, data in fuzz.inputs(("binary",), 0, 100)]
