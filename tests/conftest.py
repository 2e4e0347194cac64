"""How the tests run: hypothesis never against the clock, and everything with each engine that is at hand.

pytest --hypothesis-profile=explore     # other examples each time, and fifty times as many
pytest --hypothesis-profile=quick       # few examples
pytest --engines=usual                  # only the native engine, or the Python one where there is none
pytest -m "not slow"                    # without what takes more than a moment, or starts processes
pytest --servers=all                    # tests of servers that are not here fail, instead of being skipped (servers.py)
pytest -m minutes                       # only what takes minutes, which otherwise does not run
pytest -m long                          # only the files that take ten seconds or more, which .ci/run runs apart
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from batprotocol.wire import binary

pytest_plugins = ["servers", "lacks"]

# Hundreds of processes are started here: what they import is compiled once, whatever the variable says.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What the assertions of the helpers saw is told too.
pytest.register_assert_rewrite("calls", "commands", "exact", "flatc", "oracle", "processes", "replay", "simulations")

# What a loaded machine makes slow is no fault, and messages of a thousand events are meant to be large.
UNTIMED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
USUAL = binary.ENGINE

settings.register_profile(
    "ci", deadline=None, max_examples=40, derandomize=True, suppress_health_check=UNTIMED, print_blob=True
)
settings.register_profile("explore", deadline=None, max_examples=2000, suppress_health_check=UNTIMED, print_blob=True)
settings.register_profile(
    "quick", deadline=None, max_examples=15, derandomize=True, suppress_health_check=UNTIMED, print_blob=True
)
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engines",
        choices=["all", "usual"],
        default="all",
        help="run each test with each engine at hand, or only with the one that is usual here (default: all)",
    )


LONG = (
    "campaigns/oar/test_oar_campaigns.py",
    "campaigns/test_crashes.py",
    "campaigns/test_dask.py",
    "campaigns/test_grid_commands.py",
    "campaigns/test_hostile_folders.py",
    "campaigns/test_psij.py",
    "campaigns/test_simulation.py",
    "campaigns/test_slurm_cluster.py",
    "campaigns/test_slurm_leader.py",
    "campaigns/test_store_users.py",
    "recordings/test_tap.py",
    "recordings/test_timeline_page.py",
    "cli/mcp_server/test_assistant.py",
    "cli/test_completion.py",
    "cli/test_hostile.py",
    "edc/test_new.py",
    "cli/test_program.py",
    "cli/test_terminal.py",
    "conversation/test_advice.py",
    "edc/test_embedded.py",
    "edc/test_embedded_faults.py",
    "edc/test_examples.py",
    "edc/test_in_process_command.py",
    "edc/test_run_command.py",
    "edc/test_signals.py",
    "fast/test_fast_bounds.py",
    "fast/test_fast_coschedule.py",
    "fast/test_fast_storm.py",
    "handbook/test_notebook.py",
    "handbook/test_pages.py",
    "handbook/test_questions.py",
    "handbook/test_reference.py",
    "handbook/test_site.py",
    "house/test_elsewhere.py",
    "house/test_extras.py",
    "house/test_linear_time.py",
    "house/test_packaging.py",
    "house/test_read_back.py",
    "house/test_sanitized.py",
    "house/test_typing.py",
    "house/test_wings.py",
    "policies/test_everywhere.py",
    "policies/test_lets_wait_awhile.py",
    "edc/test_full_disk.py",
    "schemas/test_wireshark.py",
    "sites/slurm/test_hostile_rest.py",
    "studies/test_equality.py",
    "studies/test_measuring.py",
    "studies/test_notebooks.py",
    "studies/test_on_dask.py",
    "studies/test_on_slurm.py",
    "studies/test_watts_plot.py",
    "studies/test_whatif_page.py",
    "studies/test_with_batsim.py",
    "wire/test_bombs.py",
)
"""The files that take longest: they compile with sanitizers, search for rare values, or start many programs."""


def pytest_configure(config: pytest.Config) -> None:
    """What takes minutes or is long runs only where `-m` speaks of it, long files also where they are named."""
    for marker in ("minutes", "long"):
        asked = config.option.markexpr
        if marker not in asked and not (
            marker == "long" and any(arg.split("::")[0].endswith(LONG) for arg in config.args)
        ):
            config.option.markexpr = f"({asked}) and not {marker}" if asked else f"not {marker}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files that are long are not even read where none of their tests runs: that takes as long as many tests do."""
    left_out = config.option.markexpr.endswith("not long") and collection_path.as_posix().endswith(LONG)
    return True if left_out else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of long files, before those are chosen that run."""
    for item in items:
        if item.path.as_posix().endswith(LONG):
            item.add_marker("long")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test with each engine; files that choose the engines themselves (with `engines.py`) need it once.

    So do those that say `WITHOUT_ENGINE = True`, and tests marked `once`: nothing in them ever becomes bytes of the
    protocol, or what they are about does not depend on who makes these bytes.
    """
    own = {"each_engine", "needs_native", "WITHOUT_ENGINE"} & vars(metafunc.module).keys()
    own |= {mark.name for mark in metafunc.definition.iter_markers("once")}
    once = own or "engine" in metafunc.fixturenames or metafunc.config.getoption("--engines") == "usual"
    metafunc.parametrize("wire_engine", [USUAL] if once else binary.ENGINES, indirect=True, scope="module")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Ten thousand tests are in memory, and stay there: the garbage collector need not look at them again and again.

    What the tests keep, such as recordings, makes it slow, too, so it comes less often than usual.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(10_000)
        gc.enable()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With `-n auto`: one more than can run at once, as there is always a test that waits.

    How many can, the control group of a container may know better than Python.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or no limit ("max")
        pass
    return cores + 1


@pytest.fixture(autouse=True, scope="module")
def wire_engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The engine that a test runs with, in the processes that it starts too."""
    before = os.environ.get("BATPROTOCOL_ENGINE")
    binary.use_engine(request.param)
    os.environ["BATPROTOCOL_ENGINE"] = request.param
    yield request.param
    binary.use_engine(USUAL)
    del os.environ["BATPROTOCOL_ENGINE"]
    if before is not None:
        os.environ["BATPROTOCOL_ENGINE"] = before


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Whatever engine a test switched to, the next one starts with its own."""
    binary.use_engine(os.environ.get("BATPROTOCOL_ENGINE") or USUAL)
