"""Asks clusters in parallel, so that a cluster that does not answer does not delay the others.

Each cluster has its own thread, which answers one question at a time. If an answer takes longer than the patience of a
cycle, a later cycle uses it, and the cluster gets no question until then. A cluster that fails is asked again after a
second, then after two, four... up to a minute. This module must not know the meaning of the questions.
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
"""The pause before a cluster that has failed is asked again: the first one, and the longest one."""


class Station:
    """A cluster, and the thread that asks it."""

    def __init__(self, manager: ResourceManager, threaded: bool) -> None:
        self.manager = manager
        self.asked: Future[Any] | None = None  # a question whose answer has not been taken
        self.kind = ""
        self.retry_at = 0.0
        self._pause = 0.0
        self._threaded = threaded
        self._questions: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether it has a question that it has not answered."""
        return self.asked is not None and not self.asked.done()

    def ask(self, kind: str, question: Callable[[], Any]) -> Future[Any]:
        """Ask the cluster, now or in its thread."""
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
        """Take its answer. An exception of the question is raised here."""
        assert self.asked is not None
        asked, self.asked = self.asked, None
        return asked.result()

    def failed(self, now: float) -> None:
        """Record that it did not answer: it is not asked again before a pause."""
        self._pause = min(max(FIRST_SECONDS, 2 * self._pause), LONGEST_SECONDS)
        self.retry_at = now + self._pause

    def answered(self) -> None:
        """Record that it has answered."""
        self._pause = self.retry_at = 0.0

    def close(self) -> None:
        """Let its thread end, after the question that it has."""
        if self._thread is not None:
            self._questions.put(None)

    def _listen(self) -> None:
        while (asked := self._questions.get()) is not None:
            _answer(*asked)


def _answer(asked: Future[Any], question: Callable[[], Any]) -> None:
    try:
        asked.set_result(question())
    except BaseException as error:  # `take` raises it
        asked.set_exception(error)


class Clusters:
    """All clusters.

    Args:
        managers: their resource managers.
        patience: how many seconds to wait for slow clusters; None: without a limit, one cluster after the other in this
            thread.
    """

    def __init__(self, managers: Iterable[ResourceManager], patience: float | None) -> None:
        self._stations = {each.name: Station(each, patience is not None) for each in managers}
        self._patience = patience

    def __iter__(self) -> Iterator[str]:
        return iter(self._stations)

    def ask(
        self, kind: str, questions: Mapping[str, Callable[[ResourceManager], Answer]], now: float
    ) -> tuple[dict[str, Answer], list[ClusterError]]:
        """Ask clusters by their names; return the answers that came within the patience, and the errors.

        A cluster that has not answered its last question, or that has just failed, gets no question. So an answer may
        belong to an earlier question of this kind.

        Args:
            kind: the kind of the questions.
            questions: the question for each cluster, by name; unknown names are ignored.
            now: seconds of the grid's clock.
        """
        answers: dict[str, Answer] = {}
        errors: list[ClusterError] = []
        answers.update(self._taken(kind, now, errors))
        asked: list[Future[Any]] = []
        for name, question in questions.items():
            station = self._stations.get(name)
            if station is None or name in answers or station.asked is not None or now < station.retry_at:
                continue
            asked.append(station.ask(kind, _bound(question, station.manager)))
        wait(asked, self._patience)
        answers.update(self._taken(kind, now, errors))  # also late ones, of any kind
        return answers, errors

    def tend(self) -> None:
        """Let the clusters do the work that is due between two cycles, except those that are busy."""
        for station in self._stations.values():
            if not station.busy:
                station.manager.tend()

    def close(self) -> None:
        """Wait for the answers, for the patience at most, and let the threads end."""
        asked = [station.asked for station in self._stations.values() if station.asked is not None]
        wait(asked, self._patience)
        for station in self._stations.values():
            station.close()

    def _taken(self, kind: str, now: float, errors: list[ClusterError]) -> dict[str, Any]:
        """Take all new answers; return those to questions of a kind, by cluster."""
        found: dict[str, Any] = {}
        for name, station in self._stations.items():
            if station.asked is None or station.busy:
                continue
            try:
                answer = station.take()
                station.answered()
                if station.kind == kind:
                    found[name] = answer
            except ClusterError as error:
                errors.append(error)
                station.failed(now)
        return found


def _bound(question: Callable[[ResourceManager], Answer], manager: ResourceManager) -> Callable[[], Answer]:
    return lambda: question(manager)
