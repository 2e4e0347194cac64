"""Asks clusters side by side, so that one that does not answer keeps no other waiting.

Each cluster has a thread of its own, in which it is asked one thing at a time. What has not come back within the
patience of a cycle is taken up in a later one, and until then the cluster is left alone. A cluster that fails is asked
again after a second, then after two, four... up to a minute. It must not know what is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from batprotocol.campaigns.managers.interface import ResourceManager
from batprotocol.errors import ClusterError

__all__ = ["Clusters", "Station"]

Answer = TypeVar("Answer")

FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 60.0
"""After how long a cluster is asked again that has failed: at first, and at most."""


class Station:
    """A cluster, and the thread in which it is asked."""

    def __init__(self, manager: ResourceManager, threaded: bool) -> None:
        self.manager = manager
        self.asked: Future[Any] | None = None  # what has not been taken up
        self.kind = ""
        self.retry_at = 0.0
        self._pause = 0.0
        self._threaded = threaded
        self._questions: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether it has been asked something that it has not answered."""
        return self.asked is not None and not self.asked.done()

    def ask(self, kind: str, question: Callable[[], Any]) -> Future[Any]:
        """Ask it, now or in its thread."""
        asked: Future[Any] = Future()
        self.asked, self.kind = asked, kind
        if not self._threaded:
            _answer(asked, question)
            return asked
        if self._thread is None:
            self._thread = threading.Thread(target=self._listen, name=f"cluster {self.manager.name}", daemon=True)
            self._thread.start()
        self._questions.put((asked, question))
        return asked

    def take(self) -> Any:
        """What it answered; raises what was raised there."""
        assert self.asked is not None
        asked, self.asked = self.asked, None
        return asked.result()

    def failed(self, now: float) -> None:
        """It did not answer: leave it alone for a while."""
        self._pause = min(max(FIRST_SECONDS, 2 * self._pause), LONGEST_SECONDS)
        self.retry_at = now + self._pause

    def answered(self) -> None:
        """It is there."""
        self._pause = self.retry_at = 0.0

    def close(self) -> None:
        """Let its thread end, if it is not in the middle of something."""
        if self._thread is not None:
            self._questions.put(None)

    def _listen(self) -> None:
        while (asked := self._questions.get()) is not None:
            _answer(*asked)


def _answer(asked: Future[Any], question: Callable[[], Any]) -> None:
    try:
        asked.set_result(question())
    except BaseException as error:  # whoever asked is told
        asked.set_exception(error)


class Clusters:
    """All clusters that may be asked.

    Args:
        managers: their resource managers.
        patience: how many seconds to wait for those that take long; None: as long as it takes, one after the other
            and in this thread.
    """

    def __init__(self, managers: Iterable[ResourceManager], patience: float | None) -> None:
        self._stations = {each.name: Station(each, patience is not None) for each in managers}
        self._patience = patience

    def __iter__(self) -> Iterator[str]:
        return iter(self._stations)

    def ask(
        self, kind: str, questions: Mapping[str, Callable[[ResourceManager], Answer]], now: float
    ) -> tuple[dict[str, Answer], list[ClusterError]]:
        """Ask clusters by their names: the answers that have come by the end of the patience, and what failed.

        A cluster that has yet to answer what it was asked before is not asked anything else, and neither is one that
        has failed a short time ago. An answer may so be to a question of this kind that was asked earlier.

        Args:
            kind: the kind of the questions.
            questions: what to ask of each; one that is not known is left out.
            now: seconds of the grid's clock.
        """
        answers: dict[str, Answer] = {}
        errors: list[ClusterError] = []
        late = self._taken(now, errors)
        answers.update({name: answer for name, (of, answer) in late.items() if of == kind})
        asked: list[Future[Any]] = []
        for name, question in questions.items():
            station = self._stations.get(name)
            if station is None or name in answers or station.asked is not None or now < station.retry_at:
                continue
            asked.append(station.ask(kind, _bound(question, station.manager)))
        wait(asked, self._patience)
        answers.update({name: answer for name, (_, answer) in self._taken(now, errors).items()})
        return answers, errors

    def tend(self) -> None:
        """Let the clusters do what they have to do between two cycles, but for those that are busy."""
        for station in self._stations.values():
            if not station.busy:
                station.manager.tend()

    def close(self) -> None:
        """Wait for what was asked, not for longer than the patience, and let the threads end."""
        asked = [station.asked for station in self._stations.values() if station.asked is not None]
        wait(asked, self._patience)
        for station in self._stations.values():
            station.close()

    def _taken(self, now: float, errors: list[ClusterError]) -> dict[str, tuple[str, Any]]:
        """The kinds of what has been answered, and the answers."""
        found: dict[str, tuple[str, Any]] = {}
        for name, station in self._stations.items():
            if station.asked is None or station.busy:
                continue
            try:
                found[name] = station.kind, station.take()
                station.answered()
            except ClusterError as error:
                errors.append(error)
                station.failed(now)
        return found


def _bound(question: Callable[[ResourceManager], Answer], manager: ResourceManager) -> Callable[[], Answer]:
    return lambda: question(manager)
