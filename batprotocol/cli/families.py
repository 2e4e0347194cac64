"""Groups of commands whose help describes each command in a whole sentence, sorted by purpose.

click would show the beginning of a command's own help, cut off at the end of the line. The overview of a group is a
table instead, with sentences that fit on a line. A command that is not in the table cannot be added. Commands are
imported when they are called, as a program that calls one should not wait for the others.

click takes the last of several values of an option in silence. Commands of these groups refuse an option that is given
again, unless it can be repeated.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "PURPOSES",
    "CommandEntry",
    "Family",
    "Manifest",
    "OtherProtocol",
    "command_of_another",
    "commands",
    "manifests",
    "of_others",
]


@contextmanager
def for_good() -> Iterator[None]:
    """Import modules that stay to the end: Python's search for cycles of dead objects skips them from then on.

    Otherwise, the search at the end of a short command takes a tenth of its time. Objects that are made later, such as
    those of users, are searched as ever.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


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
            with for_good():
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


# The registry of commands: those that the packages of this library bring, and those of other packages.


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

_FINDERS: Final = (PathFinder,)
"""The finders of packages that look into the folders of `sys.path` alone."""

_METADATA: Final = (".dist-info", ".egg-info")

_ROOT: Final = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_FILE: Final = "commands.json"


class CommandEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class OtherProtocol(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A protocol of a package, besides that of this library.

    Attributes:
        order: its place in the order in which bytes are tried.
        pattern: a regular expression that the beginning of its bytes matches, byte by byte as Latin-1. The module is
            imported only for bytes that match it.
    """

    order: int
    pattern: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The commands and protocols of a package.

    Attributes:
        commands: its commands, by their names.
        protocols: the older or other protocols that it reads and judges, by their modules and names there:
            `"batprotocol.fast.commands:FAST"`.
    """

    commands: dict[str, CommandEntry] = {}
    protocols: dict[str, OtherProtocol] = {}


def _folders() -> Iterator[str]:
    """The packages of this library, and those in them."""
    for above in (_ROOT, *(entry.path for entry in os.scandir(_ROOT) if entry.is_dir())):
        yield from (entry.path for entry in os.scandir(above) if entry.is_dir())


@cache
def manifests() -> tuple[Manifest, ...]:
    """The manifests of the packages of this library."""
    found = []
    for folder in sorted(_folders()):
        try:
            with open(os.path.join(folder, _FILE), "rb") as file:
                data = file.read()
        except OSError:
            continue  # it brings nothing
        found.append(msgspec.json.decode(data, type=Manifest))
    return tuple(found)


def commands() -> Mapping[str, CommandEntry]:
    """The commands of this library by their names, in the order of the overview."""
    found = {name: command for manifest in manifests() for name, command in manifest.commands.items()}
    purposes = dict.fromkeys([*PURPOSES, *(command.purpose for command in found.values())])
    order = list(purposes)
    return dict(sorted(found.items(), key=lambda item: (order.index(item[1].purpose), item[1].order, item[0])))


@cache
def of_others() -> Mapping[str, EntryPoint]:
    """The commands of other packages, by their names."""
    if _are_without_others(sys.path):
        return {}
    from importlib.metadata import entry_points  # it is as slow as all else that a command imports at its start

    return {each.name: each for each in entry_points(group=GROUP)}


def _are_without_others(folders: Sequence[str]) -> bool:
    """Whether no package in these folders brings a command, as far as a look at the files of entry points shows it.

    `importlib.metadata` has the last word wherever there may be one: if a file names the group, if a place is not a
    plain folder (a zip file, an egg), or if a finder has a way of its own to find packages.
    """
    if any(hasattr(finder, "find_distributions") and finder not in _FINDERS for finder in sys.meta_path):
        return False
    wanted = GROUP.encode()
    for folder in folders:
        if folder.lower().endswith(".egg"):
            return False
        try:
            for name in os.listdir(folder or os.curdir):
                if name.lower().endswith(_METADATA) and wanted in _entry_points(os.path.join(folder, name)):
                    return False
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True


def _entry_points(folder: str) -> bytes:
    """The file of entry points in the metadata of a package."""
    with suppress(FileNotFoundError, NotADirectoryError), open(os.path.join(folder, "entry_points.txt"), "rb") as file:
        return file.read()
    return b""


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
