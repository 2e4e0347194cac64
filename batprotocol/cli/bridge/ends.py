"""`batproto bridge`, and the older protocols of `run` and `simulate`: endpoints and options in, a bridge out.

How a bridge is driven, the library knows. What it needs is imported when it is wanted.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from batprotocol.cli.terminal.text import printable
from batprotocol.errors import ProtocolError
from batprotocol.model import Message

if TYPE_CHECKING:
    from batprotocol.edc import Scheduler
    from batprotocol.legacy.bridge import Batsim, OldScheduler, TextScheduler
    from batprotocol.legacy.store import JobStore
    from batprotocol.legacy.translate import Report
    from batprotocol.signals import Interrupts

__all__ = ["bridge", "drive_old", "old_scheduler"]


def bridge(
    *,
    batsim: tuple[str, str | None],
    edc: tuple[str, str | None],
    timeout: float | None,
    record: str | None,
    quiet: bool,
    **old: Any,
) -> int:
    """Bridge two programs until the simulation ends; the exit status."""
    from batprotocol.edc.running import failure_of
    from batprotocol.legacy.bridge import Component, drive
    from batprotocol.recording import Recorder
    from batprotocol.signals import Interrupts
    from batprotocol.simulator.peers import RemoteComponent

    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        wait = interrupts.check
        one = stack.enter_context(_batsim(*batsim, timeout, wait, _store(old)))
        if record is not None:
            one.recorder = stack.enter_context(Recorder(record))
        reports = [one.report]
        other: Component
        if edc[1] is None:
            other = stack.enter_context(RemoteComponent(edc[0], timeout=timeout, on_wait=wait))
        else:
            scheduler = old_scheduler(stack, edc[0], edc[1], old, timeout, wait)
            reports.append(scheduler.report)
            other = scheduler
        print(
            f"batproto: waiting for a simulation at {getattr(one, 'endpoint', batsim[0])}", file=sys.stderr, flush=True
        )
        last = Message(0.0)

        def hear(message: Message, reply: Message) -> None:
            nonlocal last
            last = message

        try:
            drive(one, other, hear)
        finally:
            if not quiet:
                _tell(reports)
    failure = failure_of(last)
    if failure is not None:
        print(printable(f"batproto: the simulation has failed: {failure}"), file=sys.stderr)
    return int(failure is not None)


def _tell(reports: Iterable[Report]) -> None:
    for report in reports:
        for line in report.lines():
            print(printable(f"batproto: not carried: {line}"), file=sys.stderr)


def drive_old(
    scheduler: Scheduler,
    endpoint: str,
    protocol: str,
    interrupts: Interrupts,
    init: str | None,
    timeout: float | None,
    record: str | os.PathLike[str] | None,
    on_bound: Callable[[str], None] | None,
    on_wait: Callable[[], None] | None,
) -> None:
    """Run a scheduler of today for one simulation of an older Batsim."""
    from batprotocol.legacy.bridge import drive
    from batprotocol.legacy.playing import Judged
    from batprotocol.recording import Recorder

    def look_around() -> None:
        interrupts.check()
        if on_wait is not None:
            on_wait()

    with ExitStack() as stack:
        one = stack.enter_context(_batsim(endpoint, protocol, timeout, look_around, None))
        if record is not None:
            one.recorder = stack.enter_context(Recorder(record))
        if on_bound is not None:
            on_bound(getattr(one, "endpoint", endpoint))
        try:
            drive(one, Judged(scheduler, init=init))
        finally:
            _tell([one.report])


# The ends


def old_scheduler(
    stack: ExitStack,
    endpoint: str,
    protocol: str,
    old: Mapping[str, Any],
    timeout: float | None = None,
    on_wait: Callable[[], None] | None = None,
) -> OldScheduler | TextScheduler:
    """The end that an older scheduler is at."""
    from batprotocol.legacy.bridge import OldScheduler, TextScheduler
    from batprotocol.legacy.translate import Options
    from batprotocol.legacy.wire import is_text

    store = _store(old)
    if is_text(protocol):
        path = _path(endpoint)
        return stack.enter_context(TextScheduler(path, _needed(store), timeout=timeout, on_wait=on_wait))
    options = Options(
        dynamic=bool(old.get("enable_dynamic_jobs")),
        acknowledge=bool(old.get("acknowledge_dynamic_jobs")),
        forward_profiles=bool(old.get("forward_profiles_on_submission")),
        redis=_redis(old),
    )
    end = OldScheduler(endpoint, protocol, options, store=store, timeout=timeout, on_wait=on_wait)
    return stack.enter_context(end)


def _batsim(
    endpoint: str,
    protocol: str | None,
    timeout: float | None,
    on_wait: Callable[[], None],
    store: JobStore | None,
) -> Batsim:
    from batprotocol.legacy.bridge import NewBatsim, OldBatsim, TextBatsim
    from batprotocol.legacy.wire import is_text

    if protocol is None:
        return NewBatsim(endpoint, timeout=timeout, on_wait=on_wait)
    if is_text(protocol):
        return TextBatsim(_path(endpoint), _needed(store), timeout=timeout, on_wait=on_wait)
    return OldBatsim(endpoint, protocol, store=store, timeout=timeout, on_wait=on_wait)


def _path(endpoint: str) -> str:
    for scheme in ("unix:", "ipc://"):
        if endpoint.startswith(scheme):
            return endpoint.removeprefix(scheme)
    raise click.UsageError(f"text is spoken over a Unix socket, unix:PATH, and not at {endpoint!r}")


def _redis(old: Mapping[str, Any]) -> tuple[str, int, str] | None:
    given = old.get("redis")
    if given is None:
        return None
    address, _, prefix = given.partition(",")
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or not host:
        raise click.UsageError(f"expected HOST:PORT or HOST:PORT,PREFIX for --redis, got {given!r}")
    return host, int(port), prefix or "default"


def _store(old: Mapping[str, Any]) -> JobStore | None:
    from batprotocol.legacy.store import connect_redis

    found = _redis(old)
    return None if found is None else connect_redis(*found)


def _needed(store: JobStore | None) -> JobStore:
    if store is None:
        raise ProtocolError("what jobs ask for is not said in text: give --redis HOST:PORT,PREFIX")
    return store
