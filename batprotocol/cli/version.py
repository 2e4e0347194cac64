"""The version of this batprotocol, its engine, and the folder that it was imported from.

In a clone, Python imports the package of the current directory instead of the installed one. Users should notice that,
and also an engine that is slow only because there was no compiler.
"""

from __future__ import annotations

import os
from pathlib import Path

import batprotocol
from batprotocol.conversation import conversation
from batprotocol.wire import binary

__all__ = ["slow_engine", "version"]

_ROOT = Path(batprotocol.__file__).parent.parent


def version() -> str:
    """The version, the engine, whether rules and simulator are compiled, and the source tree where it is one."""
    from importlib import metadata  # it takes as long to import as all else that the command needs

    try:
        number = metadata.version("batprotocol")
    except metadata.PackageNotFoundError:
        number = "(not installed)"
    tree = f", source tree: {_ROOT}" if (_ROOT / "pyproject.toml").is_file() else ""
    rules = "Python" if (conversation.__file__ or "").endswith(".py") else "compiled"
    return f"{number}, codec: {binary.ENGINE}, rules and simulator: {rules}{tree}"


def slow_engine() -> str | None:
    """A sentence where the Python engine is in use although nobody asked for it; else None."""
    if "native" in binary.ENGINES or os.environ.get("BATPROTOCOL_ENGINE"):
        return None
    return (
        "the Python engine reads and writes messages, which takes some 20 times as long: the native engine was not "
        "compiled. Install a C compiler (Debian and Ubuntu: apt-get install gcc python3-dev) and batprotocol again, or "
        "set BATPROTOCOL_ENGINE=python to hide this message"
    )
