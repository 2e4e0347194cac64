"""The keys of campaigns (JDL) and the settings of the grid, as tables."""

from __future__ import annotations

from typing import Any

import msgspec

from batprotocol.campaigns.jdl import IDLE
from batprotocol.campaigns.managers.oar import OarDescription
from batprotocol.campaigns.managers.psij import PsijDescription
from batprotocol.campaigns.managers.slurm import SlurmDescription
from batprotocol.campaigns.model import ClusterProperties, GridSettings
from batprotocol.schemas.commands.definitions import meanings
from handbook.markdown import code, prose, table

__all__ = ["keys", "oar_keys", "psij_keys", "settings", "slurm_keys"]


def keys(page: str, argument: str) -> str:
    """The keys of the JDL that are said of a cluster."""
    told = {**meanings(ClusterProperties), **{key: f"does nothing: {reason}." for key, reason in IDLE.items()}}
    return _fields(ClusterProperties, told, ("key", "default", "what it is"), ("cluster",))


def settings(page: str, argument: str) -> str:
    """How the grid can be run."""
    return _fields(GridSettings, meanings(GridSettings), ("setting", "default", "what it is"))


def oar_keys(page: str, argument: str) -> str:
    """The keys of the file that describes an OAR cluster."""
    return _fields(OarDescription, meanings(OarDescription), ("key", "default", "what it is"))


def psij_keys(page: str, argument: str) -> str:
    """The keys of the file that describes a cluster for PSI/J."""
    return _fields(PsijDescription, meanings(PsijDescription), ("key", "default", "what it is"))


def slurm_keys(page: str, argument: str) -> str:
    """The keys of the file that describes a cluster of Slurm."""
    return _fields(SlurmDescription, meanings(SlurmDescription), ("key", "default", "what it is"))


def _fields(kind: type[Any], told: Any, heads: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
    rows = (
        (code(field.name), _default(field.default), prose(told[field.name]))
        for field in msgspec.structs.fields(kind)
        if field.name not in without
    )
    return table(heads, rows) + "\n"


def _default(value: Any) -> str:
    if value is msgspec.NODEFAULT:
        return "must be given"
    if value is None or value in ("", "None", ()):
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    return "" if isinstance(value, msgspec.Struct) else code(f"{value:g}" if isinstance(value, float) else str(value))
