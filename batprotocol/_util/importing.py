"""Files of users as modules: files with schedulers, and files with metrics.

This module must not know the contents of a file, nor its purpose.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

__all__ = ["DEPENDENCIES", "ImportFault", "module_in"]

DEPENDENCIES: Final = frozenset(
    [
        "anyio",
        "batprotocol",
        "click",
        "cloudpickle",
        "distributed",
        "dpkt",
        "flatbuffers",
        "gymnasium",
        "h11",
        "intervaltree",
        "landlockpy",
        "lz4",
        "matplotlib",
        "mcap",
        "mcp",
        "msgspec",
        "mypy_extensions",
        "numpy",
        "paho",
        "pandas",
        "perfetto",
        "polars",
        "procset",
        "psycopg",
        "pydantic",
        "pyarrow",
        "re2",
        "redis",
        "rich",
        "sortedcontainers",
        "sqlalchemy",
        "yaml",
        "zmq",
        "zstandard",
    ]
)
"""The packages that this library imports. No file of a user can have such a name."""

_LOADED: set[ModuleType] = set()
"""The modules made of files. The next file may have the same name."""


class ImportFault(Exception):
    """A file cannot be a module. Exceptions of the file itself pass through unchanged."""


def module_in(path: str) -> ModuleType:
    """Run a file as a module. As for a script, the files beside it can be imported.

    Args:
        path: of a file that exists.

    Raises:
        ImportFault: it would hide another module, or it is not a Python file.
        Exception: any exception that the file raises.
    """
    name = Path(path).stem
    if name in DEPENDENCIES or _is_taken(name, path):
        # Each import of that module would give this file from now on.
        raise ImportFault(f"{path!r} would hide the module {name} of Python or of this library; rename the file")
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path[:1]:
        # As that of a script, it stays: what the file imports in its methods is looked for when they are called.
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportFault(f"{path!r} is not a Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _LOADED.add(module)
    try:
        spec.loader.exec_module(module)
    except BaseException:  # as the import statement does: no half of a module stays
        sys.modules.pop(name, None)
        raise
    return module


def _is_taken(name: str, path: str) -> bool:
    """Whether another file than this one was already imported by this name, other than by `module_in`."""
    if name not in sys.modules or sys.modules[name] in _LOADED:
        return False
    file = getattr(sys.modules[name], "__file__", None)
    return file is None or not os.path.exists(file) or not os.path.samefile(file, path)
