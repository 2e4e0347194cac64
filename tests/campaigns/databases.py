"""Databases for tests: a PostgreSQL server of their own, as Debian installs it, and a database in it for each test."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from servers import folder_of

PATIENCE_SECONDS = 60.0


class PostgreSQL:
    """A server, reached by a socket in its folder."""

    def __init__(self, folder: Path, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self.folder = folder
        self._start = start
        self._server = start()
        _wait_for(self, self._server)
        self._numbers = itertools.count(1)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://tester@/{database}?host={self.folder}"

    def stop(self) -> None:
        """It ends at once."""
        self._server.send_signal(signal.SIGQUIT)
        self._server.wait(PATIENCE_SECONDS)

    def start(self) -> None:
        """It is there again, with all that it had."""
        self._server = self._start()
        _wait_for(self, self._server)

    def new_database(self) -> str:
        """The URL of a database that nothing is in."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)


@contextmanager
def postgresql() -> Iterator[PostgreSQL]:
    """A server, as long as this lasts. It refuses to run as root, so then it runs as nobody."""
    programs = folder_of("postgres")
    folder = Path(tempfile.mkdtemp(prefix="batprotocol-postgresql-"))
    identity: dict[str, Any] = {}
    if os.getuid() == 0:
        import pwd

        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    data, log = folder / "data", folder / "log"
    try:
        initdb: list[str | Path] = [
            programs / "initdb",
            "-D",
            data,
            "-U",
            "tester",
            "-A",
            "trust",
            "-N",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **identity)
        settings = ["fsync=off", "listen_addresses=", f"unix_socket_directories={folder}", "max_connections=50"]
        options = [word for setting in settings for word in ("-c", setting)]

        def start() -> subprocess.Popen[bytes]:
            with log.open("ab") as output:
                words = [programs / "postgres", "-D", data, *options]
                return subprocess.Popen(words, stdout=output, stderr=output, cwd=folder, **identity)

        found = PostgreSQL(folder, start)
        try:
            yield found
        finally:
            found.stop()  # nobody needs what it holds
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(found: PostgreSQL, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    log = found.folder / "log"
    while True:
        try:
            psycopg.connect(found.url()).close()
        except psycopg.OperationalError:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        else:
            return
