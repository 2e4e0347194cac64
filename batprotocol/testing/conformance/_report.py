"""The report: how often each rule was in play, and what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from batprotocol.conversation import RULE_SETS, RULES
from batprotocol.conversation.advice import KINDS
from batprotocol.testing.conformance._play import Advised, Finding, PlayedCase
from batprotocol.testing.rules import ALL_RULES

_EXECUTE: Final = "ExecuteJobEvent"
_KILL: Final = "KillJobsEvent"
_PROFILE: Final = "RegisterProfileEvent"
_JOB: Final = "RegisterJobEvent"
_CALL: Final = "CallMeLaterEvent"
_PROBE: Final = "CreateProbeEvent"
_SWITCH: Final = "TurnOnOffHostsEvent"
_PSTATE: Final = "ChangeHostsPStateEvent"
_STOP: Final = "ForceSimulationStopEvent"
_REGISTRATION: Final = "dynamic_registration"

_IN_PLAY: Final[Mapping[str, str]] = {
    "simulation": "frame.hello frame.flags hello.first-message hello.no-commit hello.text hello.features edc.died "
    "edc.silent edc.second-answer edc.several-parts edc.endless",
    "message": "message.unreadable message.unverified turn.order hello.twice event.wrong-direction time.infinite "
    "time.now-not-a-number time.past",
    "TriggerProbeEvent": "event.not-implemented probe.unknown",
    "ResetProbeEvent": "event.not-implemented probe.unknown",
    "event": "time.after-now time.before-first time.order time.not-a-number event.out-of-phase",
    "end": "end.call-me-later end.register-job end.create-probe end.turn-on-off end.force-stop end.stop-call "
    "end.stop-probe end.useless",
    _STOP: "stop.job stop.parallel-task stop.dropped stop.task-running job.undecided call.never-fires",
    "JobSubmittedEvent": "simulation.stuck-jobs edc.never-decided",
    _REGISTRATION: "simulation.stuck-registration register.after-finish register.unfinished",
    _EXECUTE: "job.infinite job.no-work job.task-size job.trace-hosts job.later-part hosts.misread job.id-format "
    "job.unknown job.execute-state platform.no-route job.over-allocation job.host-number job.override-unused "
    "job.placement-strategy job.storage-unknown job.storage-computes profile.no-work profile.infinite "
    "profile.not-simulated profile.staging job.profile-size job.no-executors job.usage-hosts hosts.syntax hosts.order "
    "hosts.empty hosts.unknown",
    "StorageHost": "job.host-stores",
    "CustomExecutorToHostMapping": "job.mapping-size job.mapping-entry job.mapping-doubtful",
    "RejectJobEvent": "job.reject-state job.id-format job.unknown",
    _KILL: "job.kill-state job.kill-nothing job.kill-again job.kill-usage-trace job.id-format job.unknown",
    _PROFILE: "register.not-requested register.after-finish register.duplicate-profile register.profile-id "
    "profile.trace-unreadable profile.delay profile.amount profile.matrix-size profile.unknown-subprofile "
    "profile.not-implemented",
    _JOB: "register.not-requested register.after-finish register.duplicate-job register.unknown-profile "
    "register.profile-gone register.job-size register.sequence-workloads profile.return-code "
    "register.walltime profile.other-workload",
    _CALL: "trigger.time-unit call.no-id call.past",
    "Periodic": "simulation.endless trigger.offset trigger.period-zero trigger.no-periods trigger.periods "
    "trigger.time-unit call.id-in-use",
    "StopCallMeLaterEvent": "call.stop-unknown",
    _PROBE: "probe.senseless probe.link-unknown simulation.endless probe.no-id probe.id-in-use "
    "probe.not-implemented probe.no-energy probe.ignored trigger.offset trigger.period-zero "
    "trigger.no-periods trigger.periods hosts.syntax hosts.order hosts.empty hosts.unknown",
    "StopProbeEvent": "probe.stop-unknown",
    _PSTATE: "hosts.pstate-unknown hosts.pstate-sleep hosts.change-switching hosts.change-crosses hosts.syntax "
    "hosts.order hosts.unknown",
    _SWITCH: "hosts.pstate-unknown hosts.turn-direction hosts.turn-busy hosts.turn-switching job.host-asleep "
    "hosts.syntax hosts.order hosts.unknown",
}
"""Which rules are about what: a type of event, a feature, or another word that `playing` counts."""

_BREAKABLE: Final = frozenset(" ".join(_IN_PLAY.values()).split())

_SAID: Final[Mapping[str, str]] = {
    "JobSubmittedEvent": "jobs submitted",
    _EXECUTE: "executed",
    "RejectJobEvent": "rejected",
    "COMPLETED_SUCCESSFULLY": "ended well",
    "COMPLETED_FAILED": "failed",
    "COMPLETED_WALLTIME_REACHED": "reached their walltime",
    "COMPLETED_KILLED": "killed",
    "ExternalEventOccurredEvent": "external events",
    "RequestedCallEvent": "calls",
    "ProbeDataEmittedEvent": "probe data",
    "HostsTurnedOnOffEvent": "switches of hosts",
}


class Group(NamedTuple):
    """The rules of one topic.

    Attributes:
        name: the topic, the part of the rules' names before the dot.
        rules: the number of rules of the rule set that a decision component can break.
        in_play: how often the rule that was in play most was in play.
        never: the rules that never were in play.
    """

    name: str
    rules: int
    in_play: int
    never: tuple[str, ...]


def _size(advised: Advised) -> tuple[int, int]:
    return len(advised.log), sum(map(len, advised.case.lines()))


class Report:
    """The simulations that a search played, and its finding.

    Args:
        rules: the rule set.

    Attributes:
        finding: the first violation, in the smallest conversation that shows it; None if there was none.
        simulations: the number of simulations, without those that made the finding smaller.
        stages: the number of simulations of each stage.
        counts: the number of events of each type.
        remarks: the number of violations that are not findings, by rule.
        advice: by the kind of advice, the number of simulations with it, and the smallest of these simulations.
        seconds: the duration of the search.
    """

    def __init__(self, rules: str) -> None:
        self.rules = rules
        self.finding: Finding | None = None
        self.simulations = 0
        self.stages: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.remarks: Counter[str] = Counter()
        self.advice: dict[str, tuple[int, Advised]] = {}
        self.seconds = 0.0

    def add(self, stage: str, played: PlayedCase) -> None:
        """One more simulation was played."""
        self.simulations += 1
        self.stages[stage] += 1
        self.counts.update(played.counts)
        self.remarks.update(played.remarks)
        if played.advised is not None:
            for kind in {each.kind for each in played.advised.advice}:
                count, smallest = self.advice.get(kind, (0, played.advised))
                self.advice[kind] = count + 1, min(smallest, played.advised, key=_size)

    def join(self, other: Report) -> None:
        """Add the simulations of another report. Its finding counts if there was none so far."""
        self.finding = self.finding or other.finding
        self.simulations += other.simulations
        self.stages.update(other.stages)
        self.counts.update(other.counts)
        self.remarks.update(other.remarks)
        for kind, (number, advised) in other.advice.items():
            count, smallest = self.advice.get(kind, (0, advised))
            self.advice[kind] = count + number, min(smallest, advised, key=_size)

    def in_play(self) -> dict[str, int]:
        """How often each rule that a decision component can break was in play, in the order of the catalogue."""
        known = RULE_SETS[self.rules].keys() | (ALL_RULES.keys() - RULES.keys())
        counts = {rule: 0 for rule in ALL_RULES if rule in known and rule in _BREAKABLE}
        for word, rules in _IN_PLAY.items():
            for rule in counts.keys() & set(rules.split()):
                counts[rule] += self._count(word)
        return counts

    def groups(self) -> list[Group]:
        """These rules by topic."""
        topics: dict[str, dict[str, int]] = {}
        for rule, count in self.in_play().items():
            topics.setdefault(rule.partition(".")[0], {})[rule] = count
        return [
            Group(topic, len(each), max(each.values()), tuple(rule for rule, count in each.items() if not count))
            for topic, each in topics.items()
        ]

    def _count(self, word: str) -> int:
        if word == "event":
            return sum(count for name, count in self.counts.items() if name in _IN_PLAY and name.endswith("Event"))
        return self.counts[word]

    def lines(self) -> Iterator[str]:
        """The report in words, for people, without the finding."""
        yield f"{_number(self.simulations, 'simulation')}, {_number(self.counts['message'], 'message')}"
        yield "  " + ", ".join(f"{name} {count:,}" for name, count in self.stages.items())
        said = [f"{self.counts[name]:,} {words}" for name, words in _SAID.items() if self.counts[name]]
        if said:
            yield "  " + ", ".join(said)
        groups = self.groups()
        wide = max(len(group.name) for group in groups)
        yield f"{'rules of'.ljust(wide)}  number      in play  never in play"
        for group in groups:
            never = "all" if len(group.never) == group.rules else " ".join(group.never)
            yield f"{group.name.ljust(wide)}  {group.rules:>6}  {group.in_play:>11,}  {never}".rstrip()
        for rule, count in self.remarks.items():
            yield f"a warning, not a finding: {rule} ({_number(count, 'time')})"
        yield from self.advice_lines()

    def advice_lines(self) -> Iterator[str]:
        """The advice in words, for people."""
        for kind, title in KINDS.items():
            if kind in self.advice:
                count, smallest = self.advice[kind]
                text = next(each.text for each in smallest.advice if each.kind == kind)
                yield f"advice about {_number(count, 'simulation')}: {title.lower()} [{kind}]"
                yield f"  {text}"
                yield from (f"    {line}" for line in smallest.case.lines())

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun + 's'}"
