"""CiGri 2's JDL: blocks `NAME{ key = value ; }`, one of them DEFAULT, the others clusters; `#` begins a comment.

The result is a dict of the same form as for CiGri 3's JSON. CiGri 2 silently drops text that it cannot read; here each
such place causes a warning.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection

from batprotocol.campaigns.jdl.cigri3 import Jdl
from batprotocol.errors import JdlError, shown

__all__ = ["lines_of", "parse_blocks", "unreadable"]

_OF_NAMES = string.ascii_letters + string.digits + "_+*.-"
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
    """The JDL in a text of blocks.

    Args:
        text: the text.
        clusters: the known clusters; None: accept any.
        warnings: a warning for each dropped text is added, with its line.

    Raises:
        JdlError: a block has no name, a cluster is unknown, or a key is missing.

    >>> warnings = []
    >>> jdl = parse_blocks("DEFAULT{ name = n ; nbJobs = 2 ; } a{ execFile = ~/x ; execFile = x ; }", None, warnings)
    >>> jdl["nb_jobs"], jdl["clusters"]["a"]["exec_file"]
    (2, 'x')
    >>> warnings
    ["line 1: 'execFile = ~/x' is dropped: a value may hold only letters, digits and . / - : = _"]
    """
    blocks = _blocks(text, warnings)
    default = blocks.pop("DEFAULT", None)
    for name, block in blocks.items():
        if clusters is not None and name not in clusters:
            raise JdlError(f'The "{name}" cluster does not exist!', name)
        if "execFile" not in block:
            raise JdlError(f"The parameter execFile is not defined in the cluster section {name}", name)
    if not default:
        raise JdlError('The "DEFAULT" section does not exist or is empty!')
    jdl: Jdl = {_OF_THE_CAMPAIGN[key]: value for key, value in default.items() if key in _OF_THE_CAMPAIGN}
    jdl.setdefault("name", "")
    if "nb_jobs" in jdl:
        jdl["nb_jobs"] = _whole("nbJobs", jdl["nb_jobs"])
    elif "param_file" not in jdl:
        raise JdlError(unreadable(""))
    _warn_of_unknown("DEFAULT", default, {*_OF_THE_CAMPAIGN, *_OTHERS}, warnings)
    jdl["clusters"] = {name: _cluster(name, block, warnings) for name, block in blocks.items()}
    return jdl


def unreadable(path: str) -> str:
    """The message for a campaign without parameters: its file cannot be read, and it has no `nbJobs`."""
    return f"I can't read the param file {path} or the nbJobs variable"


def lines_of(text: str) -> list[str]:
    """The parameters in a file: one line for each task, without comments.

    >>> lines_of("one 1 # the first\\n\\n# all\\ntwo 2\\n")
    ['one 1 ', 'two 2']
    """
    plain = (line.partition("#")[0] for line in text.split("\n"))
    return [line for line in plain if line.strip()]


def _blocks(text: str, warnings: list[str]) -> dict[str, dict[str, str]]:
    """The blocks by name, with their settings by key. Blocks of the same name are merged, and empty ones are ignored.

    Other text between the blocks is dropped with a warning. A missing brace at the end causes a warning, too.
    """
    plain = "\n".join(line.partition("#")[0] for line in text.split("\n"))
    found: dict[str, dict[str, str]] = {}
    line = 1
    parts = plain.split("}")
    for part in parts:
        begin = line + part[: len(part) - len(part.lstrip())].count("\n")
        before, brace, inner = part.partition("{")
        other = before.rstrip().rstrip(_OF_NAMES) if brace else before
        name = before.rstrip()[len(other) :]
        if brace and not name:
            raise JdlError(f"expected NAME{{ key = value ; }}, found {shown(part.strip())}", line=begin)
        if other.strip():
            warnings.append(f"line {begin}: {shown(other.strip())} is dropped: it is in no block")
        if brace:
            if part is parts[-1]:
                warnings.append(f"line {begin}: the block {name} is not closed")
            inner, more, rest = inner.partition("{")
            if more:
                warnings.append(f"line {begin}: {shown(rest.strip())} is dropped: it is in a block of a block")
            settings = _settings(inner, line + before.count("\n"), warnings)
            if settings:
                found.setdefault(name, {}).update(settings)
        line += part.count("\n")
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
    warnings += (f"{name}.{key} is ignored: the key is unknown" for key in block if key not in known)


def _whole(path: str, value: object) -> int:
    text = str(value)
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise JdlError(f"expected a whole number, found {shown(text)}", path)
    return int(text)
