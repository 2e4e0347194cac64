"""`batproto whatif`: its options. `_whatif_work` answers the question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from batprotocol.cli.completing import complete_file
from batprotocol.cli.parameters import file_with_ending

__all__ = ["whatif"]

_path = click.Path(readable=False, path_type=str)


def _parts(convert: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], tuple[Any, ...]]:
    """Values with commas between them."""

    def parts(context: click.Context, parameter: click.Parameter, given: str | None) -> tuple[Any, ...]:
        try:
            return tuple(convert(part.strip()) for part in (given or "").split(",") if part.strip())
        except ValueError:
            raise click.BadParameter(f"expected numbers with commas, got {given!r}", context, parameter) from None

    return parts


def _time(context: click.Context, parameter: click.Parameter, given: str | None) -> float | None:
    """Seconds, or a number with a unit; None if it is not given."""
    if given is None:
        return None
    from batprotocol.errors import InputError
    from batprotocol.workloads.simgrid import parse_time

    try:
        return parse_time(given)
    except InputError:
        expected = f"expected a time such as 1w, 12h or 3600, got {given!r}"
        raise click.BadParameter(expected, context, parameter) from None


@click.command()
@click.argument("log", metavar="LOG", type=_path, shell_complete=complete_file)
@click.option(
    "--policies",
    metavar="NAME,...",
    multiple=True,
    required=True,
    help="The policies to compare. Can be repeated; a name that has commas is given alone.",
)
@click.option(
    "--arrivals",
    metavar="FACTOR,...",
    default="1",
    callback=_parts(float),
    help="Factors of arrivals: with 1.1, jobs arrive 1.1 times as fast. The factor is not the offered load.",
)
@click.option("--load", hidden=True, callback=_parts(float))
@click.option(
    "--nodes",
    metavar="CHANGE,...",
    callback=_parts(str),
    help="Other numbers of hosts: +10%, +40, 0.5x, or 128.",
)
@click.option(
    "--estimates",
    metavar="KIND,...",
    default="asked",
    callback=_parts(str),
    help="The run times that policies expect: asked (the requested times), exact, or predicted.",
)
@click.option(
    "--today",
    metavar="NAME",
    default="",
    help="The policy that the machine has.  [default: a slurm:FILE among the policies, or else easy]",
)
@click.option(
    "--windows",
    metavar="TIME",
    callback=_time,
    help="The length of the windows.  [default: a week, or less, so that there are at least ten]",
)
@click.option(
    "--warm-up",
    metavar="TIME",
    callback=_time,
    help="The time at the beginning of the log that is simulated, and does not count.  [default: until 99 of 100 jobs "
    "that ran then have ended, and at most a twentieth of the log]",
)
@click.option(
    "--cool-down",
    metavar="TIME",
    default="0",
    show_default=True,
    callback=_time,
    help="The time at the end of the log that is simulated, and does not count.",
)
@click.option(
    "-p",
    "--platform",
    metavar="FILE",
    type=_path,
    default="",
    help="The platform; with watts, energy is measured. By default, as many equal hosts as the log is made for.",
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), default=0, help="Without effect: intervals are not random."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=_path,
    required=True,
    callback=file_with_ending(".html"),
    help="Write the report to this file, .html.",
)
@click.option(
    "--toml",
    metavar="FILE",
    type=_path,
    callback=file_with_ending(".toml"),
    help='Write the study to this file, for "batproto study".',
)
@click.option(
    "-s", "--store", metavar="DIR", type=_path, help="The folder of the runs.  [default: NAME.runs beside the study]"
)
@click.option("--title", metavar="TEXT", default="", help="The title of the report.")
@click.option(
    "-j",
    "--processes",
    metavar="N",
    type=click.IntRange(min=1),
    help="The number of runs at a time.  [default: the number of processors]",
)
@click.pass_context
def whatif(context: click.Context, /, load: tuple[float, ...], **options: Any) -> None:
    """Report what would have changed with other policies, arrivals, hosts or estimates of run times.

    LOG is a workload, as for "batproto simulate", or the log of a resource manager, as for "batproto import" (- for
    standard input). The whole log is simulated with each combination of the values, and with those of the log. Then it
    is cut into windows, such as weeks. So a backlog is carried along, and the numbers do not depend on the windows.

    The combinations are compared with today's policy, simulated as they are. If LOG has the starts of its jobs,
    the difference between this copy and what really happened is the model's own error. It is printed first, and
    each difference that is smaller is marked: its sign is unknown. For each difference, the command also prints its
    signs over time, and whether other windows lead to the same conclusion. The report is one page without a network:
    differences, who gains and who loses, the offered load of each window, and what the answer rests on.

    \b
    Examples:
      batproto whatif log.swf.gz --policies easy,easy-saf,conservative -o report.html
      batproto whatif sacct.txt --policies easy --nodes +10%,+20% -o report.html
      batproto whatif log.json --policies easy --arrivals 0.9,1.1 --estimates exact,predicted
          --windows 1d --toml study.toml -o report.html
    """
    from batprotocol.studies.commands import _whatif_work as work

    if load:
        if context.get_parameter_source("arrivals") is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError("--load is another name of --arrivals: give --arrivals only", context)
        click.echo("note: --load is the factor of arrivals, which is not the offered load: use --arrivals", err=True)
        options["arrivals"] = load
    context.exit(work.ask(work.QuestionOptions(**options)))
