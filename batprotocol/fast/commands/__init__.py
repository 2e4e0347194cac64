"""`batproto fast`: the commands for FaST, with their parameters. Other modules do the work, imported when wanted."""

from __future__ import annotations

import json
import logging
import queue
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.completing import completions
from batprotocol.cli.families import Family
from batprotocol.cli.parameters import expect_unicode, message_files, seconds, unknown
from batprotocol.cli.terminal import Output, Piece, number_of, printable
from batprotocol.errors import DecodeError, PeerGone, TaskFailed
from batprotocol.fast.topics import QOS, RESULTS, Topic
from batprotocol.fast.values import FastMessage

if TYPE_CHECKING:
    from batprotocol.fast.conversation import Conversation
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
    from batprotocol.fast.commands.protocol import FAST
    from batprotocol.wire.commands import check as work

    output = Output()
    work.check(files, output, rules=rules, quiet=quiet, expected=FAST)
    context.exit(int(output.failed))


expect_unicode(fast)
