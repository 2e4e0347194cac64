"""The failures of hosts in episodes: drawn anew for each episode, or the same events in all.

This module must not know worlds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TypeAlias

from batprotocol.errors import InputError, shown
from batprotocol.gym.log import Log
from batprotocol.simulator import host_events_of
from batprotocol.workloads.host_events import FailureModel, HostEvent, drawn_failures, read_host_events

__all__ = ["Failures", "GivenFailures"]

GivenFailures: TypeAlias = "FailureModel | Sequence[FailureModel] | str | os.PathLike[str]"

_LONGER: Final = 4.0
"""Failures are drawn for this many times the time that the jobs of an episode need without failures."""


class Failures:
    """The failures of hosts in episodes.

    Args:
        given: the laws of failures, which are drawn for each episode; or a file of events of hosts, whose times are
            seconds since the first submission of an episode.
        log: the jobs, and the number of hosts.

    Raises:
        InputError: the events cannot be read, are not those of hosts that fail, are drained and come back, or a host
            does not come back.
        OSError: the file cannot be read.
    """

    def __init__(self, given: GivenFailures, log: Log) -> None:
        self._log = log
        self._models: list[FailureModel] = []
        self._events: list[tuple[float, HostEvent]] = []
        if isinstance(given, str | os.PathLike):
            self._events = _events_of(given, log.hosts)
            return
        self._models = [given] if isinstance(given, FailureModel) else list(given)
        if not self._models or not all(isinstance(each, FailureModel) for each in self._models):
            raise InputError(f"expected failures as a FailureModel, several, or a file of events, got {shown(given)}")

    @property
    def are_drawn(self) -> bool:
        """Whether they are other ones in each episode."""
        return bool(self._models)

    def events(self, first: int, count: int, seed: int) -> list[tuple[float, HostEvent]]:
        """The events of an episode, with their times since its first submission in seconds.

        Args:
            first: the number of its first job in the log.
            count: the number of its jobs.
            seed: the seed of failures that are drawn.
        """
        if not self._models:
            return self._events
        until = _LONGER * self._log.needed(first, count)
        return list(drawn_failures(self._log.hosts, self._models, until=until, seed=seed))


def _events_of(path: str | os.PathLike[str], hosts: int) -> list[tuple[float, HostEvent]]:
    found: list[tuple[float, HostEvent]] = []
    away: set[int] = set()
    for time, event in host_events_of(read_host_events([path], hosts)):
        if not isinstance(event, HostEvent):
            raise InputError(
                "environments know no windows: use events of hosts that fail, are drained and come back",
                "window",
                file=os.fspath(path),
            )
        found.append((time, event))
        away = away - set(event.hosts) if event.state.value == "up" else away | set(event.hosts)
    if away:
        raise InputError(f"host {min(away)} does not come back: add its event", "state", file=os.fspath(path))
    return found
