"""The registry of commands: those that the packages of this library bring, and those of other packages.

A package of this library brings its commands in a file `commands.json` beside its modules, so they are there exactly if
the package is, and reading them costs a tenth of what a look at all installed packages costs. Another package brings
commands as entry points of the group `batprotocol.commands`. They are looked at for the overview and for names that
are otherwise unknown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "PURPOSES", "Command", "Manifest", "command_of_another", "commands", "manifests", "of_others"]

GROUP: Final = "batprotocol.commands"
"""The group of entry points of other packages."""

PURPOSES: Final = (
    "Write schedulers, and try them",
    "Run schedulers with Batsim",
    "Look at recordings and messages",
    "Look up reference",
    "Other systems",
)
"""The purposes of commands, in the order of the overview. Others follow."""

_ROOT: Final = Path(__file__).resolve().parent.parent
_FILE: Final = "commands.json"


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command of a package.

    Attributes:
        call: its module, and its name there: `"batprotocol.edc.commands.run:run"`.
        purpose: the section of the overview that has it.
        sentence: what it does, for the overview.
        order: its place among the commands of the same purpose.
    """

    call: str
    purpose: str
    sentence: str
    order: int = 100


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The commands and protocols of a package.

    Attributes:
        commands: its commands, by their names.
        protocols: the older or other protocols that it reads and judges, each with its place in the order in which
            bytes are tried: `{"batprotocol.fast.commands.protocol:FAST": 3}`.
    """

    commands: dict[str, Command] = {}
    protocols: dict[str, int] = {}


def _folders() -> Iterator[Path]:
    """The packages of this library, and those in them."""
    for above in (str(_ROOT), *(entry.path for entry in os.scandir(_ROOT) if entry.is_dir())):
        yield from (Path(entry.path) for entry in os.scandir(above) if entry.is_dir())


@cache
def manifests() -> tuple[Manifest, ...]:
    """The manifests of the packages of this library."""
    found = []
    for folder in sorted(_folders()):
        try:
            data = (folder / _FILE).read_bytes()
        except OSError:
            continue  # it brings nothing
        found.append(msgspec.json.decode(data, type=Manifest))
    return tuple(found)


def commands() -> Mapping[str, Command]:
    """The commands of this library by their names, in the order of the overview."""
    found = {name: command for manifest in manifests() for name, command in manifest.commands.items()}
    purposes = dict.fromkeys([*PURPOSES, *(command.purpose for command in found.values())])
    order = list(purposes)
    return dict(sorted(found.items(), key=lambda item: (order.index(item[1].purpose), item[1].order, item[0])))


@cache
def of_others() -> Mapping[str, EntryPoint]:
    """The commands of other packages, by their names."""
    from importlib.metadata import entry_points  # it is as slow as all else that a command imports at its start

    return {each.name: each for each in entry_points(group=GROUP)}


def command_of_another(name: str) -> click.Command | None:
    """The command that another package brings, or None.

    Raises:
        click.ClickException: it cannot be imported, or is no command of click.
    """
    entry = of_others().get(name)
    if entry is None:
        return None
    try:
        found = entry.load()
    except Exception as error:  # the fault of that package
        raise click.ClickException(f"{name}: {entry.value} cannot be imported: {error}") from None
    if not isinstance(found, click.Command):
        raise click.ClickException(f"{name}: {entry.value} is no command of click")
    return found
