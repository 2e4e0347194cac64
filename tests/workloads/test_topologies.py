"""Tori, fat trees and dragonflies: SimGrid's routes, and what holds for all shapes; settings in `<config>`."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import DATA, SHARED

from batprotocol.errors import InputError
from batprotocol.workloads import LOOPBACK, Link, Platform, read_platform
from batprotocol.workloads._topologies import (
    Cable,
    Dragonfly,
    DragonflyShape,
    FatTree,
    FatTreeShape,
    RankedZone,
    Torus,
    TorusShape,
    parse_shape,
)
from batprotocol.workloads.simgrid import read_configuration

WITHOUT_ENGINE = True

RECORDED = SHARED / "topologies"
ROUTES = sorted((RECORDED / "routes" if RECORDED.is_dir() else DATA / "topologies").glob("*.json.xz"))


def platform_of(routes: Path) -> Path:
    name = f"{routes.name.removesuffix('.json.xz')}.xml"
    return RECORDED / "inputs" / "platforms" / name if RECORDED.is_dir() else routes.with_name(name)


def test_the_routes_are_those_of_simgrid() -> None:
    compared, refused = 0, set()
    for path in ROUTES:
        expected = json.loads(lzma.decompress(path.read_bytes()))
        try:
            platform = read_some(platform_of(path), expected["hosts"])
        except InputError as error:
            refused.add(error.path.removeprefix("config."))
            continue
        hosts = {host.name: host for host in (platform.master, *platform.hosts)}
        links = [(each["name"], each["bandwidth"], each["latency"]) for each in expected["links"]]
        fat = [each["policy"] == "FATPIPE" for each in expected["links"]]
        for source, target, latency, numbers in expected["routes"]:
            route = platform.route(hosts[expected["hosts"][source]], hosts[expected["hosts"][target]])
            where = f"{path.name}: {expected['hosts'][source]} to {expected['hosts'][target]}"
            assert [(link.name, link.bandwidth, link.latency) for link in route.links] == [
                links[number] for number in numbers
            ], where
            assert [link.fatpipe for link in route.links] == [fat[number] for number in numbers], where
            assert route.latency == latency, where
            compared += 1
    assert not refused
    assert compared >= (100_000 if RECORDED.is_dir() else 500)


def read_some(path: Path, names: list[str]) -> Platform:
    """A platform, whichever of its hosts must be named as the master for that."""
    try:
        return read_platform(path)
    except InputError as error:
        if "exactly one master" not in error.reason:
            raise
        return read_platform(path, master=names[0])


# What holds for all shapes


def made(zone: RankedZone, ranks: int, *, limiters: bool = False) -> RankedZone:
    def connect(name: str, factor: float) -> Cable:
        return Cable(Link(f"{name}_UP", factor, 1.0), Link(f"{name}_DOWN", factor, 1.0))

    for rank in range(ranks):
        zone.add(f"h{rank}")
    for node in (*range(ranks), *zone.inner_nodes()) if limiters else ():
        zone.limiters[node] = Link(f"limiter_{node}", 1.0, 0.0)
    zone.connect(connect, 0)
    return zone


def way(zone: RankedZone, source: int, target: int) -> list[str]:
    return [link.name for link in zone.way(source, target)]


@st.composite
def ends(draw: st.DrawFn, shapes: st.SearchStrategy[Any]) -> tuple[Any, int, int]:
    shape = draw(shapes)
    assume(shape.hosts <= 300)
    rank = st.integers(0, shape.hosts - 1)
    return shape, draw(rank), draw(rank)


TORI = st.lists(st.integers(2, 7), min_size=1, max_size=4).map(lambda lengths: TorusShape(tuple(lengths)))


@given(ends(TORI))
def test_ways_in_a_torus_are_shortest_walks(drawn: tuple[TorusShape, int, int]) -> None:
    shape, source, target = drawn
    zone = made(Torus("c", None, shape), shape.hosts)
    here, distance, stride = source, 0, 1
    for length in shape.lengths:
        apart = abs(source // stride % length - target // stride % length)
        distance += min(apart, length - apart)
        stride *= length
    found = way(zone, source, target)
    assert len(found) == distance
    for name in found:
        first, last = map(int, name.removeprefix("c_link_from_").rsplit("_", 1)[0].split("_to_"))
        assert here == (first if name.endswith("UP") else last)
        here = last if name.endswith("UP") else first
    assert here == target
    limited = made(Torus("c", None, shape), shape.hosts, limiters=True)
    assert len(way(limited, source, target)) == 2 * distance + 1


@st.composite
def fat_trees(draw: st.DrawFn) -> FatTreeShape:
    levels = draw(st.integers(1, 3))
    vectors = [draw(st.lists(st.integers(1, 4), min_size=levels, max_size=levels)) for _ in range(3)]
    return FatTreeShape(*map(tuple, vectors))


@given(ends(fat_trees()), st.integers(0, 50))
def test_ways_in_a_fat_tree_go_up_and_down_once(drawn: tuple[FatTreeShape, int, int], position: int) -> None:
    shape, source, target = drawn
    zone = made(FatTree("c", None, shape, position), shape.hosts)
    found = way(zone, source, target)
    height = next(
        level
        for level in range(1, len(shape.children) + 1)
        if source // prefix(shape, level) == target // prefix(shape, level)
    )
    assert [name.rsplit("_", 1)[1] for name in found] == ["UP"] * height + ["DOWN"] * height
    here = source
    for name in found:
        low, high, _ = name.removeprefix("link_from_").split("_")[:3]
        assert here == int(low if name.endswith("UP") else high)
        here = int(high if name.endswith("UP") else low)
    assert here == target
    limited = made(FatTree("c", None, shape, position), shape.hosts, limiters=True)
    assert len(way(limited, source, target)) == 4 * height + 1


def prefix(shape: FatTreeShape, level: int) -> int:
    """How many hosts are below one switch of a level."""
    hosts = 1
    for count in shape.children[:level]:
        hosts *= count
    return hosts


@st.composite
def dragonflies(draw: st.DrawFn) -> DragonflyShape:
    blades = draw(st.integers(1, 4))
    small = st.integers(1, 4)
    return DragonflyShape(
        draw(st.integers(1, blades)), draw(small), blades, draw(small), draw(small), draw(small), draw(small)
    )


@given(ends(dragonflies()))
def test_ways_in_a_dragonfly_cross_between_groups_once(drawn: tuple[DragonflyShape, int, int]) -> None:
    shape, source, target = drawn
    zone = made(Dragonfly("c", None, shape), shape.hosts)
    found = zone.way(source, target)
    kinds = [link.name.split("_")[0] for link in found]
    group = shape.hosts // shape.groups
    assert kinds[0] == kinds[-1] == "local"
    assert kinds.count("local") == 2
    assert kinds.count("blue") == (source // group != target // group)
    assert kinds.count("green") <= 2
    assert kinds.count("black") <= 2
    factors = {"local": 1, "green": shape.green, "black": shape.black, "blue": shape.blue}
    assert all(link.bandwidth == factors[kind] for link, kind in zip(found, kinds, strict=True))
    if source // shape.nodes == target // shape.nodes:
        assert len(found) == 2
    limited = made(Dragonfly("c", None, shape), shape.hosts, limiters=True)
    assert len(way(limited, source, target)) == 2 * len(found) + 1


def test_a_dragonfly_with_few_blades_has_no_way_to_some_groups() -> None:
    """Groups 0 and 1 have a router in each chassis, group 2 has none: it has ways out, but no way in."""
    shape = DragonflyShape(3, 2, 2, 1, 1, 1, 1)
    zone = made(Dragonfly("c", None, shape), shape.hosts)
    groups = range(shape.groups)
    per_group = shape.hosts // shape.groups
    for source in groups:
        for target in groups:
            for rank in range(per_group):
                if source != target and target == 2:
                    with pytest.raises(InputError, match=r"no way from group \d to group 2: .* use 3 blades"):
                        zone.way(source * per_group + rank, target * per_group)
                else:
                    found = way(zone, source * per_group + rank, target * per_group)
                    assert sum("blue" in name for name in found) == (source != target)
    low, high = way(zone, 8, 0), way(zone, 8, 3)
    assert [name.split("_")[0] for name in low] == ["local", "blue", "black", "local"]
    assert [name.split("_")[0] for name in high] == ["local", "blue", "green", "black", "local"]


@given(ends(st.one_of(TORI, fat_trees(), dragonflies())))
def test_so_many_cables_are_made(drawn: tuple[Any, int, int]) -> None:
    shape, _, _ = drawn
    names: list[str] = []

    def connect(name: str, factor: float) -> Cable:
        names.append(name)
        link = Link(name, factor, 0.0)
        return Cable(link, link)

    zone: RankedZone
    if isinstance(shape, TorusShape):
        zone = Torus("c", None, shape)
    elif isinstance(shape, FatTreeShape):
        zone = FatTree("c", None, shape, 0)
    else:
        zone = Dragonfly("c", None, shape)
    zone.connect(connect, 0)
    assert len(names) == shape.cables == len(set(names))


# What is refused


def cluster(topology: str, parameters: str, radical: str, more: str = "") -> str:
    return (
        '<platform version="4.1"><zone id="a" routing="Full">'
        f'<cluster id="c" prefix="n" suffix="" radical="{radical}" speed="1Gf" bw="1GBps" lat="1us"'
        f' topology="{topology}" topo_parameters="{parameters}" {more}/>'
        '<zone id="m" routing="Full"><host id="master_host" speed="1Gf"/></zone></zone></platform>'
    )


@pytest.mark.parametrize(
    ("topology", "parameters", "radical", "message"),
    [
        ("TORUS", "", "0-3", "the length of a torus"),
        ("TORUS", "2,,2", "0-3", "the length of a torus"),
        ("TORUS", "2,2,", "0-3", "the length of a torus"),
        ("TORUS", "2,0", "0-3", "a number > 0, got '0'"),
        ("TORUS", "-2,-2", "0-3", "a number > 0, got '-2'"),
        ("TORUS", "2,9999999999999", "0-3", "a number > 0"),
        ("TORUS", "4,3", "0-7", "radical: the topology has 12 hosts, but the radical has numbers for 8"),
        ("TORUS", "1,1", "0", "a link 'c_link_from_0_to_0_UP' exists already"),
        ("TORUS", "1000,1000,1000", "0", "describes 3000000000 cables"),
        ("TORUS", ",".join(["1"] * 1000), "0", "at most 1000 characters"),
        ("FAT_TREE", "2;2,2;1,1", "0-3", "expected levels;children;parents;cables"),
        ("FAT_TREE", "2;2,2;1;1,1", "0-3", "expected parents of 2 levels, got those of 1"),
        ("FAT_TREE", "0;1;1;1", "0", "the number of levels"),
        ("FAT_TREE", "1;b;1;1", "0", "children of a level"),
        ("FAT_TREE", "2;2,2;1,0;1,1", "0-3", "parents of a level"),
        ("FAT_TREE", "1;2;99999999;1", "0-1", "describes 199999998 cables"),
        ("DRAGONFLY", "2,1;1,1;2,1", "0-3", "expected groups,blue"),
        ("DRAGONFLY", "2;1,1;2,1;1", "0-3", "expected groups,blue"),
        ("DRAGONFLY", "2,0;1,1;2,1;1", "0-3", "a factor of a bandwidth"),
        ("DRAGONFLY", "9,1;2,1;2,1;1", "0-35", "at most 8 groups, twice the routers of a group, got 9"),
        ("HYPERCUBE", "4", "0-15", "expected one of FLAT, TORUS, FAT_TREE, DRAGONFLY"),
    ],
)
def test_wrong_topologies_are_refused(
    read: Callable[..., Platform], topology: str, parameters: str, radical: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(cluster(topology, parameters, radical))


def test_numbers_are_read_as_far_as_they_are_numbers(read: Callable[..., Platform]) -> None:
    for parameters in (" 2, 2", "2.5,2x", "2;2,2"):
        assert len(read(cluster("TORUS", parameters, "0-11")).hosts) == 4
    assert parse_shape("TORUS", "2;2") == TorusShape((2,))


def test_a_topology_has_neither_router_nor_zone_properties(read: Callable[..., Platform]) -> None:
    text = cluster("TORUS", "2,2", "0-3").replace("/><zone", '><prop id="k" value="v"/></cluster><zone')
    assert read(text).hosts[0].zone_properties == ()
    assert ("k", "v") in read(text).hosts[0].properties
    route = '<link id="l" bandwidth="1"/><zoneRoute src="c" dst="m" gw_src="nc_router" gw_dst="master_host">'
    with pytest.raises(InputError, match="there is no host or router 'nc_router'"):
        read(text.replace("</zone></platform>", f'{route}<link_ctn id="l"/></zoneRoute></zone></platform>'))


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recordings are not there")
def test_what_batsim_refuses_is_refused() -> None:
    lines = (RECORDED / "refused" / "results.txt").read_text().splitlines()
    for name, verdict in (line.split(" | ")[:2] for line in lines):
        path = RECORDED / "refused" / f"{name}.xml"
        if verdict == "Batsim: 0" and name not in STRICTER:
            read_platform(path)
        else:
            with pytest.raises(InputError):
                read_platform(path)


STRICTER = {
    "torus-negative",  # the hosts of a grid of -2 times -2
    "torus-loopback-lat-only",  # a link without bandwidth
}
"""What is refused although Batsim reads it."""


# Settings


def test_settings_that_count(read: Callable[..., Platform]) -> None:
    def configured(settings: str) -> str:
        head, zone, rest = cluster("TORUS", "2", "0-1").partition("<zone")
        return f"{head}<config>{settings}</config>{zone}{rest}"

    plain = read(configured('<prop id="contexts/stack-size" value="128"/>'))
    assert plain.tcp_gamma == 4194304.0
    assert plain.route(plain.master, plain.master).links == (LOOPBACK,)
    other = read(
        configured(
            '<prop id="network/TCP-gamma" value="65536"/><prop id="network/loopback-bw" value="1e6"/>'
            '<prop id="network/loopback-lat" value="0.5"/>'
        )
    )
    assert other.tcp_gamma == 65536.0
    (loopback,) = other.route(other.master, other.master).links
    assert (loopback.name, loopback.bandwidth, loopback.latency, loopback.fatpipe) == ("__loopback__", 1e6, 0.5, True)
    with pytest.raises(InputError, match=r"config\.cpu/model: the configuration 'cpu/model' is not supported"):
        read(configured('<prop id="cpu/model" value="Cas01"/>'))
    with pytest.raises(InputError, match="<config> is not allowed after the zones in <platform>"):
        read(cluster("TORUS", "2", "0-1").replace("</platform>", "<config/></platform>"))


def test_a_gamma_of_0_is_taken() -> None:
    assert read_configuration([("network/TCP-gamma", "0")]).tcp_gamma == 0.0


def test_precision_has_two_names() -> None:
    for timing, amount in (("precision/timing", "precision/work-amount"), ("surf/precision", "maxmin/precision")):
        configuration = read_configuration([(timing, "1e-6"), (amount, "1e-3")])
        assert (configuration.timing, configuration.work_amount) == (1e-6, 1e-3)
    with pytest.raises(InputError, match="> 0"):
        read_configuration([("precision/timing", "0")])


def test_limits() -> None:
    limits = [("3", 3), ("-1", 0), ("-7", 0)]
    assert [read_configuration([("maxmin/concurrency-limit", text)]).concurrency_limit for text, _ in limits] == [
        limit for _, limit in limits
    ]
    for text in ("0", "x", "1.5", ""):
        with pytest.raises(InputError, match="maxmin/concurrency-limit: expected a whole number > 0"):
            read_configuration([("maxmin/concurrency-limit", text)])


def test_of_two_settings_the_first_counts() -> None:
    assert read_configuration([("network/TCP-gamma", "1"), ("network/TCP-gamma", "2")]).tcp_gamma == 1.0


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "x", "", "1" * 200, "1_0"])
@pytest.mark.parametrize(
    "name",
    [
        "network/TCP-gamma",
        "precision/timing",
        "precision/work-amount",
        "network/loopback-bw",
        "network/loopback-lat",
        "help",
    ],
)
def test_wrong_settings_are_refused(name: str, value: str) -> None:
    with pytest.raises(InputError, match=name):
        read_configuration([(name, value)])


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recordings are not there")
def test_settings_are_taken_as_batsim_takes_them() -> None:
    """Those that make Batsim abort are refused. Precision and limits changed nothing there."""
    for line in (RECORDED / "config" / "results.txt").read_text().splitlines():
        setting, _, verdict = line.partition(": rc ")
        name, _, value = setting.rpartition(" = ")
        try:
            configuration = read_configuration([(name, value)])
        except InputError:
            assert not verdict.startswith("0"), line
            continue
        assert verdict.startswith("0"), line
        if not name.startswith(("precision/", "maxmin/")):
            assert (configuration != read_configuration([])) == verdict.startswith("0, DIFFERENT"), line
