"""The native engine in the source tree, too: without it, what is run in a clone would use the slow one unnoticed.

Python imports the package of the current directory rather than the installed one.
"""

from __future__ import annotations

import os
import sysconfig
import zipfile
from pathlib import Path

__all__ = ["place_engine"]


def place_engine(wheel: Path, root: Path, suffix: str | None = None) -> bool:
    """Make the source tree hold the same native engine as a wheel that was built from it, or none as well.

    Args:
        wheel: the wheel.
        root: the source tree.
        suffix: what names of extension modules end with; that of this Python unless told otherwise.

    Returns:
        Whether there is one.
    """
    name = f"batprotocol/wire/_native{suffix or sysconfig.get_config_var('EXT_SUFFIX')}"
    target = root / name
    with zipfile.ZipFile(wheel) as archive:
        if name not in archive.namelist():
            target.unlink(missing_ok=True)  # it would be of another time
            return False
        new = target.with_name(f"{target.name}.new")
        new.write_bytes(archive.read(name))
    os.replace(new, target)  # a process that has the old one loaded keeps it
    return True
