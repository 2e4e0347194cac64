"""Runs whose jobs ask for more than hosts: where such a job is drawn, what it asks for, and which jobs belong together.

Jobs on one host are drawn side by side, in the order of their shares.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from math import inf
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.model import FinalJobState
from batprotocol.recordings.timeline.packing import off_duty_columns, packed_columns, word_numbers
from batprotocol.recordings.timeline.values import OffDuty, TimelineData, TimelineJob
from batprotocol.workloads.requests import Dependencies, Gres, Offer, Request
from batprotocol.workloads.requests.offers import Needs, needs_of
from batprotocol.workloads.requests.request import NOTHING
from batprotocol.workloads.requests.usage import ROUNDED, share_hosts, submitted_id


class ConsecutiveUnits(NamedTuple):
    """Some consecutive cores or GPUs of a host.

    Attributes:
        first: the number of the first one.
        width: how many.
    """

    first: int
    width: int


class HostUnits:
    """The cores, or the GPUs, of the hosts.

    >>> units = HostUnits()
    >>> units.take(0, 8, 4, 0.0, 10.0), units.take(0, 8, 2, 0.0, 99.0)
    ([ConsecutiveUnits(first=0, width=4)], [ConsecutiveUnits(first=4, width=2)])
    >>> units.take(0, 8, 4, 10.0, 20.0)
    [ConsecutiveUnits(first=0, width=4)]
    """

    def __init__(self) -> None:
        self._held: dict[int, list[tuple[ConsecutiveUnits, float]]] = {}

    def take(self, host: int, size: int, count: int, start: float, end: float) -> list[ConsecutiveUnits]:
        """The lanes of a job on a host. Jobs come in the order of their starts.

        If no gap is wide enough, the job gets several spans. If less is free than it takes, it shares the last lanes
        with others.

        Args:
            host: the host.
            size: how many lanes the host has, >= 1.
            count: how many the job takes, >= 1; at most `size` count.
            start: its start, in seconds.
            end: its end, in seconds.
        """
        count = min(count, size)
        held = [each for each in self._held.get(host, ()) if each[1] > start]
        gaps = list(_gaps((span for span, _ in held), size))
        wide = next((gap for gap in gaps if gap.width >= count), None)
        if wide is not None:
            spans = [ConsecutiveUnits(wide.first, count)]
        elif sum(gap.width for gap in gaps) < count:
            spans = [ConsecutiveUnits(size - count, count)]
        else:
            spans, missing = [], count
            for gap in gaps:
                taken = min(gap.width, missing)
                missing -= taken
                if taken:
                    spans.append(ConsecutiveUnits(gap.first, taken))
        held += [(span, end) for span in spans]
        held.sort()
        self._held[host] = held
        return spans


def _gaps(held: Iterable[ConsecutiveUnits], size: int) -> Iterable[ConsecutiveUnits]:
    """What is free between spans that are in order, and may overlap."""
    free = 0
    for span in held:
        if span.first > free:
            yield ConsecutiveUnits(free, span.first - free)
        free = max(free, span.first + span.width)
    if free < size:
        yield ConsecutiveUnits(free, size - free)


# Which jobs of a run belong together: the lives of a job that was interrupted, and the jobs that others wait for.


AGAIN: Final = "again"
"""The kind of a link from a life of a job to its next life. Other kinds are those of dependencies."""
_MOST: Final = 1_000
"""The most links of a job to those that it waits for."""


class JobLink(NamedTuple):
    """A link between two jobs, by their places in a list.

    Attributes:
        source: the job that comes first.
        target: the job that follows.
        kind: the place of the kind in a list of kinds.
    """

    source: int
    target: int
    kind: int


def links_of(jobs: Sequence[TimelineJob]) -> tuple[list[str], list[JobLink]]:
    """The kinds of links, and the links. Those of a dependency begin at the last life of a job.

    >>> first = TimelineJob(job_id="w0!1", submitted=0.0, started=0.0)
    >>> links_of([first, TimelineJob(job_id="again!w0-1~1", submitted=5.0)])
    (['again'], [JobLink(source=0, target=1, kind=0)])
    """
    places = {job.job_id: place for place, job in enumerate(jobs)}
    lives = _lives(jobs, places)
    kinds = [AGAIN]
    links = [JobLink(*pair, 0) for each in lives.values() for pair in pairwise(each)]
    if any(job.request is not None and job.request.dependency is not None for job in jobs):
        later = {place for each in lives.values() for place in each[1:]}
        firsts = [place for place in range(len(jobs)) if place not in later]
        firsts.sort(key=lambda place: _or_inf(jobs[place].submitted))
        for source, target, kind in _waiting(jobs, firsts, places):
            if kind not in kinds:
                kinds.append(kind)
            links.append(JobLink(lives.get(source, [source])[-1], target, kinds.index(kind)))
    return kinds, links


def _lives(jobs: Sequence[TimelineJob], places: dict[str, int]) -> dict[int, list[int]]:
    """The lives of each job that ran again, by the place of the first one."""
    later = [(*life, place) for place, job in enumerate(jobs) if (life := submitted_id(job.job_id)) is not None]
    if not later:
        return {}
    flat = {job_id.replace("!", "-"): place for job_id, place in reversed(places.items())}
    found: dict[int, list[int]] = {}
    for first, _, place in sorted(later):
        begin = flat.get(first)
        if begin is not None and begin != place:
            found.setdefault(begin, [begin]).append(place)
    # With checkpoints, a job is rejected, and registered again as its first attempt: that one has the links.
    return {begin: chain[jobs[begin].state is FinalJobState.REJECTED :] for begin, chain in found.items()}


def _waiting(
    jobs: Sequence[TimelineJob], order: Sequence[int], places: dict[str, int]
) -> Iterator[tuple[int, int, str]]:
    """Each job that another one waits for, that one, and the kind of the condition."""
    book = Dependencies()
    for place in order:
        job = jobs[place]
        book.submitted(job.job_id, job.request or NOTHING, job.submitted or 0.0)
    for place in order:
        for kind, job_id in islice(book.named(jobs[place].job_id), _MOST):
            yield places[job_id], place, kind


def _or_inf(time: float | None) -> float:
    return inf if time is None else time


# Jobs that have a host at the same time: they are drawn side by side, so that none hides another.


class Overlaps(msgspec.Struct, frozen=True):
    """The jobs that have a host together.

    Attributes:
        jobs: their places among all jobs.
        most: the most jobs that each of their hosts has at the same time.
    """

    jobs: frozenset[int] = frozenset()
    most: dict[int, int] = {}


def overlaps_of(jobs: Sequence[TimelineJob]) -> Overlaps:
    """The jobs that have a host together, for longer than times are rounded.

    >>> times = [(0.0, 9.0, 0), (5.0, 12.0, 0), (12.0, 20.0, 0), (0.0, 20.0, 1)]
    >>> jobs = [TimelineJob(job_id="w0!1", started=t, finished=end, hosts=((host, host),)) for t, end, host in times]
    >>> found = overlaps_of(jobs)
    >>> sorted(found.jobs), found.most
    ([0, 1], {0: 2})
    """
    ran = [
        (place, job.started, math.inf if job.finished is None else job.finished, job)
        for place, job in enumerate(jobs)
        if job.started is not None and job.hosts
    ]
    ran = [each for each in ran if each[2] > each[1] + ROUNDED]
    texts = (" ".join(f"{first}-{last}" for first, last in job.hosts) for *_, job in ran)
    if not share_hosts((start, end, text) for (_, start, end, _), text in zip(ran, texts, strict=True)):
        return Overlaps()
    events = [(start + ROUNDED, 1, place) for place, start, _, _ in ran]
    events += [(end, 0, place) for place, _, end, _ in ran if end < math.inf]
    running: dict[int, set[int]] = {}
    found: set[int] = set()
    most: dict[int, int] = {}
    for _, is_start, place in sorted(events):
        for first, last in jobs[place].hosts:
            for host in range(first, last + 1):
                here = running.setdefault(host, set())
                if not is_start:
                    here.discard(place)
                    continue
                here.add(place)
                if len(here) > 1:
                    found |= here
                    most[host] = max(most.get(host, 0), len(here))
    return Overlaps(frozenset(found), most)


# Runs whose jobs ask for more than hosts: where such a job is drawn, what it asks for, and which jobs belong
# together.


BAND: Final = 0.25
"""The part of a row that is the band of GPUs, at hosts with GPUs, if a job asks for some."""
_PARTS: Final = 1 << 16
"""The lanes of a host of which a job has a known share."""
_ALONE: Final = "no partition"
_KEYS: Final = ("partition", "qos", "account", "cores", "memory", "gres", "tasks", "exclusive", "dependency")
"""The keys of jobs that are drawn."""


class RowGroup(NamedTuple):
    """The rows of a partition.

    Attributes:
        label: the partition, and the others that its hosts belong to.
        first: the first row.
        height: the number of rows.
    """

    label: str
    first: int
    height: int


class HostRows:
    """The hosts in the order in which they are drawn.

    Args:
        groups: the groups, from top to bottom.
        hosts: the host of each row; None: each row has the host of its number.
    """

    def __init__(self, groups: Sequence[RowGroup], hosts: Sequence[int] | None) -> None:
        self.groups = groups
        self.hosts = None if hosts is None or all(row == host for row, host in enumerate(hosts)) else hosts
        row_of = sorted((host, row) for row, host in enumerate(self.hosts or ()))
        # Hosts with consecutive numbers and rows: the first host of each such piece, and its row.
        self._pieces = [
            (host, row) for place, (host, row) in enumerate(row_of) if not place or row != row_of[place - 1][1] + 1
        ]
        self._starts = [host for host, _ in self._pieces]

    def row(self, host: int) -> int:
        """The row of a host."""
        if self.hosts is None:
            return host
        first, row = self._pieces[bisect_right(self._starts, host) - 1]
        return row + host - first

    def intervals(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The intervals of rows of an interval of hosts."""
        if self.hosts is None:
            yield first, last
            return
        place = bisect_right(self._starts, first) - 1
        while first <= last:
            ends = self._starts[place + 1] - 1 if place + 1 < len(self._starts) else last
            stop = min(last, ends)
            yield self.row(first), self.row(stop)
            first, place = stop + 1, place + 1


def rows_of(offers: Mapping[int, Offer], host_count: int) -> HostRows:
    """The rows: hosts by the first partition that they name, in the order in which these appear.

    >>> offers = {0: Offer(0, 1, partitions=("b",)), 1: Offer(1, 1), 2: Offer(2, 1, partitions=("b", "a"))}
    >>> rows = rows_of(offers, 3)
    >>> rows.hosts, [tuple(group) for group in rows.groups]
    ([0, 2, 1], [('b, also a', 0, 2), ('no partition', 2, 1)])
    """
    found: dict[str, list[int]] = {}
    others: dict[str, dict[str, None]] = {}
    alone = []
    for host in range(host_count):
        names = offers[host].partitions if host in offers else ()
        if not names:
            alone.append(host)
            continue
        found.setdefault(names[0], []).append(host)
        others.setdefault(names[0], {}).update(dict.fromkeys(name for name in names if name != names[0]))
    if not found:
        return HostRows((), None)
    groups: list[RowGroup] = []
    hosts: list[int] = []
    for name, members in [*found.items(), (_ALONE, alone)]:
        if members:
            also = f", also {', '.join(others[name])}" if others.get(name) else ""
            groups.append(RowGroup(f"{name}{also}", len(hosts), len(members)))
            hosts += members
    return HostRows(groups, hosts)


def shared(timeline: TimelineData) -> bytes | None:
    """The part of the page about requests, deflated; None for a run without them, whose jobs have whole hosts.

    It also has runs with partitions, with jobs that run again, and with jobs that have a host at the same time.
    """
    rows = rows_of(timeline.offers, timeline.host_count)
    kinds, links = links_of(timeline.jobs)
    asks = any(
        job.share is not None or (job.request is not None and any(getattr(job.request, key) for key in _KEYS))
        for job in timeline.jobs
    )
    overlaps = overlaps_of(timeline.jobs)
    if not (asks or links or rows.groups or overlaps.jobs):
        return None
    words: dict[str, list[str]] = {}
    columns = _columns(timeline, rows, overlaps)
    texts = [_facts(job) for job in timeline.jobs]
    names = [name for name in _FACTS if any(name in each for each in texts)]
    for place, name in enumerate(names):
        columns[f"fact{place}"] = word_numbers([each.get(name, "") for each in texts], words, name)
    for place, name in enumerate(("from", "to", "kind")):
        columns[f"link_{name}"] = array("I", [link[place] for link in links])
    if rows.hosts is not None:
        columns["hosts"] = array("I", rows.hosts)
        columns |= off_duty_columns(_in_rows(timeline, rows))
    bands = _bands(timeline)
    columns["gpus"] = array("I", sorted(rows.row(host) for host in bands))
    header = {"groups": rows.groups, "band": BAND, "facts": [(name, words[name]) for name in names], "kinds": kinds}
    return packed_columns(header, columns)


# Rectangles


def _columns(timeline: TimelineData, rows: HostRows, overlaps: Overlaps) -> dict[str, array[Any]]:
    """The rectangles of each job that ran: its first row and its last one, with fractions where it shares a host."""
    counts, first, last = array("I"), array("d"), array("d")
    for spans in rectangles(timeline, rows, overlaps, _bands(timeline)):
        for top, bottom in spans:
            first.append(top)
            last.append(bottom - 1.0)
        counts.append(len(spans))
    return {"rects": counts, "first": first, "last": last}


def rectangles(
    timeline: TimelineData, rows: HostRows, overlaps: Overlaps, bands: Mapping[int, int] | None = None
) -> Iterator[list[tuple[float, float]]]:
    """The top and the bottom of each rectangle of each job, in rows; none, if it did not run.

    Jobs that have a host together are side by side: by the cores or the share that they have of it, if that is known,
    and else with equal heights.

    Args:
        timeline: the jobs and hosts.
        rows: the rows of the hosts.
        overlaps: the jobs that have a host together.
        bands: the number of GPUs of each host that has a band of them.
    """
    cores, gpus, shares, parts = HostUnits(), HostUnits(), HostUnits(), HostUnits()
    order = sorted(range(len(timeline.jobs)), key=lambda place: timeline.jobs[place].started or 0.0)
    found: list[list[tuple[float, float]]] = [[] for _ in order]
    for place in order:  # lanes are taken in the order of the starts
        job, offers = timeline.jobs[place], timeline.offers
        if job.started is None:
            continue
        request = job.request
        if request is not None and not request.is_whole and all(first in offers for first, _ in job.hosts):
            found[place] = list(_spans(job, request, offers, rows, cores, gpus, bands or {}))
        elif job.share is not None:
            size = {host: _PARTS for interval in job.hosts for host in range(interval[0], interval[1] + 1)}
            found[place] = list(_side_by_side(job, rows, shares, size, max(int(job.share * _PARTS), 1)))
        elif place in overlaps.jobs:
            found[place] = list(_side_by_side(job, rows, parts, overlaps.most, 1))
        else:
            intervals = [each for interval in job.hosts for each in rows.intervals(*interval)]
            found[place] = [(float(low), high + 1.0) for low, high in intervals]
    yield from found


def _side_by_side(
    job: TimelineJob, rows: HostRows, lanes: HostUnits, size: Mapping[int, int], count: int
) -> Iterator[tuple[float, float]]:
    """The rectangles of a job that has so many of the lanes of each of its hosts."""
    end = math.inf if job.finished is None else job.finished - ROUNDED
    for low, high in job.hosts:
        for host in range(low, high + 1):
            row, most = rows.row(host), size.get(host, 1)
            for span in lanes.take(host, most, count, job.started or 0.0, end):
                yield row + span.first / most, row + (span.first + span.width) / most


def _spans(
    job: TimelineJob,
    request: Request,
    offers: Mapping[int, Offer],
    rows: HostRows,
    cores: HostUnits,
    gpus: HostUnits,
    bands: Mapping[int, int],
) -> Iterator[tuple[float, float]]:
    """The rectangles of a job that has parts of hosts."""
    start, needs = job.started or 0.0, _needs(job, request)
    end = math.inf if job.finished is None else job.finished
    for low, high in job.hosts:
        for host in range(low, high + 1):
            row, size = rows.row(host), offers[host].cores if host in offers else 1
            tall = 1.0 - BAND if host in bands else 1.0
            for span in cores.take(host, size, needs.cores or 1, start, end):
                yield row + span.first / size * tall, row + (span.first + span.width) / size * tall
            wanted = _gpus(needs.gres)
            if wanted and host in bands:
                for span in gpus.take(host, bands[host], wanted, start, end):
                    above = row + tall + span.first / bands[host] * BAND
                    yield above, above + span.width / bands[host] * BAND


def _needs(job: TimelineJob, request: Request) -> Needs:
    held = sum(last + 1 - first for first, last in job.hosts)
    return needs_of(request, max(job.requested or held, 1))


def _gpus(gres: Iterable[Gres]) -> int:
    return sum(each.amount for each in gres if each.name == "gpu")


def _bands(timeline: TimelineData) -> dict[int, int]:
    """The number of GPUs of each host that has a band of them."""
    if not any(job.request is not None and _gpus(job.request.gres) for job in timeline.jobs):
        return {}
    found = {host: _gpus(offer.gres) for host, offer in timeline.offers.items() if host < timeline.host_count}
    return {host: count for host, count in found.items() if count}


def _in_rows(timeline: TimelineData, rows: HostRows) -> list[OffDuty]:
    return [
        msgspec.structs.replace(each, first=interval[0], last=interval[1])
        for each in timeline.off_duty
        for interval in rows.intervals(each.first, min(each.last, timeline.host_count - 1))
    ]


# Words

_FACTS: Final = ("partition", "qos", "account", "tasks", "cores", "memory", "gres", "waits for")
"""The facts that the box of a job shows, in this order."""


def _facts(job: TimelineJob) -> dict[str, str]:
    """The request of a job, as texts. Amounts are those of each of its hosts."""
    request = job.request
    if request is None:
        return {}
    needs = _needs(job, request)
    each = " on each host" if job.requested > 1 else ""
    cores = "all of its hosts" if request.exclusive else f"{needs.cores}{each}" if needs.cores else ""
    dependency = request.dependency
    joint = ", " if dependency is None or dependency.needs_all else " or "
    found = {
        "partition": ", ".join(request.partition),
        "qos": request.qos or "",
        "account": request.account or "",
        "tasks": str(request.tasks or ""),
        "cores": cores,
        "memory": f"{_memory(needs.memory)}{each}" if needs.memory else "",
        "gres": f"{', '.join(map(str, needs.gres))}{each}" if needs.gres else "",
        "waits for": "" if dependency is None else joint.join(map(str, dependency.conditions)),
    }
    return {name: text for name, text in found.items() if text}


def _memory(amount: int) -> str:
    """An amount of memory with a unit.

    >>> _memory(2**34), _memory(3 * 2**19)
    ('16 GiB', '1.5 MiB')
    """
    factor, unit = next(
        ((2**power, unit) for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")) if amount >= 2**power),
        (2**10, "KiB"),
    )
    return re.sub(r"\.0$", "", f"{amount / factor:,.1f}") + f" {unit}"
