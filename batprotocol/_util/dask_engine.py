"""Dask: the connection to its scheduler, and its workers as an engine.

On each thread of a worker, a `Child` calls the function, so that a call has its own interpreter and may be killed. The
package `distributed` comes with `batprotocol[dask]`, and is imported at its first use.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

from batprotocol._util.engines import Child, Ended
from batprotocol._util.requirements import installing
from batprotocol.errors import ClusterError, PackageMissing

__all__ = ["FAULTS", "DaskEngine", "connect", "missing"]

FAULTS: Final = (OSError, TimeoutError, asyncio.TimeoutError, ValueError)
"""The exceptions of a client if nobody answers at its address."""

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
        FAULTS: nobody answers.
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
        except FAULTS as error:
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
        except FAULTS as error:
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
        except FAULTS as error:
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
