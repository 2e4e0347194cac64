"""Wheels for nodes: which ones a folder has, and their way over a connection that needs certificates."""

from __future__ import annotations

import http.client
import os
import ssl
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from distributed.security import Security
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import StudyError
from batprotocol.studies import _preparation as preparing
from batprotocol.studies._slurm_workers import Failure, Wheels, WheelServer

WITHOUT_ENGINE = True

OURS = f"batprotocol-{version('batprotocol')}-cp311-cp311-linux_x86_64.whl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / OURS).write_bytes(os.urandom(3_000_000))
    (tmp_path / "wheels" / "README").write_text("no wheel")
    return tmp_path / "wheels"


def test_a_folder_without_this_version_is_an_error(folder: Path) -> None:
    (folder / OURS).rename(folder / "batprotocol-0.0.1-py3-none-any.whl")
    with pytest.raises(StudyError, match=f"there is no wheel of batprotocol {version('batprotocol')}"):
        Wheels.read(folder)


def test_other_contents_have_another_digest(folder: Path) -> None:
    before = Wheels.read(folder)
    assert list(before.digests) == [OURS]
    (folder / "README").write_text("changed")
    assert Wheels.read(folder).digest == before.digest
    (folder / OURS).write_bytes(b"")
    assert Wheels.read(folder).digest != before.digest


@given(st.builds(Failure, st.text(), st.text(), st.text()))
def test_a_failure_is_a_short_line(failure: Failure) -> None:
    assert len(str(failure).splitlines()) == 1
    assert len(str(failure)) < 1000


class Running:
    """A server, and the folder of a worker that knows it."""

    def __init__(self, folder: Path, worker: Path) -> None:
        made: Any = Security.temporary()  # type: ignore[no-untyped-call]
        texts = {"ca": made.tls_ca_file, "cert": made.tls_scheduler_cert, "key": made.tls_scheduler_key}
        for name, text in texts.items():
            (worker / f"{name}.pem").write_text(text)
        self.wheels = Wheels.read(folder)
        self.failures: list[Failure] = []
        paths = {name: worker / f"{name}.pem" for name in texts}
        self.server = WheelServer("127.0.0.1", paths, self.wheels, self.failures.append)
        self.about = {"host": "127.0.0.1", "port": self.server.port}


@pytest.fixture
def running(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.chdir(tmp_path)
    found = Running(folder, tmp_path)
    yield found
    found.server.close()


def test_a_worker_gets_the_same_bytes(running: Running, folder: Path, tmp_path: Path) -> None:
    preparing._fetch(running.about, OURS, running.wheels.digests[OURS], str(tmp_path / "got"))
    assert (tmp_path / "got").read_bytes() == (folder / OURS).read_bytes()


def test_a_wheel_that_has_changed_is_refused(running: Running, folder: Path, tmp_path: Path) -> None:
    (folder / OURS).write_bytes(b"another")
    with pytest.raises(preparing._PreparationFailed, match="has changed since the study began"):
        preparing._fetch(running.about, OURS, running.wheels.digests[OURS], str(tmp_path / "got"))
    with pytest.raises(preparing._PreparationFailed, match="cannot be fetched: 404"):
        preparing._fetch(running.about, OURS, "../README", str(tmp_path / "got"))


def test_who_has_no_certificate_gets_nothing(running: Running) -> None:
    context = ssl._create_unverified_context()
    for method in ("GET", "POST"):
        connection = http.client.HTTPSConnection("127.0.0.1", running.server.port, timeout=20, context=context)
        with pytest.raises(OSError):  # noqa: PT011  # the kind depends on the moment at which the server closes
            _answer(connection, method, f"/{running.wheels.digests[OURS]}")
        connection.close()
    assert not running.failures


def _answer(connection: http.client.HTTPSConnection, method: str, path: str) -> bytes:
    connection.request(method, path, "{}")
    return connection.getresponse().read()


def test_reports_come_whole_and_garbage_is_nothing(running: Running) -> None:
    preparing.report(running.about, "it ended", "first\nlast")
    for body in (b"", b"{", b"[]", b"\xff" * 100, b'{"node": 1}'):
        connection = preparing._connection(running.about)
        connection.request("POST", "/", body)
        assert connection.getresponse().status == 204
        connection.close()
    assert running.failures == [Failure(os.environ.get("SLURMD_NODENAME", ""), "it ended", "first\nlast")]
    assert "it ended: first | last" in str(running.failures[0])


def test_a_folder_of_others_is_not_used(tmp_path: Path) -> None:
    tmp_path.joinpath("open").mkdir()
    tmp_path.joinpath("open").chmod(0o777)
    tmp_path.joinpath("link").symlink_to(tmp_path)
    for name in ("open", "link"):
        with pytest.raises(preparing._PreparationFailed, match="belongs to others"):
            preparing._private(str(tmp_path / name))
    assert preparing._private(str(tmp_path / "new")) == preparing._private(str(tmp_path / "new"))
