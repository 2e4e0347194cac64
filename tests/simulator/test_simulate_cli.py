"""`batproto simulate`: what it takes, what it prints, and how it tells what is wrong."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import ENVIRONMENT, PROGRAM, run, run_here, run_on_terminal
from support import ROOT

from batprotocol.simulator import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, read_jobs

WITHOUT_ENGINE = True

FCFS = f"{ROOT}/examples/fcfs.py:FCFS"
WORKLOAD: dict[str, Any] = {
    "nb_res": 4,
    "jobs": [{"id": str(n), "subtime": n, "res": 1 + n % 6, "profile": "d", "walltime": 50} for n in range(12)],
    "profiles": {"d": {"type": "DelayProfile", "delay": 7}},
}


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "workload.json"
    path.write_text(json.dumps(WORKLOAD))
    return path


def scheduler(tmp_path: Path, *lines: str) -> str:
    """A scheduler that does this with each job submitted."""
    body = "\n".join(f"        {line}" for line in lines)
    path = tmp_path / "scheduler.py"
    path.write_text(
        "from batprotocol.edc import Scheduler\n\n\nclass Mine(Scheduler):\n"
        f"    def on_job_submitted(self, event):\n{body}\n"
    )
    return f"{path}:Mine"


@pytest.mark.slow
def test_without_arguments_an_example_is_simulated() -> None:
    result = run("simulate")
    assert (result.status, result.err) == (0, "")
    for words in ("250 (240 succeeded", "makespan", "waiting time", "slowdown", "utilisation", "of 32 hosts", "█"):
        assert words in result.out
    assert run_here("simulate").out == result.out
    assert "a folder cannot be printed" in run_here("simulate", "-o", "-").err


def test_jobs_that_share_hosts_count_by_their_cores(tmp_path: Path) -> None:
    path = tmp_path / "workload.json"
    for asks, is_shared in (({"cores": 1}, True), ({"cores": 1, "exclusive": True}, False)):
        jobs = [{**each, "res": 1, "extra_data": json.dumps(asks)} for each in WORKLOAD["jobs"]]
        path.write_text(json.dumps({**WORKLOAD, "jobs": jobs}))
        shown = " ".join(run_here("simulate", "easy", "--hosts", "n0 cores=16", "-w", path).out.split())
        assert ("the offered load is above 1" in shown) != is_shared
        assert ("jobs share hosts: their share of the cores is counted" in shown) == is_shared


def test_a_number_of_hosts_describes_so_many() -> None:
    of_names, of_number = (run_here("simulate", "easy", "--hosts", hosts, "--json") for hosts in ("n[0-31]", "32"))
    assert of_names == of_number
    assert json.loads(of_number.out)["hosts"] == 32
    refused = run_here("simulate", "easy", "--hosts", "999999999")
    assert (refused.status, refused.out) == (1, "")


def test_no_hosts_and_hosts_that_fit_no_job(tmp_path: Path) -> None:
    assert run_here("simulate", "easy", "--hosts", "0").err == "batproto: --hosts: expected at least one host, got 0\n"
    path = tmp_path / "workload.json"
    jobs = [{**each, "extra_data": json.dumps({"partition": "batch"})} for each in WORKLOAD["jobs"]]
    path.write_text(json.dumps({**WORKLOAD, "jobs": jobs}))
    rejected = run_here("simulate", "easy", "-w", path)
    assert f"all of {len(jobs):,} jobs are rejected, as equal hosts lack what they ask for" in rejected.err
    assert "give the platform" not in run_here("simulate", "easy", "--hosts", "n[0-63]", "-w", path).err


def test_result_files_are_written_and_never_differ(tmp_path: Path) -> None:
    for folder in ("first", "second/inner"):
        result = run_here("simulate", FCFS, "--energy", "-o", tmp_path / folder)
        assert result.status == 0
        assert "Wh) consumed" in result.out
    first, second = tmp_path / "first", tmp_path / "second" / "inner"
    names = sorted(path.name for path in first.iterdir())
    assert names == [
        "consumed_energy.csv",
        "jobs.csv",
        "machine_states.csv",
        "power.json",
        "pstate_changes.csv",
        "real_exec_info.json",
        "schedule.json",
    ]
    for name in names:
        if name != "real_exec_info.json":  # it has how long it really took
            assert (first / name).read_bytes() == (second / name).read_bytes()
    assert len(list(read_jobs(first / "jobs.csv"))) == 250


def test_a_workload_alone_gets_as_many_hosts_as_it_is_made_for(workload: Path) -> None:
    result = run_here("simulate", FCFS, "-w", workload)
    assert result.status == 0
    assert "12 (8 succeeded, 4 rejected)" in result.out  # those for five and six hosts
    assert "of 4 hosts" in result.out
    assert "of 2 hosts" in run_here("simulate", FCFS, "-w", workload, "--mmax", "2").out


def test_options_of_batsim(workload: Path, tmp_path: Path) -> None:
    result = run_here("simulate", FCFS, "-p", EXAMPLE_PLATFORM, "-w", workload, "--mmax-workload")
    assert "of 4 hosts" in result.out
    roles = ("-r", "front0", "compute_node", "-m", "node3")
    assert "role" in run_here("simulate", FCFS, "-p", EXAMPLE_PLATFORM, *roles).err
    result = run_here("simulate", FCFS, "-p", EXAMPLE_PLATFORM, "-w", workload, "-r", "node3", "storage")
    assert "of 31 hosts" in result.out
    (tmp_path / "events").write_text('{"type": "generic", "timestamp": 1, "data": "x"}\n')
    result = run_here("simulate", FCFS, "-w", workload, "-w", workload, "--events", tmp_path / "events")
    assert "24 (16 succeeded, 8 rejected)" in result.out


def test_logs_of_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    lines = "".join(f"{n} {n} -1 10 2 -1 -1 2 20 -1 1 1 1 -1 1 -1 -1 -1\n" for n in range(1, 9))
    unknown = "9 9 -1 -1 2 -1 -1 2 20 -1 1 1 1 -1 1 -1 -1 -1\n"
    path.write_bytes(gzip.compress(f"; MaxProcs: 16\n{lines}{unknown}".encode()))
    result = run_here("simulate", FCFS, "-w", path)
    assert result.err == f"batproto: {path}: 1 job is left out, without a run time or processors\n"
    assert "8 (8 succeeded)" in result.out
    assert "of 16 hosts" in result.out


def test_a_part_of_a_log_without_jobs_is_told() -> None:
    part = f"{ROOT / 'examples' / 'lublin.swf.gz'}?jobs=2000-3000"
    result = run_here("simulate", "fcfs", "-w", part)
    assert (result.status, result.err) == (0, f"batproto: {part}: it selects no job; change the words behind the ?\n")


@pytest.mark.parametrize("format", ["binary", "json"])
def test_what_is_said_is_recorded(workload: Path, tmp_path: Path, format: str) -> None:
    recorded = tmp_path / "run.tar.xz"
    assert run_here("simulate", FCFS, "-w", workload, "--record", recorded, "--format", format).status == 0
    assert "nothing wrong" in run_here("check", recorded).out
    dumped = run_here("dump", "-e", "SimulationBegins", recorded).out
    assert ("JSON" in dumped) == (format == "json")
    assert str(workload) in dumped


@pytest.mark.slow
@pytest.mark.parametrize("format", ["binary", "json"])
def test_a_component_at_an_endpoint(workload: Path, tmp_path: Path, format: str) -> None:
    endpoint = f"ipc://{tmp_path}/edc.sock"
    component = [*PROGRAM, "run", FCFS, "--endpoint", endpoint, "--format", format]
    with subprocess.Popen(component, env=ENVIRONMENT) as process:
        there = run("simulate", "--endpoint", endpoint, "-w", workload, "-o", tmp_path / "there")
    assert (there.status, process.returncode) == (0, 0)
    here = run_here("simulate", FCFS, "-w", workload, "-o", tmp_path / "here")
    assert there.out == here.out
    for name in ("jobs.csv", "schedule.json", "machine_states.csv"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("{", r"workload\.json:1:2: "),
        (json.dumps({**WORKLOAD, "jobs": [{**WORKLOAD["jobs"][0], "res": -1}]}), r"jobs\[0\]\.res: expected"),  # type: ignore[index]
        (json.dumps({**WORKLOAD, "profiles": {}}), r"jobs\[0\]\.profile: there is no profile 'd'"),
    ],
)
def test_wrong_inputs_are_told_with_their_place(tmp_path: Path, workload: Path, content: str, place: str) -> None:
    workload.write_text(content)
    result = run_here("simulate", FCFS, "-w", workload, "-o", tmp_path / "results")
    assert result.status == 1
    assert re.search(place, result.err)
    assert len(result.err.splitlines()) == 1
    assert not (tmp_path / "results").exists()


def test_wrong_platforms_are_told_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "platform.xml"
    path.write_text('<platform version="4.1">\n<peer id="p"/></platform>')
    result = run_here("simulate", FCFS, "-p", path)
    assert result.status == 1
    assert f"{path}:2:1: <peer> is not supported" in result.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.py:X",), "there is no file 'nowhere.py'"),
        ((FCFS, "--endpoint", "tcp://127.0.0.1:1"), "give only one of"),
        (("--library", "x", "--endpoint", "tcp://127.0.0.1:1"), "give only one of"),
        ((FCFS, "--mmax", "0"), "--mmax"),
        ((FCFS, "--rules", "x"), "there is no rule set 'x'"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], sentence: str) -> None:
    result = run_here("simulate", *arguments)
    assert result.status == 2
    assert sentence in result.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((FCFS, "-w", "/nowhere.json"), "/nowhere.json: no such file"),
        ((FCFS, "-p", "/nowhere.xml"), "/nowhere.xml: no such file"),
        (("--library", "/nowhere.so"), "/nowhere.so: it cannot be loaded"),
        (("--endpoint", "nonsense"), "nonsense: this is not an endpoint"),
        ((FCFS, "--energy", "-w", EXAMPLE_WORKLOAD), "name a platform with --platform, or give --watts"),
        ((FCFS, "-o", "/dev/null/x"), "/dev/null"),
        ((FCFS, "--record", "/nowhere/run.tar.xz"), "/nowhere/run.tar.xz: no such file"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    result = run_here("simulate", *arguments)
    assert result.status == 1
    assert sentence in result.err
    assert len(result.err.splitlines()) == 1


def test_schedulers_that_break_rules_or_fail_are_told_of(tmp_path: Path, workload: Path) -> None:
    broken = run_here("simulate", scheduler(tmp_path, 'self.reply.add_execute_job(event.job_id, "99")'), "-w", workload)
    assert broken.status == 1
    assert "RuleViolation" in broken.err
    failing = run_here("simulate", scheduler(tmp_path, "return 1 / 0"), "-w", workload)
    assert failing.status == 1
    assert "return 1 / 0" in failing.err
    last = failing.err.splitlines()[-1]
    assert last.startswith(f"batproto: the scheduler {tmp_path}/scheduler.py:Mine ended with a ZeroDivisionError at ")


def test_a_scheduler_that_does_nothing_is_a_deadlock(tmp_path: Path, workload: Path) -> None:
    result = run_here("simulate", scheduler(tmp_path, "pass"), "-w", workload)
    assert result.status == 1
    assert "deadlock" in result.err


@pytest.mark.slow
def test_numbers_stay_short_and_charts_can_be_written_anywhere(tmp_path: Path) -> None:
    jobs = [{"id": "1", "subtime": 0, "res": 1, "profile": "d"}, {"id": "2", "subtime": 1, "res": 4, "profile": "d"}]
    profiles = {"d": {"type": "DelayProfile", "delay": 1e300}}
    path = tmp_path / "workload.json"
    path.write_text(json.dumps({"nb_res": 4, "jobs": jobs, "profiles": profiles}))
    program = [*PROGRAM, "simulate", FCFS, "-w", str(path)]
    # Not in UTF-8: there is no locale of that name, and Python takes the encoding that it is told.
    environment = {**ENVIRONMENT, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(program, env=environment, capture_output=True, check=True)
    text = done.stdout.decode("ascii")
    assert re.search(r"^makespan +2e\+300 s$", text, re.MULTILINE)
    assert "?" not in text
    assert "#" in text
    assert max(map(len, text.splitlines())) < 120


@pytest.mark.slow
def test_a_terminal_sees_how_far_it_is(tmp_path: Path) -> None:
    jobs = [{"id": str(n), "subtime": n, "res": 1, "profile": "d"} for n in range(30)]
    path, slow = tmp_path / "workload.json", tmp_path / "slow.py"
    path.write_text(json.dumps({**WORKLOAD, "jobs": jobs}))
    slow.write_text(
        "import time\n"
        "from batprotocol.edc import Scheduler\n"
        "class Slow(Scheduler):\n"
        "    def on_job_submitted(self, event):\n"
        "        time.sleep(0.05)\n"
        "        self.reply.add_execute_job(event.job_id, '0')\n"
    )
    status, shown = run_on_terminal("simulate", f"{slow}:Slow", "-w", path, out=tmp_path / "summary")
    assert status == 0
    assert "messages" in shown
    assert "30 (30 succeeded)" in (tmp_path / "summary").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("inherited", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_signal_ends_it(tmp_path: Path, number: signal.Signals, inherited: signal.Handlers) -> None:
    """Also where a background job inherits SIGINT as ignored."""
    endpoint = f"ipc://{tmp_path}/nobody.sock"
    with subprocess.Popen(
        [*PROGRAM, "simulate", "--endpoint", endpoint, "--record", tmp_path / "said.tar"],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, inherited),
    ) as process:
        try:
            while not (tmp_path / "said.tar").exists():  # from then on, it waits
                time.sleep(0.01)
            time.sleep(0.1)
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 128 + number
    assert errors.strip() == b""


def test_the_rules_of_a_site_can_be_in_any_folder(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.toml").write_text('[partitions.all]\nhosts = "ALL"\n')
    done = run("simulate", f"easy+site={tmp_path / 'rules' / 'site.toml'}")
    assert (done.status, done.err) == (0, "")


def test_what_jobs_ask_for_is_checked_before_the_simulation(tmp_path: Path, workload: Path) -> None:
    jobs = [each | {"extra_data": {"memory": -1}} for each in json.loads(workload.read_text())["jobs"][:1]]
    workload.write_text(json.dumps(WORKLOAD | {"jobs": jobs}))
    done = run("simulate", "easy", "-w", str(workload))
    assert done.status == 1
    assert "workload.json: job 'w0!0': memory: expected memory >= 0, in MiB or with a unit" in done.err
    assert run("simulate", FCFS, "-w", str(workload)).status == 0  # other schedulers may read other keys


@pytest.mark.slow
def test_the_files_of_an_interrupted_simulation_are_those_of_a_part(tmp_path: Path, workload: Path) -> None:
    name = scheduler(
        tmp_path,
        "import os, signal",
        "if event.job_id == 'w0!5':",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "self.reply.add_reject_job(event.job_id)",
    )
    done = run("simulate", name, "-w", str(workload), "-o", str(tmp_path / "part"))
    assert done.status == 130
    assert "part/: the simulation was interrupted, and the files have the jobs that had ended until then" in done.err
    assert len((tmp_path / "part" / "jobs.csv").read_text().splitlines()) == 1 + 5


def test_a_scheduler_that_cannot_be_loaded_leaves_no_recording(tmp_path: Path, workload: Path) -> None:
    name = scheduler(tmp_path, "pass").replace(":Mine", ":Yours")
    for path in ("said.tar", "said.mcap", "said"):
        assert run_here("simulate", name, "-w", str(workload), "--record", str(tmp_path / path)).status != 0
        assert not (tmp_path / path).exists()
