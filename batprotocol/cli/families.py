"""Groups of commands whose help describes each command in a whole sentence, sorted by purpose.

click would show the beginning of a command's own help, cut off at the end of the line. The overview of a group is a
table instead, with sentences that fit on a line. A command that is not in the table cannot be added. Commands are
imported when they are called, as a program that calls one should not wait for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any

import click

__all__ = ["Family"]


class _Commands(MutableMapping[str, click.Command]):
    """Commands by their names, each imported at its first use.

    Args:
        places: the module and the name of each command in it: `"batprotocol.cli.messages.command:dump"`.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._found: dict[str, click.Command | str] = {**places}

    def __getitem__(self, name: str) -> click.Command:
        found = self._found[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            self._found[name] = found = getattr(import_module(module), attribute)
            assert isinstance(found, click.Command)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = command

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
