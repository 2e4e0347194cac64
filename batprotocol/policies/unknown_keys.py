"""Keys of jobs that have no effect, as the vocabulary of requests does not have them: each is logged once.

A key that may be misspelt, or is an option of sbatch, is a warning; any other key is the users' own. This module must
not know policies.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Final

from batprotocol.errors import InputError, shown
from batprotocol.requests import read_request
from batprotocol.requests.keys import JOB_KEYS

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
            meant = _meant_by(key)
            if meant is None:
                logger.info("%s: the key %s has no effect", shown(job_id), shown(key))
            else:
                logger.warning("%s: the key %s has no effect; did you mean %r?", shown(job_id), shown(key), meant)


@lru_cache(_MOST)
def _meant_by(key: str) -> str | None:
    """The key of the vocabulary that a key may be meant for; None if it is like none."""
    from difflib import get_close_matches  # few simulations need it

    if len(key) > _LONGEST:
        return None
    known = {name: name for name in JOB_KEYS}
    for name, meaning in JOB_KEYS.items():
        for option in meaning.slurm.split(", "):
            known.setdefault(option.removeprefix("--").replace("-", "_"), name)
    near = get_close_matches(key.lower().replace("-", "_"), list(known), 1, _ALIKE)
    return known[near[0]] if near else None
