"""The build backend: setuptools, after making sure that generated/ belongs to the schema.

It compiles the schema when flatc is there, uses what generated/ holds when that belongs to the schema, and otherwise
stops the build with a sentence that says what to install. What it compiles for a wheel is left in the source tree, too.
mypy is asked for only where something is compiled with it: downloading it takes longer than all the rest of a build.
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
    """Tells setup.py whether to compile."""
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
    return wheel


def build_sdist(*arguments: Any, **options: Any) -> str:
    _compile()
    return build_meta.build_sdist(*arguments, **options)


def build_editable(*arguments: Any, **options: Any) -> str:
    _compile()
    return build_meta.build_editable(*arguments, **options)
