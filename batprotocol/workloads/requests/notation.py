"""The notations of requests, which are Slurm's: text in, values out.

- Amounts that jobs ask for and hosts offer: memory, generic resources such as GPUs, licences, moments.
- Names of hosts: `n[0-63]`, `rack[1-2]n[00-15,20]`.
- Constraints: which features the hosts of a job must have, with `!` added.
- Dependencies: `afterok:12:13`, `after:7+5`, `singleton`; `,` for all, `?` for any.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, shown

__all__ = [
    "DEPENDENCY_KINDS",
    "GPU",
    "Condition",
    "Constraint",
    "Dependency",
    "Expression",
    "Gres",
    "Moment",
    "expanded_names",
    "folded_names",
    "full_id",
    "in_workload_of",
    "memory_text",
    "parse_constraint",
    "parse_count",
    "parse_dependency",
    "parse_gres",
    "parse_licenses",
    "parse_memory",
    "parse_moment",
]


_LARGEST: Final = 2**53
"""No amount is larger, so that amounts are exact as doubles, too."""
_TEXT: Final = 10_000
"""The longest text that is read."""

_MEMORY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGT]?)B?", re.IGNORECASE | re.ASCII)
_UNITS: Final = {"K": 2**10, "": 2**20, "M": 2**20, "G": 2**30, "T": 2**40}

# A type may begin with a digit, as in gpu:1g.5gb, but is no number.
_GRES = re.compile(r"([A-Za-z_][\w.-]*)(?::(?![0-9.]+(?::|$))(\w[\w.-]*))?(?::([0-9]{1,16}))?", re.ASCII)
_LICENSE = re.compile(r"[A-Za-z_][\w.@-]*", re.ASCII)
_NAME = re.compile(r"([A-Za-z_][\w.-]*)(?::(?![0-9.]+$)(\w[\w.-]*))?", re.ASCII)

_NOW = re.compile(r"now(?:\+([0-9]{1,12})(seconds?|minutes?|hours?|days?|weeks?)?)?", re.ASCII)
_SECONDS: Final = {"": 1.0, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0}


GPU: Final = "gpu"
"""The name of the generic resource that GPUs are, of any type."""


class Gres(NamedTuple):
    """A number of generic resources of one kind.

    Attributes:
        name: the kind, such as `gpu`.
        type: the type, such as `a100`; None: of any type.
        amount: how many, >= 0.
    """

    name: str
    type: str | None
    amount: int

    def __str__(self) -> str:
        return ":".join(str(part) for part in self if part is not None)


class Moment(NamedTuple):
    """A moment in simulated time.

    Attributes:
        seconds: seconds since the simulation began, or since the job was submitted.
        is_relative: whether it counts from the submission of the job.
    """

    seconds: float
    is_relative: bool

    def of(self, submitted: float) -> float:
        """The moment in seconds since the simulation began, for a job that was submitted at `submitted`.

        >>> Moment(60.0, True).of(submitted=100.0)
        160.0
        """
        return submitted + self.seconds if self.is_relative else self.seconds


def parse_count(value: Any, least: int = 0) -> int:
    """A whole number of at least `least`.

    Raises:
        InputError: the value is not such a number.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
        raise InputError(f"expected a whole number >= {least}, got {shown(value)}")
    return value


def parse_memory(value: Any) -> int:
    """An amount of memory in bytes. A number without a unit counts mebibytes, as in Slurm.

    >>> parse_memory("4G"), parse_memory(512), parse_memory("1.5K")
    (4294967296, 536870912, 1536)

    Raises:
        InputError: the value is not an amount of memory.
    """
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    found = _MEMORY.fullmatch(text) if isinstance(text, str) and len(text) <= _TEXT else None
    amount = math.ceil(float(found[1]) * _UNITS[found[2].upper()]) if found else _LARGEST + 1
    if amount > _LARGEST:
        raise InputError(f"expected memory >= 0, in MiB or with a unit K, M, G or T such as '4G', got {shown(value)}")
    return amount


def memory_text(amount: int) -> str:
    """The text of an amount of memory in bytes, in the largest unit that has a whole number of them.

    Less than a kibibyte is rounded up.

    >>> memory_text(4 * 2**30), memory_text(512 * 2**20), memory_text(100)
    ('4G', '512M', '1K')
    """
    for unit, size in (("T", 2**40), ("G", 2**30), ("M", 2**20)):
        if amount % size == 0:
            return f"{amount // size}{unit}"
    return f"{-(-amount // 1024)}K"


def parse_licenses(value: Any) -> tuple[tuple[str, int], ...]:
    """Licences: Slurm's text, or an object with a count for each name; equal names are added.

    >>> parse_licenses("matlab:2,ansys"), parse_licenses({"matlab": 1})
    ((('ansys', 1), ('matlab', 2)), (('matlab', 1),))

    Raises:
        InputError: the value names no licences in one of these forms.
    """
    pairs: list[tuple[str, Any]] = []
    if isinstance(value, str) and 0 < len(value) <= _TEXT:
        pairs = [(name, count or 1) for part in value.split(",") for name, _, count in (part.strip().partition(":"),)]
    elif isinstance(value, dict):
        pairs = list(value.items())
    found: dict[str, int] = {}
    for name, count in pairs:
        if not isinstance(name, str) or len(name) > _TEXT or _LICENSE.fullmatch(name) is None:
            raise InputError(f"expected the name of a licence such as 'matlab' or 'matlab@server', got {shown(name)}")
        found[name] = found.get(name, 0) + parse_count(count)
    if not found:
        raise InputError(f"expected licences such as 'matlab:2,ansys', got {shown(value)}")
    return tuple(sorted((name, count) for name, count in found.items() if count))


def parse_gres(value: Any) -> tuple[Gres, ...]:
    """Generic resources: Slurm's text, or an object with a count for each kind; equal kinds are added.

    >>> [str(each) for each in parse_gres("gpu:a100:2,fpga")]
    ['fpga:1', 'gpu:a100:2']
    >>> parse_gres({"gpu": 2})
    (Gres(name='gpu', type=None, amount=2),)

    Raises:
        InputError: the value names no resources in one of these forms.
    """
    found: dict[tuple[str, str | None], int] = {}
    if isinstance(value, str) and len(value) <= _TEXT:
        for part in filter(None, (part.strip() for part in value.split(","))):
            match = _GRES.fullmatch(part)
            if match is None:
                raise InputError(
                    f"expected NAME, NAME:COUNT or NAME:TYPE:COUNT such as 'gpu:a100:2', got {shown(part)}"
                )
            kind = match[1], match[2]
            found[kind] = found.get(kind, 0) + int(match[3] or 1)
    elif isinstance(value, dict):
        for name, count in value.items():
            match = _NAME.fullmatch(name) if isinstance(name, str) and len(name) <= _TEXT else None
            if match is None:
                raise InputError(f"expected a name such as 'gpu' or 'gpu:a100', got {shown(name)}")
            try:
                found[match[1], match[2]] = found.get((match[1], match[2]), 0) + parse_count(count)
            except InputError as error:
                raise InputError(error.reason, name) from None
    else:
        raise InputError(f"expected a text such as 'gpu:2' or an object such as {{'gpu': 2}}, got {shown(value)}")
    return tuple(Gres(*kind, count) for kind, count in sorted(found.items(), key=_by_kind) if count)


def _by_kind(item: tuple[tuple[str, str | None], int]) -> tuple[str, str]:
    (name, type), _ = item
    return name, type or ""


def parse_moment(value: Any) -> Moment:
    """A moment: seconds since the simulation began, or `now+60`, `now+2hours`... since the submission.

    >>> parse_moment("now+2hours"), parse_moment(3600)
    (Moment(seconds=7200.0, is_relative=True), Moment(seconds=3600.0, is_relative=False))

    Raises:
        InputError: the value is not a moment.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return Moment(float(value), False)
    found = _NOW.fullmatch(value) if isinstance(value, str) and len(value) <= _TEXT else None
    if found is None:
        raise InputError(f"expected seconds >= 0, or 'now+60', 'now+2hours' and the like, got {shown(value)}")
    return Moment(float(found[1] or 0) * _SECONDS[(found[2] or "").rstrip("s")], True)


# Names of hosts

_MOST: Final = 100_000
_DIGITS: Final = frozenset("0123456789")
_LONGEST_NAMES: Final = 9
_MARK = re.compile(r"[\[\],]")
_PIECE = re.compile(r"[^\[\],\s]+|\[[^\[\]]*\]")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)


def expanded_names(text: str, limit: int = _MOST) -> list[str]:
    """The names that a text stands for, in order.

    Args:
        text: names with ranges in brackets, with commas between them. Leading zeros of a range are kept.
        limit: the most names that it may stand for.

    >>> expanded_names("n[08-10,12],login")
    ['n08', 'n09', 'n10', 'n12', 'login']

    Raises:
        InputError: the text cannot be read, or stands for more than `limit` names.
    """
    names: list[str] = []
    for part in _parts(text):
        pieces: list[list[str]] = []
        total = 1
        for piece in _pieces(part):
            values = _values(piece, limit) if piece.startswith("[") else [piece]
            total *= len(values)
            if len(names) + total > limit:
                raise InputError(f"{shown(text)} stands for more than {limit:,} names")
            pieces.append(values)
        if len(pieces) == 2 and len(pieces[0]) == 1:  # a name with one range: by far the most are
            names.extend([pieces[0][0] + value for value in pieces[1]])
        else:
            names.extend(map("".join, itertools.product(*pieces)))
    return names


class _NumberRange(NamedTuple):
    """Names that differ in one number: what is before and behind it, and ranges (first, last, as they are written)."""

    before: str
    behind: str
    ranges: list[tuple[str, int]]

    def __str__(self) -> str:
        texts = [first if int(first) == last else f"{first}-{last:0{_width(first)}}" for first, last in self.ranges]
        inside = texts[0] if len(texts) == 1 and "-" not in texts[0] else f"[{','.join(texts)}]"
        return f"{self.before}{inside}{self.behind}"


def folded_names(names: Iterable[str]) -> str:
    """The text that stands for names, in their order: the opposite of `expanded_names`.

    Args:
        names: the names, without brackets, commas and spaces in them.

    >>> folded_names(["n08", "n09", "n10", "n12", "login"])
    'n[08-10,12],login'
    """
    parts: list[_NumberRange | str] = []
    for name in names:
        before, number, behind = _divided(name)
        if not number:
            parts.append(name)
            continue
        last = parts[-1] if parts else ""
        if not isinstance(last, _NumberRange) or (last.before, last.behind) != (before, behind):
            parts.append(_NumberRange(before, behind, [(number, int(number))]))
            continue
        first, end = last.ranges[-1]
        if number == f"{end + 1:0{_width(first)}}":
            last.ranges[-1] = (first, end + 1)
        else:
            last.ranges.append((number, int(number)))
    return ",".join(map(str, parts))


def _divided(name: str) -> tuple[str, str, str]:
    """The last number of a name, with what is before and behind it; no number if it has none, or a very long one."""
    end = len(name)
    while end and name[end - 1] not in _DIGITS:
        end -= 1
    begin = end
    while begin and name[begin - 1] in _DIGITS:
        begin -= 1
    return (name[:begin], name[begin:end], name[end:]) if end - begin <= _LONGEST_NAMES else (name, "", "")


def _width(first: str) -> int:
    return len(first) if first.startswith("0") else 0


def _parts(text: str) -> Iterator[str]:
    """The parts between commas that are not in brackets."""
    if "[" not in text and "]" not in text:
        yield from (part.strip() for part in text.split(","))
        return
    begin = depth = 0
    for found in _MARK.finditer(text):
        depth += (found[0] == "[") - (found[0] == "]")
        if not 0 <= depth <= 1:
            raise InputError(f"expected names such as 'n[0-63]', got {shown(text)}: its brackets do not match")
        if found[0] == "," and not depth:
            yield text[begin : found.start()].strip()
            begin = found.end()
    if depth:
        raise InputError(f"expected names such as 'n[0-63]', got {shown(text)}: its brackets do not match")
    yield text[begin:].strip()


def _pieces(part: str) -> list[str]:
    pieces = _PIECE.findall(part)
    if not part or "".join(pieces) != part:
        raise InputError(f"expected names such as 'n[0-63]', got {shown(part)}")
    return pieces


def _values(brackets: str, limit: int) -> list[str]:
    values: list[str] = []
    for piece in brackets[1:-1].split(","):
        found = _RANGE.fullmatch(piece.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if found is None or last < first:
            raise InputError(f"expected a range such as 0-63, got {shown(piece)}")
        if last - first >= limit - len(values):
            raise InputError(f"{shown(brackets)} stands for more than {limit:,} names")
        numbers, width = map(str, range(first, last + 1)), len(found[1])
        values.extend([number.zfill(width) for number in numbers] if found[1].startswith("0") else numbers)
    return values


# Constraints
#
# ib                   each host has this feature
# ib&gpu, ib|opa, !old both, at least one, not; `&` before `|`, and parentheses
# [rack1|rack2]        all hosts have the same one of these
# ib*2&fast*4          at least two hosts with ib and four with fast, among the hosts of the job

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


# Dependencies

DEPENDENCY_KINDS: Final = {
    "after": "has started or was cancelled",
    "afterany": "has ended",
    "afterok": "has succeeded",
    "afternotok": "has failed",
    "aftercorr": "has succeeded, the task of the same number of the named array",
    "singleton": "no earlier job of the same name and user waits or runs; a job without a name waits for none",
}
"""The conditions that a job can wait for, with their meanings for each job that it names."""

_MOST_CONDITIONS: Final = 1_000
_DELAYED = re.compile(r"(.+)\+([0-9]{1,9})", re.ASCII | re.DOTALL)


class Condition(NamedTuple):
    """One condition that a job waits for.

    Attributes:
        kind: one of `DEPENDENCY_KINDS`.
        job: the id of the job that it names, or of an array, as it is written; "" for `singleton`.
        delay: seconds that must pass after the job has started; for `after` only.
    """

    kind: str
    job: str = ""
    delay: float = 0.0

    def __str__(self) -> str:
        delay = f"+{self.delay / 60:g}" if self.delay else ""
        return f"{self.kind}:{self.job}{delay}" if self.job else self.kind


class Dependency(NamedTuple):
    """The dependency of a job: it waits for this before it can start.

    Attributes:
        conditions: the conditions.
        needs_all: whether all of them must hold; else one is enough.
    """

    conditions: tuple[Condition, ...]
    needs_all: bool = True


def parse_dependency(value: Any) -> Dependency:
    """Read the dependency of a job.

    >>> parse_dependency("afterok:12:13").conditions
    (Condition(kind='afterok', job='12', delay=0.0), Condition(kind='afterok', job='13', delay=0.0))
    >>> parse_dependency("after:7+5").conditions[0].delay
    300.0

    Raises:
        InputError: the value is not a dependency.
    """
    if not isinstance(value, str) or not value.strip() or len(value) > 100 * _MOST_CONDITIONS:
        raise InputError(f"expected a dependency such as 'afterok:12:13', got {shown(value)}")
    if "," in value and "?" in value:
        raise InputError(f"expected either ',' (all) or '?' (any) between conditions, got both in {shown(value)}")
    needs_all = "?" not in value
    conditions = [each for part in re.split("[,?]", value) for each in _conditions(part.strip())]
    if len(conditions) > _MOST_CONDITIONS:
        raise InputError(f"expected at most {_MOST_CONDITIONS:,} conditions, got {len(conditions):,}")
    return Dependency(tuple(conditions), needs_all)


def _conditions(part: str) -> list[Condition]:
    kind, *jobs = part.split(":")
    if kind not in DEPENDENCY_KINDS:
        raise InputError(f"expected one of {', '.join(DEPENDENCY_KINDS)}, got {shown(kind)}")
    if kind == "singleton":
        if jobs:
            raise InputError(f"expected 'singleton' without jobs, got {shown(part)}")
        return [Condition(kind)]
    if not jobs or not all(jobs):
        raise InputError(f"expected the id of a job behind each ':', as in '{kind}:12', got {shown(part)}")
    found = []
    for job in jobs:
        delayed = _DELAYED.fullmatch(job) if kind == "after" else None
        found.append(Condition(kind, delayed[1], float(delayed[2]) * 60) if delayed else Condition(kind, job))
    return found


def in_workload_of(job_id: str, name: str) -> str:
    """The full id of a job or array in the workload of another job.

    >>> in_workload_of("w0!7", "12")
    'w0!12'
    """
    workload, bang, _ = job_id.rpartition("!")
    return f"{workload}{bang}{name}"


def full_id(name: str, job_id: str) -> str:
    """The full id of a job that another one names: in the workload of that one, unless it names a workload.

    >>> full_id("12", "w0!7"), full_id("w1!12", "w0!7")
    ('w0!12', 'w1!12')
    """
    return name if "!" in name else in_workload_of(job_id, name)
