"""Every command line of batproto in pages, docstrings, messages and help has options that exist, and values for them.

Blocks of the handbook are run as well (`stories`). Here are those that nobody runs: in sentences, and without output.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from commands import run_here
from support import ROOT

from batprotocol.cli.main import batproto

WITHOUT_ENGINE = True
pytestmark = pytest.mark.once

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted([*(ROOT / "batprotocol").rglob("*.py"), *(ROOT / "examples").rglob("*.py")])

_IN_CODE = re.compile(r"`(batproto [^`]+)`")
_IN_QUOTES = re.compile(r'"(batproto [^"]+)"')
_AT_BEGIN = re.compile(r"^(?:[^\n`\"']*?(?:[$|;&:(]|\$\() *|[-# ]*)?(batproto [^\n]*)$", re.M)
_PRINTED = re.compile(r"batproto (?:\d|[a-z -]+: )")
"""What the program prints begins like this: its version, or an error."""
_ENDS: Any = {"|", "||", "&&", ";", "&", ">", ">>", "<", "2>", "2>&1", "#", ")"}
_REFERENCE = tuple(f"batproto {name}" for name in ("policies", "rules", "schema", "study metrics", "fast rules"))


@cache
def lines_of(path: Path) -> tuple[str, ...]:
    """The command lines in a page, or in the texts of a module."""
    return tuple(_lines_of(path.read_text(encoding="utf-8"), path.suffix == ".md"))


def _lines_of(content: str, is_page: bool) -> Iterator[str]:
    if is_page:
        yield from commands_in(content)
        return
    if not re.search(r"batproto\b", content):
        return
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "batproto " in node.value:
            yield from commands_in(node.value)


def commands_in(text: str) -> Iterator[str]:
    joined = re.sub(r"\\\n\s*", " ", text)
    whole = [re.sub(r"\s+", " ", found) for found in _IN_CODE.findall(joined) + _IN_QUOTES.findall(joined)]
    begun = (found for found in _AT_BEGIN.findall(joined) if "`" not in found)
    yield from dict.fromkeys(found for found in [*whole, *begun] if not _PRINTED.match(found))


def words_of(line: str) -> list[str]:
    """The words of a command, up to where the shell ends it, without the name of the program."""
    line = re.split(r"  +(?=\S)|  +#|(?<=[^ ]) # ", line.replace("batproto ", "", 1).strip())[0]
    line = re.sub(r"\[([^]]*)\]", r"\1", line)  # what may be left out
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that begins here is closed on another line
        words = shlex.split(line.replace("'", "") + ('"' if line.count('"') % 2 else ""))
    found = []
    for word in words:
        if word in _ENDS or word in ("and", "or") or word.startswith((">", "<", "2>", "<(")):
            break
        closed = word.rstrip(";") if word.endswith(";") else word
        found.append(closed)
        if closed != word:
            break
    return [word for word in found if word not in ("...", "…")]


def expect_options(words: list[str]) -> None:
    """These words are a command and options of it. Values of choices are looked at, if they are no placeholders."""
    command: click.Command = batproto
    context = click.Context(command, info_name="batproto")
    while True:
        try:
            options, rest, order = command.make_parser(context).parse_args(list(words))
        except click.BadOptionUsage as error:
            if words and words[-1] == error.option_name:  # a sentence about the option
                return
            raise
        for parameter in order:
            value = options.get(parameter.name)
            if isinstance(parameter.type, click.Choice) and isinstance(value, str) and not value.isupper():
                parameter.type.convert(value, parameter, context)
        if not isinstance(command, click.Group) or not rest:
            return
        name, words = rest[0], rest[1:]
        if name.isupper():
            return
        inner = command.get_command(context, name)
        if inner is None:
            raise click.UsageError(f"no command {name!r}")
        command, context = inner, click.Context(inner, parent=context, info_name=name)


def test_every_command_line_has_options_that_exist() -> None:
    wrong, seen = [], 0
    for path in [*PAGES, *MODULES]:
        for line in lines_of(path):
            try:
                expect_options(words_of(line))
            except click.ClickException as error:
                wrong.append(f"{path.relative_to(ROOT)}: {line}: {error.format_message()}")
            else:
                seen += 1
    assert not wrong, "\n".join(wrong)
    assert seen > 500


def reference_lines() -> list[str]:
    """The command lines that only print what the library knows, and need no file."""
    found = dict.fromkeys(line for path in [*PAGES, *MODULES] for line in lines_of(path) if line.startswith(_REFERENCE))
    return [
        line for line in found if not re.search(r"[A-Z]{2}|/|\.[a-z]+\b|--(check|changes|diff|which|protocol$)", line)
    ]


@pytest.mark.slow
def test_command_lines_that_need_no_file_run() -> None:
    lines = reference_lines()
    failed = [line for line in lines if run_here(*words_of(line)).status != 0]
    assert not failed
    assert len(lines) > 10


@pytest.mark.parametrize(
    "line",
    [
        "batproto study table study.toml --by partition",
        "batproto study plots study.runs",
        "batproto study plot study.runs --kind bars -o a.svg",
        "batproto simulate easy -w a.swf -w b.swf --energie",
        "batproto study plot study.runs --metric makespan -o a.svg --metric utilisation",
    ],
)
def test_a_wrong_line_is_found(line: str) -> None:
    with pytest.raises(click.ClickException):
        expect_options(words_of(line))
