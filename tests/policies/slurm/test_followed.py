"""The parameters that are said to be followed are used by the simulated scheduler, and the others are not."""

from __future__ import annotations

import ast
from functools import cache

import msgspec
import pytest
from support import ROOT

from batprotocol.sites.slurm.parameters import CLUSTER, MISSED, OPTIONS, PARTS, RECORDS, ParameterStanding, standing_of

WITHOUT_ENGINE = True

IDLE = {
    *(f"scheduler.{row.field}" for row in OPTIONS.values() if row.standing is ParameterStanding.IDLE),
    *(row.field for row in CLUSTER.values() if row.standing is ParameterStanding.IDLE),
    "select.pack_nodes",  # it is about the tasks of steps: in 240 states, nodes and CPUs were the same
    *(f"node.{row.field}" for row in RECORDS["nodename"].values() if row.standing is ParameterStanding.IDLE),
}
"""The fields that have no effect in a simulation."""
KINDS = (*PARTS.values(),)
"""The values that have fields. A name that several of them have says little."""
FILES = {"not_followed", "switches"}
"""The fields of a configuration that no parameter sets."""


@cache
def attributes() -> frozenset[str]:
    """The names of all attributes that the modules of the scheduler read."""
    folder = ROOT / "batprotocol" / "policies" / "slurm"
    trees = [ast.parse(path.read_text()) for path in folder.rglob("*.py")]
    return frozenset(node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))


@cache
def attributes_of_lines() -> frozenset[str]:
    """The names of all attributes that are read of a line of a node or of a partition."""
    tree = ast.parse((ROOT / "batprotocol" / "policies" / "slurm" / "cluster.py").read_text())
    read = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    return frozenset(node.attr for node in read if isinstance(node.value, ast.Name) and node.value.id == "line")


@pytest.mark.parametrize("part", PARTS)
def test_fields_are_used_or_said_not_to_be_followed(part: str) -> None:
    for field in msgspec.structs.fields(PARTS[part]):
        name = f"{part}.{field.name}".lstrip(".")
        if name in IDLE | FILES or (part == "" and field.name in PARTS):
            continue
        is_used = field.name in attributes()
        if is_used and sum(field.name in (each.name for each in msgspec.structs.fields(kind)) for kind in KINDS) > 1:
            is_used = part not in ("node", "partition") or field.name in attributes_of_lines()
        assert is_used != (name in MISSED), f"{name} is {'used' if is_used else 'not used'}: see parameters/missed.py"


def test_the_list_has_fields_that_there_are() -> None:
    known = {f"{part}.{field.name}".lstrip(".") for part in PARTS for field in msgspec.structs.fields(PARTS[part])}
    assert known >= MISSED
    assert not MISSED & IDLE


def test_standings() -> None:
    assert standing_of(CLUSTER["prioritytype"]) is ParameterStanding.FOLLOWED
    assert standing_of(CLUSTER["slurmctldport"]) is ParameterStanding.IDLE
    assert standing_of(CLUSTER["burstbuffertype"]) is ParameterStanding.MISSED
