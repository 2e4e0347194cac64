"""The rules on the pages of events are those that events really break, and each rule is on a page."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache

import pytest
from cases import CASES
from support import DATA, ROOT

from batprotocol.conversation import RULE_SETS, RULES, AnyMessage, check
from batprotocol.errors import DecodeError
from batprotocol.model import Event, Message
from batprotocol.wire import FORMATS, frames

sys.path.append(str(ROOT / "tools"))

from handbook.events import event_rules, rules
from handbook.events.places import EVENTS
from handbook.rules import names as rule_names

WITHOUT_ENGINE = True

PLACE = re.compile(r"events\[(\d+)\]")


def value_of(said: Sequence[AnyMessage], number: int) -> Message | None:
    """The message of this number, if it can be read."""
    each, hello = said[number], said[1]
    try:
        if isinstance(each, bytes | bytearray | memoryview):
            if number == 1:
                return frames.decode_hello(each).message
            form = "json" if isinstance(hello, bytes) and hello[0] & frames.FLAGS["json"] else "binary"
            return FORMATS[form].decode(each)
    except DecodeError:
        return None
    return each.message if isinstance(each, frames.Hello) else each if isinstance(each, Message) else None


def broken(said: Sequence[AnyMessage]) -> Iterator[tuple[str, type[Event]]]:
    """The rules that events of a conversation break, each with the type of the event."""
    for rule_set in RULE_SETS:
        for violation in check(said, rule_set):
            place, message = PLACE.match(violation.path), None
            if place:
                message = value_of(said, violation.message)
            if place and message is not None:
                yield violation.rule, type(message.events[int(place[1])])


def conversations() -> Iterator[Sequence[AnyMessage]]:
    for case in CASES.values():
        yield case.breaks
        yield case.keeps
    for line in (DATA / "verdicts.jsonl").read_text().splitlines():
        yield [base64.b64decode(data) for _, data in json.loads(line)["messages"]]


@cache
def observed() -> frozenset[tuple[str, type[Event]]]:
    return frozenset(pair for said in conversations() for pair in broken(said))


def test_much_is_observed() -> None:
    assert len(observed()) > 100
    assert len({kind for _, kind in observed()}) > 20


def test_what_an_event_breaks_is_on_its_page() -> None:
    assert {(rule, kind) for rule, kind in observed() if rule not in (*rules.own(kind), *rules.general(kind))} == set()


def test_each_rule_is_on_the_page_of_an_event() -> None:
    linked = {rule for name in EVENTS for rule in re.findall(r"`([a-z]+\.[a-z-]+)`", event_rules(f"x/{name}", ""))}
    assert set(RULES) - linked == set()
    assert set(RULES) - set(rule_names()) == set()  # such names are links


def test_most_rules_are_about_few_events() -> None:
    """What is found in the code is not just everything that some function may report."""
    for rule in RULES:
        having = [name for name, kind in EVENTS.items() if rule in rules.own(kind)]
        assert len(having) <= 6, f"{rule}: {having}"


@pytest.mark.parametrize(
    ("name", "some"),
    [
        (
            "ExecuteJobEvent",
            {"job.unknown", "hosts.syntax", "job.mapping-size", "job.trace-hosts", "job.storage-unknown"},
        ),
        ("RegisterProfileEvent", {"profile.delay", "register.duplicate-profile", "register.not-requested"}),
        ("SimulationEndsEvent", {"simulation.ends-early", "job.undecided", "call.never-fires"}),
        ("TriggerProbeEvent", {"event.not-implemented"}),
        ("EDCHelloEvent", {"hello.twice", "frame.flags"}),
    ],
)
def test_rules_of_an_event(name: str, some: set[str]) -> None:
    assert some <= set(rules.own(EVENTS[name]))
