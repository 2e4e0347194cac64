"""The watts of hosts, from the properties of a host in a conversation as from a platform file."""

from __future__ import annotations

import pytest

from batprotocol.errors import InputError
from batprotocol.model import Host, HostProperty
from batprotocol.workloads.electricity import HostWatts, SleepPState, Watts, host_watts

WITHOUT_ENGINE = True


def described(**properties: str) -> Host:
    pairs = [HostProperty(key, value) for key, value in properties.items()]
    return Host(id=0, name="one", pstate_count=4, properties=pairs, computation_speed=[2e9, 1.0, 0.5, 0.1])


def test_the_watts_of_a_host_in_a_conversation() -> None:
    host = described(wattage_per_state="95:120:250, 9:9, 100:90, 110:125", sleep_pstates="1:2:3")
    draws = Watts(95.0, 120.0, 250.0), Watts(9.0, 9.0, 9.0), Watts(100.0, 100.0, 90.0), Watts(110.0, 110.0, 125.0)
    found = host_watts(host)
    assert found == HostWatts(draws, (2e9, 1.0, 0.5, 0.1), (SleepPState(1, 2, 3),))
    assert found.computation_pstates == (0,)
    assert [each.most for each in draws] == [250.0, 9.0, 100.0, 125.0]
    assert host_watts(described(sleep_pstates="1:2:3")) is None


@pytest.mark.parametrize(
    ("properties", "place"),
    [
        ({"wattage_per_state": "95:250"}, "host one.wattage_per_state"),
        ({"wattage_per_state": "1:2,1:2,1:2,1:-2"}, "host one.wattage_per_state"),
        ({"wattage_per_state": "1:2,1:2,1:2,1:2", "sleep_pstates": "1:2:4"}, "host one.sleep_pstates"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_host(properties: dict[str, str], place: str) -> None:
    with pytest.raises(InputError) as caught:
        host_watts(described(**properties))
    assert caught.value.path == place
