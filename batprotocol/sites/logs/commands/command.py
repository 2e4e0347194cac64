"""`batproto import`: its parameters. The modules beside it do the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click
from click.core import ParameterSource

from batprotocol.cli.completing import complete_log_format
from batprotocol.cli.options import argument, option, options_of, shared
from batprotocol.cli.parameters import file_with_ending, spreadsheet_option

__all__ = ["ImportOptions", "import_logs"]

_TRAFFIC = "pcap"
_FILE = click.Path(readable=False, path_type=str)


def _fields(_: click.Context, __: click.Parameter, value: str | None) -> list[str] | None:
    """Names with commas between them."""
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"expected names with commas between them, such as JobID,Submit,Start, got {value!r}")
    return names


def _some_text(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("expected a text, got nothing")
    return value


def _is_capture(log: str) -> bool:
    """Whether a log is a capture of network traffic, by its first bytes or its name."""
    from batprotocol.recordings.traffic import is_traffic

    return is_traffic(log) or log.endswith((".pcap", ".pcapng"))


def _refuse_others(context: click.Context) -> None:
    """Refuse the options that are about logs of resource managers."""
    if len(context.params["logs"]) > 1:
        raise click.UsageError("network traffic is imported from one file: join several with mergecap", context)
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
        if is_given and name not in ("logs", "format", "output", "as_json", "help"):
            raise click.UsageError(f"{parameter.opts[-1]} is for logs of resource managers: leave it out", context)


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """The options of `batproto import`."""

    logs: Sequence[str] = argument(
        metavar="LOG...", nargs=-1, required=True, type=click.Path(readable=False, allow_dash=True, path_type=str)
    )
    format: str | None = option(
        "-f",
        "--format",
        metavar="FORMAT",
        shell_complete=complete_log_format,
        help="The format of LOG: a name in the list below, or a file of columns, .toml. By default, its content "
        "shows it.",
    )
    output: str | None = option(
        "-o",
        "--output",
        metavar="FILE",
        type=_FILE,
        help="Write a workload for Batsim (.json), or all that is known of the jobs as a table (.parquet, .csv). For a "
        "capture of network traffic, write a recording (.mcap, .tar.xz, .tar or a new folder).",
    )
    platform: str | None = option(
        "-p",
        "--platform",
        metavar="FILE",
        type=_FILE,
        callback=file_with_ending(".txt", ".xml"),
        help="Write the machine: as lines for --hosts of batproto simulate (.txt), or for SimGrid and Batsim (.xml).",
    )
    nodes: str | None = option(
        "--nodes",
        metavar="FILE",
        type=_FILE,
        help="The nodes of the site: the output of scontrol show node (also --json), slurm.conf, or the output of "
        "pbsnodes -a -F json. By default, the machine is the smallest one that the log fits on.",
    )
    fields: Sequence[str] | None = option(
        "--fields",
        metavar="LIST",
        callback=_fields,
        help="The fields of sacct --noheader, with commas between them, as for sacct --format.",
    )
    delimiter: str | None = option(
        "--delimiter",
        metavar="TEXT",
        callback=_some_text,
        help="The text between the values of sacct, as for sacct --delimiter. By default, its header shows it, "
        "or it is |.",
    )
    zone: str | None = option(
        "--zone", metavar="ZONE", help="The zone of times that have none, such as Europe/Paris.  [default: UTC]"
    )
    begin: str | None = option(
        "--from", metavar="TIME", help="Take only jobs that were submitted at this time or later."
    )
    end: str | None = option("--to", metavar="TIME", help="Take only jobs that were submitted before this time.")
    attempts: str = option(
        "--attempts",
        type=click.Choice(["last", "all"]),
        default="last",
        show_default=True,
        help="Which attempts of a job that ran several times become jobs of the workload.",
    )
    unit: str | None = option(
        "--unit",
        type=click.Choice(["hosts", "shares", "cores"]),
        help="The unit that jobs ask for: whole hosts; shares of hosts by cores, memory and GPUs; or cores, each as a "
        "host. By default, the log decides.",
    )
    priority: bool = option(
        "--priority", is_flag=True, help="Keep the priority of each job in place of the policy's own."
    )
    reservations: bool = option(
        "--reservations",
        is_flag=True,
        help="Keep the reservation of each job. A policy rejects the job unless --events or its site=FILE has the "
        "reservation.",
    )
    anonymous: bool = option(
        "--anonymous",
        is_flag=True,
        help="Replace users, groups, accounts and names of jobs, always in the same way for one key.",
    )
    key: str | None = option(
        "--key",
        metavar="FILE",
        type=_FILE,
        help="The file with the key for --anonymous. By default, a new key is made, and printed once.",
    )
    others: Sequence[str] = option(
        "--anonymous-also",
        multiple=True,
        type=click.Choice(["partition", "qos", "reservation"]),
        help="Replace these names, too.",
    )
    check: bool = option(
        "--check",
        is_flag=True,
        help="Simulate the log as it was, and print how good this copy is; and when hosts were down or lent.",
    )
    policies: str | None = option(
        "--policies",
        metavar="NAMES",
        help="With --check: print how well these policies explain the log, with commas between them.  "
        "[default: fcfs,easy,conservative]",
    )
    events: str | None = option(
        "--events",
        metavar="FILE",
        type=_FILE,
        help="Write when hosts were down, or lent to reservations, as events for --events of batproto simulate, "
        ".jsonl.",
    )
    spreadsheet: bool = shared(spreadsheet_option, False)
    as_json: bool = option("--json", is_flag=True, help="Print JSON.")


@click.command("import")
@options_of(ImportOptions)
@click.pass_context
def import_logs(context: click.Context, /, options: ImportOptions) -> None:
    """Make a workload and a platform of the log of a resource manager, or a recording of captured network traffic.

    LOG is a file, compressed by gzip or xz or not, or - for standard input. Several files are one log. The command
    prints the jobs that were taken, and counts by reason what was left out, with the first lines of each reason.

    The times of the workload count from the first submission. The extra data of each job have its recorded start and
    hosts.

    LOG can also be a capture of network traffic, .pcap or .pcapng. The command writes a recording of the conversation
    between Batsim and a decision component over TCP. Of several conversations, the recordings are run.mcap, run-2.mcap
    and so on. It reports and counts what the capture lacks. The exit status is 1 if a part of a conversation is
    missing.

    \b
    Formats:
      table          a table that this command wrote, .parquet or .csv
      sacct          Slurm's sacct, with --parsable or columns
      sacct-json     Slurm's sacct, with --json
      jobcomp        Slurm's completion plugin jobcomp/filetxt
      pbs            PBS Pro, OpenPBS and Torque: accounting records
      lsf            LSF's lsb.acct
      gridengine     Grid Engine's accounting
      qacct          Grid Engine's qacct -j
      oar            OAR's oarstat -J
      cigri          CiGri's table of jobs, .csv
      gridstat       CiGri's gridstat -j
      flux           Flux's flux jobs -a --json
      pm100          PM100: CINECA's Marconi100
      fugaku         F-DATA: RIKEN's Fugaku
      philly         Philly: Microsoft's GPU clusters, cluster_job_log
      helios         Helios: SenseTime's GPU clusters, cluster_log.csv
      alibaba-2020   Alibaba's cluster-trace-gpu-v2020, pai_task_table.csv
      alibaba-2023   Alibaba's cluster-trace-gpu-v2023, openb_pod_list
      opendc         OpenDC's workloads, tasks.parquet
      elastisim      ElastiSim's workloads, the jobs
      pcap           network traffic, captured by tcpdump, dumpcap or Wireshark

    \b
    Examples:
      sacct -a -P -S 2026-01-01 --format=ALL > log.txt
      batproto import log.txt
      batproto import log.txt --nodes slurm.conf --check --policies fcfs,easy
      batproto import log.txt --nodes slurm.conf -o log.json -p hosts.txt
      batproto simulate easy --hosts "$(cat hosts.txt)" -w log.json
      batproto import log.txt -o log.json -p hosts.txt --reservations --events hosts.jsonl
      batproto import rows.txt --fields JobID,User,Submit,Start,End,NNodes
      batproto import log.txt --anonymous --key key.txt -o log.parquet
      batproto import run.pcapng -o run.mcap
    """
    if options.format == _TRAFFIC or (options.format is None and any(map(_is_capture, options.logs))):
        _refuse_others(context)
        from batprotocol.sites.logs.commands import traffic

        context.exit(traffic.show(*options.logs, output=options.output, is_json=options.as_json))
    parameter = next(each for each in context.command.params if each.name == "output")
    file_with_ending(".json", ".parquet", ".csv")(context, parameter, options.output)
    from batprotocol.sites.logs.commands import imports as work

    work.show(options)
