"""The examples that users read are run: those in the README, in docstrings, and in examples/."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from commands import run_here
from support import ROOT

import batprotocol
from batprotocol import FinalJobState, Host, Job, Message, MessageBuilder, decode
from batprotocol.edc import rehearse
from batprotocol.fast import FastScheduler

README = (ROOT / "README.md").read_text()
EXAMPLE = ROOT / "examples" / "00042-b2e.bin"


def modules() -> list[str]:
    """The modules with examples in them."""
    paths = sorted((ROOT / "batprotocol").rglob("*.py"))
    names = (path.relative_to(ROOT).with_suffix("").as_posix() for path in paths if ">>> " in path.read_text())
    return [name.removesuffix("/__init__").replace("/", ".") for name in names]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def begins_with_two_jobs() -> list[Message]:
    """Batsim's side: two jobs, of which the first ends."""
    builder = MessageBuilder()
    builder.add_simulation_begins(batsim_version="5", computation_hosts=[Host(id=0, name="a", computation_speed=[1.0])])
    messages = [builder.finish_message()]
    builder.clear(1.0)
    for number in range(2):
        builder.add_job_submitted(f"w0!{number}", Job(resource_request=1, profile_id="w0!p"), 1.0)
    messages.append(builder.finish_message())
    builder.clear(2.0)
    builder.add_job_completed("w0!0", FinalJobState.COMPLETED_SUCCESSFULLY)
    return [*messages, builder.finish_message()]


def batproto(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "batprotocol", *arguments],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        text=True,
        encoding="utf-8",
    )


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    assert doctest.testmod(module, globs=vars(batprotocol) | vars(module)).failed == 0


def test_some_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    counts = [len(test.examples) for name in modules() for test in finder.find(importlib.import_module(name))]
    assert sum(counts) > 20


def run_alone(block: str) -> dict[str, Any]:
    """What a block of the README defines, run by itself, as a user would copy it."""
    namespace: dict[str, Any] = {}
    exec(compile(block, "<readme>", "exec"), namespace)
    return namespace


@pytest.mark.slow
def test_python_blocks_of_the_readme() -> None:
    simulation, scheduler, fcfs, loop, answer, handshake, conformance, fast = map(run_alone, blocks("python"))
    assert len(list(simulation["result"].jobs)) == 5
    assert [len(reply.events) for reply in rehearse(scheduler["OneByOne"](), begins_with_two_jobs())] == [0, 1, 1]
    replies = rehearse(fcfs["FirstComeFirstServed"](), begins_with_two_jobs())
    assert [[event.job_id for event in reply.events] for reply in replies] == [[], ["w0!0"], ["w0!1"]]
    assert callable(loop["learn"])
    assert decode(answer["reply"](EXAMPLE.read_bytes())).now == decode(EXAMPLE.read_bytes()).now
    assert handshake["text"] == "init"
    submitted = (ROOT / "tests" / "data" / "submitted.json").read_bytes()
    assert [type(event).__name__ for event in decode(conformance["reply"](submitted)).events] == ["RejectJobEvent"]
    assert issubclass(fast["FillUp"], FastScheduler)  # tests/fast/test_fast_readme.py runs it
    conformance["test_a_reply_can_be_read"]()
    conformance["test_rejecting_all_jobs_is_no_mistake"]()


@pytest.mark.slow
@pytest.mark.once
def test_dump_prints_what_the_readme_shows() -> None:
    shown = blocks("console")[1]
    done = batproto("dump", "examples/00042-b2e.bin")
    assert done.returncode == 0
    assert done.stdout == shown


@pytest.mark.slow
@pytest.mark.once
def test_simulate_prints_what_the_readme_shows() -> None:
    shown = blocks("console")[0]
    done = batproto("simulate", "examples/easy_backfilling.py:EASY")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == shown


@pytest.mark.slow
@pytest.mark.once
def test_conformance_prints_what_the_readme_shows(tmp_path: Path) -> None:
    (scheduler,) = [block for block in blocks("python") if "class OneByOne" in block]
    (tmp_path / "scheduler.py").write_text(scheduler)
    done = batproto("conformance", f"{tmp_path}/scheduler.py:OneByOne")
    assert done.returncode == 1
    assert done.stdout.startswith(blocks("console")[2])


@pytest.mark.once
def test_commands_of_the_readme_exist() -> None:
    for command in set(re.findall(r"`batproto (\w+)", README)):
        assert run_here(command, "--help").status == 0, command


@pytest.mark.once
@pytest.mark.parametrize("marker", ["install", "test"])
def test_ci_finds_the_commands_of_the_readme(marker: str) -> None:
    assert re.search(rf"^<!-- ci: {marker} -->\n```sh\n.+\n```$", README, re.MULTILINE)


@pytest.mark.slow
def test_reply_example() -> None:
    submitted = ROOT / "tests" / "data" / "submitted.json"
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "reply.py"), str(submitted)],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )
    (event,) = json.loads(done.stdout)["events"]
    assert (event["event_type"], event["event"]["job_id"]) == ("ExecuteJobEvent", "w0!0")
