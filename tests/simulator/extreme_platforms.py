"""Platforms at random, for simulations that go to the ends: zones in zones, networks of all kinds, power states.

Batsim can run all of them: elements come in SimGrid's order, gateways are directly in their zones, hosts of zones with
the routing Vivaldi have coordinates, and a dragonfly is left only by ways that SimGrid finds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Final

__all__ = ["MadePlatform"]

_LATENCIES: Final = ("0us", "1ns", "13ns", "10us", "50us", "1ms", "0.02s", "0.1s", "1s")
_BANDWIDTHS: Final = ("1kBps", "3MBps", "10MBps", "125MBps", "1GBps", "40Gbps", "100GBps")
_SPEEDS: Final = ("1Mf", "77.7Mf", "100Mf", "500Mf", "1Gf", "3.2Gf", "1Tf")
_SWITCHES: Final = ("1f", "0.5f", "0.013f", "2f", "50f")
_WATTS: Final = ("100:100", "10:10:22", "200:230:330.5", "0:0:0", "93.25:135.25", "1.5:9.0:109.5")
_SETTINGS: Final = (
    ("network/TCP-gamma", ("0", "1e5", "4194304", "1e9")),
    ("network/loopback-bw", ("1e6", "498e6", "3e9")),
    ("network/loopback-lat", ("0", "1e-6")),
)


class MadePlatform:
    """A platform: its kind, how many hosts compute, and the zones with their gateways."""

    def __init__(self, chance: random.Random, drawn: Counter[str]) -> None:
        self.chance = chance
        self.drawn = drawn
        self.energy = chance.random() < 0.4
        self.sleeping = self.energy or chance.random() < 0.4
        self.storages = ["pfs", "nfs"][: chance.choice((0, 0, 1, 2))]
        self.roles = [(name, "storage") for name in self.storages]
        self.count = 0
        self.links: list[str] = []
        kinds = {
            "hosts with all routes": self._hosts,
            "clusters": self._clusters,
            "a graph": self._graph,
            "a topology": self._topology,
            "zones in zones": self._nested,
            "Vivaldi": self._vivaldi,
        }
        kind = chance.choice(list(kinds))
        drawn[f"platform: {kind}"] += 1
        drawn["energy"] += self.energy
        drawn["hosts that can sleep"] += self.sleeping
        drawn["storages"] += bool(self.storages)
        self.inside = kinds[kind]()

    def text(self) -> str:
        settings = "".join(
            f'<prop id="{name}" value="{self.chance.choice(values)}"/>'
            for name, values in _SETTINGS
            if self.chance.random() < 0.2
        )
        return (
            '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
            f'<platform version="4.1">\n<config>{settings}</config>\n{self.inside}</platform>\n'
        )

    def _states(self) -> tuple[str, str]:
        """The speeds of a host, and its properties."""
        chance = self.chance
        usual = [chance.choice(_SPEEDS) for _ in range(chance.choice((2, 2, 3)))]
        properties, states = "", usual
        if self.sleeping:  # all can be switched with the same numbers: 0 and 1 compute
            states = [*usual[:2], *(chance.choice(_SWITCHES) for _ in range(3))]
            properties = '<prop id="sleep_pstates" value="2:3:4"/>'
        if self.energy:
            watts = ",".join(chance.choice(_WATTS) for _ in states)
            off = chance.choice(("0", "1", "9.5"))
            properties += f'<prop id="wattage_per_state" value="{watts}"/><prop id="wattage_off" value="{off}"/>'
        return f'speed="{",".join(states)}" core="{chance.choice((1, 1, 2, 4, 16))}"', properties

    def _host(self, name: str) -> str:
        states, properties = self._states()
        begins = f' pstate="{self.chance.randrange(2)}"' if self.chance.random() < 0.4 else ""
        return f'<host id="{name}" {states}{begins}>{properties}</host>\n'

    def _link(self, name: str) -> str:
        chance = self.chance
        sharing = chance.choice(("", "", ' sharing_policy="FATPIPE"'))
        numbers = f'bandwidth="{chance.choice(_BANDWIDTHS)}" latency="{chance.choice(_LATENCIES)}"'
        return f'<link id="{name}" {numbers}{sharing}/>\n'

    def _loops(self, names: list[str]) -> Iterator[str]:
        """A FATPIPE loopback, for some of the hosts or for all."""
        chance = self.chance
        yield (
            f'<link id="loop" bandwidth="{chance.choice(_BANDWIDTHS)}" latency="{chance.choice(_LATENCIES)}" '
            'sharing_policy="FATPIPE"/>\n'
        )
        for name in names:
            if chance.random() < 0.8:
                yield f'<route src="{name}" dst="{name}"><link_ctn id="loop"/></route>\n'

    def _names(self) -> list[str]:
        self.count = self.chance.choice((2, 3, 4, 6, 10))
        return ["master_host", *(f"n{number}" for number in range(self.count)), *self.storages]

    def _hosts(self) -> str:
        """Hosts with a route for each pair."""
        chance, names = self.chance, self._names()
        lines = [self._host(name) for name in names]
        lines += [self._link(f"l{number}") for number in range(chance.randint(1, len(names)))]
        links = len(lines) - len(names)
        if chance.random() < 0.6:
            lines += self._loops(names)
        for place, name in enumerate(names):
            for other in names[place + 1 :]:
                way = chance.sample(range(links), min(links, chance.choice((1, 1, 2, 3))))
                inside = "".join(f'<link_ctn id="l{link}"/>' for link in way)
                lines.append(f'<route src="{name}" dst="{other}">{inside}</route>\n')
        return f'<zone id="z" routing="Full">\n{"".join(lines)}</zone>\n'

    def _graph(self) -> str:
        """Hosts on a tree of links, with some more."""
        chance, names = self.chance, self._names()
        lines = [self._host(name) for name in names]
        pairs = [(chance.randrange(place), place) for place in range(1, len(names))]
        for _ in range(chance.randrange(3)):
            first, second = sorted(chance.sample(range(len(names)), 2))
            if (first, second) not in pairs:
                pairs.append((first, second))
        lines += [self._link(f"l{number}") for number in range(len(pairs))]
        for number, (first, second) in enumerate(pairs):
            lines.append(f'<route src="{names[first]}" dst="{names[second]}"><link_ctn id="l{number}"/></route>\n')
        return f'<zone id="z" routing="{chance.choice(("Floyd", "Dijkstra"))}">\n{"".join(lines)}</zone>\n'

    def _cluster(self, name: str, size: int, inside: str) -> str:
        chance = self.chance
        states, properties = self._states()
        latency, sharing = chance.choice(_LATENCIES), chance.choice(("SHARED", "SPLITDUPLEX", "FATPIPE"))
        loop = (
            f' loopback_bw="{chance.choice(_BANDWIDTHS)}" loopback_lat="{chance.choice(_LATENCIES)}"'
            if chance.random() < 0.6
            else ""
        )
        self.count += size
        return (
            f'<cluster id="{name}" prefix="{name}-" suffix="" radical="0-{size - 1}" {states} '
            f'bw="{chance.choice(_BANDWIDTHS)}" lat="{latency}" sharing_policy="{sharing}"{loop}{inside}>'
            f"{properties}</cluster>\n"
        )

    def _backbone(self) -> str:
        chance = self.chance
        if chance.random() < 0.5:
            return ""
        sharing = chance.choice(("", ' bb_sharing_policy="FATPIPE"'))
        return f' bb_bw="{chance.choice(_BANDWIDTHS)}" bb_lat="{chance.choice(_LATENCIES)}"{sharing}'

    def _vivaldi(self) -> str:
        """Hosts with places, and no links."""
        place = self.chance.choice
        hosts = [
            self._host(name).replace(
                "<host ", f'<host coordinates="{place((0, 3.5, 40))} {place((-1, 0, 7))} {place((0, 0.7))}" ', 1
            )
            for name in self._names()
        ]
        return f'<zone id="z" routing="Vivaldi">\n{"".join(hosts)}</zone>\n'

    def _nested(self) -> str:
        """A zone of clusters in a zone, and one of hosts beside it."""
        chance = self.chance
        clusters = "".join(
            f'<zone id="zone_{name}" routing="Full">\n{self._cluster(name, chance.choice((1, 3)), self._backbone())}'
            "</zone>\n"
            for name in "ab"
        )
        inner = (
            f'<zone id="inner" routing="{chance.choice(("Full", "Floyd", "Dijkstra"))}">\n{clusters}{self._link("i0")}'
            '<zoneRoute src="zone_a" dst="zone_b" gw_src="a-a_router" gw_dst="b-b_router"><link_ctn id="i0"/>'
            "</zoneRoute>\n</zone>\n"
        )
        others = ["master_host", *self.storages]
        middle = f'<zone id="middle" routing="Full">\n{inner}</zone>\n'
        outer = "".join(f'<zone id="zone_{name}" routing="Full">\n{self._host(name)}</zone>\n' for name in others)
        links = "".join(self._link(f"s{number}") for number in range(len(others)))
        ends = [("middle", "a-a_router"), *((f"zone_{name}", name) for name in others)]
        routes = "".join(
            f'<zoneRoute src="{ends[one][0]}" dst="{ends[two][0]}" gw_src="{ends[one][1]}" gw_dst="{ends[two][1]}">'
            f'<link_ctn id="s{two - 1}"/></zoneRoute>\n'
            for two in range(len(ends))
            for one in range(two)
        )
        return f'<zone id="z" routing="Full">\n{middle}{outer}{links}{routes}</zone>\n'

    def _joined(self, clusters: list[tuple[str, str, str]]) -> str:
        """Clusters (their names, texts and gateways) and lone hosts, joined in a chain."""
        chance = self.chance
        zones = [
            *((f"zone_{name}", f'<zone id="zone_{name}" routing="Full">\n{text}</zone>\n', gateway)
              for name, text, gateway in clusters),
            *((f"zone_{name}", f'<zone id="zone_{name}" routing="Full">\n{self._host(name)}</zone>\n', name)
              for name in ("master_host", *self.storages)),
        ]  # fmt: skip
        lines = [text for _, text, _ in zones]
        lines += [self._link(f"s{number}") for number in range(len(zones) - 1)]
        for number in range(len(zones) - 1):
            one, other = zones[chance.randint(0, number)], zones[number + 1]
            lines.append(
                f'<zoneRoute src="{one[0]}" dst="{other[0]}" gw_src="{one[2]}" gw_dst="{other[2]}">'
                f'<link_ctn id="s{number}"/></zoneRoute>\n'
            )
        return f'<zone id="z" routing="{chance.choice(("Floyd", "Dijkstra"))}">\n{"".join(lines)}</zone>\n'

    def _clusters(self) -> str:
        names = "ab"[: self.chance.randint(1, 2)]
        sizes = [self.chance.choice((1, 2, 4, 7)) for _ in names]
        return self._joined(
            [
                (name, self._cluster(name, size, self._backbone()), f"{name}-{name}_router")
                for name, size in zip(names, sizes, strict=True)
            ]
        )

    def _topology(self) -> str:
        size, topology, parameters = self.chance.choice(
            (
                (4, "FAT_TREE", "1;4;1;1"),
                (8, "FAT_TREE", "2;2,4;1,1;3,1"),
                (8, "TORUS", "2,2,2"),
                (6, "TORUS", "2,3"),
                (8, "DRAGONFLY", "2,1;2,1;2,1;1"),
                (6, "DRAGONFLY", "3,1;1,1;2,1;1"),
            )
        )
        few = topology == "DRAGONFLY" and parameters.startswith("3")
        self.drawn[f"topology: {topology}{' with few blades' if few else ''}"] += 1
        inside = f' topology="{topology}" topo_parameters="{parameters}"'
        joined = self._joined([("t", self._cluster("t", size, inside), "t-0")])
        if few:
            self.count = 4  # the third group has a way to the master, and none leads to it: no job is executed there
        return joined
