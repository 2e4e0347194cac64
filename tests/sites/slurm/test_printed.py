"""Random files slurm.conf, and what a real Slurm 22.05.8 printed of them: each value is the one that is read here."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from servers import find
from slurm_confs import Printed, printed_by_slurm, random_conf
from support import DATA

from batprotocol.errors import InputError
from batprotocol.sites.slurm.configuration import NodeLine, PartitionLine, SlurmConfiguration, configuration_of
from batprotocol.sites.slurm.parameters import CLUSTER, NUMBERS, ParameterStanding

WITHOUT_ENGINE = True

KEPT: list[tuple[str, Printed]] = [
    (conf, Printed(*printed))
    for conf, *printed in json.loads(lzma.decompress((DATA / "slurm_conf" / "printed.json.xz").read_bytes()))
]
COMPUTED = ("TotalCPUs", "TotalNodes", "TRES", "SelectTypeParameters", "JobDefaults")
"""What scontrol prints of partitions that no line of slurm.conf says."""


def differences(conf: str, printed: Printed) -> Iterator[str]:
    """The values that are not those that Slurm printed."""
    found = configuration_of(conf)
    yield from of_cluster(conf, found, printed.config)
    yield from of_partitions(found, printed.partitions)
    yield from of_nodes(found, printed.nodes)


def of_cluster(conf: str, found: SlurmConfiguration, text: str) -> Iterator[str]:
    seen = 0
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition("="))
        row = CLUSTER.get(name.lower())
        if row is None or not (row.field or row.read is not str) or value.lower() in ("", "(null)", "none"):
            continue
        if row.standing is ParameterStanding.IDLE and not row.field:  # it sets nothing
            continue
        if name == "ClusterName" and "ClusterName=" not in conf:
            continue
        for field, expected in row.fields_of(value.removesuffix(" sec").removesuffix(" min")).items():
            got: Any = found
            for part in field.split("."):
                got = getattr(got, part)
            seen += 1
            # Slurm prints NO_NORMAL_ALL if one of these flags is set.
            if got != expected and not field.startswith("priority.normal_"):
                yield f"{name}: {got}, not {expected}"
    assert seen > 20


def of_partitions(found: SlurmConfiguration, text: str) -> Iterator[str]:
    lines = [f"NodeName={node.name}" for node in found.nodes]
    for line in filter(None, text.splitlines()):
        words = [word for word in line.split() if word.partition("=")[0] not in COMPUTED and "=(null)" not in word]
        lines.append(" ".join(word for word in words if word not in ("DefaultTime=NONE", "OverTimeLimit=NONE")))
    shown = {each.name: each for each in configuration_of("\n".join(lines)).partitions}
    assert set(shown) == {each.name for each in found.partitions}
    for partition in found.partitions:
        yield from of_partition(partition, shown[partition.name], found.preemption.mode)


def of_partition(partition: PartitionLine, shown: PartitionLine, mode: str) -> Iterator[str]:
    for name in PartitionLine.__struct_fields__:
        got, expected = getattr(partition, name), getattr(shown, name)
        if name == "preempt_mode":  # Slurm prints that of the cluster in its place
            got = got or mode
        elif name == "nodes":  # they are printed in the order of their names
            got, expected = sorted(got), sorted(expected)
        elif name == "default_time" and expected is None:  # it prints NONE for an unlimited time, too
            continue
        if got != expected:
            yield f"{partition.name}.{name}: {got}, not {expected}"


NODE = {
    "CPUTot": "cpus",
    "Sockets": "sockets",
    "Boards": "boards",
    "CoresPerSocket": "cores_per_socket",
    "ThreadsPerCore": "threads_per_core",
    "RealMemory": "memory",
    "TmpDisk": "disk",
    "Weight": "weight",
    "MemSpecLimit": "memory_reserved",
    "CoreSpecCount": "cores_reserved",
}


def of_nodes(found: SlurmConfiguration, text: str) -> Iterator[str]:
    shown = {}
    for line in filter(None, text.splitlines()):
        words = dict(word.partition("=")[::2] for word in line.split() if "=" in word)
        shown[words["NodeName"]] = words
    assert set(shown) == {node.name for node in found.nodes}
    for node in found.nodes:
        words = shown[node.name]
        for name, field in NODE.items():
            if str(getattr(node, field)) != words.get(name, "0"):
                yield f"{node.name}.{field}: {getattr(node, field)}, not {words.get(name)}"
        if (",".join(node.features) or "(null)") != words["AvailableFeatures"]:
            yield f"{node.name}.features: {node.features}, not {words['AvailableFeatures']}"


@pytest.mark.parametrize("number", range(len(KEPT)))
def test_values_are_those_that_slurm_printed(number: int) -> None:
    conf, printed = KEPT[number]
    if printed.refused:
        with pytest.raises(InputError):
            configuration_of(conf)
    else:
        assert list(differences(conf, printed)) == []


def test_another_value_is_noticed() -> None:
    conf, printed = next(each for each in KEPT if not each[1].refused)
    node, *others = configuration_of(conf).nodes
    changed = msgspec.structs.replace(configuration_of(conf), nodes=(msgspec.structs.replace(node, weight=77), *others))
    assert isinstance(node, NodeLine)
    assert list(of_nodes(changed, printed.nodes)) != []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1001, 1002])
def test_values_are_those_that_slurm_prints_now(tmp_path: Path, seed: int) -> None:
    find("slurmctld")
    conf = random_conf(seed)
    printed = printed_by_slurm(conf, tmp_path / "slurm")
    assert not printed.refused, printed.refused
    assert list(differences(conf, printed)) == []


SIDES = ("below", "above", "least", "most")


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_ranges_of_options_are_those_of_slurm(tmp_path: Path, side: str) -> None:
    """Backfill complains about each of its options that is out of its range, and about no other."""
    find("slurmctld")
    own = {name: option for name, option in NUMBERS.items() if name.startswith("bf_") and name != "bf_window_linear"}
    limited = {name: each for name, each in own.items() if side in ("below", "least") or each.most < 2**31 - 1}
    values = {"below": -1, "above": 1, "least": 0, "most": 0}
    number = {
        name: (each.least if side in ("below", "least") else each.most) + values[side] for name, each in limited.items()
    }
    if side == "least":
        number.pop("bf_min_prio_reserve")  # Slurm complains about 0, which is its default
    text = ",".join(f"{name}={each}" for name, each in number.items())
    conf = f"NodeName=n NodeAddr=127.0.0.1\nPartitionName=p Nodes=ALL\nSchedulerParameters={text}\n"
    folder = tmp_path / "slurm"
    assert not printed_by_slurm(conf, folder).refused
    complaints = set(re.findall(r"Invalid .*(bf_[a-z_]+): -?[0-9]", (folder / "output").read_text()))
    assert complaints == (set(number) if side in ("below", "above") else set())
    named = {each.name.partition("/")[2] for each in configuration_of(conf).not_followed if "default" in each.reason}
    assert named == complaints
