"""`batproto validate` and `check`: find messages that cannot be read, and conversations that break the rules."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from batprotocol._util.rules import BrokenRule
from batprotocol.cli.terminal import Output, number_of, print_advice, printable
from batprotocol.edc.recording.names import place_of
from batprotocol.edc.recording.sources import Found, messages
from batprotocol.wire.commands.protocols import (
    Judge,
    MessageAdviser,
    MessageProtocol,
    protocol_of,
    read,
)

if TYPE_CHECKING:
    from batprotocol.conversation.advice import Advice

__all__ = [
    "check",
    "validate",
]


_NUMBERED = re.compile(r"(?<![0-9])[0-9]{1,9}(?=[-.])", re.ASCII)
"""The number in the name of a recorded message: `00004-b2e.bin`."""


def check(
    arguments: Sequence[str],
    output: Output,
    *,
    rules: str,
    quiet: bool,
    expected: MessageProtocol | None = None,
    advise: float | None = None,
) -> None:
    """Check the conversations that these arguments name. Print the violations, and a line for each conversation.

    Args:
        arguments: files, directories and archives of recorded messages.
        output: prints the results. It has failed if a conversation has an error or a deadlock, or cannot be read.
        rules: the name of the rule set, or "" for the default one of the protocol.
        quiet: print violations only.
        expected: the protocol of the conversations. By default, any protocol.
        advise: print advice, too, for this number of simulated seconds. None: print no advice.
    """
    conversations = bad = 0
    with output.progress() as progress:
        for name, group in groupby(messages(arguments), _conversation):
            judged = _Judged(rules, expected, advise)
            for found in group:
                for violation in judged.take(found, output):
                    _print(found.name if judged.is_now(violation) else name, violation, output, judged.place(violation))
                progress.at(found.share)
            for violation in judged.finish():
                _print(name, violation, output, judged.place(violation))
            if not judged.broken:
                print_advice(printable(name), judged.advice(), output)
            conversations += 1
            bad += judged.is_bad
            output.failed = output.failed or judged.is_bad
            if not quiet:
                output.line(*judged.summary(printable(name)))
    if not quiet and conversations > 1:
        verdict = f"{bad:,} of them bad" if bad else "all good"
        output.line(("heading", f"{number_of(conversations, 'conversation')}, {verdict}"))


def _conversation(found: Found) -> str:
    """The name of the conversation of a message: its archive or its folder."""
    if found.name != found.path:
        return found.path
    return os.path.dirname(found.path) or found.path


def _print(name: str, violation: BrokenRule, output: Output, path: str) -> None:
    place = [("field", path), ("", ": ")] if path else []
    output.line(
        ("file", printable(name)),
        ("", ": "),
        *place,
        ("heading", violation.severity),
        ("", f": {printable(violation.text)} "),
        ("detail", f"[{violation.rule}]"),
    )


class _Judged:
    """The part of a conversation that was read, and its violations."""

    def __init__(self, rules: str, expected: MessageProtocol | None, advise: float | None) -> None:
        self.rules = rules
        self.expected = expected
        self.judge: Judge | None = None  # the first message shows the protocol
        self.adviser: MessageAdviser | None = None
        self.seconds = advise
        self.counts: Counter[str] = Counter()
        self.messages = 0
        self.broken = False

    def take(self, found: Found, output: Output) -> Iterator[BrokenRule]:
        """Judge one more message. After a missing message, the rest cannot be judged."""
        if self.broken:
            return
        if found.remark:
            output.remark(found.path, found.remark)
        fault = found.fault or self._gap(found)
        if fault:
            self.broken = True
            output.error(found.name, fault)
            return
        self.messages += 1
        if self.judge is None:
            protocol = protocol_of(found.data)[0]
            if self.rules and self.rules not in protocol.catalogue().rule_sets:
                self.broken = True
                output.error(found.name, f"is of {protocol.name}, which has no rule set {self.rules}")
                return
            self.judge = protocol.judge(self.rules)
            if self.seconds is not None and protocol.adviser is None:
                output.remark(found.name, f"is of {protocol.name}, for which there is no advice")
            elif self.seconds is not None and protocol.adviser is not None:
                self.adviser = protocol.adviser(self.seconds)
        if self.adviser is not None:
            self.adviser.feed(found.data)
        for violation in self.judge.feed(found.data):
            self.counts[violation.severity] += 1
            yield violation

    def is_now(self, violation: BrokenRule) -> bool:
        """Whether it is in the last message that was judged. Some judges report missing messages at the end."""
        return not hasattr(self.judge, "finish") or violation.message == self.messages - 1

    def place(self, violation: BrokenRule) -> str:
        """Where the violation is, relative to the name of the last message."""
        if self.is_now(violation):
            return violation.path
        return f"message {violation.message}{f', {violation.path}' if violation.path else ''}"

    def finish(self) -> Iterator[BrokenRule]:
        """Report what is missing at the end of the messages."""
        finish = None if self.broken else getattr(self.judge, "finish", None)
        for violation in finish() if finish is not None else ():
            self.counts[violation.severity] += 1
            yield violation

    def advice(self) -> Sequence[Advice]:
        """The advice about the whole conversation."""
        return () if self.adviser is None else self.adviser.finish()

    def _gap(self, found: Found) -> str:
        """Why this message is not the next one of the conversation, or ""."""
        numbered = _NUMBERED.search(os.path.basename(found.name))
        if numbered and int(numbered[0]) != self.messages:
            return f"comes where message {self.messages} of the conversation should be"
        if self.messages:
            return ""
        protocol = protocol_of(found.data)[0]
        if self.expected is not None and self.expected is not protocol:
            return f"is not a message of {self.expected.name}"
        return protocol.opens(found.data)

    @property
    def is_bad(self) -> bool:
        """Whether there was an error or a deadlock, or the conversation could not be read."""
        return self.broken or any(severity != "warning" for severity in self.counts)

    def summary(self, name: str) -> list[tuple[str, str]]:
        """One line about the whole conversation."""
        counts = [number_of(count, severity) for severity, count in sorted(self.counts.items())]
        rest = ["the rest cannot be judged"] if self.broken else [] if counts else ["nothing wrong"]
        found = ", ".join([number_of(self.messages, "message"), *counts, *rest])
        return [("heading", "bad ") if self.is_bad else ("good", "ok "), ("file", name), ("", f": {found}")]


# `batproto validate`


def validate(arguments: Sequence[str], output: Output, *, quiet: bool, spoken: MessageProtocol | None = None) -> None:
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
    spoken: MessageProtocol | None = None

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
