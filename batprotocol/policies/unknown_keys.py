"""Keys of jobs and hosts that have no effect, as the vocabulary of requests does not have them: each is logged once.

A key that may be misspelt, or is Slurm's word, is a warning; any other key is the users' own. This module must not know
policies.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from batprotocol.errors import InputError, shown
from batprotocol.model import Host
from batprotocol.workloads.requests import read_request
from batprotocol.workloads.requests.vocabulary import HOST_KEYS, JOB_KEYS, RequestKey

__all__ = ["UnknownKeys"]

logger = logging.getLogger("batprotocol.policies")

_MOST: Final = 100
"""Keys that are logged in one simulation: there may be a key for each job."""
_LONGEST: Final = 50
_ALIKE: Final = 0.8
_OTHERS: Final = frozenset({"slurm"})
"""Keys that not the vocabulary has, but one of the policies."""


class UnknownKeys:
    """The keys without effect that were logged in a simulation."""

    def __init__(self) -> None:
        self._seen: set[str] = set(_OTHERS)

    def report(self, job_id: str, extra_data: str) -> None:
        """Log each key of a job that has no effect, unless it was logged before.

        Args:
            job_id: the job.
            extra_data: its extra data.
        """
        try:
            unknown = read_request(extra_data).unknown
        except InputError:
            return  # the job is rejected with the reason
        for key in unknown:
            if key in self._seen or len(self._seen) >= _MOST:
                continue
            self._seen.add(key)
            meant = _meant_by(key, for_jobs=True)
            if meant is None:
                logger.info("%s: the key %s has no effect", shown(job_id), shown(key))
            else:
                logger.warning("%s: the key %s has no effect; did you mean %r?", shown(job_id), shown(key), meant)

    @staticmethod
    def report_hosts(hosts: Iterable[Host]) -> None:
        """Log each property that may be misspelt. Other properties are those of platforms.

        Args:
            hosts: the hosts.
        """
        names = {each.key: host.name for host in hosts for each in host.properties or ()}
        for key in sorted(names.keys() - HOST_KEYS.keys())[:_MOST]:
            meant = _meant_by(key, for_jobs=False)
            if meant is not None:
                logger.warning(
                    "host %s: the property %s has no effect; did you mean %r?", shown(names[key]), shown(key), meant
                )


@lru_cache(_MOST)
def _meant_by(key: str, *, for_jobs: bool) -> str | None:
    """The key of the vocabulary that a key may be meant for; None if it is like none."""
    from difflib import get_close_matches  # few simulations need it

    if len(key) > _LONGEST:
        return None
    known = _words_of(JOB_KEYS if for_jobs else HOST_KEYS)
    near = get_close_matches(key.lower().replace("-", "_"), list(known), 1, _ALIKE)
    return known[near[0]] if near else None


def _words_of(keys: Mapping[str, RequestKey]) -> dict[str, str]:
    """The keys by their names, and by the names that Slurm has for them."""
    known = {name: name for name in keys}
    for name, key in keys.items():
        for word in key.slurm.split(", "):
            known.setdefault(word.removeprefix("--").partition("=")[0].replace("-", "_").lower(), name)
    return known
