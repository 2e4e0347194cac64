"""Parameters that several commands share, and checks of their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click

from batprotocol.cli.completing import complete_age
from batprotocol.errors import hint

if TYPE_CHECKING:
    from batprotocol.wire.reflection import Schema

__all__ = [
    "Duration",
    "SchemaFile",
    "WithCommand",
    "advice_options",
    "any_rule_set",
    "electricity_options",
    "expect_unicode",
    "file_or_print",
    "file_with_ending",
    "folder",
    "include_options",
    "jobs_option",
    "message_files",
    "old_options",
    "old_protocol",
    "other_protocol",
    "redis_option",
    "rule_set",
    "schema_file_options",
    "schema_option",
    "seconds",
    "spreadsheet_option",
    "timeout_option",
    "unknown",
    "worker_options",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Duration(click.types.FloatParamType):
    """A duration such as `1d8h`, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from batprotocol._util.times import parse_duration
        from batprotocol.errors import InputError

        if isinstance(value, int | float):
            return float(value)
        try:
            return parse_duration(value)
        except InputError as error:
            self.fail(error.reason, param, ctx)


class _Text(click.types.StringParamType):
    """A text in valid UTF-8. Other bytes can only be the name of a file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail(f"expected UTF-8, got {text!r}", param, ctx)
        return text


def expect_unicode(group: click.Group, *folders: str) -> None:
    """Let the commands of a group refuse texts that are not valid Unicode, except for names of files.

    Args:
        group: the group.
        folders: the parameters that are names of files, and are kept as texts.
    """
    for command in (group, *group.commands.values()):
        for parameter in command.params:
            if parameter.type is click.STRING or parameter.name in folders:
                parameter.type = _Text()


def rule_set(context: click.Context, parameter: click.Parameter, name: str | None) -> str:
    from batprotocol.conversation import DEFAULT_RULE_SET, RULE_SETS

    if name is not None and name not in RULE_SETS:
        raise click.UsageError(_no_rule_set(name, RULE_SETS), context)
    return name or DEFAULT_RULE_SET


def _no_rule_set(name: str, known: Collection[str]) -> str:
    return f"there is no rule set {name!r}, only {' and '.join(known)}{hint(name, known)}"


def any_rule_set(context: click.Context, parameter: click.Parameter, name: str | None) -> str:
    """The name of a rule set of any protocol, "" if none is given."""
    from batprotocol.wire.commands.protocols import rule_sets

    if name is not None and name not in rule_sets():
        raise click.UsageError(_no_rule_set(name, rule_sets()), context)
    return name or ""


def unknown(context: click.Context, sentence: str, name: str, names: Sequence[str]) -> NoReturn:
    near = _closest(name, names)
    raise click.UsageError(sentence + (f"; did you mean {' or '.join(near)}?" if near else ""), context)


def _closest(name: str, names: Sequence[str]) -> list[str]:
    """The names with the most similar spelling, with or without `Event` at the end, and names that contain this one."""
    from difflib import get_close_matches

    lower = name.lower()
    spelled = {}
    for known in names:
        spelled[known.lower()] = spelled[known.lower().removesuffix("event")] = known
    alike = get_close_matches(lower, spelled, n=3, cutoff=0.7)
    containing = [known for known in spelled if lower in known]
    return list(dict.fromkeys(spelled[known] for known in [*alike, *containing]))[:3]


def old_protocol(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The version of an older protocol."""
    if name is None:
        return None
    from batprotocol.legacy.json.events import version_of
    from batprotocol.legacy.wire import is_text, text_version

    try:
        if is_text(name) and text_version(name) is None:
            raise click.BadParameter("give a version of text: 'text-0' to 'text-3'.", context, parameter)
        return name if is_text(name) or version_of(name) else None
    except ValueError as error:
        raise click.BadParameter(f"{error}, or 'text-0' to 'text-3'.", context, parameter) from None


def file_or_print(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The name of a file, or None to print: `-` is standard output, as in other commands."""
    return None if name == "-" else name


def folder(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The name of a folder. `-` is refused, as it is standard output in other commands."""
    if name == "-":
        raise click.BadParameter("a folder cannot be printed; ./- is a folder of that name.", context, parameter)
    return name


def file_with_ending(*endings: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback for files, one or several, whose names must end with one of these endings.

    Args:
        endings: the endings, such as `.csv`.
    """

    def check(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        from batprotocol._util.files import by_ending
        from batprotocol.errors import InputError

        for path in value if isinstance(value, tuple) else (value,):
            try:
                if path is not None:
                    by_ending(path, dict.fromkeys(endings))
            except InputError as error:
                raise click.BadParameter(f"{error}.", context, parameter) from None
        return value

    return check


def spreadsheet_option(command: _Command) -> _Command:
    """The option of all commands that write CSV."""
    return click.option(
        "--spreadsheet",
        is_flag=True,
        help="In CSV: write an apostrophe before texts that a spreadsheet would compute as formulas.",
    )(command)


def seconds(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise click.BadParameter(f"expected a number of seconds > 0, got {value}.", context, parameter)
    return value


message_files = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True, readable=False, path_type=str)
)


def schema_option(doing: str) -> Callable[[_Command], _Command]:
    """The option that names another version of the schema."""
    return click.option(
        "--schema",
        metavar="AGE|FILE",
        shell_complete=complete_age,
        help=f"{doing} another schema: a version, 2021-10 to 2024-10, or a file, .bfbs (or .fbs, which needs flatc).",
    )


class SchemaFile(NamedTuple):
    """Another schema: what `batprotocol.schemas.read_schema` takes.

    Attributes:
        name: an age or a file.
        include: the folders of included files.
        root: the table of a message, or "".
    """

    name: str
    include: tuple[str, ...] = ()
    root: str = ""

    def read(self, *, whole: bool = False) -> Schema:
        """The schema.

        Args:
            whole: as of `read_schema`.
        """
        from batprotocol.schemas import read_schema

        return read_schema(self.name, whole=whole, include=self.include, root=self.root)


def include_options(command: _Command) -> _Command:
    """The options of what an `.fbs` file does not have: `include`, the folders of included files, and `root_type`."""
    include = click.option(
        "-I",
        "--include",
        metavar="FOLDER",
        multiple=True,
        type=click.Path(readable=False, path_type=str),
        help="Look in this folder for the files that an .fbs includes, and then beside it. Can be repeated.",
    )
    root = click.option(
        "--root-type",
        metavar="TABLE",
        help="The table of a message of the .fbs or .bfbs, in place of its root_type.",
    )
    return include(root(command))


def schema_file_options(doing: str) -> Callable[[_Command], Callable[..., Any]]:
    """The options that name any schema; the command gets `schema`, a `SchemaFile` or None.

    Args:
        doing: what the command does by the schema, as the begin of a sentence: `Read the messages by`.
    """

    def add(command: _Command) -> Callable[..., Any]:
        @wraps(command)
        def with_one(
            *arguments: Any, schema: str | None, include: tuple[str, ...], root_type: str | None, **options: Any
        ) -> Any:
            if schema is None and (include or root_type):
                raise click.UsageError(
                    f"{'--include' if include else '--root-type'} is for --schema: add --schema FILE"
                )
            found = None if schema is None else SchemaFile(schema, include, root_type or "")
            return command(*arguments, schema=found, **options)

        return schema_option(doing)(include_options(with_one))

    return add


timeout_option = click.option(
    "--timeout",
    metavar="SECONDS",
    type=float,
    callback=seconds,
    help="How long to wait for each message; by default, without a limit.",
)


def electricity_options(command: _Command) -> _Command:
    """The options of what is known about the electricity: `carbon`, `price` and `cap`."""
    for option in (
        click.option(
            "--cap",
            metavar="WATTS|TABLE",
            help="The power that is allowed: 4kW, or a table of watts.",
        ),
        click.option("--price", metavar="TRACE", help="The price of the energy, as --carbon."),
        click.option(
            "--carbon",
            metavar="TRACE",
            help="The carbon intensity: a table of a publisher, or daily:MEAN, as for batproto workload trace.",
        ),
    ):
        command = option(command)
    return command


def worker_options(doing: str, again: str) -> Callable[[_Command], _Command]:
    """The options that name the workers of a cluster: `slurm`, `wheels` and `dask`.

    Args:
        doing: the work that they do, as the begin of a sentence: `Run`.
        again: the same for the second sentence: `Run`, or `Play them`.
    """
    slurm = click.option(
        "--slurm",
        metavar="[PARTITION]",
        is_flag=False,
        flag_value="",
        help=f"{doing} on workers that are jobs of a partition of Slurm, or of its default one.",
    )
    wheels = click.option(
        "--wheels",
        metavar="FOLDER",
        type=click.Path(readable=False, path_type=str),
        help="With --slurm: nodes install the wheels of this folder, which has batprotocol and all that it needs.",
    )
    dask = click.option(
        "--dask", metavar="ADDRESS", help=f"{again} on the workers of this Dask scheduler, tcp://HOST:8786."
    )
    return lambda command: slurm(wheels(dask(command)))


def advice_options(default: float) -> Callable[[_Command], _Command]:
    """The options that ask for advice; the command gets `advise`, the simulated seconds, or None.

    Args:
        default: the seconds where the user gives none.
    """

    def decide(context: click.Context, parameter: click.Parameter, after: float | None) -> float | None:
        is_wanted = context.params.pop("wants_advice")
        return after if after is not None else default if is_wanted else None

    def decorate(command: _Command) -> _Command:
        wanted = click.option(
            "--advise",
            "wants_advice",
            is_flag=True,
            is_eager=True,
            help="Print advice, too, such as about hosts that stay free although a waiting job fits.",
        )
        after = click.option(
            "--advise-after",
            "advise",
            metavar="SECONDS",
            type=click.FloatRange(min=0),
            callback=decide,
            help="Print advice about what lasts longer than this simulated time; implies --advise.  "
            f"[default: {default:g}]",
        )
        return wanted(after(command))

    return decorate


class WithCommand(click.Command):
    """A command whose last argument is the command line of another program, after `--`."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Parse as click does, and report a missing `--`."""
        given = tuple(arguments)
        try:
            rest = super().parse_args(context, arguments)
        except click.NoSuchOption as error:
            if "--" in given:
                raise
            hint = f"no such option: {error.option_name}; if it is one of COMMAND, put -- in front of COMMAND"
            raise click.UsageError(hint, context) from None
        command = context.params.get("command")
        if command and "--" not in given:
            raise click.UsageError(f"put -- in front of the command: -- {' '.join(command)}", context)
        return rest


# Older protocols


redis_option = click.option(
    "--redis",
    metavar="HOST:PORT[,PREFIX]",
    help="Exchange jobs through this Redis server, which text-2 and text-3 need. Needs batprotocol[redis].",
)


def old_options(command: _Command) -> _Command:
    """Add the options of an older Batsim's command line, which its schedulers receive in messages."""
    for option in (
        click.option("--enable-dynamic-jobs", is_flag=True, help="Let an older scheduler register jobs."),
        click.option("--acknowledge-dynamic-jobs", is_flag=True, help="Send it JOB_SUBMITTED for these jobs."),
        click.option("--forward-profiles-on-submission", is_flag=True, help="Send the profiles to it."),
        redis_option,
    ):
        command = option(command)
    return command


jobs_option = click.option(
    "--jobs",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="The workload file of a Batsim that uses text-0 or text-1. It has what jobs request; the messages do not.",
)


def other_protocol(protocol: str | None, schema: str | None) -> str | Schema | None:
    """The protocol of the other program: the version of an older one, a schema of another age, or None.

    Args:
        protocol: the version, or None.
        schema: an age or a file, as `batprotocol.schemas.read_schema` takes it, or None.
    """
    if schema is None:
        return protocol
    from batprotocol.schemas import read_schema

    return read_schema(schema)
