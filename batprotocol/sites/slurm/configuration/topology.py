"""The switches of a topology.conf: a tree with nodes at its leaves."""

from __future__ import annotations

from collections.abc import Collection
from graphlib import CycleError, TopologicalSorter
from typing import Final

from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.configuration.values import Switch
from batprotocol.sites.slurm.lines import Names, lines_of, pairs_of

__all__ = ["switches_of"]

_KEYS: Final = ("switchname", "nodes", "switches", "linkspeed")


def switches_of(text: str, nodes: Collection[str] = (), *, file: str = "topology.conf") -> tuple[Switch, ...]:
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
    names, known = Names(), dict.fromkeys(nodes)
    switches: dict[str, Switch] = {}
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


def _switch(line: str, names: Names, known: Collection[str]) -> Switch:
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
    return Switch(name=name, nodes=tuple(nodes), switches=tuple(below))
