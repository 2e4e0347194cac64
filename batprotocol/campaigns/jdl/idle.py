"""What of a JDL does nothing: keys that nobody knows, and those of CiGri's that mean nothing on the clusters here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from batprotocol.campaigns.jdl.cigri3 import Jdl
from batprotocol.campaigns.model import ClusterProperties
from batprotocol.errors import shown

__all__ = ["IDLE", "idle_keys", "unknown_keys"]

_STAYS = "what jobs print stays on their cluster; 'batproto grid output' shows the end of what failed"
_OF_A_CAMPAIGN = frozenset({"name", "clusters", "params", "nb_jobs", "param_file", "jobs_type"})
_KNOWN = frozenset(ClusterProperties.__struct_fields__) - {"cluster"}
IDLE = {
    "checkpointing_type": "a job that is killed begins anew",
    "checkpointing_period": "a job that is killed begins anew",
    "cluster_job_type": "clusters here have no types of jobs",
    "dimensional_grouping": "clusters here run jobs side by side as it is",
    "output_destination": _STAYS,
    "output_file": _STAYS,
    "output_gathering_method": "nothing is fetched from clusters",
    "project": "clusters here keep no accounts",
    "properties": "clusters here do not choose among their resources",
}
"""The keys of CiGri's that do nothing here, and why."""


def unknown_keys(jdl: Jdl) -> Iterator[str]:
    """The keys that nobody knows: those of the campaign have been copied to each of its clusters."""
    found: dict[str, list[str]] = {}
    for name, cluster in jdl["clusters"].items():
        for key in cluster:
            if key not in _KNOWN:
                found.setdefault(key, []).append(name)
    for key, names in found.items():
        where = "" if len(names) == len(jdl["clusters"]) else f"clusters.{names[0]}."
        meant = get_close_matches(key, [*_KNOWN, *_OF_A_CAMPAIGN], 1)
        yield f"{where}{key} is ignored: nobody knows it" + (f"; did you mean {meant[0]}?" if meant else "")


def idle_keys(clusters: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The keys that CiGri knows and that do nothing here, where they say something."""
    for key, reason in IDLE.items():
        given = [str(cluster.get(key)) for cluster in clusters.values()]
        if any(each.lower() not in ("none", "", "false") for each in given):
            yield f"{key} does nothing: {reason}"
    for name, cluster in clusters.items():
        kind = cluster.get("type", "best-effort")
        if kind not in ("best-effort", "normal"):
            yield f"clusters.{name}.type: {shown(kind)} means best-effort here: there are best-effort and normal"
