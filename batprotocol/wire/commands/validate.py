"""`batproto validate`: find files with bad messages. The library decides whether a message is good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from batprotocol.cli.protocols.reading import Spoken
from batprotocol.cli.protocols.table import read
from batprotocol.cli.terminal import Output, number_of, printable
from batprotocol.recordings.names import place_of
from batprotocol.recordings.sources import Found, messages

__all__ = ["validate"]


def validate(arguments: Sequence[str], output: Output, *, quiet: bool, spoken: Spoken | None = None) -> None:
    """Check the messages that these arguments name, and print a line for each good file unless `quiet` is set.

    If `spoken` is given, all messages are read as messages of that protocol.
    """
    tallies: list[_Tally] = []
    with output.progress() as progress:
        for (_, path), group in groupby(messages(arguments), lambda found: (found.file, found.path)):
            tally = _Tally(previous=tallies[-1].previous if tallies else "", spoken=spoken)
            for found in group:
                tally.add(found, output)
                progress.at(found.share)
            tallies.append(tally)
            if not quiet and not tally.faults:
                output.line(("good", "ok "), ("file", printable(path)), ("", f": {tally.summary}"))
    if not quiet and len(tallies) > 1:
        bad = sum(1 for tally in tallies if tally.faults)
        count = number_of(sum(tally.messages for tally in tallies), "message")
        verdict = f"{bad:,} of them bad" if bad else "all good"
        output.line(("heading", f"{number_of(len(tallies), 'file')} ({count}), {verdict}"))


@dataclass
class _Tally:
    """The counts of a file: messages, events and faults, and a description of the last message."""

    messages: int = 0
    faults: int = 0
    events: int = 0
    last: str = ""
    previous: str = ""
    spoken: Spoken | None = None

    def add(self, found: Found, output: Output) -> None:
        """Count one message, and report what is wrong with it."""
        self.messages += 1
        if found.remark:
            output.remark(found.path, found.remark)
        reading = None
        if not found.fault:
            reading = read(found.data, strict=True, place=place_of(found.name, self.previous), spoken=self.spoken)
        self.previous = found.name
        if reading is None or reading.fault is not None:
            self.faults += 1
            output.error(found.name, str(reading.fault) if reading else found.fault)
            return
        if reading.doubt:
            output.remark(found.name, reading.doubt)
        self.last, _ = reading.protocol.title(reading)
        if reading.message is not None or reading.original is not None:
            if reading.is_other:
                return
            events = len((reading.tree or {}).get("events", ()) if reading.message is None else reading.message.events)
            self.events += events
            self.last += f", {number_of(events, 'event')}"

    @property
    def summary(self) -> str:
        """The contents of the file in a few words."""
        if self.messages == 1:
            return self.last
        return f"{number_of(self.messages, 'message')}, {number_of(self.events, 'event')}"
