"""The older protocols for the command line: `batproto bridge`, their messages in files, and their tables of events.

The bridge, the readers and the rules are imported only when a command needs them.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
import msgspec

from batprotocol.cli.parameters import (
    jobs_option,
    old_options,
    old_protocol,
    other_protocol,
    schema_option,
    timeout_option,
)
from batprotocol.cli.terminal import Piece, printable
from batprotocol.edc.recording.names import MessagePlace
from batprotocol.errors import DecodeError, ProtocolError
from batprotocol.legacy.json.events import EventVersions, Version, rows_of, version_of, written
from batprotocol.legacy.text.wire import STAMPS, Stamp
from batprotocol.legacy.wire import is_text, text_version
from batprotocol.model import Direction, Message
from batprotocol.schemas.commands.definitions import FieldText, meanings, title
from batprotocol.wire.commands.protocols import MessageProtocol, Reading

if TYPE_CHECKING:
    from batprotocol._util.rules import Catalogue
    from batprotocol._util.signals import Interrupts
    from batprotocol.edc import Scheduler
    from batprotocol.legacy.bridge import AgedScheduler, Batsim, OldScheduler, TextScheduler
    from batprotocol.legacy.conversation import Conversation, OldAdviser
    from batprotocol.legacy.store import JobStore
    from batprotocol.legacy.translate import TranslationReport
    from batprotocol.wire.reflection import Schema

__all__ = [
    "OldProgram",
    "bridge",
    "drive_old",
    "old_scheduler",
    "tell",
]


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


class OldProgram(NamedTuple):
    """A program at one end of a bridge.

    Attributes:
        endpoint: its endpoint.
        protocol: its version of the older protocols, the schema of its age, or None: it speaks the current protocol.
        options: the options of an older Batsim's command line, by their names.
        format: the format of messages, if it has a schema.
    """

    endpoint: str
    protocol: str | Schema | None
    options: Mapping[str, Any]
    format: str = "binary"


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
        one = stack.enter_context(_batsim(OldProgram(*batsim, old), timeout, wait))
        if record is not None:
            about = facts(batsim=batsim[0], edc=edc[0], protocols=f"{batsim[1] or 5}, {edc[1] or 5}")
            one.recorder = stack.enter_context(Recorder(record, about))
        reports = [one.report]
        other: Component
        if edc[1] is None:
            other = stack.enter_context(RemoteComponent(edc[0], timeout=timeout, on_wait=wait))
        else:
            scheduler = old_scheduler(stack, OldProgram(*edc, old), timeout, wait)
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
    batsim: OldProgram,
    interrupts: Interrupts,
    *,
    init: str | None,
    timeout: float | None,
    record: str | os.PathLike[str] | None,
    on_bound: Callable[[str], None] | None,
    on_wait: Callable[[], None] | None,
) -> None:
    """Run a current scheduler for one simulation of an older Batsim, or of one of another age."""
    from batprotocol.edc.recording import Recorder, facts
    from batprotocol.legacy.bridge import CheckedScheduler, drive

    def look_around() -> None:
        interrupts.check()
        if on_wait is not None:
            on_wait()

    with ExitStack() as stack:
        one = stack.enter_context(_batsim(batsim, timeout, look_around))
        if record is not None:
            about = facts(endpoint=batsim.endpoint, protocol=batsim.protocol)
            one.recorder = stack.enter_context(Recorder(record, about))
        if on_bound is not None:
            on_bound(getattr(one, "endpoint", None) or _path(batsim.endpoint))
        try:
            drive(one, CheckedScheduler(scheduler, init=init))
        finally:
            tell([one.report])


# The ends


def old_scheduler(
    stack: ExitStack,
    program: OldProgram,
    timeout: float | None = None,
    on_wait: Callable[[], None] | None = None,
) -> OldScheduler | TextScheduler | AgedScheduler:
    """The end of an older scheduler, or of one of another age."""
    from batprotocol.legacy.bridge import AgedScheduler, OldScheduler, TextScheduler
    from batprotocol.legacy.translate import Options
    from batprotocol.legacy.wire import text_version

    endpoint, protocol, old = program.endpoint, program.protocol, program.options
    assert protocol is not None
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


def _batsim(program: OldProgram, timeout: float | None, on_wait: Callable[[], None]) -> Batsim:
    from batprotocol.legacy.bridge import AgedBatsim, NewBatsim, OldBatsim, TextBatsim
    from batprotocol.legacy.wire import text_version

    endpoint, protocol, old = program.endpoint, program.protocol, program.options
    if protocol is None:
        return NewBatsim(endpoint, timeout=timeout, on_wait=on_wait)
    if not isinstance(protocol, str):
        return AgedBatsim(endpoint, protocol, program.format, timeout=timeout, on_wait=on_wait)
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


# Messages in files. JSON does not contain its version, so it is read with the fields of all versions


_OLD_JSON = re.compile(rb'\s*\{\s*"(?:now|events)"')
_KINDS = {"json": "JSON of Batsim 1 to 4", "text": "text", "frame": "text after its size"}


def _detect(kinds: tuple[str, ...], pattern: re.Pattern[bytes]) -> Callable[[bytes], str | None]:
    def detect(data: bytes) -> str | None:
        if not pattern.match(data[:64]):  # bytes that are certainly of another protocol cost nothing
            return None
        from batprotocol.legacy.wire import detect as ask

        kind = ask(data)
        return kind if kind in kinds else None

    return detect


def _read(data: bytes, kind: str, strict: bool, place: MessagePlace) -> Reading:
    protocol = OLD_JSON if kind == "json" else OLD_TEXT
    try:
        original, tree = (_json if kind == "json" else _text)(data, kind, strict)
    except DecodeError as fault:
        tree = _tree(fault.partial) if isinstance(fault.partial, dict) else None
        return Reading(protocol, kind, format="json", fault=fault, original=fault.partial, shown=tree)
    return Reading(protocol, kind, format="json", original=original, shown=tree)


def _json(data: bytes, kind: str, strict: bool) -> tuple[Any, Any]:
    from batprotocol.legacy.json.wire import decode, parsed

    if strict:
        parsed(data)  # the syntax that Batsim reads, without the documentation's commas
    decode(data, "4.2")
    original, _ = parsed(data, strict=False)
    return original, _tree(original)


def _text(data: bytes, kind: str, strict: bool) -> tuple[Any, Any]:
    import msgspec

    from batprotocol.legacy.text.wire import STAMPS, decode, decode_frame

    message = (decode_frame if kind == "frame" else decode)(data, strict=strict)
    stamps = {stamp.value: stamp.letter for stamp in STAMPS}
    events = []
    for event in message.events:
        fields: dict[str, Any] = msgspec.to_builtins(event)
        fields.pop("type", None)
        entry = {"timestamp": fields.pop("timestamp"), "stamp": stamps[type(event)], "name": type(event).__name__}
        for allocation in fields.get("allocations", ()):
            allocation.pop("type", None)
        events.append({**entry, **fields})
    original = {"version": message.version, "now": message.now, "events": events}
    shown = [
        {
            "timestamp": entry["timestamp"],
            "event_type": f"{entry['stamp']} {entry['name']}",
            "event": {key: value for key, value in entry.items() if key not in ("timestamp", "stamp", "name")},
        }
        for entry in events
    ]
    return original, {"version": message.version, "now": message.now, "events": shown}


def _tree(original: Any) -> Any:
    """A message in the form for drawing: the names of the current JSON around the same events."""
    if not isinstance(original, dict) or not isinstance(original.get("events"), list):
        return original
    events = []
    for entry in original["events"]:
        if isinstance(entry, dict):
            rest = {key: value for key, value in entry.items() if key not in ("type", "data")}
            events.append(
                {**rest, "event_type": entry.get("type", "event of unknown type"), "event": entry.get("data")}
            )
        else:
            events.append(entry)
    return {**original, "events": events}


def _title(reading: Reading) -> tuple[str, str]:
    return _KINDS[reading.kind], ""


def _write(reading: Reading, to: str, indent: int | None) -> bytes:
    from batprotocol.wire import json

    if to != "json":
        raise DecodeError("this protocol has no binary form: it can be converted to json")
    return json.text(reading.original, indent).encode() + b"\n"


def _catalogue() -> Catalogue:
    from batprotocol.legacy.conversation import CATALOGUE

    return CATALOGUE


def _judge(rules: str) -> Conversation:
    from batprotocol.legacy.conversation import Conversation

    return Conversation(rules)


def _adviser(seconds: float) -> OldAdviser:
    from batprotocol.legacy.conversation import OldAdviser

    return OldAdviser(seconds)


_OLD_TEXT = re.compile(rb".{0,4}[0-9]{1,9}:[0-9]", re.DOTALL)

OLD_JSON: Final = MessageProtocol(
    "Batsim 1 to 4", _detect(("json",), _OLD_JSON), _read, _title, _catalogue, _judge, _write, _adviser
)
"""JSON over ZeroMQ. A message without events is read as one of Batsim 5, which it may also be."""

OLD_TEXT: Final = MessageProtocol(
    "Batsim before 1", _detect(("text", "frame"), _OLD_TEXT), _read, _title, _catalogue, _judge, _write, _adviser
)
"""Text over Unix sockets."""


# batproto schema --protocol


Line = list[Piece]
_SIDES = {Direction.BATSIM_TO_EDC: "Batsim", Direction.EDC_TO_BATSIM: "the scheduler"}


def names(protocol: str) -> tuple[str, ...]:
    """The names of all events of a protocol."""
    if is_text(protocol):
        return tuple(stamp.letter for stamp in STAMPS if stamp.since <= _text_version(protocol))
    return tuple(rows_of(version_of(protocol)))


def _text_version(protocol: str) -> int:
    version = text_version(protocol)
    return 3 if version is None else version


def overview(protocol: str) -> Iterator[Line]:
    """The events of a protocol, and the purpose of each."""
    rows: list[EventVersions | Stamp]
    if is_text(protocol):
        rows = [stamp for stamp in STAMPS if stamp.letter in names(protocol)]
    else:
        rows = list(rows_of(version_of(protocol)).values())
    width = max(len(_name(row)) for row in rows)
    for row in rows:
        yield [("event", _name(row)), ("", " " * (width - len(_name(row)) + 2)), ("", title(row.value))]


def _name(row: EventVersions | Stamp) -> str:
    return row.letter if isinstance(row, Stamp) else row.type


def describe(protocol: str, name: str) -> Iterator[Line]:
    """An event: its sender, its first version, and its fields with their meanings."""
    if is_text(protocol):
        yield from _stamp(next(stamp for stamp in STAMPS if stamp.letter == name), _text_version(protocol))
        return
    version = version_of(protocol)
    yield from _event(rows_of(version)[name], version)


def sides(row: EventVersions | Stamp) -> str:
    """The sides that may send it."""
    return " and ".join(_SIDES[side] for side in row.directions)


def content(stamp: Stamp, version: int) -> str:
    """The content of a stamp in a version of text, or ""."""
    return stamp.content if version >= 2 else stamp.content.replace("WLOAD!", "")


def fields(row: EventVersions, version: Version | None = None) -> Iterator[FieldText]:
    """The fields of an event, in a version or in all. If they can have any name, one field without a name."""
    told = meanings(row.value)
    if row.fields is None:
        yield FieldText("", "anything", (), next(iter(told.values()), ""))
        return
    types = {field.name: field.type for field in msgspec.structs.fields(row.value)}
    for each in row.fields if version is None else row.fields_of(version):
        until = f", until {written(each.until)}" if each.until < (5,) else ""
        notes = (*(("required",) if each.required else ()), f"since {written(each.since)}{until}")
        kind = "object" if each.name in ("job", "profile") else _type(types[each.name])
        yield FieldText(each.on_wire, kind, notes, told.get(each.name, ""))


def _stamp(stamp: Stamp, version: int) -> Iterator[Line]:
    yield [
        ("heading", "stamp "),
        ("event", stamp.letter),
        ("", f": an event that {sides(stamp)} may send, since {stamp.since}"),
    ]
    yield [("detail", f"  {title(stamp.value)}")]
    yield [("", "  content: "), ("type", content(stamp, version) or "none")]
    if not stamp.is_sent:
        yield [("detail", "  documented, but no Batsim that uses text sends it")]


def _event(row: EventVersions, version: Version) -> Iterator[Line]:
    yield [("heading", "event "), ("event", row.type), ("", f": {sides(row)} may send it")]
    yield [("detail", f"  {title(row.value)}")]
    found = list(fields(row, version))
    if not found:
        yield [("detail", "  no fields")]
    for each in found:
        if not each.name:
            yield [("detail", f"  fields of any name: {each.meaning}")]
            continue
        notes = f" ({', '.join(each.notes)})"
        yield [("", "  "), ("field", each.name), ("", ": "), ("type", each.kind), ("detail", notes)]
        if each.meaning:
            yield [("detail", f"      {each.meaning}")]


def _type(type_: Any) -> str:
    text = str(type_)
    for word, name in (("Mapping", "object"), ("tuple", "array"), ("Resource", "object"), ("JobProfile", "object")):
        if word in text:
            return name
    for word, name in (("str", "string"), ("bool", "boolean"), ("int", "integer"), ("float", "number")):
        if word in text:
            return name
    return "anything"
