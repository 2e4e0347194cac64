"""The server and the client of the package `mcp`: all tools, hostile arguments, limits, and the program itself."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_clients import Play, play, said
from patience import until
from processes import gone
from replay import PATIENCE
from support import DATA

from batprotocol.cli.mcp_server import CommandLimits

anyio = pytest.importorskip("anyio")
mcp = pytest.importorskip("mcp")

WITHOUT_ENGINE = True

STUDY = 'scheduler = ["fcfs", "easy"]\nworkload = "lublin:16?jobs=30"\nseed = "0-2"\n'
"""Six simulations of a moment each."""


# All tools


def test_an_assistant_uses_all_tools(tmp_path: Path) -> None:
    run = sorted((DATA / "runs").glob("*.tar.xz"))[0]
    shutil.copy(run, tmp_path / "run.tar.xz")

    async def acts(client: Any) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        for tool, arguments, expected in (
            ("policies", {}, "conservative"),
            ("metrics", {}, "mean_bounded_slowdown"),
            ("rules", {}, "turn.order"),
            ("rules", {"rule": "turn.order"}, "strictly"),
            ("schema", {"name": "ExecuteJobEvent"}, "job_id: string"),
            ("schema", {"about": "requests"}, "partition"),
            ("dump", {"file": "run.tar.xz"}, "SimulationBegins"),
            ("dump", {"file": "run.tar.xz", "events": ["SimulationEnds"], "as_json": True}, '"SimulationEndsEvent"'),
            ("check", {"file": "run.tar.xz"}, "message"),
            ("at", {"file": "run.tar.xz", "seconds": 1.0}, "after message"),
            ("simulate", {"policy": "easy", "workloads": ["lublin:16?jobs=20"]}, '"complete": true'),
            ("study", {"toml": STUDY, "metrics": ["mean_waiting_time"]}, "easy"),
        ):
            failed, text = await said(client, tool, **arguments)
            assert not failed, text
            assert expected in text, (tool, text)
            names.discard(tool)
        assert not names

    play(CommandLimits(str(tmp_path)), acts)
    assert len(list(tmp_path.glob("study-*.toml"))) == 1


def test_results_are_those_of_the_command(tmp_path: Path) -> None:
    async def acts(client: Any) -> None:
        first = await said(client, "simulate", policy="easy-sjf", workloads=["lublin:16?jobs=50"], output="results")
        assert first == await said(client, "simulate", policy="easy-sjf", workloads=["lublin:16?jobs=50"])
        values = json.loads(first[1])["metrics"]
        rows = (tmp_path / "results" / "jobs.csv").read_text().splitlines()
        waiting = rows[0].split(",").index("waiting_time")
        mean = sum(float(row.split(",")[waiting]) for row in rows[1:]) / (len(rows) - 1)
        assert values["mean_waiting_time"] == pytest.approx(mean, rel=1e-6)

    play(CommandLimits(str(tmp_path)), acts)


# Limits


def test_a_call_that_takes_long_is_ended_and_a_study_goes_on(tmp_path: Path) -> None:
    async def late(client: Any) -> None:
        failed, text = await said(client, "simulate", policy="easy", workloads=["lublin:512?jobs=2000000"])
        assert failed
        assert "it took more than 3 s" in text

    play(CommandLimits(str(tmp_path), seconds=3.0), late)

    async def full(client: Any) -> None:
        failed, text = await said(client, "study", toml=STUDY)
        assert failed
        assert "more than 5 runs" in text
        failed, text = await said(client, "study", toml=STUDY, only=["seed=0"])
        assert not failed, text

    play(CommandLimits(str(tmp_path), runs=5), full)

    async def large(client: Any) -> None:
        """The number of runs does not depend on how much of the output is kept."""
        failed, text = await said(client, "study", toml=STUDY.replace('"0-2"', '"0-99"'))
        assert failed
        assert "more than 150 runs" in text

    play(CommandLimits(str(tmp_path), runs=150, characters=1000), large)


def test_long_answers_are_cut(tmp_path: Path) -> None:
    async def acts(client: Any) -> None:
        failed, text = await said(client, "rules")
        assert not failed
        assert text.endswith("[cut after 1,000 characters; ask for less]")
        assert len(text) < 1100

    play(CommandLimits(str(tmp_path), characters=1000), acts)


def test_code_of_the_folder_runs_only_if_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("open('ran', 'w').close()\nfrom batprotocol.policies import Policy as Mine\n")
    study = STUDY + 'metrics = ["mine.py:count"]\n'

    async def refused(client: Any) -> None:
        for tool, arguments in (
            ("simulate", {"policy": "mine.py:Mine"}),
            ("study", {"toml": study}),
            ("study", {"toml": STUDY.replace("easy", "mine.py:Mine")}),
        ):
            failed, text = await said(client, tool, **arguments)
            assert failed, text
            assert "do not run here" in text, text
        assert not (tmp_path / "ran").exists()

    play(CommandLimits(str(tmp_path)), refused)

    async def done(client: Any) -> None:
        failed, text = await said(client, "simulate", policy="mine.py:Mine", workloads=["lublin:16?jobs=5"])
        assert not failed, text
        assert (tmp_path / "ran").exists()

    play(CommandLimits(str(tmp_path), runs_code=True), done)


# The program

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def served(acts: Play, *arguments: str, cwd: Path, **environment: str) -> None:
    """Play with the program, which is started as programs of assistants do."""

    async def connected() -> None:
        words = ["-m", "batprotocol", "mcp", *arguments]
        server = mcp.StdioServerParameters(command=sys.executable, args=words, cwd=cwd, env=environment)
        async with mcp.Client(mcp.stdio_client(server)) as client:
            await acts(client)

    anyio.run(connected)


@pytest.mark.parametrize("argument", [("experiments",), ("..",), (".",), ()])
def test_the_program_serves_the_folder_that_it_names(tmp_path: Path, argument: tuple[str, ...]) -> None:
    """A relative folder is relative to the folder in which the program starts."""
    start = tmp_path / "above" / "start"
    folder = (start / "".join(argument)).resolve()
    (start / "experiments").mkdir(parents=True)
    run = sorted((DATA / "runs").glob("*.tar.xz"))[0]
    for each in (folder, folder.parent):
        shutil.copy(run, each / "run.tar.xz")

    async def acts(client: Any) -> None:
        failed, text = await said(client, "dump", file="run.tar.xz", events=["SimulationEnds"])
        assert not failed, text
        for file in ("../run.tar.xz", str(folder.parent / "run.tar.xz")):
            failed, text = await said(client, "dump", file=file)
            assert failed
            assert "outside" in text, text
        failed, text = await said(client, "study", toml=STUDY)
        assert not failed, text
        failed, text = await said(client, "simulate", policy="easy", workloads=["lublin:16?jobs=20"], output="../out")
        assert failed
        assert "outside" in text, text

    served(acts, *argument, cwd=start)
    assert len(list(folder.glob("study-*.toml"))) == 1
    assert not (folder.parent / "out").exists()


def test_commands_get_the_variables_that_they_need(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os\nfrom batprotocol.policies import Policy as Mine\nprint(sorted(os.environ), *os.environ.values())\n"
    )

    async def acts(client: Any) -> None:
        failed, text = await said(client, "simulate", policy="mine.py:Mine", workloads=["lublin:16?jobs=5"])
        assert not failed, text
        assert "'PATH'" in text, text
        assert "'PASSWORD'" not in text
        assert "Qz7secret" not in text

    served(acts, "--schedulers", ".", cwd=tmp_path, PASSWORD="Qz7secret")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_program_and_its_commands(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "slow.py").write_text(
        "import os, time\nopen('running', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    words = [sys.executable, "-m", "batprotocol", "mcp", "--schedulers", str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in (
            {"id": 1, "method": "initialize", "params": {**HELLO}},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "simulate", "arguments": {"policy": "slow.py:Slow"}}},
        ):
            print(json.dumps({"jsonrpc": "2.0", **message}), file=process.stdin, flush=True)
        until((tmp_path / "running").exists, PATIENCE, 0.05)
        until(lambda: (tmp_path / "running").read_text() != "", PATIENCE, 0.05)
        pid = int((tmp_path / "running").read_text())
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
    assert gone(pid)
