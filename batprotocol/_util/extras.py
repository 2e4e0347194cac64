"""The packages of extras, as a command for pip that works in any folder.

`pip install 'batprotocol[plots]'` works only where pip finds the project itself: not before there is a release. So the
messages about packages that are missing name these packages.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

__all__ = ["installing"]

_PROJECT = "batprotocol"
_REQUIREMENT = re.compile(r"""(?P<package>[^\s;]+)\s*;\s*extra\s*==\s*["'](?P<extra>[\w-]+)["']""")


def installing(extra: str, *names: str) -> str:
    """The command that installs the packages of an extra.

    >>> installing("plots")
    "pip install 'matplotlib>=3.7'"

    Args:
        extra: the name of the extra.
        names: the packages to install; by default, all of the extra.
    """
    from importlib.metadata import PackageNotFoundError

    try:
        found = [each for each in _packages(extra) if not names or re.split(r"[^\w-]", each)[0] in names]
    except PackageNotFoundError:  # the source runs, and nothing is installed
        found = []
    return f"pip install {shlex.join(found or names or [f'.[{extra}]'])}"


def _packages(extra: str) -> Iterator[str]:
    """The requirements of an extra, as the installed project lists them."""
    from importlib.metadata import requires

    for text in requires(_PROJECT) or ():
        requirement = _REQUIREMENT.fullmatch(text)
        if requirement is None or requirement["extra"] != extra:
            continue
        nested = re.fullmatch(rf"{_PROJECT}\[(.+)\]", requirement["package"])
        if nested is None:
            yield requirement["package"]
        else:
            for other in nested[1].split(","):
                yield from _packages(other)
