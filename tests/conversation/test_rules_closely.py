"""Rules looked at closely: what just breaks one and what just does not, where the pair in `cases.py` cannot tell."""

from __future__ import annotations

import itertools
import math

import pytest
from msgspec.structs import replace
from talks import (
    FEW,
    KILLED,
    LAST,
    USAGE,
    begins,
    call,
    comes,
    ended,
    executed,
    host,
    kill,
    killed,
    new_profile,
    on,
    probe,
    registering,
    submitted,
    talk,
    turn,
    turned,
)

from batprotocol.conversation import AnyMessage, JobRecord, JobState, Violation, check
from batprotocol.conversation.conversation import Conversation
from batprotocol.conversation.hostsets import describe, read_hosts
from batprotocol.model import (
    CreateProbeEvent,
    DelayProfile,
    Event,
    FinishRegistrationEvent,
    FinitePeriodNumber,
    ForceSimulationStopEvent,
    HostProperty,
    Message,
    OneShot,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Periodic,
    PredefinedExecutorPlacementStrategy,
    Profile,
    StopCallMeLaterEvent,
)

WITHOUT_ENGINE = True


def broken(said: list[AnyMessage]) -> list[str]:
    return [violation.rule for violation in check(said)]


# Registration


def test_registration_is_finished_by_who_asked_for_it() -> None:
    finish = FinishRegistrationEvent()
    assert broken(talk(finish)) == ["register.not-requested"]
    assert broken(registering(finish)) == []
    assert broken(talk([finish], [submitted(), LAST], [finish, executed()], dynamic_registration=True)) == []


@pytest.mark.parametrize(
    "profile",
    [
        ParallelTaskHomogeneousProfile(-0.5, 0.0),
        ParallelTaskHomogeneousProfile(0.0, -0.5),
        ParallelTaskOnStorageHomogeneousProfile("data", -0.5, 0.0),
        ParallelTaskOnStorageHomogeneousProfile("data", 0.0, -0.5),
        ParallelTaskDataStagingBetweenStoragesProfile(-0.5, "a", "b"),
        ParallelTaskProfile([0.0, -0.5]),
        ParallelTaskProfile(None, [0.0, 0.0, 0.0, -0.5]),
    ],
)
def test_no_amount_is_negative(profile: Profile) -> None:
    assert broken(registering(new_profile(profile))) == ["profile.amount"]


def test_a_matrix_alone_tells_the_number_of_executors() -> None:
    execution = executed(hosts="0-1")
    assert broken(on(ParallelTaskProfile(None, [0.0, 1.0, 1.0, 0.0]), execution)) == []
    assert broken(on(ParallelTaskProfile(None, [0.0]), execution)) == ["job.task-size"]


@pytest.mark.parametrize("executors", [1, 2, 20])
def test_a_matrix_is_a_square(executors: int) -> None:
    pairs = [1.0] * executors**2
    assert broken(registering(new_profile(ParallelTaskProfile(None, pairs)))) == []
    assert broken(registering(new_profile(ParallelTaskProfile(None, [*pairs, 1.0, 1.0])))) == ["profile.matrix-size"]


# Jobs


@pytest.mark.parametrize("ending", [[[ended(state=KILLED), killed("w0!1")]], [ended(state=KILLED), [], killed("w0!1")]])
def test_a_killed_job_is_forgotten_like_any_other(ending: list[Event]) -> None:
    """Once Batsim has told that it was killed, and has spoken again."""
    conversation = Conversation()
    said = talk([], submitted(), executed(), [], kill("w0!1"), *ending, [], [])
    for each in said[:-1]:
        assert conversation.feed(each) == []
    assert conversation.jobs["w0!1"].profile_id == "w0!p"
    assert conversation.feed(said[-1]) == []
    assert conversation.jobs["w0!1"] == JobRecord(JobState.COMPLETED, None, "", final=KILLED)


@pytest.mark.parametrize(
    ("jobs", "which"), [(1, "job 'w0!0'"), (2, "job 'w0!0' and 1 others"), (3, "job 'w0!0' and 2 others")]
)
def test_a_stop_tells_how_many_jobs_are_to_be_killed(jobs: int, which: str) -> None:
    said = talk(
        [],
        [submitted(f"w0!{number}", profile=ParallelTaskProfile([1.0])) for number in range(jobs)],
        [executed(f"w0!{number}", str(number)) for number in range(jobs)],
        [],
        ForceSimulationStopEvent(),
        forward_profiles_on_job_submission=True,
    )
    (violation,) = check(said)
    assert violation.text.startswith(f"{which}, which may be in a parallel task")


def test_a_reply_is_told_once_of_each_event_that_is_too_late() -> None:
    conversation = Conversation()
    for each in talk([], [submitted(), submitted("w0!2")]):
        conversation.feed(each)
    late = tuple(replace(executed(job_id, hosts), timestamp=9.0) for job_id, hosts in (("w0!1", "0"), ("w0!2", "1")))
    for event in late:
        assert conversation.offer(event) == []
    found = conversation.close_reply(Message(4.0, late))
    assert [violation.path for violation in found] == ["events[0].timestamp", "events[1].timestamp"]


@pytest.mark.parametrize(
    ("placement", "request_", "cores", "rules"),
    [
        (PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst, 2, 2, ["job.trace-hosts"]),
        (PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst, 2, 1, []),
        (PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst, 1, 2, []),
        (PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst, 2, 2, []),
    ],
)
def test_a_usage_trace_wants_a_host_for_each_executor(
    placement: PredefinedExecutorPlacementStrategy, request_: int, cores: int, rules: list[str]
) -> None:
    platform = begins(computation_hosts=[replace(host(id), core_count=cores) for id in range(4)])
    execution = executed(hosts="0-1" if request_ == 2 else "0", placement=placement)
    said = talk(
        [],
        submitted(request=request_, profile=USAGE),
        execution,
        begin=platform,
        forward_profiles_on_job_submission=True,
    )
    assert broken(said) == rules


@pytest.mark.parametrize(("cores", "rules"), [([1, 4, 4, 4], []), ([2, 1, 1, 1], ["job.trace-hosts"])])
def test_hosts_that_are_filled_first_are_those_that_come_first(cores: list[int], rules: list[str]) -> None:
    """Of two executors, the second is on a host of its own unless the first one's has room for it."""
    platform = begins(computation_hosts=[replace(host(id), core_count=count) for id, count in enumerate(cores)])
    filling = executed(hosts="0-1", placement=PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst)
    job = submitted(request=2, profile=USAGE)
    assert broken(talk([], job, filling, begin=platform, forward_profiles_on_job_submission=True)) == rules


@pytest.mark.parametrize(
    ("profile", "fine"),
    [
        (None, [None, 5.0, math.inf]),
        (DelayProfile(1.0), [None, 5.0, math.inf]),
        (DelayProfile(math.inf), [5.0]),
        (ParallelTaskProfile([1.0]), [None, 5.0]),
        (ParallelTaskHomogeneousProfile(1.0, 0.0), [None, 5.0]),
    ],
)
def test_what_ends_a_job(profile: Profile | None, fine: list[float | None]) -> None:
    """Its profile or its walltime; but a parallel task cannot have an infinite walltime, and NaN is none at all."""
    for walltime in None, 5.0, math.inf, math.nan:
        event = submitted(profile=profile)
        event = replace(event, job=replace(event.job, walltime=walltime))
        said = talk([], event, executed(), forward_profiles_on_job_submission=profile is not None)
        assert broken(said) == ([] if walltime in fine else ["job.infinite"])


# Calls


def test_a_period_counts_until_the_last_call_with_it_is_stopped() -> None:
    """The periods of calls must divide one another, and 10 and 7 do not."""

    def with_periods(names: str, stopped: str) -> list[str]:
        stops: list[Event] = [StopCallMeLaterEvent(call_me_later_id=name) for name in stopped]
        calls = [call(Periodic(10), name) for name in names]
        return broken(talk(calls, [submitted()], [*stops, call(Periodic(7), "other"), call(OneShot(9))]))

    assert with_periods("a", "") == ["trigger.periods"]
    assert with_periods("a", "a") == []
    assert with_periods("ab", "a") == ["trigger.periods"]
    assert with_periods("ab", "ab") == []


@pytest.mark.parametrize("marks", [(False, False, False), (False, False, True), (False, True), (True,)])
def test_a_call_has_ended_with_its_last_time_or_with_the_mark_of_it(marks: tuple[bool, ...]) -> None:
    """Batsim marks the last of so many times; if it marks another one, or none, nobody waits for more."""
    said = [turn for last in marks for turn in (comes(last=last), [])]
    *fine, wrong = [["call.last"] if last != (time == 2) else [] for time, last in enumerate(marks)]
    assert broken(talk(call(FEW), *said)) == [*itertools.chain(*fine), *wrong]
    assert broken(talk(call(FEW), *said, comes(), [])) == [*itertools.chain(*fine), *wrong, "call.unasked"]


def test_what_has_no_end_is_told_once_and_again_when_it_is_something_else() -> None:
    def told(*turns: Message | Event | list[Event]) -> list[str]:
        found = check(talk(call(Periodic(10), "b"), [LAST], *turns))
        return [violation.text.partition("no end to ")[2] for violation in found]

    ticks = [comes("b"), [], comes("b"), []]
    stop = StopCallMeLaterEvent(call_me_later_id="b")
    assert told([], *ticks) == ["call 'b'"]
    assert told([], comes("b"), call(Periodic(10), "c"), *ticks) == ["call 'b'", "call 'b', call 'c'"]
    assert told([], comes("b"), call(Periodic(10), "a"), *ticks) == ["call 'b'", "call 'b', call 'a'"]
    assert told([], comes("b"), [stop, call(Periodic(10), "a")], comes("a"), []) == ["call 'b'", "call 'a'"]


@pytest.mark.parametrize("also", [call(FEW, "few"), probe(), call(OneShot(100), "once")])
def test_what_has_no_end_is_told_only_where_nothing_else_is_to_come(also: Event) -> None:
    endless = [call(Periodic(10), "b"), probe("p"), call(Periodic(10), "c")]
    found = check(talk(endless, [LAST], []))
    assert [violation.text.partition("no end to ")[2] for violation in found] == ["call 'b', call 'c', probe 'p'"]
    ends = not isinstance(also, CreateProbeEvent)
    assert broken(talk([*endless, also], [LAST], [])) == ([] if ends else ["simulation.endless"])


@pytest.mark.parametrize(
    ("waiting", "told"),
    [
        (1, "1 job waits: 'w0!0'"),
        (3, "3 jobs wait: 'w0!0', 'w0!1', 'w0!2'"),
        (4, "4 jobs wait: 'w0!0', 'w0!1', 'w0!2' and 1 more"),
    ],
)
def test_some_of_many_jobs_are_listed(waiting: int, told: str) -> None:
    said = talk([], [*(submitted(f"w0!{number}") for number in range(waiting)), LAST], [])
    assert [violation.text for violation in check(said)] == [f"nothing can happen any more, and {told}"]


def test_a_call_without_a_period_never_comes() -> None:
    assert broken(talk(call(Periodic(0)), comes(), [])) == ["trigger.period-zero", "call.unasked"]


# Probes


def test_the_period_of_a_probe_is_judged_as_that_of_a_call() -> None:
    for trigger in Periodic(0), Periodic(10, offset=1), Periodic(10, mode=FinitePeriodNumber(0)):
        (rule,) = broken(talk(call(trigger)))[:1]
        assert broken(talk(probe(measurement_triggering_policy=trigger)))[:1] == [rule]
    assert broken(talk(probe(measurement_triggering_policy=OneShot(9))))[:1] == ["probe.not-implemented"]


# Hosts


def test_hosts_are_switched_as_they_were_told() -> None:
    off = turn("0", 1)
    assert broken(talk(off, turned("0", 1))) == []
    assert broken(talk(off, turned("1", 1))) == ["hosts.changed-unasked"]
    assert broken(talk(off, turned("0", 0))) == ["hosts.changed-unasked"]


def test_other_properties_of_a_host_tell_nothing_of_its_sleep() -> None:
    others = [HostProperty("a", "1:2:3"), HostProperty("watt_per_state", "4:5:6")]
    sleep = HostProperty("sleep_pstates", "1:2:3")

    def turned_off(*properties: HostProperty) -> list[str]:
        platform = begins(computation_hosts=[replace(host(id), properties=properties) for id in range(4)])
        return broken(talk(turn("0", 1), begin=platform))

    assert turned_off(*others) == ["hosts.turn-direction"]
    assert turned_off(*others, sleep) == turned_off(sleep, *others) == []


def test_a_host_may_be_on_its_way_for_ever() -> None:
    """Where nothing is computed in the virtual state that it goes through."""
    platform = begins(computation_hosts=[replace(host(id), computation_speed=[1e8, 0.0, 0.0, 0.0]) for id in range(4)])
    assert broken(talk(turn("0", 1), [], turn("0", 0), begin=platform)) == ["hosts.turn-switching"]


@pytest.mark.parametrize(
    ("text", "ascending"),
    [("", True), ("0-3", True), ("0 1", True), ("0-3 4", True), ("0-3 3-5", False), ("0-5 2-9", False), ("1 0", False)],
)
def test_ascending_host_sets_do_not_overlap(text: str, ascending: bool) -> None:
    assert read_hosts(text).ascending is ascending


@pytest.mark.parametrize(
    ("hosts", "text"),
    [({3}, "host 3"), ({0, 1}, "hosts 0-1"), ({0, 2, 3}, "hosts 0 2-3"), ({1, 3, 4, 6}, "hosts 1 3-4 6")],
)
def test_hosts_are_told_as_intervals(hosts: set[int], text: str) -> None:
    assert describe(sum(1 << host for host in hosts)) == text


@pytest.mark.parametrize("digits", ["2147483648", "9" * 10, "1" * 11, "9" * 100_000])
def test_no_host_is_larger_than_an_int(digits: str) -> None:
    for text in digits, f"0-{digits}", f"3 {digits}":
        assert read_hosts(text).fault.endswith("is too large for a host")
    assert not read_hosts("2147483647").fault


# What cannot be read


@pytest.mark.parametrize(("said", "place"), [([b"?"], 1), (["init", b""], 0), ([*talk()[:2], b"x" * 9], 0)])
def test_what_cannot_be_read_is_told_with_its_place(said: list[AnyMessage], place: int) -> None:
    (violation,) = check(said)
    assert violation.text.endswith(f" (byte {place})")


# What nobody has told


def test_a_simulation_that_was_never_told_to_begin_goes_on() -> None:
    said: list[AnyMessage] = [*talk()[:2], Message(1.0), Message(1.0), Message(2.0, (submitted(),)), Message(2.0)]
    assert broken(said) == ["simulation.not-begun"]


# Doubt


def test_nobody_doubts_a_conversation_that_has_just_begun() -> None:
    assert Conversation().doubtful is False


# Violations


def test_a_violation_never_changes() -> None:
    violation = Violation(3, "events[0]", "job.unknown", "error", "there is no job 'w0!1'")
    assert hash(violation) == hash(Violation(3, "events[0]", "job.unknown", "error", "there is no job 'w0!1'"))
    with pytest.raises(AttributeError):
        violation.message = 4  # type: ignore[misc]
