"""What may be bound and sent: endpoints that libzmq takes, and should not, and how large a message can be.

It binds another port than the one that was written, takes over the path that another program listens to, and deletes
whatever file lies there. It must not know what is said at an endpoint.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import stat

__all__ = ["LARGEST", "identity", "is_ipv6", "path_of", "refuse_bad_endpoint"]

LARGEST = 2**28
"""Bytes of a message, 256 MiB: a thousand times the largest one of a platform of 512 hosts. Of a peer that sends more,
libzmq closes the connection, before there is memory for it."""

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
    """Whether its address is one of IPv6, which libzmq has to be told."""
    return endpoint.startswith("tcp://[")


def path_of(endpoint: str) -> str:
    """The path of a Unix socket, "" for all other endpoints."""
    scheme, _, path = endpoint.partition("://")
    return path if scheme == "ipc" and not path.startswith(("@", "*")) else ""


def identity(path: str) -> tuple[int, int] | None:
    """Which file it is, None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _refuse_bad_port(endpoint: str) -> None:
    """libzmq reads as much of a port as is a number, and leaves out the bits that are too many."""
    _, colon, port = endpoint.removeprefix("tcp://").rpartition(":")
    if not colon:
        return  # libzmq will tell what is wrong
    if not _PORT.fullmatch(port) or (port != "*" and int(port) > LAST_PORT):
        raise OSError(errno.EINVAL, f"a port is a number up to {LAST_PORT}, or * for any free one", endpoint)


def _refuse_bad_path(endpoint: str, path: str) -> None:
    if len(os.fsencode(path)) > LONGEST_IPC_PATH:
        raise OSError(errno.ENAMETOOLONG, f"the path has more than {LONGEST_IPC_PATH} bytes", endpoint)
    try:
        mode = os.lstat(path).st_mode
    except OSError:  # there is none, or libzmq will tell what is wrong
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "what lies there is no socket, and would be deleted", endpoint)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except (BlockingIOError, TimeoutError):  # nobody accepts, but somebody listens
            pass
        except OSError:  # nobody listens: the socket is stale
            return
    raise OSError(errno.EADDRINUSE, "another program listens there", endpoint)
