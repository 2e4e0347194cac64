"""Groups of commands whose help describes each command in a whole sentence, sorted by purpose.

click would show the beginning of a command's own help, cut off at the end of the line. The overview of a group is a
table instead, with sentences that fit on a line. A command that is not in the table cannot be added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

__all__ = ["Family"]


class Family(click.Group):
    """A group of commands.

    Args:
        overview: for each purpose, the commands for it, each with its sentence.
        files: the endings of the files that its commands work on.

    Attributes:
        overview: the same.
    """

    def __init__(
        self, *arguments: Any, overview: Mapping[str, Mapping[str, str]], files: tuple[str, ...] = (), **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.overview = overview
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
