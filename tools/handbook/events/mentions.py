"""The texts and the names of other modules in functions of the library, and in all functions that they call.

The module reads sources and does not run them, so it covers all cases of a function. It follows calls within a package:
through names, through tables of functions, and through methods of arguments that have a type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, Final, NamedTuple

import batprotocol

__all__ = ["Mentioned", "Name", "mentioned"]

_LIBRARY: Final = Path(batprotocol.__file__).parent

Name = tuple[str, str]
"""A module, and a name in it."""


class Mentioned(NamedTuple):
    """The result: all texts, and all names of the library."""

    texts: frozenset[str]
    names: frozenset[Name]


class _Module:
    """A module: the meaning of its names, and the code of its own ones."""

    def __init__(self, name: str) -> None:
        path = _LIBRARY.parent / Path(*name.split("."))
        self.name = name
        self.path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        self.imported: dict[str, Name] = {}
        self.own: dict[str, list[ast.AST]] = {}
        for each in ast.parse(self.path.read_text(encoding="utf-8")).body:
            self._take(each)

    def _take(self, each: ast.stmt) -> None:
        if isinstance(each, ast.ImportFrom) and each.module:
            module = resolve_name("." * each.level + each.module, self.name) if each.level else each.module
            self.imported.update({alias.asname or alias.name: (module, alias.name) for alias in each.names})
        elif isinstance(each, ast.FunctionDef | ast.ClassDef):
            self.own[each.name] = [each]
        elif isinstance(each, ast.Assign | ast.AnnAssign) and each.value is not None:
            for target in each.targets if isinstance(each, ast.Assign) else [each.target]:
                if isinstance(target, ast.Name):
                    self.own[target.id] = [each.value]

    def meant(self, name: str) -> Name | None:
        """The module and the name that a name means here."""
        return (self.name, name) if name in self.own else self.imported.get(name)


@cache
def _module(name: str) -> _Module | None:
    path = _LIBRARY.parent / Path(*name.split("."))
    known = name.partition(".")[0] == "batprotocol" and (path.with_suffix(".py").exists() or path.is_dir())
    return _Module(name) if known else None


@cache
def mentioned(start: Any, package: str) -> Mentioned:
    """The texts and names in a function and in the functions that it calls within a package.

    Args:
        start: a function of the library, or a class.
        package: the package. Names of other modules are in the result, but are not followed.
    """
    texts: set[str] = set()
    names: set[Name] = set()
    todo: list[Name] = [(start.__module__, start.__qualname__)]
    while todo:
        module_name, name = todo.pop()
        if (module_name, name) in names:
            continue
        names.add((module_name, name))
        module = _module(module_name) if module_name.startswith(package) else None
        if module is not None:
            for node in _code(module, name):
                todo += _found(module, node, texts)
    return Mentioned(frozenset(texts), frozenset(names))


def _code(module: _Module, name: str) -> Iterator[ast.AST]:
    """The code of a name: of a function, of a table or of a method. For a class there is none."""
    first, _, method = name.partition(".")
    for node in module.own.get(first, ()):
        if not isinstance(node, ast.ClassDef):
            yield node
        for each in node.body if isinstance(node, ast.ClassDef) and method else ():
            if isinstance(each, ast.FunctionDef) and each.name == method:
                yield each


def _found(module: _Module, code: ast.AST, texts: set[str]) -> Iterator[Name]:
    """The names in a piece of code. Its texts are added to `texts`."""
    classes: dict[str, Name] = {}
    parts: list[ast.AST] = [code]
    if isinstance(code, ast.FunctionDef):
        parts = [*code.body, *code.args.defaults, *(each for each in code.args.kw_defaults if each)]
        for argument in (*code.args.args, *code.args.kwonlyargs):
            if isinstance(argument.annotation, ast.Name) and (kind := module.meant(argument.annotation.id)):
                classes[argument.arg] = kind
    for node in (each for part in parts for each in ast.walk(part)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
        elif isinstance(node, ast.Name) and (meant := module.meant(node.id)):
            yield meant
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in classes:
                kind = classes[node.value.id]
                yield kind[0], f"{kind[1]}.{node.attr}"
            elif meant := module.meant(node.value.id):
                yield ".".join(meant), node.attr
