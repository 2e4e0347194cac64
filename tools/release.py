"""Build and check a release: an sdist and a wheel, in `dist/`.

    python tools/release.py              # build and check them
    python tools/release.py --suite      # also run the tests of the sdist with the wheel, in a new environment

Both must pass `twine check`, and have the version of `pyproject.toml`, for which `CHANGELOG.md` has a dated section.
The wheel must have the library alone: no handbook, tests or tools. The extra `dev` has the packages for it. It uploads
nothing.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BELONGS = ("batprotocol/", "batprotocol__mypyc.", "intervaltree-stubs/", "procset-stubs/", "sortedcontainers-stubs/")
"""The beginnings of the names in the wheel, beside its own `.dist-info`."""


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command, or end with its exit status."""
    print(f"== {' '.join(map(str, command))}", flush=True)
    status = subprocess.run(command, cwd=cwd, check=False).returncode
    if status:
        sys.exit(status)


def version() -> str:
    """The version to release, for which the changelog has a section."""
    found = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found, "pyproject.toml has no version"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(found[1])}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        sys.exit(f"CHANGELOG.md has no section '## [{found[1]}] - DATE'")
    return found[1]


def strangers(wheel: Path) -> list[str]:
    """The files of a wheel that do not belong to the library."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    return [name for name in names if not name.startswith(BELONGS) and ".dist-info/" not in name]


def suite(sdist: Path, wheel: Path, place: Path) -> None:
    """Run the tests of the sdist with the wheel installed, and nothing else of this clone.

    Programs that tests start find the sources first, and beside them the modules in C of the wheel, as after `pip
    install .`.
    """
    with tarfile.open(sdist) as archive:
        archive.extractall(place)
    unpacked = place / sdist.name.removesuffix(".tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            module = (unpacked / name).with_name(Path(name).name.partition(".")[0] + ".py")
            if ".so" in Path(name).suffixes and "/" in name and not module.exists():
                archive.extract(name, unpacked)
    venv.create(place / "venv", with_pip=True)
    programs = place / "venv" / "bin"
    run(programs / "python", "-m", "pip", "install", "-q", f"{wheel}[test]")
    run(programs / "pytest", "-q", "-n", "auto", cwd=unpacked)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and check; return 1 if something is wrong, after printing it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suite", action="store_true", help="also run the tests, which takes some minutes")
    options = parser.parse_args(arguments)
    dist, released = ROOT / "dist", version()
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "-o", dist)
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    if sdist.name != f"batprotocol-{released}.tar.gz":
        sys.exit(f"{sdist.name} is not of version {released}")
    if foreign := strangers(wheel):
        sys.exit(f"the wheel has files that do not belong to the library: {', '.join(foreign[:5])}")
    for each in (sdist, wheel):
        print(f"{each}: {each.stat().st_size / 1e6:.1f} MB")
    if options.suite:
        with tempfile.TemporaryDirectory(prefix="release-") as place:
            suite(sdist, wheel, Path(place))
    return 0


if __name__ == "__main__":
    sys.exit(main())
