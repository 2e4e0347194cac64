"""What mypyc compiles when a wheel is built, from the very source that runs without: the rules and the session that
asks them, the simulator, and the reader of what is not plain JSON.

An editable installation has none of it, as a compiled module would hide what is edited. `BATPROTOCOL_COMPILED` decides
otherwise: 1 compiles in any case, 0 never. Where it fails, the wheel is built without.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

__all__ = ["MODULES", "PLAIN", "extensions", "is_wanted"]

_ROOT: Final = Path(__file__).resolve().parent.parent
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
            "simulator/results/series.py",
            "steps/counting.py",
        )
        if name not in PLAIN
    )
)
"""The files that are compiled, below batprotocol/."""


def is_wanted(default: bool) -> bool:
    """Whether to compile."""
    return {"1": True, "0": False}.get(os.environ.get("BATPROTOCOL_COMPILED", ""), default)


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
        return list(mypycify([*options, *paths], opt_level="2", debug_level="0", group_name="batprotocol"))
    except SystemExit as error:
        raise RuntimeError(f"mypyc has failed: {error}") from None
    finally:
        os.chdir(here)
