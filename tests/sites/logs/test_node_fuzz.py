"""Changed descriptions of nodes: hosts that make a platform, or an InputError with its place; nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fuzzing import changed_bytes, changed_texts, changed_value

from batprotocol.errors import InputError
from batprotocol.simulator import described_platform
from batprotocol.sites.logs.platforms import SiteHost, platform_lines, read_hosts

WITHOUT_ENGINE = True

SCONTROL = "\n".join(
    f"NodeName=n{number} Arch=x86_64 CoresPerSocket=8\n"
    f"   CPUAlloc=0 CPUEfctv=16 CPUTot={16 + number} CPULoad=N/A OS=Linux 6 #1 SMP @0\n"
    "   AvailableFeatures=cpu,ib ActiveFeatures=cpu\n"
    "   Gres=gpu:a100:4(S:0-1),fpga:no_consume:1\n"
    f"   RealMemory={16000 + number} MemSpecLimit=1000 Weight={number} State=IDLE\n"
    "   Partitions=low,all\n"
    for number in range(12)
)
CONF = "ClusterName=c # a comment\nNodeName=DEFAULT CPUs=4 RealMemory=8000 \\\n   Feature=cpu\n" + "\n".join(
    f"NodeName=n[{number}0-{number}9] Sockets=2 CoresPerSocket=8 Gres=gpu:a100:4 Feature=a,b Weight={number}\n"
    f"NodeSet=s{number} Feature=a\nPartitionName=p{number} Nodes=s{number},n[{number}0-{number}3] State=UP"
    for number in range(1, 9)
)
NODES = [
    {
        "name": f"n{number}",
        "cpus": 16,
        "effective_cpus": 14,
        "real_memory": {"set": True, "number": 16000},
        "specialized_memory": 1000,
        "gres": "gpu:a100:4(S:0-1),fpga:1",
        "active_features": ["cpu"],
        "features": "a,b",
        "partitions": ["low", "all"],
        "weight": number,
    }
    for number in range(8)
]
OFFERS = {
    f"n{number}": {
        "state": "free",
        "queue": "q",
        "resources_available": {"ncpus": 64, "mem": "131900072kb", "ngpus": number, "host": "a"},
    }
    for number in range(8)
}
TEXTS = {
    "scontrol": SCONTROL,
    "slurm.conf": CONF,
    "json": json.dumps({"nodes": NODES}, indent=1),
    "pbsnodes": json.dumps({"nodes": OFFERS}, indent=1),
}
JSON_NODES: dict[str, Any] = {"json": NODES, "pbsnodes": OFFERS}
PLACE = re.compile(
    r":[0-9]+: "  # a line
    r"|: nodes[.\[].*: "  # a place in JSON
    r"|: (there are no nodes in it|the JSON cannot be read: |expected the output of scontrol show node, )",
    re.DOTALL,
)


def is_platform(path: Path, data: bytes) -> bool:
    """Whether a description is a platform; otherwise, the error has the file and the place."""
    path.write_bytes(data)
    hosts: list[SiteHost] = []
    reason = ""
    try:
        hosts = read_hosts(path)
    except InputError as error:
        reason = str(error)
    if reason:
        assert reason.startswith(str(path))
        assert PLACE.match(reason, len(str(path))), reason
        return False
    assert hosts
    assert all(host.cores >= 1 and host.memory >= 0 for host in hosts)
    platform = described_platform(platform_lines(hosts))
    assert [host.name for host in platform.computation_hosts] == [host.name for host in hosts]
    return True


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("changes", [100, pytest.param(100_000, marks=pytest.mark.minutes)])
def test_changed_lines_of_nodes(tmp_path: Path, name: str, changes: int) -> None:
    lines, draw = TEXTS[name].splitlines(), Random(name)
    share = len(lines) // 2
    found = [
        is_platform(tmp_path / "nodes", changed.text.encode(errors="replace"))
        for changed in changed_texts(draw, lines, 0, share, changes)
    ]
    assert 0 < sum(found) < len(found)


@pytest.mark.parametrize("name", JSON_NODES)
@pytest.mark.parametrize("changes", [100, pytest.param(100_000, marks=pytest.mark.minutes)])
def test_changed_values_of_nodes(tmp_path: Path, name: str, changes: int) -> None:
    draw = Random(name)
    found = [
        is_platform(tmp_path / "nodes", json.dumps({"nodes": changed_value(draw, JSON_NODES[name])}).encode())
        for _ in range(changes)
    ]
    assert 0 < sum(found) < len(found)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("changes", [20, pytest.param(10_000, marks=pytest.mark.minutes)])
def test_changed_bytes_of_nodes(tmp_path: Path, name: str, changes: int) -> None:
    for data in changed_bytes(Random(name), TEXTS[name].encode(), changes):
        is_platform(tmp_path / "nodes", data)
