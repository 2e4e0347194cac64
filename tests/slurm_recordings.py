"""The recorded runs of a real Slurm, beside the repository and in it."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

from support import DATA, SHARED

__all__ = ["RANDOM", "RUNS", "random_runs", "recording", "recordings"]

RUNS = SHARED / "slurm" / "runs"
RANDOM = DATA / "slurm" / "random"
"""An archive of random runs for each kind."""


def recordings(*kinds: str) -> list[Path]:
    """The files of recorded runs of these kinds (`c_multifactor`...), or of all; none without the folder beside us."""
    return sorted(path for path in RUNS.glob("*/*.json.xz") if not kinds or path.parent.name in kinds)


@cache
def recording(path: Path) -> dict[str, Any]:
    """A recorded run."""
    run: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return run


@cache
def random_runs(kind: str) -> list[dict[str, Any]]:
    """The recorded random runs of a kind, which are in the tree."""
    runs: list[dict[str, Any]] = json.loads(lzma.decompress((RANDOM / f"{kind}.json.xz").read_bytes()))
    return runs
