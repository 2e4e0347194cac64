"""The names of jobs in text, and now: text requires numbers, and versions 0 and 1 have only numbers. No events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from batprotocol.errors import EncodeError, shown

__all__ = ["JobNames"]

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_FIRST: Final = 1_000_000
"""The first number for jobs that have no number of their own."""


class JobNames:
    """The names of jobs on both sides.

    Args:
        version: the version of the text protocol.
        workloads: the names of workloads in text, by their current names; by default, the same names.

    >>> names = JobNames(1)
    >>> names.to_text("w0!7"), names.to_today("7"), names.to_text("w0!seven")
    ('7', 'w0!7', '1000000')
    """

    def __init__(self, version: int, workloads: Mapping[str, str] | None = None) -> None:
        self._version = version
        self._workloads = dict(workloads or {})
        self._text: dict[str, str] = {}
        self._today: dict[str, str] = {}
        self.renamed = 0

    def to_text(self, job_id: str) -> str:
        """The name in text of a job, from its current name.

        Raises:
            EncodeError: versions 0 and 1 know only one workload, and this is a job of a second one.
        """
        known = self._text.get(job_id)
        if known is not None:
            return known
        workload, _, name = job_id.rpartition("!")
        if not _NUMBER.fullmatch(name):
            name = str(_FIRST + self.renamed)
            self.renamed += 1
        said = name if self._version < 2 else f"{self._workloads.get(workload, workload)}!{name}"
        if said in self._today:
            other = shown(self._today[said])
            reason = f"{shown(job_id)} and {other} would both be job {said}"
            raise EncodeError(f"{reason}: versions 0 and 1 of text know only one workload")
        self._text[job_id], self._today[said] = said, job_id
        return said

    def to_today(self, said: str) -> str:
        """The current name of a job."""
        known = self._today.get(said)
        if known is not None:
            return known
        return said if self._version >= 2 else f"w0!{said}"
