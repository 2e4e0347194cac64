"""What the product writes is opened by the newest pandas, Polars, DuckDB, evalys and AccaSim, with the same types.

These are installed in a Python of their own, whose folder has the program `evalys`.
"""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from servers import folder_of
from support import ROOT

from batprotocol.cli.main import batproto

WITHOUT_ENGINE = True
pytestmark = pytest.mark.long

TABLES: Final = r"""
import json, sys
import duckdb, pandas, polars, pyarrow.parquet

KINDS = {"int": "int", "uint": "int", "float": "float", "double": "float", "bool": "bool", "str": "text"}
KINDS |= {"utf8": "text", "varchar": "text", "bigint": "int", "integer": "int", "tinyint": "int", "smallint": "int"}
KINDS |= {"ubigint": "int", "boolean": "bool", "datetime": "time", "timestamp": "time", "object": "text"}
KINDS |= {"category": "text", "categorical": "text", "dictionary": "text"}

def kind(name):
    text = str(name).lower()
    return next((found for word, found in KINDS.items() if text.startswith(word)), text)

def look(path):
    is_parquet = path.endswith(".parquet")
    frame = pandas.read_parquet(path, dtype_backend="pyarrow") if is_parquet else pandas.read_csv(path)
    table = polars.read_parquet(path) if is_parquet else polars.read_csv(path)
    rows = duckdb.sql(f"select * from '{path}'")
    found = {
        "pandas": [len(frame), {name: kind(frame[name].dtype) for name in frame.columns}],
        "polars": [len(table), {name: kind(table[name].dtype) for name in table.columns}],
        "duckdb": [rows.shape[0], dict(zip(rows.columns, map(kind, rows.types)))],
    }
    if is_parquet:
        names = pyarrow.parquet.read_schema(path)
        found["arrow"] = [len(frame), {each.name: kind(each.type) for each in names}]
    sum_of = "select sum(\"%s\") from '%s'"
    numbers = [name for name, each in found["duckdb"][1].items() if each in ("int", "float")]
    sums = {
        "pandas": {name: float(frame[name].sum()) for name in numbers if found["pandas"][1][name] in ("int", "float")},
        "polars": {name: float(table[name].sum() or 0) for name in numbers},
        "duckdb": {name: float(duckdb.sql(sum_of % (name, path)).fetchall()[0][0] or 0) for name in numbers},
    }
    return {"found": found, "sums": sums, "empty": [name for name in frame.columns if frame[name].isna().all()]}

print(json.dumps({path: look(path) for path in sys.argv[1:]}))
"""

EVALYS: Final = """
import json
import matplotlib
matplotlib.use("Agg")
from evalys.jobset import JobSet
from evalys.mstates import MachineStatesChanges
jobs = JobSet.from_csv("out/jobs.csv")
jobs.gantt()
matplotlib.pyplot.savefig("gantt.png")
states = MachineStatesChanges("out/machine_states.csv")
ends = [float(each) for each in (jobs.df.starting_time.sum(), jobs.df.finish_time.max(), jobs.df.proc_alloc.sum())]
print(json.dumps([len(jobs.df), str(jobs.res_bounds), ends, len(states.df)]))
"""

# AccaSim reads no table: the jobs of one are written as a log in the Standard Workload Format.
ACCASIM: Final = """
import collections, collections.abc
collections.Mapping = collections.abc.Mapping  # as it was called until Python 3.9
import csv, json, math
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import FirstInFirstOut
from accasim.base.simulator_class import Simulator

with open("out/jobs.csv") as table, open("log.swf", "w") as log:
    rows = sorted(csv.DictReader(table), key=lambda row: float(row["submission_time"]))
    for number, row in enumerate(rows):
        size, submitted = row["requested_number_of_resources"], int(float(row["submission_time"]))
        runtime = math.ceil(float(row["execution_time"]))
        print(number, submitted, 0, runtime, size, -1, 1, size, 9999, 1, 1, *[-1] * 7, file=log)
system = {"groups": {"host": {"core": 1, "mem": 1}}, "resources": {"host": 32}}
system["equivalence"] = {"processor": {"core": 1}}
with open("system.json", "w") as file:
    json.dump(system, file)
columns = {"job": ("id", "str"), "start": ("start_time", "int")}
simulator = Simulator(
    "log.swf", "system.json", FirstInFirstOut(FirstFit()), RESULTS_FOLDER_PATH="accasim", statistics_output=False,
    SCHEDULE_OUTPUT={"format": "{job} {start}", "attributes": columns},
)
simulator.start_simulation()
with open("accasim/sched-log.swf") as file:
    print(json.dumps(len(file.readlines())))
"""


def told(folder: Path, program: str, *words: str) -> Any:
    """What a program of the other Python prints in its last line, as JSON."""
    python = folder_of("evalys") / "python"
    done = subprocess.run([python, "-c", program, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each kind of table: of a simulation, its recording, a log, and a study."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "study.toml").write_text('scheduler = ["fcfs", "easy"]\nworkload = "example"\n')
    log, run = str(ROOT / "examples" / "sacct.txt"), f"{folder}/run.tar.xz"
    commands = [["simulate", "easy", "-o", f"{folder}/out", "--record", run], ["study", "run", f"{folder}/study.toml"]]
    for end in ("csv", "parquet"):
        commands.append(["import", log, "-o", f"{folder}/log.{end}"])
        commands += [["export", run, "--rows", rows, "-o", f"{folder}/{rows}.{end}"] for rows in ("jobs", "events")]
    for words in commands:
        done = CliRunner().invoke(batproto, words)
        assert done.exit_code == 0, done.output
    return folder


def test_tables_have_the_same_types_everywhere(written: Path) -> None:
    study = [str(path.relative_to(written)) for path in sorted(written.glob("study.runs/runs/*/*/*"))]
    names = [f"{name}.{end}" for name in ("log", "jobs", "events") for end in ("csv", "parquet")]
    names += [f"out/{name}.csv" for name in ("jobs", "machine_states", "pstate_changes")]
    names += [name for name in study if name.endswith((".csv", ".parquet"))]
    seen = told(written, TABLES, *names)
    assert len(names) > 12
    for name in names:
        found, sums, empty = seen[name]["found"], seen[name]["sums"], set(seen[name]["empty"])
        counts = {count for count, _ in found.values()}
        assert len(counts) == 1, name
        assert min(counts) > 0, name
        kinds = [{key: each for key, each in types.items() if key not in empty} for _, types in found.values()]
        if name.endswith(".parquet"):
            assert all(each == kinds[0] for each in kinds), name
            assert "text" in found["arrow"][1].values() or "int" in found["arrow"][1].values()
        else:  # pandas has no integers where a value is missing, and no truth values
            plain = [{key: "float" if each == "int" else each for key, each in types.items()} for types in kinds]
            assert all(each[key] == plain[1][key] for each in plain for key in each if plain[1][key] != "bool"), name
        for program in sums:
            for key, total in sums[program].items():
                assert total == pytest.approx(sums["duckdb"][key], rel=1e-12), (name, program, key)


def test_csv_and_parquet_of_a_table_have_the_same_types(written: Path) -> None:
    """Except where a CSV cannot tell: ids are texts, times of the clock are texts, and empty columns are anything."""
    for name, texts in (("log", {"id"}), ("jobs", {"job_id"}), ("events", {"wall"})):
        seen = told(written, TABLES, f"{name}.csv", f"{name}.parquet")
        file, table = (seen[f"{name}.{end}"] for end in ("csv", "parquet"))
        empty = {*file["empty"], *table["empty"]}
        (_, left), (_, right) = file["found"]["duckdb"], table["found"]["duckdb"]
        assert list(left) == list(right)
        differ = {
            key for key in left if key not in empty and {left[key], right[key]} not in ({"int"}, {"int", "float"})
        }
        assert {key for key in differ if left[key] != right[key]} <= texts, name


def test_evalys_opens_the_results(written: Path) -> None:
    with (written / "out" / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    count, bounds, (starts, end, processors), states = told(written, EVALYS)
    assert (count, bounds) == (len(rows), "0-31")
    assert starts == pytest.approx(sum(float(row["starting_time"]) for row in rows))
    assert end == max(float(row["finish_time"]) for row in rows)
    assert processors == sum(int(row["requested_number_of_resources"]) for row in rows)
    with (written / "out" / "machine_states.csv").open() as file:
        assert states == len({row["time"] for row in csv.DictReader(file)})  # evalys keeps the last row of each time
    assert (written / "gantt.png").read_bytes().startswith(b"\x89PNG")


def test_accasim_simulates_the_jobs_of_the_results(written: Path) -> None:
    """Of 1.1.3, which needs an old name of the standard library from Python 3.10 on."""
    with (written / "out" / "jobs.csv").open() as file:
        assert told(written, ACCASIM) == sum(1 for _ in csv.DictReader(file))
