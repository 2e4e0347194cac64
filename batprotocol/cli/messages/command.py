"""`batproto dump`, `validate`, `convert` and `check`: their parameters. The modules of their names do the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.completing import complete_any_rule_set, completions
from batprotocol.cli.parameters import advice_options, any_rule_set, message_files, schema_option, unknown
from batprotocol.cli.terminal.output import Output

if TYPE_CHECKING:
    from batprotocol.cli.protocols.reading import Spoken

__all__ = ["check", "convert", "dump", "how_shown", "validate"]

# What prints or reads messages is imported when it is called: `batproto --help` and the shell's completion should not
# wait for it.


def _event_names(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> frozenset[str]:
    from batprotocol.cli.messages.selection import EVENTS, event_name

    chosen = {event_name(name) or unknown(context, f"no event type is called {name!r}", name, EVENTS) for name in names}
    return frozenset(chosen)


def _spoken(schema: str | None) -> Spoken | None:
    """The protocol of a schema that was asked for."""
    if schema is None:
        return None
    from batprotocol.cli.protocols.aged import aged

    return aged(schema)


def _complete_event(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.cli.messages.selection import EVENTS

    return completions(EVENTS, start)


_HOW_SHOWN: Final = (
    click.option("--json", "shape", flag_value="json", help="Print each message as JSON over several lines."),
    click.option("--json-lines", "shape", flag_value="json-lines", help="Print each message as JSON on one line."),
    click.option(
        "-e",
        "--event",
        "events",
        metavar="TYPE",
        multiple=True,
        callback=_event_names,
        shell_complete=_complete_event,
        help="Only events of this type, such as JobSubmitted. Can be repeated.",
    ),
    click.option(
        "-j",
        "--job",
        "jobs",
        metavar="ID",
        multiple=True,
        help="Only events that mention this job; an ID without '!' means that job of any workload. Can be repeated.",
    ),
    click.option(
        "--full", is_flag=True, help="Show long vectors, texts and events whole, and alike elements one by one."
    ),
)


def how_shown(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of whatever shows messages: in which shape, which events, how much of them."""
    for option in reversed(_HOW_SHOWN):
        command = option(command)
    return command


@click.command()
@message_files
@how_shown
@schema_option("Read the messages by")
@click.pass_context
def dump(
    context: click.Context,
    files: tuple[str, ...],
    shape: str | None,
    events: frozenset[str],
    jobs: tuple[str, ...],
    full: bool,
    schema: str | None,
) -> None:
    """Print messages as readable trees, or as JSON.

    Of a broken message, what could be read is printed, then on standard error what is wrong and where; the other files
    are still printed, and the exit status is 1. Fields that only a newer schema has are skipped with a remark.

    With --event or --job, only the events that satisfy both are printed, and only messages that have some.

    With --json or --json-lines, the frame of message 1 is printed as its message, that of message 0 as {"init": TEXT},
    and a broken message has an "error" with its path, offset and reason. NaN and Infinity are written as such.
    """
    from batprotocol.cli.messages import dump as work

    output, selection = Output(), work.Selection(events, frozenset(jobs))
    work.dump(files, output, selection, shape or "tree", full=full, spoken=_spoken(schema))
    context.exit(int(output.failed))


@click.command()
@message_files
@click.option("-q", "--quiet", is_flag=True, help="Print only what is wrong.")
@schema_option("Hold the messages against")
@click.pass_context
def validate(context: click.Context, files: tuple[str, ...], quiet: bool, schema: str | None) -> None:
    """Check that messages can be read, with no field that the schema does not have.

    Prints a line for each good file on standard output, and for each bad message on standard error what is wrong and
    where. The exit status is 1 if there is any.
    """
    from batprotocol.cli.messages import validate as work

    output = Output()
    work.validate(files, output, quiet=quiet, spoken=_spoken(schema))
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
@schema_option("Read and write the message by")
def convert(source: str, target: str, to: str | None, indent: int, schema: str | None) -> None:
    """Convert the message in IN from binary or YAML to JSON or back, and write it to OUT.

    Either can be - for standard input or output. Without --to, the suffix of OUT tells the format (.json; .bin or .fb;
    .yaml), or else it is the one that IN has not. A message of FaST can be json, yaml (as fast-lib writes it) or
    specification (the YAML of its specification); run.jsonl/5 is the fifth line of a recording. The frame of message 1
    stays a frame, whose JSON is always one line; other JSON ends with a line break. A workload file of Batsim 1 to 4
    becomes one of today. OUT can be IN, and is not touched if anything fails.

    IN can also be a whole recording (an archive, a folder, a .mcap), and OUT a .mcap, .tar.xz or .tar, or a folder,
    which must not exist yet: messages, times, metadata, results and all other files come along.
    """
    from batprotocol.cli.messages import convert as work

    work.convert(source, target, to, indent or None, _spoken(schema))


@click.command()
@message_files
@click.option(
    "--rules",
    metavar="NAME",
    callback=any_rule_set,
    shell_complete=complete_any_rule_set,
    help="The rule set: batsim-5.0.0-rc2 (what that Batsim does, the default) or protocol (what the schema demands); "
    "batsim-4.2.1, batsim-2.0.0, batsim-1.4.0 or text-3 for older runs, whose Batsim the first message tells.",
)
@advice_options(3600.0)
@click.option("-q", "--quiet", is_flag=True, help="Print only what is wrong.")
@click.pass_context
def check(context: click.Context, files: tuple[str, ...], rules: str, advise: float | None, quiet: bool) -> None:
    """Check that what was said in a run follows the rules of the conversation.

    A conversation is all messages of an archive or of a folder, by name, from the initialization data on. Prints each
    violation with its message, place, severity and rule; "batproto rules ID" explains the rule. The exit status is 1 if
    there is an error (Batsim aborts or crashes) or a deadlock, or if a conversation cannot be read.

    With --advise, the command also prints advice about runs that keep to the rules: hosts that stay free beside a
    waiting job that fits, jobs that the scheduler never decides on, and hosts that it does not use again although jobs
    wait. Advice does not change the exit status.
    """
    from batprotocol.cli.messages import check as work

    output = Output()
    work.check(files, output, rules=rules, quiet=quiet, advise=advise)
    context.exit(int(output.failed))
