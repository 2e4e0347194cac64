"""The simulation as a whole: hello, begin, inputs, stop, end; and the bytes of its messages.

The functions check their event against the state, and change the state if nothing is wrong. The conversation changes
the phase, by the automaton's table.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, TypeAlias

from batprotocol import model
from batprotocol.builder import PROTOCOL_VERSION
from batprotocol.conversation.automaton import Expected, JobState, Phase, Registration
from batprotocol.conversation.hosts import host_records, note_power
from batprotocol.conversation.hostsets import mask_of
from batprotocol.conversation.periodic import phrases
from batprotocol.conversation.state import ConversationState
from batprotocol.errors import DecodeError, shown
from batprotocol.wire import FORMATS, frames

__all__ = [
    "AnyMessage",
    "all_external_injected",
    "all_static_submitted",
    "begins",
    "decoded",
    "ends",
    "external_event",
    "hello",
    "stuck",
    "unreadable",
]


_SHOWN: Final = 3
_ENERGY: Final = ("--energy", "host_energy")
"""The options on Batsim's command line with which it simulates energy: its own option, or SimGrid's plugin."""


def hello(state: ConversationState, event: model.EDCHelloEvent) -> None:
    """EDCHelloEvent: texts that Batsim can use, and features that work together."""
    names = ("decision_component_name", "decision_component_version", "decision_component_commit")
    for name in names:
        text = getattr(event, name)
        if text is not None and ("," in text or '"' in text):
            state.report("hello.text", name, f"{shown(text)} holds a comma or a double quote")
    if event.decision_component_commit is None:
        state.report("hello.no-commit", "decision_component_commit", "decision_component_commit is absent")
    features = event.requested_simulation_features
    for name in ("acknowledge_dynamic_jobs", "profile_reuse"):
        if getattr(features, name) and not features.dynamic_registration:
            text = f"{name} is requested, but not dynamic_registration"
            state.report("hello.features", f"requested_simulation_features.{name}", text)
    state.features = features
    state.reuses_profiles = features.dynamic_registration and features.profile_reuse
    state.registration = Registration.OPEN if features.dynamic_registration else Registration.NOT_REQUESTED


def begins(state: ConversationState, event: model.SimulationBeginsEvent) -> None:
    """SimulationBeginsEvent: the platform and the inputs."""
    if event.batprotocol_version != PROTOCOL_VERSION:
        text = f"this is {shown(event.batprotocol_version)}, and the rules are those of {PROTOCOL_VERSION}"
        state.report("simulation.version", "batprotocol_version", text)
    computing, storing = len(event.computation_hosts), len(event.storage_hosts)
    told = (event.computation_host_number, event.storage_host_number, event.host_number)
    if told != (computing, storing, computing + storing):
        text = f"the event announces {told[2]} hosts ({told[0]} + {told[1]}) and has {computing} + {storing}"
        state.report("simulation.host-count", "host_number", text)
    records = host_records(event.computation_hosts, event.storage_hosts)
    if sorted(records) == list(range(computing + storing)):
        state.hosts = records
        state.host_limit = len(records)
        state.host_names = {record.host.name: id for id, record in records.items()}
        state.storages = mask_of([(host.id, host.id) for host in event.storage_hosts])
        note_power(state, records.values())
    else:
        text = f"the ids of {computing + storing} hosts are not 0 to {computing + storing - 1}"
        state.report("simulation.host-ids", "computation_hosts", text)
    state.static_workloads = frozenset(workload.name for workload in event.workloads)
    state.static_submitted = not event.workloads
    state.external_injected = not event.external_event_lists
    if event.batsim_arguments:
        arguments = event.batsim_arguments
        state.has_energy = "-E" in arguments or any(word in argument for argument in arguments for word in _ENERGY)
    for profile in event.profiles or ():
        state.profiles[profile.id] = profile.profile
    if event.profiles is None and state.features.forward_profiles_on_simulation_begins:
        state.report("job.profile-not-forwarded", "profiles", "the profiles of the workloads were requested")


def all_static_submitted(state: ConversationState, event: model.AllStaticJobsHaveBeenSubmittedEvent) -> None:
    """AllStaticJobsHaveBeenSubmittedEvent: comes once."""
    if state.static_submitted and state.static_workloads:
        state.report("static.twice", "", "all static jobs had been submitted already")
    state.static_submitted = True


def all_external_injected(state: ConversationState, event: model.AllStaticExternalEventsHaveBeenInjectedEvent) -> None:
    """AllStaticExternalEventsHaveBeenInjectedEvent: comes once."""
    if state.external_injected:
        state.report("static.twice", "", "all external events had been injected already")
    state.external_injected = True


def external_event(state: ConversationState, event: model.ExternalEventOccurredEvent) -> None:
    """ExternalEventOccurredEvent: does not come after the last one."""
    if state.external_injected:
        state.report("static.external-late", "id", f"external event {shown(event.id)} comes after the last one")


def ends(state: ConversationState, event: model.SimulationEndsEvent) -> None:
    """SimulationEndsEvent: comes when nothing is pending, unless the end was forced."""
    waiting = _waiting(state)
    if state.phase is not Phase.STOP:
        left = state.to_come()
        if waiting:
            left.append(f"jobs neither executed nor rejected ({_listed(waiting)})")
        if state.registration is Registration.OPEN:
            left.append("registration not finished")
        if left:
            state.report("simulation.ends-early", "", f"the simulation ends, but there are still: {', '.join(left)}")
        return
    if waiting:
        state.report("job.undecided", "", f"{len(waiting)} jobs were neither executed nor rejected: {_listed(waiting)}")
    if state.calls:
        state.report("call.never-fires", "", f"{len(state.calls)} calls can never fire: {_listed(list(state.calls))}")
    if state.registration is Registration.OPEN:
        state.report("register.unfinished", "", "no FinishRegistrationEvent was sent")


def stuck(state: ConversationState) -> None:
    """Report a reply after which nothing can happen any more, or only the same events forever."""
    if not state.nothing_to_come():
        if (state.calls or state.probes) and not state.undecided and state.only_repeats():
            _endless(state)
        return
    if state.undecided:
        waiting = _waiting(state)
        many = "1 job waits" if len(waiting) == 1 else f"{len(waiting)} jobs wait"
        text = f"nothing can happen any more, and {many}: {_listed(waiting)}"
        state.report_at("simulation.stuck-jobs", "", text)
    if state.registration is Registration.OPEN:
        text = "nothing can happen any more, and registration was not finished"
        state.report_at("simulation.stuck-registration", "", text)


def _endless(state: ConversationState) -> None:
    """Report, once, calls and probes without end that alone keep the simulation alive."""
    if state.registration is Registration.OPEN or state.endless < state.pending or not state.endless_news:
        return
    state.endless_news.clear()
    first = list(islice(phrases(state), _SHOWN))
    text = f"nothing else is to come, but there is no end to {_shortened(first, state.endless)}"
    state.report_at("simulation.endless", "", text)


def _waiting(state: ConversationState) -> list[str]:
    """The jobs that were neither executed nor rejected."""
    if not state.undecided:
        return []
    return [job_id for job_id, record in state.jobs.live.items() if record.state is JobState.SUBMITTED]


def _listed(names: list[str]) -> str:
    return _shortened([shown(name) for name in names[:_SHOWN]], len(names))


def _shortened(first: list[str], count: int) -> str:
    """The first of `count` names, and the number of the others."""
    text = ", ".join(first)
    return f"{text} and {count - len(first)} more" if count > len(first) else text


# Bytes of a conversation -> values of the expected kind; and the rules about unreadable bytes.


AnyMessage: TypeAlias = bytes | bytearray | memoryview | str | model.Message | frames.Hello
"""A message of a conversation: raw bytes, or its value, `str` for message 0, and `Hello` or `Message` for message 1."""

# Where a binary message can be broken and this Batsim does not notice, as ends of the path or parts of the reason.
_UNVERIFIED_PATHS: Final = (".temporal_aggregation_function",)
_UNVERIFIED_REASONS: Final = ("is not UTF-8",)

_FLAGS_SIZE: Final = 4


def decoded(state: ConversationState, said: AnyMessage) -> str | model.Message | frames.Hello:
    """The value of the next message. The flags of a hello choose the format of all later messages."""
    if not isinstance(said, bytes | bytearray | memoryview):
        return said
    if state.expected is Expected.INIT:
        return frames.decode_init(said)
    if state.expected is Expected.HELLO:
        state.format = frames.format_of(said)
        return frames.decode_hello(said)
    message: model.Message = FORMATS[state.format].decode(said)
    return message


def unreadable(state: ConversationState, error: DecodeError) -> None:
    """Report that the next message could not be read. The state that depends on it is then unknown."""
    state.blind = state.blind or state.expected is not Expected.INIT
    text = error.reason if error.offset is None else f"{error.reason} (byte {error.offset})"
    if state.expected is Expected.INIT:
        state.report_at("frame.init", "", text)
    elif state.expected is Expected.HELLO and error.offset is not None and error.offset < _FLAGS_SIZE:
        state.report_at("frame.hello", "", text)
    else:
        harmless = error.path.endswith(_UNVERIFIED_PATHS) or any(part in error.reason for part in _UNVERIFIED_REASONS)
        from_edc = state.expected in (Expected.HELLO, Expected.REPLY)
        unnoticed = harmless and state.format == "binary" and from_edc
        state.report_at("message.unverified" if unnoticed else "message.unreadable", error.path, text)
