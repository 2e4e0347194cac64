"""Jobs that change the folder of their cluster: links, pipes, other folders, and removed files.

A job may be confined by a container, and the loop is not. So the loop reads and writes nothing outside of the folder by
a link that a job has made, and waits for no pipe.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import patience
import pytest

from batprotocol.campaigns.managers import JobRequest, LocalProcesses
from batprotocol.campaigns.managers._slurm_jobs import BatchFolder
from batprotocol.campaigns.managers.interface import append_line, content_of, end_of_output, write_file
from batprotocol.campaigns.managers.psij import JobFolder
from batprotocol.campaigns.model import GridJobState, RemoteJob
from batprotocol.errors import ClusterError
from batprotocol.sites.slurm.client import LocalRunner

WITHOUT_ENGINE = True

SECRET: Final = "the secret of another folder\n"
until = partial(patience.until, patience=60.0, step=0.01)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file beside the folder of the cluster, which nobody may read or change."""
    path = tmp_path / "outside"
    path.write_text(SECRET)
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalProcesses]:
    found = LocalProcesses("here", tmp_path / "here", slots=2)
    yield found
    found.forget([job.job for job in found.look().jobs])
    found.close()


def ended(cluster: LocalProcesses, number: int) -> RemoteJob:
    def found() -> list[RemoteJob]:
        return [job for job in cluster.look().jobs if job.job == number and job.state is GridJobState.TERMINATED]

    until(lambda: bool(found()))
    return found()[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "ln -sf ../../outside $F",
        "rm -f $F; ln -s /etc/passwd $F",
        "rm -f $F; mkfifo $F",
        "rm -f $F; mkdir $F",
        "rm -f $F; ln -s /dev/zero $F",
        "rm -f $F",
    ],
)
def test_the_output_of_a_job_is_something_else(
    cluster: LocalProcesses, tmp_path: Path, outside: Path, change: str
) -> None:
    command = f"cd {tmp_path}/here/output; for F in 1.stdout 1.stderr; do {change}; done; exit 3"
    cluster.submit([JobRequest(job=1, command=command, directory=str(tmp_path))])
    job = ended(cluster, 1)
    assert (job.exit_code, job.output, job.errors) == (3 << 8, "", "")
    assert outside.read_text() == SECRET


@pytest.mark.slow
@pytest.mark.parametrize("change", ["ln -s ../../outside $F", "mkfifo $F"])
def test_a_job_prepares_the_output_of_the_next_one(
    cluster: LocalProcesses, tmp_path: Path, outside: Path, change: str
) -> None:
    first = f"cd {tmp_path}/here/output; for F in 2.stdout 2.stderr; do {change}; done"
    cluster.submit([JobRequest(job=1, command=first, directory=str(tmp_path))])
    assert ended(cluster, 1).exit_code == 0
    cluster.submit([JobRequest(job=2, command="echo mine; echo yours >&2", directory=str(tmp_path))])
    assert ended(cluster, 2).exit_code == 126 << 8
    assert outside.read_text() == SECRET


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log", "cause-2", "cause-1", "pid", "lock", "started", "plan", "nodes"])
@pytest.mark.parametrize("change", ["ln -s ../../../outside $F", "mkfifo $F", "mkdir $F", "echo a b c d e f >$F"])
def test_the_files_of_a_group_are_something_else(
    cluster: LocalProcesses, tmp_path: Path, outside: Path, name: str, change: str
) -> None:
    """All jobs end for the loop, those of another group go on, and nothing outside is changed."""
    command = f"F={tmp_path}/here/jobs/1/{name}; rm -rf $F; {change}; touch {tmp_path}/changed; sleep 60"
    change_first = JobRequest(job=1, command=command, directory=str(tmp_path), group=1)
    cluster.submit([change_first, JobRequest(job=2, command="true", directory=str(tmp_path), group=1)])
    cluster.tend()
    until((tmp_path / "changed").exists)
    cluster.submit([JobRequest(job=3, command="exit 4", directory=str(tmp_path))])
    assert ended(cluster, 3).exit_code == 4 << 8
    for call in (lambda: cluster.kill([1, 2]), cluster.look, lambda: cluster.forget([1, 2])):
        with suppress(ClusterError):
            call()
    assert outside.read_text() == SECRET


@pytest.mark.slow
def test_the_folder_of_a_group_is_gone(cluster: LocalProcesses, tmp_path: Path) -> None:
    command = f"rm -rf {tmp_path}/here/jobs/1"
    cluster.submit([JobRequest(job=1, command=command, directory=str(tmp_path))])
    assert [event.type for event in ended(cluster, 1).events] == ["EXTERMINATE"]


# PSI/J


CHANGES: Final[dict[str, Callable[[Path, Path], object]]] = {
    "link": lambda path, outside: path.symlink_to(outside),
    "link to nothing": lambda path, outside: path.symlink_to(outside.with_name("none")),
    "pipe": lambda path, _: os.mkfifo(path),
    "device": lambda path, _: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_job_of_psij(tmp_path: Path, outside: Path, change: str) -> None:
    job = JobFolder(tmp_path / "1", JobRequest(job=1, command="true"))
    job.write()
    for name in ("out", "err", "log", "native", "kill"):
        CHANGES[change](job.path / name, outside)
    job.read()
    job.set_native("17")
    job.doom()
    job.end("lost")
    found = job.ended()
    assert (found.output, found.errors, found.remote_id) == ("", "", "17")
    assert outside.read_text() == SECRET
    assert not outside.with_name("none").exists()
    again = JobFolder(job.path, job.request)
    again.read()
    assert (again.native, again.over is not None, again.is_doomed) == ("17", True, True)


def test_the_folder_of_a_job_becomes_a_link(tmp_path: Path) -> None:
    job = JobFolder(tmp_path / "1", JobRequest(job=1, command="true"))
    job.write()
    (tmp_path / "other").mkdir()
    job.path.rename(tmp_path / "moved")
    job.path.symlink_to(tmp_path / "other")
    for call in (lambda: job.set_native("17"), job.doom, lambda: job.end("lost")):
        with pytest.raises(OSError, match="1"):
            call()
    assert [*(tmp_path / "other").iterdir()] == []


# Slurm


@pytest.mark.slow
def test_the_output_of_a_job_of_slurm_is_a_link(tmp_path: Path, outside: Path) -> None:
    folder = BatchFolder(LocalRunner(), str(tmp_path / "jobs"), "m", 30)
    place = Path(folder.path) / "output"
    (place / "1.stdout").symlink_to(outside)
    os.mkfifo(place / "1.stderr")
    (place / "2.stdout").write_text("hello\n")
    assert folder.tails([1, 2]) == {2: {"stdout": (b"hello\n", True)}}


# While it is used


@pytest.mark.slow
def test_links_that_change_while_they_are_used(tmp_path: Path, outside: Path) -> None:
    """A file that becomes a link and a file again, as fast as it can: nothing outside is read or changed."""
    path = tmp_path / "in" / "file"
    path.parent.mkdir()
    program = (
        'cd "$1/in"; echo inside >new; while :; do ln -sf ../outside link; mv -T link file; '
        "cp new copy; mv -T copy file; done"
    )
    changing = subprocess.Popen(["sh", "-c", program, "sh", tmp_path], stderr=subprocess.DEVNULL)
    try:
        until(path.exists)
        for number in range(200):
            assert SECRET.strip() not in end_of_output(path)
            for call in (
                lambda: content_of(path),
                lambda: append_line(path, "more"),
                partial(write_file, path, b"%d" % number),
            ):
                try:
                    found = call()
                except OSError:
                    continue
                assert found is None or SECRET.encode() not in found
    finally:
        changing.kill()
        changing.wait()
    assert outside.read_text() == SECRET
