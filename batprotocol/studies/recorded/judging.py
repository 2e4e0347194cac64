"""How far a replay of a recorded Slurm agrees with the recording: in times, in order, and in nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from batprotocol.studies.recorded.replays import Start, starts_of
from batprotocol.workloads.requests import expanded_names

__all__ = ["NEAR", "Verdict", "judged"]

NEAR = 3.0
"""Starts are near if they are at most so many seconds apart: the main loop runs every 3 s."""


class Verdict(NamedTuple):
    """How far a replay and its recording agree.

    Attributes:
        starts: the recorded starts.
        near: those that are within `NEAR` seconds in the replay.
        pairs: the pairs of successive starts of a partition.
        ordered: those that have the same order in the replay.
        placed: the starts on the same nodes.
        misses: a line for each start that is not near, or on other nodes.
    """

    starts: int
    near: int
    pairs: int
    ordered: int
    placed: int
    misses: list[str]

    def sentence(self) -> str:
        """The counts, for a line of a report."""
        near, order = f"{self.near:,} of {self.starts:,}", f"{self.ordered:,} of {self.pairs:,}"
        where = f"{self.placed:,} starts on the same nodes"
        return f"{near} starts within {NEAR:g} s, {order} pairs in the same order, {where}"


def judged(run: Mapping[str, Any], simulated: Sequence[Start]) -> Verdict:
    """How far a replay agrees with its recording."""
    real = starts_of(run)
    lives: dict[str, list[tuple[int, Start]]] = {}
    for place, start in enumerate(simulated):
        lives.setdefault(start.job, []).append((place, start))
    taken: dict[str, int] = {}
    near = placed = 0
    misses = []
    partners: list[tuple[str, int] | None] = []
    for start in real:
        count = taken[start.job] = taken.get(start.job, 0) + 1
        mine = lives.get(start.job, [])
        partner = mine[count - 1] if count <= len(mine) else None
        partners.append(None if partner is None else (start.partition, partner[0]))
        if partner is None:
            misses.append(f"{start.job}: starts at {start.time} by {start.by} on {start.nodes}, and never here")
            continue
        late = partner[1].time - start.time
        is_near = abs(late) <= NEAR
        near += is_near
        same = set(expanded_names(start.nodes)) == set(partner[1].nodes.split(","))
        placed += same
        if not is_near or not same:
            misses.append(
                f"{start.job}: {start.time:.1f} {start.by} {start.nodes} | {partner[1].time:.1f} {partner[1].by} "
                f"{partner[1].nodes if not same else '='} ({late:+.1f})"
            )
    pairs = ordered = 0
    last: dict[str, int] = {}
    for found in partners:
        if found is not None:
            partition, place = found
            if partition in last:
                pairs += 1
                ordered += last[partition] < place
            last[partition] = place
    return Verdict(len(real), near, pairs, ordered, placed, misses)
