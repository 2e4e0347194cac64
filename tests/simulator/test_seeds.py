"""Simulations from seeds, run in several ways: all say and write the same, compiled or not, on any machine."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a program, too

import seeds
from seeds import Generated, come_to, files_of, played, summed_up
from support import DATA

from batprotocol import decode
from batprotocol.errors import RuleViolation
from batprotocol.model import Message
from batprotocol.simulator import (
    Observers,
    ResultFiles,
    Simulator,
    read_external_events,
    read_platform,
    read_workload,
)

WITHOUT_ENGINE = True

SEEDS = range(12)
KNOWN = DATA / "seeds.txt"
"""What the simulations of the seeds came to: `python tests/simulator/test_seeds.py` says it anew."""

Way = Callable[[Simulator], Simulator]


def replayed(
    given: Generated, hello: Message, replies: list[Message], folder: Path, way: Way, lazy: bool
) -> list[Message]:
    """What a simulator says to the same replies, made another one between all turns."""
    files = ResultFiles(f"{folder}/", energy=given.energy)
    simulator = Simulator(
        read_platform(given.platform, roles=given.roles, energy=given.energy),
        [read_workload(path, name=f"w{number}", lazy=lazy) for number, path in enumerate(given.workloads)],
        external_events=[read_external_events(path) for path in given.events],
        energy=given.energy,
        observer=Observers([files]),
    )
    messages = [simulator.begin(hello)]
    try:
        for reply in replies:
            simulator = way(simulator)
            message = simulator.turn(reply)
            if message is None:
                break
            messages.append(message)
    except RuleViolation:
        files.flush()
    return messages


def known() -> dict[int, str]:
    return {int(seed): digest for seed, digest in map(str.split, KNOWN.read_text().splitlines())}


@pytest.fixture(scope="module", params=SEEDS)
def simulation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path, Generated]:
    folder = tmp_path_factory.mktemp("seeds")
    return request.param, folder, seeds.write(request.param, folder / "inputs")


def through(encoding: str) -> Callable[[Message], Message]:
    def carried(message: Message) -> Message:
        return decode(message.to_binary() if encoding == "binary" else message.to_json().encode())

    return carried


@pytest.mark.slow
def test_all_ways_lead_to_the_same(simulation: tuple[int, Path, Generated]) -> None:
    seed, folder, given = simulation
    (folder / "out").mkdir()
    messages, replies = played(given, folder / "out")
    hello = given.scheduler().hello("")
    expected = files_of(folder / "out")
    assert summed_up(messages, expected) == known()[seed]
    ways: dict[str, tuple[Way, list[Message], bool]] = {
        "the same again": (lambda simulator: simulator, replies, True),
        "binary": (lambda simulator: simulator, list(map(through("binary"), replies)), False),
        "json": (lambda simulator: simulator, list(map(through("json"), replies)), False),
        "copied": (copy.deepcopy, replies, False),
    }
    for name, (way, carried, lazy) in ways.items():
        out = folder / name
        said = replayed(given, hello, carried, out, way, lazy)
        assert said == messages, name
        if name != "copied":  # each copy has files of its own
            assert files_of(out) == expected, name
    said = replayed(given, hello, replies, folder / "pickled", _pickled, True)
    assert said == messages


def _pickled(simulator: Simulator) -> Simulator:
    restored = pickle.loads(pickle.dumps(simulator))
    assert isinstance(restored, Simulator)
    return restored


@pytest.mark.slow
def test_much_happens(tmp_path: Path) -> None:
    kinds = set[str]()
    for seed in SEEDS:
        given = seeds.write(seed, tmp_path / str(seed))
        (tmp_path / f"{seed}-out").mkdir()
        messages, replies = played(given, tmp_path / f"{seed}-out")
        kinds |= {type(event).__name__ for message in (*messages, *replies) for event in message.events}
    assert len(kinds) >= 20


if __name__ == "__main__":
    import tempfile

    for number in SEEDS:
        with tempfile.TemporaryDirectory() as here:
            print(number, come_to(seeds.write(number, Path(here) / "inputs"), Path(here)))
