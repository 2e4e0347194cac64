"""Environments whose worlds are in Python, also where they are compiled."""

from __future__ import annotations

from typing import Any

__all__ = ["in_python"]


def in_python(kind: Any) -> Any:
    """The same class of environments, with worlds that are not compiled."""
    from batprotocol.gym._world import PythonDirect

    def make_world(self: Any, first: int, ranks: Any, tried: Any) -> Any:
        return PythonDirect(self.log, first, self.jobs, ranks, tried)

    return type("InPython", (kind,), {"make_world": make_world})
