"""CiGri 3's JDL: one JSON object. Defaults are added, and the common keys are copied to each cluster.

The result is the *expanded* JDL, as plain dicts. Admission rules work on it, and `campaigns` makes values from it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

import msgspec

from batprotocol.campaigns.ruby import as_ruby
from batprotocol.errors import JdlError, shown

__all__ = ["Jdl", "expand", "parse"]

Jdl: TypeAlias = dict[str, Any]
"""A JDL, as a JSON object."""

_OF_THE_CAMPAIGN = {"name", "clusters", "param_file", "nb_jobs", "jobs_type", "params"}
_DEFAULTS = {
    "type": "best-effort",
    "exec_directory": "$HOME",
    "output_gathering_method": "None",
    "dimensional_grouping": "false",
    "temporal_grouping": "false",
    "checkpointing_type": "None",
    "test_mode": "false",
    "properties": "",
    "project": "",
    "cluster_job_type": "",
    "walltime": "01:00:00",
    "resources": "/resource_id=1",
}


def _given(value: object) -> bool:
    """Whether a key has a value: null and false have none, as in Ruby."""
    return value is not None and value is not False


def parse(text: str | bytes) -> Jdl:
    """The JDL in a text, with keys in lower case. All required keys are present.

    Raises:
        JdlError: it is not JSON, or a key is missing.

    >>> parse('{"Name": "n", "nb_jobs": 2, "clusters": {"a": {"exec_file": "run.sh"}}}')["name"]
    'n'
    """
    try:
        whole = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise JdlError(f"JDL badly defined: {error}") from None
    jdl = {key.lower(): value for key, value in whole.items()} if isinstance(whole, dict) else {}
    for field in ("name", "clusters"):
        if not _given(jdl.get(field)):
            raise JdlError(f"JDL file does not contain mandatory field '{field}'")
    if isinstance(jdl["name"], int | float) and not isinstance(jdl["name"], bool):
        jdl["name"] = msgspec.json.encode(jdl["name"]).decode()
    if not isinstance(jdl["name"], str):
        raise JdlError(f"expected a text, found {shown(jdl['name'])}", "name")
    clusters = jdl["clusters"]
    if not isinstance(clusters, dict):
        raise JdlError(f"expected an object with a key for each cluster, found {shown(clusters)}", "clusters")
    for name, cluster in clusters.items():
        if not isinstance(cluster, dict):
            raise JdlError(f"expected an object, found {shown(cluster)}", f"clusters.{name}")
        if not _given(cluster.get("exec_file")) and not _given(jdl.get("exec_file")):
            raise JdlError(
                f"Cluster {as_ruby(cluster)} does not have mandatory field 'exec_file'", f"clusters.{name}", code=-3
            )
    if not clusters:
        raise JdlError('You must define at least one cluster in the "clusters" field', code=-2)
    if not _is_desktop(jdl) and not any(_given(jdl.get(field)) for field in ("params", "nb_jobs", "param_file")):
        raise JdlError(
            "No parameters for your campaign are defined."
            'You must define param_file or nb_jobs or have "jobs_type": "desktop_computing"'
        )
    return jdl


def _is_desktop(jdl: Jdl) -> bool:
    return str(jdl.get("jobs_type", "")).lower() == "desktop_computing"


def expand(jdl: Jdl, clusters: Collection[str] | None) -> Jdl:
    """The JDL with all defaults. Each cluster gets a copy of the common keys that it does not set itself.

    Args:
        jdl: the JDL of `parse`; it is not changed.
        clusters: the known clusters; unknown ones are dropped. None: accept any.

    Raises:
        JdlError: none of its clusters is known, or it requests volunteers' computers.
    """
    known = {name: each for name, each in jdl["clusters"].items() if clusters is None or name in clusters}
    if not known:
        raise JdlError("No clusters usable for the campaign", code=-2)
    if _is_desktop(jdl):
        raise JdlError("Desktop_computing campaigns are not yet supported", "jobs_type")
    shared = {key: value for key, value in jdl.items() if key not in _OF_THE_CAMPAIGN}
    expanded = {key: value for key, value in jdl.items() if key in _OF_THE_CAMPAIGN}
    expanded["clusters"] = {name: _complete(cluster, shared) for name, cluster in known.items()}
    if not _given(expanded.get("jobs_type")):
        expanded["jobs_type"] = "normal"
    return expanded


def _complete(cluster: Jdl, shared: Jdl) -> Jdl:
    complete = dict(cluster)
    for more in ({key: value for key, value in _DEFAULTS.items() if not _given(shared.get(key))}, shared):
        complete |= {key: value for key, value in more.items() if not _given(complete.get(key))}
    return {key: _with_macros(key, value) for key, value in complete.items()}


_MACROS = {
    "exec_file": (("~", "$HOME"), ("{HOME}", "$HOME"), ("{CAMPAIGN_ID}", r"\$CIGRI_CAMPAIGN_ID")),
    "exec_directory": (("~", "$HOME"), ("{HOME}", "$HOME")),
    "prologue": (
        ("{CAMPAIGN_ID}", r"\$CIGRI_CAMPAIGN_ID"),
        ("{OAR_JOB_ID}", r"\$OAR_JOB_ID"),
        ("~", r"\$HOME"),
        ("{HOME}", r"\$HOME"),
    ),
}
_MACROS["epilogue"] = _MACROS["prologue"]
"""The macros and the keys that have them. A backslash prevents the cluster's shell from replacing them too early."""


def _with_macros(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_with_macros(key, each) for each in value]
    if isinstance(value, str):
        for macro, meaning in _MACROS.get(key, ()):
            value = value.replace(macro, meaning)
    return value
