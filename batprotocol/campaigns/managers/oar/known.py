"""The jobs that a cluster has of a store: a file beside the description of the cluster, written as a whole.

It is written before a submission is sent and after it is answered. So the next process knows which jobs to look for.
This module must not know of requests.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from batprotocol._util.files import reason_of
from batprotocol.errors import ClusterError

__all__ = ["Known"]

MOST_BYTES: Final = 256_000_000


class _Jobs(msgspec.Struct):
    ids: dict[int, int] = {}
    sent: dict[int, float] = {}
    doomed: list[int] = []
    refused: dict[int, str] = {}


class Known:
    """The jobs of a store on a cluster.

    Args:
        path: the file.
        cluster: the name of the cluster, for messages.

    Attributes:
        ids: OAR's number of each job.
        sent: the jobs whose submission is not answered yet, with the time at which it was sent.
        doomed: those of them that are to be killed when they are found.
        refused: the jobs that OAR refused, and why.
        is_new: whether there was no file: jobs of before may exist all the same.

    Raises:
        ClusterError: the file cannot be read, or is not one of these.
    """

    def __init__(self, path: Path, cluster: str = "") -> None:
        self._path = path
        self._cluster = cluster
        self.is_new = not path.exists()
        jobs = _Jobs() if self.is_new else self._read()
        self.ids, self.sent, self.refused = jobs.ids, jobs.sent, jobs.refused
        self.doomed = set(jobs.doomed)

    def __contains__(self, job: int) -> bool:
        return job in self.ids or job in self.sent or job in self.refused

    def write(self) -> None:
        """Write the file: all of it, or nothing.

        Raises:
            ClusterError: it cannot be written.
        """
        jobs = _Jobs(self.ids, self.sent, sorted(self.doomed), self.refused)
        unfinished = self._path.with_name(f"{self._path.name}.unfinished")
        try:
            unfinished.unlink(missing_ok=True)  # so a link there is not followed
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(msgspec.json.encode(jobs))
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, self._path)
        except OSError as error:
            raise ClusterError(f"{self._path}: {reason_of(error)}", self._cluster) from None

    def drop(self, job: int) -> None:
        """Forget a job."""
        self.ids.pop(job, None)
        self.sent.pop(job, None)
        self.refused.pop(job, None)
        self.doomed.discard(job)

    def _read(self) -> _Jobs:
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(MOST_BYTES), type=_Jobs)
        except OSError as error:
            raise ClusterError(f"{self._path}: {reason_of(error)}", self._cluster) from None
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise ClusterError(f"{self._path} does not list jobs: {error}; move it away", self._cluster) from None
