"""Descriptions of studies: each key with its values, the names of runs, and the words of Batsim's command lines."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from batprotocol.errors import StudyError
from batprotocol.studies import KEYS, Study, runs
from batprotocol.studies.keys import values_of
from batprotocol.studies.runs import Measure, OwnMetricFile, Run, RunLimits, Task, memory_of
from batprotocol.studies.sources import Shelf, chosen, imported_from_beside

WITHOUT_ENGINE = True

SMALL = "lublin:16?jobs=15"
NAN, INF = math.nan, math.inf


# Keys


@pytest.mark.parametrize(
    ("keys", "right", "wrong"),
    [
        (["workload", "master", "events", "init", "scheduler"], ["a", ""], [1, None, True]),
        (["platform"], ["a.xml", 4], [0, -1, 1.5, True]),
        (["mmax", "wide"], [1, 10], [0, -1, 1.5, True, "1"]),
        (["jobs", "time"], ["0-9", "7", "5-", "0.5-1.5"], ["-9", "a-b", "0-9 ", "", 9, "0-9-"]),
        (
            ["shift", "larger", "runtime_limits", "recorded", "partitions", "energy", "corrected"],
            [True, False],
            [0, 1, "yes", None],
        ),
        (["weeks"], ["shuffled", "resampled"], ["other", True, ""]),
        (
            ["period", "arrival_factor", "offered_load", "walltimes", "tau", "long"],
            [1, 0.001, 1e9],
            [0, 0.0, -1, True, "1", NAN, INF, None],
        ),
        (["estimates"], ["exact"], ["rough", True]),
        (["estimate_factor"], [0, 0.0, 2.5], [-0.1, True, "2", NAN, INF]),
        (["seed", "failure_seed"], [0, 1, 10**9], [-1, 0.5, True, "1"]),
        (["mtbf"], ["1mo", 60, "never"], ["soon", 0, -1, INF, None, True]),
        (["failures_until"], ["1d8h", 0.5], ["never", "1x", 0, None]),
        (["repair"], ["fixed:2h", "weibull:shape=0.7,mean=1h"], ["2h", "fixed:", 7200, None]),
        (["watts"], ["idle=95,busy=250", "idle=1,busy=1,off=0"], ["95", "idle=95", "idle=9,busy=1", 95, None]),
        (["carbon", "price"], ["gb.csv", "daily:300"], [300, None, True]),
        (["cap"], ["none", "4kW", "cap.csv", 4000, 0.5], [0, -1, "", None, True]),
        (["rules"], ["batsim-5.0.0-rc2"], ["batsim-1", 5]),
        (["warm_up", "cool_down"], [0, 0.0, 0.999], [1, 1.0, -0.001, True, False, "0.1", NAN, INF]),
    ],
)
def test_values_of_keys(keys: list[str], right: list[Any], wrong: list[Any]) -> None:
    for key in keys:
        assert [value for value in right if not KEYS[key].check(value)] == []
        assert [value for value in wrong if KEYS[key].check(value)] == []


def test_every_key_has_a_kind() -> None:
    kinds: dict[str, list[str]] = {}
    for name, key in KEYS.items():
        kinds.setdefault(key.kind, []).append(name)
    assert kinds == {
        "input": ["workload", "platform", "events", "failures", "scheduler"],
        "machine": ["master", "mmax"],
        "failures": ["mtbf", "failure_shape", "repair", "failing", "failures_until", "failure_seed"],
        "power": ["watts", "carbon", "price", "cap"],
        "change": [
            *(
                "jobs",
                "time",
                "window",
                "before",
                "after",
                "shift",
                "larger",
                "runtime_limits",
                "recorded",
                "partitions",
                "weeks",
                "period",
                "arrival_factor",
                "offered_load",
            ),
            *("estimates", "estimate_factor", "walltimes", "seed"),
        ],
        "option": ["init", "energy", "corrected", "rules"],
        "metrics": ["warm_up", "cool_down", "tau", "wide", "long"],
    }
    assert list(KEYS)[-1] == "scheduler"
    assert KEYS["arrival_factor"].meaning.endswith("with 1.2, jobs arrive 1.2 times as fast.")
    assert all(key.meaning.endswith(".") and not key.meaning.endswith("..") for key in KEYS.values())


def test_values_that_are_given_in_one_word_or_many() -> None:
    import numpy as np

    assert list(values_of("seed", "3-5")) == [3, 4, 5]
    assert list(values_of("seed", "7-7")) == [7]
    assert values_of("offered_load", np.array([0.5, 1.0])) == values_of("offered_load", (0.5, 1.0)) == [0.5, 1.0]
    assert values_of("offered_load", np.float64(0.5)) == [0.5]
    assert values_of("jobs", "0-9") == ["0-9"]
    assert values_of("seed", range(2)) == [0, 1]
    assert sorted(values_of("seed", {1, 2})) == sorted(values_of("seed", frozenset([2, 1]))) == [1, 2]
    for given in ("5-3", "1", "1-", "1-9999999999", " 1-2"):
        with pytest.raises(StudyError) as refused:
            values_of("seed", given)
        assert str(refused.value) == f"seed: expected integers, or an interval such as \"0-9\", got '{given}'"
    with pytest.raises(StudyError) as refused:
        values_of("offered_load", ())
    assert str(refused.value) == "offered_load: an axis has at least one value: write one, or leave out the key"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0, 0),
        (4096, 4096),
        ("4096", 4096),
        (" 2GB ", 2 * 10**9),
        ("2G", 2 * 10**9),
        ("1.5MB", 1_500_000),
        ("3kB", 3000),
        ("1TB", 10**12),
        ("0.5", 0),
    ],
)
def test_bytes(given: Any, expected: int) -> None:
    assert memory_of(given) == expected


@pytest.mark.parametrize("given", [True, False, "", "B", "1XB", "-1", "nan", 2**62, "1e30GB", None])
def test_what_is_not_a_number_of_bytes(given: Any) -> None:
    with pytest.raises(StudyError, match=r'^memory: expected bytes, such as 4096 or "2GB", got '):
        memory_of(given)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"offered_lod": 1}, "offered_lod: there is no such key; did you mean offered_load?"),
        ({"timeout": 0}, "timeout: expected a number of seconds > 0, got 0"),
        ({"timeout": True}, "timeout: expected a number of seconds > 0, got True"),
        ({"timeout": "1"}, "timeout: expected a number of seconds > 0, got '1'"),
        ({"name": ""}, "name: expected a text that can be the name of a file, got ''"),
        ({"name": "a/b"}, "name: expected a text that can be the name of a file, got 'a/b'"),
        ({"name": 7}, "name: expected a text that can be the name of a file, got 7"),
        ({"offered_load": [0.5, 0]}, "offered_load[1]: expected a number > 0, got 0"),
        ({"offered_load": [0]}, "offered_load: expected a number > 0, got 0"),
        ({"offered_load": [0.5, 0.5]}, "offered_load: 0.5 is named twice; remove one of them"),
        ({"platform": [4, 4]}, "platform: 4 is named twice; give one of them a name"),
        ({"workload": [SMALL, SMALL]}, f"workload: '{SMALL}' is named twice; give one of them a name"),
        ({"scheduler": ["easy", "easy"]}, "scheduler: 'easy' is named twice; give one of them a name"),
        ({"energy": True}, "platform: energy can only be measured on a platform whose file defines watts: name such a"),
        (
            {"offered_load": 1, "workload": "lublin:16?offered-load=1"},
            "offered_load: the workload 'lublin:16?offered-load=1' has it in its name already",
        ),
        ({"shift": True}, f"shift: the workload '{SMALL}' is drawn from a model, and this key is for files only"),
        ({"platform": {"platform": 4, "mmax": 0}}, "platform.mmax: expected a number of hosts > 0, got 0"),
        ({"platform": {"platform": 4, "roles": {"a": 1}}}, "platform.roles: expected a table of hosts and their roles"),
        (
            {"platform": {"platform": 4, "size": 1}},
            "platform: a table has the keys platform, name, master, mmax, roles",
        ),
        ({"workload": {"workload": SMALL, "mmax": 1}}, "workload: a table has the keys workload, name, got"),
        ({"seed": "0-1", "workload": "lublin:16?seed=1"}, "seed: nothing is drawn at random: use a workload such as"),
    ],
)
def test_mistakes_in_a_study(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError) as refused:
        Study(**{"scheduler": "fcfs", "workload": SMALL, **keys})
    assert str(refused.value).startswith(message)


def test_a_study_without_a_scheduler(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('workload = "lublin:16"\n')
    with pytest.raises(StudyError, match="at least one scheduler: write for example") as refused:
        Study.read(tmp_path / "s.toml")
    assert refused.value.file == str(tmp_path / "s.toml")
    (tmp_path / "s.toml").write_text('scheduler = "fcfs"\nrubbish = 1\n')
    with pytest.raises(
        StudyError, match="rubbish: there is no such key; there are name, timeout, memory, metrics, work"
    ):
        Study.read(tmp_path / "s.toml")


def test_some_of_the_runs() -> None:
    study = Study(scheduler=["fcfs", "easy"], workload=SMALL, offered_load=[0.5, 1], seed="0-2")
    assert (study.name, study.count()) == ("study", 12)
    assert study.place().endswith("study.runs")
    assert study.place("here") == "here"
    assert [str(run) for run in study.runs(["offered_load=0.5", "seed=0,2", "scheduler=easy"])] == [
        f"workload={SMALL} offered_load=0.5 seed={seed} scheduler=easy" for seed in (0, 2)
    ]
    for only, message in (
        (
            "offered_load",
            "expected AXIS=VALUE with one of the axes workload, offered_load, seed, scheduler, got 'offered_load'",
        ),
        ("tau=3", "expected AXIS=VALUE with one of the axes workload, offered_load, seed, scheduler, got 'tau=3'"),
        ("offered_load=0.5,3,2", "offered_load has no value '2'; it has 0.5, 1"),
    ):
        with pytest.raises(StudyError) as refused:
            study.runs([only])
        assert str(refused.value) == message


# The names of runs


def test_what_a_run_is_named_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_VERSION", ["1.2"])
    study = Study(
        scheduler="easy", workload=SMALL, offered_load=0.5, seed=3, platform=8, mmax=4, init="{seed}!", warm_up=0.1
    )
    (run,) = study.runs()
    task = {
        "scheduler": "easy",
        "arguments": {},
        "source": "",
        "workload": SMALL,
        "workload_files": "",
        "changes": {"offered-load": "0.5", "seed": "3"},
        "platform": 8,
        "platform_files": "",
        "master": "",
        "mmax": 4,
        "roles": {},
        "events": "",
        "events_files": "",
        "init": "3!",
        "energy": False,
        "corrected": False,
        "rules": "",
        "batsim": [],
        "batsim_files": "",
        "in_process": False,
    }
    text = json.dumps([2, "1.2", task], sort_keys=True)
    assert run.key == hashlib.sha256(text.encode()).hexdigest()[:32]
    measure = json.dumps([2, {"warm_up": 0.1}, []])
    assert run.measure.key == hashlib.sha256(measure.encode()).hexdigest()[:16]
    assert (run.drawn, run.is_model, run.shared) == (("workload", "scheduler"), True, ())
    assert run.axes == {
        "workload": SMALL,
        "platform": 8,
        "mmax": 4,
        "offered_load": 0.5,
        "seed": 3,
        "init": "{seed}!",
    } | {
        "warm_up": 0.1,
        "scheduler": "easy",
    }


def test_what_decides_nothing_names_nothing() -> None:
    def key(**keys: Any) -> str:
        (run,) = Study(**{"scheduler": "easy", "workload": SMALL, **keys}).runs()
        return run.key

    usual = key()
    same: list[dict[str, Any]] = [
        *({"timeout": 5}, {"memory": "1GB"}, {"name": "other"}, {"warm_up": 0.5}, {"tau": 3.0}, {"long": 5, "wide": 2}),
        {"scheduler": {"scheduler": "easy", "name": "another"}},
        {"workload": {"workload": SMALL, "name": "a name"}},
    ]
    other: list[dict[str, Any]] = [
        *({"seed": 1}, {"offered_load": 1}, {"platform": 16}, {"mmax": 16}, {"init": "x"}, {"corrected": True}),
        *({"walltimes": 2}, {"scheduler": "fcfs"}, {"estimate_factor": 1}),
    ]
    assert {key(**keys) for keys in same} == {usual}
    assert len({usual, *(key(**keys) for keys in other)}) == len(other) + 1


def test_the_parts_that_seeds_draw(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text("; MaxProcs: 4\n1 0 0 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1\n")

    def drawn(**keys: Any) -> tuple[str, ...]:
        (run,) = Study(**{"scheduler": "easy", "workload": "log.swf", "seed": 1, "folder": tmp_path, **keys}).runs()
        assert (run.task.changes.get("seed") == "1") is bool(set(run.drawn) - {"scheduler"})
        return run.drawn

    assert drawn() == ()
    assert drawn(weeks="shuffled") == ("weeks",)
    assert drawn(estimate_factor=2) == ("estimates",)
    assert drawn(weeks="resampled", estimate_factor=2, init="{seed}") == ("weeks", "estimates", "scheduler")
    assert drawn(workload="log.swf?weeks=shuffled") == ("weeks",)
    assert drawn(workload=SMALL) == ("workload",)
    (run,) = Study(scheduler="easy", workload="log.swf", weeks="shuffled", folder=tmp_path).runs()
    assert (run.drawn, run.is_model, len(run.shared)) == ((), False, 1)
    (run,) = Study(scheduler="easy", workload="log.swf", shift=True, larger=False, time="0-9", folder=tmp_path).runs()
    assert run.task.changes == {"time": "0-9", "shift": "yes", "larger": "no"}


def test_measures_and_their_files() -> None:
    own = OwnMetricFile("m.py:late", "abc", "late", "late jobs")
    measure = Measure({"tau": 5.0}, (own,))
    assert measure.key == hashlib.sha256(b'[2, {"tau": 5.0}, [["m.py:late", "abc", "late"]]]').hexdigest()[:16]
    assert measure.shared == ("abc",)
    run = Run.of({}, Task(scheduler="a", source="s", workload="w", workload_files="f", events_files="e"), measure)
    assert run.shared == ("s", "f", "e", "abc")
    assert (RunLimits().seconds, RunLimits().memory) == (3600.0, 0)


# Schedulers


def test_schedulers_and_their_names(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import helping, os\n")
    (tmp_path / "helping.py").write_text("")
    (tmp_path / "weights.bin").write_text("")
    table: dict[str, Any] = {"scheduler": "own.py:Own", "files": ["weights.bin"]}
    (one,) = chosen({**table, "arguments": {"depth": 3, "x": "y"}}, str(tmp_path), "scheduler")
    assert (one.name, one.target, one.parameters) == ("own.py:Own(depth=3, x=y)", "own.py:Own", {})
    assert one.files is not None
    assert one.files.names == ("own.py", "helping.py", "weights.bin")
    assert [each.name for each in chosen("own.py:Own", str(tmp_path), "scheduler")] == ["own.py:Own"]
    many = chosen(
        {**table, "name": "mine", "arguments": {"a": [1, 2], "b": [3, 4], "c": 5}}, str(tmp_path), "scheduler"
    )
    assert [each.arguments for each in many] == [{"c": 5, "a": a, "b": b} for a in (1, 2) for b in (3, 4)]
    assert [each.parameters for each in many] == [{"a": a, "b": b} for a in (1, 2) for b in (3, 4)]
    assert {each.name for each in many} == {"mine"}
    policies = chosen({"scheduler": "easy", "arguments": {"off": [60, 600], "keep": True}}, "", "scheduler")
    assert [(each.name, each.target, each.parameters) for each in policies] == [
        ("easy+keep", f"easy+keep+off={off}", {"off": off}) for off in (60, 600)
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "x"}, "s: a table has the keys scheduler, name, arguments, files, only, got ['name']"),
        ({"scheduler": ""}, "s.scheduler: expected a policy or FILE:CLASS, got ''"),
        (7, "s.scheduler: expected a policy or FILE:CLASS, got 7"),
        ({"scheduler": "easy", "name": ""}, "s.name: expected a text, got ''"),
        ({"scheduler": "easy", "name": 7}, "s.name: expected a text, got 7"),
        ({"scheduler": "easy", "arguments": [1]}, "s.arguments: expected a table, got [1]"),
        ({"scheduler": "easy", "arguments": {1: 1}}, "s.arguments: expected a table, got {1: 1}"),
        ({"scheduler": "easy", "files": "x"}, "s.files: expected names of files, got 'x'"),
        ({"scheduler": "easy", "files": [1]}, "s.files: expected names of files, got [1]"),
        ({"scheduler": "easy", "files": ["x"]}, "s: 'easy' is a policy, which has no files: remove files"),
        ("own.py", "s: expected a policy or FILE:CLASS, for example scheduler.py:FCFS, got 'own.py'"),
        ("a/b", "s: expected a policy or FILE:CLASS, for example scheduler.py:FCFS, got 'a/b'"),
        ("no.py:A", "s: there is no file '"),
        (
            {"scheduler": "own.py:A", "files": ["none"]},
            "s.files: there is no file 'none' in the folder of the scheduler's",
        ),
        (
            {"scheduler": "own.py:A", "files": ["../x"]},
            "s.files: there is no file '../x' in the folder of the scheduler's",
        ),
        (dict, "s: dict is not in a file: write it into one, so that each run finds it"),
    ],
)
def test_mistakes_in_a_scheduler(given: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "own.py").write_text("")
    with pytest.raises(StudyError) as refused:
        chosen(given, str(folder), "s")
    assert str(refused.value).startswith(message)


def test_modules_from_beside(tmp_path: Path) -> None:
    files = {
        "own.py": "import one.two\nfrom pack import deep\nimport importlib, os\nimportlib.import_module('late')\n",
        "late.py": "from importlib import import_module\nimport_module('latest')\n__import__('.no')\nimport_module(1)",
        "latest.py": "def broken(:\n",
        "one/two.py": "",
        "one/three.py": "",
        "pack/__init__.py": "from . import near\nfrom .sub import thing\n",
        "pack/near.py": "from .. import unrelated\n",
        "pack/deep.py": "from .sub.far import x\n",
        "pack/sub/__init__.py": "",
        "pack/sub/far.py": "from ...own import x\nfrom ..near import y\n",
        "unrelated.py": "",
        "no.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert imported_from_beside(str(tmp_path / "own.py")) == [
        *("own.py", "late.py", "latest.py", "one/two.py", "pack/__init__.py", "pack/deep.py", "pack/near.py"),
        *("pack/sub/__init__.py", "pack/sub/far.py", "unrelated.py"),
    ]


def test_modules_of_two_folders_with_the_same_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.py").write_text(
            "import beside_it\nfrom batprotocol.policies import FCFS, Policy\n"
            "class Own(Policy):\n    where = beside_it.WHERE\n"
            "    def __init__(self, n=0):\n        super().__init__(FCFS())\n"
        )
        (tmp_path / name / "beside_it.py").write_text(f"WHERE = {name!r}\n")
    shelf = Shelf()
    roots = [str(tmp_path / name) for name in "aba"]
    found = [shelf.loaded("own.py:Own", {"n": 1}, root) for root in roots]
    assert [each.where for each in found] == ["a", "b", "a"]  # type: ignore[attr-defined]
    assert found[0] is found[2]
    assert sys.modules["beside_it"].WHERE == "a"
    assert type(shelf.scheduler("easy", {}, "")).__name__ == "easy"
    shelf._turn_to("")
    assert "beside_it" not in sys.modules
    assert not set(roots) & set(sys.path)


# Old names


def test_the_load_of_a_study_has_new_names(tmp_path: Path) -> None:
    """It was a load for models, and a factor for files."""
    (tmp_path / "log.swf").write_text("1 0 -1 50 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.deprecated_call(match="the key load is deprecated: use offered_load instead"):
        model = Study(scheduler="easy", workload=SMALL, load=[0.5, 1])
    assert model.axes["offered_load"] == (0.5, 1)
    assert [run.task.changes for run in model.runs(["load=0.5"])] == [{"offered-load": "0.5"}]
    named = {"workload": "log.swf", "name": "log"}
    with pytest.deprecated_call(match="the key load is deprecated: use arrival_factor instead"):
        log = Study(scheduler="easy", workload=["log.swf", named], load=2, folder=tmp_path)
    assert [run.task.changes for run in log.runs()] == [{"arrival-factor": "2"}] * 2
    with pytest.raises(StudyError, match="load: it means arrival_factor for files and offered_load for models"):
        Study(scheduler="easy", workload=["log.swf", SMALL], load=2, folder=tmp_path)
    with pytest.raises(StudyError, match="arrival_factor and load, its old name, exclude one another"):
        Study(scheduler="easy", workload="log.swf", load=2, arrival_factor=2, folder=tmp_path)
    with pytest.raises(StudyError, match="has it in its name already"):
        Study(scheduler="easy", workload=f"{SMALL}&load=1", offered_load=2)
