"""Platforms from a few lines: what cannot be read is refused with its place, and the rest is as it says."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.simulator import described_platform, read_platform

WITHOUT_ENGINE = True


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expected hosts such as 'n[0-63] cores=64', got ''"),
        (" ;# none\n", r"expected hosts such as 'n[0-63] cores=64', got ' ;# none\n'"),
        ("n[0-", "line 1: expected names such as 'n[0-63]', got 'n[0-': its brackets do not match"),
        ("n0; m[3-1]", "line 2: expected a range such as 0-63, got '3-1'"),
        ("n0 cores", "line 1: n0: expected KEY=VALUE such as cores=64, got 'cores'"),
        ("n0 cores=4 cores=5", "line 1: n0: expected each key once, got cores twice"),
        ("n0 cores=0", "line 1: host n0: property cores: expected a whole number >= 1, got 0"),
        ("n0 memory=-1", "line 1: host n0: property memory: expected memory >= 0"),
        ("n0 gres=gpu:-1", "line 1: host n0: property gres: expected NAME, NAME:COUNT or NAME:TYPE:COUNT"),
        ("n0 speed=x", "line 1: expected a speed such as 100Mf, got 'x'"),
        ("n0;n[0-1]", "expected names that differ, got 'n0' twice"),
        ("n[0-100000]", "line 1: '[0-100000]' stands for more than 100,000 names"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        described_platform(text)
    assert str(caught.value).startswith(sentence)


def test_no_lines_are_no_hosts() -> None:
    assert described_platform([]).hosts == ()


@given(st.text("n0[-],;# =\ncoresmemorygpu:9.T", max_size=60))
def test_any_text_is_a_platform_or_an_input_error(text: str) -> None:
    with contextlib.suppress(InputError):
        assert described_platform(text, limit=1000).hosts


LINES = "n[0-1] cores=8 gres=gpu:2  # new ones\ng0 cores=4 wattage_per_state=10:20\n"


def test_a_file_of_lines_is_the_platform_that_they_describe(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text(LINES)
    assert read_platform(path).hosts == described_platform(LINES).hosts
    assert [host.name for host in read_platform(path, mmax=2).hosts] == ["n0", "n1"]
    path.write_text(LINES.splitlines()[1])
    assert read_platform(path, energy=True).hosts[0].watts is not None


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (b"n0 cores=4\nn0 cores", {}, ":2: n0: expected KEY=VALUE such as cores=64, got 'cores'"),
        (b"", {}, ": expected hosts such as 'n[0-63] cores=64', got ''"),
        (b"n\xff", {}, ": expected text in UTF-8"),
        (b"n[0-9]", {"host_limit": 9}, ":1: '[0-9]' stands for more than 9 names"),
        (b"n[0-9]", {"mmax": 11}, ": cannot compute on 11 hosts: the platform has 10"),
        (b"n0", {"energy": True}, ": to measure energy, add wattage_per_state to each line, or give typical watts"),
        (b"n0", {"master": "n0"}, ": described hosts have no roles and no other master: use a file in XML"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(
    tmp_path: Path, text: bytes, options: dict[str, Any], sentence: str
) -> None:
    path = tmp_path / "hosts.txt"
    path.write_bytes(text)
    with pytest.raises(InputError) as caught:
        read_platform(path, **options)
    assert str(caught.value) == f"{path}{sentence}"
