"""Hypervisors in memory: machines are somewhere, once, and what is refused changes nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from batprotocol.fast.runtime.hypervisor import (
    DEEDS,
    DEFAULT_TIMES,
    Hypervisors,
    Luck,
    Settings,
    TaskRefusal,
    VirtualMachine,
    matching,
    name_in,
)

WITHOUT_ENGINE = True
HOSTS = ("a", "b", "c")
CORES = 4
hosts = st.sampled_from(HOSTS)
names = st.sampled_from(["vm1", "vm2", "vm3", "vm4"])
maps = st.none() | st.lists(st.lists(st.integers(0, CORES), max_size=2), max_size=3).map(lambda x: tuple(map(tuple, x)))


class Clusters(RuleBasedStateMachine):
    """Whatever is asked for, against a plain model: a set of (host, name, suspended)."""

    def __init__(self) -> None:
        super().__init__()
        self.hypervisors = Hypervisors(HOSTS, CORES)
        self.model: dict[tuple[str, str], bool] = {}

    def state(self) -> list[dict[str, VirtualMachine]]:
        return [dict(self.hypervisors.machines(host)) for host in HOSTS]

    def tried(self, name: str, *arguments: Any) -> bool:
        before = self.state()
        try:
            getattr(self.hypervisors, name)(*arguments)
        except TaskRefusal:
            refused = True
        else:
            refused = False
        assert not refused or self.state() == before
        return not refused

    @rule(host=hosts, name=names, vcpus=st.integers(1, 3), vcpu_map=maps)
    def start(self, host: str, name: str, vcpus: int, vcpu_map: Any) -> None:
        if self.tried("start", host, VirtualMachine(name, vcpus, vcpu_map)):
            assert (host, name) not in self.model
            assert vcpu_map is None or len(vcpu_map) == vcpus
            self.model[host, name] = False

    @rule(host=hosts, name=names)
    def stop(self, host: str, name: str) -> None:
        assert self.tried("stop", host, name) == ((host, name) in self.model)
        self.model.pop((host, name), None)

    @rule(host=hosts, name=names)
    def suspend(self, host: str, name: str) -> None:
        if self.tried("suspend", host, name):
            self.model[host, name] = True
        assert self.model.get((host, name), True)

    @rule(host=hosts, name=names)
    def resume(self, host: str, name: str) -> None:
        assert self.tried("resume", host, name) == self.model.get((host, name), False)
        if (host, name) in self.model:
            self.model[host, name] = False

    @rule(host=hosts, name=names, vcpu_map=maps.filter(lambda x: x is not None))
    def repin(self, host: str, name: str, vcpu_map: Any) -> None:
        if self.tried("repin", host, name, vcpu_map):
            assert self.hypervisors.machines(host)[name].vcpu_map == vcpu_map

    @rule(host=hosts, name=names, destination=st.sampled_from([*HOSTS, "d"]), vcpu_map=maps)
    def migrate(self, host: str, name: str, destination: str, vcpu_map: Any) -> None:
        if self.tried("migrate", host, name, destination, vcpu_map):
            assert (destination, name) not in self.model
            self.model[destination, name] = self.model.pop((host, name))

    @rule(host=hosts, name=names, destination=hosts, other=names)
    def swap(self, host: str, name: str, destination: str, other: str) -> None:
        if self.tried("migrate", host, name, destination, None, other):
            going, coming = self.model.pop((host, name)), self.model.pop((destination, other))
            self.model[destination, name], self.model[host, other] = going, coming

    @rule(host=hosts, others=st.lists(hosts), compact=st.booleans(), overbooking=st.booleans())
    def spread(self, host: str, others: list[str], compact: bool, overbooking: bool) -> None:
        others = [each for each in others if each != host]
        found = self.hypervisors.spread(host, others, compact=compact, overbooking=overbooking)
        assert tuple(found) == self.hypervisors.names(host)
        assert set(found.values()) <= {*others, None}
        assert None not in found.values() or not others or not overbooking
        if not overbooking:
            for each in set(others):
                coming = [self.hypervisors.machines(host)[name].vcpus for name, to in found.items() if to == each]
                there = [machine.vcpus for machine in self.hypervisors.machines(each).values()]
                assert not coming or sum(coming + there) <= CORES

    @invariant()
    def machines_are_where_the_model_has_them(self) -> None:
        found = {
            (host, name): machine.is_suspended
            for host in HOSTS
            for name, machine in self.hypervisors.machines(host).items()
        }
        assert found == self.model
        for host in HOSTS:
            for machine in self.hypervisors.machines(host).values():
                assert machine.vcpu_map is None or len(machine.vcpu_map) == machine.vcpus
        for _, name in self.model:
            assert (self.hypervisors.host_of(name), name) in self.model


@pytest.mark.slow
def test_machines_are_somewhere_once() -> None:
    run_state_machine_as_test(Clusters, settings=settings(max_examples=60, stateful_step_count=30))


@pytest.mark.parametrize("xml", ["", "<domain></domain>", "<name>", "<name></name>", "name"])
def test_a_definition_without_a_name(xml: str) -> None:
    with pytest.raises(TaskRefusal, match=r"^Could not find vm-name in xml\.$"):
        name_in(xml)


def test_names_that_match() -> None:
    running = ["centos1", "centos22", "other"]
    assert matching(r"centos\d+", running) == ("centos1", "centos22")
    assert matching(".*", running) == tuple(running)
    assert matching("centos", running) == ()
    assert matching("", running) == ()


@pytest.mark.parametrize("regex", ["(", "a{1000}{1000}{1000}", r"\1", "[", "*", "\ud800"])
def test_what_is_no_expression_is_refused(regex: str) -> None:
    with pytest.raises(TaskRefusal, match="regex_error"):
        matching(regex, ["vm"])


def test_no_expression_takes_long(capfd: pytest.CaptureFixture[str]) -> None:
    began = time.process_time()
    assert matching("(a+)+$", ["a" * 100_000 + "!"]) == ()
    assert matching("(a|aa)+" * 20, ["a" * 10_000 + "!"]) == ()
    assert time.process_time() - began < 2
    assert capfd.readouterr() == ("", "")


# Luck


@given(st.sampled_from(DEEDS), st.text(), st.integers(0, 1000))
def test_luck_is_that_of_the_seed(deed: str, what: str, seed: int) -> None:
    half = Settings(seed=seed, fail={deed: 0.5}, silent={deed: 0.5})
    one, two = ([Luck(half, "a").draw(deed, what) for _ in range(1)] for _ in range(2))
    assert one == two
    low, high = DEFAULT_TIMES[deed]
    assert low <= one[0].seconds <= high


def test_luck_is_as_often_as_asked() -> None:
    luck = Luck(Settings(fail={"start": 0.1}, silent={"stop": 0.2}), "a")
    fates = [luck.draw("start", f"vm{number % 7}") for number in range(1000)]
    assert 60 < sum(fate.fails for fate in fates) < 140
    assert not any(fate.is_silent for fate in fates)
    assert 150 < sum(luck.draw("stop", str(number)).is_silent for number in range(1000)) < 250


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"fail": {"fly": 0.1}}, "there is no 'fly', only start, stop"),
        ({"fail": {"start": 1.1}}, "fail start: expected a number from 0 to 1, got 1.1"),
        ({"bandwidth": {"vm": -1.0}}, "bandwidth vm: expected a number from 0 to 1"),
        ({"times": {"start": (2.0, 1.0)}}, "times start: expected seconds from 0 on, got 2 to 1"),
    ],
)
def test_settings_that_make_no_sense(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Settings(**asked)


def test_bandwidth_is_found_by_pattern() -> None:
    some = Settings(bandwidth={"stream*": 0.7})
    assert some.bandwidth_of("stream1") == 0.7
    assert 0.05 <= some.bandwidth_of("other") <= 0.5


@pytest.mark.parametrize(
    ("compact", "overbooking", "expected"),
    [
        (False, True, ["b", "c", "b", "c", "b", "c"]),
        (False, False, ["b", "c", "b", "c", None, None]),
        (True, True, ["b", "b", "c", "c", "c", "c"]),  # what fits nowhere goes to the last one
        (True, False, ["b", "b", "c", "c", None, None]),
    ],
)
def test_machines_are_spread(compact: bool, overbooking: bool, expected: list[str | None]) -> None:
    """Six machines of 2 virtual CPUs, and two hosts of 4 cores: evenly, or one after the other."""
    hypervisors = Hypervisors(HOSTS, CORES)
    for number in range(6):
        hypervisors.start("a", VirtualMachine(f"vm{number}", 2))
    found = hypervisors.spread("a", ["b", "nowhere", "c"], compact=compact, overbooking=overbooking)
    assert list(found.values()) == expected
    assert set(hypervisors.spread("a", [], compact=compact, overbooking=overbooking).values()) == {None}


@pytest.mark.parametrize("others", [["b"], ["b", "c"], ["b", "c", "d"]])
def test_what_fits_nowhere_goes_to_the_last_one(others: list[str]) -> None:
    hypervisors = Hypervisors("abcd", CORES)
    hypervisors.start("a", VirtualMachine("vm1", CORES + 1))
    assert hypervisors.spread("a", others, compact=True, overbooking=True) == {"vm1": others[-1]}
    assert hypervisors.spread("a", others, compact=True, overbooking=False) == {"vm1": None}


def test_what_runs_there_takes_room() -> None:
    hypervisors = Hypervisors(HOSTS, CORES)
    hypervisors.start("a", VirtualMachine("vm1", 2))
    hypervisors.start("b", VirtualMachine("vm2", 3))
    assert hypervisors.spread("a", ["b", "c"], compact=True, overbooking=False) == {"vm1": "c"}
    assert hypervisors.spread("a", ["b", "c"], compact=False, overbooking=True) == {"vm1": "c"}


@pytest.mark.parametrize(
    ("going", "coming", "words"),
    [
        ({"a": ["vm1"], "b": ["vm1"]}, None, "domain 'vm1' already exists on b"),
        ({"a": ["vm1", "vm2"], "b": ["vm2"]}, "vm2", "domain 'vm2' already exists on a"),
        ({"a": ["vm1"], "b": ["vm1"]}, "vm1", None),
        ({"a": ["vm1"], "b": ["vm2"]}, "vm2", None),
        ({"a": ["vm1"], "b": ["vm0"]}, "vm2", "no domain with matching name 'vm2'"),
    ],
)
def test_a_name_is_on_a_host_once(going: dict[str, list[str]], coming: str | None, words: str | None) -> None:
    hypervisors = Hypervisors(HOSTS, CORES)
    for host, there in going.items():
        for name in there:
            hypervisors.start(host, VirtualMachine(name))
    if words is None:
        hypervisors.migrate("a", "vm1", "b", None, coming)
        assert (hypervisors.names("a"), hypervisors.names("b")) == ((coming,), ("vm1",))
    else:
        with pytest.raises(TaskRefusal, match=words):
            hypervisors.migrate("a", "vm1", "b", None, coming)
