"""The conversation as a whole: legal ones are clean, refused events change nothing, and nothing that is said raises."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import pytest
from cases import CASES
from engines import each_engine
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from reference_simulator import Reference
from talks import (
    HELLO,
    USAGE,
    begins,
    call,
    comes,
    ended,
    executed,
    hello,
    kill,
    killed,
    mapped,
    message,
    new_job,
    new_profile,
    probe,
    submitted,
    talk,
    turn,
)

from batprotocol import MessageBuilder
from batprotocol.conversation import (
    RULE_SETS,
    AnyMessage,
    Conversation,
    HostPower,
    JobState,
    Phase,
    Registration,
    Violation,
    check,
)
from batprotocol.errors import ProtocolError, RuleViolation
from batprotocol.model import (
    AllStaticJobsHaveBeenSubmittedEvent,
    Direction,
    Event,
    FinalJobState,
    FinishRegistrationEvent,
    ForceSimulationStopEvent,
    HostsTurnedOnOffEvent,
    JobSubmittedEvent,
    Message,
    OneShot,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Periodic,
    ProfileAllocationPlacement,
    SequentialCompositionProfile,
    SimulationEndsEvent,
    StorageHost,
)
from batprotocol.testing import strategies
from batprotocol.wire import frames
from batprotocol.workloads.requests import asks_for_a_part

IGNORED = {"found", "refused", "index", "said", "severities"}
"""What of the state is only about the judgement at hand."""


def snapshot(conversation: Conversation) -> dict[str, Any]:
    """All that a conversation knows, to be compared."""
    state = conversation._state.__reduce_ex__(2)[2]  # compiled, it has no __dict__
    assert isinstance(state, dict)
    known = {name: copy.deepcopy(value) for name, value in state.items() if name not in IGNORED | {"jobs", "held"}}
    known["jobs"] = copy.deepcopy(dict(conversation.jobs))
    known["running"] = {job: hosts.intervals for job, hosts in state["held"].running.items()}
    known["turn"] = (conversation.turn, conversation.number)
    return known


def fed(said: Sequence[AnyMessage], rules: str = "batsim-5.0.0-rc2") -> Conversation:
    conversation = Conversation(rules, asks_for_a_part=asks_for_a_part)
    for each in said:
        conversation.feed(each)
    return conversation


def rules_of(violations: Sequence[Violation]) -> list[str]:
    return [violation.rule for violation in violations]


# Properties


@given(st.data())
def test_legal_conversations_are_clean(data: st.DataObject) -> None:
    """A tiny simulator and a decision component that only does what is allowed, whatever they choose."""
    reference = Reference(data)
    for rules in RULE_SETS:
        assert [str(violation) for violation in check(reference.said, rules) if violation.is_fatal] == []


@given(st.data())
def test_step_by_step_and_fed_whole_are_the_same(data: st.DataObject) -> None:
    reference = Reference(data)
    conversation = Conversation(asks_for_a_part=asks_for_a_part)
    init, first, *rest = reference.said
    assert isinstance(first, Message)
    found = conversation.begin(str(init)) + conversation.hello(first)
    for number, each in enumerate(rest):
        assert isinstance(each, Message)
        if number % 2 == 0:
            found += conversation.receive(each)
        else:
            for event in each.events:
                found += conversation.offer(event)
            found += conversation.close_reply(each)
    assert found == check(reference.said)
    assert snapshot(conversation) == snapshot(fed(reference.said))


@given(st.data(), st.lists(strategies.events(direction=Direction.EDC_TO_BATSIM), min_size=1, max_size=5))
def test_a_refused_offer_changes_nothing(data: st.DataObject, events: list[Event]) -> None:
    reference = Reference(data, stop_in_a_reply=True)
    conversation = fed(reference.said)
    for event in events:
        before = snapshot(conversation)
        if any(violation.is_fatal for violation in conversation.offer(event)):
            assert snapshot(conversation) == before


@pytest.mark.parametrize("rule", CASES)
def test_what_a_rule_refuses_changes_nothing(rule: str) -> None:
    """Also the events that break exactly one rule, of which random ones are few."""
    conversation = Conversation()
    for number, each in enumerate(CASES[rule].breaks):
        if number < 3 or number % 2 == 0 or not isinstance(each, Message):
            conversation.feed(each)
            continue
        for event in each.events:
            before = snapshot(conversation)
            violations = conversation.offer(event)
            if any(violation.is_fatal for violation in violations):
                assert snapshot(conversation) == before
        before = snapshot(conversation)
        if any(violation.is_fatal for violation in conversation.close_reply(each)):
            assert snapshot(conversation) == before
            conversation.feed(Message(conversation.now))


@given(
    st.data(),
    st.lists(strategies.messages() | st.binary(max_size=200) | st.text(max_size=5), max_size=6),
    st.sampled_from(list(RULE_SETS)),
)
def test_nothing_that_is_said_raises(data: st.DataObject, said: list[AnyMessage], rules: str) -> None:
    reference = Reference(data, stop_in_a_reply=data.draw(st.booleans()))
    conversation = fed(reference.said, rules)
    for each in said:
        number = conversation.number
        for violation in conversation.feed(each):
            assert violation.message == number
            assert violation.rule in RULE_SETS[rules]
        assert conversation.number == number + 1 or conversation.is_over


@given(st.lists(strategies.messages() | st.binary(max_size=50) | st.text(max_size=5), max_size=6))
def test_nothing_raises_from_the_start(said: list[AnyMessage]) -> None:
    for rules in RULE_SETS:
        check(said, rules)


@given(st.data())
def test_messages_may_stop_anywhere(data: st.DataObject) -> None:
    said = Reference(data).said
    assert [violation for violation in check(said[: data.draw(st.integers(0, len(said)))]) if violation.is_fatal] == []


@given(st.data(), st.sampled_from(["binary", "json"]))
def test_bytes_and_values_are_the_same(data: st.DataObject, format: str) -> None:
    said = Reference(data).said
    written: list[AnyMessage] = []
    for number, each in enumerate(said):
        if number == 0:
            written.append(frames.encode_init(str(each)))
        elif number == 1:
            assert isinstance(each, Message)
            written.append(frames.encode_hello(each, format))
        else:
            assert isinstance(each, Message)
            written.append(each.to_binary() if format == "binary" else each.to_json().encode() + b"\0")
    for _ in each_engine():
        assert check(written) == check(said)


# Step by step


def test_turns() -> None:
    conversation = Conversation()
    turns = [(conversation.number, conversation.phase, conversation.turn)]
    for each in talk([], submitted(), executed(), [ended(), AllStaticJobsHaveBeenSubmittedEvent()]):
        assert conversation.feed(each) == []
        turns.append((conversation.number, conversation.phase, conversation.turn))
    ours, theirs = Direction.EDC_TO_BATSIM, Direction.BATSIM_TO_EDC
    assert turns == [
        (0, Phase.INIT, theirs),
        (1, Phase.HELLO, ours),
        (2, Phase.BEGIN, theirs),
        (3, Phase.RUN, ours),
        (4, Phase.RUN, theirs),
        (5, Phase.RUN, ours),
        (6, Phase.RUN, theirs),
        (7, Phase.RUN, ours),
    ]
    assert not conversation.is_over
    for each in (Message(7.0), message(SimulationEndsEvent(), 8.0), Message(8.0)):
        assert conversation.feed(each) == []
    assert conversation.is_over
    assert rules_of(conversation.feed(Message(9.0))) == ["turn.order"]
    assert rules_of(conversation.receive(Message(9.0))) == ["turn.order"]
    assert rules_of(conversation.offer(call(OneShot(5)))) == ["turn.order"]
    assert rules_of(conversation.close_reply(Message(9.0))) == ["turn.order"]


def test_out_of_turn() -> None:
    conversation = Conversation()
    assert rules_of(conversation.hello(HELLO)) == ["turn.order"]
    assert rules_of(conversation.receive(Message(0.0))) == ["turn.order"]
    assert rules_of(conversation.offer(call(OneShot(5)))) == ["turn.order"]
    assert conversation.begin("") == []
    assert rules_of(conversation.begin("")) == ["turn.order"]
    assert conversation.hello(HELLO) == []
    assert rules_of(conversation.offer(call(OneShot(5)))) == ["turn.order"]
    assert conversation.phase is Phase.BEGIN


def test_a_hello_can_be_said_again() -> None:
    conversation = Conversation()
    conversation.begin()
    assert rules_of(conversation.hello(Message(0.0))) == ["hello.first-message"]
    assert conversation.hello(message(hello(dynamic_registration=True), 0.0)) == []
    assert conversation.features.dynamic_registration
    assert conversation.registration is Registration.OPEN


def test_a_reply_can_be_closed_again() -> None:
    conversation = fed(talk([], [submitted(), AllStaticJobsHaveBeenSubmittedEvent()]))
    assert rules_of(conversation.close_reply(Message(4.0))) == ["simulation.stuck-jobs"]
    event = replace(executed(), timestamp=4.5)
    assert conversation.offer(event) == []
    assert rules_of(conversation.close_reply(Message(4.0, (event,)))) == ["time.after-now"]
    assert conversation.close_reply(Message(4.5, (event,))) == []
    assert conversation.turn is Direction.BATSIM_TO_EDC


def test_the_place_of_an_offer() -> None:
    """Refused events are not in the reply, so they do not count."""
    conversation = fed(talk())
    assert conversation.offer(call(OneShot(9))) == []
    for _ in range(2):
        (violation,) = conversation.offer(kill())
        assert (violation.message, violation.path) == (3, "events[1].event.job_ids")


def test_what_batsim_says_holds() -> None:
    """It takes effect although it breaks a rule."""
    conversation = fed(talk([], submitted(), executed()))
    violations = conversation.receive(message(ended(state=FinalJobState.COMPLETED_KILLED), 6.0))
    assert rules_of(violations) == ["job.killed-unasked"]
    assert conversation.jobs["w0!1"].state is JobState.COMPLETED


def test_fed_events_take_effect_although_refused() -> None:
    """They were said: otherwise all that follows from them would be reported too."""
    assert rules_of(check(talk([], submitted(), executed(hosts="0-1", placement=mapped(0)), ended()))) == [
        "job.host-number"
    ]
    wrong = new_profile(ParallelTaskProfile([-1.0]))
    said = talk([wrong, new_job()], [], executed("d!j"), ended("d!j"), dynamic_registration=True)
    assert rules_of(check(said)) == ["profile.amount"]


def test_unreadable_messages_blind() -> None:
    """What a message said that nobody could read is not known, so what depends on it is not judged."""
    said = [*talk([]), b"\0", Message(3.0, (executed("w0!9"),)), b"\0", Message(3.0)]
    assert rules_of(check(said)) == ["message.unreadable", "message.unreadable"]


def test_wrong_kinds_of_values() -> None:
    for said in ([HELLO], ["", "text"], ["", frames.Hello(1, "binary", HELLO), frames.Hello(1, "binary", HELLO)]):
        *_, last = check(said)
        assert last.rule == "turn.order"
        assert last.message == len(said) - 1


def test_rule_violation() -> None:
    violations = check(talk([kill(), executed()]))
    error = RuleViolation(violations)
    assert isinstance(error, ProtocolError)
    assert error.violations == tuple(violations)
    assert (error.rule, error.path) == ("job.kill-nothing", "events[0].event.job_ids")
    assert str(error) == f"{violations[0]}; {violations[1]}"


# What is known


def test_jobs() -> None:
    conversation = fed(talk([], [submitted(), submitted("w0!2"), submitted("w0!3")]))
    assert conversation.jobs["w0!1"].state is JobState.SUBMITTED
    assert conversation.jobs["w0!1"].hosts is None
    for event in (executed(hosts="1 3"), replace(executed("w0!2", "0"), timestamp=4.0), kill("w0!2")):
        conversation.offer(event)
    reply = MessageBuilder(4.0)
    reply.add_reject_job("w0!3")
    conversation.offer(reply.events[0])
    record = conversation.jobs["w0!1"]
    assert (record.state, str(record.hosts), record.since) == (JobState.RUNNING, "1 3", 0.0)
    assert conversation.jobs["w0!2"].state is JobState.KILL_PENDING
    assert conversation.jobs["w0!3"].final is FinalJobState.REJECTED
    assert sorted((held.begin, held.end, held.data) for held in conversation.usage) == [
        (0, 1, "w0!2"),
        (1, 2, "w0!1"),
        (3, 4, "w0!1"),
    ]
    conversation.close_reply(Message(4.0))
    conversation.receive(message([ended(), ended("w0!2", FinalJobState.COMPLETED_KILLED), killed("w0!2")], 5.0))
    assert conversation.jobs["w0!2"].final is FinalJobState.COMPLETED_KILLED
    assert conversation.jobs["w0!2"].job is None
    assert not conversation.usage


def test_shared_hosts_stay_held() -> None:
    said = talk([], [submitted(), submitted("w0!2")], [executed(hosts="0"), executed("w0!2", "0")], ended(), [])
    conversation = fed([*said, message(submitted("w0!3"), 8.0)])
    assert rules_of(conversation.offer(executed("w0!3", "0"))) == ["job.over-allocation"]
    conversation.close_reply(Message(8.0))
    conversation.receive(message([ended("w0!2"), ended("w0!3"), submitted("w0!4")], 9.0))
    assert conversation.offer(executed("w0!4", "0")) == []


PART, WHOLE, ALONE, WRONG = '{"cores": 2}', '{"user": "ada"}', '{"cores": 2, "exclusive": true}', '{"cores": -2}'


@pytest.mark.parametrize(
    ("first", "second", "is_reported"),
    [
        (PART, PART, False),
        (PART, None, True),
        (None, PART, True),
        *((PART, other, True) for other in (WHOLE, ALONE, WRONG)),
        *((other, PART, True) for other in (WHOLE, ALONE, WRONG)),
    ],
)
def test_jobs_that_ask_for_a_part_of_a_host_may_share_it(
    first: str | None, second: str | None, is_reported: bool
) -> None:
    events = [
        replace(each, job=replace(each.job, extra_data=data))
        for each, data in ((submitted(), first), (submitted("w0!2", request=2), second), (submitted("w0!3"), PART))
    ]
    said = talk([], events, [executed(hosts="0"), executed("w0!3", "1")])
    conversation = fed([*said, message([], 9.0)])
    assert rules_of(conversation.offer(executed("w0!2", "0-1"))) == ["job.over-allocation"] * is_reported
    strict = Conversation()  # nobody has said which jobs ask for a part
    for each in [*said, message([], 9.0)]:
        strict.feed(each)
    assert rules_of(strict.offer(executed("w0!2", "0-1"))) == ["job.over-allocation"]


def test_registered_jobs_can_be_executed_before_they_are_acknowledged() -> None:
    features = {"dynamic_registration": True, "acknowledge_dynamic_jobs": True}
    said = talk([new_profile(), new_job(), executed("d!j"), FinishRegistrationEvent()], **features)
    conversation = fed(said)
    assert conversation.jobs["d!j"].acknowledgement_due
    acknowledged = JobSubmittedEvent(job_id="d!j", job=new_job().job, submission_time=3.0)
    assert conversation.receive(message([acknowledged, ended("d!j")], 4.0)) == []
    assert conversation.jobs["d!j"].state is JobState.COMPLETED


def test_hosts_switch() -> None:
    conversation = fed(talk(turn("0-1", 1)))
    assert conversation.hosts[0].power is HostPower.SWITCHING_OFF
    assert conversation.receive(message(HostsTurnedOnOffEvent(host_ids="0", state=1), 5.1)) == []
    assert conversation.hosts[0].power is HostPower.ASLEEP
    assert conversation.hosts[1].power is HostPower.SWITCHING_OFF
    assert conversation.offer(replace(turn("0", 0), timestamp=5.1)) == []
    assert conversation.hosts[0].power is HostPower.SWITCHING_ON
    conversation.close_reply(Message(5.1))
    done = [HostsTurnedOnOffEvent(host_ids="1", state=1), HostsTurnedOnOffEvent(host_ids="0", state=0), submitted()]
    assert conversation.receive(message(done, 30.0)) == []
    assert conversation.offer(executed(hosts="0")) == []
    assert rules_of(conversation.offer(executed(hosts="1"))) == ["job.execute-state"]


def test_a_host_is_on_again_while_the_reply_takes_time() -> None:
    asleep = talk([], submitted(), turn("0", 1), HostsTurnedOnOffEvent(host_ids="0", state=1))
    for thinking, expected in ((10.0, ["job.host-asleep"]), (30.0, [])):
        later = 7.0 + thinking
        events = (replace(turn("0", 0), timestamp=7.0), replace(executed(), timestamp=later))
        assert rules_of(check([*asleep, Message(later, events)])) == expected


def test_calls_and_probes() -> None:
    conversation = fed(talk([call(OneShot(5)), call(OneShot(4)), call(Periodic(4)), probe()]))
    assert len(conversation.calls["tick"]) == 3
    assert conversation.probes["watts"].event.probe_id == "watts"
    conversation.receive(message([comes(), comes()], 4.0))
    assert [record.when for record in conversation.calls["tick"]] == [OneShot(5), Periodic(4)]
    conversation.close_reply(Message(4.0))
    conversation.receive(message(comes(), 5.0))
    assert [(record.when, record.fired) for record in conversation.calls["tick"]] == [(Periodic(4), 1)]


def test_dropped_events_have_no_effect_but_must_be_readable() -> None:
    """Batsim reads all of a message before it does anything."""
    stop = ForceSimulationStopEvent()
    said = talk([], submitted(), [stop, executed(hosts="99"), kill("w0!7"), executed(hosts="h0")])
    assert rules_of(check(said)) == ["stop.dropped", "stop.dropped", "hosts.syntax", "stop.dropped"]
    conversation = fed(said)
    assert conversation.jobs["w0!1"].state is JobState.SUBMITTED
    assert conversation.stop_requested


def test_placements_follow_compositions() -> None:
    """What is checked are the profiles that are executed in the end, with the placement that each has."""
    storing = ParallelTaskOnStorageHomogeneousProfile("data", 1.0, 1.0)
    sequence = SequentialCompositionProfile(profile_ids=("w0!task", "w0!store"))
    told = begins(
        profiles=tuple(
            new_profile(each, name).profile
            for each, name in ((ParallelTaskProfile([1.0, 1.0]), "w0!task"), (storing, "w0!store"), (sequence, "w0!p"))
        )
    )
    placed = (StorageHost("data", 4),)

    def judge(**rest: Any) -> list[str]:
        said = talk([], submitted(request=2), executed(hosts="0-1", **rest), begin=told)
        return rules_of(check(said))

    assert judge(storage_placement=placed) == []
    assert judge() == ["job.later-part"]
    assert judge(storage_placement=(StorageHost("data", 9),)) == ["job.later-part"]
    assert judge(storage_placement=placed, placement=mapped(0)) == ["job.mapping-size"]
    other = ProfileAllocationPlacement("w0!task", "2-3", mapped(0, 1))
    assert judge(storage_placement=placed, placement=mapped(0), profile_allocation_override=(other,)) == []
    for allocation, rule in (("2-9", "hosts.unknown"), ("", "hosts.empty"), ("2", "job.mapping-entry")):
        wrong = replace(other, host_allocation=allocation)
        assert judge(storage_placement=placed, profile_allocation_override=(wrong,)) == [rule]


def test_compositions_that_name_each_other() -> None:
    loop = begins(
        profiles=tuple(
            new_profile(SequentialCompositionProfile(profile_ids=(other, other)), name).profile
            for name, other in (("w0!p", "w0!q"), ("w0!q", "w0!p"))
        )
    )
    assert check(talk([], submitted(), executed(placement=mapped(0)), begin=loop)) == []


def test_periods_are_counted_as_batsim_counts_them() -> None:
    """In milliseconds, modulo 2^64."""
    assert rules_of(check(talk(call(Periodic(2**61))))) == ["trigger.period-zero"]
    assert check(talk(call(Periodic(2**61 + 1)))) == []


def test_the_now_of_the_hello_does_not_matter() -> None:
    """Batsim lets no time pass after it."""
    assert [violation.severity for violation in check(["", Message(math.inf, (hello(),))])] == ["warning"]


@pytest.mark.parametrize("rules", RULE_SETS)
def test_killable_jobs(rules: str) -> None:
    jobs = [
        submitted("w0!1", profile=ParallelTaskProfile([1e6])),
        submitted("w0!2"),
        submitted("w0!3", "w0!u", profile=USAGE),
        submitted("w0!4"),
        submitted("w0!5"),
    ]
    said = talk([], jobs, [executed(each.job_id, str(number)) for number, each in enumerate(jobs[:4])])
    conversation = Conversation(rules)
    assert conversation.killable == []
    for each in said:
        conversation.feed(each)
    usage = ["w0!3"] if rules == "protocol" else []  # only this Batsim cannot kill it
    assert conversation.killable == ["w0!1", "w0!2", *usage, "w0!4"]
    conversation.receive(message(ended("w0!2"), 9.0))
    conversation.offer(replace(kill("w0!1"), timestamp=9.0))
    assert conversation.killable == [*usage, "w0!4"]
    assert not any(each.is_fatal for each in conversation.offer(replace(kill("w0!4"), timestamp=9.0)))
