#!/usr/bin/env python3
"""Compile schema/batprotocol.fbs into generated/.

flatc writes the Python classes (generated/fb) and the reflection schema (generated/_schema/batprotocol.bfbs); from the
reflection schema alone come the description and the codec. generated/_schema/manifest.json says which schema and which
flatc they come from. Without flatc, what is kept in generated/ serves, if it belongs to this very schema.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from schema_compiler import codec, description, native, reflection

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema" / "batprotocol.fbs"
GENERATED = ROOT / "generated"
MANIFEST = Path("_schema/manifest.json")
REFLECTION = Path("_schema/batprotocol.bfbs")
OLDEST_FLATC = (2, 0, 8)


class CompileError(Exception):
    """A sentence that says what is wrong and what to do."""


def flatc_version() -> str | None:
    """The version of the flatc on the PATH, or None when there is none that is recent enough."""
    if not shutil.which("flatc"):
        return None
    said = subprocess.run(["flatc", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    if not found or tuple(map(int, found.groups())) < OLDEST_FLATC:
        return None
    return found[0]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def run_flatc() -> dict[Path, bytes]:
    """The files that flatc makes from the schema: classes and the reflection schema, by their path below generated/."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for options in (["--python"], ["--binary", "--schema", "--bfbs-comments", "--bfbs-builtins"]):
            done = subprocess.run(
                ["flatc", *options, "-o", str(out), str(SCHEMA)], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise CompileError(f"flatc refuses {SCHEMA.name}: {(done.stdout + done.stderr).strip()}")
        files = {REFLECTION: (out / "batprotocol.bfbs").read_bytes()}
        for path in sorted((out / "batprotocol" / "fb").glob("*.py")):
            files[Path("fb") / path.name] = path.read_bytes()
    files[Path("fb/__init__.py")] = b'"""The classes that flatc makes of the schema: the low-level API."""\n'
    return files


def derive(bfbs: bytes, source: bytes) -> dict[Path, bytes]:
    """The files that we make from the reflection schema."""
    schema = reflection.read(bfbs)
    texts = {
        "__init__.py": '"""Modules made from the schema. Private: use `batprotocol` and `batprotocol.fb`."""\n',
        "description.py": description.write(schema, source.decode(), sha256(source)),
        "codec.py": codec.write(schema),
        "native_schema.h": native.write(schema),
    }
    return {Path("_schema") / name: text.encode() for name, text in texts.items()}


def manifest(files: dict[Path, bytes], source: bytes, flatc: str) -> bytes:
    content = {
        "schema_sha256": sha256(source),
        "flatc": flatc,
        "files": {path.as_posix(): sha256(files[path]) for path in sorted(files)},
    }
    return (json.dumps(content, indent=1) + "\n").encode()


def compile_schema(flatc: str) -> dict[Path, bytes]:
    """All of generated/, made anew."""
    source = SCHEMA.read_bytes()
    files = run_flatc()
    files |= derive(files[REFLECTION], source)
    return files | {MANIFEST: manifest(files, source, flatc)}


def kept() -> dict[Path, bytes]:
    """All of generated/ as it lies there."""
    paths = (path for path in GENERATED.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(GENERATED): path.read_bytes() for path in paths if path.suffix not in (".so", ".pyd")}


def check_kept() -> list[str]:
    """Find faults in generated/ that can be seen without flatc: none, if it belongs to this schema."""
    files, source = kept(), SCHEMA.read_bytes()
    if MANIFEST not in files or REFLECTION not in files:
        return ["generated/ is not there or not whole"]
    said = json.loads(files[MANIFEST])
    if said["schema_sha256"] != sha256(source):
        return ["generated/ was made from another schema than schema/batprotocol.fbs"]
    faults = [
        f"generated/{name} is not as it was made"
        for name, digest in said["files"].items()
        if sha256(files.pop(Path(name), b"")) != digest
    ]
    files.pop(MANIFEST)
    faults += [f"generated/{path.as_posix()} is not made by the compiler" for path in files]
    again = derive((GENERATED / REFLECTION).read_bytes(), source)
    return faults + [
        f"generated/{path.as_posix()} is not what this compiler makes of the schema"
        for path, data in again.items()
        if said["files"].get(path.as_posix()) != sha256(data)
    ]


def check() -> list[str]:
    """Find differences in generated/. If the flatc that made it is available, everything is made again and compared."""
    faults, flatc = check_kept(), flatc_version()
    if not faults and flatc and flatc == json.loads((GENERATED / MANIFEST).read_bytes())["flatc"]:
        made = compile_schema(flatc)
        lies = kept()
        faults += [f"generated/{path} is not what flatc {flatc} makes" for path in made if made[path] != lies[path]]
    return faults


def write(files: dict[Path, bytes]) -> int:
    """Make generated/ hold these files and no others; return how many changed."""
    old = kept()
    for path in set(old) - set(files):
        (GENERATED / path).unlink()
    changed = [path for path, data in files.items() if old.get(path) != data]
    for path in changed:
        (GENERATED / path).parent.mkdir(parents=True, exist_ok=True)
        (GENERATED / path).write_bytes(files[path])
    return len(changed) + len(set(old) - set(files))


def ensure() -> str:
    """Make sure that generated/ belongs to the schema; the build of the package calls this. Says what was done."""
    flatc = flatc_version()
    if flatc:
        return f"compiled with flatc {flatc}: {write(compile_schema(flatc))} files changed"
    faults = check_kept()
    if faults:
        raise CompileError(
            f"{faults[0]}, and there is no flatc >= {'.'.join(map(str, OLDEST_FLATC))} to compile the schema: "
            "install it (Debian and Ubuntu: apt-get install flatbuffers-compiler) and build again"
        )
    return "no flatc here: generated/ is kept, it belongs to this schema"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when generated/ has drifted")
    arguments = parser.parse_args()
    try:
        if not arguments.check:
            print(ensure())
            return 0
        faults = check()
    except CompileError as error:
        faults = [str(error)]
    for fault in faults:
        print(f"compile_schema: {fault}", file=sys.stderr)
    if arguments.check and not faults:
        print("generated/ belongs to the schema")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
