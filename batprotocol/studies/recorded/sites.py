"""The Slurm of a recorded run: its configuration as the text of a slurm.conf and as values, and its accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from batprotocol.sites.slurm.accounting import Accounting, accounting_of
from batprotocol.sites.slurm.configuration import SlurmConfiguration, configuration_of, switches_of

__all__ = ["accounting_of_run", "conf_of", "configuration_of_run"]


def conf_of(run: Mapping[str, Any]) -> str:
    """The slurm.conf of a recorded run: what differs from Slurm's defaults, and what is the same in all runs."""
    parameters = {"ClusterName": "emu", "ReturnToService": "2", **run["slurm_conf"]}
    if run["dbd"]:
        parameters["AccountingStorageType"] = "accounting_storage/slurmdbd"
        if "dump" not in run:  # recordings with the commands only are of clusters that enforce limits
            parameters.setdefault("AccountingStorageEnforce", "associations,limits,qos")
    lines = [f"{name}={value}" for name, value in parameters.items()]
    first = 0
    for group in run["nodes"]:
        last = first + group["count"] - 1
        names = [f"n{node}" for node in range(first, last + 1)] if "topology" in run else [f"n[{first}-{last}]"]
        lines += [f"NodeName={name} {group['conf']} State=UNKNOWN" for name in names]  # recorded with a line for each
        first = last + 1
    return "\n".join([*lines, *run["partitions"], ""])


def configuration_of_run(run: Mapping[str, Any]) -> SlurmConfiguration:
    """The configuration of a recorded run."""
    found = configuration_of(conf_of(run))
    if not run.get("topology"):
        return found
    return msgspec.structs.replace(found, switches=switches_of(run["topology"], [node.name for node in found.nodes]))


def accounting_of_run(run: Mapping[str, Any]) -> Accounting:
    """The accounts of a recorded run, as they were printed or from the commands that made them, and its QOS."""
    if run.get("dump"):
        return accounting_of([("dump.cfg", "\n".join(run["dump"])), ("qos.txt", "\n".join(run.get("qos", ())))])
    rows = [row.split("|") for row in run.get("assoc", ())[1:]]
    allowed = {user: f":QOS='{qos}'" for _, _, user, _, qos, *_ in rows if user}
    cluster, *lines = ["Cluster - 'emu':Fairshare=1:QOS='normal'", "Parent - 'root'", "User - 'root':Fairshare=1"]
    for command, _ in run["setup"]:
        words = command.split()
        options = dict(word.split("=") for word in words if "=" in word)
        share = f":Fairshare={options.get('fairshare', '1')}"
        if words[2:4] == ["add", "account"]:
            lines += [f"Parent - '{options.get('parent', 'root')}'", f"Account - '{words[4]}'{share}"]
        elif words[2:4] == ["add", "user"]:
            users = (f"User - '{user}'{share}{allowed.get(user, '')}" for user in words[4].split(","))
            lines += [f"Parent - '{options['account']}'", *users]
    return accounting_of([("dump.cfg", "\n".join([cluster, *lines])), ("qos.txt", "\n".join(run.get("qos", ())))])
