"""`batproto tap` and `batproto replay`: conversations with a running decision component."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress

import click

from batprotocol._util.signals import Interrupts
from batprotocol._util.sockets import BoundChannel, Requester
from batprotocol.cli.terminal import Output, number_of, printable
from batprotocol.edc.commands.program import ProgramEnded, SimulatorProgram, private_endpoint
from batprotocol.edc.commands.scheduler import is_policy, load, telling_whose_fault
from batprotocol.edc.recording import Names, Recorder, facts
from batprotocol.edc.recording.sources import Found
from batprotocol.errors import DecodeError, PeerGone, PeerSilent, ProtocolError, RuleViolation
from batprotocol.model import Direction, Message, SimulationEndsEvent, SimulationErrorEvent
from batprotocol.recordings.commands.named_runs import opened
from batprotocol.recordings.commands.state import lines_of
from batprotocol.recordings.copies import tap as hand_on
from batprotocol.recordings.replays import Asked, Played, Together, replay
from batprotocol.simulator.components import LibraryComponent, RemoteComponent
from batprotocol.wire import binary, decode, frames
from batprotocol.wire.commands.dump import Shown, print_frames
from batprotocol.wire.commands.tree import draw

__all__ = [
    "run",
    "tap",
]


def tap(batsim: str, edc: str, record: str, shown: Shown | None, output: Output, *, timeout: float | None) -> int:
    """Record one simulation, and return the exit status.

    Args:
        batsim: where Batsim connects to.
        edc: where the decision component listens.
        record: the recording to write.
        shown: shows the messages, or None.
        output: prints the remarks.
        timeout: seconds to wait for each answer of the decision component, or None.
    """
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        channel = BoundChannel(batsim)
        stack.callback(channel.close)
        requester = stack.enter_context(Requester(edc, timeout=timeout, on_wait=interrupts.check))
        recorder = stack.enter_context(Recorder(record, facts(batsim=channel.endpoint, edc=edc)))
        interrupts.wake = channel.wake
        output.remark(channel.endpoint, "waiting for Batsim")
        last = hand_on(channel, requester, recorder, None if shown is None else _Follower(shown), interrupts.check)
    if _is_end(last):
        return 0
    output.remark(record, "Batsim closed the connection before the simulation had ended")
    return 1


class _Follower:
    """Shows each message when it comes, with its name in the recording, until standard output is closed."""

    def __init__(self, shown: Shown) -> None:
        self._shown: Shown | None = shown
        self._number = 0

    def __call__(self, direction: Direction, data: bytes) -> None:
        name = Names().of(self._number, direction)
        self._number += 1
        if self._shown is not None:
            try:
                self._shown(Found(0, name, name, data))
            except click.exceptions.Exit:  # standard output is closed: the simulation goes on
                self._shown = None


def _is_end(last: bytes) -> bool:
    """Whether this is the last message of a simulation. A message of another protocol counts as one."""
    try:
        events = decode(last, strict=False).events
    except DecodeError:
        return True
    return any(isinstance(event, SimulationEndsEvent | SimulationErrorEvent) for event in events)


# `batproto replay`: play Batsim's side of a recording to a decision component. The library compares the replies.


SAME, DIFFERENT = 0, 1


def run(
    path: str,
    who: Sequence[str],
    output: Output,
    *,
    edc: str | None,
    library: str | None,
    in_effect: bool,
    tolerance: float,
    init: str | None,
    timeout: float | None,
    full: bool,
) -> int:
    """Play a recording, print the first difference of the replies, and return the exit status.

    Args:
        path: the recording.
        who: FILE:CLASS, a policy, or a command and its arguments; empty if one of the next two is given.
        output: where to print.
        edc: the endpoint where a decision component listens, or None.
        library: a decision component that is a shared library, or None.
        in_effect: continue as long as replies have the same effect.
        tolerance: with `in_effect`, how many seconds times may differ.
        init: initialization data in place of the recorded ones, or None.
        timeout: seconds to wait for each reply, or None.
        full: show the whole state, even if it is long.
    """
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    found: Played | None = None
    with ExitStack() as stack:
        recording = stack.enter_context(opened(path))
        stack.enter_context(stack.enter_context(Interrupts()).immediately())
        target = who[0] if len(who) == 1 and edc is None and library is None and is_scheduler(who[0]) else ""
        with telling_whose_fault(target or "the decision component"):
            component = _Counted(*_component(stack, target, who, edc, library, timeout))
            try:
                found = replay(recording, component, in_effect=in_effect, tolerance=tolerance, init=init)
            except RuleViolation as error:
                _report(component, output, f"Batsim would not survive its reply: {error}")
            except (PeerGone, PeerSilent, ProgramEnded) as error:
                _report(component, output, _end_of(error, component))
            if found is not None and (found.difference is not None or found.end) and not target:
                component.dismiss()
        if recording.missing:
            output.remark(path, recording.missing)
    if found is None:
        return DIFFERENT
    _show(path, found, output, full)
    return SAME if found.difference is None else DIFFERENT


def is_scheduler(text: str) -> bool:
    """Whether this is a class of a Python file or the name of a policy, and not a command."""
    return ".py:" in text or is_policy(text)


def _component(
    stack: ExitStack, target: str, who: Sequence[str], edc: str | None, library: str | None, timeout: float | None
) -> tuple[Asked, SimulatorProgram | None]:
    """The decision component, and the program that was started for it."""
    if target:
        return Together(load(target)()), None
    if library is not None:
        return stack.enter_context(LibraryComponent(library)), None
    if not who:
        assert edc is not None
        return stack.enter_context(RemoteComponent(edc, timeout=timeout)), None
    endpoint = edc or stack.enter_context(private_endpoint())
    if "*" in endpoint:
        raise click.UsageError("this system has no private endpoints: name an endpoint with --edc")
    program = stack.enter_context(SimulatorProgram(who, ""))
    program.start(endpoint)
    return stack.enter_context(RemoteComponent(endpoint, timeout=timeout, on_wait=program.check)), program


class _Counted:
    """A decision component, and the last message to it."""

    def __init__(self, component: Asked, program: SimulatorProgram | None) -> None:
        self.component = component
        self.program = program
        self.number = 0
        self.asked: Message | None = None

    def hello(self, text: str) -> Message:
        return self.component.hello(text)

    def answer(self, message: Message) -> Message:
        self.number += 2
        self.asked = message
        return self.component.answer(message)

    def dismiss(self) -> None:
        """End the simulation, so that a component that serves several simulations can go on to the next one."""
        asked = self.asked or Message(0.0)
        if not any(isinstance(event, SimulationEndsEvent) for event in asked.events):
            with suppress(ProtocolError, ProgramEnded):
                self.answer(Message(asked.now, (SimulationEndsEvent(timestamp=asked.now),)))


def _end_of(error: Exception, component: _Counted) -> str:
    program = component.program
    if program is not None and (isinstance(error, ProgramEnded) or program.ends_within(0.2)):
        return f"{program.name} {program.end}"
    return str(error)


def _report(component: _Counted, output: Output, reason: str) -> None:
    """Print that there is no reply, to which message, and why."""
    asked = component.asked
    to = "the initialization data" if asked is None else f"message {component.number}"
    print(printable(f"batproto: no reply to {to}: {reason}"), file=sys.stderr)
    if asked is not None:
        print_frames([(f"message {component.number}", asked.to_binary(allow_late_events=True))], output)


def _show(path: str, found: Played, output: Output, full: bool) -> None:
    if found.remark:
        output.remark(path, found.remark)
    unlike = f", {found.unlike:,} of them in effect only" if found.unlike else ""
    replies = "1 reply is" if found.replies == 1 else f"{found.replies:,} replies are"
    if found.difference is None:
        rest = f"; {found.end}" if found.end else ""
        output.line(
            ("good", "same "), ("file", printable(path)), ("", f": {replies} the same{unlike}{printable(rest)}")
        )
        return
    assert found.recorded is not None
    assert found.reply is not None
    assert found.known is not None
    output.line(
        ("heading", f"different in message {found.number} "),
        ("file", printable(path)),
        (
            "",
            f": {printable(str(found.difference))} ({number_of(found.replies, 'reply', 'replies')} before it{unlike})",
        ),
    )
    if found.known.host_count:
        known = [("heading", f"known before message {found.number}"), ("", f" (at {found.known.now:.9g})")]
        output.lines(draw(known, lines_of(found.known, full=full), output.guides, output.wrap_at))
    print_frames([("then", _bytes(found.recorded, found.number)), ("now", _bytes(found.reply, found.number))], output)


def _bytes(message: Message, number: int | None) -> bytes:
    encode = frames.encode_hello if number == 1 else binary.encode
    return encode(message, allow_late_events=True)
