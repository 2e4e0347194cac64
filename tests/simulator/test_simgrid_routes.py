"""Platforms at random, read by SimGrid itself: it takes each of them, and finds the same routes, to the last bit.

Debian's package `python3-simgrid` has it. Its version is older than Batsim's, but reads the same files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a program, too

import extremes

from batprotocol.errors import InputError
from batprotocol.simulator import read_platform

WITHOUT_ENGINE = True

PYTHON = "/usr/bin/python3"
PROGRAM = """
import json, os, sys
import simgrid

def print_routes(folder, platform):
    os.chdir(folder)
    engine = simgrid.Engine(["routes", "--cfg=host/model:ptask_L07", "--log=root.t:critical"])
    engine.load_platform(platform)
    engine.netzone_root.seal()
    for source in engine.all_hosts:
        for target in engine.all_hosts:
            if source.name != target.name:
                print(json.dumps([source.name, target.name]), flush=True)
                links, latency = source.route_to(target)
                print(json.dumps([[link.name for link in links], latency]), flush=True)

for path in sys.argv[1:]:
    child = os.fork()  # SimGrid reads one platform in the life of a process
    if not child:
        print_routes(*os.path.split(path))
        os._exit(0)
    print(json.dumps({"status": os.waitpid(child, 0)[1]}), flush=True)
"""


@cache
def has_simgrid() -> bool:
    try:
        done = subprocess.run([PYTHON, "-c", "import simgrid"], check=False, capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_simgrid_reads_them_and_has_the_same_routes(part: int, tmp_path: Path) -> None:
    if not has_simgrid():
        pytest.skip("python3-simgrid is not installed")
    compared = 0
    written = {seed: extremes.write(seed, tmp_path / str(seed)) for seed in range(part, 60, 5)}
    command = [PYTHON, "-c", PROGRAM, *(str(given.platform) for given in written.values())]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    printed = iter(
        [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("[[", '["', '{"status"'))]
    )
    for seed, given in written.items():
        platform = read_platform(given.platform, roles=given.roles, energy=given.energy)
        lines: list[Any] = []
        while not isinstance(line := next(printed), dict):
            lines.append(line)
        assert lines, done.stderr
        for ends, found in zip(lines[::2], lines[1::2], strict=False):
            first, last = (platform.host(name) for name in ends)
            assert first is not None
            assert last is not None
            route = platform.route(first, last)
            assert [[link.name for link in route.links], route.latency] == found, (seed, ends)
            compared += 1
        if line["status"]:  # on a way into a group of a dragonfly that has none
            source, target = (platform.host(name) for name in lines[-1])
            assert source is not None
            assert target is not None
            with pytest.raises(InputError, match="no way from group"):
                platform.route(source, target)
    assert compared > 100


UNITLESS = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
  <host id="a" speed="100"/><host id="b" speed="100f, 50,0.5 "/><host id="c" speed="1e3Mf"/>
  <link id="l" bandwidth="125" latency="0"/><link id="m" bandwidth="125Bps" latency="1"/>
  <link id="n" bandwidth="1kBps" latency="0.0"/>
  <route src="a" dst="b"><link_ctn id="l"/></route>
</zone></platform>
"""


def test_numbers_without_units_are_told_as_simgrid_does(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One warning for a file, with the first of them and the number of others; SimGrid has a line for each."""
    path = tmp_path / "units.xml"
    path.write_text(UNITLESS)
    read_platform(path, master="a")
    (record,) = caplog.records
    told = (
        "line 4: host a.speed: '100' has no unit, and counts as 100f (and 4 more); SimGrid warns of it: write the unit"
    )
    assert record.getMessage() == f"{path}: {told}"
    if has_simgrid():
        program = "import simgrid, sys; simgrid.Engine(['units']).load_platform(sys.argv[1])"
        done = subprocess.run([PYTHON, "-c", program, path], check=True, capture_output=True, text=True)
        assert done.stderr.count("Deprecated unit-less value") == 5
    caplog.clear()
    for wrong, right in (
        ('"100"', '"100f"'),
        ("50,0.5 ", "50f,0.5f"),
        ('"125"', '"125Bps"'),
        ('latency="1"', 'latency="1s"'),
    ):
        path.write_text(path.read_text().replace(wrong, right))
    read_platform(path, master="a")
    assert not caplog.records
