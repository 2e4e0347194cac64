"""The other side of a decision component's socket: a REQ client that says what a recorded Batsim said.

It says each message when the one before was answered, whatever the answer was, and keeps the answers.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import zmq
from support import read_run

PATIENCE = 60.0
"""Seconds after which a test gives up waiting. No test measures time with it."""


def batsim_side(archive: Path) -> list[bytes]:
    """All frames that Batsim sent in a recorded run, the initialization data first."""
    return [message.data for message in read_run(archive) if message.direction == "b2e"]


def replay(endpoint: str, frames: Sequence[bytes], patience: float = PATIENCE) -> list[bytes]:
    """Say these frames to a decision component; returns its answers, one for each.

    Raises:
        TimeoutError: there was no answer.
    """
    with zmq.Context() as context, context.socket(zmq.REQ) as peer:
        peer.linger = 0
        peer.rcvtimeo = peer.sndtimeo = round(patience * 1000)
        peer.connect(endpoint)
        answers = []
        for number, frame in enumerate(frames):
            try:
                peer.send(frame)
                answers.append(peer.recv())
            except zmq.Again:
                raise TimeoutError(f"no answer to message {number} of {len(frames)}") from None
        return answers


class Replay:
    """A replay in a thread, for when the decision component runs in this one. Start it with the endpoint."""

    def __init__(self, frames: Sequence[bytes], patience: float = PATIENCE) -> None:
        self.frames = frames
        self.patience = patience
        self.answers: list[bytes] = []
        self.error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def __call__(self, endpoint: str) -> None:
        """To be given as `on_bound`."""
        self._thread = threading.Thread(target=self._run, args=(endpoint,))
        self._thread.start()

    def join(self) -> list[bytes]:
        """Wait for the end; the answers. Raises what went wrong."""
        assert self._thread is not None, "the replay was never started"
        self._thread.join()
        if self.error is not None:
            raise self.error
        return self.answers

    def _run(self, endpoint: str) -> None:
        try:
            self.answers = replay(endpoint, self.frames, self.patience)
        except BaseException as error:
            self.error = error
