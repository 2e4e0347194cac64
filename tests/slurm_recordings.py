"""The recorded runs of a real Slurm: their configuration as the text of a slurm.conf, and as values."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from support import SHARED

from batprotocol.slurm.accounting import Accounting, accounting_of
from batprotocol.slurm.configuration import Configuration, configuration_of
from batprotocol.slurm.configuration.topology import switches_of

__all__ = ["RUNS", "accounting_of_run", "conf_of", "configuration_of_run", "recording", "recordings"]

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
        if "topology" not in run:  # these recordings do not say so, but their usage does
            parameters["AccountingStorageEnforce"] = "limits"
    lines = [f"{name}={value}" for name, value in parameters.items()]
    first = 0
    for group in run["nodes"]:
        last = first + group["count"] - 1
        names = [f"n{node}" for node in range(first, last + 1)] if "topology" in run else [f"n[{first}-{last}]"]
        lines += [f"NodeName={name} {group['conf']} State=UNKNOWN" for name in names]  # recorded with a line for each
        first = last + 1
    return "\n".join([*lines, *run["partitions"], ""])


def configuration_of_run(run: Mapping[str, Any]) -> Configuration:
    """The configuration of a recorded run."""
    found = configuration_of(conf_of(run))
    if not run.get("topology"):
        return found
    return msgspec.structs.replace(found, switches=switches_of(run["topology"], [node.name for node in found.nodes]))


def accounting_of_run(run: Mapping[str, Any]) -> Accounting:
    """The accounts of a recorded run, from the commands that made them, and its qualities of service."""
    if run.get("dump"):
        return accounting_of([("dump.cfg", "\n".join(run["dump"])), ("qos.txt", "\n".join(run["qos"]))])
    cluster, *lines = ["Cluster - 'emu':Fairshare=1:QOS='normal'", "Parent - 'root'", "User - 'root':Fairshare=1"]
    for command, _ in run["setup"]:
        words = command.split()
        options = dict(word.split("=") for word in words if "=" in word)
        share = f":Fairshare={options.get('fairshare', '1')}"
        if words[2:4] == ["add", "account"]:
            lines += [f"Parent - '{options.get('parent', 'root')}'", f"Account - '{words[4]}'{share}"]
        elif words[2:4] == ["add", "user"]:
            lines += [f"Parent - '{options['account']}'", *(f"User - '{user}'{share}" for user in words[4].split(","))]
    return accounting_of([("dump.cfg", "\n".join([cluster, *lines])), ("qos.txt", "\n".join(run.get("qos", ())))])
