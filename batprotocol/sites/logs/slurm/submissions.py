"""The options in the command line of a submission (`SubmitLine`): dependency, constraint, named and exclusive hosts.

Slurm writes the line without quotation marks, so that it can be read only as far as its options are plain.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from batprotocol.errors import InputError
from batprotocol.workloads.requests.notation import parse_dependency

__all__ = ["Submission", "submission_of"]

_PROGRAMS: Final = ("sbatch", "srun", "salloc")
_LONGEST: Final = 4096
_WITHOUT_VALUE: Final = frozenset("HhIkOQsVvWXuE")
_LONG_WITHOUT_VALUE: Final = frozenset(
    ("--contiguous", "--exclusive", "--hold", "--ignore-pbs", "--immediate", "--kill-on-invalid-dep", "--no-kill",
     "--no-requeue", "--oversubscribe", "--overcommit", "--parsable", "--quiet", "--reboot", "--requeue", "--share",
     "--spread-job", "--test-only", "--use-min-nodes", "--verbose", "--wait", "--get-user-env", "--propagate",
     "--nice", "--export-file", "--disable-status", "--label", "--pty", "--unbuffered", "--no-shell")
)  # fmt: skip
_TAKEN: Final = {
    "-d": "dependency",
    "-C": "constraint",
    "-w": "nodelist",
    "-x": "exclude",
    **{f"--{name}": name for name in ("dependency", "constraint", "nodelist", "exclude")},
}
_MARK: Final = re.compile("|".join((*_TAKEN, "--exclusive")))
"""What a line has that has an option that is read: a search for each line of a log must be fast."""


class Submission(NamedTuple):
    """The options in a command line.

    Attributes:
        dependency: the dependency, in the vocabulary of `batprotocol.workloads.requests`; None if it has none that can
            be read.
        constraint: the features that it asks for; None if it has none.
        exclusive: whether it asks for hosts of its own; None if it does not.
        unread: whether it has a dependency that cannot be read.
        nodelist: the names of the hosts that it must have; None if it names none. A name with a `/` is a file, which
            the log does not have.
        exclude: the names of the hosts that it must not have; likewise.
    """

    dependency: str | None = None
    constraint: str | None = None
    exclusive: bool | None = None
    unread: bool = False
    nodelist: str | None = None
    exclude: str | None = None


_NONE: Final = Submission()


def submission_of(line: str) -> Submission:
    """The options in a command line.

    >>> found = submission_of("sbatch -N2 -d afterok:1 -w n[1-2] --exclusive job.sh -C x")
    >>> found.dependency, found.constraint, found.exclusive, found.nodelist
    ('afterok:1', None, True, 'n[1-2]')
    """
    if _MARK.search(line) is None:
        return _NONE
    return _read(line[:_LONGEST])


@lru_cache(1024)
def _read(line: str) -> Submission:
    words = line.split()
    if not words or words[0].rpartition("/")[2] not in _PROGRAMS:
        return _NONE
    found: dict[str, str] = {}
    exclusive: bool | None = None
    place = 1
    while place < len(words) and words[place].startswith("-") and words[place] != "--wrap":
        name, value, used = _option(words, place)
        if name == "--exclusive":
            exclusive = not value or None
        elif name in _TAKEN:
            found[_TAKEN[name]] = value
        place += used
    dependency = found.get("dependency")
    read = Submission(
        dependency,
        found.get("constraint"),
        exclusive,
        nodelist=_names(found.get("nodelist", "")),
        exclude=_names(found.get("exclude", "")),
    )
    try:
        if dependency is not None:
            parse_dependency(dependency)
    except InputError:
        return read._replace(dependency=None, unread=True)
    return read


def _names(text: str) -> str | None:
    """Names of hosts; None if there are none, or they are in a file."""
    return text if text and "/" not in text else None


def _option(words: list[str], place: int) -> tuple[str, str, int]:
    """The name of an option, its value ("" if it has none), and the number of words that it takes."""
    word = words[place]
    name, value = word[:2], word[2:]
    is_alone = word[1:2] in _WITHOUT_VALUE
    if word.startswith("--"):
        name, _, value = word.partition("=")
        is_alone = "=" in word or name in _LONG_WITHOUT_VALUE
    if is_alone or value or place + 1 == len(words):
        return name, value, 1
    return name, words[place + 1], 2
