"""`batproto schema --diff`: the differences between two schemas as text. `batprotocol.schemas` finds their effects."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Final

import click

from batprotocol.cli.terminal import Output, Piece, number_of
from batprotocol.errors import InputError
from batprotocol.schemas import Difference, Effect, Verdict, differences, read_schema
from batprotocol.schemas.differences import worst_of
from batprotocol.schemas.places import places_of
from batprotocol.schemas.reports import REPORTS, Finding, Judged, judged

__all__ = ["NOT_READ", "show"]

NOT_READ: Final = 2
"""The exit status of --check if a schema cannot be read."""

_STYLES = {Verdict.FINE: "good", Verdict.REFUSED: "bad", Verdict.MISREAD: "bad"}


def show(
    old: str,
    new: str,
    output: Output,
    *,
    allow: str,
    check: bool,
    report: str,
    readers: str,
    encoding: str,
    include: Sequence[str] = (),
    root: str = "",
) -> int:
    """Print the differences, and return the exit status: 1 if an effect is worse than allowed.

    Args:
        old: an age or a file.
        new: another one.
        output: the terminal.
        allow: the worst effect for which the status is 0.
        check: print only what is worse, a line for each; the status is `NOT_READ` if a schema cannot be read.
        report: "text", or the name of a report.
        readers: "old", "new" or "both": the peers whose reading counts.
        encoding: "binary", "json" or "both": the formats that count.
        include: the folders of included files.
        root: the table of a message of both schemas, or "".
    """
    try:
        schemas = [read_schema(each, whole=True, include=include, root=root) for each in (old, new)]
    except InputError as error:
        if not check:
            raise
        output.error(
            error.file or "schema", str(error) if not error.file else str(error).removeprefix(f"{error.file}: ")
        )
        return NOT_READ
    for name, schema in zip((old, new), schemas, strict=True):
        for note in schema.notes:
            output.remark(name, note)
    encodings = Effect._fields if encoding == "both" else (encoding,)
    found = differences(*schemas)
    result = judged(
        old, new, found, places_of(new, include), allowed=Verdict[allow.upper()], readers=readers, encodings=encodings
    )
    if report != "text":
        for line in REPORTS[report](result):
            click.echo(line)
    elif check:
        output.lines(_checked(result))
    else:
        parts = {name for schema in schemas for part in (schema.tables, schema.enums, schema.unions) for name in part}
        output.lines(_lines(found, result.worst, parts))
    return int(result.worst > result.allowed)


def _checked(result: Judged) -> Iterator[list[Piece]]:
    """A line for each difference that is worse than allowed, as compilers print errors."""
    worse = [each for each in result.findings if each.is_worse]
    for each in worse:
        yield [("file", f"{_where(each, result.new)}: "), ("", each.sentence), ("detail", f" ({each.effects})")]
    if not worse:
        words = f"{number_of(len(result.findings), 'difference')}, none worse than {result.allowed}"
        yield [("good", words if result.findings else "no difference")]


def _where(finding: Finding, new: str) -> str:
    return f"{finding.line.file}:{finding.line.line}" if finding.line else new


def _lines(found: Sequence[Difference], worst: Verdict, names: Collection[str]) -> Iterator[list[Piece]]:
    """A paragraph for each table, enum or union; a line or two for each difference."""
    if not found:
        yield [("good", "no difference")]
        return

    def part_of(difference: Difference) -> str:
        place = difference.place
        return place if place in names else place.rpartition(".")[0] or place

    for name, group in groupby(sorted(found, key=part_of), part_of):
        parts = list(group)
        yield [("type", name)]
        for each in parts:
            member = each.place.removeprefix(name).removeprefix(".")
            detail = f": {each.detail}" if each.detail else ""
            yield [("field", f"  {member}"), ("", f" {each.kind}{detail}" if member else f"{each.kind}{detail}")]
            if worst_of(each) > Verdict.FINE:
                yield [("", "    old reads new "), *_effect(each.old_reads_new), ("", "; "),
                       ("", "new reads old "), *_effect(each.new_reads_old)]  # fmt: skip
    yield [("heading", f"{number_of(len(found), 'difference')}; at worst, messages are "), *_verdict(worst)]


def _effect(effect: Effect) -> list[Piece]:
    if effect.binary == effect.json:
        return _verdict(effect.binary)
    return [*_verdict(effect.binary), ("detail", " in binary, "), *_verdict(effect.json), ("detail", " in JSON")]


def _verdict(verdict: Verdict) -> list[Piece]:
    return [(_STYLES.get(verdict, "number"), str(verdict))]
