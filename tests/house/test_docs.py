"""What users read first: the README, the examples in docstrings, and those in examples/."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
from itertools import filterfalse
from types import ModuleType

import pytest
from commands import run_here
from support import ROOT

import batprotocol

README = (ROOT / "README.md").read_text()


def modules() -> list[str]:
    """The modules with examples in them."""
    paths = sorted((ROOT / "batprotocol").rglob("*.py"))
    names = (path.relative_to(ROOT).with_suffix("").as_posix() for path in paths if ">>> " in path.read_text())
    return [name.removesuffix("/__init__").replace("/", ".") for name in names]


PROTOCOL = ("builder", "conversation", "edc", "model", "recordings", "schemas", "wire")
"""Packages whose examples make or read bytes of the protocol. They run with each engine, as do those at the top."""


def depends_on_engine(name: str) -> bool:
    return name.count(".") == 0 or name.split(".")[1] in PROTOCOL


def run_examples(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    assert doctest.testmod(module, globs=vars(batprotocol) | vars(module)).failed == 0


@pytest.mark.parametrize("name", filter(depends_on_engine, modules()))
def test_examples_in_docstrings_of_the_protocol(name: str) -> None:
    run_examples(name)


@pytest.mark.once
@pytest.mark.parametrize("name", filterfalse(depends_on_engine, modules()))
def test_examples_in_docstrings(name: str) -> None:
    run_examples(name)


def test_some_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    counts = [len(test.examples) for name in modules() for test in finder.find(importlib.import_module(name))]
    assert sum(counts) > 20


@pytest.mark.once
def test_commands_of_the_readme_exist() -> None:
    """Those in its text; its blocks are run as the handbook's are, by tests/handbook/test_pages.py."""
    for command in set(re.findall(r"`batproto (\w+)", README)):
        assert run_here(command, "--help").status == 0, command


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= 180


@pytest.mark.once
def test_links_of_the_readme_lead_somewhere() -> None:
    links = set(re.findall(r"\]\(([^)#]+?)(?:#[\w-]+)?\)", README))
    assert {link for link in links if not link.startswith("https://") and not (ROOT / link).exists()} == set()
    assert len(links) > 20


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
