"""Asks a server of REST in a process of its own, and tells how it ended, and how many seconds and MiB that took.

`python hostile_clients.py slurm|oar ADDRESS TIMEOUT FOLDER`
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

from batprotocol.campaigns.managers.oar import OarCluster
from batprotocol.errors import ProtocolError
from batprotocol.sites.slurm.client import SlurmRest


def _slurm(address: str, seconds: float) -> object:
    return len(SlurmRest(address, "secret-token", "alice", seconds).jobs())


def _oar(address: str, seconds: float, folder: Path) -> object:
    path = folder / "oar.toml"
    path.write_text(f'type = "oar"\nurl = "{address}/oarapi"\nuser = "alice"\ntimeout = {seconds}\n')
    return len(OarCluster("luke", str(path), "m").look().jobs)


def main() -> None:
    kind, address, seconds, folder = sys.argv[1:]
    before = time.monotonic()
    try:
        found = _slurm(address, float(seconds)) if kind == "slurm" else _oar(address, float(seconds), Path(folder))
        said = f"{found} jobs"
    except ProtocolError as error:
        said = str(error)
    took = time.monotonic() - before
    # Not `ru_maxrss`: it begins with the memory of the process that started this one.
    peak = int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) / 1024
    print(json.dumps({"said": said, "seconds": took, "mib": peak}))


if __name__ == "__main__":
    main()
