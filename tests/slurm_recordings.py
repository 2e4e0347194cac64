"""The recorded runs of a real Slurm: their configuration as the text of a slurm.conf, and as values."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from support import SHARED

from batprotocol.slurm.configuration import Configuration, configuration_of

__all__ = ["RUNS", "conf_of", "configuration_of_run", "recording", "recordings"]

RUNS = SHARED / "slurm" / "runs"


def recordings(*kinds: str) -> list[Path]:
    """The files of recorded runs of these kinds (`c_multifactor`...), or of all; none without the folder beside us."""
    return sorted(path for path in RUNS.glob("*/*.json.xz") if not kinds or path.parent.name in kinds)


@cache
def recording(path: Path) -> dict[str, Any]:
    """A recorded run."""
    run: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return run


def conf_of(run: Mapping[str, Any]) -> str:
    """The slurm.conf of a recorded run: what differs from Slurm's defaults, and what is the same in all runs."""
    parameters = {"ClusterName": "emu", "ReturnToService": "2", **run["slurm_conf"]}
    if run["dbd"]:
        parameters["AccountingStorageType"] = "accounting_storage/slurmdbd"
    lines = [f"{name}={value}" for name, value in parameters.items()]
    first = 0
    for group in run["nodes"]:
        last = first + group["count"] - 1
        lines.append(f"NodeName=n[{first}-{last}] {group['conf']} State=UNKNOWN")
        first = last + 1
    return "\n".join([*lines, *run["partitions"], ""])


def configuration_of_run(run: Mapping[str, Any]) -> Configuration:
    """The configuration of a recorded run."""
    return configuration_of(conf_of(run))
