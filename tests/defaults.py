"""The default values of what packages offer, which `tests/data/defaults` keeps: a default is part of the interface.

`python tests/defaults.py` writes those of the present version, after a change that is meant to change one.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from support import DATA

PACKAGES = (
    *("fast", "gym", "legacy", "policies", "recordings", "results", "schemas", "sites.logs", "studies", "testing"),
    "workloads",
)
MODULES = (
    "batprotocol.policies.backfilling",
    "batprotocol.policies.orders",
    "batprotocol.studies.recorded",
    "batprotocol.studies.store",
)
"""The modules whose names users take from there, too."""
WHOLE = ("campaigns.managers", "policies.slurm")
"""The packages all of whose modules count, with the names that are theirs, but what runs in a worker of Dask."""
FOLDER = DATA / "defaults"


def packages_of(name: str) -> Iterator[ModuleType]:
    """The package, all packages below it but those of commands, and `MODULES`."""
    found = importlib.import_module(f"batprotocol.{name}")
    yield found
    for each in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
        if (
            (name in WHOLE and not each.name.endswith("._dask_worker"))
            or (each.ispkg and "commands" not in each.name)
            or each.name in MODULES
        ):
            yield importlib.import_module(each.name)


def offered(package: ModuleType) -> Iterator[tuple[str, Any]]:
    """The functions and classes that a package offers, and the methods of these classes."""
    own = [name for name, value in vars(package).items() if getattr(value, "__module__", "") == package.__name__]
    for name in getattr(package, "__all__", own):
        value = getattr(package, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and not issubclass(value, enum.Enum):
            yield name, value
            for inner, method in vars(value).items():
                if not inner.startswith("_") and inspect.isfunction(method) and method.__module__ == value.__module__:
                    yield f"{name}.{inner}", method


def lines_of(package: str) -> list[str]:
    """A line for each that has default values: its name, and the values by argument; or that cannot be changed."""
    lines = []
    for found in packages_of(package):
        for name, value in offered(found):
            try:
                parameters = inspect.signature(value).parameters.values()
            except (TypeError, ValueError):
                continue
            given = [each for each in parameters if each.default is not each.empty]
            texts = [re.sub(r" at 0x[0-9a-f]+", "", f"{each.name}={each.default!r}") for each in given]
            if getattr(getattr(value, "__struct_config__", None), "frozen", False) and package in WHOLE:
                texts.append("frozen")
            if texts:
                lines.append(f"{found.__name__}.{name}: {', '.join(texts)}")
    return sorted(lines)


def check(package: str) -> None:
    """The default values of a package are those that are known."""
    assert lines_of(package) == (FOLDER / f"{package}.txt").read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    for each in PACKAGES + WHOLE:
        (FOLDER / f"{each}.txt").write_text("".join(f"{line}\n" for line in lines_of(each)), encoding="utf-8")
