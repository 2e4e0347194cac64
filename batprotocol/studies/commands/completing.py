"""Completion of the axes of a study, and of the values on them. A study that cannot be read has none."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem, split_arg_string

from batprotocol.cli.completing import completions

__all__ = ["complete_axis", "complete_baseline", "complete_only"]


def complete_only(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """`AXIS=VALUE` for each value, and one more value behind a comma."""
    axis, _, values = start.partition("=")
    before, comma, _ = values.rpartition(",")
    found = _axes(context)
    if comma and axis in found:
        left = [str(value) for value in found[axis] if str(value) not in before.split(",")]
        return completions([f"{axis}={before},{value}" for value in left], start)
    return completions([f"{name}={value}" for name, values in found.items() for value in values], start)


def complete_axis(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The axes."""
    return completions(tuple(_axes(context)), start)


def complete_baseline(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The values on the axis of the rows of a table, or of the lines of a plot."""
    axis = context.params.get("rows") or context.params.get("by") or "scheduler"
    return completions([str(value) for value in _axes(context).get(axis, ())], start)


def _axes(context: click.Context) -> Mapping[str, Sequence[Any]]:
    """The axes of the study, or of the store, that was named before, with their values.

    click forgets the arguments where the value of an option is still missing, so the words themselves are searched.
    """
    words = [context.params.get(name) for name in ("file", "source", "path")]
    words += split_arg_string(os.environ.get("COMP_WORDS", ""))[2:]
    path = next((word for word in words if word and os.path.exists(word)), None)
    if path is None:
        return {}
    from batprotocol.studies import Store, Study
    from batprotocol.studies.running import is_study

    try:
        if is_study(path):
            return Study.read(path).axes
        with Store(path) as store:
            return store.rows().axes
    except Exception:  # in the middle of a line, nobody wants to read why
        return {}
