"""Signatures that people can read: aliases of types by their names, and defaults as one would write them.

autodoc prints each default as Python prints it. A default that has a factory, an enum or a private constant is not what
a caller writes, so it is replaced with its value, or with `...` where that is long.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin

import msgspec
from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

from handbook import api

__all__ = ["properties", "signature"]

_LONGEST_DEFAULT: Final = 30
_FACTORY: Final = "<factory>"
_ENUM: Final = re.compile(r"<(\w+\.\w+): [^<>]*>")
_UNREADABLE: Final = re.compile(r"[<>{]|\b_[a-zA-Z]|\barguments\.|\w\(")
"""What a default has in it that is replaced: an object as Python prints it, or a name that users cannot import."""


def signature(
    app: Sphinx, kind: str, name: str, thing: object, options: object, arguments: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Called by autodoc with a signature."""
    if isinstance(thing, type) and (getattr(thing, "_is_protocol", False) or issubclass(thing, enum.Enum)):
        return "", None  # users do not make these
    for written, alias in _aliases().items():
        arguments = arguments and arguments.replace(written, alias)
        returns = returns and returns.replace(written, alias)
    if arguments:
        arguments = _readable(arguments, thing)
    return arguments, returns


@cache
def _aliases() -> Mapping[str, str]:
    """The public aliases of more than two types, by what autodoc makes of them, the longest first."""
    from sphinx.util.typing import stringify_annotation

    found: dict[str, str] = {}
    for module, name in api.homes():
        thing = getattr(importlib.import_module(module), name)
        if get_origin(thing) in (Union, UnionType) and len(get_args(thing)) > 2:
            found.setdefault(stringify_annotation(thing, "smart"), f"~{module}.{name}")
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def _readable(arguments: str, thing: object) -> str:
    """The arguments with defaults that can be read."""
    text = _ENUM.sub(r"\1", arguments).replace(_FACTORY, "__factory__")
    try:
        function = ast.parse(f"def f{text}: ...").body[0]
        given = _defaults(thing)
    except (SyntaxError, TypeError, ValueError):
        return arguments
    assert isinstance(function, ast.FunctionDef)
    fields = {each.name: each for each in _fields(thing)}
    written = function.args
    plain = [*written.posonlyargs, *written.args]
    defaults: list[tuple[ast.arg, list[Any], int]] = [
        *((each, written.defaults, place) for place, each in enumerate(plain[len(plain) - len(written.defaults) :])),
        *((each, written.kw_defaults, place) for place, each in enumerate(written.kwonlyargs)),
    ]
    for argument, where, place in defaults:
        shown = where[place] and ast.unparse(where[place])
        if not shown or isinstance(where[place], ast.Lambda):
            continue
        if shown == "__factory__":
            factory: Any = getattr(fields.get(argument.arg), "default_factory", None)
            where[place] = ast.parse(_default(factory()) if isinstance(factory, type) else "...").body[0].value  # type: ignore[attr-defined]
        elif _UNREADABLE.search(shown) and argument.arg in given:
            where[place] = ast.parse(_default(given[argument.arg])).body[0].value  # type: ignore[attr-defined]
    return f"({ast.unparse(written)})"


def _defaults(thing: Any) -> Mapping[str, object]:
    """The defaults of a function or a class. autodoc puts its own texts in place of them into signatures."""
    thing = getattr(thing, "__func__", thing)
    function = getattr(thing, "__init__", None) if isinstance(thing, type) else thing
    if not inspect.isfunction(function):
        return {name: each.default for name, each in inspect.signature(thing).parameters.items()}
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    return {**dict(zip(names[len(names) - len(values) :], values, strict=True)), **(function.__kwdefaults__ or {})}


def _fields(thing: object) -> Sequence[Any]:
    """The fields of a class, which may have factories for their defaults."""
    if dataclasses.is_dataclass(thing):
        return dataclasses.fields(thing)
    return msgspec.structs.fields(thing) if hasattr(thing, "__struct_fields__") else ()  # type: ignore[arg-type]


def _default(value: object) -> str:
    """A default as one would write it."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    text = repr(value)
    if isinstance(value, (str, int, float, tuple, list, dict, frozenset, type(None))) and len(text) <= _LONGEST_DEFAULT:
        return "math.inf" if value == float("inf") else text
    if isinstance(value, type | ast.AST) or inspect.isroutine(value):
        return str(getattr(value, "__name__", "..."))
    try:
        return f"{type(value).__name__}()" if type(value)() == value else "..."
    except TypeError:
        return "..."


def properties(app: Sphinx, document: nodes.document) -> None:
    """Called by Sphinx with a page that was read: types of properties get the names of aliases, too.

    Sphinx asks nobody about them, and writes each type of an alias out.
    """
    from sphinx import addnodes
    from sphinx.domains.python._annotations import _parse_annotation

    def written(node: nodes.Node) -> str:
        return str(node["reftarget"]) if isinstance(node, addnodes.pending_xref) else node.astext()

    for node in document.findall(addnodes.desc_annotation):
        before = "".join(map(written, node.children))
        after = before
        for union, alias in _aliases().items():
            after = after.replace(union.replace("~", ""), alias.replace("~", ""))
        if after != before and before.startswith(": "):
            node.clear()
            node.extend([nodes.Text(": "), *_parse_annotation(after[2:], app.env)])
