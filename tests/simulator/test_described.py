"""Platforms from a few lines: what cannot be read is refused with its place, and the rest is as it says."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.simulator import described_platform

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
