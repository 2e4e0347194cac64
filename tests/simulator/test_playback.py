"""Recorded simulations played back: the embedded Batsim says what Batsim said, whatever happens to it between turns."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import playback
import pytest
from kinds import use_actions
from support import SHARED

from batprotocol.errors import RuleViolation
from batprotocol.simulator import Simulator
from batprotocol.simulator.actions import KINDS

WITHOUT_ENGINE = True

RUNS = [archive for archive in playback.recorded_runs() if playback.read(archive).is_comparable]
UNTIED = [archive for archive in RUNS if playback.read(archive).info.get("tie_sensitive") is False]
COPIED = [
    archive for archive in RUNS if 10 < len(playback.read(archive).recorded[2::2]) < 80 and "json" not in archive.name
]


def with_each_kind(archives: list[Path]) -> set[Path]:
    """Those of the archives that have a feature, or say an event, which none before them does."""
    chosen, seen = set(), set[object]()
    for archive in archives:
        run = playback.read(archive)
        events = (type(event) for message in (*run.told, *run.replies) for event in message.events)
        kinds = {*run.info.get("features", ()), *events}
        if kinds - seen:
            chosen.add(archive)
            seen |= kinds
    return chosen


SOME = with_each_kind(COPIED)

CORRECTED = {
    "PowerSaver__power-cluster_energy_128-p__cluster_energy_128__binary": "energy is read when a load changes",
    "fuzz__random-energy-p__multi__binary": "energy is read when a load changes",
    "fuzz__random-onoff-cluster-p__cluster_loop__binary": "energy is read when a load changes",
    "fuzz__random-onoff-p__multi__binary": "energy is read when a load changes",
    "fuzz__random-multi-p__multi__binary": "nothing is lost for tasks that grow no more",
    "fuzz__random-pstates-p__multi__binary": "nothing is lost for tasks that grow no more",
    "fuzz__random-small-p__small_platform__binary": "of a FATPIPE, all get all, and not all but what rounds have lost",
    "fuzz__random-storages-p__storages__binary": "writing to a storage takes its time",
    "plan__storage-p__storages__binary": "writing to a storage takes its time",
    "plan__roles-p__small_platform_pfs0__binary": "writing to a storage takes its time",
    "cover__test_tuto_stencil-storage__binary": "writing to a storage takes its time",
    "cover__test_tuto_stencil-storage__json": "writing to a storage takes its time",
}
"""The runs in which what is corrected shows, and what it is."""


def name(archive: Path) -> str:
    return archive.name.removesuffix(".tar.xz")


@pytest.mark.slow
@pytest.mark.parametrize("archive", RUNS, ids=name)
def test_the_same_messages(archive: Path) -> None:
    run = playback.read(archive)
    assert not list(playback.play(run, run.simulator()))


@pytest.mark.parametrize("archive", [each for each in RUNS if each in UNTIED or name(each) in CORRECTED], ids=name)
def test_the_same_messages_but_for_what_is_corrected(archive: Path) -> None:
    run = playback.read(archive)
    found = list(playback.play(run, run.simulator(corrected=True)))
    assert bool(found) == (run.name in CORRECTED), found


def said(run: playback.Run, simulator: Simulator, between: Callable[[Simulator], Simulator] | None) -> list[Any]:
    """All that a simulator says to the recorded replies, and how it ends."""
    messages: list[Any] = []
    message: Any = simulator.begin(run.hello.message)
    try:
        for number, reply in enumerate(run.replies):
            messages.append(message)
            if message is None:
                break
            if between is not None and number % 10 == 3:
                simulator = between(simulator)
            message = simulator.turn(reply)
    except RuleViolation as violation:
        message = str(violation)
    return [*messages, message]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "archive",
    [
        pytest.param(archive, marks=() if archive in SOME else pytest.mark.minutes, id=name(archive))
        for archive in COPIED
    ],
)
def test_it_goes_on_when_pickled(archive: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_actions(kind, monkeypatch)
    run = playback.read(archive)

    def pickled(simulator: Simulator) -> Simulator:
        restored = pickle.loads(pickle.dumps(simulator))
        assert isinstance(restored, Simulator)
        return restored

    expected = said(run, run.simulator(), None)
    assert said(run, run.simulator(), pickled) == expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_and_the_original_both_go_on(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_actions(kind, monkeypatch)
    for archive in COPIED[:4]:
        run = playback.read(archive)
        copies: list[Simulator] = []

        def copied(simulator: Simulator, copies: list[Simulator] = copies) -> Simulator:
            copies.append(copy.deepcopy(simulator))
            return simulator

        expected = said(run, run.simulator(), copied)
        for number, left in enumerate(copies):
            begun = 3 + 10 * number
            messages: list[Any] = []
            try:
                for reply in run.replies[begun:]:
                    message = left.turn(reply)
                    messages.append(message)
                    if message is None:
                        break
            except RuleViolation as violation:
                messages.append(str(violation))
            assert messages == expected[begun + 1 : begun + 1 + len(messages)]


def test_there_is_something_to_play_back() -> None:
    features = {feature for archive in RUNS for feature in playback.read(archive).info.get("features", ())}
    assert len(RUNS) >= 50
    assert len(UNTIED) >= 20
    assert {
        "killed",
        "probes",
        "energy",
        "usage_trace",
        "external_events",
        "several_workloads",
        "walltime_reached",
    } <= (features)


def test_differences_are_found() -> None:
    run = playback.read(next(archive for archive in RUNS if "plan__storage-p" in archive.name))
    assert list(playback.play(run, run.simulator(corrected=True)))
    told = run.told[1]
    assert list(playback.differences(told, run.told[2]))
    assert not list(playback.differences(told, told))


def test_all_runs_are_here() -> None:
    assert not SHARED.is_dir() or len(RUNS) >= 130
