"""`batproto fast`: the commands for FaST, with their parameters. Other modules do the work, imported when wanted."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.completing import completions
from batprotocol.cli.families import Family
from batprotocol.cli.parameters import expect_unicode, message_files
from batprotocol.cli.terminal.output import Output
from batprotocol.fast.commands.live import LIVE

__all__ = ["fast"]


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
    from batprotocol.fast.commands.protocol import FAST
    from batprotocol.wire.commands import check as work

    output = Output()
    work.check(files, output, rules=rules, quiet=quiet, expected=FAST)
    context.exit(int(output.failed))


expect_unicode(fast)
