"""An option that cannot be repeated is refused when it is given again, in every command: the last one does not win."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from commands import run_here

from batprotocol.cli.main import batproto

WITHOUT_ENGINE = True
pytestmark = pytest.mark.once


def commands_of(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """A command, and all commands below it."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands_of(inner, click.Context(inner, parent=context, info_name=name))


ALL = list(commands_of(batproto, click.Context(batproto, info_name="batproto")))


def parse(command: click.Command, context: click.Context, *words: str) -> None:
    command.make_parser(context).parse_args(list(words))


def given(option: click.Option, name: str) -> list[str]:
    return [name] if option.is_flag or option.count else [name, *["1"] * option.nargs]


def test_no_option_wins_in_silence() -> None:
    seen = 0
    for command, context in ALL:
        for option in (each for each in command.params if isinstance(each, click.Option)):
            names = [*option.opts, *option.secondary_opts]
            twice = given(option, names[0]) + given(option, names[-1])
            if option.multiple or option.count or (option.is_flag and not option.secondary_opts):
                parse(command, context, *twice)
                continue
            with pytest.raises(click.UsageError, match="is given 2 times: give it once"):
                parse(command, context, *twice)
            seen += 1
    assert seen > 250


def test_no_option_wins_over_another_one_in_silence() -> None:
    seen = 0
    for command, context in ALL:
        options: dict[str | None, list[click.Option]] = {}
        for option in (each for each in command.params if isinstance(each, click.Option)):
            options.setdefault(option.name, []).append(option)
        for one, other, *_ in (each for each in options.values() if len(each) > 1):
            with pytest.raises(click.UsageError, match="exclude each other: leave out one of them"):
                parse(command, context, *given(one, one.opts[0]), *given(other, other.opts[0]))
            seen += 1
    assert seen > 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            "study plot s.runs -o a.svg --metric makespan --metric utilisation",
            "--metric is given 2 times: give it once",
        ),
        ("study table s.runs --csv --json", "--csv and --json exclude each other: leave out one of them"),
        ("simulate easy -p a.xml --platform b.xml", "-p or --platform is given 2 times"),
    ],
)
def test_what_the_user_reads(words: str, error: str) -> None:
    done = run_here(*words.split())
    assert done.status == 2
    assert error in done.err


def test_a_flag_may_be_given_again() -> None:
    assert run_here("study", "metrics", "--json", "--json").status == 0
