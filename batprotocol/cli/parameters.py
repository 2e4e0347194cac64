"""What the parameters of several commands have in common: how they are checked, and how shells complete them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import click
from click.shell_completion import CompletionItem

__all__ = [
    "WithCommand",
    "any_rule_set",
    "complete_age",
    "complete_any_rule_set",
    "complete_file",
    "complete_rule_set",
    "complete_scheduler",
    "completions",
    "expect_unicode",
    "file_with_ending",
    "message_files",
    "old_protocol",
    "rule_set",
    "schema_option",
    "seconds",
    "timeout_option",
    "unknown",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Text(click.types.StringParamType):
    """A text that is one: bytes that are no UTF-8 can only be the name of a file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail(f"expected UTF-8, got {text!r}", param, ctx)
        return text


def expect_unicode(group: click.Group, *folders: str) -> None:
    """Let no command of a group take what is no Unicode, but in names of files.

    Args:
        group: the group.
        folders: the parameters that are names of files, and are kept as texts.
    """
    for command in (group, *group.commands.values()):
        for parameter in command.params:
            if parameter.type is click.STRING or parameter.name in folders:
                parameter.type = _Text()


def complete_file(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    return [CompletionItem(start, type="file")]


def complete_scheduler(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """A file with a scheduler in it, or the name of a policy: the part after the last + of it."""
    from batprotocol.policies.names import PARTS

    before, plus, _ = start.rpartition("+")
    return [*completions([f"{before}{plus}{name}" for name in PARTS], start), CompletionItem(start, type="file")]


def complete_rule_set(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.conversation import RULE_SETS

    return completions(tuple(RULE_SETS), start)


def rule_set(context: click.Context, parameter: click.Parameter, name: str | None) -> str:
    from batprotocol.conversation import DEFAULT_RULE_SET, RULE_SETS

    if name is not None and name not in RULE_SETS:
        raise click.UsageError(f"there is no rule set {name!r}, only {' and '.join(RULE_SETS)}", context)
    return name or DEFAULT_RULE_SET


def complete_any_rule_set(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    return completions(_rule_sets(), start)


def any_rule_set(context: click.Context, parameter: click.Parameter, name: str | None) -> str:
    """The name of a rule set of any protocol, "" if none is given."""
    if name is not None and name not in _rule_sets():
        raise click.UsageError(f"there is no rule set {name!r}, only {' and '.join(_rule_sets())}", context)
    return name or ""


def _rule_sets() -> tuple[str, ...]:
    from batprotocol.cli.protocols.table import catalogues

    return tuple(dict.fromkeys(name for catalogue in catalogues().values() for name in catalogue.rule_sets))


def completions(names: Sequence[str], start: str) -> list[CompletionItem]:
    """The names that begin so; as it is written, if there are any, for shells keep only what all of them begin with."""
    exact = [name for name in names if name.startswith(start)]
    return [CompletionItem(name) for name in exact or names if name.lower().startswith(start.lower())]


def unknown(context: click.Context, sentence: str, name: str, names: Sequence[str]) -> NoReturn:
    near = _closest(name, names)
    raise click.UsageError(sentence + (f"; did you mean {' or '.join(near)}?" if near else ""), context)


def _closest(name: str, names: Sequence[str]) -> list[str]:
    """The names that are spelled most like this one, with or without `Event` at its end, or that contain it."""
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
    from batprotocol.legacy.json.versions import version_of
    from batprotocol.legacy.wire import is_text, text_version

    try:
        if is_text(name) and text_version(name) is None:
            raise click.BadParameter("which version of text? 'text-0' to 'text-3'.", context, parameter)
        return name if is_text(name) or version_of(name) else None
    except ValueError as error:
        raise click.BadParameter(f"{error}, or 'text-0' to 'text-3'.", context, parameter) from None


def file_with_ending(*endings: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback for files, one or several, whose names must end with one of these endings.

    Args:
        endings: the endings, such as `.csv`.
    """

    def check(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        from batprotocol.errors import InputError
        from batprotocol.writing import by_ending

        for path in value if isinstance(value, tuple) else (value,):
            try:
                if path is not None:
                    by_ending(path, dict.fromkeys(endings))
            except InputError as error:
                raise click.BadParameter(f"{error}.", context, parameter) from None
        return value

    return check


def seconds(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise click.BadParameter(f"{value} is no number of seconds > 0.", context, parameter)
    return value


message_files = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True, readable=False, path_type=str)
)


def schema_option(doing: str) -> Callable[[_Command], _Command]:
    """The option that names a schema of another age."""
    return click.option(
        "--schema",
        metavar="AGE|FILE",
        shell_complete=complete_age,
        help=f"{doing} another schema: an age, 2021-10 to 2024-10, or a file, .bfbs, or .fbs where flatc is installed.",
    )


def complete_age(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The ages, and files."""
    from batprotocol.schemas import AGES

    return [*completions(AGES, start), CompletionItem(start, type="file")]


timeout_option = click.option(
    "--timeout",
    metavar="SECONDS",
    type=float,
    callback=seconds,
    help="How long to wait for each message; for ever unless given.",
)


class WithCommand(click.Command):
    """A command whose last argument is another program's command line, which `--` must keep apart."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """As click does it, and a sentence for those who leave out `--`."""
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
