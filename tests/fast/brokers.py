"""An MQTT broker of our own on a free port of the loopback: started, killed, started again, and gone in the end."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from servers import find, free_port

PATIENCE = 30.0


class Mosquitto:
    """Debian's mosquitto, which keeps nothing on the disk unless told so. Use it in a `with`."""

    def __init__(self, folder: Path, *more: str, settings: str = "allow_anonymous true") -> None:
        program = find("mosquitto")
        self.port = free_port()
        # As root, it would give up its rights, and could not read what the test has written.
        lines = ["user root", f"listener {self.port} 127.0.0.1", *more, settings, "persistence false"]
        configuration = folder / f"mosquitto-{self.port}.conf"
        configuration.write_text("\n".join(lines) + "\n")
        self._command = [program, "-c", str(configuration)]
        self._log = folder / f"mosquitto-{self.port}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def said(self) -> str:
        """What it has logged."""
        return self._log.read_text()

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < until, f"the broker does not start: {self.said}"
                assert self._process.poll() is None, f"the broker has ended: {self.said}"
                time.sleep(0.01)

    def kill(self) -> None:
        """Let it end at once, with all that it knows."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self, after: float = 0.0) -> None:
        self.kill()
        time.sleep(after)
        self.start()

    def __enter__(self) -> Mosquitto:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()
