"""SimGrid's platform files (version 4.1): XML in, a `Platform` out.

It supports zones with the routings Full, Floyd, Dijkstra, DijkstraCache, Cluster, Vivaldi and None, clusters of all
topologies, cabinets, hosts, routers, links, backbones, routes and bypasses, and known configurations. Disks and other
coordinates are accepted and have no effect, as in Batsim. All other features are refused by name: profiles of
availability over time, other configurations, other zones...
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import BinaryIO, Final, NamedTuple, TypeVar

from batprotocol.errors import InputError, shown
from batprotocol.workloads._topologies import (
    TOPOLOGIES,
    Cable,
    Connect,
    Dragonfly,
    DragonflyShape,
    FatTree,
    FatTreeShape,
    RankedZone,
    Torus,
    parse_shape,
)
from batprotocol.workloads._xml import ELEMENTS, SYNONYMS, Element, read_elements
from batprotocol.workloads.described import read_described
from batprotocol.workloads.network import (
    ClusterZone,
    DijkstraZone,
    FloydZone,
    FullZone,
    Link,
    LocalRoute,
    VivaldiZone,
    Zone,
    ZoneMember,
)
from batprotocol.workloads.platform import DEFAULT_MASTER, HOST_LIMIT, DescribedHost, Platform, made_platform
from batprotocol.workloads.simgrid import (
    PlatformConfiguration,
    parse_bandwidth,
    parse_coordinates,
    parse_integer,
    parse_ranges,
    parse_speed,
    parse_time,
    read_configuration,
)

__all__ = ["platform_xml", "read_platform"]

_logger = logging.getLogger("batprotocol.simulator")

_ZONES: dict[str, Callable[[str, Zone | None], Zone]] = {
    "full": FullZone,
    "floyd": FloydZone,
    "dijkstra": DijkstraZone,
    "dijkstracache": DijkstraZone,
    "cluster": ClusterZone,
    "none": Zone,
    "vivaldi": VivaldiZone,
}
_VERSIONS = {"4": 4.0, "4.0": 4.0, "4.1": 4.1}


def read_platform(
    path: str | os.PathLike[str],
    *,
    roles: Sequence[tuple[str, str]] = (),
    master: str = DEFAULT_MASTER,
    mmax: int | None = None,
    energy: bool = False,
    host_limit: int = HOST_LIMIT,
) -> Platform:
    """Read a SimGrid platform file, or a file `.txt` with the lines of `described_platform`.

    Args:
        path: the file.
        roles: (host, role) pairs, Batsim's option `-r`.
        master: the host that becomes the master, Batsim's option `-m`.
        mmax: the number of computation hosts to keep, Batsim's option `--mmax`.
        energy: whether energy will be measured (`--energy-host`). Every host must then declare its watts.
        host_limit: the maximum number of hosts: a short file can describe more hosts than fit into memory.

    Raises:
        InputError: the file is not a platform, or has unsupported content; the error names file, line and element.
        OSError: the file cannot be read.
    """
    filename = os.fspath(path)
    with open(path, "rb") as stream:
        if filename.endswith(".txt"):
            if roles or master != DEFAULT_MASTER:
                raise InputError("described hosts have no roles and no other master: use a file in XML", file=filename)
            return read_described(stream, mmax=mmax, energy=energy, host_limit=host_limit, filename=filename)
        described = read_platform_description(stream, filename, host_limit)
    return made_platform(
        described.hosts,
        roles=roles,
        master=master,
        mmax=mmax,
        energy=energy,
        configuration=described.configuration,
        filename=filename,
    )


class PlatformDescription(NamedTuple):
    """The content of a platform file: hosts, each in its place in the network, and settings."""

    hosts: list[DescribedHost]
    configuration: PlatformConfiguration


def read_platform_description(
    stream: BinaryIO, filename: str = "", host_limit: int = HOST_LIMIT
) -> PlatformDescription:
    """Read the content of a platform file, before hosts get roles and numbers."""
    reader = _PlatformReader(host_limit)
    unitless = _Unitless()
    element: Element | None = None

    def begin(each: Element) -> None:
        nonlocal element
        element = each
        unitless.look(each)
        reader.begin(each)

    def end(each: Element) -> None:
        nonlocal element
        element = each
        reader.end(each)

    try:
        read_elements(stream, ELEMENTS, SYNONYMS, begin=begin, end=end, filename=filename)
    except InputError as error:
        if error.file or element is None:
            raise
        place, line = error.path, error.line
        if line is None:
            place, line = ".".join(filter(None, (element.place, place))), element.line
        raise InputError(error.reason, place, file=filename, line=line) from None
    unitless.warn(filename)
    return PlatformDescription(reader.hosts, reader.configuration)


_UNITS: Final = {
    "speed": "f",
    **dict.fromkeys(("bandwidth", "bw", "loopback_bw", "bb_bw", "limiter_link"), "Bps"),
    **dict.fromkeys(("latency", "lat", "loopback_lat", "bb_lat"), "s"),
}
"""The attributes with units, and the unit of a number without one."""


class _Unitless:
    """Counts the numbers without units that SimGrid warns of: all but 0, and warns of them, too."""

    def __init__(self) -> None:
        self._first = ""
        self._count = 0

    def look(self, element: Element) -> None:
        for name in element.attributes.keys() & _UNITS.keys():
            for text in map(str.strip, element.attributes[name].split(",")):
                if text[-1:] in tuple("0123456789.") and text.strip("0.+-"):
                    self._count += 1
                    counts = f"{shown(text)} has no unit, and counts as {text}{_UNITS[name]}"
                    self._first = self._first or f"line {element.line}: {element.place}.{name}: {counts}"

    def warn(self, filename: str) -> None:
        if self._count:
            others = f" (and {self._count - 1} more)" if self._count > 1 else ""
            _logger.warning("%s: %s%s; SimGrid warns of it: write the unit", filename, self._first, others)


class _Hop(NamedTuple):
    """A link of a route, in both directions."""

    forth: Link
    back: Link


class _PlatformReader:
    """The content that was read so far: names, links, and the open zone."""

    def __init__(self, host_limit: int) -> None:
        self.host_limit = host_limit
        self.hosts: list[DescribedHost] = []
        self.zone: Zone | None = None
        self.root: Zone | None = None
        self.members: dict[str, ZoneMember] = {}
        self.links: dict[str, Link] = {}
        self.duplex: dict[str, _Hop] = {}
        self.hops: list[_Hop] = []
        self.delayed: dict[Zone, list[Element]] = {}
        self.settings: list[tuple[str, str]] = []
        self.configuration = PlatformConfiguration()
        self.cables: dict[type[RankedZone], int] = {}
        self.leaves = 0

    # Every element has at most one method for its begin and one for its end, named after it.

    def begin(self, element: Element) -> None:
        act = getattr(self, f"begin_{element.tag}", None)
        if act is not None:
            act(element)

    def end(self, element: Element) -> None:
        act = getattr(self, f"end_{element.tag}", None)
        if act is not None:
            act(element)

    def begin_platform(self, element: Element) -> None:
        if element["version"].strip() not in _VERSIONS:
            raise InputError(
                f"version {shown(element['version'])} of platform files is not supported; use 4.1", "version"
            )

    def end_platform(self, element: Element) -> None:
        if self.root is None:
            raise InputError("the platform is empty: add a zone or a cluster")

    def end_config(self, element: Element) -> None:
        self.settings += element.properties.items()
        self.configuration = read_configuration(self.settings)

    def begin_zone(self, element: Element) -> None:
        made = _ZONES.get(element["routing"].lower())
        if made is None:
            raise InputError(f"the routing {shown(element['routing'])} is not supported", "routing")
        self._open(made, element["id"])

    def end_zone(self, element: Element) -> None:
        assert self.zone is not None
        self.zone.properties.update(element.properties)
        if isinstance(self.zone, ClusterZone):
            self._populate(self.zone)
        self.zone = self.zone.parent

    def _open(self, made: Callable[[str, Zone | None], Zone], name: str) -> Zone:
        return self._enter(made(name, self.zone))

    def _enter(self, zone: Zone) -> Zone:
        """Begin a zone in the open one."""
        if self.zone is None and self.root is not None:
            raise InputError("expected one outermost zone, but this is a second one; put both into one zone")
        self.zone = zone
        if self.root is None:
            self.root = zone
            zone.default_loopback = self.configuration.loopback
        if zone.parent is not None and len(zone.parent.members) > 1 and not zone.parent.members[0].is_zone:
            raise InputError(f"the zone {shown(zone.parent.name)} has hosts or routers, so it cannot contain a zone")
        self._name(zone.member)
        return zone

    def _name(self, member: ZoneMember) -> None:
        if member.name in self.members:
            raise InputError(f"the name {shown(member.name)} is in use; choose another one", "id")
        self.members[member.name] = member

    def _member(self, name: str) -> ZoneMember:
        assert self.zone is not None
        if self.zone.has_zones:
            raise InputError(f"the zone {shown(self.zone.name)} contains zones, so it cannot have hosts or routers")
        member = self.zone.add(name)
        self._name(member)
        return member

    def _host(self, element: Element, name: str, properties: dict[str, str]) -> ZoneMember:
        if len(self.hosts) >= self.host_limit:
            raise InputError(f"there are more than {self.host_limit} hosts; raise the limit (--host-limit, host_limit)")
        member = self._member(name)
        speeds = tuple(_parsed(element, "speed", parse_speed, text=part) for part in element["speed"].split(","))
        cores = _parsed(element, "core", parse_integer) if "core" in element.attributes else 1
        pstate = _parsed(element, "pstate", parse_integer) if "pstate" in element.attributes else 0
        self._place(member, element)
        self.hosts.append(DescribedHost(name, speeds, cores, pstate, properties, member, element.line))
        return member

    def end_host(self, element: Element) -> None:
        _refuse_profiles(element)
        self._host(element, element["id"], element.properties)

    def begin_router(self, element: Element) -> None:
        self._place(self._member(element["id"]), element)

    def _place(self, member: ZoneMember, element: Element) -> None:
        """Set the place of a host or router, which is only used in zones with the routing Vivaldi."""
        if isinstance(self.zone, VivaldiZone) and element.attributes.get("coordinates"):
            self.zone.places[member] = _parsed(element, "coordinates", parse_coordinates)

    def _add_link(self, element: Element, name: str, bandwidth: float, latency: float, policy: str = "SHARED") -> _Hop:
        if not bandwidth > 0:
            raise InputError(f"the bandwidth of the link {shown(name)} must be > 0")
        names = [f"{name}_UP", f"{name}_DOWN"] if policy in ("SPLITDUPLEX", "FULLDUPLEX") else [name]
        made = [Link(each, bandwidth, latency, policy == "FATPIPE") for each in names]
        for link in made:
            if link.name in self.links:
                raise InputError(f"a link {shown(link.name)} exists already; choose another name", "id")
            self.links[link.name] = link
        hop = _Hop(made[0], made[-1])
        if len(made) > 1:
            self.duplex[name] = hop
        return hop

    def end_link(self, element: Element) -> None:
        _refuse_profiles(element)
        policy = _chosen(element, "sharing_policy", "SHARED", "SPLITDUPLEX", "FULLDUPLEX", "FATPIPE")
        bandwidth = _parsed(element, "bandwidth", parse_bandwidth)
        self._add_link(element, element["id"], bandwidth, _parsed(element, "latency", parse_time), policy)

    def begin_link_ctn(self, element: Element) -> None:
        name, direction = element["id"], _chosen(element, "direction", "NONE", "UP", "DOWN")
        if direction == "NONE":
            link = self.links.get(name)
            if link is None:
                hint = "; for a link with two directions, use UP or DOWN" if name in self.duplex else ""
                raise InputError(f"there is no link {shown(name)} before this line{hint}", "id")
            self.hops.append(_Hop(link, link))
            return
        hop = self.duplex.get(name)
        if hop is None:
            raise InputError(f"there is no link {shown(name)} with two directions before this line", "id")
        self.hops.append(hop if direction == "UP" else _Hop(hop.back, hop.forth))

    def end_route(self, element: Element) -> None:
        self._route(element, symmetrical=_chosen(element, "symmetrical", "YES", "NO", "yes", "no") in ("YES", "yes"))

    end_zoneRoute = end_route  # noqa: N815 - the methods are named after the elements

    def end_bypassRoute(self, element: Element) -> None:  # noqa: N802
        source, target, there, _ = self._ends(element)
        assert self.zone is not None
        if self.zone.bypasses.setdefault((source, target), there) is not there:
            raise InputError("there is already a bypass between these members")

    end_bypassZoneRoute = end_bypassRoute  # noqa: N815

    def _route(self, element: Element, *, symmetrical: bool) -> None:
        source, target, there, back = self._ends(element)
        zone = self.zone
        assert zone is not None
        if isinstance(zone, ClusterZone) and source is not target:
            raise InputError("in a zone with the routing Cluster, routes lead only from hosts to themselves")
        if not zone.add_route(source, target, there):
            if type(zone) is Zone:
                raise InputError("a zone with the routing None cannot have routes")
            raise InputError("there is already such a route; routes lead both ways unless symmetrical is NO")
        if symmetrical and source is not target and not zone.add_route(target, source, back):
            raise InputError("there is already a route back; routes lead both ways unless symmetrical is NO")

    def _ends(self, element: Element) -> tuple[ZoneMember, ZoneMember, LocalRoute, LocalRoute]:
        """The ends of a route, and the route in both directions."""
        source, target = self._end(element, "src"), self._end(element, "dst")
        gateways = self._gateway(element, "gw_src", source), self._gateway(element, "gw_dst", target)
        hops, self.hops = self.hops, []
        if not hops:
            raise InputError("the route is empty: add at least one link_ctn")
        there = LocalRoute(tuple(hop.forth for hop in hops), *gateways)
        back = LocalRoute(tuple(hop.back for hop in reversed(hops)), *gateways[::-1])
        return source, target, there, back

    def _end(self, element: Element, attribute: str) -> ZoneMember:
        found = self.members.get(element[attribute])
        if found is None or found.zone is not self.zone:
            where = self.zone.name if self.zone is not None else ""
            raise InputError(f"there is no {shown(element[attribute])} directly in the zone {shown(where)}", attribute)
        between_zones = "gw_src" in element.attributes
        if found.is_zone is not between_zones:
            kinds = "zones" if between_zones else "hosts and routers"
            raise InputError(f"<{element.tag}> connects {kinds}, but {shown(found.name)} is not one of them", attribute)
        return found

    def _gateway(self, element: Element, attribute: str, end: ZoneMember) -> ZoneMember | None:
        if attribute not in element.attributes:
            return None
        found = self.members.get(element[attribute])
        around = found.zone if found is not None else None
        while around is not None and around.member is not end:
            around = around.parent
        if found is None or found.is_zone or around is None:
            raise InputError(f"there is no host or router {shown(element[attribute])} in {shown(end.name)}", attribute)
        if found.zone is not None and found.zone.member is not end:
            _logger.warning(
                "line %d: the gateway %s of %s is in a zone inside it: SimGrid crashes on some of these routes; "
                "use a host or router that is directly in the zone",
                element.line,
                shown(found.name),
                shown(end.name),
            )
        return found

    def end_cluster(self, element: Element) -> None:
        policy = _chosen(element, "sharing_policy", "SHARED", "SPLITDUPLEX", "FULLDUPLEX", "FATPIPE")
        if policy == "FATPIPE":
            policy = "SHARED"  # as SimGrid treats it
        bandwidth, latency = _parsed(element, "bw", parse_bandwidth), _parsed(element, "lat", parse_time)

        def connect(name: str, factor: float = 1.0) -> _Hop:
            return self._add_link(element, name, bandwidth * factor, latency, policy)

        if _chosen(element, "topology", "FLAT", *TOPOLOGIES) == "FLAT":
            self._flat_cluster(element, connect)
        else:
            self._ranked_cluster(element, lambda name, factor: Cable(*connect(name, factor)))
        assert self.zone is not None
        self.zone = self.zone.parent

    def _cluster_host(self, element: Element, number: int) -> tuple[ZoneMember, Link | None]:
        """A host of a cluster, and its loopback, if the cluster has loopbacks."""
        host = self._host(element, f"{element['prefix']}{number}{element['suffix']}", element.properties)
        loop = _optional(element, "loopback_bw", parse_bandwidth), _optional(element, "loopback_lat", parse_time)
        if not any(loop):
            return host, None
        assert self.zone is not None
        return host, self._add_link(element, f"{self.zone.name}_link_{number}_loopback", *loop, "FATPIPE").forth

    def _flat_cluster(self, element: Element, connect: Callable[[str], _Hop]) -> None:
        """A cluster in which each host has a link of its own."""
        zone = self._open(ClusterZone, element["id"])
        assert isinstance(zone, ClusterZone)
        zone.properties.update(element.properties)
        backbone: tuple[Link, ...] = ()
        bb_bw, bb_lat = _optional(element, "bb_bw", parse_bandwidth), _optional(element, "bb_lat", parse_time)
        if bb_bw or bb_lat:
            shared = _chosen(element, "bb_sharing_policy", "SHARED", "FATPIPE")
            backbone = (self._add_link(element, f"{zone.name}_backbone", bb_bw, bb_lat, shared).forth,)
        limit = _optional(element, "limiter_link", parse_bandwidth)
        for number in _parsed(element, "radical", lambda text: parse_ranges(text, self.host_limit)):
            host, loopback = self._cluster_host(element, number)
            name = f"{zone.name}_link_{number}"
            if loopback is not None:
                zone.loopback[host] = LocalRoute((loopback,))
            limiter = (self._add_link(element, f"{name}_limiter", limit, 0.0).forth,) if limit else ()
            link = connect(name)
            zone.up[host] = (*limiter, link.forth, *backbone)
            zone.down[host] = (*backbone, link.back, *limiter)
        self._member(element["router_id"] or f"{element['prefix']}{zone.name}_router{element['suffix']}")

    def _ranked_cluster(self, element: Element, connect: Connect) -> None:
        """A cluster with a topology of its own. It has no router, and its zone no properties."""
        shape = _parsed(element, "topo_parameters", lambda text: parse_shape(element["topology"], text))
        numbers = _parsed(element, "radical", lambda text: parse_ranges(text, self.host_limit))
        if len(numbers) < shape.hosts:
            raise InputError(
                f"the topology has {shape.hosts} hosts, but the radical has numbers for {len(numbers)}", "radical"
            )
        zone: RankedZone
        if isinstance(shape, FatTreeShape):
            before, self.leaves = self.leaves, self.leaves + shape.hosts
            zone = FatTree(element["id"], self.zone, shape, before)
        elif isinstance(shape, DragonflyShape):
            zone = Dragonfly(element["id"], self.zone, shape)
        else:
            zone = Torus(element["id"], self.zone, shape)
        self._enter(zone)
        for rank, number in enumerate(numbers[: shape.hosts]):
            loopback = self._cluster_host(element, number)[1]
            if loopback is not None:
                zone.loopbacks[rank] = loopback
        limit = _optional(element, "limiter_link", parse_bandwidth)
        for node in (*range(shape.hosts), *zone.inner_nodes()) if limit else ():
            zone.limiters[node] = self._add_link(element, f"{zone.name}_link_{node}_limiter", limit, 0.0).forth
        # The cables of all fat trees are numbered together, and so are those of all dragonflies.
        first = self.cables.get(type(zone), 0)
        self.cables[type(zone)] = first + shape.cables
        zone.connect(connect, first)

    def _delay(self, element: Element) -> None:
        assert self.zone is not None
        if not isinstance(self.zone, ClusterZone):
            raise InputError(f"<{element.tag}> is only supported in zones with the routing Cluster")
        self.delayed.setdefault(self.zone, []).append(element)

    end_cabinet = end_host_link = end_backbone = _delay

    def _populate(self, zone: ClusterZone) -> None:
        """Connect the hosts of a zone with the routing Cluster, after the whole zone has been read."""
        elements = self.delayed.pop(zone, [])
        backbone: tuple[Link, ...] = ()
        for element in elements:
            if element.tag == "backbone":
                if backbone:
                    raise _at(element, "there is already a backbone")
                speed, latency = _parsed(element, "bandwidth", parse_bandwidth), _parsed(element, "latency", parse_time)
                backbone = (self._add_link(element, element["id"], speed, latency).forth,)
        for element in elements:
            if element.tag == "host_link":
                self._host_link(zone, element, backbone)
            elif element.tag == "cabinet":
                bandwidth, latency = _parsed(element, "bw", parse_bandwidth), _parsed(element, "lat", parse_time)
                for number in _parsed(element, "radical", lambda text: parse_ranges(text, self.host_limit)):
                    name = f"{element['prefix']}{number}{element['suffix']}"
                    host = self._host(element, name, {})
                    link = self._add_link(element, f"link_{name}", bandwidth, latency, "SPLITDUPLEX")
                    zone.up[host], zone.down[host] = (link.forth, *backbone), (*backbone, link.back)

    def _host_link(self, zone: ClusterZone, element: Element, backbone: tuple[Link, ...]) -> None:
        host = self.members.get(element["id"])
        if host is None or host.zone is not zone:
            raise _at(element, f"there is no host {shown(element['id'])} in the zone {shown(zone.name)}", "id")
        for attribute in ("up", "down"):
            if element[attribute] not in self.links:
                raise _at(element, f"there is no link {shown(element[attribute])}", attribute)
        zone.up[host] = (self.links[element["up"]], *backbone)
        zone.down[host] = (*backbone, self.links[element["down"]])


def _at(element: Element, reason: str, attribute: str = "") -> InputError:
    return InputError(reason, ".".join(filter(None, (element.place, attribute))), line=element.line)


def _refuse_profiles(element: Element) -> None:
    for name, value in element.attributes.items():
        if name.endswith("_file") and value:
            raise InputError("availability, speed, bandwidth or latency over time are not supported", name)


def _chosen(element: Element, attribute: str, *words: str) -> str:
    if element[attribute] not in words:
        raise InputError(f"expected one of {', '.join(words)}, got {shown(element[attribute])}", attribute)
    return element[attribute]


_T = TypeVar("_T")


def _parsed(element: Element, attribute: str, parse: Callable[[str], _T], *, text: str | None = None) -> _T:
    try:
        return parse(element[attribute] if text is None else text)
    except InputError as error:
        raise _at(element, error.reason, attribute) from None


def _optional(element: Element, attribute: str, parse: Callable[[str], float]) -> float:
    return _parsed(element, attribute, parse) if element[attribute] else 0.0


# Writing


_ENDLESS: Final = Link("", sys.float_info.max, 0.0)
"""The link of hosts without a network, because SimGrid needs a route: a message takes 5.6e-309 s."""


def platform_xml(platform: Platform) -> str:
    """A platform of `Platform.homogeneous` or `described_platform` as SimGrid's XML, with the properties of hosts.

    Raises:
        InputError: its hosts have different speeds, or it was read from a file; use that file instead.
    """
    hosts = platform.hosts
    if not hosts or platform.filename or any(host.speeds != hosts[0].speeds for host in hosts):
        reason = "only platforms of hosts with equal speeds can be written; use the file of this platform"
        raise InputError(reason, file=platform.filename)
    lines = []
    for host in (platform.master, *hosts):
        name, speeds = escape(host.name), ",".join(f"{speed!r}f" for speed in host.speeds)
        links = platform.route(host, platform.master if host is not platform.master else hosts[0]).links
        link = links[0] if links else _ENDLESS
        amounts = f'bandwidth="{link.bandwidth!r}Bps" latency="{link.latency!r}s"'
        lines += [
            f'<host id="{name}" speed="{speeds}" core="{host.cores}"' + _properties(host.properties),
            f'<link id="{name}_link" {amounts} sharing_policy="SPLITDUPLEX"/>',
            f'<host_link id="{name}" up="{name}_link_UP" down="{name}_link_DOWN"/>',
        ]
    inside = "\n    ".join(lines)
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        f'  <zone id="cluster" routing="Cluster">\n    {inside}\n  </zone>\n</platform>\n'
    )


def _properties(properties: Iterable[tuple[str, str]]) -> str:
    """The end of the element of a host, with its properties in it."""
    lines = [f'<prop id="{escape(key)}" value="{escape(value)}"/>' for key, value in properties]
    return f">{''.join(lines)}</host>" if lines else "/>"
