"""FaST for the command line: `batproto fast`, its messages in files, and their tables in `batproto schema`.

Other modules do the work, imported when wanted.
"""

from __future__ import annotations

import codecs
import json
import logging
import queue
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from io import TextIOWrapper
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.completing import completions
from batprotocol.cli.families import Family
from batprotocol.cli.parameters import expect_unicode, message_files, seconds, unknown
from batprotocol.cli.terminal import Output, Piece, number_of, printable
from batprotocol.edc.recording.names import MessagePlace
from batprotocol.errors import DecodeError, EncodeError, PeerGone, TaskFailed
from batprotocol.fast import values
from batprotocol.fast.topics import MESSAGES, QOS, RESULTS, ROUTES, Topic
from batprotocol.fast.values import FastMessage
from batprotocol.schemas.commands.definitions import FieldText, meanings, title
from batprotocol.wire.commands.protocols import MessageProtocol, Reading

if TYPE_CHECKING:
    from batprotocol._util.rules import Catalogue
    from batprotocol.fast.conversation import Conversation, Violation
    from batprotocol.fast.recording import Recorded
    from batprotocol.fast.runtime.connection import Broker, Received
    from batprotocol.fast.runtime.nodes import Nodes


# The address of the broker


_Command = TypeVar("_Command", bound=Callable[..., Any])

DEFAULT_BROKER = "127.0.0.1:1883"
DEEDS = ("start", "stop", "suspend", "resume", "migrate", "repin", "mmbwmon", "pscom")
"""The actions of nodes; a test compares them with those of the library, which is not imported for the help."""


def _at_broker(command: _Command) -> _Command:
    """The options for the address of the broker, and for the login."""
    file = click.Path(exists=True, dir_okay=False, path_type=str)
    for option in reversed(
        (
            click.option(
                "--broker",
                metavar="HOST[:PORT]",
                default=DEFAULT_BROKER,
                show_default=True,
                help="The MQTT broker; or mqtts://USER:PASSWORD@HOST:PORT.",
            ),
            click.option("--username", metavar="NAME", help="The name to log in with."),
            click.option("--password", metavar="WORD", envvar="BATPROTO_MQTT_PASSWORD", help="... and its password."),
            click.option("--cafile", metavar="FILE", type=file, help="Encrypt, and trust these certificates."),
            click.option("--cert", metavar="FILE", type=file, help="Your own certificate, if the broker requires one."),
            click.option("--key", metavar="FILE", type=file, help="... and its key."),
        )
    ):
        command = option(command)
    return command


def _broker(options: dict[str, Any]) -> Broker:
    """The broker of the options, which are removed from the dictionary."""
    import dataclasses
    import ssl

    from batprotocol.fast.runtime.connection import Broker

    address, username, password = options.pop("broker"), options.pop("username"), options.pop("password")
    cafile, cert, key = options.pop("cafile"), options.pop("cert"), options.pop("key")
    try:
        broker = Broker.parse(address)
        if username is not None or password is not None:
            name = broker.username if username is None else username
            broker = dataclasses.replace(broker, username=name, password=password)
        if cafile or cert or key:
            context = ssl.create_default_context(cafile=cafile)
            if cert or key:
                context.load_cert_chain(cert or key, key)
            broker = dataclasses.replace(broker, tls=context)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except ssl.SSLError as error:
        raise click.UsageError(f"the certificates cannot be used: {error}") from None
    return broker


# batproto fast node


def _shares(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """`NAME:SHARE`, several of them."""
    found = {}
    for value in values:
        name, colon, share = value.rpartition(":")
        try:
            found[name] = float(share)
        except ValueError:
            colon = ""
        if not colon or not 0 <= found[name] <= 1:
            raise click.BadParameter(f"expected NAME:SHARE with a share from 0 to 1, got {value!r}", context, parameter)
    return found


def _chances(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """`DEED:PROBABILITY`, several of them."""
    found = _shares(context, parameter, values)
    for deed in found:
        if deed not in DEEDS:
            unknown(context, f"nodes do not {deed!r}", deed, DEEDS)
    return found


def _range(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, float] | None:
    """`SECONDS` or `FROM-TO`."""
    if value is None:
        return None
    low, dash, high = value.partition("-")
    try:
        times = float(low), float(high if dash else low)
    except ValueError:
        times = 1.0, 0.0
    if not 0 <= times[0] <= times[1] < float("inf"):
        raise click.BadParameter(
            f"expected SECONDS or FROM-TO, such as 0.5 or 0.5-2, got {value!r}", context, parameter
        )
    return times


def _times(command: _Command) -> _Command:
    for deed in reversed(DEEDS):
        text = f"The time to {deed}." if deed not in DEEDS[-2:] else f"The time of {deed}."
        command = click.option(f"--{deed}-time", metavar="SECONDS|FROM-TO", callback=_range, help=text)(command)
    return command


@click.command()
@click.argument("hosts", metavar="HOST...", nargs=-1, required=True)
@_at_broker
@_times
@click.option(
    "--fail",
    metavar="DEED:PROBABILITY",
    multiple=True,
    callback=_chances,
    help="The probability that this fails, 0 to 1.",
)
@click.option(
    "--silent", metavar="DEED:PROBABILITY", multiple=True, callback=_chances, help="... that this has no answer."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of random numbers.")
@click.option("--cores", type=click.IntRange(1), default=16, show_default=True, help="The cores of each node.")
@click.option(
    "--pscom-procs", type=click.IntRange(0), default=2, show_default=True, help="The MPI processes in each machine."
)
@click.option("--applications", is_flag=True, help="An application in each machine reports its progress.")
@click.option(
    "--report-time",
    metavar="SECONDS",
    type=float,
    default=1.0,
    show_default=True,
    callback=seconds,
    help="The interval of these reports.",
)
@click.option(
    "--bandwidth",
    metavar="PATTERN:SHARE",
    multiple=True,
    callback=_shares,
    help="The share of a node's memory bandwidth that machines of such names use; others use 0.05 to 0.5, at random.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print each action on standard error.")
def node(hosts: tuple[str, ...], verbose: bool, **options: Any) -> None:
    """Run simulated nodes called HOST, to test a scheduler with. They start no real machines.

    Each node has an agent, a migration framework, mmbwmon, and machines in memory with MPI processes in them. Nodes
    answer as FaST's own programs do, and end after the task quit. Machines migrate among the nodes of this command.

    A DEED is start, stop, suspend, resume, migrate, repin, mmbwmon (a measurement) or pscom (an answer of a process).

    \b
    Examples:
      batproto fast node node-a node-b
      batproto fast node node-{01..50} --start-time 0.5-2 --fail start:0.05 --fail migrate:0.1 --seed 7
    """
    times = {deed: options.pop(f"{deed}_time") for deed in DEEDS}
    broker = _broker(options)
    given = {deed: time for deed, time in times.items() if time is not None}
    _run_nodes(hosts, broker, verbose, times=given, **options)


# batproto fast watch


def _message_names(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> frozenset[str]:
    from batprotocol.fast.topics import MESSAGES

    for name in names:
        if name not in MESSAGES:
            unknown(context, f"no message is called {name!r}", name, tuple(MESSAGES))
    return frozenset(names)


def _complete_message(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.fast.topics import MESSAGES

    return completions(tuple(MESSAGES), start)


@click.command()
@_at_broker
@click.option(
    "-t",
    "--topic",
    "topics",
    metavar="FILTER",
    multiple=True,
    default=("fast/#",),
    show_default=True,
    help="Only messages on these topics; + matches one level, # all further levels. Can be repeated.",
)
@click.option(
    "-m",
    "--message",
    "messages",
    metavar="TYPE",
    multiple=True,
    callback=_message_names,
    shell_complete=_complete_message,
    help="Show only messages of this type, such as StartVM. Can be repeated.",
)
@click.option(
    "-o",
    "--output",
    "record",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="Record all messages on these topics, for dump and fast check; the file must not exist.",
)
@click.option("--check", is_flag=True, help="Report violations of the rules, too.")
@click.option("--json-lines", is_flag=True, help="Print each message as JSON on one line.")
@click.option("-n", "--count", metavar="NUMBER", type=click.IntRange(1), help="End after this number of messages.")
@click.option("-q", "--quiet", is_flag=True, help="Do not print messages.")
@click.pass_context
def watch(context: click.Context, /, **options: Any) -> None:
    """Show the messages of a broker, until Ctrl-C.

    Messages come in the order of the broker. To keep this order, the command receives messages of QoS 2 with QoS 1.

    \b
    Examples:
      batproto fast watch --broker head:1883 -o run.jsonl
      batproto fast watch --topic 'fast/migfra/node-a/#' --message StartVM --message Result
    """
    broker = _broker(options)
    context.exit(_watch_broker(broker, **options))


# batproto fast send


@click.command()
@click.argument("topic")
@click.argument("payload", metavar="[PAYLOAD]", required=False)
@click.option(
    "-f",
    "--file",
    metavar="FILE",
    type=click.File("rb"),
    help="Send the content of this file, or - for standard input.",
)
@_at_broker
@click.option("--as-is", is_flag=True, help="Send any payload on any topic, also if it is not a message of FaST.")
@click.option("--qos", type=click.IntRange(0, 2), help="The quality of service, instead of the usual one.")
@click.option(
    "--wait", metavar="SECONDS", type=float, callback=seconds, help="Wait for the result of this task, and print it."
)
def send(
    topic: str, payload: str | None, file: Any, as_is: bool, qos: int | None, wait: float | None, **options: Any
) -> None:
    """Send one message by hand: PAYLOAD to TOPIC.

    The command checks the message first. When it ends, the broker has the message. The command does not change the
    message, except for the id that --wait adds.

    \b
    Examples:
      batproto fast send fast/migfra/node-a/task '{task: start vm, vm-configurations: [{vm-name: vm1}]}'
      batproto fast send fast/migfra/node-a/task -f task.yaml --wait 60
    """
    if (payload is None) == (file is None):
        raise click.UsageError("give either PAYLOAD or --file")
    broker = _broker(options)
    _send_message(broker, topic, file.read() if payload is None else payload.encode(), as_is, qos, wait)


# The work of these commands


def _run_nodes(hosts: tuple[str, ...], broker: Broker, verbose: bool, **settings: Any) -> None:
    """Run nodes until they have quit or a signal comes."""
    from batprotocol.fast.runtime.hypervisor import Settings
    from batprotocol.fast.runtime.nodes import serve_nodes

    logging.basicConfig(format="batproto: %(message)s", level=logging.INFO if verbose else logging.WARNING)

    def tell(nodes: Nodes) -> None:
        count = number_of(len(nodes.agents), "node")
        print(f"batproto: {count} at the broker {broker}: {' '.join(hosts)}", file=sys.stderr, flush=True)

    serve_nodes(hosts, broker, Settings(**settings), on_ready=tell)


# One message to a broker


def _send_message(broker: Broker, topic: str, payload: bytes, as_is: bool, qos: int | None, wait: float | None) -> None:
    """Send a payload to a topic, and if it is a task, optionally wait for its result."""
    from batprotocol.fast import wire
    from batprotocol.fast.runtime.cluster import Cluster

    known = None if as_is else Topic.parse(topic)
    message = None if known is None else wire.decode(payload, known, dialect="any")
    if wait is None:
        _publish(broker, topic, payload, qos if qos is not None else QOS[known.channel] if known else 2)
        return
    if known is None or message is None or type(message) not in RESULTS:
        raise click.UsageError("only a task of a migration framework has a result to wait for")
    with Cluster(broker) as cluster:
        try:
            result = cluster.call(known.name, message, wait).result()
        except TaskFailed as error:
            print(f"batproto: {error}", file=sys.stderr)
            result = error.result
    Output().json(wire.to_json(result))
    if not result.is_success:
        raise click.exceptions.Exit(1)


def _publish(broker: Broker, topic: str, payload: bytes, qos: int) -> None:
    from batprotocol.fast.runtime.connection import BrokerConnection

    with BrokerConnection(broker, {}, lambda received: None) as connection:
        connection.publish(topic, payload, qos)
        if not connection.flush():
            raise PeerGone(f"the broker at {broker} has not taken the message")
        if connection.refusal:
            raise PeerGone(f"the broker at {broker} does not take the message: {connection.refusal}")


# The messages of a broker, shown and recorded


IN_ORDER = 1
"""The quality of service of the subscription: with 2, a message of quality 1 overtakes an earlier one of quality 2."""

TICK = 0.2
"""Seconds between two checks for signals."""


def _watch_broker(
    broker: Broker,
    *,
    topics: tuple[str, ...],
    messages: frozenset[str],
    record: str | None,
    check: bool,
    json_lines: bool,
    count: int | None,
    quiet: bool,
) -> int:
    """Show messages until a signal comes, or until `count` messages have come. Return the exit status."""
    from batprotocol._util.signals import Interrupts
    from batprotocol.fast.conversation import Conversation
    from batprotocol.fast.recording import Recorded
    from batprotocol.fast.runtime.connection import BrokerConnection

    output = Output()
    heard: queue.Queue[Recorded] = queue.Queue()

    def receive(received: Received) -> None:
        heard.put(
            Recorded(received.topic, received.payload, time.time(), received.qos, received.retained, received.number)
        )

    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        file = None if record is None else stack.enter_context(open(record, "x", encoding="utf-8"))
        stack.enter_context(BrokerConnection(broker, dict.fromkeys(topics, IN_ORDER), receive))
        print(f"batproto: watching {' '.join(topics)} at {broker}", file=sys.stderr, flush=True)
        show = _Show(output, messages, file, Conversation() if check else None, json_lines, quiet)
        seen = 0
        while count is None or seen < count:
            interrupts.check()
            try:
                show.take(heard.get(timeout=TICK))
                seen += 1
            except queue.Empty:
                show.wait(time.time())
    return int(output.failed)


class _Show(NamedTuple):
    """The output of each message."""

    output: Output
    messages: frozenset[str]
    file: TextIOWrapper | None
    conversation: Conversation | None
    json_lines: bool
    quiet: bool

    def take(self, recorded: Recorded) -> None:
        from batprotocol._util.files import naming
        from batprotocol.fast.recording import write_line

        if self.file is not None:
            with naming(self.file.name):
                self.file.write(write_line(recorded) + "\n")
                self.file.flush()
        if not self.quiet:
            self._print(recorded, _read(recorded))
        if self.conversation is not None:
            for violation in self.conversation.feed(
                recorded.topic, recorded.payload, recorded.time, retain=recorded.retain
            ):
                self.output.error(recorded.topic, str(violation))

    def wait(self, now: float) -> None:
        """Report the answers that are overdue, if no message has come until now."""
        if self.conversation is not None:
            for violation in self.conversation.wait(now):
                self.output.error("too late", str(violation))

    def _print(self, recorded: Recorded, message: FastMessage | DecodeError | None) -> None:
        from batprotocol.fast.wire.codec import tree_of

        if self.messages and type(message).__name__ not in self.messages:
            return
        if self.json_lines:
            self.output.json(_json(recorded, message))
            return
        clock = datetime.fromtimestamp(recorded.time).strftime("%H:%M:%S.%f")[:-3]
        line: list[Piece] = [("detail", f"{clock} "), ("file", printable(recorded.topic)), ("", " ")]
        if isinstance(message, FastMessage):
            fields = tree_of(message)
            line += [("event", fields.pop("message")), ("", f" {printable(json.dumps(fields, ensure_ascii=False))}")]
        else:
            text = recorded.payload.decode("utf-8", "backslashreplace")
            line += [("string", printable(text[:200]))]
        self.output.line(*line)
        if isinstance(message, DecodeError):
            self.output.remark(recorded.topic, str(message))


def _read(recorded: Recorded) -> FastMessage | DecodeError | None:
    """The message, the error if the payload is not one, or None if the topic is not of FaST."""
    from batprotocol.fast import wire

    topic = Topic.find(recorded.topic)
    if topic is None:
        return None
    try:
        return wire.decode(recorded.payload, topic, dialect="any")
    except DecodeError as error:
        return error


def _json(recorded: Recorded, message: FastMessage | DecodeError | None) -> str:
    from batprotocol.fast.wire.codec import tree_of

    found = {"time": round(recorded.time, 6), "topic": recorded.topic, "qos": recorded.qos}
    if isinstance(message, FastMessage):
        return json.dumps({**found, **tree_of(message)}, ensure_ascii=False)
    error = {"error": str(message)} if message is not None else {}
    return json.dumps({**found, "payload": recorded.payload.decode("utf-8", "backslashreplace"), **error})


# batproto fast, and check


_OVERVIEW = {
    "Over a broker": {
        "node": "Run simulated nodes to test a scheduler with.",
        "watch": "Show and record all messages, until Ctrl-C.",
        "send": "Send one message by hand.",
    },
    "Afterwards": {"check": "Check that a recording follows the rules."},
}


@click.group(cls=Family, overview=_OVERVIEW)
def fast() -> None:
    """Exchange messages with FaST's schedulers, nodes and agents over MQTT, and check recordings."""


for _command in (node, watch, send):
    fast.add_command(_command)


def _rule_set(context: click.Context, parameter: click.Parameter, name: str | None) -> str:
    from batprotocol.fast.conversation import RULE_SETS

    if name is not None and name not in RULE_SETS:
        raise click.UsageError(f"there is no rule set {name!r}, only {' and '.join(RULE_SETS)}", context)
    return name or ""


def _complete_rule_set(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.fast.conversation import RULE_SETS

    return completions(RULE_SETS, start)


@fast.command()
@message_files
@click.option(
    "--rules",
    metavar="NAME",
    callback=_rule_set,
    shell_complete=_complete_rule_set,
    help="The rule set: protocol (both spellings, the default), or fast-lib (only the spelling that fast-lib accepts).",
)
@click.option("-q", "--quiet", is_flag=True, help="Print violations only.")
@click.pass_context
def check(context: click.Context, files: tuple[str, ...], rules: str, quiet: bool) -> None:
    """Check that a recording follows the rules: each task has its result, a machine is started before it is used...

    FILE is a recording, a line of JSON for each message, as "batproto fast watch -o" and "mosquitto_sub -F %j" write
    them, or - for standard input. Each is a conversation of its own. Prints each violation with its line, path,
    severity and rule; "batproto rules ID" explains the rule. The exit status is 1 if there is an error (a program
    aborts) or a deadlock (a program waits without end), or if a recording cannot be read.
    """
    from batprotocol.wire.commands import check as work

    output = Output()
    work.check(files, output, rules=rules, quiet=quiet, expected=FAST)
    context.exit(int(output.failed))


expect_unicode(fast)


# Messages in files: payloads in YAML, messages as JSON, and lines of recordings


_YAML = "yaml"
_JSON = "json"
_LINE = "line"
_KEYS = "task|result|cores|hostname|cgroup|threads|KPI|job-description|vm-configurations|list|vm-name|id|host|scheduler"
_KINDS: Final = (
    (_LINE, re.compile(rb'\{\s*"(?:tst|topic)"\s*:')),
    (_JSON, re.compile(rb'\{\s*"message"\s*:')),
    (_YAML, re.compile(rb"---(?:\s|$)|\{?[\"']?(?:%s)[\"']? *:" % _KEYS.encode())),
)
"""The beginning of each kind of bytes, after empty lines, comments and directives."""

_STRANGE: Final = "message of somebody else"
_UNREADABLE: Final = "unreadable message"
_KINDS_TOLD: Final = {_LINE: "line of FaST", _JSON: "JSON of FaST", _YAML: "YAML of FaST"}


def _detect(data: bytes) -> str | None:
    lines = data[:4096].removeprefix(codecs.BOM_UTF8).splitlines()
    said = list(dropwhile(lambda line: not line.strip() or line.lstrip().startswith((b"#", b"%")), lines))
    head = b"\n".join(said).lstrip()
    return next((kind for kind, pattern in _KINDS if pattern.match(head)), None)


def _read_message(data: bytes, kind: str, strict: bool, place: MessagePlace) -> Reading:
    try:
        message, original = _READERS[kind](data)
    except DecodeError as fault:
        return Reading(FAST, kind, format=kind, fault=fault)
    reading = Reading(FAST, kind, format=kind, original=original, shown=shown(message, original))
    reading.other = "yaml" if kind == _JSON else "json"
    return reading


def _payload(data: bytes) -> tuple[FastMessage, dict[str, Any]]:
    from batprotocol.fast.wire import decode_alone
    from batprotocol.fast.wire.codec import tree_of

    message = decode_alone(data)
    return message, tree_of(message)


def _json_message(data: bytes) -> tuple[FastMessage, dict[str, Any]]:
    from batprotocol.fast.wire import from_json
    from batprotocol.fast.wire.codec import tree_of

    message = from_json(data)
    return message, tree_of(message)


def _line(data: bytes) -> tuple[FastMessage | None, dict[str, Any]]:
    """A line of a recording. A message on another topic than FaST's is shown as plain text."""
    from batprotocol.fast.recording import read_line
    from batprotocol.fast.topics import Topic
    from batprotocol.fast.wire import decode
    from batprotocol.fast.wire.codec import tree_of

    recorded = read_line(data)
    original: dict[str, Any] = {"topic": recorded.topic, "time": recorded.time}
    topic = Topic.find(recorded.topic)
    if topic is None:
        return None, {**original, "payload": recorded.payload.decode("utf-8", "replace")}
    try:
        message = decode(recorded.payload, topic, dialect="any")
    except DecodeError as fault:
        fault.partial = shown(None, {**original, "payload": recorded.payload.decode("utf-8", "replace")}, _UNREADABLE)
        raise
    return message, {**original, **tree_of(message)}


_READERS: Final = {_YAML: _payload, _JSON: _json_message, _LINE: _line}


def shown(message: FastMessage | None, original: dict[str, Any], otherwise: str = _STRANGE) -> dict[str, Any]:
    """A message as the one event of a drawn message. The event is called `otherwise` if there is no message."""
    fields = {name: value for name, value in original.items() if name not in ("message", "topic", "time")}
    kind = otherwise if message is None else type(message).__name__
    when = {"timestamp": original["time"]} if "time" in original else {}
    return {"events": [{**when, "event_type": kind, "event": fields}], "topic": original.get("topic", "")}


def _title(reading: Reading) -> tuple[str, str]:
    return (reading.tree or {}).get("topic") or _KINDS_TOLD[reading.kind], ""


def _write(reading: Reading, to: str, indent: int | None) -> bytes:
    from batprotocol.fast.wire import encode, from_json, to_json

    if "message" not in reading.original:
        raise DecodeError("this is not a message of FaST, and cannot be converted")
    text = {name: value for name, value in reading.original.items() if name not in ("topic", "time")}
    message = from_json(_dumped(text))
    try:
        if to == "json":
            return to_json(message, indent).encode() + b"\n"
        if to in ("yaml", "specification"):
            return encode(message, dialect="fastlib" if to == "yaml" else "specification")
    except EncodeError as error:
        raise DecodeError(error.reason, error.path) from None
    raise DecodeError("this protocol has no binary form: it can be converted to json, yaml or specification")


def _dumped(tree: dict[str, Any]) -> str:
    import json

    return json.dumps(tree)


def _catalogue() -> Catalogue:
    from batprotocol.fast.conversation import CATALOGUE

    return CATALOGUE


class _Judge:
    """Judges a recording line by line."""

    def __init__(self, rules: str) -> None:
        from batprotocol.fast.conversation import Conversation

        self._conversation = Conversation(rules)

    def feed(self, said: bytes, /) -> Sequence[Violation]:
        """Take the next line. A malformed line is reported as a malformed message."""
        from batprotocol.fast.conversation import Violation
        from batprotocol.fast.recording import read_line

        conversation = self._conversation
        try:
            recorded = read_line(said)
        except DecodeError as error:
            number = conversation.number
            conversation.feed("", b"", 0.0)  # it counts as a message
            return [Violation(number, error.path, "message.form", "error", error.reason)]
        return conversation.feed(recorded.topic, recorded.payload, recorded.time, retain=recorded.retain)

    def finish(self) -> Sequence[Violation]:
        """Report what is missing."""
        return self._conversation.finish()


FAST: Final = MessageProtocol("FaST", _detect, _read_message, _title, _catalogue, _Judge, _write)
"""YAML over MQTT."""


# batproto schema --protocol fast


_PARTS: Final[Mapping[str, type[Any]]] = {
    name: cls for name, cls in vars(values).items() if isinstance(cls, type) and issubclass(cls, values.MessagePart)
}

NAMES: Final = (*MESSAGES, *(name for name in _PARTS if name != "Part"))
"""The names of all messages, and of their parts."""

Line = list[Piece]


def overview() -> Iterator[Line]:
    """All messages with their topics, then the parts of messages."""
    width = max(len(name) for name in MESSAGES)
    yield [("heading", "Messages")]
    for name, cls in MESSAGES.items():
        topics = [f"{route.channel} (QoS {route.qos})" for route in ROUTES if route.message is cls]
        yield [
            ("", "  "),
            ("event", name),
            ("", " " * (width - len(name) + 2)),
            ("", topics[0] if topics else "a file"),
        ]
    yield [("heading", "Parts of messages")]
    yield from ([("", "  "), ("type", name)] for name in NAMES if name not in MESSAGES)


def class_of(name: str) -> type[Any]:
    """The class of a message or of a part."""
    return MESSAGES.get(name) or _PARTS[name]


def task_of(cls: type[Any]) -> FieldText | None:
    """The key that identifies the kind of a message, or None if there is none."""
    from batprotocol.fast.wire.kinds import shape_of

    ours, theirs = shape_of(cls, "fastlib").task, shape_of(cls, "specification").task
    return FieldText("task", theirs, () if ours else ("specification only",), "") if theirs else None


def keys(cls: type[Any]) -> Iterator[FieldText]:
    """The keys of a message or a part in fast-lib, with the differences in the specification."""
    from batprotocol.fast.wire.kinds import shape_of

    others = {key.field: key for key in shape_of(cls, "specification").keys}
    told = _meanings(cls)
    for key in shape_of(cls, "fastlib").keys:
        other = others[key.field]
        notes = ["required"] if key.required else []
        if other.names[0] != key.names[0]:
            notes.append(f"in the specification {other.names[0]}")
        if other.kind.name != key.kind.name:
            notes.append(f"in the specification a {other.kind.name}")
        yield FieldText(key.names[0], key.kind.name, tuple(notes), told.get(key.field, ""))


def describe(name: str) -> Iterator[Line]:
    """A message or a part: its sender and topic, and its keys with their meanings."""
    cls = class_of(name)
    yield [("heading", "message " if name in MESSAGES else "part "), ("event" if name in MESSAGES else "type", name)]
    yield [("detail", f"  {title(cls)}")]
    for route in ROUTES:
        if route.message is cls:
            told = f"  {route.channel}: {route.sender} to {route.receiver}, QoS {route.qos}, not retained"
            yield [("detail", told)]
    task = task_of(cls)
    if task:
        yield [("", "  "), ("field", task.name), ("", ": "), ("string", task.kind), ("detail", _notes(task))]
    found = list(keys(cls))
    for each in found:
        yield [("", "  "), ("field", each.name), ("", ": "), ("type", each.kind), ("detail", _notes(each))]
        if each.meaning:
            yield [("detail", f"      {each.meaning}")]
    if not found:
        yield [("detail", "  no keys")]


def _notes(told: FieldText) -> str:
    return f" ({', '.join(told.notes)})" if told.notes else ""


def _meanings(cls: type[Any]) -> Mapping[str, str]:
    """The descriptions of the fields, from its own docstring, its base classes, or the tasks that it refers to."""
    found: dict[str, str] = {}
    for each in (values.StartVM, values.MigrateVM, *reversed(cls.__mro__)):
        found.update(meanings(each))
    return found
