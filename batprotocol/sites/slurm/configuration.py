"""A slurm.conf as values: nodes, partitions, and the parameters that decide what Slurm does; and a topology.conf.

`parameters` has the tables of all parameters: which are followed by the simulated scheduler, which have no effect in a
simulation, and which are not followed. `SlurmConfiguration.not_followed` names the last ones that a file has. The
tables read each line, and all lines together make the `configuration_values`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.configuration_values import (
    JobParameters,
    NodeLine,
    NotFollowed,
    PartitionLine,
    PreemptionParameters,
    PriorityParameters,
    SchedulerParameters,
    SelectParameters,
    SlurmConfiguration,
    SwitchLine,
    missed_by,
)
from batprotocol.sites.slurm.parameters import (
    CLUSTER,
    MOST_UNKNOWN,
    PARTS,
    RECORDS,
    ParameterRow,
    ParameterStanding,
    named,
    options_of,
    says_nothing,
)
from batprotocol.sites.slurm.texts import MOST_BYTES, NodeNames, lines_of, one_word, pairs_of, text_of

__all__ = [
    "JobParameters",
    "NodeLine",
    "NotFollowed",
    "PartitionLine",
    "PreemptionParameters",
    "PriorityParameters",
    "SchedulerParameters",
    "SelectParameters",
    "SlurmConfiguration",
    "SwitchLine",
    "configuration_of",
    "machine_of",
    "read_configuration",
    "switches_of",
]


# The lines of a file and of those that it includes, in their order


_MOST_DEPTH: Final = 10
_MOST_FILES: Final = 1000
_INCLUDE: Final = re.compile(r"\s*include\s+(\S.*)", re.IGNORECASE)
_CLUSTER: Final = re.compile(r"\s*clustername\s*=\s*\"?([^\s\"]+)", re.IGNORECASE)


class _Line(NamedTuple):
    """A line.

    Attributes:
        file: its file, as errors name it.
        number: its number.
        text: its text, without a comment.
    """

    file: str
    number: int
    text: str


class _Lines:
    """Reads lines, and those of included files in the places where they are included.

    Args:
        folder: the folder of slurm.conf, where included files are looked for; None: no file may be included.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._left = MOST_BYTES
        self._files = 0
        self._cluster = ""

    def of(self, text: str, file: str, depth: int = 0) -> Iterator[_Line]:
        """The lines of a text.

        Raises:
            InputError: a file cannot be included, or there are too many.
        """
        for number, line in lines_of(text):
            included = _INCLUDE.fullmatch(line)
            if included is None:
                cluster = _CLUSTER.match(line)
                if cluster is not None:
                    self._cluster = cluster[1]
                yield _Line(file, number, line)
                continue
            try:
                path, inner = self._included(included[1].strip().strip('"'), depth)
            except InputError as error:
                raise InputError(error.reason, error.path, file=file, line=number) from None
            yield from self.of(inner, path, depth + 1)

    def _included(self, name: str, depth: int) -> tuple[str, str]:
        """The path of an included file, and its text."""
        if self._folder is None:
            raise InputError(f"the file {shown(name)} cannot be included in a text; use the path of slurm.conf")
        self._files += 1
        if depth >= _MOST_DEPTH or self._files > _MOST_FILES:
            what = f"{_MOST_DEPTH} files in one another" if depth >= _MOST_DEPTH else f"{_MOST_FILES} files"
            raise InputError(
                f"expected at most {what} to be included; does {shown(name)} include the file that includes it?"
            )
        path = os.path.join(self._folder, name.replace("%c", self._cluster))
        try:
            text = text_of(path, self._left)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            if isinstance(error, InputError):
                reason = error.reason
            raise InputError(f"the included file {shown(path)} cannot be read: {reason}") from None
        self._left -= len(text)
        return path, text


# Switches


_KEYS: Final = ("switchname", "nodes", "switches", "linkspeed")


def switches_of(text: str, nodes: Collection[str] = (), *, file: str = "topology.conf") -> tuple[SwitchLine, ...]:
    r"""The switches, in the order of the file.

    Args:
        text: the text of a topology.conf.
        nodes: the names of the nodes that there are; empty: any.
        file: the name of the file, for errors.

    >>> found = switches_of("SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n2\nSwitchName=top Switches=s[0-1]")
    >>> found[0].nodes, found[2].switches
    (('n0', 'n1'), ('s0', 's1'))

    Raises:
        InputError: a line is not right, or the switches form no tree; with file and line.
    """
    names, known = NodeNames(), dict.fromkeys(nodes)
    switches: dict[str, SwitchLine] = {}
    lines: dict[str, int] = {}
    for number, line in lines_of(text):
        try:
            switch = _switch(line, names, known)
            if switch.name in switches:
                raise InputError(f"expected a new name, got {shown(switch.name)}", "SwitchName")
        except InputError as error:
            raise InputError(error.reason, error.path, file=file, line=number) from None
        switches[switch.name], lines[switch.name] = switch, number
    for name, switch in switches.items():
        for below in switch.switches:
            if below not in switches:
                reason = f"there is no switch {shown(below)}{hint(below, switches)}"
                raise InputError(reason, "Switches", file=file, line=lines[name])
    try:
        TopologicalSorter({name: switch.switches for name, switch in switches.items()}).prepare()
    except CycleError as error:
        first = error.args[1][0]
        reason = f"the switch {shown(first)} is below itself"
        raise InputError(reason, "Switches", file=file, line=lines[first]) from None
    return tuple(switches.values())


def _switch(line: str, names: NodeNames, known: Collection[str]) -> SwitchLine:
    values = {}
    for key, value in pairs_of(line):
        if key.lower() not in _KEYS:
            raise InputError(f"expected SwitchName, Nodes, Switches or LinkSpeed, got {shown(key)}{hint(key, _KEYS)}")
        values[key.lower()] = value
    name = values.get("switchname", "")
    if not name:
        raise InputError("expected a line with SwitchName")
    nodes = names.of(values["nodes"]) if values.get("nodes") else []
    if [each.upper() for each in nodes] == ["ALL"] and known:
        nodes = list(known)
    for each in nodes:
        if known and each not in known:
            raise InputError(f"there is no node {shown(each)}{hint(each, list(known)[:1000])}", "Nodes")
    below = names.of(values["switches"]) if values.get("switches") else []
    return SwitchLine(name=name, nodes=tuple(nodes), switches=tuple(below))


# Nodes and partitions


class _SiteRecord:
    """A line that describes nodes or partitions.

    Attributes:
        line: the line.
        name: the value of its first name, `n[0-63]`.
        fields: the fields that it sets, with those of DEFAULT lines before it.
    """

    def __init__(self, line: _Line, name: str, fields: dict[str, Any]) -> None:
        self.line, self.name, self.fields = line, name, fields


def _nodes_of(records: Iterable[_SiteRecord], down: Iterable[_SiteRecord], names: NodeNames) -> tuple[NodeLine, ...]:
    """The nodes, in the order of the lines.

    Args:
        records: the lines `NodeName=`.
        down: the lines `DownNodes=`.
        names: counts names.

    Raises:
        InputError: a name is not right, comes twice, or is of no node; with file and line.
    """
    nodes: dict[str, NodeLine] = {}
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


def _node(given: Mapping[str, Any]) -> NodeLine:
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
    return NodeLine(name="", **fields)


def _partitions_of(
    records: Iterable[_SiteRecord], sets: Iterable[_SiteRecord], nodes: Sequence[NodeLine], names: NodeNames
) -> tuple[tuple[PartitionLine, ...], list[_SiteRecord]]:
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
    found: dict[str, PartitionLine] = {}
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


def _partition(
    record: _SiteRecord, places: Mapping[str, int], sets: Mapping[str, list[str]], names: NodeNames
) -> PartitionLine:
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
        fields["select"] = SelectParameters(**fields["select"])
    return PartitionLine(name=record.name, nodes=tuple(sorted(members, key=places.__getitem__)), **fields)


def _known(name: str, places: Mapping[str, object], parameter: str, sets: Mapping[str, object] | None = None) -> str:
    """A name of a node that there is."""
    if name not in places:
        raise InputError(f"there is no node {shown(name)}{_near(name, places, sets or {})}", parameter)
    return name


def _near(name: str, places: Mapping[str, object], sets: Mapping[str, object]) -> str:
    return hint(name, [*list(places)[:1000], *list(sets)[:1000]])


class _At:
    """Adds the file and the line of a record to errors, and a parameter to those that name none."""

    def __init__(self, record: _SiteRecord, parameter: str) -> None:
        self._line, self._parameter = record.line, parameter

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and error.line is None:
            path = error.path or self._parameter
            raise InputError(error.reason, path, file=self._line.file, line=self._line.number) from None


# The whole file


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


def read_configuration(path: str | os.PathLike[str]) -> SlurmConfiguration:
    """Read a slurm.conf, the files that it includes, and the topology.conf beside it if it names a tree.

    Args:
        path: the file. Included files with relative names are looked for beside it.

    Raises:
        InputError: a line has a value that it cannot have, or a misspelt parameter; with file and line.
        OSError: the file cannot be read.
    """
    name = os.fspath(path)
    return configuration_of(text_of(name), file=name, folder=os.path.dirname(name))


def configuration_of(text: str, *, file: str = "slurm.conf", folder: str | None = None) -> SlurmConfiguration:
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
    return SlurmConfiguration(
        nodes=nodes,
        partitions=partitions,
        switches=switches,
        not_followed=tuple(reader.missed.values()),
        **parts,
        **fields,
    )


def machine_of(
    text: str, *, file: str = "slurm.conf", folder: str | None = None
) -> tuple[Sequence[NodeLine], Sequence[PartitionLine]]:
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
) -> tuple[tuple[NodeLine, ...], tuple[PartitionLine, ...], Sequence[_SiteRecord]]:
    """The nodes, the partitions, and the lines of partitions that come twice."""
    for line in _Lines(folder).of(text, file):
        try:
            reader.line(line)
        except InputError as error:
            raise InputError(error.reason, error.path, file=line.file, line=line.number) from None
    names = NodeNames()
    nodes = _nodes_of(reader.records["nodename"], reader.records["downnodes"], names)
    partitions, doubled = _partitions_of(reader.records["partitionname"], reader.records["nodeset"], nodes, names)
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
        self.records: dict[str, list[_SiteRecord]] = {kind: [] for kind in RECORDS}
        self.missed: dict[tuple[str, str], NotFollowed] = {}
        self.select: _Line | None = None
        self._unknown = self._records = 0
        self._defaults: dict[str, dict[str, Any]] = {kind: {} for kind in RECORDS}

    def misses(self, line: _Line, name: str, reason: str = "is not followed") -> None:
        """Report a parameter that is not followed."""
        found = NotFollowed(file=line.file, line=line.number, name=name, reason=reason)
        self.missed.setdefault((name, reason), found)

    def line(self, line: _Line) -> None:
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

    def _record(self, line: _Line, kind: str, pairs: list[tuple[str, str]]) -> None:
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
            self.records[kind].append(_SiteRecord(line, name, self._defaults[kind] | fields))

    def _fields(
        self, line: _Line, rows: Mapping[str, ParameterRow], name: str, text: str, part: str = ""
    ) -> Mapping[str, Any]:
        """The fields that a parameter sets, all of the same part if it is given."""
        row = named(name, rows)
        if row is None:
            self._unknown += 1
            if self._unknown > MOST_UNKNOWN:
                raise InputError(f"expected parameters of Slurm 22.05, got more than {MOST_UNKNOWN} others")
            self.misses(line, name, "is not a parameter of Slurm 22.05")
            return {}
        if row.standing is ParameterStanding.MISSED and not says_nothing(text):
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


__getattr__ = old_names(
    __name__,
    {
        "Configuration": "SlurmConfiguration",
        "Jobs": "JobParameters",
        "Node": "NodeLine",
        "Partition": "PartitionLine",
        "Preemption": "PreemptionParameters",
        "Priority": "PriorityParameters",
        "Scheduler": "SchedulerParameters",
        "Select": "SelectParameters",
        "Switch": "SwitchLine",
    },
)
