"""`batproto study list`, `show` and `merge`: the runs of a study or a store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import click

from batprotocol.cli.terminal.output import Output
from batprotocol.errors import StudyError
from batprotocol.studies import Row, Rows, Run, Store, Study, read_rows
from batprotocol.studies.comparing.rows import select
from batprotocol.studies.outcomes import DONE
from batprotocol.studies.running import is_study

__all__ = ["list_runs", "merge", "print_runs", "show"]

_SHOWN = 8
"""The number of characters that are printed of a run's name."""


def print_runs(output: Output, runs: Sequence[Run], states: Mapping[str, str]) -> None:
    """Print runs with their states."""
    for run in runs:
        state = states.get(run.key, "to run")
        output.line(("number", run.key[:_SHOWN]), ("", f"  {state:7}"), ("", f" {run}"))


def list_runs(
    path: str, store: str | None, *, only: Sequence[str], failed: bool, everything: bool, as_json: bool
) -> None:
    """Print runs.

    Args:
        path: a study, or a store.
        store: the store of the study, or None.
        only: the runs to print, `AXIS=VALUE,VALUE`.
        failed: whether to print failed runs only.
        everything: whether to include runs that no study wants any more, from a store.
        as_json: whether to print JSON.
    """
    output = Output()
    if not is_study(path):
        with Store(path) as opened:
            rows = opened.rows(all=everything)
    else:
        study = Study.read(path)
        rows = study.rows(store)
        if not as_json and not failed:
            runs = study.runs(only)
            print_runs(output, runs, {row.key: row.state for row in rows})
            return
    for row in _chosen(rows, only):
        if failed and row.state == DONE:
            continue
        if as_json:
            record = {"key": row.key, "axes": row.axes, "state": row.state, "kind": row.kind, "error": row.error}
            output.json(json.dumps({**record, "metrics": row.metrics, "folder": row.folder}, ensure_ascii=False))
            continue
        axes = " ".join(f"{name}={value}" for name, value in row.axes.items())
        why = f": {row.error}" if row.error else ""
        output.line(("number", row.key[:_SHOWN]), ("", f"  {row.state:7} {axes}{why}"))


def _chosen(rows: Rows, only: Sequence[str]) -> list[Row]:
    wanted: dict[str, list[str]] = {}
    for each in only:
        axis, equals, text = each.partition("=")
        if not equals or axis not in rows.axes:
            raise StudyError(f"expected AXIS=VALUE with one of the axes {', '.join(rows.axes)}, got {each!r}")
        wanted.setdefault(axis, []).append(text)
    return select(rows, wanted)


def show(path: str, store: str | None, key: str) -> None:
    """Print a run: its axes, metrics and files, and its failure.

    Args:
        path: a study, or a store.
        store: the store of the study, or None.
        key: the beginning of the run's name.
    """
    found = [row for row in read_rows(path, store, all=True) if row.key.startswith(key)]
    if len(found) != 1:
        if found:
            raise click.UsageError(f"several runs begin with {key!r}: give more characters of the name")
        raise click.UsageError(f"there is no run that begins with {key!r}: batproto study list prints the names")
    (row,) = found
    output = Output()
    pairs = [("run", row.key), *((name, str(value)) for name, value in row.axes.items()), ("state", row.state)]
    pairs += [("error", row.error)] if row.error else []
    pairs += [(name, f"{value:g}") for name, value in row.metrics.items()]
    pairs.append(("folder", row.folder))
    if row.recording:
        pairs.append(("recording", row.recording))
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        output.line(("field", name.ljust(width)), ("", f"  {value}"))
    if row.traceback:
        output.line()
        for line in row.traceback.rstrip().split("\n"):
            output.line(("", line))


def merge(store: str, others: Sequence[str]) -> None:
    """Copy the runs of other stores."""
    output = Output()
    with Store(store, writes=True) as here:
        for other in others:
            with Store(other) as opened:
                count = here.merge(opened)
            output.line(("", f"{other}: {count:,} {'run' if count == 1 else 'runs'} copied"))
