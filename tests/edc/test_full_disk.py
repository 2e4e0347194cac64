"""Where the disk is full, what fits is kept, and whoever is told is told which file it was."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run_here
from disks import kinds, small_disk
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import BATPROTO, ENVIRONMENT

from batprotocol import Direction
from batprotocol.edc.recording import Recorder, sources
from batprotocol.results.files import ResultFiles

WITHOUT_ENGINE = True

KINDS = kinds()
SHAPES = ("run", "run.tar", "run.tar.xz")
FULL = (errno.ENOSPC, errno.EFBIG)


def kept(path: Path) -> list[bytes]:
    """What `batproto` finds in a recording."""
    found = list(sources.messages([str(path)]))
    return [each.data for each in found if not each.fault]


def archived(messages: list[bytes]) -> int:
    """The bytes that messages take in an archive, with its end."""
    return sum(512 + -(-len(data) // 512) * 512 for data in messages) + 1024


def refused(call: Callable[..., None], *arguments: object) -> OSError | None:
    """What the system refuses of a call."""
    try:
        call(*arguments)
    except OSError as error:
        return error
    return None


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=8)
@given(pages=st.integers(1, 80), sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=7), data=st.booleans())
def test_all_that_fits_is_kept(
    tmp_path_factory: pytest.TempPathFactory, kind: str, shape: str, pages: int, sizes: list[int], data: bool
) -> None:
    size = pages * 4096
    with small_disk(kind, tmp_path_factory.mktemp("disk"), size) as disk:
        recorder = Recorder(disk / shape)
        written: list[bytes] = []
        fault = None
        while fault is None:
            following = (os.urandom if data else bytes)(sizes[len(written) % len(sizes)])
            fault = refused(recorder.write, Direction.BATSIM_TO_EDC, following)
            if fault is None:
                written.append(following)
        assert (fault.errno in FULL, fault.filename) == (True, str(disk / shape))
        number = f"the first {len(written)} messages" if len(written) > 1 else "the first message"
        assert f"it holds {number if written else 'no message'}" in fault.strerror
        assert archived(written) <= size < archived([*written, following])
        unfinished = refused(recorder.close)
        if unfinished is not None:
            assert (unfinished.errno in FULL, unfinished.filename) == (True, str(disk / shape))
            assert ("stay in unfinished.tar" if shape == "run" else "not compressed") in unfinished.strerror
        if written:
            assert kept(disk / shape) == written


@pytest.mark.parametrize("kind", KINDS)
def test_a_smaller_message_may_still_fit(tmp_path: Path, kind: str) -> None:
    with small_disk(kind, tmp_path, 16384) as disk:
        with Recorder(disk / "run.tar") as recorder:
            recorder.write(Direction.BATSIM_TO_EDC, b"first")
            with pytest.raises(OSError, match="; it holds the first message: "):
                recorder.write(Direction.EDC_TO_BATSIM, bytes(20_000))
            recorder.write(Direction.EDC_TO_BATSIM, b"second")
        assert kept(disk / "run.tar") == [b"first", b"second"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_came_first_is_raised(tmp_path: Path, kind: str, shape: str, caplog: pytest.LogCaptureFixture) -> None:
    """That a recording cannot be finished is no reason to forget why it ended."""
    messages = [os.urandom(500) for _ in range(14)]
    with small_disk(kind, tmp_path, 16384) as disk:
        recorder = Recorder(disk / shape)
        for data in messages:
            recorder.write(Direction.BATSIM_TO_EDC, data)
        with pytest.raises(LookupError, match="lost"), recorder:
            raise LookupError("lost")
        assert kept(disk / shape) == messages
        if kind == "mounted" and shape != "run.tar":
            assert f"{disk / shape}: No space left on device; " in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_result_files_have_whole_lines(tmp_path: Path, kind: str) -> None:
    with small_disk(kind, tmp_path, 16384) as disk:
        files = ResultFiles(f"{disk}/")
        for number in range(2000):
            files.machine_states((float(number), 0, 0, 0, 0, 4))
        with pytest.raises(OSError) as caught:  # noqa: PT011  # which one, its number tells
            files.flush()
        assert (caught.value.errno in FULL, caught.value.filename) == (True, f"{disk}/machine_states.csv")
        text = (disk / "machine_states.csv").read_text()
        lines = text.splitlines()[1:]
        assert len(lines) > 100
        assert [line.split(",")[0] for line in lines] == [f"{number:g}" for number in range(len(lines))]
        assert text.endswith(",0,4\n")


# The commands


def batproto(*arguments: object) -> tuple[int, str, str]:
    command = [*BATPROTO, *map(str, arguments)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_results_that_cannot_be_written(tmp_path: Path, kind: str) -> None:
    assert batproto("simulate", "-o", tmp_path / "whole")[0] == 0
    with small_disk(kind, tmp_path, 16384) as disk:
        status, out, err = batproto("simulate", "-o", disk / "out")
        reason = "no space left on device" if kind == "mounted" else "file too large"
        assert (status, out, err) == (1, "", f"batproto: {disk}/out/jobs.csv: {reason}\n")
        part = (disk / "out" / "jobs.csv").read_text()
    assert part.count("\n") > 20
    assert (tmp_path / "whole" / "jobs.csv").read_text().startswith(part)
    assert part.endswith("\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_recording_that_cannot_go_on(tmp_path: Path, kind: str, shape: str) -> None:
    """The most that 256 KiB can hold, of a simulation that says more."""
    with small_disk(kind, tmp_path, 2**18) as disk:
        status, out, err = batproto("simulate", "--record", disk / shape)
        assert (status, out) == (1, "")
        lines = err.splitlines()
        found = kept(disk / shape)
        reason = "no space left on device" if kind == "mounted" else "file too large"
        told = f"batproto: {disk}/{shape}: {reason}; it holds the first {len(found):,} messages"
        assert lines[-1] == told
        assert len(found) > 100
        assert run_here("dump", disk / shape).status == 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("rules",), ("new", "scheduler", "Mine")])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_output_is_still_blamed(tmp_path: Path, arguments: tuple[str, ...], unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*BATPROTO, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered},
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 1
    whose = b"" if unbuffered and arguments != ("rules",) else b"standard output: "
    assert done.stderr == b"batproto: " + whose + b"no space left on device\n"
