"""The elements of SimGrid's platform files: their names, their parents and their attributes.

The elements of this table are supported. All others are refused by name. `xml` reads the syntax, and calls back with
one `Element` at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["ELEMENTS", "SYNONYMS", "ElementKind"]


class ElementKind(NamedTuple):
    """The definition of an element.

    Args:
        parents: the elements that it may be in.
        required: the attributes that it must have.
        optional: the attributes that it may have, with their defaults.
        order: the order of the elements in it, as an automaton: for each state, from "", the elements that can come
            next, with the state that each leads to. Empty: any order.
    """

    parents: tuple[str, ...]
    required: tuple[str, ...] = ()
    optional: Mapping[str, str] = {}
    order: Mapping[str, Mapping[str, str]] = {}


_NO_PROFILES = {"speed_file": "", "availability_file": "", "state_file": ""}

_ZONES: Final = dict.fromkeys(("zone", "cluster"), "zones")
_ZONE_ROUTES: Final = dict.fromkeys(("zoneRoute", "bypassZoneRoute"), "routes between zones")
_LINKS: Final = ("link", "backbone")
_HOSTS: Final = dict.fromkeys(("host", "router", "cabinet", "host_link", *_LINKS), "hosts")
_ROUTES: Final = dict.fromkeys(("route", "bypassRoute"), "routes")

_IN_PLATFORM: Final[Mapping[str, Mapping[str, str]]] = {
    "": {"config": "", **_ZONES},
    "zones": _ZONES,
}
_IN_ZONE: Final[Mapping[str, Mapping[str, str]]] = {
    "": {"prop": "", **_ZONES, **_ZONE_ROUTES, **_HOSTS, **_ROUTES},
    "zones": {**_ZONES, **dict.fromkeys(_LINKS, "zones"), **_ZONE_ROUTES},
    "routes between zones": _ZONE_ROUTES,
    "hosts": {**_HOSTS, **_ROUTES},
    "routes": _ROUTES,
}
"""The order of SimGrid's document type: properties first, routes last. A zone that begins with a link has no zones."""

SYNONYMS: Final = {"AS": "zone", "ASroute": "zoneRoute", "bypassASroute": "bypassZoneRoute"}
"""Old names of elements."""

ELEMENTS: Final[Mapping[str, ElementKind]] = {
    "platform": ElementKind((), ("version",), {}, _IN_PLATFORM),
    "config": ElementKind(("platform",), (), {"id": ""}),
    "zone": ElementKind(("platform", "zone"), ("id", "routing"), {}, _IN_ZONE),
    "cluster": ElementKind(
        ("platform", "zone"),
        ("id", "prefix", "suffix", "radical", "speed", "bw", "lat"),
        {
            "core": "1",
            "sharing_policy": "SPLITDUPLEX",
            "topology": "FLAT",
            "topo_parameters": "",
            "bb_bw": "",
            "bb_lat": "0s",
            "bb_sharing_policy": "SHARED",
            "router_id": "",
            "limiter_link": "",
            "loopback_bw": "",
            "loopback_lat": "",
        },
    ),
    "cabinet": ElementKind(("zone",), ("id", "prefix", "suffix", "radical", "speed", "bw", "lat")),
    "host": ElementKind(("zone",), ("id", "speed"), {"core": "1", "pstate": "0", "coordinates": "", **_NO_PROFILES}),
    "disk": ElementKind(("host",), ("read_bw", "write_bw"), {"id": "/"}),
    "router": ElementKind(("zone",), ("id",), {"coordinates": ""}),
    "host_link": ElementKind(("zone",), ("id", "up", "down")),
    "link": ElementKind(
        ("zone",),
        ("id", "bandwidth"),
        {"latency": "0", "sharing_policy": "SHARED", "bandwidth_file": "", "latency_file": "", "state_file": ""},
    ),
    "backbone": ElementKind(("zone",), ("id", "bandwidth", "latency")),
    "route": ElementKind(("zone",), ("src", "dst"), {"symmetrical": "YES"}),
    "zoneRoute": ElementKind(("zone",), ("src", "dst", "gw_src", "gw_dst"), {"symmetrical": "YES"}),
    "bypassRoute": ElementKind(("zone",), ("src", "dst")),
    "bypassZoneRoute": ElementKind(("zone",), ("src", "dst", "gw_src", "gw_dst")),
    "link_ctn": ElementKind(("route", "zoneRoute", "bypassRoute", "bypassZoneRoute"), ("id",), {"direction": "NONE"}),
    "prop": ElementKind(("config", "zone", "cluster", "host", "disk", "link"), ("id", "value")),
}
