"""Studies that are in their midst for as long as a test wants, however fast their runs are."""

from __future__ import annotations

from pathlib import Path

__all__ = ["Gate"]

GATED = """
import time
from pathlib import Path
from batprotocol.policies import EASY, SAF, SJF, Policy

RUNS, MOST = Path({runs!r}), Path({most!r})

class Gated(Policy):
    parts = {{}}

    def __init__(self):
        while sum(1 for _ in RUNS.glob("*/*")) >= int(MOST.read_text()):
            time.sleep(0.01)
        super().__init__(**self.parts)

class First(Gated):
    pass

class Easy(Gated):
    parts = {{"backfilling": EASY()}}

class Shortest(Gated):
    parts = {{"order": SJF()}}

class Smallest(Gated):
    parts = {{"backfilling": EASY(SAF())}}
"""


class Gate:
    """Schedulers of which none begins while a store has as many runs as the test allows.

    So what is to happen in the middle of a study happens then, however fast its runs are.
    """

    def __init__(self, folder: Path, runs: Path) -> None:
        self._most = folder / "most"
        self.schedulers = [f"gated.py:{name}" for name in ("First", "Easy", "Shortest", "Smallest")]
        self.allow(0)
        (folder / "gated.py").write_text(GATED.format(runs=str(runs), most=str(self._most)))

    def allow(self, most: int) -> None:
        """Let runs begin while there are fewer than so many."""
        new = self._most.with_suffix(".new")
        new.write_text(str(most))
        new.replace(self._most)
