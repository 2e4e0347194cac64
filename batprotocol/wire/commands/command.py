"""The parameters of `batproto dump`, `validate`, `convert` and `check`. The modules beside it do the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.completing import complete_any_rule_set, completions
from batprotocol.cli.parameters import (
    SchemaFile,
    advice_options,
    any_rule_set,
    message_files,
    schema_file_options,
    unknown,
)
from batprotocol.cli.terminal import Output

if TYPE_CHECKING:
    from batprotocol.wire.commands.protocols import MessageProtocol

__all__ = ["check", "convert", "dump", "how_shown", "validate"]

# What prints or reads messages is imported when it is called: `batproto --help` and the shell's completion should not
# wait for it.


def _event_names(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> frozenset[str]:
    from batprotocol.wire.commands.selection import EVENTS, event_name

    chosen = {event_name(name) or unknown(context, f"no event type is called {name!r}", name, EVENTS) for name in names}
    return frozenset(chosen)


def _spoken(schema: SchemaFile | None, size_prefixed: bool, output: Output) -> MessageProtocol | None:
    """The protocol of a schema that the user named, and of messages that the user says are size-prefixed."""
    if schema is None and not size_prefixed:
        return None
    from batprotocol.wire.commands import batsim5
    from batprotocol.wire.commands.batsim5 import by_schema

    spoken = batsim5.BATSIM_5
    if schema is not None:
        spoken = by_schema(schema)
        for note in spoken.notes:
            output.remark(schema.name, note)
    return batsim5.size_prefixed(spoken) if size_prefixed else spoken


def _complete_event(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.wire.commands.selection import EVENTS

    return completions(EVENTS, start)


_size_prefixed_option = click.option(
    "--size-prefixed",
    is_flag=True,
    help="The bytes are a uint32 size and then a binary message, as flatbuffers' FinishSizePrefixed writes them.",
)

_HOW_SHOWN: Final = (
    click.option("--json", "shape", flag_value="json", help="Print each message as JSON on several lines."),
    click.option("--json-lines", "shape", flag_value="json-lines", help="Print each message as JSON on one line."),
    click.option(
        "-e",
        "--event",
        "events",
        metavar="TYPE",
        multiple=True,
        callback=_event_names,
        shell_complete=_complete_event,
        help="Print only events of this type, such as JobSubmitted. Can be repeated.",
    ),
    click.option(
        "-j",
        "--job",
        "jobs",
        metavar="ID",
        multiple=True,
        help="Print only events that mention this job; an ID without '!' means that job of any workload. Can be "
        "repeated.",
    ),
    click.option(
        "--full",
        is_flag=True,
        help="Show long vectors, texts and events in full, and each of several similar elements.",
    ),
)


def how_shown(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that show messages: the shape, the events, and how much of them."""
    for option in reversed(_HOW_SHOWN):
        command = option(command)
    return command


@click.command()
@message_files
@how_shown
@schema_file_options("Read the messages by")
@_size_prefixed_option
@click.pass_context
def dump(
    context: click.Context,
    files: tuple[str, ...],
    shape: str | None,
    events: frozenset[str],
    jobs: tuple[str, ...],
    full: bool,
    schema: SchemaFile | None,
    size_prefixed: bool,
) -> None:
    """Print messages as readable trees, or as JSON.

    If a message is broken, the command prints the part that it could read, and reports on standard error what is wrong
    and where. It still prints the other files, and the exit status is 1. It skips fields that only a newer schema has,
    with a remark.

    With --event or --job, it prints only the events that satisfy both, and only messages that have such events.

    With --json or --json-lines, it prints the frame of message 1 as its message, and that of message 0 as
    {"init": TEXT}. A broken message has an "error" with its path, offset and reason. NaN and Infinity are written as
    such.
    """
    from batprotocol.wire.commands import dump as work

    output, selection = Output(), work.Selection(events, frozenset(jobs))
    work.dump(files, output, selection, shape or "tree", full=full, spoken=_spoken(schema, size_prefixed, output))
    context.exit(int(output.failed))


@click.command()
@message_files
@click.option("-q", "--quiet", is_flag=True, help="Print only what is wrong.")
@schema_file_options("Check the messages with")
@_size_prefixed_option
@click.pass_context
def validate(
    context: click.Context, files: tuple[str, ...], quiet: bool, schema: SchemaFile | None, size_prefixed: bool
) -> None:
    """Check that messages can be read, and that they have no field that the schema does not have.

    The command prints a line for each good file on standard output. For each bad message, it reports on standard error
    what is wrong and where. The exit status is 1 if there is a bad message.
    """
    from batprotocol.wire.commands import check as work

    output = Output()
    work.validate(files, output, quiet=quiet, spoken=_spoken(schema, size_prefixed, output))
    context.exit(int(output.failed))


@click.command()
@click.argument("source", metavar="IN", type=click.Path(allow_dash=True, readable=False, path_type=str))
@click.argument("target", metavar="OUT", type=click.Path(allow_dash=True, readable=False, path_type=str))
@click.option("--to", type=click.Choice(["binary", "json", "yaml", "specification"]), help="The format of OUT.")
@click.option(
    "--indent",
    type=click.IntRange(0, 16),
    default=2,
    show_default=True,
    help="Spaces for each level of JSON; 0 is one line.",
)
@schema_file_options("Read and write the message by")
@_size_prefixed_option
def convert(
    source: str, target: str, to: str | None, indent: int, schema: SchemaFile | None, size_prefixed: bool
) -> None:
    """Convert the message IN from binary or YAML to JSON or back, and write it to OUT.

    IN can be - for standard input, and OUT can be - for standard output. --to selects the format of a message. Without
    it, the ending of OUT does: .json for JSON, .bin or .fb for binary, .yaml or .yml for YAML. If OUT is - or has
    another ending, all formats except JSON become JSON. JSON becomes binary, JSON of FaST becomes YAML, and JSON of
    Batsim 1 to 4 stays JSON.

    A message of FaST can be json, yaml (as fast-lib writes it) or specification (the YAML of its specification).
    run.jsonl/5 is the fifth line of a recording. The frame of message 1 stays a frame, and its JSON is always one line;
    other JSON ends with a line break. A workload file of Batsim 1 to 4 becomes one of Batsim 5. OUT can be the same
    file as IN. If the conversion fails, OUT does not change.

    IN can also be a whole recording: an archive, a folder or a .mcap. Then OUT is a .mcap, .tar.xz or .tar, or a
    folder, and must not exist yet. Messages, times, metadata, results and all other files are copied.

    flatc and Batsim write a double with 12 decimals, and a float with 6. If JSON has such numbers, the command reports
    on standard error that digits may be gone.
    """
    from batprotocol.wire.commands import convert as work

    work.convert(source, target, to, indent or None, _spoken(schema, size_prefixed, Output()))


@click.command()
@message_files
@click.option(
    "--rules",
    metavar="NAME",
    callback=any_rule_set,
    shell_complete=complete_any_rule_set,
    help="The rule set: batsim-5.0.0-rc2 (what that Batsim does, the default) or protocol (what the schema demands); "
    "batsim-4.2.1, batsim-2.0.0, batsim-1.4.0 or text-3 for older runs. Their first message shows which Batsim ran.",
)
@advice_options(3600.0)
@click.option("-q", "--quiet", is_flag=True, help="Print only what is wrong.")
@click.pass_context
def check(context: click.Context, files: tuple[str, ...], rules: str, advise: float | None, quiet: bool) -> None:
    """Check that the messages of a run follow the rules of the conversation.

    A conversation consists of all messages of an archive or of a folder, in the order of their names, from the
    initialization data on. The command prints each violation with its message, place, severity and rule; "batproto
    rules ID" explains the rule. The exit status is 1 if there is an error (Batsim aborts or crashes) or a deadlock, or
    if a conversation cannot be read.

    With --advise, the command also prints advice about runs that keep to the rules: hosts that stay free beside a
    waiting job that fits, jobs that the scheduler never decides on, and hosts that it does not use again although jobs
    wait. Advice does not change the exit status.
    """
    from batprotocol.wire.commands import check as work

    output = Output()
    work.check(files, output, rules=rules, quiet=quiet, advise=advise)
    context.exit(int(output.failed))
