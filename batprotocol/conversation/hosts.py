"""Power states of hosts: changes at once, and turning on and off, which takes time.

Functions named `read_...` report what Batsim refuses when it reads an event, whatever the state; the others judge the
event against the state, and change it if nothing is wrong. Jobs matter here only as holders of hosts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from batprotocol.conversation.automaton import HostPower
from batprotocol.conversation.hostsets import describe, members
from batprotocol.conversation.state import HostRecord, State
from batprotocol.errors import shown
from batprotocol.model import (
    ChangeHostsPStateEvent,
    Host,
    HostsPStateChangedEvent,
    HostsTurnedOnOffEvent,
    TurnOnOffHostsEvent,
)

__all__ = [
    "change_pstate",
    "host_records",
    "pstate_changed",
    "read_change_pstate",
    "read_turn_on_off",
    "turn_on_off",
    "turned_on_off",
]

_SLEEP_PSTATES: Final = "sleep_pstates"
"""The host property of Batsim's platforms: `sleep:off:on, ...`, a sleep state and the virtual states on its way."""
_SLEEP_PSTATE = re.compile(r"\s*([0-9]{1,9}):([0-9]{1,9}):([0-9]{1,9})\s*", re.ASCII)
_SURELY: Final = 0.95
"""Of the time that a switch takes: before that, it is surely not done, whatever messages cost."""


@lru_cache(maxsize=256)
def _sleep_pstates(text: str) -> dict[int, tuple[int, int]]:
    """Sleep states, with the virtual states for switching off and on."""
    found = (_SLEEP_PSTATE.fullmatch(part) for part in text.split(","))
    return {int(each[1]): (int(each[2]), int(each[3])) for each in found if each}


def _sleeps(host: Host) -> dict[int, tuple[int, int]]:
    for entry in host.properties or ():
        if entry.key == _SLEEP_PSTATES:
            return _sleep_pstates(entry.value)
    return {}


def _is_virtual(host: Host, pstate: int) -> bool:
    return any(pstate in states for states in _sleeps(host).values())


# Changes at once


def read_change_pstate(state: State, event: ChangeHostsPStateEvent) -> None:
    """ChangeHostsPStateEvent: a host set that Batsim can read."""
    state.readable_hosts(event.host_ids, "host_ids")


def change_pstate(state: State, event: ChangeHostsPStateEvent) -> None:
    """ChangeHostsPStateEvent: hosts and a power state that exist."""
    hosts = state.known_hosts(event.host_ids, "host_ids")
    if hosts is None:
        return
    if not hosts.intervals:
        state.report("hosts.empty-ignored", "host_ids", "no host changes its power state")
    records = [state.hosts[host] for host in members(hosts.mask) if host in state.hosts]
    _check_pstate(state, records, event.pstate, "pstate")
    sleeping = [record for record in records if event.pstate in _sleeps(record.host)]
    if sleeping:
        state.report("hosts.pstate-sleep", "pstate", f"{event.pstate} is a sleep state of host {sleeping[0].host.id}")
    if not state.refused:
        for record in records:
            record.pstate = event.pstate
        state.pstate_changes_due.append((hosts.mask, event.pstate))


def _check_pstate(state: State, records: list[HostRecord], pstate: int, path: str) -> None:
    for record in records:
        if pstate >= record.host.pstate_count:
            text = f"host {record.host.id} has power states 0 to {record.host.pstate_count - 1}, not {pstate}"
            state.report("hosts.pstate-unknown", path, text)
            return


def pstate_changed(state: State, event: HostsPStateChangedEvent) -> None:
    """HostsPStateChangedEvent: a change that was asked for."""
    hosts = state.known_hosts(event.host_ids, "host_ids")
    change = None if hosts is None else (hosts.mask, event.pstate)
    if change in state.pstate_changes_due:
        state.pstate_changes_due.remove(change)
    elif change is not None:
        text = f"nobody wanted power state {event.pstate} for {shown(event.host_ids)}"
        state.report("hosts.changed-unasked", "host_ids", text)


# On and off


def read_turn_on_off(state: State, event: TurnOnOffHostsEvent) -> None:
    """TurnOnOffHostsEvent: a host set that Batsim can read."""
    state.readable_hosts(event.host_ids, "host_ids")


def turn_on_off(state: State, event: TurnOnOffHostsEvent) -> None:
    """TurnOnOffHostsEvent: hosts that are all on and idle, to a sleep state, or all off, to a computation state."""
    hosts = state.known_hosts(event.host_ids, "host_ids")
    if hosts is None:
        return
    if not hosts.intervals:
        state.report("hosts.empty", "host_ids", "no host is turned on or off")
        return
    records = [state.hosts[host] for host in members(hosts.mask) if host in state.hosts]
    _check_pstate(state, records, event.state, "state")
    for record in records:
        if not _can_turn(state, record, event):
            break
    if hosts.mask & state.busy and event.timestamp <= state.now:  # later, its jobs may have ended
        busy = describe(hosts.mask & state.busy)
        state.report("hosts.turn-busy", "host_ids", f"{busy}: {', '.join(map(shown, state.holders(hosts)))} still run")
    if state.refused:
        return
    state.switches_due.append((hosts.mask, event.state))
    state.asleep |= hosts.mask
    for record in records:
        record.power = record.power_at(event.timestamp).steps[TurnOnOffHostsEvent]
        record.ready_at = max(event.timestamp, state.now) + _SURELY * _duration(record, event.state)
        record.pstate = event.state


def _can_turn(state: State, record: HostRecord, event: TurnOnOffHostsEvent) -> bool:
    """Whether the host can be turned to this power state now; reported if not."""
    host, power = record.host, record.power_at(event.timestamp)
    if TurnOnOffHostsEvent not in power.steps:
        state.report("hosts.turn-switching", "host_ids", f"host {host.id} is {power.meaning}")
        return False
    goes_to_sleep = event.state in _sleeps(host)
    is_asleep = record.pstate in _sleeps(host)
    if goes_to_sleep is not is_asleep and not _is_virtual(host, event.state):
        return True
    status = "off" if is_asleep else "on"
    kind = "a sleep" if goes_to_sleep else "a virtual" if _is_virtual(host, event.state) else "a computation"
    text = f"host {host.id} is {status} (power state {record.pstate}), and {event.state} is {kind} state"
    state.report("hosts.turn-direction", "state", text)
    return False


def _duration(record: HostRecord, pstate: int) -> float:
    """How long the switch takes: one flop in the virtual state on the way. Infinite if nobody has told."""
    sleeps, speeds = _sleeps(record.host), record.host.computation_speed
    virtual = sleeps[pstate][0] if pstate in sleeps else sleeps.get(record.pstate, (-1, -1))[1]
    if 0 <= virtual < len(speeds) and speeds[virtual] > 0:
        return 1.0 / speeds[virtual]
    return float("inf")


def turned_on_off(state: State, event: HostsTurnedOnOffEvent) -> None:
    """HostsTurnedOnOffEvent: a switch that was asked for is done."""
    hosts = state.known_hosts(event.host_ids, "host_ids")
    if hosts is None:
        return
    due = next((mask for mask, pstate in state.switches_due if pstate == event.state and hosts.mask & ~mask == 0), None)
    if due is None or not hosts.intervals:
        text = f"nobody turned {shown(event.host_ids)} to power state {event.state}"
        state.report("hosts.changed-unasked", "host_ids", text)
        return
    state.switches_due.remove((due, event.state))
    if due != hosts.mask:
        state.switches_due.append((due & ~hosts.mask, event.state))
    for host in members(hosts.mask):
        record = state.hosts.get(host)
        if record is not None and record.pstate == event.state:
            record.power = record.power.steps.get(HostsTurnedOnOffEvent, record.power)
            if record.power is HostPower.ON:
                state.asleep &= ~(1 << host)


def host_records(computing: tuple[Host, ...], storing: tuple[Host, ...]) -> dict[int, HostRecord]:
    """The hosts of a platform by id."""
    records = {host.id: HostRecord(host, False, host.pstate) for host in computing}
    records.update((host.id, HostRecord(host, True, host.pstate)) for host in storing)
    return records
