"""Processes that call a function: how calls end, and that nothing outlives whoever started them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import ENVIRONMENT, lives

from batprotocol._util.engines import Child, Ended, Processes

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

FUNCTION = "called:does"
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _findable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)


@pytest.fixture
def engine() -> Iterator[Processes]:
    found = Processes(FUNCTION, 2, seconds=PATIENCE, memory=1_500_000_000)
    yield found
    found.close()


def all_of(engine: Processes, count: int) -> dict[int, Ended]:
    found: list[Ended] = []
    until = time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < until
        found += engine.wait(0.5)
    assert engine.wait(0.0) == []
    return {each.number: each for each in found}


def test_calls_end_in_all_ways(engine: Processes) -> None:
    engine.share("a", {"large": [1, 2]})
    engine.share("b", "small")
    for number, what in enumerate(["word", "raise", "die", "leave", "eat", "more"]):
        engine.submit(number, what, ["a"] if what == "word" else ["a", "b"] if what == "more" else [])
    ended = all_of(engine, 6)
    assert ended[0].value == ("WORD", {"a": {"large": [1, 2]}})
    assert ended[5].value[0] == "MORE"
    assert ended[5].value[1].items() >= {"a": {"large": [1, 2]}, "b": "small"}.items()
    assert (ended[1].lost, "KeyError: 'what is wrong'" in ended[1].printed) == ("its process has failed", True)
    assert (ended[2].lost, ended[2].printed) == ("its process was ended by SIGKILL", "the last word\n")
    assert (ended[3].lost, ended[3].printed) == ("its process ended with status 7", "on the way out")
    assert "MemoryError" in ended[4].printed


def test_a_call_that_takes_too_long_is_ended() -> None:
    engine = Processes(FUNCTION, 1, seconds=0.5, memory=1_500_000_000)
    try:
        engine.submit(0, "sleep")
        assert all_of(engine, 1)[0].lost == "it took more than 0.5 s"
    finally:
        engine.close()


def test_a_process_serves_again_and_again(engine: Processes) -> None:
    for number in range(8):
        engine.submit(number, "who")
    pids = {each.value[0] for each in all_of(engine, 8).values()}
    assert len(pids) <= 2
    engine.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_no_file_beside_those_of_the_starter_hides_what_a_child_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Schedulers lie in folders of their own, which the starter searches first, with whatever else is there."""
    for name in ("msgspec.py", "batprotocol.py", "pickle.py"):
        (tmp_path / name).write_text("raise RuntimeError('this is another')")
    monkeypatch.syspath_prepend(tmp_path)
    child = Child(FUNCTION)
    try:
        assert child.call("word", {}).value == ("WORD", {})
    finally:
        child.close()


def test_nothing_is_left_of_a_child() -> None:
    child = Child(FUNCTION)
    pid, scratch = child.call("who", {}).value
    assert os.path.isdir(scratch)
    child.close()
    assert not os.path.exists(os.path.dirname(scratch))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


OWNER = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from batprotocol._util.engines import Child
child = Child("called:does")
print(*child.call("who", {}).value, flush=True)
child.begin(1, "sleep", {})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_child_does_not_outlive_who_has_started_it() -> None:
    command = [sys.executable, "-c", OWNER, str(Path(__file__).parent)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    pid, scratch = done.stdout.split()
    until = time.monotonic() + PATIENCE
    while lives(int(pid)) or os.path.exists(os.path.dirname(scratch)):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_the_old_name_of_the_remaining_seconds() -> None:
    child = Child(FUNCTION)
    try:
        with pytest.warns(DeprecationWarning, match=r"^Child\.seconds_left is .*: use Child\.remaining_seconds"):
            assert child.seconds_left == child.remaining_seconds == float("inf")
    finally:
        child.close()
