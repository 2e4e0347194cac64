"""`batproto grid`: campaigns. The options of its commands, with CiGri's names; the other modules do the work.

The options of a command are the fields of a value, which the work takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any

import click

from batprotocol.cli.completing import complete_file
from batprotocol.cli.families import Family
from batprotocol.cli.parameters import expect_unicode, folder, seconds, spreadsheet_option

__all__ = ["grid"]

_path = click.Path(readable=False, path_type=str)
_number = click.IntRange(min=1)
_positive = click.FloatRange(min=0, min_open=True)


def _option(*names: str, **more: Any) -> Any:
    """A field that an option fills in."""
    return field(metadata={"options": [(names, more)]})


def _flags(**flags: tuple[str, ...]) -> Any:
    """A field that has the value of one of several flags. Each is given as its value, its names and its help."""
    options = [(names, {"flag_value": value, "help": help}) for value, (*names, help) in flags.items()]
    return field(metadata={"options": options})


def _made_by(metadata: dict[str, Any]) -> Any:
    """A field that a shared option, a decorator or a group of other options fills in."""
    return field(metadata=metadata)


def _with(kind: type[Any]) -> Callable[[Callable[[click.Context, Any], None]], Callable[..., Any]]:
    """Let a command have the options that are the fields of a value, and get that value."""

    def decorate(command: Callable[[click.Context, Any], None]) -> Callable[..., Any]:
        @click.pass_context
        @wraps(command)
        def called(context: click.Context, /, **given: Any) -> None:
            command(context, _filled(kind, given))

        return _declared(called, kind)

    return decorate


def _declared(command: Callable[..., Any], kind: type[Any]) -> Callable[..., Any]:
    for each in reversed(fields(kind)):
        if "group" in each.metadata:
            command = _declared(command, each.metadata["group"])
        elif "decorator" in each.metadata:
            command = each.metadata["decorator"](command)
        for names, more in reversed(each.metadata.get("options", ())):
            parameter = click.option if names else click.argument
            command = parameter(each.name, *names, **more)(command)
    return command


def _filled(kind: type[Any], given: dict[str, Any]) -> Any:
    values = {
        each.name: _filled(each.metadata["group"], given) if "group" in each.metadata else given[each.name]
        for each in fields(kind)
    }
    return kind(**values)


_JSON: Any = {"options": [(("--json",), {"is_flag": True, "help": "Print JSON, one value per line."})]}
_VERBOSE: Any = {"options": [(("-v", "--verbose"), {"is_flag": True, "help": "Print a confirmation."})]}
_CAMPAIGN: Any = {"options": [(("-c", "--campaign"), {"metavar": "ID", "type": _number, "help": "The campaign."})]}


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


@dataclass(frozen=True, kw_only=True)
class SubOptions:
    """The options of `batproto grid sub`."""

    file: str | None = _option(
        "-f", "--file", metavar="FILE", type=_path, shell_complete=complete_file, help="A file with the JDL."
    )
    jdl: str | None = _option("-j", "--jdl", metavar="JDL", help="The JDL itself: CiGri 3's JSON, or CiGri 2's blocks.")
    kind: str | None = _option(
        "-t", "--type", type=click.Choice(["default", "test"]), help="test: run one job on each cluster."
    )
    campaign: int | None = _option(
        "-c", "--campaign", metavar="ID", type=_number, help="Add tasks to this campaign, with -J."
    )
    params: str | None = _option(
        "-J", "--params", metavar="JSON", help="With -c: the parameters of the tasks, as a list of texts."
    )
    details: bool = _option("-d", "--details", is_flag=True, help="Print all fields of the campaign, too.")
    rules: str | None = _option(
        "--rules", metavar="FILE", type=_path, envvar="BATPROTOCOL_RULES", help="Admission rules, in Python."
    )


@grid.command()
@_with(SubOptions)
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


@dataclass(frozen=True, kw_only=True)
class StatOptions:
    """The options of `batproto grid stat`."""

    campaign: int | None = _made_by(_CAMPAIGN)
    job: int | None = _option("-j", "--job", metavar="ID", type=_number, help="Print this job in full.")
    of_user: str | None = _option("-u", "--user", metavar="NAME", help="Only the campaigns of this user.")
    all_campaigns: bool = _option("-a", "--all", is_flag=True, help="Also campaigns that have ended.")
    full: bool = _option("-f", "--full", is_flag=True, help="With -c: also its tasks.")
    events: bool = _option("-e", "--events", is_flag=True, help="With -c: its open events.")
    jdl: bool = _option("-J", "--jdl", is_flag=True, help="With -c: its JDL, with all defaults.")
    dump: bool = _option("-d", "--dump", is_flag=True, help="Print JSON, in the form of CiGri's API.")
    summary: str | None = _option("-s", "--summary", metavar="RANGE", help="CiGri 2's table of the campaigns 7 or 3-9.")
    csv: bool = _option("--csv", is_flag=True, help="With -c: its jobs as CSV, as in CiGri 2.")
    spreadsheet: bool = _made_by({"decorator": spreadsheet_option})
    as_json: bool = _made_by(_JSON)


@grid.command()
@_with(StatOptions)
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


@dataclass(frozen=True, kw_only=True)
class DelOptions:
    """The options of `batproto grid del`."""

    campaign: int | None = _made_by(_CAMPAIGN)
    job: int | None = _option("-j", "--job", metavar="ID", type=_number, help="Kill this job only.")
    what: str | None = _flags(
        pause=("-p", "--pause", "Submit no more tasks of the campaign."),
        resume=("-r", "--resume", "Continue a paused campaign."),
        purge=("--purge", "Remove a campaign that has ended from the store."),
    )
    verbose: bool = _made_by(_VERBOSE)


@grid.command("del")
@_with(DelOptions)
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


@dataclass(frozen=True, kw_only=True)
class EventsOptions:
    """The options of `batproto grid events`."""

    campaign: int | None = _made_by(_CAMPAIGN)
    event: int | None = _option("-e", "--event", metavar="ID", type=_number, help="This event only.")
    of_grid: bool = _option("-g", "--global", is_flag=True, help="Events that belong to no campaign.")
    all_events: bool = _option("-a", "--all", is_flag=True, help="Also closed events.")
    fix: bool = _option("-f", "--fix", is_flag=True, help="Close the event, or all events of the campaign.")
    resubmit: bool = _option("-r", "--resubmit", is_flag=True, help="With -f: run their tasks again.")
    verbose: bool = _made_by(_VERBOSE)
    as_json: bool = _made_by(_JSON)


@grid.command()
@_with(EventsOptions)
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


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The options of `batproto grid output`."""

    campaign: int | None = _made_by(_CAMPAIGN)
    job: int | None = _option("-j", "--job", metavar="ID", type=_number, help="This job only.")
    kind: str | None = _flags(
        stdout=("-O", "--stdout", "Its standard output only."), stderr=("-E", "--stderr", "Its standard error only.")
    )
    every: bool = _option("--all", is_flag=True, help="With -c: also that of jobs that run again without you.")
    as_json: bool = _made_by(_JSON)


@grid.command()
@_with(OutputOptions)
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


@dataclass(frozen=True, kw_only=True)
class ClustersOptions:
    """The options of `batproto grid clusters`."""

    level: str | None = _flags(
        infos=("-i", "--infos", "Also print their states."),
        more=("-I", "--more-infos", "Print all of their fields."),
        usage=("-u", "--usage", "Print how many of their resources were free, and when."),
    )
    types: bool = _option("--types", is_flag=True, help="Print what each type of clusters can and cannot do.")
    add: str | None = _option("--add", metavar="NAME", help="Add or change a cluster, with --local, --dask or --file.")
    local: str | None = _option(
        "--local",
        metavar="FOLDER",
        type=_path,
        help="With --add: processes on this machine, with their files in FOLDER.",
    )
    dask: str | None = _option(
        "--dask", metavar="ADDRESS", help="With --add: the workers of the Dask scheduler at tcp://HOST:PORT."
    )
    file: str | None = _option(
        "--file",
        metavar="FILE",
        type=_path,
        shell_complete=complete_file,
        help="With --add: the cluster that this file describes, such as one of Slurm, in TOML.",
    )
    resources: int | None = _option(
        "--resources", metavar="N", type=_number, help="With --local: how many jobs run at a time."
    )
    power: float | None = _option(
        "--power", metavar="X", type=_positive, help="With --add: its speed, relative to the other clusters."
    )
    enable: str | None = _option("--enable", metavar="NAME", help="Use this cluster again.")
    disable: str | None = _option("--disable", metavar="NAME", help="Do not use this cluster any more.")
    prefer: tuple[str, str, str] | None = _option(
        "--prefer", metavar="USER CLUSTER N", nargs=3, help="Set the priority of a user on a cluster."
    )
    as_json: bool = _made_by(_JSON)


@grid.command()
@_with(ClustersOptions)
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


@dataclass(frozen=True, kw_only=True)
class SettingsOptions:
    """The options for the settings of a grid, for each command that runs one."""

    regulator: str | None = _option(
        "--regulator",
        type=click.Choice(["slow-start", "two-way", "exponential", "rate", "controller"]),
        help="The limit of jobs on a cluster.",
    )
    strategy: str | None = _option(
        "--strategy", type=click.Choice(["fifo", "affinity", "priority"]), help="The order of the campaigns."
    )
    order_flood_rate: float | None = _option(
        "--order-flood-rate",
        metavar="X",
        type=click.FloatRange(0, 100),
        help="How many jobs always wait, as a part of a cluster: these start when resources get free.",
    )
    flood_rate: float | None = _option(
        "--flood-rate",
        metavar="X",
        type=click.FloatRange(0, 100),
        help="How many jobs may wait, as a part of a cluster.",
    )
    finalize: bool | None = _option(
        "--finalize/--no-finalize",
        default=None,
        help="Copy the last tasks to idle resources: their commands run twice.",
    )

    def given(self) -> dict[str, Any]:
        """Those that were given, by their names."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class GridRunOptions:
    """The options of `batproto grid run`."""

    cycle: float = _option(
        "--cycle",
        metavar="SECONDS",
        type=float,
        default=5.0,
        show_default=True,
        callback=seconds,
        help="Time from one cycle to the next.",
    )
    until_done: bool = _option("--until-done", is_flag=True, help="Exit when all campaigns have ended.")
    until_stuck: bool = _option(
        "--until-stuck", is_flag=True, help="Exit also when all other campaigns wait for a person."
    )
    cycles: int | None = _option("--cycles", metavar="N", type=_number, help="Exit after N cycles.")
    settings: SettingsOptions = field(metadata={"group": SettingsOptions})
    verbose: bool = _made_by(_VERBOSE)
    as_json: bool = _made_by(_JSON)


@grid.command()
@_with(GridRunOptions)
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


@dataclass(frozen=True, kw_only=True)
class GridSimulateOptions:
    """The options of `batproto grid simulate`."""

    plan: str | None = _option(metavar="[PLAN.json]", required=False, type=_path, shell_complete=complete_file)
    platform: str | None = _option(
        "-p", "--platform", metavar="FILE", type=_path, help="The platform: a SimGrid XML file, or a .txt."
    )
    workloads: tuple[str, ...] = _option(
        "-w",
        "--workload",
        metavar="FILE",
        multiple=True,
        type=_path,
        help="A file with jobs of the clusters' own users.",
    )
    load: float = _option(
        "--load",
        metavar="X",
        type=click.FloatRange(0, 1),
        default=0.6,
        help="Without -w: the load by the clusters' own jobs.",
    )
    length: float = _option("--length", metavar="CYCLES", type=_positive, default=1.0, help="Duration of a task.")
    jobs: int = _option("--jobs", metavar="N", type=_number, default=1000, help="Number of tasks.")
    campaign: str | None = _option(
        "--campaign",
        metavar="JDL.json",
        type=_path,
        shell_complete=complete_file,
        help="In place of PLAN.json: simulate this campaign on the clusters of the store, at their size.",
    )
    seconds: float = _option(
        "--seconds", metavar="S", type=_positive, default=60.0, help="With --campaign: duration of a task."
    )
    output: str | None = _option(
        "-o",
        "--output",
        metavar="DIR",
        type=_path,
        callback=folder,
        help="Write plots (PNG, SVG) and the report there.",
    )
    settings: SettingsOptions = field(metadata={"group": SettingsOptions})
    as_json: bool = _made_by(_JSON)


@grid.command()
@_with(GridSimulateOptions)
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
