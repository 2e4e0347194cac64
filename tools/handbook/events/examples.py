"""Recorded messages: as Python code that makes them, as values, as JSON, as bytes, and as trees.

They come from recorded conversations of the real Batsim 5.0.0-rc2 in the data of the tests. The protocol's C++ library
wrote the messages that no recording has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from batprotocol import Message, MessageBuilder, model
from batprotocol.edc.recording.sources import messages
from batprotocol.wire import detect, frames
from batprotocol.wire.commands.dump import tree_text
from batprotocol.wire.commands.tree import Trees
from batprotocol.wire.tree import from_message
from handbook.events.calls import building
from handbook.events.layout import tabs
from handbook.events.places import event_of
from handbook.events.python import written

__all__ = ["EXAMPLES", "Example", "example", "hexdump", "of_event", "value_example"]

_DATA: Final = Path(__file__).resolve().parents[3] / "tests" / "data"
_MADE: Final = "made"

_EXTERNAL: Final = "runs/external-event-check__test_one_delay_job__binary"
_PSTATES: Final = "runs/cover__test_one_delay_job-pstate__binary"
_SWITCHED: Final = "runs/machine-switcher__test_one_delay_job-turn_on_fail__binary"
_FAT: Final = "simulations/fuzz__random-fat-p__cluster_fat__binary"
_REGISTRATION: Final = "simulations/fuzz__random-registration-p__small_platform__binary"
_EMPTY: Final = "simulations/do-nothing__empty-p__small_platform__binary"
_PROBES: Final = "simulations/plan__probes-p__multi__binary"

EXAMPLES: Final[Mapping[type[model.Event], tuple[str, int]]] = {
    model.JobSubmittedEvent: ("simulations/fuzz__random-forward-p__small_platform__binary", 4),
    model.JobCompletedEvent: (_PSTATES, 10),
    model.JobsKilledEvent: ("simulations/plan__kill-one-by-one-p__cluster512__binary", 12),
    model.ProbeDataEmittedEvent: (_PROBES, 28),
    model.RequestedCallEvent: (_FAT, 26),
    model.SimulationBeginsEvent: ("simulations/plan__roles-p__small_platform_pfs0__binary", 2),
    model.SimulationEndsEvent: (_EMPTY, 6),
    model.SimulationErrorEvent: (_MADE, 0),
    model.AllStaticJobsHaveBeenSubmittedEvent: (_EMPTY, 4),
    model.AllStaticExternalEventsHaveBeenInjectedEvent: (_EXTERNAL, 26),
    model.HostsPStateChangedEvent: ("simulations/fuzz__random-energy-p__multi__binary", 32),
    model.HostsTurnedOnOffEvent: (_SWITCHED, 12),
    model.ExternalEventOccurredEvent: ("simulations/plan__events-only-p__small_platform__binary", 4),
    model.RejectJobEvent: (_EXTERNAL, 3),
    model.ExecuteJobEvent: ("simulations/plan__storage-p__storages__binary", 5),
    model.KillJobsEvent: (_FAT, 85),
    model.RegisterProfileEvent: (_REGISTRATION, 29),
    model.RegisterJobEvent: (_REGISTRATION, 29),
    model.CreateProbeEvent: ("simulations/fuzz__random-onoff-p__multi__binary", 109),
    model.StopProbeEvent: (_PROBES, 37),
    model.TriggerProbeEvent: ("goldens/trigger_probe-force.bin", 0),
    model.ResetProbeEvent: ("goldens/reset_probe-simple.bin", 0),
    model.CallMeLaterEvent: (_FAT, 35),
    model.StopCallMeLaterEvent: ("simulations/plan__calls-p__small_platform__binary", 35),
    model.EDCHelloEvent: ("simulations/plan__registration-p__small_platform-ack__binary", 1),
    model.FinishRegistrationEvent: (_REGISTRATION, 33),
    model.ForceSimulationStopEvent: ("simulations/plan__force-stop-p__cluster512__binary", 9),
    model.ChangeHostsPStateEvent: (_PSTATES, 7),
    model.TurnOnOffHostsEvent: (_SWITCHED, 7),
}
"""The message that shows each event: a recording and the number of the message there, or one of the C++ library's."""


class Example(NamedTuple):
    """A message.

    Attributes:
        name: its name in the recording.
        data: its bytes, with the frame of the handshake if it has one.
        message: the value.
    """

    name: str
    data: bytes
    message: Message


def _read(name: str, data: bytes) -> Example | None:
    kind = detect(data)
    if kind == "init":
        return None
    if kind == "hello":
        return Example(name, data, frames.decode_hello(data).message)
    return Example(name, data, Message.from_binary(data) if kind == "binary" else Message.from_json(data))


@cache
def _recording(name: str) -> Mapping[int, Example]:
    """The messages of a recording, by number."""
    found = (_read(each.name.rpartition("/")[2], each.data) for each in messages([str(_DATA / f"{name}.tar.xz")]))
    return {int(each.name[:5]): each for each in found if each is not None}


@cache
def of_event(kind: type[model.Event]) -> Example:
    """The message that shows an event."""
    source, number = EXAMPLES[kind]
    if source == _MADE:
        builder = MessageBuilder(now=42.5)
        builder.add_simulation_error("the platform has no hosts")
        message = builder.finish_message()
        return Example("message.bin", message.to_binary(), message)
    if source.startswith("goldens"):
        path = _DATA / source
        found = _read(path.name, path.read_bytes())
        assert found is not None
        return found
    return _recording(source)[number]


def _origin(kind: type[model.Event]) -> str:
    source, number = EXAMPLES[kind]
    if source == _MADE:
        return "No Batsim sends it, so there is no recording. The builder made this message."
    if source.startswith("goldens"):
        return "Batsim refuses it, so there is no recording. The protocol's C++ library wrote this message."
    sender = "from Batsim 5.0.0-rc2" if number % 2 == 0 else "from a decision component to Batsim 5.0.0-rc2"
    others = len(of_event(kind).message.events) > 1
    return f"A recorded message {sender}{', with another event in the same message' if others else ''}."


def example(page: str, argument: str) -> str:
    """The section with the recorded message of the event whose page this is."""
    kind = event_of(page)
    shown = of_event(kind)
    text = tabs(
        [
            ("Builder", "python", building(shown.message)),
            ("Value", "python", written(shown.message, whole=True)),
            ("JSON", "json", shown.message.to_json(indent=2)),
            ("Bytes", "text", hexdump(shown.data)),
            ("Dump", "text", tree_text(shown.name, shown.data, Trees())),
        ]
    )
    frame = ""
    if detect(shown.data) == "hello":
        frame = " The first four bytes are the flags of the handshake: 1 means binary, 2 means JSON."
    return f"## Example\n\n{_origin(kind)}{frame} The tab Dump shows the output of `batproto dump`.\n\n{text}"


def hexdump(data: bytes) -> str:
    """Bytes as `hexdump -C` shows them."""
    lines: list[str] = []
    previous, starred = b"", False
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        if row == previous and len(row) == 16:
            if not starred:
                lines.append("*")
            starred = True
            continue
        previous, starred = row, False
        halves = f"{row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}"
        characters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{at:08x}  {halves}  |{characters}|")
    return "\n".join([*lines, f"{len(data):08x}"])


# Values


def _recorded() -> Iterator[Example]:
    """The messages of the binary recordings of simulations that ended. The others are not good examples."""
    for path in (*sorted(_DATA.glob("runs/*__binary.tar.xz")), *sorted(_DATA.glob("simulations/*.tar.xz"))):
        found = _recording(f"{path.parent.name}/{path.name.removesuffix('.tar.xz')}").values()
        if any(isinstance(event, model.SimulationEndsEvent) for each in found for event in each.message.events):
            yield from found


def _written() -> Iterator[Example]:
    """The messages that the C++ library wrote."""
    found = (_read(path.name, path.read_bytes()) for path in sorted((_DATA / "goldens").glob("*.bin")))
    yield from (each for each in found if each is not None)


def _within(value: Any, tree: Any) -> Iterator[tuple[Any, Any]]:
    """A value and all values in it, each with its JSON. A member of a union comes with its name in JSON."""
    yield value, tree
    if isinstance(value, tuple):
        for each, part in zip(value, tree, strict=True):
            yield from _within(each, part)
    elif isinstance(value, model.Value):
        inside = tree["event"] if isinstance(value, model.Event) else tree
        for name in value.__struct_fields__:
            part = inside.get(name) if isinstance(inside, dict) else None
            given = getattr(value, name)
            if isinstance(given, model.Value | tuple) and part is not None:
                found = _within(given, _unwrapped(part))
                if f"{name}_type" in inside:
                    first, _ = next(found)
                    yield first, {f"{name}_type": inside[f"{name}_type"], name: part}
                yield from found


def _unwrapped(tree: Any) -> Any:
    """The content of a table that Python does not show, or of a list of such tables."""
    if isinstance(tree, list | tuple):
        return [_unwrapped(each) for each in tree]
    for name in ("kill_progress", "temporal_trigger", "strategy"):
        if isinstance(tree, dict) and name in tree and len(tree) <= 2:
            return _unwrapped(tree[name])
    return tree


def _empty(value: Any) -> int:
    """The number of fields in a value that show little: 0, empty, absent, or a list of one."""
    if isinstance(value, model.Value):
        return sum(_empty(getattr(value, field)) for field in value.__struct_fields__)
    if isinstance(value, tuple):
        return (len(value) < 2) + sum(map(_empty, value))
    return int(not value)


@cache
def _values() -> Mapping[str, tuple[Any, Any]]:
    """For each type, a short value with most of its fields filled in. Recorded values are preferred to written ones."""
    found: dict[str, tuple[Any, Any]] = {}
    for source in (_recorded(), _written()):
        best: dict[str, tuple[int, int]] = {}
        known = set(found)
        for each in source:
            for value, tree in _within(each.message, from_message(each.message)):
                name = type(value).__name__
                if not isinstance(value, model.Value) or isinstance(value, model.Event | Message) or name in known:
                    continue
                score = _empty(value), len(each.data)
                if name not in best or score < best[name]:
                    best[name], found[name] = score, (value, tree)
    return found


def value_example(name: str) -> str:
    """A value of a type from a message, in Python and in JSON; "" if no message has one, or it has no fields."""
    if name not in _values() or not _values()[name][0].__struct_fields__:
        return ""
    value, tree = _values()[name]
    return tabs(
        [
            ("Value", "python", written(value)),
            ("JSON", "json", json.dumps(tree, indent=2, default=list, ensure_ascii=False)),
        ]
    )
