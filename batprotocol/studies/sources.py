"""The source of a scheduler: its file, and the modules that this imports from its folder.

The files are parsed, and nothing is imported. Other files that a scheduler reads, such as the weights of a network, are
not found: a study names them in `files`.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES

__all__ = ["imported_from_beside"]


def imported_from_beside(path: str) -> list[str]:
    """The names of the files in the folder of a program, or below it, that the program needs. Its own file comes first.

    Args:
        path: the file of the program.

    Raises:
        OSError: a file cannot be read.
    """
    folder, own = os.path.split(os.path.abspath(path))
    found = {own: None}
    waiting = [own]
    while waiting:
        name = waiting.pop()
        if not name.endswith(".py"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            source = file.read()
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue  # the import reports it
        package = os.path.dirname(name).replace(os.sep, ".")
        for module in _imports(tree, package):
            for each in _files(folder, module):
                if each not in found:
                    found[each] = None
                    waiting.append(each)
    return [own, *sorted(name for name in found if name != own)]


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """The full names of all modules that a file may import, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package else []
            if node.level:
                parts = parts[: len(parts) - node.level + 1]
                module = ".".join([*parts, *([node.module] if node.module else [])])
            else:
                module = node.module or ""
            yield module
            yield from (f"{module}.{alias.name}".removeprefix(".") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and _name(node.func) in ("import_module", "__import__"):
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value.startswith("."):
                yield first.value


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _files(folder: str, module: str) -> Iterator[str]:
    """The files of a module and of its packages that are in the folder."""
    place = ""
    for part in module.split("."):
        if not part:
            return
        place = os.path.join(place, part)
        for suffix in (".py", *EXTENSION_SUFFIXES):
            if os.path.isfile(os.path.join(folder, place + suffix)):
                yield place + suffix
                return
        if not os.path.isdir(os.path.join(folder, place)):
            return
        package = os.path.join(place, "__init__.py")
        if os.path.isfile(os.path.join(folder, package)):
            yield package
