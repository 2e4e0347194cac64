"""The program of a node: it makes a Python for workers from the wheels of a study, and reports why a worker ended.

A node gets this file as text and runs it with its own Python, so it imports the standard library only. One virtual
environment serves all workers of a node with the same wheels.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import ssl
import stat
import subprocess
import sys
import tempfile
from typing import Any

_SECONDS = 60.0
_KEPT = 10_000
"""The number of bytes of an output that are reported: the last ones."""


class _PreparationFailed(Exception):
    """There will be no Python for workers."""


def main(words: list[str]) -> int:
    """`prepare` prints the path of the Python for workers; `report STATUS FILE` reports how a worker ended.

    Args:
        words: the arguments. The folder in which it runs has `bring.json` and the certificates.
    """
    with open("bring.json", encoding="utf-8") as file:
        about = json.load(file)
    if words[0] == "report":
        with open(words[2], "rb") as printed:
            printed.seek(max(0, os.path.getsize(words[2]) - _KEPT))
            report(about, f"it ended with status {words[1]}", printed.read().decode("utf-8", "replace"), True)
        return 0
    try:
        print(prepared(about))
    except _PreparationFailed as error:
        report(about, str(error.args[0]), str(error.args[1]))
        return 1
    except Exception as error:
        report(about, f"{type(error).__name__}: {error}", "")
        return 1
    return 0


def prepared(about: dict[str, Any]) -> str:
    """The path of a Python that has the wheels. The first worker of a node makes it, and the others wait for that."""
    import fcntl  # nodes of Slurm have it; the machine that reads this file may lack it

    folder = _private(os.path.join(tempfile.gettempdir(), f"batprotocol-{os.getuid()}-{about['digest'][:24]}"))
    python = os.path.join(folder, "python", "bin", "python")
    ready = os.path.join(folder, "ready")
    with open(os.path.join(folder, "lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # its end comes with the process, however that ends
        if not os.path.exists(ready):
            shutil.rmtree(os.path.join(folder, "python"), ignore_errors=True)
            shutil.rmtree(os.path.join(folder, "wheels"), ignore_errors=True)
            _install(about, folder, python)
            with open(ready, "wb"):
                pass
    return python


def _install(about: dict[str, Any], folder: str, python: str) -> None:
    wheels = os.path.join(folder, "wheels")
    os.mkdir(wheels)
    for name, digest in about["wheels"].items():
        _fetch(about, name, digest, os.path.join(wheels, name))
    _run("python -m venv", [sys.executable, "-m", "venv", os.path.join(folder, "python")])
    pip = [python, "-m", "pip", "install", "--no-index", "--no-cache-dir", "--disable-pip-version-check"]
    _run("pip install", [*pip, f"--find-links={wheels}", *about["needed"]])
    shutil.rmtree(wheels)


def _run(what: str, command: list[str]) -> None:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode:
        raise _PreparationFailed(
            f"{what} ended with status {done.returncode}", done.stdout[-_KEPT:].decode("utf-8", "replace")
        )


def _private(folder: str) -> str:
    """A folder that nobody else can write to."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise _PreparationFailed(f"{folder} belongs to others: remove it, or set TMPDIR", "") from None
    return folder


def _connection(about: dict[str, Any]) -> http.client.HTTPSConnection:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # the certificates are those of one study, and have no names of hosts
    context.load_verify_locations("ca.pem")
    context.load_cert_chain("cert.pem", "key.pem")
    return http.client.HTTPSConnection(about["host"], about["port"], timeout=_SECONDS, context=context)


def _fetch(about: dict[str, Any], name: str, digest: str, path: str) -> None:
    connection = _connection(about)
    found = hashlib.sha256()
    try:
        connection.request("GET", f"/{digest}")
        answer = connection.getresponse()
        if answer.status != 200:
            raise _PreparationFailed(f"{name} cannot be fetched: {answer.status} {answer.reason}", "")
        with open(path, "wb") as file:
            while piece := answer.read(1 << 20):
                found.update(piece)
                file.write(piece)
    finally:
        connection.close()
    if found.hexdigest() != digest:
        raise _PreparationFailed(f"{name} has changed since the study began", "")


def report(about: dict[str, Any], reason: str, printed: str, has_worked: bool = False) -> None:
    """Report why there is no worker."""
    connection = _connection(about)
    try:
        node = os.environ.get("SLURMD_NODENAME", "")
        value = {"node": node, "reason": reason, "printed": printed[-_KEPT:], "has_worked": has_worked}
        connection.request("POST", "/", json.dumps(value))
        connection.getresponse().read()
    except OSError:
        pass  # the study is over
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
