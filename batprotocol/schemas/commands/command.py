"""`batproto schema`, `rules` and `policies`: their parameters. The other modules do the work."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.completing import complete_age, completions
from batprotocol.cli.parameters import SchemaFile, include_options, old_protocol, unknown
from batprotocol.cli.terminal import Output

__all__ = ["policies", "rules", "schema"]

FAST = "fast"


def _schema_name(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    protocol = context.params.get("protocol")
    if protocol == FAST:
        from batprotocol.fast.commands import NAMES as FAST_NAMES

        lower = {known.lower(): known for known in FAST_NAMES}
        return name and (lower.get(name.lower()) or unknown(context, f"there is no {name!r} in FaST", name, FAST_NAMES))
    if protocol is not None:
        from batprotocol.legacy.commands import names

        known = names(protocol)
        wanted = None if name is None else name.upper() if protocol[:4] != "text" else name
        if name is not None and wanted not in known:
            unknown(context, f"{protocol} has no {name!r}", name, known)
        return wanted
    from batprotocol.schemas.commands.definitions import NAMES
    from batprotocol.wire.commands.selection import event_name

    by_lower_name = {known.lower(): known for known in NAMES}
    if name is None or name.lower() in by_lower_name:
        return name and by_lower_name[name.lower()]
    return event_name(name) or unknown(context, f"the schema has no {name!r}", name, NAMES)


def _complete_schema(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.schemas.commands.definitions import NAMES

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
    help="An older protocol, 1.0 to 4.2 or text-0 to text-3: NAME is then an event such as EXECUTE_JOB, or a stamp. "
    "Or fast: NAME is then a message such as StartVM, or a part of one.",
)
@click.option(
    "--diff",
    metavar="OLD NEW",
    nargs=2,
    shell_complete=complete_age,
    help="Show the differences between two schemas, and their effect on messages. Each schema is an age "
    "(2021-10 to 2026-06) or a file.",
)
@click.option(
    "--check",
    is_flag=True,
    help="With --diff: print only the differences that are worse than --allow, each in a line with its place in the "
    ".fbs file. The exit status is 2 if a schema cannot be read.",
)
@click.option(
    "--format",
    "report",
    type=click.Choice(["text", "json", "github", "sarif"]),
    help="With --diff: print text, JSON, commands that GitHub shows at the lines of a pull request, or SARIF 2.1.0.  "
    "[default: text]",
)
@click.option(
    "--readers",
    type=click.Choice(["old", "new", "both"]),
    help="With --diff: count only the effects on peers that read by the old schema, or by the new one.  "
    "[default: both]",
)
@click.option(
    "--encoding",
    type=click.Choice(["binary", "json", "both"]),
    help="With --diff: count only the effects on messages in this format.  [default: both]",
)
@click.option(
    "--describe",
    "described",
    metavar="AGE|FILE",
    shell_complete=complete_age,
    help="Print the differences of a schema from the current one, as a text that --schema reads from a .txt file.",
)
@click.option(
    "--wireshark",
    metavar="[AGE|FILE]",
    is_flag=False,
    flag_value="2026-06",
    shell_complete=complete_age,
    help="Print a dissector for Wireshark and tshark, in Lua, of any schema of flatbuffers over ZeroMQ: an age, or a "
    "file, .fbs or .bfbs.  [default: the current schema]",
)
@click.option(
    "--ports",
    metavar="PORTS",
    help="With --wireshark: also read connections at these TCP ports whose beginning is not in the capture, such as "
    "28000,29000-29010.",
)
@click.option(
    "--which",
    metavar="FILE",
    help="Show which of the known schemas a message or recording fits, why it does not fit the others, and which parts "
    "the current schema may misread.",
)
@click.option(
    "--also",
    metavar="AGE|FILE",
    multiple=True,
    shell_complete=complete_age,
    help="With --which: also try this schema. Can be repeated.",
)
@include_options
@click.option(
    "--requests",
    is_flag=True,
    help="Print the JSON schema of the extra data of jobs that ask for partitions, cores, memory, GPUs and more.",
)
@click.option("--offers", is_flag=True, help="Print the JSON schema of the properties of hosts that offer these.")
@click.option(
    "--host-events",
    is_flag=True,
    help="Print the JSON schema of the data of external events for hosts that fail, come back or are promised.",
)
@click.option(
    "--allow",
    type=click.Choice(["fine", "default", "absent", "refused"]),
    default="fine",
    show_default=True,
    help="With --diff: the exit status is 1 if a worse effect is possible.",
)
@click.pass_context
def schema(
    context: click.Context,
    name: str | None,
    protocol: str | None,
    diff: tuple[str, str] | None,
    check: bool,
    report: str | None,
    readers: str | None,
    encoding: str | None,
    described: str | None,
    wireshark: str | None,
    ports: str | None,
    which: str | None,
    also: tuple[str, ...],
    include: tuple[str, ...],
    root_type: str | None,
    requests: bool,
    offers: bool,
    host_events: bool,
    allow: str,
) -> None:
    """Show the definition of NAME in the protocol's schema: fields, types, defaults and comments.

    NAME is an event, table, enum or union, in upper or lower case. Without NAME, list all names.

    With --diff, each difference has its worst effect when a peer with the old schema reads a message of a peer with the
    new schema, and the reverse, in binary and in JSON. The value is read correctly (fine), replaced or missing
    (default, absent), refused, or read as another value without an error (misread).

    \b
    Examples:
      batproto schema ExecuteJob
      batproto schema --diff 2024-10 2026-06
      batproto schema --allow absent --diff released.bfbs schema/batprotocol.fbs
      batproto schema --check --readers new --encoding binary --diff main.fbs mine.fbs
      batproto schema --check --format github --diff main.fbs mine.fbs
      batproto schema --which run.tar.xz
      batproto schema --wireshark > batprotocol.lua
      batproto schema --wireshark mine.fbs --ports 5555 > mine.lua
    """
    if sum(given is not None for given in (diff, described, wireshark, which, name or protocol)) > 1:
        words = "NAME or --protocol, --diff, --describe, --wireshark and --which"
        raise click.UsageError(f"use only one of {words}", context)
    if ports is not None and wireshark is None:
        raise click.UsageError("--ports is for --wireshark: add --wireshark", context)
    for option, given in {"--check": check, "--format": report, "--readers": readers, "--encoding": encoding}.items():
        if given and diff is None:
            raise click.UsageError(f"{option} is for --diff: add --diff OLD NEW", context)
    if (include or root_type) and not (diff or described or wireshark or also):
        option = "--include" if include else "--root-type"
        raise click.UsageError(f"{option} is for --diff, --describe, --wireshark and --also", context)
    if also and which is None:
        raise click.UsageError("--also needs --which: add --which FILE", context)
    vocabularies = {"requests": requests, "offers": offers, "host-events": host_events}
    chosen = [vocabulary for vocabulary, is_chosen in vocabularies.items() if is_chosen]
    if chosen:
        if len(chosen) > 1 or any(each is not None for each in (name, protocol, diff, described, wireshark, which)):
            raise click.UsageError("use only one of --requests, --offers and --host-events, and nothing else", context)
        from batprotocol.schemas.commands.reference import show_vocabulary

        show_vocabulary(chosen[0])
        return
    output = Output()
    files = [SchemaFile(each, include, root_type or "") for each in diff or (described, wireshark) if each is not None]
    if diff is not None:
        from batprotocol.schemas.commands.comparison import ComparisonOptions, show_differences

        comparison = ComparisonOptions(allow, check, report or "text", readers or "both", encoding or "both")
        status = show_differences(files[0], files[1], comparison, output)
        context.exit(status)
    if described is not None:
        from batprotocol import schemas

        found = schemas.read_schema(described, include=include, root=root_type or "")
        click.echo(schemas.described(found, schemas.age(schemas.TODAY)), nl=False)
        return
    if wireshark is not None:
        from batprotocol.schemas.commands.reference import show_dissector

        show_dissector(files[0], ports or "")
        return
    if which is not None:
        from batprotocol.schemas.commands.comparison import show_ages

        context.exit(show_ages(which, [SchemaFile(each, include, root_type or "") for each in also], output))
    if protocol == FAST:
        from batprotocol.fast import commands as fast_schema

        output.lines(fast_schema.describe(name) if name else fast_schema.overview())
        return
    if protocol is not None:
        from batprotocol.legacy import commands as legacy_schema

        output.lines(legacy_schema.describe(protocol, name) if name else legacy_schema.overview(protocol))
        return
    from batprotocol.schemas.commands.definitions import describe, overview

    output.lines(describe(name, output.wrap_at) if name else overview())


def _rule_id(context: click.Context, parameter: click.Parameter, id: str | None) -> str | None:
    from batprotocol.schemas.commands.reference import ids
    from batprotocol.wire.commands.protocols import all_catalogues

    if id is not None and id not in (names := ids(all_catalogues())):
        unknown(context, f"there is no rule {id!r}", id, names)
    return id


def _complete_rule(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.schemas.commands.reference import ids
    from batprotocol.wire.commands.protocols import all_catalogues

    return completions(ids(all_catalogues()), start)


@click.command()
@click.argument("id", required=False, callback=_rule_id, shell_complete=_complete_rule)
def rules(id: str | None) -> None:
    """Explain the rule ID: what is wrong, and how to correct it. Without ID, list all rules.

    These are the rules of conversations in all protocols, of the embedded Batsim and of the conformance command.

    \b
    Examples:
      batproto rules job.unknown
      batproto rules edc.silent
    """
    from batprotocol.schemas.commands.reference import explain, rules_overview
    from batprotocol.wire.commands.protocols import all_catalogues

    output = Output()
    output.lines(explain(id, all_catalogues(), output.wrap_at) if id else rules_overview(all_catalogues()))


@click.command()
def policies() -> None:
    """List the parts that names of built-in policies consist of, each with its description and source.

    The simulate, run, library and conformance commands accept such a name in place of a file.

    \b
    Examples:
      batproto simulate easy-sjf -w log.swf.gz
      batproto simulate "saf+conservative" -w lublin:256?jobs=1000
      batproto conformance easy+best-contiguous
    """

    from batprotocol.schemas.commands.reference import policies_overview

    Output().lines(policies_overview())
