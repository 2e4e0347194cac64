"""Python's API: every public name of every public room, each told on one page, from its docstring, by autodoc.

A page has a marker `<!-- generated: python ROOM -->` for each room that it tells of. A name that several rooms export
is told where it is made, or else where it comes first; the others link to it. What has a page in another part of the
reference, as events do, is told there, and here only what can be done with it.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType, UnionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Union, get_args, get_origin

from batprotocol._schema.description import ENUMS, TABLES, UNIONS

import batprotocol
from batprotocol import model
from batprotocol.cli.reference.fast import NAMES as FAST_NAMES
from batprotocol.legacy import json_events, text_events
from handbook.events.docstrings import assigned
from handbook.markdown import code
from handbook.markers import marked

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

__all__ = ["fences", "has_page", "homes", "place", "public", "python", "rooms", "signature"]

_TOP: Final = "batprotocol"
_SOURCE: Final = Path(__file__).resolve().parents[2] / _TOP
_SCHEMA: Final = {*TABLES, *ENUMS, *UNIONS}
_OF_VALUES: Final = ("batprotocol.model", "batprotocol.fast", json_events.__name__, text_events.__name__)
"""The rooms whose values are told elsewhere with their fields, and here with what they can do."""
_HOOKS: Final = "pytest_"
"""How the names begin that a plugin has for pytest, and for nobody else."""
_LONGEST_VALUE: Final = 100


@cache
def rooms() -> Mapping[str, str]:
    """The rooms that pages tell of, each with its page, in the order in which names are looked for in them."""
    found: dict[str, str] = {}
    for page, _, room in marked("reference/python", "python"):
        assert room not in found, f"{room} is on {found.get(room)} and on {page}"
        found[room] = page
    return dict(sorted(found.items(), key=lambda item: item[0] == _TOP))


def public(room: str) -> tuple[str, ...]:
    """The names that a room exports: its `__all__`, or that of the modules which it takes everything from."""
    module = importlib.import_module(room)
    names = getattr(module, "__all__", None)
    if names is not None:
        return tuple(name for name in names if not name.startswith(_HOOKS))
    taken: dict[str, None] = {}
    for each in pkgutil.iter_modules(getattr(module, "__path__", [])):
        part = importlib.import_module(f"{room}.{each.name}")
        taken.update(dict.fromkeys(name for name in getattr(part, "__all__", ()) if name in vars(module)))
    return tuple(taken)


def has_page(name: str, thing: object) -> bool:
    """Whether something is told with its fields on a page of its protocol: an event, a value, a message."""
    if getattr(thing, "__module__", "").startswith("batprotocol.legacy."):
        return name in (*json_events.__all__, *text_events.__all__) and isinstance(thing, type)
    if getattr(thing, "__module__", "").startswith("batprotocol.fast."):
        return name in FAST_NAMES
    return name in _SCHEMA and getattr(model, name, None) is thing


@cache
def _assigned() -> Mapping[str, Mapping[str, str]]:
    """All names that modules assign something to, each with these modules, and the words below."""
    found: dict[str, dict[str, str]] = {}
    for path in _SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(_SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        for name, text in assigned(ast.parse(path.read_text(encoding="utf-8")).body):
            found.setdefault(name, {})[module] = inspect.cleandoc(text)
    return found


def _made_in(name: str, thing: object) -> str:
    """The module that a thing is made in; "" where nobody knows."""
    if isinstance(thing, type) or inspect.isroutine(thing):
        return str(thing.__module__)
    makers = _assigned().get(name, {})
    return next((each for each in makers if getattr(sys.modules.get(each), name, None) is thing), "")


@cache
def homes() -> Mapping[tuple[str, str], str]:
    """For each room and name in it, the room that tells of it; "" for what the schema has."""
    having: dict[str, list[tuple[str, Any]]] = {}
    for room in rooms():
        for name in public(room):
            having.setdefault(name, []).append((room, getattr(importlib.import_module(room), name)))
    found: dict[tuple[str, str], str] = {}
    for name, places in having.items():
        for room, thing in places:
            same = [other for other, their in places if their is thing]
            made = _made_in(name, thing)
            where = [other for other in same if f"{made}.".startswith(f"{other}.") and other != _TOP]
            found[room, name] = "" if has_page(name, thing) else max(where, key=len, default=same[0])
    return found


def python(page: str, room: str) -> str:
    """All that a room exports: what is told here, then the names that are told elsewhere."""
    mine = [name for name in public(room) if homes()[room, name] == room]
    elsewhere = [name for name in public(room) if homes()[room, name] != room]
    lines = [f".. py:currentmodule:: {room}", ""]
    for name in mine:
        lines += [*_directive(room, name), ""]
    if room in _OF_VALUES:
        lines += _methods(room, (name for name in elsewhere if not homes()[room, name]))
    told = [f"```{{eval-rst}}\n.. py:module:: {room}\n   :no-typesetting:\n\n" + "\n".join(lines).rstrip() + "\n```"]
    if elsewhere:
        listed = ", ".join(code(f"{homes()[room, name]}.{name}" if homes()[room, name] else name) for name in elsewhere)
        told.append(f"Exported from here, too, and told elsewhere: {listed}.")
    return "\n\n".join(told) + "\n"


def _directive(room: str, name: str) -> Iterator[str]:
    """What has autodoc tell of a name."""
    thing = getattr(importlib.import_module(room), name)
    whole = f"{room}.{name}"
    if isinstance(thing, ModuleType):
        yield f"Module :py:mod:`{thing.__name__}`."
    elif isinstance(thing, type):
        yield f".. {'autoexception' if issubclass(thing, BaseException) else 'autoclass'}:: {whole}"
        yield "   :members:"
        yield f"   :inherited-members: {', '.join(_told_bases(thing))}"
        if issubclass(thing, enum.Enum):
            yield "   :undoc-members:"
        hidden = [*getattr(thing, "_fields", ()), "count", "index"] if issubclass(thing, tuple) else []
        hidden += _as_bases_say(thing)
        if hidden:
            yield f"   :exclude-members: {', '.join(hidden)}"
    elif inspect.isroutine(thing):
        yield f".. autofunction:: {whole}"
    else:
        yield from _constant(room, name, thing)


_PLAIN: Final = (str, int, float, Mapping)  # what has no words of its own


def _as_bases_say(cls: type) -> list[str]:
    """The members of a class that say no more than those of its bases do, of which autodoc would take their words."""
    bases = cls.__mro__[1:]
    return [
        name
        for name, thing in vars(cls).items()
        if not name.startswith("_")
        and (not getattr(thing, "__doc__", None) if inspect.isroutine(thing) else isinstance(thing, _PLAIN))
        and any(name in vars(base) or name in getattr(base, "__annotations__", {}) for base in bases)
        and not issubclass(cls, enum.Enum)
    ]


def _told_bases(cls: type) -> list[str]:
    """The bases whose members are not told with those of a class: others' classes, and those told by themselves."""
    exported = {name for _, name in homes()}
    return [
        base.__name__
        for base in cls.__mro__[1:]
        if not base.__module__.startswith(_TOP) or base.__name__ in exported or base.__name__ == "Value"
    ]


def _constant(room: str, name: str, thing: object) -> Iterator[str]:
    """A constant or an alias of types; autodoc looks for its words where it is imported, and not where it is made."""
    yield f".. py:data:: {name}"
    value = repr(thing)
    if isinstance(thing, str | int | float | tuple) and len(value) <= _LONGEST_VALUE and " object at " not in value:
        yield f"   :value: {value}"
    elif type(thing).__module__ == "typing" and len(value.replace("typing.", "")) <= _LONGEST_VALUE:
        yield f"   :value: {value.replace('typing.', '')}"
    yield ""
    words = _assigned().get(name, {}).get(_made_in(name, thing), "")
    assert words, f"{room}.{name} has no words below it, where it is made"
    yield from (f"   {line}" for line in words.splitlines())


def _methods(room: str, names: Iterable[str]) -> Iterator[str]:
    """What those values can do, beyond having fields, that are told elsewhere: their methods and properties."""
    for name in names:
        cls = getattr(importlib.import_module(room), name)
        if not isinstance(cls, type) or issubclass(cls, enum.Enum):
            continue
        for member, thing in vars(cls).items():
            if member.startswith("_") or member in getattr(cls, "__struct_fields__", ()) or not thing.__doc__:
                continue
            if isinstance(thing, property):
                yield f".. autoproperty:: {room}.{name}.{member}\n"
            elif callable(thing) or isinstance(thing, classmethod | staticmethod):
                yield f".. automethod:: {room}.{name}.{member}\n"


def fences(app: Sphinx, kind: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Called by autodoc with a docstring: what is a block of code in Markdown, as editors show it, becomes one here.

    Of an attribute, napoleon takes what stands before a colon in the first line for its type: so that has none.
    """
    if kind in {"attribute", "data", "property"}:
        lines.insert(0, "\\ ")  # an escaped space, which is nothing
    inside = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            indent, language = line[: line.index("`")], line.strip("` ")
            lines[number] = f"{indent}.. code-block:: {language}\n" if not inside else ""
            inside = not inside
        elif inside and line:
            lines[number] = f"   {line}"
    lines[:] = "\n".join(lines).split("\n")


def signature(
    app: Sphinx, kind: str, name: str, thing: object, options: object, arguments: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Called by autodoc with a signature: aliases of types stay, and what nobody makes has none."""
    if isinstance(thing, type) and (getattr(thing, "_is_protocol", False) or issubclass(thing, enum.Enum)):
        return "", None
    for written, alias in _aliases().items():
        arguments = arguments and arguments.replace(written, alias)
        returns = returns and returns.replace(written, alias)
    return arguments, returns


@cache
def _aliases() -> Mapping[str, str]:
    """What autodoc makes of each alias of several types, the longest first, with what the alias is called."""
    from sphinx.util.typing import stringify_annotation

    found: dict[str, str] = {}
    for room, name in homes():
        thing = getattr(importlib.import_module(room), name)
        if get_origin(thing) in (Union, UnionType) and len(get_args(thing)) > 2:
            found.setdefault(stringify_annotation(thing, "smart"), f"~{room}.{name}")
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


Place = tuple[str, str]
"""A page, and an anchor there."""


def place(environment: BuildEnvironment, text: str, page: str) -> Place | None:
    """Where inline code on a page leads: `read_workload()`, `Scheduler.decide`, `wire.decode`, `batprotocol.wire`...

    Of several things of one name, the one on that page is meant, or one of today's protocol; of several of these, the
    class that is nearest to the entrance: `Hosts` is not `gym.Hosts`. What begins small is a function or a method; and
    what is just a word, such as `check`, only one of that page.
    """
    name = text.removesuffix("()")
    found = _places(environment).get(name, ())
    here = [each for each in found if each.where[0] == page]
    if name.isidentifier() and name == name.lower():
        found = [each for each in found if each.kind in {"function", "method"}]
        here = [each for each in here if each in found]
        if "_" not in name.strip("_"):
            found = here
    today = [each for each in found if not each.name.startswith(_OTHERS)]
    for chosen in (here, found, today):
        if len({each.where for each in chosen}) == 1:
            return chosen[0].where
    return min(today, key=lambda each: _distance(each.name)).where if today and name != name.lower() else None


class _Found(NamedTuple):
    """Something that has a place: its whole name, its place, and what it is."""

    name: str
    where: Place
    kind: str


_OTHERS: Final = tuple(f"{_TOP}.{room}." for room in ("campaigns", "fast", "gym", "legacy", "schemas"))
"""The rooms of what else has conversations, jobs and policies."""


@lru_cache(maxsize=1)
def _places(environment: BuildEnvironment) -> Mapping[str, Sequence[_Found]]:
    """All that has a place, by its name, and by what is left of that without the room.

    It is asked for when all pages have been read, so that nothing comes later.
    """
    found: dict[str, list[_Found]] = {}
    for name, entry in environment.domains.python_domain.objects.items():
        parts = name.split(".")
        for start in range(len(parts)):
            each = _Found(name, (entry.docname, entry.node_id), entry.objtype)
            found.setdefault(".".join(parts[start:]), []).append(each)
    return found


def _distance(name: str) -> tuple[bool, int]:
    """How far a name is from the entrance: what `import batprotocol` has comes first, then what is less deep."""
    room, _, last = name.rpartition(".")
    made_in = str(getattr(getattr(batprotocol, last, None), "__module__", ""))
    return not f"{made_in}.".startswith(f"{room}."), name.count(".")
