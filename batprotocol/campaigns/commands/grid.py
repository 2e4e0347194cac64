"""`batproto grid`: campaigns. The options of its commands, with CiGri's names; the other modules do the work."""

from __future__ import annotations

from typing import Any

import click

from batprotocol.cli.completing import complete_file
from batprotocol.cli.families import Family
from batprotocol.cli.parameters import expect_unicode, folder, seconds, spreadsheet_option

__all__ = ["grid"]

_path = click.Path(readable=False, path_type=str)
_campaign = click.option("-c", "--campaign", metavar="ID", type=click.IntRange(min=1), help="The campaign.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one value per line.")
_verbose = click.option("-v", "--verbose", is_flag=True, help="Print a confirmation.")


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
@click.option("-f", "--file", metavar="FILE", type=_path, shell_complete=complete_file, help="A file with the JDL.")
@click.option("-j", "--jdl", metavar="JDL", help="The JDL itself: CiGri 3's JSON, or CiGri 2's blocks.")
@click.option("-t", "--type", "kind", type=click.Choice(["default", "test"]), help="test: run one job on each cluster.")
@click.option("-c", "--campaign", metavar="ID", type=click.IntRange(min=1), help="Add tasks to this campaign, with -J.")
@click.option("-J", "--params", metavar="JSON", help="With -c: the parameters of the tasks, as a list of texts.")
@click.option("-d", "--details", is_flag=True, help="Print all fields of the campaign, too.")
@click.option("--rules", metavar="FILE", type=_path, envvar="BATPROTOCOL_RULES", help="Admission rules, in Python.")
@click.pass_context
def sub(context: click.Context, /, file: str | None, jdl: str | None, campaign: int | None, **options: Any) -> None:
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
    from batprotocol.campaigns.commands import requests as work

    if sum(given is not None for given in (file, jdl, campaign)) != 1:
        raise click.UsageError("give one of -f, -j and -c", context)
    if (campaign is None) != (options["params"] is None):
        raise click.UsageError("-c and -J go together: these parameters are added to that campaign", context)
    context.exit(work.submit(*context.obj, file=file, jdl=jdl, campaign=campaign, **options))


@grid.command()
@_campaign
@click.option("-j", "--job", metavar="ID", type=click.IntRange(min=1), help="Print this job in full.")
@click.option("-u", "--user", "of_user", metavar="NAME", help="Only the campaigns of this user.")
@click.option("-a", "--all", "all_campaigns", is_flag=True, help="Also campaigns that have ended.")
@click.option("-f", "--full", is_flag=True, help="With -c: also its tasks.")
@click.option("-e", "--events", is_flag=True, help="With -c: its open events.")
@click.option("-J", "--jdl", is_flag=True, help="With -c: its JDL, with all defaults.")
@click.option("-d", "--dump", is_flag=True, help="Print JSON, in the form of CiGri's API.")
@click.option("-s", "--summary", metavar="RANGE", help="CiGri 2's table of the campaigns 7 or 3-9.")
@click.option("--csv", is_flag=True, help="With -c: its jobs as CSV, as in CiGri 2.")
@spreadsheet_option
@_json
@click.pass_context
def stat(context: click.Context, /, **options: Any) -> None:
    """Print the state of campaigns (gridstat).

    \b
    Examples:
      batproto grid stat
      batproto grid stat -c 2 -f
      batproto grid stat -j 17
    """
    from batprotocol.campaigns.commands import requests as work

    needs = [name for name in ("full", "events", "jdl", "csv") if options[name] and options["campaign"] is None]
    if needs:
        raise click.UsageError(f"--{needs[0]} needs a campaign: give -c, too", context)
    if options["spreadsheet"] and not options["csv"]:
        raise click.UsageError("--spreadsheet is for CSV: add --csv", context)
    context.exit(work.stat(context.obj[0], **options))


@grid.command("del")
@_campaign
@click.option("-j", "--job", metavar="ID", type=click.IntRange(min=1), help="Kill this job only.")
@click.option("-p", "--pause", "what", flag_value="pause", help="Submit no more tasks of the campaign.")
@click.option("-r", "--resume", "what", flag_value="resume", help="Continue a paused campaign.")
@click.option("--purge", "what", flag_value="purge", help="Remove a campaign that has ended from the store.")
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
    from batprotocol.campaigns.commands import requests as work

    if (campaign is None) == (job is None) or (job is not None and what is not None):
        raise click.UsageError("give -c, or -j without -p, -r and --purge", context)
    context.exit(work.delete(*context.obj, campaign=campaign, job=job, what=what or "cancel", verbose=verbose))


@grid.command()
@_campaign
@click.option("-e", "--event", metavar="ID", type=click.IntRange(min=1), help="This event only.")
@click.option("-g", "--global", "of_grid", is_flag=True, help="Events that belong to no campaign.")
@click.option("-a", "--all", "all_events", is_flag=True, help="Also closed events.")
@click.option("-f", "--fix", is_flag=True, help="Close the event, or all events of the campaign.")
@click.option("-r", "--resubmit", is_flag=True, help="With -f: run their tasks again.")
@_verbose
@_json
@click.pass_context
def events(context: click.Context, /, **options: Any) -> None:
    """Show events of campaigns (gridevents), or close events that are fixed.

    \b
    Examples:
      batproto grid events -c 3
      batproto grid events -c 3 -f -r
    """
    from batprotocol.campaigns.commands import requests as work

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
@click.option("--all", "every", is_flag=True, help="With -c: also that of jobs that run again without you.")
@_json
@click.pass_context
def output(context: click.Context, /, **options: Any) -> None:
    """Show the last 10,000 bytes of the output of jobs that did not end well (gridstat -O and -E).

    \b
    Examples:
      batproto grid output -c 4
      batproto grid output -j 17 -E
    """
    from batprotocol.campaigns.commands import requests as work

    if (options["campaign"] is None) == (options["job"] is None):
        raise click.UsageError("give one of -c and -j", context)
    context.exit(work.show_output(context.obj[0], **options))


@grid.command()
@click.option("-i", "--infos", "level", flag_value="infos", help="Also print their states.")
@click.option("-I", "--more-infos", "level", flag_value="more", help="Print all of their fields.")
@click.option(
    "-u", "--usage", "level", flag_value="usage", help="Print how many of their resources were free, and when."
)
@click.option("--types", is_flag=True, help="Print what each type of clusters can and cannot do.")
@click.option("--add", metavar="NAME", help="Add or change a cluster, with --local, --dask or --file.")
@click.option(
    "--local", metavar="FOLDER", type=_path, help="With --add: processes on this machine, with their files in FOLDER."
)
@click.option("--dask", metavar="ADDRESS", help="With --add: the workers of the Dask scheduler at tcp://HOST:PORT.")
@click.option(
    "--file",
    metavar="FILE",
    type=_path,
    shell_complete=complete_file,
    help="With --add: the cluster that this file describes, such as one of Slurm, in TOML.",
)
@click.option("--resources", metavar="N", type=click.IntRange(min=1), help="With --local: how many jobs run at a time.")
@click.option(
    "--power",
    metavar="X",
    type=click.FloatRange(min=0, min_open=True),
    help="With --add: its speed, relative to the other clusters.",
)
@click.option("--enable", metavar="NAME", help="Use this cluster again.")
@click.option("--disable", metavar="NAME", help="Do not use this cluster any more.")
@click.option("--prefer", metavar="USER CLUSTER N", nargs=3, help="Set the priority of a user on a cluster.")
@_json
@click.pass_context
def clusters(context: click.Context, /, **options: Any) -> None:
    """List the clusters (gridclusters), or add one.

    \b
    Examples:
      batproto grid clusters --add here --local here.cluster --resources 4
      batproto grid clusters --add far --dask tcp://far.example.org:8786
      batproto grid clusters --add site --file site.toml
      batproto grid clusters -u
    """
    from batprotocol.campaigns.commands import requests as work

    places = sum(options[name] is not None for name in ("local", "dask", "file"))
    if (options["add"] is None and places) or (options["add"] is not None and places != 1):
        raise click.UsageError("give --add with one of --local, --dask and --file", context)
    context.exit(work.clusters(context.obj[0], **options))


def _settings(command: Any) -> Any:
    """The options for the settings of a grid, for each command that runs one."""
    for option in (
        click.option(
            "--finalize/--no-finalize",
            default=None,
            help="Copy the last tasks to idle resources: their commands run twice.",
        ),
        click.option(
            "--flood-rate",
            metavar="X",
            type=click.FloatRange(0, 100),
            help="How many jobs may wait, as a part of a cluster.",
        ),
        click.option(
            "--order-flood-rate",
            metavar="X",
            type=click.FloatRange(0, 100),
            help="How many jobs always wait, as a part of a cluster: these start when resources get free.",
        ),
        click.option(
            "--strategy", type=click.Choice(["fifo", "affinity", "priority"]), help="The order of the campaigns."
        ),
        click.option(
            "--regulator",
            type=click.Choice(["slow-start", "two-way", "exponential", "rate", "controller"]),
            help="The limit of jobs on a cluster.",
        ),
    ):
        command = option(command)
    return command


@grid.command()
@click.option(
    "--cycle",
    metavar="SECONDS",
    type=float,
    default=5.0,
    show_default=True,
    callback=seconds,
    help="Time from one cycle to the next.",
)
@click.option("--until-done", is_flag=True, help="Exit when all campaigns have ended.")
@click.option("--until-stuck", is_flag=True, help="Exit also when all other campaigns wait for a person.")
@click.option("--cycles", metavar="N", type=click.IntRange(min=1), help="Exit after N cycles.")
@_settings
@_verbose
@_json
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
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

    context.exit(work.run(context.obj[0], **options))


@grid.command()
@click.argument("plan", metavar="[PLAN.json]", required=False, type=_path, shell_complete=complete_file)
@click.option("-p", "--platform", metavar="FILE", type=_path, help="The platform: a SimGrid XML file, or a .txt.")
@click.option(
    "-w",
    "--workload",
    "workloads",
    metavar="FILE",
    multiple=True,
    type=_path,
    help="A file with jobs of the clusters' own users.",
)
@click.option(
    "--load",
    metavar="X",
    type=click.FloatRange(0, 1),
    default=0.6,
    help="Without -w: the load by the clusters' own jobs.",
)
@click.option(
    "--length", metavar="CYCLES", type=click.FloatRange(min=0, min_open=True), default=1.0, help="Duration of a task."
)
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), default=1000, help="Number of tasks.")
@click.option(
    "--campaign",
    metavar="JDL.json",
    type=_path,
    shell_complete=complete_file,
    help="In place of PLAN.json: simulate this campaign on the clusters of the store, at their size.",
)
@click.option(
    "--seconds",
    metavar="S",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    help="With --campaign: duration of a task.",
)
@click.option(
    "-o", "--output", metavar="DIR", type=_path, callback=folder, help="Write plots (PNG, SVG) and the report there."
)
@_settings
@_json
@click.pass_context
def simulate(context: click.Context, /, plan: str | None, **options: Any) -> None:
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

    if plan is not None and options["campaign"] is not None:
        raise click.UsageError("give one of PLAN.json and --campaign", context)
    context.exit(work.simulate(context.obj[0], plan, **options))


expect_unicode(grid, "local")
