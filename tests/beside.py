"""What runs in a thread beside a test, such as the other end of a bridge."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["LIMIT", "Beside"]

LIMIT = 60.0
"""Seconds after which a wait in these tests ends: only if something is wrong."""


class Beside:
    """Something that runs in a thread, and whose error is raised in the end."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.error: BaseException | None = None

        def run() -> None:
            try:
                work()
            except BaseException as error:
                self.error = error

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._thread.join(LIMIT)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error
