"""Wheels of what is installed here, made without a network."""

from __future__ import annotations

import re
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import batprotocol

__all__ = ["wheels_of"]


def wheels_of(name: str, extras: tuple[str, ...], folder: Path) -> None:
    """Write wheels of a distribution and of all that it needs."""
    waiting, done = [(name, extras)], set[tuple[str, tuple[str, ...]]]()
    while waiting:
        each, wanted = waiting.pop()
        found = distribution(each)
        key = re.sub(r"[-_.]+", "_", found.metadata["Name"]).lower()
        if (key, wanted) in done:
            continue
        done.add((key, wanted))
        _write(found, key, folder)
        waiting += _needed(found, wanted)


def _needed(found: Distribution, extras: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    from packaging.requirements import Requirement

    needed = []
    for line in found.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            needed.append((requirement.name, tuple(sorted(requirement.extras))))
    return needed


def _write(found: Distribution, key: str, folder: Path) -> None:
    tags = re.findall(r"(?m)^Tag: (.*)$", found.read_text("WHEEL") or "")
    path = folder / f"{key}-{found.version}-{_joined(tags)}.whl"
    record = f"{key}-{found.version}.dist-info/RECORD"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in found.files or ():
            parts = file.parts
            if ".." in parts or parts[-1] == "RECORD" or "__pycache__" in parts or file.suffix == ".pth":
                continue
            place = re.sub(r"^[^/]+\.dist-info/", f"{key}-{found.version}.dist-info/", file.as_posix())
            wheel.write(str(file.locate()), place)
        if key == "batprotocol":  # its installation names the folder of the sources
            for root in map(Path, batprotocol.__path__):
                for source in sorted(root.rglob("*")):
                    if source.is_file() and "__pycache__" not in source.parts:
                        wheel.write(source, f"batprotocol/{source.relative_to(root).as_posix()}")
        names = wheel.namelist()
        wheel.writestr(record, "".join(f"{name},,\n" for name in [*names, record]))


def _joined(tags: list[str]) -> str:
    parts = [tag.split("-") for tag in tags]
    return "-".join(".".join(dict.fromkeys(part)) for part in zip(*parts, strict=True))
