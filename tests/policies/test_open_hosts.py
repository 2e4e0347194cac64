"""The hosts that have space from each time on: what the future of hosts says when it is asked, in Python and in C."""

from __future__ import annotations

import copy
import math
from operator import le
from random import Random
from typing import Any

import pytest

from batprotocol.policies.availability import Amount
from batprotocol.policies.jobs import JobKind
from batprotocol.policies.site import state
from batprotocol.policies.site.futures import HostSteps, HostTimeline
from batprotocol.policies.site.state import OpenHostsOfKinds, PythonOpenHosts

WITHOUT_ENGINE = True

KINDS = sorted({PythonOpenHosts, state.OpenHosts}, key=str)
SIZES = [1, 5, 70]
"""How many hosts: more than fit into a word of the machine, too."""
WHOLE: Amount = (1 << 40, 8)
ASKED: list[Amount] = [(1 << 40, 0), (1, 1), (1, 4)]


class Case:
    """The future of hosts, and of what jobs have taken of it."""

    def __init__(self, random: Random, kind: type[PythonOpenHosts], patch: pytest.MonkeyPatch) -> None:
        patch.setattr(state, "OpenHosts", kind)
        self.random, self.now = random, 0.0
        self.hosts = range(random.choice(SIZES))
        self.is_exact = random.random() < 0.5
        capacity = dict.fromkeys(self.hosts, WHOLE)
        self.timeline = HostTimeline(capacity)
        self.open_hosts = OpenHostsOfKinds(self.timeline)
        among = [host for host in self.hosts if random.random() < 0.9] or [0]
        self.kinds = [JobKind(amount, frozenset(among), capacity) for amount in ASKED]
        self.taken: list[tuple[list[int], float, float, Amount]] = []
        self.is_short = random.random() < 0.2  # hosts give more than they have

    def seconds(self) -> float:
        return float(self.random.randint(1, 30)) if self.is_exact else round(self.random.uniform(0.1, 30), 3)

    def turn(self) -> None:
        """Time goes on, and something is taken, or given back."""
        random, timeline = self.random, self.timeline
        if random.random() < 0.2:
            self.now += self.seconds() / 4
            timeline.advance(self.now)
            self.open_hosts.advance(self.now)
        if self.taken and random.random() < 0.4:
            hosts, begin, end, amount = self.taken.pop(random.randrange(len(self.taken)))
            timeline.give_back(hosts, begin, end, amount)
            return
        kind = random.choice(self.kinds)
        hosts = random.sample(sorted(kind.hosts), random.randint(1, len(kind.hosts)))
        begin = random.choice([self.now, self.now + random.uniform(0, 60), self.now + random.randint(0, 60)])
        end = random.choice([begin + self.seconds()] * 9 + [math.inf])
        if self.is_short or all(all(map(le, kind.amount, timeline.least(host, begin, end))) for host in hosts):
            self.taken.append((hosts, begin, end, kind.amount))
            timeline.take(*self.taken[-1])

    def ask(self) -> tuple[Any, Any]:
        """The first time for a job, and then what becomes of its reservation; each as the timeline says it."""
        random, timeline, now = self.random, self.timeline, self.now
        kind, expected = random.choice(self.kinds), self.seconds()
        open_hosts = self.open_hosts.of(kind, now)
        assert open_hosts is not None
        size, seconds = random.randint(1, len(kind.hosts)), max(expected - random.choice([0.0, 0.0005, 0.5]), 0.0)
        before = random.choice([math.inf, now + 20.0])
        found = open_hosts.earliest(size, seconds, now, before)
        start, hosts = timeline.earliest(kind.hosts, size, kind.amount, seconds, now, None, before)
        assert found is None or found == (start, hosts)
        answers: list[Any] = [found]
        if start == math.inf:
            return answers, None
        own = hosts[:size]
        timeline.take(own, start, start + expected, kind.amount)
        for _ in range(3):
            self.turn()
        now = self.now
        if start > now:
            again = open_hosts.again(own, start, start + expected, seconds, now)
            timeline.give_back(own, start, start + expected, kind.amount)
            anew, others = timeline.earliest(kind.hosts, size, kind.amount, seconds, now, None, start)
            timeline.take(own, start, start + expected, kind.amount)
            if again is True:
                assert (anew, others[:size]) == (start, own)
            elif again is not None:
                assert (anew, others[:size]) == again
                assert again != (start, own)
            answers.append(again)
        self.taken.append((own, start, start + expected, kind.amount))
        return answers, None


def play(seed: int, kind: type[PythonOpenHosts], patch: pytest.MonkeyPatch) -> list[Any]:
    case = Case(Random(seed), kind, patch)
    answers: list[Any] = []
    for _ in range(40):
        case.turn()
        answers += case.ask()[0]
    return answers


@pytest.mark.parametrize("seed", range(40))
def test_open_hosts_answer_as_the_timeline_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [play(seed, kind, monkeypatch) for kind in KINDS]
    assert all(each == found[0] for each in found)
    known = [answer for answer in found[0] if answer is not None]
    assert len(known) > 0.2 * len(found[0])


@pytest.mark.minutes
@pytest.mark.parametrize("begin", range(1000, 21_000, 1000))
def test_open_hosts_answer_as_the_timeline_does_in_many_cases(begin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(begin, begin + 1000):
        found = [play(seed, kind, monkeypatch) for kind in KINDS]
        assert all(each == found[0] for each in found), seed


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_answered_is_an_error(kind: type[PythonOpenHosts]) -> None:
    open_hosts = kind([0, 1], (1, 1), 0.0)
    with pytest.raises(TypeError):
        open_hosts.earliest("1", 1.0, 0.0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        open_hosts.change(HostSteps(), 7, 0.0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        open_hosts.change(HostSteps(), [0], 0.0, 1.0)
    assert open_hosts.again([7], 5.0, 6.0, 1.0, 0.0) is None


def test_a_copy_knows_its_own_future(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in KINDS:
        case = Case(Random(3), kind, monkeypatch)
        case.ask()
        other = copy.deepcopy(case)
        for each in (case, other):
            for _ in range(20):
                each.turn()
                each.ask()
        assert other.open_hosts._timeline is other.timeline
        assert other.timeline.watcher == other.open_hosts._changed


def test_many_kinds_are_not_all_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_MOST_KNOWN", 1)
    case = Case(Random(1), PythonOpenHosts, monkeypatch)
    first, second, _ = case.kinds
    assert case.open_hosts.of(first, 0.0) is not None
    assert case.open_hosts.of(second, 0.0) is None
    case.timeline.restart(dict.fromkeys(case.hosts, WHOLE), 0.0)
    assert case.open_hosts.of(second, 0.0) is not None
