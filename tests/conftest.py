"""How hypothesis runs here: never against the clock, the same examples every time, or many on request.

pytest --hypothesis-profile=explore     # other examples each time, and twenty times as many
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from batprotocol.wire import binary

# What a loaded machine makes slow is no fault, and messages of a thousand events are meant to be large.
UNTIMED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
ENGINE = binary.ENGINE

settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=UNTIMED, print_blob=True)
settings.register_profile("explore", deadline=None, max_examples=2000, suppress_health_check=UNTIMED, print_blob=True)
settings.load_profile("ci")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Whatever engine a test switched to, the next one starts with the usual."""
    binary.use_engine(ENGINE)
