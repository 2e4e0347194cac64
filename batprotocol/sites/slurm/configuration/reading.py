"""The reading of a slurm.conf: the tables of parameters read each line, and all lines together make the values."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from batprotocol.errors import InputError
from batprotocol.sites.slurm.amounts import text_of
from batprotocol.sites.slurm.configuration.files import Line, Lines
from batprotocol.sites.slurm.configuration.parameters.cluster import CLUSTER
from batprotocol.sites.slurm.configuration.parameters.missed import PARTS, missed_by
from batprotocol.sites.slurm.configuration.parameters.options import options_of
from batprotocol.sites.slurm.configuration.parameters.records import RECORDS
from batprotocol.sites.slurm.configuration.parameters.rows import MOST_UNKNOWN, Row, Standing, named, says_nothing
from batprotocol.sites.slurm.configuration.sites import Record, nodes_of, partitions_of
from batprotocol.sites.slurm.configuration.topology import switches_of
from batprotocol.sites.slurm.configuration.values import (
    Configuration,
    Node,
    NotFollowed,
    Partition,
)
from batprotocol.sites.slurm.lines import Names, pairs_of

__all__ = ["configuration_of", "machine_of", "read_configuration"]

_PARTS: Final = ("select", "priority", "scheduler", "preemption", "jobs")
_NEEDED: Final = frozenset(
    (
        *("cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore", "realmemory"),
        *("corespeccount", "memspeclimit", "gres", "feature", "features", "weight", "nodes"),
    )
)
"""The keys that describe hardware, and the nodes of partitions and node sets, in lower case."""
_MOST_RECORDS: Final = 200_000
_TOPOLOGY: Final = "topology.conf"


def read_configuration(path: str | os.PathLike[str]) -> Configuration:
    """Read a slurm.conf, the files that it includes, and the topology.conf beside it if it names a tree.

    Args:
        path: the file. Included files with relative names are looked for beside it.

    Raises:
        InputError: a line has a value that it cannot have, or a misspelt parameter; with file and line.
        OSError: the file cannot be read.
    """
    name = os.fspath(path)
    return configuration_of(text_of(name), file=name, folder=os.path.dirname(name))


def configuration_of(text: str, *, file: str = "slurm.conf", folder: str | None = None) -> Configuration:
    r"""The configuration that the text of a slurm.conf stands for.

    Args:
        text: the text.
        file: the name of the file, for errors.
        folder: the folder of the file, where included files are; None: it may include none.

    >>> found = configuration_of("NodeName=n[0-3] CPUs=4\nPartitionName=p Nodes=ALL MaxTime=1-0\nOverTimeLimit=1")
    >>> found.partitions[0].nodes, found.partitions[0].max_time, found.jobs.over_time_limit
    (('n0', 'n1', 'n2', 'n3'), 86400.0, 60.0)

    Raises:
        InputError: a line has a value that it cannot have, or a misspelt parameter; with file and line.
    """
    reader = _Reader()
    nodes, partitions, doubled = _machine(reader, text, file, folder)
    for record in doubled:
        reader.misses(record.line, f"PartitionName={record.name}", "is a second line, which Slurm ignores")
    fields = reader.fields
    select = fields.get("select", {})  # without parameters, the other plugins have CR_Core_Memory
    if select.get("plugin", "linear") != "linear" and "unit" not in select:
        if reader.select is not None:
            reason = "expected one of CR_CPU, CR_Core and CR_Socket, or one of them with _Memory, with this SelectType"
            raise InputError(reason, "SelectTypeParameters", file=reader.select.file, line=reader.select.number)
        select |= {"unit": "core", "counts_memory": True}
    switches: tuple[Any, ...] = ()
    if fields.get("topology") == "tree" and folder is not None:
        topology = os.path.join(folder, _TOPOLOGY)
        if os.path.isfile(topology):
            switches = switches_of(text_of(topology), [node.name for node in nodes], file=topology)
    parts: dict[str, Any] = {part: PARTS[part](**fields.pop(part, {})) for part in _PARTS}
    return Configuration(
        nodes=nodes,
        partitions=partitions,
        switches=switches,
        not_followed=tuple(reader.missed.values()),
        **parts,
        **fields,
    )


def machine_of(
    text: str, *, file: str = "slurm.conf", folder: str | None = None
) -> tuple[Sequence[Node], Sequence[Partition]]:
    """Only the nodes and the partitions of a slurm.conf: their hardware, and which nodes a partition has.

    All else may have any value, also misspelt parameters of the scheduler.

    Args:
        text: the text.
        file: the name of the file, for errors.
        folder: the folder of the file, where included files are; None: it may include none.

    >>> nodes, partitions = machine_of("SchedulerParameters=bf_x=1\\nNodeName=n[0-3]\\nPartitionName=p Nodes=n[1-2]")
    >>> len(nodes), partitions[0].nodes
    (4, ('n1', 'n2'))

    Raises:
        InputError: a line of nodes or partitions has a value that it cannot have; with file and line.
    """
    return _machine(_Reader(_NEEDED), text, file, folder)[:2]


def _machine(
    reader: _Reader, text: str, file: str, folder: str | None
) -> tuple[tuple[Node, ...], tuple[Partition, ...], Sequence[Record]]:
    """The nodes, the partitions, and the lines of partitions that come twice."""
    for line in Lines(folder).of(text, file):
        try:
            reader.line(line)
        except InputError as error:
            raise InputError(error.reason, error.path, file=line.file, line=line.number) from None
    names = Names()
    nodes = nodes_of(reader.records["nodename"], reader.records["downnodes"], names)
    partitions, doubled = partitions_of(reader.records["partitionname"], reader.records["nodeset"], nodes, names)
    return nodes, partitions, doubled


class _Reader:
    """Reads lines one after the other.

    Args:
        needed: the keys of lines of nodes and partitions that matter; others may have any value, and all other lines
            are passed over. None: all matters.

    Attributes:
        fields: the fields of the configuration, with those of its parts as dicts of their own.
        records: the lines that describe nodes and partitions, by kind.
        missed: the parameters that are not followed, each with its first line.
        select: the line of SelectTypeParameters, if there is one.
    """

    def __init__(self, needed: frozenset[str] | None = None) -> None:
        self._needed = needed
        self.fields: dict[str, Any] = {}
        self.records: dict[str, list[Record]] = {kind: [] for kind in RECORDS}
        self.missed: dict[tuple[str, str], NotFollowed] = {}
        self.select: Line | None = None
        self._unknown = self._records = 0
        self._defaults: dict[str, dict[str, Any]] = {kind: {} for kind in RECORDS}

    def misses(self, line: Line, name: str, reason: str = "is not followed") -> None:
        """Report a parameter that is not followed."""
        found = NotFollowed(file=line.file, line=line.number, name=name, reason=reason)
        self.missed.setdefault((name, reason), found)

    def line(self, line: Line) -> None:
        """Read a line.

        Raises:
            InputError: it cannot be read.
        """
        pairs = pairs_of(line.text)
        kind = next((name.lower() for name, _ in pairs if name.lower() in RECORDS), None)
        if kind is not None:
            self._record(line, kind, pairs)
            return
        if self._needed is not None:
            return
        for name, text in pairs:
            if name.lower() == "schedulerparameters":
                fields, missing = _within(name, text, options_of)
                self.fields.setdefault("scheduler", {}).update(fields)
                for option, reason in missing:
                    self.misses(line, f"SchedulerParameters/{option}", reason)
                continue
            if name.lower() == "selecttypeparameters":
                self.select = line
            for field, value in self._fields(line, CLUSTER, name, text).items():
                part, _, inner = field.rpartition(".")
                (self.fields.setdefault(part, {}) if part else self.fields)[inner] = value

    def _record(self, line: Line, kind: str, pairs: list[tuple[str, str]]) -> None:
        name = next(text for key, text in pairs if key.lower() == kind)
        fields: dict[str, Any] = {}
        for key, text in pairs:
            if key.lower() != kind and (self._needed is None or key.lower() in self._needed):
                fields |= self._fields(line, RECORDS[kind], key, text, kind.removesuffix("name"))
        if kind == "frontendname":
            self.misses(line, "FrontendName")
        elif name.upper() == "DEFAULT":
            self._defaults[kind] |= fields
        else:
            self._records += 1
            if self._records > _MOST_RECORDS:
                raise InputError(f"expected at most {_MOST_RECORDS:,} lines of nodes and partitions")
            self.records[kind].append(Record(line, name, self._defaults[kind] | fields))

    def _fields(self, line: Line, rows: Mapping[str, Row], name: str, text: str, part: str = "") -> Mapping[str, Any]:
        """The fields that a parameter sets, all of the same part if it is given."""
        row = named(name, rows)
        if row is None:
            self._unknown += 1
            if self._unknown > MOST_UNKNOWN:
                raise InputError(f"expected parameters of Slurm 22.05, got more than {MOST_UNKNOWN} others")
            self.misses(line, name, "is not a parameter of Slurm 22.05")
            return {}
        if row.standing is Standing.MISSED and not says_nothing(text):
            self.misses(line, row.name)
        found: Mapping[str, Any] = _within(row.name, text, row.fields_of) if row.field or row.read is not str else {}
        for each in missed_by(row.name, {f"{part}.{field}" if part else field: found[field] for field in found}):
            self.misses(line, each)
        return found


def _within(name: str, text: str, read: Callable[[str], Any]) -> Any:
    """The value that `read` makes of a text; errors name the parameter."""
    try:
        return read(text)
    except InputError as error:
        raise InputError(error.reason, name) from None
