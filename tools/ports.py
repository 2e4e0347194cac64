"""Free ports of the loopback interface, for servers that cannot choose one themselves.

A port that the system chose, and that was closed again, can be gone when the server starts: another process was
given it, for a server or for a connection to one. These ports are outside the range that the system chooses from,
and all processes of a user take them in turn.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Final

__all__ = ["free_port", "free_ports"]

_RANGE: Final = range(12_000, 32_000)
"""Linux chooses from 32768 on, others from 49152 on."""


def free_port() -> int:
    """A port that nobody listens at now."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now, and that are handed out again when all others have been.

    Raises:
        RuntimeError: there are not so many.
    """
    import fcntl  # there is none on Windows, where no test starts a server

    found: list[int] = []
    # Not in the folder for temporary files that a process has for itself.
    with open(f"/tmp/batprotocol-ports-{os.getuid()}", "a+", encoding="ascii") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        turn.seek(0)
        last = int(turn.read() or 0)
        for step in range(len(_RANGE)):
            port = _RANGE[(last + step) % len(_RANGE)]
            if _is_free(port):
                found.append(port)
            if len(found) == count:
                turn.truncate(0)
                turn.write(str((last + step + 1) % len(_RANGE)))
                return found
    raise RuntimeError(f"fewer than {count} ports are free from {_RANGE.start} to {_RANGE.stop - 1}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe, suppress(OSError):
        probe.bind(("", port))  # of any address: some servers listen at all
        return True
    return False
