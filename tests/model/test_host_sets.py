"""Host sets by themselves, and in the values that hold them."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from procset import ProcSet

from batprotocol.errors import HostSetError, ProtocolError
from batprotocol.model import (
    AllocationPlacement,
    ChangeHostsPStateEvent,
    HostResources,
    HostsPStateChangedEvent,
    HostsTurnedOnOffEvent,
    ProfileAllocationPlacement,
    TurnOnOffHostsEvent,
    format_hosts,
    parse_hosts,
)
from batprotocol.testing import strategies as bat

WITHOUT_ENGINE = True

host_ids = st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1))
host_sets = st.sets(host_ids, max_size=30)
intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), max_size=12)


def written(hosts: set[int]) -> str:
    """The canonical string, from a model that knows nothing of interval sets."""
    parts = []
    for host in sorted(hosts):
        if host - 1 not in hosts:
            last = next(end for end in itertools.count(host) if end + 1 not in hosts)
            parts.append(str(host) if last == host else f"{host}-{last}")
    return " ".join(parts)


@given(host_sets)
def test_host_sets_are_written_in_canonical_form(hosts: set[int]) -> None:
    expected = written(hosts)
    for form in (hosts, sorted(hosts), tuple(hosts), ProcSet(*hosts), np.array(sorted(hosts), np.int64), iter(hosts)):
        assert format_hosts(form) == expected
    assert format_hosts(expected) == expected
    assert format_hosts(list(hosts) * 2) == expected
    assert set(parse_hosts(expected)) == hosts


@given(intervals, st.data())
def test_host_sets_are_read_in_any_form(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    separators = st.sampled_from((" ", ",", ", ", "  ", " ,", "\t", "\n"))
    text = data.draw(st.sampled_from(("", " ", ",")))
    for first, size in pairs:
        single = size == 0 and data.draw(st.booleans())
        text += (str(first) if single else f"{first}-{first + size}") + data.draw(separators)
    hosts = {host for first, size in pairs for host in range(first, first + size + 1)}
    found = parse_hosts(text)
    assert type(found) is ProcSet
    assert set(found) == hosts
    assert format_hosts(text) == written(hosts)


@given(bat.host_sets(canonical=True))
def test_canonical_strings_stay_as_they_are(text: str) -> None:
    assert format_hosts(text) == text


@given(bat.host_sets())
def test_any_text_is_a_host_set_or_refused(text: str) -> None:
    try:
        found = parse_hosts(text)
    except HostSetError:
        with pytest.raises(HostSetError, match="is not a host set"):
            format_hosts(text)
    else:
        assert parse_hosts(format_hosts(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "1-",
        "-",
        "1--2",
        "3-1",
        "a",
        "1.0",
        "+1",
        "0x10",
        "1_0",
        "٣",
        "1-2-3",
        "all",
        "1;2",
        "9" * 25,
        "1-" + "9" * 25,
    ],
)
def test_texts_that_are_no_host_sets(text: str) -> None:
    for form in (text, f"0 {text}", f"{text},5"):
        with pytest.raises(HostSetError, match="is not a host set"):
            parse_hosts(form)
        with pytest.raises(HostSetError, match="is not a host set"):
            format_hosts(form)


@pytest.mark.parametrize(
    "hosts", [-1, [-1], [1, -5], ["1"], [1.0], [None], [True], True, None, 1.5, b"1", {1: 2}, object()]
)
def test_things_that_are_no_host_sets(hosts: Any) -> None:
    with pytest.raises(HostSetError):
        format_hosts(hosts)
    with pytest.raises(HostSetError):
        HostResources(hosts)


def test_host_set_errors_are_both_kinds() -> None:
    assert issubclass(HostSetError, ProtocolError)
    assert issubclass(HostSetError, ValueError)
    with pytest.raises(HostSetError) as refused:
        parse_hosts("1 " * 500 + "x")
    assert len(str(refused.value)) < 200


HOLDERS: list[Any] = [
    lambda hosts: AllocationPlacement(hosts).host_allocation,
    lambda hosts: ProfileAllocationPlacement("p", hosts).host_allocation,
    lambda hosts: HostResources(hosts).host_ids,
    lambda hosts: ChangeHostsPStateEvent(host_ids=hosts, pstate=1).host_ids,
    lambda hosts: HostsPStateChangedEvent(host_ids=hosts, pstate=1).host_ids,
    lambda hosts: TurnOnOffHostsEvent(host_ids=hosts, state=1).host_ids,
    lambda hosts: HostsTurnedOnOffEvent(host_ids=hosts, state=1).host_ids,
]


@pytest.mark.parametrize("held", HOLDERS, ids=range(len(HOLDERS)))
def test_values_write_host_sets_and_leave_strings(held: Any) -> None:
    assert held([3, 1, 2, 8]) == held({1, 2, 3, 8}) == held(ProcSet((1, 3), 8)) == "1-3 8"
    assert (held(5), held([]), held(range(4)), held(np.int32(7))) == ("5", "", "0-3", "7")
    assert (held("3 1"), held("whatever"), held("")) == ("3 1", "whatever", "")


@given(st.lists(host_ids, max_size=8), st.sampled_from(HOLDERS))
def test_values_take_each_host_once(hosts: list[int], held: Any) -> None:
    """As the builder does: a host that is named twice is a mistake, and would be dropped in silence."""
    for given_hosts in (hosts, tuple(hosts), np.array(hosts, dtype=np.uint64)):
        if len(hosts) == len(set(hosts)):
            assert held(given_hosts) == written(set(hosts))
        else:
            with pytest.raises(HostSetError, match=r"expected each host once, got \d+ twice"):
                held(given_hosts)


@pytest.mark.parametrize(
    "value",
    [
        AllocationPlacement("0-3 8"),
        ProfileAllocationPlacement("p", "0-3 8"),
        HostResources("0-3 8"),
        ChangeHostsPStateEvent(host_ids="0-3 8", pstate=1),
        HostsPStateChangedEvent(host_ids="0-3 8", pstate=1),
        TurnOnOffHostsEvent(host_ids="0-3 8", state=1),
        HostsTurnedOnOffEvent(host_ids="0-3 8", state=1),
    ],
)
def test_hosts_are_a_set_on_request(value: Any) -> None:
    assert value.hosts == ProcSet((0, 3), 8)
    name = "host_allocation" if hasattr(value, "host_allocation") else "host_ids"
    with pytest.raises(HostSetError):
        _ = msgspec.structs.replace(value, **{name: "5-1"}).hosts
