"""What the parameters of several commands have in common: how they are checked, and how shells complete them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

__all__ = ["complete_file", "complete_rule_set", "completions", "rule_set", "unknown"]


def complete_file(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    return [CompletionItem(start, type="file")]


def complete_rule_set(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.conversation import RULE_SETS

    return completions(tuple(RULE_SETS), start)


def rule_set(context: click.Context, parameter: click.Parameter, name: str | None) -> str:
    from batprotocol.conversation import DEFAULT_RULE_SET, RULE_SETS

    if name is not None and name not in RULE_SETS:
        raise click.UsageError(f"there is no rule set {name!r}, only {' and '.join(RULE_SETS)}", context)
    return name or DEFAULT_RULE_SET


def completions(names: Sequence[str], start: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.lower().startswith(start.lower())]


def unknown(context: click.Context, sentence: str, name: str, names: Sequence[str]) -> NoReturn:
    from batprotocol.cli.selection import closest

    near = closest(name, names)
    raise click.UsageError(sentence + (f"; did you mean {' or '.join(near)}?" if near else ""), context)
