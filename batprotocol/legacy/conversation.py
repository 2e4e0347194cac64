"""Conversations in the older protocols: all messages so far, judged one by one, and advice about them.

Both sides take turns, and Batsim begins. The conversation trusts the messages of Batsim, and judges those of the
scheduler as they are on the wire. `json.rules` and `text.rules` judge a single message; `rules` lists the rules, in
nine rule sets: Batsim 1.0.0, 1.2.0, 1.4.0, 2.0.0 and 4.2.1 in JSON, and versions 0 to 3 of text, as they really behave.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from batprotocol.conversation.advice import DEFAULT_SECONDS, Advice, Adviser
from batprotocol.errors import DecodeError
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.rules import JsonJudge
from batprotocol.legacy.rules import CATALOGUE, DEFAULT, RULE_SETS, RuleState, Violation, rule_set_for
from batprotocol.legacy.text import events as t
from batprotocol.legacy.text.rules import TextJudge
from batprotocol.legacy.wire import decode, detect
from batprotocol.model import Direction

__all__ = [
    "CATALOGUE",
    "RULE_SETS",
    "Conversation",
    "Violation",
    "check",
    "rule_set_for",
    "rule_set_of",
]


# Judgement


def rule_set_of(first: bytes) -> str:
    """The rule set for the Batsim that begins with this message.

    >>> rule_set_of(b"3:0.000000|0.000000:A"), rule_set_of(b"0:1.000015|1.000015:S:1")
    ('text-3', 'text-0')
    """
    kind = detect(first)
    if kind in ("text", "frame"):
        said = re.match(rb"[0-9]+", first[4:] if kind == "frame" else first)
        version = f"text-{int(said[0])}" if said else ""
        return version if version in RULE_SETS else "text-3"
    for words, rule_set in (
        (b'"nb_compute_resources"', "batsim-4.2.1"),
        (b'"compute_resources"', "batsim-4.2.1"),
        (b'"workloads"', "batsim-2.0.0"),
    ):
        if words in first:
            return rule_set
    return "batsim-1.4.0" if b'"resources_data"' in first else DEFAULT


class Conversation:
    """A conversation, from SIMULATION_BEGINS on.

    Args:
        rules: one of `RULE_SETS`, or "" for the rule set of the Batsim that speaks, as its first message shows.

    >>> conversation = Conversation("batsim-4.2.1")
    >>> conversation.feed(b'{"now":0,"events":[]}')
    []
    >>> print(*conversation.feed(b'{"now":0,"events":[{"timestamp":0,"type":"HELLO","data":{}}]}'))
    message 1, events[0].type: error: there is no event 'HELLO' [event.unknown]
    """

    def __init__(self, rules: str = "") -> None:
        if rules:
            CATALOGUE.severities(rules)
        self._rules = rules
        self._state: RuleState | None = None
        self._judge: JsonJudge | TextJudge | None = None
        self._speaker = Direction.BATSIM_TO_EDC

    @property
    def state(self) -> RuleState:
        """The state of the conversation."""
        if self._state is None:
            rules = self._rules or DEFAULT
            self._state = RuleState(rules, CATALOGUE.severities(rules))
            self._judge = (TextJudge if rules.startswith("text") else JsonJudge)(rules, self._state)
        return self._state

    def feed(self, data: bytes, *more: bytes) -> list[Violation]:
        """Take the next message, and return all its violations.

        Args:
            data: its bytes.
            more: further frames of it; there should be none.
        """
        if self._state is None and not self._rules:
            self._rules = rule_set_of(data)
        state, is_batsim = self.state, self._speaker is Direction.BATSIM_TO_EDC
        judge = self._judge
        assert judge is not None
        state.found = []
        if more:
            state.report("message.parts", "", f"a message is one frame, and this one has {1 + len(more)}")
        else:
            try:
                (judge.hear if is_batsim else judge.judge)(data)
            except DecodeError as error:
                state.report("message.form", error.path, error.reason)
        state.number += 1
        self._speaker = Direction.EDC_TO_BATSIM if is_batsim else Direction.BATSIM_TO_EDC
        return state.found

    def finish(self) -> list[Violation]:
        """The violations of a conversation that ends here, as violations of its last message."""
        state = self.state
        state.found = []
        if self._judge is not None and state.number:
            state.number -= 1
            self._judge.finish()
            state.number += 1
        return state.found


def check(messages: Iterable[bytes], rules: str = "") -> list[Violation]:
    """All violations of a conversation.

    Args:
        messages: its messages, from SIMULATION_BEGINS on.
        rules: one of `RULE_SETS`, or "" for the rule set of the Batsim that speaks.

    >>> check([b'{"now":0,"events":[]}', b'{"now":0,"events":[]}'])
    []
    """
    conversation = Conversation(rules)
    found: list[Violation] = []
    for message in messages:
        found += conversation.feed(message)
    return found + conversation.finish()


# Advice, by what the events have in common with those of today


_FULL_SPEED: Final = "0"
"""Hosts in any other power state do not count as free: the protocol does not say which states are sleep states."""
_MOST_HOSTS: Final = 2**20


class OldAdviser:
    """Follows a conversation in an older protocol and collects advice.

    Args:
        seconds: how long hosts may be free beside a waiting job that fits, in simulated seconds.

    >>> adviser = OldAdviser()
    >>> adviser.feed(b"3:5.0|5.0:S:1")
    >>> adviser.feed(b"3:5.0|5.0:N")
    >>> adviser.feed(b"3:9.0|9.0:Z")
    >>> print(*adviser.finish())
    until the end at 9, the scheduler never executed, rejected or killed job '1', submitted at 5 [jobs.undecided]
    """

    def __init__(self, seconds: float = DEFAULT_SECONDS) -> None:
        self._adviser = Adviser(seconds)
        self._computing = 0
        self._is_reply = False
        self._is_lost = False

    def feed(self, said: bytes, /) -> None:
        """Take the next message of either side. After a message that cannot be read, all others are ignored."""
        if self._is_lost:
            return
        try:
            message = decode(said, "4.2" if detect(said) in ("json", None) else "text")
        except DecodeError:
            self._is_lost = True
            return
        if not self._is_reply:
            self._adviser.advance(message.now)
        for event in message.events:
            self._take(event)
        if self._is_reply:
            self._adviser.settle()
        self._is_reply = not self._is_reply

    def finish(self) -> list[Advice]:
        """The conversation is over: all advice, in the order of the times at which it ends."""
        return self._adviser.finish()

    def _take(self, event: Any) -> None:
        adviser = self._adviser
        match event:
            case e.SimulationBegins():
                hosts = event.compute_resources or event.resources_data or ()
                numbers = [host.id for host in hosts] or range(event.nb_compute_resources or event.nb_resources or 0)
                self._computing = sum(1 << number for number in {*numbers} if 0 <= number < _MOST_HOSTS)
                adviser.begin(self._computing, adviser.now)
            case e.JobSubmitted() | e.SubmitJob() | e.RegisterJob():
                adviser.submitted(event.job_id, (event.job.res if event.job is not None else None) or 0)
            case t.JobSubmission():
                adviser.submitted(event.job_id, 0)
            case e.ExecuteJob():
                adviser.executed(event.job_id, event.alloc)
            case t.JobAllocation():
                for allocation in event.allocations:
                    adviser.executed(allocation.job_id, allocation.machines.replace(",", " "))
            case e.RejectJob() | e.JobCompleted() | t.JobRejection() | t.JobCompletion():
                adviser.over(event.job_id)
            case e.JobKilled():
                for job_id in event.job_ids:
                    adviser.over(job_id)
            case e.SetResourceState():
                adviser.switched(event.resources, self._computing)
            case e.ResourceStateChanged():
                adviser.switched(event.resources, 0 if event.state == _FULL_SPEED else self._computing)
            case e.SimulationEnds() | t.SimulationEnds():
                adviser.ends()
