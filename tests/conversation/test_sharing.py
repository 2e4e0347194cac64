"""Jobs that share hosts, and whatever else there can be many of: the rules take no more than n log n steps for it."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intervaltree import IntervalTree
from work import lines_of

from batprotocol import MessageBuilder, model
from batprotocol.conversation import Conversation
from batprotocol.conversation.hostsets import HostCounts, describe, mask_of, members, read_hosts
from batprotocol.conversation.state import Holding
from batprotocol.errors import shown

WITHOUT_ENGINE = True

masks = st.integers(0, 2**12 - 1)
intervals = st.lists(
    st.tuples(st.integers(0, 80), st.integers(0, 12)).map(lambda each: (each[0], each[0] + each[1])), min_size=1
)


def text_of(mask: int) -> str:
    return " ".join(map(str, members(mask)))


@given(intervals)
def test_a_mask_has_the_hosts_of_its_intervals(given: list[tuple[int, int]]) -> None:
    mask = mask_of(given)
    assert list(members(mask)) == sorted({host for first, last in given for host in range(first, last + 1)})


@given(st.lists(masks))
def test_hosts_are_counted(added: list[int]) -> None:
    counts, expected = HostCounts(), Counter[int]()
    for step in (1, -1):  # what was added is removed in the same order
        for mask in added:
            (counts.add if step == 1 else counts.remove)(mask)
            expected.update(dict.fromkeys(members(mask), step))
            assert list(members(counts.some)) == sorted(host for host in expected if expected[host] > 0)
            assert list(members(counts.more)) == sorted(host for host in expected if expected[host] > 1)
    assert counts == HostCounts()


@given(st.lists(st.tuples(st.integers(0, 9), masks.filter(bool), st.booleans(), st.booleans())), st.integers(1, 5))
def test_holders_are_those_who_hold(steps: list[tuple[int, int, bool, bool]], most: int) -> None:
    """Whoever comes and goes, and whenever somebody asks."""
    holding, expected = Holding(), dict[str, int]()
    wholes = dict[str, int]()
    for number, mask, asks, is_part in steps:
        job = f"w0!{number}"
        if job in expected:
            del expected[job]
            wholes.pop(job, None)
            holding.release(job)
        else:
            expected[job] = mask
            wholes |= {} if is_part else {job: mask}
            holding.occupy(job, read_hosts(text_of(mask)), is_part)
        if asks:
            wanted = {other for other in expected if expected[other] & mask}
            found = holding.holders(read_hosts(text_of(mask)), most)
            assert len(set(found)) == len(found) == min(most, len(wanted))
            assert wanted.issuperset(found)
        assert holding.counts.some == mask_of([(host, host) for held in expected.values() for host in members(held)]
                                              or [(0, -1)])  # fmt: skip
        assert list(members(holding.whole())) == sorted({host for held in wholes.values() for host in members(held)})
    for again in (copy.deepcopy(holding), pickle.loads(pickle.dumps(holding))):
        assert again.counts == holding.counts
        assert again.whole() == holding.whole()
        assert list(again.running) == list(holding.running)


@pytest.mark.parametrize("mask", [0b1, 0b101, (1 << 4000) // 3, (1 << 4000) // 3 << 7 | 1])
def test_few_hosts_are_shown_of_many(mask: int) -> None:
    """As if all had been written down first."""
    full = " ".join(map(str, members(mask)))
    assert describe(mask) == f"host{'s' * (mask > 1)} {shown(full)[1:-1]}"


def test_usage_is_a_tree_of_the_moment_when_it_was_asked_for() -> None:
    holding = Holding()
    assert not holding.usage()
    holding.occupy("w0!1", read_hosts("0-3 8"))
    one, other = holding.usage(), holding.usage()
    assert one
    other.addi(20, 21, "mine")
    holding.occupy("w0!2", read_hosts("3"))
    two = holding.usage()
    holding.release("w0!1")
    assert one == IntervalTree.from_tuples([(0, 4, "w0!1"), (8, 9, "w0!1")])
    assert {held.data for held in two[3]} == {"w0!1", "w0!2"}
    assert len(other) == 3
    assert {held.data for held in holding.usage()} == {"w0!2"}
    assert two.copy() == copy.deepcopy(two) == pickle.loads(pickle.dumps(two)) == two
    with pytest.raises(AttributeError, match="'HostIntervals' object has no attribute 'nothing'"):
        two.nothing  # type: ignore[attr-defined]  # noqa: B018


# How much work it is


class Peers:
    """Both sides of a conversation on so many hosts, as short as they can be."""

    def __init__(self, hosts: int = 4, rules: str = "batsim-5.0.0-rc2") -> None:
        self.conversation = Conversation(rules)
        self.batsim, self.mine = MessageBuilder(), MessageBuilder()
        self.conversation.begin("")
        features = model.EDCRequestedSimulationFeatures(dynamic_registration=True, profile_reuse=True)
        self.mine.add_edc_hello("me", "1", features=features)
        self.conversation.hello(self.mine.finish_message())
        self.mine.clear()
        properties = [model.HostProperty("sleep_pstates", "1:2:3")]
        platform = [
            model.Host(
                id=host,
                name=f"h{host}",
                pstate=0,
                pstate_count=4,
                core_count=1,
                computation_speed=(1.0,) * 4,
                properties=properties,
            )
            for host in range(hosts)
        ]
        self.batsim.add_simulation_begins(
            batsim_version="5", computation_hosts=platform, workloads=[model.WorkloadAndFilename("w0", "w0.json")]
        )
        self.hear()

    def hear(self) -> None:
        """What Batsim has said so far."""
        assert not self.conversation.receive(self.batsim.finish_message())
        self.batsim.clear()

    def say(self, *rules: str) -> None:
        """The reply, of which each event can break these rules."""
        self.mine.set_current_time(self.conversation.now)
        found = [each for event in self.mine.events for each in self.conversation.offer(event)]
        assert {each.rule for each in found} <= set(rules)
        found = self.conversation.close_reply(self.mine.finish_message())
        assert {each.rule for each in found} <= set(rules)
        self.mine.clear()

    def turn(self, *rules: str) -> None:
        """The reply, and whatever Batsim has said by then."""
        self.say(*rules)
        self.hear()

    def submit(self, count: int) -> list[str]:
        names = [f"dyn!{number}" for number in range(count)]
        self.mine.add_register_profile("dyn!p", model.DelayProfile(1e6))
        for name in names:
            self.mine.add_register_job(name, model.Job(resource_request=1, profile_id="dyn!p"))
        self.turn()
        return names


def share(count: int, each: Callable[[int], str] = lambda number: "0", kill: bool = False) -> None:
    """So many jobs on these hosts, in one reply, that end one after the other."""
    peers = Peers(hosts=2)
    names = peers.submit(count)
    for number, name in enumerate(names):
        peers.mine.add_execute_job(name, each(number))
    peers.turn("job.over-allocation")
    if kill:
        for name in names:
            peers.mine.add_kill_jobs([name])
        peers.turn()
    for name in names:
        assert peers.conversation.usage
        state = "COMPLETED_KILLED" if kill else "COMPLETED_SUCCESSFULLY"
        peers.batsim.add_job_completed(name, model.FinalJobState[state])
    if kill:
        peers.batsim.add_jobs_killed(names, {})
    peers.turn()


def turns(count: int) -> None:
    """So many jobs that share a host, each in a turn of its own."""
    peers = Peers(hosts=2)
    for name in peers.submit(count):
        peers.mine.add_execute_job(name, "0")
        peers.turn("job.over-allocation")
        assert peers.conversation.usage


def calls(count: int) -> None:
    """Endless calls, while nothing else is to come, and one that comes and goes."""
    peers = Peers()
    peers.turn()
    peers.batsim.add_all_static_jobs_have_been_submitted()
    peers.mine.add_finish_registration()
    for number in range(count):
        peers.mine.add_call_me_later(f"c{number}", model.Periodic(10))
    peers.turn("simulation.endless")
    for _number in range(count):
        peers.mine.add_call_me_later("once", model.OneShot(0))
        peers.say()
        peers.batsim.add_requested_call("once")
        peers.hear()


def restarted(count: int) -> None:
    """Endless calls, of which one ends and begins again each turn."""
    peers = Peers()
    peers.turn()
    peers.batsim.add_all_static_jobs_have_been_submitted()
    peers.mine.add_finish_registration()
    for number in range(count):
        peers.mine.add_call_me_later(f"c{number}", model.Periodic(10))
    peers.turn("simulation.endless")
    for number in range(count):
        peers.mine.add_stop_call_me_later(f"c{number}")
        peers.mine.add_call_me_later(f"d{number}", model.Periodic(10))
        peers.turn("simulation.endless")


def switched(count: int) -> None:
    """Hosts that are all turned off, each by an event of its own."""
    peers = Peers(hosts=count)
    for host in range(count):
        peers.mine.add_turn_on_off_hosts(str(host), 1)
    peers.say()
    for host in reversed(range(count)):
        peers.batsim.add_hosts_turned_on_off(str(host), 1)
    peers.hear()


def changed(count: int) -> None:
    peers = Peers(hosts=count)
    for host in range(count):
        peers.mine.add_change_hosts_pstate(str(host), 0)
    peers.say()
    for host in reversed(range(count)):
        peers.batsim.add_hosts_pstate_changed(str(host), 0)
    peers.hear()


WORK: dict[str, Callable[[int], None]] = {
    "on one host": share,
    "on two hosts": lambda count: share(count, lambda number: str(number % 2)),
    "killed": lambda count: share(count, kill=True),
    "turn by turn": turns,
    "endless calls": calls,
    "endless calls that change": restarted,
    "switched one by one": switched,
    "changed one by one": changed,
    "registered": lambda count: Peers().submit(count) and None,
}


@pytest.mark.parametrize("name", WORK)
def test_the_work_grows_with_the_number(name: str) -> None:
    WORK[name](40)  # what is made once does not count
    WORK[name](40)  # what is made once does not count
    less, more = (lines_of(lambda count=count: WORK[name](count)) for count in (40, 160))
    assert more <= 4.6 * less, (name, less, more)


def test_many_intervals_are_no_more_work_each() -> None:
    """Steps of the interpreter would not tell: each was an int of all hosts."""
    text = " ".join(str(host) for host in range(0, 200_000, 2))
    assert read_hosts(text).mask.bit_count() == 100_000
