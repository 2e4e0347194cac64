"""Constraints: which features the hosts of a job must have, in Slurm's notation with `!` added.

ib                   each host has this feature
ib&gpu, ib|opa, !old both, at least one, not; `&` before `|`, and parentheses
[rack1|rack2]        all hosts have the same one of these
ib*2&fast*4          at least two hosts with ib and four with fast, among the hosts of the job
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from batprotocol.errors import InputError, shown

__all__ = ["Constraint", "Expression", "parse_constraint"]

_TOKEN = re.compile(r"\s*(?:([A-Za-z_][\w.-]*)|(\*[0-9]{1,6})|([&|!()\[\]]))", re.ASCII)
_LONGEST: Final = 1_000
_DEEPEST: Final = 50

Expression = str | tuple[str, tuple["Expression", ...]]
"""A feature, or an operator (`&`, `|`, `!`) with what it applies to."""


class Constraint(NamedTuple):
    """A constraint on the hosts of a job.

    Attributes:
        each: what each host must match; None: anything.
        same: alternatives, one of which all hosts must match; empty: no such condition.
        counts: how many hosts at least must match what.
        text: the constraint as it was written.
    """

    each: Expression | None
    same: tuple[Expression, ...]
    counts: tuple[tuple[int, Expression], ...]
    text: str

    def names(self) -> set[str]:
        """The features that the constraint names."""
        wholes = [*self.same, *(expression for _, expression in self.counts)]
        return set().union(*map(_names, wholes if self.each is None else [self.each, *wholes]))


def matches(expression: Expression | None, features: Collection[str]) -> bool:
    """Whether a host with these features matches an expression.

    >>> matches(parse_constraint("ib&!old").each, {"ib", "fast"})
    True
    """
    if expression is None:
        return True
    if isinstance(expression, str):
        return expression in features
    operator, parts = expression
    if operator == "!":
        return not matches(parts[0], features)
    found = (matches(part, features) for part in parts)
    return all(found) if operator == "&" else any(found)


def _names(expression: Expression) -> set[str]:
    if isinstance(expression, str):
        return {expression}
    return set().union(*map(_names, expression[1]))


def parse_constraint(text: object) -> Constraint:
    """Read a constraint.

    >>> parse_constraint("ib*2&fast*4").counts
    ((2, 'ib'), (4, 'fast'))

    Raises:
        InputError: the text is not a constraint; the error has its column.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
        raise InputError(
            f"expected a constraint such as 'ib&!old' of at most {_LONGEST:,} characters, got {shown(text)}"
        )
    return _ConstraintParser(text).constraint()


class _ConstraintParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.counts: list[tuple[int, Expression]] = []
        self.same: tuple[Expression, ...] = ()
        self.token = ""
        self.begin = 0
        self.advance()

    def error(self, expected: str) -> InputError:
        found = shown(self.token) if self.token else "the end"
        return InputError(f"expected {expected}, got {found} at character {self.begin + 1} of {shown(self.text)}")

    def advance(self) -> str:
        before = self.token
        rest = self.text[self.at :]
        self.begin = self.at + len(rest) - len(rest.lstrip())
        if not rest.strip():
            self.token = ""
            return before
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            self.token = self.text[self.begin]
            raise self.error("a feature, &, |, !, *COUNT or a parenthesis")
        self.at = found.end()
        self.token = found[1] or found[2] or found[3]
        return before

    def constraint(self) -> Constraint:
        parts = [self.term()]
        while self.token == "&":
            self.advance()
            parts.append(self.term())
        if self.token == "|":
            if self.counts or self.same:
                raise self.error("only & beside counts and brackets")
            parts = [self.alternatives(("&", tuple(each for each in parts if each is not None)))]
        if self.token:
            raise self.error("& or |")
        kept = tuple(part for part in parts if part is not None)
        each: Expression | None = None if not kept else kept[0] if len(kept) == 1 else ("&", kept)
        return Constraint(each, self.same, tuple(self.counts), self.text)

    def alternatives(self, first: Expression) -> Expression:
        found = [first]
        while self.token == "|":
            self.advance()
            found.append(self.both())
        return ("|", tuple(found)) if len(found) > 1 else first

    def either(self) -> Expression:
        return self.alternatives(self.both())

    def both(self) -> Expression:
        found = [self.one()]
        while self.token == "&":
            self.advance()
            found.append(self.one())
        return ("&", tuple(found)) if len(found) > 1 else found[0]

    def term(self) -> Expression | None:
        """A part of the whole: brackets, what a count belongs to, or what each host must match."""
        if self.token == "[":
            self.brackets()
            return None
        part = self.one()
        if self.token.startswith("*"):
            self.counts.append((int(self.advance()[1:]), part))
            return None
        return part

    def brackets(self) -> None:
        if self.same or self.counts:
            raise self.error("brackets once, before counts")
        self.advance()
        first = self.one()
        if self.token.startswith("*"):  # Slurm's [ib*2&fast*4] is the same as without brackets
            self.counts.append((int(self.advance()[1:]), first))
            while self.token == "&":
                self.advance()
                part = self.one()
                if not self.token.startswith("*"):
                    raise self.error("*COUNT")
                self.counts.append((int(self.advance()[1:]), part))
        else:
            found = [first]
            while self.token == "|":
                self.advance()
                found.append(self.one())
            self.same = tuple(found)
        if self.token != "]":
            raise self.error("]")
        self.advance()

    def one(self) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(f"at most {_DEEPEST} parentheses")
        try:
            if self.token == "!":
                self.advance()
                return ("!", (self.one(),))
            if self.token == "(":
                self.advance()
                found = self.either()
                if self.token != ")":
                    raise self.error(")")
                self.advance()
                return found
            if not self.token or not (self.token[0].isalpha() or self.token[0] == "_"):
                raise self.error("a feature, ! or (")
            return self.advance()
        finally:
            self.depth -= 1
