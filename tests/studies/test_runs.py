"""Studies in processes of this machine: what is run, what is not run again, and how runs fail."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import textwrap
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from processes import BATPROTO, ENVIRONMENT, PATIENCE

from batprotocol.errors import StudyError
from batprotocol.policies.names import named
from batprotocol.simulator import lublin_workload, platform_for, simulate
from batprotocol.studies import Progress, Row, Store, Study

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

SMALL = "lublin:16?jobs=15"

SCHEDULER = """
    from batprotocol.edc import Scheduler
    from helping import order

    class Own(Scheduler):
        def __init__(self, depth=1):
            self.depth = depth
            self.waiting = []
            self.free = set()

        def on_simulation_begins(self, event):
            self.free = {host.id for host in event.computation_hosts}
            self.running = {}

        def on_job_submitted(self, event):
            self.waiting.append(event)

        def on_job_completed(self, event):
            self.free |= self.running.pop(event.job_id)

        def decide(self):
            for event in order(self.waiting)[: self.depth]:
                if event.job.resource_request <= len(self.free):
                    hosts = set(sorted(self.free)[: event.job.resource_request])
                    self.free -= hosts
                    self.running[event.job_id] = hosts
                    self.waiting.remove(event)
                    self.reply.add_execute_job(event.job_id, hosts)
"""
HELPER = """
    def order(waiting):
        return sorted(waiting, key=lambda event: -event.job.resource_request)
"""


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


class Counter:
    """What a study tells of its progress."""

    def __init__(self) -> None:
        self.last = Progress(total=0)

    def __call__(self, progress: Progress) -> None:
        self.last = progress

    @property
    def ran(self) -> int:
        return self.last.done + self.last.failed


def contents(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_a_study_is_all_combinations_and_equals_bare_simulations(tmp_path: Path) -> None:
    study = Study(scheduler=["fcfs", "easy"], workload=SMALL, seed=range(2), offered_load=[0.5, 0.9])
    rows = study.run(tmp_path / "store", processes=1)
    assert [(row.state, row.kind, row.error) for row in rows] == [("done", "", "")] * 8
    assert rows.axes["scheduler"] == ("fcfs", "easy")
    for row in rows:
        workload = lublin_workload(16, 15, seed=row.axes["seed"], offered_load=row.axes["offered_load"])
        bare = simulate(platform_for([workload]), workload, named(row.axes["scheduler"])())
        metrics = {name: value for name, value in bare.metrics().flat().items() if value == value}
        assert row.metrics == pytest.approx(metrics, abs=1e-6)  # files have six decimals
        assert [job.job_id for job in row.jobs()] == [job.job_id for job in bare.jobs]
        assert json.loads(Path(row.folder, "schedule.json").read_text())["nb_jobs"] == 15
    with Store(tmp_path / "store") as store:
        assert [row.key for row in store.rows()] == [row.key for row in rows]
        assert list(store.rows()) == list(rows)


def test_what_is_there_is_not_run_again_and_what_changed_is(tmp_path: Path) -> None:
    write(tmp_path, {"own.py": SCHEDULER, "helping.py": HELPER, "other.py": "x = 1", "study.toml": TOML})
    counter = Counter()

    def run(**options: Any) -> list[Row]:
        return list(
            Study.read(tmp_path / "study.toml").run(tmp_path / "store", processes=1, on_progress=counter, **options)
        )

    first = run()
    assert (counter.ran, len(first)) == (6, 6)
    assert [row.error for row in first] == [""] * 6
    assert len({json.dumps(dict(row.metrics)) for row in first if row.axes["seed"] == 0}) == 3, "arguments count"
    assert run() == first
    assert counter.ran == 0
    (tmp_path / "other.py").write_text("x = 1  # a comment in an unrelated file\n")
    assert run() == first
    assert counter.ran == 0
    (tmp_path / "helping.py").write_text("def order(waiting):\n    return waiting\n")
    second = run()
    assert counter.ran == 4, "of the two schedulers that import it, two seeds each"
    assert [row.key for row in second if row.axes["scheduler"] == "fcfs"] == [
        row.key for row in first if row.axes["scheduler"] == "fcfs"
    ]
    with Store(tmp_path / "store") as store:
        assert len(store.rows()) == 6
        assert len(store.rows(all=True)) == 10
    assert len(run(only=["scheduler=fcfs", "seed=0,1"])) == 2


def test_the_file_of_a_site_is_beside_the_study_and_part_of_a_run(tmp_path: Path) -> None:
    site = "[partitions.all]\nhosts = 'ALL'\ndefault = true\nmax_time = {}\n"
    for folder, hours in (("a+b", "1"), ("other", "2")):
        write(tmp_path / folder, {"sites/one.toml": site.format(hours)})
    (tmp_path / "a+b" / "sites" / "two.toml").write_text(site.format(60_000))
    text = """
        scheduler = ["easy+site=sites/one.toml", { scheduler = "fcfs", arguments = { site = ["sites/two.toml"] } }]
        workload = "lublin:16?jobs=8"
    """
    write(tmp_path / "a+b", {"study.toml": text})
    counter = Counter()

    def run() -> list[Row]:
        study = Study.read(tmp_path / "a+b" / "study.toml")
        return list(study.run(tmp_path / "store", processes=1, on_progress=counter))

    first = run()
    assert [(row.axes["scheduler"], row.axes.get("site"), row.error) for row in first] == [
        ("easy+site=sites/one.toml", None, ""),
        ("fcfs", "sites/two.toml", ""),
    ]
    assert {each.partition for row in first for each in row.allocations()} == {"all"}
    assert run() == first
    assert counter.ran == 0
    (tmp_path / "a+b" / "sites" / "one.toml").write_text(site.format(90_000))
    second = run()
    assert counter.ran == 1
    assert second[1] == first[1]
    assert second[0].key != first[0].key
    for wrong, why in (("sites/no.toml", "cannot read"), ("sites/bad.toml", "max_time")):
        (tmp_path / "a+b" / "sites" / "bad.toml").write_text(site.format('"long"'))
        with pytest.raises(StudyError, match=f"^scheduler: .*{why}"):
            Study(scheduler=f"easy+site={wrong}", workload=SMALL, folder=tmp_path / "a+b")


TOML = """
    scheduler = [
        "fcfs",
        { scheduler = "own.py:Own", name = "one" },
        { scheduler = "own.py:Own", name = "three", arguments = { depth = 3 } },
    ]
    workload = "lublin:16?jobs=40"
    seed = "0-1"
    offered_load = 2.0
"""

FAILING = """
    import time
    from batprotocol.edc import Scheduler

    class Raises(Scheduler):
        def on_job_submitted(self, event):
            print("what was printed")
            raise KeyError("what is wrong")

    class Breaks(Scheduler):
        def on_job_submitted(self, event):
            self.reply.add_execute_job("w0!nobody", 0)

    class Waits(Scheduler):
        pass

    class Stops(Scheduler):
        def on_job_submitted(self, event):
            self.reply.add_force_simulation_stop()

    class Hangs(Scheduler):
        def on_job_submitted(self, event):
            while True:
                time.sleep(0.01)

    class Eats(Scheduler):
        def on_job_submitted(self, event):
            self.kept = bytearray(4_000_000_000)

    class Dies(Scheduler):
        def on_job_submitted(self, event):
            import os
            os.abort()
"""
KINDS = {
    "Raises": ("exception", "KeyError: 'what is wrong', at simulated time "),
    "Breaks": ("rule", "job.unknown"),
    "Waits": ("deadlock", "deadlock"),
    "Stops": ("stopped", "stopped"),
    "Eats": ("memory", "more memory"),
    "Dies": ("died", "SIGABRT"),
    "Missing": ("scheduler", "has no Scheduler called 'Missing'"),
}


def test_what_fails_is_kept_and_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"failing.py": FAILING})
    targets = [{"scheduler": f"failing.py:{name}", "name": name} for name in KINDS]
    study = Study(scheduler=[*targets, "fcfs"], workload=SMALL, folder=tmp_path, timeout=120.0, memory="3GB")
    counter = Counter()
    rows = study.run(tmp_path / "store", processes=2, on_progress=counter)
    assert [row.state for row in rows] == ["failed"] * len(KINDS) + ["done"]
    assert (counter.last.done, counter.last.failed) == (1, len(KINDS))
    for row in rows.failed:
        kind, words = KINDS[row.axes["scheduler"]]
        assert row.kind == kind, row.error
        assert words in row.error
        assert "\n" not in row.error
        if kind not in ("scheduler", "died"):
            assert row.recording
        if kind not in ("deadlock", "stopped"):
            assert row.traceback
    raised = rows.where(scheduler="Raises")[0]
    assert "raise KeyError" in raised.traceback
    assert b"what was printed" in contents(raised.folder)["printed.txt"]
    study.run(tmp_path / "store", on_progress=counter)
    assert counter.ran == 0
    study.run(
        tmp_path / "store", on_progress=counter, retry_failed=True, only=["scheduler=Raises,Breaks,fcfs"], processes=1
    )
    assert (counter.last.done, counter.last.failed) == (0, 2)


def test_what_takes_too_long_is_kept_and_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"failing.py": FAILING})
    targets = [{"scheduler": f"failing.py:{name}", "name": name} for name in ("Hangs", "Raises")]
    study = Study(scheduler=targets, workload=SMALL, folder=tmp_path, timeout=4.0)
    rows = study.run(tmp_path / "store", processes=1)
    assert [row.state for row in rows] == ["failed"] * 2
    (hung,) = rows.where(scheduler="Hangs")
    assert (hung.kind, "it took more than 4 s" in hung.error, "\n" in hung.error) == ("time", True, False)
    assert hung.recording
    assert hung.traceback


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"scheduler": []}, "scheduler: an axis has at least one value"),
        ({"scheduler": "fcfs", "seeds": [1]}, "seeds: there is no such key; did you mean seed?"),
        ({"scheduler": ["fcfs", "fcfs"]}, "scheduler: 'fcfs' is named twice"),
        ({"scheduler": "fcsf"}, "'fcsf' is not a policy"),
        ({"scheduler": "nowhere.py:Own"}, "there is no file"),
        ({"scheduler": "fcfs", "arrival_factor": -1}, "arrival_factor: expected a number > 0, got -1"),
        ({"scheduler": "fcfs", "arrival_factor": [1, "x"]}, "arrival_factor[1]: expected a number > 0"),
        ({"scheduler": "fcfs", "seed": "9-1"}, "seed: expected integers"),
        ({"scheduler": "fcfs", "seed": "0-1"}, "seed: nothing is drawn at random"),
        ({"scheduler": "fcfs", "energy": True, "workload": SMALL}, "platform: energy can only be measured"),
        (
            {"scheduler": "fcfs", "workload": SMALL, "weeks": "shuffled"},
            "weeks: the workload 'lublin:16?jobs=15' is drawn",
        ),
        ({"scheduler": "fcfs", "workload": SMALL, "jobs": "0-9"}, "jobs: the workload 'lublin:16?jobs=15' has it in"),
        ({"scheduler": "fcfs", "timeout": 0}, "timeout: expected a number of seconds > 0"),
        ({"scheduler": "fcfs", "memory": "much"}, "memory: expected bytes"),
        ({"scheduler": {"scheduler": "fcfs", "argument": 1}}, "scheduler: a table has the keys"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(keys: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as caught:
        Study(folder=tmp_path, **keys)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["scheduler = [\n", f"seed = {'[' * 100_000}", f"seed = {'1' * 5000}"])
def test_toml_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(StudyError, match=r"bad\.toml: it is not TOML"):
        Study.read(tmp_path / "bad.toml")


@pytest.mark.parametrize("killed", ["index", "folder", "torn", "cut"])
def test_a_store_that_was_killed_goes_on(killed: str, tmp_path: Path) -> None:
    study = Study(scheduler=["fcfs", "easy"], workload=SMALL)
    rows = study.run(tmp_path / "store", processes=1)
    index = tmp_path / "store" / "index.sqlite"
    remove: dict[str, Callable[[], object]] = {
        "index": index.unlink,
        "folder": lambda: os.rename(rows[0].folder, tmp_path / "away"),
        "torn": lambda: index.write_bytes(index.read_bytes()[:4096] + bytes(4096)),
        "cut": lambda: index.write_bytes(b"no SQLite"),
    }
    remove[killed]()
    counter = Counter()
    again = study.run(tmp_path / "store", on_progress=counter)
    assert counter.ran == (1 if killed == "folder" else 0)
    assert [(row.key, row.metrics) for row in again] == [(row.key, row.metrics) for row in rows]
    if killed == "folder":
        assert contents(again[0].folder) == contents(str(tmp_path / "away"))


def test_runs_that_the_index_lacks_are_read(tmp_path: Path) -> None:
    """A program was killed before it wrote the index: a table of its runs has all that have a folder."""
    study = Study(scheduler=["fcfs", "easy"], workload=SMALL)
    rows = study.run(tmp_path / "store", processes=1)
    with closing(sqlite3.connect(tmp_path / "store" / "index.sqlite")) as index:
        for table in ("runs", "measured"):
            index.execute(f"DELETE FROM {table} WHERE key = ?", (rows[0].key,))
        index.execute("DELETE FROM measures")
        index.commit()
    with Store(tmp_path / "store", writes=False) as store:
        assert store.states().keys() == {row.key for row in rows}
        for found in (study.rows(tmp_path / "store"), store.rows(), store.rows(all=True)):
            assert {row.key: row.metrics for row in found} == {row.key: row.metrics for row in rows}
        with Store(tmp_path / "merged", writes=True) as merged:
            assert merged.merge(store) == len(rows)
            assert {row.key: row.metrics for row in merged.rows(all=True)} == {row.key: row.metrics for row in rows}


def test_two_programs_on_one_store(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('scheduler = "fcfs"\nworkload = "lublin:16?jobs=15"\nseed = "0-9"\n')
    command = [*BATPROTO, "study", "run", str(tmp_path / "study.toml"), "-s", str(tmp_path / "store"), "-j", "1"]
    programs = [subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [program.communicate(timeout=PATIENCE)[0] for program in programs]
    assert [program.returncode for program in programs] == [0, 0]
    counts = [
        re.fullmatch(r"10 runs: (\d+) done, 0 failed.*\nworkload=.*: offered load (?:.*\n)+", each) for each in said
    ]
    assert all(counts)
    with Store(tmp_path / "store") as store:
        assert len(store.rows(all=True)) == len(store.rows()) == 10
    alone = Study.read(tmp_path / "study.toml").run(tmp_path / "alone", processes=1)
    for row in Study.read(tmp_path / "study.toml").rows(tmp_path / "store"):
        assert contents(row.folder) == contents(next(each.folder for each in alone if each.key == row.key))


def test_stores_are_merged(tmp_path: Path) -> None:
    study = Study(scheduler=["fcfs", "easy"], workload=SMALL, seed="0-1")
    study.run(tmp_path / "one", only=["seed=0"], processes=1)
    both = study.run(tmp_path / "other", only=["scheduler=fcfs"], processes=1)
    with Store(tmp_path / "one", writes=True) as one, Store(tmp_path / "other") as other:
        assert one.merge(other) == 1
        assert one.merge(other) == 0
        assert len(one.rows()) == 3
        assert {row.key for row in both} <= {row.key for row in one.rows()}


def test_stores_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="there is no such store"):
        Store(tmp_path / "nothing")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    for writes in (False, True):
        with pytest.raises(StudyError, match="it is not a store of runs"):
            Store(tmp_path / "full", writes=writes)
    Study(scheduler="fcfs", workload=SMALL).run(tmp_path / "store")
    import sqlite3

    with sqlite3.connect(tmp_path / "store" / "index.sqlite") as database:
        database.execute("PRAGMA user_version=3")
    for writes in (False, True):
        with pytest.raises(StudyError, match="a newer batprotocol has made it: its format is 3"):
            Store(tmp_path / "store", writes=writes)


def test_a_store_of_a_former_version_is_read_and_brought_up_to_date(tmp_path: Path) -> None:
    """As version 0.2 wrote it, with one set of metrics for each run."""
    import sqlite3

    folder = tmp_path / "store" / "runs" / "ab" / "abc"
    folder.mkdir(parents=True)
    with sqlite3.connect(tmp_path / "store" / "index.sqlite") as database:
        database.executescript(
            """CREATE TABLE runs (key TEXT PRIMARY KEY, state TEXT NOT NULL, kind TEXT NOT NULL, error TEXT NOT NULL,
            axes TEXT NOT NULL, metrics TEXT NOT NULL, seconds REAL NOT NULL) WITHOUT ROWID;
            CREATE TABLE wanted (axes TEXT PRIMARY KEY, key TEXT NOT NULL, place INTEGER NOT NULL) WITHOUT ROWID;
            INSERT INTO runs VALUES ('abc', 'done', '', '', '{"seed": 1}', '{"makespan": 5.0}', 0.5);
            INSERT INTO wanted VALUES ('{"seed": 1, "load": 2}', 'abc', 0);
            PRAGMA application_id=1650553971; PRAGMA user_version=1;"""
        )
    for writes in (False, True, False):
        with Store(tmp_path / "store", writes=writes) as store:
            assert [(row.axes, row.metrics) for row in store.rows()] == [({"seed": 1, "load": 2}, {"makespan": 5.0})]
            assert [row.axes for row in store.rows(all=True)] == [{"seed": 1}]
    told = {
        "format": 1,
        "key": "abc",
        "state": "done",
        "kind": "",
        "error": "",
        "axes": {},
        "metrics": {"makespan": 5.0},
    }
    (folder / "run.json").write_text(json.dumps(told))
    (tmp_path / "store" / "index.sqlite").unlink()
    with Store(tmp_path / "store", writes=True) as store:
        assert [row.metrics for row in store.rows(all=True)] == [{"makespan": 5.0}]
