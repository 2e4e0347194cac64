"""What is foreseen of a job before it is executed, and of a host set before it is read: against oracles."""

from __future__ import annotations

import ctypes
import itertools
import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from talks import (
    DELAY,
    SPREAD,
    TASK,
    USAGE,
    begins,
    change,
    dynamic,
    ended,
    executed,
    host,
    mapped,
    message,
    on,
    sequence,
    submitted,
    talk,
    turn,
    turned,
)

from batprotocol.conversation import AnyMessage, Conversation, Violation, check
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.conversation.profiles import in_order
from batprotocol.conversation.state import ConversationState
from batprotocol.model import (
    DelayProfile,
    ForceSimulationStopEvent,
    HostsPStateChangedEvent,
    Job,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    PredefinedExecutorPlacementStrategy,
    Profile,
    ProfileAllocationPlacement,
    RegisterJobEvent,
    RegisterProfileEvent,
    RejectJobEvent,
    SequentialCompositionProfile,
    TraceReplayProfile,
    TraceType,
)

WITHOUT_ENGINE = True

FILL = PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst


def fatal(said: list[AnyMessage]) -> list[str]:
    return [each.rule for each in check(said) if each.is_fatal]


# Host sets: the C library's own strtol, which std::stoi is made of, is the oracle

strtol = ctypes.CDLL(None).strtol
strtol.restype = ctypes.c_long
strtol.argtypes = (ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int)


def stoi(text: str) -> int:
    """As C++ has it: ValueError where it throws."""
    buffer = ctypes.create_string_buffer(text.encode())
    end = ctypes.c_void_p()
    value: int = strtol(ctypes.cast(buffer, ctypes.c_char_p), ctypes.byref(end), 10)
    if end.value == ctypes.addressof(buffer) or not -(2**31) <= value < 2**31:
        raise ValueError(text)
    return value


def hosts_of(text: str) -> set[int]:
    """What Batsim reads: parts between spaces, one or two numbers between hyphens, any number of these for one."""
    found: set[int] = set()
    for part in re.split(" +", text):
        numbers = [stoi(number) for number in re.split("-+", part)]
        if len(numbers) > 2 or numbers[0] > numbers[-1]:
            raise ValueError(part)
        found.update(range(numbers[0], min(numbers[-1], numbers[0] + 1000) + 1))
    return found


@given(st.text("0123 -,+\t\n\xa0xab.", max_size=12) | st.text("019 -,", max_size=20))
@example("0,1")
@example("0x1")
@example("1.5")
@example("1abc")
@example("0  1")
@example("0\t1")
@example("\t1")
@example("0--1")
@example("+3")
@example("3-1")
@example(" 1")
@example("1 ")
@example("2147483647")
@example("2147483648")
@example("00000000000001")
@example("1\0 2")
def test_host_sets_are_read_as_batsim_reads_them(text: str) -> None:
    try:
        expected = hosts_of(text)
    except ValueError:
        expected = set()
    hosts = read_hosts(text)
    assert bool(hosts.intervals) is bool(expected)
    if len(expected) < 1000 and expected:
        assert set(itertools.chain(*(range(first, last + 1) for first, last in hosts.intervals))) == expected
        assert hosts.size == len(expected)
        assert hosts_of(hosts.text) == expected
        assert hosts.misread is not bool(re.fullmatch(r"\d+(-\d+)?( \d+(-\d+)?)*", text, re.ASCII))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), min_size=1))
def test_sizes_of_host_sets(parts: list[tuple[int, int]]) -> None:
    hosts = read_hosts(" ".join(f"{first}-{first + more}" for first, more in parts))
    assert hosts.size == hosts.mask.bit_count()


def test_the_size_of_a_host_set_takes_no_memory() -> None:
    assert read_hosts("0-2147483646 5").size == 2**31 - 1


def test_the_state_follows_what_is_read() -> None:
    conversation = Conversation()
    for said in talk([], submitted(request=2), executed(hosts="0,3")):
        found = conversation.feed(said)
    assert [each.rule for each in found] == ["hosts.misread", "job.host-number"]
    assert "'0'" in found[0].text
    assert conversation.jobs["w0!1"].allocation == "0"
    assert str(conversation.jobs["w0!1"].hosts) == "0"
    assert [(interval.begin, interval.end) for interval in conversation.usage] == [(0, 1)]


# Power states


def test_the_state_of_a_host_is_what_batsim_says_last() -> None:
    """A switch ends in the state that it was asked for, also if a change came in between."""
    changed = HostsPStateChangedEvent(host_ids="0", pstate=0)
    start = [[turn("0", 1), change("0", 0)], [changed]]
    assert fatal(talk(*start, turn("0", 1))) == ["hosts.turn-direction"]  # by then it sleeps
    for both in ([[changed, turned("0", 1)]], [[changed], [], [turned("0", 1)]]):
        done = [start[0], *both]
        assert fatal(talk(*done, turn("0", 0))) == []
        assert fatal(talk(*done, turn("0", 1))) == ["hosts.turn-direction"]
        assert fatal(talk(*done, [], submitted(), executed())) == ["job.host-asleep"]
    said = [each.rule for each in check(talk(*start))]
    assert said == ["hosts.change-switching"]


def test_a_host_of_several_may_have_been_changed_after_its_switch() -> None:
    """One event reports all hosts of a request: Batsim took the second switch off of such a host in a recorded run."""
    changed = HostsPStateChangedEvent(host_ids="0", pstate=0)
    done = [turn("0-1", 1), [], change("0", 0), [changed], [], [turned("0-1", 1)]]
    for state in (0, 1):
        assert fatal(talk(*done, turn("0", state))) == []
    assert fatal(talk(*done, turn("1", 1))) == ["hosts.turn-direction"]


def test_a_host_of_several_may_have_been_turned_on_again() -> None:
    """The event for all hosts comes when the last one is done, in a recorded run after another switch of one host."""
    again = message(turn("0", 0), 6.0)
    done = [turn("0-1", 1), [], again, message(turned("0", 0), 12.0), [], message(turned("0-1", 1), 13.0)]
    assert fatal(talk(*done, turn("0", 1))) == []
    assert fatal(talk(*done, turn("0", 0))) == ["hosts.turn-direction"]
    assert fatal(talk(*done, turn("1", 0))) == []


def test_a_change_that_is_not_reported_yet_is_not_undone() -> None:
    changes = [HostsPStateChangedEvent(host_ids="0", pstate=pstate) for pstate in (2, 0)]
    start = [[change("0", 2), change("0", 0)], changes[0]]
    assert fatal(talk(*start, turn("0", 1))) == []
    assert fatal(talk(*start, [], changes[1], turn("0", 1))) == []


def test_a_change_to_a_sleep_state_takes_a_host_off() -> None:
    for pstate in (1, 2):
        assert fatal(talk([], submitted(), [change("0", pstate), executed()])) == ["job.host-asleep"]
        assert fatal(talk([], submitted(), [change("0", pstate), change("0", 0), executed()])) == []
        assert fatal(talk([], submitted(), [change("1", pstate), executed()])) == []
    # where no energy is simulated, nobody looks
    bare = begins(arguments=("batsim", "-p", "platform.xml"))
    assert fatal(talk([], submitted(), [change("0", 1), executed()], begin=bare)) == []


def test_a_host_can_be_turned_on_from_a_sleep_state_that_it_was_changed_to() -> None:
    done = HostsPStateChangedEvent(host_ids="0", pstate=1)
    start = [[], submitted(), [change("0", 1), turn("0", 0)], done]
    assert fatal(talk(*start)) == []
    assert fatal(talk(*start, executed())) == ["job.host-asleep"]
    assert fatal(talk(*start, [], turned("0", 0), executed())) == []
    assert fatal(talk([change("0", 1), turn("0", 1)])) == ["hosts.turn-direction"]
    assert fatal(talk([change("0", 2), turn("0", 0)])) == ["hosts.turn-direction"]
    assert fatal(talk([change("0", 2), turn("0", 1)])) == ["hosts.turn-direction"]


def test_a_host_may_sleep_from_the_start() -> None:
    sleeping = [replace(host(number), pstate=1) for number in range(4)]
    begin = begins(computation_hosts=tuple(sleeping))
    assert fatal(talk([], submitted(), executed(), begin=begin)) == ["job.host-asleep"]
    assert fatal(talk(turn("0", 0), submitted(), [], turned("0", 0), executed(), begin=begin)) == []


# What comes when


def expanded(profiles: dict[str, Profile], name: str) -> list[str]:
    """All that is executed, one by one, in order."""
    profile = profiles[name]
    if not isinstance(profile, SequentialCompositionProfile):
        return [name]
    return [leaf for part in profile.profile_ids for leaf in expanded(profiles, part)] * profile.repetition_count


@st.composite
def nested(draw: st.DrawFn) -> dict[str, Profile]:
    """Delays and tasks, and sequences of what comes before them; the last one is the whole."""
    profiles: dict[str, Profile] = {"d!0": DelayProfile(1.0), "d!1": DelayProfile(3.0), "d!2": TASK, "d!3": SPREAD}
    for number in range(4, draw(st.integers(5, 8))):
        parts = draw(st.lists(st.sampled_from(list(profiles)), max_size=3))
        profiles[f"d!{number}"] = sequence(*parts, times=draw(st.integers(0, 3)))
    return profiles


@given(nested())
def test_in_order(profiles: dict[str, Profile]) -> None:
    state = ConversationState({})
    state.profiles.update(profiles)
    whole = list(profiles)[-1]
    leaves = expanded(profiles, whole)
    expected = []
    for at, name in enumerate(leaves):
        if name not in leaves[:at]:
            before = [profiles[each] for each in leaves[:at]]
            expected.append((name, sum(each.delay for each in before if isinstance(each, DelayProfile))))
    assert [(name, after) for name, _, after in in_order(state, whole)] == expected


def test_profiles_that_hold_themselves_end() -> None:
    state = ConversationState({})
    state.profiles.update({"d!a": sequence("d!b", "d!p", times=2**32 - 1), "d!b": sequence("d!a"), "d!p": DELAY})
    assert [name for name, *_ in in_order(state, "d!a")] == ["d!p"]
    deep: dict[str, Profile | None] = {f"d!{number}": sequence(f"d!{number + 1}", times=9) for number in range(9999)}
    state.profiles.update({**deep, "d!9999": DELAY})
    assert [name for name, *_ in in_order(state, "d!0")] == ["d!9999"]


# What cannot be simulated

LATE = DelayProfile(100.0)
EXECUTIONS: dict[str, tuple[list[AnyMessage], list[str]]] = {
    # a task of another size, where the job gets to it
    "size": (dynamic("d!s", [TASK, sequence("d!p")]), ["job.task-size"]),
    "size, never": (dynamic("d!s", [TASK, sequence("d!p", times=0)]), []),
    "size, nested": (dynamic("d!t", [TASK, sequence("d!p"), sequence("d!s")]), ["job.task-size"]),
    "size, after the walltime": (dynamic("d!t", [TASK, LATE, sequence("d!s", "d!p")], walltime=100.0), []),
    "size, before it": (dynamic("d!t", [TASK, LATE, sequence("d!s", "d!p")], walltime=100.5), []),
    "size, without one": (dynamic("d!t", [TASK, LATE, sequence("d!s", "d!p")]), []),
    "size, of a matrix": (
        dynamic("d!s", [ParallelTaskProfile(None, [0.0] * 9), sequence("d!p")], request=2),
        ["job.task-size"],
    ),
    # no work
    "alone without flops": (dynamic("d!p", [ParallelTaskHomogeneousProfile(0.0, 5.0)]), ["job.no-work"]),
    "alone in a sequence": (
        dynamic("d!s", [ParallelTaskHomogeneousProfile(0.0, 0.0), sequence("d!p")]),
        ["job.no-work"],
    ),
    "two without flops": (dynamic("d!p", [ParallelTaskHomogeneousProfile(0.0, 5.0)], request=2), []),
    "mapped onto one": (
        dynamic("d!p", [ParallelTaskHomogeneousProfile(0.0, 5.0)], request=2, placement=mapped(0)),
        ["job.no-work"],
    ),
    "mapped onto none": (dynamic("d!p", [SPREAD], placement=mapped()), ["job.no-work"]),
    "overridden": (
        dynamic(
            "d!p",
            [ParallelTaskHomogeneousProfile(0.0, 5.0)],
            request=2,
            profile_allocation_override=(ProfileAllocationPlacement("d!p", "0-1", mapped(1)),),
        ),
        ["job.no-work"],
    ),
    # infinite
    "flops": (dynamic("d!p", [ParallelTaskHomogeneousProfile(math.inf, 0.0)], walltime=5.0), ["job.infinite"]),
    "bytes": (dynamic("d!p", [ParallelTaskHomogeneousProfile(1.0, math.inf)], request=2), ["job.infinite"]),
    "bytes to nobody": (dynamic("d!p", [ParallelTaskHomogeneousProfile(1.0, math.inf)]), []),
    "vector": (dynamic("d!p", [ParallelTaskProfile([math.inf])]), ["job.infinite"]),
    "matrix": (dynamic("d!p", [ParallelTaskProfile([1.0], [math.inf])]), ["job.infinite"]),
    "read": (
        dynamic("d!p", [ParallelTaskOnStorageHomogeneousProfile("pfs0", math.inf)]),
        ["job.infinite"],
    ),
    "staging": (
        dynamic("d!p", [ParallelTaskDataStagingBetweenStoragesProfile(math.inf, "pfs0", "pfs0")]),
        ["job.infinite"],
    ),
    "delay, negative walltime": (dynamic("d!p", [DelayProfile(math.inf)], walltime=-1.0), ["job.infinite"]),
    "delay, infinite walltime": (dynamic("d!p", [DelayProfile(math.inf)], walltime=math.inf), ["job.infinite"]),
    "delay, walltime 0": (dynamic("d!p", [DelayProfile(math.inf)], walltime=0.0), []),
    "finite delay, infinite walltime": (dynamic("d!p", [DELAY], walltime=math.inf), []),
    "task, infinite walltime": (dynamic("d!p", [ParallelTaskProfile([1.0])], walltime=math.inf), ["job.infinite"]),
    "walltime NaN": (dynamic("d!p", [DELAY], walltime=math.nan), ["job.infinite"]),
    "behind an infinite delay": (
        dynamic("d!t", [TASK, DelayProfile(math.inf), sequence("d!s", "d!p")], walltime=9.0),
        [],
    ),
    # traces
    "usage": (on(USAGE, executed(hosts="0 2")), []),
    "usage, more hosts": (on(USAGE, executed(hosts="0-2")), []),
    "usage, too few": (on(USAGE, executed(hosts="3")), ["job.trace-hosts"]),
    "usage, short mapping": (on(USAGE, executed(hosts="0-1", placement=mapped(0))), ["job.mapping-size"]),
    "usage, filled": (on(USAGE, executed(hosts="0-1", placement=FILL)), []),
    "smpi, one host": (on(TraceReplayProfile(TraceType.SMPI, "t"), executed(hosts="0")), []),
    "smpi, short mapping": (
        on(TraceReplayProfile(TraceType.SMPI, "t"), executed(hosts="0-1", placement=mapped(0))),
        ["job.mapping-size"],
    ),
    "smpi, repeated mapping": (
        on(TraceReplayProfile(TraceType.SMPI, "t"), executed(hosts="0-1", placement=mapped(0, 0))),
        [],
    ),
    # overrides
    "empty override": (
        on(DELAY, executed(hosts="0-1", profile_allocation_override=(ProfileAllocationPlacement("w0!q", ""),))),
        ["hosts.empty"],
    ),
}


@pytest.mark.parametrize("name", EXECUTIONS)
def test_executions(name: str) -> None:
    said, expected = EXECUTIONS[name]
    assert fatal(said) == expected


@pytest.mark.parametrize(("limit", "expected"), [(100.0, []), (100.5, ["job.later-part"]), (None, ["job.later-part"])])
def test_a_later_part_is_only_in_doubt(limit: float | None, expected: list[str]) -> None:
    """Batsim dies when it gets there, and a kill can come before; it never gets there after the walltime."""
    said = dynamic("d!t", [TASK, LATE, sequence("d!s", "d!p")], walltime=limit)
    assert [each.rule for each in check(said)] == expected


def test_cores_are_filled_first() -> None:
    for cores, expected in ((1, []), (2, ["job.trace-hosts"])):
        hosts = tuple(replace(host(number), core_count=cores) for number in range(4))
        said = talk(
            [],
            submitted(request=2, profile=USAGE),
            executed(hosts="0-1", placement=FILL),
            begin=begins(computation_hosts=hosts),
            forward_profiles_on_job_submission=True,
        )
        assert fatal(said) == expected


def test_a_walltime_that_is_not_a_number_is_known_of_any_profile() -> None:
    job = Job(resource_request=1, profile_id="w0!p", walltime=math.nan)
    said = talk([RegisterJobEvent(job_id="w0!9", job=job)], [], executed("w0!9"), dynamic_registration=True)
    assert fatal(said) == ["job.infinite"]


# Profiles that go


def registers(job_id: str, profile_id: str) -> RegisterJobEvent:
    return RegisterJobEvent(job_id=job_id, job=Job(resource_request=1, profile_id=profile_id))


def last(said: list[AnyMessage]) -> list[Violation]:
    """What the last message breaks, fatally."""
    return [each for each in check(said) if each.message == len(said) - 1 and each.is_fatal]


def test_a_profile_is_gone_once_a_job_that_had_it_was_rejected() -> None:
    said = talk([], submitted(), RejectJobEvent(job_id="w0!1"), dynamic_registration=True)
    again = registers("d!1", "w0!p")
    assert last([*said[:-1], message([RejectJobEvent(job_id="w0!1"), again], 5.0)]) == []
    assert [each.rule for each in last([*said, message([], 6.0), message(again, 7.0)])] == ["register.profile-gone"]


def test_the_parts_of_a_sequence_go_with_it() -> None:
    parts = sequence("w0!p", "w0!t")
    first = [submitted("w0!1", "w0!s", profile=parts), submitted("w0!2", "w0!t", profile=sequence("w0!q"))]
    features = {"dynamic_registration": True, "forward_profiles_on_job_submission": True}
    for reuse in (False, True):
        said = talk([], first, executed(), ended(), **features, profile_reuse=reuse)
        for part in ("w0!s", "w0!p", "w0!t", "w0!q"):
            rules = [each.rule for each in last([*said, message(registers("d!1", part), 7.0)])]
            assert rules == ([] if reuse else ["register.profile-gone"])
            whole = RegisterProfileEvent(profile=replace(submitted(profile=sequence(part)).profile, id="w0!new"))
            rules = [each.rule for each in last([*said, message(whole, 7.0)])]
            assert rules == ([] if reuse else ["register.profile-gone"])


# Stops


def test_a_stop_beside_a_parallel_task() -> None:
    stop = ForceSimulationStopEvent()
    for profile in (TASK, SPREAD, sequence("w0!q")):
        said = on(profile, executed(hosts="0-1"))
        later = [*said, message([], 6.0)]
        expected = ["stop.parallel-task"] if profile in (TASK, SPREAD) else []
        assert [each.rule for each in last([*later, message(stop, 6.0)])] == expected
        assert last([*later, message(stop, 7.0)]) == []  # by then the job may have ended
        assert [each.rule for each in check([*later, message(stop, 7.0)])] == ["stop.job"]
    for profile in (DELAY, USAGE, TraceReplayProfile(TraceType.SMPI, "t")):
        assert check([*on(profile, executed(hosts="0-1")), message([], 6.0), message(stop, 6.0)]) == []
