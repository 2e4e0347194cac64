"""`batproto study run`, `list`, `show` and `merge`: their options. `run` and `listing` do the work."""

from __future__ import annotations

import click

from batprotocol.cli.completing import complete_file
from batprotocol.cli.study.completing import complete_only

__all__ = ["list_runs", "merge", "run", "show"]

_path = click.Path(readable=False, path_type=str)
_only = click.option(
    "--only",
    metavar="AXIS=VALUE,...",
    multiple=True,
    shell_complete=complete_only,
    help="Only runs that are there on this axis. Can be repeated.",
)
_store = click.option(
    "-s", "--store", metavar="DIR", type=_path, help="Where the runs are kept.  [default: NAME.runs beside STUDY]"
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one value a line.")


@click.command()
@click.argument("file", metavar="STUDY", type=_path, shell_complete=complete_file)
@_store
@_only
@click.option("-n", "--dry-run", is_flag=True, help="List the runs, and which are there, and run nothing.")
@click.option("--retry-failed", is_flag=True, help="Run again what has failed, too.")
@click.option(
    "-j", "--processes", metavar="N", type=click.IntRange(min=1), help="How many at once; as many as processors."
)
@click.option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler, tcp://HOST:8786.")
@click.option(
    "--batsim",
    metavar="COMMAND",
    help="Let Batsim simulate: its options are added, or {platform}, {workload}, {output}, {endpoint}... filled in.",
)
@click.option("--in-process", is_flag=True, help="With --batsim: it loads the scheduler, there is no socket.")
@click.pass_context
def run(
    context: click.Context,
    file: str,
    store: str | None,
    only: tuple[str, ...],
    dry_run: bool,
    retry_failed: bool,
    processes: int | None,
    dask: str | None,
    batsim: str | None,
    in_process: bool,
) -> None:
    """Run the runs of a STUDY that are not there yet, and those whose inputs or scheduler have changed.

    The exit status is 1 if a run fails; the others run all the same. "batproto study show" tells why it did, and where
    the recording is of what was said.

    A COMMAND that names none of {platform}, {workload}, {events}, {output}, {endpoint}, {library}, {init} gets Batsim's
    options for them; {energy}WORD is WORD where energy is measured.

    \b
    Examples:
      batproto study run study.toml
      batproto study run study.toml --batsim batsim --in-process
      batproto study run study.toml --batsim "batproto simulate -p {platform} -w {workload} -o {output}
          --endpoint {endpoint} --init {init} {energy}--energy"
    """
    from batprotocol.cli.study import run as work

    if processes is not None and dask is not None:
        raise click.UsageError("--processes are of this machine: with --dask, its workers tell how many", context)
    if in_process and batsim is None:
        raise click.UsageError("--in-process is about a Batsim: give --batsim, too", context)
    context.exit(
        work.run(
            file,
            store,
            only=only,
            dry_run=dry_run,
            retry_failed=retry_failed,
            processes=processes,
            dask=dask,
            batsim=batsim,
            in_process=in_process,
        )
    )


@click.command("list")
@click.argument("path", metavar="STUDY|STORE", type=_path, shell_complete=complete_file)
@_store
@_only
@click.option("--failed", is_flag=True, help="Only runs that have failed.")
@click.option("--all", "everything", is_flag=True, help="Of a STORE: also what no study wants any more.")
@_json
def list_runs(
    path: str, store: str | None, only: tuple[str, ...], failed: bool, everything: bool, as_json: bool
) -> None:
    """List the runs of a STUDY, or those in a STORE: their names, how they ended, and where they are on each axis."""
    from batprotocol.cli.study import listing as work

    work.list_runs(path, store, only=only, failed=failed, everything=everything, as_json=as_json)


@click.command()
@click.argument("path", metavar="STUDY|STORE", type=_path, shell_complete=complete_file)
@click.argument("key", metavar="KEY")
@_store
def show(path: str, key: str, store: str | None) -> None:
    """Show all about the run with this KEY, or the beginning of one: its axes, what came of it, why it failed."""
    from batprotocol.cli.study import listing as work

    work.show(path, store, key)


@click.command()
@click.argument("store", metavar="STORE", type=_path, shell_complete=complete_file)
@click.argument("others", metavar="OTHER...", nargs=-1, required=True, type=_path, shell_complete=complete_file)
def merge(store: str, others: tuple[str, ...]) -> None:
    """Take over into a STORE what OTHER ones have: the runs that are not there, or that failed there only."""
    from batprotocol.cli.study import listing as work

    work.merge(store, others)
