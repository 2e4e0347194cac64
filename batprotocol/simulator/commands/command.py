"""`batproto simulate`. `simulation` does the work, and is only imported when it runs."""

from __future__ import annotations

from dataclasses import replace

import click

from batprotocol.cli.options import options_of
from batprotocol.simulator.commands.options import SimulateOptions

__all__ = ["simulate"]


@click.command()
@options_of(SimulateOptions, rest="old")
@click.pass_context
def simulate(context: click.Context, /, options: SimulateOptions) -> None:
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
    from batprotocol.simulator.commands.simulation import run

    context.exit(run(_checked(options, context)))


def _checked(options: SimulateOptions, context: click.Context) -> SimulateOptions:
    """The options, with those that others imply. Refuse options that do not belong together."""

    def refuse(sentence: str) -> None:
        raise click.UsageError(sentence, context)

    endpoint = options.endpoint
    if sum(given is not None for given in (options.target, endpoint, options.library)) > 1:
        refuse("give only one of FILE:CLASS or POLICY, --endpoint and --library")
    energy = options.energy or any(
        each is not None for each in (options.watts, options.carbon, options.price, options.cap)
    )
    if options.described is not None and (options.platform is not None or options.roles):
        refuse("--hosts is instead of --platform, and without --role")
    if options.described is not None and energy and options.watts is None:
        refuse("the hosts of --hosts declare no watts: give --watts, such as idle=95,busy=250")
    if options.skip_bad and not options.events:
        refuse("--skip-bad is for the external events of hosts: give --events, too")
    if options.warm_up + options.cool_down >= 1:
        refuse("--warm-up and --cool-down must be less than 1 together")
    if options.timeout is not None and endpoint is None:
        refuse("--timeout is the time to wait for the component at an --endpoint: give --endpoint, too")
    if options.protocol is not None and endpoint is None:
        refuse("--protocol is for the component at an --endpoint: give --endpoint, too")
    if options.schema is not None and (endpoint is None or options.protocol is not None):
        refuse("--schema is for an --endpoint: give --endpoint, and leave out --protocol")
    return replace(options, energy=energy)
