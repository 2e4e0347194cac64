"""The limits of a call of a tool. This module needs no other package."""

from __future__ import annotations

import msgspec

__all__ = ["Limits"]


class Limits(msgspec.Struct, frozen=True):
    """The limits of a command.

    Args:
        folder: the folder whose files it can use. It is found once, when the server is made.
        seconds: its longest real time, without that in which it waits for other calls.
        characters: how much of its output is returned.
        memory: the address space of its processes together, in bytes; 0: no limit. A study needs 1 GiB.
        runs_code: whether it may run Python files of the folder, which can do anything that the user can do.
        runs: the greatest number of runs of a study.
    """

    folder: str
    seconds: float = 300.0
    characters: int = 50_000
    memory: int = 4 << 30
    runs_code: bool = False
    runs: int = 1000
