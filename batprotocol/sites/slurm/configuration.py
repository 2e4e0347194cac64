"""A slurm.conf as values: nodes, partitions, and the parameters that decide what Slurm does; and a topology.conf.

`parameters` has the tables of all parameters: which are followed by the simulated scheduler, which have no effect in a
simulation, and which are not followed. `SlurmConfiguration.not_followed` names the last ones that a file has. The
tables read each line, and all lines together make the `configuration_values`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.configuration_values import (
    EITHER,
    FOREIGN,
    KINDS,
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
    merged,
    missed_by,
    node_of,
)
from batprotocol.sites.slurm.parameters import (
    CLUSTER,
    FLAGS,
    MOST_UNKNOWN,
    PARTS,
    RECORDS,
    ParameterRow,
    ParameterStanding,
    named,
    oddity,
    options_of,
    says_nothing,
    unknown_flags,
)
from batprotocol.sites.slurm.texts import Line, Lines, NodeNames, lines_of, one_word, pairs_of, text_of, unsigned

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


# Switches


_KEYS: Final = ("switchname", "nodes", "switches", "linkspeed")


def switches_of(text: str, nodes: Collection[str] = (), *, file: str = "topology.conf") -> tuple[SwitchLine, ...]:
    r"""The switches, in the order of the file. Nodes that there are not are left out, as slurmctld does.

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
    return _switches(text, nodes, file, [])


def _switches(text: str, nodes: Collection[str], file: str, missed: list[NotFollowed]) -> tuple[SwitchLine, ...]:
    """The switches; what slurmctld warns of is added to `missed`."""
    names, known = NodeNames(), dict.fromkeys(nodes)
    switches: dict[str, SwitchLine] = {}
    lines: dict[str, int] = {}
    leaves: dict[str, str] = {}
    for number, line in lines_of(text):
        try:
            switch, others = _switch(line, names, known)
            if switch.name in switches:
                raise InputError(f"expected a new name, got {shown(switch.name)}", "SwitchName")
        except InputError as error:
            raise InputError(error.reason, error.path, file=file, line=number) from None
        reasons = (
            [("Nodes", f"has nodes that there are not, which Slurm leaves out: {_some(others)}")] if others else []
        )
        twice = [node for node in switch.nodes if leaves.setdefault(node, switch.name) != switch.name]
        if twice:
            reasons.append(("Nodes", f"has nodes of another switch, too: {_some(twice)}"))
        missed += [NotFollowed(file=file, line=number, name=name, reason=reason) for name, reason in reasons]
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
    without = [node for node in known if node not in leaves]
    if without:
        reason = f"has no switch for {_some(without)}" if switches else "has no switches"
        missed.append(NotFollowed(file=file, line=0, name="SwitchName", reason=reason))
    return tuple(switches.values())


def _some(names: Sequence[str]) -> str:
    """Some names as a text."""
    more = f" and {len(names) - 5} others" if len(names) > 5 else ""
    return ", ".join(map(shown, names[:5])) + more


def _switch(line: str, names: NodeNames, known: Collection[str]) -> tuple[SwitchLine, list[str]]:
    """A switch with the nodes that there are, and the names of the others."""
    values = {}
    for key, value in pairs_of(line):
        if key.lower() not in _KEYS:
            raise InputError(f"expected SwitchName, Nodes, Switches or LinkSpeed, got {shown(key)}{hint(key, _KEYS)}")
        values[key.lower()] = value
    name = values.get("switchname", "")
    if not name:
        raise InputError("expected a line with SwitchName")
    if "linkspeed" in values:
        _within("LinkSpeed", values["linkspeed"], unsigned(32))
    nodes = list(dict.fromkeys(names.of(values["nodes"]))) if values.get("nodes") else []
    below = names.of(values["switches"]) if values.get("switches") else []
    if bool(nodes) == bool(below):
        both = "both, which slurmctld refuses" if nodes else "neither"
        raise InputError(f"expected Nodes or Switches for the switch {shown(name)}, got {both}")
    others = [each for each in nodes if known and each not in known]
    nodes = [each for each in nodes if not known or each in known] if others else nodes
    return SwitchLine(name=name, nodes=tuple(nodes), switches=tuple(below)), others


# Nodes and partitions


class _SiteRecord:
    """A line that describes nodes or partitions.

    Attributes:
        line: the line.
        name: the value of its first name, `n[0-63]`.
        fields: the fields that it sets, with those of DEFAULT lines before it.
    """

    def __init__(self, line: Line, name: str, fields: dict[str, Any]) -> None:
        self.line, self.name, self.fields = line, name, fields


def _nodes_of(reader: _Reader, names: NodeNames) -> tuple[NodeLine, ...]:
    """The nodes, in the order of the lines.

    Args:
        reader: has the lines, and is told what slurmctld warns of.
        names: counts names.

    Raises:
        InputError: a name is not right, or comes twice; with file and line.
    """
    nodes: dict[str, NodeLine] = {}
    for place, record in enumerate(reader.records["nodename"]):
        with _At(record, "NodeName"):
            sample, warnings = node_of(record.fields)
            sample = msgspec.structs.replace(sample, gres=_known_gres(reader, record, sample.gres))
            for reason in warnings:
                reader.misses(record.line, f"NodeName={record.name}", reason)
            if _BEHIND.search(record.name):
                reader.misses(record.line, f"NodeName={record.name}", _REFUSED_NAMES)
            _check_cores(reader, record, sample)
            for name in names.of(record.name):
                one_word(name)
                if name.upper() == "ALL" or name in nodes:
                    raise InputError(f"expected a new name, got {shown(name)}", "NodeName")
                nodes[name] = msgspec.structs.replace(sample, name=name, record=place)
    for record in reader.records["downnodes"]:
        with _At(record, "DownNodes"):
            _set_down(reader, record, nodes, names)
    return tuple(nodes.values())


_BEHIND: Final = re.compile(r"\][^\[\],]*(?:,|$)(?<!\])(?<!\],)")
_REFUSED_NAMES: Final = "has a text after the last range of a name, for which slurmctld 22.05 refuses the file"


def _check_cores(reader: _Reader, record: _SiteRecord, node: NodeLine) -> None:
    """Whether the selection of nodes can allocate the cores of a node, if the reader knows it."""
    select = reader.fields.get("select", {})
    if select.get("plugin", "linear") == "linear":
        return
    cores = node.sockets * node.cores_per_socket
    if node.cpus not in (cores, cores * node.threads_per_core):
        reason = f"expected as many as there are cores or threads with this SelectType, got {node.cpus}"
        raise InputError(reason, "CPUs")
    whole = select.get("unit") == "socket" and not reader.is_set("AllowSpecResourcesUsage")
    if whole and node.cores_reserved >= node.sockets:
        reason = "expected a socket without reserved cores with CR_Socket, or AllowSpecResourcesUsage=YES"
        raise InputError(reason, "CoreSpecCount")
    if select.get("unit") == "socket" and node.cores_reserved:
        reader.misses(record.line, "CoreSpecCount", "is not followed as Slurm does with CR_Socket")


def _known_gres(reader: _Reader, record: _SiteRecord, gres: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """The generic resources of the kinds that GresTypes has, if the reader knows it."""
    kinds = reader.gres_types
    if kinds is None or not gres:
        return gres
    for name, _ in gres:
        kind, _, typed = name.partition(":")
        if kind not in kinds:
            reader.misses(record.line, f"Gres={kind}", "is not in GresTypes, and Slurm leaves it out")
        elif not typed and any(other.startswith(f"{kind}:") for other, _ in gres):
            reader.misses(
                record.line, f"Gres={kind}", "is given with types and without, which Slurm reads in another way"
            )
    return tuple(each for each in gres if each[0].partition(":")[0] in kinds)


def _set_down(reader: _Reader, record: _SiteRecord, nodes: dict[str, NodeLine], names: NodeNames) -> None:
    """Give nodes the state of a line `DownNodes=`."""
    others = [name for name in names.of(record.name) if name not in nodes]
    if others:
        near = hint(others[0], list(nodes)[:1000])
        reader.misses(
            record.line, "DownNodes", f"has nodes that there are not, which Slurm leaves out: {_some(others)}{near}"
        )
    try:
        state = _within("State", record.fields.get("state", "DOWN"), RECORDS["nodename"]["state"].read)
    except InputError as error:
        reader.misses(record.line, "DownNodes", f"changes no state: {error.reason}")
        return
    for name in names.of(record.name):
        if name in nodes and state != "UNKNOWN":
            nodes[name] = msgspec.structs.replace(nodes[name], state=state)


def _partitions_of(reader: _Reader, nodes: Sequence[NodeLine], names: NodeNames) -> tuple[PartitionLine, ...]:
    """The partitions, in the order of the lines.

    Args:
        reader: has the lines, and is told what slurmctld warns of.
        nodes: the nodes.
        names: counts names.

    Raises:
        InputError: a line names no node that there is, or a partition again; with file and line.
    """
    places = {node.name: place for place, node in enumerate(nodes)}
    sets: dict[str, _SiteRecord] = {}
    for record in reader.records["nodeset"]:
        if sets.setdefault(record.name, record) is not record:
            reader.misses(record.line, f"NodeSet={record.name}", "is given again, and Slurm takes the first line")
    by_set: dict[str, list[str]] = {}
    found: dict[str, PartitionLine] = {}
    for record in reader.records["partitionname"]:
        with _At(record, "PartitionName"):
            one_word(record.name)
            if record.name in found:
                raise InputError(f"expected a new name, got {shown(record.name)}")
        with _At(record, "Nodes"):
            found[record.name] = _partition(reader, record, places, _Sets(sets, by_set, nodes), names)
    defaults = [name for name, partition in found.items() if partition.default]
    for name in defaults[:-1]:  # the last one counts
        found[name] = msgspec.structs.replace(found[name], default=False)
    return tuple(found.values())


class _Sets(NamedTuple):
    """The sets of nodes: their lines, the names of those that a partition has, and all nodes."""

    records: Mapping[str, _SiteRecord]
    found: dict[str, list[str]]
    nodes: Sequence[NodeLine]

    def of(self, name: str, places: Mapping[str, int], names: NodeNames) -> list[str]:
        """The nodes of a set."""
        if name not in self.found:
            fields = self.records[name].fields
            names.count(len(self.nodes))
            feature = fields.get("feature")
            members = [node.name for node in self.nodes if feature is not None and feature in node.features]
            members += names.of(fields["nodes"]) if fields.get("nodes") else ()
            self.found[name] = [_known(each, places, "Nodes") for each in members]
        return self.found[name]


def _partition(
    reader: _Reader, record: _SiteRecord, places: Mapping[str, int], sets: _Sets, names: NodeNames
) -> PartitionLine:
    fields = dict(record.fields)
    members: set[str] = set()
    is_linear = reader.fields.get("select", {}).get("plugin", "linear") == "linear"
    kind = fields.get("over_subscribe")
    has_gang = reader.fields.get("preemption", {}).get("gang", False)
    if fields.get("preempt_mode") == "suspend" and not has_gang:
        reader.misses(record.line, "PreemptMode=SUSPEND", "is not followed, as the cluster has no GANG")
    if is_linear and kind in ("force", "yes") and fields["over_subscribe_jobs"] > 1 and not has_gang:
        reader.misses(record.line, f"OverSubscribe={kind.upper()}", "is not followed with select/linear without GANG")
    listed = ",".join(fields.pop("nodes", "").split())
    if _BEHIND.search(listed):
        reader.misses(record.line, "Nodes", _REFUSED_NAMES)
    if listed.upper() == "ALL":
        names.count(len(places) + 1)
        members.update(places)
        listed = ""
    for name in names.of(listed) if listed.strip(",") else ():
        if name in sets.records:
            found = sets.of(name, places, names)
            names.count(len(found))
            members.update(found)
        else:
            members.add(_known(name, places, "Nodes", sets.records))
    if "priority" in fields:
        fields["priority_tier"] = fields["priority_job_factor"] = fields.pop("priority")
    for allowed, denied, name in (("allow_accounts", "deny_accounts", "Accounts"), ("allow_qos", "deny_qos", "Qos")):
        if fields.get(allowed) is not None and fields.pop(denied, None) is not None:
            reader.misses(record.line, f"Deny{name}", f"is ignored by Slurm beside Allow{name}")
    limit = fields.get("max_time", math.inf)
    if fields.get("default_time") is not None and limit < fields["default_time"]:
        reader.misses(record.line, "DefaultTime", "is larger than MaxTime, and Slurm ignores it")
        fields["default_time"] = None
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
        InputError: slurmctld refuses the file, as for a value that a parameter cannot have, a misspelt parameter, or no
            partition; with file and line.
        OSError: the file cannot be read.
    """
    name = os.fspath(path)
    found = _configuration(_Reader(whole=True), text_of(name), name, os.path.dirname(name))
    for example, lines in (("NodeName=n[0-7]", found.nodes), ("PartitionName=p Nodes=ALL", found.partitions)):
        if not lines:
            key = example.partition("=")[0]
            raise InputError(f"expected a line with {key}, such as '{example}', got none", file=name)
    return found


def configuration_of(text: str, *, file: str = "slurm.conf", folder: str | None = None) -> SlurmConfiguration:
    r"""The configuration that the text of a slurm.conf stands for, as slurmctld 22.05 reads it.

    The text may be a part of a file: without nodes, partitions or a name of the cluster.

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
    return _configuration(_Reader(), text, file, folder)


def _configuration(reader: _Reader, text: str, file: str, folder: str | None) -> SlurmConfiguration:
    """The configuration of a file, or of a part of one."""
    nodes, partitions = _machine(reader, text, file, folder)
    fields = reader.fields
    switches: tuple[Any, ...] = ()
    if fields.get("topology") == "tree" and folder is not None:
        topology = os.path.join(folder, _TOPOLOGY)
        if not os.path.isfile(topology):
            reader.misses_at("TopologyPlugin", f"has no {_TOPOLOGY} beside the file, which slurmctld refuses")
        else:
            found: list[NotFollowed] = []
            switches = _switches(text_of(topology), [node.name for node in nodes], topology, found)
            for each in found:
                reader.missed.setdefault((each.name, each.reason), each)
    parts: dict[str, Any] = {part: PARTS[part](**fields.pop(part, {})) for part in _PARTS}
    return SlurmConfiguration(
        nodes=nodes,
        partitions=partitions,
        switches=switches,
        not_followed=reader.in_order(),
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
    return _machine(_Reader(_NEEDED), text, file, folder)


def _machine(
    reader: _Reader, text: str, file: str, folder: str | None
) -> tuple[tuple[NodeLine, ...], tuple[PartitionLine, ...]]:
    """The nodes and the partitions. The other fields are in the reader."""
    for line in Lines(folder).of(text, file):
        try:
            reader.line(line)
        except InputError as error:
            raise InputError(error.reason, error.path, file=line.file, line=line.number) from None
    reader.finish()
    names = NodeNames()
    nodes = _nodes_of(reader, names)
    return nodes, _partitions_of(reader, nodes, names)


class _Given(NamedTuple):
    """A parameter of the cluster: its line, its row and its text."""

    line: Line
    row: ParameterRow
    text: str


class _Reader:
    """Reads lines one after the other.

    Args:
        needed: the keys of lines of nodes and partitions that matter; others may have any value, and all other lines
            are passed over. None: all matters.
        whole: whether the lines are all of a file, so that parameters must fit each other.

    Attributes:
        fields: the fields of the configuration, with those of its parts as dicts of their own.
        records: the lines that describe nodes and partitions, by kind.
        missed: the parameters that are not followed, each with its first line.
        gres_types: the kinds of generic resources that nodes can have; None: any.
    """

    def __init__(self, needed: frozenset[str] | None = None, *, whole: bool = False) -> None:
        self._needed, self._whole = needed, whole
        self.fields: dict[str, Any] = {}
        self.records: dict[str, list[_SiteRecord]] = {kind: [] for kind in RECORDS}
        self.missed: dict[tuple[str, str], NotFollowed] = {}
        self.gres_types: tuple[str, ...] | None = None
        self._unknown = self._records = 0
        self._defaults: dict[str, dict[str, Mapping[str, Any]]] = {kind: {} for kind in RECORDS}
        self._given: dict[str, _Given] = {}
        self._files: dict[str, int] = {}
        self._weighed: list[tuple[Line, str]] = []

    def misses(self, line: Line, name: str, reason: str = "is not followed") -> None:
        """Report a parameter that is not followed, or of which slurmctld warns."""
        found = NotFollowed(file=line.file, line=line.number, name=name, reason=reason)
        self.missed.setdefault((name, reason), found)

    def misses_at(self, key: str, reason: str) -> None:
        """The same for a parameter of the cluster that there is."""
        self.misses(self._given[key.lower()].line, key, reason)

    def in_order(self) -> tuple[NotFollowed, ...]:
        """All of them, in the order of the files and lines."""
        last = len(self._files)
        return tuple(sorted(self.missed.values(), key=lambda each: (self._files.get(each.file, last), each.line)))

    def line(self, line: Line) -> None:
        """Read a line.

        Raises:
            InputError: it cannot be read.
        """
        self._files.setdefault(line.file, len(self._files))
        pairs = pairs_of(line.text, empty=self._needed is not None)
        names = [name.lower() for name, _ in pairs]
        kind = names[0] if self._needed is None else next((name for name in names if name in RECORDS), "")
        if kind in RECORDS:
            self._record(line, kind, pairs)
        elif self._needed is None:
            if len(pairs) > 1 and not RECORDS.keys().isdisjoint(names):
                raise InputError(f"expected the name of nodes or of a partition first, got {shown(pairs[0][0])}")
            self._parameter(line, *pairs[0])
            if len(pairs) > 1:
                raise InputError(f"expected one parameter on the line, got {shown(pairs[1][0])}, too; use two lines")

    def _parameter(self, line: Line, name: str, text: str) -> None:
        row = self._row(line, CLUSTER, name, "")
        if row is None:
            return
        low = row.name.lower()
        if low in KINDS[""]:
            _within(row.name, text, KINDS[""][low])
        if low in self._given and low not in _SEVERAL:
            self.misses(line, row.name, "is given again, and Slurm takes the last value")
        self._given[low] = _Given(line, row, text)

    def finish(self) -> None:
        """Read the parameters of the cluster, of which only the last of each name counts.

        Raises:
            InputError: one of them cannot be read, or two of them do not fit; with file and line.
        """
        if self._needed is not None:
            return
        for first, second in EITHER:
            if first in self._given and second in self._given:
                given = self._given.pop(second)
                self.misses(given.line, given.row.name, f"is ignored by Slurm beside {self._given[first].row.name}")
        for given in self._given.values():
            with _At(_SiteRecord(given.line, "", {}), given.row.name):
                self._read(given)
        self.gres_types = self.fields.get("gres_types", ())
        try:
            self._check()
        except InputError as error:
            known = self._given.get((error.path or "").lower())
            if known is None or error.line is not None:
                raise
            raise InputError(error.reason, error.path, file=known.line.file, line=known.line.number) from None

    def _read(self, given: _Given) -> None:
        line, row, text = given
        if row.name == "SchedulerParameters":
            fields, missing = _within(row.name, text, options_of)
            self.fields.setdefault("scheduler", {}).update(fields)
            for option, reason in missing:
                self.misses(line, f"SchedulerParameters/{option}", reason)
            return
        for flag, reason in unknown_flags(text, FLAGS[row.name]) if row.name in FLAGS else ():
            self.misses(line, f"{row.name}/{flag}", reason)
        for field, value in self._fields(line, row, text).items():
            part, _, inner = field.rpartition(".")
            (self.fields.setdefault(part, {}) if part else self.fields)[inner] = value

    def _check(self) -> None:
        """Whether parameters fit each other."""
        fields = self.fields
        select = fields.get("select", {})  # without parameters, the other plugins have CR_Core_Memory
        if select.get("plugin", "linear") == "linear":
            if "unit" in select and self._whole:
                raise InputError("expected no CR_CPU, CR_Core or CR_Socket with select/linear", "SelectTypeParameters")
        elif "unit" not in select:
            if "selecttypeparameters" in self._given:
                reason = (
                    "expected one of CR_CPU, CR_Core and CR_Socket, or one of them with _Memory, with this SelectType"
                )
                raise InputError(reason, "SelectTypeParameters")
            select |= {"unit": "core", "counts_memory": True}
        if "maxnodecount" in self._given and select.get("plugin") != "cons_tres":
            raise InputError("expected select/cons_tres with it", "MaxNodeCount")
        shared = {"mps", "shard"}.intersection(fields.get("gres_types", ()))
        if shared and select.get("plugin") != "cons_tres":
            raise InputError(f"expected select/cons_tres with {shown(min(shared))}", "GresTypes")
        preemption = fields.get("preemption", {})
        mode, gang = preemption.get("mode", "off"), preemption.get("gang", False)
        if mode == "suspend" and not gang:
            raise InputError("expected GANG with SUSPEND, as SUSPEND,GANG", "PreemptMode")
        if preemption.get("plugin", "none") == "none":
            if mode != "off" or preemption.get("within"):
                raise InputError("expected OFF or GANG without a PreemptType", "PreemptMode")
        elif mode == "off":
            raise InputError("expected a PreemptMode such as CANCEL or REQUEUE with this PreemptType", "PreemptType")
        priority = fields.get("priority", {})
        if self._whole and priority.get("half_life") == 0 and "priorityusageresetperiod" not in self._given:
            raise InputError("expected a PriorityUsageResetPeriod, or a time above 0", "PriorityDecayHalfLife")
        self._check_jobs()

    def _check_jobs(self) -> None:
        jobs, first = self.fields.setdefault("jobs", {}), self.fields.get("jobs", {}).get("first_id", 1)
        largest = self._number("MaxJobId", _LARGEST_JOB)
        if first > min(largest, _LARGEST_JOB):
            raise InputError(f"expected a number of at most {largest:,}, which is MaxJobId", "FirstJobId")
        most = min(largest, _LARGEST_JOB) - first + 1
        if jobs.get("max_count", 10_000) > most:
            jobs["max_count"] = most
        if self._number("MaxArraySize", 0) > 4_000_001:
            self.misses_at("MaxArraySize", "is larger than 4,000,001")
        if self._number("MinJobAge", 300) < 2:
            self.misses_at("MinJobAge", "is less than 2 seconds, which Slurm takes in its place")
        if self._number("SchedulerTimeSlice", 30) < 5:
            self.misses_at("SchedulerTimeSlice", "is less than 5 seconds, and Slurm takes 30 in its place")
        if self._number("FastSchedule", 1) != 1:
            raise InputError("expected 1, as slurmctld refuses other values", "FastSchedule")
        for name, least in (("MaxStepCount", 1), ("MaxDBDMsgs", 10_000)):
            if self._number(name, least) < least:
                raise InputError(f"expected a whole number from {least:,} on", name)
        if self._number("PropagatePrioProcess", 0) > 2:
            raise InputError("expected 0, 1 or 2", "PropagatePrioProcess")
        if self._number("SlurmSchedLogLevel", 0) and "slurmschedlogfile" not in self._given:
            raise InputError("expected 0 without a SlurmSchedLogFile", "SlurmSchedLogLevel")
        if "mcsparameters" in self._given and "mcsplugin" not in self._given:
            raise InputError("expected an MCSPlugin beside it", "MCSParameters")
        if jobs.get("enforce") and not jobs.get("has_database"):
            self.misses_at("AccountingStorageEnforce", "needs AccountingStorageType=accounting_storage/slurmdbd")
        weighed = [(line, "TRESBillingWeights", resource) for line, resource in self._weighed]
        if self.fields.get("priority", {}).get("plugin") == "multifactor" and "priorityweighttres" in self._given:
            line = self._given["priorityweighttres"].line
            weighed += [(line, "PriorityWeightTRES", each) for each in self.fields["priority"]["weight_tres"]]
        for line, name, resource in weighed:
            if self._is_untracked(resource):
                reason = f"has {resource}, which is not in AccountingStorageTRES; slurmctld refuses the file"
                self.misses(line, name, reason)

    def _is_untracked(self, resource: str) -> bool:
        """Whether slurmctld has no such resource, as it is not in AccountingStorageTRES."""
        if resource.partition("/")[0] not in ("gres", "license", "bb", "interconnect"):
            return False
        given = self._given.get("accountingstoragetres")
        return given is None or resource.lower() not in [each.strip().lower() for each in given.text.split(",")]

    def is_set(self, key: str) -> bool:
        """Whether a parameter of the cluster that is YES or NO is YES."""
        given = self._given.get(key.lower())
        return given is not None and bool(KINDS[""][key.lower()](given.text))

    def _number(self, key: str, default: int) -> int:
        given = self._given.get(key.lower())
        found = default if given is None else KINDS[""][key.lower()](given.text)
        assert isinstance(found, int)
        return found

    def _record(self, line: Line, kind: str, pairs: list[tuple[str, str]]) -> None:
        place = next(place for place, (key, _) in enumerate(pairs) if key.lower() == kind)
        name, part = pairs[place][1], kind.removesuffix("name")
        own: dict[str, Mapping[str, Any]] = {}
        for key, text in (*pairs[:place], *pairs[place + 1 :]):
            low = key.lower()
            if self._needed is not None and low not in self._needed:
                continue
            row = self._row(line, RECORDS[kind], key, part)
            if row is None:
                continue
            check = KINDS.get(part, {}).get(low)
            if check is not None:
                _within(row.name, text, check)
            if low in own and self._needed is None:
                self.misses(line, row.name, "is given again, and Slurm takes the last value")
            own[low] = self._fields(line, row, text, part)
            if kind == "partitionname" and (odd := oddity(row.name, text)):
                self.misses(line, row.name, odd)
        if kind == "frontendname":
            self.misses(line, "FrontendName")
        elif name.upper() == "DEFAULT" and kind in ("nodename", "partitionname"):
            for key in ("nodeaddr", "nodehostname", "bcastaddr"):
                if key in own:
                    raise InputError("expected no address or name of a host with NodeName=DEFAULT", key)
            self._defaults[kind] |= own
        else:
            self._records += 1
            if self._records > _MOST_RECORDS:
                raise InputError(f"expected at most {_MOST_RECORDS:,} lines of nodes and partitions")
            self._warn_of(line, kind, own)
            self.records[kind].append(_SiteRecord(line, name, merged(own, self._defaults[kind])))

    def _warn_of(self, line: Line, kind: str, own: Mapping[str, Mapping[str, Any]]) -> None:
        """Report what slurmctld warns of in a line of a partition."""
        given = {**self._defaults[kind], **own}
        for first, second in EITHER if kind == "partitionname" else ():
            if first in given and second in given:
                names = RECORDS[kind][second].name, RECORDS[kind][first].name
                self.misses(line, names[0], f"is ignored by Slurm beside {names[1]}")
        weights = own.get("tresbillingweights", {}).get("billing_weights", ())
        self._weighed += [(line, resource) for resource in weights]

    def _row(self, line: Line, rows: Mapping[str, ParameterRow], name: str, part: str) -> ParameterRow | None:
        """The row of a parameter; None if no version has it. One that 22.05 does not have is reported."""
        row = rows.get(name.lower())
        if row is None and self._needed is None:
            row = named(name, rows)
        if row is None:
            self._unknown += 1
            if self._unknown > MOST_UNKNOWN:
                raise InputError(f"expected parameters of Slurm 22.05, got more than {MOST_UNKNOWN} others")
            self.misses(line, name, "is not a parameter of Slurm 22.05, whose slurmctld refuses the file")
        elif row.name.lower() in FOREIGN.get(part, ()):
            self.misses(line, row.name, "is not a parameter of Slurm 22.05, whose slurmctld refuses the file")
        return row

    def _fields(self, line: Line, row: ParameterRow, text: str, part: str = "") -> Mapping[str, Any]:
        """The fields that a parameter sets, all of the same part if it is given."""
        foreign = row.name.lower() in FOREIGN.get(part, ())
        if row.standing is ParameterStanding.MISSED and not foreign and not says_nothing(text, row.name):
            self.misses(line, row.name)
        found: Mapping[str, Any] = _within(row.name, text, row.fields_of) if row.field or row.read is not str else {}
        for each in missed_by(row.name, {f"{part}.{field}" if part else field: found[field] for field in found}):
            self.misses(line, each)
        return found


_SEVERAL: Final = frozenset(("slurmctldhost",))
"""The parameters of which a file can have several."""
_LARGEST_JOB: Final = 67_043_328
"""The largest number of a job, MaxJobId."""


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
