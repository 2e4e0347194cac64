"""A shared library as a program: `python -m batprotocol.testing.conformance.hosting LIBRARY ENDPOINT`.

It passes bytes on without reading them. If the library crashes, only this process does.
"""

from __future__ import annotations

import sys

import zmq

from batprotocol.simulator.components import RawLibrary
from batprotocol.wire import frames

__all__ = ["host"]


def host(path: str, endpoint: str) -> None:
    """Load a library, bind the endpoint, and serve one simulation; it ends when it is killed."""
    with RawLibrary(path) as library, zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind(endpoint)
        text = frames.decode_init(socket.recv())
        socket.send(library.begin(text.encode("utf-8", "surrogateescape")))
        while True:
            socket.send(library.decide(socket.recv()))


if __name__ == "__main__":
    host(sys.argv[1], sys.argv[2])
