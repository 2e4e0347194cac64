"""`batproto grid`: campaigns. The modules beside it have the options, and do the work."""

from __future__ import annotations

import click

from batprotocol.campaigns.commands.options import (
    ClustersOptions,
    DelOptions,
    EventsOptions,
    GridRunOptions,
    GridSimulateOptions,
    OutputOptions,
    StatOptions,
    SubOptions,
)
from batprotocol.cli.families import Family
from batprotocol.cli.options import options_of
from batprotocol.cli.parameters import expect_unicode

__all__ = ["grid"]

_OVERVIEW = {
    "Set up": {
        "clusters": "List the clusters (gridclusters), or add one.",
        "run": "Run the campaigns, until you press Ctrl-C.",
    },
    "Campaigns": {
        "sub": "Submit a campaign (gridsub), or add tasks to one.",
        "stat": "Print the state of campaigns (gridstat).",
        "events": "Show events of campaigns (gridevents), or close them.",
        "output": "Show the last output of failed jobs (gridstat -O and -E).",
        "del": "Cancel a campaign or a job (griddel), or pause a campaign.",
    },
    "Studies": {"simulate": "Simulate campaigns on clusters that have jobs of their own."},
}


@click.group(cls=Family, overview=_OVERVIEW)
@click.option(
    "--store",
    "url",
    metavar="URL",
    default="grid.db",
    show_default=True,
    envvar="BATPROTOCOL_GRID",
    help="The store of the campaigns: a file for SQLite, or sqlite:///FILE or postgresql://USER@HOST/NAME.",
)
@click.option("--user", metavar="NAME", envvar="USER", default="", help="The user of the request; you, by default.")
@click.pass_context
def grid(context: click.Context, url: str, user: str) -> None:
    """Run campaigns, one program with many parameters, on the idle resources of clusters, as CiGri does.

    A store keeps all campaigns. "clusters --add" adds a cluster, and "sub" submits a campaign. "run" is the loop, which
    runs all campaigns. "stat", "events", "output" and "del" show and change them. "simulate" simulates campaigns.

    \b
    Examples:
      batproto grid clusters --add here --local here.cluster --resources 4
      batproto grid sub -f campaign.json
      batproto grid run --until-done
      batproto grid stat
    """
    context.obj = url, user


@grid.command()
@options_of(SubOptions)
@click.pass_context
def sub(context: click.Context, options: SubOptions) -> None:
    """Submit a campaign (gridsub), or add tasks to one.

    In the JDL, "temporal_grouping": "true" runs short tasks one after the other in one job. With "result_marker":
    "done/{NAME}", a command that has ended well does not run again. The command reports keys that have no effect.

    \b
    Examples:
      batproto grid sub -f campaign.json
      batproto grid sub -j '{"name": "n", "nb_jobs": 9, "clusters": {"here": {"exec_file": "echo"}}}'
      batproto grid sub -t test -f campaign.json
      batproto grid sub -c 4 -J '["extra 1", "extra 2"]'
    """
    from batprotocol.campaigns.commands import requests

    if sum(given is not None for given in (options.file, options.jdl, options.campaign)) != 1:
        raise click.UsageError("give one of -f, -j and -c", context)
    if (options.campaign is None) != (options.params is None):
        raise click.UsageError("-c and -J go together: these parameters are added to that campaign", context)
    url, user = context.obj
    context.exit(requests.submit(url, user, options))


@grid.command()
@options_of(StatOptions)
@click.pass_context
def stat(context: click.Context, options: StatOptions) -> None:
    """Print the state of campaigns (gridstat).

    \b
    Examples:
      batproto grid stat
      batproto grid stat -c 2 -f
      batproto grid stat -j 17
    """
    from batprotocol.campaigns.commands import requests

    needs = [name for name in ("full", "events", "jdl", "csv") if getattr(options, name) and options.campaign is None]
    if needs:
        raise click.UsageError(f"--{needs[0]} needs a campaign: give -c, too", context)
    if options.spreadsheet and not options.csv:
        raise click.UsageError("--spreadsheet is for CSV: add --csv", context)
    context.exit(requests.stat(context.obj[0], options))


@grid.command("del")
@options_of(DelOptions)
@click.pass_context
def delete(context: click.Context, options: DelOptions) -> None:
    """Cancel a campaign or a job (griddel); or pause, resume or purge a campaign.

    \b
    Examples:
      batproto grid del -c 4
      batproto grid del -c 4 -p
      batproto grid del -j 17
    """
    from batprotocol.campaigns.commands import requests

    if (options.campaign is None) == (options.job is None) or (options.job is not None and options.what is not None):
        raise click.UsageError("give -c, or -j without -p, -r and --purge", context)
    url, user = context.obj
    context.exit(requests.delete(url, user, options))


@grid.command()
@options_of(EventsOptions)
@click.pass_context
def events(context: click.Context, options: EventsOptions) -> None:
    """Show events of campaigns (gridevents), or close events that are fixed.

    \b
    Examples:
      batproto grid events -c 3
      batproto grid events -c 3 -f -r
    """
    from batprotocol.campaigns.commands import requests

    if sum((options.campaign is not None, options.event is not None, options.of_grid)) != 1:
        raise click.UsageError("give one of -c, -e and -g", context)
    if options.resubmit and not options.fix:
        raise click.UsageError("-r goes with -f", context)
    if options.fix and options.of_grid:
        raise click.UsageError("-f closes one event (-e) or those of a campaign (-c)", context)
    url, user = context.obj
    context.exit(requests.events(url, user, options))


@grid.command()
@options_of(OutputOptions)
@click.pass_context
def output(context: click.Context, options: OutputOptions) -> None:
    """Show the last 10,000 bytes of the output of jobs that did not end well (gridstat -O and -E).

    \b
    Examples:
      batproto grid output -c 4
      batproto grid output -j 17 -E
    """
    from batprotocol.campaigns.commands import requests

    if (options.campaign is None) == (options.job is None):
        raise click.UsageError("give one of -c and -j", context)
    context.exit(requests.show_output(context.obj[0], options))


@grid.command()
@options_of(ClustersOptions)
@click.pass_context
def clusters(context: click.Context, options: ClustersOptions) -> None:
    """List the clusters (gridclusters), or add one.

    \b
    Examples:
      batproto grid clusters --add here --local here.cluster --resources 4
      batproto grid clusters --add far --dask tcp://far.example.org:8786
      batproto grid clusters --add site --file site.toml
      batproto grid clusters -u
    """
    from batprotocol.campaigns.commands import requests

    places = sum(each is not None for each in (options.local, options.dask, options.file))
    if (options.add is None and places) or (options.add is not None and places != 1):
        raise click.UsageError("give --add with one of --local, --dask and --file", context)
    context.exit(requests.clusters(context.obj[0], options))


@grid.command()
@options_of(GridRunOptions)
@click.pass_context
def run(context: click.Context, options: GridRunOptions) -> None:
    """Run the campaigns, until you press Ctrl-C.

    You may stop or kill it at any moment. The jobs on the clusters go on, and the next run continues. If a campaign
    waits for a person, it prints for whom, and the command to type.

    The last tasks of a campaign are copied to idle resources, and the first copy that ends well counts. If a command
    must not run twice, use --no-finalize, or a "result_marker" in the JDL. The exit status is 1 if a task did not end
    well, or if a campaign waits for a person.

    \b
    Examples:
      batproto grid run
      batproto grid run --until-stuck --no-finalize
      batproto grid run --until-done --cycle 1 --regulator rate
    """
    from batprotocol.campaigns.commands import run as work

    context.exit(work.run(context.obj[0], options))


@grid.command()
@options_of(GridSimulateOptions)
@click.pass_context
def simulate(context: click.Context, options: GridSimulateOptions) -> None:
    """Simulate campaigns on clusters that have jobs of their own, and print the results.

    PLAN.json has the initialization data of GridScheduler: clusters, campaigns, settings. Without it, there are four
    clusters of 128 hosts and one campaign of --jobs tasks, each of which takes --length cycles.

    With --campaign, the clusters are those of the store: each is asked how many resources it has. So you can plan a
    campaign before you run it.

    \b
    Examples:
      batproto grid simulate --campaign campaign.json --seconds 45 --load 0.7
      batproto grid simulate --regulator two-way --length 3
      batproto grid simulate plan.json -p platform.xml -w local.json -o report
    """
    from batprotocol.campaigns.commands import run as work

    if options.plan is not None and options.campaign is not None:
        raise click.UsageError("give one of PLAN.json and --campaign", context)
    context.exit(work.simulate(context.obj[0], options))


expect_unicode(grid, "local")
