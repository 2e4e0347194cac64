"""Power states of hosts: changes at once, and turning on and off, which takes time.

Functions named `read_...` report what Batsim refuses when it reads an event, in any state. The others check the event
against the state, and change the state if nothing is wrong. Jobs matter here only as holders of hosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from batprotocol import model
from batprotocol._util.counting import step
from batprotocol.conversation.automaton import HostPower
from batprotocol.conversation.hostsets import HostCounts, HostSetText, describe, mask_of, members
from batprotocol.conversation.state import ConversationState, HostRecord
from batprotocol.errors import shown

__all__ = [
    "change_pstate",
    "host_records",
    "note_power",
    "pstate_changed",
    "read_change_pstate",
    "read_turn_on_off",
    "sleeps_of",
    "some_holders",
    "turn_on_off",
    "turned_on_off",
    "why_asleep",
]

_SHOWN_JOBS: Final = 3
_RESTING: Final = (HostPower.ON, HostPower.ASLEEP)
_SLEEP_PSTATES: Final = "sleep_pstates"
"""The host property of Batsim's platforms: `sleep:off:on, ...`, a sleep state and the virtual states on its way."""
_SLEEP_PSTATE = re.compile(r"\s*([0-9]{1,9}):([0-9]{1,9}):([0-9]{1,9})\s*", re.ASCII)
_SURELY: Final = 0.95
"""The share of a switch's duration before which it is certainly not done, independent of the duration of messages."""


@lru_cache(maxsize=256)
def _sleep_pstates(text: str) -> dict[int, tuple[int, int]]:
    """Sleep states, with the virtual states for switching off and on."""
    found = (_SLEEP_PSTATE.fullmatch(part) for part in text.split(","))
    return {int(each[1]): (int(each[2]), int(each[3])) for each in found if each}


def sleeps_of(host: model.Host) -> dict[int, tuple[int, int]]:
    """The sleep states of a host, each with the virtual states for switching off and on."""
    for entry in host.properties or ():
        if entry.key == _SLEEP_PSTATES:
            return _sleep_pstates(entry.value)
    return {}


# Changes at once


def read_change_pstate(state: ConversationState, event: model.ChangeHostsPStateEvent) -> None:
    """ChangeHostsPStateEvent: a host set that Batsim can read."""
    state.readable_hosts(event.host_ids, "host_ids")


def change_pstate(state: ConversationState, event: model.ChangeHostsPStateEvent) -> None:
    """ChangeHostsPStateEvent: hosts and a power state that exist.

    Batsim does it for any kind of power state. In a sleep or virtual one, the host cannot compute.
    """
    read_change_pstate(state, event)
    hosts = state.known_hosts(event.host_ids, "host_ids")
    if hosts is None:
        return
    records = _records(state, hosts)
    _check_pstate(state, records, event.pstate, "pstate")
    for record in records:
        kind = record.kind(event.pstate)
        if kind != "computation":
            state.report("hosts.pstate-sleep", "pstate", f"{event.pstate} is a {kind} state of host {record.host.id}")
            break
    switching = [record for record in records if record.at(event.timestamp).power not in _RESTING]
    if switching:
        text = f"host {switching[0].host.id} is {switching[0].power.meaning}"
        state.report("hosts.change-switching", "host_ids", text)
    if not state.takes_effect():
        return
    for record in switching:  # its flop is executed at another speed, and may be nearly done
        record.ready_at = min(record.ready_at, max(event.timestamp, state.now))
    for record in records:
        record.change(event.pstate)
        record.changed, record.other = event.pstate, -1
    note_power(state, records)
    change = (hosts.mask, event.pstate)
    state.pstate_changes_due[change] = state.pstate_changes_due.get(change, 0) + 1
    state.changing.add(hosts.mask)


def _records(state: ConversationState, hosts: HostSetText) -> list[HostRecord]:
    return [state.hosts[host] for host in members(hosts.mask) if host in state.hosts]


def note_power(state: ConversationState, records: Iterable[HostRecord]) -> None:
    """Record whether there are hosts that may not be able to compute."""
    awake: list[tuple[int, int]] = []
    asleep: list[tuple[int, int]] = []
    for record in records:
        step()
        computes = record.power is HostPower.ON and record.kind(record.pstate) == "computation"
        (awake if computes else asleep).append((record.host.id, record.host.id))
    if state.asleep:
        state.asleep &= ~mask_of(awake)
    state.asleep |= mask_of(asleep)


def why_asleep(state: ConversationState, host: int, time: float) -> str | None:
    """The reason why a host cannot compute at this time, or None if it can or possibly can."""
    record = state.hosts[host].at(time)
    if record.power is not HostPower.ON:
        return record.power.meaning
    kind = record.kind(record.pstate)
    # Batsim looks at the power state of a host that is on only where it simulates energy.
    if kind == "computation" or state.has_energy is False:
        return None
    return f"in power state {record.pstate}, a {kind} state"


def _check_pstate(state: ConversationState, records: list[HostRecord], pstate: int, path: str) -> None:
    for record in records:
        if pstate >= record.host.pstate_count:
            text = f"host {record.host.id} has power states 0 to {record.host.pstate_count - 1}, not {pstate}"
            state.report("hosts.pstate-unknown", path, text)
            return


def pstate_changed(state: ConversationState, event: model.HostsPStateChangedEvent) -> None:
    """HostsPStateChangedEvent: a change that was requested."""
    hosts = state.known_hosts(event.host_ids, "host_ids")
    change = (0 if hosts is None else hosts.mask, event.pstate)
    due = state.pstate_changes_due.get(change, 0)
    if due > 1:
        state.pstate_changes_due[change] = due - 1
    elif due:
        del state.pstate_changes_due[change]
    if due and hosts is not None:
        state.changing.remove(hosts.mask)
        _take_over(state, hosts, event.pstate)
    elif hosts is not None:
        text = f"power state {event.pstate} was not requested for {shown(event.host_ids)}"
        state.report("hosts.changed-unasked", "host_ids", text)


def _take_over(state: ConversationState, hosts: HostSetText, pstate: int) -> None:
    """Take the power state that Batsim reports, for the hosts that no later change is due for."""
    later = state.changing.some
    records = [record for record in _records(state, hosts) if not later >> record.host.id & 1]
    for record in records:
        record.change(pstate)
        record.other = -1
    note_power(state, records)


# On and off


def read_turn_on_off(state: ConversationState, event: model.TurnOnOffHostsEvent) -> None:
    """TurnOnOffHostsEvent: a host set that Batsim can read."""
    state.readable_hosts(event.host_ids, "host_ids")


def turn_on_off(state: ConversationState, event: model.TurnOnOffHostsEvent) -> None:
    """TurnOnOffHostsEvent: hosts that are all on and idle, to a sleep state, or all off, to a computation state."""
    read_turn_on_off(state, event)
    hosts = state.known_hosts(event.host_ids, "host_ids")
    if hosts is None:
        return
    records = _records(state, hosts)
    _check_pstate(state, records, event.state, "state")
    for record in records:
        if not _can_turn(state, record, event):
            break
    busy = hosts.mask & state.held.counts.some
    if busy and event.timestamp <= state.now:  # later, its jobs may have ended
        text = f"{describe(busy)}: {some_holders(state, hosts)} still run"
        state.report("hosts.turn-busy", "host_ids", text)
    if state.refused:
        return
    state.switches_due.setdefault(event.state, HostCounts()).add(hosts.mask)
    for record in records:
        virtual = record.begin(event.state)
        record.changed, record.other = -1, -1
        record.ready_at = max(event.timestamp, state.now) + _SURELY * _duration(record, virtual)
    note_power(state, records)


def some_holders(state: ConversationState, hosts: HostSetText) -> str:
    """The names of some jobs that hold any of these hosts."""
    holders = state.held.holders(hosts, _SHOWN_JOBS + 1)
    names = ", ".join(map(shown, sorted(holders[:_SHOWN_JOBS])))
    return f"{names} and others" if len(holders) > _SHOWN_JOBS else names


def _can_turn(state: ConversationState, record: HostRecord, event: model.TurnOnOffHostsEvent) -> bool:
    """Whether the host can be turned to this power state now; reported if not."""
    power = record.at(event.timestamp)
    found = power.obstacle(event.state)
    if found is not None and record.other >= 0 and power.kind(record.other) != power.kind(power.pstate):
        return True  # it may be in another state, from which it can be turned
    if found is not None:
        rule, reason = found
        if rule == "hosts.turn-switching":
            state.report("hosts.turn-switching", "host_ids", f"host {record.host.id} is {reason}")
        else:
            state.report("hosts.turn-direction", "state", f"host {record.host.id} is {reason}")
    return found is None


def _duration(record: HostRecord, virtual: int) -> float:
    """How long the switch takes: one flop in the virtual state on the way. Infinite if the speed is unknown."""
    speeds = record.host.computation_speed
    return 1.0 / speeds[virtual] if 0 <= virtual < len(speeds) and speeds[virtual] > 0 else float("inf")


def turned_on_off(state: ConversationState, event: model.HostsTurnedOnOffEvent) -> None:
    """HostsTurnedOnOffEvent: a requested switch is done."""
    hosts = state.known_hosts(event.host_ids, "host_ids")
    due = state.switches_due.get(event.state)
    if hosts is None or due is None or hosts.mask & ~due.some:
        text = f"a switch of {shown(event.host_ids)} to power state {event.state} was not requested"
        state.report("hosts.changed-unasked", "host_ids", text)
        return
    due.remove(hosts.mask)
    if not due.some:
        del state.switches_due[event.state]
    for record in _records(state, hosts):
        if record.target != event.state or record.power in _RESTING:
            continue  # one event reports all hosts of a request: this one has been turned again since
        record.end(event.state)
        if state.changing.some >> record.host.id & 1:
            record.change(record.changed)  # it was asked for, and is not reported yet
        elif hosts.size > 1 and record.changed >= 0:
            # The event reports the last host of a request: this one may have been changed after its own switch.
            record.other = record.changed
    note_power(state, _records(state, hosts))


def host_records(computing: tuple[model.Host, ...], storing: tuple[model.Host, ...]) -> dict[int, HostRecord]:
    """The hosts of a platform by id."""
    return {
        host.id: HostRecord(host.pstate, sleeps_of(host), HostPower.ON, -1, host, stores)
        for hosts, stores in ((computing, False), (storing, True))
        for host in hosts
    }
