"""Tests of servers that are not there are skipped with a word of what to install, unless all are wanted."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import servers
from support import ROOT

WITHOUT_ENGINE = True
TESTS = str(ROOT / "tests")

NEEDY = """
import sys
from servers import find

def test_redis():
    assert find("redis-server")

def test_flatc():
    assert find("flatc")

def test_both():
    assert find("mosquitto_pub")

def test_nothing():
    pass

def test_an_extra():
    sys.modules["matplotlib"] = None
    try:
        import matplotlib
    except ImportError as error:
        raise RuntimeError("no plots") from error

def test_a_mistake():
    import batprotocol.matplotlib
"""
WITHOUT = """
import sys
sys.modules["paho"] = None
import paho.mqtt

def test_never():
    pass
"""


def outcome(folder: Path, *options: str, path: str) -> tuple[str, str]:
    """What pytest says last of tests that need much: the sentence above the counts, and the counts."""
    (folder / "test_needy.py").write_text(NEEDY)
    (folder / "test_without.py").write_text(WITHOUT)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "servers", "-p", "no:cacheprovider", *options, str(folder)]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {**os.environ, servers.VARIABLE: "found", "PATH": path, "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    *_, sentence, counts = done.stdout.splitlines()
    return sentence, counts


@pytest.mark.slow
@pytest.mark.parametrize("where", ["here", "nowhere"])
def test_what_is_missing_is_skipped_and_told(tmp_path: Path, where: str) -> None:
    path = {"here": os.environ["PATH"], "nowhere": str(tmp_path)}[where]
    sentence, counts = outcome(tmp_path, *(["--servers=none"] if where == "here" else []), path=path)
    names = ["matplotlib", "mosquitto_pub", "paho", "redis-server"]
    if where == "nowhere" or servers.lacking("flatc"):
        names.insert(0, "flatc")
    assert sentence.startswith(f"{len(names)} tests were skipped for want of {', '.join(names)}. To run all: apt-get ")
    assert sentence.endswith(" mosquitto-clients redis-server; pip install -e '.[test]'")
    assert counts.startswith(f"1 failed, {6 - len(names)} passed, {len(names)} skipped"), counts


@pytest.mark.slow
def test_all_are_wanted(tmp_path: Path) -> None:
    _, counts = outcome(tmp_path, "--servers=all", "--continue-on-collection-errors", path=str(tmp_path))
    assert counts.startswith("5 failed, 1 passed, 1 error"), counts


def test_programs_are_found_where_debian_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(servers, "_wanted", "found")
    for version in ("9", "15", "13"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "postgres").touch()
    program = servers.PROGRAMS["postgres"]._replace(folders=(f"{tmp_path}/*/bin",))
    monkeypatch.setitem(servers.PROGRAMS, "postgres", program)
    assert servers.folder_of("postgres") == tmp_path / "15" / "bin"
    assert servers.lacking("redis-server")
    with pytest.raises(pytest.skip.Exception, match="apt-get install redis-server"):
        servers.find("redis-server")


def test_all_servers_are_found_in_one_place() -> None:
    """A test that starts a program without `find` would fail where that is not there."""
    names = "|".join(name for name, program in servers.PROGRAMS.items() if program.is_server)
    started = re.compile(rf"""(which\(|Popen\(|run\(|[\[(])\s*["']({names})["'],""")
    own = {"servers.py", "test_servers.py"}
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("*.py") if path.name not in own}
    assert [path.name for path, text in texts.items() if started.search(text)] == []
    assert started.search('subprocess.run(["redis-server", "--port"])')


@pytest.mark.slow
def test_each_port_is_given_to_one_process() -> None:
    """Also when several ask at once: servers start long after they have asked."""
    program = "from servers import free_ports; print(*(free_ports(3) for _ in range(40)))"
    with socket.create_server(("127.0.0.1", servers.free_port())) as taken:
        asking = [
            subprocess.Popen(
                [sys.executable, "-c", program],
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": TESTS},
            )
            for _ in range(4)
        ]
        given = [int(port) for each in asking for port in re.findall(r"\d+", each.communicate()[0])]
        assert len(set(given)) == len(given) == 4 * 40 * 3
        assert taken.getsockname()[1] not in given


def test_ports_are_not_those_that_the_system_chooses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        assert servers.free_port() < chosen.getsockname()[1]


def test_no_server_listens_at_a_port_that_the_system_has_freed() -> None:
    """Another process may have it by then."""
    freed = re.compile(r"\bport(: int)? = \w+\.getsockname\(\)|return (int\()?\w+\.getsockname\(\)")
    paths = [path for folder in ("tests", "tools") for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    assert [path.name for path in paths if freed.search(path.read_text())] == []
    assert freed.search("port = probe.getsockname()[1]")
