"""The options of a `sacctmgr dump`, the columns of the tables of `sacctmgr show`, and how they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from batprotocol.errors import InputError
from batprotocol.sites.slurm.amounts import amount, listed, number_of, real, span, tres

__all__ = ["ASSOCIATION", "IGNORED", "LIMITS", "QOS", "limits_of", "plain"]

_MOST: Final = 2**53


def plain(name: str) -> str:
    """A name of a column or an option without spaces, in small letters: `Def QOS` is `defqos`."""
    return name.replace(" ", "").replace("_", "").lower()


def _count(text: str) -> int:
    return number_of(text, 0, _MOST)


def _wall(text: str) -> float | None:
    seconds = span(text)
    return None if math.isinf(seconds) else seconds


def _amounts(text: str) -> dict[str, int]:
    """Amounts of resources, `cpu=10,mem=4G`: memory in MiB, and a unit multiplies others."""
    found: dict[str, int] = {}
    for name, number in tres(text).items():
        count = amount(number)
        if name.lower() == "mem" and number[-1:].isalpha():
            count = -(-count // 2**20)
        found[name.lower()] = min(count, _MOST)
    return found


def _shares(text: str) -> int | None:
    return None if text.lower() == "parent" else number_of(text, 0, 2**31 - 1)


def _mode(text: str) -> str | None:
    return None if text.lower() == "cluster" else text.lower()


LIMITS: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    **dict.fromkeys(("grpjobs",), ("jobs", _count)),
    **dict.fromkeys(("grpsubmit", "grpsubmitjobs"), ("submitted", _count)),
    **dict.fromkeys(("grpjobsaccrue",), ("accruing", _count)),
    **dict.fromkeys(("grptres",), ("tres", _amounts)),
    **dict.fromkeys(("grptresmins",), ("tres_minutes", _amounts)),
    **dict.fromkeys(("grptresrunmins",), ("tres_run_minutes", _amounts)),
    **dict.fromkeys(("grpwall",), ("wall", _wall)),
    **dict.fromkeys(("maxjobs",), ("jobs_each", _count)),
    **dict.fromkeys(("maxsubmit", "maxsubmitjobs"), ("submitted_each", _count)),
    **dict.fromkeys(("maxjobsaccrue",), ("accruing_each", _count)),
    **dict.fromkeys(("maxtres", "maxtresperjob"), ("tres_job", _amounts)),
    **dict.fromkeys(("maxtrespernode",), ("tres_node", _amounts)),
    **dict.fromkeys(("maxtresmins", "maxtresminsperjob"), ("tres_minutes_job", _amounts)),
    **dict.fromkeys(("maxwall", "maxwalldurationperjob"), ("wall_job", _wall)),
    **dict.fromkeys(("maxtrespu", "maxtresperuser"), ("tres_user", _amounts)),
    **dict.fromkeys(("maxjobspu", "maxjobsperuser"), ("jobs_user", _count)),
    **dict.fromkeys(("maxsubmitpu", "maxsubmitjobsperuser"), ("submitted_user", _count)),
    **dict.fromkeys(("maxtrespa", "maxtresperaccount"), ("tres_account", _amounts)),
    **dict.fromkeys(("maxjobspa", "maxjobsperaccount"), ("jobs_account", _count)),
    **dict.fromkeys(("maxsubmitpa", "maxsubmitjobsperaccount"), ("submitted_account", _count)),
    **dict.fromkeys(("mintres", "mintresperjob"), ("least", _amounts)),
}
"""The fields of `Limits` by the names of their columns and options."""

ASSOCIATION: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    **dict.fromkeys(("share", "fairshare", "shares"), ("shares", _shares)),
    "priority": ("priority", _count),
    **dict.fromkeys(("qos", "qoslevel"), ("qos", listed)),
    **dict.fromkeys(("defqos", "defaultqos"), ("default_qos", str)),
    "partition": ("partition", str),
}
"""The fields of `Association`."""

QOS: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "priority": ("priority", _count),
    "gracetime": ("grace_time", span),
    "preempt": ("preempts", listed),
    "preemptmode": ("preempt_mode", _mode),
    "preemptexempttime": ("exempt_time", _wall),
    "flags": ("flags", listed),
    "usagefactor": ("usage_factor", real),
    **dict.fromkeys(("usagethres", "usagethreshold"), ("usage_threshold", real)),
}
"""The fields of `Qos`."""

IGNORED: Final = frozenset(
    {
        *("account", "adminlevel", "classification", "cluster", "coordinator", "defaultaccount", "defaultwckey"),
        *("description", "id", "lft", "name", "organization", "parentid", "parentname", "parname", "rgt", "user"),
        *("wckeys", "lineage", "comment"),
    }
)
"""The columns and options that set no field: names, and those without effect in a simulation."""


def limits_of(
    values: Mapping[str, str], table: Mapping[str, tuple[str, Callable[[str], Any]]]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The fields of a table and of `Limits` that values set, and the names that are not followed.

    Args:
        values: the values by the names of their columns.
        table: `ASSOCIATION` or `QOS`.

    Raises:
        InputError: a value cannot be read; `path` is its name.
    """
    fields: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    missed: list[str] = []
    for name, text in values.items():
        key = plain(name)
        found = table.get(key) or LIMITS.get(key)
        if text == "" or key in IGNORED:
            continue
        if found is None:
            missed.append(name)
            continue
        try:
            (fields if key in table else limits)[found[0]] = found[1](text)
        except InputError as error:
            raise InputError(error.reason, name) from None
    return fields, limits, missed
