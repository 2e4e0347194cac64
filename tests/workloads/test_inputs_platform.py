"""Platform files: what they mean, and how wrong ones are refused."""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import math
import pickle
from pathlib import Path

import pytest
from documents import Sketch, sketches
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.testing import simulations
from batprotocol.workloads import (
    EXAMPLE_PLATFORM,
    LOOPBACK,
    NO_ROUTE,
    Platform,
    Role,
    Route,
    SleepPState,
    Watts,
    described_platform,
    platform_xml,
    read_platform,
)
from batprotocol.workloads.platform import HOST_LIMIT, made_platform, natural_order
from batprotocol.workloads.platform_files import read_platform_description

WITHOUT_ENGINE = True

HOST = '<host id="master_host" speed="1Gf"/><host id="n1" speed="100Mf"/>'
LINK = '<link id="l" bandwidth="1"/>'
ROUTE = '\n<route src="n1" dst="master_host"><link_ctn id="l"/></route>'


def zone(inner: str, routing: str = "Full") -> str:
    return f'<platform version="4.1"><zone id="z" routing="{routing}">{inner}</zone></platform>'


def with_property(key: str, value: str) -> str:
    return zone(HOST + f'\n<host id="a" speed="1f"><prop id="{key}" value="{value}"/></host>')


def with_cluster(radical: str, more: str = "") -> str:
    return zone(f'\n<cluster id="c" prefix="" suffix="" radical="{radical}" speed="1" bw="1" lat="1" {more}/>')


def names(route: Route) -> list[str]:
    return [link.name for link in route.links]


# What files mean


def read_sketch(tmp_path_factory: pytest.TempPathFactory, sketch: Sketch) -> Platform:
    path = tmp_path_factory.mktemp("platform") / "platform.xml"
    path.write_text(sketch.text)
    return read_platform(path)


def shortest(sketch: Sketch, source: str, target: str) -> float:
    """The fewest links between two hosts, by brute force."""
    costs = {source: 0.0}
    for _ in range(len(sketch.hosts) + 1):
        for (first, last), way in sketch.routes.items():
            costs[last] = min(costs.get(last, math.inf), costs.get(first, math.inf) + len(way))
    return costs.get(target, math.inf)


def is_walk(sketch: Sketch, source: str, target: str, links: list[str]) -> bool:
    """Whether these links lead from one host to the other along routes between neighbours."""
    reached = {(source, 0)}
    waiting = [(source, 0)]
    while waiting:
        host, used = waiting.pop()
        for (first, last), way in sketch.routes.items():
            step = (last, used + len(way))
            if first == host and links[used : used + len(way)] == way and step not in reached:
                reached.add(step)
                waiting.append(step)
    return (target, len(links)) in reached


@given(sketches())
def test_files_of_one_zone_mean_what_they_say(tmp_path_factory: pytest.TempPathFactory, sketch: Sketch) -> None:
    platform = read_sketch(tmp_path_factory, sketch)
    ordered = sorted(sketch.hosts, key=lambda host: int(host[0][1:]))
    assert [(host.name, host.speeds, host.cores) for host in platform.hosts] == [
        (name, (pytest.approx(speed),), cores) for name, speed, cores in ordered
    ]
    assert platform.master.role is Role.MASTER
    for source, target in itertools.product((platform.master, *platform.hosts), repeat=2):
        route = platform.route(source, target)
        for link in route.links:
            assert link is LOOPBACK or (link.latency, link.bandwidth) == pytest.approx(sketch.links[link.name])
        assert route.latency == pytest.approx(sum(link.latency for link in route.links))
        if sketch.routing == "None":
            assert route.links == ()
        elif source is target:
            given = sketch.routes.get((source.name, source.name))
            assert names(route) == (given or [LOOPBACK.name])
        elif sketch.routing == "Full":
            assert names(route) == sketch.routes.get((source.name, target.name), [])
        else:
            fewest = shortest(sketch, source.name, target.name)
            assert (route is NO_ROUTE) == math.isinf(fewest)
            if route.links:
                assert len(route.links) == fewest
                assert is_walk(sketch, source.name, target.name, names(route))


def test_clusters_lead_up_over_the_backbone_and_down(read) -> None:
    cluster = (
        '<cluster id="c" prefix="n" suffix=".x" radical="0-2,7" speed="2Gf,1Gf" core="3" bw="1GBps" lat="5us"'
        ' bb_bw="3GBps" bb_lat="3us" limiter_link="2GBps"><prop id="k" value="v"/></cluster>'
        '<cluster id="m" prefix="m" suffix="" radical="0" speed="1f" bw="1GBps" lat="1us" sharing_policy="SHARED"'
        ' loopback_bw="8GBps" loopback_lat="1ns"><prop id="role" value="master"/></cluster>'
        '<link id="between" bandwidth="1kBps" latency="1s" sharing_policy="FATPIPE"/>'
        '<zoneRoute src="c" dst="m" gw_src="nc_router.x" gw_dst="mm_router"><link_ctn id="between"/></zoneRoute>'
    )
    platform = read(zone(cluster))
    first, second = platform.hosts[:2]
    assert [host.name for host in platform.hosts] == ["n0.x", "n1.x", "n2.x", "n7.x"]
    assert (first.speeds, first.cores, first.properties) == ((2e9, 1e9), 3, (("k", "v"),))
    assert first.zone_properties == (("k", "v"),)
    assert names(platform.route(first, second)) == [
        "c_link_0_limiter", "c_link_0_UP", "c_backbone", "c_link_1_DOWN", "c_link_1_limiter",
    ]  # fmt: skip
    assert names(platform.route(first, first)) == ["c_link_0_limiter", "c_link_0_UP", "c_backbone", "c_link_0_DOWN"]
    assert names(platform.route(platform.master, platform.master)) == ["m_link_0_loopback"]
    to_master = ["c_link_0_limiter", "c_link_0_UP", "c_backbone", "between", "m_link_0"]
    assert names(platform.route(first, platform.master)) == to_master
    assert names(platform.route(platform.master, first)) == [
        "m_link_0", "between", "c_backbone", "c_link_0_DOWN", "c_link_0_limiter",
    ]  # fmt: skip
    assert platform.message_cost(first) == pytest.approx(1 + 9e-6 + 1e-3)
    assert platform.route(first, platform.master).links[3].fatpipe


def test_zones_inside_zones_meet_at_their_gateways_and_bypasses_go_first(read) -> None:
    def leaf(name: str) -> str:
        return (
            f'<zone id="{name}" routing="Full"><prop id="of" value="{name}"/><host id="h{name}" speed="1f"/>'
            f'<router id="r{name}"/><link id="l{name}" bandwidth="1Bps" latency="1s"/>'
            f'<route src="h{name}" dst="r{name}"><link_ctn id="l{name}"/></route></zone>'
        )

    def between(first: str, last: str, link: str, tag: str = "zoneRoute") -> str:
        gateways = f'gw_src="r{first[-1]}" gw_dst="r{last[-1]}"'
        return f'<{tag} src="{first}" dst="{last}" {gateways}><link_ctn id="{link}"/></{tag}>'

    links = "".join(f'<link id="{name}" bandwidth="1Bps" latency="10s"/>' for name in ("x", "y", "z", "short"))
    inner = (
        '<zone id="AB" routing="Floyd"><prop id="of" value="AB"/><prop id="more" value="1"/>'
        + leaf("A") + leaf("B") + leaf("D") + links + between("A", "B", "x") + between("B", "D", "y") + "</zone>"
    )  # fmt: skip
    master = '<zone id="M" routing="Full"><host id="master_host" speed="1f"/><router id="rM"/></zone>'
    text = inner + leaf("C") + master + between("AB", "C", "z").replace('"rB"', '"rA"')
    platform = read(zone(text))
    host = {host.name: host for host in platform.hosts}
    assert names(platform.route(host["hA"], host["hB"])) == ["lA", "x", "lB"]
    assert names(platform.route(host["hA"], host["hD"])) == ["lA", "x", "y", "lD"]
    assert names(platform.route(host["hD"], host["hC"])) == ["lD", "y", "x", "z", "lC"]
    assert platform.route(host["hC"], host["hD"]).latency == 32.0
    assert platform.route(host["hA"], platform.master) is NO_ROUTE
    assert platform.message_cost(host["hA"]) == 0.0
    assert dict(host["hA"].zone_properties) == {"of": "A", "more": "1"}
    shortened = read(zone(text + between("AB", "C", "short", "bypassZoneRoute").replace('"rB"', '"rA"')))
    host = {host.name: host for host in shortened.hosts}
    assert names(shortened.route(host["hA"], host["hC"])) == ["lA", "short", "lC"]
    assert names(shortened.route(host["hC"], host["hA"])) == ["lC", "z", "lA"]


def test_zones_with_the_routing_cluster_use_host_links_and_cabinets(read) -> None:
    platform = read(
        zone(
            '<host id="master_host" speed="1f"/>'
            '<link id="l" bandwidth="1Bps" latency="1s" sharing_policy="SPLITDUPLEX"/>'
            '<host_link id="master_host" up="l_UP" down="l_DOWN"/><backbone id="bb" bandwidth="1Bps" latency="2s"/>'
            '<cabinet id="cab" prefix="n" suffix="" radical="1-2" speed="5f" bw="1Bps" lat="4s"/><router id="r"/>',
            "Cluster",
        )
    )
    assert [host.name for host in platform.hosts] == ["n1", "n2"]
    assert names(platform.route(platform.hosts[0], platform.master)) == ["link_n1_UP", "bb", "l_DOWN"]
    assert platform.route(platform.master, platform.hosts[1]).latency == 7.0


def test_bypasses_between_hosts_and_links_with_two_directions(read) -> None:
    links = (
        '<link id="s" bandwidth="1Bps" sharing_policy="SPLITDUPLEX"/><link id="t" bandwidth="1Bps" latency="0"/>'
        '<route src="master_host" dst="n1"><link_ctn id="s" direction="UP"/><link_ctn id="t"/></route>'
    )
    platform = read(zone(HOST + links))
    assert names(platform.route(platform.master, platform.hosts[0])) == ["s_UP", "t"]
    assert names(platform.route(platform.hosts[0], platform.master)) == ["t", "s_DOWN"]
    bypass = '<bypassRoute src="master_host" dst="n1"><link_ctn id="s_DOWN"/></bypassRoute>'
    platform = read(zone(HOST + links + bypass))
    assert names(platform.route(platform.master, platform.hosts[0])) == ["s_DOWN"]
    assert names(platform.route(platform.hosts[0], platform.master)) == ["t", "s_DOWN"]


def test_hosts_are_numbered_by_natural_order_and_storages_follow(read) -> None:
    hosts = "".join(f'<host id="{name}" speed="1f"/>' for name in ("n10", "n2", "N3", "n02", "n1", "s10", "s2", "boss"))
    roles = [("s10", "storage"), ("s2", "storage")]
    platform = read(zone(hosts), roles=roles, master="boss")
    assert [host.name for host in platform.computation_hosts] == ["N3", "n1", "n02", "n2", "n10"]
    assert [host.name for host in platform.storage_hosts] == ["s10", "s2"]
    assert [host.id for host in platform.hosts] == list(range(7))
    assert dict(platform.hosts[5].properties)["role"] == "storage"
    fewer = read(zone(hosts), roles=roles, master="boss", mmax=2)
    assert [host.name for host in fewer.hosts] == ["N3", "n1", "s10", "s2"]


def test_properties_tell_power_states_and_watts(read) -> None:
    text = zone(
        '<host id="master_host" speed="1f"/><host id="n" speed="4f, 2f,1f,0.5f,0.25f" core="2" pstate="1">'
        '<prop id="sleep_pstates" value=" 2:3:4 "/><prop id="wattage_off" value="5"/>'
        '<prop id="wattage_per_state" value="1:2, 1:1.5:2,3:3,4:4,5e0:5"/></host>'
    )
    (host,) = read(text, energy=True).hosts
    assert (host.speeds, host.cores, host.pstate) == ((4.0, 2.0, 1.0, 0.5, 0.25), 2, 1)
    assert host.sleep_pstates == (SleepPState(2, 3, 4),)
    assert host.computation_pstates == {0, 1}
    assert host.sleep_state(2) == SleepPState(2, 3, 4)
    assert host.sleep_state(3) is None
    assert host.watts is not None
    assert host.watts[:3] == (Watts(1, 1, 2), Watts(1, 1.5, 2), Watts(3, 3, 3))
    assert host.watts_off == 5


def test_wattages_that_cannot_be_read_matter_only_where_energy_is_measured(read) -> None:
    text = zone(
        '<host id="master_host" speed="1f"/><host id="n" speed="1f"><prop id="wattage_per_state" value="x"/></host>'
    )
    assert read(text).hosts[0].watts is None
    text = text.replace('speed="100Mf"/>', 'speed="1f"><prop id="wattage_per_state" value="1:2"/></host>')
    with pytest.raises(InputError, match="idle:max"):
        read(text, energy=True)


def test_the_example_serves_to_try_everything() -> None:
    platform = read_platform(EXAMPLE_PLATFORM, energy=True)
    assert len(platform.computation_hosts) == 32
    assert all(host.sleep_pstates and host.watts for host in platform.hosts)
    assert 0 < platform.message_cost(platform.master) < platform.message_cost(platform.hosts[0]) < 1e-3


def test_space_before_the_declaration_does_not_matter(read) -> None:
    assert len(read('\n \n<?xml version="1.0"?>\n' + zone(HOST)).hosts) == 1
    with pytest.raises(InputError) as caught:
        read('\n \n<?xml version="1.0"?>\n<platform version="4.1">\n<foo/></platform>')
    assert caught.value.line == 5


@given(st.lists(st.text("nN0123456789-ab", max_size=8)))
def test_natural_order_is_that_of_numbers(parts: list[str]) -> None:
    ordered = sorted(parts, key=natural_order)
    assert len(set(map(natural_order, parts))) == len(set(parts))  # no two names are equal
    for first, last in itertools.pairwise(ordered):
        if first.isdigit() and last.isdigit():
            assert int(first) <= int(last)


# What is refused, and where

REFUSED = [
    ("", 1, "no element found"),
    ("<platform", 1, "unclosed token"),
    ("<x/>", 1, "<x> is not supported"),
    ("<zone id='z' routing='Full'/>", 1, "not allowed as the outermost element"),
    ('<platform version="3"/>', 1, "version '3'"),
    ('<platform version="4.1"/>', 1, "the platform is empty"),
    ('<platform version="4.1" x="1"/>', 1, "the attribute x of <platform> is not supported"),
    ("<platform/>", 1, "needs the attribute version"),
    ('<platform version="4.1">\n<zone id="z"/></platform>', 2, "needs the attribute routing"),
    ('<platform version="4.1"><config><prop id="cpu/maxmin" value="1"/></config></platform>', 1, "'cpu/maxmin'"),
    (zone("", "Wifi"), 1, "the routing 'Wifi' is not supported"),
    (zone("\n<peer id='p'/>"), 2, "<peer> is not supported"),
    (zone("text"), 1, "expected elements only"),
    (zone(HOST + '\n<host id="n1" speed="1f"/>'), 2, "'n1' is in use"),
    (zone('\n<host id="a" speed="1f" state_file="x"/>'), 2, "host a.state_file"),
    (zone('\n<host id="a" speed="1f" core="1.5"/>'), 2, "host a.core"),
    (zone('\n<host id="a" speed="1f" core="0"/>'), 2, "at least one core"),
    (zone('\n<host id="a" speed="fast"/>'), 2, "host a.speed"),
    (zone('\n<host id="a" speed="1f" pstate="1"/>'), 2, "there is no power state 1"),
    (zone(HOST + '\n<host id="a" speed="0f"/>'), 2, "host a.speed: .* must be > 0"),
    (
        with_property("role", "boss"),
        2,
        "host a.role: 'boss' is not a role",
    ),
    (
        with_property("sleep_pstates", "0:1:2"),
        2,
        "host a.sleep_pstates",
    ),
    (
        with_property("sleep_pstates", "0:1"),
        2,
        "expected sleep:off:on",
    ),
    (
        zone('<host id="master_host" speed="1f"><prop id="role" value="master"/></host>'),
        1,
        "'master,master' is not a role",
    ),
    (zone('<host id="a" speed="1f"/>'), None, "expected exactly one master.*found none"),
    (zone(HOST + '<host id="b" speed="1f"><prop id="role" value="master"/></host>'), None, "found 2: master_host, b"),
    (zone('\n<link id="l" bandwidth="0" latency="0"/>'), 2, "must be > 0"),
    (zone('\n<link id="l" bandwidth="1;2" latency="0"/>'), 2, "link l.bandwidth"),
    (zone('\n<link id="l" bandwidth="1" latency_file="x"/>'), 2, "link l.latency_file"),
    (zone('\n<link id="l" bandwidth="1" sharing_policy="WIFI"/>'), 2, "link l.sharing_policy"),
    (zone('<link id="l" bandwidth="1"/>\n<link id="l" bandwidth="1"/>'), 2, "a link 'l' exists already"),
    (zone(HOST + '\n<route src="n1" dst="master_host"/>'), 2, "route n1 -> master_host: the route is empty"),
    (
        zone(HOST + '<route src="n1" dst="master_host">\n<link_ctn id="l"/></route>'),
        2,
        "link_ctn l.id: there is no link",
    ),
    (
        zone(HOST + LINK + ROUTE.replace("master_host", "x")),
        2,
        "route n1 -> x.dst: there is no 'x' directly in the zone 'z'",
    ),
    (
        zone(
            HOST + '<link id="l" bandwidth="1"/>' + '\n<route src="n1" dst="master_host"><link_ctn id="l"/></route>' * 2
        ),
        3,
        "there is already such a route",
    ),
    (
        zone(
            HOST + '<link id="l" bandwidth="1"/>\n<route src="n1" dst="master_host"><link_ctn id="l"/></route>', "None"
        ),
        2,
        "cannot have routes",
    ),
    (
        zone(
            HOST + '<link id="l" bandwidth="1"/>\n<route src="n1" dst="master_host"><link_ctn id="l"/></route>',
            "Cluster",
        ),
        2,
        "only from hosts to themselves",
    ),
    (zone(HOST + '\n<host_link id="n1" up="l" down="l"/>'), 2, "only supported in zones with the routing Cluster"),
    (zone('\n<host_link id="n1" up="l" down="l"/>', "Cluster"), 2, "host_link n1.id: there is no host 'n1'"),
    (zone(HOST + '\n<host_link id="n1" up="l" down="l"/>', "Cluster"), 2, "host_link n1.up: there is no link 'l'"),
    (zone(HOST + '\n<zone id="y" routing="Full"/>'), 2, "<zone> is not allowed after the hosts"),
    (zone('<zone id="y" routing="Full"/>\n' + HOST), 2, "<host> is not allowed after the zones"),
    (
        '<platform version="4.1"><zone id="a" routing="Full"/>\n<zone id="b" routing="Full"/></platform>',
        2,
        "a second one",
    ),
    (with_cluster("0-1-2"), 2, "cluster c.radical"),
    (
        with_cluster(f"0-{HOST_LIMIT}"),
        2,
        "more than",
    ),
    (
        with_cluster("0", 'topology="TORUS"'),
        2,
        "cluster c.topo_parameters",
    ),
    ('<!DOCTYPE platform [<!ENTITY a "b">]>\n<platform version="4.1"/>', 1, "document type with definitions"),
    (
        '<!DOCTYPE platform [<!ATTLIST host speed CDATA "1f">]>\n<platform version="4.1"/>',
        1,
        "document type with definitions",
    ),
    ('<!DOCTYPE platform SYSTEM "x.dtd">\n<platform version="4.1">&a;</platform>', 2, "there is no entity 'a'"),
    ('<platform version="4.1">&a;</platform>', 1, "undefined entity"),
    ('<?xml version="1.0" encoding="nonsense"?><platform version="4.1"/>', None, "unknown encoding|XML cannot be read"),
]


@pytest.mark.parametrize(("text", "line", "message"), REFUSED, ids=[message[:40] for _, _, message in REFUSED])
def test_what_is_not_understood_is_refused_by_name_and_line(read, text: str, line: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(text)
    assert caught.value.file.endswith("platform.xml")
    if line is not None:
        assert caught.value.line == line
        assert f"platform.xml:{line}" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roles": [("x", "storage")]}, "there is no host 'x'"),
        ({"roles": [("n1", "storage"), ("n1", "storage")]}, "'storage,storage' is not a role"),
        ({"master": "x"}, "there is no host 'x'"),
        ({"mmax": 2}, "cannot compute on 2 hosts"),
        ({"mmax": 0}, "cannot compute on 0 hosts"),
        ({"energy": True}, "host n1.wattage_per_state"),
    ],
)
def test_options_that_do_not_fit_are_refused(read, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(zone(HOST), **options)


def test_entities_cannot_make_a_small_file_big(read) -> None:
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 40))
    with pytest.raises(InputError, match="document type with definitions"):
        read(f'<!DOCTYPE platform [<!ENTITY l0 "lol">{lol}]><platform version="4.1">&l39;</platform>')


def test_depth_is_bounded(read) -> None:
    deep = "".join(f'<zone id="z{n}" routing="Full">' for n in range(100_000))
    with pytest.raises(InputError, match="nested deeper"):
        read(f'<platform version="4.1">{deep}')


@given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 30))
def test_no_bytes_get_anything_but_an_input_error_out_of_the_reader(data: bytes, place: int, cut: int) -> None:
    whole = Path(EXAMPLE_PLATFORM).read_bytes()
    place = min(place * 4, len(whole))
    for text in (data, whole[:place] + data + whole[place + cut :]):
        with contextlib.suppress(InputError):
            made_platform(read_platform_description(io.BytesIO(text)).hosts)


# Values


def test_homogeneous_platforms() -> None:
    platform = Platform.homogeneous(3, speed=2e9, cores=4, watts=Watts(1, 2, 3), properties={"k": "v"})
    assert [host.id for host in platform.hosts] == [0, 1, 2]
    assert platform.hosts[0].watts == (Watts(1, 2, 3),)
    assert platform.host("host2") is platform.hosts[2]
    assert platform.host("master_host") is platform.master
    assert platform.host("x") is None
    assert names(platform.route(platform.hosts[0], platform.hosts[1])) == ["host0_UP", "host1_DOWN"]
    assert Platform.homogeneous(0).hosts == ()


@pytest.mark.parametrize(
    "options",
    [{"count": -1}, {"count": 1, "cores": 0}, {"count": 1, "speed": 0.0}, {"count": 1, "bandwidth": 0.0},
     {"count": 1, "latency": -1.0}, {"count": 1, "speeds": ()}, {"count": 1, "speed": math.nan},
     {"count": 1, "speeds": (1.0, 2.0), "watts": (Watts(1, 1, 1),)}],
)  # fmt: skip
def test_homogeneous_platforms_refuse_what_no_host_is(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Platform.homogeneous(**options)  # type: ignore[arg-type]


@given(simulations.platforms(storages=("pfs",)))
def test_platforms_are_shared_by_copies_and_survive_pickling(platform: Platform) -> None:
    assert copy.deepcopy(platform) is platform
    again = pickle.loads(pickle.dumps(platform))
    assert again.hosts == platform.hosts
    for source, target in itertools.product(platform.hosts, repeat=2):
        assert again.route(source, target) == platform.route(source, target)


@pytest.mark.slow
def test_many_routes_do_not_fill_the_memory() -> None:
    platform = Platform.homogeneous(400)
    for source, target in itertools.product(platform.hosts, repeat=2):
        platform.route(source, target)
    assert len(platform._routes) <= 1 << 16


def test_without_a_network_nothing_takes_time() -> None:
    platform = Platform.homogeneous(2, bandwidth=math.inf, latency=0.0)
    assert platform.route(platform.hosts[0], platform.master) == platform.route(platform.master, platform.hosts[1])
    assert platform.route(platform.hosts[0], platform.hosts[0]).message_cost == 0.0
    for bandwidth, latency in [(math.inf, 1e-9), (math.nan, 0.0), (0.0, 0.0), (1.0, -1.0), (1.0, math.inf)]:
        with pytest.raises(InputError, match="bandwidth"):
            Platform.homogeneous(2, bandwidth=bandwidth, latency=latency)


@pytest.mark.parametrize(
    "text",
    ["n0", "n[0-3] cores=4", "m0 cores=8 gres=gpu:2 partitions=p,q features=a,b; n[0-1] cores=2 memory=1G"],
)
def test_a_described_platform_is_the_same_as_xml(text: str, tmp_path: Path) -> None:
    platform = described_platform(text)
    path = tmp_path / "platform.xml"
    path.write_text(platform_xml(platform))
    found = read_platform(path)
    for one, other in zip(found.hosts, platform.hosts, strict=True):
        assert (one.name, one.cores, one.speeds) == (other.name, other.cores, other.speeds)
        assert dict(one.properties) == dict(other.properties)
    assert found.master.name == platform.master.name
