"""One sequence of events of hosts from outages that may overlap: a host is down as long as any of them lasts.

This module must not know where outages come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.workloads.host_events import HostChange, HostEvent

__all__ = ["merged_outages"]


def merged_outages(
    changes: Iterable[tuple[float, FrozenHosts, bool]], host_count: int, *, since: float = 0.0
) -> Iterator[tuple[float, HostEvent]]:
    """The events of hosts, from the beginnings and ends of outages.

    All changes of one time become at most two events: hosts that come back, and hosts that fail.

    Args:
        changes: the time, the hosts, and whether an outage begins, by time.
        host_count: the number of hosts.
        since: the time of the first events; hosts that are down at this time fail then.

    >>> rack, other = frozen_hosts("0-1"), frozen_hosts("1-2")
    >>> outages = [(1.0, rack, True), (2.0, other, True), (3.0, rack, False)]
    >>> [(time, event.state.value, event.hosts.text) for time, event in merged_outages(outages, 4)]
    [(1.0, 'down', '0-1'), (2.0, 'down', '2'), (3.0, 'up', '0')]
    """
    lasting = [0] * host_count
    waiting: list[tuple[FrozenHosts, bool]] = []
    now = since
    for time, hosts, begins in changes:
        if time > now:
            if waiting:
                yield from _events(now, waiting, lasting)
                waiting.clear()
            now = time
        waiting.append((hosts, begins))
    yield from _events(now, waiting, lasting)


def _events(
    time: float, changes: list[tuple[FrozenHosts, bool]], lasting: list[int]
) -> Iterator[tuple[float, HostEvent]]:
    """The events of one time. They take over the sets of hosts as they are, if they can: their texts are known."""
    if len(changes) == 1 and len(changes[0][0]) == 1:  # by far the most frequent
        ((hosts, begins),) = changes
        host = hosts.intervals[0][0]
        lasting[host] += 1 if begins else -1
        if lasting[host] == begins:
            yield time, HostEvent(hosts, HostChange.DOWN if begins else HostChange.UP)
        return
    before: dict[int, int] = {}
    for hosts, begins in changes:
        step = 1 if begins else -1
        for first, last in hosts.intervals:
            for host in range(first, last + 1):
                before.setdefault(host, lasting[host])
                lasting[host] += step
    up = [host for host, count in before.items() if count and not lasting[host]]
    down = [host for host, count in before.items() if not count and lasting[host]]
    whole = changes[0][0] if len(changes) == 1 else None
    for found, change in ((up, HostChange.UP), (down, HostChange.DOWN)):
        if found:
            taken = whole if whole is not None and len(whole) == len(found) else frozen_hosts(found)
            yield time, HostEvent(taken, change)
