"""Which jobs of a run belong together: the lives of a job that was interrupted, and the jobs that others wait for.

This module must not know how links are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from math import inf
from typing import Final, NamedTuple

from batprotocol.model import FinalJobState
from batprotocol.recordings.timeline.values import TimelineJob
from batprotocol.workloads.requests import Dependencies
from batprotocol.workloads.requests.request import NOTHING
from batprotocol.workloads.requests.usage import submitted_id

__all__ = ["AGAIN", "Link", "links_of"]

AGAIN: Final = "again"
"""The kind of a link from a life of a job to its next life. Other kinds are those of dependencies."""
_MOST: Final = 1_000
"""The most links of a job to those that it waits for."""


class Link(NamedTuple):
    """A link between two jobs, by their places in a list.

    Attributes:
        source: the job that comes first.
        target: the job that follows.
        kind: the place of the kind in a list of kinds.
    """

    source: int
    target: int
    kind: int


def links_of(jobs: Sequence[TimelineJob]) -> tuple[list[str], list[Link]]:
    """The kinds of links, and the links. Those of a dependency begin at the last life of a job.

    >>> first = TimelineJob(job_id="w0!1", submitted=0.0, started=0.0)
    >>> links_of([first, TimelineJob(job_id="again!w0-1~1", submitted=5.0)])
    (['again'], [Link(source=0, target=1, kind=0)])
    """
    places = {job.job_id: place for place, job in enumerate(jobs)}
    lives = _lives(jobs, places)
    kinds = [AGAIN]
    links = [Link(*pair, 0) for each in lives.values() for pair in pairwise(each)]
    if any(job.request is not None and job.request.dependency is not None for job in jobs):
        later = {place for each in lives.values() for place in each[1:]}
        firsts = [place for place in range(len(jobs)) if place not in later]
        firsts.sort(key=lambda place: _or_inf(jobs[place].submitted))
        for source, target, kind in _waiting(jobs, firsts, places):
            if kind not in kinds:
                kinds.append(kind)
            links.append(Link(lives.get(source, [source])[-1], target, kinds.index(kind)))
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
