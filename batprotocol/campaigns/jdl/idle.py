"""Finds the keys of a JDL that have no effect: unknown keys, and keys of CiGri that no cluster of batprotocol uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from batprotocol.campaigns.jdl.cigri3 import Jdl
from batprotocol.campaigns.model import ClusterProperties
from batprotocol.errors import shown

__all__ = ["IDLE", "idle_keys", "unknown_keys"]

_STAYS = "output stays on the cluster; 'batproto grid output' shows the end of the output of failed jobs"
_OF_A_CAMPAIGN = frozenset({"name", "clusters", "params", "nb_jobs", "param_file", "jobs_type"})
_KNOWN = frozenset(ClusterProperties.__struct_fields__) - {"cluster"}
IDLE = {
    "checkpointing_type": "a killed job starts from the beginning",
    "checkpointing_period": "a killed job starts from the beginning",
    "cluster_job_type": "the clusters have no types of jobs",
    "dimensional_grouping": "the clusters run jobs in parallel anyway",
    "output_destination": _STAYS,
    "output_file": _STAYS,
    "output_gathering_method": "no output is fetched from clusters",
    "project": "the clusters have no accounting",
    "properties": "the clusters do not select resources",
}
"""The keys of CiGri that have no effect, each with the reason."""


def unknown_keys(jdl: Jdl) -> Iterator[str]:
    """Warnings for unknown keys. The keys of the campaign have been copied to each of its clusters."""
    found: dict[str, list[str]] = {}
    for name, cluster in jdl["clusters"].items():
        for key in cluster:
            if key not in _KNOWN:
                found.setdefault(key, []).append(name)
    for key, names in found.items():
        where = "" if len(names) == len(jdl["clusters"]) else f"clusters.{names[0]}."
        meant = get_close_matches(key, [*_KNOWN, *_OF_A_CAMPAIGN], 1)
        yield f"{where}{key} is ignored: the key is unknown" + (f"; did you mean {meant[0]}?" if meant else "")


def idle_keys(clusters: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Warnings for the keys of CiGri that have a value and no effect."""
    for key, reason in IDLE.items():
        given = [str(cluster.get(key)) for cluster in clusters.values()]
        if any(each.lower() not in ("none", "", "false") for each in given):
            yield f"{key} has no effect: {reason}"
    for name, cluster in clusters.items():
        kind = cluster.get("type", "best-effort")
        if kind not in ("best-effort", "normal"):
            yield f"clusters.{name}.type: {shown(kind)} counts as best-effort: write best-effort or normal"
