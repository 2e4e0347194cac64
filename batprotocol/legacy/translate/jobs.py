"""The states of the jobs of a simulation that is translated."""

from __future__ import annotations

__all__ = ["JobStates"]


class JobStates:
    """The state of each job: "submitted", "running", "faked" or "ended".

    Attributes:
        open: the jobs that have not ended, in the order in which they became known.

    >>> states = JobStates()
    >>> states["w0!1"] = "submitted"
    >>> states["w0!1"] = "ended"
    >>> states.get("w0!1"), list(states.open)
    ('ended', [])
    """

    def __init__(self) -> None:
        self.open: dict[str, None] = {}
        self._states: dict[str, str] = {}

    def __setitem__(self, job_id: str, state: str) -> None:
        self._states[job_id] = state
        if state == "ended":
            self.open.pop(job_id, None)
        else:
            self.open.setdefault(job_id)

    def get(self, job_id: str, default: str | None = None) -> str | None:
        """The state of a job; the default for one that is unknown."""
        return self._states.get(job_id, default)

    def add(self, job_id: str) -> None:
        """Take a job that is submitted, unless it is known."""
        if job_id not in self._states:
            self[job_id] = "submitted"

    def those(self, state: str) -> tuple[str, ...]:
        """The jobs in one of the states of jobs that have not ended."""
        return tuple(job_id for job_id in self.open if self._states[job_id] == state)
