"""Calls and probes, which fire later, once or periodically.

Functions named `read_...` report what Batsim refuses when it reads an event, in any state. The others check the event
against the state, and change the state if nothing is wrong.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import Final

from batprotocol import model
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.conversation.state import CallRecord, ConversationState, ProbeRecord
from batprotocol.errors import shown

__all__ = [
    "call_me_later",
    "create_probe",
    "phrases",
    "probe_data",
    "read_create_probe",
    "requested_call",
    "stop_call",
    "stop_probe",
]

_IN_MILLISECONDS: Final = {model.TimeUnit.Second: 1000, model.TimeUnit.Millisecond: 1}
_PER_SECOND: Final = {model.TimeUnit.Second: 1.0, model.TimeUnit.Millisecond: 1000.0}
_UINT64: Final = 2**64
_MOST_PERIODS: Final = 100  # with more different periods, some do not divide one another: 2^64 has space for 64
_ROUNDING: Final = 1e-9  # JSON from Batsim has twelve decimals


def _milliseconds(trigger: model.Periodic) -> int:
    """The period as Batsim computes it: it wraps around like an uint64. 0 means that it is not valid."""
    return trigger.period * _IN_MILLISECONDS.get(trigger.time_unit, 0) % _UINT64


def _due(shot: model.OneShot) -> float:
    """When a one-shot trigger fires, in simulated seconds. Batsim takes unknown units for seconds."""
    return shot.time / _PER_SECOND.get(shot.time_unit, 1.0)


def _check_periodic(state: ConversationState, trigger: model.Periodic, path: str) -> None:
    """Report a periodic trigger that Batsim does not accept, alone or together with the running ones."""
    period = _milliseconds(trigger)
    if trigger.time_unit not in _IN_MILLISECONDS:
        state.report("trigger.time-unit", f"{path}.time_unit", f"{int(trigger.time_unit)} is not a time unit")
    elif period == 0:
        state.report("trigger.period-zero", f"{path}.period", f"a period of {trigger.period} is 0 milliseconds")
    else:
        running = islice(state.periods, _MOST_PERIODS)
        other = next((other for other in running if period % other and other % period), None)
        if other is not None:
            text = f"the periods of {period} ms and {other} ms do not divide one another"
            state.report("trigger.periods", f"{path}.period", text)
    if trigger.offset:
        state.report("trigger.offset", f"{path}.offset", f"the offset is {trigger.offset}")
    if isinstance(trigger.mode, model.FinitePeriodNumber) and trigger.mode.nb_periods == 0:
        state.report("trigger.no-periods", f"{path}.mode.nb_periods", "the trigger never fires")


def _start(state: ConversationState, what: str, trigger: model.TemporalTrigger) -> None:
    """Start a call or a probe."""
    state.pending += 1
    if isinstance(trigger, model.Periodic):
        period = _milliseconds(trigger)
        state.periods[period] = state.periods.get(period, 0) + 1
        if _periods(trigger) is None:
            state.endless += 1
            state.endless_news ^= {what}


def _end(state: ConversationState, what: str, trigger: model.TemporalTrigger) -> None:
    """End a call or a probe."""
    state.pending -= 1
    if isinstance(trigger, model.Periodic):
        period = _milliseconds(trigger)
        state.periods[period] -= 1
        if not state.periods[period]:
            del state.periods[period]
        if _periods(trigger) is None:
            state.endless -= 1
            state.endless_news ^= {what}


def _periods(trigger: model.Periodic) -> int | None:
    """The number of times that the trigger fires, or None for a trigger without end."""
    return trigger.mode.nb_periods if isinstance(trigger.mode, model.FinitePeriodNumber) else None


# Calls


def _order(call: CallRecord) -> float:
    """The order of calls with the same id: one-shot calls by their time, then the periodic call if there is one."""
    return _due(call.when) if isinstance(call.when, model.OneShot) else inf


def _periodic_call(state: ConversationState, name: str) -> CallRecord | None:
    calls = state.calls.get(name)
    return calls[-1] if calls and isinstance(calls[-1].when, model.Periodic) else None


def call_me_later(state: ConversationState, event: model.CallMeLaterEvent) -> None:
    """CallMeLaterEvent: a trigger that Batsim accepts, with an id. A periodic call needs its own id."""
    name, when = event.call_me_later_id, event.when
    if not name:
        state.report("call.no-id", "call_me_later_id", "the id is empty")
    possible = True
    if isinstance(when, model.Periodic):
        possible = _milliseconds(when) > 0
        _check_periodic(state, when, "when")
        if _periodic_call(state, name) is not None:
            possible = False
            state.report("call.id-in-use", "call_me_later_id", f"the periodic call {shown(name)} is still running")
    elif _due(when) < max(event.timestamp, state.now):
        text = f"call {shown(name)} is for {_due(when)}, and it is {max(event.timestamp, state.now)} already"
        state.report("call.past", "when.time", text)
    if state.takes_effect(possible):
        insort(state.calls.setdefault(name, []), CallRecord(when), key=_order)
        _start(state, f"call {name}", when)


def stop_call(state: ConversationState, event: model.StopCallMeLaterEvent) -> None:
    """StopCallMeLaterEvent: a periodic call that runs."""
    name = event.call_me_later_id
    call = _periodic_call(state, name)
    if call is None:
        state.report("call.stop-unknown", "call_me_later_id", f"no periodic call {shown(name)} is running")
    elif state.takes_effect():
        _end_call(state, name, call)
        state.closing_calls.add(name)


def requested_call(state: ConversationState, event: model.RequestedCallEvent) -> None:
    """RequestedCallEvent: a requested call, not too early."""
    name = event.call_me_later_id
    calls = state.calls.get(name)
    if not calls:
        # A call that was stopped may have fired while the reply was on its way.
        if name not in state.closing_calls:
            state.report("call.unasked", "call_me_later_id", f"no call {shown(name)} was requested")
        return
    call = calls[0]
    if event.last_periodic_call or _order(call) > event.timestamp:  # then it is the periodic one, if there is one
        call = _periodic_call(state, name) or call
    call.fired += 1
    if isinstance(call.when, model.OneShot):
        due = _due(call.when)
        if event.timestamp < due - abs(due) * _ROUNDING:
            state.report("call.early", "call_me_later_id", f"call {shown(name)} was requested for {due}")
        if event.last_periodic_call:
            state.report("call.last", "last_periodic_call", f"call {shown(name)} is not periodic")
        _end_call(state, name, call)
        return
    is_last = call.fired == _periods(call.when)
    if event.last_periodic_call is not is_last:
        text = f"call {shown(name)} has fired {call.fired} times of {_periods(call.when) or 'infinitely many'}"
        state.report("call.last", "last_periodic_call", text)
    if is_last or event.last_periodic_call:
        _end_call(state, name, call)


def _end_call(state: ConversationState, name: str, call: CallRecord) -> None:
    _end(state, f"call {name}", call.when)
    calls = state.calls[name]
    calls.pop(0 if call is calls[0] else -1)
    if not calls:
        del state.calls[name]


def phrases(state: ConversationState) -> Iterator[str]:
    """The pending calls and probes."""
    for name in state.calls:
        yield f"call {shown(name)}"
    for name in state.probes:
        yield f"probe {shown(name)}"


# Probes


def read_create_probe(state: ConversationState, event: model.CreateProbeEvent) -> None:
    """CreateProbeEvent: a host set that Batsim can read."""
    if isinstance(event.resources, model.HostResources):
        state.readable_hosts(event.resources.host_ids, "resources.host_ids")


def create_probe(state: ConversationState, event: model.CreateProbeEvent) -> None:
    """CreateProbeEvent: a probe that Batsim implements, on hosts that exist, with its own id."""
    read_create_probe(state, event)
    if not event.probe_id:
        state.report("probe.no-id", "probe_id", "the id is empty")
    elif event.probe_id in state.probes:
        state.report("probe.id-in-use", "probe_id", f"the probe {shown(event.probe_id)} is still running")
    for path, text in _not_implemented(event):
        state.report("probe.not-implemented", path, text)
    if isinstance(event.measurement_triggering_policy, model.Periodic):
        _check_periodic(state, event.measurement_triggering_policy, "measurement_triggering_policy")
    if isinstance(event.resources, model.HostResources):
        state.known_hosts(event.resources.host_ids, "resources.host_ids")
    if state.has_energy is False:
        state.report("probe.no-energy", "metrics", "Batsim was started without --energy-host")
    for path, text in _ignored(event):
        state.report("probe.ignored", path, text)
    trigger = event.measurement_triggering_policy
    is_new = event.probe_id not in state.probes
    if state.takes_effect(possible=is_new and (isinstance(trigger, model.OneShot) or _milliseconds(trigger) > 0)):
        state.probes[event.probe_id] = ProbeRecord(event)
        _start(state, f"probe {event.probe_id}", trigger)


def _not_implemented(event: model.CreateProbeEvent) -> list[tuple[str, str]]:
    """The parts of a probe that Batsim 5.0.0-rc2 does not implement: paths and sentences."""
    accumulation = event.data_accumulation_strategy
    parts = (
        (event.metrics != model.Metrics.Power, "metrics", f"{event.metrics.name} is not implemented"),
        (isinstance(event.resources, model.LinkResources), "resources", "links are not implemented"),
        (
            isinstance(event.measurement_triggering_policy, model.OneShot),
            "measurement_triggering_policy",
            "one-shot probes are not implemented",
        ),
        (
            not isinstance(accumulation, model.ProbeDataAccumulation),
            "data_accumulation_strategy",
            "probes without accumulation are not implemented",
        ),
        (
            isinstance(accumulation, model.ProbeDataAccumulation)
            and not isinstance(accumulation.reset_mode, model.NoReset),
            "data_accumulation_strategy.reset_mode",
            "reset is not implemented",
        ),
        (
            isinstance(event.resources_aggregation_function, model.QuantileFunction),
            "resources_aggregation_function",
            "quantiles are not implemented",
        ),
    )
    return [(path, text) for applies, path, text in parts if applies]


def _ignored(event: model.CreateProbeEvent) -> list[tuple[str, str]]:
    """The parts of a probe that Batsim 5.0.0-rc2 reads and ignores: paths and sentences."""
    accumulation = event.data_accumulation_strategy
    accumulated = (
        accumulation if isinstance(accumulation, model.ProbeDataAccumulation) else model.ProbeDataAccumulation()
    )
    parts = (
        (
            not isinstance(event.emission_filtering_policy, model.NoFiltering),
            "emission_filtering_policy",
            "all is emitted",
        ),
        (
            not isinstance(event.temporal_aggregation_function, model.NoTemporalAggregation),
            "temporal_aggregation_function",
            "nothing is aggregated over time",
        ),
        (
            accumulated.cumulative_function != model.CumulativeFunction.Sum,
            "data_accumulation_strategy.cumulative_function",
            "measures are summed",
        ),
        (
            accumulated.temporal_normalization,
            "data_accumulation_strategy.temporal_normalization",
            "nothing is divided by the time",
        ),
    )
    return [(path, text) for applies, path, text in parts if applies]


def stop_probe(state: ConversationState, event: model.StopProbeEvent) -> None:
    """StopProbeEvent: a probe that runs."""
    if event.probe_id not in state.probes:
        state.report("probe.stop-unknown", "probe_id", f"no probe {shown(event.probe_id)} is running")
    elif state.takes_effect():
        _end_probe(state, event.probe_id)
        state.closing_probes.add(event.probe_id)


def probe_data(state: ConversationState, event: model.ProbeDataEmittedEvent) -> None:
    """ProbeDataEmittedEvent: data of a running probe, in the requested shape."""
    probe = state.probes.get(event.probe_id)
    if probe is None:
        # A probe that was stopped may have measured while the reply was on its way.
        if event.probe_id not in state.closing_probes:
            state.report("probe.unasked", "probe_id", f"no probe {shown(event.probe_id)} is running")
        return
    asked = probe.event
    is_vector = isinstance(asked.resources_aggregation_function, model.NoResourcesAggregation)
    if isinstance(event.data, model.AggregatedProbeData) is is_vector:
        aggregates = "does not aggregate" if is_vector else "aggregates"
        state.report("probe.data-shape", "data", f"probe {shown(event.probe_id)} {aggregates} over its resources")
    elif not isinstance(event.data, model.AggregatedProbeData) and len(event.data.data) != _resources(state, asked):
        text = f"{len(event.data.data)} values for {_resources(state, asked)} resources"
        state.report("probe.data-shape", "data.data", text)
    trigger = asked.measurement_triggering_policy
    probe.emitted += 1
    # The emissions of a finite probe can be counted, unless some are filtered out: rule sets that have `probe.ignored`
    # are about peers that do not filter.
    finite = _periods(trigger) if isinstance(trigger, model.Periodic) else 1
    if probe.emitted == finite and ("probe.ignored" in state.severities or not _ignored(asked)):
        _end_probe(state, event.probe_id)


def _resources(state: ConversationState, asked: model.CreateProbeEvent) -> int:
    if isinstance(asked.resources, model.LinkResources):
        return len(asked.resources.link_ids)
    return read_hosts(asked.resources.host_ids).size


def _end_probe(state: ConversationState, name: str) -> None:
    _end(state, f"probe {name}", state.probes.pop(name).event.measurement_triggering_policy)
