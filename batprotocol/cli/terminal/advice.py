"""Advice as lines, for the commands that print some. It must not know whose conversation it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from batprotocol.cli.terminal.output import Output
from batprotocol.cli.terminal.text import number_of, printable

if TYPE_CHECKING:
    from batprotocol.conversation.advice import Advice

__all__ = ["print_advice"]

_MOST: Final = 10
"""Of one kind of advice, at most this number of lines is printed: those about the longest times."""


def print_advice(name: str, found: Sequence[Advice], output: Output) -> None:
    """Print advice, a line for each.

    Args:
        name: where each line says that the advice is about this.
        found: the advice.
        output: where it is printed.
    """
    longest = sorted(range(len(found)), key=lambda index: found[index].start - found[index].end)
    shown, kinds = set(), Counter[str]()
    for index in longest:
        kinds[found[index].kind] += 1
        if kinds[found[index].kind] <= _MOST:
            shown.add(index)
    for index in sorted(shown):
        _print(name, found[index].text, found[index].kind, output)
    for kind, count in kinds.items():
        if count > _MOST:
            more = f"{number_of(count - _MOST, 'line')} like these, about shorter times, not shown"
            _print(name, more, kind, output)


def _print(name: str, text: str, kind: str, output: Output) -> None:
    output.line(
        ("file", name), ("", ": "), ("heading", "advice"), ("", f": {printable(text)} "), ("detail", f"[{kind}]")
    )
