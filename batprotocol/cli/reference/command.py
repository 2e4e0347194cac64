"""`batproto schema`, `rules` and `policies`: their parameters. The other modules do the work when wanted."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.parameters import complete_age, completions, old_protocol, unknown
from batprotocol.cli.terminal.output import Output

__all__ = ["policies", "rules", "schema"]

FAST = "fast"


def _schema_name(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    protocol = context.params.get("protocol")
    if protocol == FAST:
        from batprotocol.cli.reference.fast import NAMES as FAST_NAMES

        lower = {known.lower(): known for known in FAST_NAMES}
        return name and (lower.get(name.lower()) or unknown(context, f"there is no {name!r} in FaST", name, FAST_NAMES))
    if protocol is not None:
        from batprotocol.cli.reference.legacy import names

        known = names(protocol)
        wanted = None if name is None else name.upper() if protocol[:4] != "text" else name
        if name is not None and wanted not in known:
            unknown(context, f"{protocol} has no {name!r}", name, known)
        return wanted
    from batprotocol.cli.messages.selection import event_name
    from batprotocol.cli.reference.batsim5 import NAMES

    by_lower_name = {known.lower(): known for known in NAMES}
    if name is None or name.lower() in by_lower_name:
        return name and by_lower_name[name.lower()]
    return event_name(name) or unknown(context, f"the schema has no {name!r}", name, NAMES)


def _complete_schema(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.cli.reference.batsim5 import NAMES

    return completions(NAMES, start)


def _protocol(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    return name if name == FAST else old_protocol(context, parameter, name)


@click.command()
@click.argument("name", required=False, callback=_schema_name, shell_complete=_complete_schema)
@click.option(
    "--protocol",
    metavar="VERSION",
    is_eager=True,
    callback=_protocol,
    help="An older protocol: 1.0 to 4.2, or text-0 to text-3; NAME is an event then, such as EXECUTE_JOB, or a stamp. "
    "Or fast; NAME is a message then, such as StartVM, or a part of one.",
)
@click.option(
    "--diff",
    metavar="OLD NEW",
    nargs=2,
    shell_complete=complete_age,
    help="What differs between two schemas, and what becomes of messages. Each is an age (2021-10 to 2026-06) or file.",
)
@click.option(
    "--describe",
    "described",
    metavar="AGE|FILE",
    shell_complete=complete_age,
    help="What differs in a schema from today's, as a short text that --schema reads from a .txt file.",
)
@click.option(
    "--which",
    metavar="FILE",
    help="Which of the known schemas a message or recording fits, why not the others, and what today's would misread.",
)
@click.option(
    "--also",
    metavar="AGE|FILE",
    multiple=True,
    shell_complete=complete_age,
    help="With --which: try this schema, too. Can be repeated.",
)
@click.option(
    "--requests",
    is_flag=True,
    help="Print the JSON schema of the extra data of jobs that ask for partitions, cores, memory, GPUs and more.",
)
@click.option("--offers", is_flag=True, help="Print the JSON schema of the properties of hosts that offer these.")
@click.option(
    "--allow",
    type=click.Choice(["fine", "default", "absent", "refused"]),
    default="fine",
    show_default=True,
    help="With --diff: the exit status is 1 where anything worse can happen.",
)
@click.pass_context
def schema(
    context: click.Context,
    name: str | None,
    protocol: str | None,
    diff: tuple[str, str] | None,
    described: str | None,
    which: str | None,
    also: tuple[str, ...],
    requests: bool,
    offers: bool,
    allow: str,
) -> None:
    """Show what the protocol's schema says of NAME: fields, types, defaults and comments.

    NAME is an event, table, enum or union, in upper or lower case. Without it, all names are listed.

    With --diff, each difference comes with what happens on the wire at worst, when a peer of the old schema reads what
    one of the new writes, and the reverse, in binary and in JSON. It is read as meant (fine), without a value (default,
    absent), refused, or as something else (misread), which nothing tells.

    \b
    Examples:
      batproto schema ExecuteJob
      batproto schema --diff 2024-10 2026-06
      batproto schema --allow absent --diff released.bfbs schema/batprotocol.fbs
      batproto schema --which run.tar.xz
    """
    if sum(given is not None for given in (diff, described, which, name or protocol)) > 1:
        raise click.UsageError("one of NAME or --protocol, --diff, --describe and --which is enough", context)
    if also and which is None:
        raise click.UsageError("--also is for --which: give that, too", context)
    if requests or offers:
        if (requests and offers) or any(each is not None for each in (name, protocol, diff, described, which)):
            raise click.UsageError("--requests and --offers stand alone", context)
        from batprotocol.cli.reference.vocabulary import show_schema

        show_schema(offers)
        return
    output = Output()
    if diff is not None:
        from batprotocol.cli.reference.differences import show

        context.exit(show(*diff, allow, output))
    if described is not None:
        from batprotocol import schemas

        click.echo(schemas.described(schemas.read_schema(described), schemas.age(schemas.TODAY)), nl=False)
        return
    if which is not None:
        from batprotocol.cli.reference.ages import tell

        context.exit(tell(which, also, output))
    if protocol == FAST:
        from batprotocol.cli.reference import fast as fast_schema

        output.lines(fast_schema.describe(name) if name else fast_schema.overview())
        return
    if protocol is not None:
        from batprotocol.cli.reference import legacy as legacy_schema

        output.lines(legacy_schema.describe(protocol, name) if name else legacy_schema.overview(protocol))
        return
    from batprotocol.cli.reference.batsim5 import describe, overview

    output.lines(describe(name, output.wrap_at) if name else overview())


def _rule_id(context: click.Context, parameter: click.Parameter, id: str | None) -> str | None:
    from batprotocol.cli.protocols.table import catalogues
    from batprotocol.cli.reference.rules import ids

    if id is not None and id not in (names := ids(catalogues())):
        unknown(context, f"there is no rule {id!r}", id, names)
    return id


def _complete_rule(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.cli.protocols.table import catalogues
    from batprotocol.cli.reference.rules import ids

    return completions(ids(catalogues()), start)


@click.command()
@click.argument("id", required=False, callback=_rule_id, shell_complete=_complete_rule)
def rules(id: str | None) -> None:
    """Explain the rule ID of the conversation: what is wrong, and the way out. Without it, all rules are listed."""
    from batprotocol.cli.protocols.table import catalogues
    from batprotocol.cli.reference.rules import explain, overview

    output = Output()
    output.lines(explain(id, catalogues(), output.wrap_at) if id else overview(catalogues()))


@click.command()
def policies() -> None:
    """List the parts of which names of policies are made, with what each does and where it comes from.

    The simulate, run, library and conformance commands take such a name in place of a file.

    \b
    Examples:
      batproto simulate easy-sjf -w log.swf.gz
      batproto simulate "saf+conservative" -w lublin:256?jobs=1000
      batproto conformance easy+best-contiguous
    """
    from batprotocol.cli.reference.policies import overview

    Output().lines(overview())
