"""The entries of one kind while a plan goes through them. This module must not know what a plan is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, dropwhile

from batprotocol.policies.site.jobs import Kind, Ranked

__all__ = ["Line"]


class Line:
    """The entries of a kind, in order, while they are looked at for backfilling.

    Attributes:
        kind: the kind.
        rest: the entries that come next.
        passed: those that could not start since the last start.
    """

    __slots__ = ("kind", "passed", "rest")

    def __init__(self, kind: Kind, rest: Iterator[Ranked]) -> None:
        self.kind = kind
        self.rest = rest
        self.passed: list[Ranked] = []

    def resume(self, after: Ranked, following: Ranked | None) -> None:
        """After a start, the entries come again that are later in the order.

        Args:
            after: the entry that has started.
            following: the entry that was to come next; None: there is none.
        """
        again = [ranked for ranked in self.passed if ranked > after]
        if following is not None:
            again.append(following)
        self.passed = []
        self.rest = chain(again, dropwhile(after.__gt__, self.rest))
