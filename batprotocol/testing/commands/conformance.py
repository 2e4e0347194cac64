"""`batproto conformance`: its options. `checking` does the work; it is imported when the command runs."""

from __future__ import annotations

from typing import Any

import click

from batprotocol.cli.completing import complete_rule, complete_rule_set, complete_scheduler
from batprotocol.cli.parameters import advice_options, rule_set, worker_options

__all__ = ["conformance"]


@click.command()
@click.argument(
    "command",
    metavar="[FILE:CLASS | POLICY | -- COMMAND...]",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=complete_scheduler,
)
@click.option(
    "--endpoint",
    metavar="ENDPOINT",
    help="The address at which the decision component listens, and which replaces {endpoint} in COMMAND.",
)
@click.option(
    "--library",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="Test the decision component in this shared library, in a process of its own.",
)
@click.option(
    "--examples",
    metavar="N",
    type=click.IntRange(min=1),
    default=150,
    show_default=True,
    help="The number of simulations to try.",
)
@click.option(
    "--seed", metavar="S", type=int, default=0, show_default=True, help="The same seed gives the same simulations."
)
@click.option(
    "-j",
    "--processes",
    metavar="N",
    type=click.IntRange(min=1),
    help="Play the simulations in this number of processes, or with --slurm of workers.  [default there: 16]",
)
@worker_options("Play the simulations", "Play them")
@click.option(
    "--save",
    metavar="DIR",
    type=click.Path(readable=False, path_type=str),
    help="Save the conversation of the finding in this folder, as a recorded run.",
)
@click.option(
    "--format", type=click.Choice(["binary", "json"]), help="The format of --save.  [default: that of the component]"
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="How long an answer may take; the first answer may take twice as long.",
)
@click.option(
    "--rules",
    metavar="NAME",
    callback=rule_set,
    shell_complete=complete_rule_set,
    help="The rule set: batsim-5.0.0-rc2 (the rules of that Batsim, the default) or protocol (the whole schema).",
)
@click.option("--init", metavar="TEXT", default="", help="Initialization data for the decision component.")
@click.option(
    "--ignore",
    metavar="RULE",
    multiple=True,
    shell_complete=complete_rule,
    help="Ignore this rule, if the simulation survives its violation.",
)
@click.option(
    "--junit",
    "junit_file",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="Write JUnit's XML for CI servers, with a test for each rule.",
)
@click.option("--github", "in_github", is_flag=True, help="Print the finding as an annotation of GitHub Actions, too.")
@click.option(
    "--gitlab",
    "gitlab_file",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="Write the finding as GitLab's report of code quality.",
)
@advice_options(60.0)
@click.option("-q", "--quiet", is_flag=True, help="Print only the finding and advice.")
@click.pass_context
def conformance(
    context: click.Context,
    /,
    command: tuple[str, ...],
    endpoint: str | None,
    library: str | None,
    processes: int | None,
    slurm: str | None,
    wheels: str | None,
    dask: str | None,
    **options: Any,
) -> None:
    """Test a decision component, in any language, in many generated simulations.

    The command starts COMMAND for each simulation, and replaces {endpoint} in it by the address at which COMMAND must
    listen. With --endpoint alone, the program that listens there must serve many simulations in a row. A Scheduler of a
    Python file, FILE:CLASS, runs inside this process, which is faster.

    The first simulations are the simplest. If the decision component breaks a rule, hangs, dies, answers twice or with
    garbage, or never ends, the command prints the smallest conversation that shows it. "batproto rules ID" explains the
    rules of the conversation. A report follows: how often the rules of each topic were in play.

    The exit status is 0 if there is no finding, 1 if there is one, and 2 if the decision component cannot run.

    With -j, --slurm or --dask, the simulations are split into chunks of at most 200, each with a seed of its own. The
    finding is that of the first chunk that has one, and does not depend on N. Put --slurm without a PARTITION last, or
    before another option. Nodes must have COMMAND or the library at the same path.

    With --advise, the report also gives advice about what breaks no rule, such as hosts that stay free although a
    waiting job fits. Advice does not change the exit status.

    \b
    Examples:
      batproto conformance -- ./my-scheduler --socket {endpoint}
      batproto conformance --examples 2000 scheduler.py:FCFS
      batproto conformance --examples 100000 scheduler.py:FCFS --slurm -j 64
      batproto conformance --save found --endpoint tcp://127.0.0.1:28000
      batproto conformance --junit conformance.xml --github scheduler.py:FCFS
    """
    from batprotocol.testing.commands import checking as work

    try:
        target = work.target_of(command, endpoint, library)
        where = work.where(command, endpoint, library, processes=processes, slurm=slurm, wheels=wheels, dask=dask)
    except ValueError as error:
        raise click.UsageError(str(error), context) from None
    context.exit(work.run(target, where, **options))
