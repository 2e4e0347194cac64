"""`batproto schema --which`: print which schemas a message or a recording fits. `batprotocol.schemas` finds them."""

from __future__ import annotations

from collections.abc import Sequence

from batprotocol.cli.terminal import Output, number_of, printable
from batprotocol.model import Direction
from batprotocol.recordings.names import SIDES, place_of
from batprotocol.recordings.sources import messages
from batprotocol.schemas import TODAY, Fitting, Verdict, age, ages, differences, read_schema
from batprotocol.wire import detect

__all__ = ["show"]


def show(path: str, also: Sequence[str], output: Output, include: Sequence[str] = (), root: str = "") -> int:
    """Print which schemas it fits, and why it does not fit the others. Return the exit status: 1 if it fits none.

    Args:
        path: a message or a recording.
        also: schemas in addition to the known ages.
        output: the terminal.
        include: the folders of included files of these schemas.
        root: the table of their messages, or "".
    """
    schemas = ages() | {name: read_schema(name, include=include, root=root) for name in also}
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
