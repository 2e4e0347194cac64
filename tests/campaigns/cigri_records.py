"""What the adapters of CiGri's recorded decisions share: see `cigri_decisions`."""

from __future__ import annotations

from typing import Any

NOW = 1000.0
Record = dict[str, Any]
FILES = {"/opt/cigri/c3/params.txt": "one 1\ntwo 2\n\nthree\n", "/opt/cigri/c2/p.txt": "one 1 2\n\ntwo 2 \n"}
FILES["/opt/cigri/c2/q.txt"] = "# all of them\nalpha 1 # the first\n  \nbeta\n#gamma\ndelta 4 5"


def read_file(path: str) -> str:
    """A file that a recorded JDL names."""
    if path not in FILES:
        raise FileNotFoundError(path)
    return FILES[path]
