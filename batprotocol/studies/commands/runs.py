"""`batproto study run`, `list`, `show` and `merge`: their options. `run` and `listing` do the work."""

from __future__ import annotations

import click

from batprotocol.cli.completing import complete_file
from batprotocol.cli.parameters import worker_options
from batprotocol.studies.commands.completing import complete_only

__all__ = ["list_runs", "merge", "run", "show"]

_path = click.Path(readable=False, path_type=str)
_only = click.option(
    "--only",
    metavar="AXIS=VALUE,...",
    multiple=True,
    shell_complete=complete_only,
    help="Select the runs with these values. Can be repeated, for several axes.",
)
_store = click.option(
    "-s", "--store", metavar="DIR", type=_path, help="The folder of the runs.  [default: NAME.runs beside STUDY]"
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one value on each line.")


@click.command()
@click.argument("file", metavar="STUDY", type=_path, shell_complete=complete_file)
@_store
@_only
@click.option("-n", "--dry-run", is_flag=True, help="List the runs and their states, and run nothing.")
@click.option("--retry-failed", is_flag=True, help="Run failed runs again.")
@click.option("--at-most", metavar="N", type=click.IntRange(min=1), help="Refuse a study that has more runs.")
@click.option(
    "-j",
    "--processes",
    metavar="N",
    type=click.IntRange(min=1),
    help="The number of runs at a time.  [default: the number of processors; with --slurm: 16]",
)
@worker_options("Run", "Run")
@click.option(
    "--batsim",
    metavar="COMMAND",
    help="Let this command simulate, such as batsim. See below for its options and placeholders.",
)
@click.option("--in-process", is_flag=True, help="With --batsim: Batsim loads the scheduler, without a socket.")
@click.pass_context
def run(
    context: click.Context,
    file: str,
    store: str | None,
    only: tuple[str, ...],
    dry_run: bool,
    retry_failed: bool,
    at_most: int | None,
    processes: int | None,
    dask: str | None,
    slurm: str | None,
    wheels: str | None,
    batsim: str | None,
    in_process: bool,
) -> None:
    """Run the runs of a STUDY that are not in its store, and those whose inputs or scheduler have changed.

    If a run fails, the others still run, and the exit status is 1. "batproto study show" prints why a run failed, and
    the path of its recording.

    COMMAND may have the placeholders {platform}, {workload}, {events}, {output}, {endpoint}, {library} and {init}. If
    it has none of them, Batsim's options are added. A word {energy}WORD becomes WORD if energy is measured, and is left
    out otherwise.

    \b
    Examples:
      batproto study run study.toml
      batproto study run study.toml --slurm -j 64
      batproto study run study.toml --slurm short --wheels wheels
      batproto study run study.toml --batsim batsim --in-process
      batproto study run study.toml --batsim "batproto simulate -p {platform} -w {workload} -o {output}
          --endpoint {endpoint} --init {init} {energy}--energy"
    """
    from batprotocol.studies.commands import run as work

    if processes is not None and dask is not None:
        raise click.UsageError(
            "--processes is for this machine: leave it out with --dask, whose workers decide the number", context
        )
    if slurm is not None and dask is not None:
        raise click.UsageError("give one of --slurm and --dask", context)
    if wheels is not None and slurm is None:
        raise click.UsageError("--wheels is for nodes of Slurm: give --slurm, too", context)
    if in_process and batsim is None:
        raise click.UsageError("--in-process is for a real Batsim: give --batsim, too", context)
    context.exit(
        work.run(
            file,
            store,
            only=only,
            dry_run=dry_run,
            retry_failed=retry_failed,
            at_most=at_most,
            processes=processes,
            dask=dask,
            slurm=slurm,
            wheels=wheels,
            batsim=batsim,
            in_process=in_process,
        )
    )


@click.command("list")
@click.argument("path", metavar="STUDY|STORE", type=_path, shell_complete=complete_file)
@_store
@_only
@click.option("--failed", is_flag=True, help="List failed runs only.")
@click.option("--all", "everything", is_flag=True, help="Include the runs of a STORE that no study wants any more.")
@_json
def list_runs(
    path: str, store: str | None, only: tuple[str, ...], failed: bool, everything: bool, as_json: bool
) -> None:
    """List the runs of a STUDY, or those in a STORE: their names, states, and values on each axis."""
    from batprotocol.studies.commands import listing as work

    work.list_runs(path, store, only=only, failed=failed, everything=everything, as_json=as_json)


@click.command()
@click.argument("path", metavar="STUDY|STORE", type=_path, shell_complete=complete_file)
@click.argument("key", metavar="KEY")
@_store
def show(path: str, key: str, store: str | None) -> None:
    """Show a run: its axes and metrics, its files, and the reason if it failed. KEY is the beginning of its name."""
    from batprotocol.studies.commands import listing as work

    work.show(path, store, key)


@click.command()
@click.argument("store", metavar="STORE", type=_path, shell_complete=complete_file)
@click.argument("others", metavar="OTHER...", nargs=-1, required=True, type=_path, shell_complete=complete_file)
def merge(store: str, others: tuple[str, ...]) -> None:
    """Copy into a STORE the runs of OTHER stores that it does not have, or that failed in it only."""
    from batprotocol.studies.commands import listing as work

    work.merge(store, others)
