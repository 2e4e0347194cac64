"""`batproto fast`: the commands for FaST, with their parameters. Other modules do the work, imported when wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.completing import completions
from batprotocol.cli.families import Family
from batprotocol.cli.parameters import expect_unicode, message_files, seconds, unknown
from batprotocol.cli.terminal.output import Output

if TYPE_CHECKING:
    from batprotocol.fast.runtime.connection import Broker


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
    from batprotocol.fast import _live as work

    times = {deed: options.pop(f"{deed}_time") for deed in DEEDS}
    broker = _broker(options)
    given = {deed: time for deed, time in times.items() if time is not None}
    work.node(hosts, broker, verbose, times=given, **options)


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
    from batprotocol.fast import _live as work

    broker = _broker(options)
    context.exit(work.watch(broker, **options))


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
    from batprotocol.fast import _live as work

    if (payload is None) == (file is None):
        raise click.UsageError("give either PAYLOAD or --file")
    broker = _broker(options)
    work.send(broker, topic, file.read() if payload is None else payload.encode(), as_is, qos, wait)


LIVE = (node, watch, send)
"""The commands."""


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


for _command in LIVE:
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
    from batprotocol.cli.protocols.fast import FAST
    from batprotocol.wire.commands import check as work

    output = Output()
    work.check(files, output, rules=rules, quiet=quiet, expected=FAST)
    context.exit(int(output.failed))


expect_unicode(fast)
