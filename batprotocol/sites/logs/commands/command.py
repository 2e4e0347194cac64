"""`batproto import`: the command. The modules beside it have its options, and do the work."""

from __future__ import annotations

import click
from click.core import ParameterSource

from batprotocol.cli.options import options_of
from batprotocol.cli.parameters import file_with_ending
from batprotocol.sites.logs.commands.options import ImportOptions

__all__ = ["import_logs"]

_TRAFFIC = "pcap"


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
