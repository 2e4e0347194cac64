"""Groups of commands whose help describes each command in a whole sentence, sorted by purpose.

click would show the beginning of a command's own help, cut off at the end of the line. The overview of a group is a
table instead, with sentences that fit on a line. A command that is not in the table cannot be added. Commands are
imported when they are called, as a program that calls one should not wait for the others.

click takes the last of several values of an option in silence. Commands of these groups refuse an option that is given
again, unless it can be repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from importlib import import_module
from typing import Any

import click

__all__ = ["Family"]


class _Commands(MutableMapping[str, click.Command]):
    """Commands by their names, each imported at its first use.

    Args:
        places: the module and the name of each command in it: `"batprotocol.wire.commands.command:dump"`.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._found: dict[str, click.Command | str] = {**places}

    def __getitem__(self, name: str) -> click.Command:
        found = self._found[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = getattr(import_module(module), attribute)
            assert isinstance(found, click.Command)
            self._found[name] = found = _with_options_once(found)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = _with_options_once(command)

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class Family(click.Group):
    """A group of commands.

    Args:
        overview: for each purpose, the commands for it, each with its sentence.
        files: the endings of the files that its commands work on.
        places: the modules and names of commands that are imported when they are called.

    Attributes:
        overview: the same.
    """

    def __init__(
        self,
        *arguments: Any,
        overview: Mapping[str, Mapping[str, str]],
        files: tuple[str, ...] = (),
        places: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.overview = overview
        self.commands = _Commands(places or {})
        self._files = files

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command that the overview lists."""
        assert any((name or cmd.name) in sentences for sentences in self.overview.values()), cmd.name
        super().add_command(cmd, name)

    def make_parser(self, ctx: click.Context) -> Any:
        """The parser of the group's own options, which refuses those that are given again."""
        return _once(super().make_parser)(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named first. If the user gives a file instead, the error says what to type."""
        first = args[0] if args else ""
        if first not in self.commands and first.lower().endswith(self._files or ("\0",)):
            command = next(iter(next(iter(self.overview.values()))))
            raise click.UsageError(f"{first} is a file: type {ctx.command_path} {command} {first}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview, with all sentences below one another."""
        width = max(map(len, self.commands))
        for title, sentences in self.overview.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), sentence) for name, sentence in sentences.items()])


def _with_options_once(command: click.Command) -> click.Command:
    """The command, which refuses options that are given again, as families do."""
    if not isinstance(command, Family):
        command.make_parser = _once(command.make_parser)  # type: ignore[method-assign, assignment]
    return command


def _once(make_parser: Callable[[click.Context], Any]) -> Callable[[click.Context], Any]:
    """Let the parsers of a command refuse options that are given again."""

    def make(context: click.Context) -> Any:
        parser = make_parser(context)
        parse = parser.parse_args

        def parse_once(args: list[str]) -> Any:
            options, rest, order = parse(args)
            if not context.resilient_parsing:  # it is completed, not run
                _expect_once(order, context)
            return options, rest, order

        parser.parse_args = parse_once
        return parser

    return make


def _expect_once(order: Sequence[click.Parameter], context: click.Context) -> None:
    """Refuse options that cannot be repeated, and are.

    Args:
        order: the parameters in the order in which they were given.
        context: the context of the command.

    Raises:
        click.UsageError: an option is given twice, or two that exclude each other.
    """
    given = [each for each in order if isinstance(each, click.Option) and not (each.multiple or each.count)]
    for option, times in Counter(given).items():
        if times > 1 and not (option.is_flag and not option.secondary_opts):
            named = " or ".join([*option.opts, *option.secondary_opts])
            raise click.UsageError(f"{named} is given {times} times: give it once", context)
    by_name: dict[str | None, click.Option] = {}
    for option in given:
        other = by_name.setdefault(option.name, option)
        if other is not option:
            raise click.UsageError(
                f"{other.opts[0]} and {option.opts[0]} exclude each other: leave out one of them", context
            )
