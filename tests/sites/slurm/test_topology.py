"""The switches of topology.conf."""

from __future__ import annotations

import pytest

from batprotocol.errors import InputError
from batprotocol.sites.slurm.configuration import switches_of

WITHOUT_ENGINE = True


def test_switches_of_the_documentation() -> None:
    found = switches_of(
        "# a tree\nSwitchName=s0 Nodes=tux[0-5] LinkSpeed=100\nSwitchName=s1 \\\n  Nodes=tux[6-11]\n"
        "SwitchName=s2 Switches=s[0-1]\n",
        [f"tux{number}" for number in range(12)],
    )
    assert [len(switch.nodes) for switch in found] == [6, 6, 0]
    assert found[2].switches == ("s0", "s1")
    assert switches_of("SwitchName=s Nodes=a,n[8-9]", ["a", "b"])[0].nodes == ("a",)  # others are left out


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SwitchName=a Node=n0", "topology.conf:1: expected SwitchName, Nodes, Switches or LinkSpeed, got 'Node'"),
        ("Nodes=n0", "topology.conf:1: expected a line with SwitchName"),
        ("SwitchName=a Nodes=n0\nSwitchName=a Nodes=n1", "topology.conf:2: SwitchName: expected a new name, got 'a'"),
        ("SwitchName=a", "topology.conf:1: expected Nodes or Switches for the switch 'a', got neither"),
        (
            "SwitchName=a Nodes=n0 Switches=b",
            "topology.conf:1: expected Nodes or Switches for the switch 'a', got both",
        ),
        ("SwitchName=a Nodes=n0 LinkSpeed=fast", "topology.conf:1: LinkSpeed: expected a whole number from 0 to"),
        ("\nSwitchName=a Switches=b", "topology.conf:2: Switches: there is no switch 'b'"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "Switches: the switch 'a' is below itself"),
        ("SwitchName=a Nodes=n[0-9999999]", "topology.conf:1: "),
    ],
)
def test_errors_name_the_file_and_the_line(text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        switches_of(text, ["n0", "n1"])
    assert error in str(caught.value)
