"""Hosts that fail and come back, through the translations between the ages, in JSON and in text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_translate import FCFS, Through, schedule

from batprotocol import model
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.wire import decode, encode
from batprotocol.legacy.text import wire as text_wire
from batprotocol.legacy.text.runtime import from_json, to_json
from batprotocol.legacy.translate import Options, ToOldBatsim, ToOldScheduler
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies import named
from batprotocol.simulator import ExternalEventList, Platform, Result, StaticJob, Workload, simulate
from batprotocol.workloads.host_events import HostChange, HostEvent, Window, read_host_event

WITHOUT_ENGINE = True
NOTIFICATIONS = {HostChange.DOWN: "event_machine_unavailable", HostChange.UP: "event_machine_available"}

hosts = st.sets(st.integers(0, 40), min_size=1).map(frozen_hosts)
changes = st.sampled_from(list(NOTIFICATIONS))


def occurred(data: str) -> model.Message:
    event = model.ExternalEventOccurredEvent(id="ee0!0", external_event=model.GenericExternalEvent(data), timestamp=1.0)
    return model.Message(1.0, [event])


def data_of(message: model.Message) -> str:
    (event,) = message.events
    assert isinstance(event, model.ExternalEventOccurredEvent)
    return event.external_event.data


@given(hosts, changes, st.sampled_from(["3.0", "3.1", "4.0", "4.2"]))
def test_hosts_that_fail_go_there_and_back(given_hosts: model.HostSet, change: HostChange, version: str) -> None:
    event = HostEvent(frozen_hosts(given_hosts), change)
    down = ToOldScheduler(version)
    told = down.hear(occurred(event.to_data()))
    assert told is not None
    assert told.events == (e.Notify(1.0, NOTIFICATIONS[change], extra={"resources": event.hosts.text}),)
    read = decode(encode(told, version), version, strict=True)
    assert read_host_event(data_of(ToOldBatsim(version).hear(read))) == event
    assert not list(down.report)


@given(hosts, changes)
def test_text_has_stamps_for_them(given_hosts: model.HostSet, change: HostChange) -> None:
    event = HostEvent(frozen_hosts(given_hosts), change)
    told = ToOldScheduler("1.4", Options(machine_events=True)).hear(occurred(event.to_data()))
    assert told is not None
    said, left = from_json(told, 3)
    assert not left
    data = text_wire.encode(said, 3)
    assert {HostChange.DOWN: b":F:", HostChange.UP: b":f:"}[change] in data
    read = to_json(text_wire.decode(data, 3))
    assert read_host_event(data_of(ToOldBatsim("1.4").hear(read))) == event


@pytest.mark.parametrize("version", ["1.4", "2.0"])
def test_before_they_are_left_out_with_a_line(version: str) -> None:
    down = ToOldScheduler(version)
    assert down.hear(occurred('{"hosts":"0","state":"down"}')) is None
    assert [loss.event for loss in down.report] == ["ExternalEventOccurredEvent"]


@pytest.mark.parametrize(
    "event",
    [HostEvent(frozen_hosts("3"), HostChange.DRAIN), Window(frozen_hosts("0-1"), 5.0, 9.0, "w", ("ann",))],
    ids=["drain", "window"],
)
def test_what_has_no_older_event_goes_as_it_is(event: HostEvent | Window) -> None:
    down = ToOldScheduler("4.2")
    told = down.hear(occurred(event.to_data()))
    assert told is not None
    assert told.events == (e.Notify(1.0, "external_event", extra=json.loads(event.to_data())),)
    assert [loss.event for loss in down.report] == ["ExternalEventOccurredEvent"]
    assert read_host_event(data_of(ToOldBatsim("4.2").hear(told))) == event


@pytest.mark.parametrize("extra", [{}, {"resources": "x"}, {"resources": ""}, {"resources": 3}], ids=str)
def test_a_machine_event_without_machines_stays_what_it_is(extra: dict[str, object]) -> None:
    said = e.Message(1.0, (e.Notify(1.0, "event_machine_available", extra=extra),))
    data = data_of(ToOldBatsim("4.2").hear(said))
    assert json.loads(data) == {"type": "event_machine_available", **extra}


class Listening(FCFS):
    """First come, first served; it notes the events of hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[float, HostEvent | Window | None]] = []

    def on_external_event_occurred(self, event: model.ExternalEventOccurredEvent) -> None:
        self.heard.append((event.timestamp, read_host_event(event.external_event.data)))


@pytest.mark.parametrize(("version", "text"), [("4.2", False), ("1.4", True)], ids=["4.2", "text-3"])
def test_a_scheduler_hears_the_same_through_two_translations(version: str, text: bool) -> None:
    jobs = [StaticJob(str(number), number * 3.0, 1, model.DelayProfile(5.0)) for number in range(6)]
    failures = [(4.0, '{"hosts":"1-2","state":"down"}'), (9.5, '{"hosts":"1","state":"up"}')]
    events = ExternalEventList.of(failures)
    plain, translated = Listening(), Listening()
    through = Through(translated, version, Options(machine_events=text, forward_profiles=True), text)
    expected = simulate(Platform.homogeneous(4), Workload(jobs), plain, external_events=[events])
    result = simulate(Platform.homogeneous(4), Workload(jobs), through, external_events=[events])
    assert schedule(result) == schedule(expected)
    assert len(plain.heard) == len(failures)
    assert [event for _, event in translated.heard] == [event for _, event in plain.heard]
    times = [time for time, _ in plain.heard]
    assert [time for time, _ in translated.heard] == pytest.approx(times, abs=1e-6)  # text has six decimals


FAILING = [
    *((40.0, '{"hosts":"0-3","state":"down"}'), (90.5, '{"hosts":"0-3","state":"up"}')),
    *((95.0, '{"hosts":"2","state":"down"}'), (300.25, '{"hosts":"2","state":"up"}')),
]


def lives(result: Result) -> list[object]:
    """Each row of jobs.csv, in the order of ids; times to the millisecond."""
    assert result.is_complete
    return sorted(
        (
            f"{row.workload_name}!{row.job_id}",
            row.final_state.name,
            *(-1.0 if time is None else round(time, 3) for time in (row.starting_time, row.finish_time)),
            row.allocated_resources,
        )
        for row in result.jobs
    )


@pytest.mark.parametrize("version", ["3.1", "4.2"])
@pytest.mark.parametrize("name", ["easy", "easy-sjf+requeue", "conservative+requeue=1,last"])
def test_jobs_of_hosts_that_fail_end_alike_through_machine_events(name: str, version: str) -> None:
    jobs = Workload(
        StaticJob(str(number), number * 11.0, number % 5 + 1, model.DelayProfile(30.0 + number * 7 % 90), 250.0)
        for number in range(16)
    )
    events, machine = ExternalEventList.of(FAILING), Platform.homogeneous(8)
    expected = simulate(machine, jobs, named(name)(), external_events=[events])
    through = Through(named(name)(), version, Options(dynamic=name != "easy", forward_profiles=True))
    result = simulate(machine, jobs, through, external_events=[events])
    assert lives(result) == lives(expected)
    assert ("requeue" in name) == any("~" in row.job_id for row in result.jobs)
