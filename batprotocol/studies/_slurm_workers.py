"""Workers of a study that are jobs of Slurm, and the packages that nodes fetch.

The Dask scheduler is in this process, and its workers are elements of arrays. They come as they get nodes. If one ends
before the study, for whatever reason, another one is submitted. The connections are encrypted, and need the
certificates of this study. `dask-jobqueue` 0.9 does less: when four of eight workers were cancelled on a real Slurm,
none was replaced.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
import shlex
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from batprotocol._util.engines import missing
from batprotocol.errors import ClusterError, PackageMissing, StudyError
from batprotocol.sites.slurm.client import JobBatch, SlurmClient, SlurmError
from batprotocol.studies import _preparation as preparing

# Wheels for nodes without the packages of a study: a folder of them, and the server from which workers fetch them.


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


PERIOD_SECONDS: Final = 5.0
"""How often workers that have ended are replaced."""

SLOW_PERIOD_SECONDS: Final = 60.0
"""How often workers are replaced after one has reported that it cannot work."""

MOST_NOTES: Final = 5
"""How many failures of workers are reported."""

START_SECONDS: Final = 60.0
"""How long the scheduler may take to start."""

SCHEDULER: Final = """
import os, sys, threading
from distributed.cli.dask_scheduler import main
threading.Thread(target=lambda: sys.stdin.read() or os._exit(0), daemon=True).start()
main()
"""
"""The program of the scheduler. It ends when this process does, even if that is killed."""

LONELY_SECONDS: Final = 60
"""After how many seconds without a scheduler a worker ends."""

LONGEST_MINUTES: Final = 24 * 60
"""The time limit of a worker in a partition without one. Another worker follows it."""

FAILURES: Final = 100
"""How many workers may end while they run the same call, before it counts as failed."""

_FILES: Final = ("ca", "cert", "key")


class SlurmWorkers:
    """Workers on Slurm, each of one thread on one core.

    Args:
        client: a client of Slurm.
        count: how many workers to have, at least 1.
        partition: their partition; "": the default one.
        wheels: the wheels that nodes install for the workers; None: nodes have this Python with its packages.
        on_note: called with a sentence if a worker cannot work, from other threads, one at a time.

    Attributes:
        address: the address of the Dask scheduler.
        security: what a client needs to connect to it.

    Raises:
        PackageMissing: Dask is not installed.
        ClusterError: the scheduler does not start, or Slurm does not take the workers.
    """

    def __init__(
        self,
        client: SlurmClient,
        count: int,
        partition: str = "",
        *,
        wheels: Wheels | None = None,
        on_note: Callable[[str], None] = lambda note: None,
    ) -> None:
        self._client = client
        self._count = count
        self._partition = partition
        self._name = f"batprotocol-{secrets.token_hex(4)}"
        self._over = threading.Event()
        self._folder = tempfile.TemporaryDirectory(prefix="batprotocol-")
        self._scheduler: subprocess.Popen[bytes] | None = None
        self._server: WheelServer | None = None
        self._on_note = on_note
        self._notes: set[str] = set()
        self._noting = threading.Lock()
        self._period = PERIOD_SECONDS
        try:
            try:
                from distributed.security import Security

                self.security: Any = Security.temporary()  # type: ignore[no-untyped-call]
            except ImportError as error:
                raise PackageMissing(missing(error).replace("it", "--slurm", 1), name=error.name) from None
            self._certificates = _written(self.security, Path(self._folder.name))
            self._minutes = min(client.limits(partition).longest or LONGEST_MINUTES, LONGEST_MINUTES)
            self.address = self._start()
            host = str(urlsplit(self.address).hostname)
            self._server = WheelServer(host, self._certificates, wheels, self._failed)
            self._script = _script(self.address, self._certificates, _bringing(host, self._server.port, wheels))
            self._top_up()
        except SlurmError as error:
            self.close()
            raise ClusterError(f"Slurm does not take the workers: {error}") from None
        except BaseException:
            self.close()
            raise
        self._thread = threading.Thread(target=self._watch, name="workers on Slurm", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Cancel the workers, and end the scheduler."""
        self._over.set()
        with suppress(SlurmError):
            self._client.cancel(self._ours())
        if self._server is not None:
            self._server.close()
        if self._scheduler is not None:
            self._scheduler.kill()
            self._scheduler.communicate()
        self._folder.cleanup()

    def _ours(self) -> list[str]:
        """The ids of the workers that wait or run."""
        return [job.id for job in self._client.jobs() if job.name == self._name and not job.has_ended]

    def _top_up(self) -> None:
        """Submit as many workers as are missing."""
        missing = self._count - len(self._ours())
        largest = self._client.limits(self._partition).array_size - 1
        while missing > 0 and not self._over.is_set():
            size = min(missing, max(1, largest))
            self._client.submit(
                JobBatch(
                    script=self._script,
                    name=self._name,
                    size=size,
                    minutes=self._minutes,
                    partition=self._partition,
                )
            )
            missing -= size

    def _failed(self, failure: Failure) -> None:
        """A worker reports that it cannot work."""
        note = str(failure)
        with self._noting:
            self._period = self._period if failure.has_worked else SLOW_PERIOD_SECONDS
            if note not in self._notes and len(self._notes) < MOST_NOTES and not self._over.is_set():
                self._notes.add(note)
                self._on_note(note)

    def _watch(self) -> None:
        while not self._over.wait(self._period):
            self._period = PERIOD_SECONDS
            with suppress(SlurmError):  # it is away: later
                self._look()
                self._top_up()

    def _look(self) -> None:
        """Report workers that could not report it themselves."""
        jobs = [job for job in self._client.jobs() if job.name == self._name]
        failed = [job for job in jobs if job.state == "FAILED"]
        if failed and not self._notes and not any(job.state == "RUNNING" for job in jobs):
            wanted = ".".join(map(str, sys.version_info[:2]))
            self._failed(Failure(failed[0].node, f"its job has failed: give its node Python {wanted}"))

    def _start(self) -> str:
        """Start the scheduler; return its address."""
        folder = Path(self._folder.name)
        found = folder / "scheduler.json"
        options = [f"--tls-{_OPTIONS[name]}={path}" for name, path in self._certificates.items()]
        words = ["--protocol=tls", "--port=0", "--no-dashboard", "--no-jupyter", f"--scheduler-file={found}", *options]
        self._scheduler = subprocess.Popen(
            [sys.executable, "-c", SCHEDULER, *words],
            cwd=folder,
            env={**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(FAILURES)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it must not get Ctrl-C
        )
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._scheduler.poll() is None:
            with suppress(OSError, msgspec.MsgspecError, KeyError):
                return str(msgspec.json.decode(found.read_bytes())["address"])
            time.sleep(0.05)
        raise ClusterError("the Dask scheduler does not start: run python -m distributed.cli.dask_scheduler")


_OPTIONS: Final[Mapping[str, str]] = {"ca": "ca-file", "cert": "cert", "key": "key"}


def _written(security: Any, folder: Path) -> dict[str, Path]:
    """The certificates of a study, as private files."""
    texts = (security.tls_ca_file, security.tls_scheduler_cert, security.tls_scheduler_key)
    found = {}
    for name, text in zip(_FILES, texts, strict=True):
        found[name] = folder / f"{name}.pem"
        with open(os.open(found[name], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
    return found


def _bringing(host: str, port: int, wheels: Wheels | None) -> bytes:
    """The JSON that `_preparation` reads."""
    about: dict[str, Any] = {"host": host, "port": port}
    if wheels is not None:
        about |= {"digest": f"{sys.version_info[1]}-{wheels.digest}"}
        about |= {"wheels": dict(wheels.digests), "needed": wheels.needed}
    return msgspec.json.encode(about)


_PREPARE: Final = """
unset PYTHONPATH PYTHONHOME
own=
for each in "$2" "$3" python3; do
    if "$each" -c "import sys; sys.exit(sys.version_info[:2] != ($1))" 2>/dev/null; then own=$each; break; fi
done
[ "$own" ] || exit 127
python=$("$own" preparing.py prepare) || exit 1
"""
"""The shell variable `own` becomes the Python of the node, and the variable `python` the one with the wheels."""

_RUN: Final = """
ended=
worker=
trap 'ended=yes; [ -z "$worker" ] || kill "$worker"' TERM
"$python" -m distributed.cli.dask_worker "$@" --name="$SLURM_JOB_ID.$SLURM_ARRAY_TASK_ID" >printed 2>&1 &
worker=$!
wait "$worker"
status=$?
[ "$ended" ] || [ "$status" = 143 ] || "$own" preparing.py report "$status" printed
exit "$status"
"""


def _script(address: str, certificates: Mapping[str, Path], bringing: bytes) -> str:
    """The script of a worker. It has the certificates, so that nodes need no folder that they share with this one."""
    contents = {f"{name}.pem": path.read_bytes() for name, path in certificates.items()}
    contents |= {"bring.json": bringing, "preparing.py": Path(preparing.__file__).read_bytes()}
    files = [f"base64 -d >{name} <<EOF\n{base64.encodebytes(data).decode()}EOF" for name, data in contents.items()]
    words = [address, "--nthreads=1", "--no-nanny"]
    words += ["--no-dashboard", f"--death-timeout={LONELY_SECONDS}", "--local-directory=."]
    words += [f"--tls-{_OPTIONS[name]}={name}.pem" for name in certificates]
    major, minor = sys.version_info[:2]
    candidates = [f"{major}, {minor}", f"python{major}.{minor}", sys.executable]
    return "\n".join(
        (
            "#!/bin/sh",
            "umask 077",
            'folder=$(mktemp -d) && cd "$folder" || exit 1',
            "trap 'cd / && rm -rf \"$folder\"' EXIT",
            *files,
            *(
                (f"set -- {shlex.join(candidates)}", _PREPARE)
                if b'"wheels"' in bringing
                else (f"own={shlex.quote(sys.executable)} python={shlex.quote(sys.executable)}",)
            ),
            f"set -- {shlex.join(words)}",
            _RUN,
        )
    )
