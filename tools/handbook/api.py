"""Python's API: every public name of every public package, each documented on one page, from its docstring, by autodoc.

A page has a marker `<!-- generated: python MODULE -->` for each package or module that it documents. Names behind a
colon, as in `python MODULE: NAME NAME`, come first on it; the others follow: functions and classes, errors, constants.
An index with a line for each name is above them. A name that several packages export is documented where it is made, or
else where it comes first; the others link to it. Events and other values have pages in another part of the reference,
so only their methods are documented here.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from batprotocol._schema.description import ENUMS, TABLES, UNIONS

import batprotocol
from batprotocol import model
from batprotocol.fast.commands import NAMES as FAST_NAMES
from batprotocol.legacy import json_events, text_events
from handbook.events.docstrings import assigned
from handbook.markers import marked

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

__all__ = ["fences", "has_page", "homes", "modules", "ordered", "place", "public", "python"]

_TOP: Final = "batprotocol"
_SOURCE: Final = Path(__file__).resolve().parents[2] / _TOP
_SCHEMA: Final = {*TABLES, *ENUMS, *UNIONS}
_OF_VALUES: Final = ("batprotocol.model", "batprotocol.fast", json_events.__name__, text_events.__name__)
"""The packages whose values have pages with their fields elsewhere: only their methods are documented here."""
_HOOKS: Final = "pytest_"
"""The prefix of the names in a plugin that only pytest calls."""
_LONGEST_VALUE: Final = 100
_FEW: Final = 2
"""The number of names from which a module has an index."""
_SENTENCE: Final = re.compile(r"(?<=\.)\s+(?=[A-Z`])")
"""The end of a sentence."""


@cache
def _asked() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """The modules that pages document: the page of each, and the names that come first on it.

    They are in the order in which names are looked for in them.
    """
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for page, _, argument in marked("reference/python", "python"):
        module, _, first = argument.partition(":")
        assert module not in found, f"{module} is on {found[module][0]} and on {page}"
        found[module] = page, tuple(first.split())
    return dict(sorted(found.items(), key=lambda item: item[0] == _TOP))


def modules() -> Mapping[str, str]:
    """The modules that pages document, each with its page."""
    return {module: page for module, (page, _) in _asked().items()}


def public(module: str) -> tuple[str, ...]:
    """The names that a module exports: its `__all__`, or that of the modules from which it imports everything."""
    package = importlib.import_module(module)
    names = getattr(package, "__all__", None)
    if names is not None:
        return tuple(name for name in names if not name.startswith(_HOOKS))
    taken: dict[str, None] = {}
    for each in pkgutil.iter_modules(getattr(package, "__path__", [])):
        part = importlib.import_module(f"{module}.{each.name}")
        taken.update(dict.fromkeys(name for name in getattr(part, "__all__", ()) if name in vars(package)))
    return tuple(taken)


def ordered(module: str) -> list[str]:
    """The names that a module exports, the main ones first: those that its marker lists, then by their kind."""
    first = _asked()[module][1]
    names = public(module)
    assert set(first) <= set(names), f"{module} exports no {', '.join(set(first) - set(names))}"

    def rank(name: str) -> int:
        thing = getattr(importlib.import_module(module), name)
        if name in first:
            return first.index(name) - len(first)
        if isinstance(thing, type):
            return 1 if issubclass(thing, BaseException) else 0
        return 0 if inspect.isroutine(thing) else 2

    return sorted(names, key=rank)


def has_page(name: str, thing: object) -> bool:
    """Whether something has its fields on a page of its protocol: an event, a value, a message."""
    if getattr(thing, "__module__", "").startswith("batprotocol.legacy."):
        return name in (*json_events.__all__, *text_events.__all__) and isinstance(thing, type)
    if getattr(thing, "__module__", "").startswith("batprotocol.fast."):
        return name in FAST_NAMES
    return name in _SCHEMA and getattr(model, name, None) is thing


@cache
def _assigned() -> Mapping[str, Mapping[str, str]]:
    """All names that modules assign something to, each with these modules, and the text below."""
    found: dict[str, dict[str, str]] = {}
    for path in _SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(_SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        for name, text in assigned(ast.parse(path.read_text(encoding="utf-8")).body):
            found.setdefault(name, {})[module] = inspect.cleandoc(text)
    return found


def _made_in(name: str, thing: object) -> str:
    """The module that a thing is made in; "" where that is not known."""
    if isinstance(thing, type) or inspect.isroutine(thing):
        return str(thing.__module__)
    makers = _assigned().get(name, {})
    return next((each for each in makers if getattr(sys.modules.get(each), name, None) is thing), "")


@cache
def homes() -> Mapping[tuple[str, str], str]:
    """For each module and name in it, the module that documents it; "" for values of the schema."""
    having: dict[str, list[tuple[str, Any]]] = {}
    for module in modules():
        for name in public(module):
            having.setdefault(name, []).append((module, getattr(importlib.import_module(module), name)))
    found: dict[tuple[str, str], str] = {}
    for name, places in having.items():
        for module, thing in places:
            same = [other for other, their in places if their is thing]
            made = _made_in(name, thing)
            where = [other for other in same if f"{made}.".startswith(f"{other}.") and other != _TOP]
            found[module, name] = "" if has_page(name, thing) else max(where, key=len, default=same[0])
    return found


def python(page: str, argument: str) -> str:
    """All that a module exports: an index of the names, then those that are documented here."""
    module = argument.partition(":")[0]
    names = ordered(module)
    mine = [name for name in names if homes()[module, name] == module]
    elsewhere = [name for name in names if homes()[module, name] != module]
    lines = [f".. py:module:: {module}", "   :no-typesetting:", "", f".. py:currentmodule:: {module}", ""]
    lines += [*_index(module, [*mine, *elsewhere]), ""]
    for name in mine:
        lines += [*_directive(module, name), ""]
    if module in _OF_VALUES:
        lines += _methods(module, (name for name in elsewhere if not homes()[module, name]))
    return "```{eval-rst}\n" + "\n".join(lines).rstrip() + "\n```\n"


def _index(module: str, names: Sequence[str]) -> Iterator[str]:
    """A table with a line for each name: a link, and the first sentence of its docstring."""
    if len(names) < _FEW:
        return
    yield ".. list-table::"
    yield "   :class: index"
    yield ""
    for name in names:
        home = homes()[module, name]
        yield f"   * - :py:obj:`{name} <{home}.{name}>`" if home else f"   * - ``{name}``"
        yield f"     - {_sentence(module, name)}"


def _sentence(module: str, name: str) -> str:
    """The first sentence of the docstring of a name, or of the text below it."""
    thing = getattr(importlib.import_module(module), name)
    own = isinstance(thing, type | ModuleType) or inspect.isroutine(thing)
    text = inspect.getdoc(thing) if own else _assigned().get(name, {}).get(_made_in(name, thing))
    paragraph = " ".join((text or "").strip().partition("\n\n")[0].split())
    return _SENTENCE.split(paragraph, maxsplit=1)[0]


def _directive(module: str, name: str) -> Iterator[str]:
    """The directive with which autodoc documents a name."""
    thing = getattr(importlib.import_module(module), name)
    whole = f"{module}.{name}"
    if isinstance(thing, ModuleType):
        yield f"Module :py:mod:`{thing.__name__}`."
    elif isinstance(thing, type):
        yield f".. {'autoexception' if issubclass(thing, BaseException) else 'autoclass'}:: {whole}"
        yield "   :members:"
        yield f"   :inherited-members: {', '.join(_other_bases(thing))}"
        if issubclass(thing, enum.Enum):
            yield "   :undoc-members:"
        hidden = [*getattr(thing, "_fields", ()), "count", "index"] if issubclass(thing, tuple) else []
        hidden += _as_bases_say(thing)
        if hidden:
            yield f"   :exclude-members: {', '.join(hidden)}"
    elif inspect.isroutine(thing):
        yield f".. autofunction:: {whole}"
    else:
        yield from _constant(module, name, thing)


_PLAIN: Final = (str, int, float, Mapping)  # values that have no docstring of their own


def _as_bases_say(cls: type) -> list[str]:
    """The members of a class without a docstring of their own, for which autodoc would take that of its bases."""
    bases = cls.__mro__[1:]
    return [
        name
        for name, thing in vars(cls).items()
        if not name.startswith("_")
        and (not getattr(thing, "__doc__", None) if inspect.isroutine(thing) else isinstance(thing, _PLAIN))
        and any(name in vars(base) or name in getattr(base, "__annotations__", {}) for base in bases)
        and not issubclass(cls, enum.Enum)
    ]


def _other_bases(cls: type) -> list[str]:
    """The bases whose members are not documented with those of a class: of other libraries, or with their own entry."""
    exported = {name for _, name in homes()}
    return [
        base.__name__
        for base in cls.__mro__[1:]
        if not base.__module__.startswith(_TOP) or base.__name__ in exported or base.__name__ == "Value"
    ]


def _constant(module: str, name: str, thing: object) -> Iterator[str]:
    """A constant or an alias of types; autodoc looks for its text where it is imported, and not where it is made."""
    yield f".. py:data:: {name}"
    value = repr(thing)
    if isinstance(thing, str | int | float | tuple) and len(value) <= _LONGEST_VALUE and " object at " not in value:
        yield f"   :value: {value}"
    elif type(thing).__module__ == "typing" and len(value.replace("typing.", "")) <= _LONGEST_VALUE:
        yield f"   :value: {value.replace('typing.', '')}"
    yield ""
    text = _assigned().get(name, {}).get(_made_in(name, thing), "")
    assert text, f"{module}.{name} has no text below it, where it is made"
    yield from (f"   {line}" for line in text.splitlines())


def _methods(module: str, names: Iterable[str]) -> Iterator[str]:
    """The methods and properties of values whose fields are documented elsewhere."""
    for name in names:
        cls = getattr(importlib.import_module(module), name)
        if not isinstance(cls, type) or issubclass(cls, enum.Enum):
            continue
        for member, thing in vars(cls).items():
            if member.startswith("_") or member in getattr(cls, "__struct_fields__", ()) or not thing.__doc__:
                continue
            if isinstance(thing, property):
                yield f".. autoproperty:: {module}.{name}.{member}\n"
            elif callable(thing) or isinstance(thing, classmethod | staticmethod):
                yield f".. automethod:: {module}.{name}.{member}\n"


def fences(app: Sphinx, kind: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Called by autodoc with a docstring: blocks of code in Markdown, as editors show them, become blocks here.

    napoleon takes the text before a colon in the first line of an attribute for its type, so that line is empty.
    """
    if kind in {"attribute", "data", "property"}:
        lines.insert(0, "\\ ")  # an escaped space, which prints nothing
    inside = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            indent, language = line[: line.index("`")], line.strip("` ")
            lines[number] = f"{indent}.. code-block:: {language}\n" if not inside else ""
            inside = not inside
        elif inside and line:
            lines[number] = f"   {line}"
    lines[:] = "\n".join(lines).split("\n")


Place = tuple[str, str]
"""A page, and an anchor there."""


def place(environment: BuildEnvironment, text: str, page: str) -> Place | None:
    """Where inline code on a page leads: `read_workload()`, `Scheduler.decide`, `wire.decode`, `batprotocol.wire`...

    If several things have one name, it means the one on that page, or else one of Batsim 5's protocol; if several of
    these have it, the class that is nearest to the top: `Hosts` is not `gym.Hosts`. A name in small letters is a
    function or a method; a plain word, such as `check`, is only one of that page.
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


_OTHERS: Final = tuple(f"{_TOP}.{package}." for package in ("campaigns", "fast", "gym", "legacy", "schemas"))
"""The packages of other protocols and systems, which have conversations, jobs and policies, too."""


@lru_cache(maxsize=1)
def _places(environment: BuildEnvironment) -> Mapping[str, Sequence[_Found]]:
    """All things that have a place, by their names with and without their modules.

    It is called when all pages have been read, so that no thing comes later.
    """
    found: dict[str, list[_Found]] = {}
    for name, entry in environment.domains.python_domain.objects.items():
        parts = name.split(".")
        for start in range(len(parts)):
            each = _Found(name, (entry.docname, entry.node_id), entry.objtype)
            found.setdefault(".".join(parts[start:]), []).append(each)
    return found


def _distance(name: str) -> tuple[bool, int]:
    """The distance of a name from the top: first the names in `import batprotocol`, then those in fewer packages."""
    package, _, last = name.rpartition(".")
    made_in = str(getattr(getattr(batprotocol, last, None), "__module__", ""))
    return not f"{made_in}.".startswith(f"{package}."), name.count(".")
