"""What mypyc compiles when a wheel is built, from the very source that runs without: the rules and the session that
asks them, the simulator, and the reader of what is not plain JSON.

An editable installation has none of it, as a compiled module would hide what is edited. `BATPROTOCOL_COMPILED` decides
otherwise: 1 compiles in any case, 0 never. Where it fails, the wheel is built without.

mypyc writes ten megabytes of C. As one file, as mypyc would have it, a compiler takes more than a minute for that on
one core, and a gigabyte of memory. Here it is a few files (`BUNDLES`), which are compiled side by side.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

__all__ = [
    "BUNDLES",
    "FLAGS",
    "MODULES",
    "PLAIN",
    "VARIABLE",
    "bundles",
    "extensions",
    "has_compiler",
    "is_wanted",
    "requirements",
]

_ROOT: Final = Path(__file__).resolve().parent.parent
VARIABLE: Final = "BATPROTOCOL_COMPILED"
_GROUP: Final = "batprotocol"
_ROOMS: Final = (
    "conversation",
    "simulator/batsim",
    "simulator/batsim/actors",
    "simulator/batsim/server",
    "simulator/batsim/state",
    "simulator/machine",
    "simulator/progress",
    "simulator/queue",
    "wire/dialect",
)
PLAIN: Final = frozenset(
    {
        # mypyc makes no enums with fields, and leaves out what a class statement says about a msgspec.Struct.
        "conversation/automaton.py",
        "conversation/rules.py",
        "simulator/batsim/state/messages.py",
        "simulator/batsim/state/rules.py",
        # It is a class of a library with a few words on top.
        "conversation/usage.py",
        # They are tables, or run once in a job, and gain nothing.
        "conversation/events.py",
        "simulator/progress/placement.py",
        # It gives Python's own methods for copies.
        "simulator/machine/demands.py",
    }
)
"""The modules of these rooms that stay as they are."""

MODULES: Final = tuple(
    sorted(
        name
        for name in (
            *(
                f"{room}/{path.name}"
                for room in _ROOMS
                for path in (_ROOT / "batprotocol" / room).glob("*.py")
                if path.name != "__init__.py"
            ),
            "edc/attending.py",
            "edc/session.py",
            "edc/verdicts.py",
            "signals.py",
            "simulator/results/extended.py",
            "simulator/results/series.py",
            "steps/counting.py",
        )
        if name not in PLAIN
    )
)
"""The files that are compiled, below batprotocol/."""

BUNDLES: Final = 4
"""How many files the C is compiled as: each reads the same headers for half a second, and has a core of its own. The
number is the same on each machine, as what a compiler makes depends on what it sees together."""

# -O1 takes half the time that -O2 does, and simulates as fast: what mypyc writes are calls of Python's own functions.
# As nobody else calls what is in there, calls within it need no detour, which is worth more than -O2 was.
_LEVEL: Final = "2" if sys.platform == "win32" else "1"
# Products and sums are rounded one by one, as Python rounds them, also where the processor could do both at once.
FLAGS: Final = [] if sys.platform == "win32" else ["-fvisibility=hidden", "-w", "-ffp-contract=off"]


def is_wanted(default: bool) -> bool:
    """Whether to compile."""
    return {"1": True, "0": False}.get(os.environ.get(VARIABLE, ""), default)


def has_compiler() -> bool:
    """Whether it is worth trying; on Windows only trying tells."""
    command = (sysconfig.get_config_var("CC") or "").split()
    return sys.platform == "win32" or (bool(command) and shutil.which(command[0]) is not None)


def requirements() -> list[str]:
    """What a build of a wheel needs to compile."""
    return ["mypy>=2"] if is_wanted(default=has_compiler()) else []


def extensions() -> list[Any]:
    """The extension modules, made of C that mypyc writes now. `RuntimeError` if it cannot."""
    try:
        from mypyc.build import mypycify
    except ImportError as error:
        raise RuntimeError(f"mypyc is not there: {error}") from None
    paths = [f"batprotocol/{name}" for name in MODULES]
    options = [f"--config-file={os.devnull}", f"--cache-dir={os.devnull}"]
    options += ["--ignore-missing-imports", "--follow-imports=silent"]  # types are checked elsewhere
    here = os.getcwd()
    os.chdir(_ROOT)  # the names of the modules follow from the paths
    try:
        made = list(mypycify([*options, *paths], opt_level=_LEVEL, debug_level="0", group_name=_GROUP, multi_file=True))
        for each in made:
            if len(each.sources) > BUNDLES:  # what holds all modules; the others only tell Python where theirs is
                each.depends = [*each.depends, *each.sources]
                each.sources = list(bundles([Path(name) for name in each.sources]))
                each.extra_compile_args = [*each.extra_compile_args, *FLAGS]
        return made
    except SystemExit as error:
        raise RuntimeError(f"mypyc has failed: {error}") from None
    finally:
        os.chdir(here)


def bundles(sources: list[Path]) -> Iterator[str]:
    """Files of C that include the others, some each, about alike in size."""
    by_size = sorted(sources, key=lambda path: (-path.stat().st_size, path.name))
    for number in range(BUNDLES):
        bundle = by_size[0].with_name(f"__bundle_{_GROUP}_{number}.c")
        bundle.write_text("".join(f'#include "{path.name}"\n' for path in sorted(by_size[number::BUNDLES])))
        yield str(bundle)
