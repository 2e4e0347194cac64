"""Dask: connecting to its scheduler, and its workers as an engine.

On each thread of a worker, a `Child` calls the function, so that what is called may be killed there, too, and has an
interpreter of its own. The package `distributed` comes with `batprotocol[dask]`, and is imported when it is used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

from batprotocol.engines.child import Child
from batprotocol.engines.interface import Ended
from batprotocol.errors import ClusterError, PackageMissing
from batprotocol.extras import installing

__all__ = ["FAULTS", "DaskEngine", "connect", "missing"]

FAULTS: Final = (OSError, TimeoutError, asyncio.TimeoutError, ValueError)
"""What a client raises where nobody answers at its address."""

_BATCH: Final = 256
"""So many results are fetched at once."""


def missing(error: ImportError) -> str:
    """What is missing where `distributed` cannot be imported, as a sentence."""
    return f"it needs {error.name}: {installing('dask')}"


def connect(address: str, timeout: float, prepare: Callable[[Any], None] = lambda client: None) -> Any:
    """A client of the scheduler there.

    Args:
        address: of the scheduler, `tcp://host:8786`.
        timeout: how many seconds it has to answer.
        prepare: called with the client; where it fails, that is closed.

    Raises:
        ImportError: `distributed` is missing.
        FAULTS: nobody answers.
    """
    from distributed import Client
    from distributed.comm.core import CommClosedError

    until = time.monotonic() + timeout
    while True:
        try:
            left = max(0.1, until - time.monotonic())
            client: Any = Client(address, timeout=left, set_as_default=False)  # type: ignore[no-untyped-call]  # partly typed
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
    """The workers of a Dask scheduler. What was to be called on a worker that dies is called on another one.

    Args:
        function: what is called, `module:name`; the workers must have it.
        address: of the scheduler, `tcp://host:8786`.
        seconds: how long a call may take; a process that takes longer is killed.
        memory: how many bytes of addresses the process of each call may have; 0: as many as it likes.
        timeout: how many seconds the scheduler has to answer.

    Raises:
        PackageMissing: `distributed` is missing.
        ClusterError: nobody answers, or the workers have another batprotocol than this one.
    """

    is_remote = True

    def __init__(
        self, function: str, address: str, *, seconds: float = float("inf"), memory: int = 0, timeout: float = 10.0
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._setting = function, seconds, memory
        self._shared: dict[str, Any] = {}
        self._futures: dict[str, tuple[int, Any]] = {}
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._away_since: float | None = None
        try:
            self._client = connect(address, timeout)
        except ImportError as error:
            raise PackageMissing(missing(error).replace("it", "Dask", 1), name=error.name) from None
        except FAULTS as error:
            raise ClusterError(f"{address} does not answer: {error}") from None
        try:
            self._expect_same_version()
        except BaseException:
            self._client.close(timeout=1)
            raise

    def _expect_same_version(self) -> None:
        def version() -> str:  # it travels with its code, as it is in no module
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
                    raise ClusterError(f"the worker {worker} has {what}, and here is {ours or 'one without a version'}")
        except FAULTS as error:
            raise ClusterError(f"{self._address} does not answer: {error}") from None

    @property
    def places(self) -> int:
        """How many threads the workers have now."""
        return sum(self._client.nthreads().values())

    def share(self, name: str, value: Any) -> None:
        """Make this known to all calls that name it. Dask makes it anew where a worker that had it has died."""
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
        """The calls that have ended; where there are none, it waits for some seconds at most."""
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
        except FAULTS as error:
            raise ClusterError(f"{self._address} does not answer any more: {error}") from None
        return [self._ended(future, values) for future in done]

    def _ended(self, future: Any, values: dict[str, Ended]) -> Ended:
        number, _ = self._futures.pop(future.key)
        if future.key in values:
            return values[future.key]._replace(number=number)
        if future.status == "error":
            error = future.exception()
            return Ended(number, None, f"Dask could not run it: {type(error).__name__}: {error}", place=self._address)
        self._expect_life()
        raise ClusterError(f"{self._address} has lost what it was to run")

    def _expect_life(self) -> None:
        if self._client.status == "running":
            self._away_since = None
            return
        now = time.monotonic()
        self._away_since = self._away_since or now
        if self._client.status == "closed" or now - self._away_since > self._timeout:
            raise ClusterError(f"{self._address} does not answer any more")

    def close(self) -> None:
        """Let Dask drop what was to be called; what runs is not waited for."""
        self._futures.clear()
        self._shared.clear()
        self._client.close(timeout=0.5)


def _itself(value: Any) -> Any:
    return value


_IDLE: dict[tuple[str, int], list[Child]] = {}
"""On a worker: the children that have nothing to do, by what they call."""


def _call(function: str, seconds: float, memory: int, argument: Any, names: list[str], *shared: Any) -> Ended:
    """On a worker, in a thread of it."""
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
