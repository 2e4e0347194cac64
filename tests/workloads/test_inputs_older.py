"""Workloads and platforms of Batsim 1 to 4, in the words of their time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batprotocol.workloads import Watts, read_platform, read_workload

WITHOUT_ENGINE = True
DELAY = {"type": "DelayProfile", "delay": 10}
JOB = {"id": "1", "subtime": 0, "res": 1, "profile": "e"}


def zone(inner: str, routing: str = "Full") -> str:
    return f'<platform version="4.1"><zone id="z" routing="{routing}">{inner}</zone></platform>'


@pytest.mark.parametrize(
    ("older", "today"),
    [
        ({"type": "delay", "delay": 2, "ret": 1}, {"type": "DelayProfile", "delay": 2, "ret": 1}),
        (
            {"type": "msg_par", "cpu": [1, 2], "com": [0, 1, 2, 0]},
            {"type": "ParallelTaskProfile", "cpu": [1, 2], "com": [0, 1, 2, 0]},
        ),
        ({"type": "parallel", "cpu": [1]}, {"type": "ParallelTaskProfile", "cpu": [1]}),
        ({"type": "msg_par_hg", "cpu": 1, "com": 2}, {"type": "ParallelTaskHomogeneousProfile", "cpu": 1, "com": 2}),
        (
            {"type": "msg_par_hg_tot", "cpu": 1, "com": 2},
            {
                "type": "ParallelTaskHomogeneousProfile",
                "cpu": 1,
                "com": 2,
                "generation_strategy": "DefinedAmountsSpreadUniformly",
            },
        ),
        (
            {"type": "composed", "nb": 2, "seq": ["e"]},
            {"type": "SequentialCompositionProfile", "repeat": 2, "seq": ["e"]},
        ),
        (
            {"type": "composed", "repeat": 3, "seq": ["e"]},
            {"type": "SequentialCompositionProfile", "repeat": 3, "seq": ["e"]},
        ),
        ({"type": "smpi", "trace": "t"}, {"type": "TraceReplayProfile", "trace_type": "SMPI", "filename": "t"}),
        (
            {"type": "msg_par_hg_pfs0", "size": 5},
            {"type": "ParallelTaskOnStorageHomogeneousProfile", "bytes_to_write": 5},
        ),
        (
            {"type": "parallel_homogeneous_pfs", "bytes_to_read": 1, "bytes_to_write": 2, "storage": "pfs"},
            {
                "type": "ParallelTaskOnStorageHomogeneousProfile",
                "bytes_to_read": 1,
                "bytes_to_write": 2,
                "storage": "pfs",
            },
        ),
        (
            {"type": "data_staging", "nb_bytes": 1, "from": "a", "to": "b"},
            {"type": "ParallelTaskDataStagingBetweenStoragesProfile", "nb_bytes": 1, "from": "a", "to": "b"},
        ),
    ],
)
def test_profiles_of_batsim_1_to_4(older: dict[str, object], today: dict[str, object], tmp_path: Path) -> None:
    found = []
    for number, profile in enumerate((older, today)):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"nb_res": 4, "jobs": [JOB], "profiles": {"e": DELAY, "d": profile}}))
        found.append(read_workload(path))
    then, now = found
    assert then.profiles == now.profiles
    assert (then.is_older, now.is_older) == (True, False)


def test_hosts_have_places_in_vivaldi_zones(tmp_path: Path) -> None:
    """A way takes the milliseconds between them, and those of both above the plane."""
    hosts = [("master_host", "0 0 0"), ("a", "3 4 1"), ("b", "3 0 -2")]
    inner = "".join(f'<host id="{name}" speed="1f" coordinates="{place}"/>' for name, place in hosts)
    path = tmp_path / "platform.xml"
    path.write_text(
        zone(inner, "Vivaldi").replace(
            '<zone id="z"', '<config><prop id="network/coordinates" value="yes"/></config><zone id="z"'
        )
    )
    platform = read_platform(path)
    first, second = platform.hosts
    route = platform.route(first, second)
    assert not route.links
    assert route.latency == pytest.approx(0.007)


def test_settings_and_watts_have_the_names_of_their_time(tmp_path: Path) -> None:
    watts = '<prop id="{}" value="10:20"/><prop id="{}" value="3"/>'
    settings = '<config><prop id="contexts/stack_size" value="16"/><prop id="network/TCP_gamma" value="1e6"/></config>'
    found = []
    for one, other, config in (
        ("watt_per_state", "watt_off", settings),
        ("wattage_per_state", "wattage_off", settings.replace("_", "-")),
    ):
        path = tmp_path / f"{one}.xml"
        text = zone(f'<host id="master_host" speed="1f"/><host id="a" speed="1f">{watts.format(one, other)}</host>')
        path.write_text(text.replace("<zone", f"{config}<zone", 1))
        found.append(read_platform(path, energy=False).hosts[0])
    assert found[0].watts == found[1].watts == (Watts(10.0, 10.0, 20.0),)
    assert found[0].watts_off == found[1].watts_off
    assert found[0].watts_off == 3.0
