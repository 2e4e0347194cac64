"""No message is read that is larger than messages are, on either side."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import zmq

from batprotocol._util import sockets as channel
from batprotocol._util.sockets import LARGEST, BoundChannel
from batprotocol.edc.embedded.options import library
from batprotocol.errors import SchedulerError

WITHOUT_ENGINE = True


def test_a_peer_that_says_too_much_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "LARGEST", 1000)
    bound = BoundChannel(f"ipc://{tmp_path}/edc.sock", tick=0.01)
    with zmq.Context() as context, context.socket(zmq.REQ) as peer:
        peer.linger = 0
        peer.connect(bound.endpoint)
        for size in (1, 1000):
            peer.send(bytes(size))
            heard = None
            while heard is None:
                heard = bound.receive()
            assert len(heard) == size
            bound.send(b"")
            peer.recv()
        peer.send(bytes(1001))
        while not bound.is_peer_gone():
            assert bound.receive() is None
            time.sleep(0.01)
    bound.close()


def test_batsim_in_the_same_process_is_not_believed_either() -> None:
    try:
        path = library()
    except SchedulerError as error:
        pytest.skip(str(error))
    program = f"""
import ctypes
library = ctypes.CDLL({path!r})
none = [ctypes.byref(ctypes.c_uint32()) for _ in range(3)]
assert library.batsim_edc_init(b"", ctypes.c_uint32({LARGEST + 1}), *none) == 1
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == f"batprotocol: Batsim says {LARGEST + 1} bytes at once, and at most {LARGEST} are read\n"
