"""The build backend: setuptools, after making sure that generated/ belongs to the schema.

With flatc, it compiles the schema. Without flatc, it uses generated/ if that belongs to the schema, and otherwise stops
the build with a sentence that names the package to install. Modules that it compiles for a wheel stay in the source
tree, too. It requires mypy only for compiling: downloading mypy takes longer than the rest of a build.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compile_schema import CompileError, ensure
from compiled import VARIABLE, has_compiler, is_wanted, requirements
from in_place import WITHOUT, place_compiled
from repeatable import normalise
from setuptools import build_meta

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

get_requires_for_build_editable = build_meta.get_requires_for_build_editable
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable


def get_requires_for_build_wheel(*arguments: Any, **options: Any) -> list[str]:
    with _compiling(False):
        requires: list[str] = build_meta.get_requires_for_build_wheel(*arguments, **options)
    return [*requires, *requirements()]


def prepare_metadata_for_build_wheel(*arguments: Any, **options: Any) -> str:
    with _compiling(False):  # they are the same
        name: str = build_meta.prepare_metadata_for_build_wheel(*arguments, **options)
        return name


@contextmanager
def _compiling(wanted: bool) -> Iterator[None]:
    """Sets the variable with which setup.py decides whether to compile."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1" if wanted else "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def _compile() -> None:
    try:
        print(f"batprotocol: {ensure()}", flush=True)
    except CompileError as error:
        sys.exit(f"batprotocol: {error}")


def _built(compiled: bool, *arguments: Any, **options: Any) -> str:
    with _compiling(compiled):
        name: str = build_meta.build_wheel(*arguments, **options)
        return name


def build_wheel(wheel_directory: str, *arguments: Any, **options: Any) -> str:
    _compile()
    compiled = is_wanted(default=has_compiler())
    try:
        wheel = _built(compiled, wheel_directory, *arguments, **options)
    except (Exception, SystemExit) as error:
        if not compiled:
            raise
        compiled = False
        print(f"batprotocol: compiling with mypyc has failed: {error}")
        wheel = _built(compiled, wheel_directory, *arguments, **options)
    if not compiled:
        print("batprotocol: the rules and the simulator in this wheel are not compiled, and take twice as long")
    for each in place_compiled(Path(wheel_directory, wheel), Path(__file__).resolve().parent.parent):
        print(f"batprotocol: in this wheel, {WITHOUT[each]}")
    normalise(Path(wheel_directory, wheel))
    return wheel


def build_sdist(sdist_directory: str, *arguments: Any, **options: Any) -> str:
    _compile()
    name = build_meta.build_sdist(sdist_directory, *arguments, **options)
    normalise(Path(sdist_directory, name))
    return name


def build_editable(*arguments: Any, **options: Any) -> str:
    _compile()
    return build_meta.build_editable(*arguments, **options)
