"""How clusters are opened by their types, and how long one that does not answer is left alone."""

from __future__ import annotations

import importlib
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import patience
import pytest
from clusters import PaperCluster

from batprotocol.campaigns import loop
from batprotocol.campaigns.loop import ClusterConnections, run_campaigns
from batprotocol.campaigns.managers import (
    LocalProcesses,
    ResourceManager,
    dask,
    oar,
    open_manager,
    psij,
    slurm,
)
from batprotocol.campaigns.managers.oar import OarDescription
from batprotocol.campaigns.managers.psij import PsijDescription
from batprotocol.campaigns.managers.slurm import SlurmDescription
from batprotocol.campaigns.managers.types import MANAGERS, TYPES, size_of, type_in
from batprotocol.campaigns.model import Campaign, ClusterProperties, GridSettings, Observation
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.errors import ClusterError, InputError, StoreAway

WITHOUT_ENGINE = True


def test_each_type_can_be_opened() -> None:
    assert list(MANAGERS) == list(TYPES) == ["local", "dask", "slurm", "oar", "psij"]
    with pytest.raises(ClusterError) as caught:
        open_manager("site", "pbs", "/x", None, "m")
    reason = "expected a resource manager of local or dask or slurm or oar or psij, got 'pbs'"
    assert (caught.value.reason, caught.value.cluster) == (reason, "site")


@pytest.mark.parametrize(
    ("kind", "module", "name"),
    [("dask", dask, "DaskCluster"), ("oar", oar, "OarCluster"), ("psij", psij, "PsijCluster")],
)
def test_what_a_manager_is_opened_with(monkeypatch: pytest.MonkeyPatch, kind: str, module: Any, name: str) -> None:
    monkeypatch.setattr(module, name, lambda *given: given)
    assert open_manager("site", kind, "/address", 3, "m") == ("site", "/address", "m")  # type: ignore[comparison-overlap]


def test_a_cluster_of_slurm_is_opened_with_its_description(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(slurm, "SlurmCluster", lambda *given: given)
    path = tmp_path / "site.toml"
    path.write_text('type = "slurm"\nfolder = "/jobs"\n')
    opened: Any = open_manager("site", "slurm", str(path), None, "m")
    assert (opened[0], opened[1].folder, opened[2]) == ("site", "/jobs", "m")
    with pytest.raises(ClusterError) as caught:
        open_manager("site", "slurm", str(tmp_path / "none.toml"), None, "m")
    assert (caught.value.cluster, "none.toml" in caught.value.reason) == ("site", True)


def test_the_size_of_a_cluster(tmp_path: Path) -> None:
    opened = open_manager("here", "local", str(tmp_path / "here"), 3, "m")
    assert isinstance(opened, LocalProcesses)
    assert opened.look().max == 3
    opened.close()
    assert size_of("here", "local", "/nowhere", 7, "m") == 7
    assert size_of("here", "local", str(tmp_path / "here"), None, "m") >= 1


def test_a_cluster_without_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Empty(PaperCluster):
        def close(self) -> None:
            closed.append(self.name)

    monkeypatch.setitem(MANAGERS, "local", lambda *given: Empty("here", 0))  # type: ignore[attr-defined]
    with pytest.raises(ClusterError, match="it has no resources now"):
        size_of("here", "local", "/x", None, "m")
    assert closed == ["here"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('type = "slurm"\nfolder = "/a"', "slurm"),
        ('type = "psij"\nexecutor = "pbs"\nfolder = "/a"\nslots = 1', "psij"),
        ('type = "oar"\nurl = "https://oar.example.org/oarapi"\nuser = "u"', "oar"),
    ],
)
def test_the_type_in_a_file(tmp_path: Path, text: str, kind: str) -> None:
    path = tmp_path / "site.toml"
    path.write_text(text)
    assert type_in(str(path)) == kind
    path.write_text(f"{text}\nodd = 1\n")
    with pytest.raises(InputError, match="there is no key 'odd'"):
        type_in(str(path))


# Connections to clusters


class Answering:
    """A cluster that answers, fails or breaks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.raises: Exception | None = None
        self.asked = 0

    def look(self) -> Observation:
        self.asked += 1
        if self.raises is not None:
            raise self.raises
        return Observation(cluster=self.name, time=0.0, max=1, free=1)


def connected(*managers: Any, patience: float | None = None) -> ClusterConnections:
    return ClusterConnections(managers, patience)


def ask(found: ClusterConnections, now: float, *names: str) -> tuple[set[str], list[str]]:
    """The clusters that answer, and those that fail."""
    answers, errors = found.ask("look", dict.fromkeys(names, lambda manager: manager.look()), now)
    return set(answers), [each.cluster for each in errors]


@pytest.mark.parametrize("seconds", [None, 60.0])
def test_pauses_double_up_to_a_minute(seconds: float | None) -> None:
    cluster = Answering("a")
    found = connected(cluster, Answering("b"), patience=seconds)
    cluster.raises = ClusterError("nobody is there", "a")
    now, pauses = 100.0, []
    for _ in range(8):
        assert ask(found, now, "a", "b", "unknown") == ({"b"}, ["a"])
        pause = 0.0
        while ask(found, now + pause, "a") == (set(), []):
            pause += 0.5
        cluster.asked -= 1
        pauses.append(pause)
        now += pause + 1000.0
    assert pauses[0] == loop.FIRST_SECONDS == 1.0
    assert pauses[-1] == loop.LONGEST_SECONDS == 60.0
    assert sorted(pauses) == pauses
    cluster.raises = None
    now += 1000.0
    assert ask(found, now, "a") == ({"a"}, [])
    cluster.raises = ClusterError("gone again", "a")
    assert ask(found, now, "a") == (set(), ["a"])
    assert ask(found, now + 0.9, "a") == (set(), [])
    assert ask(found, now + 1.0, "a") == (set(), ["a"])
    assert list(found) == ["a", "b"]
    found.close()


def test_another_exception_is_a_fault_of_the_loop() -> None:
    cluster = Answering("a")
    cluster.raises = RuntimeError("a fault")
    for found in (connected(cluster), connected(cluster, patience=60.0)):
        with pytest.raises(RuntimeError, match="a fault"):
            ask(found, 0.0, "a")
        found.close()


def test_a_busy_cluster_is_not_tended_and_its_thread_ends() -> None:
    may = threading.Event()
    tended = []

    class Busy(Answering):
        def look(self) -> Observation:
            may.wait()
            return super().look()

        def tend(self) -> None:
            tended.append(self.name)

    class Idle(Answering):
        def tend(self) -> None:
            tended.append(self.name)

    found = connected(Busy("a"), Idle("b"), patience=0.01)
    heard = set[str]()

    def answers(*names: str) -> set[str]:
        now = ask(found, 0.0, *names)[0]
        heard.update(now)
        return now

    patience.until(lambda: answers("a", "b") == {"b"}, patience=60.0, step=0.001)
    found.tend()
    assert tended == ["b"]
    may.set()
    patience.until(lambda: "b" in answers("b") and "a" in heard, patience=60.0, step=0.001)
    found.tend()
    assert tended == ["b", "a", "b"]
    found.close()
    patience.until(
        lambda: not any(each.name == "cluster a" for each in threading.enumerate()), patience=60.0, step=0.001
    )


# The loop over cycles


def grid(tasks: int = 3) -> GridStore:
    store = GridStore("sqlite://")
    store.register(ClusterEntry(name="a"))
    campaign = Campaign(user="u", name="n", clusters=(ClusterProperties(cluster="a", exec_file="x"),))
    store.submit(campaign, [str(number) for number in range(tasks)], now=0.0)
    return store


class Passing(PaperCluster):
    """A cluster whose jobs end before each look."""

    closed = 0
    tended = 0

    def look(self) -> Observation:
        self.pass_time(0.0)
        self.time = time.time()
        return super().look()

    def tend(self) -> None:
        self.tended += 1

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Passing:
    found = Passing("a", 2)
    opened: list[tuple[object, ...]] = []

    def open_it(*given: object) -> ResourceManager:
        opened.append(given)
        return found

    monkeypatch.setattr(loop, "open_manager", open_it)
    return found


def test_a_run_ends_when_nothing_is_left(cluster: Passing) -> None:
    cycles = []
    run_campaigns(
        grid(), GridSettings(finalize=False), cycle_seconds=0.0, cycles=50, until_idle=True, on_cycle=cycles.append
    )
    assert cycles[-1].idle
    assert not any(each.idle for each in cycles[:-1])
    assert sum(cluster.starts.values()) == 3
    assert cluster.closed == 1


def test_a_run_of_so_many_cycles(cluster: Passing, monkeypatch: pytest.MonkeyPatch) -> None:
    cycles, pauses = [], []
    monkeypatch.setattr(loop, "_tend", lambda running, interrupts, until: pauses.append(until - loop.time.monotonic()))
    run_campaigns(grid(), GridSettings(finalize=False), cycle_seconds=500.0, cycles=2, on_cycle=cycles.append)
    assert len(cycles) == 2
    assert len(pauses) == 1
    assert 400.0 < pauses[0] <= 500.0


def test_clusters_are_tended_in_a_pause() -> None:
    tended = []
    running: Any = SimpleNamespace(tend=lambda: tended.append(time.monotonic()))
    interrupts: Any = SimpleNamespace(check=lambda: None)
    until = time.monotonic() + 0.03
    loop._tend(running, interrupts, until)
    assert time.monotonic() >= until
    assert tended


def test_a_run_ends_when_all_campaigns_wait(cluster: Passing) -> None:
    store, cycles = grid(), []
    store.pause(1, "u")
    run_campaigns(
        store, GridSettings(finalize=False), cycle_seconds=0.0, cycles=50, until_stuck=True, on_cycle=cycles.append
    )
    assert len(cycles) == 1
    assert cycles[0].stuck
    assert cluster.starts == {}


def test_a_store_that_goes_away_is_waited_for(cluster: Passing, monkeypatch: pytest.MonkeyPatch) -> None:
    store = grid()
    usual, troubles, pauses = store.cycle, [], []
    failures = iter([False, True, True, True, False, True, False, False, False, False, False])

    def cycle() -> Any:
        if next(failures):
            raise StoreAway("the server is gone")
        return usual()

    monkeypatch.setattr(store, "cycle", cycle)
    monkeypatch.setattr(loop, "_tend", lambda running, interrupts, until: pauses.append(until - loop.time.monotonic()))
    settings = GridSettings(finalize=False)
    run_campaigns(store, settings, cycle_seconds=0.0, cycles=50, until_idle=True, on_trouble=troubles.append)
    assert len(troubles) == 4
    waited = [round(each, 1) for each in pauses if each > 0.1]
    assert waited == [0.2, 0.4, 0.8, 0.2]
    assert sum(cluster.starts.values()) == 3


def test_a_store_that_is_away_from_the_first_is_an_error(cluster: Passing, monkeypatch: pytest.MonkeyPatch) -> None:
    store = grid()

    def cycle() -> Any:
        raise StoreAway("the server is gone")

    monkeypatch.setattr(store, "cycle", cycle)
    with pytest.raises(StoreAway):
        run_campaigns(store, GridSettings(finalize=False), cycle_seconds=0.0)


def test_a_cluster_that_cannot_be_opened_is_opened_later(monkeypatch: pytest.MonkeyPatch) -> None:
    found, tries = Passing("a", 2), []

    def open_it(name: str, batch: str, address: str, resources: int | None, mark: str) -> ResourceManager:
        tries.append((name, batch, address, resources))
        if len(tries) == 1:
            raise ClusterError("not yet", name)
        return found

    monkeypatch.setattr(loop, "open_manager", open_it)
    monkeypatch.setattr(loop, "FIRST_SECONDS", 0.0)
    run_campaigns(grid(), GridSettings(finalize=False), cycle_seconds=0.0, cycles=50, until_idle=True)
    assert tries == [("a", "", "", None)] * 2
    assert found.closed == 1


@pytest.mark.parametrize(
    ("kind", "needed", "defaults"),
    [
        (
            OarDescription,
            {"url": "https://oar.example.org/oarapi"},
            {
                "auth": "none",
                "header": "X-REMOTE-IDENT",
                "resource_unit": "resource_id",
                "timeout": 30.0,
                "period": 60.0,
            },
        ),
        (PsijDescription, {"executor": "pbs", "folder": "/f", "slots": 3}, {"cores": 1, "timeout": 60.0}),
        (
            SlurmDescription,
            {"folder": "/f"},
            {"nice": 0, "cores": 1, "whole_nodes": False, "resources": None, "timeout": 30.0},
        ),
    ],
)
def test_descriptions_take_keywords_and_have_these_defaults(
    kind: Any, needed: dict[str, Any], defaults: dict[str, Any]
) -> None:
    """OAR's period is that of CiGri; what is not listed is empty, or no file."""
    found = msgspec.structs.asdict(kind(**needed))
    assert {name: value for name, value in found.items() if name in defaults} == defaults
    assert {name for name, value in found.items() if value not in ("", None)} <= {**needed, **defaults}.keys()
    with pytest.raises(TypeError):
        kind(*needed.values())
    with pytest.raises(AttributeError):
        kind(**needed).timeout = 1.0


BOUNDS: dict[str, dict[str, float]] = {
    "interface": {"KEPT_BYTES": 10_000, "MOST_BYTES": 2**26, "_MOST_BYTES": 2**20},
    "oar": {
        "MOST_BYTES": 256e6,
        "COLLECTION_BYTES": 256e6,
        "OUTPUT_BYTES": 1e6,
        "MOST_CHARACTERS": 20e6,
        "LOST_SECONDS": 60,
        "LOST_LOOKS": 3,
        "BEFORE_SECONDS": 7 * 24 * 3600,
        "TIMES": 10,
        "IDS": 100,
        "DELETIONS": 100,
        "OUTPUTS": 20,
        "LINES": 200,
        "PAGES": 2000,
        "MOST_RESOURCES": 100_000,
        "MOST_UNIT": 200,
    },
    "_oar_api": {
        "MOST_BYTES": 32e6,
        "SHOWN": 300,
        "MOST_JOBS": 100,
        "MOST_COMMAND_BYTES": 60_000,
        "MOST_EVENTS": 20,
        "MOST_CHARACTERS": 1000,
        "MOST_BEGINNING": 200,
        "MOST_VALUE": 1000,
        "MOST_ITEMS": 20_000,
        "MOST_ASSIGNED": 250_000,
        "MOST_COMMAND": 2**20,
    },
    "psij": {"MOST_BYTES": 2**23, "GONE_SECONDS": 5, "MOST_AT_ONCE": 100},
    "slurm": {"RECORD_SECONDS": 60, "MOST_IN_ARRAY": 1000},
    "_slurm_jobs": {"KILL_SECONDS": 5, "OUT_OF_MEMORY": 9},
    "_local_leader": {"GRACE_SECONDS": 5, "LONGEST_WAIT": 1e6, "REAP_SECONDS": 1},
    "_dask_worker": {"KEPT_BYTES": 10_000},
    "dask": {"PRIORITY": -10},
}


@pytest.mark.parametrize("module", BOUNDS)
def test_what_a_cluster_can_have_the_loop_keep_and_wait_for(module: str) -> None:
    """`IDS` is CiGri's size of a chunk, and as many bytes of an output are kept whatever manages the jobs."""
    found = vars(importlib.import_module(f"batprotocol.campaigns.managers.{module}"))
    assert {name: found[name] for name in BOUNDS[module]} == BOUNDS[module]
