#!/usr/bin/env python3
"""Run a Python script with the modules in C compiled with AddressSanitizer and UndefinedBehaviorSanitizer.

    python tools/sanitized.py tools/fuzz.py --seconds 60
    python tools/sanitized.py --only gym._play,simulator._copier SCRIPT

It compiles all of them, or only those that `--only` names, into a temporary folder, and leaves the installed modules as
they are. It needs gcc.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

import in_place

ROOT = Path(__file__).resolve().parent.parent
MODULES = {name.replace("/", "."): (ROOT / name).parent / "native" for name in in_place.MODULES}
"""The folder of the sources of each."""

# Run in the child: the sanitized modules take the places of the installed ones before anything imports them.
_BOOTSTRAP = """
import importlib.machinery, importlib.util, runpy, sys
folder, names, script, *arguments = sys.argv[1:]
for name in names.split(","):
    loader = importlib.machinery.ExtensionFileLoader(name, f"{folder}/{name.rpartition('.')[2]}.so")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    sys.modules[name] = module
sys.argv = [script, *arguments]
runpy.run_path(script, run_name="__main__")
"""


def compile_modules(folder: Path, names: Iterable[str]) -> None:
    """Compile modules with both sanitizers."""
    flags = ["-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    for name in names:
        place = MODULES[name]
        include = [f"-I{path}" for path in (sysconfig.get_path("include"), ROOT / "generated" / "_schema", place)]
        sources = [str(path) for path in sorted(place.glob("*.c"))]
        library = folder / f"{name.rpartition('.')[2]}.so"
        subprocess.run(["gcc", *flags, "-shared", "-fPIC", *include, *sources, "-o", str(library)], check=True)


def _runtime(name: str) -> str:
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, check=True, text=True)
    return found.stdout.strip()


def run(command: list[str], names: Collection[str] = MODULES) -> int:
    """Run a script and its arguments with the sanitized modules; return its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        compile_modules(Path(folder), names)
        environment = {
            **os.environ,
            # Python does not free all its memory at its end, so leaks are for test_native.py and tools/soak.py to find.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "BATPROTOCOL_ENGINE": "native",
            "LD_PRELOAD": f"{_runtime('libasan.so')}:{_runtime('libubsan.so')}",
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }
        return subprocess.run(
            [sys.executable, "-c", _BOOTSTRAP, folder, ",".join(names), *command], env=environment
        ).returncode


if __name__ == "__main__":
    is_only = sys.argv[1:2] == ["--only"]
    if len(sys.argv) < (4 if is_only else 2) or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    if is_only:
        sys.exit(run(sys.argv[3:], [f"batprotocol.{name}" for name in sys.argv[2].split(",")]))
    sys.exit(run(sys.argv[1:]))
