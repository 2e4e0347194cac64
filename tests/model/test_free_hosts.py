"""`Hosts` against plain sets of ints and against `procset`: what is free, what is taken, and what is refused."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from itertools import count as integers
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from procset import ProcSet

from batprotocol import FrozenHosts, Hosts, HostsError, HostSetError, MessageBuilder, OneShot, format_hosts
from batprotocol.conversation import hostsets
from batprotocol.errors import ProtocolError
from batprotocol.model import free_hosts
from batprotocol.model.free_hosts import MOST_HOSTS
from batprotocol.model.hosts import frozen_hosts

WITHOUT_ENGINE = True

SMALL = 90
"""Above this, `Hosts` goes another way for sets of hosts in a row; and so do rows that are not cut short."""


@pytest.fixture(autouse=True, scope="module", params=["compiled", "Python"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """How hosts are taken and given back: in C, if that was compiled, and in Python."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "Python":
            for name in ("_take", "_take_these", "_give_back"):
                patch.setattr(free_hosts, name, free_hosts._nothing)
        yield request.param


few = st.sets(st.integers(0, SMALL), max_size=40)
rows = st.builds(lambda first, size: set(range(first, first + size)), st.integers(0, SMALL), st.integers(0, SMALL))
sets = st.one_of(few, rows, st.builds(set.union, few, rows), st.builds(set.symmetric_difference, rows, few))

FORMS: list[Callable[[set[int]], Any]] = [
    format_hosts,
    lambda hosts: ", ".join(map(str, sorted(hosts, reverse=True))),
    lambda hosts: ProcSet(*hosts),
    lambda hosts: hosts,
    lambda hosts: sorted(hosts, reverse=True),
    lambda hosts: iter(sorted(hosts)),
    lambda hosts: np.array(sorted(hosts), np.int64),
    Hosts,
    frozen_hosts,
]
"""What a set of hosts can be given as."""
forms = st.sampled_from(FORMS)


def intervals_of(hosts: set[int]) -> tuple[tuple[int, int], ...]:
    """The intervals of a set, as procset has them."""
    return tuple((each.inf, each.sup) for each in ProcSet(*hosts).intervals())


def same(found: Hosts | FrozenHosts, hosts: set[int]) -> bool:
    """Whether all that a set tells of itself is as that of a plain one."""
    assert list(found) == sorted(hosts)
    assert (len(found), bool(found)) == (len(hosts), bool(hosts))
    assert found.intervals == intervals_of(hosts)
    assert found.to_procset() == ProcSet(*hosts)
    assert str(found) == found.text == str(ProcSet(*hosts))
    assert repr(found) == f"{type(found).__name__}({str(found)!r})"
    return True


def pickled(hosts: Hosts) -> Hosts:
    found: Hosts = pickle.loads(pickle.dumps(hosts))
    return found


class Taking(RuleBasedStateMachine):
    """Hosts are taken and given back in all ways, and two plain sets keep account."""

    taken = Bundle("taken")

    @initialize(hosts=sets, form=forms)
    def begin(self, hosts: set[int], form: Callable[[set[int]], Any]) -> None:
        self.hosts = Hosts(form(hosts))
        self.free = set(hosts)
        self.known = set(hosts)

    def took(self, hosts: FrozenHosts, expected: set[int]) -> FrozenHosts:
        assert type(hosts) is FrozenHosts
        assert set(hosts) == expected
        assert len(hosts) == len(expected)
        self.free -= expected
        return hosts

    @rule(target=taken, count=st.integers(-1, 2 * SMALL))
    def take(self, count: int) -> FrozenHosts:
        if not 0 <= count <= len(self.free):
            with pytest.raises(HostsError):
                self.hosts.take(count)
            return frozen_hosts(())
        return self.took(self.hosts.take(count), set(sorted(self.free)[:count]))

    @rule(target=taken, share=st.floats(0, 1))
    def take_some(self, share: float) -> FrozenHosts:
        return self.take(int(share * len(self.free)))

    @rule(target=taken, count=st.one_of(st.integers(-1, 5), st.integers(0, SMALL)))
    def take_contiguous(self, count: int) -> FrozenHosts:
        row = next((at for at in sorted(self.free) if self.free.issuperset(range(at, at + count))), None)
        if count < 0 or (row is None and count):
            with pytest.raises(HostsError):
                self.hosts.take_contiguous(count)
            return frozen_hosts(())
        return self.took(self.hosts.take_contiguous(count), set(range(row or 0, (row or 0) + count)))

    @rule(target=taken, hosts=sets, form=forms, only_free=st.booleans())
    def take_these(self, hosts: set[int], form: Callable[[set[int]], Any], only_free: bool) -> FrozenHosts:
        if only_free:
            hosts &= self.free
        if not hosts <= self.free:
            with pytest.raises(HostsError):
                self.hosts.take_these(form(hosts))
            return frozen_hosts(())
        return self.took(self.hosts.take_these(form(hosts)), set(hosts))

    @rule()
    def tell(self) -> None:
        assert same(self.hosts, self.free)

    def given(self, hosts: Any, expected: set[int]) -> None:
        if expected <= self.known - self.free:
            self.hosts.give_back(hosts)
            self.free |= expected
        else:
            with pytest.raises(HostsError):
                self.hosts.give_back(hosts)

    @rule(hosts=taken)
    def give_back(self, hosts: FrozenHosts) -> None:
        self.given(hosts, set(hosts))

    @rule(hosts=sets, form=forms, only_taken=st.booleans())
    def give_back_these(self, hosts: set[int], form: Callable[[set[int]], Any], only_taken: bool) -> None:
        if only_taken:
            hosts &= self.known - self.free
        self.given(form(hosts), set(hosts))

    @rule(hosts=sets, form=forms)
    def add(self, hosts: set[int], form: Callable[[set[int]], Any]) -> None:
        self.hosts |= form(hosts)
        self.free |= hosts
        self.known |= hosts

    @rule(hosts=sets, form=forms)
    def remove(self, hosts: set[int], form: Callable[[set[int]], Any]) -> None:
        self.hosts -= form(hosts)
        self.free -= hosts

    @rule(hosts=sets, form=forms)
    def keep(self, hosts: set[int], form: Callable[[set[int]], Any]) -> None:
        self.hosts &= form(hosts)
        self.free &= hosts

    @rule(duplicate=st.sampled_from([copy.copy, copy.deepcopy, Hosts.copy, pickled]))
    def go_on_with_a_copy(self, duplicate: Callable[[Hosts], Hosts]) -> None:
        left, self.hosts = self.hosts, duplicate(self.hosts)
        assert self.hosts == left
        assert type(self.hosts) is Hosts
        left |= {0, 2 * SMALL}
        left.take(1)

    @invariant()
    def agrees(self) -> None:
        assert list(self.hosts) == sorted(self.free)
        assert len(self.hosts) == len(self.free)
        assert list(self.hosts.taken) == sorted(self.known - self.free)
        assert [host for host in range(-2, 2 * SMALL + 2) if host in self.hosts] == sorted(self.free)


def test_taking_and_giving_back() -> None:
    steps = settings(stateful_step_count=30)
    run_state_machine_as_test(Taking, settings=steps)  # type: ignore[no-untyped-call]  # hypothesis gives it no types


class NamedHosts(Hosts):
    """With something of its own, and another way to make one."""

    def __init__(self, name: str, hosts: str) -> None:
        super().__init__(hosts)
        self.name = name


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, NamedHosts.copy, pickled])
def test_what_derives_from_it_is_copied_whole(duplicate: Callable[[Hosts], Hosts]) -> None:
    free = NamedHosts("left", "0-7")
    job = free.take(3)
    other = duplicate(free)
    assert isinstance(other, NamedHosts)
    assert (other.name, other, other.taken) == ("left", Hosts("3-7"), job)
    other.give_back(job)
    other.name = "right"
    assert (free.name, len(free)) == ("left", 5)


def test_arguments_can_be_named() -> None:
    free = Hosts("0-3")
    assert free.take(count=2) == frozen_hosts("0-1")
    free.give_back(hosts=1)
    assert free.take_contiguous(count=1) == frozen_hosts(1)
    assert free.take_these(hosts="3") == frozen_hosts(3)
    free.give_back(hosts="1 3")
    assert free == Hosts("1-3")
    for wrong in (lambda: free.take(), lambda: free.take(1, 2), lambda: free.give_back(host=1)):
        with pytest.raises(TypeError):
            wrong()
    assert free == Hosts("1-3")


@given(sets, sets, forms, st.sampled_from([Hosts, frozen_hosts]))
def test_operators_are_those_of_sets(
    some: set[int], others: set[int], form: Callable[[set[int]], Any], kind: Callable[[set[int]], Any]
) -> None:
    hosts = kind(some)
    for found, expected in (
        (hosts | form(others), some | others),
        (hosts & form(others), some & others),
        (hosts - form(others), some - others),
    ):
        assert type(found) is FrozenHosts
        assert same(found, expected)
    assert same(hosts, some)
    assert hosts.issubset(form(others)) is (some <= others)
    assert hosts.issuperset(form(others)) is (some >= others)
    assert hosts.isdisjoint(form(others)) is some.isdisjoint(others)


@given(sets, sets, st.sampled_from([str, list, frozenset, ProcSet]))
def test_operators_whose_left_side_is_something_else(some: set[int], others: set[int], kind: Any) -> None:
    left: Any = {str: lambda: format_hosts(some), ProcSet: lambda: ProcSet(*some)}.get(kind, lambda: kind(some))()
    for right in (Hosts(others), frozen_hosts(others)):
        assert left | right == frozen_hosts(some | others)
        assert left & right == frozen_hosts(some & others)
        assert left - right == frozen_hosts(some - others)


@given(sets, sets)
def test_equality_is_that_of_what_is_in_it(some: set[int], others: set[int]) -> None:
    kinds: list[Any] = [Hosts, frozen_hosts, lambda hosts: ProcSet(*hosts)]
    for one in kinds[:2]:  # a ProcSet on the left cannot be compared with anything else
        for other in kinds:
            assert (one(some) == other(others)) is (some == others)
            assert (one(some) != other(others)) is (some != others)
    assert (hash(frozen_hosts(some)) == hash(frozen_hosts(set(some)))) is True
    assert frozen_hosts(some) != format_hosts(some)
    assert Hosts(some) != some


def test_what_was_taken_does_not_matter_to_equality() -> None:
    free = Hosts("0-9")
    free.take(5)
    assert free == Hosts("5-9")
    with pytest.raises(TypeError):
        hash(free)


@given(sets.filter(bool), st.integers(0, 5))
def test_what_is_taken_goes_into_a_message_without_being_read(some: set[int], shift: int) -> None:
    hosts = Hosts({host + shift for host in some}).take(len(some))
    builder = MessageBuilder()
    builder.add_execute_job("w0!1", hosts)
    builder.add_turn_on_off_hosts(hosts, 1)
    builder.add_create_probe("probe", hosts=hosts, trigger=OneShot(1))
    text = str(ProcSet(*hosts))
    execute, turn, probe = builder.events
    assert (execute.allocation.host_allocation, turn.host_ids, probe.resources.host_ids) == (text,) * 3  # type: ignore[union-attr]
    assert type(execute.allocation.host_allocation) is str  # type: ignore[union-attr]
    hostsets._read.clear()
    read = hostsets.read_hosts(text)
    assert read.intervals is hosts.intervals
    assert (read.fault, read.misread, read.ascending, read.text) == ("", False, True, text)
    assert (read.last, read.size, read.mask) == (max(hosts), len(hosts), sum(1 << host for host in hosts))


@given(sets.filter(bool))
def test_a_frozen_set_is_a_value(some: set[int]) -> None:
    hosts = Hosts(some).take(len(some))
    for other in (copy.copy(hosts), copy.deepcopy(hosts), pickle.loads(pickle.dumps(hosts))):
        assert type(other) is FrozenHosts
        assert other == hosts
        assert hash(other) == hash(hosts)
        assert same(other, some)
    with pytest.raises(AttributeError):
        hosts.intervals = ()  # type: ignore[misc]
    assert [host for host in range(-1, 2 * SMALL + 2) if host in hosts] == sorted(some)


@pytest.mark.parametrize("thing", ["0", None, 1.0, (0,), "0-3", ""])
def test_what_is_no_host_is_in_no_set(thing: Any) -> None:
    assert thing not in Hosts("0-3")
    assert thing not in frozen_hosts("0-3")
    assert np.int32(2) in Hosts("0-3")
    assert np.int32(2) in frozen_hosts("0-3")


REFUSED: list[tuple[Callable[[Hosts], object], type[Exception], str]] = [
    (lambda free: free.take(7), HostsError, "expected to take 0 to 6 hosts, as many as are free, got 7"),
    (lambda free: free.take(-1), HostsError, "expected to take 0 to 6 hosts, as many as are free, got -1"),
    (lambda free: free.take_contiguous(7), HostsError, "expected to take 0 to 6 hosts, as many as are free, got 7"),
    (lambda free: free.take_contiguous(4), HostsError, "expected to take 4 hosts in a row, but the free hosts"),
    (
        lambda free: free.take_these("0-3 12"),
        HostsError,
        "expected hosts that are free, got '0-3 12', of which '2-3' is taken and '12' is unknown",
    ),
    (
        lambda free: free.give_back("1-2"),
        HostsError,
        "expected hosts that were taken, got '1-2', of which '1' is free",
    ),
    (lambda free: free.give_back(["8"]), HostSetError, "a host is an integer >= 0, got '8'"),
    (lambda free: free.give_back("8"), HostsError, "expected hosts that were taken, got '8', of which '8' is unknown"),
    (lambda free: free.give_back(2**40), HostsError, "'1099511627776' is unknown"),
    (lambda free: free.take_these("0-4294967295"), HostsError, "is unknown"),
    (lambda free: free.take_these("3-1"), HostSetError, "descending"),
    (lambda free: free.take_these(-1), HostSetError, "a host is an integer >= 0, got -1"),
    (lambda free: free.__ior__("0-99999999"), HostSetError, "expected hosts below 16,777,216, got 99999999"),
    (lambda free: free.__ior__([3, "x"]), HostSetError, "a host is an integer >= 0, got 'x'"),  # type: ignore[list-item]
    (lambda free: free.__isub__([0, None]), HostSetError, "a host is an integer >= 0, got None"),  # type: ignore[list-item]
    (lambda free: free | 1.5, HostSetError, "a host set is a string"),  # type: ignore[operator]
    (lambda free: free.take(1.5), TypeError, "integer"),  # type: ignore[arg-type]
    (lambda free: free.take_contiguous("1"), TypeError, "integer"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("wrong", "error", "text"), REFUSED, ids=integers())
def test_what_is_refused_changes_nothing(wrong: Callable[[Hosts], object], error: type[Exception], text: str) -> None:
    free = Hosts("0-4 6 9-10")
    free.take_these("2-3")
    before = (free.intervals, free.taken, len(free))
    with pytest.raises(error) as refused:
        wrong(free)
    assert text in str(refused.value)
    assert (free.intervals, free.taken, len(free)) == before
    assert free.take(6) == frozen_hosts("0-1 4 6 9-10")


def test_errors_are_both_kinds() -> None:
    assert issubclass(HostsError, ProtocolError)
    assert issubclass(HostsError, ValueError)


def test_numbers_of_other_kinds() -> None:
    free = Hosts(np.arange(8))
    assert free.take(np.int64(2)) == frozen_hosts("0-1")  # type: ignore[arg-type]
    assert free.take_contiguous(np.uint8(3)) == frozen_hosts("2-4")  # type: ignore[arg-type]
    assert len(free.take(True)) == 1


def test_many_hosts_with_gaps() -> None:
    """A hundred thousand, every third of them unknown."""
    numbers = [host for host in range(150_000) if host % 3]
    free = Hosts(numbers)
    assert len(free) == 100_000
    taken = [free.take(1000) for _ in range(100)]
    assert sorted(host for hosts in taken for host in hosts) == numbers
    assert not free
    with pytest.raises(HostsError, match="'3' is unknown"):
        free.give_back("1-3")
    for hosts in reversed(taken):
        free.give_back(hosts)
    assert list(free) == numbers
    with pytest.raises(HostsError):
        free.take_contiguous(3)
    assert free.take_contiguous(2) == frozen_hosts("1-2")


def test_the_highest_host() -> None:
    free = Hosts(MOST_HOSTS - 1)
    assert free.take(1) == frozen_hosts(MOST_HOSTS - 1)
    free.give_back(MOST_HOSTS - 1)
    with pytest.raises(HostSetError):
        Hosts(MOST_HOSTS)


def test_a_long_text_is_cut_in_the_repr() -> None:
    free = Hosts(range(0, 20_000, 2))
    assert len(repr(free)) < 11_000
    assert repr(free).endswith("...)")


def test_what_is_left_to_python() -> None:
    try:
        from batprotocol.model import _hosts
    except ImportError:
        pytest.skip("there are no sets of hosts in C here")
    hosts, taken = Hosts("0-7"), frozen_hosts("0-2")
    for count in (0, -1, 9, True, 2**70, "1", None):
        assert _hosts.take(hosts, count) is None
    for others in (frozen_hosts("8"), frozen_hosts("6-9"), frozen_hosts(""), "0-2", 1, None):
        assert not _hosts.take_these(hosts, others)
        assert not _hosts.give_back(hosts, others)
    assert not _hosts.give_back(hosts, taken)
    assert (_hosts.take(taken, 1), _hosts.take_these(taken, taken), _hosts.give_back(None, taken)) == (
        None,
        False,
        False,
    )
    assert (str(hosts), len(hosts)) == ("0-7", 8)
    assert _hosts.take(hosts, 3) == taken
    assert not _hosts.take_these(hosts, frozen_hosts("2-3"))
    assert (_hosts.take_these(hosts, frozen_hosts("4")), _hosts.give_back(hosts, taken)) == (True, True)
    assert (str(hosts), len(hosts), str(hosts.taken)) == ("0-3 5-7", 7, "4")
