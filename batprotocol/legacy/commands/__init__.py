"""`batproto bridge`, and the older protocols of `run` and `simulate`: endpoints and options in, a bridge out.

The first half has the parameters, which other commands share. The second half connects the ends. It imports the bridge
only when a command needs it.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from batprotocol.cli.parameters import (
    jobs_option,
    old_options,
    old_protocol,
    other_protocol,
    schema_option,
    timeout_option,
)
from batprotocol.cli.terminal import printable
from batprotocol.errors import DecodeError, ProtocolError
from batprotocol.model import Message

if TYPE_CHECKING:
    from batprotocol._util.signals import Interrupts
    from batprotocol.edc import Scheduler
    from batprotocol.legacy.bridge import AgedScheduler, Batsim, OldScheduler, TextScheduler
    from batprotocol.legacy.store import JobStore
    from batprotocol.legacy.translate import TranslationReport
    from batprotocol.wire.reflection import Schema

__all__ = ["bridge", "drive_old", "old_scheduler", "tell"]


def _end_option(context: click.Context, parameter: click.Parameter, text: str) -> tuple[str, str | Schema | None]:
    endpoint, comma, protocol = text.partition(",")
    if not endpoint:
        raise click.BadParameter("expected ENDPOINT or ENDPOINT,PROTOCOL", context, parameter)
    if not comma or protocol in ("5", "today"):
        return endpoint, None
    if protocol.endswith((".bfbs", ".fbs", ".txt")) or _AGE.fullmatch(protocol):
        return endpoint, other_protocol(None, protocol)
    return endpoint, old_protocol(context, parameter, protocol)


_AGE = re.compile(r"\d{4}-\d\d(-\d\d)?")


@click.command()
@click.option(
    "--batsim",
    metavar="ENDPOINT[,PROTOCOL]",
    required=True,
    callback=_end_option,
    help="The endpoint that Batsim connects to.",
)
@click.option(
    "--edc",
    metavar="ENDPOINT[,PROTOCOL]",
    required=True,
    callback=_end_option,
    help="The endpoint that the scheduler listens at.",
)
@schema_option("Batsim speaks by")
@old_options
@jobs_option
@timeout_option
@click.option(
    "--record",
    metavar="DIR|FILE.tar.xz|FILE.mcap",
    type=click.Path(path_type=str),
    help="Record the messages at Batsim's end, for dump and check.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not print what could not be translated.")
@click.pass_context
def bridge(context: click.Context, /, schema: str | None, **options: Any) -> None:
    """Connect a Batsim and a scheduler of different versions, for one simulation.

    PROTOCOL is 5, the current version and the default, a version from 1.0 to 4.2, or text-0 to text-3. Over ZeroMQ,
    Batsim connects to its ENDPOINT and the scheduler listens at its own, as they always do. With text, ENDPOINT is the
    path of a Unix socket, unix:PATH: the scheduler connects to it, and Batsim listens there.

    In text, a message has only the name of a job. Text-2 and text-3 have the job's requests in Redis; the default for
    PREFIX is the absolute path of the socket. Text-0 and text-1 have them in the workload file (--jobs).

    PROTOCOL can also be a schema of another age, 2021-10 to 2024-10, or a schema file (.bfbs, .fbs). The bridge
    translates events and fields by their names. --schema sets the schema of Batsim's end.

    At the end, the command prints on standard error what it could not translate: the event, the field, and what it did
    instead.

    \b
    Examples:
      batproto bridge --batsim 'tcp://*:28000' --edc tcp://127.0.0.1:28001,4.2
      batproto bridge --batsim 'tcp://*:28000,4.2' --edc tcp://127.0.0.1:28001
      batproto bridge --batsim 'tcp://*:28000' --edc unix:/tmp/bat_socket,text-3 --redis 127.0.0.1:6379
      batproto bridge --batsim unix:/tmp/bat_socket,text-1 --edc tcp://127.0.0.1:28001 --jobs workload.json
      batproto bridge --batsim 'tcp://*:28000,2024-10' --edc tcp://127.0.0.1:28001
    """

    if schema is not None:
        endpoint, protocol = options["batsim"]
        if protocol is not None:
            raise click.UsageError(
                "--schema and the PROTOCOL of --batsim contradict each other: use one of them", context
            )
        options["batsim"] = endpoint, other_protocol(None, schema)
    context.exit(connect(**options))


# The bridge


def connect(
    *,
    batsim: tuple[str, str | Schema | None],
    edc: tuple[str, str | Schema | None],
    timeout: float | None,
    record: str | None,
    quiet: bool,
    **old: Any,
) -> int:
    """Bridge two programs until the simulation ends, and return the exit status."""
    from batprotocol._util.signals import Interrupts
    from batprotocol.edc.recording import Recorder, facts
    from batprotocol.edc.running import failure_of
    from batprotocol.legacy.bridge import Component, drive
    from batprotocol.simulator.components import RemoteComponent

    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        wait = interrupts.check
        one = stack.enter_context(_batsim(*batsim, old, timeout, wait))
        if record is not None:
            about = facts(batsim=batsim[0], edc=edc[0], protocols=f"{batsim[1] or 5}, {edc[1] or 5}")
            one.recorder = stack.enter_context(Recorder(record, about))
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
                tell(reports)
    failure = failure_of(last)
    if failure is not None:
        print(printable(f"batproto: the simulation has failed: {failure}"), file=sys.stderr)
    return int(failure is not None)


def tell(reports: Iterable[TranslationReport]) -> None:
    """Print what could not be translated."""
    for report in reports:
        for line in report.lines():
            print(printable(f"batproto: not translated: {line}"), file=sys.stderr)


def drive_old(
    scheduler: Scheduler,
    endpoint: str,
    protocol: str | Schema,
    old: Mapping[str, Any],
    interrupts: Interrupts,
    init: str | None,
    timeout: float | None,
    record: str | os.PathLike[str] | None,
    on_bound: Callable[[str], None] | None,
    on_wait: Callable[[], None] | None,
    format: str = "binary",
) -> None:
    """Run a current scheduler for one simulation of an older Batsim, or of one of another age."""
    from batprotocol.edc.recording import Recorder, facts
    from batprotocol.legacy.bridge import CheckedScheduler, drive

    def look_around() -> None:
        interrupts.check()
        if on_wait is not None:
            on_wait()

    with ExitStack() as stack:
        one = stack.enter_context(_batsim(endpoint, protocol, old, timeout, look_around, format))
        if record is not None:
            one.recorder = stack.enter_context(Recorder(record, facts(endpoint=endpoint, protocol=protocol)))
        if on_bound is not None:
            on_bound(getattr(one, "endpoint", None) or _path(endpoint))
        try:
            drive(one, CheckedScheduler(scheduler, init=init))
        finally:
            tell([one.report])


# The ends


def old_scheduler(
    stack: ExitStack,
    endpoint: str,
    protocol: str | Schema,
    old: Mapping[str, Any],
    timeout: float | None = None,
    on_wait: Callable[[], None] | None = None,
) -> OldScheduler | TextScheduler | AgedScheduler:
    """The end of an older scheduler, or of one of another age."""
    from batprotocol.legacy.bridge import AgedScheduler, OldScheduler, TextScheduler
    from batprotocol.legacy.translate import Options
    from batprotocol.legacy.wire import text_version

    if not isinstance(protocol, str):
        return stack.enter_context(AgedScheduler(endpoint, protocol, timeout=timeout, on_wait=on_wait))
    version = text_version(protocol)
    if version is not None:
        path = _path(endpoint)
        text_store = _redis_of_text(old, path) if version >= 2 else None
        return stack.enter_context(TextScheduler(path, text_store, version, timeout=timeout, on_wait=on_wait))
    store = _store(old, "default")
    options = Options(
        dynamic=bool(old.get("enable_dynamic_jobs")),
        acknowledge=bool(old.get("acknowledge_dynamic_jobs")),
        forward_profiles=bool(old.get("forward_profiles_on_submission")),
        redis=_redis(old, "default"),
    )
    end = OldScheduler(endpoint, protocol, options, store=store, timeout=timeout, on_wait=on_wait)
    return stack.enter_context(end)


def _batsim(
    endpoint: str,
    protocol: str | Schema | None,
    old: Mapping[str, Any],
    timeout: float | None,
    on_wait: Callable[[], None],
    format: str = "binary",
) -> Batsim:
    from batprotocol.legacy.bridge import AgedBatsim, NewBatsim, OldBatsim, TextBatsim
    from batprotocol.legacy.wire import text_version

    if protocol is None:
        return NewBatsim(endpoint, timeout=timeout, on_wait=on_wait)
    if not isinstance(protocol, str):
        return AgedBatsim(endpoint, protocol, format, timeout=timeout, on_wait=on_wait)
    version = text_version(protocol)
    if version is None:
        return OldBatsim(endpoint, protocol, store=_store(old, "default"), timeout=timeout, on_wait=on_wait)
    path = _path(endpoint)
    store = _redis_of_text(old, path) if version >= 2 else _jobs_of_text(old, version)
    return TextBatsim(path, store, version, timeout=timeout, on_wait=on_wait)


def _path(endpoint: str) -> str:
    for scheme in ("unix:", "ipc://"):
        if endpoint.startswith(scheme):
            return endpoint.removeprefix(scheme)
    raise click.UsageError(f"text needs a Unix socket: write unix:PATH, not {endpoint!r}")


def _redis(old: Mapping[str, Any], prefix: str) -> tuple[str, int, str] | None:
    given = old.get("redis")
    if given is None:
        return None
    address, _, said = given.partition(",")
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or not host:
        raise click.UsageError(f"expected HOST:PORT or HOST:PORT,PREFIX for --redis, got {given!r}")
    return host, int(port), said or prefix


def _store(old: Mapping[str, Any], prefix: str) -> JobStore | None:
    from batprotocol.legacy.store import connect_redis

    found = _redis(old, prefix)
    return None if found is None else connect_redis(*found)


def _redis_of_text(old: Mapping[str, Any], path: str) -> JobStore:
    """The store in which a Batsim of text-2 or text-3 has its jobs, under the absolute path of its socket."""
    store = _store(old, os.path.abspath(path))
    if store is None:
        raise click.UsageError("messages in text do not have what jobs request: add --redis HOST:PORT[,PREFIX]")
    return store


def _jobs_of_text(old: Mapping[str, Any], version: int) -> JobStore:
    """The jobs of the workload file, which a Batsim of text-0 or text-1 does not send."""
    from batprotocol.legacy.store import store_of_workload

    path = old.get("jobs")
    if path is None:
        raise click.UsageError(
            f"messages in text-{version} do not have what jobs request: add its workload, --jobs FILE"
        )
    try:
        return store_of_workload(path)
    except OSError as error:
        raise ProtocolError(f"{path}: {error.strerror}") from None
    except DecodeError as error:
        raise ProtocolError(f"{path}: {error}") from None
