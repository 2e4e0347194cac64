"""Files that jobs can replace by links and pipes, files that describe clusters, and the folder of a local cluster."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from batprotocol.campaigns.managers import JobRequest, LocalProcesses, interface, local
from batprotocol.campaigns.managers.interface import (
    append_line,
    content_of,
    end_of_output,
    file_content,
    open_file,
    text_of_output,
    write_file,
)
from batprotocol.errors import ClusterError, InputError

WITHOUT_ENGINE = True


def test_files_are_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, b"abc")
    append_line(path, "d")
    assert (content_of(path), content_of(path, 2)) == (b"abcd\n", b"cd\n")
    write_file(path, b"x")
    assert content_of(path) == b"x"
    assert path.stat().st_mode & 0o777 == 0o600
    assert (end_of_output(path), end_of_output(tmp_path / "none")) == ("x", "")


@pytest.mark.parametrize("write", [lambda path: write_file(path, b"new\n"), lambda path: append_line(path, "new")])
@pytest.mark.parametrize("thing", ["link", "pipe", "link to nothing"])
def test_a_link_or_a_pipe_is_replaced(tmp_path: Path, write: Callable[[Path], None], thing: str) -> None:
    path, outside = tmp_path / "file", tmp_path / "outside"
    if thing == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(outside)
    if thing == "link":
        outside.write_text("secret")
    for read in (content_of, open_file):
        with pytest.raises(OSError, match=str(path)):
            read(path)
    assert end_of_output(path) == ""
    write(path)
    assert (path.is_symlink(), path.read_text()) == (False, "new\n")
    assert not outside.exists() or outside.read_text() == "secret"


def test_other_errors_are_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "none" / "file"):
        with pytest.raises(OSError, match="Errno") as caught:
            write_file(path, b"")
        assert caught.value.errno in (errno.EISDIR, errno.ENOENT)
    assert (tmp_path / "folder").is_dir()


def test_a_file_in_a_folder_that_is_a_link_is_read_but_not_written(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("x")
    (tmp_path / "inside").symlink_to(tmp_path / "outside")
    assert content_of(tmp_path / "inside" / "file") == b"x"
    with pytest.raises(OSError, match="inside"):
        write_file(tmp_path / "inside" / "file", b"new")
    assert (tmp_path / "outside" / "file").read_text() == "x"


def test_the_last_bytes_of_an_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interface, "KEPT_BYTES", 4)
    for content, kept in (
        (b"abc\n", "abc\n"),
        (b"abcd\n", "bcd\n"),
        (b"ab\nc\n", "c\n"),
        (b"", ""),
        (b"a\0\xff", "a\ufffd\ufffd"),
    ):
        (tmp_path / "file").write_bytes(content)
        assert end_of_output(tmp_path / "file") == kept
    assert text_of_output(b"half\n", whole=False) == "half\n"
    assert text_of_output(b"half\nx", whole=False) == "x"


def test_what_is_read_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abcd")
    monkeypatch.setattr(interface, "MOST_BYTES", 3)
    assert content_of(path) == b"abc"
    monkeypatch.setattr(interface, "_MOST_BYTES", 4)
    assert file_content(str(path)) == b"abcd"
    monkeypatch.setattr(interface, "_MOST_BYTES", 3)
    with pytest.raises(InputError, match="expected at most 3 bytes"):
        file_content(str(path))


# The folder of a local cluster


def test_a_folder_is_used_by_one_process(tmp_path: Path) -> None:
    first = LocalProcesses("here", tmp_path / "here", slots=1)
    with pytest.raises(ClusterError) as caught:
        LocalProcesses("again", tmp_path / "here")
    assert (caught.value.reason, caught.value.cluster) == (f"{tmp_path}/here is in use by another process", "again")
    first.close()
    LocalProcesses("again", tmp_path / "here").close()
    (tmp_path / "file").write_text("")
    with pytest.raises(ClusterError, match=f"{tmp_path}/file"):
        LocalProcesses("here", tmp_path / "file")


def test_folders_of_groups_that_are_broken(tmp_path: Path) -> None:
    first = LocalProcesses("here", tmp_path / "here", slots=1)
    first.submit([JobRequest(job=1, command="true", weight=1), JobRequest(job=2, command="true", weight=2)])
    first.close()
    jobs = tmp_path / "here" / "jobs"
    for name, content in (("8.unfinished", b"[]"), ("9", b"no JSON")):
        (jobs / name).mkdir()
        (jobs / name / "jobs.json").write_bytes(content)
    (jobs / "10").mkdir()
    again = LocalProcesses("here", tmp_path / "here", slots=1)
    assert sorted(job.job for job in again.look().jobs) == [1, 2]
    assert [event.type for job in again.look().jobs for event in job.events] == ["REFUSED"]
    again.forget([1, 2])
    again.close()
    unfinished = [each.name for each in jobs.iterdir() if each.suffix]
    assert unfinished == []


def test_only_what_belongs_to_a_leader_is_killed() -> None:
    """The number of a process may be that of another one by now."""
    running = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        for process, leader in ((running.pid, os.getpid()), (running.pid, None)):
            local._kill_group(process, leader)
        assert running.poll() is None
        local._kill_group(running.pid, running.pid)
        assert running.wait(60) == -signal.SIGKILL
        local._kill_group(running.pid, running.pid)
    finally:
        running.kill()
