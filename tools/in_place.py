"""What is compiled, in the source tree, too: without it, what is run in a clone would use the slow engine unnoticed.

Python imports the package of the current directory rather than the installed one.
"""

from __future__ import annotations

import os
import sysconfig
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = [
    "ACTIONS",
    "COPIER",
    "ENGINE",
    "LIBRARY",
    "LINK",
    "MODULES",
    "PLAY",
    "POOL",
    "PROFILE",
    "leave_only",
    "place_compiled",
]

ENGINE: Final = "batprotocol/wire/_native"
LINK: Final = "batprotocol/sockets/_link"
POOL: Final = "batprotocol/hosts/_pool"
PLAY: Final = "batprotocol/gym/worlds/_play"
PROFILE: Final = "batprotocol/policies/_profile"
ACTIONS: Final = "batprotocol/simulator/actions/_actions"
COPIER: Final = "batprotocol/simulator/copying/_copier"
MODULES: Final = (ENGINE, LINK, PLAY, POOL, PROFILE, ACTIONS, COPIER)
LIBRARY: Final = "batprotocol/edc/embedded/libscheduler.so.0"


def place_compiled(wheel: Path, root: Path, suffix: str | None = None) -> list[str]:
    """Make the source tree hold what was compiled for a wheel that was built from it, and nothing older.

    Args:
        wheel: the wheel.
        root: the source tree.
        suffix: what names of extension modules end with; that of this Python unless told otherwise.

    Returns:
        Those of MODULES and LIBRARY that were not compiled.
    """
    ending = suffix or sysconfig.get_config_var("EXT_SUFFIX")
    missing = []
    with zipfile.ZipFile(wheel) as archive:
        modules = [(module, f"{module}{ending}") for module in MODULES]
        for compiled, name in (*modules, (LIBRARY, LIBRARY)):
            target = root / name
            if name not in archive.namelist():
                target.unlink(missing_ok=True)  # it would be of another time
                missing.append(compiled)
                continue
            new = target.with_name(f"{target.name}.new")
            new.write_bytes(archive.read(name))
            os.replace(new, target)  # a process that has the old one loaded keeps it
    return missing


def leave_only(folder: Path, kept: Iterable[str], ending: str) -> None:
    """Take away what an older build has left in a folder: files with this ending that are not among those kept.

    setuptools puts all that it finds there into the wheel, such as a module whose source is gone.
    """
    paths = {Path(each).resolve() for each in kept}
    for path in folder.rglob(f"*{ending}"):
        if path.resolve() not in paths:
            path.unlink()
