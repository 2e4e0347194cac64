"""The program of a child: it calls a function for its parent process, until that one is gone.

This module must not know what it calls. A thread reads the requests, so that a child notices at once when its parent is
gone, also during a call.
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
"""The file in a child's folder for its output."""

_PATIENCE = 10.0
"""The greatest number of seconds until a child notices that its parent is gone."""


def main(descriptor: int, function: str, folder: str, memory: int) -> None:
    """Serve the calls.

    Args:
        descriptor: the descriptor of the connection to the parent.
        function: the function, `module:name`.
        folder: the folder of this child, with an empty folder `scratch` in it.
        memory: the limit of the address space of this process, in bytes; 0: no limit.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
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
            # in this thread, as two threads that import the same module may wait for each other
            argument, more = pickle.loads(request)
            shared.update(more)
            answer = True, call(argument, shared, scratch)
        except BaseException:
            answer = False, traceback.format_exc()
        try:
            sys.stdout.flush()
            _empty(scratch)
            connection.send(answer)
        except OSError:
            time.sleep(_PATIENCE)  # if the parent is gone, the other thread removes all of this
            raise


def _read(connection: Connection, requests: SimpleQueue[bytes], folder: str) -> None:
    while True:
        try:
            requests.put(connection.recv_bytes())
        except (EOFError, OSError):
            shutil.rmtree(folder, ignore_errors=True)
            os.killpg(0, signal.SIGKILL)  # with all that it has started


def _limit(memory: int) -> None:
    with suppress(ImportError):  # on systems without it, there are no limits
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (memory if most < 0 else min(memory, most), most))


def _empty(folder: str) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
