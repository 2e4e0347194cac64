"""Which runs an engine gets, and what becomes of those whose processes die: with an engine that runs nothing."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from batprotocol._util.engines import Ended
from batprotocol.errors import StudyError
from batprotocol.studies import Progress, Store
from batprotocol.studies.execution import _RunLoop, _ways
from batprotocol.studies.runs import Outcome, Run, RunLimits, Task
from batprotocol.studies.sources import StudyFiles

WITHOUT_ENGINE = True


class Scripted:
    """An engine whose calls end in turn, as a script says for each call: done, lost, late, full or failed."""

    def __init__(self, script: Sequence[str], places: int = 1, is_remote: bool = False) -> None:
        self.script = list(script)
        self.places = places
        self.is_remote = is_remote
        self.submitted: list[int] = []
        self.before_first = 0
        self.shared: dict[str, StudyFiles] = {}
        self._waiting: list[int] = []

    def share(self, name: str, value: Any) -> None:
        assert name not in self.shared
        self.shared[name] = value

    def submit(self, number: int, argument: Any, shared: Sequence[str] = ()) -> None:
        self.submitted.append(number)
        self._waiting.append(number)

    def wait(self, timeout: float) -> list[Ended]:
        self.before_first = self.before_first or len(self.submitted)
        number, how = self._waiting.pop(0), self.script.pop(0)
        if how in ("lost", "late"):
            return [Ended(number, None, "its process was ended", "printed", "here", how == "late")]
        if how == "full":
            return [Ended(number, Outcome(state="failed", kind="disk", error=f"[Errno {errno.ENOSPC}] full"))]
        state = "done" if how == "done" else "failed"
        return [Ended(number, Outcome(state=state, error="" if state == "done" else "no reason"), place="there")]

    def close(self) -> None:
        pass


def looped(folder: Path, engine: Scripted, count: int, **more: Any) -> tuple[Progress, Store]:
    """The progress of so many runs, and their store."""
    shared = more.get("source", "")
    runs = [
        Run.of({"seed": seed}, Task(scheduler="a", workload="w", init=str(seed), source=shared))
        for seed in range(count)
    ]
    store = Store(folder / "store", writes=True)
    store.want(runs)
    progress = Progress(total=count)
    seen: list[int] = more.get("seen", [])
    loop = _RunLoop(
        engine,
        store,
        RunLimits(60.0),
        more.get("files", {}),
        progress,
        lambda at: seen.append(at.done),
        {},
        _ways(runs),
    )
    loop.run(runs)
    return progress, store


@pytest.mark.parametrize(("places", "first"), [(1, 4), (2, 8), (0, 4), (5, 10)])
def test_four_runs_a_place_are_given_beforehand(places: int, first: int, tmp_path: Path) -> None:
    engine = Scripted(["done"] * 10, places)
    seen: list[int] = []
    progress, store = looped(tmp_path, engine, 10, seen=seen)
    assert engine.submitted == list(range(10))
    assert engine.before_first == first
    assert (progress.done, progress.failed, progress.completed, progress.remaining) == (10, 0, 0, 0)
    assert seen == list(range(1, 11))
    assert progress.seconds > 0
    assert [row.axes["seed"] for row in store.rows()] == list(range(10))
    store.close()


def test_a_run_whose_process_dies_is_tried_once_more(tmp_path: Path) -> None:
    engine = Scripted(["lost", "done", "late", "done", "lost"])
    progress, store = looped(tmp_path, engine, 4)
    assert engine.submitted == [0, 1, 2, 3, 0]
    assert [(row.state, row.kind, row.error, row.traceback) for row in store.rows()] == [
        ("failed", "died", "its process was ended", "printed"),
        ("done", "", "", ""),
        ("failed", "time", "it took more than 60 s: raise `timeout`", "printed"),
        ("done", "", "", ""),
    ]
    assert (progress.done, progress.failed, progress.error) == (2, 2, "its process was ended")
    assert progress.run is not None
    assert (progress.run.axes, progress.place) == ({"seed": 0}, "")
    store.close()


def test_the_place_of_a_failure_on_another_machine(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("")
    files = StudyFiles.read(str(tmp_path), ["own.py"])
    engine = Scripted(["failed", "done"], is_remote=True)
    progress, store = looped(tmp_path, engine, 2, source=files.digest, files={files.digest: files})
    assert (progress.failed, progress.error, progress.place) == (1, "no reason", "there")
    assert engine.shared[files.digest].contents == (b"",)
    store.close()
    engine = Scripted(["failed", "done"])
    progress, store = looped(tmp_path / "other", engine, 2, source=files.digest, files={files.digest: files})
    assert (progress.place, engine.shared[files.digest].contents) == ("", None)
    store.close()


def test_what_another_program_has_run_is_not_run_again(tmp_path: Path) -> None:
    looped(tmp_path, Scripted(["done"] * 2), 2)[1].close()
    engine = Scripted(["done"])
    progress, store = looped(tmp_path, engine, 3)
    assert engine.submitted == [2]
    assert (progress.completed, progress.done, progress.remaining) == (2, 1, 0)
    store.close()


def test_a_full_disk_ends_the_study(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"the results of seed=1 cannot be written on its machine: \[Errno 28\] full"):
        looped(tmp_path, Scripted(["done", "full"]), 2)
