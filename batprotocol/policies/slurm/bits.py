"""Sets of nodes as whole numbers, whose bit i is node i: unions and differences of a thousand nodes in a step.

This module must not know what the sets mean.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["best_fit", "bits_of", "lowest", "members", "runs"]


def bits_of(nodes: Iterable[int]) -> int:
    """The set of these nodes.

    >>> bits_of([0, 3])
    9
    """
    bits = 0
    for node in nodes:
        bits |= 1 << node
    return bits


def members(bits: int) -> list[int]:
    """The nodes of a set, in order.

    >>> members(9)
    [0, 3]
    """
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def lowest(bits: int, count: int) -> int:
    """The set of the `count` nodes of a set with the lowest numbers; it has at least so many.

    >>> lowest(0b1101, 2) == 0b101
    True
    """
    found = 0
    while count > 0:
        low = bits & -bits
        found |= low
        bits ^= low
        count -= 1
    return found


def runs(bits: int) -> list[tuple[int, int]]:
    """The runs of consecutive nodes of a set: the first node of each, and their number.

    >>> runs(0b11101)
    [(0, 1), (2, 3)]
    """
    found = []
    first = 0
    while bits:
        gap = (bits & -bits).bit_length() - 1
        bits >>= gap
        first += gap
        above = bits + 1
        length = (above & -above).bit_length() - 1
        found.append((first, length))
        bits >>= length
        first += length
    return found


def best_fit(bits: int, count: int) -> int | None:
    """The nodes that Slurm takes of equal ones: of the smallest run that has enough, else of the largest ones.

    Args:
        bits: the nodes.
        count: how many are needed, >= 1.

    Returns:
        None if there are too few.

    >>> members(best_fit(0b11_0111, 2)), members(best_fit(0b11_0111, 4)), best_fit(0b1, 2)
    ([4, 5], [0, 1, 2, 4], None)
    """
    if bits.bit_count() < count:
        return None
    blocks = runs(bits)
    enough = [block for block in blocks if block[1] >= count]
    chosen = 0
    if not enough:
        blocks.sort(key=lambda block: -block[1])
        for place, (first, length) in enumerate(blocks):
            chosen |= ((1 << length) - 1) << first
            count -= length
            enough = [block for block in blocks[place + 1 :] if block[1] >= count]
            if enough:
                break
    first, _ = min(enough, key=lambda block: (block[1], block[0]))
    return chosen | ((1 << count) - 1) << first
