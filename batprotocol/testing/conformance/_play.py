"""One simulation with one decision component, and its outcome.

Here the embedded Batsim meets a `Talk`. A broken rule ends the simulation: there is one finding or none.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

import msgspec

from batprotocol.conversation import HostPower, JobState, Violation, check
from batprotocol.conversation.advice import Advice, advise
from batprotocol.errors import DecodeError, RuleViolation
from batprotocol.model import (
    CallMeLaterEvent,
    ExecuteJobEvent,
    JobCompletedEvent,
    KillJobsEvent,
    Message,
    ProbeDataEmittedEvent,
    RequestedCallEvent,
    SimulationEndsEvent,
)
from batprotocol.simulator import Simulator
from batprotocol.testing.conformance._cases import Case
from batprotocol.testing.conformance._targets import Talk, Target, Timeouts, Utterance
from batprotocol.testing.rules import Misconduct, counts_as_finding, explained
from batprotocol.wire import FORMATS, frames

_IDLE_TURNS: Final = 2000
"""After this number of messages in a row with nothing but calls and probes, and nothing else to do, a simulation counts
as
endless."""
_MOST_TURNS: Final = 50_000
_SWITCHING: Final = (HostPower.SWITCHING_OFF, HostPower.SWITCHING_ON)
_PATIENCE: Final = 0.05
"""Seconds in which a second answer must come to be noticed."""


class Finding(NamedTuple):
    """Something that a decision component does wrong.

    Attributes:
        violation: the rule, the place and the fault, as `batprotocol.conversation` describes them.
        case: the inputs of the simulation.
        log: the conversation.
        details: more information, such as a traceback or the output of the program; or "".
        place: the file and the line at which a CI server can show it; None if they are not known.
    """

    violation: Violation
    case: Case
    log: list[Utterance]
    details: str
    place: tuple[str, int] | None = None

    @property
    def rule(self) -> str:
        """The id of the rule."""
        return self.violation.rule

    @property
    def size(self) -> tuple[int, int]:
        """The size of the conversation: the number of messages, then of characters of the description of the inputs."""
        return len(self.log), sum(map(len, self.case.lines()))


class Advised(NamedTuple):
    """A simulation that advice was given about.

    Attributes:
        advice: the advice.
        case: the inputs of the simulation.
        log: the conversation.
    """

    advice: tuple[Advice, ...]
    case: Case
    log: list[Utterance]


class PlayedCase(NamedTuple):
    """A simulation that was played.

    Attributes:
        finding: the violation, or None.
        counts: the number of events of each type, and of other things that rules are about; see `report`.
        remarks: the number of warnings that are not findings, by rule.
        slowest: the seconds that the slowest answer took, if there is a time-out.
        ages: the seconds that jobs had run when the decision component wanted to kill them.
        advised: the advice about it, if it was asked for and nothing was wrong.
    """

    finding: Finding | None
    counts: Counter[str]
    remarks: Counter[str]
    slowest: float
    ages: frozenset[float]
    advised: Advised | None = None


def play(
    case: Case,
    target: Target,
    *,
    rules: str,
    init: str,
    timeouts: Timeouts,
    ignore: frozenset[str],
    advise_after: float | None = None,
) -> PlayedCase:
    """Play a simulation with a fresh decision component.

    Args:
        case: its inputs.
        target: starts the decision component.
        rules: the rule set.
        init: the initialization data.
        timeouts: the times that answers may take.
        ignore: ids of rules to ignore if the simulation survives the violation.
        advise_after: give advice, for this number of simulated seconds; None: give none.

    Raises:
        CannotRun: there is no decision component.
    """
    with target.start(timeouts) as talk:
        game = _Game(case, talk, rules, ignore)
        violation: Violation | None = None
        try:
            game.play(init)
            if talk.has_more(0.0):
                raise Misconduct("edc.second-answer", "it sent a message after the end of the simulation")
        except RuleViolation as error:
            violation = error.violations[0]
        except DecodeError as error:
            violation = _unreadable(talk, rules, error)
        except Misconduct as error:
            violation = game.violation(error.rule, error.text)
        except _CaseFinding as error:
            violation = error.violation
        if violation is None:
            advised = None if advise_after is None else _advised(case, talk.log, advise_after)
            return PlayedCase(None, game.counts, game.remarks, talk.slowest, frozenset(game.ages), advised)
        if violation.rule.partition(".")[0] != "edc" and talk.has_more(_PATIENCE):
            violation = game.violation("edc.second-answer", "an answer came twice, or before its message")
        return PlayedCase(
            Finding(violation, case, talk.log, talk.details(), talk.place()),
            game.counts,
            game.remarks,
            talk.slowest,
            frozenset(game.ages),
        )


def _advised(case: Case, log: list[Utterance], seconds: float) -> Advised | None:
    found = advise((each.said for each in log), seconds)
    return Advised(tuple(found), case, log) if found else None


class _CaseFinding(Exception):
    def __init__(self, violation: Violation) -> None:
        super().__init__(violation)
        self.violation = violation


class _Game:
    def __init__(self, case: Case, talk: Talk, rules: str, ignore: frozenset[str]) -> None:
        self.counts: Counter[str] = Counter(["simulation"])
        self.remarks: Counter[str] = Counter()
        self.ages: set[float] = set()
        self._started: dict[str, float] = {}
        self._talk = talk
        self._rules = rules
        self._ignore = ignore
        self._simulator = Simulator(
            case.platform,
            case.workloads,
            external_events=case.events,
            energy=case.energy,
            rules=rules,
            arguments=("batprotocol", "conformance"),
        )
        self._has_storages = bool(case.platform.storage_hosts)
        self._inputs_left = bool(case.workloads), bool(case.events)
        self._idle = 0

    def play(self, init: str) -> None:
        """All turns."""
        simulator, talk = self._simulator, self._talk
        hello = talk.hello(init)
        self._look_at_hello()
        message: Message | None = simulator.begin(hello)
        self._judge()
        self._count_features(hello)
        turns = 0
        while message is not None:
            self._count_told(message)
            reply = talk.answer(message)
            self._count_replied(message, reply)
            turns += 1
            answered, message = message, simulator.turn(reply)
            if simulator.error is not None:  # it has failed, and would only learn that
                raise simulator.error
            self._judge()
            self._look_for_the_end(answered, reply, turns)

    def violation(self, rule: str, text: str) -> Violation:
        """A violation of one of our own rules by the last message."""
        return Violation(max(len(self._talk.log) - 1, 0), "", rule, explained(rule).severity, text)

    def _look_at_hello(self) -> None:
        """The frame of the hello has flags, which the simulator never sees."""
        said = [each.said for each in self._talk.log[:2]]
        self._blame([violation for violation in check(said, self._rules) if violation.rule == "frame.flags"])

    def _judge(self) -> None:
        self._blame(self._simulator.warnings)

    def _blame(self, violations: tuple[Violation, ...] | list[Violation]) -> None:
        for violation in violations:
            if counts_as_finding(violation) and violation.rule not in self._ignore:
                raise _CaseFinding(violation)
            self.remarks[violation.rule] += 1

    def _look_for_the_end(self, message: Message, reply: Message, turns: int) -> None:
        """Report a simulation that goes on without an end: otherwise it would have no finding."""
        only_calls = all(isinstance(event, RequestedCallEvent | ProbeDataEmittedEvent) for event in message.events)
        idle = only_calls and all(isinstance(event, CallMeLaterEvent) for event in reply.events)
        self._idle = self._idle + 1 if idle else 0
        if self._idle >= _IDLE_TURNS:
            self._idle = 0
            if self._is_nothing_left():
                waiting = self._jobs_that_are(JobState.SUBMITTED)
                if waiting:
                    text = (
                        f"nothing runs and nothing is to come, and still waiting: {', '.join(map(repr, waiting[:3]))}"
                    )
                    raise Misconduct("edc.never-decided", text)
                turns = _MOST_TURNS
        if turns >= _MOST_TURNS:
            text = f"the simulation has not ended after {self.counts['message']:,} messages"
            raise Misconduct("edc.endless", text)

    def _is_nothing_left(self) -> bool:
        """Whether all inputs are done and nothing runs or switches: only the decision component can go on."""
        jobs_are_left = self._inputs_left[0] and not self.counts["AllStaticJobsHaveBeenSubmittedEvent"]
        events_are_left = self._inputs_left[1] and not self.counts["AllStaticExternalEventsHaveBeenInjectedEvent"]
        if jobs_are_left or events_are_left or self._jobs_that_are(JobState.RUNNING, JobState.KILL_PENDING):
            return False
        return all(host.power not in _SWITCHING for host in self._simulator.conversation.hosts.values())

    def _jobs_that_are(self, *states: JobState) -> list[str]:
        return [id for id, job in self._simulator.conversation.jobs.items() if job.state in states]

    # What was in play

    def _count_features(self, hello: Message) -> None:
        for event in hello.events:
            features = getattr(event, "requested_simulation_features", None)
            names = getattr(features, "__struct_fields__", ())
            self.counts.update(name for name in names if getattr(features, name))

    def _count_told(self, message: Message) -> None:
        self.counts["message"] += 1
        for event in message.events:
            self.counts[type(event).__name__] += 1
            if isinstance(event, JobCompletedEvent):
                self.counts[event.state.name] += 1

    def _count_replied(self, message: Message, reply: Message) -> None:
        counts = self.counts
        for event in reply.events:
            counts[type(event).__name__] += 1
            if isinstance(event, ExecuteJobEvent):
                self._started[event.job_id] = event.timestamp
                counts["StorageHost"] += self._has_storages
            elif isinstance(event, KillJobsEvent):
                since = (self._started[id] for id in event.job_ids if id in self._started)
                self.ages.update(event.timestamp - start for start in since)
            when = getattr(event, "when", None)
            if when is not None:
                counts[type(when).__name__] += 1
            placement = getattr(getattr(event, "allocation", None), "executor_placement", None)
            if placement is not None:
                counts[type(placement).__name__] += 1
        if any(isinstance(event, SimulationEndsEvent) for event in message.events):
            counts["end"] += 1


def _unreadable(talk: Talk, rules: str, error: DecodeError) -> Violation:
    """The rule that unreadable bytes break."""
    found = check([each.said for each in talk.log], rules)
    last = len(talk.log) - 1
    ours = [violation for violation in found if violation.message == last]
    if ours:
        return msgspec.structs.replace(ours[0], text=f"{ours[0].text}{_other_format(talk)}")
    return Violation(last, error.path, "message.unreadable", "error", str(error))


def _other_format(talk: Talk) -> str:
    """A remark about a hello that could be read with other flags."""
    said = talk.log[-1].said
    if len(talk.log) != 2 or not isinstance(said, bytes) or len(said) < 4:
        return ""
    says = frames.format_of(said)
    other = "binary" if says == "json" else "json"
    try:
        FORMATS[other].decode(said[4:])
    except DecodeError:
        return ""
    return f"; the flags say {says}, and the message is {other}"
