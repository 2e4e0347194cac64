"""Random runs of a real Slurm: plans come from seeds, and recordings have what a replay needs, and no more.

The archives in tests/data/slurm/random were recorded by `tools/real_slurm.py`. Where Slurm is installed, it records
two small runs again.
"""

from __future__ import annotations

import contextlib
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from servers import find
from slurm_recordings import RANDOM, random_runs
from support import ROOT

from batprotocol.errors import InputError
from batprotocol.policies.slurm.commands import COMMANDS
from batprotocol.sites.slurm.parameters import (
    CLUSTER,
    OPTIONS,
    PRIORITY_FLAGS,
    RECORDS,
    ParameterStanding,
    standing_of,
)
from batprotocol.studies.recorded import SBATCH, read_recordings

sys.path.append(str(ROOT / "tools"))
from real_slurm import expanded, main, plans_of, record_plan
from slurming.recorder.archives import packed, unpacked
from slurming.recorder.drawn import drawn_by, drawn_table
from slurming.recorder.driving import REFUSED
from slurming.recorder.kinds import KINDS, plan
from slurming.recorder.plans import FIRST, Plan, recorded_plan
from slurming.recorder.reading import faults
from slurming.recorder.runs import ATTEMPTS, chosen, record_all
from slurming.recorder.workloads import jobs, sized

WITHOUT_ENGINE = True
NEEDED = ["faketime", "sbatch", "slurmctld", "slurmd"]
PATHS = ("/dev/shm", *(f"/{name}/" for name in ("tmp", "root", "home", "usr", ROOT.parts[1])))
"""The beginnings of paths of a machine."""
USERS = ("uucp", "proxy", "games", "news", "backup")
DATES = (re.compile(r"20\d\d-\d\d-"), re.compile(r"17\d{8}"), re.compile(r"18\d{8}"))
"""Users of the system, dates and seconds since 1970."""

plans = st.builds(plan, st.sampled_from([*KINDS]), st.integers(0, 10**6))


@cache
def text_of(kind: str) -> str:
    return lzma.decompress((RANDOM / f"{kind}.json.xz").read_bytes()).decode()


def each_recorded() -> Iterator[dict[str, Any]]:
    for path in sorted(RANDOM.glob("*.json.xz")):
        yield from random_runs(path.name.partition(".")[0])


@given(plans)
def test_a_seed_makes_the_same_plan_again(made: Plan) -> None:
    assert plan(made.kind, made.seed) == made
    assert plan(made.kind, made.seed + 1).submissions != made.submissions
    assert msgspec.json.decode(msgspec.json.encode(made), type=Plan) == made


@given(plans)
def test_plans_are_what_slurm_can_take(made: Plan) -> None:
    """Jobs depend on earlier ones, commands come after the jobs that they name, and nodes and partitions exist."""
    assert made.submissions[0].at == FIRST
    nodes = set(made.named_nodes())
    partitions = set(re.findall(r"PartitionName=(\w+)", "\n".join(made.partitions)))
    for steps in (made.submissions, made.events):
        assert [each.at for each in steps] == sorted(each.at for each in steps)
        assert all(0 <= each.at < made.longest for each in steps)
    for number, job in enumerate(made.submissions):
        assert all(int(found) < number for word in job.args for found in re.findall(r"\{(\d+)\}", word))
        assert job.runs
        assert all(run > 0 for run in job.runs)
        words = dict(zip(job.args, [*job.args[1:], ""], strict=True))
        assert set(words.get("-p", "").split(",")) <= partitions | {""}
        assert int(str(words.get("-N", 1)).partition("-")[0]) <= made.size
    for event in made.events:
        for found in re.findall(r"\{(\d+)\}", " ".join(event.cmd)):
            assert made.submissions[int(found)].at < event.at
    named = re.findall(r"(?:Nodes|NodeName)=(n[\d\[\],-]+)", "\n".join([*made.partitions, made.topology, made.gres]))
    assert {name for pattern in named for name in expanded(pattern)} <= nodes


def test_usage_that_never_fades_has_a_period_of_resets() -> None:
    """slurmctld refuses `PriorityDecayHalfLife=0` alone."""
    confs = [plan(kind, seed).slurm_conf for kind in ("drawn_people", "drawn_reservations") for seed in range(100)]
    never = [each for each in confs if each.get("PriorityDecayHalfLife") == "0"]
    assert never
    assert all("PriorityUsageResetPeriod" in each for each in never)


ALWAYS = {("cluster", "clustername"), ("node", "nodename")}
"""What the recorder itself writes for each plan."""


def followed() -> set[tuple[str, str]]:
    """The options that the policy `slurm` follows, with the names of their places in plans."""
    is_followed = ParameterStanding.FOLLOWED
    submission = "sbatch"
    found = {(submission, name) for name, standing in SBATCH.items() if standing is is_followed}
    found |= {("cluster", row.name.lower()) for row in CLUSTER.values() if standing_of(row) is is_followed}
    found |= {("SchedulerParameters", row.name.lower()) for row in OPTIONS.values() if standing_of(row) is is_followed}
    found |= {("PriorityFlags", name.lower()) for name in PRIORITY_FLAGS}
    lines = {"nodename": "node", "partitionname": "partition", "nodeset": "nodeset", "downnodes": "downnodes"}
    for kind, place in lines.items():
        found |= {(place, name) for name, row in RECORDS[kind].items() if standing_of(row, place) is is_followed}
    commands = {"job": "update job", "node": "update node", "partition": "update partition"}
    commands |= {"reservation": "reservation", "flag of reservations": "reservation flag", "scontrol": "scontrol"}
    for kind, place in commands.items():
        found |= {(place, name.lower()) for name, standing in COMMANDS[kind].values() if standing is is_followed}
    cancels = COMMANDS["options of scancel"].values()
    return found | {("scancel", name) for name, standing in cancels if standing is is_followed}


def test_each_option_that_is_followed_is_drawn_by_a_plan() -> None:
    drawn = drawn_by(plan(kind, seed) for kind in KINDS for seed in range(1, 101))
    assert followed() - ALWAYS - drawn.keys() == set()
    assert all(count > 0 for count in drawn.values())


def test_drawn_options_are_counted_once_a_plan() -> None:
    made = plan("drawn_site", 1)
    assert set(drawn_by([made, made]).values()) == {2}
    table = drawn_table(drawn_by([made])).splitlines()
    assert "| cluster | selecttype | 1 |" in table


@given(st.integers(), st.integers(1, 60), st.integers(2, 20))
def test_jobs_fill_the_cluster_for_as_long_as_was_asked(seed: int, count: int, nodes: int) -> None:
    made = jobs(Random(seed), sized(nodes), count=(count, count), until=100, busy=(300, 300))
    assert len(made) == count
    assert made[-1].at <= FIRST + 100.1
    work = sum(job.runs[0] * int(job.args[1]) for job in made) / nodes
    assert work <= 300 + 400 * count  # each is longer than it should be only to reach its limit


def test_there_are_recordings_of_each_kind() -> None:
    assert {path.name.partition(".")[0] for path in RANDOM.iterdir()} == set(KINDS)
    assert sum(1 for _ in each_recorded()) >= 250
    assert sum(path.stat().st_size for path in RANDOM.iterdir()) < 2_000_000


def test_the_recordings_are_of_the_plans_that_their_seeds_make() -> None:
    for made in each_recorded():
        of = plan(made["config"], made["seed"])
        conf = {key: value for key, value in of.slurm_conf.items() if key != "AccountingStorageType"}
        assert (conf, of.partitions, of.topology) == (made["slurm_conf"], made["partitions"], made["topology"])
        for row in made["submissions"]:
            asked = of.submissions[row["index"]]
            assert row.get("runs", [row.get("run")]) == asked.runs
            constant = [re.escape(part) for part in re.split(r"\{\d+\}", " ".join(asked.args))]
            assert re.fullmatch(r"\d+".join(constant), " ".join(row["args"]))


def accounted_for(made: dict[str, Any]) -> None:
    """Each job has a record and each start a job; the last start is that of the record."""
    records = {row["JobId"]: row for row in made["result_jobs"]}
    of_arrays = {row["ArrayJobId"] for row in records.values() if "ArrayJobId" in row}
    assert {str(row["id"]) for row in made["submissions"] if row["id"] != REFUSED} <= records.keys() | of_arrays
    starts = {re.sub(r".*\((\d+)\)", r"\1", row["job"]): row for row in made["starts"]}
    assert starts.keys() <= records.keys()
    for number, start in starts.items():
        row = records[number]
        if row["JobState"] in ("COMPLETED", "FAILED", "TIMEOUT", "RUNNING", "NODE_FAIL"):
            assert abs(row["StartTime"] - start["t"]) < 2
            assert row["NodeList"] == start["nodes"]
            assert row["Scheduler"] == {"main": "Main", "backfill": "Backfill"}[start["by"]]
    for row in records.values():
        if row["JobState"] in ("COMPLETED", "FAILED", "TIMEOUT"):
            assert row["JobId"] in starts or row["Reason"] == "BadConstraints"  # sbatch refuses these


def test_all_jobs_of_the_recordings_are_accounted_for() -> None:
    for made in each_recorded():
        accounted_for(made)


def test_the_page_describes_each_kind() -> None:
    page = (ROOT / "docs" / "explanation" / "slurm-measured.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"`{kind}`" not in page] == []


def of_the_machine(text: str) -> list[str]:
    """Whatever names this machine, its users or a day."""
    named = [path for path in PATHS if path in text]
    named += [user for user in USERS if user in text]
    return named + [found for date in DATES for found in date.findall(text)]


def test_the_archives_have_nothing_of_the_machine() -> None:
    assert [of_the_machine(text_of(kind)) for kind in KINDS] == [[] for _ in KINDS]
    assert {"/tmp/", "uucp", "2026-11-", "1795704420"} <= {
        *of_the_machine("/tmp/slurm of uucp at 2026-11-26T, 1795704420")
    }
    assert [*unpacked(RANDOM / "cores.json.xz")] == random_runs("cores")


def test_recordings_have_what_they_are_for() -> None:
    """Each kind shows what it is about: preemption has victims, licences are waited for, and so on."""
    shown = {
        "preemption": '"PREEMPTED"',
        "qospreempt": '"PREEMPTED"',
        "licences": " Licenses ",
        "limits": " QOS",
        "dependencies": "DependencyNeverSatisfied",
        "failures": '"NODE_FAIL"',
        "partitions": "PartitionNodeLimit",
        "gpus": "gpu:",
        "fair": "sshare",
        "classic": "sshare",
        "multifactor": "sprio",
    }
    assert {kind: word for kind, word in shown.items() if word not in text_of(kind)} == {}
    by = {start["by"] for made in each_recorded() for start in made["starts"]}
    assert by == {"main", "backfill"}


def test_a_useless_recording_is_made_again(tmp_path: Path) -> None:
    """What is there is kept, a recording with faults is repeated, and what never succeeds is counted."""
    good = random_runs("builtin")[0] | {"log": [], "sdiag": []}
    assert faults(good) == []
    slow = good | {"quality": {**good["quality"], "max_duration_minus_run": 11}}
    assert len(faults(slow)) == 1
    asked: list[str] = []

    def record(made: Plan, port: int) -> dict[str, Any]:
        assert port == 0  # no plan needs a database
        asked.append(made.kind)
        if made.kind == "cores":
            raise RuntimeError("Slurm does not start")
        return slow if len(asked) == 1 else good

    for missing in (1, 1):
        which = chosen(["builtin", "cores"], 1, 1)
        assert record_all(which, tmp_path, record, folder=tmp_path, interrupt=list) == missing
    assert asked == ["builtin", "builtin", *["cores"] * 2 * ATTEMPTS]
    assert json.loads(lzma.decompress((tmp_path / "builtin" / "01.json.xz").read_bytes())) == good
    assert packed(good) == packed(packed(good))
    with pytest.raises(KeyError):
        chosen(["nonsense"], 1, 1)


def test_the_plan_of_a_recording_that_was_read_can_be_recorded_again() -> None:
    """Its process reads the plan from a file: the seconds of runs are whole numbers there."""
    for run in read_recordings(RANDOM / "drawn_whole.json.xz"):
        made = recorded_plan(run)
        assert msgspec.json.decode(msgspec.json.encode(made), type=Plan) == made


def test_the_plan_of_a_recording_is_the_one_that_it_was_made_of() -> None:
    """So the same jobs can be recorded once more. Plans of the kinds `drawn` change with their options."""
    kinds = [name for name in KINDS if (RANDOM / f"{name}.json.xz").exists() and not name.startswith("drawn")]
    seen = Counter[str]()
    for run in (run for kind in kinds for run in random_runs(kind)):
        if run["seed"] not in range(31, 35) and run["config"] != "hetjobs":
            continue  # the plans of older recordings were others
        seen[run["config"]] += 1
        found, made = recorded_plan(run), plan(run["config"], run["seed"])
        assert (found.kind, found.seed, found.slurm_conf, found.nodes) == (
            (made.kind, made.seed, made.slurm_conf, made.nodes)
        )
        assert (found.partitions, found.setup, found.topology) == (made.partitions, made.setup, made.topology)
        assert (found.gres, found.accounted) == (made.gres.strip(), made.accounted)
        assert [replace(each, at=0.0) for each in found.submissions] == [
            replace(each, at=0.0) for each in made.submissions
        ]
        assert [given.cmd for given in found.events] == [given.cmd for given in made.events]
        late = [
            again.at - asked.at
            for again, asked in zip([*found.submissions, *found.events], [*made.submissions, *made.events], strict=True)
        ]
        assert 0 <= min(late) <= max(late) < 10
        assert found.longest > run["log"][-1][0]
    assert seen["hetjobs"] == 7
    assert len(seen) >= 22


def test_a_recording_is_recorded_again(tmp_path: Path) -> None:
    good = random_runs("builtin")[0] | {"sdiag": []}
    path = tmp_path / "given.json.xz"
    path.write_bytes(lzma.compress(json.dumps(good).encode()))
    again = plans_of([path])
    (which,) = again

    def record(made: Plan, port: int) -> dict[str, Any]:
        assert made is again[which]
        return good

    assert which == ("builtin", good["seed"])

    def made(kind: str, seed: int) -> Plan:
        return again[kind, seed]

    assert record_all(iter(again), tmp_path / "out", record, folder=tmp_path, interrupt=list, made=made) == 0
    assert [each.name for each in (tmp_path / "out" / "builtin").iterdir()] == [f"{good['seed']:02}.json.xz"]
    path.write_text("{}")
    with pytest.raises(InputError, match="it is not a recording of a Slurm"):
        plans_of([path])


@pytest.mark.long
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_recording_leaves_nothing(tmp_path: Path, sent: signal.Signals, status: int) -> None:
    for name in NEEDED:
        find(name)
    mark = f"SLURM_CONF={tmp_path}".encode()

    def daemons() -> list[str]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes():
                    found.append(entry.name)
        return found

    words = ["--random", "1", "--kind", "backfill", "--kind", "cores", "--parallel", "2", "--output", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, str(ROOT / "tools" / "real_slurm.py"), *words], env={**os.environ, "TMPDIR": str(tmp_path)}
    ) as recorder:
        while len(daemons()) < 4:
            assert recorder.poll() is None
            time.sleep(0.1)
        recorder.send_signal(sent)
        assert recorder.wait(120) == status
    assert daemons() == []
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["drawn", "random", "count", "parallel", "speed", "site", "jobs"])
@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_a_number_that_makes_no_sense_is_refused(
    name: str, number: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing runs, and no table without rows is printed. Only seeds may be 0."""
    if number == "0" and name in ("random", "site"):
        return
    words = [] if name == "drawn" else ["--drawn", "1", "--kind", "backfill"]
    with pytest.raises(SystemExit) as caught:
        main([*words, f"--{name}", number, "--output", str(tmp_path)])
    said = capsys.readouterr()
    assert (caught.value.code, said.out) == (2, "")
    assert f"argument --{name}: " in said.err
    assert number in said.err


def test_counts_of_one_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--drawn", "1", "--kind", "drawn_whole"]) == 0
    assert "| sbatch | time | 1 |" in capsys.readouterr().out


@pytest.mark.long
def test_a_real_slurm_is_recorded_anew() -> None:
    for name in NEEDED:
        find(name)
    small = [replace(plan("backfill", 3), longest=150), replace(plan("dependencies", 3), longest=150)]
    small = [replace(each, submissions=each.submissions[:9], events=[]) for each in small]
    with ThreadPoolExecutor(2) as threads:
        both = [*threads.map(lambda made: record_plan(made, 10, 0), small)]
    for made, of in zip(both, small, strict=True):
        accounted_for(made)
        assert of_the_machine(json.dumps(made)) == []
        assert (made["config"], made["seed"]) == (of.kind, of.seed)
        assert [row["index"] for row in made["submissions"]] == [*range(9)]
        assert made["samples"]
        assert len(made["starts"]) >= 4
        assert packed(made)["starts"] == made["starts"]
        assert made.keys() - {"sdiag"} == random_runs(of.kind)[0].keys()
