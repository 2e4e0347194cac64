"""CiGri 2's JDL: blocks `NAME{ key = value ; }`, one of them DEFAULT, the others clusters; `#` begins a comment.

What comes out is the same dict as of CiGri 3's JSON, so that all that follows knows one form. CiGri 2 silently drops
what it does not understand; here each such place is told as a warning.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from batprotocol.campaigns.jdl.cigri3 import Jdl
from batprotocol.errors import JdlError, shown

__all__ = ["parse_blocks"]

_OPENING = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*")
_SETTING = re.compile(r"([A-Za-z0-9_]+)\s*=\s*([A-Za-z0-9./:=_-]+)")
_OF_THE_CAMPAIGN = {"name": "name", "nbJobs": "nb_jobs", "paramFile": "param_file"}
_OF_A_CLUSTER = {
    "execFile": "exec_file",
    "walltime": "walltime",
    "resources": "resources",
    "execDir": "exec_directory",
    "priority": "priority",
    "checkpoint_type": "checkpointing_type",
    "checkpoint_period": "checkpointing_period",
}
_DEFAULTS = {"walltime": "01:00:00", "resources": "/resource_id=1", "exec_directory": "~", "priority": 1}
_OTHERS = {"data_to_transfer", "transfer_timeout"}


def parse_blocks(text: str, clusters: Collection[str] | None, warnings: list[str]) -> Jdl:
    """The JDL of a text of blocks.

    Args:
        text: the text.
        clusters: the clusters that there are, or None: any. Others are dropped, with a warning.
        warnings: what was dropped is added to it, with its line.

    Raises:
        JdlError: a block is not closed, or something is missing.

    >>> warnings = []
    >>> jdl = parse_blocks("DEFAULT{ name = n ; nbJobs = 2 ; } a{ execFile = ~/x ; execFile = x ; }", None, warnings)
    >>> jdl["nb_jobs"], jdl["clusters"]["a"]["exec_file"]
    (2, 'x')
    >>> warnings
    ["line 1: 'execFile = ~/x' is dropped: a value may hold only letters, digits and . / - : = _"]
    """
    blocks = _blocks(text, warnings)
    default = blocks.pop("DEFAULT", None)
    if not default:
        raise JdlError('The "DEFAULT" section does not exist or is empty!')
    for name, block in blocks.items():
        if "execFile" not in block:
            raise JdlError(f"The parameter execFile is not defined in the cluster section {name}", name)
    unknown = [name for name in blocks if clusters is not None and name not in clusters]
    for name in unknown:
        warnings.append(f"the cluster {shown(name)} is dropped: there is none of this name")
        del blocks[name]
    if not blocks:
        raise JdlError("No cluster defined", code=-2)
    jdl: Jdl = {_OF_THE_CAMPAIGN[key]: value for key, value in default.items() if key in _OF_THE_CAMPAIGN}
    jdl.setdefault("name", "")
    if "nb_jobs" in jdl:
        jdl["nb_jobs"] = _whole("nbJobs", jdl["nb_jobs"])
    if "param_file" in jdl:
        jdl.pop("nb_jobs", None)  # it wins
    elif "nb_jobs" not in jdl:
        raise JdlError("I can't read the param file  or the nbJobs variable")
    _warn_of_unknown("DEFAULT", default, {*_OF_THE_CAMPAIGN, *_OTHERS}, warnings)
    jdl["clusters"] = {name: _cluster(name, block, warnings) for name, block in blocks.items()}
    return jdl


def _blocks(text: str, warnings: list[str]) -> dict[str, dict[str, str]]:
    """The blocks by name, the settings of each by key; blocks of the same name are one, and empty ones are none."""
    plain = "\n".join(line.partition("#")[0] for line in text.split("\n"))
    found: dict[str, dict[str, str]] = {}
    place = 0
    while plain[place:].strip():
        brace, end = plain.find("{", place), plain.find("}", place)
        line = plain.count("\n", 0, place + len(plain[place:]) - len(plain[place:].lstrip())) + 1
        opening = _OPENING.fullmatch(plain, place, brace) if 0 <= brace < end else None
        if opening is None:
            raise JdlError(f"expected NAME{{ key = value ; }}, found {shown(plain[place:].strip())}", line=line)
        settings = _settings(plain[brace + 1 : end], plain.count("\n", 0, brace) + 1, warnings)
        if settings:
            found.setdefault(opening[1], {}).update(settings)
        place = end + 1
    return found


def _settings(text: str, line: int, warnings: list[str]) -> dict[str, str]:
    found = {}
    for part in text.split(";"):
        begin = line + part[: len(part) - len(part.lstrip())].count("\n")
        line += part.count("\n")
        setting = _SETTING.fullmatch(part.strip())
        if setting is not None:
            found[setting[1]] = setting[2]
        elif part.strip():
            warnings.append(
                f"line {begin}: {shown(part.strip())} is dropped: a value may hold only letters, digits and . / - : = _"
            )
    return found


def _cluster(name: str, block: dict[str, str], warnings: list[str]) -> Jdl:
    cluster: Jdl = dict(_DEFAULTS)
    cluster |= {_OF_A_CLUSTER[key]: value for key, value in block.items() if key in _OF_A_CLUSTER}
    cluster["priority"] = _whole(f"{name}.priority", cluster["priority"])
    _warn_of_unknown(name, block, set(_OF_A_CLUSTER), warnings)
    return cluster


def _warn_of_unknown(name: str, block: dict[str, str], known: set[str], warnings: list[str]) -> None:
    warnings += (f"{name}.{key} is ignored: nobody knows it" for key in block if key not in known)


def _whole(path: str, value: object) -> int:
    text = str(value)
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise JdlError(f"expected a whole number, found {shown(text)}", path)
    return int(text)
