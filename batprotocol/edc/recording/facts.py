"""The metadata of a run in its recording: versions, arguments and input files.

It must not know who records.
"""

from __future__ import annotations

import os
import platform
import shlex
import sys

__all__ = ["facts", "fingerprint"]

_PIECE = 2**20


def facts(**more: object) -> dict[str, str]:
    """The metadata of a run: the versions of this library and of Python, the arguments of the program, and more.

    Args:
        more: further metadata, by name. Values that are None are left out.

    >>> facts(endpoint="tcp://*:28000")["endpoint"]
    'tcp://*:28000'
    """
    from importlib import metadata  # it takes its time

    try:
        version = metadata.version("batprotocol")
    except metadata.PackageNotFoundError:
        version = "(not installed)"
    found = {
        "batprotocol": version,
        "python": platform.python_version(),
        "arguments": shlex.join(sys.argv),
        **{name: value for name, value in more.items() if value is not None},
    }
    return {name: str(value).encode("utf-8", "backslashreplace").decode() for name, value in found.items()}


def fingerprint(path: str | os.PathLike[str]) -> str:
    """The path and the hash of a file: `workload.json sha256:...`. Only the path if the file cannot be read again.

    Args:
        path: the file.
    """
    name = os.fspath(path)
    if not os.path.isfile(name):
        return name
    import hashlib  # for recordings that are made, not for those that are read

    found = hashlib.sha256()
    with open(name, "rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return f"{name} sha256:{found.hexdigest()}"
