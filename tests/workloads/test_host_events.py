"""Events of hosts: read as they are written, refused with the key, and followed through any sequence."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model.hosts import frozen_hosts
from batprotocol.workloads.host_events import (
    HostChange,
    HostEvent,
    HostStates,
    Window,
    host_event_schema,
    read_host_event,
)
from batprotocol.workloads.host_events.events import EVENT_KEYS, FLAGS, STATES, WINDOW_KEYS

WITHOUT_ENGINE = True
SCHEMA = jsonschema.Draft202012Validator(host_event_schema())

names = st.text(min_size=1, max_size=5).filter(lambda text: text.strip() == text)
hosts = st.sets(st.integers(0, 11), min_size=1).map(frozen_hosts)
changes = st.builds(HostEvent, hosts, st.sampled_from(HostChange), st.just("") | names)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    begin = draw(st.integers(0, 50))
    return Window(
        draw(hosts),
        float(begin),
        float(draw(st.integers(begin + 1, begin + 20))),
        draw(st.just("") | names),
        tuple(draw(st.lists(names | st.integers(0, 9), max_size=2, unique=True))),
        tuple(draw(st.lists(names, max_size=2, unique=True))),
        draw(st.sampled_from([frozenset(), frozenset(FLAGS)])),
    )


events = changes | windows()


@given(events)
def test_events_are_read_as_they_are_written(event: HostEvent | Window) -> None:
    data = event.to_data()
    assert read_host_event(data) == event
    SCHEMA.validate(json.loads(data))


def test_the_tables_have_all_keys() -> None:
    assert list(STATES) == [each.value for each in HostChange]
    assert set(host_event_schema()["properties"]) == set(EVENT_KEYS)
    assert set(WINDOW_KEYS) | {"hosts"} == set(Window.__struct_fields__)
    jsonschema.Draft202012Validator.check_schema(host_event_schema())


@pytest.mark.parametrize(
    "data",
    ["", "down", "[]", "{}", "3", '{"hosts": "0"}', '{"state": "down"}', '{"window": {}}', '{"rack": 3, "state": "x"}',
     '{"type": "x", "state": ', '"hosts"', '["hosts", "state"]', '{"hosts": "0", "other": "\\ud800"}', "[" * 9999,
     '{"a": {"hosts": "0", "state": "down"}}'],
)  # fmt: skip
def test_other_data_are_about_something_else(data: str) -> None:
    assert read_host_event(data) is None


def test_other_keys_have_no_effect() -> None:
    data = '{"type": "event_machine_unavailable", "hosts": " 3, 0-1 ", "st\\u0061te": "down", "rack": [1]}'
    assert read_host_event(data) == HostEvent(frozen_hosts("0-1 3"), HostChange.DOWN)


BAD: list[tuple[dict[str, Any] | str, str]] = [
    ({"hosts": "", "state": "down"}, "hosts"),
    ({"hosts": "3-1", "state": "down"}, "hosts"),
    ({"hosts": "n0", "state": "down"}, "hosts"),
    ({"hosts": 3, "state": "down"}, "hosts"),
    ({"hosts": "0", "state": "dwon"}, "state"),
    ({"hosts": "0", "state": "DOWN"}, "state"),
    ({"hosts": "0", "state": None}, "state"),
    ({"hosts": "0", "state": "down", "window": {"begin": 1, "end": 2}}, "state"),
    ({"hosts": "0", "state": "down", "reason": 3}, "reason"),
    ({"hosts": "0", "window": 3}, "window"),
    ({"hosts": "0", "window": {}}, "window.begin"),
    ({"hosts": "0", "window": {"begin": "1", "end": 2}}, "window.begin"),
    ({"hosts": "0", "window": {"begin": -1, "end": 2}}, "window.begin"),
    ({"hosts": "0", "window": {"begin": True, "end": 2}}, "window.begin"),
    ({"hosts": "0", "window": {"begin": 1, "end": 1e300}}, "window.end"),
    ({"hosts": "0", "window": {"begin": 1}}, "window.end"),
    ({"hosts": "0", "window": {"begin": 2, "end": 1}}, "window.end"),
    ({"hosts": "0", "window": {"begin": 1, "end": 1}}, "window.end"),
    ({"hosts": "0", "window": {"begin": 1, "end": 2, "user": "ann"}}, "window"),
    ({"hosts": "0", "window": {"begin": 1, "end": 2, "name": 3}}, "window.name"),
    ({"hosts": "0", "window": {"begin": 1, "end": 2, "users": 3}}, "window.users"),
    ({"hosts": "0", "window": {"begin": 1, "end": 2, "users": ["a", None]}}, "window.users"),
    ({"hosts": "0", "window": {"begin": 1, "end": 2, "accounts": [3]}}, "window.accounts"),
    ({"hosts": "0", "window": {"begin": 1, "end": 2, "flags": "DAILY"}}, "window.flags"),
    ('{"hosts": "0", "window": {"begin": NaN, "end": 2}}', ""),
    ('{"hosts": "0", "state": "down"', ""),
]


@pytest.mark.parametrize(("data", "path"), BAD, ids=str)
def test_bad_values_are_refused_with_their_key(data: dict[str, Any] | str, path: str) -> None:
    with pytest.raises(InputError) as caught:
        read_host_event(data if isinstance(data, str) else json.dumps(data))
    assert caught.value.path == path
    compares = path == "window.end" or (isinstance(data, dict) and data["hosts"] == "3-1")  # which no schema can
    if isinstance(data, dict) and not compares:
        assert not SCHEMA.is_valid(data)


keys = st.sampled_from(["hosts", "state", "window", "begin", "end", "users", "flags"])
values = st.recursive(st.none() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(keys, each))


@given(st.text() | values.map(json.dumps))
def test_nothing_else_is_raised(data: str) -> None:
    with contextlib.suppress(InputError):
        read_host_event(data)


def test_who_may_use_a_window() -> None:
    window = Window(frozen_hosts("0"), 1.0, 2.0, users=("ann", 7), accounts=("physics",))
    assert window.allows("ann", "physics")
    assert window.allows("7", "physics")
    assert not window.allows("ann", None)
    assert not window.allows("eve", "physics")
    assert Window(frozen_hosts("0"), 1.0, 2.0, accounts=("physics",)).allows(None, "physics")
    assert not Window(frozen_hosts("0"), 1.0, 2.0).allows("ann", "physics")


# Sequences


class Slow:
    """The same, host by host and second by second: windows have whole seconds."""

    def __init__(self, count: int) -> None:
        self.states = dict.fromkeys(range(count), "up")
        self.taken: set[tuple[int, int]] = set()

    def take(self, time: float, event: HostEvent | Window) -> bool:
        if not set(event.hosts) <= set(self.states):
            return False
        if isinstance(event, Window):
            cells = {(host, at) for host in event.hosts for at in range(int(event.begin), int(event.end))}
            if event.begin < time or cells & self.taken:
                return False
            self.taken |= cells
            return True
        new = event.state.value
        before = {self.states[host] for host in event.hosts}
        if before & {"up": {"up"}, "down": {"down"}, "drain": {"drain", "down"}}[new]:
            return False
        self.states.update(dict.fromkeys(event.hosts, new))
        return True


@given(st.lists(st.tuples(st.integers(0, 60), events), max_size=30))
def test_states_are_those_of_each_host(sequence: list[tuple[int, HostEvent | Window]]) -> None:
    states, slow = HostStates(10), Slow(10)
    for time, event in sorted(sequence, key=lambda each: each[0]):
        try:
            states.take(float(time), event)
            taken = True
        except InputError as error:
            taken = error.path not in ("hosts", "state", "window", "window.begin")
        assert taken == slow.take(time, event)
        assert set(states.down) == {host for host, state in slow.states.items() if state == "down"}
        assert set(states.drained) == {host for host, state in slow.states.items() if state == "drain"}
        assert all(window.end > time or not isinstance(event, Window) or not taken for window in states.windows)


def test_there_may_be_no_hosts() -> None:
    with pytest.raises(InputError, match="none"):
        HostStates(0).take(0.0, HostEvent(frozen_hosts("0"), HostChange.DOWN))
    assert math.isfinite(len(HostStates(0).down))
