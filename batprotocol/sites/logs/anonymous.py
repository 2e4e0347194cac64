"""Users, groups, accounts and names of jobs without their names: always the same other name for one key.

A name is replaced by a keyed hash (HMAC-SHA256) with its kind in front, as `user-daa290733c2ff725`. A reader who
has the key can find out whether a name is in a log; without the key, this is not possible. It must not know formats.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.sites.logs.jobs import LoggedJob

__all__ = ["KINDS", "OTHER_KINDS", "Anonymizer", "random_key"]

KINDS: Final = ("user", "group", "account", "name")
"""The values that are replaced in any case."""

OTHER_KINDS: Final = ("partition", "qos", "reservation")
"""The values that are replaced on demand."""

_DIGITS: Final = 16
_SHORTEST_KEY: Final = 8
_MOST_KNOWN: Final = 200_000


def random_key() -> str:
    """A key that nobody can guess, of 32 digits."""
    return secrets.token_hex(16)


class Anonymizer:
    """Replaces names.

    Sixteen digits are 64 bits: among a million names of one kind, two have the same replacement with a probability of
    3e-8.

    Args:
        key: the key, at least eight characters. The same key always gives the same replacements.
        others: the values among `OTHER_KINDS` that are replaced, too.

    >>> Anonymizer("a secret of the site").replacement("user", "ada")
    'user-daa290733c2ff725'

    Raises:
        InputError: the key is too short, or a kind is unknown.
    """

    def __init__(self, key: str, others: Iterable[str] = ()) -> None:
        if len(key) < _SHORTEST_KEY:
            raise InputError(f"expected a key of at least {_SHORTEST_KEY} characters, got {len(key)}")
        self.kinds = (*KINDS, *dict.fromkeys(others))
        for kind in self.kinds[len(KINDS) :]:
            if kind not in OTHER_KINDS:
                raise InputError(f"expected one of {', '.join(OTHER_KINDS)}, got {kind!r}")
        self._key = key.encode()
        self._known: dict[tuple[str, str], str] = {}

    def replacement(self, kind: str, name: str) -> str:
        """The replacement of a name."""
        found = self._known.get((kind, name))
        if found is None:
            digest = hmac.digest(self._key, f"{kind}\0{name}".encode("utf-8", "surrogatepass"), "sha256")
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[kind, name] = f"{kind}-{digest.hex()[:_DIGITS]}"
        return found

    def job(self, job: LoggedJob) -> LoggedJob:
        """The job with replacements of its names. Several partitions with commas are replaced one by one."""
        changes: dict[str, Any] = {}
        for kind in self.kinds:
            value = getattr(job, kind)
            if value:
                parts = value.split(",") if kind == "partition" else [value]
                changes[kind] = ",".join(self.replacement(kind, part) for part in parts)
        return msgspec.structs.replace(job, **changes)

    def partitions(self, names: Iterable[str]) -> tuple[str, ...]:
        """The partitions of a host as jobs name them now."""
        if "partition" not in self.kinds:
            return tuple(names)
        return tuple(self.replacement("partition", name) for name in names)
