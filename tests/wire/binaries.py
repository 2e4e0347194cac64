"""Reading bytes with the careful reader alone, or without it; and messages that nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

from batprotocol.model import (
    JobAndProgress,
    JobsKilledEvent,
    KillProgress,
    KillProgressAtomicProfile,
    KillProgressForkJoinProfile,
    KillProgressSequentialProfile,
    Message,
)
from batprotocol.wire import reader, tree


def carefully(data: bytes) -> Message:
    """The message as the careful reader alone reads it."""
    return tree.to_message(reader.read(data))


def without_the_careful_reader() -> Any:
    """Where an engine that needs the careful reader fails: usual messages are read at full speed."""
    return mock.patch.object(reader, "read", side_effect=AssertionError("the engine needed the careful reader"))


def nested(depth: int, wrap: Callable[[KillProgress], KillProgress]) -> Message:
    """A message with this many kill progress tables, one in the other."""
    progress: KillProgress = KillProgressAtomicProfile("w!p", 0.5)
    for _ in range(depth - 1):
        progress = wrap(progress)
    return Message(1.0, (JobsKilledEvent(job_ids=("w!j",), progresses=(JobAndProgress("w!j", progress),)),))


def in_sequence(progress: KillProgress) -> KillProgress:
    return KillProgressSequentialProfile("w!s", 1, 2, progress)


def in_fork_join(progress: KillProgress) -> KillProgress:
    return KillProgressForkJoinProfile("w!f", (progress,))
