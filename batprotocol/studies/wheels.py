"""Wheels for nodes without the packages of a study: a folder of them, and the server from which workers fetch them.

Workers also report to the server why they ended. Both need the certificates of the study. This module must not know
of Slurm nor of runs.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec

from batprotocol.errors import StudyError

__all__ = ["Failure", "WheelServer", "Wheels"]

_NAME: Final = re.compile(r"[A-Za-z0-9._]+-[A-Za-z0-9._!+]+(-[A-Za-z0-9._]+){3,4}\.whl")
_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.05
"""The time between two looks whether the server is closed."""
_LONGEST: Final = 200_000
"""The greatest number of bytes of a report."""
_LAST: Final = 3
_SHOWN: Final = 300
"""How many of the last lines of an output a sentence has, and how many of their characters."""


class Wheels(msgspec.Struct, frozen=True):
    """The wheels of a folder.

    Args:
        folder: the folder.
        digests: the SHA-256 of each, by its name.
    """

    folder: str
    digests: Mapping[str, str] = {}

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Wheels:
        """Read the wheels of a folder.

        Raises:
            StudyError: none of them is this version of batprotocol.
            OSError: the folder or a file cannot be read.
        """
        names = sorted(name for name in os.listdir(folder) if _NAME.fullmatch(name))
        ours = version("batprotocol")
        if not any(name.startswith(f"batprotocol-{ours}-") for name in names):
            raise StudyError(
                f"there is no wheel of batprotocol {ours}: make it with pip wheel -w FOLDER '.[dask]'",
                file=os.fspath(folder),
            )
        found = {}
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = hashlib.sha256(file.read()).hexdigest()
        return cls(os.fspath(folder), found)

    @property
    def digest(self) -> str:
        """Their common digest: equal for equal names and bytes."""
        text = "".join(f"{name}\0{digest}\0" for name, digest in sorted(self.digests.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def needed(self) -> list[str]:
        """The projects that pip installs: all of the folder, and batprotocol with Dask.

        >>> Wheels("", {"msgspec-0.19-cp311-cp311-linux_x86_64.whl": ""}).needed[1:]
        ['msgspec']
        """
        projects = {name.partition("-")[0] for name in self.digests} - {"batprotocol"}
        return [f"batprotocol[dask]=={version('batprotocol')}", *sorted(projects)]


class Failure(msgspec.Struct):
    """What a worker reports.

    Args:
        node: its node, or "".
        reason: why it ended.
        printed: the end of its output.
        has_worked: whether it had all that it needs.
    """

    node: str
    reason: str
    printed: str = ""
    has_worked: bool = False

    def __str__(self) -> str:
        lines = [" ".join(line.split()) for line in self.printed.splitlines() if line.strip()]
        last = " | ".join(lines[-_LAST:])[-_SHOWN:]
        place = f" on {' '.join(self.node.split())[:_SHOWN]}" if self.node else ""
        return f"a worker{place} does not work: {' '.join(self.reason.split())[:_SHOWN]}{': ' if last else ''}{last}"


class WheelServer:
    """Gives wheels to workers, and hears from them why they ended.

    Args:
        host: the address of this machine for the workers.
        certificates: the files `ca`, `cert` and `key`.
        wheels: the wheels, or None.
        on_failure: called in a thread with each report.

    Attributes:
        port: its port.

    Raises:
        OSError: it cannot listen there.
    """

    def __init__(
        self,
        host: str,
        certificates: Mapping[str, Path],
        wheels: Wheels | None,
        on_failure: Callable[[Failure], None],
    ) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates["cert"], certificates["key"])
        context.load_verify_locations(certificates["ca"])
        context.verify_mode = ssl.CERT_REQUIRED
        paths = {} if wheels is None else {f"/{digest}": name for name, digest in wheels.digests.items()}
        folder = "" if wheels is None else wheels.folder

        class Handler(BaseHTTPRequestHandler):
            timeout = _SECONDS

            def do_GET(self) -> None:
                name = paths.get(self.path)
                if name is None:
                    self.send_error(404)
                    return
                try:
                    file = open(os.path.join(folder, name), "rb")  # noqa: SIM115  # the answer comes first
                except OSError:
                    self.send_error(410)
                    return
                with file:
                    self.send_response(200)
                    self.send_header("Content-Length", str(os.fstat(file.fileno()).st_size))
                    self.end_headers()
                    while piece := file.read(1 << 20):
                        self.wfile.write(piece)

            def do_POST(self) -> None:
                with suppress(ValueError, msgspec.MsgspecError):
                    size = int(self.headers.get("Content-Length", ""))
                    if 0 <= size <= _LONGEST:
                        on_failure(msgspec.json.decode(self.rfile.read(size), type=Failure))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a worker was killed, or has no certificate

        self._server = Server((host, 0), Handler)
        # A slow handshake occupies the thread of its connection only.
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(_LOOK_SECONDS,), name="wheels", daemon=True).start()

    def close(self) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()
