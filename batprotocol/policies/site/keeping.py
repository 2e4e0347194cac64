"""The meaning of changes around reservations for them: whether one that was made anew would be where it is.

This module must not know the order of jobs, nor move reservations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from batprotocol.policies.site.jobs import Entry
from batprotocol.policies.site.pool import Amount, added, fits
from batprotocol.policies.site.timeline import Timeline

__all__ = ["Kept", "is_possible", "is_short", "look_around", "stays"]

Kept: TypeAlias = "tuple[Entry, float, list[int], dict[int, Amount]]"
"""A reservation as it was: the entry, its time, its hosts, and those where it could be."""


def is_possible(kept: list[Kept], chosen: list[int], harmed: Mapping[int, int]) -> bool:
    """Whether enough hosts remain for each reservation, as far as a count shows.

    Args:
        kept: the reservations as they were.
        chosen: the hosts that another entry is to have.
        harmed: the hosts on which a reservation cannot be beside that entry.
    """
    lost = sum(host in harmed for host in chosen)
    return len(kept) > 1 or lost <= len(kept[0][3]) - kept[0][0].job.size


def is_short(head: Entry, timeline: Timeline, hosts: set[int]) -> bool:
    """Whether more is taken of some of these hosts than they have, while a job with a reservation runs on them."""
    end = head.start + head.expected
    return any(min(timeline.least(host, head.start, end)) < 0 for host in hosts.intersection(head.reserved))


def look_around(head: Entry, timeline: Timeline, since: int) -> tuple[bool, bool]:
    """Note anew what is free where a reservation could be.

    Args:
        head: the entry that has the reservation.
        timeline: what will be free.
        since: the changes of the timeline when that was noted before.

    Returns:
        Whether something may be another one, and whether more is free somewhere.
    """
    amount, end, own, could = head.kind.amount, head.start + head.expected, set(head.reserved), head.could
    has_more = False
    changed = timeline.changed_since(could, since)
    for host in changed:
        free = timeline.least(host, head.start, end)
        if host in own:
            free = added(free, amount)
        has_more |= not fits(free, could[host])
        if fits(amount, free):
            could[host] = free
        else:
            del could[host]
    return bool(changed), has_more


def stays(entry: Entry, timeline: Timeline, since: int, now: float, seconds: float) -> bool:
    """Whether a reservation has the first time and the first hosts that it can have, as when it was made.

    Of the changes since then, only an amount that was given back can bring it forward, or to hosts with smaller
    numbers: on hosts that would be free for the job earlier, even if its time there ends behind the start of the
    reservation. Amounts that were taken elsewhere do not matter. The hosts where it could be are kept up to date.

    Args:
        entry: the entry. It gets the hosts with the smallest numbers, whatever is free there.
        timeline: what will be free, with the reservation.
        since: the changes of the timeline when the reservation was made.
        now: the time. The reservation begins later.
        seconds: for how long the entry needs hosts.
    """
    start, end, kind = entry.start, entry.start + entry.expected, entry.kind
    changes = timeline.since(since)
    if changes is None:
        return False
    gained: set[int] = set()
    touched: set[int] = set()
    for hosts, begin, until, is_more in changes:
        if begin >= end or until <= now:
            continue
        if is_more:
            gained.update(hosts)
        if until > start:
            touched.update(hosts)
    amount, own, could = kind.amount, entry.reserved, entry.could
    for host in gained & kind.hosts:
        if host in own and timeline.fits_before(host, amount, start):
            return False
        if timeline.opens(host, amount, seconds, now, start):
            return False
    last = own[-1]
    for host in (touched & kind.hosts).difference(own):
        if not timeline.is_open(host, amount, seconds, start):
            could.pop(host, None)
        elif host not in could:
            if host < last:
                return False
            could[host] = timeline.least(host, start, end)
    return True
