"""Serves many simulations in a row at an endpoint, as `python serving.py ENDPOINT [MISTAKE]`."""

from __future__ import annotations

import sys

import plain_edc
import zmq


def serve(endpoint: str, name: str) -> None:
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind(endpoint)
        while True:
            component = plain_edc.MISTAKES[name]()
            socket.recv()
            socket.send(component.hello())
            data = b""
            while b"SimulationEndsEvent" not in data:
                data = socket.recv()
                socket.send(component.answer(data))


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "Plain")
