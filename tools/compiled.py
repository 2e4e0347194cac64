"""The modules that mypyc compiles for a wheel: the rules, their session, the simulator, and the JSON reader.

The same source runs without compiling. The JSON reader is the one for JSON that is not plain. An editable installation
has no compiled modules, because a compiled module would hide edits. `BATPROTOCOL_COMPILED` overrides this: 1 compiles
in any case, 0 never. If compiling fails, the wheel is built without these modules.

mypyc writes ten megabytes of C. By default, that is one file, for which a compiler takes more than a minute on one
core, and a gigabyte of memory. Here it is a few files (`BUNDLES`), which are compiled in parallel.
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
_PACKAGES: Final = (
    "conversation",
    "simulator/batsim",
    "simulator/machine",
    "wire/dialect",
)
PLAIN: Final = frozenset(
    {
        # mypyc makes no enums with fields, and ignores the arguments of a class statement of a msgspec.Struct.
        "conversation/automaton.py",
        "conversation/rules.py",
        "simulator/batsim/messages.py",
        "simulator/batsim/rules.py",
        # It is a class of another library with a few additions.
        "conversation/usage.py",
        # They are tables, or run once for a job, and gain nothing.
        "conversation/advice.py",
        "conversation/events.py",
        "simulator/machine/placement.py",
    }
)
"""The modules of these packages that are not compiled."""

MODULES: Final = tuple(
    sorted(
        name
        for name in (
            *(
                f"{package}/{path.name}"
                for package in _PACKAGES
                for path in (_ROOT / "batprotocol" / package).glob("*.py")
                if path.name != "__init__.py"
            ),
            "edc/session.py",
            "_util/signals.py",
            "results/arithmetic.py",
            "policies/counting.py",
            "_util/counting.py",
        )
        if name not in PLAIN
    )
)
"""The files that are compiled, below batprotocol/."""

BUNDLES: Final = 4
"""The number of files of C. Each reads the same headers for half a second, and is compiled on a core of its own. The
number is the same on each machine, because the output of a compiler depends on the division into files."""

# -O1 takes half the time that -O2 does, and simulates as fast: mypyc writes calls of Python's own functions.
# No other module calls these functions, so calls within the module are direct, which gains more than -O2 does.
_LEVEL: Final = "2" if sys.platform == "win32" else "1"
# Products and sums are rounded one by one, as Python rounds them, also where the processor could do both at once.
FLAGS: Final = [] if sys.platform == "win32" else ["-fvisibility=hidden", "-w", "-ffp-contract=off"]


def is_wanted(default: bool) -> bool:
    """Whether to compile. By default not for a free-threaded Python: mypyc's code counts on the lock of others."""
    default = default and not sysconfig.get_config_var("Py_GIL_DISABLED")
    return {"1": True, "0": False}.get(os.environ.get(VARIABLE, ""), default)


def has_compiler() -> bool:
    """Whether there is a compiler; on Windows, this is known only after trying."""
    command = (sysconfig.get_config_var("CC") or "").split()
    return sys.platform == "win32" or (bool(command) and shutil.which(command[0]) is not None)


def requirements() -> list[str]:
    """The packages that a build of a wheel needs to compile."""
    return ["mypy>=2"] if is_wanted(default=has_compiler()) else []


def extensions() -> list[Any]:
    """The extension modules, made of C that mypyc writes now. `RuntimeError` if it cannot."""
    try:
        from mypyc.build import mypycify
    except ImportError as error:
        raise RuntimeError(f"mypyc is not installed: {error}") from None
    paths = [f"batprotocol/{name}" for name in MODULES]
    options = [f"--config-file={os.devnull}", f"--cache-dir={os.devnull}"]
    options += ["--ignore-missing-imports", "--follow-imports=silent"]  # types are checked elsewhere
    here = os.getcwd()
    os.chdir(_ROOT)  # the names of the modules follow from the paths
    try:
        made = list(mypycify([*options, *paths], opt_level=_LEVEL, debug_level="0", group_name=_GROUP, multi_file=True))
        for each in made:
            if len(each.sources) > BUNDLES:  # the extension with all modules; the others only refer to it
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
