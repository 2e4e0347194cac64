"""Limits of users, accounts, qualities of service, arrays and the site: what their jobs have, and may have."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from batprotocol.policies.site.rules import Limits, SiteRules

if TYPE_CHECKING:
    from batprotocol.policies.site.jobs import Entry, SiteJob, SiteRunning

__all__ = ["Usage"]

_NONE: Final = Limits()
Scope = tuple[str, object]


class Usage:
    """The amounts that jobs have, for each scope that has limits.

    Args:
        rules: the limits.
    """

    def __init__(self, rules: SiteRules) -> None:
        self._rules = rules
        self._running: dict[Scope, list[int]] = defaultdict(_nothing)
        self._waiting: dict[Scope, int] = defaultdict(int)

    def _scopes(self, job: SiteJob) -> Iterator[tuple[Scope, Limits]]:
        """The scopes that a job belongs to and that may have limits."""
        rules, request = self._rules, job.request
        user, account, qos = request.user, request.account, request.qos
        if rules.limits is not _NONE:
            yield ("all jobs", ""), rules.limits
        if rules.per_user is not _NONE:
            yield ("user", user), rules.per_user
        name = account
        while name is not None and name in rules.accounts:
            found = rules.accounts[name]
            yield ("account", name), found.limits
            if name == account:
                yield (f"account {name}, user", user), found.per_user
            name = found.parent
        if qos is not None and qos in rules.qos:
            quality = rules.qos[qos]
            yield ("QOS", qos), quality.limits
            yield (f"QOS {qos}, user", user), quality.per_user
            yield (f"QOS {qos}, account", account), quality.per_account
        if request.array is not None:
            yield ("array", job.array), Limits(running=request.array.limit)

    def refusal(self, job: SiteJob) -> str | None:
        """Why a job can never run, or cannot wait now, as the end of a sentence; None if it can."""
        for (kind, name), limits in self._scopes(job):
            scope = f"{kind} {name}".strip()
            for number, what in enumerate(("running", "hosts", "cores", "gpus")):
                most = getattr(limits, what)
                asked = _amounts(job, job.cores)[number]
                if most is not None and asked > most:
                    noun = "jobs" if what == "running" else "GPUs" if what == "gpus" else what
                    return f"it asks for {asked} {noun}, and {scope} can have {most}"
            if limits.waiting is not None and self._waiting[kind, name] >= limits.waiting:
                return f"{limits.waiting} jobs of {scope} wait already"
        return None

    def most_cores(self, job: SiteJob) -> tuple[float, str]:
        """The most cores that a job can have, and who can have them; infinity if they are not limited."""
        found = ((scope, limits.cores) for scope, limits in self._scopes(job))
        return min(
            ((float(cores), f"{kind} {name}".strip()) for (kind, name), cores in found if cores is not None),
            default=(math.inf, ""),
        )

    def blocked(self, entry: Entry) -> bool:
        """Whether limits keep a job from starting in a partition now, on whichever hosts it gets."""
        job = entry.job
        for scope, limits in self._scopes(job):
            used = self._running[scope]
            most = limits.running, limits.hosts, limits.cores, limits.gpus
            for has, more, limit in zip(used, _amounts(job, entry.cores), most, strict=True):
                if limit is not None and has + more > limit:
                    return True
        return False

    def waits(self, job: SiteJob, change: int) -> None:
        """A job waits (1), or waits no longer (-1)."""
        for scope, _ in self._scopes(job):
            self._waiting[scope] += change

    def runs(self, running: SiteRunning, change: int) -> None:
        """A job runs (1), or runs no longer (-1)."""
        job = running.entry.job
        for scope, _ in self._scopes(job):
            used = self._running[scope]
            for place, more in enumerate(_amounts(job, running.cores)):
                used[place] += change * more


def _amounts(job: SiteJob, cores: int) -> tuple[int, int, int, int]:
    return 1, job.size, cores, job.gpus


def _nothing() -> list[int]:
    """Jobs, hosts, cores and GPUs; a function with a name, so that a site can be pickled."""
    return [0, 0, 0, 0]
