"""`batproto schema --diff`: the differences between two schemas as text. `batprotocol.schemas` finds their effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from batprotocol.cli.terminal.output import Output
from batprotocol.cli.terminal.text import Piece, number_of
from batprotocol.schemas import Difference, Effect, Verdict, differences, read_schema, worst

__all__ = ["show"]

_STYLES = {Verdict.FINE: "good", Verdict.REFUSED: "bad", Verdict.MISREAD: "bad"}


def show(old: str, new: str, allow: str, output: Output) -> int:
    """Print the differences, and return the exit status.

    Args:
        old: an age or a file.
        new: another one.
        allow: the worst effect for which the status is 0.
        output: the terminal.
    """
    found = differences(read_schema(old), read_schema(new))
    output.lines(_lines(found))
    return int(worst(found) > Verdict[allow.upper()])


def _lines(found: Sequence[Difference]) -> Iterator[list[Piece]]:
    """A paragraph for each table, enum or union; a line or two for each difference."""
    if not found:
        yield [("good", "no difference")]
        return
    for name, group in groupby(sorted(found, key=lambda each: each.place.partition(".")[0]), _table):
        parts = list(group)
        yield [("type", name)]
        for each in parts:
            member = each.place.partition(".")[2]
            detail = f": {each.detail}" if each.detail else ""
            yield [("field", f"  {member}"), ("", f" {each.kind}{detail}" if member else f"{each.kind}{detail}")]
            if max(*each.old_reads_new, *each.new_reads_old) > Verdict.FINE:
                yield [("", "    old reads new "), *_effect(each.old_reads_new), ("", "; "),
                       ("", "new reads old "), *_effect(each.new_reads_old)]  # fmt: skip
    yield [("heading", f"{number_of(len(found), 'difference')}; at worst, messages are "), *_verdict(worst(found))]


def _table(difference: Difference) -> str:
    return difference.place.partition(".")[0]


def _effect(effect: Effect) -> list[Piece]:
    if effect.binary == effect.json:
        return _verdict(effect.binary)
    return [*_verdict(effect.binary), ("detail", " in binary, "), *_verdict(effect.json), ("detail", " in JSON")]


def _verdict(verdict: Verdict) -> list[Piece]:
    return [(_STYLES.get(verdict, "number"), str(verdict))]
