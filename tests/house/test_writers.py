"""Each function that writes a file is listed here, with the test that reads the file back, or the reason for none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import click
import pytest
from support import ROOT

from batprotocol.cli.main import batproto

WITHOUT_ENGINE = True

MODE = re.compile("[wxa][bt]*[+]?[bt]*|r[bt]*[+][bt]*")
PACKAGE = ROOT / "batprotocol"
HERE = "house/test_read_back.py"
NO_TABLE = "no table: "
READ_BACK = {
    "_util/engines": NO_TABLE + "the output of a process",
    "_util/files": NO_TABLE + "what others write",
    "_util/grids": HERE,
    "campaigns/commands/run": NO_TABLE + "a message that the recorder has encoded",
    "campaigns/managers/_local_leader": NO_TABLE + "notes of a process for itself",
    "campaigns/managers/_slurm_jobs": NO_TABLE + "programs for a host, in an archive",
    "campaigns/managers/interface": NO_TABLE + "the output of a task",
    "campaigns/managers/local": NO_TABLE + "notes of a process for itself",
    "campaigns/managers/oar": NO_TABLE + "a note for itself, as JSON",
    "campaigns/managers/psij": NO_TABLE + "notes of a process for itself",
    "cli/main": NO_TABLE + "the null device",
    "cli/mcp_server/vocabulary": NO_TABLE + "files of an assistant's folder",
    "edc/commands/new": NO_TABLE + "a program",
    "edc/embedded/options": NO_TABLE + "a note for the parent process",
    "edc/recording/archives": "edc/test_full_disk.py",
    "fast/commands": "fast/test_fast_live_cli.py",
    "recordings/exports": HERE,
    "recordings/timeline/_figures": NO_TABLE + "a figure",
    "recordings/timeline/timelines": NO_TABLE + "a page",
    "results/files": HERE,
    "results/reports": HERE,
    "sites/logs/commands/imports": HERE,
    "sites/logs/tables": HERE,
    "studies/_inputs": NO_TABLE + "files of a user, byte for byte",
    "studies/_preparation": NO_TABLE + "packages",
    "studies/_simulation": HERE,
    "studies/_slurm_workers": NO_TABLE + "a script",
    "studies/commands/_study_work": HERE,
    "studies/commands/_whatif_work": NO_TABLE + "a page, and a study",
    "studies/sources": HERE,
    "studies/rows": HERE,
    "studies/store": "studies/test_known_store.py",
    "studies/whatif/_plan": HERE,
    "testing/commands/checking": NO_TABLE + "a report for other programs",
    "wire/commands/convert": "cli/test_convert.py",
    "workloads/commands/events": HERE,
    "workloads/commands/info": HERE,
}
"""Each module that writes files or rows, with the test that reads them back."""
MAKERS = {
    *("writer", "DictWriter", "ParquetWriter", "to_csv", "to_parquet", "names_text", "reports_text"),
    *("write_bytes", "write_text"),
}


def writes(call: ast.Call) -> bool:
    """Whether a call opens a file for writing, or makes a table."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "write_table":
        return isinstance(call.func, ast.Attribute) and "parquet" in ast.unparse(call.func)
    if name in ("open", "fdopen"):
        modes = [*call.args[:2], *(each.value for each in call.keywords if each.arg == "mode")]
        texts = [str(each.value) for each in modes if isinstance(each, ast.Constant)]
        return any(MODE.fullmatch(text) for text in texts)
    return name in MAKERS


def writers() -> set[str]:
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        place = path.relative_to(PACKAGE).with_suffix("").as_posix()
        uses_whole = "from batprotocol._util.files import" in text and "whole(" in text
        may_write = uses_whole or any(word in text for word in (*MAKERS, "open("))
        if uses_whole or any(
            writes(node) for node in ast.walk(ast.parse(text if may_write else "")) if isinstance(node, ast.Call)
        ):
            found.add(place)
    return found


@pytest.mark.slow
def test_each_writer_is_listed() -> None:
    """If this fails, add the module to `READ_BACK`, and a property test of its table to `test_read_back.py`."""
    found = writers()
    assert sorted(found - set(READ_BACK)) == []
    assert sorted(set(READ_BACK) - found) == []


def test_the_tests_exist() -> None:
    for place in READ_BACK.values():
        assert place.startswith(NO_TABLE) or (ROOT / "tests" / place).is_file(), place


def test_each_exporter_of_csv_guards_texts_from_spreadsheets() -> None:
    """A command that can write CSV says so in its help, and has the option."""
    found = {words for words, text in helps() if "csv" in text.lower() and ("--output" in text or "--csv" in text)}
    have = {words for words, text in helps() if "--spreadsheet" in text}
    assert have == {("export",), ("import",), ("study", "table"), ("grid", "stat")}
    assert found - have == READERS


READERS = {
    *(("simulate",), ("timeline",), ("study", "plot")),
    *(("workload", "windows"), ("workload", "outages"), ("workload", "trace")),
}
"""Commands whose help names CSV for what they read, or for Batsim's own files."""


def helps() -> Iterator[tuple[tuple[str, ...], str]]:
    """The commands, with their helps."""

    def walk(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        if isinstance(command, click.Group):
            for name, each in command.commands.items():
                yield from walk(each, (*words, name))
        else:
            yield words, command.get_help(click.Context(command))

    return walk(batproto, ())
