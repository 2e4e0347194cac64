"""Runs tests with the lowest versions of all packages that pyproject.toml allows, or with the newest ones.

    python tools/versions.py lowest                    # a new environment, its versions, and the quick tests
    python tools/versions.py newest --python 3.13      # the same with the newest versions, on another Python
    python tools/versions.py lowest -- -x tests/wire   # with these words for pytest
    python tools/versions.py both --page               # both; if they pass, docs/reference/versions.md says so
    python tools/versions.py installed                 # only print what this Python has

Only packages that the project names have their lowest versions: those that these need have versions that fit
(`--resolution lowest-direct` of uv). It needs uv, which `pip install uv` brings, and a network.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Final, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "reference" / "versions.md"
BEGIN, END = "<!-- begin of the table of tools/versions.py -->", "<!-- end of the table -->"
QUICK: Final = ("-q", "-n", "auto", "-m", "not slow", "--hypothesis-profile=quick", "--engines=usual", "--servers=none")
RESOLUTIONS: Final = {"lowest": "lowest-direct", "newest": "highest"}
EXTRA: Final = "test"
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9_.-]+)(?:\[([^\]]+)\])?\s*(?:>=\s*([0-9.]+))?")
_INSTALLED: Final = """
import json, platform
from importlib.metadata import distributions
found = {each.name.lower().replace("_", "-"): each.version for each in distributions()}
print(json.dumps([platform.python_version(), found]))
"""


class Required(NamedTuple):
    """A package that the project names.

    Attributes:
        name: its name.
        lowest: the lowest version that is allowed; "": any.
        extras: the extras that install it; `-` for those that are always needed.
    """

    name: str
    lowest: str
    extras: tuple[str, ...]


class Found(NamedTuple):
    """What a run of tests had, and how it ended."""

    python: str
    packages: dict[str, str]
    passed: bool
    summary: str


def required() -> list[Required]:
    """The packages of all extras, by their names. An extra inside of another one is not repeated."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, tuple[str, list[str]]] = {}
    for extra, texts in {"-": project["dependencies"], **project["optional-dependencies"]}.items():
        for text in texts:
            match = _REQUIREMENT.match(text)
            assert match is not None, text
            if match[1] != project["name"]:
                found.setdefault(match[1].lower(), (match[3] or "", []))[1].append(extra)
    return [Required(name, lowest, tuple(extras)) for name, (lowest, extras) in sorted(found.items())]


def uv(*words: str | Path) -> None:
    """Run uv.

    Raises:
        SystemExit: there is none, or it fails.
    """
    program = shutil.which("uv")
    command: list[str | Path] = [program] if program else [sys.executable, "-m", "uv"]
    done = subprocess.run([*command, *words], cwd=ROOT)
    if done.returncode:
        sys.exit(f"uv {' '.join(map(str, words))} ended with status {done.returncode}; without uv: pip install uv")


def environment(folder: Path, which: str, python: str) -> Path:
    """Make an environment with these versions and the project. It is the path of its Python."""
    interpreter = folder / "bin" / "python"
    wanted = folder / "requirements.txt"
    uv("venv", "-q", "--python", python, folder)
    words: list[str | Path] = [
        "--resolution",
        RESOLUTIONS[which],
        "--extra",
        EXTRA,
        "--python",
        interpreter,
        "--no-annotate",
    ]
    uv("pip", "compile", "-q", *words, "pyproject.toml", "-o", wanted)
    uv("pip", "install", "-q", "--python", interpreter, "-r", wanted)
    os.environ["BATPROTOCOL_COMPILED"] = "0"
    uv("pip", "install", "-q", "--python", interpreter, "--no-deps", "-e", ".")
    return interpreter


def installed(interpreter: str | Path) -> tuple[str, dict[str, str]]:
    """The version of a Python, and those of its packages by their names."""
    told = subprocess.run([interpreter, "-c", _INSTALLED], capture_output=True, text=True, check=True).stdout
    version, packages = json.loads(told)
    return version, packages


def show(title: str, packages: Mapping[str, str]) -> None:
    """Print the versions of the packages that the project names."""
    named = [f"{each.name} {packages[each.name]}" for each in required() if each.name in packages]
    print(f"{title}:\n  {', '.join(named)}", flush=True)


def tried(which: str, python: str, words: Sequence[str]) -> Found:
    """Run tests with the lowest or newest versions, and print these."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"batprotocol-{which}-") as name:
        interpreter = environment(Path(name) / "venv", which, python)
        version, packages = installed(interpreter)
        show(f"{which} versions, on Python {version}, after {time.monotonic() - began:.0f} s", packages)
        command = [str(interpreter), "-m", "pytest", *(words or QUICK)]
        path = os.pathsep.join([str(interpreter.parent), os.environ.get("PATH", "")])
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        last = ""
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
        return Found(version, packages, process.wait() == 0, last.strip("= "))


def table(found: dict[str, Found]) -> Iterator[str]:
    """The lines of the table: each package with the versions that were tried."""
    yield f"| package | extras | allowed | {' | '.join(f'{which} that was tried' for which in found)} |"
    yield f"|---|---|---|{'---|' * len(found)}"
    for each in required():
        tested = [run.packages.get(each.name, "-") for run in found.values()]
        if any(version != "-" for version in tested):
            extras = ", ".join(f"`{extra}`" if extra != "-" else "always" for extra in each.extras)
            allowed = f"{each.lowest} or later" if each.lowest else "any"
            yield f"| {each.name} | {extras} | {allowed} | {' | '.join(tested)} |"


def write_page(found: dict[str, Found], words: Sequence[str]) -> None:
    """Put the table into its page, with the words for pytest."""
    text = PAGE.read_text(encoding="utf-8")
    day = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    runs = [f"the {which} on Python {run.python}: {run.summary}" for which, run in found.items()]
    lines = [BEGIN, f"Of {day}, with `pytest {' '.join(words)}`:", "", *(f"- {run}" for run in runs), ""]
    lines += [*table(found), END]
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(before + "\n".join(lines) + after, encoding="utf-8")


def main() -> int:
    """Read the arguments, and run the tests."""
    words = sys.argv[1:]
    place = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=[*RESOLUTIONS, "both", "installed"], help="the versions")
    parser.add_argument("--python", default=sys.executable, help="the Python; default: this one")
    parser.add_argument("--page", action="store_true", help="write the table of both into the handbook, if they pass")
    options = parser.parse_args(words[:place])
    if options.page and options.which != "both":
        parser.error("--page has a column for the lowest and one for the newest versions: it needs both")
    if options.which == "installed":
        version, packages = installed(options.python)
        show(f"installed versions, on Python {version}", packages)
        return 0
    chosen = list(RESOLUTIONS) if options.which == "both" else [options.which]
    found = {which: tried(which, options.python, words[place + 1 :]) for which in chosen}
    for which, run in found.items():
        print(f"{which} on Python {run.python}: {'passed' if run.passed else 'FAILED'}: {run.summary}")
    passed = all(run.passed for run in found.values())
    if options.page and passed:
        write_page(found, words[place + 1 :] or QUICK)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
