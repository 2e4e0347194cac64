"""The nodes and partitions of the lines that describe them: which names the lines stand for, and what follows from
values that are not given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.amounts import one_word
from batprotocol.sites.slurm.configuration.files import Line
from batprotocol.sites.slurm.configuration.values import Node, Partition, Select
from batprotocol.sites.slurm.lines import Names

__all__ = ["Record", "nodes_of", "partitions_of"]


class Record:
    """A line that describes nodes or partitions.

    Attributes:
        line: the line.
        name: the value of its first name, `n[0-63]`.
        fields: the fields that it sets, with those of DEFAULT lines before it.
    """

    def __init__(self, line: Line, name: str, fields: dict[str, Any]) -> None:
        self.line, self.name, self.fields = line, name, fields


def nodes_of(records: Iterable[Record], down: Iterable[Record], names: Names) -> tuple[Node, ...]:
    """The nodes, in the order of the lines.

    Args:
        records: the lines `NodeName=`.
        down: the lines `DownNodes=`.
        names: counts names.

    Raises:
        InputError: a name is not right, comes twice, or is of no node; with file and line.
    """
    nodes: dict[str, Node] = {}
    for place, record in enumerate(records):
        with _At(record, "NodeName"):
            sample = _node(record.fields)
            for name in names.of(record.name):
                one_word(name)
                if name.upper() == "ALL" or name in nodes:
                    raise InputError(f"expected a new name, got {shown(name)}", "NodeName")
                nodes[name] = msgspec.structs.replace(sample, name=name, record=place)
    for record in down:
        with _At(record, "DownNodes"):
            for name in list(nodes) if record.name.upper() == "ALL" else names.of(record.name):
                node = nodes[_known(name, nodes, "DownNodes")]
                nodes[name] = msgspec.structs.replace(node, state=record.fields.get("state", "DOWN"))
    return tuple(nodes.values())


def _node(given: Mapping[str, Any]) -> Node:
    """A node without a name. Sockets follow from CPUs if they are not given, and CPUs from the others."""
    fields = dict(given)
    boards = fields.get("boards", 1)
    inner = fields.get("cores_per_socket", 1) * fields.get("threads_per_core", 1)
    per_board = fields.pop("sockets_per_board", None)
    if per_board is not None:
        fields["sockets"] = boards * per_board
    elif "sockets" not in fields:
        fields["sockets"] = max(fields.get("cpus", 1) // inner, 1)
    fields.setdefault("cpus", fields["sockets"] * inner)
    return Node(name="", **fields)


def partitions_of(
    records: Iterable[Record], sets: Iterable[Record], nodes: Sequence[Node], names: Names
) -> tuple[tuple[Partition, ...], list[Record]]:
    """The partitions, in the order of the lines, and the lines that name a partition again.

    Args:
        records: the lines `PartitionName=`.
        sets: the lines `NodeSet=`.
        nodes: the nodes.
        names: counts names.

    Raises:
        InputError: a line names no node that there is; with file and line.
    """
    places = {node.name: place for place, node in enumerate(nodes)}
    by_set: dict[str, list[str]] = {}
    for record in sets:
        with _At(record, "Nodes"):
            features = record.fields.get("features", ())
            names.count(len(nodes))
            members = [node.name for node in nodes if any(each in node.features for each in features)]
            members += names.of(record.fields["nodes"]) if record.fields.get("nodes") else ()
            by_set[record.name] = [_known(name, places, "Nodes") for name in members]
    found: dict[str, Partition] = {}
    doubled = []
    for record in records:
        if record.name in found:
            doubled.append(record)
            continue
        with _At(record, "PartitionName"):
            one_word(record.name)
        with _At(record, "Nodes"):
            found[record.name] = _partition(record, places, by_set, names)
    defaults = [name for name, partition in found.items() if partition.default]
    for name in defaults[:-1]:  # the last one counts
        found[name] = msgspec.structs.replace(found[name], default=False)
    return tuple(found.values()), doubled


def _partition(record: Record, places: Mapping[str, int], sets: Mapping[str, list[str]], names: Names) -> Partition:
    fields = dict(record.fields)
    members: set[str] = set()
    listed = fields.pop("nodes", "")
    for name in names.of(listed) if listed else ():
        if name.upper() == "ALL":
            names.count(len(places))
            members.update(places)
        elif name in sets:
            names.count(len(sets[name]))
            members.update(sets[name])
        else:
            members.add(_known(name, places, "Nodes", sets))
    if "priority" in fields:
        fields["priority_tier"] = fields["priority_job_factor"] = fields.pop("priority")
    if fields.get("allow_accounts") is not None:
        fields.pop("deny_accounts", None)
    if fields.get("allow_qos") is not None:
        fields.pop("deny_qos", None)
    if "select" in fields:
        fields["select"] = Select(**fields["select"])
    return Partition(name=record.name, nodes=tuple(sorted(members, key=places.__getitem__)), **fields)


def _known(name: str, places: Mapping[str, object], parameter: str, sets: Mapping[str, object] | None = None) -> str:
    """A name of a node that there is."""
    if name not in places:
        raise InputError(f"there is no node {shown(name)}{_near(name, places, sets or {})}", parameter)
    return name


def _near(name: str, places: Mapping[str, object], sets: Mapping[str, object]) -> str:
    return hint(name, [*list(places)[:1000], *list(sets)[:1000]])


class _At:
    """Adds the file and the line of a record to errors, and a parameter to those that name none."""

    def __init__(self, record: Record, parameter: str) -> None:
        self._line, self._parameter = record.line, parameter

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and error.line is None:
            path = error.path or self._parameter
            raise InputError(error.reason, path, file=self._line.file, line=self._line.number) from None
