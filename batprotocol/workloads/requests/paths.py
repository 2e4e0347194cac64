"""The longest paths through jobs that wait for one another: critical paths and upward ranks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter

from batprotocol.errors import InputError

__all__ = ["longest_paths"]

_SHOWN = 6
"""The number of jobs of a circle that a message names."""


def longest_paths(lengths: Mapping[str, float], before: Mapping[str, Collection[str]]) -> dict[str, float]:
    """The length of the longest path that ends with each job, its own length included.

    The maximum is the critical path. For the longest paths to the end, which are the upward ranks of HEFT, pass the
    jobs that follow each job as `before`.

    Args:
        lengths: the length of each job, such as its run time in seconds.
        before: the jobs that must end before each job. Jobs without a length are not counted.

    Raises:
        InputError: jobs wait for one another in a circle.

    >>> longest_paths({"a": 3.0, "b": 5.0, "c": 1.0}, {"c": ["a", "b"]})
    {'a': 3.0, 'b': 5.0, 'c': 6.0}
    """
    graph = {job: [each for each in before.get(job, ()) if each in lengths] for job in lengths}
    found: dict[str, float] = {}
    try:
        for job in TopologicalSorter(graph).static_order():
            found[job] = lengths[job] + max((found[each] for each in graph[job]), default=0.0)
    except CycleError as error:
        circle: list[str] = list(error.args[1])
        names = circle if len(circle) <= _SHOWN else [*circle[: _SHOWN - 1], "...", circle[-1]]
        raise InputError(f"jobs wait for one another in a circle: {' -> '.join(names)}") from None
    return {job: found[job] for job in lengths}
