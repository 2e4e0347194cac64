"""What runs inside a child: it calls a function for whoever started it, until that one is gone.

It must not know what it calls. A thread reads what is asked for, so that a child notices at once when nobody wants it
any more, whatever it is doing.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

__all__ = ["PRINTED", "main"]

PRINTED = "printed"
"""The file in a child's folder that takes what is printed there."""

_PATIENCE = 10.0
"""Seconds that it takes at most to notice that nobody is there any more."""


def main(descriptor: int, function: str, folder: str, memory: int) -> None:
    """Serve.

    Args:
        descriptor: of the connection to who has started this.
        function: `module:name`.
        folder: of this child, with an empty folder `scratch` in it.
        memory: how many bytes of addresses this process may have; 0: as many as it likes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who has started this
    faulthandler.enable()
    connection = Connection(descriptor)
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(connection, requests, folder), daemon=True).start()
    module, _, name = function.partition(":")
    call: Callable[[Any, dict[str, Any], str], Any] = getattr(import_module(module), name)
    if memory:
        _limit(memory)
    shared: dict[str, Any] = {}
    scratch = os.path.join(folder, "scratch")
    while True:
        request = requests.get()
        with suppress(OSError):
            os.ftruncate(1, 0)
        try:
            argument, more = pickle.loads(request)  # here, as two threads that import the same may wait for each other
            shared.update(more)
            answer = True, call(argument, shared, scratch)
        except BaseException:
            answer = False, traceback.format_exc()
        try:
            sys.stdout.flush()
            _empty(scratch)
            connection.send(answer)
        except OSError:
            time.sleep(_PATIENCE)  # if who has started this is gone, the other thread is taking all of it away
            raise


def _read(connection: Connection, requests: SimpleQueue[bytes], folder: str) -> None:
    while True:
        try:
            requests.put(connection.recv_bytes())
        except (EOFError, OSError):
            shutil.rmtree(folder, ignore_errors=True)
            os.killpg(0, signal.SIGKILL)  # with all that it has started


def _limit(memory: int) -> None:
    with suppress(ImportError):  # where it is missing, there are no limits
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (memory if most < 0 else min(memory, most), most))


def _empty(folder: str) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
