"""Makes events of hosts of outages: each node of a trace is a host of the platform."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from batprotocol._util.tables import LeftOut
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.sites.logs.outages.values import Outage
from batprotocol.workloads.host_events import HostEvent
from batprotocol.workloads.host_events.failures import merged_outages
from batprotocol.workloads.platform import natural_order

__all__ = ["outage_events"]


def outage_events(
    outages: Iterable[Outage],
    hosts: Sequence[str] | int,
    left_out: LeftOut,
    *,
    since: float | None = None,
    until: float | None = None,
) -> list[tuple[float, HostEvent]]:
    """The events of hosts of a trace, by their times. Outages of a node that overlap are one.

    Args:
        outages: the outages, in any order.
        hosts: the names of the platform's computation hosts, or their number. A node is the host of its name. If no
            node is a host's name, the nodes are the hosts in their natural order: `n2` comes before `n10`.
        left_out: where the outages of nodes without a host, and those outside the time, are counted.
        since: the time 0 of the simulation, in seconds since 1970; None: the begin of the first outage. A node that is
            away at this time fails at 0.
        until: outages that begin at this time or later are left out, in seconds since 1970; None: none are.

    >>> trace = [Outage("b", 100.0, 160.0, "", 1), Outage("a", 130.0, None, "", 2)]
    >>> [(time, each.state.value, each.hosts.text) for time, each in outage_events(trace, 2, LeftOut())]
    [(0.0, 'down', '1'), (30.0, 'down', '0'), (60.0, 'up', '1')]
    """
    found = list(outages)
    numbers = _numbers({outage.node for outage in found}, hosts)
    sets = [frozen_hosts(host) for host in range(hosts if isinstance(hosts, int) else len(hosts))]
    begin = min((outage.begin for outage in found), default=0.0) if since is None else since
    changes: list[tuple[float, FrozenHosts, bool]] = []
    for outage in found:
        number = numbers.get(outage.node)
        if number is None:
            left_out.row("its node has no host: the platform has fewer hosts, or other names", outage.line)
        elif outage.end is not None and outage.end <= begin:
            left_out.row("it ends before the time begins", outage.line)
        elif until is not None and outage.begin >= until:
            left_out.row("it begins after the time ends", outage.line)
        else:
            changes.append((max(outage.begin - begin, 0.0), sets[number], True))
            if outage.end is None:
                left_out.value("it has no end: its host stays away", outage.line)
            else:
                changes.append((outage.end - begin, sets[number], False))
    changes.sort(key=_time)
    return list(merged_outages(changes, len(sets)))


def _time(change: tuple[float, FrozenHosts, bool]) -> float:
    return change[0]


def _numbers(nodes: Iterable[str], hosts: Sequence[str] | int) -> dict[str, int]:
    """The host of each node that has one."""
    ordered = sorted(nodes, key=natural_order)
    if not isinstance(hosts, int):
        named = {name: number for number, name in enumerate(hosts)}
        if any(node in named for node in ordered):
            return {node: named[node] for node in ordered if node in named}
    count = hosts if isinstance(hosts, int) else len(hosts)
    return {node: number for number, node in enumerate(ordered[:count])}
