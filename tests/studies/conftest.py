"""Processes that run studies are kept from one test to the next, as they take longer to start than most studies to run.

They are real ones, which an engine kills with what they do; only where it would kill one that does nothing, the next
engine has it. A process serves many studies with Dask, too, so what one leaves behind must not matter to the next.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from batprotocol._util import engines as processes
from batprotocol._util.engines import Child, Ended


class _Kept(Child):
    """A child that waits for the next engine when its own one does not need it any more."""

    free: ClassVar[defaultdict[object, list[_Kept]]] = defaultdict(list)

    def __init__(self, function: str, memory: int) -> None:
        super().__init__(function, memory)
        self.kind = _kind(function, memory)
        self.works = False

    def begin(self, number: int, argument: Any, shared: Mapping[str, Any], seconds: float = float("inf")) -> None:
        self.works = True
        super().begin(number, argument, shared, seconds)

    def end(self) -> Ended | None:
        ended = super().end()
        self.works = ended is None
        return ended

    def close(self) -> None:
        if self.works or self._process.poll() is not None:
            super().close()
        else:
            self.free[self.kind].append(self)


def _kind(function: str, memory: int) -> object:
    """All that a process has of its parent. Metrics add their folder to the path: their tests have processes apart."""
    variables = frozenset(each for each in os.environ.items() if each[0] != "PYTEST_CURRENT_TEST")
    return function, memory, os.getcwd(), tuple(sys.path), variables


def _child(function: str, memory: int) -> _Kept:
    free = _Kept.free[_kind(function, memory)]
    if not free:
        return _Kept(function, memory)
    child = free.pop()
    child._known.clear()  # the same files may be in another folder now
    return child


@pytest.fixture(scope="session")
def kept_processes() -> Iterator[None]:
    """Those that are free are killed in the end."""
    yield
    for free in _Kept.free.values():
        for child in free:
            Child.close(child)


@pytest.fixture(autouse=True)
def processes_are_kept(monkeypatch: pytest.MonkeyPatch, kept_processes: None) -> None:
    monkeypatch.setattr(processes, "Child", _child)
    monkeypatch.setattr(sys, "path", sys.path[:])  # to which metrics add their folders
