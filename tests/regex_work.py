"""How much work a regular expression makes, counted: a small backtracking matcher for the patterns of the package.

It tries what Python's own matcher tries, in the same order, and counts the steps. No clock is involved, so that a slow
machine decides nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as constants
    from re import _parser as parser
else:
    import sre_constants as constants
    import sre_parse as parser

Continue = Callable[[int], Iterator[int]]


@cache
def _parsed(pattern: re.Pattern[Any]) -> list[Any]:
    source = pattern.pattern
    flags = pattern.flags & ~re.UNICODE if isinstance(source, bytes) else pattern.flags & ~re.LOCALE
    return parser.parse(source, flags).data


class Work:
    """The steps that one pattern takes."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self.ignores_case = bool(pattern.flags & re.IGNORECASE)
        self.dot_is_all = bool(pattern.flags & re.DOTALL)
        self.tree = _parsed(pattern)
        self.steps = 0
        self.furthest = 0
        """The furthest place that was looked at: what is behind it makes no difference."""
        self.text: list[int] = []

    def match(self, text: bytes, whole: bool = False) -> bool:
        """Whether the pattern matches at the start of the text, or all of it."""
        self.text = list(text)
        return self._at(0, whole)

    def search(self, text: bytes) -> None:
        """Try to match at each place, even behind the first that matches, as `sub` does."""
        self.text = list(text)
        for start in range(len(text)):
            self._at(start, whole=False)

    def _at(self, start: int, whole: bool) -> bool:
        ends = self._sequence(self.tree, 0, start)
        return any(not whole or end == len(self.text) for end in ends)

    def _sequence(self, nodes: list[Any], index: int, at: int) -> Iterator[int]:
        if index == len(nodes):
            yield at
            return
        for end in self._node(nodes[index], at):
            yield from self._sequence(nodes, index + 1, end)

    def _node(self, node: Any, at: int) -> Iterator[int]:
        self.steps += 1
        if at > self.furthest:
            self.furthest = at
        kind, argument = node
        if kind in (constants.LITERAL, constants.NOT_LITERAL, constants.IN, constants.ANY):
            if at < len(self.text) and self._takes(kind, argument, self.text[at]):
                yield at + 1
        elif kind is constants.SUBPATTERN:
            yield from self._sequence(argument[-1].data, 0, at)
        elif kind is constants.BRANCH:
            for branch in argument[1]:
                yield from self._sequence(branch.data, 0, at)
        elif kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            yield from self._repeat(argument, at, greedy=kind is constants.MAX_REPEAT)
        elif kind in (constants.ASSERT, constants.ASSERT_NOT):
            direction, body = argument
            start = at if direction > 0 else at - body.getwidth()[0]
            found = start >= 0 and next(self._sequence(body.data, 0, start), None) is not None
            if found == (kind is constants.ASSERT):
                yield at
        elif kind is constants.AT:
            ends = argument in (constants.AT_END, constants.AT_END_STRING)
            if at == (len(self.text) if ends else 0):
                yield at
        else:
            raise NotImplementedError(f"{kind} is not counted yet")

    def _repeat(self, argument: Any, at: int, greedy: bool) -> Iterator[int]:
        least, most, body = argument
        nodes = body.data
        # A stack instead of recursion: (where, which ends of one more round are still to be tried).
        stack: list[tuple[int, Iterator[int] | None]] = [(at, None)]
        while stack:
            place, rounds = stack[-1]
            count = len(stack) - 1
            if rounds is None:
                if not greedy and count >= least:
                    yield place
                rounds = self._sequence(nodes, 0, place) if count < most else iter(())
                stack[-1] = (place, rounds)
            self.steps += 1
            end = next(rounds, None)
            if end is not None and (end > place or count < least):
                stack.append((end, None))
            elif end is None:
                stack.pop()
                if greedy and count >= least:
                    yield place

    def _takes(self, kind: Any, argument: Any, code: int) -> bool:
        if kind is constants.ANY:
            return self.dot_is_all or code != ord("\n")
        if kind is constants.IN:
            return self._in(argument, code)
        codes = {code, *({ord(chr(code).lower()), ord(chr(code).upper())} if self.ignores_case else ())}
        return (argument in codes) == (kind is constants.LITERAL)

    def _in(self, items: Any, code: int) -> bool:
        negated = items[0][0] is constants.NEGATE
        found = False
        for each in {code, *({ord(chr(code).lower()), ord(chr(code).upper())} if self.ignores_case else ())}:
            character = chr(each)
            for kind, argument in items:
                if kind is constants.LITERAL:
                    found |= each == argument
                elif kind is constants.RANGE:
                    found |= argument[0] <= each <= argument[1]
                elif kind is constants.CATEGORY:
                    found |= _CATEGORIES[argument](character)
        return found != negated


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    constants.CATEGORY_DIGIT: str.isdigit,
    constants.CATEGORY_SPACE: str.isspace,
    constants.CATEGORY_NOT_SPACE: lambda character: not character.isspace(),
    constants.CATEGORY_WORD: lambda character: character.isalnum() or character == "_",
}
