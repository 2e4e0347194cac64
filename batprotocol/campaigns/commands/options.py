"""The options of the commands of `batproto grid`, with CiGri's names: one value for each command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from batprotocol.cli.completing import complete_file
from batprotocol.cli.options import argument, flags, group, option, shared
from batprotocol.cli.parameters import folder, seconds, spreadsheet_option

__all__ = [
    "ClustersOptions",
    "DelOptions",
    "EventsOptions",
    "GridRunOptions",
    "GridSimulateOptions",
    "OutputOptions",
    "SettingsOptions",
    "StatOptions",
    "SubOptions",
]

_path = click.Path(readable=False, path_type=str)
_number = click.IntRange(min=1)
_positive = click.FloatRange(min=0, min_open=True)


def _json() -> Any:
    return option("--json", is_flag=True, help="Print JSON, one value per line.")


def _verbose() -> Any:
    return option("-v", "--verbose", is_flag=True, help="Print a confirmation.")


def _campaign() -> Any:
    return option("-c", "--campaign", metavar="ID", type=_number, help="The campaign.")


@dataclass(frozen=True, kw_only=True)
class SubOptions:
    """The options of `batproto grid sub`."""

    file: str | None = option(
        "-f", "--file", metavar="FILE", type=_path, shell_complete=complete_file, help="A file with the JDL."
    )
    jdl: str | None = option("-j", "--jdl", metavar="JDL", help="The JDL itself: CiGri 3's JSON, or CiGri 2's blocks.")
    kind: str | None = option(
        "-t", "--type", type=click.Choice(["default", "test"]), help="test: run one job on each cluster."
    )
    campaign: int | None = option(
        "-c", "--campaign", metavar="ID", type=_number, help="Add tasks to this campaign, with -J."
    )
    params: str | None = option(
        "-J", "--params", metavar="JSON", help="With -c: the parameters of the tasks, as a list of texts."
    )
    details: bool = option("-d", "--details", is_flag=True, help="Print all fields of the campaign, too.")
    rules: str | None = option(
        "--rules", metavar="FILE", type=_path, envvar="BATPROTOCOL_RULES", help="Admission rules, in Python."
    )


@dataclass(frozen=True, kw_only=True)
class StatOptions:
    """The options of `batproto grid stat`."""

    campaign: int | None = _campaign()
    job: int | None = option("-j", "--job", metavar="ID", type=_number, help="Print this job in full.")
    of_user: str | None = option("-u", "--user", metavar="NAME", help="Only the campaigns of this user.")
    all_campaigns: bool = option("-a", "--all", is_flag=True, help="Also campaigns that have ended.")
    full: bool = option("-f", "--full", is_flag=True, help="With -c: also its tasks.")
    events: bool = option("-e", "--events", is_flag=True, help="With -c: its open events.")
    jdl: bool = option("-J", "--jdl", is_flag=True, help="With -c: its JDL, with all defaults.")
    dump: bool = option("-d", "--dump", is_flag=True, help="Print JSON, in the form of CiGri's API.")
    summary: str | None = option("-s", "--summary", metavar="RANGE", help="CiGri 2's table of the campaigns 7 or 3-9.")
    csv: bool = option("--csv", is_flag=True, help="With -c: its jobs as CSV, as in CiGri 2.")
    spreadsheet: bool = shared(spreadsheet_option)
    as_json: bool = _json()


@dataclass(frozen=True, kw_only=True)
class DelOptions:
    """The options of `batproto grid del`."""

    campaign: int | None = _campaign()
    job: int | None = option("-j", "--job", metavar="ID", type=_number, help="Kill this job only.")
    what: str | None = flags(
        pause=("-p", "--pause", "Submit no more tasks of the campaign."),
        resume=("-r", "--resume", "Continue a paused campaign."),
        purge=("--purge", "Remove a campaign that has ended from the store."),
    )
    verbose: bool = _verbose()


@dataclass(frozen=True, kw_only=True)
class EventsOptions:
    """The options of `batproto grid events`."""

    campaign: int | None = _campaign()
    event: int | None = option("-e", "--event", metavar="ID", type=_number, help="This event only.")
    of_grid: bool = option("-g", "--global", is_flag=True, help="Events that belong to no campaign.")
    all_events: bool = option("-a", "--all", is_flag=True, help="Also closed events.")
    fix: bool = option("-f", "--fix", is_flag=True, help="Close the event, or all events of the campaign.")
    resubmit: bool = option("-r", "--resubmit", is_flag=True, help="With -f: run their tasks again.")
    verbose: bool = _verbose()
    as_json: bool = _json()


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The options of `batproto grid output`."""

    campaign: int | None = _campaign()
    job: int | None = option("-j", "--job", metavar="ID", type=_number, help="This job only.")
    kind: str | None = flags(
        stdout=("-O", "--stdout", "Its standard output only."), stderr=("-E", "--stderr", "Its standard error only.")
    )
    every: bool = option("--all", is_flag=True, help="With -c: also that of jobs that run again without you.")
    as_json: bool = _json()


@dataclass(frozen=True, kw_only=True)
class ClustersOptions:
    """The options of `batproto grid clusters`."""

    level: str | None = flags(
        infos=("-i", "--infos", "Also print their states."),
        more=("-I", "--more-infos", "Print all of their fields."),
        usage=("-u", "--usage", "Print how many of their resources were free, and when."),
    )
    types: bool = option("--types", is_flag=True, help="Print what each type of clusters can and cannot do.")
    add: str | None = option("--add", metavar="NAME", help="Add or change a cluster, with --local, --dask or --file.")
    local: str | None = option(
        "--local",
        metavar="FOLDER",
        type=_path,
        help="With --add: processes on this machine, with their files in FOLDER.",
    )
    dask: str | None = option(
        "--dask", metavar="ADDRESS", help="With --add: the workers of the Dask scheduler at tcp://HOST:PORT."
    )
    file: str | None = option(
        "--file",
        metavar="FILE",
        type=_path,
        shell_complete=complete_file,
        help="With --add: the cluster that this file describes, such as one of Slurm, in TOML.",
    )
    resources: int | None = option(
        "--resources", metavar="N", type=_number, help="With --local: how many jobs run at a time."
    )
    power: float | None = option(
        "--power", metavar="X", type=_positive, help="With --add: its speed, relative to the other clusters."
    )
    enable: str | None = option("--enable", metavar="NAME", help="Use this cluster again.")
    disable: str | None = option("--disable", metavar="NAME", help="Do not use this cluster any more.")
    prefer: tuple[str, str, str] | None = option(
        "--prefer", metavar="USER CLUSTER N", nargs=3, help="Set the priority of a user on a cluster."
    )
    as_json: bool = _json()


@dataclass(frozen=True, kw_only=True)
class SettingsOptions:
    """The options for the settings of a grid, for each command that runs one."""

    regulator: str | None = option(
        "--regulator",
        type=click.Choice(["slow-start", "two-way", "exponential", "rate", "controller"]),
        help="The limit of jobs on a cluster.",
    )
    strategy: str | None = option(
        "--strategy", type=click.Choice(["fifo", "affinity", "priority"]), help="The order of the campaigns."
    )
    order_flood_rate: float | None = option(
        "--order-flood-rate",
        metavar="X",
        type=click.FloatRange(0, 100),
        help="How many jobs always wait, as a part of a cluster: these start when resources get free.",
    )
    flood_rate: float | None = option(
        "--flood-rate",
        metavar="X",
        type=click.FloatRange(0, 100),
        help="How many jobs may wait, as a part of a cluster.",
    )
    finalize: bool | None = option(
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

    cycle: float = option(
        "--cycle",
        metavar="SECONDS",
        type=float,
        default=5.0,
        show_default=True,
        callback=seconds,
        help="Time from one cycle to the next.",
    )
    until_done: bool = option("--until-done", is_flag=True, help="Exit when all campaigns have ended.")
    until_stuck: bool = option(
        "--until-stuck", is_flag=True, help="Exit also when all other campaigns wait for a person."
    )
    cycles: int | None = option("--cycles", metavar="N", type=_number, help="Exit after N cycles.")
    settings: SettingsOptions = group(SettingsOptions)
    verbose: bool = _verbose()
    as_json: bool = _json()


@dataclass(frozen=True, kw_only=True)
class GridSimulateOptions:
    """The options of `batproto grid simulate`."""

    plan: str | None = argument(metavar="[PLAN.json]", required=False, type=_path, shell_complete=complete_file)
    platform: str | None = option(
        "-p", "--platform", metavar="FILE", type=_path, help="The platform: a SimGrid XML file, or a .txt."
    )
    workloads: tuple[str, ...] = option(
        "-w",
        "--workload",
        metavar="FILE",
        multiple=True,
        type=_path,
        help="A file with jobs of the clusters' own users.",
    )
    load: float = option(
        "--load",
        metavar="X",
        type=click.FloatRange(0, 1),
        default=0.6,
        help="Without -w: the load by the clusters' own jobs.",
    )
    length: float = option("--length", metavar="CYCLES", type=_positive, default=1.0, help="Duration of a task.")
    jobs: int = option("--jobs", metavar="N", type=_number, default=1000, help="Number of tasks.")
    campaign: str | None = option(
        "--campaign",
        metavar="JDL.json",
        type=_path,
        shell_complete=complete_file,
        help="In place of PLAN.json: simulate this campaign on the clusters of the store, at their size.",
    )
    seconds: float = option(
        "--seconds", metavar="S", type=_positive, default=60.0, help="With --campaign: duration of a task."
    )
    output: str | None = option(
        "-o",
        "--output",
        metavar="DIR",
        type=_path,
        callback=folder,
        help="Write plots (PNG, SVG) and the report there.",
    )
    settings: SettingsOptions = group(SettingsOptions)
    as_json: bool = _json()
