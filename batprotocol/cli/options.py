"""The options of a command, declared once: a frozen dataclass, which makes click's options, and which the work takes.

>>> import dataclasses
>>> @dataclasses.dataclass(frozen=True)
... class Greeting:
...     name: str = option("--name", metavar="NAME", default="you", help="Who is greeted.")
>>> @click.command()
... @options_of(Greeting)
... def greet(greeting):
...     print(f"hello {greeting.name}")
>>> greet(["--name", "Ann"], standalone_mode=False)
hello Ann
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import click

__all__ = ["argument", "flags", "group", "option", "options_of", "shared"]


def option(*names: str, default: Any = None, **settings: Any) -> Any:
    """A field that an option sets.

    Args:
        names: the names of the option, such as `-p`, `--platform`.
        default: its value when the option is not given.
        settings: the other arguments of `click.option`.
    """
    if settings.get("multiple"):
        default = ()
    elif settings.get("is_flag"):
        default = False
    else:
        settings["default"] = default
    return dataclasses.field(default=default, metadata={"add": lambda name: click.option(*names, name, **settings)})


def argument(**settings: Any) -> Any:
    """A field that an argument sets. `settings` are the arguments of `click.argument`."""
    add = {"add": lambda name: click.argument(name, **settings)}
    return dataclasses.field(default=None, metadata=add)


def flags(**flags: tuple[str, ...]) -> Any:
    """A field that has the value of one of several flags, or None.

    Args:
        flags: by the value, the names of its flag, and its help as the last text.
    """

    def add(name: str) -> Callable[[Any], Any]:
        def decorate(command: Any) -> Any:
            for value, (*names, help) in reversed(flags.items()):
                command = click.option(*names, name, flag_value=value, help=help)(command)
            return command

        return decorate

    return dataclasses.field(default=None, metadata={"add": add})


def group(kind: type) -> Any:
    """A field that is a value of another dataclass, whose options the command has in this place."""
    return dataclasses.field(metadata={"group": kind})


def shared(decorator: Callable[[Any], Any], default: Any = None) -> Any:
    """A field that an option of several commands sets, by its decorator, which also sets the fields behind it.

    Args:
        decorator: the decorator.
        default: the value of the field when the option is not given.
    """
    add = {"add": lambda name: decorator}
    if isinstance(default, Mapping):
        return dataclasses.field(default_factory=lambda: default, metadata=add)
    return dataclasses.field(default=default, metadata=add)


def options_of(kind: type, rest: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a dataclass, in the order of its fields. The command gets one value of this class.

    Args:
        kind: the dataclass.
        rest: the field that gets the values of all other options, as a mapping; "": there are no others.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            values = {**given}
            if rest:
                names = {field.name for field in dataclasses.fields(kind)}
                values[rest] = {name: value for name, value in given.items() if name not in names}
            return function(*args, _filled(kind, values))

        made: Callable[..., Any] = _declared(kind, call)
        return made

    return decorate


def _declared(kind: type, command: Any) -> Any:
    """A command with the options of a dataclass. Decorators add the last one first."""
    for field in reversed(dataclasses.fields(kind)):
        if "group" in field.metadata:
            command = _declared(field.metadata["group"], command)
        elif "add" in field.metadata:
            command = field.metadata["add"](field.name)(command)
    return command


def _filled(kind: type, given: Mapping[str, Any]) -> Any:
    values = {field.name: given[field.name] for field in dataclasses.fields(kind) if field.name in given}
    groups = [field for field in dataclasses.fields(kind) if "group" in field.metadata]
    return kind(**values, **{field.name: _filled(field.metadata["group"], given) for field in groups})
