"""Compiled modules in the source tree: without them, programs that run in a clone would use the slow engine unnoticed.

Python imports the package of the current directory rather than the installed one.
"""

from __future__ import annotations

import os
import sysconfig
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = ["LIBRARY", "MODULES", "WITHOUT", "leave_only", "place_compiled"]

MODULES: Final = {
    "batprotocol/wire/_native": "there is no native engine: the slower one in Python serves",
    "batprotocol/model/_hosts": "there are no native sets of hosts: hosts are taken and given back in Python",
    "batprotocol/results/_lines": "there are no native lines: lines of result files are formatted in Python",
    "batprotocol/gym/_play": "there are no native worlds: environments step in Python",
    "batprotocol/policies/_plan": "there are no native plans: the policy slurm plans jobs in Python",
    "batprotocol/policies/_profile": "there are no native profiles: policies make reservations in Python",
    "batprotocol/simulator/actions/_actions": "there are no native actions: simulations go through time in Python",
    "batprotocol/sites/logs/managers/_sacct": "there are no native rows of sacct: logs of Slurm are read in Python",
    "batprotocol/simulator/_copier": "there is no native copier: simulations are copied in Python",
}
"""The extension modules, each with the sentence to print if it is missing."""

LIBRARY: Final = "batprotocol/edc/embedded/libscheduler.so.0"

WITHOUT: Final = MODULES | {LIBRARY: "there is no library for Batsim: schedulers run over the socket only"}
"""The same for all compiled files."""


def place_compiled(wheel: Path, root: Path, suffix: str | None = None) -> list[str]:
    """Put the compiled files of a wheel into its source tree, and remove older ones.

    Args:
        wheel: the wheel.
        root: the source tree.
        suffix: the end of the names of extension modules; by default, that of this Python.

    Returns:
        Those of WITHOUT that were not compiled.
    """
    ending = suffix or sysconfig.get_config_var("EXT_SUFFIX")
    missing = []
    with zipfile.ZipFile(wheel) as archive:
        modules = [(module, f"{module}{ending}") for module in MODULES]
        for compiled, name in (*modules, (LIBRARY, LIBRARY)):
            target = root / name
            if name not in archive.namelist():
                target.unlink(missing_ok=True)  # it would be of an older build
                missing.append(compiled)
                continue
            new = target.with_name(f"{target.name}.new")
            new.write_bytes(archive.read(name))
            os.replace(new, target)  # a process that has the old one loaded keeps it
    return missing


def leave_only(folder: Path, kept: Iterable[str], ending: str) -> None:
    """Remove files of an older build from a folder: those with this ending, except the files to keep.

    setuptools puts all files of the folder into the wheel, also a module whose source is gone.
    """
    paths = {Path(each).resolve() for each in kept}
    for path in folder.rglob(f"*{ending}"):
        if path.resolve() not in paths:
            path.unlink()
