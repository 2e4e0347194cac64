"""Brokers for the tests of FaST: one for a whole file, and one of its own for a test that kills it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from brokers import Mosquitto


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with Mosquitto(tmp_path_factory.mktemp("mosquitto")) as broker:
        yield broker


@pytest.fixture
def own_mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with Mosquitto(tmp_path) as broker:
        yield broker
