"""The commands of `batproto`, from the data of click that `--help` prints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache

import click

from batprotocol.cli.families import Family
from batprotocol.cli.main import NAME, batproto
from handbook.markdown import code, definitions, literal, prose, table, target
from handbook.markers import marked

__all__ = ["all_commands", "command", "commands", "names", "place", "subcommands"]


def all_commands() -> Mapping[str, click.Command]:
    """Each command by its whole name: `batproto`, `batproto dump`, `batproto study run`."""

    def found(name: str, each: click.Command) -> Iterator[tuple[str, click.Command]]:
        yield name, each
        if isinstance(each, click.Group):
            for word, sub in each.commands.items():
                yield from found(f"{name} {word}", sub)

    return dict(found(NAME, batproto))


@cache
def names() -> Mapping[str, tuple[str, str]]:
    """The page and place of each command, by its whole name. Markers on the pages decide the page."""
    having: dict[str, tuple[str, str]] = {NAME: ("reference/commands/index", "")}
    for page, kind, name in marked("reference/commands", "command", "subcommands"):
        for each in _members(name) if kind == "subcommands" else [name] if name else []:
            whole = f"{NAME} {each}"
            assert whole not in having, f"{whole} is on {having.get(whole)} and on {page}"
            having[whole] = page, _anchor(whole)
    return having


def place(text: str) -> tuple[str, str] | None:
    """The place of a command with any arguments: of the longest name that fits."""
    words = text.split()
    if words[:1] != [NAME]:
        return None
    found = (names().get(" ".join(words[:count])) for count in range(len(words), 1, -1))
    return next(filter(None, found), None)


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _overview(name: str) -> Mapping[str, Mapping[str, str]]:
    """The commands of a family by purpose, with their sentences."""
    group = all_commands()[name]
    assert isinstance(group, click.Group)
    if isinstance(group, Family):
        return group.overview
    return {"": {word: each.get_short_help_str(80) for word, each in group.commands.items()}}


def _members(name: str) -> list[str]:
    """The commands of a family, each with its name, in the order of the overview."""
    return [f"{name} {word}" for sentences in _overview(f"{NAME} {name}").values() for word in sentences]


def commands(page: str, argument: str) -> str:
    """All commands, or those of a family, in a table for each purpose, as in the overview of `--help`."""
    before = f"{NAME} {argument}".strip()
    parts = []
    for title, sentences in _overview(before).items():
        rows = [(code(f"{before} {name}"), prose(sentence)) for name, sentence in sentences.items()]
        parts += [f"**{title}**", table(("command", "purpose"), rows)]
    return "\n\n".join(parts) + "\n"


def command(page: str, name: str) -> str:
    """A command, with its help and its parameters. Without a name, `batproto` itself, without a heading."""
    whole = f"{NAME} {name}".strip()
    parts = [f"{target(_anchor(whole))}\n## {code(whole)}"] if name else []
    return "\n\n".join([*parts, *_described(whole)]) + "\n"


def subcommands(page: str, name: str) -> str:
    """All commands of a family, in the order of its overview."""
    return "\n".join(command(page, each) for each in _members(name))


def _described(whole: str) -> Iterator[str]:
    each = all_commands()[whole]
    context = click.Context(each, info_name=whole)
    yield literal(f"{whole} {' '.join(each.collect_usage_pieces(context))}")
    yield from _help(each.help or "")
    options = [each.get_help_record(context) for each in each.params if isinstance(each, click.Option)]
    yield definitions((code(record[0]), _meaning(record[1])) for record in options if record is not None)


def _meaning(text: str) -> str:
    """The text of click on an option: its help, and its default in brackets."""
    meaning, bracket, default = text.partition("  [")
    return f"{prose(meaning)} [{prose(default[:-1])}]" if bracket else prose(meaning)


def _help(text: str) -> Iterator[str]:
    """The paragraphs of a help. A paragraph that click does not wrap is a block, with its first line as its title."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text).partition("\f")[0]):
        if not paragraph.startswith("\b"):
            yield prose(" ".join(paragraph.split()))
            continue
        first, _, rest = paragraph.lstrip("\b\n").partition("\n")
        if first.endswith(":") and not first.startswith(" "):
            yield prose(first)
            yield literal(inspect.cleandoc(f"\n{rest}"))
        else:
            yield literal(f"{first}\n{rest}")
