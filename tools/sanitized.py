#!/usr/bin/env python3
"""Run a Python script with the native engine compiled with AddressSanitizer and UndefinedBehaviorSanitizer.

    python tools/sanitized.py tools/fuzz.py --seconds 60

The engine is compiled anew into a temporary folder; the one that is installed stays as it is. It takes gcc.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "batprotocol" / "wire" / "native").glob("*.c"))
MODULE = "batprotocol.wire._native"

# Run in the child: the sanitized module takes the place of the installed one before anything imports it.
_BOOTSTRAP = f"""
import importlib.machinery, importlib.util, runpy, sys
library, script, *arguments = sys.argv[1:]
loader = importlib.machinery.ExtensionFileLoader({MODULE!r}, library)
module = importlib.util.module_from_spec(importlib.util.spec_from_loader({MODULE!r}, loader))
loader.exec_module(module)
sys.modules[{MODULE!r}] = module
sys.argv = [script, *arguments]
runpy.run_path(script, run_name="__main__")
"""


def compile_engine(folder: Path) -> Path:
    """Compile the native engine with both sanitizers; return the library."""
    library = folder / "_native.so"
    include = [sysconfig.get_path("include"), ROOT / "generated" / "_schema", ROOT / "batprotocol" / "wire" / "native"]
    flags = ["-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(
        ["gcc", *flags, "-shared", "-fPIC", *(f"-I{path}" for path in include), *map(str, SOURCES), "-o", str(library)],
        check=True,
    )
    return library


def _runtime(name: str) -> str:
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, check=True, text=True)
    return found.stdout.strip()


def run(command: list[str]) -> int:
    """Run a script and its arguments with the sanitized engine; return its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        library = compile_engine(Path(folder))
        environment = {
            **os.environ,
            # Python does not free all its memory at its end, so leaks are for test_native.py and tools/soak.py to find.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "BATPROTOCOL_ENGINE": "native",
            "LD_PRELOAD": f"{_runtime('libasan.so')}:{_runtime('libubsan.so')}",
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }
        return subprocess.run([sys.executable, "-c", _BOOTSTRAP, str(library), *command], env=environment).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(run(sys.argv[1:]))
