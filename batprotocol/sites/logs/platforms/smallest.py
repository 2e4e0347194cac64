"""The smallest machine that the jobs of a log fit on, as they ran."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from batprotocol.errors import InputError
from batprotocol.sites.logs.asking import Unit
from batprotocol.sites.logs.platforms.hosts import MOST_HOSTS, SiteHost, is_name, is_word
from batprotocol.sites.logs.surveys import Survey

_RESOURCE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z_][A-Za-z0-9_.-]*)?")

__all__ = ["smallest_hosts"]


def smallest_hosts(survey: Survey, unit: Unit) -> list[SiteHost]:
    """The hosts of the smallest machine that has place for all jobs of a log, at the times at which they ran.

    If the log has the names of hosts, these are the hosts: each with the most cores, memory and generic resources that
    jobs had of it at the same time. Otherwise, the hosts `h0`, `h1`... are as many as were in use at the same time; or
    cores `c0`, `c1`... if the jobs ask for cores. A host is in the partitions of the jobs that ran on it. A name that a
    platform cannot have is left out.

    Args:
        survey: what `survey_of` found in the log.
        unit: what the jobs ask for.

    Raises:
        InputError: the machine would have more than a million hosts without names.
    """
    return list(_hosts(survey, unit))


def _hosts(survey: Survey, unit: Unit) -> Iterator[SiteHost]:
    partitions = {name: hosts for name, hosts in survey.partitions.items() if is_word(name)}
    if unit == "cores" or not survey.hosts:
        count = max(survey.peak_cores, survey.peak_hosts) if unit == "cores" else survey.peak_hosts
        cores = 1 if unit == "cores" else max(survey.most_cores, 1)
        if count > MOST_HOSTS:
            raise InputError(f"the jobs of the log need {count:,} hosts at one time, and the limit is {MOST_HOSTS:,}")
        for number in range(count):
            yield SiteHost(name=f"{'c' if unit == 'cores' else 'h'}{number}", cores=cores, partitions=tuple(partitions))
        return
    for name, peak in survey.hosts.items():
        if is_name(name):
            yield SiteHost(
                name=name,
                cores=max(peak.cores, 1),
                memory=peak.memory,
                gres=tuple((kind, count) for kind, count in peak.gres if _RESOURCE.fullmatch(kind)),
                partitions=tuple(partition for partition, hosts in partitions.items() if name in hosts),
            )
