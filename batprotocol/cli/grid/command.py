"""`batproto grid`: campaigns. The options of its commands, in the words of CiGri; the modules beside it do the work."""

from __future__ import annotations

from typing import Any

import click

from batprotocol.cli.completing import complete_file
from batprotocol.cli.families import Family
from batprotocol.cli.parameters import expect_unicode, seconds

__all__ = ["grid"]

_path = click.Path(readable=False, path_type=str)
_campaign = click.option("-c", "--campaign", metavar="ID", type=click.IntRange(min=1), help="The campaign.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one value a line.")
_verbose = click.option("-v", "--verbose", is_flag=True, help="Say what was done.")


_OVERVIEW = {
    "Set up": {
        "clusters": "List the clusters (gridclusters), and make them known.",
        "run": "Let the campaigns run, until you press Ctrl-C.",
    },
    "Campaigns": {
        "sub": "Submit a campaign (gridsub), or add tasks to one.",
        "stat": "Tell how campaigns are (gridstat).",
        "events": "Show events of campaigns (gridevents), and close them.",
        "output": "Show what failed jobs printed last (gridstat -O and -E).",
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
    help="Where the campaigns are kept: a file, for SQLite, or sqlite:///FILE or postgresql://USER@HOST/NAME.",
)
@click.option("--user", metavar="NAME", envvar="USER", default="", help="Who asks; you, unless told otherwise.")
@click.pass_context
def grid(context: click.Context, url: str, user: str) -> None:
    """Run campaigns, one program with many parameters, on the idle resources of clusters, as CiGri does.

    A store keeps all campaigns. Clusters are made known with "clusters --add"; "sub" submits a campaign, "run" is the
    loop that lets all of them run, "stat", "events" and "del" are for their users. "simulate" studies them.

    \b
    Examples:
      batproto grid clusters --add here --local here.cluster --resources 4
      batproto grid sub -f campaign.json
      batproto grid run --until-done
      batproto grid stat
    """
    context.obj = url, user


@grid.command()
@click.option("-f", "--file", metavar="FILE", type=_path, shell_complete=complete_file, help="The JDL, in a file.")
@click.option("-j", "--jdl", metavar="JDL", help="The JDL itself: CiGri 3's JSON, or CiGri 2's blocks.")
@click.option(
    "-t", "--type", "kind", type=click.Choice(["default", "test"]), help="A test runs one job on each cluster."
)
@click.option("-c", "--campaign", metavar="ID", type=click.IntRange(min=1), help="Add tasks to this campaign, with -J.")
@click.option("-J", "--params", metavar="JSON", help="With -c: the parameters of the tasks, as a list of texts.")
@click.option("-d", "--details", is_flag=True, help="Print what is known of the campaign, too.")
@click.option("--rules", metavar="FILE", type=_path, envvar="BATPROTOCOL_RULES", help="Admission rules, in Python.")
@click.pass_context
def sub(context: click.Context, /, file: str | None, jdl: str | None, campaign: int | None, **options: Any) -> None:
    """Submit a campaign (gridsub), or add tasks to one.

    In the JDL, "temporal_grouping": "true" runs short tasks one after the other in one job, and "result_marker":
    "done/{NAME}" keeps a command from being run again that has ended well. Keys that do nothing are told.

    \b
    Examples:
      batproto grid sub -f campaign.json
      batproto grid sub -j '{"name": "n", "nb_jobs": 9, "clusters": {"here": {"exec_file": "echo"}}}'
      batproto grid sub -t test -f campaign.json
      batproto grid sub -c 4 -J '["extra 1", "extra 2"]'
    """
    from batprotocol.cli.grid import requests as work

    if sum(given is not None for given in (file, jdl, campaign)) != 1:
        raise click.UsageError("give one of -f, -j and -c", context)
    if (campaign is None) != (options["params"] is None):
        raise click.UsageError("-c and -J go together: these parameters are added to that campaign", context)
    context.exit(work.submit(*context.obj, file=file, jdl=jdl, campaign=campaign, **options))


@grid.command()
@_campaign
@click.option("-j", "--job", metavar="ID", type=click.IntRange(min=1), help="All about this job.")
@click.option("-u", "--user", "of_user", metavar="NAME", help="Only the campaigns of this user.")
@click.option("-a", "--all", "all_campaigns", is_flag=True, help="Those that have ended, too.")
@click.option("-f", "--full", is_flag=True, help="With -c: its tasks, too.")
@click.option("-e", "--events", is_flag=True, help="With -c: its open events.")
@click.option("-J", "--jdl", is_flag=True, help="With -c: its JDL, with all defaults.")
@click.option("-d", "--dump", is_flag=True, help="Print JSON, as CiGri's API gives it.")
@click.option("-s", "--summary", metavar="RANGE", help="CiGri 2's table of the campaigns 7 or 3-9.")
@click.option("--csv", is_flag=True, help="With -c: its jobs as CSV, as CiGri 2 prints them.")
@_json
@click.pass_context
def stat(context: click.Context, /, **options: Any) -> None:
    """Tell how campaigns are (gridstat).

    \b
    Examples:
      batproto grid stat
      batproto grid stat -c 2 -f
      batproto grid stat -j 17
    """
    from batprotocol.cli.grid import stat as work

    needs = [name for name in ("full", "events", "jdl", "csv") if options[name] and options["campaign"] is None]
    if needs:
        raise click.UsageError(f"--{needs[0]} is about a campaign: give -c, too", context)
    context.exit(work.stat(context.obj[0], **options))


@grid.command("del")
@_campaign
@click.option("-j", "--job", metavar="ID", type=click.IntRange(min=1), help="Kill this job only.")
@click.option("-p", "--pause", "what", flag_value="pause", help="Submit nothing more of the campaign.")
@click.option("-r", "--resume", "what", flag_value="resume", help="Go on with a campaign that was paused.")
@click.option("--purge", "what", flag_value="purge", help="Take a campaign that has ended out of the store.")
@_verbose
@click.pass_context
def delete(context: click.Context, /, campaign: int | None, job: int | None, what: str | None, verbose: bool) -> None:
    """Cancel a campaign or a job (griddel); or pause, resume or purge a campaign.

    \b
    Examples:
      batproto grid del -c 4
      batproto grid del -c 4 -p
      batproto grid del -j 17
    """
    from batprotocol.cli.grid import requests as work

    if (campaign is None) == (job is None) or (job is not None and what is not None):
        raise click.UsageError("give -c with what is to be done, or -j", context)
    context.exit(work.delete(*context.obj, campaign=campaign, job=job, what=what or "cancel", verbose=verbose))


@grid.command()
@_campaign
@click.option("-e", "--event", metavar="ID", type=click.IntRange(min=1), help="This event only.")
@click.option("-g", "--global", "of_grid", is_flag=True, help="The events of no campaign.")
@click.option("-a", "--all", "all_events", is_flag=True, help="The closed ones, too.")
@click.option("-f", "--fix", is_flag=True, help="Close the event, or all of the campaign.")
@click.option("-r", "--resubmit", is_flag=True, help="With -f: have their tasks done again.")
@_verbose
@_json
@click.pass_context
def events(context: click.Context, /, **options: Any) -> None:
    """Show events of campaigns (gridevents), and close them when they are fixed.

    \b
    Examples:
      batproto grid events -c 3
      batproto grid events -c 3 -f -r
    """
    from batprotocol.cli.grid import requests as work

    if sum((options["campaign"] is not None, options["event"] is not None, options["of_grid"])) != 1:
        raise click.UsageError("give one of -c, -e and -g", context)
    if options["resubmit"] and not options["fix"]:
        raise click.UsageError("-r goes with -f", context)
    if options["fix"] and options["of_grid"]:
        raise click.UsageError("-f closes one event (-e) or those of a campaign (-c)", context)
    context.exit(work.events(*context.obj, **options))


@grid.command()
@_campaign
@click.option("-j", "--job", metavar="ID", type=click.IntRange(min=1), help="This job only.")
@click.option("-O", "--stdout", "kind", flag_value="stdout", help="Its standard output only.")
@click.option("-E", "--stderr", "kind", flag_value="stderr", help="Its standard error only.")
@_json
@click.pass_context
def output(context: click.Context, /, **options: Any) -> None:
    """Show what jobs printed that did not end well (gridstat -O and -E): the last 10,000 bytes.

    \b
    Examples:
      batproto grid output -c 4
      batproto grid output -j 17 -E
    """
    from batprotocol.cli.grid import printed as work

    if (options["campaign"] is None) == (options["job"] is None):
        raise click.UsageError("give one of -c and -j", context)
    context.exit(work.show_output(context.obj[0], **options))


@grid.command()
@click.option("-i", "--infos", "level", flag_value="infos", help="How they are, too.")
@click.option("-I", "--more-infos", "level", flag_value="more", help="All that is known of them.")
@click.option("-u", "--usage", "level", flag_value="usage", help="How many of their resources were free, and when.")
@click.option("--add", metavar="NAME", help="Make a cluster known, with --local or --dask; or change it.")
@click.option("--local", metavar="FOLDER", type=_path, help="With --add: processes on this machine, kept in FOLDER.")
@click.option("--dask", metavar="ADDRESS", help="With --add: the workers of the Dask scheduler at tcp://HOST:PORT.")
@click.option("--resources", metavar="N", type=click.IntRange(min=1), help="With --local: how many at a time.")
@click.option("--power", metavar="X", type=click.FloatRange(min=0, min_open=True), help="With --add: how fast it is.")
@click.option("--enable", metavar="NAME", help="Use a cluster again.")
@click.option("--disable", metavar="NAME", help="Do not use a cluster any more.")
@click.option("--prefer", metavar="USER CLUSTER N", nargs=3, help="Give a user a priority on a cluster.")
@_json
@click.pass_context
def clusters(context: click.Context, /, **options: Any) -> None:
    """List the clusters (gridclusters), and make them known.

    \b
    Examples:
      batproto grid clusters --add here --local here.cluster --resources 4
      batproto grid clusters --add far --dask tcp://far.example.org:8786
      batproto grid clusters -u
    """
    from batprotocol.cli.grid import requests as work

    places = sum(options[name] is not None for name in ("local", "dask"))
    if (options["add"] is None and places) or (options["add"] is not None and places != 1):
        raise click.UsageError("give --add with one of --local and --dask", context)
    context.exit(work.clusters(context.obj[0], **options))


def _settings(command: Any) -> Any:
    """The options of how a grid is run, for each command that runs one."""
    for option in (
        click.option(
            "--finalize/--no-finalize",
            default=None,
            help="Copy the last tasks to resources left over: their commands run twice.",
        ),
        click.option(
            "--flood-rate", metavar="X", type=click.FloatRange(0, 100), help="How much of a cluster may wait."
        ),
        click.option(
            "--strategy", type=click.Choice(["fifo", "affinity", "priority"]), help="Which campaigns come first."
        ),
        click.option(
            "--regulator",
            type=click.Choice(["slow-start", "two-way", "exponential", "rate", "controller"]),
            help="What decides how many jobs a cluster gets.",
        ),
    ):
        command = option(command)
    return command


@grid.command()
@click.option(
    "--cycle", metavar="SECONDS", type=float, default=5.0, show_default=True, callback=seconds, help="Between cycles."
)
@click.option("--until-done", is_flag=True, help="Exit when all campaigns have ended.")
@click.option("--until-stuck", is_flag=True, help="Exit also when all the others wait for somebody.")
@click.option("--cycles", metavar="N", type=click.IntRange(min=1), help="Exit after so many cycles.")
@_settings
@_verbose
@_json
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Let the campaigns run, until you press Ctrl-C.

    It may be stopped or killed at any moment, and goes on where it was when it is run again: what runs on the clusters
    runs on meanwhile. It tells for whom a campaign waits, and what to type.

    The last tasks of a campaign are copied to resources that are left over, and the first copy that ends well counts.
    Where a command has effects, use --no-finalize, or a "result_marker" in the JDL. The exit status is 1 if a task
    did not end well, or if something waits for somebody.

    \b
    Examples:
      batproto grid run
      batproto grid run --until-stuck --no-finalize
      batproto grid run --until-done --cycle 1 --regulator rate
    """
    from batprotocol.cli.grid import run as work

    context.exit(work.run(context.obj[0], **options))


@grid.command()
@click.argument("plan", metavar="[PLAN.json]", required=False, type=_path, shell_complete=complete_file)
@click.option("-p", "--platform", metavar="FILE", type=_path, help="The platform, a SimGrid XML file.")
@click.option(
    "-w", "--workload", "workloads", metavar="FILE", multiple=True, type=_path, help="The jobs of the clusters' own."
)
@click.option("--load", metavar="X", type=click.FloatRange(0, 1), default=0.6, help="Without -w: how busy they are.")
@click.option("--length", metavar="CYCLES", type=click.FloatRange(min=0, min_open=True), default=1.0, help="Of a task.")
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), default=1000, help="How many tasks there are.")
@click.option("-o", "--output", metavar="DIR", type=_path, help="Write plots (PNG, SVG) and the report there.")
@_settings
@_json
@click.pass_context
def simulate(context: click.Context, /, plan: str | None, **options: Any) -> None:
    """Simulate campaigns on clusters that have jobs of their own, and tell what came of it.

    PLAN.json is what GridScheduler takes as initialization data: clusters, campaigns, settings. Without it, there are
    four clusters of 128 hosts and one campaign of --jobs tasks, which take --length cycles each.

    \b
    Examples:
      batproto grid simulate --regulator two-way --length 3
      batproto grid simulate plan.json -p platform.xml -w local.json -o report
    """
    from batprotocol.cli.grid import simulate as work

    context.exit(work.simulate(plan, **options))


expect_unicode(grid, "local")
