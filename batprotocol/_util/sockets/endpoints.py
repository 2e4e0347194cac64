"""Checks of endpoints that libzmq accepts although it should not, and the largest size of a message.

libzmq would bind another port than the written one, take over a path at which another program listens, and delete any
file at that path. This module must not know the messages at an endpoint.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import stat

__all__ = ["LARGEST", "identity", "is_ipv6", "path_of", "refuse_bad_endpoint"]

LARGEST = 2**28
"""Bytes of a message, 256 MiB: a thousand times the largest message of a platform with 512 hosts. libzmq closes the
connection of a peer that sends more, before it allocates memory."""

LONGEST_IPC_PATH = 107
LAST_PORT = 65535

_PORT = re.compile(r"\*|[0-9]{1,5}", re.ASCII)


def refuse_bad_endpoint(endpoint: str) -> None:
    """Raise `OSError`, with the endpoint as its `filename`, for an endpoint that libzmq takes for another one."""
    if endpoint.startswith("tcp://"):
        _refuse_bad_port(endpoint)
    path = path_of(endpoint)
    if path and hasattr(socket, "AF_UNIX"):
        _refuse_bad_path(endpoint, path)


def is_ipv6(endpoint: str) -> bool:
    """Whether its address is one of IPv6, for which libzmq needs an option."""
    return endpoint.startswith("tcp://[")


def path_of(endpoint: str) -> str:
    """The path of a Unix socket, "" for all other endpoints."""
    scheme, _, path = endpoint.partition("://")
    return path if scheme == "ipc" and not path.startswith(("@", "*")) else ""


def identity(path: str) -> tuple[int, int] | None:
    """The device and number of a file; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _refuse_bad_port(endpoint: str) -> None:
    """libzmq reads the leading digits of a port only, and drops the upper bits of a large one."""
    _, colon, port = endpoint.removeprefix("tcp://").rpartition(":")
    if not colon:
        return  # libzmq reports the error
    if not _PORT.fullmatch(port) or (port != "*" and int(port) > LAST_PORT):
        raise OSError(errno.EINVAL, f"a port is a number up to {LAST_PORT}, or * for any free one", endpoint)


def _refuse_bad_path(endpoint: str, path: str) -> None:
    if len(os.fsencode(path)) > LONGEST_IPC_PATH:
        raise OSError(errno.ENAMETOOLONG, f"the path has more than {LONGEST_IPC_PATH} bytes", endpoint)
    try:
        mode = os.lstat(path).st_mode
    except OSError:  # there is no such file, or libzmq reports the error
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "there is a file that is not a socket: pick another path", endpoint)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except (BlockingIOError, TimeoutError):  # nobody accepts, but somebody listens
            pass
        except OSError:  # nobody listens: the socket is stale
            return
    raise OSError(errno.EADDRINUSE, "another program listens there", endpoint)
