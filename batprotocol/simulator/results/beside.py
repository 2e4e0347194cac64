"""The files beside Batsim's in which a run keeps its failures: its attempts, and the events of hosts.

This module must not know how they are measured.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Final

from batprotocol.requests import Attempt
from batprotocol.simulator.inputs.event_lists import read_external_events, write_event_lines
from batprotocol.simulator.results.attempts import read_attempts, write_attempts
from batprotocol.simulator.results.away import TimedHostEvent, host_events_of

__all__ = ["ATTEMPTS", "HOST_EVENTS", "failures_beside", "write_failures"]

ATTEMPTS: Final = "attempts.csv"
HOST_EVENTS: Final = "host_events.jsonl"


def write_failures(prefix: str, attempts: Collection[Attempt], events: Collection[TimedHostEvent]) -> None:
    """Write the failures of a run, if it had some.

    Args:
        prefix: the prefix of its result files, such as `out/`.
        attempts: the attempts of its jobs.
        events: the events of its hosts, with their times.

    Raises:
        OSError: a file cannot be written.
    """
    if attempts:
        write_attempts(f"{prefix}{ATTEMPTS}", attempts)
    if events:
        with open(f"{prefix}{HOST_EVENTS}", "w", encoding="utf-8") as file:
            write_event_lines(events, file)


def failures_beside(prefix: str) -> tuple[list[Attempt], list[TimedHostEvent]]:
    """The failures of a run: the attempts of its jobs, and the events of its hosts.

    Args:
        prefix: the prefix of its result files, such as `out/`. Files may be missing.

    Raises:
        InputError: a file cannot be used.
        OSError: a file cannot be read.
    """
    attempts, events = f"{prefix}{ATTEMPTS}", f"{prefix}{HOST_EVENTS}"
    return (
        read_attempts(attempts) if os.path.isfile(attempts) else [],
        list(host_events_of([read_external_events(events)])) if os.path.isfile(events) else [],
    )
