"""The interface of engines: calls have numbers, and their ends come back in any order.

The function `module:name` has three parameters: its argument, the shared values by name, and a folder, which is empty
at the begin of each call. All arguments and results can be pickled.
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
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

__all__ = [
    "PRINTED",
    "Ended",
    "Engine",
    "main",
]


class Ended(NamedTuple):
    """The end of a call.

    Args:
        number: the number of the call.
        value: the value that the function returned; None if it did not return.
        lost: the reason if there is no value, as a part of a sentence (`its process was ended by SIGSEGV`); else "".
        printed: the end of the output of its process if there is no value.
        place: the host on which it ran, and on Dask the worker.
        is_late: whether there is no value because it took longer than the time limit.
    """

    number: int
    value: Any
    lost: str = ""
    printed: str = ""
    place: str = ""
    is_late: bool = False


class Engine(Protocol):
    """Calls a function, several times at once."""

    is_remote: bool
    """Whether the calls may run on other machines, without the files of this one."""

    @property
    def places(self) -> int:
        """The number of calls that can run at once, now."""

    def share(self, name: str, value: Any) -> None:
        """Share a value with the calls that name it."""

    def submit(self, number: int, argument: Any, shared: Sequence[str] = ()) -> None:
        """Call the function with this argument, and with the shared values of these names."""

    def wait(self, timeout: float) -> list[Ended]:
        """Wait for calls to end, for `timeout` seconds at most, and return those that have ended since the last time.

        Raises:
            ClusterError: there is no place to run calls any more.
        """

    def close(self) -> None:
        """Drop the calls that have not begun, before those that run are ended. On Dask, these run to their end."""


# The program of a child: it calls a function for its parent process, until that one is gone.


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
