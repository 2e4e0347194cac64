"""The help of groups: every command, in whole sentences, on lines of their own."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from commands import run_here

from batprotocol.cli.main import batproto

WITHOUT_ENGINE = True


def groups(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Group]]:
    """A group and all groups in it, with what is typed for them."""
    yield names, group
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from groups(command, *names, name)


GROUPS = dict(groups(batproto))


def test_there_are_groups() -> None:
    assert {(), ("grid",), ("fast",), ("new",)} <= set(GROUPS)


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: " ".join(names) or "batproto")
def test_each_command_has_a_whole_sentence_on_one_line(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = run_here(*names, "--help").out
    overview = shown[shown.index("Show this message and exit.") :].splitlines()[1:]
    lines = [line for line in overview if line.startswith("  ")]
    rows = [line.split(maxsplit=1) for line in lines]
    assert sorted(name for name, _ in rows) == sorted(GROUPS[names].commands)
    assert all(sentence[0].isupper() and sentence.endswith(".") and "..." not in sentence for _, sentence in rows)
    assert len({line.index(sentence) for line, (_, sentence) in zip(lines, rows, strict=True)}) == 1
    assert [line for line in overview if line and not line.startswith("  ") and not line.endswith(":")] == []


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: " ".join(names) or "batproto")
def test_the_help_of_groups_fits_on_a_terminal(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert [line for line in run_here(*names, "--help").out.splitlines() if len(line) > 80] == []


def test_a_command_that_the_overview_lacks_is_noticed() -> None:
    with pytest.raises(AssertionError, match="forgotten"):
        GROUPS["grid",].add_command(click.Command("forgotten"))
