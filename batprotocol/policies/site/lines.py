"""The entries of one kind while a plan goes through them. This module must not know what a plan is."""

from __future__ import annotations

from collections.abc import Iterator

from batprotocol.policies.site.jobs import Kind, Ranked

__all__ = ["Line"]


class Line:
    """The entries of a kind, in order, while they are looked at for backfilling: an iterator of those that come next.

    Attributes:
        kind: the kind.
        passed: those that could not start since the last start.
    """

    __slots__ = ("_after", "_again", "_rest", "kind", "passed")

    def __init__(self, kind: Kind, rest: Iterator[Ranked]) -> None:
        self.kind = kind
        self.passed: list[Ranked] = []
        self._rest = rest
        self._again: list[Ranked] = []  # those that come before the rest, the next one at the end
        self._after: Ranked | None = None

    def __iter__(self) -> Iterator[Ranked]:
        again, after = self._again, self._after
        while again:
            yield again.pop()
        for ranked in self._rest:
            if after is None or ranked > after:
                yield ranked
                after = None

    def resume(self, after: Ranked, following: Ranked | None) -> None:
        """After a start, the entries come again that are later in the order.

        Args:
            after: the entry that has started.
            following: the entry that was to come next; None: there is none.
        """
        if following is not None:
            self._again.append(following)
        passed = [ranked for ranked in self.passed if ranked > after]
        self._again = [ranked for ranked in self._again if ranked > after] + passed[::-1]
        self._after = after
        self.passed = []

    def put_back(self, ranked: Ranked) -> None:
        """An entry that came comes once more."""
        self._again.append(ranked)
