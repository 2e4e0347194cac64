"""`batproto schema`: its parameters. The work is done by `schema` and `legacy_schema`, imported when wanted."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.output import Output
from batprotocol.cli.parameters import completions, old_protocol, unknown

__all__ = ["schema"]


def _schema_name(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    protocol = context.params.get("protocol")
    if protocol is not None:
        from batprotocol.cli.legacy_schema import names

        known = names(protocol)
        wanted = None if name is None else name.upper() if protocol[:4] != "text" else name
        if name is not None and wanted not in known:
            unknown(context, f"{protocol} has no {name!r}", name, known)
        return wanted
    from batprotocol.cli.schema import NAMES
    from batprotocol.cli.selection import event_name

    by_lower_name = {known.lower(): known for known in NAMES}
    if name is None or name.lower() in by_lower_name:
        return name and by_lower_name[name.lower()]
    return event_name(name) or unknown(context, f"the schema has no {name!r}", name, NAMES)


def _complete_schema(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.cli.schema import NAMES

    return completions(NAMES, start)


@click.command()
@click.argument("name", required=False, callback=_schema_name, shell_complete=_complete_schema)
@click.option(
    "--protocol",
    metavar="VERSION",
    is_eager=True,
    callback=old_protocol,
    help="An older protocol: 1.0 to 4.2, or text-0 to text-3; NAME is an event then, such as EXECUTE_JOB, or a stamp.",
)
def schema(name: str | None, protocol: str | None) -> None:
    """Show what the protocol's schema says of NAME: fields, types, defaults and comments.

    NAME is an event, table, enum or union, in upper or lower case. Without it, all names are listed.
    """
    if protocol is not None:
        from batprotocol.cli import legacy_schema

        output = Output()
        output.lines(legacy_schema.describe(protocol, name) if name else legacy_schema.overview(protocol))
        return
    from batprotocol.cli.schema import describe, overview

    output = Output()
    output.lines(describe(name, output.wrap_at) if name else overview())
