"""`batproto simulate`: its options. `simulation` does the work, and is only imported when it runs."""

from __future__ import annotations

from typing import Any

import click

from batprotocol.cli.completing import complete_old_protocol, complete_rule_set, complete_scheduler
from batprotocol.cli.parameters import (
    electricity_options,
    folder,
    old_options,
    old_protocol,
    rule_set,
    schema_option,
    timeout_option,
)

__all__ = ["simulate"]


@click.command()
@click.argument("target", metavar="[FILE:CLASS|POLICY]", required=False, shell_complete=complete_scheduler)
@click.option(
    "-p",
    "--platform",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="The platform: a SimGrid XML file, or a .txt with lines for --hosts.",
)
@click.option(
    "--hosts",
    "described",
    metavar="TEXT",
    help="Simulate on these hosts instead of a platform file: 'n[0-63] cores=64 memory=256G gres=gpu:4', several "
    "kinds with ; between them. A number such as 4 stands for n[0-3].",
)
@click.option(
    "-w",
    "--workload",
    "workloads",
    metavar="FILE",
    multiple=True,
    type=click.Path(readable=False, path_type=str),
    help="A workload: Batsim's JSON, .swf or .swf.gz, a file with changes (log.swf?jobs=0-999&offered-load=0.9), or "
    "lublin:HOSTS?jobs=N. Can be repeated.",
)
@click.option(
    "--events",
    metavar="FILE",
    multiple=True,
    type=click.Path(readable=False, path_type=str),
    help="External events, one JSON object per line. Can be repeated. With a POLICY, those of hosts are checked. "
    "Without --workload, there are no jobs then.",
)
@click.option(
    "--skip-bad",
    is_flag=True,
    help="Count the events of hosts that make no sense, such as a repair before its failure, and leave them out.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(readable=False, path_type=str),
    callback=folder,
    help="Write Batsim's result files into this folder.",
)
@click.option("--endpoint", metavar="ENDPOINT", help="Simulate for the decision component at this endpoint.")
@click.option(
    "--library",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="Simulate for the decision component in this shared library.",
)
@click.option(
    "--protocol",
    metavar="VERSION",
    callback=old_protocol,
    shell_complete=complete_old_protocol,
    help="With --endpoint: simulate for a scheduler of that older version: 1.0 to 4.2, or text-0 to text-3.",
)
@schema_option("With --endpoint: speak by")
@old_options
@timeout_option
@click.option("--init", metavar="TEXT", default="", help="Initialization data for the decision component.")
@click.option("--lazy", is_flag=True, help="Read jobs of sorted workloads when they are needed, to save memory.")
@click.option("--energy", is_flag=True, help="Measure energy; all hosts of the platform must declare their watts.")
@click.option(
    "--watts",
    metavar="TEXT",
    help="Measure energy, with typical watts for hosts that declare none: idle=95,busy=250,off=10,boot=150s.",
)
@electricity_options
@click.option(
    "--record",
    metavar="PATH",
    type=click.Path(readable=False, path_type=str),
    help="Record messages and results in a .mcap, a .tar.xz or a folder.",
)
@click.option("--format", type=click.Choice(["binary", "json"]), default="binary", help="The format of --record.")
@click.option(
    "--rules",
    metavar="NAME",
    callback=rule_set,
    shell_complete=complete_rule_set,
    help="batsim-5.0.0-rc2 (refuse what that Batsim refuses, the default) or protocol (the whole schema).",
)
@click.option("--corrected", is_flag=True, help="Correct behaviour of Batsim that looks unintended.")
@click.option(
    "-r", "--role", "roles", metavar="HOST ROLE", nargs=2, multiple=True, help="Give a host a role, such as storage."
)
@click.option(
    "-m", "--master", metavar="HOST", default="master_host", show_default=True, help="The host of Batsim itself."
)
@click.option("--mmax", metavar="N", type=click.IntRange(min=1), help="Use only the first N hosts.")
@click.option("--mmax-workload", is_flag=True, help="Use as many hosts as the workloads are made for.")
@click.option(
    "--host-limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="Refuse platforms and workloads with more hosts; 100,000 hosts take 200 MB.",
)
@click.option(
    "--warm-up",
    metavar="SHARE",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help="Leave out this share of the time of submissions, at its beginning, from the numbers.",
)
@click.option(
    "--cool-down",
    metavar="SHARE",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help="Leave out this share of the time of submissions, at its end, from the numbers.",
)
@click.option(
    "--by",
    type=click.Choice(["partition", "qos", "account", "size", "user", "workflow"]),
    help="Also print the metrics of each group of jobs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all metrics.")
@click.option("-v", "--verbose", is_flag=True, help="Also show the scheduler's log messages of level INFO.")
@click.pass_context
def simulate(
    context: click.Context,
    /,
    target: str | None,
    endpoint: str | None,
    library: str | None,
    **options: Any,
) -> None:
    """Simulate the scheduler CLASS of a Python FILE with the embedded Batsim, and print the results.

    Or simulate a built-in policy, such as easy-sjf: "batproto policies" lists the parts of a POLICY.

    Without any arguments, the command simulates a small example: a cluster of 32 hosts, 250 jobs, and the scheduler
    that "batproto new scheduler" writes. With a workload but without a platform, it uses as many equal hosts as the
    workload is made for.

    The exit status is 1 if the simulation does not reach its end, if the decision component stops it before all jobs
    have ended, or if the scheduler makes a decision on which Batsim would abort.

    \b
    Examples:
      batproto simulate
      batproto simulate scheduler.py:FCFS -w workload.json -o results
      batproto simulate easy-sjf -w log.swf.gz --warm-up 0.1 --cool-down 0.05
      batproto simulate easy -w log.swf.gz --by size
      batproto simulate scheduler.py:FCFS -p platform.xml -w log.swf.gz --energy
      batproto simulate easy --carbon gb.csv?begin=2020-05-01 --price daily:0.25 --cap 8kW
      batproto simulate --endpoint tcp://127.0.0.1:28000 --record run.tar.xz
      batproto simulate --endpoint tcp://127.0.0.1:28000 --protocol 4.2 -w workload.json
      batproto simulate --endpoint unix:/tmp/bat_socket --protocol text-1 -w workload.json
    """
    from batprotocol.simulator.commands import simulation as work

    if sum(given is not None for given in (target, endpoint, library)) > 1:
        raise click.UsageError("give only one of FILE:CLASS or POLICY, --endpoint and --library", context)
    if any(options[each] is not None for each in ("watts", "carbon", "price", "cap")):
        options["energy"] = True
    if options["described"] is not None and (options["platform"] is not None or options["roles"]):
        raise click.UsageError("--hosts is instead of --platform, and without --role", context)
    if options["described"] is not None and options["energy"] and options["watts"] is None:
        raise click.UsageError("the hosts of --hosts declare no watts: give --watts, such as idle=95,busy=250", context)
    if options["skip_bad"] and not options["events"]:
        raise click.UsageError("--skip-bad is for the external events of hosts: give --events, too", context)
    if options["warm_up"] + options["cool_down"] >= 1:
        raise click.UsageError("--warm-up and --cool-down must be less than 1 together", context)
    if options["timeout"] is not None and endpoint is None:
        raise click.UsageError(
            "--timeout is the time to wait for the component at an --endpoint: give --endpoint, too", context
        )
    if options["protocol"] is not None and endpoint is None:
        raise click.UsageError("--protocol is for the component at an --endpoint: give --endpoint, too", context)
    if options["schema"] is not None and (endpoint is None or options["protocol"] is not None):
        raise click.UsageError("--schema is for an --endpoint: give --endpoint, and leave out --protocol", context)
    context.exit(work.run(target, endpoint=endpoint, library=library, **options))
