"""`batproto tap`: record and show the messages of Batsim and a decision component. The library passes them on."""

from __future__ import annotations

import logging
from contextlib import ExitStack

import click

from batprotocol._util.signals import Interrupts
from batprotocol._util.sockets import Channel, Requester
from batprotocol.cli.terminal import Output
from batprotocol.edc.recording import Names, Recorder, facts
from batprotocol.errors import DecodeError
from batprotocol.model import Direction, SimulationEndsEvent, SimulationErrorEvent
from batprotocol.recordings.sources import Found
from batprotocol.recordings.tapping import tap as hand_on
from batprotocol.wire import decode
from batprotocol.wire.commands.dump import Shown

__all__ = ["tap"]


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
        channel = Channel(batsim)
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
