"""A sort that orders equal items as Batsim does, which uses `std::sort` of the GNU C++ library.

Batsim sorts external events by their timestamps. Up to sixteen events with equal timestamps keep their order. If there
are more than sixteen events, they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

__all__ = ["unstable_sorted"]

T = TypeVar("T")
_SHORT = 16


def unstable_sorted(items: Iterable[T], key: Callable[[T], Any]) -> list[T]:
    """The items by their keys, with equal items in the order of `std::sort`.

    >>> unstable_sorted([3, 1, 2], key=lambda number: number)
    [1, 2, 3]
    """
    pairs = [(key(item), item) for item in items]
    _quicksort(pairs, 0, len(pairs), 2 * (len(pairs).bit_length() - 1))
    for last in range(1, len(pairs)):
        pair, place = pairs[last], last
        if last < _SHORT and pair[0] < pairs[0][0]:
            pairs.insert(0, pairs.pop(last))
            continue
        while place and pair[0] < pairs[place - 1][0]:
            pairs[place] = pairs[place - 1]
            place -= 1
        pairs[place] = pair
    return [item for _, item in pairs]


def _quicksort(pairs: list[tuple[Any, T]], first: int, last: int, depth: int) -> None:
    """Split until each part has at most sixteen items, or the maximum depth is reached."""
    while last - first > _SHORT:
        if depth == 0:
            _heapsort(pairs, first, last)
            return
        depth -= 1
        _median_to_first(pairs, first, first + 1, first + (last - first) // 2, last - 1)
        cut = _partition(pairs, first + 1, last, pairs[first][0])
        _quicksort(pairs, cut, last, depth)
        last = cut


def _median_to_first(pairs: list[tuple[Any, T]], first: int, a: int, b: int, c: int) -> None:
    one, two, three = pairs[a][0], pairs[b][0], pairs[c][0]
    if one < two:
        median = b if two < three else c if one < three else a
    else:
        median = a if one < three else c if two < three else b
    pairs[first], pairs[median] = pairs[median], pairs[first]


def _partition(pairs: list[tuple[Any, T]], first: int, last: int, pivot: Any) -> int:
    while True:
        while pairs[first][0] < pivot:
            first += 1
        last -= 1
        while pivot < pairs[last][0]:
            last -= 1
        if first >= last:
            return first
        pairs[first], pairs[last] = pairs[last], pairs[first]
        first += 1


def _heapsort(pairs: list[tuple[Any, T]], first: int, last: int) -> None:
    heap = pairs[first:last]
    for parent in range((len(heap) - 2) // 2, -1, -1):
        _sift(heap, parent, len(heap), heap[parent])
    for end in range(len(heap) - 1, 0, -1):
        pair, heap[end] = heap[end], heap[0]
        _sift(heap, 0, end, pair)
    pairs[first:last] = heap


def _sift(heap: list[tuple[Any, T]], hole: int, length: int, pair: tuple[Any, T]) -> None:
    """Let the hole sink to the bottom, then the pair rise in it."""
    top, child = hole, hole
    while child < (length - 1) // 2:
        child = 2 * child + 2
        if heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and heap[parent][0] < pair[0]:
        heap[hole] = heap[parent]
        hole, parent = parent, (parent - 1) // 2
    heap[hole] = pair
