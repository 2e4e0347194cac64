"""Jobs that wait for each other: whether a job is on a circle, and which jobs of a whole can never start.

The graph is what a caller says it is: this module must not know dependencies. All searches are without recursion.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

__all__ = ["circle_through", "circles_among"]

Node = TypeVar("Node", bound=Hashable)


def circle_through(
    node: Node, after: Callable[[Node], Iterable[Node]], before: Callable[[Node], Iterable[Node]]
) -> list[Node]:
    """The nodes on a way from a node back to itself, the node first; empty if there is none.

    It searches from both sides in turns until one side has no more nodes. So it is fast where either side is small.

    Args:
        node: the node.
        after: the nodes to which edges lead from a node.
        before: the nodes from which edges lead to a node.

    >>> edges = {1: [2, 3], 2: [], 3: [1]}
    >>> circle_through(1, lambda one: edges[one], lambda one: [each for each in edges if one in edges[each]])
    [1, 3]
    """
    ways: tuple[dict[Node, Node], dict[Node, Node]] = ({}, {})
    for forward, backward in zip(_reached(node, after, ways[0]), _reached(node, before, ways[1]), strict=False):
        if forward == node:
            return _way(node, ways[0])[::-1]
        if backward == node:
            found = _way(node, ways[1])
            return [node, *found[:-1]]
    return []


def _reached(node: Node, following: Callable[[Node], Iterable[Node]], ways: dict[Node, Node]) -> Iterator[Node]:
    """The nodes to which edges lead from a node, near ones first; `ways` gets the node before each."""
    waiting = deque([node])
    while waiting:
        last = waiting.popleft()
        for each in following(last):
            if each not in ways:
                ways[each] = last
                waiting.append(each)
                yield each


def _way(node: Node, ways: Mapping[Node, Node]) -> list[Node]:
    """The way back from a node to itself, without the node at its beginning."""
    path = [ways[node]]
    while path[-1] != node:
        path.append(ways[path[-1]])
    return path


def circles_among(needs: Mapping[Node, tuple[Sequence[Collection[Node]], bool]]) -> list[list[Node]]:
    """Circles of nodes that can never be had, as each of them needs others that can never be had.

    Args:
        needs: for each node, what it needs: groups of nodes, and whether it needs all groups or one of them. Each node
            of a group is needed. Nodes that are no key can be had.

    Returns:
        Circles without common nodes. Each node that cannot be had leads to one of them.

    >>> circles_among({1: ([[2], [3]], False), 2: ([[1]], True), 3: ([[1]], True)})
    [[1, 2]]
    >>> circles_among({1: ([[2], [4]], False), 2: ([[1]], True)})
    []
    """
    missing: dict[Node, list[int]] = {}
    open_groups: dict[Node, int] = {}
    users: dict[Node, list[tuple[Node, int]]] = {}
    had = deque[Node]()
    for node, (groups, needs_all) in needs.items():
        missing[node] = [0] * len(groups)
        for number, group in enumerate(groups):
            for one in group:
                if one in needs:
                    missing[node][number] += 1
                    users.setdefault(one, []).append((node, number))
        still = sum(count > 0 for count in missing[node])
        open_groups[node] = still if needs_all else int(bool(groups) and still == len(groups))
        if not open_groups[node]:
            had.append(node)
    while had:
        one = had.popleft()
        for node, number in users.get(one, ()):
            missing[node][number] -= 1
            if not missing[node][number] and open_groups[node]:
                open_groups[node] -= 1
                if not open_groups[node]:
                    had.append(node)
    return _disjoint_circles(needs, {node for node, count in open_groups.items() if count})


def _disjoint_circles(
    needs: Mapping[Node, tuple[Sequence[Collection[Node]], bool]], stuck: Collection[Node]
) -> list[list[Node]]:
    """From each stuck node, follow the first one that it needs and that is stuck, until a node comes again."""
    found, walk_of = [], dict[Node, int]()
    for number, first in enumerate(needs):
        if first not in stuck:
            continue
        path: list[Node] = []
        node = first
        while node not in walk_of:
            walk_of[node] = number
            path.append(node)
            node = next(one for group in needs[node][0] for one in group if one in stuck)
        if walk_of[node] == number:
            found.append(path[path.index(node) :])
    return found
