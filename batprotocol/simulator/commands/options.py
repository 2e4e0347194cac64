"""The options of `batproto simulate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import click

from batprotocol.cli.completing import complete_old_protocol, complete_rule_set, complete_scheduler
from batprotocol.cli.options import argument, option, shared
from batprotocol.cli.parameters import (
    electricity_options,
    folder,
    old_options,
    old_protocol,
    rule_set,
    schema_option,
    timeout_option,
)

__all__ = ["SimulateOptions"]

_PATH: Final = click.Path(readable=False, path_type=str)


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """The options of `batproto simulate`; `old` has those of older versions of Batsim."""

    target: str | None = argument(metavar="[FILE:CLASS|POLICY]", required=False, shell_complete=complete_scheduler)
    platform: str | None = option(
        "-p",
        "--platform",
        metavar="FILE",
        type=_PATH,
        help="The platform: a SimGrid XML file, or a .txt with lines for --hosts.",
    )
    described: str | None = option(
        "--hosts",
        metavar="TEXT",
        help="Simulate on these hosts instead of a platform file: 'n[0-63] cores=64 memory=256G gres=gpu:4', several "
        "kinds with ; between them. A number such as 4 stands for n[0-3].",
    )
    workloads: tuple[str, ...] = option(
        "-w",
        "--workload",
        metavar="FILE",
        multiple=True,
        type=_PATH,
        help="A workload: Batsim's JSON, .swf or .swf.gz, a file with changes (log.swf?jobs=0-999&offered-load=0.9), "
        "or lublin:HOSTS?jobs=N. Can be repeated.",
    )
    events: tuple[str, ...] = option(
        "--events",
        metavar="FILE",
        multiple=True,
        type=_PATH,
        help="External events, one JSON object per line. Can be repeated. With a POLICY, those of hosts are checked. "
        "Without --workload, there are no jobs then.",
    )
    skip_bad: bool = option(
        "--skip-bad",
        is_flag=True,
        help="Count the events of hosts that make no sense, such as a repair before its failure, and leave them out.",
    )
    output: str | None = option(
        "-o",
        "--output",
        metavar="DIR",
        type=_PATH,
        callback=folder,
        help="Write Batsim's result files into this folder.",
    )
    endpoint: str | None = option(
        "--endpoint", metavar="ENDPOINT", help="Simulate for the decision component at this endpoint."
    )
    library: str | None = option(
        "--library", metavar="FILE", type=_PATH, help="Simulate for the decision component in this shared library."
    )
    protocol: str | None = option(
        "--protocol",
        metavar="VERSION",
        callback=old_protocol,
        shell_complete=complete_old_protocol,
        help="With --endpoint: simulate for a scheduler of that older version: 1.0 to 4.2, or text-0 to text-3.",
    )
    schema: str | None = shared(schema_option("With --endpoint: speak by"))
    old: Mapping[str, Any] = shared(old_options, MappingProxyType({}))
    timeout: float | None = shared(timeout_option)
    init: str = option("--init", metavar="TEXT", default="", help="Initialization data for the decision component.")
    lazy: bool = option(
        "--lazy", is_flag=True, help="Read jobs of sorted workloads when they are needed, to save memory."
    )
    energy: bool = option(
        "--energy", is_flag=True, help="Measure energy; all hosts of the platform must declare their watts."
    )
    watts: str | None = option(
        "--watts",
        metavar="TEXT",
        help="Measure energy, with typical watts for hosts that declare none: idle=95,busy=250,off=10,boot=150s.",
    )
    carbon: str | None = shared(electricity_options)
    price: str | None = None
    cap: str | None = None
    record: str | None = option(
        "--record", metavar="PATH", type=_PATH, help="Record messages and results in a .mcap, a .tar.xz or a folder."
    )
    format: str = option(
        "--format", type=click.Choice(["binary", "json"]), default="binary", help="The format of --record."
    )
    rules: str = option(
        "--rules",
        metavar="NAME",
        callback=rule_set,
        shell_complete=complete_rule_set,
        help="batsim-5.0.0-rc2 (refuse what that Batsim refuses, the default) or protocol (the whole schema).",
    )
    corrected: bool = option("--corrected", is_flag=True, help="Correct behaviour of Batsim that looks unintended.")
    roles: tuple[tuple[str, str], ...] = option(
        "-r", "--role", metavar="HOST ROLE", nargs=2, multiple=True, help="Give a host a role, such as storage."
    )
    master: str = option(
        "-m", "--master", metavar="HOST", default="master_host", show_default=True, help="The host of Batsim itself."
    )
    mmax: int | None = option("--mmax", metavar="N", type=click.IntRange(min=1), help="Use only the first N hosts.")
    mmax_workload: bool = option(
        "--mmax-workload", is_flag=True, help="Use as many hosts as the workloads are made for."
    )
    host_limit: int = option(
        "--host-limit",
        metavar="N",
        type=click.IntRange(min=1),
        default=100_000,
        show_default=True,
        help="Refuse platforms and workloads with more hosts; 100,000 hosts take 200 MB.",
    )
    warm_up: float = option(
        "--warm-up",
        metavar="SHARE",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.0,
        help="Leave out this share of the time of submissions, at its beginning, from the numbers.",
    )
    cool_down: float = option(
        "--cool-down",
        metavar="SHARE",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.0,
        help="Leave out this share of the time of submissions, at its end, from the numbers.",
    )
    by: str | None = option(
        "--by",
        type=click.Choice(["partition", "qos", "account", "size", "user", "workflow"]),
        help="Also print the metrics of each group of jobs.",
    )
    as_json: bool = option("--json", is_flag=True, help="Print JSON, with all metrics.")
    verbose: bool = option(
        "-v", "--verbose", is_flag=True, help="Also show the scheduler's log messages of level INFO."
    )
