"""Copies of logs that are simulated: as the log says, and as policies would have it.

It must not know formats of logs, nor how results are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batprotocol.policies import named
from batprotocol.simulator import Platform, Workload, simulate
from batprotocol.sites.logs.checking import CopyCheck, Explanation, Numbers, check_copy, explanation_of

__all__ = ["explanations", "simulated_copy"]


def simulated_copy(workload: Workload, platform: Platform, log: Numbers) -> CopyCheck:
    """Simulate the policy `recorded`, and compare the result with the log.

    Args:
        workload: the workload of a log, with recorded starts.
        platform: its platform.
        log: the numbers of the log, see `batprotocol.sites.logs.checking.numbers_of_log`.
    """
    policy = named("recorded")()
    result = simulate(platform, workload, policy)
    return check_copy(workload, platform, result.jobs, log, policy.conflicts, policy.allocated)


def explanations(workload: Workload, platform: Platform, policies: Iterable[str]) -> Iterator[Explanation]:
    """How well policies explain the starts of a log, one after the other.

    Args:
        workload: the workload of a log, with recorded starts.
        platform: its platform.
        policies: the names of policies.

    Raises:
        PolicyNameError: a text is not the name of a policy.

    >>> from batprotocol.model import DelayProfile
    >>> from batprotocol.simulator import StaticJob
    >>> data = '{"recorded": {"start": 30}}'
    >>> workload = Workload([StaticJob("1", 0.0, 1, DelayProfile(60.0), extra_data=data)])
    >>> [round(found.mean_difference, 3) for found in explanations(workload, Platform.homogeneous(1), ["easy"])]
    [30.0]
    """
    classes = [(name, named(name)) for name in policies]  # all names are checked before the first simulation
    for name, policy in classes:
        yield explanation_of(name, workload, simulate(platform, workload, policy()).jobs)
