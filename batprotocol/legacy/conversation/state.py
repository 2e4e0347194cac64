"""The state of a conversation of an older protocol at one moment, and the violations found so far.

This module must not know the effects of events: the judges of each protocol change the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from batprotocol._util.rules import Severity
from batprotocol.legacy.conversation.machines import Machines
from batprotocol.legacy.conversation.rules import Violation

__all__ = ["JobRecord", "State", "Unfit"]

Known = Literal["submitted", "running", "ended"]


class Unfit(Exception):
    """An event breaks a rule, and the judge cannot check the rest of the event.

    Args:
        rule: the rule.
        path: the place of the violation.
        text: the description of the violation.
    """

    def __init__(self, rule: str, path: str, text: str) -> None:
        super().__init__(rule, path, text)
        self.rule, self.path, self.text = rule, path, text


class JobRecord(msgspec.Struct):
    """A job.

    Attributes:
        state: its current state.
        res: how many hosts it requests, None if no message gave the number.
        profile: the name of its profile.
        hosts: the hosts that it runs on.
        told: whether Batsim has reported that it ended.
    """

    state: Known = "submitted"
    res: int | None = None
    profile: str | None = None
    hosts: frozenset[int] = frozenset()
    told: bool = False


class State:
    """The state of a conversation; `major` is the first number of Batsim's version, 0 for text."""

    def __init__(self, rule_set: str, severities: Mapping[str, Severity]) -> None:
        self.rule_set: Final = rule_set
        self.major: Final = 0 if rule_set.startswith("text") else int(rule_set.removeprefix("batsim-")[0])
        self.severities = severities
        self.found: list[Violation] = []
        self.number = 0
        self.now = 0.0
        self.clock = 0.0
        # The simulation
        self.host_count: int | None = None
        self.machines = Machines()
        self.has_watts = False
        self.began = False
        self.shares = True
        self.redis = self.major == 0
        self.registration: bool | None = None
        self.registration_ended = False
        """Whether the scheduler notified the end of registration."""
        self.registration_closed = False
        """Whether Batsim knew that when it began to read this reply, or when it last waited."""
        self.acknowledges = True
        self.reuses_profiles = True
        self.knows_profiles = False
        self.workloads: set[str] = set()
        self.profiles: dict[tuple[str, str], Mapping[str, Any]] = {}
        """The profiles by workload and name; a profile is empty if only its name is known."""
        self.registered: set[tuple[str, str]] = set()
        """The profiles that the scheduler has registered."""
        self.jobs: dict[str, JobRecord] = {}
        self.unannounced: set[str] = set()
        self.busy: dict[int, str] = {}
        self.killing: set[str] = set()

    def report(self, rule: str, path: str, text: str) -> bool:
        """Report a violation, unless the rule is off. Returns whether the other side aborts on it."""
        severity = self.severities.get(rule)
        if severity is None:
            return False
        self.found.append(Violation(self.number, path, rule, severity, text))
        return severity != "warning"

    def survives(self, before: int) -> bool:
        """Whether the other side survives the violations from this index on."""
        return all(found.severity == "warning" for found in self.found[before:])

    # Jobs and hosts

    def key_of(self, job_id: str) -> tuple[str, str]:
        """The workload and the name of a job's profile."""
        return job_id.partition("!")[0], self.jobs[job_id].profile or ""

    def profile_of(self, job_id: str) -> Mapping[str, Any]:
        """A job's profile, empty if it is not known."""
        return self.profiles.get(self.key_of(job_id), {})

    def is_busy(self, host: int) -> bool:
        """Whether a job runs on a host, and is not being killed."""
        return host in self.busy and self.busy[host] not in self.killing

    def start(self, job_id: str, hosts: frozenset[int]) -> None:
        """The scheduler executes a job."""
        job = self.jobs[job_id]
        job.state, job.hosts = "running", hosts
        self.busy.update(dict.fromkeys(hosts, job_id))
        self.unannounced.discard(job_id)

    def reject(self, job_id: str) -> None:
        """The scheduler rejects a job."""
        job = self.jobs[job_id]
        job.state, job.told = "ended", True

    def end(self, job_id: str, told: bool = True) -> None:
        """A job has ended, and its hosts are free."""
        job = self.jobs.get(job_id)
        if job is None:
            return
        job.state = "ended"
        job.told = job.told or told
        for host in job.hosts:
            if self.busy.get(host) == job_id:
                del self.busy[host]
        if job.profile is not None and not self.reuses_profiles:
            key = (job_id.partition("!")[0], job.profile)
            if not any(
                other.profile == job.profile and other.state != "ended" and name.startswith(f"{key[0]}!")
                for name, other in self.jobs.items()
            ):
                self.profiles.pop(key, None)

    def facts(self) -> dict[str, Any]:
        """How many jobs are in each state, as text for people."""
        states = [job.state for job in self.jobs.values()]
        return {state: states.count(state) for state in dict.fromkeys(states)}
