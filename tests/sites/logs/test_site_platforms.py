"""Descriptions of nodes by resource managers become hosts, and hosts become lines that `described_platform` reads."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import SHARED

from batprotocol.errors import InputError
from batprotocol.simulator import Platform, described_platform, platform_xml, read_platform
from batprotocol.sites.logs import Attempt, LoggedJob
from batprotocol.sites.logs.platforms import SiteHost, platform_lines, read_hosts, smallest_hosts
from batprotocol.sites.logs.surveys import survey_of
from batprotocol.workloads.platform import natural_order
from batprotocol.workloads.requests import expanded_names, folded_names
from batprotocol.workloads.requests.notation import parse_gres

WITHOUT_ENGINE = True

SCONTROL = """\
NodeName=n0 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=2.43 AvailableFeatures=cpu \
ActiveFeatures=cpu Gres=(null) OS=Linux 6 #1 SMP @0 RealMemory=8000 Sockets=4 State=IDLE Weight=1 Partitions=low,all
NodeName=g1 Arch=x86_64 CoresPerSocket=8
   CPUAlloc=0 CPUTot=16 CPULoad=N/A
   AvailableFeatures=(null)
   Gres=gpu:a100:4(S:0-1),fpga:no_consume:1
   RealMemory=16000 MemSpecLimit=1000 Weight=10
   Partitions=gpu
"""
CONF = """\
# a comment
NodeName=DEFAULT CPUs=4 RealMemory=8000 \\
   Feature=cpu
NodeName=n0 # here too
nodename=g1 Sockets=2 CoresPerSocket=8 CPUs=16 RealMemory=15000 Gres=gpu:a100:4,fpga:1 Feature="" Weight=10
NodeSet=slow Feature=cpu
PartitionName=DEFAULT State=UP
PartitionName=low Nodes=slow
PartitionName=all Nodes=n0
PartitionName=gpu Nodes=g[1]
"""
JSON = {
    "nodes": [
        {
            "name": "n0",
            "cpus": 4,
            "real_memory": 8000,
            "gres": "",
            "active_features": ["cpu"],
            "partitions": ["low", "all"],
        },
        {
            "name": "g1",
            "cpus": 16,
            "real_memory": {"set": True, "number": 16000},
            "specialized_memory": 1000,
            "gres": "gpu:a100:4(S:0-1),fpga:1",
            "features": "",
            "partitions": ["gpu"],
            "weight": 10,
        },
    ]
}
EXPECTED = [
    SiteHost(
        name="g1", cores=16, memory=15000 << 20, gres=(("fpga", 1), ("gpu:a100", 4)), partitions=("gpu",), weight=10
    ),
    SiteHost(name="n0", cores=4, memory=8000 << 20, features=("cpu",), partitions=("low", "all")),
]


@pytest.mark.parametrize("text", [SCONTROL, CONF, json.dumps(JSON)], ids=["scontrol", "slurm.conf", "json"])
def test_slurm_describes_the_same_nodes_in_three_ways(tmp_path: Path, text: str) -> None:
    path = tmp_path / "nodes"
    path.write_text(text.replace('""', "") if text is CONF else text)
    assert read_hosts(path) == EXPECTED


def test_pbs(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    offer = {"ncpus": 64, "mem": "131900072kb", "ngpus": 2, "host": "a"}
    path.write_text(
        json.dumps({"nodes": {"a": {"resources_available": offer, "queue": "q"}, "b": {"resources_available": {}}}})
    )
    assert read_hosts(path) == [
        SiteHost(name="a", cores=64, memory=131900072 << 10, gres=(("gpu", 2),), partitions=("q",)),
        SiteHost(name="b"),
    ]


def test_resources_that_are_counted_in_bytes_stay_whole(tmp_path: Path) -> None:
    """Slurm counts `nvme:1T` as 2^40."""
    path = tmp_path / "slurm.conf"
    path.write_text("GresTypes=nvme,bandwidth\nNodeName=n0 Gres=nvme:1T,bandwidth:lustre:no_consume:4G\n")
    lines = platform_lines(read_hosts(path))
    assert lines == ["n0 cores=1 gres=bandwidth:lustre:4294967296,nvme:1099511627776"]
    [host] = described_platform(lines[0]).hosts
    assert [str(each) for each in parse_gres(dict(host.properties)["gres"])] == lines[0].rpartition("=")[2].split(",")


@pytest.mark.parametrize("kind", ["gpu:1g.5gb", "gpu:a100_3g.20gb", "gpu:3080"])
def test_a_type_that_begins_with_a_digit(tmp_path: Path, kind: str) -> None:
    """A part of a GPU has such a type. A number alone is a count."""
    path = tmp_path / "slurm.conf"
    path.write_text(f"GresTypes=gpu\nNodeName=n0 Gres={kind}:2\n")
    if kind == "gpu:3080":
        with pytest.raises(InputError, match="NAME:TYPE:COUNT"):
            read_hosts(path)
        return
    [line] = platform_lines(read_hosts(path))
    [host] = described_platform(line).hosts
    assert [(str(each), each.type) for each in parse_gres(dict(host.properties)["gres"])] == [(f"{kind}:2", kind[4:])]
    assert parse_gres({kind: 2}) == parse_gres(f"{kind}:2")


def test_a_real_cluster() -> None:
    path = SHARED / "slurm" / "sacct" / "scontrol_show_nodes.txt"
    if path.exists():
        assert platform_lines(read_hosts(path)) == [
            "n[0-5] cores=4 memory=8000M features=cpu partitions=low,all",
            "n[6-7] cores=4 memory=8000M features=cpu,new partitions=low,all",
            "n8 cores=4 memory=16000M gres=gpu:4 features=gpu partitions=low,all weight=10",
        ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "expected the output of scontrol show node, slurm.conf, or the output of pbsnodes -F json"),
        ("ClusterName=x\nInclude nodes.conf\n", ":2: the included file "),
        ("NodeName=n[0-1 CPUs=4", ":1: "),
        ("NodeName=n0\nPartitionName=p Nodes=n[0", ":2: Nodes: "),
        (
            "NodeName=n[0-99999]\n" + "".join(f"PartitionName=p{each} Nodes=ALL\n" for each in range(11)),
            ":10: Nodes: the lines of the file stand for more",
        ),
        ("\nNodeName=n0 CPUs=x", ":2: CPUs: expected a whole number"),
        ("NodeName=n0 CPUTot=8 Gres=1!", "node n0: gres: expected NAME"),
        ('{"nodes": [1]}', "nodes[0]: expected a node with a name"),
        ('{"nodes": [{"name": "a b"}]}', "expected the name of a host"),
        ('{"nodes": {"a": {"resources_available": {"mem": "x"}}}}', "nodes.a.resources_available.mem: expected memory"),
        ("NodeName=n0 CPUTot=8 Partitions=a b,c", "node n0: partitions: expected a name that has no spaces"),
        ("NodeName=n0 RealMemory=9999999999999", ":1: RealMemory: expected a whole number from 1 to 8,589,934,592"),
        ("NodeName=n0\nPartitionName=p;q Nodes=ALL", ":2: PartitionName: expected a name that has no spaces"),
        ('{"nodes": []}', "there are no nodes in it"),
        ("{", "the JSON cannot be read"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_place(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "nodes"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_hosts(path)
    assert error in str(caught.value)
    assert str(path) in str(caught.value)


@settings(max_examples=40)
@given(
    st.binary(max_size=200)
    | st.text(alphabet='NodeName=[-]0, \n{}":', max_size=60).map(lambda text: b"NodeName=" + text.encode())
)
def test_any_bytes_are_hosts_or_an_error(tmp_path_factory: Any, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "nodes"
    path.write_bytes(data)
    with suppress(InputError):
        assert described_platform(platform_lines(read_hosts(path)))


names = st.builds(
    "{}{}{}".format,
    st.sampled_from(["n", "rack1-", ""]),
    st.integers(0, 120) | st.sampled_from(["007", "08", "09", "010"]),
    st.sampled_from(["", "x"]),
)


@given(st.lists(names, min_size=1))
def test_folded_names_stand_for_the_same_names(found: list[str]) -> None:
    assert expanded_names(folded_names(found)) == found


hosts = st.builds(
    SiteHost,
    name=names.map(lambda name: f"h{name}"),
    cores=st.integers(1, 3),
    memory=st.sampled_from([0, 2**20, 5000 << 20]),
    gres=st.sampled_from([(), (("gpu:a100", 2),)]),
    features=st.sampled_from([(), ("a", "b")]),
    partitions=st.sampled_from([(), ("p", "q")]),
    weight=st.sampled_from([1, 5]),
)


def seen(platform: Platform) -> list[Any]:
    return [(host.name, host.cores, dict(host.properties)) for host in platform.hosts]


@settings(max_examples=25)
@given(st.lists(hosts, min_size=1, max_size=4, unique_by=lambda host: host.name))
def test_lines_and_xml_describe_the_same_platform(tmp_path_factory: Any, given_hosts: list[SiteHost]) -> None:
    platform = described_platform(platform_lines(given_hosts))
    assert [host.name for host in platform.hosts] == [host.name for host in given_hosts]
    assert [host.cores for host in platform.hosts] == [host.cores for host in given_hosts]
    platform = described_platform(platform_lines(sorted(given_hosts, key=lambda host: natural_order(host.name))))
    path = tmp_path_factory.getbasetemp() / "site.xml"
    path.write_text(platform_xml(platform))
    assert seen(read_platform(path)) == seen(platform)


def ran(id: str, start: float, end: float, hosts: str = "", **values: Any) -> LoggedJob:
    attempt = Attempt(submitted=0.0, started=start, ended=end, hosts=tuple(hosts.split()))
    return LoggedJob(id=id, attempts=(attempt,), **values)


def test_the_smallest_machine_of_a_log() -> None:
    log = [
        ran("1", 0, 9, "n10 n2", cores=4, memory=4 << 30),
        ran("2", 8, 10, "n2", cores=3),
        ran("3", 9, 10, "n2", cores=9),
    ]
    survey = survey_of(log)
    assert platform_lines(smallest_hosts(survey, "shares")) == ["n2 cores=12 memory=2G", "n10 cores=2 memory=2G"]
    log = [ran("1", 0, 9, host_count=2, cores=8), ran("2", 8, 10, host_count=3, cores=12)]
    assert platform_lines(smallest_hosts(survey_of(log), "hosts")) == ["h[0-4] cores=4"]
    assert platform_lines(smallest_hosts(survey_of(log), "cores")) == ["c[0-19] cores=1"]


def test_a_slurm_conf_needs_only_its_nodes_and_partitions(tmp_path: Path) -> None:
    """What decides how Slurm schedules is not part of a machine: it may be misspelt, or of another version."""
    machine = (
        "NodeName=DEFAULT RealMemory=1000\nNodeName=n[0-1] CPUs=4 Weight=3 Gres=gpu:2\nNodeName=big CPUs=12\n"
        "NodeSet=all Nodes=n[0-1],big\nPartitionName=p Nodes=all{}\nPartitionName=q Nodes=n1\n"
    )
    path = tmp_path / "slurm.conf"
    path.write_text(machine.format(""))
    expected = read_hosts(path)
    assert {host.name: host.partitions for host in expected} == {"big": ("p",), "n0": ("p",), "n1": ("p", "q")}
    for line in (
        "SchedulerParameters=bf_windw=7,bf_max_job_test=many",
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Everything",
        "PriorityWeightAge=heavy",
        "Unheard=of",
        "PreemptMode=NOW",
    ):
        path.write_text(f"{line}\n{machine.format(' MaxTime=soon PriorityTier=x State=UPP')}")
        assert read_hosts(path) == expected
    for wrong in ("NodeName=n7 CPUs=some", "PartitionName=r Nodes=n[0-"):
        path.write_text(machine.format("") + wrong)
        with pytest.raises(InputError, match=r"slurm.conf:7: "):
            read_hosts(path)
