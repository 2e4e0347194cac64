"""Host sets as arguments of MessageBuilder: every form becomes the canonical string, and Batsim gets no other."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from calls import adding, built, refusal
from hypothesis import given
from hypothesis import strategies as st
from procset import ProcSet

from batprotocol import model
from batprotocol.builder import MessageBuilder
from batprotocol.errors import BuilderError
from batprotocol.model import (
    AllocationPlacement,
    HostResources,
    OneShot,
    ProfileAllocationPlacement,
    format_hosts,
    parse_hosts,
)

WITHOUT_ENGINE = True

HOSTED: dict[str, Callable[[Any], Callable[[MessageBuilder], None]]] = {
    "allocation.host_allocation": lambda hosts: lambda b: b.add_execute_job("w0!1", hosts),
    "profile_allocation_override[0].host_allocation": lambda hosts: (
        lambda b: b.add_execute_job("w0!1", "0", profile_overrides={"w0!a": hosts})
    ),
    "resources.host_ids": lambda hosts: lambda b: b.add_create_probe("power", hosts=hosts, trigger=OneShot(1)),
    "host_ids": lambda hosts: lambda b: b.add_turn_on_off_hosts(hosts, 1),
}
"""By the field's path, a call that takes hosts."""

hosted = pytest.mark.parametrize("path", sorted(HOSTED))


def field(call: Callable[[MessageBuilder], object], path: str) -> Any:
    """What the one event of this call has in the field at this path."""
    (found,) = built(call)
    thing: Any = found
    for step in re.findall(r"\w+", path):
        thing = thing[int(step)] if step.isdigit() else getattr(thing, step)
    return thing


@hosted
@given(hosts=st.frozensets(st.integers(0, 300), min_size=1), random=st.randoms(use_true_random=False))
def test_all_forms_of_a_host_set_become_the_canonical_string(path: str, hosts: frozenset[int], random: Any) -> None:
    once = [*hosts]
    shuffled = [*hosts, *random.choices(sorted(hosts), k=3)]
    random.shuffle(once)
    random.shuffle(shuffled)
    for twice in shuffled, tuple(shuffled), numpy.array(shuffled):
        with pytest.raises(BuilderError, match=r"expected each host once, got \d+ twice"):
            field(HOSTED[path](twice), path)
    forms = [
        once,
        hosts,
        iter(shuffled),
        ProcSet(*hosts),
        numpy.array(once),
        ",".join(map(str, shuffled)),
        f"  {' '.join(map(str, shuffled))}",
        str(ProcSet(*hosts)),
    ]
    texts = {field(HOSTED[path](form), path) for form in forms}
    (text,) = texts
    assert text == format_hosts(hosts)
    assert set(parse_hosts(text)) == hosts


@hosted
@pytest.mark.parametrize("hosts", [7, "7", "07", [7], ProcSet(7)])
def test_one_host(path: str, hosts: Any) -> None:
    assert field(HOSTED[path](hosts), path) == "7"


@hosted
def test_the_last_host_that_there_can_be(path: str) -> None:
    assert field(HOSTED[path](2**32 - 1), path) == "4294967295"
    assert refusal(MessageBuilder(), HOSTED[path](2**32)).reason.endswith("[0, 4294967295], got '4294967296'")


WRONG_HOSTS = [
    ("3-1", "3-1"),
    ("a", "a"),
    ("0--3", "0--3"),
    (-1, "-1"),
    ([0, -2], "-2"),
    (1.5, "1.5"),
    ([1.5], "1.5"),
    ([True], "True"),
    (True, "True"),
    (b"0", "b'0'"),
    ({"0": 1}, "{'0': 1}"),
    ("4294967296", "4294967296"),
    (2**32, "4294967296"),
    ("0-5000000000", "0-5000000000"),
    ("0 4294967296", "0 4294967296"),
    ("\ud800", "ud800"),
]


@hosted
@pytest.mark.parametrize(("hosts", "shown"), WRONG_HOSTS)
def test_wrong_host_sets_name_the_field(path: str, hosts: Any, shown: str) -> None:
    error = refusal(MessageBuilder(), HOSTED[path](hosts))
    assert error.path == path
    assert shown in error.reason


@hosted
def test_a_host_that_python_will_not_even_write(path: str) -> None:
    assert refusal(MessageBuilder(), HOSTED[path](10**5000)).path == path


@hosted
@pytest.mark.parametrize("hosts", ["", "  ", (), ProcSet()])
def test_empty_host_sets_that_batsim_cannot_take(path: str, hosts: Any) -> None:
    assert refusal(MessageBuilder(), HOSTED[path](hosts)).path == path


def test_no_host_changes_its_power_state() -> None:
    assert refusal(MessageBuilder(), lambda b: b.add_change_hosts_pstate("", 0)).path == "host_ids"


def test_host_sets_inside_events_become_canonical_too() -> None:
    execute = model.ExecuteJobEvent(
        job_id="w0!1",
        allocation=AllocationPlacement("3,2,1"),
        profile_allocation_override=(ProfileAllocationPlacement("w0!a", "2,1"),),
    )
    probe = model.CreateProbeEvent(
        probe_id="power", resources=HostResources("1,0"), measurement_triggering_policy=OneShot(1)
    )
    data = model.ProbeDataEmittedEvent(
        probe_id="power", resources=HostResources("1 0"), data=model.AggregatedProbeData(1.0)
    )
    changes = [
        kind(host_ids="5,4-4", pstate=1) for kind in (model.ChangeHostsPStateEvent, model.HostsPStateChangedEvent)
    ]
    turns = [kind(host_ids="5,4-4", state=1) for kind in (model.TurnOnOffHostsEvent, model.HostsTurnedOnOffEvent)]
    assert field(adding(execute), "allocation.host_allocation") == "1-3"
    assert field(adding(execute), "profile_allocation_override[0].host_allocation") == "1-2"
    assert field(adding(probe), "resources.host_ids") == "0-1"
    assert field(adding(data), "resources.host_ids") == "0-1"
    for event in [*changes, *turns]:
        assert field(adding(event), "host_ids") == "4-5"
    assert execute.allocation.host_allocation == "3,2,1"  # the event that was given stays as it was
