"""Engines, which call a function many times: in processes of this machine, or on the workers of a Dask scheduler.

Calls have numbers, and their ends come back in any order. The function `module:name` has three parameters: its
argument, the shared values by name, and a folder, which is empty at the begin of each call. All arguments and results
can be pickled.

A `Child` is a process that calls one function again and again, and that may be killed at any time. `Processes` has
several of them, and `DaskEngine` one on each thread of Dask's workers. Both are an `Engine`, which returns how each
call ended.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, Protocol

from batprotocol._util.deprecation import OldName
from batprotocol._util.requirements import installing, kill_with_children, refusal
from batprotocol.errors import ClusterError, PackageMissing, SystemLacks

__all__ = ["Child", "DaskEngine", "Ended", "Engine", "Processes"]


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


# Processes of this machine, as an engine.


# A process that calls one function again and again, while the process that started it lives.


_PROGRAM: Final = """
import json, sys

descriptor, function, folder, memory, path = sys.argv[1:]
own = [each for each in sys.path if each]

sys.path[:] = own + [each for each in json.loads(path) if each not in own]
from batprotocol._util.engines import main

main(int(descriptor), function, folder, int(memory))
"""
"""The program. Its own folders come first, as files in the folders of its parent may have the names of modules."""
_KEPT: Final = 10_000
"""How many characters are kept of the output of a process that has died: the last ones."""
PREFIX: Final = "batprotocol-"


class Child:
    """A process that calls a function.

    Args:
        function: `module:name`, see `interface`.
        memory: the limit of its address space, in bytes; 0: no limit.

    Raises:
        OSError: it cannot be started.
        SystemLacks: this system cannot pass it a connection.
    """

    def __init__(self, function: str, memory: int = 0) -> None:
        if sentence := refusal("processes for runs", "os.killpg"):
            raise SystemLacks(sentence)
        self.connection: Connection
        """It is readable when a call has ended, with or without a value."""
        self._folder = tempfile.mkdtemp(prefix=PREFIX)
        os.mkdir(os.path.join(self._folder, "scratch"))
        self._known: set[str] = set()
        self._number = -1
        self._until = float("inf")
        self._seconds = 0.0
        self.connection, theirs = Pipe()
        with open(os.path.join(self._folder, PRINTED), "ab") as printed, theirs:
            words = (str(theirs.fileno()), function, self._folder, str(memory), json.dumps(sys.path))
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *words],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,  # it is killed with all that it has started
            )

    def begin(self, number: int, argument: Any, shared: Mapping[str, Any], seconds: float = float("inf")) -> None:
        """Begin a call. No other call may run.

        Args:
            number: the number of the call.
            argument: the argument of the function.
            shared: the shared values that it needs, by name. A value that the process has already is not sent again.
            seconds: the time after which `end` kills the process.
        """
        self._number, self._seconds, self._until = number, seconds, time.monotonic() + seconds
        new = {name: value for name, value in shared.items() if name not in self._known}
        self._known.update(new)
        with suppress(OSError):  # it has died: `end` reports that
            self.connection.send((argument, new))

    @property
    def remaining_seconds(self) -> float:
        """The time until the process is killed, in seconds."""
        return self._until - time.monotonic()

    seconds_left = OldName("remaining_seconds")

    def end(self) -> Ended | None:
        """The end of the call, or None while it runs. If the end has no value, the process is dead."""
        try:
            if not self.connection.poll(0):
                if self.remaining_seconds > 0:
                    return None
                return self._dead(f"it took more than {self._seconds:g} s")._replace(is_late=True)
            returned, value = self.connection.recv()
        except (EOFError, OSError):
            return self._dead("")
        self._until = float("inf")
        if returned:
            return Ended(self._number, value, place=socket.gethostname())
        self.close()
        return Ended(self._number, None, "its process has failed", str(value), socket.gethostname())

    def call(self, argument: Any, shared: Mapping[str, Any], seconds: float = float("inf")) -> Ended:
        """Call the function, and wait for the end."""
        self.begin(0, argument, shared, seconds)
        while True:
            remaining = max(0.0, self.remaining_seconds)
            self.connection.poll(None if remaining == float("inf") else remaining)
            ended = self.end()
            if ended is not None:
                return ended

    def _dead(self, lost: str) -> Ended:
        if not lost:
            try:
                code = self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                code = 0
            lost = f"its process was ended by {_signal(-code)}" if code < 0 else f"its process ended with status {code}"
        try:
            with open(os.path.join(self._folder, PRINTED), encoding="utf-8", errors="replace") as file:
                printed = file.read()[-_KEPT:]
        except OSError:
            printed = ""
        self.close()
        return Ended(self._number, None, lost, printed, socket.gethostname())

    def close(self) -> None:
        """Kill the process, also during a call."""
        kill_with_children(self._process)
        self._process.wait()
        self.connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """Processes of this machine, started when there are calls for them.

    Args:
        function: the function, `module:name`.
        count: the number of processes; None: as many as there are processors.
        seconds: the time limit of a call; a process that takes longer is killed.
        memory: the limit of the address space of each process, in bytes; 0: no limit.
    """

    is_remote = False

    def __init__(
        self, function: str, count: int | None = None, *, seconds: float = float("inf"), memory: int = 0
    ) -> None:
        self._function = function
        self._count = count or cores()
        self._seconds = seconds
        self._memory = memory
        self._shared: dict[str, Any] = {}
        self._waiting: deque[tuple[int, Any, tuple[str, ...]]] = deque()
        self._idle: list[Child] = []
        self._busy: dict[Any, Child] = {}

    @property
    def places(self) -> int:
        """The number of calls that can run at once."""
        return self._count

    def share(self, name: str, value: Any) -> None:
        """Share a value with the calls that name it."""
        self._shared[name] = value

    def submit(self, number: int, argument: Any, shared: Sequence[str] = ()) -> None:
        """Call the function as soon as a process is free."""
        self._waiting.append((number, argument, tuple(shared)))
        self._begin()

    def wait(self, timeout: float) -> list[Ended]:
        """Wait for calls to end, for `timeout` seconds at most, and return those that have ended."""
        until = time.monotonic() + timeout
        while self._busy:
            remaining = min(until - time.monotonic(), *(child.remaining_seconds for child in self._busy.values()))
            wait(list(self._busy), max(remaining, 0.0))
            found = [(child, child.end()) for child in list(self._busy.values())]
            ended = []
            for child, how in found:
                if how is not None:
                    del self._busy[child.connection]
                    if not how.lost:
                        self._idle.append(child)
                    ended.append(how)
            self._begin()  # before the caller handles the ends, so that no process waits for it
            if ended or time.monotonic() >= until:
                return ended
        return []

    def _begin(self) -> None:
        while self._waiting and len(self._busy) < self._count:
            number, argument, names = self._waiting.popleft()
            child = self._idle.pop() if self._idle else Child(self._function, self._memory)
            child.begin(number, argument, {name: self._shared[name] for name in names}, self._seconds)
            self._busy[child.connection] = child

    def close(self) -> None:
        """Drop the calls that have not begun, and kill those that run."""
        self._waiting.clear()
        for child in (*self._busy.values(), *self._idle):
            child.close()
        self._busy.clear()
        self._idle.clear()


# Dask: the connection to its scheduler, and its workers as an engine.


def dask_faults() -> tuple[type[Exception], ...]:
    """The exceptions of a client of Dask if nobody answers at its address."""
    import asyncio  # which each child would import, too

    return OSError, TimeoutError, asyncio.TimeoutError, ValueError


_BATCH: Final = 256
"""The number of results that are fetched at once."""


def missing(error: ImportError) -> str:
    """The message if `distributed` cannot be imported."""
    return f"it needs {error.name}: {installing('dask')}"


def connect(
    address: str, timeout: float, prepare: Callable[[Any], None] = lambda client: None, security: Any = None
) -> Any:
    """Connect to a scheduler; return the client.

    Args:
        address: the address of the scheduler, `tcp://host:8786`.
        timeout: how long to wait for its answer, in seconds.
        prepare: called with the client. If it fails, the client is closed.
        security: Dask's certificates for an address `tls://`, or None.

    Raises:
        ImportError: `distributed` is missing.
        Exception: nobody answers: one of `dask_faults`.
    """
    from distributed import Client
    from distributed.comm.core import CommClosedError

    until = time.monotonic() + timeout
    while True:
        try:
            remaining = max(0.1, until - time.monotonic())
            client: Any = Client(address, timeout=remaining, set_as_default=False, security=security)  # type: ignore[no-untyped-call]
            try:
                prepare(client)
            except BaseException:
                client.close(timeout=1)
                raise
            return client
        except CommClosedError:  # a scheduler that is just starting may close what is opened too early
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


class DaskEngine:
    """The workers of a Dask scheduler. If a worker dies, its calls are repeated on another one.

    Args:
        function: the function, `module:name`; the workers must have it.
        address: the address of the scheduler, `tcp://host:8786`.
        seconds: the time limit of a call; a process that takes longer is killed.
        memory: the limit of the address space of each process, in bytes; 0: no limit.
        timeout: how long to wait for an answer of the scheduler, in seconds.
        security: Dask's certificates for an address `tls://`, or None.

    Raises:
        PackageMissing: `distributed` is missing.
        ClusterError: nobody answers, or the workers have another version of batprotocol.
    """

    is_remote = True

    def __init__(
        self,
        function: str,
        address: str,
        *,
        seconds: float = float("inf"),
        memory: int = 0,
        timeout: float = 10.0,
        security: Any = None,
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._setting = function, seconds, memory
        self._shared: dict[str, Any] = {}
        self._futures: dict[str, tuple[int, Any]] = {}
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._away_since: float | None = None
        try:
            self._client = connect(address, timeout, security=security)
        except ImportError as error:
            raise PackageMissing(missing(error).replace("it", "Dask", 1), name=error.name) from None
        except dask_faults() as error:
            raise ClusterError(f"{address} does not answer: {error}") from None
        try:
            self._expect_same_version()
        except BaseException:
            self._client.close(timeout=1)
            raise

    def _expect_same_version(self) -> None:
        def version() -> str:  # it is sent with its code, as it is in no module
            try:
                from importlib.metadata import version

                return version("batprotocol")
            except Exception:
                return ""

        ours = version()
        try:
            for worker, theirs in self._client.run(version).items():
                if theirs != ours:
                    what = f"batprotocol {theirs}" if theirs else "no batprotocol"
                    raise ClusterError(
                        f"the worker {worker} has {what}, this process {ours or 'none'}: install the same version"
                    )
        except dask_faults() as error:
            raise ClusterError(f"{self._address} does not answer: {error}") from None

    @property
    def places(self) -> int:
        """The number of threads of the workers."""
        return sum(self._client.nthreads().values())

    def share(self, name: str, value: Any) -> None:
        """Share a value with the calls that name it. If a worker that has it dies, Dask makes it again."""
        key = f"batprotocol-shared-{name}"
        self._shared[name] = self._client.submit(_itself, value, key=key, pure=True)

    def submit(self, number: int, argument: Any, shared: Sequence[str] = ()) -> None:
        """Call the function on a worker."""
        function, seconds, memory = self._setting
        future = self._client.submit(
            _call,
            function,
            seconds,
            memory,
            argument,
            list(shared),
            *(self._shared[name] for name in shared),
            pure=False,
        )
        self._futures[future.key] = number, future
        future.add_done_callback(self._done.put)

    def wait(self, timeout: float) -> list[Ended]:
        """Wait for calls to end, for `timeout` seconds at most, and return those that have ended."""
        done = []
        with suppress(Empty):
            done.append(self._done.get(timeout=timeout))
            while len(done) < _BATCH:
                done.append(self._done.get_nowait())
        if not done:
            self._expect_life()
            return []
        fine = [future for future in done if future.status == "finished"]
        try:
            values = dict(zip((future.key for future in fine), self._client.gather(fine), strict=True))
        except dask_faults() as error:
            raise ClusterError(f"{self._address} does not answer any more: {error}") from None
        return [ended for future in done if (ended := self._ended(future, values)) is not None]

    def _ended(self, future: Any, values: dict[str, Ended]) -> Ended | None:
        """The end of a call; None if its worker died with the result, so that Dask repeats it."""
        if future.key not in values and future.status in ("pending", "lost", "finished"):
            future.add_done_callback(self._done.put)
            return None
        number, _ = self._futures.pop(future.key)
        if future.key in values:
            return values[future.key]._replace(number=number)
        if future.status == "error":
            error = future.exception()
            return Ended(number, None, f"Dask could not run it: {type(error).__name__}: {error}", place=self._address)
        self._expect_life()
        raise ClusterError(f"{self._address} has lost a call")

    def _expect_life(self) -> None:
        if self._client.status == "running":
            self._away_since = None
            return
        now = time.monotonic()
        self._away_since = self._away_since or now
        if self._client.status == "closed" or now - self._away_since > self._timeout:
            raise ClusterError(f"{self._address} does not answer any more")

    def close(self) -> None:
        """Let Dask drop the calls that have not begun. Calls that run go on to their end, without a result."""
        self._futures.clear()
        self._shared.clear()
        self._client.close(timeout=0.5)


def _itself(value: Any) -> Any:
    return value


_IDLE: dict[tuple[str, int], list[Child]] = {}
"""On a worker: the idle children, by their function and memory."""


def _call(function: str, seconds: float, memory: int, argument: Any, names: list[str], *shared: Any) -> Ended:
    """Call the function, in a thread of a worker."""
    from distributed import get_worker

    idle = _IDLE.setdefault((function, memory), [])
    try:
        child = idle.pop()
    except IndexError:
        child = Child(function, memory)
    ended = child.call(argument, dict(zip(names, shared, strict=True)), seconds)
    if not ended.lost:
        idle.append(child)
    return ended._replace(place=f"{ended.place}, worker {get_worker().name}")
