"""Build and check a release: an sdist and a wheel, in `dist/`.

    python tools/release.py              # build and check them
    python tools/release.py --suite      # also run the tests of the sdist with the wheel, in a new environment
    python tools/release.py --twice      # also build them again elsewhere: all but what compilers write must be equal
    python tools/release.py --tag v1.2.3 # build nothing: is this the tag of the version?

Both must pass `twine check` and `check-wheel-contents`, and have the version of `pyproject.toml`, for which
`CHANGELOG.md` has a dated section. `auditwheel` prints the systems that can use the wheel. The wheel must have the
library alone: no handbook, tests or tools. `.github/requirements/release.txt` has the packages for it. It uploads
nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from repeatable import COMPILED, VARIABLE, differences

ROOT = Path(__file__).resolve().parent.parent
BELONGS = ("batprotocol/", "batprotocol__mypyc.", "intervaltree-stubs/", "procset-stubs/", "sortedcontainers-stubs/")
"""The beginnings of the names in the wheel, beside its own `.dist-info`."""


ALLOWED = "W009"
"""Findings of check-wheel-contents that are right: the wheel also has a module of mypyc's own, and `*-stubs`."""


def run(*command: str | Path, cwd: Path = ROOT, variables: Mapping[str, str] | None = None) -> None:
    """Run a command, or end with its exit status."""
    print(f"== {' '.join(map(str, command))}", flush=True)
    status = subprocess.run(command, cwd=cwd, env={**os.environ, **(variables or {})}, check=False).returncode
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


def commit_time() -> str:
    """The time of the commit, in seconds since 1970: of all that is built from it."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def build(tree: Path, dist: Path, variables: Mapping[str, str]) -> tuple[Path, Path]:
    """Build the sdist, and of it the wheel."""
    run(sys.executable, "-m", "build", "-o", dist, tree, variables=variables)
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    return sdist, wheel


def again(sdist: Path, wheel: Path, variables: Mapping[str, str]) -> list[str]:
    """The differences if both are built again, in another folder and by a user with another umask.

    A compiler may write different files when it is started in another folder: those are only listed.
    """
    with tempfile.TemporaryDirectory(prefix="release-again-") as place:
        tree = Path(place, "some", "where")
        run("git", "clone", "-q", ROOT, tree)
        before = os.umask(0o027)
        try:
            other_sdist, other_wheel = build(tree, Path(place, "dist"), variables)
        finally:
            os.umask(before)
        found = [f"{sdist.name}: {name}" for name in differences(sdist, other_sdist)]
        by_member = differences(wheel, other_wheel)
        by_compilers = [name for name in by_member if name.endswith((*COMPILED, ".dist-info/RECORD"))]
        if by_compilers and by_compilers == by_member:
            print(f"the same, but for what compilers have written: {', '.join(by_compilers)}")
            by_member = []
        elif not by_member:
            print("the same, byte for byte")
        return [*found, *(f"{wheel.name}: {name}" for name in by_member)]


def inspect(sdist: Path, wheel: Path) -> None:
    """Run the tools that look at both, or end with the status of the first that finds a fault."""
    programs = Path(sys.executable).parent
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    run(programs / "check-wheel-contents", "--ignore", ALLOWED, wheel)
    if sys.platform == "linux" and not wheel.name.endswith("-any.whl"):
        run(programs / "auditwheel", "show", wheel)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and check; return 1 if something is wrong, after printing it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suite", action="store_true", help="also run the tests, which takes some minutes")
    parser.add_argument("--twice", action="store_true", help="also build them again, and compare")
    parser.add_argument("--tag", help="only compare this tag with the version")
    options = parser.parse_args(arguments)
    dist, released = ROOT / "dist", version()
    if options.tag is not None:
        if options.tag == f"v{released}":
            return 0
        sys.exit(f"expected the tag v{released}, got {options.tag}: change the version in pyproject.toml, or the tag")
    variables = {VARIABLE: os.environ.get(VARIABLE) or commit_time()}
    shutil.rmtree(dist, ignore_errors=True)
    sdist, wheel = build(ROOT, dist, variables)
    inspect(sdist, wheel)
    if sdist.name != f"batprotocol-{released}.tar.gz":
        sys.exit(f"{sdist.name} is not of version {released}")
    if foreign := strangers(wheel):
        sys.exit(f"the wheel has files that do not belong to the library: {', '.join(foreign[:5])}")
    for each in (sdist, wheel):
        print(f"{each}: {each.stat().st_size / 1e6:.1f} MB")
    if options.twice and (different := again(sdist, wheel, variables)):
        print("built again, these differ:", *different[:20], sep="\n    ")
        return 1
    if options.suite:
        with tempfile.TemporaryDirectory(prefix="release-") as place:
            suite(sdist, wheel, Path(place))
    return 0


if __name__ == "__main__":
    sys.exit(main())
