"""`batproto schema --diff` and `--which`: the differences between two schemas, and the schemas that messages fit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import click

from batprotocol.cli.parameters import SchemaFile
from batprotocol.cli.terminal import Output, Piece, number_of, printable
from batprotocol.errors import InputError
from batprotocol.model import Direction
from batprotocol.schemas import TODAY, Difference, Effect, Verdict, age, ages, differences
from batprotocol.schemas._differences import worst_of
from batprotocol.schemas._reports import REPORTS, Judged, JudgedDifference, judged
from batprotocol.schemas._sources import places_of
from batprotocol.wire import detect

__all__ = [
    "NOT_READ",
    "ComparisonOptions",
    "show_ages",
    "show_differences",
]


NOT_READ: Final = 2
"""The exit status of --check if a schema cannot be read."""

_STYLES = {Verdict.FINE: "good", Verdict.REFUSED: "bad", Verdict.MISREAD: "bad"}


class ComparisonOptions(NamedTuple):
    """The differences that a user wants to see.

    Attributes:
        allow: the worst effect for which the status is 0.
        check: print only what is worse, a line for each; the status is `NOT_READ` if a schema cannot be read.
        report: "text", or the name of a report.
        readers: "old", "new" or "both": the peers whose reading counts.
        encoding: "binary", "json" or "both": the formats that count.
    """

    allow: str
    check: bool
    report: str
    readers: str
    encoding: str


def show_differences(old: SchemaFile, new: SchemaFile, comparison: ComparisonOptions, output: Output) -> int:
    """Print the differences, and return the exit status: 1 if an effect is worse than allowed.

    Args:
        old: a schema.
        new: another one.
        comparison: the differences that count, and how they are printed.
        output: the terminal.
    """
    allow, check, report, readers, encoding = comparison
    try:
        schemas = [each.read(whole=True) for each in (old, new)]
    except InputError as error:
        if not check:
            raise
        output.error(
            error.file or "schema", str(error) if not error.file else str(error).removeprefix(f"{error.file}: ")
        )
        return NOT_READ
    for file, schema in zip((old, new), schemas, strict=True):
        for note in schema.notes:
            output.remark(file.name, note)
    encodings = Effect._fields if encoding == "both" else (encoding,)
    found = differences(*schemas)
    places = places_of(new.name, new.include)
    allowed = Verdict[allow.upper()]
    result = judged(old.name, new.name, found, places, allowed=allowed, readers=readers, encodings=encodings)
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


def _where(finding: JudgedDifference, new: str) -> str:
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


# `--which`


def show_ages(path: str, also: Sequence[SchemaFile], output: Output) -> int:
    """Print which schemas it fits, and why it does not fit the others. Return the exit status: 1 if it fits none.

    Args:
        path: a message or a recording.
        also: schemas in addition to the known ages.
        output: the terminal.
    """
    # Schemas are compared without them.
    from batprotocol.edc.recording.names import SIDES, place_of
    from batprotocol.edc.recording.sources import messages
    from batprotocol.schemas import Fitting

    schemas = ages() | {each.name: each.read() for each in also}
    fitting = Fitting(schemas)
    count = 0
    with output.progress() as progress:
        for found in messages([path]):
            if found.fault:
                output.error(found.name, found.fault)
                continue
            kind = detect(found.data)
            progress.at(found.share)
            if kind == "init":
                continue
            direction = Direction.EDC_TO_BATSIM if kind == "hello" else SIDES.get(place_of(found.name).direction)
            fitting.feed(found.data[4:] if kind == "hello" else found.data, direction)
            count += 1
    if output.failed and not count:
        return 1
    verdicts = fitting.verdicts
    output.line(("heading", f"{number_of(count, 'message')}: {verdicts}"))
    width = max(map(len, schemas))
    for name in schemas:
        fits = name in verdicts.fits
        output.line(
            ("type", f"  {name.ljust(width)}  "),
            ("good", "fits") if fits else ("bad", printable(verdicts.misfits[name])),
        )
    if verdicts.fits and TODAY not in verdicts.fits:
        found_in = verdicts.fits[-1]
        bad = sorted(
            {
                each.place.partition(".")[0]
                for each in differences(schemas[found_in], age(TODAY))
                if Verdict.MISREAD in each.new_reads_old
            }
        )
        output.line(("", f"read by the current schema, these may be misread: {', '.join(bad)}"))
        output.line(
            ("", f"use --schema {found_in} to read it; batproto schema --diff {found_in} {TODAY} lists all differences")
        )
    return int(not verdicts.fits or output.failed)
