"""The smallest machine that the jobs of a log fit on, as they ran."""

from __future__ import annotations

from collections.abc import Iterator

from batprotocol.history.asking import Unit
from batprotocol.history.platforms.hosts import SiteHost, is_name
from batprotocol.history.surveys import Survey

__all__ = ["smallest_hosts"]


def smallest_hosts(survey: Survey, unit: Unit) -> list[SiteHost]:
    """The hosts of the smallest machine that has place for all jobs of a log, at the times at which they ran.

    If the log has the names of hosts, these are the hosts: each with the most cores, memory and generic resources that
    jobs had of it at the same time. Otherwise, the hosts `h0`, `h1`... are as many as were in use at the same time; or
    cores, if the jobs ask for cores. A name that a platform cannot have is left out.

    Args:
        survey: what `survey_of` found in the log.
        unit: what the jobs ask for.
    """
    return list(_hosts(survey, unit))


def _hosts(survey: Survey, unit: Unit) -> Iterator[SiteHost]:
    if unit == "cores":
        for number in range(max(survey.peak_cores, survey.peak_hosts)):
            yield SiteHost(name=f"c{number}")
        return
    if not survey.hosts:
        cores = max(survey.most_cores, 1)
        for number in range(survey.peak_hosts):
            yield SiteHost(name=f"h{number}", cores=cores)
        return
    for name, peak in survey.hosts.items():
        if is_name(name):
            yield SiteHost(name=name, cores=max(peak.cores, 1), memory=peak.memory, gres=peak.gres)
